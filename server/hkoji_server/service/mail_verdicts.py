"""What a mail needs to count: a pure table over who has sent it and how well that is known.

docs/spec/log.md, "Held keys". A mail to a token that is known is done as it says, asked back, or not acted on. To ask
back is to do nothing, and to send the registered address a new token with the order as it was understood. So whoever
can forge a sender, but cannot read the mailbox, changes nothing. This module reads no mail and knows no store.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.log.mail_claim import MailGrade
from hkoji.mail.letters.facts import AskedWhy
from hkoji.mail.mail_types import MailHeader


class MailSender(StrEnum):
    """Whose address is in the From field of a mail."""

    REGISTERED = "registered"
    """Exactly the mailbox for which the token was made, but for case."""
    OTHER = "other"
    """One other address."""
    UNREADABLE = "unreadable"
    """Two From fields, several addresses, a group, or an address that is not ASCII."""


class Treatment(StrEnum):
    """What is done with the orders in a mail."""

    DONE = "done"
    ASKED_BACK = "asked_back"
    NOTHING = "nothing"
    """Nothing at all is done; one letter for each token says why."""


class MailVerdict(NamedTuple):
    """What is done with a mail. `grade` is only for `DONE`, and `why` only for `ASKED_BACK`."""

    treatment: Treatment
    grade: MailGrade = MailGrade.NONE
    why: AskedWhy | None = None


ASKED_OF_OTHERS: Final = 2
"""How often a token asks back what came from another address than the registered one."""


def sender_of(header: MailHeader, address: str) -> MailSender:
    """Returns who has sent a mail, as far as the owner of the mailbox `address` is concerned."""
    if header.sender is None:
        return MailSender.UNREADABLE
    return MailSender.REGISTERED if header.sender == address.lower() else MailSender.OTHER


def judge_mail(
    sender: MailSender, *, dkim: bool | None, had_dkim: bool, require: MailGrade, again: bool
) -> MailVerdict:
    """Returns what is done with a mail to a token that is known.

    `dkim` says whether it has a valid DKIM signature that is aligned and bound to the token; None if nobody has looked.
    `had_dkim` says whether a mail of this mailbox has had one. `require` is the least grade that the service takes.
    `again` says whether the token is one that was sent to ask back: then a missing signature is not asked back once
    more.
    """
    match sender:
        case MailSender.UNREADABLE:
            return MailVerdict(Treatment.NOTHING)
        case MailSender.OTHER:
            return MailVerdict(Treatment.ASKED_BACK, why=AskedWhy.SENDER)
    if dkim:
        return MailVerdict(Treatment.DONE, MailGrade.DKIM)
    if not again and had_dkim:
        return MailVerdict(Treatment.ASKED_BACK, why=AskedWhy.SIGNATURE)
    if not again and require is MailGrade.DKIM:
        return MailVerdict(Treatment.ASKED_BACK, why=AskedWhy.REQUIRED)
    return MailVerdict(Treatment.DONE, MailGrade.TOKEN)
