"""The games of tests/data/clocks.txt. Its comment at the top explains the words of a line."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from hkoji.game.agreement import TimeControl

_DAY = 86400
DATA = Path(__file__).parents[1] / "data" / "clocks.txt"


class ClockEntry(NamedTuple):
    """An entry, and the clocks after it. `late` is None for a kind that cannot be late."""

    kind: str
    by: int | None
    at: str
    credits: int | None
    late: bool | None
    owes: int | None
    banks: tuple[int, int]
    spent: int | None
    deadline: str | None


class ClockGame(NamedTuple):
    """A game from the join on. `numbers` are move, bank, add and cap in seconds."""

    name: str
    numbers: tuple[int, int, int, int]
    rest: str
    zone: str
    entries: tuple[ClockEntry, ...]


@cache
def clock_games() -> tuple[ClockGame, ...]:
    """All games of the file."""
    games: list[ClockGame] = []
    name, entries = "", list[ClockEntry]()
    for line in DATA.read_text(encoding="ascii").splitlines():
        match line.split():
            case [] | ["#", *_]:
                pass
            case ["game", name]:
                entries = []
            case ["control", move, bank, add, cap, rest, zone]:
                numbers = int(move), int(bank), int(add), int(cap)
                games.append(ClockGame(name, numbers, "" if rest == "-" else rest, zone, ()))
            case [kind, by, at, credits, late, owes, host, guest, spent, deadline]:
                entries.append(
                    ClockEntry(
                        kind,
                        _number(by),
                        at,
                        _number(credits),
                        {"yes": True, "no": False, "-": None}[late],
                        _number(owes),
                        (int(host), int(guest)),
                        _number(spent),
                        None if deadline == "-" else deadline,
                    )
                )
                games[-1] = games[-1]._replace(entries=tuple(entries))
            case _:
                raise AssertionError(line)
    return tuple(games)


def _number(word: str) -> int | None:
    return None if word == "-" else int(word)


@st.composite
def controls(draw: st.DrawFn) -> TimeControl:
    """Any control that the table allows."""
    bank = draw(st.integers(0, 366 * _DAY))
    move = draw(st.integers(0 if bank else 1, 60 * _DAY))
    add = draw(st.just(0) | st.integers(1, 30 * _DAY))
    cap = draw(st.integers(max(bank, add), 366 * _DAY) | st.just(min(366 * _DAY, max(add, 2 * bank)))) if add else bank
    rest = "".join(sorted(draw(st.sets(st.sampled_from("1234567"), max_size=6))))
    quarters = draw(st.integers(-59, 59)) if rest else 0
    hours, quarter = divmod(abs(quarters), 4)
    return TimeControl(move, bank, add, cap, rest, f"{'-' if quarters < 0 else '+'}{hours:02}:{15 * quarter:02}")
