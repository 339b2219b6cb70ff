"""The kinds of entry: one class each, with its name, its permitted author, its parser and its effect on the course.

docs/spec/log.md, "Kinds"; docs/adding-an-entry.md. The classes are named tuples with a base class: an instance is made
for every entry, and named tuples cost less to import than dataclasses.
"""

from __future__ import annotations

from typing import Final

from hkoji.errors import NotUnderstoodError
from hkoji.game.course import Author, EntryBody
from hkoji.game.entry_kinds.endings import Cancel, End, Resign, Unseal
from hkoji.game.entry_kinds.key_changes import Delegate, KeyChange, Rekey, Revoke
from hkoji.game.entry_kinds.play import Move, Release, RevealBody
from hkoji.game.entry_kinds.setting_up import ChanceBody, Join, Offer, Open, Seed, begin, join_by_link, open_by_link
from hkoji.game.entry_kinds.time import Annul, Credit, GivenTime, Lapse, Timeout
from hkoji.game.setup import Invite, LinkInvite
from hkoji.log.canonical import JsonValue
from hkoji.messages.text import tell

__all__ = [
    "KINDS",
    "NEWCOMER_KINDS",
    "Annul",
    "Cancel",
    "ChanceBody",
    "Credit",
    "Delegate",
    "End",
    "EntryBody",
    "GivenTime",
    "Invite",
    "Join",
    "KeyChange",
    "Lapse",
    "LinkInvite",
    "Move",
    "Offer",
    "Open",
    "Rekey",
    "Release",
    "Resign",
    "RevealBody",
    "Revoke",
    "Seed",
    "Timeout",
    "Unseal",
    "begin",
    "join_by_link",
    "open_by_link",
    "parse_body",
]

_CLASSES: Final[tuple[type[EntryBody], ...]] = (
    Offer, Open, Join, Lapse, Seed, ChanceBody, Move, Credit, RevealBody, Release, Rekey, Revoke, Delegate, Resign,
    Timeout, Annul, Cancel, End, Unseal,
)  # fmt: skip
KINDS: Final = {each.KIND: each for each in _CLASSES}
"""All kinds by name. A new kind is one more class in `_CLASSES`."""
NEWCOMER_KINDS: Final = frozenset(each.KIND for each in _CLASSES if each.AUTHOR is Author.NEWCOMER)
"""The kinds by which a player takes a seat; each brings the player's key (`EntryBody.newcomer_key`)."""


def parse_body(kind: str, body: dict[str, JsonValue]) -> EntryBody:
    """Reads the body of an entry of `kind`. Raises `NotUnderstoodError`, `WeakKeyError` or `MalformedError`."""
    found = KINDS.get(kind)
    if found is None:
        raise NotUnderstoodError(tell("entry kind"), kind)
    return found.parse(body)
