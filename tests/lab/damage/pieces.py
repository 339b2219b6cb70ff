"""One byte changed, in every possible way, of a file, a signature, a receipt, a view or a key; and what has to follow.

Damages that leave the file unchanged are left out, and so are duplicates: of a run of equal bytes only the first is
deleted, and an inserted byte stands before its equals.

Each piece is a text or blob with a function that gives the outcome of reading another in its place. Where several
spellings are allowed (JSON around a receipt, spaces in a file of keys, armour around a private key), some damages
change nothing that matters: they give `SAME` and are counted apart.
"""

from __future__ import annotations

import io
import json
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from hkoji import referee
from hkoji.audit.checks import verify_receipt, verify_signatures
from hkoji.audit.keyring import MapChecks
from hkoji.audit.log_audit import Audit, audit
from hkoji.cli.audit.command import read_expected_keys
from hkoji.cli.files import UnreadableLog, split
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.line import Line, format_log, parse_log, read_signed, read_signed_receipt
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey, decode_public_key, parse_public_key
from hkoji.log.statement import parse_view
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.two_audits.damaged_logs import Case
from tests.lab.two_audits.measure import compare
from tests.support.drafts import pins
from tests.support.table import Table, new_game
from tests.support.vectors import expected_keys

SORTS: Final = ("bit", "byte", "put in", "taken out", "swapped")
_TELLING: Final = b'\x00\x0a\x0d\x20"\\{}[],:0123456789-.eE=+/\x7f\x80\xff'  # bytes that a parser may misread
_GAMES: Final = Path(__file__).parents[2] / "data" / "vectors" / "games"


class Damage(NamedTuple):
    """One byte at `place`: replaced by `value`, inserted before it, deleted, or exchanged with the next."""

    sort: str
    place: int
    value: int = 0

    def of(self, data: bytes) -> bytes:
        """The damaged file."""
        before, here, after = data[: self.place], data[self.place : self.place + 1], data[self.place + 1 :]
        match self.sort:
            case "bit" | "byte":
                return before + bytes((self.value,)) + after
            case "put in":
                return before + bytes((self.value,)) + here + after
            case "taken out":
                return before + after
            case _:
                return before + after[:1] + here + after[1:]


def all_damages(data: bytes) -> Iterator[Damage]:
    """Every file with one byte changed, inserted or deleted, or with two neighbours exchanged."""
    for place in range(len(data) + 1):
        before = data[place - 1] if place else None
        yield from (Damage("put in", place, value) for value in range(256) if value != before)
        if place < len(data):
            yield from (Damage("byte", place, value) for value in range(256) if value != data[place])
            yield from _moved(data, place, SORTS)


def some_damages(data: bytes, places: range, ways: int, rng: random.Random) -> Iterator[Damage]:
    """At each of `places`, `ways` (1 to 5) of the five sorts, in turn, with a random value."""
    for place in places:
        sorts = {SORTS[(place + way) % len(SORTS)] for way in range(ways)}
        here = data[place]
        flipped = here ^ (1 << rng.randrange(8))
        if "bit" in sorts:
            yield Damage("bit", place, flipped)
        if "byte" in sorts:
            yield Damage("byte", place, _value(rng, here, flipped))
        if "put in" in sorts:
            yield Damage("put in", place, _value(rng, *data[max(0, place - 1) : place]))
        yield from _moved(data, place, sorts)
    if places.stop == len(data):
        yield Damage("put in", len(data), _value(rng, *data[-1:]))


def _moved(data: bytes, place: int, sorts: Iterable[str]) -> Iterator[Damage]:
    here, after = data[place], data[place + 1 : place + 2]
    if "taken out" in sorts and not data[:place].endswith(bytes((here,))):
        yield Damage("taken out", place)
    if "swapped" in sorts and after and after[0] != here:
        yield Damage("swapped", place)


def _value(rng: random.Random, *others: int) -> int:
    while True:
        value = rng.choice(_TELLING) if rng.random() < 0.5 else rng.randrange(256)
        if value not in others:
            return value


# --- logs -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sound:
    """A log that holds, with the keys expected in it."""

    name: str
    data: bytes
    pins: Mapping[str, tuple[PublicKey, ...]]


@cache
def sound_logs() -> tuple[Sound, ...]:
    """The games among the test vectors; some made here that end in other ways; and one without receipts."""
    logs = []
    for name, facts in json.loads((_GAMES / "games.json").read_text()).items():
        logs.append(Sound(name, (_GAMES / name).read_bytes(), expected_keys(facts)))
    whole = next(log for log in logs if log.name == "whole.jsonl")
    bare = format_log(parse_log(whole.data), receipts=False).encode()
    drawn = new_game(2, Hanamikoji("guest", 1)).play()
    made = {"cancelled": _cancelled(), "invited": _invited(), "linked": _linked(), "drawn": drawn}
    return (
        *logs,
        *(Sound(name, table.text.encode(), _named(table)) for name, table in made.items()),
        Sound("without receipts", bare, whole.pins),
    )


def _named(table: Table) -> Mapping[str, tuple[PublicKey, ...]]:
    return {name: key for name, key in pins(table).items() if f'\\"by\\":\\"{name}\\"' in table.text}


def _cancelled() -> Table:
    table = Table(Hanamikoji("host", 3, "charm"), 5)
    table.open()
    table.send(table.entry(0, entry_kinds.Cancel()))
    return table


def _invited() -> Table:
    table = Table(GeishasRoad("random", "choose"), 6)
    table.open(entry_kinds.Invite("bob", table.keys[1].public))
    table.join()
    table.reveal_seeds()
    return table


def _linked() -> Table:
    table = Table(GeishasRoad("random", "choose"), 7).open_by_link()
    table.join()
    table.reveal_seeds()
    return table


class Auditor:
    """Audits damaged copies of one log. Results for the sound log's signatures are cached, all others are checked.

    The cache key is the bytes and the key; `plain` checks every signature.
    """

    def __init__(self, log: Sound) -> None:
        self.log = log
        self._checked: set[object] = set()
        self._ends = [place for place, byte in enumerate(log.data) if byte == ord("\n")]
        self._learn()

    def _learn(self) -> None:
        def noted(verify: object, checks: Iterable[object]) -> Iterator[HkojiError | None]:
            for check in checks:
                error = verify(check)  # type: ignore[operator] # the parameters of `MapChecks`
                assert error is None
                self._checked.add(check)
                yield error

        each: MapChecks = noted
        assert audit(self.log.data, self.log.pins, map_checks=each).ok

    def _each(self, verify: object, checks: Iterable[object]) -> Iterator[HkojiError | None]:
        for check in checks:
            yield None if check in self._checked else verify(check)  # type: ignore[operator] # as above

    def complaint(self, damage: Damage, *, plain: bool = False) -> tuple[str, str]:
        """The outcome of a damage in a word or two, and the fault if there is one.

        The file is split as `hkoji audit FILE` does. It must not hold; exactly the entries before the damage must hold;
        and nobody may be accused.
        """
        data = damage.of(self.log.data)
        assert data != self.log.data
        results: list[Audit] = []
        each: MapChecks = map if plain else self._each
        try:
            for piece in split(io.BytesIO(data), "-"):
                assert not isinstance(piece, UnreadableLog)
                results.append(audit(piece.text, self.log.pins, map_checks=each))
        except Exception as error:
            return "raises", f"raises {error!r}"
        findings = [finding for result in results for finding in result.findings]
        if not findings:
            return "holds", "it holds"
        if accused := [finding for finding in findings if finding.signer]:
            return "accuses", f"it accuses {accused[0].signer}: {accused[0].reason}"
        holds, before = sum(result.holds for result in results), self._intact(data, damage.place)
        if holds != before:
            return "elsewhere", f"{holds} entries stand, and {before} were left as they were"
        first = findings[0]
        return (f"step {first.step} {first.step.name.lower()}" if first.understood else "not understood"), ""

    def _intact(self, data: bytes, place: int) -> int:
        """The number of lines before the first byte that differs."""
        log = self.log.data
        while place < min(len(data), len(log)) and data[place] == log[place]:
            place += 1
        return bisect_right(self._ends, place - 1)


SAME: Final = "says the same"
HOLDS: Final = "holds"
REFUSED: Final = "refused"


class Piece(NamedTuple):
    """`read` gives `SAME`, `HOLDS` (a fault) or what was detected; an unexpected exception is a fault too."""

    name: str
    data: bytes
    read: Callable[[bytes], str]


def complaint(piece: Piece, data: bytes) -> tuple[str, str]:
    """The outcome of a damaged piece, and the fault if there is one."""
    try:
        word = piece.read(data)
    except HkojiError:
        return REFUSED, ""
    except Exception as error:
        return "raises", f"raises {error!r}"
    return word, "it holds" if word == HOLDS else ""


def pieces(folder: Path) -> Iterator[Piece]:
    """All pieces; the file of keys is written into `folder` to be read."""
    log = next(each for each in sound_logs() if each.name == "running.jsonl")
    lines = parse_log(log.data)
    for name in ("server", "alice"):
        line = next(line for line in lines if line.entry.by == name)
        yield from _signatures(name, line, log.pins[name][0])
    yield _receipt(lines[-1], log.pins["server"][0])
    yield _view()
    for name in sorted(log.pins):
        yield _key(log, name)
    yield _key_blob(log, "alice")
    yield _key_file(log, folder)
    yield _private_key()


def _signatures(name: str, line: Line, key: PublicKey) -> Iterator[Piece]:
    def verify(blob: bytes) -> str:
        verify_signatures(line.entry, blob, key, None)
        return HOLDS

    def encoded(data: bytes) -> str:
        return verify(decode_base64(data.decode("latin-1"), "signature"))

    def armored(data: bytes) -> str:
        return verify(sshsig.dearmor(data.decode("latin-1")))

    yield Piece(f"signature of {name}, blob", line.sig, verify)
    yield Piece(f"signature of {name}, base64", encode_base64(line.sig).encode(), encoded)
    yield Piece(f"signature of {name}, .sig file", sshsig.armor(line.sig).encode(), armored)


def _receipt(line: Line, server: PublicKey) -> Piece:
    sound = line.receipt
    assert sound

    def read(data: bytes) -> str:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return REFUSED
        receipt = read_signed_receipt(value)
        verify_receipt(receipt, line.entry, server)
        return SAME if receipt == sound else HOLDS

    value = {"sig": encode_base64(sound.sig), "text": sound.receipt.text}
    return Piece("receipt", json.dumps(value, separators=(",", ":")).encode(), read)


def _view() -> Piece:
    table = new_game(4).play(5)
    sound = referee.view(table.refereed, 1)
    sig = table.server.sign(sshsig.VIEW, sound.message)

    def read(data: bytes) -> str:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return REFUSED
        signed = read_signed(value, "view")
        view = parse_view(signed.text)
        sshsig.verify(signed.sig, table.server.public, sshsig.VIEW, view.message, "server")
        return SAME if (view, signed.sig) == (sound, sig) else HOLDS

    value = {"sig": encode_base64(sig), "text": sound.text}
    return Piece("view", json.dumps(value, separators=(",", ":")).encode(), read)


def _key(log: Sound, name: str) -> Piece:
    def read(data: bytes) -> str:
        return _seen(audit(log.data, {**log.pins, name: parse_public_key(data.decode("latin-1"))}))

    return Piece(f"expected key of {name}", log.pins[name][0].text.encode(), read)


def _key_blob(log: Sound, name: str) -> Piece:
    def read(data: bytes) -> str:
        return _seen(audit(log.data, {**log.pins, name: decode_public_key(data)}))

    return Piece(f"expected key of {name}, blob", log.pins[name][0].blob, read)


def _key_file(log: Sound, folder: Path) -> Piece:
    file = folder / "keys.txt"
    seen: dict[frozenset[tuple[str, tuple[PublicKey, ...]]], str] = {}

    def read(data: bytes) -> str:
        file.write_bytes(data)
        pins = read_expected_keys((), (str(file),))
        if pins == log.pins:
            return SAME
        kept = frozenset(pins.items())
        if kept not in seen:
            seen[kept] = _seen(audit(log.data, pins))
        return seen[kept]

    return Piece("keys.txt", "".join(f"{name} {key.text}\n" for name, (key,) in log.pins.items()).encode(), read)


def _seen(result: Audit) -> str:
    if any(finding.signer for finding in result.findings):
        raise AssertionError(f"it accuses: {result.findings}")
    if result.findings:
        return f"step {result.findings[0].step} {result.findings[0].step.name.lower()}"
    return HOLDS if all(party.pinned for party in result.parties) else "a key not expected"


def _private_key() -> Piece:
    sound = PrivateKey.from_seed(bytes(range(32)))

    def read(data: bytes) -> str:
        return SAME if PrivateKey.from_openssh(data).public == sound.public else HOLDS

    return Piece("private key file", sound.to_openssh(), read)


_AT_A_TIME = 200


@cache
def held_logs() -> tuple[Sound, ...]:
    """The logs with held keys among the sound ones; of long ones also the beginning, which is read faster."""
    found = [log for log in sound_logs() if '\\"gateway\\":' in log.data.decode()]
    short = [
        Sound(f"{log.name}, begun", b"".join(log.data.splitlines(keepends=True)[:6]), log.pins)
        for log in found
        if "delegated" not in log.name
    ]
    return (*found, *short)


def flips(rng: random.Random) -> Iterator[tuple[Sound, Damage]]:
    """One bit after another, each of one log, at any place."""
    while True:
        log = rng.choice(held_logs())
        place = rng.randrange(len(log.data))
        yield log, Damage("bit", place, log.data[place] ^ (1 << rng.randrange(8)))


class Undetected(NamedTuple):
    """A flipped bit that an audit lets pass, or on which the two differ."""

    name: str
    script: int
    hkoji: int


def undetected(tried: Iterable[tuple[Sound, Damage]], folder: Path, jobs: int) -> Iterator[Undetected]:
    """The flipped bits of those `tried` for which one of the audits exits with 0, or the two differ."""
    left = iter(tried)
    with ThreadPoolExecutor(jobs) as pool:
        while chosen := list(islice(left, _AT_A_TIME)):
            cases = [Case(f"{log.name}, {damage}", damage.of(log.data), log.pins) for log, damage in chosen]
            for _, case, script, hkoji in compare(cases, folder, pool):
                if not (script.exit and hkoji.exit and script.agrees(hkoji)):
                    yield Undetected(case.name, script.exit, hkoji.exit)
