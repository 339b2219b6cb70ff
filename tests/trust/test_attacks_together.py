"""Attacks by the service and a player together, against the other player: signatures of both do not make it the game.

The accomplice is bob unless a seat is given; the victim has a real client.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji import errors
from hkoji.audit.contradictions import ContradictionKind, fork, log_claims
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game import entry_kinds
from hkoji.log.line import format_log
from hkoji.rules.events import Act, Outcome
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.adversary import follow, lying, on_disk, proven, told
from tests.support.forgery import pins
from tests.support.lying_game import goes_on, refuted, staged
from tests.support.memory_service import AT, LocalPlayer
from tests.support.table import Table, new_game, whole_game
from tests.support.timed_table import timed_game

EARLIER = "2026-11-20T11:59:59Z"

both_games = pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()], ids=lambda ruleset: ruleset.name)


def until(table: Table, number: int) -> Table:
    """The same table when its log ended before entry `number`."""
    game = new_game(table.seed, table.ruleset)
    while len(game.lines) < number:
        game.play(1)
    assert game.lines == table.lines[:number]
    return game


def first(table: Table, by: str, *kinds: str) -> int:
    """The number of a player's first action of some kind."""
    return next(
        line.entry.seq
        for line in table.lines
        if line.entry.by == by and str(line.entry.body.get("action", " "))[0] in kinds
    )


def better_hand(table: Table) -> tuple[int, str]:
    """bob's first gift, by its number, with a card that he never gets; alice cannot know that."""
    number = first(table, "bob", "3", "G")
    before, offer, pack = until(table, number), str(table.lines[number].entry.body["action"]), table.ruleset.pack
    cards = pack.split(offer[1:])
    for card in pack.kinds:
        better = offer[0] + "".join(sorted((*cards[1:], card)))
        if card in table.course.dealt[0][1]:
            continue
        try:
            before.course.state.project(0).apply(Act(1, better))
        except errors.HkojiError:
            continue
        return number, better
    raise AssertionError("alice knows where all those cards are")


@both_games
def test_a_better_hand(tmp_path: Path, ruleset: Ruleset) -> None:
    """Nobody can know it while the game runs; when the seed is published everybody can."""
    table = whole_game(0, ruleset)
    number, better = better_hand(table)
    forged = goes_on(table, number, (entry_kinds.Move(better), "bob"))
    assert audit(format_log(forged), pins(table)).ok
    service, (alice, _, carol) = staged(until(table, number), tmp_path / "running")
    with lying(service, told(forged)):
        for player in (alice, carol):
            assert player.position(table.game).course.seq == number
    openings = tuple(sorted(until(table, number).refereed.openings))
    end = entry_kinds.End(openings, Outcome("resign", 1), table.refereed.seed)
    forged = goes_on(table, number, (entry_kinds.Move(better), "bob"), (entry_kinds.Resign(), "alice"), (end, "server"))
    found = (AuditStep.REPLAY, number, "bob and server")
    refuted(tmp_path / "over", table, forged, found, f"entry {number} of the log does not hold: .* not legal", (0, 2))


@both_games
def test_a_move_exchanged_after_its_answer(tmp_path: Path, ruleset: Ruleset) -> None:
    """The answer belongs to the first move only, so it is gone as well; any entry in its place is a fork."""
    table = whole_game(3, ruleset)
    number = first(table, "bob", "3", "4", "G", "C")
    seen = table.lines[: number + 2]
    assert seen[-1].entry.by == "alice"
    before = until(table, number)
    other = next(each for each in before.course.state.legal_actions() if each != seen[number].entry.body["action"])
    move = before.move(other)
    body = entry_kinds.parse_body("move", move.entry.body)
    openings = tuple(sorted((*before.refereed.openings, *move.opening)))
    end = entry_kinds.End(openings, Outcome("resign", 0), table.refereed.seed)
    forged = goes_on(table, number, (body, "bob"), (entry_kinds.Resign(), "bob"), (end, "server"))
    service, (alice, _, carol) = staged(until(table, number + 2), tmp_path / "x")
    for player in (alice, carol):
        player.position(table.game)

        def look(player: LocalPlayer = player) -> None:
            player.position(table.game)

        same = "the service's entry .* is another one than you have seen"
        for length, reason in ((2, same), (3, f"{same}|entry {number + 2} of the log does not hold")):
            before_it = on_disk(player)
            with lying(service, told(forged[: number + length])):
                for _ in range(2):
                    with pytest.raises(errors.TrustError, match=reason):
                        look()
            assert on_disk(player) == before_it
        look()
        assert proven(service, player, table.game) == {"server"}
    logs = [format_log(lines).encode() for lines in (seen, forged)]
    audits = [audit(log, pins(table)) for log in logs]
    assert all(each.ok for each in audits)
    one, two = map(log_claims, audits)
    assert one
    assert two
    conflict = fork(one, two)
    assert (conflict.kind, conflict.entry, conflict.signer) == (ContradictionKind.FORK, number, "server")


@both_games
def test_entropy_out_of_turn(tmp_path: Path, ruleset: Ruleset) -> None:
    """The host's seed entry comes last. Here alice is the accomplice."""
    table = whole_game(3, ruleset)
    forged = goes_on(
        table, 3, (entry_kinds.Seed(table.entropy[0]), "alice"), (entry_kinds.Seed(table.entropy[1]), "bob")
    )
    found = (AuditStep.REPLAY, 3, "alice and server")
    refuted(tmp_path / "x", table, forged, found, "entry 3 of the log does not hold: .* not the turn of alice", (1, 2))


@both_games
def test_a_game_that_goes_on_after_a_timeout(tmp_path: Path, ruleset: Ruleset) -> None:
    table = timed_game(3, ruleset).play()
    number = first(table, "bob", "1", "2", "3", "4", "R", "I", "G", "C")
    body = entry_kinds.parse_body("move", table.lines[number].entry.body)
    forged = goes_on(table, number, (entry_kinds.Timeout(1), "server"), (body, "bob"), at="2026-11-21T12:00:00Z")
    found = (AuditStep.REPLAY, number + 1, "bob and server")
    reason = f"entry {number + 1} of the log does not hold: the service owes the end first"
    refuted(tmp_path / "x", table, forged, found, reason, (0, 2))


@both_games
def test_a_backdated_move(tmp_path: Path, ruleset: Ruleset) -> None:
    table = whole_game(3, ruleset)
    number = first(table, "bob", "1", "2", "3", "4", "R", "I", "G", "C")
    keys = {"server": table.server, "alice": table.keys[0], "bob": table.keys[1]}
    body = entry_kinds.parse_body("move", table.lines[number].entry.body)
    forged = (
        *table.lines[:number],
        follow(table.server, table.lines[number - 1], body, "bob", keys["bob"], at=EARLIER),
    )
    reason = f"an entry {number} that does not hold: the receipt's time {EARLIER} is before {AT}"
    refuted(tmp_path / "x", table, forged, (AuditStep.TIMES, number, "server"), reason, (0, 2))
