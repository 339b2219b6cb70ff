"""How many answers a token and a mailbox get in a day, and which answers nobody can do without."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from hkoji.mail.letters.facts import AskedWhy
from hkoji_server.service.mail_cases import MailOutcome
from hkoji_server.service.mail_results import SILENT, AnswerKind, AnswerPart
from hkoji_server.service.notice import NoticeEvent
from hkoji_server.store.mail_values import IncomingMail, Mailbox, ReplyToken

ANSWERS_A_DAY: Final = 3
"""How many answers a token gets in a UTC day, beside those that nobody can do without (`is_needed`)."""
_NEEDED: Final = (
    AnswerKind.ON_RECORD,
    AnswerKind.WELCOME,
    AnswerKind.DECLINED,
    AnswerKind.CALLED_OFF,
    AnswerKind.GAVE,
    AnswerKind.ASKED_BACK,
    AnswerKind.CONFIRMED,
)
_CHANGED: Final = (
    *_NEEDED,
    AnswerKind.SETTING,
    AnswerKind.STOPPED,
    AnswerKind.STARTED,
    AnswerKind.CODE,
    AnswerKind.SET_ASIDE,
)
_UNCOUNTED: Final = (NoticeEvent.TURN, NoticeEvent.REMIND1, NoticeEvent.REMIND2, NoticeEvent.OVER)
_OF_OWN_GAMES: Final = (NoticeEvent.JOINED, NoticeEvent.DECLINED, NoticeEvent.CONFIRM, NoticeEvent.STOPPED)
_ANSWERED: Final = "n"
_DAY: Final = "day"


def is_needed(outcome: MailOutcome, mailbox: Mailbox) -> bool:
    """Tells whether an answer is sent however many there were before.

    It is if the mail has changed something, or if the player cannot go on without the letter. What is on record is so
    once for each token. An order that is asked back is sent to the letter that asks, and only a letter has a new
    command address. But mails without the provider's signature may be of somebody else who knows the token, and without
    an end to what asks them back they would use up the letters of a day.
    """
    changed = outcome.mailbox or mailbox
    settings = [(each.state, each.lang, each.cards, each.counter) for each in (changed, mailbox)]
    return settings[0] != settings[1] or any(each.kind in _NEEDED and not _unsigned(each) for each in outcome.parts)


def _unsigned(answer: AnswerPart) -> bool:
    return answer.kind is AnswerKind.ASKED_BACK and answer.text("why") == AskedWhy.SIGNATURE


def counter_of(channel: str, event: NoticeEvent, mail: IncomingMail | None, parts: Sequence[AnswerPart]) -> str | None:
    """Returns by what a letter to a mailbox counts for its day, None if it does not.

    `parts` are those of the answer to `mail`, if it is one. Letters about a turn, of what ended one, and of the end of
    a game always come. So does the answer to a mail without a token, which has a limit of its own: anybody can have
    written that. Answers to what has changed something are counted apart from those that the opponent may have caused,
    or somebody who knows a token. So nobody can suppress them by causing others.
    """
    if event in _UNCOUNTED or (mail is not None and mail.reply is None):
        return None
    if any(each.kind is AnswerKind.ON_RECORD for each in parts):
        return None
    asked = (AskedWhy.SENDER, AskedWhy.SIGNATURE, AskedWhy.REQUIRED)
    changed = any(each.kind in _CHANGED and each.text("why") not in asked for each in parts)
    return f"{channel} changed" if changed or event in _OF_OWN_GAMES else channel


def count_answer(reply: ReplyToken, outcome: MailOutcome, now: str, *, needed: bool) -> tuple[bool, bool, ReplyToken]:
    """Counts an answer to a token, unless it is `needed`: those are sent however many there were.

    Returns whether it may be sent, whether it is the last one of the day that is not `needed`, and the token with the
    new counts.
    """
    said: dict[str, Any] = json.loads(reply.answers)  # Any: JSON
    today = now[:10]
    answered = said.get(_ANSWERED, 0) if said.get(_DAY) == today else 0
    speaks = tuple(outcome.parts) != SILENT
    allowed = answered < ANSWERS_A_DAY or needed
    if speaks and allowed:
        said |= {_DAY: today, _ANSWERED: answered + (not needed), **outcome.counts}
    last = speaks and not needed and answered + 1 == ANSWERS_A_DAY
    return allowed or not speaks, last, replace(reply, answers=json.dumps(said, sort_keys=True))
