"""Attacks on commitments, choices and counting in Geisha's Road, and in Hanamikoji where it has the same rule.

As in `test_attacks`, each is one lie, refused by every client at once and found by the audit, or refused by the
service; without the lie the same game is accepted. The page's table has a row for each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji import errors
from hkoji.audit.log_audit import AuditStep
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.rules.events import Outcome
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.forgery import changed_body, entry_number
from tests.support.lying_game import goes_on, refuted, rewritten
from tests.support.table import Table, new_game, refused, whole_game

ROAD = GeishasRoad()
OTHER_CARDS = "it opens other cards than those that are due"

both_games = pytest.mark.parametrize(
    ("ruleset", "seed"), [(ROAD, 2), (Hanamikoji(), 3)], ids=["geishas-road", "hanamikoji"]
)


def opened_by(table: Table, number: int) -> list[Opening]:
    """The openings in a reveal or end."""
    body = entry_kinds.parse_body(table.lines[number].entry.kind, table.lines[number].entry.body)
    assert isinstance(body, entry_kinds.RevealBody | entry_kinds.End)
    return list(body.openings)


def with_openings(table: Table, changes: dict[int, list[Opening]]) -> dict[int, dict[str, object]]:
    """The changes to a log by which entries publish the openings in `changes`."""
    merged: dict[int, dict[str, object]] = {}
    for number, openings in changes.items():
        merged |= changed_body(table, number, openings=[each.to_json() for each in sorted(openings)])
    return merged


def intrigue(table: Table) -> int:
    """The number of a game's first Intrigue."""
    return next(line.entry.seq for line in table.lines if line.entry.body.get("action") == "IXX")


def actions(table: Table) -> list[tuple[int, str, str]]:
    """Number, author and action of all moves."""
    moves = [line.entry for line in table.lines if line.entry.kind == "move"]
    return [(entry.seq, entry.by, str(entry.body["action"])) for entry in moves]


def until(table: Table, number: int, ruleset: Ruleset = ROAD) -> Table:
    """The same table when its log ended before entry `number`."""
    game = new_game(table.seed, ruleset)
    while len(game.lines) < number:
        game.play(1)
    assert game.lines == table.lines[:number]
    return game


# --- what Intrigue hides ----------------------------------------------------------------------------------------------


def test_intrigues_cards_exchanged() -> None:
    table = until(whole_game(2, ROAD), 7)
    action = next(each for each in table.course.state.legal_actions() if each[0] == "I")
    honest = table.move(action)
    kept, discarded = honest.opening
    commits = [each.commitment(table.game) for each in honest.opening]
    seat = table.course.actor
    assert seat is not None
    exchanged = table.entry(seat, entry_kinds.Move("IXX", (commits[1], commits[0])))
    refused(table, exchanged._replace(opening=honest.opening), errors.CommitmentError)
    other = (kept._replace(cards=discarded.cards), discarded._replace(cards=kept.cards))
    refused(table, honest._replace(opening=other), errors.CommitmentError)
    refused(table, honest._replace(opening=(discarded._replace(part=0), kept._replace(part=1))), errors.CommitmentError)
    table.send(honest)


def test_intrigues_commitments_exchanged_and_taken(tmp_path: Path) -> None:
    table = whole_game(2, ROAD)
    number, reveal = intrigue(table), entry_number(table, "reveal")
    commits: object = table.lines[number].entry.body["commit"]
    assert isinstance(commits, list)
    forged = rewritten(table, changed_body(table, number, commit=commits[::-1]))
    found = (AuditStep.COMMITMENTS, reveal, "server")
    refuted(tmp_path / "x", table, forged, found, f"entry {reveal} of the log does not hold: .* not match its commit")


def test_the_discarded_card_opened_for_the_kept(tmp_path: Path) -> None:
    """Presented as the kept card's opening, it does not give the commitment; presented as the discarded one's, it is
    not due."""
    table = whole_game(2, ROAD)
    number, reveal, end = intrigue(table), entry_number(table, "reveal"), len(table.lines) - 1
    kept, discarded = (each for each in table.refereed.openings if each.seq == number)
    others = [each for each in opened_by(table, reveal) if each.seq != number]
    forged = rewritten(table, with_openings(table, {reveal: [*others, discarded._replace(part=0)]}))
    reason = f"entry {reveal} of the log does not hold: "
    found = (AuditStep.COMMITMENTS, reveal, "server")
    refuted(tmp_path / "one", table, forged, found, "entry \\d+ of the log does not hold")  # there are two of one card
    last = [each for each in opened_by(table, end) if each != discarded]
    forged = rewritten(table, with_openings(table, {reveal: [*others, discarded], end: [*last, kept]}))
    refuted(tmp_path / "two", table, forged, (AuditStep.REPLAY, reveal, "server"), f"{reason}{OTHER_CARDS}")


@both_games
def test_a_discarded_card_opened_early(tmp_path: Path, ruleset: Ruleset, seed: int) -> None:
    table = whole_game(seed, ruleset)
    reveal, end = entry_number(table, "reveal"), len(table.lines) - 1
    early, *last = opened_by(table, end)
    assert early.seq < reveal
    forged = rewritten(table, with_openings(table, {reveal: [*opened_by(table, reveal), early], end: last}))
    reason = f"entry {reveal} of the log does not hold: {OTHER_CARDS}"
    refuted(tmp_path / "x", table, forged, (AuditStep.REPLAY, reveal, "server"), reason)


@both_games
@pytest.mark.parametrize("left", [0, 1])
def test_a_card_that_counts_left_closed(tmp_path: Path, ruleset: Ruleset, seed: int, left: int) -> None:
    table = whole_game(seed, ruleset)
    reveal, end = entry_number(table, "reveal"), len(table.lines) - 1
    due = opened_by(table, reveal)
    assert len(due) == 2
    late = due.pop(left)
    forged = rewritten(table, with_openings(table, {reveal: due, end: [*opened_by(table, end), late]}))
    reason = f"entry {reveal} of the log does not hold: {OTHER_CARDS}"
    refuted(tmp_path / "x", table, forged, (AuditStep.REPLAY, reveal, "server"), reason)


# --- choices ----------------------------------------------------------------------------------------------------------


def test_a_choice_that_is_not_ones_own() -> None:
    whole = whole_game(2, ROAD)
    picks = [each for each in actions(whole) if each[2][0] in "!^"]
    assert [(by, action[0]) for _, by, action in picks[:3]] == [("alice", "!"), ("bob", "!"), ("alice", "^")]
    taken = picks[0][2]
    table = until(whole, picks[1][0])
    refused(table, table.move(taken), errors.IllegalActionError)
    refused(table, table.move(picks[1][2], seat=0), errors.NotYourTurnError)
    table.send(table.move(picks[1][2]))
    table = until(whole, picks[2][0])
    for start in ("^0", "^1"):
        refused(table, table.move(start, seat=1), errors.NotYourTurnError)
    refused(table, table.move("!D"), errors.IllegalActionError)
    table.send(table.move(picks[2][2]))


def test_a_choice_that_is_not_ones_own_taken(tmp_path: Path) -> None:
    table = whole_game(2, ROAD)
    (one, _, taken), (two, _, _), (three, loser, start), *_ = [each for each in actions(table) if each[2][0] in "!^"]
    assert (one, two, loser) == (5, 6, "alice")
    for number, action in ((two, taken), (three, start), (three, "^1" if start == "^0" else "^0")):
        forged = goes_on(table, number, (entry_kinds.Move(action), "bob"))
        found = (AuditStep.REPLAY, number, "bob and server")
        refuted(tmp_path / f"{number}{action}", table, forged, found, f"entry {number} of the log does not hold")


def orders(table: Table) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
    """The first decision on an order; or, where none is due after an answer, an invented one."""
    moves = actions(table)
    decided = next(each for each in moves if each[2][0] == ">")
    for (_, by, offer), (number, _, answer), (_, _, after) in zip(moves, moves[1:], moves[2:], strict=False):
        if offer[0] == "G" and answer[0] == "-" and after[0] != ">":
            cards = [offer[n : n + 2] for n in range(1, len(offer), 2)]
            left = "".join(card for card in cards if card != answer[1:])
            return decided, (number + 1, by, f">{left}")
    raise AssertionError("no order that could be invented")


def test_an_order_left_out_or_invented() -> None:
    whole = whole_game(2, ROAD)
    (due, by, order), (free, offered, invented) = orders(whole)
    seat = whole.names.index(by)
    table = until(whole, due)
    for wrong in (seat, 1 - seat):
        error = errors.IllegalActionError if wrong == seat else errors.NotYourTurnError
        card = table.course.dealt[-1][wrong][:2]
        refused(table, table.move(f"R{card}", seat=wrong), error)
    refused(table, table.move(order, seat=1 - seat), errors.NotYourTurnError)
    table.send(table.move(order))
    table = until(whole, free)
    seat = whole.names.index(offered)
    refused(
        table,
        table.move(invented, seat=seat),
        errors.IllegalActionError if table.course.actor == seat else errors.NotYourTurnError,
    )
    table.play(1)


def test_an_order_left_out_or_invented_and_taken(tmp_path: Path) -> None:
    table = whole_game(2, ROAD)
    (due, _, _), (free, by, invented) = orders(table)
    after = table.lines[due + 1].entry
    body = entry_kinds.parse_body("move", after.body)
    forged = goes_on(table, due, (body, after.by))
    found = (AuditStep.REPLAY, due, f"{after.by} and server")
    refuted(tmp_path / "left", table, forged, found, f"entry {due} of the log does not hold")
    forged = goes_on(table, free, (entry_kinds.Move(invented), by))
    found = (AuditStep.REPLAY, free, f"{by} and server")
    refuted(tmp_path / "invented", table, forged, found, f"entry {free} of the log does not hold")


# --- counting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ruleset", "seed", "decides"),
    [
        (ROAD, 2, "prestige, against more markers"),
        (ROAD, 21, "markers, in a tie of prestige"),
        (ROAD, 2278, "who started, in a tie of both"),
        (Hanamikoji(max_rounds=1, tiebreak="geisha"), 29, "at the limit more geisha, against more charm"),
        (Hanamikoji(max_rounds=1, tiebreak="charm"), 29, "at the limit more charm, against more geisha"),
        (Hanamikoji(max_rounds=1, tiebreak="geisha"), 38, "nothing: a draw"),
    ],
)
def test_a_result_that_was_counted_falsely(tmp_path: Path, ruleset: Ruleset, seed: int, decides: str) -> None:
    table = whole_game(seed, ruleset)
    end, true = len(table.lines) - 1, table.course.outcome
    assert true
    others = {Outcome(true.reason, winner) for winner in (0, 1)} | {Outcome("limit", None), Outcome("resign", 0)}
    for number, result in enumerate(sorted(others - {true}, key=repr)):
        changes = changed_body(table, end, result={"reason": result.reason, "winner": result.winner})
        reason = f"entry {end} of the log does not hold: the result is not the one"
        found = (AuditStep.RESULT, end, "server")
        victims = (0, 1, 2) if number == 0 else (number % 3,)  # everybody is shown one of these results
        refuted(tmp_path / str(number), table, rewritten(table, changes), found, reason, victims)


@both_games
def test_a_round_too_few_or_too_many(tmp_path: Path, ruleset: Ruleset, seed: int) -> None:
    """A log can be too long only through a player's move; the player is then named as well."""
    table = whole_game(seed, ruleset)
    reveal, end, outcome = entry_number(table, "reveal"), len(table.lines) - 1, table.course.outcome
    assert outcome
    early = reveal + 1
    assert early < end
    closed = tuple(each for each in opened_by(table, end) if each.seq < early)
    for number, winner in enumerate((0, 1)):
        over = entry_kinds.End(closed, Outcome(outcome.reason, winner), table.refereed.seed)
        forged = goes_on(table, early, (over, "server"))
        reason = f"entry {early} of the log does not hold: the service owes no end now"
        refuted(tmp_path / str(number), table, forged, (AuditStep.RESULT, early, "server"), reason)
    more = entry_kinds.Move("^0" if ruleset == ROAD else "-A")
    forged = goes_on(table, end, (more, "bob"))
    reason = f"entry {end} of the log does not hold: the service owes the end first"
    refuted(tmp_path / "more", table, forged, (AuditStep.REPLAY, end, "bob and server"), reason)
