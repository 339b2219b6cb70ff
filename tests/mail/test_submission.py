"""Submission: letters handed to a mail server by SMTP, with and without TLS, and what its answers mean."""

from __future__ import annotations

import asyncio
import smtplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from hkoji_server.mail.courier import NoTlsError, SmtpRefusal, SmtpSubmission
from hkoji_server.mail_settings import SmtpServer, SmtpTls

from tests.support.receiver import certified

LETTER = b"Subject: x\r\n\r\n.a point\r\n..two\r\n"


@dataclass
class Provider:
    """A mail server; `said` is what it answers to a command instead of yes."""

    said: dict[str, str] = field(default_factory=dict)
    taken: list[tuple[str, list[str], bytes]] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)

    async def handle_MAIL(  # noqa: N802 # aiosmtpd's names
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.mail_from = address
        return self.said.get("MAIL", "250 OK")

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        envelope.rcpt_tos.append(address)
        return self.said.get("RCPT", "250 OK")

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if "DATA" not in self.said:
            assert isinstance(envelope.content, bytes)
            assert envelope.mail_from is not None
            self.taken.append((envelope.mail_from, envelope.rcpt_tos, envelope.content))
            self.encrypted.append(session.ssl is not None)
        return self.said.get("DATA", "250 OK")

    def login(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"s3cret", handled=False)


@contextmanager
def serving(provider: Provider, context: ssl.SSLContext | None, *, implicit: bool = False) -> Iterator[Any]:
    """Runs something against the provider: yields a function of a submission's server settings."""

    def run(
        tls: SmtpTls, user: str | None = None, password: str | None = None, trusting: ssl.SSLContext | None = None
    ) -> None:
        async def work() -> None:
            loop = asyncio.get_running_loop()
            offered = None if implicit else context

            def made() -> SMTP:
                return SMTP(
                    provider, tls_context=offered, authenticator=provider.login, auth_require_tls=False, loop=loop
                )

            server = await loop.create_server(made, "127.0.0.1", 0, ssl=context if implicit else None)
            try:
                host, port = (
                    ("localhost" if tls is not SmtpTls.NEVER else "127.0.0.1"),
                    server.sockets[0].getsockname()[1],
                )
                settings = SmtpServer(host, port, user, tls)
                submission = SmtpSubmission(settings, password, greeting="hkoji.example", context=trusting)
                await submission.submit("play+b-x@hkoji.example", "bob@example.org", LETTER)
            finally:
                server.close()
                await asyncio.sleep(0.05)  # the connection ends at both sides

        asyncio.run(work())

    yield run


@pytest.fixture
def context(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The provider's side of TLS, and that of those who trust it."""
    return certified(tmp_path, "localhost")


def test_a_letter_is_taken_with_its_bytes_and_the_sender_of_its_envelope() -> None:
    provider = Provider()
    with serving(provider, None) as submit:
        submit(SmtpTls.NEVER)
    assert provider.taken == [("play+b-x@hkoji.example", ["bob@example.org"], LETTER)]
    assert provider.encrypted == [False]
    assert not provider.logins


@pytest.mark.parametrize("implicit", [True, False])
def test_with_tls_and_a_login(context: tuple[ssl.SSLContext, ssl.SSLContext], implicit: bool) -> None:
    provider = Provider()
    with serving(provider, context[0], implicit=implicit) as submit:
        submit(SmtpTls.IMPLICIT if implicit else SmtpTls.STARTTLS, "me@club", "s3cret", context[1])
    assert len(provider.taken) == 1
    assert provider.logins == [(b"me@club", b"s3cret")]
    if not implicit:
        assert provider.encrypted == [True]


def test_without_tls_nothing_leaves_the_machine(context: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    provider = Provider()
    with serving(provider, None) as submit, pytest.raises(NoTlsError):
        submit(SmtpTls.STARTTLS, "me", "s3cret", context[1])
    assert (provider.taken, provider.logins) == ([], [])


@pytest.mark.parametrize("implicit", [True, False])
def test_a_certificate_that_nobody_knows_is_refused(
    context: tuple[ssl.SSLContext, ssl.SSLContext], implicit: bool
) -> None:
    provider = Provider()
    with serving(provider, context[0], implicit=implicit) as submit, pytest.raises(ssl.SSLError):
        submit(SmtpTls.IMPLICIT if implicit else SmtpTls.STARTTLS, "me", "s3cret")
    assert (provider.taken, provider.logins) == ([], [])


def test_a_wrong_password_is_no_refusal_of_the_letter() -> None:
    provider = Provider()
    with serving(provider, None) as submit, pytest.raises(smtplib.SMTPAuthenticationError):
        submit(SmtpTls.NEVER, "me", "wrong")
    assert not provider.taken


@pytest.mark.parametrize(
    ("command", "said", "status", "for_ever"),
    [
        ("MAIL", "550 5.7.1 not from you", "5.7.1", False),
        ("MAIL", "451 4.3.0 later", "4.3.0", False),
        ("RCPT", "550 5.1.1 bob@example.org unknown", "5.1.1", True),
        ("RCPT", "550 No such user", "", True),
        ("RCPT", "552 5.2.2 full", "5.2.2", True),
        ("RCPT", "450 4.2.0 greylisted", "4.2.0", False),
        ("RCPT", "421 4.7.0 too many", "4.7.0", False),
        ("DATA", "554 5.7.1 spam", "5.7.1", True),
        ("DATA", "452 4.3.1 disk full", "4.3.1", False),
        ("DATA", "550 5.1.10.9 odd", "", True),
    ],
)
def test_the_meaning_of_refusals(command: str, said: str, status: str, for_ever: bool) -> None:
    provider = Provider({command: said})
    with serving(provider, None) as submit, pytest.raises(SmtpRefusal) as refused:
        submit(SmtpTls.NEVER)
    assert refused.value.answer == (int(said[:3]), status)
    assert refused.value.for_ever == for_ever
    # A server's reply may have addresses and tokens in it.
    assert "bob" not in str(refused.value)
    assert not provider.taken


def test_nobody_listens_or_answers() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
    submission = SmtpSubmission(SmtpServer("127.0.0.1", port, None, SmtpTls.NEVER), None, greeting="h")
    with pytest.raises(ConnectionError):
        asyncio.run(submission.submit("a@b", "c@d", LETTER))
