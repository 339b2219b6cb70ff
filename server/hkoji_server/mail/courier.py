"""The courier of letters: renders each notice as a letter when it is sent, and hands it to the mail server.

The outbox has references only. So no letter is stale, and none is kept anywhere. A letter that is rendered again has
the same Message-ID, by which mail programs show it once.
"""

from __future__ import annotations

import smtplib
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Protocol

from hkoji.mail.letters import compose, write_letter
from hkoji.manual.catalogues import load_speaker
from hkoji_server.log import log
from hkoji_server.mail.bounces import Bounces, class_of
from hkoji_server.mail.submission import MOST_AT_ONCE, NoTlsError, SmtpRefusal
from hkoji_server.service.games.notice_rules import Never, Notice, NoticeEvent, NotNow
from hkoji_server.service.mail.tokens import LetterPlan
from hkoji_server.store.contract import Store
from hkoji_server.store.notice_contract import Channel

_PAUSED: Final = 900.0
"""After how many seconds a letter to a paused mailbox is looked at again."""
_REMINDERS: Final = (NoticeEvent.REMIND1, NoticeEvent.REMIND2)


class LetterPlans(Protocol):
    """Who knows what letters say (`hkoji_server.service.mail.letter_facts`)."""

    async def of(self, channel: Channel, notice: Notice) -> LetterPlan | None:
        """Returns what the letter for a notice says now; None if there is nothing to say. May raise `NotNow`."""


class LetterTaker(Protocol):
    """Who takes letters (`hkoji_server.mail.submission`)."""

    async def submit(self, sender: str, recipient: str, letter: bytes) -> None:
        """Returns when a letter is taken."""


class MailCourier:
    """Sends letters to mailboxes."""

    together: Final = False
    lasting: Final = True
    places: Final = MOST_AT_ONCE

    def __init__(self, store: Store, plans: LetterPlans, submission: LetterTaker, bounces: Bounces) -> None:
        self._store = store
        self._plans = plans
        self._submission = submission
        self._bounces = bounces

    def host_of(self, target: str) -> str:
        """Returns the domain of a mailbox."""
        return target.rpartition("@")[2].lower()

    async def send(self, channel: Channel, notices: Sequence[Notice]) -> None:
        """Sends each notice as a letter. Raises as `Courier.send` does."""
        for notice in notices:
            await self._send(channel, notice)

    async def _send(self, channel: Channel, notice: Notice) -> None:
        mailbox = await self._store.mailbox(channel.id)
        if mailbox is None:
            return
        if mailbox.paused is not None and notice.event not in _REMINDERS:
            raise NotNow(_PAUSED)
        plan = await self._plans.of(channel, notice)
        if plan is None:
            return
        letter = compose(write_letter(plan.facts, load_speaker(plan.language)), plan.headers)
        try:
            await self._submission.submit(plan.envelope, plan.headers.to, letter)
        except SmtpRefusal as refusal:
            log.info("the mail server has refused a letter", of=notice.event.value, answer=str(refusal))
            if not refusal.for_ever:
                raise
            kind = class_of(refusal.answer.code, refusal.answer.status)
            await self._bounces.note(channel.id, kind, _digest(plan.headers.message_id))
            raise Never(f"the mail server answered {refusal}") from refusal
        except NoTlsError:
            log.error("the mail server offers no TLS, so no letter was sent")
            raise
        except smtplib.SMTPAuthenticationError:
            log.error("the mail server does not take the password of mail_smtp")
            raise


def _digest(message_id: str) -> str:
    """Returns the key by which the refusal of a letter is noted once."""
    return sha256(b"smtp\n" + message_id.encode()).hexdigest()
