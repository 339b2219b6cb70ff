"""Which place in a log a token names, and which token an entry or statement by mail must have answered.

docs/spec/mails.md, "The token" and "The audit". A token of a turn names the last entry that is not a change of keys and
not a `credit`: these leave the turn as it is. The service makes tokens by these rules, and an audit follows them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from hkoji.log.entry import Entry
from hkoji.mail.mail_commitment import Purpose, TokenFields
from hkoji.mail.order_types import OrderKind

LEAVES_TURN: Final = frozenset({"rekey", "revoke", "delegate", "credit"})
"""The kinds of entry that a token of a turn does not name."""


class TokenPlace(NamedTuple):
    """The entry that tokens of a turn name: the last one that is not in `LEAVES_TURN`."""

    seq: int
    head: str


def place_of(entries: Sequence[Entry]) -> TokenPlace | None:
    """Returns the place that the end of a log gives to tokens; None if `entries` have only such as leave the turn."""
    for entry in reversed(entries):
        if entry.kind not in LEAVES_TURN:
            return TokenPlace(entry.seq, entry.head)
    return None


def token_behind(
    kind: OrderKind,
    purpose: Purpose,
    name: str,
    about: str,
    *,
    game: str,
    place: TokenPlace,
    before: str | None = None,
) -> TokenFields | None:
    """Returns what the token was for to which the player `name` ordered something in `game`.

    `place` is the one at the end of the log as it was then. `before` is the game of which `game` is a rematch, whose
    log says what a turn or a question there was about; None for a token that names its end.
    """
    alone = TokenFields(purpose, name, about=about)
    match purpose:
        case Purpose.COMMAND | Purpose.YES | Purpose.STOP:
            return alone
        case Purpose.GAME:
            return alone._replace(game=game if before is None else before)
        case Purpose.AGAIN if kind is OrderKind.NEW:
            return alone
        case Purpose.AGAIN if kind is OrderKind.RESIGN:
            return alone._replace(game=game)
    return None if before is not None else alone._replace(game=game, seq=place.seq, head=place.head)
