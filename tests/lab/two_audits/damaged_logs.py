"""Makes damaged and forged logs from a seed: the same seed gives the same logs.

The changes have names. Anybody can make those of `BYTES` in a file; only the holder of all keys can publish those of
`FORGERIES`. A log has at most one change, except for the log of `twice`.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hkoji.audit.keyring import ExpectedKeys
from hkoji.game import entry_kinds
from hkoji.game.commitments import hidden_commit
from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.two_audits.damaged_held import OF_HELD, OF_LINKS, held_tables, linked
from tests.support.curve import encode_point, encodings, small_order
from tests.support.drafts import Draft, Sign, draft, other_than_ssh_keygen, pins, write, write_log
from tests.support.table import Table, new_game
from tests.support.vectors import expected_keys, games

DEAL = ("9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77", "5e" * 32)
Bytes = Callable[[random.Random, bytes], bytes]
Forgery = Callable[[random.Random, list[Draft]], None]


@dataclass(frozen=True)
class Case:
    """A log and the keys expected in it."""

    name: str
    log: bytes
    pins: ExpectedKeys


@cache
def tables() -> tuple[Table, ...]:
    """Short games of every sort: complete, resigned, running, with the seed unopened and opened."""
    resigned = new_game(11, GeishasRoad("random", "random")).play(9)
    resigned.send(resigned.entry(1, entry_kinds.Resign()))
    short = new_game(12, Hanamikoji("random", 1, "charm"), DEAL).play(5)
    short.send(short.entry(0, entry_kinds.Resign()))
    return (
        new_game(1, Hanamikoji("random", 1, "charm")).play(),
        resigned,
        new_game(4).play(5),
        short,
        short_opened(),
        rekeyed(),
        revoked(),
        linked(),
        *held_tables()[:4],
    )


def rekeyed() -> Table:
    """A resigned game in which both seats have changed their keys themselves."""
    table = new_game(14, Hanamikoji("random", 1, "charm"))
    for _ in range(2):
        table.rekey(_actor(table))
        table.play(2)
    table.send(table.entry(0, entry_kinds.Resign()))
    return table


def revoked() -> Table:
    """A running game: one seat lost its key twice, first with a revocation; then the other seat's key was replaced."""
    table = new_game(15, GeishasRoad("host", "random"))
    seat = _actor(table)
    table.revoke(seat, signed=True)
    table.play(1)
    while table.course.actor != seat:
        table.play(1)
    table.revoke(seat)
    while table.course.actor == seat:
        table.play(1)
    table.rekey(1 - seat)
    return table.play(2)


def _actor(table: Table) -> int:
    actor = table.course.actor
    assert actor is not None
    return actor


def short_opened() -> Table:
    """A duplicate game resigned in the first round, with its seed published."""
    table = new_game(13, GeishasRoad("host", "random"), DEAL).play(7)
    table.send(table.entry(0, entry_kinds.Resign()))
    return table.unseal()


# --- what anybody can do to a file --------------------------------------------------------------------------------


def _byte(rng: random.Random, log: bytes) -> bytes:
    data = bytearray(log)
    place = rng.randrange(len(data))
    data[place] = rng.choice([rng.randrange(256), *b'\x00\x0a\x0d\x20"\\{}[],:0123456789-.eE\x7f\x80\xff'])
    return bytes(data)


def _inserted(rng: random.Random, log: bytes) -> bytes:
    place = rng.randrange(len(log) + 1)
    return (
        log[:place] + rng.choice([b"\x00", b"\r", b"\n", b" ", b"\xff", b"\xc3\xa9", b"0", b'"', b"\\"]) + log[place:]
    )


def _deleted(rng: random.Random, log: bytes) -> bytes:
    place = rng.randrange(len(log))
    return log[:place] + log[place + rng.choice([1, 1, 2, 50]) :]


def _cut_at_a_byte(rng: random.Random, log: bytes) -> bytes:
    return log[: rng.randrange(len(log))]


def _cut_at_a_line(rng: random.Random, log: bytes) -> bytes:
    lines = log.splitlines(keepends=True)
    return b"".join(lines[: rng.randrange(len(lines) + 1)])


def _lines(change: Callable[[random.Random, list[bytes]], object]) -> Bytes:
    def edit(rng: random.Random, log: bytes) -> bytes:
        lines = log.splitlines(keepends=True)
        change(rng, lines)
        return b"".join(lines)

    return edit


def _swap(rng: random.Random, lines: list[bytes]) -> None:
    one, other = rng.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]


def _other_game(rng: random.Random, lines: list[bytes]) -> None:
    others = rng.choice(tables()).text.encode().splitlines(keepends=True)
    lines[rng.randrange(len(lines))] = rng.choice(others)


BYTES: dict[str, Bytes] = {
    "nothing": lambda rng, log: log,
    "a byte changed": _byte,
    "bytes put in": _inserted,
    "bytes taken out": _deleted,
    "cut at a byte": _cut_at_a_byte,
    "cut at a line": _cut_at_a_line,
    "CR LF": lambda rng, log: log.replace(b"\n", b"\r\n"),
    "a byte order mark": lambda rng, log: b"\xef\xbb\xbf" + log,
    "an empty line": _lines(lambda rng, lines: lines.insert(rng.randrange(len(lines) + 1), b"\n")),
    "a NUL after": lambda rng, log: log + b"\x00",
    "a DEL after": lambda rng, log: log + b"\x7f\n",
    "a line taken out": _lines(lambda rng, lines: lines.pop(rng.randrange(len(lines)))),
    "a line twice": _lines(lambda rng, lines: lines.insert(rng.randrange(len(lines)), rng.choice(lines))),
    "the first line twice": _lines(lambda _, lines: lines.insert(0, lines[0])),
    "lines swapped": _lines(_swap),
    "a line of another game": _lines(_other_game),
}


# --- what only the holder of all keys can publish -------------------------------------------------------------------


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


_ODD: list[Any] = [
    *(0, 1, 2, -1, -0.0, 1.0, 0.5, 1e22, 2**53 - 1, 2**53, 2**53 + 1, 10**400, True, False, None),
    *("", "x", "A", "X" * 17, "a" * 40, "0" * 64, "f" * 32, "F" * 64, "server", "alice", "bob", "charm", "rounds", "é"),
    *("host", "random", "choose", "1X", "^0", "B1" * 17, "ssh-ed25519 AAAA", '"', "\\", "\n", "\x7f", "\x00", " "),
    *("2026-02-29T00:00:00Z", "2028-02-29T23:59:59Z", "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z"),
    *("0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-12-31T23:59:60Z"),
    *([], {}, [[]], {"a": 1}, {"name": "x"}, {"name": "go", "version": 1}, _nested(13), _nested(14), _nested(300)),
]
_KEYS = ["ext", "name", "version", "v", "key", "first", "markers", "commit", "seat", "zoo", "Zoo", "é", "a b", "first?"]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key or index) in a value, from outside in."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _odd_value(rng: random.Random, drafts: list[Draft]) -> None:
    container, key = rng.choice(list(_places(rng.choice(drafts).value)))
    container[key] = rng.choice(_ODD)


def _key_less(rng: random.Random, drafts: list[Draft]) -> None:
    container, key = rng.choice(list(_places(rng.choice(drafts).value)))
    del container[key]


def _key_more(rng: random.Random, drafts: list[Draft]) -> None:
    value = rng.choice(drafts).value
    inside = [value, *(c[k] for c, k in _places(value) if isinstance(c[k], dict))]
    rng.choice(inside)[rng.choice(_KEYS)] = rng.choice([*_ODD, {}, {}])


def _comment(rng: random.Random, drafts: list[Draft]) -> None:
    """Parts that a verifier ignores, but which must be canonical all the same."""
    rng.choice(drafts).body["ext"] = {"comment": rng.choice(["good luck", *_ODD, _nested(13), _nested(14)])}


def _spelling(rng: random.Random, drafts: list[Draft]) -> None:
    """The same value in another spelling, or nearly: spaces, escapes, double or unsorted keys, numbers with a point."""
    it = rng.choice(drafts)
    text = write(it.value)
    first = next(iter(it.value))
    it.text = rng.choice(
        [
            text.replace(",", ", ", 1),
            text.replace(":", ": ", 1),
            text + " ",
            text + "\n",
            text + "\r",
            " " + text,
            text.replace('"v":1', '"v":1.0'),
            text.replace('"v":1', '"v":1e0'),
            text.replace('"v":1', '"v":01'),
            text.replace('"v":1', '"v":+1'),
            text.replace('"v":1', '"v":-1'),
            text.replace('"v":1', '"v":2'),
            text.replace('"v":1', '"v":1,"v":1'),
            text.replace('"v":1', '"v":2,"v":1'),
            text.replace('"v":1', '"v":NaN'),
            text.replace('"v":1', '"v":nan'),
            text.replace('"seq":', '"seq":0'),
            text.replace(it.kind, f"\\u{ord(it.kind[0]):04x}{it.kind[1:]}"),
            text.replace('"by"', '"b\\u0079"'),
            text.replace("/", "\\/"),
            "{" + text[text.index('"body"') : -1] + f',"{first}":"{it.value[first]}"' + "}",
            text + text,
            text[:-1],
            "[" + text + "]",
            "",
            "null",
            '"' + "a" * 100 + '"',
        ]
    )


def _blob(sign: Sign) -> Forgery:
    def edit(rng: random.Random, drafts: list[Draft]) -> None:
        it = rng.choice(drafts)
        if rng.random() < 0.3 and it.receipt is not None:
            it.receipt_sign = sign
        else:
            it.sign = sign

    return edit


def _sign_with_other_text(key: PrivateKey, namespace: str, message: bytes) -> bytes:
    return key.sign(namespace, message + b"\n")


def _garbled(key: PrivateKey, namespace: str, message: bytes) -> bytes:
    blob = bytearray(key.sign(namespace, message))
    rng = random.Random(message)
    blob[rng.randrange(len(blob))] ^= 1 << rng.randrange(8)
    return bytes(blob)


def _namespace(rng: random.Random, drafts: list[Draft]) -> None:
    spaces = [sshsig.ENTRY, sshsig.SERVER, sshsig.RECEIPT, sshsig.VIEW, sshsig.LOGIN, sshsig.GATEWAY, "file"]
    it = rng.choice(drafts)
    if rng.random() < 0.3:
        it.receipt_namespace = rng.choice(spaces)
    else:
        it.namespace = rng.choice(spaces)


def _signer(rng: random.Random, drafts: list[Draft]) -> None:
    it = rng.choice(drafts)
    other = rng.choice(drafts).signer
    if rng.random() < 0.3:
        it.receipt_signer = other
    else:
        it.signer = other


def _base64(rng: random.Random, drafts: list[Draft]) -> None:
    it = rng.choice(drafts)
    text = base64.b64encode(it.signer.sign(it.namespace, write(it.value).encode() + b"\n")).decode()
    it.sig = rng.choice(
        [
            "",
            "A",
            "AAAA",
            "====",
            text[:-1],
            text + "=",
            text[:-3] + "B==",
            text.replace("A", "-", 1),
            text + "\n",
            "U1NI",
        ]
    )


def _keys_exchanged(rng: random.Random, drafts: list[Draft]) -> None:
    named = [it for it in drafts if it.kind in ("offer", "open", "join")]
    one, other = rng.sample(named, 2)
    a, b = ("server_key" if it.kind == "offer" else "key" for it in (one, other))
    one.body[a], other.body[b] = other.body[b], one.body[a]


@cache
def bad_points() -> tuple[bytes, ...]:
    """All keys that are weak."""
    return (*sorted(map(encode_point, small_order())), *sorted(encodings()))


def _bad_key(points: Callable[[random.Random], bytes]) -> Forgery:
    def edit(rng: random.Random, drafts: list[Draft]) -> None:
        it = rng.choice([it for it in drafts if it.kind in ("offer", "open", "join")])
        blob = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + points(rng)
        text = "ssh-ed25519 " + base64.b64encode(blob).decode()
        if it.kind == "open" and rng.random() < 0.5:
            it.body["invite"] = {"key": text, "name": "bob"}
        else:
            it.body["server_key" if it.kind == "offer" else "key"] = text

    return edit


def _second_key(rng: random.Random, drafts: list[Draft]) -> None:
    it = rng.choice([it for it in drafts if it.kind in ("open", "join")])
    it.value["by"] = rng.choice(["alice", "bob", "server", "carol"])


def _author(rng: random.Random, drafts: list[Draft]) -> None:
    """Signed in the name of the right author by another key."""
    it, other = rng.choice(drafts), rng.choice(drafts)
    it.value["by"], it.signer, it.namespace = other.value["by"], other.signer, other.namespace


def _chain(rng: random.Random, drafts: list[Draft]) -> None:
    it = rng.choice(drafts)
    change: dict[str, Any] = rng.choice(
        [{"prev": "0" * 64}, {"prev": "ab" * 32}, {"seq": rng.randrange(60)}, {"game": "ab" * 16}]
    )
    it.value.update(change)
    it.keeps_prev = True


def _receipt(rng: random.Random, drafts: list[Draft]) -> None:
    rng.choice(drafts).receipt = rng.choice(
        [
            *({"at": "2026-11-20T11:00:00Z"}, {"at": "2026-11-20T13:00:00Z"}, {"at": "2026-11-20T12:00:00"}),
            *(
                {"head": "ab" * 32},
                {"seq": 0},
                {"seq": 2**53 - 1},
                {"seq": 2**53},
                {"seq": -1},
                {"seq": True},
                {"seq": 1.0},
            ),
            *({"game": "ab" * 16}, {"game": 1}, {"v": 2}, {"v": "1"}, {"v": 1.0}, {"ext": {}}, {"by": "server"}, None),
        ]
    )


def _receipts_gone(rng: random.Random, drafts: list[Draft]) -> None:
    count = rng.choice([1, len(drafts) - 1, len(drafts)])
    for it in rng.sample(drafts, count):
        it.receipt = None


def _receipt_spelling(rng: random.Random, drafts: list[Draft]) -> None:
    rng.choice(drafts).receipt_text = rng.choice(
        ["", "{}", "null", '{"v":1}', '{"v":2}', "[" * 20, "{" * 2000, "a" * 1025]
    )


def _openings(drafts: list[Draft]) -> list[tuple[list[Any], int]]:
    return [
        (it.body["openings"], number)
        for it in drafts
        if isinstance(it.body.get("openings"), list)
        for number in range(len(it.body["openings"]))
    ]


def _opening(rng: random.Random, drafts: list[Draft]) -> None:
    places = _openings(drafts)
    if not places:
        return
    openings, number = rng.choice(places)
    other, place = rng.choice(places)
    match rng.randrange(6):
        case 0:
            openings[number]["cards"] = rng.choice(["A", "B", "AB", "BA", "A1", "E4", "x", "A" * 16])
        case 1:
            openings[number]["salt"] = other[place]["salt"]
        case 2:
            del openings[number]
        case 3:
            openings.insert(number, dict(other[place]))
        case 4:
            openings.append(dict(other[place]))
            openings.sort(key=lambda opening: (opening["seq"], opening["part"]))
        case _:
            openings[number][rng.choice(["seq", "part"])] = rng.randrange(40)


def _salt_twice(rng: random.Random, drafts: list[Draft]) -> None:
    """Two groups of cards committed to with one salt, and opened as committed."""
    places = _openings(drafts)
    if len(places) < 2:
        return
    (one, first), (other, second) = rng.sample(places, 2)
    opening = other[second]
    opening["salt"] = one[first]["salt"]
    game, seq, part = drafts[0].value["game"], opening["seq"], opening["part"]
    drafts[seq].body["commit"][part] = hidden_commit(game, seq, part, opening["cards"], opening["salt"])


def _secret(rng: random.Random, drafts: list[Draft]) -> None:
    """Another seed, entropy or commitment to one, or the seed in a wrong place."""
    key = rng.choice(["seed", "entropy", "entropy_commit", "seed_commit", "deal"])
    holders = [it.body for it in drafts if key in it.body] or [drafts[0].body["dealer"]]
    values = [it.body[key] for it in drafts if key in it.body]
    rng.choice(holders)[key] = rng.choice([*values, "ab" * 32, "5e" * 32, None])


def _dealer(rng: random.Random, drafts: list[Draft]) -> None:
    dealer = drafts[0].body["dealer"]
    name = {"server/v1": "duplicate/v1", "duplicate/v1": "server/v1"}[dealer["name"]]
    dealer.pop("deal", None)
    dealer.update({"name": name} if name == "server/v1" else {"deal": DEAL[0], "name": name})


def _chance(rng: random.Random, drafts: list[Draft]) -> None:
    chances = [it.body for it in drafts if it.kind == "chance"]
    if chances:
        chances[0].update(
            rng.choice([{"first": 0}, {"first": 1}, {"markers": "AB"}, {"markers": "BA"}, {"markers": "EA"}])
        )
        if rng.random() < 0.2:
            del chances[0][rng.choice(list(chances[0]))]


def _ruleset(rng: random.Random, drafts: list[Draft]) -> None:
    ruleset = drafts[0].body["ruleset"]
    ruleset[rng.choice(list(ruleset))] = rng.choice(
        [
            "host",
            "guest",
            "random",
            "choose",
            "charm",
            "geisha",
            0,
            1,
            2,
            99,
            100,
            "hanamikoji",
            "geishas-road",
            "go",
            None,
        ]
    )


def _kind(rng: random.Random, drafts: list[Draft]) -> None:
    kinds = [*(it.kind for it in drafts), "rekey", "revoke", "delegate", "plan", "Move", "x" * 32, "x" * 33, "-"]
    rng.choice(drafts).value["kind"] = rng.choice(kinds)


def _later(rng: random.Random, drafts: list[Draft]) -> None:
    """Content of a later version of the format."""
    body = rng.choice(drafts).body
    match rng.randrange(5):
        case 0:
            drafts[0].body["requires"] = rng.choice([["tea"], ["a", "b"], ["a", 1], [[]], "tea", [""]])
        case 1:
            drafts[0].body["dealer"] = rng.choice([{"name": "joint/v1"}, {"name": 1}, {"joint": "ab"}, "server/v1", []])
        case 2:
            drafts[0].body["ruleset"] = rng.choice(
                [{"name": "go", "version": 1}, {"name": "hanamikoji", "version": 2}, {"name": "go"}]
            )
        case 3:
            body["later"] = rng.choice(_ODD)
        case _:
            drafts[-1].body["result"] = rng.choice(
                [{"reason": "flood", "winner": 0}, {"reason": 1, "winner": 0}, {"reason": "charm", "winner": 2}]
            )


def _taken_out(rng: random.Random, drafts: list[Draft]) -> None:
    """A game made anew without one of its entries, or with one twice."""
    number = rng.randrange(len(drafts))
    if rng.random() < 0.5:
        del drafts[number]
    else:
        drafts.insert(
            number, Draft({**drafts[number].value}, drafts[number].signer, drafts[number].namespace, drafts[0].service)
        )
    for seq, it in enumerate(drafts):
        it.value["seq"] = seq


def _key_changes(drafts: list[Draft]) -> list[Draft]:
    return [it for it in drafts if it.prover is not None]


def _another_proof(rng: random.Random, drafts: list[Draft]) -> None:
    """A proof by another key, of another place or name, for another purpose, or none; or an invalid revocation."""
    for it in _key_changes(drafts):
        keys = [each.signer for each in drafts]
        match rng.randrange(5):
            case 0:
                it.prover = rng.choice(keys)
            case 1:
                it.prover = None  # it stays that of the unchanged game
                rng.choice(drafts).body["ext"] = {"comment": "x"}
            case 2:
                it.prover, it.body["proof"] = None, rng.choice(["", "AAAA", "U1NI", 1, None, {}])
            case 3:
                it.prover = None
                it.body["proof"] = base64.b64encode(rng.choice(keys).sign(sshsig.REVOKE, b"{}\n")).decode()
            case _:
                if "revocation" in it.body:
                    it.body["revocation"] = _odd_revocation(rng, it.body, keys)


def _odd_revocation(rng: random.Random, body: dict[str, Any], keys: list[PrivateKey]) -> Any:
    key = rng.choice(keys)
    said = {"at": "2026-11-20T12:00:00Z", "key": body["old"], "name": body["name"], "origin": "http://x", "v": 1}
    sig = base64.b64encode(key.sign(sshsig.REVOKE, write(said).encode() + b"\n")).decode()
    value: dict[str, Any] = {"at": said["at"], "origin": said["origin"], "sig": sig}
    if rng.random() < 0.5:
        value[rng.choice(["at", "origin", "sig", "name"])] = rng.choice([*_ODD, "http://y", ""])
    return rng.choice([value, value, None, 0, False, {}, []])


def _another_place(rng: random.Random, drafts: list[Draft]) -> None:
    """The wrong key is replaced, or the wrong one put in its place, or for another player, or by somebody else."""
    for it in _key_changes(drafts):
        keys = [each.signer.public.text for each in drafts]
        match rng.randrange(5):
            case 0:
                it.body["old"] = rng.choice(keys)
            case 1:
                key = rng.choice([each.signer for each in drafts])
                it.body["key"], it.prover = key.public.text, key
            case 2:
                it.body["name" if it.kind == "revoke" else "old"] = rng.choice(["alice", "bob", "server", "carol"])
            case 3:
                other = rng.choice(drafts)
                it.value["by"], it.signer, it.namespace = other.value["by"], other.signer, other.namespace
            case _:
                weak = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + rng.choice(bad_points())
                it.body[rng.choice(["key", "old"])] = "ssh-ed25519 " + base64.b64encode(weak).decode()


def _old_key(rng: random.Random, drafts: list[Draft]) -> None:
    """After a change of keys the old one signs, or before it the new one."""
    changes = _key_changes(drafts)
    if not changes:
        return
    it = rng.choice(changes)
    signers = {each.signer.public.text: each.signer for each in drafts}
    pair = [signers.get(it.body[name]) for name in ("key", "old")]
    mine = [each for each in drafts if each.signer in pair]
    if mine and None not in pair:
        each = rng.choice(mine)
        each.signer = next(key for key in pair if key is not None and key is not each.signer)


FORGERIES: dict[str, Forgery] = {
    "another proof of a new key": _another_proof,
    "a new key in another place": _another_place,
    "an entry by a key that does not count": _old_key,
    "an odd value": _odd_value,
    "a key less": _key_less,
    "a key more": _key_more,
    "a comment": _comment,
    "another spelling": _spelling,
    "S + L": _blob(other_than_ssh_keygen(add_order=True)),
    "R is neutral": _blob(other_than_ssh_keygen(neutral_r=True)),
    "sha256": _blob(other_than_ssh_keygen(algorithm="sha256")),
    "a reserved field": _blob(other_than_ssh_keygen(reserved=b"x")),
    "SSHSIG version 2": _blob(other_than_ssh_keygen(version=2)),
    "another key type": _blob(other_than_ssh_keygen(kind=b"ssh-ed448")),
    "bytes behind": _blob(other_than_ssh_keygen(more=b"\x00")),
    "another key in the blob": _blob(other_than_ssh_keygen(public=PrivateKey.from_seed(bytes(32)).public)),
    "a signature of another text": _blob(_sign_with_other_text),
    "a garbled blob": _blob(_garbled),
    "another namespace": _namespace,
    "another signer": _signer,
    "odd base64": _base64,
    "keys exchanged": _keys_exchanged,
    "a weak key": _bad_key(lambda rng: rng.choice(bad_points())),
    "a key at random": _bad_key(lambda rng: rng.randbytes(32)),
    "a name with two keys": _second_key,
    "another author": _author,
    "another chain": _chain,
    "another receipt": _receipt,
    "receipts gone": _receipts_gone,
    "a receipt in other words": _receipt_spelling,
    "another opening": _opening,
    "a salt twice": _salt_twice,
    "another secret": _secret,
    "another dealer": _dealer,
    "another chance": _chance,
    "another ruleset": _ruleset,
    "another kind": _kind,
    "a later version": _later,
    "an entry less or twice": _taken_out,
    **OF_LINKS,
    **OF_HELD,
}


def forged(name: str, rng: random.Random) -> Case:
    """One table with one forgery."""
    table = linked() if name in OF_LINKS else rng.choice(held_tables() if name in OF_HELD else tables())
    drafts = draft(table)
    FORGERIES[name](rng, drafts)
    return Case(name, write_log(drafts), _pins(table, rng))


def damaged(name: str, rng: random.Random) -> Case:
    """One table with one damage to its bytes."""
    table = rng.choice(tables())
    return Case(name, BYTES[name](rng, table.text.encode()), _pins(table, rng))


def twice(rng: random.Random) -> Case:
    """One table with two forgeries."""
    table = rng.choice(tables())
    drafts = draft(table)
    names = rng.choices(sorted(FORGERIES), k=2)
    for name in names:
        try:
            FORGERIES[name](rng, drafts)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            continue  # the first has removed what the second needs
    return Case(" and ".join(names), write_log(drafts), _pins(table, rng))


def cases(rng: random.Random) -> Iterator[Case]:
    """One log of every sort; a generator that has moved on gives others."""
    for name in BYTES:
        yield damaged(name, rng)
    for name in FORGERIES:
        yield forged(name, rng)
    yield twice(rng)


def golden() -> Iterator[Case]:
    """The test vectors: complete games, each of them cut after every one of its entries, and the logs of logs.json."""
    folder = Path(__file__).parents[2] / "data" / "vectors" / "games"
    vectors = json.loads((folder.parent / "logs.json").read_text())
    for vector in vectors["logs"]:
        yield Case(vector["what"], vector["log"].encode(), {})
    for name, facts in games().items():
        known = expected_keys(facts)
        lines = (folder / name).read_bytes().splitlines(keepends=True)
        for count in range(len(lines), 0, -1):
            yield Case(f"{count} entries of {name}", b"".join(lines[:count]), known)


def _pins(table: Table, rng: random.Random) -> ExpectedKeys:
    known: dict[str, Any] = dict(pins(table))
    match rng.randrange(8):
        case 0:
            return {}
        case 1:
            return {**known, rng.choice(sorted(known)): PrivateKey.from_seed(rng.randbytes(32)).public}
        case 2:
            del known[rng.choice(sorted(known))]
        case 3:  # of a player with several keys only one is expected
            return {name: rng.choice(keys) for name, keys in known.items()}
    return known
