"""The bots' small model of Geisha's Road against the rules engine: the road, the leads, the orders of two cards."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hkoji.bots.geishas_road import model
from hkoji.bots.geishas_road.greedy import lead_of
from hkoji.rules.geishas_road.actions import PACK
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.geishas_road.state import GeishasRoadState
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
        if len(unplayed) < 4:  # with all cards played a Dark lantern would be wanting, as never in a game
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
