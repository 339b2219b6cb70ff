"""Makes the complete games among the test vectors: tests/data/vectors/games/. `--check` compares.

Two seeded players and the referee play them in memory, so every run makes the same bytes. Other implementations can
audit, replay and re-deal them; `games.json` has the expected results.
"""

from __future__ import annotations

import json
from pathlib import Path

from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement, parse_time_control
from hkoji.game.course import Stage
from hkoji.game.replay import replay
from hkoji.log.mail_claim import MailGrade
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.transcript import format_rounds
from scripts.build.golden import main
from tests.support.forgery import every_pin
from tests.support.table import AT, Table, held_game, new_game
from tests.support.timed_table import TimedTable, later

FOLDER = Path(__file__).parents[2] / "tests" / "data" / "vectors" / "games"
DAY = 86400
DEAL = ("9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77", "5e" * 32)
"""Deal id and seed of the duplicate tables."""


def tables() -> dict[str, Table]:
    """The games, by file name."""
    resigned = new_game(3, Hanamikoji(first="guest")).play(7)
    resigned.send(resigned.entry(1, entry_kinds.Resign()))
    road_resigned = new_game(10, GeishasRoad("guest")).play(17)
    road_resigned.send(road_resigned.entry(0, entry_kinds.Resign()))
    return {
        "whole.jsonl": new_game(1).play(),
        "random-first-limit.jsonl": new_game(2, Hanamikoji("random", 2, "charm")).play(),
        "resigned.jsonl": resigned,
        "running.jsonl": new_game(4).play(9),
        "duplicate-a.jsonl": new_game(5, Hanamikoji("random"), DEAL).play().unseal(),
        "duplicate-b.jsonl": new_game(6, Hanamikoji("random"), DEAL).play().unseal(),
        "unopened.jsonl": new_game(7, GeishasRoad("random", "random"), DEAL).play(),
        "road.jsonl": new_game(17, GeishasRoad()).play(),
        "road-random.jsonl": new_game(35, GeishasRoad("random", "random")).play(),
        "road-resigned.jsonl": road_resigned,
        **rekeyed_tables(),
        **timed_tables(),
        **held_tables(),
        "road-running.jsonl": new_game(11, GeishasRoad(starting_markers="random")).play(9),
    }


def rekeyed_tables() -> dict[str, Table]:
    """Games in which keys change: by the players' own signatures, and for lost keys by the service's."""
    rekeyed = new_game(21)
    road_rekeyed = new_game(22, GeishasRoad("random", "random"))
    for table in (rekeyed, road_rekeyed):
        for _ in range(3):
            table.rekey(table.course.actor or 0)
            table.play(3)
        table.play()
    revoked = new_game(23, Hanamikoji(first="guest")).play(2)
    revoked.revoke(revoked.course.actor or 0, signed=True)
    revoked.play(4).rekey(revoked.course.actor or 0)
    road_revoked = new_game(24, GeishasRoad()).play(5)
    road_revoked.revoke(road_revoked.course.actor or 0)
    return {
        "rekeyed.jsonl": rekeyed,
        "revoked.jsonl": revoked.play(),
        "road-rekeyed.jsonl": road_rekeyed,
        "road-revoked-running.jsonl": road_revoked.play(6),
    }


def held_tables() -> dict[str, Table]:
    """Games in which the service holds keys: of one seat, of both, and beside a player's own."""
    both = held_game(43, Hanamikoji(), held=(0, 1), grade=MailGrade.DKIM).play(5)
    annulled = TimedTable(GeishasRoad(), 44, agreement=Agreement(parse_time_control("3d/14d")), held=(0,))
    _play_timed(annulled, 5)
    annulled.give_time(DAY)
    _play_timed(annulled, 1)
    annulled.call_off()
    delegated = new_game(45).play(4)
    seat = delegated.course.actor or 0
    delegated.delegate(seat)
    delegated.send(delegated.by_mail(seat, entry_kinds.Resign()))
    return {
        "held.jsonl": held_game(41).play(),
        "road-held.jsonl": held_game(42, GeishasRoad(), held=(0,)).play(),
        "both-held-running.jsonl": both,
        "held-annulled.jsonl": annulled,
        "delegated.jsonl": delegated,
    }


def timed_tables() -> dict[str, Table]:
    """Games with a clock: with credits, and ended in each way that has to do with time."""
    weekends = Agreement(parse_time_control("1d/2d+6h", "67", "+01:00"), later(AT, 14 * DAY), rated=True)
    credited = _with_credits(TimedTable(seed=31, agreement=weekends))
    road_credited = _with_credits(TimedTable(GeishasRoad("random", "random"), 32, agreement=weekends))
    timed_out = TimedTable(seed=33, agreement=Agreement(parse_time_control("3d/14d"), rated=True))
    _play_timed(timed_out, 5)
    timed_out.give_time(7200)
    timed_out.now = later(timed_out.deadline() or AT, 121)
    timed_out.time_out()
    lapsed = TimedTable(seed=34, agreement=UNTIMED._replace(expires=later(AT, DAY)))
    lapsed.open()
    lapsed.wait(DAY + 1).lapse("expired")
    declined = TimedTable(seed=35, agreement=weekends)
    declined.open(entry_kinds.Invite("bob", None))
    declined.wait(60).lapse("declined")
    annulled = TimedTable(GeishasRoad(), 36, agreement=Agreement(parse_time_control("/30d+1d^45d")))
    _play_timed(annulled, 6)
    annulled.give_time(DAY)
    annulled.wait(3600).lose(-1800, 0)
    annulled.call_off()
    return {
        "timed.jsonl": credited,
        "road-timed.jsonl": road_credited,
        "timeout.jsonl": timed_out,
        "expired.jsonl": lapsed,
        "declined.jsonl": declined,
        "annulled.jsonl": annulled,
    }


def _with_credits(table: TimedTable) -> TimedTable:
    """A whole game, in which entry after entry is helped by a gift, an outage, both, or neither."""
    _play_timed(table, 2)
    while table.course.stage is Stage.PLAY:
        helped = table.random.randrange(4)
        if helped & 1:
            table.give_time(table.random.choice((60, 7200, 172800)))
        table.wait(3600)
        if helped & 2:
            table.lose(-2400, -table.random.choice((0, 600, 1200)))
        if table.random.random() < 0.2 and not table.course.rekeyed:
            table.rekey(table.course.actor or 0)
        _play_timed(table, 1)
    return table


def _play_timed(table: TimedTable, moves: int) -> None:
    """The game begins, if it has not; so many moves, each some hours after the last."""
    if table.course.stage is Stage.OPEN:
        for step in (table.open, table.join, lambda: table.reveal_seed(1), lambda: table.reveal_seed(0)):
            step()
            table.wait(table.random.randrange(9) * 3600 + 1)
    for _ in range(moves):
        table.wait(table.random.randrange(9) * 3600)
        table.play(1)


def build() -> dict[str, str]:
    """The files' texts, by name."""
    files: dict[str, str] = {}
    facts: dict[str, dict[str, object]] = {}
    for name, table in tables().items():
        files[name] = table.text
        result = replay(table.lines)
        course = result.course
        assert course is not None
        outcome = course.outcome
        facts[name] = {
            "entries": len(table.lines),
            "head": course.head,
            "keys": {name: keys[0].text for name, keys in every_pin(table).items() if keys},
            "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
            "rounds": list(format_rounds(table.ruleset, result.events)),
            "status": course.status,
        }
        later = {who: [key.text for key in keys[1:]] for who, keys in every_pin(table).items() if keys[1:]}
        facts[name].update({"later_keys": later} if later else {})
    files["games.json"] = json.dumps(facts, indent=1, sort_keys=True) + "\n"
    return files


if __name__ == "__main__":
    main("games", FOLDER, build)
