"""Geisha's Road in a log: two commitments a move, openings at the right time, and refusals of invalid moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji import errors, referee
from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.game.course import Stage
from hkoji.game.entry_kinds import parse_body
from hkoji.game.replay import replay, replay_own
from hkoji.game.submission import Submission
from hkoji.rules.events import Act, Order, Reveal
from hkoji.rules.geishas_road.ruleset import FIRST, MARKERS, GeishasRoad
from hkoji.rules.protocol import Due
from tests.support.rules import fewer
from tests.support.table import Table, new_game, refused, whole_game

RULESETS = st.builds(GeishasRoad, st.sampled_from(sorted(FIRST)), st.sampled_from(MARKERS))
SALT = "5a" * 32


@fewer
@given(st.integers(0, 10**6), RULESETS)
def test_every_game_ends_with_a_log_that_audits_clean(seed: int, ruleset: GeishasRoad) -> None:
    table = whole_game(seed, ruleset)
    result = audit(table.text, {"alice": table.keys[0].public, "server": table.server.public})
    assert (result.findings, result.finished, result.holds) == ((), True, len(table.lines))
    assert result.outcome == table.course.outcome
    kinds = [line.entry.kind for line in table.lines]
    assert ("chance" in kinds) == bool(ruleset.chance())
    assert kinds.count("reveal") == table.course.state.round


@fewer
@given(st.integers(0, 10**6), st.integers(0, 40), RULESETS, st.sampled_from([0, 1]))
def test_a_players_replay_is_the_projection_of_the_referees(
    seed: int, moves: int, ruleset: GeishasRoad, seat: int
) -> None:
    table = new_game(seed, ruleset).play(moves)
    state = table.course.state
    own = replay_own(table.lines, seat, referee.view(table.refereed, seat), referee.own_openings(table.refereed, seat))
    assert own.course is not None
    assert own.course.state == (state if table.course.finished else state.project(seat))
    public = replay(table.lines)
    assert public.course is not None
    assert public.course.state == (state if table.course.finished else state.project(None))


def openings(table: Table, kind: str) -> list[tuple[Opening, ...]]:
    """The openings in each of the service's entries of a kind."""
    found = []
    for line in table.lines:
        if line.entry.kind == kind:
            body = parse_body(kind, line.entry.body)
            assert isinstance(body, entry_kinds.RevealBody | entry_kinds.End)
            found.append(body.openings)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_rounds_end_opens_what_was_kept_and_the_games_end_what_was_discarded(seed: int) -> None:
    table = whole_game(seed, GeishasRoad("random"))
    intrigues = [
        line.entry.seq for line in table.lines if line.entry.kind == "move" and line.entry.body["action"] == "IXX"
    ]
    rounds = table.course.state.round
    assert len(intrigues) == 2 * rounds
    kept = [[(opening.seq, opening.part) for opening in group] for group in openings(table, "reveal")]
    assert kept == [[(seq, 0) for seq in intrigues[2 * n : 2 * n + 2]] for n in range(rounds)]
    (end,) = openings(table, "end")
    assert [(opening.seq, opening.part) for opening in end] == [(seq, 1) for seq in intrigues]


def test_a_player_who_gives_up_in_the_middle_leaves_nothing_face_down() -> None:
    table = road_with("I")
    table.send(table.move(next(a for a in table.course.state.legal_actions() if a[0] == "I")))
    seq = table.course.seq
    table.send(table.entry(1, entry_kinds.Resign()))
    (end,) = openings(table, "end")
    assert [(opening.seq, opening.part) for opening in end] == [(seq, 0), (seq, 1)]
    assert audit(table.text).ok


def road_with(code: str, seed: int = 3) -> Table:
    """A game in which an action is due and the actor has not used `code`."""
    table = new_game(seed, GeishasRoad("host", "random"))
    assert any(shape[0] == code for shape in table.course.state.shape())
    return table


@pytest.mark.parametrize(
    ("action", "commitments", "error"),
    [
        *(("IXX", number, errors.MalformedError) for number in (0, 1)),
        *(("I", number, errors.NotationError) for number in (0, 1, 2)),
        *(("IX", number, errors.NotationError) for number in (1, 2)),
        *(("IXXX", number, errors.NotationError) for number in (2,)),
        ("IA1", 2, errors.NotationError),
        ("IXA1", 2, errors.MalformedError),
        ("IA1X", 2, errors.MalformedError),
        ("IA1A2", 2, errors.MalformedError),
        ("IA1A2", 0, errors.MalformedError),
        ("RX", 0, errors.NotationError),
        ("GXXX", 0, errors.NotationError),
        ("RA1", 1, errors.MalformedError),
        ("CA1A1A1A1", 0, errors.NotationError),
        ("R", 0, errors.NotationError),
        ("ra1", 0, errors.NotationError),
        ("-A1", 0, errors.IllegalActionError),
        (">A1A2", 0, errors.IllegalActionError),
        ("!A", 0, errors.IllegalActionError),
        ("^0", 0, errors.IllegalActionError),
    ],
)
def test_a_text_that_is_no_move_of_the_log(action: str, commitments: int, error: type[errors.HkojiError]) -> None:
    """The signature does not matter: an entry need not come from a program of ours."""
    table = road_with("I")
    refused(table, signed(table, action, "A1A2"[: 2 * commitments]), error)


def signed(table: Table, action: str, cards: str) -> Submission:
    """A move of the seat that must act, with a commitment and an opening for each of `cards`."""
    actor, seq = table.course.actor, table.course.seq + 1
    assert actor is not None
    opened = tuple(
        Opening(seq, part, card, f"{part:02x}" * 32) for part, card in enumerate(table.ruleset.pack.split(cards))
    )
    submission = table.entry(actor, entry_kinds.Move(action, tuple(each.commitment(table.game) for each in opened)))
    return Submission(submission.entry, submission.sig, opened)


def test_an_intrigue_is_the_two_cards_that_its_openings_say() -> None:
    table = road_with("I")
    pack = table.ruleset.pack
    hand = pack.split(pack.decode(table.course.state.hands[0]))
    first, second = hand[:2]
    missing = next(kind for kind in pack.kinds if kind not in hand)
    for cards in (f"{first}{missing}", f"{missing}{first}"):
        refused(table, signed(table, "IXX", cards), errors.MissingCardsError)
    refused(table, signed(table, "IXX", f"{first}{first}"), errors.NotationError)
    good = signed(table, "IXX", f"{second}{first}")
    swapped = tuple(
        Opening(opening.seq, part, opening.cards, opening.salt) for part, opening in enumerate(reversed(good.opening))
    )
    refused(table, Submission(good.entry, good.sig, swapped), errors.CommitmentError)
    short = refused(table, Submission(good.entry, good.sig, good.opening[:1]), errors.MalformedError)
    assert "`opening`" in short.hint
    intrigue = next(action for action in table.course.state.legal_actions() if action[0] == "I")
    twice = refused(table, table.move(intrigue, salt="5a" * 32), errors.CommitmentError)
    assert isinstance(twice, errors.CommitmentError)
    assert (twice.seq, twice.part) == (good.entry.seq, 1)
    table.send(good)
    state = table.course.state.to_json()
    assert (state["intrigues"], state["discards"]) == ([second, ""], [first, ""])


def positions(due: Due) -> Iterator[Table]:
    """Games in which `due` is due."""
    for seed in range(200):
        table = new_game(seed, GeishasRoad("host", "random"))
        while table.course.stage is Stage.PLAY:
            if table.course.state.due is due:
                yield table
                break
            table.play(1)


def test_a_pair_is_answered_sorted_where_its_order_makes_no_difference() -> None:
    found = 0
    for table in positions(Due.ANSWER):
        state = table.course.state
        legal = state.legal_actions()
        turned = [f"-{action[3:]}{action[1:3]}" for action in legal if len(action) == 5]
        for action in set(turned) - set(legal):
            error = refused(table, table.move(action), errors.IllegalActionError)
            assert "both orders come to the same" in str(error)
            found += 1
        if found > 5:
            return
    raise AssertionError("no such pair")


def test_an_order_is_an_entry_of_who_made_the_offer() -> None:
    table = next(positions(Due.ORDER))
    actor = table.course.actor
    assert actor is not None
    first, second = table.course.state.legal_actions()
    answered = table.lines[-1].entry
    assert (answered.kind, answered.by) == ("move", table.names[1 - actor])
    refused(table, table.move(first, seat=1 - actor), errors.NotYourTurnError)
    refused(table, table.move(f"-{first[1:]}"), errors.IllegalActionError)
    for wrong in (first[:3], f"{first}A1", ">A1A1", ">XX", ">"):
        refused(table, table.move(wrong), errors.NotationError)
    (line, *_) = table.send(table.move(second))
    assert (line.entry.body["action"], line.entry.by) == (second, table.names[actor])
    assert isinstance(replay(table.lines).events[-2], Order)


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_the_owner_of_an_intrigue_may_look_at_both_of_its_cards_again(seed: int, moves: int) -> None:
    """At any moment of the round after it; the other player and a spectator see neither."""
    table = new_game(seed, GeishasRoad()).play(moves)
    if table.course.finished:
        return
    state: Any = table.course.state.to_json()
    for owner, actions in enumerate(state["used"]):
        if "I" not in actions:
            continue
        for eyes in (0, 1, None):
            own = (
                replay_own(
                    table.lines, eyes, referee.view(table.refereed, eyes), referee.own_openings(table.refereed, eyes)
                )
                if eyes is not None
                else replay(table.lines)
            )
            assert own.course is not None
            seen: Any = own.course.state.to_json()
            for place in ("intrigues", "discards"):
                card = state[place][owner]
                assert len(card) == 2
                assert seen[place][owner] == (card if eyes == owner else "X")


@fewer
@given(st.integers(0, 10**6))
def test_the_kept_card_of_an_intrigue_is_played_when_its_round_ends(seed: int) -> None:
    """Not only at the end of the game: each round's reveal opens exactly the two cards kept in that round."""
    table = whole_game(seed, GeishasRoad())
    kept = {0: "", 1: ""}
    rounds = 0
    for step in replay(table.lines).steps:
        for event in step.events:
            if isinstance(event, Act) and event.action.startswith("I"):
                kept[event.seat] = event.action[1:3]
            elif isinstance(event, Reveal):
                assert event.cards == kept[event.seat]
                assert event.cards
        if step.entry.kind == "reveal":
            rounds += 1
            assert {event.seat for event in step.events if isinstance(event, Reveal)} == {0, 1}
    assert rounds == table.course.state.round >= 2
