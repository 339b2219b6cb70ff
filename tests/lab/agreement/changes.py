"""Changes submissions and signs them anew, with commitments that fit the changed openings.

So most of them have only the error that the change makes, and a reader without a check for it accepts them. Some
mutations change the signer, the key or the commitments themselves.

`Try` is a submission taken apart; a mutation changes it in place. All randomness comes from one generator.
"""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hkoji import referee
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import parse_time
from hkoji.game.commitments import Opening, entropy_commit, hidden_commit
from hkoji.game.course import Stage
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.line import make_entry, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import proof_message
from hkoji.rules.protocol import Ruleset
from tests.lab.agreement.readers import LINK, joining, play_on
from tests.support.drafts import Draft, draft, sign_for_link, write_log
from tests.support.rules import GAMES, Game, choose
from tests.support.table import AT, Table
from tests.support.timed_table import TimedTable

Json = dict[str, Any]  # JSON that need not be an entry's

DEAL = ("9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77", "5e" * 32)
STRANGER = PrivateKey.from_seed(bytes(range(32)))
NEW = tuple(PrivateKey.from_seed(bytes([number]) * 32) for number in range(1, 9))
_CANNOT = (HkojiError, TypeError, ValueError, LookupError, AttributeError)
"""The errors raised where a text cannot express a value."""
TIMES = (
    *(AT, "2026-11-20T11:59:59Z", "2000-01-01T00:00:00Z", "8999-12-31T23:59:59Z", "2028-02-29T23:59:59Z"),
    *("1999-12-31T23:59:59Z", "9000-01-01T00:00:00Z"),
)
AGREEMENTS: tuple[Agreement | None, ...] = (
    None,
    Agreement(TimeControl(60, 3600, 0, 3600), "2026-11-20T15:00:00Z", rated=True),
    Agreement(TimeControl(86400, 0, 0, 0, "67", "+01:00")),
    Agreement(TimeControl(0, 600, 60, 1200), rated=True),
)
"""None is a game without a clock and without times of its own."""
NAMES = ("alice", "bob", "carol", "server", "0-", "a_b-c", "x" * 32, "host", "guest")


@dataclass
class Try:
    """A submission before it is signed. Openings are as in JSON; with `commits` the entry commits to them."""

    value: Json
    openings: list[Json]
    signer: PrivateKey
    commits: bool = True
    prover: PrivateKey | None = None
    linker: PrivateKey | None = None
    """Signs in the name of the link what the entry finally says; None leaves that signature as it is."""
    did: list[str] = field(default_factory=list)

    @property
    def body(self) -> Json:
        body: Json = self.value["body"]
        return body

    def submission(self) -> Submission:
        """The signed submission. Raises `HkojiError` if no entry can express it."""
        value, body = self.value, self.body
        if self.openings and self.commits:
            body["commit"] = [
                hidden_commit(value["game"], it["seq"], it["part"], it["cards"], it["salt"]) for it in self.openings
            ]
        if self.prover is not None and {"key", "old"} <= body.keys():
            body["proof"] = self._proof(self.prover)
        if self.linker is not None and "link_sig" in body:
            body["link_sig"] = sign_for_link(self.linker, sshsig.JOIN, value)
        if self.linker is not None and isinstance(body.get("invite"), dict) and "sig" in body["invite"]:
            body["invite"]["sig"] = sign_for_link(self.linker, sshsig.INVITE, value)
        entry = make_entry(**{key: item for key, item in value.items() if key != "v"})
        openings = tuple(Opening(it["seq"], it["part"], it["cards"], it["salt"]) for it in self.openings)
        return Submission(entry, sign_entry(entry, self.signer), openings)

    def _proof(self, prover: PrivateKey) -> str:
        value, body = self.value, self.body
        said = proof_message(
            game=value["game"],
            key=parse_public_key(body["key"]),
            name=value["by"],
            old=parse_public_key(body["old"]),
            prev=value["prev"],
            seq=value["seq"],
        )
        return base64.b64encode(prover.sign(sshsig.REKEY, said)).decode()


# --- positions -----------------------------------------------------------------------------------------------------


def position(rng: random.Random, game: Game | None = None) -> Table:
    """A random game with random options and either dealer, somewhere between its offer and its end."""
    ruleset: Ruleset = rng.choice((game or rng.choice(GAMES)).rulesets)
    seed, deal = rng.getrandbits(32), rng.choice([None, None, DEAL])
    agreement = rng.choice(AGREEMENTS)
    table = TimedTable(ruleset, seed, deal, agreement=agreement) if agreement else Table(ruleset, seed, deal)
    stages = rng.choice([0, 1, 2, 3, *[4] * 12])
    for _ in range(stages):
        pass_time(table, rng)
        table.send(valid(table, rng).submission())
    if stages == 4:
        for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 12, 14, 15, 16, 17, 18, 20, 30])):
            if table.course.stage is not Stage.PLAY:
                break
            if rng.random() < 0.04:
                change_key(table, rng)
            pass_time(table, rng)
            table.send(valid(table, rng).submission())
    pass_time(table, rng)
    if table.course.actor is not None and rng.random() < 0.1:
        change_key(table, rng)
    return table


def pass_time(table: Table, rng: random.Random) -> None:
    """Lets time pass at a table that has a clock, with gifts and outages; the entry that is due is in time."""
    if not isinstance(table, TimedTable):
        return
    if table.course.clock is None:
        table.wait(rng.randrange(600))
        return
    if table.course.actor is None:  # the game is over
        return
    if rng.random() < 0.3:
        table.give(rng.choice([1, 600, 86400]))
    deadline = table.deadline()
    assert deadline is not None
    if rng.random() < 0.2 and table.now < deadline:
        seconds = rng.choice([1, 500, 200_000])
        table.fail(seconds)
    deadline = table.deadline()
    assert deadline is not None
    left = parse_time(deadline) - parse_time(table.now)
    if left > 0:
        table.wait(rng.choice([0, left // 9, rng.randrange(left + 1), left]))


def change_key(table: Table, rng: random.Random) -> None:
    """Gives the seat that must act another key, by its own signature or by the service."""
    actor = table.course.actor
    assert actor is not None
    if rng.random() < 0.5 or table.course.rekeyed:
        table.revoke(actor, signed=rng.random() < 0.5)
    else:
        table.rekey(actor)


def valid(table: Table, rng: random.Random) -> Try:
    """The bodies that the seat that must act may send."""
    match table.course.stage:
        case Stage.OPEN:
            own = table.newcomer(0)
            opened = entry_kinds.Open(own["entropy_commit"], own["key"])
            if rng.random() < 0.3:
                opened = entry_kinds.open_by_link(LINK, table.course, **own)
            return _take(table, table.entry(0, opened), 0)
        case Stage.JOIN:
            commit = entropy_commit(table.game, 1, table.entropy[1])
            return _take(table, table.entry(1, joining(table, commit)), 1)
        case Stage.GUEST_SEED | Stage.HOST_SEED:
            seat = 1 if table.course.stage is Stage.GUEST_SEED else 0
            return _take(table, table.entry(seat, entry_kinds.Seed(table.entropy[seat])), seat)
    actor = table.course.actor
    if actor is None:
        return _take(table, table.entry(0, entry_kinds.Resign()), 0)
    return _take(table, table.move(choose(table.course.state.legal_actions(), rng)), actor)


def start(table: Table, rng: random.Random) -> Try:
    """Returns a submission to change: usually the entry that is due."""
    seat = rng.randrange(2)
    kind = rng.randrange(12)
    if kind == 0:
        return _take(table, table.entry(seat, entry_kinds.Resign()), seat)
    if kind == 1:
        return _take(table, table.entry(seat, entry_kinds.Cancel()), seat)
    if kind in (2, 3):
        seat = seat if table.course.actor is None else table.course.actor
        new = rng.choice(NEW)
        made = _take(table, table.entry(seat, table.rekeying(seat, new)), seat)
        made.prover = new
        return made
    return valid(table, rng)


def _take(table: Table, submission: Submission, seat: int) -> Try:
    return Try(
        json.loads(submission.entry.text), [opening.to_json() for opening in submission.opening], table.keys[seat]
    )


# --- mutations -----------------------------------------------------------------------------------------------------

Mutation = Callable[[random.Random, Table, Try], None]


def _spell(rng: random.Random, table: Table, text: str) -> str:
    """Gives an action another text, which may be close to the old one."""
    kinds = table.ruleset.pack.kinds
    names = _names(table, text[1:])
    state = table.course.state
    some = [*_actions(table), text]
    match rng.choice([*range(15), 4, 4, 4]):
        case 0:
            return rng.choice([text.lower(), text.upper(), f" {text}", f"{text} ", text.replace("", " ").strip()])
        case 1:
            return text + rng.choice(["X", "XX", *kinds, "/", "-"])
        case 2:
            return text[: rng.randrange(len(text) + 1)]
        case 3:
            rng.shuffle(names)
            return text[:1] + "".join(names)
        case 4:
            return text[:1] + "X" * rng.randrange(8)
        case 5:
            at = rng.randrange(len(names) + 1)
            return text[:1] + "".join([*names[:at], "X", *names[at + 1 :]])
        case 6:
            at = rng.randrange(len(names) + 1)
            return text[:1] + "".join([*names[:at], rng.choice(kinds), *names[at + 1 :]])
        case 7:
            return rng.choice(some)
        case 8:
            return table.ruleset.public(rng.choice(some))
        case 9:
            return rng.choice("1234RIGCHO->!^X") + text[1:]
        case 10:
            return rng.choice(["-", ">", "!", "^"]) + text
        case 11:
            return text[1:]
        case 12:
            return rng.choice(
                [text[:1], "X", "1", "2", "1X", "2X", "2XX", "2XXX", "1XX", "IX", "IXX", "IXXX", "HX", "H"]
            )
        case 13:
            half = len(names) // 2
            return text[:1] + "".join(names[half:] + names[:half])
        case _:
            alphabet = "".join(kinds) + "X-/>^!01234 " + (state.deck[:1] or "A")
            return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 12)))


def _names(table: Table, text: str) -> list[str]:
    try:
        return list(table.ruleset.pack.split(text))
    except HkojiError:
        return list(text)


def _actions(table: Table) -> tuple[str, ...]:
    try:
        return table.course.state.legal_actions()
    except HkojiError:
        return ()


def _action(rng: random.Random, table: Table, it: Try) -> None:
    if "action" in it.body:
        it.body["action"] = _spell(rng, table, str(it.body["action"])) or "X"


def _other_move(rng: random.Random, table: Table, it: Try) -> None:
    """Gives any legal action in another text, with the openings and commitments of any."""
    if "action" not in it.body or not (some := _actions(table)):
        return
    action, opened = rng.choice(some), rng.choice(some)
    it.body["action"] = rng.choice([action, table.ruleset.public(action), _spell(rng, table, action) or "X"])
    it.body.pop("commit", None)
    groups = table.ruleset.hidden(opened)
    it.openings = [_opening(table, rng, part, group.cards) for part, group in enumerate(groups)]


def _opening(table: Table, rng: random.Random, part: int, cards: str) -> Json:
    return {"cards": cards, "part": part, "salt": rng.randbytes(32).hex(), "seq": table.course.seq + 1}


def _openings(rng: random.Random, table: Table, it: Try) -> None:
    """Gives other openings, and commitments to them."""
    if not it.openings:
        if "action" in it.body:
            it.openings = [
                _opening(table, rng, part, rng.choice(["A", "A1", "X"])) for part in range(rng.randint(1, 2))
            ]
        return
    one = rng.choice(it.openings)
    names = _names(table, one["cards"])
    kinds = table.ruleset.pack.kinds
    match rng.randrange(9):
        case 0:
            rng.shuffle(names)
            one["cards"] = "".join(names)
        case 1:
            one["cards"] = "".join(rng.choice([*kinds, "X"]) for _ in range(rng.choice([1, 1, 2, 2, 3])))
        case 2:
            one["cards"] = rng.choice([one["cards"].lower(), one["cards"] + "X", "X" * len(names), "X", "é", "", "0"])
        case 3:
            it.openings.append({**one, "part": rng.choice([1, 1, 2]), "salt": rng.randbytes(32).hex()})
        case 4:
            it.openings.remove(one)
        case 5:
            it.openings.reverse()
            for part, each in enumerate(it.openings):
                each["part"] = part
        case 6:
            salts = [opening.salt for opening in table.refereed.openings] + [each["salt"] for each in it.openings]
            one["salt"] = rng.choice(salts)
        case 7:
            one[rng.choice(["seq", "part"])] = rng.choice([0, 1, 2, table.course.seq])
        case _:
            others = [other for other in it.openings if other is not one]
            if others:
                one["cards"], others[0]["cards"] = others[0]["cards"], one["cards"]


def _commits(rng: random.Random, _: Table, it: Try) -> None:
    """Gives commitments that are not those of the openings."""
    if not it.openings:
        it.body["commit"] = rng.choice([[], ["ab" * 32], ["ab" * 32, "cd" * 32], ["ab" * 32] * 2, None])
        return
    it.submission()
    commits = it.body["commit"]
    it.commits = False
    match rng.randrange(5):
        case 0:
            commits.reverse()
        case 1:
            commits.append(rng.choice([*commits, "ab" * 32]))
        case 2:
            commits.pop()
        case 3:
            commits[:] = [commits[0]] * 2
        case _:
            it.openings = []


def _ext(rng: random.Random, _: Table, it: Try) -> None:
    deep: Any = {}
    for _depth in range(rng.choice([1, 12, 13, 14])):
        deep = {"a": deep}
    it.body["ext"] = rng.choice(
        [{}, {"action": "1X", "commit": []}, {"a": [1, None, True, "x" * 9000]}, deep, [], "x", None]
    )


def _at(rng: random.Random, _: Table, it: Try) -> None:
    it.value["at"] = rng.choice([*TIMES, "2026-02-29T00:00:00Z", "2026-11-20T12:00:00+00:00"])


def _seen(rng: random.Random, table: Table, it: Try) -> None:
    it.value["seen"] = rng.choice([*TIMES, it.value["at"], table.refereed.at, None])


def _kind(rng: random.Random, _: Table, it: Try) -> None:
    it.value["kind"] = rng.choice([*entry_kinds.KINDS, "Move", "plan"])


def _author(rng: random.Random, table: Table, it: Try) -> None:
    """Gives another author's name, signed by that author or by the old one."""
    seat = rng.randrange(2)
    it.value["by"] = rng.choice([table.names[seat], rng.choice(NAMES)])
    if rng.random() < 0.7:
        it.signer = table.server if it.value["by"] == "server" else table.keys[seat]


def _key(rng: random.Random, table: Table, it: Try) -> None:
    """Replaces a key by another (of the other seat, the service, an earlier one), whose owner signs."""
    pool = [*table.every_key, table.server, STRANGER, *NEW]
    for name in rng.sample(["key", "old"], 2):
        if name in it.body:
            chosen = rng.choice(pool)
            it.body[name] = chosen.public.text
            if it.value["kind"] == "rekey":
                if name == "key" and rng.random() < 0.9:
                    it.prover = chosen
                if name == "old" and rng.random() < 0.7:
                    it.signer = chosen
            else:
                it.signer = chosen
            return


def _signer(rng: random.Random, table: Table, it: Try) -> None:
    it.signer = rng.choice([*table.every_key, table.server, STRANGER])


def _invite(rng: random.Random, table: Table, it: Try) -> None:
    if it.value["kind"] == "open":
        pool = [*table.every_key, table.server, STRANGER]
        key = rng.choice([None, rng.choice(pool).public.text])
        it.body["invite"] = rng.choice(
            [None, {"key": key, "name": rng.choice(NAMES)}, {"name": "bob"}, {"key": key, "name": "bob"}, {}]
        )


def _link(rng: random.Random, table: Table, it: Try) -> None:
    """Signs for the link anew, by the right key or another, or puts a signature where none was, or takes it away."""
    it.linker = rng.choice([LINK, LINK, rng.choice([*table.every_key, STRANGER])])
    if it.value["kind"] == "open":
        key = rng.choice([LINK, it.linker, table.server])
        it.body["invite"] = rng.choice([it.body.get("invite"), {"link": key.public.text, "sig": "U1NI"}])
    elif rng.random() < 0.3:
        it.body.pop("link_sig", None)
    else:
        it.body["link_sig"] = "U1NI"


def _entropy(rng: random.Random, table: Table, it: Try) -> None:
    """Gives another entropy, or a commitment to it: to the other's, for the other seat, to anything."""
    seat = rng.randrange(2)
    if "entropy_commit" in it.body:
        opened = table.course.setup.entropy_commits
        it.body["entropy_commit"] = rng.choice(
            [entropy_commit(table.game, seat, table.entropy[rng.randrange(2)]), opened[0] or "ab" * 32, "AB" * 32]
        )
    if "entropy" in it.body:
        it.body["entropy"] = rng.choice([table.entropy[seat], "ab" * 32, "AB" * 32])


def _place(rng: random.Random, table: Table, it: Try) -> None:
    heads = [line.entry.head for line in table.lines]
    it.value.update(
        rng.choice([{"seq": rng.randrange(table.course.seq + 3)}, {"prev": rng.choice(heads)}, {"game": "ab" * 16}])
    )


def _odd(rng: random.Random, _: Table, it: Try) -> None:
    """Removes a field of the body, adds one, or changes one."""
    values: list[Any] = [None, 0, 1, True, "", "x", [], {}, "0" * 64, ["0" * 64], 2**53 - 1]
    name = rng.choice([*it.body, "commit", "action", "later", "seat"])
    if rng.random() < 0.3:
        it.body.pop(name, None)
    else:
        it.body[name] = rng.choice(values)


MUTATIONS: dict[str, Mutation] = {
    "another action": _action,
    "another move": _other_move,
    "other openings": _openings,
    "other commitments": _commits,
    "a comment": _ext,
    "another time": _at,
    "another seen": _seen,
    "another kind": _kind,
    "another author": _author,
    "another key": _key,
    "another signer": _signer,
    "another invitation": _invite,
    "another signature of the link": _link,
    "other entropy": _entropy,
    "another place": _place,
    "an odd field": _odd,
}
_OFTEN = ("another action", "another move", "other openings", "other commitments")


def sort_of(did: str, submission: Submission, table: Table) -> str:
    """A class of accepted changes that all readers treat alike: the action with ? for cards, or the kind of change."""
    action = submission.entry.body.get("action")
    if not isinstance(action, str):
        return did
    for kind in table.ruleset.pack.kinds:
        action = action.replace(kind, "?")
    return f"?{action}"


def mutant(rng: random.Random, table: Table) -> tuple[str, Submission | None]:
    """A changed submission and the changes made; None if no entry can express it."""
    it = start(table, rng)
    for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 2, 3])):
        often = "action" in it.body and rng.random() < 0.6
        name = rng.choice(_OFTEN if often else tuple(MUTATIONS))
        try:
            MUTATIONS[name](rng, table, it)
            it.did.append(name)
        except _CANNOT:
            continue  # an earlier mutation has removed what this one needs
    try:
        return ", ".join(it.did), it.submission()
    except _CANNOT:
        return ", ".join(it.did), None


# --- finished logs -------------------------------------------------------------------------------------------------


def finished(rng: random.Random, game: Game | None = None) -> Table:
    """A table at the end of its game, mostly a short one: then later entries seldom depend on a changed move."""
    table = position(rng, game)
    running = table.course.actor is not None
    if isinstance(table, TimedTable) and running and rng.random() < 0.4:
        if rng.random() < 0.4:
            table.call_off()
        else:
            deadline = table.deadline()
            assert deadline is not None
            table.wait(max(0, parse_time(deadline) - parse_time(table.now)) + rng.choice([1, 86400])).time_out()
    elif not isinstance(table, TimedTable) and running and rng.random() < 0.3:
        table.call_off()
    elif table.course.stage is Stage.PLAY and rng.random() < 0.8:
        table.send(table.entry(rng.randrange(2), entry_kinds.Resign()))
    return play_on(table, rng)


def retold(rng: random.Random, table: Table) -> tuple[bytes, str]:
    """The log of a finished table in which a player's entry has another content, and the change.

    All parties together could have made it: the final openings fit the entry's cards, and everything is chained and
    signed anew.
    """
    drafts = draft(table)
    for each, line in zip(drafts, table.lines, strict=True):
        assert line.receipt
        each.receipt = {"at": line.receipt.receipt.at}
    players = [number for number, it in enumerate(drafts) if it.value["by"] != "server"]
    hiding = [number for number in players if "commit" in drafts[number].body]
    number = rng.choice(hiding if hiding and rng.random() < 0.5 else players)
    it = drafts[number]
    opened = [opening for each in drafts for opening in each.body.get("openings", ()) if opening["seq"] == number]
    before = copy.copy(table)
    before.lines = table.lines[:number]
    before.refereed = referee.resume(before.lines, table.refereed.seed, _until(table, number))
    told = Try(it.value, [dict(opening) for opening in opened], it.signer)
    done = []
    for _ in range(rng.choice([1, 1, 2])):
        often = "action" in told.body and rng.random() < 0.7
        name = rng.choice(_OFTEN if often else tuple(MUTATIONS))
        with suppress(*_CANNOT):
            MUTATIONS[name](rng, before, told)
            done.append(name)
    if told.openings and told.commits:
        with suppress(*_CANNOT):
            told.body["commit"] = [
                hidden_commit(table.game, it["seq"], it["part"], it["cards"], it["salt"]) for it in told.openings
            ]
    it.signer = told.signer
    it.prover = told.prover or it.prover
    _open_anew(drafts, opened, told.openings)
    return write_log(drafts), ", ".join(done)


def _until(table: Table, number: int) -> tuple[Opening, ...]:
    return tuple(opening for opening in table.refereed.openings if opening.seq < number)


def _open_anew(drafts: list[Draft], before: list[Json], after: list[Json]) -> None:
    """Replaces openings where they were published; one more is published at the end."""
    places = {
        opening["part"]: each for each in drafts for opening in each.body.get("openings", ()) if opening in before
    }
    for each in drafts:
        if "openings" in each.body:
            each.body["openings"] = [opening for opening in each.body["openings"] if opening not in before]
    ends = [each for each in drafts if each.kind == "end"]
    for opening in after:
        each = places.get(opening["part"], ends[0])
        each.body["openings"].append(opening)
        each.body["openings"].sort(key=lambda opening: (opening["seq"], opening["part"]))
