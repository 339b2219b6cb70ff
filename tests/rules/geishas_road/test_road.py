"""The road: walking, coming home, lanterns, and where the order of two cards matters."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.rules.geishas_road.actions import PACK
from hkoji.rules.geishas_road.road import DARK, LIGHT, TEAHOUSES, Road


def cards(text: str) -> tuple[str, ...]:
    return PACK.split(text.replace(" ", ""))


def walk(text: str) -> Road:
    return Road().walk(cards(text))


def test_all_begin_at_home_and_nobody_has_come_home() -> None:
    assert Road() == Road((0, 0, 0, 0, 0), (0, 0, 0, 0, 0), (0, 0, 0, 0, 0))
    assert (Road().light, Road().dark) == (LIGHT, DARK) == ((3, 3, 4, 4, 4), (3, 2, 2, 2))
    assert len(LIGHT) + len(DARK) == 9


def test_the_example_of_the_rulebook() -> None:
    """A three, and later a two of the same colour: she is at home again and gets the first Light lantern."""
    away = walk("B3")
    assert (away.places, away.homes, away.light) == ((0, 3, 0, 0, 0), (0,) * 5, LIGHT)
    home = away.walk(cards("B2"))
    assert (home.places, home.homes) == ((0,) * 5, (0, 1, 0, 0, 0))
    assert (home.lanterns, home.light, home.dark) == ((0, 3, 0, 0, 0), (3, 4, 4, 4), DARK)


@pytest.mark.parametrize(
    ("played", "place", "homes"),
    [
        ("A4", 4, 0),
        ("A4 A3", 2, 0),  # past her home, not to it
        ("A4 A1", 0, 1),
        ("A2 A4 A1", 2, 0),
        ("A2 A3 A1", 1, 1),
        ("A2 A3 A1 A4", 0, 2),
        ("A1 A2 A3 A4", 0, 1),
        ("A1 A2 A4 A3", 0, 1),
        ("A3 A2 A4 A1", 0, 2),
    ],
)
def test_only_an_exact_landing_is_a_homecoming(played: str, place: int, homes: int) -> None:
    road = walk(played)
    assert (road.places[0], road.homes[0]) == (place, homes)


def test_first_homecomings_take_light_lanterns_and_second_ones_dark() -> None:
    road = walk("A1A4 B2B3 C1C4 D2D3 E1E4")
    assert road.lanterns == LIGHT
    assert (road.light, road.dark) == ((), DARK)
    road = road.walk(cards("D1D4 A2A3 E2E3"))
    assert road.lanterns == (3 + 2, 3, 4, 4 + 3, 4 + 2)
    assert (road.light, road.dark) == ((), (2,))
    early = walk("A1A4 A2A3 B1B4 B2B3 C1C4 C2C3 D1D4 D2D3")
    assert early.lanterns == (3 + 3, 3 + 2, 4 + 2, 4 + 2, 0)
    assert (early.light, early.dark) == ((4,), ())


@given(st.permutations(PACK.kinds), st.integers(0, 18))
def test_where_she_stands_is_the_sum_of_her_moves(deck: list[str], length: int) -> None:
    road = Road().walk(deck[:length])
    stops = Counter[str]()
    for at in range(length):
        colour = deck[at][0]
        stops[colour] += sum(int(card[1]) for card in deck[: at + 1] if card[0] == colour) % TEAHOUSES == 0
    for index, colour in enumerate("ABCDE"):
        assert road.places[index] == sum(int(card[1]) for card in deck[:length] if card[0] == colour) % TEAHOUSES
        assert road.homes[index] == stops[colour]
    assert sum(road.lanterns) + sum(road.light) + sum(road.dark) == sum(LIGHT) + sum(DARK)
    assert len(road.light) + len(road.dark) + sum(road.homes) == 9


def test_nobody_comes_home_three_times_and_the_dark_lanterns_last() -> None:
    """Eighteen cards of twenty are played. Sometimes all Dark lanterns are taken; one more is never needed."""
    chance = random.Random(5)
    seen = Counter[int]()
    for _ in range(20_000):
        road = Road().walk(chance.sample(PACK.kinds, 18))
        assert max(road.homes) <= 2
        assert len(road.dark) == 4 - road.homes.count(2)
        seen[len(road.dark)] += 1
    assert set(seen) == {0, 1, 2, 3, 4}


# --- the order of two cards -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "pair", "orders"),
    [
        ("", "A1 B2", 1),
        ("", "A1 A4", 1),  # home at the end, whichever goes first
        ("A1", "A4 A2", 2),  # home in between, or never
        ("A1", "A2 A3", 1),
        ("A2", "A3 A4", 2),
        ("A3", "A4 A1", 1),
        ("A1 B2", "A4 B3", 1),  # the first two Light lanterns are alike
        ("A1 B2 C1C4", "A4 B3", 2),  # 3 and then 4
        ("A1 B2 C1C4 D1D4", "A4 B3", 1),
        ("A1 B2 C1C4", "A4 B1", 1),  # only one of them comes home
        ("A1A4 A2 B1B4 B2", "A3 B3", 2),  # dark: 3 and then 2
        ("A1A4 A2 B1B4 B2 C1C4 C2C3", "A3 B3", 1),  # dark: 2 and 2
        ("A1A4 A2 C1C4 B1", "A3 B4", 1),  # one takes a dark lantern, the other a light one
    ],
)
def test_where_the_order_matters(before: str, pair: str, orders: int) -> None:
    first, second = cards(pair)
    road = walk(before)
    found = road.orders((first, second))
    assert found == road.orders((second, first))
    assert found == tuple(sorted({(first, second), (second, first)}))[:orders]


@given(st.permutations(PACK.kinds), st.integers(0, 16))
def test_why_an_order_matters(deck: list[str], length: int) -> None:
    """One colour: one of the two cards takes her home. Two colours: both go home, and the two lanterns differ."""
    road = Road().walk(deck[:length])
    one, other = deck[length : length + 2]
    place = [(road.places["ABCDE".index(card[0])] + int(card[1])) % TEAHOUSES for card in (one, other)]
    homes = [road.homes["ABCDE".index(card[0])] for card in (one, other)]
    if one[0] == other[0]:
        matters = 0 in place
    else:
        lanterns = road.dark if homes[0] else road.light
        matters = place == [0, 0] and homes[0] == homes[1] and lanterns[0] != lanterns[1]
    assert len(road.orders((one, other))) == 1 + matters
