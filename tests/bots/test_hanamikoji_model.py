"""The bots' small model of a Hanamikoji round agrees with the rules engine: same moves, same changes, same end."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from hkoji.bots.hanamikoji import model, search
from hkoji.rules.events import Act, Answer, Deal, Draw, Reveal
from hkoji.rules.hanamikoji import position
from hkoji.rules.hanamikoji.actions import PACK, actions, read
from hkoji.rules.hanamikoji.ruleset import Hanamikoji, HanamikojiState
from hkoji.rules.protocol import Due
from tests.support.rules import random_game


@pytest.mark.parametrize("seed", range(60))
def test_a_hand_has_the_moves_of_the_rules(seed: int) -> None:
    chance = random.Random(seed)
    deck = [kind for _, kind in PACK.deck()]
    for size in range(1, 8):
        names = "".join(chance.sample(deck, size))
        used = chance.randrange(15)
        legal = {model.read(action) for action in actions(PACK.encode(names), used)}
        assert set(model.moves(model.hand_of(names), used)) == legal
        assert len(model.moves(model.hand_of(names), used)) == len(legal)


class Choices:
    """The choices of two players, and what each saw before each."""

    def __init__(self) -> None:
        self.chosen: list[tuple[model.HanamikojiMove, int]] = []
        self.sides: list[tuple[int, model.HanamikojiSide]] = []


class Chooser:
    """Plays one seat at random."""

    def __init__(self, seat: int, chance: random.Random, made: Choices) -> None:
        self._seat, self._chance, self._made = seat, chance, made

    def best(self, side: model.HanamikojiSide) -> model.HanamikojiMove:
        move = self._chance.choice(model.moves(side.hand, side.used))
        self._made.chosen.append((move, move.changes[0]))
        self._made.sides.append((self._seat, side))
        return move

    def reply(self, side: model.HanamikojiSide, move: model.HanamikojiMove) -> int:
        change = self._chance.choice(move.changes)
        self._made.chosen[-1] = (move, change)
        assert self._seat == 1 - self._made.sides[-1][0]
        return change


@pytest.mark.parametrize("seed", range(60))
def test_a_round_played_out_ends_as_in_the_rules(seed: int) -> None:
    """The model plays at random; the rules replay its choices, with cards and changes found by search."""
    chance = random.Random(seed)
    ruleset = Hanamikoji(max_rounds=1)
    deck = [kind for _, kind in PACK.deck()]
    chance.shuffle(deck)
    deal = ruleset.deal(tuple(deck))
    made = Choices()
    players = Chooser(0, chance, made), Chooser(1, chance, made)
    sides = [model.HanamikojiSide(model.hand_of(hand), 0, 0, model.ALL_CARDS) for hand in deal.hands]
    lead = model.play_out((sides[0], sides[1]), 0, [model.hand_of(card) for card in deal.rest], 0, players)
    assert len(made.chosen) == 8
    state = _played_again(ruleset, deal, made)
    rows = [model.from_pack(row) for row in state.rows]
    assert rows[0] - rows[1] == lead
    assert state.outcome is not None
    worths = search.HanamikojiRoundWorth(ruleset, position.START, 0, 0, 1)
    assert worths[lead] == {0: 1.0, 1: 0.0, None: 0.5}[state.outcome.winner]


def _played_again(ruleset: Hanamikoji, deal: Deal, made: Choices) -> HanamikojiState:
    state = ruleset.initial().apply(deal)
    secrets = {}
    for (move, change), (acted, side) in zip(made.chosen, made.sides, strict=True):
        seat = state.actor
        assert seat == acted
        state = state.apply(Draw(seat, state.deck[0]))
        assert side == _side(state, seat)
        action = next(action for action in state.legal_actions() if model.read(action) == move)
        before = _lead(state, seat)
        state = state.apply(Act(seat, action))
        if action[0] == "1":
            secrets[seat] = action[1:]
        while state.due is Due.ANSWER:
            answers = [state.apply(Answer(1 - seat, answer)) for answer in state.legal_actions()]
            state = next(after for after in answers if _lead(after, seat) - before == change)
        assert _lead(state, seat) - before == change
    for seat in state.due_reveals():
        state = state.apply(Reveal(seat, secrets[seat]))
    return state


def _side(state: HanamikojiState, seat: int) -> model.HanamikojiSide:
    """A seat's information, by the rules."""
    view = state.project(seat)
    placed = sum(model.from_pack(cards) for cards in (*view.rows, *view.secrets, *view.trade_offs))
    lead = sum(model.from_pack(pair[seat]) - model.from_pack(pair[1 - seat]) for pair in (view.rows, view.secrets))
    return model.HanamikojiSide(model.from_pack(view.hands[seat]), view.used[seat], lead, model.ALL_CARDS - placed)


def _lead(state: HanamikojiState, seat: int) -> int:
    """The actor's lead with the secrets that have been played."""
    places = [model.from_pack(state.rows[s]) + model.from_pack(state.secrets[s]) for s in (seat, 1 - seat)]
    return places[0] - places[1]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ruleset", [Hanamikoji(), Hanamikoji("guest", 3, "charm"), Hanamikoji("host", 2, "geisha")])
def test_markers_are_worth_what_the_rules_say_where_they_say_it(ruleset: Hanamikoji, seed: int) -> None:
    """After every scored round of a random game: 1, 0 or a half at its end, something between before."""
    checked = 0
    for before, after in _scored(ruleset, seed):
        first = before.first
        assert first is not None
        row = [model.from_pack(rows) for rows in after.rows]
        both = [
            search.HanamikojiRoundWorth(ruleset, before.markers, seat, first, before.round)[row[seat] - row[1 - seat]]
            for seat in (0, 1)
        ]
        assert sum(both) == pytest.approx(1.0)
        if after.outcome is None:
            assert 0.0 < both[0] < 1.0
        else:
            assert both[0] == {0: 1.0, 1: 0.0, None: 0.5}[after.outcome.winner]
        checked += 1
    assert checked


def _scored(ruleset: Hanamikoji, seed: int) -> list[tuple[HanamikojiState, HanamikojiState]]:
    states = random_game(ruleset, seed).states
    pairs = []
    for before, after in pairwise(states):
        assert isinstance(before, HanamikojiState)
        assert isinstance(after, HanamikojiState)
        if before.due is Due.REVEAL and after.due is not Due.REVEAL:
            pairs.append((before, after))
    return pairs


def test_reading_takes_cards_and_changes() -> None:
    assert model.read("3ABB").cards == model.hand_of("ABB")
    assert set(model.read("3ABB").changes) == {model.hand_of("BB") - model.hand_of("A"), model.hand_of("A")}
    assert model.read("4ABAB").changes == (0,)
    assert model.read("2GG").changes == (0,)
    assert read("1G").mask == model.read("1G").bit
    assert model.leads(model.hand_of("GGG") - model.hand_of("AAG")) == (-2, 0, 0, 0, 0, 0, 2)
