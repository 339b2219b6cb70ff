"""Entries: the links of the chain, as exact text. Each names its game, its place and the head before it.

docs/spec/log.md, "Entries". Here a body is any canonical object. The kinds and their bodies are in `hkoji.game`.
Signatures are not part of the chain, because a signer can make many for one text. The readers at the end serve the
classes of bodies.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.log.canonical import (
    GAME,
    HASH,
    KIND,
    MAX_DEPTH,
    NAME,
    NUMBER,
    OBJECT,
    TIME,
    TIME_OR_NULL,
    VERSION,
    JsonValue,
    TextForm,
    decode,
    encode,
    exactly,
    message,
)
from hkoji.log.mail_claim import MAIL
from hkoji.messages.text import tell

SERVER_NAME: Final = "server"

GENESIS: Final = "0" * 64
"""The head that the first entry names as the one before it."""

MAX_ENTRY_BYTES: Final = 2**20
"""The limit. The longest entry is an `end`, with an opening for each card that a long game kept hidden."""

_FORM: Final = TextForm(
    "entry",
    MAX_ENTRY_BYTES,
    {
        "at": TIME,
        "body": OBJECT,
        "by": NAME,
        "game": GAME,
        "kind": KIND,
        "prev": HASH,
        "seen": TIME_OR_NULL,
        "seq": NUMBER,
    },
)


class Entry(NamedTuple):
    """One entry, made by `parse_entry` or `make_entry`. A named tuple, because logs are read entry by entry.

    `seen` is the time of record of the entry before, None in entry 0.
    `text` is the exact line, `message` the bytes that are signed and hashed (with the LF), and `head` their SHA-256 in
    hex, which the next entry names as its `prev`.
    """

    at: str
    body: dict[str, JsonValue]
    by: str
    game: str
    kind: str
    prev: str
    seen: str | None
    seq: int
    text: str
    message: bytes
    head: str


def parse_entry(text: str) -> Entry:
    """Reads an entry's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    at, encoded, by, game, kind, prev, said, seq = _FORM.read(text)
    seen = None if said == "null" else said[1:-1]
    if (seen is None) != (seq == "0"):
        raise MalformedError("entry", tell("seen is a time in each entry but the first, and null in that"))
    body = decode(encoded, "body of an entry", MAX_DEPTH - 1)
    assert isinstance(body, dict)
    signed = message(text)
    return Entry(at, body, by, game, kind, prev, seen, _FORM.number(seq), text, signed, sha256(signed).hexdigest())


def make_entry(
    *, at: str, body: dict[str, JsonValue], by: str, game: str, kind: str, prev: str, seen: str | None, seq: int
) -> Entry:
    """An entry from its fields. Raises what `parse_entry` raises."""
    value: dict[str, JsonValue] = {
        "at": at,
        "body": body,
        "by": by,
        "game": game,
        "kind": kind,
        "prev": prev,
        "seen": seen,
        "seq": seq,
        "v": VERSION,
    }
    return parse_entry(encode(value))


def verify_start(entry: Entry) -> None:
    """Checks that `entry` can be a log's first. Raises `MalformedError`."""
    if entry.seq != 0:
        raise MalformedError(tell("chain"), tell("it begins with entry {seq}, not with entry 0", seq=entry.seq))
    if entry.prev != GENESIS:
        raise MalformedError(tell("chain"), tell("prev of entry 0 is not 64 zeros"))


def verify_link(entry: Entry, seq: int, head: str, game: str) -> None:
    """Checks that `entry` comes right after entry `seq` of `game`, which has that `head`. Raises `MalformedError`."""
    if entry.game != game:
        raise MalformedError(
            tell("chain"), tell("entry {seq} after entry {before} belongs to another game", seq=entry.seq, before=seq)
        )
    if entry.seq != seq + 1:
        raise MalformedError(
            tell("chain"), tell("entry {seq} does not follow entry {before}", seq=entry.seq, before=seq)
        )
    if entry.prev != head:
        raise MalformedError(
            tell("chain"), tell("prev of entry {seq} is not the hash of entry {before}", seq=entry.seq, before=seq)
        )


# --- reading bodies ---------------------------------------------------------------------------------------------------

# docs/spec/log.md, "Kinds" and "Growing": readers ignore only this one object.
_EXT: Final = "ext"


def read_fields(
    body: JsonValue, what: str, keys: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, JsonValue]:
    """Reads a body that has exactly `keys`, perhaps some of `optional`, and perhaps `ext`, which is ignored.

    Raises `MalformedError` or `NotUnderstoodError`.
    """
    fields = exactly(body, what, keys, (*optional, _EXT, MAIL))
    # Every reader knows this key. So where it does not belong, the body is malformed.
    if MAIL in fields and MAIL not in optional:
        raise MalformedError(what, tell("{key} does not belong in it", key=MAIL))
    if not isinstance(fields.get(_EXT, {}), dict):
        raise MalformedError(what, tell("{ext} is not an object", ext=_EXT))
    return fields
