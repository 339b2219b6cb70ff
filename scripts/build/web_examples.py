"""Builds `server/hkoji_server/web/examples`: a game of each ruleset up to a middle, of which pages show the board.

python -m scripts.build.web_examples           write the files
python -m scripts.build.web_examples --check   fail if the files differ
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from hkoji.log.line import format_log
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.table import new_game

FOLDER: Final = Path(__file__).parents[2] / "server" / "hkoji_server" / "web" / "examples"
GAMES: Final = ((Hanamikoji(), 5, 10), (GeishasRoad(), 3, 11))
"""Each ruleset, the seed of a random game, and the number of its moves."""


def build() -> dict[Path, str]:
    """Path and contents of every file. Logs without receipts, which a board does not need."""
    return {
        FOLDER / f"{ruleset.name}.jsonl": format_log(new_game(seed, ruleset).play(moves).lines, receipts=False)
        for ruleset, seed, moves in GAMES
    }


def main(arguments: list[str]) -> int:
    """Writes the files, or compares them."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = []
    for path, text in build().items():
        if not arguments:
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        print(f"not what scripts/build/web_examples.py writes: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
