"""Messages as data and back: known messages are shown in the reader's language, unknown ones are never formatted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hkoji.errors import (
    ConflictError,
    ExistsError,
    ForbiddenError,
    HkojiError,
    IllegalActionError,
    MalformedError,
    NotationError,
    NotYourTurnError,
)
from hkoji.manual.catalogues import load_catalogue
from hkoji.messages.text import assemble, dismantle, parts_of, plural, render, tell

ITALIAN = load_catalogue("it")
ERRORS: tuple[HkojiError, ...] = (
    ExistsError(tell("player"), "bob"),
    NotationError("9z", tell("there is no card {name!r}; cards are {cards}", name="9", cards="A to G")),
    IllegalActionError("3BCC", tell("the hand does not have that many cards"), shape=("1?",)),
    ConflictError("ab" * 16, seq=7, head="cd" * 32),
    ForbiddenError(tell("the game is open only to {name}", name="bob")),
    MalformedError(tell("submission"), tell("it is not JSON")),
    NotYourTurnError(tell("seat {seat} is to act, not seat {other}", seat=0, other=1), actor=0),
)


def there_and_back(message: str) -> str:
    return assemble(str(message), json.loads(json.dumps(dismantle(message))))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.code)
def test_a_message_reads_the_same_on_the_other_side(error: HkojiError) -> None:
    again = there_and_back(error.message)
    assert again == error.message
    assert render(again, ITALIAN) == render(error.message, ITALIAN)
    assert set(parts_of(error)) == {"detail"} | ({"hint"} if error.hint else set())


def test_some_of_them_are_translated() -> None:
    assert sum(render(there_and_back(error.message), ITALIAN) != str(error) for error in ERRORS) >= 5


def test_plurals_and_what_is_only_quoted() -> None:
    for number in (0, 1, 2):
        message = plural("{n} deal was not played.", "{n} deals were not played.", number)
        assert render(there_and_back(message), ITALIAN) == render(message, ITALIAN) != message
    assert dismantle("plain") is None
    assert assemble("plain", None) == "plain"


HOSTILE: tuple[Any, ...] = (
    None,
    [],
    "text",
    {},
    {"text": "x"},
    {"text": 7, "values": {}},
    {"text": "{a.__class__.__mro__}", "values": {"a": "b"}},
    {"text": "{a:>999999999}", "values": {"a": "b"}},
    {"text": "{", "values": {}},
    {"text": "{n} deal was not played.", "values": {}},
    {"text": "{n} deal was not played.", "values": {"n": 1}, "many": 3},
    {"text": "{n} deal was not played.", "values": {"n": 1}, "many": "{x}", "number": "1"},
    {"text": "{n} deal was not played.", "values": {str(n): n for n in range(100)}},
    {"text": "player", "values": {"a": {"text": "{a.b}", "values": {"a": {"text": "x", "values": {"a": {}}}}}}},
)


@pytest.mark.parametrize("parts", HOSTILE)
def test_a_message_that_this_side_does_not_know_is_not_used(parts: Any) -> None:
    """An unknown message keeps its English; text from others is never used as a format string."""
    shown = render(assemble("as it came", parts), ITALIAN)
    assert shown in ("as it came", render(tell("player"), ITALIAN))
    assert assemble("as it came", parts) == "as it came"


def test_values_are_cleaned() -> None:
    values = {"name": "\x1b[31m" + "a" * 1000}
    shown = render(assemble("x", {"text": "the game is open only to {name}", "values": values}), ITALIAN)
    assert shown.startswith("la partita è aperta solo a ?[31maaa")
    assert len(shown) < 400
