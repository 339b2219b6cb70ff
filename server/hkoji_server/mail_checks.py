"""What is right and wrong about a service that plays by mail: the checks of `mail_doctor`, as pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from hkoji import __version__
from hkoji.doctor_check import DoctorCheck
from hkoji.errors import UsageError
from hkoji.game.clock import Way
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.dkim_rules import DnsAnswers, judge_dkim, signatures_of
from hkoji.messages.text import Text, quoted, shorten, tell
from hkoji_server.mail.probe import Probe
from hkoji_server.settings import Settings
from hkoji_server.store.mail_values import MailQueue

NoBeat = tuple[str, str | None] | None
"""The newest beat of a way, and the version of the program that noted it; None if there was never one."""

UNPROCESSED_SECONDS: Final = 300
"""After how many seconds a mail should have been processed."""
UNSENT_SECONDS: Final = 3600
"""After how many seconds a letter should have been sent."""
_UNSUBSCRIBE: Final = ("list-unsubscribe", "list-unsubscribe-post")


# --- the processes --------------------------------------------------------------------------------------------------


def is_running(beat: NoBeat, now: str, settings: Settings) -> bool:
    """Tells whether a process notes the time often enough that nothing counts as an outage."""
    return beat is not None and _seconds(beat[0], now) <= settings.outage_after


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
    raw: bytes, answers: DnsAnswers, own: OwnAddress, at: str, token: str, *, by_provider: bool = False
) -> DoctorCheck:
    """Judges the DKIM signature of a mail that came back, and whether letters can be stopped by a button.

    `by_provider` says that another machine signs, about which the operator can do little.
    """
    signing = tell("let OpenDKIM sign what the service sends, as examples/hosting/opendkim.conf does")
    try:
        verdict = judge_dkim(raw, answers, at=at, token=token)
    except UsageError as error:
        return DoctorCheck("dkim", "fail", error.message, error.hint)
    if not verdict.holds:
        said = tell(
            "letters have no signature of {domain} that holds: {reason}", domain=own.host, reason=verdict.reason
        )
        return DoctorCheck("dkim", "fail", said, signing)
    signed = {name for each in signatures_of(raw) if each.domain == verdict.domain for name in each.signed}
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
