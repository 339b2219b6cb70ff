"""The agreement: its form, key by key."""

from __future__ import annotations

from typing import Any

import pytest

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.game.agreement import UNTIMED, Agreement, Series, read_agreement
from hkoji.game.time_control import TimeControl
from hkoji.log.canonical import encode

Json = Any  # wrong on purpose

DAY = 86400
CLOCK: Json = {"add": 0, "bank": 1209600, "cap": 1209600, "move": 259200, "rest": "", "zone": "+00:00"}
GOOD: dict[str, Json] = {
    "clock": CLOCK, "expires": "2026-12-05T12:00:00Z", "rated": True, "rematch": None, "series": None,
}  # fmt: skip
SERIES: dict[str, Json] = {"games": 3, "id": "ab" * 16, "number": 2}


def test_the_example_of_the_page() -> None:
    agreement = read_agreement(GOOD)
    assert agreement == Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY), "2026-12-05T12:00:00Z", rated=True)
    assert encode(agreement.to_json()) == (
        '{"clock":{"add":0,"bank":1209600,"cap":1209600,"move":259200,"rest":"","zone":"+00:00"},'
        '"expires":"2026-12-05T12:00:00Z","rated":true,"rematch":null,"series":null}'
    )


def test_untimed() -> None:
    text = '{"clock":null,"expires":null,"rated":false,"rematch":null,"series":null}'
    assert encode(UNTIMED.to_json()) == text
    assert read_agreement(UNTIMED.to_json()) == UNTIMED


@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        ({"clock": None, "rated": False}, {"clock": None, "rated": True}),
        ({"rated": False}, {"rated": 0}),
        ({"rated": True}, {"rated": 1}),
        ({}, {"rated": None}),
        ({"clock": CLOCK | {"move": 60 * DAY}}, {"clock": CLOCK | {"move": 60 * DAY + 1}}),
        ({}, {"clock": {}}),
        ({}, {"clock": "3d/14d"}),
        ({}, {"clock": False}),
        ({"expires": None}, {"expires": ""}),
        ({"expires": "2000-01-01T00:00:00Z"}, {"expires": "1999-12-31T23:59:59Z"}),
        ({"expires": "8999-12-31T23:59:59Z"}, {"expires": "9000-01-01T00:00:00Z"}),
        ({"expires": "2028-02-29T00:00:00Z"}, {"expires": "2027-02-29T00:00:00Z"}),
        ({}, {"expires": "2026-12-05T12:00:00+00:00"}),
        ({}, {"expires": 1}),
        ({"rematch": "0f" * 16}, {"rematch": "0F" * 16}),
        ({}, {"rematch": "0f" * 15}),
        ({}, {"rematch": False}),
        *(({"series": SERIES | {"games": games}}, {"series": SERIES | {"games": games + 1}}) for games in (3, 5, 7, 9)),
        ({"series": SERIES}, {"series": SERIES | {"games": 1, "number": 1}}),
        ({"series": SERIES}, {"series": SERIES | {"games": 2}}),
        ({"series": SERIES}, {"series": SERIES | {"games": 11}}),
        ({"series": SERIES}, {"series": SERIES | {"games": "3"}}),
        ({"series": SERIES | {"number": 1}}, {"series": SERIES | {"number": 0}}),
        ({"series": SERIES | {"number": 3}}, {"series": SERIES | {"number": 4}}),
        ({"series": SERIES | {"number": 1}}, {"series": SERIES | {"number": True}}),
        ({"series": SERIES | {"id": "0" * 32}}, {"series": SERIES | {"id": "0" * 31}}),
        ({"series": SERIES}, {"series": SERIES | {"id": None}}),
        ({"series": SERIES}, {"series": {"games": 3, "number": 2}}),
        ({"series": SERIES}, {"series": []}),
    ],
)
def test_each_form_on_both_sides(inside: dict[str, Json], outside: dict[str, Json]) -> None:
    assert read_agreement(GOOD | inside).to_json() == GOOD | inside
    value = GOOD | outside
    before = encode(value)
    with pytest.raises(MalformedError):
        read_agreement(value)
    assert encode(value) == before


def test_a_series() -> None:
    assert read_agreement(GOOD | {"series": SERIES}).series == Series(games=3, id="ab" * 16, number=2)


@pytest.mark.parametrize("key", sorted(GOOD))
def test_exactly_five_keys(key: str) -> None:
    with pytest.raises(MalformedError, match=f"malformed agreement: {key} is missing"):
        read_agreement({name: value for name, value in GOOD.items() if name != key})
    with pytest.raises(NotUnderstoodError, match="agreement key 'stake' is not understood"):
        read_agreement(GOOD | {"stake": 1})


def test_a_later_key_inside_is_not_understood() -> None:
    with pytest.raises(NotUnderstoodError, match="clock key 'byoyomi'"):
        read_agreement(GOOD | {"clock": CLOCK | {"byoyomi": 1}})
    with pytest.raises(NotUnderstoodError, match="series key 'score'"):
        read_agreement(GOOD | {"series": SERIES | {"score": 1}})


@pytest.mark.parametrize("value", [None, [], "3d", 1])
def test_an_agreement_is_an_object(value: Json) -> None:
    with pytest.raises(MalformedError, match="malformed agreement: it is not an object"):
        read_agreement(value)
