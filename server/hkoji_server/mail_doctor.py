"""Checks how a service plays by mail: its processes, its mail server, its records in DNS, and whether mail comes in.

It sends two mails to the service itself, and waits for them. Nothing else is changed. The judgements come first: they
are pure functions, which know neither network nor store.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import Final, NamedTuple

from hkoji import __version__
from hkoji.doctor_check import DoctorCheck
from hkoji.errors import HkojiError, UsageError
from hkoji.game.clock import Way
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.dkim_rules import judge_dkim, signatures_of
from hkoji.mail.dns_answers import DnsAnswers
from hkoji.mail.mail import Mail, read_mail
from hkoji.messages.text import Text, quoted, shorten, tell
from hkoji_server.log import configure_logging
from hkoji_server.mail.courier import NoTlsError, RefusedLoginError, SmtpRefusal, SmtpSubmission
from hkoji_server.mail.probe import Probe, send_probes
from hkoji_server.mail_settings import SmtpServer, SmtpTls, read_password, read_smtp
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings, own_address
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MailQueue
from hkoji_server.store.maintenance import Maintenance
from hkoji_server.store.open_store import location_of, open_store

UNPROCESSED_SECONDS: Final = 300
"""After how many seconds a mail should have been processed."""
UNSENT_SECONDS: Final = 3600
"""After how many seconds a letter should have been sent."""
_UNSUBSCRIBE: Final = ("list-unsubscribe", "list-unsubscribe-post")


# --- the processes --------------------------------------------------------------------------------------------------


def process_checks(beats: Mapping[Way, tuple[str, str | None]], now: str, outage_after: int) -> Iterator[DoctorCheck]:
    """Judges when the mail process noted the time last, and whether all processes are of this version."""
    beat = beats.get(Way.MAIL)
    start = tell("start it: hkoji admin mail run, or systemctl enable --now hkoji-mail; its log says why it ended")
    if beat is None:
        yield DoctorCheck("mail process", "fail", tell("it has never run"), start)
        return
    seconds = int(_seconds(beat[0], now))
    if seconds > outage_after:
        said = tell("it has not noted the time for {seconds} s: no mail comes in", seconds=seconds)
        yield DoctorCheck("mail process", "fail", said, start)
    else:
        yield DoctorCheck("mail process", "ok", tell("it noted the time {seconds} s ago", seconds=seconds))
    yield _version(beats)


def _version(beats: Mapping[Way, tuple[str, str | None]]) -> DoctorCheck:
    mail, service = (beats[way][1] if way in beats else None for way in (Way.MAIL, Way.HTTP))
    if service is None:
        said = tell("the mail process has version {mail}, and the service has never run", mail=mail)
        return DoctorCheck("mail version", "warn", said, "hkoji serve")
    if mail == service == __version__:
        return DoctorCheck("mail version", "ok", tell("{version}, like that of the service", version=mail))
    said = tell(
        "the mail process has version {mail}, the service {service}, and this program {own}",
        mail=mail,
        service=service,
        own=__version__,
    )
    return DoctorCheck("mail version", "fail", said, tell("restart both: systemctl restart hkoji hkoji-mail"))


def queue_check(queue: MailQueue, now: str) -> DoctorCheck:
    """Judges for how long mails and letters wait."""
    mails, letters = (_seconds(each.oldest, now) if each.oldest else 0.0 for each in (queue.mails, queue.letters))
    said = tell(
        "mails that wait: {mails}, letters: {letters}; the oldest for {seconds} s",
        mails=queue.mails.number,
        letters=queue.letters.number,
        seconds=int(max(mails, letters)),
    )
    if mails > UNPROCESSED_SECONDS:
        hint = tell("the mail process does not process them; its log says why. Clocks wait for them")
        return DoctorCheck("mail queue", "fail", said, hint)
    if letters > UNSENT_SECONDS:
        hint = tell("the log of the mail process says why; what is for a mailbox that takes no letters waits too")
        return DoctorCheck("mail queue", "warn", said, hint)
    if queue.set_aside.number:
        said = tell("mails that could not be processed, and were set aside: {number}", number=queue.set_aside.number)
        return DoctorCheck("mail queue", "warn", said, tell("the log of the mail process says why"))
    return DoctorCheck("mail queue", "ok", said)


# --- the mails to itself --------------------------------------------------------------------------------------------


def probe_checks(probes: Sequence[Probe], own: OwnAddress, seconds: float) -> Iterator[DoctorCheck]:
    """Judges what came of the mails that the service has sent to itself within so many seconds."""
    arrived = next((probe for probe in probes if probe.arrived is not None), None)
    if arrived is None:
        why = next((_refusal(probe, own) for probe in reversed(probes) if probe.refused or probe.bounced), None)
        said = tell("a mail to {address} did not come in within {seconds} s", address=own.mailbox, seconds=int(seconds))
        hint = tell("does the mail server give it to the service? See its log, the MX record, mail_lmtp and mail_imap")
        yield DoctorCheck("probe", "fail", why or said, hint)
    else:
        shown = own.mailbox if arrived.to == own.mailbox else _like(own)
        said = tell("a mail to {address} came in within {seconds} s", address=shown, seconds=int(seconds) + 1)
        yield DoctorCheck("probe", "ok", said)
        yield _delimiter(probes[0], own)


def _delimiter(probe: Probe, own: OwnAddress) -> DoctorCheck:
    if not own.delimiter and probe.keeps_token(own):
        said = tell("none is used; tokens are found in the field In-Reply-To")
        return DoctorCheck("delimiter", "ok", said)
    if not own.delimiter:
        said = tell("the mail server replaces the Message-ID of letters, by which answers are known")
        return DoctorCheck("delimiter", "fail", said, tell("use a delimiter, or another mail server"))
    if probe.keeps_token(own):
        said = tell("mail to {address} comes in with its token", address=_like(own))
        return DoctorCheck("delimiter", "ok", said)
    if probe.arrived is not None:
        said = tell("mail to {address} comes in without its token", address=_like(own))
    elif probe.refused or probe.bounced:
        said = _refusal(probe, own)
    else:
        said = tell("mail to {address} does not come in; to the bare address it does", address=_like(own))
    hint = tell('set recipient_delimiter in the mail server, or mail_delimiter = "none" if your provider has none')
    return DoctorCheck("delimiter", "fail", said, hint)


def _refusal(probe: Probe, own: OwnAddress) -> Text:
    said = quoted(probe.refused or probe.bounced or "")
    shown = own.mailbox if probe.to == own.mailbox else _like(own)
    return tell("the mail server takes no mail to {address}: {answer}", address=shown, answer=said)


def _like(own: OwnAddress) -> str:
    return f"{own.local}{own.delimiter}…@{own.host}"


def dkim_check(
    mail: Mail, answers: DnsAnswers, own: OwnAddress, at: str, token: str, *, by_provider: bool = False
) -> DoctorCheck:
    """Judges the DKIM signature of a mail that came back, and whether letters can be stopped by a button.

    `by_provider` says that another machine signs, about which the operator can do little.
    """
    signing = tell("let OpenDKIM sign what the service sends, as examples/hosting/opendkim.conf does")
    try:
        verdict = judge_dkim(mail, answers, at=at, token=token)
    except UsageError as error:
        return DoctorCheck("dkim", "fail", error.message, error.hint)
    if not verdict.holds:
        said = tell(
            "letters have no signature of {domain} that holds: {reason}", domain=own.host, reason=verdict.reason
        )
        return DoctorCheck("dkim", "fail", said, signing)
    signed = {name for each in signatures_of(mail) if each.domain == verdict.domain for name in each.signed}
    missing = [name for name in _UNSUBSCRIBE if name not in signed]
    if missing:
        said = tell("the signature does not cover {fields}: providers show no button", fields=", ".join(missing))
        if by_provider:
            hint = tell("your provider signs; ask it to sign these fields too. Players can still write: stop")
            return DoctorCheck("dkim", "warn", said, hint)
        hint = tell("add both to SignHeaders and OversignHeaders in opendkim.conf, as in examples/hosting")
        return DoctorCheck("dkim", "fail", said, hint)
    return DoctorCheck("dkim", "ok", tell("letters are signed for {domain}, with both fields", domain=verdict.domain))


# --- records in DNS -------------------------------------------------------------------------------------------------


def key_check(keys: Sequence[str], answers: DnsAnswers) -> DoctorCheck:
    """Judges whether DNS has the keys of the signatures of a letter."""
    hint = tell("add the record that opendkim-genkey has written; until then letters count as not signed")
    if not keys:
        return DoctorCheck("dkim key", "warn", tell("letters are not signed, so its name is not known"), hint)
    missing = [key for key in keys if len(answers.get(key, ())) != 1]
    if missing:
        return DoctorCheck("dkim key", "fail", tell("DNS has not one TXT record {name}", name=missing[0]), hint)
    return DoctorCheck("dkim key", "ok", tell("DNS has {name}", name=", ".join(dict.fromkeys(keys))))


def spf_check(host: str, answers: DnsAnswers) -> DoctorCheck:
    """Judges the SPF record (RFC 7208) of the domain from which letters come."""
    found = _records(answers, host, b"v=spf1", b" ")
    hint = tell("a TXT record of {name} names what may send for it, such as v=spf1 mx -all", name=host)
    if not found:
        return DoctorCheck("spf", "warn", tell("DNS has no SPF record of {name}", name=host), hint)
    if len(found) > 1:
        return DoctorCheck("spf", "fail", tell("DNS has {n} SPF records, of which none counts", n=len(found)), hint)
    if {b"all", b"+all"} & {*found[0].lower().split()}:
        return DoctorCheck("spf", "warn", tell("it lets everybody send: {record}", record=_shown(found[0])), hint)
    return DoctorCheck("spf", "ok", _shown(found[0]))


def dmarc_names(host: str) -> tuple[str, ...]:
    """Returns where the DMARC record of a domain may be: at the domain, or at one above it but the last label."""
    labels = host.split(".")
    return tuple(f"_dmarc.{'.'.join(labels[n:])}" for n in range(max(1, len(labels) - 1)))


def dmarc_check(host: str, answers: DnsAnswers) -> DoctorCheck:
    """Judges the DMARC record (RFC 7489) of the domain from which letters come."""
    name = f"_dmarc.{host}"
    hint = tell("a TXT record {name} says what receivers do with forged mail, such as v=DMARC1; p=reject", name=name)
    for each in dmarc_names(host):
        found = _records(answers, each, b"v=DMARC1", b";")
        if len(found) > 1:
            said = tell("DNS has {n} DMARC records, of which none counts", n=len(found))
            return DoctorCheck("dmarc", "fail", said, hint)
        if found:
            return DoctorCheck("dmarc", "ok", f"{each}: {_shown(found[0])}")
    return DoctorCheck("dmarc", "warn", tell("DNS has no record {name}", name=name), hint)


def _records(answers: DnsAnswers, name: str, version: bytes, end: bytes) -> list[bytes]:
    return [
        each for each in answers.get(name, ()) if each == version or each.startswith((version + end, version + b" "))
    ]


def _shown(record: bytes) -> str:
    return shorten(record.decode("ascii", "replace"), 100)


def _seconds(since: str, now: str) -> float:
    return max(0.0, datetime.fromisoformat(now).timestamp() - datetime.fromisoformat(since).timestamp())


PATIENCE: Final = 60.0
"""For how many seconds a mail to itself is waited for."""

LookUp = Callable[[Sequence[str]], Coroutine[None, None, DnsAnswers]]
"""Asks DNS for the TXT records of names. One that has none, or of which DNS does not answer, is missing."""


class MailTools(NamedTuple):
    """The parts of the world that the checks use."""

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
    with closing(Maintenance(location)) as maintenance:
        beats = maintenance.beats()
    now = tools.sources.at()
    yield from process_checks(beats, now, settings.outage_after)
    yield from _passwords(settings)

    beat = beats.get(Way.MAIL)
    runs = beat is not None and _seconds(beat[0], now) <= settings.outage_after

    async def work() -> list[DoctorCheck]:
        async with open_store(location, tools.sources.clock) as store:
            return await _outside(store, settings, own, tools, runs=runs)

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
            hint = tell("it must have the password, and only the service may read it: chmod 600 {file}", file=file)
            yield DoctorCheck("passwords", "fail", error.message, hint)
        else:
            yield DoctorCheck("passwords", "ok", tell("other users cannot read {file}", file=file))


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
    return [*found, *await _record_checks(own, probes, tools, by_provider=by_provider)]


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


async def _record_checks(
    own: OwnAddress, probes: Sequence[Probe], tools: MailTools, *, by_provider: bool
) -> list[DoctorCheck]:
    arrived = [(probe, read_mail(probe.arrived.raw)) for probe in probes if probe.arrived is not None]
    keys = [each.key_name for each in signatures_of(arrived[0][1])] if arrived else []
    asked = [own.host, *dmarc_names(own.host), *dict.fromkeys(keys)]
    answers = await tools.look_up(asked)
    if not answers:
        said = tell("DNS has said nothing of {names}", names=", ".join(asked))
        # So nothing is known of the records.
        return [DoctorCheck("dns", "fail", said, tell("does it answer on this machine? See /etc/resolv.conf"))]
    found = []
    if arrived:
        probe, mail = arrived[0]
        at = tools.sources.at()
        found.append(dkim_check(mail, answers, own, at, probe.token, by_provider=by_provider))
        found.append(key_check(keys, answers))
    return [*found, spf_check(own.host, answers), dmarc_check(own.host, answers)]
