"""Reads a service's answers about talk. docs/spec/http.md, "Talk".

Checks only the form of the answers, like `answers`; whose word a message is, is checked in `talk`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hkoji.client.answers import read_text, understood
from hkoji.client.transport import HttpAnswer
from hkoji.log.entry import is_name, is_time


class MessageAnswer(NamedTuple):
    """A message as a service shows it; `text` and `sig`, in base64, are None if its author has deleted it."""

    number: int
    name: str
    received: str
    text: str | None
    sig: str | None


def read_message(answer: HttpAnswer) -> MessageAnswer:
    """Reads a message of the players of a game. Raises `ServiceError`."""
    with understood(answer):
        return _read_message(answer.json())


def read_talk_page(answer: HttpAnswer, after: int) -> tuple[tuple[MessageAnswer, ...], int | None]:
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
