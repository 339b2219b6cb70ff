"""Compares the size of the project, and what a move enters, with the figures that were agreed.

    python -m scripts.rooms [--write]

`tests/data/rooms.json` has the figures. A figure that is over the agreed one fails: a change that needs more room
raises it there, in a commit of its own that gives the reason. A figure that has fallen is written with `--write`, which
never raises one. How often a way changes files varies a little from run to run, so that may be 5 % over.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Final

from scripts.rooms.sizes import ROOT, long_files, sizes
from scripts.rooms.ways import ways

_FIGURES: Final = ROOT / "tests" / "data" / "rooms.json"
_VARIES: Final = 1.05


def measure() -> dict[str, int]:
    """All figures by name."""
    with contextlib.redirect_stdout(io.StringIO()):  # the services here log to it
        entered = ways()
    found = {**sizes(), **{f"long file: {name}": length for name, length in long_files().items()}}
    for way, counts in entered.items():
        found |= {f"{way}: {what}": count for what, count in counts.items() if what != "entered"}
    return found


def over(found: dict[str, int], agreed: dict[str, int]) -> dict[str, int]:
    """The figures that are over the agreed ones, and those for which none was agreed."""
    return {
        name: figure
        for name, figure in found.items()
        if figure > agreed.get(name, -1) * (_VARIES if name.endswith(": changes") else 1)
    }


def main(words: list[str]) -> int:
    """Prints the table, and returns 1 if a figure is over."""
    agreed: dict[str, int] = json.loads(_FIGURES.read_text(encoding="utf-8"))
    found = measure()
    wrong = over(found, agreed)
    if words == ["--write"]:
        fallen = {name: min(figure, found[name]) for name, figure in agreed.items() if name in found}
        _FIGURES.write_text(json.dumps(fallen, indent=2) + "\n", encoding="utf-8")
    for name, figure in found.items():
        if name in wrong:
            print(f"{name}: {figure}, agreed {agreed.get(name, 'none')}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
