"""The laws of section "rules over partial knowledge", for every game: a new game joins through `GAMES`.

They hold for random games under all options; docs/rules/ has the games themselves.
"""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hkoji.errors import HkojiError, IllegalError, InvalidError, UnknownHandError
from hkoji.rules.editions import EDITIONS
from hkoji.rules.events import SEATS, Close, Deal, Decision, Outcome, Reveal
from hkoji.rules.protocol import DECISION_DUE, DECISION_KINDS, Due, Ruleset, State
from hkoji.rules.registry import RULESETS, parse_ruleset
from tests.support.plays import KINDS, in_each, kinds, plays, whole_plays
from tests.support.rules import (
    GAMES,
    OBSERVERS,
    Game,
    Played,
    decisions,
    every_game,
    fewer,
    fold,
    folds,
    random_game,
    refuses,
    refuses_also,
    strays,
    text_of,
    unchanged,
)


def test_every_game_is_tested() -> None:
    assert {game.name for game in GAMES} == set(RULESETS)


@every_game
def test_the_plays_have_every_kind_of_position(game: Game) -> None:
    """The laws below would prove little if the games that they go through were all alike."""
    assert {kind for play in plays(game) for kind in kinds(play)} == KINDS[game.name]


# --- what each sees -------------------------------------------------------------------------------------------------


@every_game
@in_each
def test_the_fold_of_what_is_seen_is_what_is_seen_of_the_fold(game: Game, play: Played) -> None:
    for observer in OBSERVERS:
        views = list(folds(play.ruleset, play.seen_by(observer)))
        assert views == [state.project(observer) for state in play.states]
        assert [text_of(view) for view in views] == [text_of(state.project(observer)) for state in play.states]


@every_game
@in_each
def test_projections_narrow(game: Game, play: Played) -> None:
    """Projecting a seat's view for that seat changes nothing; projecting it for the other seat gives a spectator's
    view."""
    for state in play.states:
        spectator = state.project(None)
        for seat in SEATS:
            view = state.project(seat)
            assert view.project(seat) == view
            assert view.project(1 - seat) == view.project(None) == spectator.project(seat) == spectator


@every_game
@in_each
def test_a_public_action_is_the_same_for_all(game: Game, play: Played) -> None:
    for state in play.states:
        told = state.to_json().get("revealed")
        if state.due is Due.REVEAL and told is not None:
            assert told == [seat not in state.due_reveals() for seat in SEATS]
        for observer in OBSERVERS:
            view = state.project(observer)
            assert (view.due, view.actor, view.round, view.outcome) == (
                state.due,
                state.actor,
                state.round,
                state.outcome,
            )
            assert view.due_reveals() == state.due_reveals()
            if state.due in DECISION_DUE:
                assert view.shape() == state.shape()


@every_game
@in_each
def test_a_position_says_who_has_revealed_in_the_round(game: Game, play: Played) -> None:
    """Also after the scoring, until the next deal, in a game whose positions say so."""
    seats: set[int] = set()
    for state, event in zip(play.states, (*play.events, None), strict=True):
        if not hasattr(state, "revealed"):
            assert "revealed" not in state.to_json()
            return
        told = state.revealed
        assert told == sum(1 << seat for seat in seats)
        assert state.to_json().get("revealed", told) in (told, [seat in seats for seat in SEATS])
        if isinstance(event, Deal):
            seats.clear()
        elif isinstance(event, Reveal):
            seats.add(event.seat)


@every_game
@in_each
def test_a_player_has_the_legal_actions_of_the_referee(game: Game, play: Played) -> None:
    for state in decisions(play):
        actor = state.actor
        assert actor is not None
        assert state.project(actor).legal_actions() == state.legal_actions()
        for observer in {0, 1, None} - {actor}:
            view = state.project(observer)
            if state.due is Due.ACT:
                with pytest.raises(UnknownHandError) as caught:
                    view.legal_actions()
                assert caught.value.seat == actor
            else:
                assert view.legal_actions() == state.legal_actions()


# --- decisions ------------------------------------------------------------------------------------------------------


@every_game
@in_each
def test_legal_actions_are_sorted_and_apply(game: Game, play: Played) -> None:
    for state in play.states:
        if state.due not in DECISION_DUE:
            assert state.legal_actions() == ()
            continue
        actions = state.legal_actions()
        assert actions
        assert list(actions) == sorted(set(actions))
        shape, published = state.shape(), ruleset_is_published(play.ruleset)
        for action in actions:
            assert state.parse_action(action) == action
            assert fits(shape, action)
            if state.due in (Due.ANSWER, Due.ORDER) and action[0] in "->" and published:
                assert state.parse_action(action[1:]) == action  # nothing else can be meant
            state.apply(DECISION_KINDS[state.due](actor_of(state), action))


@every_game
@in_each
def test_everything_else_is_refused(game: Game, play: Played) -> None:
    """In a position of every second kind of each play; the other kinds are those of the next play."""
    number = plays(game).index(play)
    chance = random.Random(number)
    everywhere = sorted({action for state in decisions(play) for action in state.legal_actions()}) or ["1A", "-A"]
    for due in sorted({state.due for state in play.states})[number % 2 :: 2]:
        state = chance.choice([state for state in play.states if state.due is due])
        events = list(strays(play.ruleset, state, chance.sample(everywhere, min(5, len(everywhere)))))
        for seen in (state, *(state.project(observer) for observer in OBSERVERS)):
            with unchanged(seen) as before:
                for event in events:
                    refuses_also(seen, event, before)
        if state.due in DECISION_DUE:
            legal = set(state.legal_actions())
            others = {*chance.sample(everywhere, min(60, len(everywhere))), *mutants(sorted(legal), chance)}
            own = state.project(state.actor)
            with unchanged(state) as before, unchanged(own) as own_before:
                for text in sorted(others - legal):
                    error = refuses_also(state, decision(state, text), before)
                    assert isinstance(error, IllegalError | InvalidError)
                    refuses_also(own, decision(state, text), own_before)


def ruleset_is_published(ruleset: Ruleset) -> bool:
    return ruleset.name in {edition.ruleset for edition in EDITIONS}


def mutants(actions: list[str], chance: random.Random) -> set[str]:
    """Texts that are almost actions."""
    found = {"", "-", " ", "X", "1X", "2XX", "-X", "\u00e9", "1" * 200}
    for action in chance.sample(actions, min(8, len(actions))):
        at = chance.randrange(len(action))
        found |= {
            action[:at] + action[at + 1 :],
            action[:at] + chance.choice("ABCDEFGHX0123456789-/>^!? ab\n") + action[at + 1 :],
            action[:at] + chance.choice("ABCDEFGX-") + action[at:],
            action.lower(),
            f" {action}",
            f"{action}\n",
            action[0] + action[:0:-1],
        }
    return found


@every_game
@given(data=st.data())
def test_any_text_is_an_action_or_a_mistake(game: Game, data: st.DataObject) -> None:
    """For any text the reader returns canonical notation that reads as itself, or raises `InvalidError` with a hint."""
    play = data.draw(st.sampled_from(plays(game)))
    state = data.draw(st.sampled_from(play.states))
    text = data.draw(st.one_of(st.text(max_size=12), st.text("1234ABCDEFGX-/>!^ abxgiftre", max_size=10)))
    assume("None" not in text)  # an error that says this is one with a value missing, in all tests
    try:
        action = state.parse_action(text)
    except InvalidError as error:
        message, hint = str(error), error.hint
    else:
        assert state.parse_action(action) == action
        return
    assert message.isprintable()
    assert hint


@every_game
@given(data=st.data())
def test_any_text_in_a_move_is_an_action_or_a_mistake(game: Game, data: st.DataObject) -> None:
    """The same for the content of an entry or a submission, which need not come from a program of ours."""
    play = data.draw(st.sampled_from(plays(game)))
    state = data.draw(st.sampled_from(play.states))
    ruleset = play.ruleset
    heads = sorted({shape[0] for each in decisions(play) for shape in each.shape()}) or ["1"]
    text = data.draw(st.sampled_from(heads)) + data.draw(
        st.text("".join([*ruleset.pack.kinds, "X-/>!^ 5"]), max_size=12)
    )
    with suppress(InvalidError):
        ruleset.public(text)
        groups = ruleset.hidden(text)
        cards = tuple(data.draw(st.sampled_from(["", "X", "XX", *ruleset.pack.kinds])) for _ in groups)
        ruleset.complete(text, cards)
    for kind in DECISION_KINDS.values():
        with suppress(IllegalError, InvalidError):
            state.apply(kind(state.actor or 0, text))


def fits(shape: tuple[str, ...], action: str) -> bool:
    """Whether one of the shapes, with `?` for each character of a card, is that of `action`."""
    return any(
        len(form) == len(action) and all(a in ("?", b) for a, b in zip(form, action, strict=True)) for form in shape
    )


def actor_of(state: State) -> int:
    assert state.actor is not None
    return state.actor


def decision(state: State, action: str) -> Decision:
    return DECISION_KINDS[state.due](actor_of(state), action)


# --- positions ------------------------------------------------------------------------------------------------------


@every_game
@in_each
def test_no_card_is_lost_or_made(game: Game, play: Played) -> None:
    pack = play.ruleset.pack
    whole = Counter(dict(zip(pack.kinds, pack.copies, strict=True)))
    for state in play.states:
        known = Counter(pack.split(game.cards(state.to_json())))
        assert known == (whole if state.round else Counter())
        for observer in OBSERVERS:
            seen = Counter(pack.split(game.cards(state.project(observer).to_json())))
            assert seen.total() == known.total()
            del seen["X"]
            assert seen <= known


@every_game
@in_each
def test_a_position_is_a_value(game: Game, play: Played) -> None:
    texts = [text_of(state) for state in play.states]
    again = list(folds(play.ruleset, play.events))
    assert again == list(play.states)
    assert [hash(state) for state in again] == [hash(state) for state in play.states]
    assert [text_of(state) for state in play.states] == texts
    for before, after in zip(play.states, play.states[1:], strict=False):
        assert before != after
    # Positions are equal exactly when their JSON is equal.
    assert len(set(texts)) == len(set(play.states))


@every_game
@given(data=st.data())
def test_anybody_can_end_a_running_game(game: Game, data: st.DataObject) -> None:
    play = data.draw(st.sampled_from(whole_plays(game)))
    state = data.draw(st.sampled_from(play.states))
    outcome = Outcome(data.draw(st.sampled_from(("resign", "timeout"))), data.draw(st.sampled_from(SEATS)))
    if state.due is Due.OVER:
        refuses(state, Close(outcome))
        return
    over = state.apply(Close(outcome))
    assert (over.outcome, over.due, over.actor, over.legal_actions()) == (outcome, Due.OVER, None, ())


@every_game
def test_only_what_ends_a_game_from_outside_closes_it(game: Game) -> None:
    """The rules' own results come from the rules, never from an event that claims them."""
    state = game.rulesets[0].initial()
    for outcome in (
        Outcome("charm", 0),
        Outcome("geisha", 1),
        Outcome("limit", None),
        Outcome("rounds", 0),
        Outcome("", 0),
        Outcome("resign", None),
        Outcome("timeout", None),
        Outcome("cancel", 0),
        Outcome("resign", 2),
        Outcome("resign", -1),
    ):
        refuses(state, Close(outcome), IllegalError)


@every_game
def test_options_are_read_back(game: Game) -> None:
    assert len(set(game.rulesets)) == len(game.rulesets)
    for ruleset in game.rulesets:
        assert parse_ruleset(ruleset.to_json()) == ruleset
        assert ruleset.name == game.name
        assert ruleset.initial().ruleset == ruleset


@every_game
def test_all_options_end_as_they_say(game: Game) -> None:
    """Shows that the random games above reach every kind of end; otherwise they would prove little."""
    reasons = Counter[str]()
    for seed, ruleset in enumerate(game.rulesets * 3):
        outcome = random_game(ruleset, seed).states[-1].outcome
        reasons[outcome.reason if outcome else "unfinished"] += 1
    assert set(reasons) - {"unfinished"} == set(game.rulesets[0].reasons)
    assert reasons["unfinished"] < len(game.rulesets)


@every_game
@fewer
@given(data=st.data())
def test_a_game_can_be_folded_from_anywhere(game: Game, data: st.DataObject) -> None:
    """A position determines the effect of coming events: the state has no hidden history."""
    play = data.draw(st.sampled_from(whole_plays(game)))
    at = data.draw(st.integers(0, len(play.events)))
    state = play.states[at]
    for event in play.events[at:]:
        state = state.apply(event)
    assert state == play.states[-1] == fold(play.ruleset, play.events)


@every_game
@in_each
def test_hidden_cards_go_and_come_back(game: Game, play: Played) -> None:
    """`public`, `hidden` and `complete` agree: the hidden part of an action, put back, gives the action."""
    for state in decisions(play):
        if state.due is not Due.ACT:
            continue
        for action in state.legal_actions()[::7]:
            ruleset = play.ruleset
            hidden, shown = ruleset.hidden(action), ruleset.public(action)
            assert ruleset.public(shown) == shown
            assert state.parse_action(shown) == shown
            assert bool(hidden) == (shown != action) == ("X" in shown)
            assert [group.counts for group in ruleset.hidden(shown)] == [group.counts for group in hidden]
            assert ruleset.complete(shown, tuple(group.cards for group in hidden)) == action
            if hidden:
                for cards in ((), ("",) * len(hidden), ("X",) * len(hidden), (*(g.cards for g in hidden), "A")):
                    with pytest.raises(HkojiError):
                        ruleset.complete(shown, cards)
                with pytest.raises(HkojiError):
                    ruleset.complete(action, tuple(group.cards for group in hidden))
