"""One byte of a file changed, in every possible way, and the required outcome.

Damages that leave the file unchanged are left out, and so are duplicates: of a run of equal bytes only the first is
deleted, and an inserted byte stands before its equals.
"""

from __future__ import annotations

import io
import json
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.audit.keyring import MapChecks
from hkoji.audit.log_audit import Audit, audit
from hkoji.cli.files import UnreadableLog, split
from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.log.line import format_log, parse_log
from hkoji.log.public_key import PublicKey
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
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
