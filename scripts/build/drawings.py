"""Builds tests/data/drawings/ (positions and a chart as SVG, for review).

python -m scripts.build.drawings           write the files
python -m scripts.build.drawings --check   fail if the files differ
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.game.replay import Replay, replay
from hkoji.rules.events import DECISIONS
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.rules.transcript import format_event
from hkoji.show.board import turned_up
from hkoji.show.games import draw_position
from hkoji.show.scene import Scene
from hkoji.show.svg.charts import Bar, Chart, draw_charts
from hkoji.study.shares import Share
from hkoji.study.stops import ALL, GUEST, HOST, SPECTATOR, Eyes, Stop, see, stops
from tests.support.docs import DOCS
from tests.support.table import NAMES, whole_game

ROOT: Final = DOCS.parent
FOLDER: Final = ROOT / "tests" / "data" / "drawings"


class Picture(NamedTuple):
    """A position of a random game: the first one from stop `start` on at which `due` comes next."""

    ruleset: Ruleset
    seed: int
    start: int
    due: Due
    eyes: Eyes


ROW: Final = Hanamikoji(max_rounds=3, tiebreak="charm")
ROAD: Final = GeishasRoad()
PICTURES: Final = {
    "hanamikoji-begins-all.svg": Picture(ROW, 3, 0, Due.ACT, ALL),
    "hanamikoji-offer-guest.svg": Picture(ROW, 3, 5, Due.ANSWER, GUEST),
    "hanamikoji-action-host.svg": Picture(ROW, 3, 8, Due.ACT, HOST),
    "hanamikoji-scored-spectator.svg": Picture(ROW, 3, 8, Due.DEAL, SPECTATOR),
    "hanamikoji-over-all.svg": Picture(ROW, 3, 8, Due.OVER, ALL),
    "geishas-road-markers-host.svg": Picture(ROAD, 1, 0, Due.PICK, HOST),
    "geishas-road-offer-guest.svg": Picture(ROAD, 1, 8, Due.ANSWER, GUEST),
    "geishas-road-order-all.svg": Picture(ROAD, 1, 1, Due.ORDER, ALL),
    "geishas-road-scored-spectator.svg": Picture(ROAD, 1, 8, Due.DEAL, SPECTATOR),
}


def find(seen: Replay, picture: Picture) -> Stop:
    """The stop that a picture shows. Raises `StopIteration` if the game has no such stop."""
    return next(stop for stop in stops(seen)[picture.start :] if stop.step.course.state.due is picture.due)


def scene(stop: Stop, eyes: Eyes, title: str, seen: Replay) -> Scene:
    """A stop, with the last decision in notation."""
    made = [f"{NAMES[event.seat]}: {format_event(event)}" for event in stop.step.events if isinstance(event, DECISIONS)]
    state = stop.step.course.state
    shown = turned_up(stop.until(seen).events)
    return Scene(state, NAMES, eyes.seat or 0, title, tuple(made), f"due: {state.due.value}", shown)


def draw(picture: Picture) -> str:
    """A picture's SVG text."""
    full = replay(whole_game(picture.seed, picture.ruleset).lines)
    seen = see(full, picture.eyes)
    stop = find(seen, picture)
    return draw_position(scene(stop, picture.eyes, f"entry {stop.seq}, eyes: {picture.eyes.word}", seen))


def chart() -> str:
    """A chart that uses every feature of charts."""
    shares = {"a": Share(30, 40), "b & <c>": Share(1, 40), "none": Share(0, 40)}
    bars = tuple(Bar(name, share.rate or 0, f"{share.part} of 40", share.interval) for name, share in shares.items())
    return draw_charts("A chart", (Chart("Shares of wins", bars, half=True), Chart("One bar", (Bar("d", 1.0),))))


def build() -> dict[Path, str]:
    """Path and contents of every file."""
    drawings = {FOLDER / name: draw(picture) for name, picture in PICTURES.items()}
    return {**drawings, FOLDER / "chart.svg": chart()}


def main(arguments: list[str]) -> int:
    """Writes the files, or compares them."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    stale = []
    for path, text in build().items():
        if not arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
    if stale:
        print(f"not what scripts/build/drawings.py writes: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
