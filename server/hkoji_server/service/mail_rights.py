"""What the service may do for a player on a mail, in the game and for the mailbox that it is about.

docs/spec/log.md, "Held keys". For somebody whose only key the service holds it signs everything. A player with a key of
their own has allowed it to sign moves, in a game in which that key has signed a `delegate`, and nothing else.
"""

from __future__ import annotations

from typing import Final

from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import OrderKind
from hkoji.mail.tokens import PURPOSES, Purpose
from hkoji.messages.text import Text, tell
from hkoji_server.service.mail_cases import MailCase
from hkoji_server.service.seat_games import SeatGame

SIGNS_NO_MORE: Final = tell("the service can no longer sign for you in this game")
_DELEGATED: Final = (OrderKind.MOVE, OrderKind.RESIGN)
"""What the service signs for a player who has allowed it to."""
_SIGNED: Final = (*_DELEGATED, OrderKind.CANCEL, OrderKind.CALL_OFF, OrderKind.GIVE)
"""The orders in a game that the service signs for a seat."""
_OF_OWN_KEY: Final = (
    OrderKind.CANCEL,
    OrderKind.CALL_OFF,
    OrderKind.GIVE,
    OrderKind.ACCEPT,
    OrderKind.DECLINE,
    OrderKind.REMATCH,
    OrderKind.NEW,
)
"""What a player with a key of their own does with that key."""
_NEEDS_OWN_KEY: Final = tell("you have a key of your own: only that can sign this, with the program hkoji")
_TURNED_OFF: Final = tell("you have turned orders by mail off")
_NOT_ALLOWED: Final = tell(
    "your own key has not allowed the service to sign in this game: look at it with the program hkoji when it is your "
    "turn"
)
_ONLY_YES: Final = tell("this letter is answered with yes, or stop")
_WRONG_LETTER: Final = tell("this cannot be ordered in answer to that letter")
_COMMANDS_ONLY: Final = tell("games are begun at your command address; to get another one, write: new address")
_OF_A_GAME: Final = tell("this is about one game: write it in answer to a letter of that game")
_NOT_ON_TURN: Final = tell("your mails in this game are sent to you while it is not your turn: move first")
_TOO_WEAK: Final = tell("you demand mails that your mail provider has signed, and this one it has not signed")


def refusal(kind: OrderKind, case: MailCase) -> Text | None:
    """Returns why the service may not do what a mail orders; None if nothing speaks against it."""
    game = case.game
    if not case.own_key:
        return SIGNS_NO_MORE if kind in _SIGNED and game is not None and not game.signs else None
    if kind in _OF_OWN_KEY:
        return _NEEDS_OWN_KEY
    if kind not in _DELEGATED or game is None:
        return None
    if not case.mailbox.orders:
        return _TURNED_OFF
    if game.seat is None or game.course.setup.held_key(game.seat) is None:
        return _NOT_ALLOWED
    return None if game.signs else SIGNS_NO_MORE


def demanded_grade(game: SeatGame | None, least: MailGrade) -> MailGrade:
    """Returns the grade that a mail about a game needs; `least` is what the service demands of all."""
    held = None if game is None or game.seat is None else game.course.setup.held_key(game.seat)
    if held is None or held.grade is None or least.at_least(held.grade):
        return least
    return held.grade


def too_weak(kind: OrderKind, case: MailCase, grade: MailGrade) -> Text | None:
    """Returns why a mail of that grade is not enough for what it orders; None if it is."""
    if kind not in _DELEGATED or grade.at_least(demanded_grade(case.game, MailGrade.TOKEN)):
        return None
    return _TOO_WEAK


def asks_late(kind: OrderKind, case: MailCase) -> bool:
    """Tells whether a mail asks for the player's mails in answer to the letter of a turn that is over.

    Letters of a turn and of a game look alike to a player. Only who is on turn gets none: the answer says so.
    """
    if kind is not OrderKind.EVIDENCE or case.good or case.game is None:
        return False
    return case.fields.purpose is Purpose.TURN and not case.game.owes_move


def wrong_letter(kind: OrderKind, case: MailCase) -> Text:
    """Returns why a command came in answer to a letter that it does not answer, and where it belongs."""
    if case.mailbox.state == "asked":
        return _ONLY_YES
    if kind is OrderKind.NEW:
        return _COMMANDS_ONLY
    if case.game is None and Purpose.GAME in PURPOSES[kind]:
        return _OF_A_GAME
    if kind is OrderKind.EVIDENCE and case.fields.purpose is Purpose.TURN:
        return _NOT_ON_TURN
    return _WRONG_LETTER
