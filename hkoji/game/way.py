"""The ways on which entries of players come to the service: HTTP and mail.

docs/spec/log.md, "Outages". Each way has beats and outages of its own, because each may work while the other does not.
"""

from __future__ import annotations

from enum import StrEnum

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.log.canonical import JsonValue
from hkoji.log.entry import SERVER_NAME, Entry
from hkoji.messages.text import tell


class Way(StrEnum):
    """How entries of players come to the service."""

    HTTP = "http"
    MAIL = "mail"


def read_way(value: JsonValue) -> Way:
    """Reads a way. Raises `MalformedError` if it is no text, or `NotUnderstoodError` for another word."""
    if not isinstance(value, str):
        raise MalformedError(tell("outage"), tell("way is not a word"))
    if value not in set(Way):
        raise NotUnderstoodError(tell("outage"), value)
    return Way(value)


def came_by(entry: Entry) -> Way | None:
    """The way on which an entry came, as its text says; None for one that nobody sent.

    With `mail` a player sent a mail, unless its grade is `none`; without it the player's own client sent the entry. The
    service writes its own entries, and some in place of a player, without having received anything.
    """
    if entry.by == SERVER_NAME:
        return None
    match entry.body.get("mail"):
        case None:
            return Way.HTTP
        case {"grade": "dkim" | "token"}:
            return Way.MAIL
        case _:
            return None
