"""Whether a mail counts: its sender, its signatures, and what the service may do for its player.

docs/spec/log.md, "Held keys". A mail to a token that is known is done as it says, asked back, or not acted on. To ask
back is to do nothing, and to send the registered address a new token with the order as it was understood. So a person
who can forge a sender, but cannot read the mailbox, changes nothing.

DNS is asked once for a mail. The answers stay with what the mail leads to, in its evidence, so that an audit judges it
by the same ones.

The service signs everything for a player whose only key it holds. A player with a key of their own has allowed it to
sign moves, in a game in which that key has signed a `delegate`, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from hkoji.game.agreement import DAY
from hkoji.game.clock import add_seconds
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import MailOrder, OrderKind
from hkoji.mail.dkim_rules import judge_dkim, key_names, signed_id
from hkoji.mail.dns_answers import DnsAnswers, decode_answers, encode_answers
from hkoji.mail.letters.answers import AskedWhy
from hkoji.mail.mail import MailHeader
from hkoji.mail.tokens import NO_DNS, PURPOSES, Purpose, counts, may_order
from hkoji.messages.text import Text, tell
from hkoji_server.service.mail.cases import DONE, MailCase, MailOutcome
from hkoji_server.service.mail.seat_games import SeatTurn
from hkoji_server.service.players.held_players import SEALED_BY_MAIL
from hkoji_server.store.mail_values import Mailbox

ASKS: Final = "asks"
"""The count of a token that asks back: the kind of command that it was sent for."""
ASKED_OF_OTHERS: Final = 2
"""How often a token asks back what came from another address than the registered one."""
SILENT_DAYS: Final = 180
"""After how many days without a mail of its owner a mailbox may be somebody else's."""
LookUp = Callable[[Sequence[str]], Awaitable[DnsAnswers]]
"""Returns the TXT records of names. A name that has none, or that nobody could be asked about, is missing."""
AGAIN_WITHOUT: Final = 3
"""After how many mails in a row that were sent again without DKIM none is expected any more."""
SIGNS_NO_MORE: Final = tell("the service can no longer sign for you in this game")
_DELEGATED: Final = (OrderKind.MOVE, OrderKind.RESIGN)
"""The orders that the service signs for a player who has allowed it to."""
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
"""The orders that a player with a key of their own does with that key."""
_OF_ASKED: Final = (OrderKind.YES, OrderKind.STOP, OrderKind.NOT_ME, OrderKind.HELP)
"""The commands from a mailbox that its owner has not confirmed."""
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


def is_silent(mailbox: Mailbox, now: str) -> bool:
    """Tells whether so long nothing has come from the owner of a mailbox that it may be somebody else's by now."""
    return add_seconds(mailbox.heard or mailbox.since, SILENT_DAYS * DAY) < now


class MailSender(StrEnum):
    """The address in the From field of a mail."""

    REGISTERED = "registered"
    """Exactly the mailbox for which the token was made, but for case."""
    OTHER = "other"
    """One other address."""
    UNREADABLE = "unreadable"
    """Two From fields, several addresses, a group, or an address that is not ASCII."""


def sender_of(header: MailHeader, address: str) -> MailSender:
    """Returns who has sent a mail, as far as the owner of the mailbox `address` is concerned."""
    if header.sender is None:
        return MailSender.UNREADABLE
    return MailSender.REGISTERED if header.sender == address.lower() else MailSender.OTHER


def judge_mail(
    sender: MailSender, *, dkim: bool, had_dkim: bool, require: MailGrade, again: bool
) -> MailGrade | AskedWhy:
    """Returns the grade with which a mail to a token that is known counts, or why it is asked back.

    `dkim` says whether it has a valid DKIM signature that is aligned and bound to the token, `had_dkim` whether a mail
    of this mailbox has had one. `require` is the least grade that the service takes. `again` says whether the token is
    one that was sent to ask back: then a missing signature is not asked back once more.
    """
    if sender is not MailSender.REGISTERED:
        return AskedWhy.SENDER
    if dkim:
        return MailGrade.DKIM
    if not again and had_dkim:
        return AskedWhy.SIGNATURE
    if not again and require is MailGrade.DKIM:
        return AskedWhy.REQUIRED
    return MailGrade.TOKEN


async def ask_dns(case: MailCase, look_up: LookUp) -> MailCase:
    """Returns a mail with the DNS answers by which its signatures are judged."""
    names = key_names(case.read)
    if not names:
        return case
    answers = await look_up(names)
    return replace(case, dns=encode_answers({name: answers[name] for name in names if name in answers}))


def has_dkim(case: MailCase, entry_before: str = "") -> bool:
    """Tells whether a mail has a DKIM signature that counts, by the answers that it has.

    It is judged at T: when the mail came, or as late as the entry before. That one is, unless it is named, the last of
    the mail's game.
    """
    if case.dns == NO_DNS:
        return False
    before = entry_before or ("" if case.game is None else case.game.held.refereed.at)
    at = max(case.mail.received, before)
    return judge_dkim(case.read, decode_answers(case.dns), at=at, token=case.token).holds


def known_as(case: MailCase) -> str | None:
    """Returns by what a signed mail is known if somebody gives it another Message-ID; None for one without signature.

    Also of a mail whose signature could not be verified: whoever sends it again later may have better luck.
    """
    return signed_id(case.read, case.token) if key_names(case.read) else None


def dkim_seen_after(mailbox: Mailbox, outcome: MailOutcome, purpose: Purpose) -> int:
    """Returns what is expected of a mailbox, as `Mailbox.dkim_seen` has it, after a mail of its owner."""
    if outcome.grade is MailGrade.DKIM:
        return AGAIN_WITHOUT
    if outcome.grade is None or purpose is not Purpose.AGAIN or not any(each.kind in DONE for each in outcome.parts):
        return mailbox.dkim_seen
    return max(0, mailbox.dkim_seen - 1)


def refusal(kind: OrderKind, case: MailCase) -> Text | None:
    """Returns why the service may not do what a mail orders; None if nothing speaks against it."""
    game = case.game
    if game is not None and game.course.sealed is not None and kind in (*_SIGNED, OrderKind.ACCEPT):
        return SEALED_BY_MAIL
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


def demanded_grade(game: SeatTurn | None, least: MailGrade) -> MailGrade:
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


def is_allowed(order: MailOrder, case: MailCase) -> bool:
    """Tells whether a command may answer the letter that it answers."""
    if case.mailbox.state == "asked":
        # The person who is asked may not play here: they see nothing of the player whose name they are asked about.
        return order.kind in _OF_ASKED
    if order.kind is OrderKind.YES and is_silent(case.mailbox, case.mail.received):
        return True
    return may_order(order.kind, case.fields) or asks_late(order.kind, case)


def is_counted(kind: OrderKind, case: MailCase) -> bool:
    """Tells whether a command is done, and not asked for again.

    A player who was asked for something else again has not been asked whether to call the game off.
    """
    asked = json.loads(case.reply.answers).get(ASKS)
    return counts(kind, case.fields) and (kind is not OrderKind.CALL_OFF or asked == kind.value)
