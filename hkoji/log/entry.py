"""Entries: the links of the chain, as exact text.

docs/spec/log.md, "Entries". The kinds and their bodies are the game's; here a body is any canonical object.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.log.canonical import JsonValue, decode_object, encode, is_hex

VERSION: Final = 1
SERVER_NAME: Final = "server"
MAX_ENTRY_BYTES: Final = 8192

_KEYS: Final = frozenset({"at", "body", "by", "game", "kind", "prev", "seq", "v"})
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{1,31}")
_KIND = re.compile(r"[a-z][a-z0-9-]{0,31}")
_TIME = re.compile(r"([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry. `text` is its exact line; `head` the SHA-256 of `message`, which the next entry names as `prev`."""

    at: str
    body: dict[str, JsonValue]
    by: str
    game: str
    kind: str
    prev: str
    seq: int
    text: str
    message: bytes
    head: str


def is_name(text: str) -> bool:
    """Whether `text` has the form of a player's name (`server`, which is reserved, has it too)."""
    return _NAME.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """Whether `text` is a moment in UTC, `2026-11-20T12:00:00Z`."""
    match = _TIME.fullmatch(text)
    return match is not None and int(match[1]) >= 1 and int(match[3]) <= monthrange(int(match[1]), int(match[2]))[1]


def parse_entry(text: str) -> Entry:
    """Reads an entry's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    if len(text) > MAX_ENTRY_BYTES:
        raise MalformedError("entry", f"it is longer than {MAX_ENTRY_BYTES} bytes")
    fields = decode_object(text, "entry", _KEYS)
    version = fields["v"]
    if type(version) is not int:
        raise MalformedError("entry", "v is not a number")
    if version != VERSION:
        raise NotUnderstoodError("entry version", str(version))
    at, body, by, game, kind = fields["at"], fields["body"], fields["by"], fields["game"], fields["kind"]
    prev, seq = fields["prev"], fields["seq"]
    if not isinstance(at, str) or not is_time(at):
        raise MalformedError("entry", "at is not a time like 2026-11-20T12:00:00Z")
    if not isinstance(body, dict):
        raise MalformedError("entry", "body is not an object")
    if not isinstance(by, str) or not is_name(by):
        raise MalformedError("entry", "by is not a name")
    if not isinstance(game, str) or not is_hex(game, 32):
        raise MalformedError("entry", "game is not 32 hex digits")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise MalformedError("entry", "kind is not a word")
    if not isinstance(prev, str) or not is_hex(prev, 64):
        raise MalformedError("entry", "prev is not 64 hex digits")
    if type(seq) is not int:
        raise MalformedError("entry", "seq is not a number")
    message = text.encode() + b"\n"
    return Entry(at, body, by, game, kind, prev, seq, text, message, sha256(message).hexdigest())


def make_entry(*, at: str, body: dict[str, JsonValue], by: str, game: str, kind: str, prev: str, seq: int) -> Entry:
    """An entry from its fields. Raises what `parse_entry` raises."""
    fields: dict[str, JsonValue] = {
        "at": at,
        "body": body,
        "by": by,
        "game": game,
        "kind": kind,
        "prev": prev,
        "seq": seq,
        "v": VERSION,
    }
    return parse_entry(encode(fields))
