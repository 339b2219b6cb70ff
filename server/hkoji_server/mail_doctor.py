"""Checks how a service plays by mail: its processes, its mail server, its records in DNS, and whether mail comes in.

It sends two mails to the service itself, and waits for them. Nothing else is changed. The checks are in `mail_checks`,
which know neither network nor store.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.doctor_check import DoctorCheck
from hkoji.errors import HkojiError
from hkoji.game.clock import Way
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.dkim_rules import DnsAnswers, signatures_of
from hkoji.messages.text import Text, quoted, tell
from hkoji_server.mail.password_file import read_password
from hkoji_server.mail.probe import Probe, send_probes
from hkoji_server.mail.submission import NoTlsError, RefusedLoginError, SmtpRefusal, SmtpSubmission
from hkoji_server.mail_checks import (
    dkim_check,
    dmarc_check,
    dmarc_names,
    is_running,
    key_check,
    probe_checks,
    process_checks,
    queue_check,
    spf_check,
)
from hkoji_server.mail_settings import SmtpServer, SmtpTls, read_smtp
from hkoji_server.process.stderr_log import configure_logging
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings, own_address
from hkoji_server.store.contract import Store
from hkoji_server.store.maintenance import Maintenance
from hkoji_server.store.open_store import location_of, open_store

PATIENCE: Final = 60.0
"""For how many seconds a mail to itself is waited for."""

LookUp = Callable[[Sequence[str]], Coroutine[None, None, DnsAnswers]]
"""Asks DNS for the TXT records of names. One that has none, or of which DNS does not answer, is missing."""


class MailTools(NamedTuple):
    """What the checks use of the world."""

    sources: ClockAndEntropy
    look_up: LookUp
    context: ssl.SSLContext | None = None
    patience: float = PATIENCE


def tools_of() -> MailTools:
    """Returns the clock and the name servers of this machine."""
    from hkoji_server.mail.resolver import TxtResolver, system_resolver

    async def look_up(names: Sequence[str]) -> DnsAnswers:
        resolver = TxtResolver(system_resolver())
        answers: dict[str, tuple[bytes, ...]] = {}
        for found in await asyncio.gather(*(resolver.look_up([name]) for name in names)):
            answers |= found
        return answers

    return MailTools(ClockAndEntropy(), look_up)


def examine_mail(settings: Settings, tools: MailTools) -> Iterator[DoctorCheck]:
    """Makes the checks. The database has to be in order."""
    configure_logging(settings.log_level, settings.log_format)
    own = own_address(settings)
    if own is None:
        said = tell("this service has no mail address")
        hint = tell("set one by HKOJI_SERVER_MAIL or `mail` in the settings file, as in play@hkoji.example")
        yield DoctorCheck("mail address", "fail", said, hint)
        return
    yield DoctorCheck("mail address", "ok", own.mailbox)
    location = location_of(settings)
    maintenance = Maintenance(location)
    try:
        beats = maintenance.beats()
    finally:
        maintenance.close()
    now = tools.sources.at()
    yield from process_checks(beats, now, settings.outage_after)
    yield from _passwords(settings)

    async def work() -> list[DoctorCheck]:
        async with open_store(location, tools.sources.clock) as store:
            return await _outside(store, settings, own, tools, runs=is_running(beats.get(Way.MAIL), now, settings))

    yield from asyncio.run(work())


def _passwords(settings: Settings) -> Iterator[DoctorCheck]:
    files = {
        "mail_smtp": settings.mail_smtp_password_file,
        "mail_imap": settings.mail_imap_password_file,
    }
    for setting, file in files.items():
        if file is None:
            continue
        try:
            read_password(file, setting)
        except HkojiError as error:
            yield DoctorCheck("passwords", "fail", error.message, _only_for_the_service(file))
        else:
            yield DoctorCheck("passwords", "ok", tell("other users cannot read {file}", file=file))


def _only_for_the_service(file: Path) -> Text:
    return tell("it must have the password, and only the service may read it: chmod 600 {file}", file=file)


async def _outside(
    store: Store, settings: Settings, own: OwnAddress, tools: MailTools, *, runs: bool
) -> list[DoctorCheck]:
    found = [queue_check(await store.mail_queue(tools.sources.at()), tools.sources.at())]
    submission, check = await _submission(settings, own, tools)
    found.append(check)
    probes: list[Probe] = []
    if submission is None:
        found.append(DoctorCheck("probe", "warn", tell("no mail was sent, as the mail server takes none")))
    elif not runs:
        found.append(DoctorCheck("probe", "warn", tell("no mail was sent, as the mail process does not run")))
    else:
        identity = await store.identity()
        origin = "http://localhost" if identity is None else identity[1]
        began = tools.sources.elapsed()
        try:
            probes = await send_probes(store, tools.sources, submission, own, origin, patience=tools.patience)
        except (SmtpRefusal, OSError) as error:
            found.append(_not_sent(error))
        else:
            found += probe_checks(probes, own, tools.sources.elapsed() - began)
    by_provider = read_smtp(settings.mail_smtp).tls is not SmtpTls.NEVER
    return [*found, *await _records(own, probes, tools, by_provider=by_provider)]


def _not_sent(error: Exception) -> DoctorCheck:
    reason = quoted(str(error) if isinstance(error, SmtpRefusal) else type(error).__name__)
    hint = tell("the log of the mail server says why; letters are refused like this one")
    return DoctorCheck("probe", "fail", tell("the mail server has not taken it: {reason}", reason=reason), hint)


async def _submission(
    settings: Settings, own: OwnAddress, tools: MailTools
) -> tuple[SmtpSubmission | None, DoctorCheck]:
    """Returns what submits letters, None if nothing can, and the check of how it is reached."""
    server = read_smtp(settings.mail_smtp)
    where = f"{server.host}:{server.port}"
    try:
        password = read_password(settings.mail_smtp_password_file, "mail_smtp")
        submission = SmtpSubmission(server, password, greeting=own.host, context=tools.context)
        protocol = await submission.look()
    except (HkojiError, NoTlsError, RefusedLoginError, OSError) as error:
        return None, DoctorCheck("mail tls", "fail", *_why_not(error, server, where))
    if protocol is None:
        return submission, DoctorCheck("mail tls", "ok", tell("letters go to {where}, on this machine", where=where))
    said = tell("letters go to {where} by {protocol}, with a trusted certificate", where=where, protocol=protocol)
    return submission, DoctorCheck("mail tls", "ok", said)


def _why_not(error: Exception, server: SmtpServer, where: str) -> tuple[str, str]:
    if isinstance(error, NoTlsError):
        said = tell("{where} offers no TLS, so no letter is sent", where=where)
        return said, tell("name a host with STARTTLS, or one with TLS from the beginning: mail_smtp = smtps://…")
    if isinstance(error, ssl.SSLCertVerificationError):
        said = tell(
            "the certificate of {where} is not trusted: {reason}", where=where, reason=quoted(error.verify_message)
        )
        return said, tell("name the host in mail_smtp as its certificate does, or renew the certificate")
    if isinstance(error, RefusedLoginError):
        said = tell("{where} does not take the user and the password", where=where)
        return said, tell("set the user in mail_smtp, and the password in the file of mail_smtp_password_file")
    if isinstance(error, HkojiError):
        return error.message, tell("letters wait until the mail process is started with it")
    if isinstance(error, ssl.SSLError):
        return tell("{where} speaks no TLS", where=where), _PORT
    reason = quoted((error.strerror if isinstance(error, OSError) else None) or type(error).__name__)
    said = tell("{where} cannot be reached: {reason}", where=where, reason=reason)
    return said, _PORT if server.tls is not SmtpTls.NEVER else tell("start the mail server, or set mail_smtp")


_PORT: Final = tell("is the port right? 465 has TLS from the beginning (smtps://), 587 has STARTTLS (smtp://)")


async def _records(
    own: OwnAddress, probes: Sequence[Probe], tools: MailTools, *, by_provider: bool
) -> list[DoctorCheck]:
    arrived = [(probe, probe.arrived.raw) for probe in probes if probe.arrived is not None]
    keys = [each.key_name for each in signatures_of(arrived[0][1])] if arrived else []
    asked = [own.host, *dmarc_names(own.host), *dict.fromkeys(keys)]
    answers = await tools.look_up(asked)
    if not answers:
        said = tell("DNS has said nothing of {names}", names=", ".join(asked))
        # What it would have said of the records, nobody knows.
        return [DoctorCheck("dns", "fail", said, tell("does it answer on this machine? See /etc/resolv.conf"))]
    found = []
    if arrived:
        probe, raw = arrived[0]
        at = tools.sources.at()
        found.append(dkim_check(raw, answers, own, at, probe.token, by_provider=by_provider))
        found.append(key_check(keys, answers))
    return [*found, spf_check(own.host, answers), dmarc_check(own.host, answers)]
