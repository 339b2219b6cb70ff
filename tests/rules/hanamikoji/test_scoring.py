"""Scoring: all 2,187 positions of the favour markers, and what a round does to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.rules.events import Outcome
from hkoji.rules.hanamikoji.actions import CHARM, PACK
from hkoji.rules.hanamikoji.position import START, charm, geisha, limit, move_markers, winner

TABLE = Path(__file__).parents[2] / "data" / "hanamikoji.markers"
ROWS = [line.split() for line in TABLE.read_text().splitlines() if not line.startswith("#")]


def test_every_position_of_the_markers() -> None:
    assert len({row[0] for row in ROWS}) == 3**7
    for markers, charm0, charm1, geisha0, geisha1, *result in ROWS:
        assert [charm(markers, 0), charm(markers, 1)] == [int(charm0), int(charm1)], markers
        assert [geisha(markers, 0), geisha(markers, 1)] == [int(geisha0), int(geisha1)], markers
        if result[0] != "-":
            assert winner(markers) == Outcome(result[1], int(result[0])), markers
            continue
        assert winner(markers) is None, markers
        for tiebreak, expected in zip(("geisha", "charm"), result[1:], strict=True):
            who = None if expected == "=" else int(expected)
            assert limit(markers, tiebreak) == Outcome("limit", who), (markers, tiebreak)


def test_the_table_has_every_case() -> None:
    """Both goals for both seats, no goal, and all nine pairs of verdicts at the limit except contradictions in `=`."""
    assert {tuple(row[5:]) for row in ROWS} == {
        ("0", "charm"),
        ("1", "charm"),
        ("0", "geisha"),
        ("1", "geisha"),
        ("-", "0", "0"),
        ("-", "1", "1"),
        ("-", "0", "1"),
        ("-", "1", "0"),
        ("-", "=", "0"),
        ("-", "=", "1"),
        ("-", "=", "="),
    }


def test_the_seats_are_treated_alike() -> None:
    swap = str.maketrans("01", "10")
    for markers, *_ in ROWS:
        mine, yours = winner(markers), winner(markers.translate(swap))
        assert mine == swapped(yours)
        for tiebreak in ("geisha", "charm"):
            assert limit(markers, tiebreak) == swapped(limit(markers.translate(swap), tiebreak))


def swapped(outcome: Outcome | None) -> Outcome | None:
    if outcome is None or outcome.winner is None:
        return outcome
    return Outcome(outcome.reason, 1 - outcome.winner)


def test_with_equal_charm_the_highest_geisha_is_as_good_as_all() -> None:
    """The Italian text compares the highest geisha; comparing the next ones as well never changes the winner."""
    for markers, *_ in ROWS:
        sides = [
            sorted((c for m, c in zip(markers, CHARM, strict=True) if m == seat), reverse=True) for seat in ("0", "1")
        ]
        if winner(markers) is None and sum(sides[0]) == sum(sides[1]):
            highest = [side[0] if side else 0 for side in sides]
            expected = None if highest[0] == highest[1] else highest.index(max(highest))
            assert limit(markers, "charm").winner == expected


@pytest.mark.parametrize(
    ("markers", "outcome"),
    [
        (".00...0", None),  # 9 charm
        ("1110..0", None),  # 3 geisha with 6 charm, 2 with 8
        ("0.11100", Outcome("charm", 0)),  # 3 geisha each, 11 charm and 8: the example of the English edition
        ("1111000", Outcome("charm", 0)),  # 4 geisha lose to 11 charm
        ("1111...", Outcome("geisha", 1)),
        ("1110110", Outcome("charm", 1)),  # both goals at once: charm is named first
    ],
)
def test_examples(markers: str, outcome: Outcome | None) -> None:
    assert winner(markers) == outcome


@given(st.lists(st.tuples(st.sampled_from(".01"), st.integers(0, 5), st.integers(0, 5)), min_size=7, max_size=7))
def test_more_items_move_a_marker_and_a_tie_leaves_it(row: list[tuple[str, int, int]]) -> None:
    cells = [(m, min(host, n), min(guest, n - min(host, n))) for (m, host, guest), n in zip(row, CHARM, strict=True)]
    mine = "".join(kind * host for kind, (_, host, _) in zip("ABCDEFG", cells, strict=True))
    yours = "".join(kind * guest for kind, (_, _, guest) in zip("ABCDEFG", cells, strict=True))
    after = move_markers("".join(cell[0] for cell in cells), PACK.encode(mine), PACK.encode(yours))
    assert len(after) == len(START)
    for (before, host, guest), now in zip(cells, after, strict=True):
        assert now == ("0" if host > guest else "1" if guest > host else before)
