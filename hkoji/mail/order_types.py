"""What an answer by mail orders. `hkoji.mail.orders.read_orders(lines, state)` returns these.

`state` is the position as the player knows it, or None if they owe no move.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.messages.text import Text


class OrderKind(StrEnum):
    """A command, by its English word."""

    MOVE = "move"
    ACCEPT = "accept"
    DECLINE = "decline"
    YES = "yes"
    RESIGN = "resign"
    CALL_OFF = "call off"
    CANCEL = "cancel"
    GIVE = "give"
    REMATCH = "rematch"
    NEW = "new"
    REGISTER = "register"
    OWN_KEY = "own key"
    NOT_ME = "not me"
    SHOW = "show"
    MOVES = "moves"
    LOG = "log"
    RULES = "rules"
    GAMES = "games"
    HELP = "help"
    EVIDENCE = "evidence"
    STOP = "stop"
    START = "start"
    LANG = "lang"
    CARDS = "cards"
    QUIET = "quiet"
    NEW_ADDRESS = "new address"


DEFAULT_CLOCK: Final = "3d/14d"
"""The clock of a `new` that names none."""

DECISIVE: Final = frozenset(
    {
        OrderKind.MOVE,
        OrderKind.ACCEPT,
        OrderKind.DECLINE,
        OrderKind.YES,
        OrderKind.RESIGN,
        OrderKind.CALL_OFF,
        OrderKind.CANCEL,
        OrderKind.GIVE,
        OrderKind.REMATCH,
        OrderKind.NEW,
        OrderKind.REGISTER,
        OrderKind.OWN_KEY,
        OrderKind.NOT_ME,
    }
)
"""The commands that decide something: a mail has at most one of them."""


class MailOrder(NamedTuple):
    """One line that was understood.

    `line` is the line as it was read. `words` are the arguments: of `decline` `later` or nothing, of `lang` the code of
    a language, of `cards` `on` or `off`, of `quiet` two hours or `off`, of `give` a duration, of `register` a name, of
    `new` a game, a name, an address and perhaps a clock; else nothing. `action` is the canonical move of a `move`, else
    empty.
    """

    kind: OrderKind
    line: str
    words: tuple[str, ...] = ()
    action: str = ""

    @property
    def decides(self) -> bool:
        """Whether it decides something."""
        return self.kind in DECISIVE


@dataclass(frozen=True, slots=True)
class OrderFault:
    """Why nothing is done.

    `number` is that of the `line` in the order, from 1; 0, with an empty line, if the mail orders nothing. `reason` is
    a phrase or sentence without its full stop. `near` are up to three legal moves near the line, canonical, the best
    first; a game's `Brief.typed` gives the line to send for each. `ask` is the legal move that cards without a
    sign or word probably mean, else empty. `read` says that the line was understood, and cannot be done.
    """

    number: int
    line: str
    reason: Text
    near: tuple[str, ...] = ()
    ask: str = ""
    read: bool = False

    @property
    def more(self) -> bool:
        """Whether the line follows others in its paragraph: then an empty line after the move usually helps."""
        return self.number > 1
