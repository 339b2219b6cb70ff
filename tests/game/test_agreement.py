"""The agreement: its form, key by key."""

from __future__ import annotations

from typing import Any

from hkoji.game.agreement import UNTIMED, Agreement, Series, TimeControl, read_agreement
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


def test_a_series() -> None:
    assert read_agreement(GOOD | {"series": SERIES}).series == Series(games=3, id="ab" * 16, number=2)
