"""The courier of letters: renders each notice as a letter when it is sent, and submits it to the mail server by SMTP.

The outbox has references only. So no letter is stale, and none is kept anywhere. A letter that is rendered again has
the same Message-ID, by which mail programs show it once.

Submission follows RFC 5321 and RFC 6409. smtplib waits for each answer, so each letter has a thread for as long as it
takes. The server's words are never logged: they may quote addresses, and the address of a bounce has a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import smtplib
import ssl
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import Final, NamedTuple, Protocol

from hkoji.mail.letters import compose, write_letter
from hkoji.manual.catalogues import load_speaker
from hkoji_server.log import log
from hkoji_server.mail.receiving import Bounces, class_of
from hkoji_server.mail_settings import SmtpServer, SmtpTls
from hkoji_server.service.mail.letter_facts import LetterFacts
from hkoji_server.service.mail.tokens import LetterPlan
from hkoji_server.service.notices.couriers import Never, Notice, Sending
from hkoji_server.store.tables import Channel

MOST_AT_ONCE: Final = 20
"""How many letters are handed over at the same time. Mail servers allow one client some tens of connections."""
_ANSWER_SECONDS: Final = 20.0
"""How long the server may take for each answer."""
_ENHANCED = re.compile(rb"\s*([245]\.\d{1,3}\.\d{1,3})(?:\s|$)")


class SmtpAnswer(NamedTuple):
    """A server's answer: its reply code, and the status code of RFC 3463 that follows it, empty without one."""

    code: int
    status: str


class SmtpRefusal(Exception):  # noqa: N818 # an answer of the server, not a fault of the program
    """The server has not taken a letter. `of_recipient` says that it has refused the recipient or the letter."""

    def __init__(self, answer: SmtpAnswer, *, of_recipient: bool) -> None:
        super().__init__(f"{answer.code} {answer.status}".strip())
        self.answer = answer
        self.of_recipient = of_recipient

    @property
    def for_ever(self) -> bool:
        """Whether the same letter will be refused again."""
        return self.of_recipient and self.answer.code >= 500


class NoTlsError(Exception):
    """The server does not offer STARTTLS, and the connection leaves this machine."""


class RefusedLoginError(Exception):
    """The server does not take the user with the password."""


class SmtpSubmission:
    """Submits letters to one server. `greeting` is the name by which it introduces itself.

    `context` is that of TLS; by default the certificate must be one that the machine trusts, for that host.
    """

    def __init__(
        self, server: SmtpServer, password: str | None, *, greeting: str, context: ssl.SSLContext | None = None
    ) -> None:
        self._server = server
        self._password = password
        self._greeting = greeting
        self._context = context
        # The threads of the event loop are few, and others need them while a mail server is slow.
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE, "hkoji-submits")

    async def submit(self, sender: str, recipient: str, letter: bytes) -> None:
        """Returns when the server has taken a letter; `sender` is that of the envelope.

        Raises `SmtpRefusal`, `NoTlsError`, `OSError` or `smtplib.SMTPException`; after all but a refusal for ever the
        letter has to be sent again. If it is cancelled, the letter may still be taken.
        """
        await asyncio.get_running_loop().run_in_executor(self._threads, self._submit, sender, recipient, letter)

    async def look(self) -> str | None:
        """Connects and logs in. Returns by which protocol the connection is encrypted, such as `TLSv1.3`, or None.

        Raises `NoTlsError`, `RefusedLoginError` or `OSError`, of which the errors of smtplib and of TLS are kinds.
        """
        return await asyncio.to_thread(self._look)

    def _look(self) -> str | None:
        smtp = self._connect()
        protocol = smtp.sock.version() if isinstance(smtp.sock, ssl.SSLSocket) else None
        try:
            if self._server.user is not None and self._password is not None:
                smtp.login(self._server.user, self._password)
            with contextlib.suppress(OSError):
                smtp.quit()
        except smtplib.SMTPAuthenticationError as error:
            raise RefusedLoginError from error
        finally:
            smtp.close()
        return protocol

    def _submit(self, sender: str, recipient: str, letter: bytes) -> None:
        smtp = self._connect()
        try:
            if self._server.user is not None and self._password is not None:
                smtp.login(self._server.user, self._password)
            _verify(smtp.mail(sender), of_recipient=False)
            _verify(smtp.rcpt(recipient), of_recipient=True)
            try:
                _verify(smtp.data(letter), of_recipient=True)
            except smtplib.SMTPDataError as error:
                _verify((error.smtp_code, _bytes(error.smtp_error)), of_recipient=True)
                raise
            # The letter is taken; how the connection ends does not matter.
            with contextlib.suppress(OSError, smtplib.SMTPException):
                smtp.quit()
        finally:
            smtp.close()

    def _connect(self) -> smtplib.SMTP:
        server = self._server
        if server.tls is SmtpTls.IMPLICIT:
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(
                server.host, server.port, self._greeting, timeout=_ANSWER_SECONDS, context=self._tls()
            )
        else:
            smtp = smtplib.SMTP(server.host, server.port, self._greeting, timeout=_ANSWER_SECONDS)
        try:
            if server.tls is SmtpTls.STARTTLS:
                smtp.ehlo_or_helo_if_needed()
                if not smtp.has_extn("starttls"):
                    raise NoTlsError
                smtp.starttls(context=self._tls())
            smtp.ehlo_or_helo_if_needed()
        except BaseException:
            smtp.close()
            raise
        return smtp

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context()
        return self._context


def _verify(said: tuple[int, bytes], *, of_recipient: bool) -> None:
    """Raises `SmtpRefusal` unless the server agrees."""
    code, text = said
    if 200 <= code < 300:
        return
    found = _ENHANCED.match(text)
    status = found[1].decode() if found else ""
    raise SmtpRefusal(SmtpAnswer(code, status), of_recipient=of_recipient)


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode("ascii", "replace")


class LetterTaker(Protocol):
    """Takes letters: a mail server, by `SmtpSubmission`."""

    async def submit(self, sender: str, recipient: str, letter: bytes) -> None:
        """Returns when a letter is taken."""


class MailCourier:
    """Sends letters to mailboxes."""

    lasting: Final = True
    places: Final = MOST_AT_ONCE

    def __init__(self, letters: LetterFacts, submission: LetterTaker, bounces: Bounces) -> None:
        self._letters = letters
        self._submission = submission
        self._bounces = bounces

    def host_of(self, target: str) -> str:
        """Returns the domain of a mailbox."""
        return target.rpartition("@")[2].lower()

    async def plan(self, channel: Channel, notice: Notice) -> Sending | None:
        """Returns how to send a notice as a letter: see `Courier.plan`."""
        plan = await self._letters.of(channel, notice)
        return None if plan is None else Sending(partial(self._send, channel, notice, plan), plan.rows)

    async def _send(self, channel: Channel, notice: Notice, plan: LetterPlan) -> None:
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
