"""Scoring: influence in halves, markers, prestige, and the winner of a round."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from hkoji.rules.geishas_road.actions import PACK
from hkoji.rules.geishas_road.position import influence, leads, move_markers, prestige, winner

SHARES = list(product((None, 0, 1), repeat=4))
"""The player of each of a colour's four cards."""


def worth(cards: tuple[int | None, ...], marker: str, seat: int) -> Fraction:
    """As the rulebook counts: the numbers on the cards, and half a point for the marker."""
    return Fraction(sum(n for n, who in enumerate(cards, 1) if who == seat)) + Fraction(marker == str(seat)) / 2


def test_every_way_to_share_a_colour() -> None:
    """Each of 3^4 shares with each place of the marker: more influence moves the marker, and lanterns follow it."""
    ties = set()
    for cards, marker in product(SHARES, ".01"):
        tableaus = tuple(PACK.encode([f"C{n}" for n, who in enumerate(cards, 1) if who == seat]) for seat in (0, 1))
        markers = f"..{marker}.."
        mine, yours = (worth(cards, marker, seat) for seat in (0, 1))
        assert [influence(tableaus[seat], markers, seat)[2] for seat in (0, 1)] == [2 * mine, 2 * yours]
        after = move_markers(markers, (tableaus[0], tableaus[1]))
        assert after == f"..{marker if mine == yours else '0' if mine > yours else '1'}.."
        won = [prestige((0, 0, 7, 0, 0), after, seat) for seat in (0, 1)]
        assert won == [7 * (mine > yours), 7 * (yours > mine)]
        if mine == yours:
            ties.add(marker)
    assert ties == {"."}, "a tie comes only with the marker in the middle"


def test_colours_are_counted_apart() -> None:
    tableaus = (PACK.encode("A1B2D4E1"), PACK.encode("A2B1C3E2E3"))
    assert influence(tableaus[0], "01.1.", 0) == (3, 4, 0, 8, 2)
    assert influence(tableaus[1], "01.1.", 1) == (4, 3, 6, 1, 10)
    assert move_markers("01.1.", tableaus) == "10101"


def test_without_a_card_the_marker_is_half_a_point_and_wins() -> None:
    assert move_markers("01...", (0, 0)) == "01..."
    assert leads(influence(0, "01...", 0), influence(0, "01...", 1)) == "01..."
    assert prestige((3, 5, 0, 0, 0), "01...", 1) == 5


def test_half_a_point_decides_between_equals_and_never_against_a_whole_one() -> None:
    equal = (PACK.encode("A1A2"), PACK.encode("A3"))
    assert [move_markers(f"{side}....", equal)[0] for side in "01."] == ["0", "1", "."]
    more = (PACK.encode("A4"), PACK.encode("A3"))
    assert [move_markers(f"{side}....", more)[0] for side in "01."] == ["0", "0", "0"]


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(
    ("lanterns", "won", "expected"),
    [
        ((3, 0, 0, 0, 0), "01111", 0),  # prestige before markers
        ((3, 3, 0, 0, 0), "01111", 1),  # equal prestige: more markers
        ((3, 3, 0, 0, 0), "010..", 0),
        ((0, 0, 0, 0, 0), "01.11", 1),  # no prestige at all: more markers
        ((3, 3, 4, 4, 5), "0101.", None),  # both equal, and a tied geisha's lanterns count for nobody
        ((0, 0, 0, 0, 0), "0110.", None),
        ((0, 0, 0, 0, 0), ".....", None),
        ((5, 3, 2, 0, 0), "011..", 1),  # 5 against 5: two markers against one
        ((6, 3, 2, 0, 0), "011..", 0),
    ],
)
def test_the_winner_of_a_round(lanterns: tuple[int, ...], won: str, expected: int | None, first: int) -> None:
    """With equal prestige and markers the round's starting player wins."""
    assert winner(lanterns, won, first) == (first if expected is None else expected)
    swapped = winner(lanterns, won.translate(str.maketrans("01", "10")), 1 - first)
    assert swapped == 1 - winner(lanterns, won, first), "the seats are treated alike"
