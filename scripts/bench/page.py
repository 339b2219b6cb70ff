"""The rows of docs/performance.md: which there are, and how benchmarks write them.

A benchmark records each of its figures under the words of its row. `python -m scripts.bench NAME --write` puts them
into the page, with the date, the load of the machine and whether limits were on. A row that no benchmark has measured
since the row was added here is not in the page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

PAGE: Final = Path(__file__).parents[2] / "docs" / "performance.md"
BEGIN: Final = "<!-- Rows are written by: python -m scripts.bench NAME... --write -->\n"
END: Final = "<!-- end of the rows -->\n"
HEAD: Final = (
    "| what | floor | measured | ratio | aim | reached | run | benchmark |\n|---|---|---|---|---|---|---|---|\n"
)

ROWS: Final[dict[str, dict[str, str]]] = {
    "audit": {
        "audit of one log on one core, entries with their receipts a second, by libsodium": "0.72",
        "audit of one log on two cores, by libsodium": "1.3",
        "audit of one log on one core, by OpenSSL": "0.72",
        "audit of one log on two cores, by OpenSSL": "1.3",
        "`hkoji audit DIR`, 160 games, start included, games a second": "0.6",
        "`hkoji audit DIR --jobs 1`": "",
    },
    "store": {
        "durable move in the store, one at a time": "0.85",
        "durable move in the store, 32 waiting": "0.85",
    },
    "moves": {
        "signed moves over HTTP, 32 connections, one process with a core of its own": "0.52",
        "the same, 16 connections: p99 over p50": "at most 3",
        "signed moves over HTTP, 32 connections, `--workers 2`, all cores": "0.75",
        "moves beside a mail process and 1,000 games with a held seat, against moves without both": "0.97",
        "p99 of moves beside 5 locks a second, ms: time": "at most 1.5",
    },
    "answers": {
        "one mail, until it is answered, s": "at most 0.5",
        "300 mails at once, until all are answered, s": "at most 5",
    },
    "agreement": {
        "a move with an agreement, 16 connections, against one without a clock": "0.94",
        "signed head over HTTP": "0.5",
        "a look of the keeper at 1,000,000 games, 10 overdue, ms": "at most 2",
    },
    "views": {
        "own view over HTTP": "0.8",
        "own view with what the clocks show": "",
        "own view with the whole log of 20 entries": "",
        "list of 20 open games": "0.6",
        "list of one player's 20 games": "0.6",
        "list of 20 games that wait for a player": "0.6",
    },
    "web": {
        "pages of games over HTTP, each made anew, a second": "",
        "the same, pages that are kept": "",
        "p99 of moves beside 20 pages a second, ms: time": "at most 1.3",
    },
    "command": {
        "`hkoji show`": "0.8",
        "`hkoji show` that Typer reads: time": "",
        "`hkoji --version`: time": "at most 0.2",
        "`hkoji --help`: time": "at most 1",
        "`hkoji replay FILE --at N`: time": "at most 1.2",
        "`hkoji admin mail receive`, a mail that is kept or dropped: time": "at most 1.8",
        "a `show` in `hkoji batch`": "0.77",
        "a `move` in `hkoji batch`": "0.5",
    },
    "scale": {
        "point reads on ten times as many entries, the slowest: processor time": "at most 1.25",
        "durable move on ten times as many entries, one at a time: time": "at most 1.25",
        "durable move on ten times as many entries, 32 waiting: time": "at most 1.25",
        "waiting for me, µs": "at most 10",
        "waiting for me, the statement alone, µs": "",
        "size on disk, against the payload of the tables": "at most 1.35",
    },
    "sealed": {
        "a lock that is made: time": "at most 350",
        "a lock that is checked: time": "at most 340",
        "a player's round that is made: time": "at most 1400",
        "a round of both players that is checked: time": "at most 2700",
        "a round of both players that is checked in plain Python: time": "",
        "`hkoji move`, a move without a lock: time": "at most 1.5",
        "`hkoji move`, a move with a lock: time": "at most 2",
    },
    "rules": {
        "random play at Hanamikoji, decisions a second": "",
        "parse of a log, entries a second": "",
        "replay of finished games, entries a second": "",
    },
    "stats": {
        "`hkoji stats`, games of Hanamikoji a second": "",
        "`hkoji stats`, games of Geisha's Road a second": "",
    },
    "postgres": {
        "durable move on PostgreSQL, one at a time": "",
        "durable move on PostgreSQL, 32 waiting": "",
        "signed moves over HTTP on PostgreSQL, 32 connections": "",
        "own view over HTTP on PostgreSQL": "",
    },
}
"""The words of each row by its benchmark, with the aim for its ratio, or for what was measured if it has no ratio."""


class Figure(NamedTuple):
    """A figure. `limits` says whether limits of addresses and players were on; None where there are none."""

    measured: float
    ratio: float | None = None
    floor: str = ""
    limits: bool | None = None


_found: dict[str, Figure] = {}


def record(what: str, figure: Figure) -> None:
    """Keeps a figure for the page. Raises `KeyError` if there is no such row."""
    if not any(what in rows for rows in ROWS.values()):
        raise KeyError(what)
    _found[what] = figure


def record_speed(what: str, found: Mapping[str, float], name: str, floor: str, *, limits: bool | None = None) -> None:
    """Keeps a speed, and its ratio to that of the floor. For a row about time, the ratio is that of the times."""
    ratio = found[name] / found[floor]
    if what.endswith(": time"):
        ratio = 1 / ratio
    record(what, Figure(found[name], ratio, f"{shown(found[floor])} {floor}", limits))


def shown(number: float) -> str:
    """Returns a number with three digits or more."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def is_reached(aim: str, figure: Figure) -> bool:
    """Returns whether a figure reaches an aim."""
    number = figure.measured if figure.ratio is None else figure.ratio
    least, _, most = aim.rpartition("at most ")
    return number <= float(most) if aim.startswith("at most ") else number >= float(least or aim)


def write(run: str) -> list[str]:
    """Puts what was recorded into the page, made in this `run`. Returns the words of these rows."""
    text = PAGE.read_text()
    kept = rows_of(text)
    lines = []
    for benchmark, rows in ROWS.items():
        for what, aim in rows.items():
            figure = _found.get(what)
            if figure is not None:
                lines.append(_line(benchmark, what, aim, figure, run))
            elif what in kept:
                lines.append(kept[what])
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text("".join((text[:start], "\n", HEAD, *(f"{line}\n" for line in lines), "\n", text[end:])))
    written = list(_found)
    _found.clear()
    return written


def rows_of(text: str) -> dict[str, str]:
    """Returns the rows of the page, by their words."""
    table = text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip().removeprefix(HEAD.strip())
    return {cells_of(line)[0]: line for line in table.splitlines() if line}


def cells_of(line: str) -> list[str]:
    """Returns the cells of a row."""
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def this_run() -> str:
    """Returns the date, and the load of the machine now."""
    return f"{datetime.now(UTC):%Y-%m-%d}, load {os.getloadavg()[0]:.1f}"


def _line(benchmark: str, what: str, aim: str, figure: Figure, run: str) -> str:
    limits = "" if figure.limits is None else f", limits {'on' if figure.limits else 'off'}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    reached = "" if not aim else "yes" if is_reached(aim, figure) else "no"
    cells = what, figure.floor, shown(figure.measured), ratio, aim, reached, f"{run}{limits}", f"`{benchmark}`"
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")
