"""Messages: English text that remembers its template and values."""

from __future__ import annotations

import json
import pickle
from gettext import NullTranslations

from hkoji.errors import IllegalActionError, NotationError, NotFoundError
from hkoji.messages.text import Text, all_of, any_of, plural, quoted, render, tell


class Brackets(NullTranslations):
    """A language in which every message stands in angle brackets."""

    def gettext(self, message: str) -> str:
        return f"<{message}>"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"<{msgid1 if n == 1 else msgid2}>"


def test_a_message_is_its_english() -> None:
    message = tell("{name} has {n} cards", name="bob", n=2)
    assert message == "bob has 2 cards"
    assert f"{message}" == "bob has 2 cards"
    assert json.dumps(message) == '"bob has 2 cards"'
    assert render(message, NullTranslations()) == message


def test_it_is_rendered_with_all_its_values() -> None:
    inner = tell("no more than {n}", n=3)
    message = tell("{what!r} is refused: {why}", what="x", why=inner)
    assert message == "'x' is refused: no more than 3"
    assert render(message, Brackets()) == "<'x' is refused: <no more than 3>>"
    assert render("plain", Brackets()) == "plain"


def test_a_plural_is_chosen_by_its_number() -> None:
    for number, english in ((0, "0 cards of bob"), (1, "1 card of bob"), (2, "2 cards of bob")):
        message = plural("{n} card of {who}", "{n} cards of {who}", number, who="bob")
        assert message == english
        assert render(message, Brackets()) == f"<{english}>"


def test_a_quoted_token_is_looked_up_as_it_stands() -> None:
    for english in ("it is empty", "{", "{name} is missing", "100 %"):
        assert quoted(english) == english
        assert render(quoted(english), Brackets()) == f"<{english}>"


def test_an_error_among_the_values_says_its_message() -> None:
    error = NotFoundError(tell("game"), "27")
    message = tell("not shown: {reason}", reason=error)
    assert message == "not shown: no game '27'"
    assert render(message, Brackets()) == "<not shown: <no <game> '27'>>"
    assert render(tell("{reason}", reason=ValueError("x")), Brackets()) == "<x>"


def test_names_are_joined_in_the_language() -> None:
    assert any_of(["A"]) == all_of(["A"]) == "A"
    assert any_of(["A", "B", "C"]) == "A or B or C"
    assert all_of(["A", "B"]) == "A and B"
    assert render(any_of(["A", "B", "C"]), Brackets()) == "<<A or B> or C>"


def test_braces_in_values_are_left_alone() -> None:
    message = tell("{given!r} is nothing", given="{0} {x}")
    assert message == "'{0} {x}' is nothing"
    assert render(message, Brackets()) == "<'{0} {x}' is nothing>"


def test_a_message_survives_pickling() -> None:
    for message in (tell("{a} and {b}", a=1, b=tell("more")), plural("{n} card", "{n} cards", 2), quoted("{")):
        again = pickle.loads(pickle.dumps(message))
        assert again == message
        assert isinstance(again, Text)
        assert render(again, Brackets()) == render(message, Brackets())


def test_errors_carry_their_parts() -> None:
    error = NotationError("9z", tell("it is empty"))
    assert str(error) == error.message == "'9z' is not a move; it is empty"
    assert render(error.message, Brackets()) == "<'9z' is not <a move>; <it is empty>>"
    illegal = IllegalActionError("1A", "because")
    assert render(illegal.message, Brackets()) == "<1A is not legal: because>"
