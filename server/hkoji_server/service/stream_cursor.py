"""The position of a client in the stream of all games of a player, as a text that the client sends back.

Games have no common order or number, so a position in all of them is a position in each. The text packs them all: for
each game the beginning of its id and the number of the last entry sent. The service stores no position. A forged text
only gives its sender fewer or more entries, which are public anyway.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hkoji.errors import MalformedError
from hkoji.messages.text import tell

MOST_GAMES: Final = 500
_MOST_CHARACTERS: Final = 40 * MOST_GAMES
_ID_BYTES: Final = 8
_SEQ_BYTES: Final = 3
_ITEM: Final = _ID_BYTES + _SEQ_BYTES
_FORM: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)~([A-Za-z0-9_-]*)")


@dataclass(frozen=True, slots=True)
class StreamCursor:
    """`seen` has for each game the number of the last entry sent. Games that ended before `since` are left out."""

    since: str
    seen: Mapping[bytes, int]

    def of(self, game: str) -> int | None:
        """Returns the number of the last entry sent of a game; None if none was sent."""
        return self.seen.get(bytes.fromhex(game)[:_ID_BYTES])


def format_cursor(since: str, seen: Mapping[str, int]) -> str:
    """Returns the text of a position in games, by their ids, without games of which no entry was sent yet."""
    items = sorted(
        bytes.fromhex(game)[:_ID_BYTES] + seq.to_bytes(_SEQ_BYTES, "big") for game, seq in seen.items() if seq >= 0
    )
    return f"{since}~{urlsafe_b64encode(b''.join(items)).decode().rstrip('=')}"


def parse_cursor(text: str) -> StreamCursor:
    """Parses such a text in its canonical form. Raises `MalformedError`."""
    match = _FORM.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if match is None:
        raise MalformedError("Last-Event-ID", tell("this service has not sent such an id"))
    since, packed = match.groups()
    data = b"" if len(packed) % 4 == 1 else urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    items = [data[start : start + _ITEM] for start in range(0, len(data), _ITEM)]
    seen = {item[:_ID_BYTES]: int.from_bytes(item[_ID_BYTES:], "big") for item in items}
    cursor = StreamCursor(since, seen)
    if format_cursor(since, {name.hex(): seq for name, seq in seen.items()}) != text:
        raise MalformedError("Last-Event-ID", tell("this service has not sent such an id"))
    return cursor
