"""The DKIM signatures of mails, as the service judges them: what is asked of DNS, and when a grade is `dkim`.

DNS is asked once for a mail. The answers stay with what the mail leads to, in its draft and its evidence, so whoever
judges it again, after a crash or in an audit, has the same ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Final

from hkoji.log.mail_claim import MailGrade
from hkoji.mail.dkim_rules import DnsAnswers, decode_answers, encode_answers, judge_dkim, key_names, signed_id
from hkoji.mail.tokens import Purpose
from hkoji_server.service.mail_cases import MailCase, MailOutcome
from hkoji_server.service.mail_results import AnswerKind
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import Mailbox

LookUp = Callable[[Sequence[str]], Awaitable[DnsAnswers]]
"""Returns the TXT records of names. A name that has none, or that nobody could be asked about, is missing."""

AGAIN_WITHOUT: Final = 3
"""After how many mails in a row that were sent again without DKIM none is expected any more."""
_DONE: Final = (
    AnswerKind.ON_RECORD,
    AnswerKind.WELCOME,
    AnswerKind.DECLINED,
    AnswerKind.CALLED_OFF,
    AnswerKind.GAVE,
)


async def ask_dns(case: MailCase, look_up: LookUp) -> MailCase:
    """Returns a mail with the DNS answers by which its signatures are judged."""
    names = key_names(case.mail.raw)
    answers = await look_up(names) if names else {}
    return replace(case, dns=encode_answers({name: answers[name] for name in names if name in answers}))


def has_dkim(case: MailCase, entry_before: str = "") -> bool:
    """Tells whether a mail has a DKIM signature that counts, by the answers that it has.

    It is judged at T: when the mail came, or as late as the entry before. That one is, unless it is named, the last of
    the mail's game.
    """
    before = entry_before or ("" if case.game is None else case.game.held.refereed.at)
    at = max(case.mail.received, before)
    return judge_dkim(case.mail.raw, decode_answers(case.dns), at=at, token=case.token).holds


async def is_replay(case: MailCase, store: Store) -> bool:
    """Tells whether a signed mail has been obeyed before, and somebody has given it another Message-ID.

    If not, it is noted. A mail is also noted if its signature could not be verified: whoever sends it again later may
    have better luck.
    """
    raw = case.mail.raw
    return bool(key_names(raw)) and not await store.note_signed(case.mail.number, signed_id(raw, case.token))


def dkim_seen_after(mailbox: Mailbox, outcome: MailOutcome, purpose: Purpose) -> int:
    """Returns what is expected of a mailbox, as `Mailbox.dkim_seen` has it, after a mail of its owner."""
    if outcome.grade is MailGrade.DKIM:
        return AGAIN_WITHOUT
    if outcome.grade is None or purpose is not Purpose.AGAIN or not any(each.kind in _DONE for each in outcome.parts):
        return mailbox.dkim_seen
    return max(0, mailbox.dkim_seen - 1)
