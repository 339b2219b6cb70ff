"""Entries: the links of the chain, as exact text.

docs/spec/log.md, "Entries". Here a body is any canonical object. The kinds and their bodies are in `hkoji.game`.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.log.canonical import MAX_DEPTH, VERSION, JsonValue, decode, encode, message
from hkoji.log.text_form import GAME, HASH, KIND, NAME, NUMBER, OBJECT, TIME, TextForm, is_name, is_time

__all__ = ["MAX_ENTRY_BYTES", "SERVER_NAME", "Entry", "is_name", "is_time", "make_entry", "parse_entry"]

SERVER_NAME: Final = "server"

MAX_ENTRY_BYTES: Final = 2**20
"""The limit. The longest entry is an `end`, with an opening for each card that a long game kept hidden."""

_FORM: Final = TextForm(
    "entry",
    MAX_ENTRY_BYTES,
    {"at": TIME, "body": OBJECT, "by": NAME, "game": GAME, "kind": KIND, "prev": HASH, "seq": NUMBER},
)


class Entry(NamedTuple):
    """One entry, made by `parse_entry` or `make_entry`. A named tuple, because logs are read entry by entry.

    `text` is the exact line, `message` the bytes that are signed and hashed (with the LF), and `head` their SHA-256 in
    hex, which the next entry names as its `prev`.
    """

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


def parse_entry(text: str) -> Entry:
    """Reads an entry's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    at, encoded, by, game, kind, prev, seq = _FORM.read(text)
    body = decode(encoded, "body of an entry", MAX_DEPTH - 1)
    assert isinstance(body, dict)
    signed = message(text)
    return Entry(at, body, by, game, kind, prev, _FORM.number(seq), text, signed, sha256(signed).hexdigest())


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
