"""Which commands a mail may give to which token. docs/spec/log.md, "Held keys".

A token says what its letter asked for. A command that is understood, but came to another token, does nothing. An audit
that is given the mails judges by the same table.
"""

from __future__ import annotations

from typing import Final

from hkoji.mail.mail_commitment import Purpose, TokenFields
from hkoji.mail.order_types import OrderKind

ANY: Final = frozenset(Purpose)

_IN_GAME: Final = frozenset({Purpose.TURN, Purpose.GAME, Purpose.AGAIN})

PURPOSES: Final[dict[OrderKind, frozenset[Purpose]]] = {
    OrderKind.MOVE: frozenset({Purpose.TURN, Purpose.AGAIN}),
    OrderKind.ACCEPT: frozenset({Purpose.INVITE, Purpose.AGAIN}),
    OrderKind.DECLINE: frozenset({Purpose.INVITE, Purpose.AGAIN}),
    OrderKind.YES: frozenset({Purpose.YES}),
    OrderKind.RESIGN: _IN_GAME,
    OrderKind.CALL_OFF: _IN_GAME,
    OrderKind.CANCEL: _IN_GAME,
    OrderKind.GIVE: _IN_GAME,
    OrderKind.REMATCH: _IN_GAME,
    OrderKind.NEW: frozenset({Purpose.COMMAND, Purpose.AGAIN}),
    OrderKind.REGISTER: frozenset(),
    OrderKind.EVIDENCE: frozenset({Purpose.GAME}),
    **dict.fromkeys(
        (
            OrderKind.OWN_KEY,
            OrderKind.NOT_ME,
            OrderKind.SHOW,
            OrderKind.MOVES,
            OrderKind.LOG,
            OrderKind.RULES,
            OrderKind.GAMES,
            OrderKind.HELP,
            OrderKind.STOP,
            OrderKind.START,
            OrderKind.LANG,
            OrderKind.CARDS,
            OrderKind.QUIET,
            OrderKind.NEW_ADDRESS,
        ),
        ANY,
    ),
}
"""The purposes of the tokens to which each command may be sent. `register` has no token."""

AFTER_END: Final = frozenset({OrderKind.EVIDENCE, OrderKind.REMATCH})
"""The commands to a game that can be given when it is over."""

ASKED_FIRST: Final = frozenset({OrderKind.RESIGN, OrderKind.CALL_OFF})
"""The commands that count only in answer to a letter that has asked for them again."""


def is_for_any(kind: OrderKind) -> bool:
    """Whether a command may be sent to every token, also to one whose turn is over."""
    return PURPOSES[kind] == ANY


def may_order(kind: OrderKind, token: TokenFields) -> bool:
    """Whether a mail to this token may give the command; for `ASKED_FIRST` also whether it counts or is asked first."""
    if is_resign_again(token):
        # Nothing of the game stands in this token, so that it outlives the turn: it is good for nothing else.
        return kind is OrderKind.RESIGN or is_for_any(kind)
    return token.purpose in PURPOSES[kind]


def is_resign_again(token: TokenFields) -> bool:
    """Whether a token was sent to ask for `resign` again, which may come until the game ends."""
    return token.purpose is Purpose.AGAIN and bool(token.game) and token.seq is None


def counts(kind: OrderKind, token: TokenFields) -> bool:
    """Whether a command that `may_order` allows is done, and not asked for again.

    Whoever was asked for a move again has not been asked whether to resign.
    """
    if kind is OrderKind.RESIGN:
        return is_resign_again(token)
    return kind not in ASKED_FIRST or token.purpose is Purpose.AGAIN
