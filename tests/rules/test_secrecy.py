"""Non-interference, for every game: what an observer sees does not depend on what it cannot know.

The cards that it cannot see are dealt again in another way consistent with all that it has seen. Not a byte of its view
may change, and none of its legal actions.
"""

from __future__ import annotations

import random
from collections import Counter

from hkoji.errors import UnknownHandError
from hkoji.rules.events import Act, Seat
from hkoji.rules.protocol import Due, State
from tests.support.plays import in_each
from tests.support.redistribution import redistribute
from tests.support.rules import OBSERVERS, Game, Played, every_game, folds, random_game, text_of


def options(state: State) -> tuple[str, ...] | str:
    """The legal actions, or a note that they are not known."""
    try:
        return state.legal_actions()
    except UnknownHandError as error:
        return str(error)


@every_game
@in_each
def test_a_view_does_not_depend_on_hidden_cards(game: Game, play: Played) -> None:
    for observer in OBSERVERS:
        look_with_other_cards(play, observer)


def look_with_other_cards(play: Played, observer: Seat | None) -> None:
    events = redistribute(play.ruleset, play.events, observer, random.Random(len(play.events)))
    other = Played(play.ruleset, events)
    assert other.seen_by(observer) == play.seen_by(observer)
    for state, otherwise in zip(play.states, other.states, strict=True):
        view, same = state.project(observer), otherwise.project(observer)
        assert text_of(view) == text_of(same)
        assert view == same
        assert options(view) == options(same)
        assert view.shape() == same.shape() == otherwise.shape()
        if state.actor == observer or state.due is Due.ANSWER:
            assert state.legal_actions() == otherwise.legal_actions()


@every_game
@in_each
def test_a_redistribution_is_a_game(game: Game, play: Played) -> None:
    """Shows that the test above compares real games: the cards are those of the pack and every move was legal."""
    chance = random.Random(len(play.events))
    events = redistribute(play.ruleset, play.events, chance.choice(OBSERVERS), chance)
    pack = play.ruleset.pack
    for before, event, after in zip(states := list(folds(play.ruleset, events)), events, states[1:], strict=False):
        if isinstance(event, Act):
            assert event.action in before.legal_actions()
        if after.round:
            cards = Counter(pack.split(game.cards(after.to_json())))
            assert cards == Counter(dict(zip(pack.kinds, pack.copies, strict=True)))


@every_game
def test_hidden_cards_do_move(game: Game) -> None:
    """Every kind of hidden place holds other cards in most redistributions."""
    moved = Counter[str]()
    rounds = 40
    for seed in range(rounds):
        play = random_game(game.rulesets[0], seed)
        last = next(at for at, state in enumerate(play.states) if state.round == 1 and state.due is Due.REVEAL)
        for length in (last // 2, last):
            part = play.until(length)
            events = redistribute(part.ruleset, part.events, 0, random.Random(seed))
            *_, state = folds(part.ruleset, events)
            for place, cards in state.to_json().items():
                moved[place] += cards != part.states[-1].to_json()[place]
    for place in game.hidden:
        assert moved[place] > rounds // 3, place
    public = set(random_game(game.rulesets[0], 0).states[-1].to_json()) - set(game.hidden)
    assert {place for place in public if moved[place]} == set()
