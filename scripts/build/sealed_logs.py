"""Makes the sealed games among the test vectors: tests/data/vectors/games/sealed-*.jsonl. `--check` compares.

Two seeded players deal and play them with a clock, so every run makes the same bytes. `sealed.json` has what
`games.json` has of the other games; and the table's seed, which gives the keys of all parties back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.game.course import Stage
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from hkoji.rules.transcript import format_rounds
from scripts.build.golden import main
from scripts.build.vector_games import DAY, FOLDER
from tests.support.sealed_table import NAMES
from tests.support.timed_sealed_table import TimedSealedTable


class Terms(NamedTuple):
    """The beginning of a game: everything else follows from it."""

    seed: int
    ruleset: Ruleset
    clock: tuple[str, ...]
    deposit: tuple[bool, bool] = (False, False)

    def table(self) -> TimedSealedTable:
        """The game, which nobody has opened."""
        agreement = Agreement(parse_time_control(*self.clock), rated=True)
        return TimedSealedTable(self.ruleset, self.seed, agreement=agreement, deposit=self.deposit)


GAMES: Final[Mapping[str, Terms]] = {
    "sealed-hanamikoji.jsonl": Terms(57, Hanamikoji("random"), ("1d/2d+6h", "67", "+01:00")),
    "sealed-road.jsonl": Terms(52, GeishasRoad("random", "random"), ("/30d+1d^45d",), (True, True)),
    "sealed-resigned.jsonl": Terms(53, Hanamikoji("guest"), ("3d/14d",)),
    "sealed-timeout.jsonl": Terms(54, Hanamikoji(), ("2h/1h+10m",)),
}


def tables() -> dict[str, TimedSealedTable]:
    """The games, by file name."""
    made = {name: terms.table() for name, terms in GAMES.items()}
    for name in ("sealed-hanamikoji.jsonl", "sealed-road.jsonl"):
        _with_credits(made[name])
    resigned = _with_credits(made["sealed-resigned.jsonl"], 8)
    assert resigned.course.stage is Stage.PLAY
    assert resigned.course.actor is not None
    resigned.resign(1 - resigned.course.actor)
    late = made["sealed-timeout.jsonl"]
    while late.course.debtor is None or len(late.lines) < 9:
        late.wait(600).step()
    debtor = late.wait(60).course.debtor
    assert debtor is not None
    late.give(1 - debtor, 7200)
    late.time_out()
    return made


def _with_credits(table: TimedSealedTable, entries: int = 1000) -> TimedSealedTable:
    """So many entries or a whole game, in which one after the other has a gift, an outage, both, or neither.

    Hours or days pass before each of them, so that reserves shrink, and once no time is left.
    """
    for number in range(entries):
        if table.course.finished:
            break
        if (actor := table.course.actor) is None:
            table.wait(3600).step()
            continue
        table.wait(min(table.seconds_left(), table.random.choice((3600, 9 * 3600, 30 * 3600, 50 * 3600))))
        if number % 5 == 0:
            table.give(1 - actor, table.random.choice((60, 7200, 2 * DAY)))
        if number % 4 == 1:
            table.lose(-1200, -table.random.choice((0, 600)))
        table.step()
    return table


def build() -> dict[str, str]:
    """The files' texts, by name."""
    files: dict[str, str] = {}
    facts: dict[str, dict[str, object]] = {}
    for name, table in tables().items():
        files[name] = table.log()
        course, outcome = table.course, table.course.outcome
        keys = dict(zip(NAMES, (key.public.text for key in table.keys), strict=True))
        facts[name] = {
            "entries": len(table.lines),
            "head": course.head,
            "keys": {**keys, "server": table.server.public.text},
            "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
            "rounds": list(format_rounds(course.setup.ruleset, table.public.events)),
            "seed": GAMES[name].seed,
            "status": course.status,
        }
    files["sealed.json"] = json.dumps(facts, indent=1, sort_keys=True) + "\n"
    return files


if __name__ == "__main__":
    main("sealed_logs", FOLDER, build)
