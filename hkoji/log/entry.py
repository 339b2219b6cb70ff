"""Entries: the links of the chain, as exact text.

docs/spec/log.md, "Entries". The kinds and their bodies are the game's; here a body is any canonical object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from hkoji.errors import MalformedError
from hkoji.log.canonical import VERSION, JsonValue, decode_signed, encode, is_hex, message

SERVER_NAME: Final = "server"

MAX_ENTRY_BYTES: Final = 2**20
"""No entry is longer. The longest is an `end`, with an opening for each card that a long game kept hidden."""

_KEYS: Final = frozenset({"at", "body", "by", "game", "kind", "prev", "seq", "v"})
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{1,31}")
_KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_TIME = re.compile(
    r"([0-9]{4})-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]|(29)))T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, made by `parse_entry` or `make_entry`. Entries are equal when their texts are.

    `text` is the exact line, `message` the bytes that are signed and hashed (with the LF), and `head` the SHA-256 of
    these in hex, which the next entry names as its `prev`.
    """

    at: str = field(compare=False)
    body: dict[str, JsonValue] = field(compare=False)
    by: str = field(compare=False)
    game: str = field(compare=False)
    kind: str = field(compare=False)
    prev: str = field(compare=False)
    seq: int = field(compare=False)
    text: str
    message: bytes = field(compare=False, repr=False)
    head: str = field(compare=False)


def is_name(text: str) -> bool:
    """Whether `text` has the form of a player's name (`server`, which is reserved, has it too)."""
    return _NAME.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """Whether `text` is a moment in UTC, `2026-11-20T12:00:00Z`, of a day that the calendar has (years 1 to 9999)."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    year = int(match[1])
    return year > 0 and (match[2] is None or (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)))


def parse_entry(text: str) -> Entry:
    """Reads an entry's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    if len(text) > MAX_ENTRY_BYTES:
        raise MalformedError("entry", f"it is longer than {MAX_ENTRY_BYTES} bytes")
    value = decode_signed(text, "entry", _KEYS)
    at, body, by, game, kind = value["at"], value["body"], value["by"], value["game"], value["kind"]
    prev, seq = value["prev"], value["seq"]
    if not isinstance(at, str) or not is_time(at):
        raise MalformedError("entry", "at is not a time like 2026-11-20T12:00:00Z")
    if not isinstance(body, dict):
        raise MalformedError("entry", "body is not an object")
    if not isinstance(by, str) or not is_name(by):
        raise MalformedError("entry", "by is not a name: 2 to 32 of a-z, 0-9, _ and -, first a letter or digit")
    if not isinstance(game, str) or not is_hex(game, 32):
        raise MalformedError("entry", "game is not 32 lower case hex digits")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise MalformedError("entry", "kind is not a word: 1 to 32 of a-z, 0-9, _ and -, first a letter")
    if not isinstance(prev, str) or not is_hex(prev, 64):
        raise MalformedError("entry", "prev is not 64 lower case hex digits")
    if type(seq) is not int:  # isinstance would take true and false
        raise MalformedError("entry", "seq is not a number")
    signed = message(text)
    return Entry(at, body, by, game, kind, prev, seq, text, signed, sha256(signed).hexdigest())


def make_entry(*, at: str, body: dict[str, JsonValue], by: str, game: str, kind: str, prev: str, seq: int) -> Entry:
    """An entry from its fields. Raises what `parse_entry` raises."""
    value: dict[str, JsonValue] = {
        "at": at,
        "body": body,
        "by": by,
        "game": game,
        "kind": kind,
        "prev": prev,
        "seq": seq,
        "v": VERSION,
    }
    return parse_entry(encode(value))
