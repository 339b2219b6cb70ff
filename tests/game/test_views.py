"""A seat's own replay equals the projection, and depends on nothing that the seat cannot know."""

from __future__ import annotations

from itertools import combinations_with_replacement, zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji import referee
from hkoji.errors import TrustError
from hkoji.game.replay import (
    Replay,
    changed_round,
    changed_view,
    continue_own,
    replay,
    replay_own,
    verify_growth,
    verify_view,
)
from hkoji.log.statement import Dealt, make_view, parse_view
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.rules import fewer
from tests.support.table import new_game, whole_game


@fewer
@given(st.integers(0, 10**6), st.integers(0, 30), st.sampled_from([0, 1]))
def test_a_players_replay_is_the_projection_of_the_referees(seed: int, moves: int, seat: int) -> None:
    table = new_game(seed, Hanamikoji(first="random", max_rounds=3)).play(moves)
    view = referee.view(table.refereed, seat)
    verify_view(view, table.course, seat)
    assert parse_view(view.text) == view
    mine = tuple(o for o in table.refereed.openings if table.lines[o.seq].entry.by == ("alice", "bob")[seat])
    own = replay_own(table.lines, seat, view, mine)
    assert own.course is not None
    finished = table.course.status == "finished"
    assert own.course.state == (table.course.state if finished else table.course.state.project(seat))
    if not finished and table.course.actor == seat:
        assert own.course.state.legal_actions() == table.course.state.legal_actions()


@fewer
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_the_services_own_openings_are_enough_for_a_new_machine(seed: int, moves: int) -> None:
    table = new_game(seed).play(moves)
    for seat in (0, 1):
        own = replay_own(
            table.lines, seat, referee.view(table.refereed, seat), referee.own_openings(table.refereed, seat)
        )
        assert own.course is not None
        assert own.course.head == table.course.head


def test_a_view_holds_only_the_own_cards_in_dealing_order() -> None:
    table = new_game(3).play(5)
    dealt = table.course.setup.dealer(table.refereed.seed)
    assert dealt is not None
    deal = dealt.deal(1)
    views = [referee.view(table.refereed, seat).dealt for seat in (0, 1)]
    assert views[0][0].cards.startswith(deal.hands[0])
    assert views[1][0].cards.startswith(deal.hands[1])
    drawn = views[0][0].cards[6:] + views[1][0].cards[6:]
    assert sorted(drawn) == sorted(deal.rest[: len(drawn)])


def test_a_view_of_another_seat_or_moment_is_not_believed() -> None:
    table = new_game(3).play(5)
    view = referee.view(table.refereed, 0)
    with pytest.raises(TrustError, match="another seat, game or moment") as of_another:
        verify_view(view, table.course, 1)
    assert of_another.value.hint
    hand = view.dealt[0].cards
    others = Dealt(hand[1:] + hand[0], 1)
    wrong = make_view(dealt=(others,), game=view.game, head=view.head, seat=0, seq=view.seq)
    with pytest.raises(TrustError, match="cards that the game cannot have brought") as of_others:
        verify_view(wrong, table.course, 0)
    assert of_others.value.hint
    table.play(1)
    with pytest.raises(TrustError, match="another seat, game or moment"):
        verify_view(view, table.course, 0)


def test_a_later_view_shows_what_earlier_ones_did() -> None:
    table = new_game(3, Hanamikoji(max_rounds=2))
    views = [referee.view(table.refereed, 0)]
    while table.course.status == "playing":
        table.play(1)
        views.append(referee.view(table.refereed, 0))
    assert len(views[-1].dealt) == 2
    for number, before in enumerate(views):
        for after in views[number:]:
            verify_growth(before, after)
        for after in views[:number]:
            if after.dealt != before.dealt:
                lost = next(old.round for old in before.dealt if old not in after.dealt)
                with pytest.raises(TrustError, match=f"you other cards in round {lost} before") as error:
                    verify_growth(before, after)
                assert error.value.hint


@pytest.mark.parametrize(
    ("shown", "later", "changed"),
    [
        ((), ("ABC",), None),
        (("ABC",), ("ABC",), None),
        (("ABC",), ("ABCD",), None),
        (("ABC", "D"), ("ABC", "DE", "F"), None),
        (("ABC",), ("ABD",), 1),
        (("ABCD",), ("ABC",), 1),
        (("ABC", "D"), ("ABC",), 2),
        (("ABC", "D"), ("ABCE", "D"), 1),
    ],
)
def test_new_cards_only_follow_those_of_the_last_round(
    shown: tuple[str, ...], later: tuple[str, ...], changed: int | None
) -> None:
    assert changed_round(shown, later) == changed
    first = next((n for n, (one, two) in enumerate(zip_longest(shown, later), 1) if one != two), None)
    assert changed_round(shown, later, same_entry=True) == first


@fewer
@given(st.integers(0, 10**6), st.sampled_from([Hanamikoji(max_rounds=3), GeishasRoad("random", "random")]))
def test_the_cards_of_an_honest_game_only_grow(seed: int, ruleset: Hanamikoji | GeishasRoad) -> None:
    table = new_game(seed, ruleset)
    views = [[referee.view(table.refereed, seat)] for seat in (0, 1)]
    while table.course.status == "playing":
        table.play(1)
        for seat in (0, 1):
            views[seat].append(referee.view(table.refereed, seat))
    for mine in views:
        for before, after in combinations_with_replacement(mine, 2):
            assert changed_view(before, after) is None


@pytest.mark.parametrize("moves", [3, None])
def test_a_game_is_replayed_without_a_view_once_all_is_known(moves: int | None) -> None:
    table = new_game(4).play(moves)
    if moves is None:
        own = replay_own(table.lines, 0, None, ())
        assert own.course is not None
        assert own.course.state == table.course.state
        return
    with pytest.raises(TrustError, match="not shown all your cards"):
        replay_own(table.lines, 0, None, ())


def test_a_hand_that_was_not_dealt_is_found_at_the_end() -> None:
    table = whole_game(4)
    view = referee.view(table.refereed, 0)
    assert replay_own(table.lines, 0, view, ()).stop is None
    first = view.dealt[0].cards
    swapped = {"A": "B"}.get(first[0], "A") + first[1:]
    lie = make_view(dealt=(Dealt(swapped, 1), *view.dealt[1:]), game=view.game, head=view.head, seat=0, seq=view.seq)
    with pytest.raises(TrustError, match="other cards in round 1"):
        replay_own(table.lines, 0, lie, ())


def test_missing_cards_are_said() -> None:
    table = new_game(4).play(3)
    view = referee.view(table.refereed, 0)
    short = make_view(dealt=(Dealt(view.dealt[0].cards[:6], 1),), game=view.game, head=view.head, seat=0, seq=view.seq)
    with pytest.raises(TrustError, match="not shown all your cards"):
        replay_own(table.lines, 0, short, referee.own_openings(table.refereed, 0))


@pytest.mark.parametrize("ruleset", [Hanamikoji("random"), GeishasRoad("random", "random")], ids=["one", "other"])
@pytest.mark.parametrize("seat", [0, 1, None])
def test_a_replay_that_is_continued_is_the_replay_of_the_whole(
    ruleset: Hanamikoji | GeishasRoad, seat: int | None
) -> None:
    table = new_game(5, ruleset).play(7)
    replays: list[Replay] = []
    for count in range(1, len(table.lines) + 1):
        then = referee.resume(table.lines[:count], table.refereed.seed, table.refereed.openings)
        if seat is None:
            known = replay(table.lines[:count])
        else:
            known = replay_own(table.lines[:count], seat, referee.view(then, seat), table.refereed.openings)
        replays.append(known)
    shown = None if seat is None else referee.view(table.refereed, seat)
    for count, before in enumerate(replays, 1):
        after = continue_own(before, table.lines[count:], seat, shown, table.refereed.openings)
        assert after == replays[-1]
    with pytest.raises(ValueError, match="nothing to continue"):
        continue_own(Replay(()), table.lines, seat, shown, ())
    torn = [*table.lines[:-2], table.lines[-1]]
    for count in (1, len(torn) - 2):
        with pytest.raises(TrustError, match=f"entry {len(torn) - 1} of the log does not hold") as error:
            continue_own(replays[count - 1], torn[count:], seat, shown, table.refereed.openings)
        assert error.value.hint


@pytest.mark.parametrize(
    ("cards", "why"), [("ABCDEFH", "something that is not cards"), ("XXXXXXX", "not shown you your own")]
)
def test_a_hand_of_no_cards_is_not_believed(cards: str, why: str) -> None:
    table = new_game(4)
    view = referee.view(table.refereed, 0)
    wrong = make_view(dealt=(Dealt(cards, 1),), game=view.game, head=view.head, seat=0, seq=view.seq)
    with pytest.raises(TrustError, match=why) as error:
        replay_own(table.lines, 0, wrong, ())
    assert error.value.hint
