"""Requests about talk at one service, and its answers. docs/spec/http.md, "Talk".

Checks only the form of the answers, like `answers`; whose word a message is, is checked in `talk`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hkoji.client.answers import LONGEST_PAGE, read_text, understood
from hkoji.client.service import Service
from hkoji.client.transport import HttpAnswer, same_bytes
from hkoji.errors import HkojiError
from hkoji.log.canonical import is_hex
from hkoji.log.entry import is_name, is_time
from hkoji.messages.text import tell

_MOST_MESSAGES: Final = 5000
"""How many messages of a game a client reads. A service takes fewer."""


class MessageAnswer(NamedTuple):
    """A message as a service shows it; `text` and `sig`, in base64, are None if its author has deleted it."""

    number: int
    name: str
    received: str
    text: str | None
    sig: str | None


class UnreadMessage(NamedTuple):
    """The last message in a game that the player has not written; `name` is its author."""

    game: str
    number: int
    name: str


class TalkRequests:
    """Requests about the messages of games. All need a login, and raise the errors of the service's refusals."""

    def __init__(self, service: Service) -> None:
        self._requests: Final = service.requests

    def messages(self, game: str) -> tuple[MessageAnswer, ...]:
        """Returns all messages of a game of the player, page by page, as the service shows them."""
        return self._requests.with_login(lambda token: self._messages(game, token))

    def _messages(self, game: str, token: str) -> tuple[MessageAnswer, ...]:
        found: list[MessageAnswer] = []
        after: int | None = 0
        while after is not None:
            path = f"/v1/games/{game}/talk?after={after}"
            answer = self._requests.send("GET", path, token=token, game=game, most=LONGEST_PAGE)
            page, after = _read_page(answer, after)
            found += page
            with understood(answer):
                if len(found) > _MOST_MESSAGES:
                    raise HkojiError(tell("its list of messages does not end"))
        return tuple(found)

    def last_messages(self) -> tuple[UnreadMessage, ...]:
        """Returns the last message of the opponent in each game of the player that has one."""
        answer = self._requests.with_login(
            lambda token: self._requests.send("GET", "/v1/me/talk", token=token, most=LONGEST_PAGE)
        )
        with understood(answer):
            return tuple(_read_unread(each) for each in answer.json()["games"])

    def say(self, game: str, text: str, sig: str) -> MessageAnswer:
        """Sends a signed message; sent again it is the same one. Returns it as the service keeps it."""
        value, path = {"text": text, "sig": sig}, f"/v1/games/{game}/talk"
        with same_bytes():
            answer = self._requests.with_login(lambda token: self._requests.send("POST", path, value, token, game=game))
        with understood(answer):
            return _read_message(answer.json())

    def delete(self, game: str, number: int) -> None:
        """Asks the service to delete a message of the player."""
        path = f"/v1/games/{game}/talk/{number}"
        self._requests.with_login(lambda token: self._requests.send("DELETE", path, token=token, game=game))


def _read_page(answer: HttpAnswer, after: int) -> tuple[tuple[MessageAnswer, ...], int | None]:
    """Reads a page of messages, and after which number the next page begins. Raises `ServiceError`."""
    with understood(answer):
        page = answer.json()
        found = tuple(map(_read_message, page["messages"]))
        for each in found:
            if each.number <= after:
                raise ValueError("messages are not in the order of their numbers")
            after = each.number
        following = page["next"]
        if following is not None and (not found or following != after):
            raise ValueError("the next page is not the one that follows")
        return found, following


def _read_unread(value: Any) -> UnreadMessage:  # Any: JSON
    game, number, name = value["game"], value["number"], read_text(value["name"])
    if not is_hex(game, 32) or type(number) is not int or number < 1 or not is_name(name):
        raise ValueError("a message has a game, a number and a name")
    return UnreadMessage(game, number, name)


def _read_message(value: Any) -> MessageAnswer:  # Any: JSON
    number, name, received = value["number"], read_text(value["name"]), read_text(value["at"])
    if type(number) is not int or number < 1 or not is_name(name) or not is_time(received):
        raise ValueError("a message has a number, a name and a time")
    # What the service shows instead of a signed text is no fault of its form: it is shown as not signed.
    text, sig = value["text"], value["sig"]
    if text is None and sig is None:
        return MessageAnswer(number, name, received, None, None)
    if not isinstance(text, str) or not isinstance(sig, str):
        raise TypeError("a message has a text and a signature, or neither")
    return MessageAnswer(number, name, received, text, sig)
