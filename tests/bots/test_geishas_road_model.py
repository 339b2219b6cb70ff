"""The bots' small model of Geisha's Road agrees with the rules engine: the road, the leads, the orders of two cards."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from hkoji.bots.geishas_road import model, search
from hkoji.bots.geishas_road.greedy import lead_of
from hkoji.rules.events import Chance, Draw, Reveal
from hkoji.rules.geishas_road import position
from hkoji.rules.geishas_road.actions import PACK, actions
from hkoji.rules.geishas_road.ruleset import GeishasRoad, GeishasRoadState
from hkoji.rules.protocol import DECISION_KINDS, Due
from tests.support.rules import random_game


def states(seed: int) -> list[GeishasRoadState]:
    found = []
    for state in random_game(GeishasRoad(), seed).states:
        assert isinstance(state, GeishasRoadState)
        found.append(state)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_a_card_moves_a_geisha_as_in_the_rules(seed: int) -> None:
    for state in states(seed):
        road = model.from_road(state.road)
        assert model.lanterns(road) == state.road.lanterns
        unplayed = [card for card in model.CARDS if not (state.tableaus[0] | state.tableaus[1]) >> card & 1]
        if len(unplayed) < 4:  # with all cards played a Dark lantern would be missing, which no game reaches
            continue
        for card in unplayed:
            name = model.names_of((card,))
            assert model.step(road, card) == model.from_road(state.road.walk([name]))
        for first, second in pairwise(unplayed):
            names = model.names_of((first,)), model.names_of((second,))
            orders = [PACK.split(model.names_of(play.cards)) for play in model.plays(road, (first, second))]
            assert tuple(orders) == state.road.orders(names)
            for play in model.plays(road, (second, first)):
                walked = state.road.walk(PACK.split(model.names_of(play.cards)))
                assert play.road == model.from_road(walked)


@pytest.mark.parametrize("seed", range(20))
def test_leads_are_the_difference_of_influence(seed: int) -> None:
    for state in states(seed):
        if state.counted or any(state.intrigues):
            continue
        whole = [[value // 2 for value in state.influence(seat)] for seat in (0, 1)]
        for seat in (0, 1):
            assert model.leads(lead_of(state, seat)) == tuple(
                mine - yours for mine, yours in zip(whole[seat], whole[1 - seat], strict=True)
            )


def test_moves_are_written_as_they_are_read() -> None:
    for action in ("RA3", "IB2C1", "IC1B2", "GA1B2C4", "CA1D3B2C4"):
        assert model.write(model.read(action)) == action
    assert model.read("GA1B2C4").shares[0] == (model.cards_of("A1"), model.cards_of("B2C4"))
    assert [model.names_of(share) for share, _ in model.read("CA1D3B2C4").shares] == ["A1D3", "B2C4"]
    assert model.read("RA3").shares == ()


class Choices:
    """The decisions of two players in the rules' notation, and what each saw."""

    def __init__(self) -> None:
        self.written: list[tuple[int, str]] = []
        self.sides: list[tuple[int, model.GeishasRoadSide, int]] = []


class Chooser:
    """Plays one seat at random."""

    def __init__(self, seat: int, chance: random.Random, made: Choices) -> None:
        self._seat, self._chance, self._made = seat, chance, made

    def best(self, side: model.GeishasRoadSide, road: int) -> model.GeishasRoadMove:
        self._made.sides.append((self._seat, side, road))
        action = self._chance.choice(actions(side.hand, side.used))
        self._made.written.append((self._seat, action))
        return model.read(action)

    def reply(
        self, side: model.GeishasRoadSide, road: int, move: model.GeishasRoadMove
    ) -> tuple[model.Play, tuple[int, ...]]:
        share, rest = self._chance.choice(move.shares)
        taken = self._chance.choice(model.plays(road, share))
        self._made.written.append((self._seat, f"-{model.names_of(taken.cards)}"))
        return taken, rest

    def order(self, side: model.GeishasRoadSide, options: tuple[model.Play, ...]) -> model.Play:
        play = self._chance.choice(options)
        self._made.written.append((self._seat, f">{model.names_of(play.cards)}"))
        return play


@pytest.mark.parametrize("seed", range(60))
def test_a_round_played_out_ends_as_in_the_rules(seed: int) -> None:
    """The model plays at random; the rules replay its decisions, and views and road are compared."""
    chance = random.Random(seed)
    ruleset = GeishasRoad("guest" if seed % 2 else "host", "random")
    deck = list(PACK.kinds)
    chance.shuffle(deck)
    deal = ruleset.deal(tuple(deck))
    first = seed % 2
    state = ruleset.initial().apply(Chance(None, "".join(chance.sample("ABCDE", 2)))).apply(deal)
    made = Choices()
    players = Chooser(0, chance, made), Chooser(1, chance, made)
    sides = [model.GeishasRoadSide(PACK.encode(hand), 0, 0, model.ALL_CARDS) for hand in deal.hands]
    end = model.play_out((sides[0], sides[1]), first, 0, model.cards_of(deal.rest), first, players)
    seen = iter(made.sides)
    kept = {}
    worths = [search.GeishasRoadRoundWorth(state, seat) for seat in (0, 1)]
    for seat, written in made.written:
        if state.due is Due.DRAW:
            state = state.apply(Draw(seat, state.deck[:2]))
            assert (seat, _side(state, seat), model.from_road(state.road)) == next(seen)
        assert state.actor == seat
        assert written in state.legal_actions()
        if written[0] == "I":
            kept[seat] = written[1:3]
        state = state.apply(DECISION_KINDS[state.due](seat, written))
    for seat in state.due_reveals():
        state = state.apply(Reveal(seat, kept[seat]))
    assert end.road == model.from_road(state.road)
    assert model.leads(end.lead) == tuple(
        a - b for a, b in zip(*(_sums(tableau) for tableau in state.tableaus), strict=True)
    )
    for seat, lead in ((0, end.lead), (1, -end.lead)):
        won, points, _ = worths[seat].won(end.road, lead)
        assert won == (state.wins[seat] == 1)
        prestige = [position.prestige(state.road.lanterns, _owners(state), side) for side in (seat, 1 - seat)]
        assert points == prestige[0] - prestige[1]
        assert (worths[seat].of(end.road, lead) > 0.5) == won


def _owners(state: GeishasRoadState) -> str:
    return position.leads(state.influence(0), state.influence(1))


def _sums(tableau: int) -> list[int]:
    return [sum(n for n in (1, 2, 3, 4) if tableau >> 4 * colour + n - 1 & 1) for colour in range(5)]


def _side(state: GeishasRoadState, seat: int) -> model.GeishasRoadSide:
    """A seat's information, by the rules."""
    placed = state.tableaus[0] | state.tableaus[1] | state.intrigues[seat] | state.discards[seat]
    view = state.project(seat)
    return model.GeishasRoadSide(
        view.hands[seat], view.used[seat], lead_of(view, seat), model.ALL_CARDS & ~placed, view.intrigues[seat]
    )
