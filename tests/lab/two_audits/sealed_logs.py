"""Sealed games among the test vectors, damaged in many ways.

    python -m tests.lab.two_audits.sealed_logs 10 3

compares docs/spec/audit.sh with `hkoji audit` on 10 rounds of them, from seed 3.

Anybody who holds all keys could publish these logs: each is chained and signed anew, and so are its gifts. Proofs stay
those of the game that was played, so most of these logs break step 7; the steps before look at none of them.
"""

from __future__ import annotations

import base64
import copy
import itertools
import json
import random
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from hkoji.log.line import Line, entry_namespace, parse_log
from hkoji.log.public_key import PublicKey
from hkoji.rules.events import Seat
from scripts.build.sealed_logs import GAMES
from tests.lab.two_audits.damaged_logs import Case
from tests.lab.two_audits.measure import measure
from tests.lab.two_audits.timed_logs import DAY, TIMES, TimeDamage, made, put_in, retime, times_of
from tests.support.drafts import Draft, Owner, write_log
from tests.support.sealed_table import NAMES, SealedTable
from tests.support.timed_table import later
from tests.support.vectors import FOLDER, expected_keys, games

PARTS: Final = ("lock", "give", "show", "hide", "close")


@cache
def _played(name: str) -> tuple[SealedTable, tuple[Line, ...]]:
    """The table of a game, with all keys and without the play; and the log of the play."""
    return GAMES[name].table(), parse_log((FOLDER / name).read_bytes())


def sealed_draft(name: str) -> list[Draft]:
    """The lines of a game, for changing; each with its time of record in its receipt."""
    table, lines = _played(name)
    signers = dict(zip(NAMES, table.keys, strict=True))
    drafts = []
    for line in lines:
        entry, receipt = line.entry, line.receipt
        assert receipt is not None
        value, signer = json.loads(entry.text), signers.get(entry.by, table.server)
        drafts.append(Draft(value, signer, entry_namespace(entry), table.server, receipt={"at": receipt.receipt.at}))
    heads = [line.entry.head for line in lines]
    for before, each in itertools.pairwise(drafts):
        if each.kind == "credit" and each.body["gift"]:
            each.giver = _opponent(drafts, before)
            each.given_at = heads.index(each.body["gift"]["head"])
    return drafts


def _opponent(drafts: list[Draft], author: Draft) -> Owner:
    return next((it.value["by"], it.signer) for it in drafts[1:3] if it.value["by"] != author.value["by"])


def keys_of(name: str) -> dict[str, tuple[PublicKey, ...]]:
    """The keys of everybody in a game."""
    return expected_keys(games()[name])


# --- forms ----------------------------------------------------------------------------------------------------------


def _holders(drafts: list[Draft], part: str) -> list[Draft]:
    return [each for each in drafts if part in each.body]


def _odd_texts(text: str) -> list[Any]:
    """Other base64 and other lengths in place of a text of bytes."""
    raw = base64.b64decode(text)
    lengths = (b"", raw[:-1], raw[:-3], raw[:-32], raw[:-48], raw + b"\x00", raw + raw[:32], raw + raw[:48], raw * 2)
    other = [base64.b64encode(each).decode() for each in lengths]
    same = ["A" * len(text), "_" + text[1:], text[:-1], text + "=", text + "AAAA", text.rstrip("=") + "AA"]
    if text.endswith("="):
        rest = text.rstrip("=")
        same.append(rest[:-1] + chr(ord(rest[-1]) + 1) + text[len(rest) :])  # bits that no byte holds
    return [*other, *same, None, 1, [text], {}]


def odd_parts(part: str, value: Any) -> Iterator[Any]:
    """Other values in place of a part of an entry, most of which have not its form."""
    yield from (None, 1, "", "x", [], {}, [value], True)
    if part == "hide":
        yield from ([text] for each in value for text in _odd_texts(each))
        wider = base64.b64encode(base64.b64decode(value[0]) + bytes(48)).decode()
        yield from (value * 2, value * 3, value[:1], [value[0], wider], {"hide": value}, value[0])
        return
    for key in value:
        yield {name: each for name, each in value.items() if name != key}
    yield {**value, "more": 1}
    yield {**dict(list(value.items())[1:]), "more": 1}
    odd: dict[str, list[Any]] = {
        "at": [[], [0], [19], [20], [0, 0], [1, 0], [0, 1], [*range(7)], [*range(8)], [-1], [True], ["0"], 0, None, {}],
        "round": [0, 1, 2, 99, 100, "1", None, True, [1]],
        "copies": [
            [],
            ["A1"],
            ["A0"],
            ["a1"],
            ["A10"],
            ["AA"],
            ["A"],
            ["Z9"] * 4,
            ["Z9"] * 5,
            ["A1"] * 2,
            "A1",
            [1],
            {},
        ],
        "card": ["", "A", "A0", "Z9", "a1", "A1 ", "1A", "A11", 1, None, ["A1"]],
    }
    for key, each in value.items():
        for other in odd[key] if key in odd else _odd_texts(each):
            yield {**value, key: other}
    if part == "give":
        for count in range(9):
            shares = base64.b64encode(bytes(32 * count + 48)).decode()
            yield {**value, "at": [*range(count)], "shares": shares}
    if part == "show":
        for count in range(6):
            for tokens in (6, 7, 8, 10, 11):
                yield {"copies": ["A1"] * count, "proof": base64.b64encode(bytes(48 * tokens * count)).decode()}
    if part == "lock":
        for cards in (1, 19, 20, 21, 22):
            deck, proof = (base64.b64encode(bytes(32 * each)).decode() for each in (cards, 4 * cards + 5))
            yield {**value, "deck": deck, "proof": proof}
            yield {**value, "deck": deck}


def _part(rng: random.Random, drafts: list[Draft]) -> None:
    part = rng.choice([part for part in PARTS if _holders(drafts, part)])
    each = rng.choice(_holders(drafts, part))
    each.body[part] = rng.choice([*odd_parts(part, each.body[part])])


def _part_less(rng: random.Random, drafts: list[Draft]) -> None:
    part = rng.choice([part for part in PARTS if _holders(drafts, part)])
    del rng.choice(_holders(drafts, part)).body[part]


def _part_more(rng: random.Random, drafts: list[Draft]) -> None:
    """A part in an entry that has not got it, where it may be or not."""
    part = rng.choice([part for part in PARTS if _holders(drafts, part)])
    rng.choice(drafts).body[part] = copy.deepcopy(rng.choice(_holders(drafts, part)).body[part])


def _dealer(rng: random.Random, drafts: list[Draft]) -> None:
    """The offer of another dealer, or one with more in it; or an end that says what only other dealers publish."""
    commit = "ab" * 32
    match rng.randrange(4):
        case 0:
            drafts[0].body["dealer"] = rng.choice(
                [
                    {"name": "server/v1", "seed_commit": commit},
                    {"deal": "ab" * 16, "name": "duplicate/v1", "seed_commit": commit},
                    {"name": "sealed/v1", "seed_commit": commit},
                    {"name": "sealed/v2"},
                    {},
                ]
            )
        case 1:
            drafts[-1].body["seed"] = rng.choice([commit, "", 1])
        case 2:
            moved = rng.choice([each for each in drafts if each.kind == "move"])
            moved.body["commit"] = [commit] * rng.choice([1, 2, 3])
        case _:
            opening = {"cards": "A", "part": 0, "salt": commit, "seq": rng.randrange(len(drafts))}
            drafts[-1].body["openings"] = [opening]


def _entropy(rng: random.Random, drafts: list[Draft]) -> None:
    key = rng.choice(["entropy", "entropy_commit"])
    rng.choice(_holders(drafts, key)).body[key] = rng.choice(["ab" * 32, "AB" * 32, None])


# --- releases and the clock -----------------------------------------------------------------------------------------


def _releases(drafts: list[Draft]) -> list[int]:
    return [number for number, each in enumerate(drafts) if each.kind == "release"]


def _around_a_release(rng: random.Random, drafts: list[Draft]) -> None:
    """From an entry near a release on everything comes later, so one of them may be late."""
    times = times_of(drafts)
    number = min(rng.choice(_releases(drafts)) + rng.choice([-1, 0, 0, 1, 2]), len(drafts) - 1)
    seconds = rng.choice([1, 3600, 7200, DAY, 2 * DAY, 3 * DAY, 17 * DAY, 40 * DAY])
    retime(drafts, [*times[:number], *(later(at, seconds) for at in times[number:])])


def _release_elsewhere(rng: random.Random, drafts: list[Draft]) -> None:
    """A release of the other seat or a stranger, in another place, twice, or with or without a close; or a move."""
    times = times_of(drafts)
    number = rng.choice(_releases(drafts))
    each = drafts[number]
    match rng.randrange(6):
        case 0:
            other = rng.choice([it for it in drafts if it.value["by"] != each.value["by"]])
            each.value["by"], each.signer, each.namespace = other.value["by"], other.signer, other.namespace
        case 1:
            place = rng.randrange(3, len(drafts) + 1)
            put_in(drafts, times, place, copy.deepcopy(each), times[place - 1])
        case 2:
            each.body["close"] = {"card": "A1", "proof": base64.b64encode(bytes(112)).decode()}
        case 3:
            each.body.pop("close", None)
            each.body["give"] = {"at": [0], "round": 1, "shares": base64.b64encode(bytes(80)).decode()}
        case 4:
            each.value["kind"], each.value["body"] = "move", {"action": "1X"}
        case _:
            moved = rng.choice([it for it in drafts if it.kind in ("move", "seed")])
            give = {"at": [0], "round": 1, "shares": base64.b64encode(bytes(80)).decode()}
            moved.value["kind"], moved.value["body"] = "release", {"give": give}
    retime(drafts, times)


def gift_for(drafts: list[Draft], number: int, given_at: int, seconds: int) -> None:
    """The opponent gives time for entry `number`, about the head of entry `given_at`; the next entry credits it."""
    if number + 1 == len(drafts) or drafts[number + 1].kind != "credit":
        times = times_of(drafts)
        put_in(drafts, times, number + 1, made(drafts, "credit", {"outages": []}), times[number])
        retime(drafts, times)
    credit = drafts[number + 1]
    credit.body["gift"] = {"head": "", "seconds": seconds, "sig": ""}
    credit.giver, credit.given_at = _opponent(drafts, drafts[number]), given_at


def _gift_around(rng: random.Random, drafts: list[Draft]) -> None:
    """A gift about one of the last heads, for a release or for what comes after it."""
    near = {number + more for number in _releases(drafts) for more in range(4)}
    number = rng.choice([seq for seq in sorted(near) if seq < len(drafts) and drafts[seq].kind in ("release", "move")])
    behind = rng.choice([1, 1, 2, 2, 3, 4, 5])
    gift_for(drafts, number, max(0, number - behind), rng.choice([1, 60, DAY, 30 * DAY]))


def _new_key_between(rng: random.Random, drafts: list[Draft]) -> None:
    """A change of a key before or behind a release, which leaves gifts good."""
    times = times_of(drafts)
    number = rng.choice(_releases(drafts)) + rng.choice([0, 1])
    author = next(each for each in drafts[number - 1 :: -1] if each.value["by"] in NAMES)
    ended = {"gateway": None, "grade": None}
    value = {**copy.deepcopy(author.value), "body": ended, "kind": "delegate"}
    put_in(drafts, times, number, Draft(value, author.signer, author.namespace, author.service), times[number - 1])
    retime(drafts, times)
    if rng.random() < 0.7:
        _gift_around(rng, drafts)


def time_out(drafts: list[Draft], number: int, seat: Seat, seconds: int) -> None:
    """A timeout in place of entry `number` and of all that follows, so many seconds later."""
    times = times_of(drafts)[: number + 1]
    drafts[number:] = [made(drafts, "timeout", {"seat": seat})]
    drafts[number].value["seq"] = number
    retime(drafts, [*times[:number], later(times[number], seconds)])


def _timed_out(rng: random.Random, drafts: list[Draft]) -> None:
    """A timeout in place of an entry at or behind a release, soon or late."""
    number = min(rng.choice(_releases(drafts)) + rng.choice([0, 0, 1, 2]), len(drafts) - 1)
    time_out(drafts, number, rng.randrange(2), rng.choice([0, 3600, DAY, 3 * DAY, 40 * DAY]))


SEALED: Final[dict[str, TimeDamage]] = {
    "another part": _part,
    "a part less": _part_less,
    "a part more": _part_more,
    "another dealer": _dealer,
    "other entropy": _entropy,
    "later around a release": _around_a_release,
    "another release": _release_elsewhere,
    "a gift around a release": _gift_around,
    "a new key at a release": _new_key_between,
    "a timeout at a release": _timed_out,
}


def damaged_sealed(name: str, rng: random.Random, *, receipts: bool = True) -> Case:
    """One sealed game with one damage, or with none (`name` is empty); it may end sooner."""
    game = rng.choice(sorted(GAMES))
    drafts = sealed_draft(game)
    if name:
        {**SEALED, **TIMES}[name](rng, drafts)
    if not receipts:
        for each in drafts:
            each.receipt = None
    log = write_log(drafts)
    if rng.random() < 0.3:
        log = b"".join(log.splitlines(keepends=True)[: rng.randrange(3, len(drafts) + 1)])
    return Case(f"sealed: {name or 'nothing'}", log, keys_of(game))


def sealed_cases(rng: random.Random) -> Iterator[Case]:
    """One log of every sort of damage to sealed games and to times, and one without; some have no receipts."""
    for name in ("", *SEALED, *TIMES):
        yield damaged_sealed(name, rng, receipts=rng.random() < 0.6)


if __name__ == "__main__":
    measure("Compares both audits on sealed games.", sealed_cases)
