"""Where somebody has come who follows all games of a player, as a text for them to bring back.

There is no order among games, and no number that counts across them: a place in all of them is a place in each. So the
text has them all, packed: for each game the beginning of its id and the number of the last entry that was told. The
service keeps nothing; what a text says that is wrong gives whoever brings it less or more of what is public anyway.
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
_NAMED: Final = 8
_NUMBERED: Final = 3
_ITEM: Final = _NAMED + _NUMBERED
_FORM: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)~([A-Za-z0-9_-]*)")


@dataclass(frozen=True, slots=True)
class StreamCursor:
    """`seen` has for each game the number of the last entry told. Games that ended before `since` are left out."""

    since: str
    seen: Mapping[bytes, int]

    def of(self, game: str) -> int | None:
        """The last entry told of a game; None if nothing of it was."""
        return self.seen.get(bytes.fromhex(game)[:_NAMED])


def format_cursor(since: str, seen: Mapping[str, int]) -> str:
    """The text of a place in games, by their ids; those of which nothing was told yet are left out."""
    items = sorted(
        bytes.fromhex(game)[:_NAMED] + seq.to_bytes(_NUMBERED, "big") for game, seq in seen.items() if seq >= 0
    )
    return f"{since}~{urlsafe_b64encode(b''.join(items)).decode().rstrip('=')}"


def parse_cursor(text: str) -> StreamCursor:
    """Reads such a text, in its one form. Raises `MalformedError`."""
    match = _FORM.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if match is None:
        raise MalformedError("Last-Event-ID", tell("it is not one that this service has given"))
    since, packed = match.groups()
    data = b"" if len(packed) % 4 == 1 else urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
    items = [data[start : start + _ITEM] for start in range(0, len(data), _ITEM)]
    seen = {item[:_NAMED]: int.from_bytes(item[_NAMED:], "big") for item in items}
    cursor = StreamCursor(since, seen)
    if format_cursor(since, {name.hex(): seq for name, seq in seen.items()}) != text:
        raise MalformedError("Last-Event-ID", tell("it is not one that this service has given"))
    return cursor
