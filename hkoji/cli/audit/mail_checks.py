"""The part of `hkoji audit` about mails: step 11, `--require` and `--dns`.

No other module of the player's side asks DNS.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji.audit.log_audit import Audit, AuditStep, Finding
from hkoji.cli.audit import AuditOptions, RequiredGrade
from hkoji.cli.language import _, _n, translate
from hkoji.errors import MalformedError, NetworkError, StorageError, UsageError
from hkoji.extras import install_command
from hkoji.game.held_keys import BRIEF_GRADES, SeatGrade
from hkoji.mail.dkim_rules import judge_dkim, key_names
from hkoji.mail.dns_answers import NAME_SERVER, decode_answers, parse_name_server, refused_name_server
from hkoji.mail.mails_audit import MailIndex, MailsAudit, OpenedMail, SeatMails, SignedMail, audit_mails, index_mails
from hkoji.mail.mails_file import ProvedMailbox, parse_mails
from hkoji.messages.text import tell

_SECONDS: Final = 5.0


def ask_keys(names: Iterable[str]) -> dict[str, tuple[bytes, ...] | None]:
    """Returns the TXT records that names have now, each with its strings joined; None where no answer came.

    Raises `UsageError` if dnspython is not installed, or the name server's address is none.
    """
    try:
        import dns.exception
        import dns.resolver
    except ModuleNotFoundError as error:
        raise UsageError(
            tell("DNS is asked with the package {name}, which is not installed", name=error.name),
            hint=tell("install it with: {command}", command=install_command("mail")),
        ) from error
    server = os.environ.get(NAME_SERVER, "")
    resolver = dns.resolver.Resolver(configure=not server)
    if server:
        host, port = parse_name_server(server)
        try:
            resolver.nameservers, resolver.port = [host], port
        except ValueError:
            raise refused_name_server(server) from None
    found: dict[str, tuple[bytes, ...] | None] = {}
    for name in dict.fromkeys(names):
        try:
            answer = resolver.resolve(f"{name}.", "TXT", lifetime=_SECONDS, search=False)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            found[name] = ()
        except dns.exception.DNSException:
            found[name] = None
        else:
            found[name] = tuple(b"".join(record.strings) for record in answer)
    return found


class KeyState(StrEnum):
    """The answers that DNS can give now about the key that the service has kept."""

    SAME = "same"
    OTHER = "other"
    GONE = "gone"
    UNKNOWN = "unknown"


class MailReport(NamedTuple):
    """The mails that were found of each player, and for each name the state of its key, if DNS was asked."""

    seats: tuple[SeatMails, ...]
    signed: bool
    """Whether a DKIM signature holds by the answers that the service has kept."""
    keys: dict[str, KeyState] | None = None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns the report for programs."""
        mails = [
            {"name": each.name, "mailboxes": list(each.mailboxes), "claimed": each.claimed, "checked": each.checked}
            for each in self.seats
        ]
        keys = {} if self.keys is None else {"dns": {name: state.value for name, state in self.keys.items()}}
        return {"mails": mails, **keys}

    def lines(self) -> list[str]:
        """Returns the report for people, as lines below step 11."""
        found = []
        for each in self.seats:
            first, *more = _mails_of(each)
            found += [f"  {each.name:12} {first}", *(f"{'':15}{line}" for line in more)]
        if self.signed:
            found.append(f"{'':15}{_('The DKIM signatures hold by DNS answers that the service kept.')}")
        for name, state in (self.keys or {}).items():
            found.append(f"{'':15}{name}: {translate(_STATES[state])}")
        return found


def _mails_of(seat: SeatMails) -> Iterator[str]:
    """Yields what is said of a player's mails; for those that were not found by their commitments also why."""
    if seat.mailboxes:
        yield _n(
            "{checked} of {n} mail holds, from {mailbox}.",
            "{checked} of {n} mails hold, from {mailbox}.",
            seat.claimed,
            checked=seat.checked,
            mailbox=", ".join(seat.mailboxes),
        )
        yield _("Only you can say whether that is {name}'s, and in no domain of the service's.", name=seat.name)
    elif not seat.uncertified and not seat.unlike:
        yield _n("The one mail is not there.", "None of the {n} mails is there.", seat.claimed)
    if seat.uncertified:
        yield _n(
            "{n} mail is there, but the log certifies another mailbox, or this one with another salt.",
            "{n} mails are there, but the log certifies another mailbox, or this one with another salt.",
            seat.uncertified,
        )
    if seat.unlike:
        yield _n(
            "{n} mail is there, but the log commits to another salt or to other bytes.",
            "{n} mails are there, but the log commits to other salts or to other bytes.",
            seat.unlike,
        )


_STATES: Final = {
    KeyState.SAME: tell("DNS has the same key now"),
    KeyState.OTHER: tell("DNS has another key now"),
    KeyState.GONE: tell("DNS has no key now"),
    KeyState.UNKNOWN: tell("DNS has not answered"),
}


def read_mails(files: Iterable[str]) -> MailIndex:
    """Returns the mails in files. Raises `StorageError` for a file that is no mails file."""
    mailboxes: list[ProvedMailbox] = []
    for file in files:
        try:
            mailboxes += parse_mails(Path(file).read_bytes())
        except OSError as error:
            raise _unreadable(file, str(error.strerror)) from error
        except MalformedError as error:
            raise _unreadable(file, error.reason) from None
    return index_mails(mailboxes)


def check_mails(result: Audit, wish: AuditOptions) -> tuple[Audit, MailReport | None]:
    """Returns an audit with what the mails add to it, and a report on them if any were given.

    Raises `StorageError` for a file that is no mails file, `UsageError` if a library is missing, `NetworkError` if DNS
    is to be asked and does not answer.
    """
    checked = audit_mails(result, read_mails(wish.mails)) if wish.mails or wish.asks_dns else None
    if checked is None:
        return (result if wish.require is None else _require(result, wish.require, ())), None
    live = _ask_again(checked.signed) if wish.asks_dns else None
    keys = None if live is None else _compare(checked.signed, live)
    done = checked.audit
    if wish.require is not None:
        done = _require(done, wish.require, () if live is None else _unconfirmed(checked, live))
    return done, MailReport(checked.seats, bool(checked.signed), keys)


def check_indexed(result: Audit, mails: MailIndex) -> tuple[Audit, MailReport, tuple[OpenedMail, ...]]:
    """Returns an audit with what the mails add to it, a report on them, and those that other logs may name too."""
    checked = audit_mails(result, mails)
    return checked.audit, MailReport(checked.seats, bool(checked.signed)), checked.opened


_Live = dict[str, tuple[bytes, ...] | None]


def _ask_again(mails: Sequence[SignedMail]) -> _Live:
    return ask_keys(sorted({name for mail in mails for name in key_names(mail.mail)})) if mails else {}


def _compare(mails: Sequence[SignedMail], live: _Live) -> dict[str, KeyState]:
    """The worst state of each key: mails of several times may have been signed with several keys of one name."""
    found: dict[str, KeyState] = {}
    for mail in mails:
        for name, kept in decode_answers(mail.dns).items():
            now = live.get(name)
            if now is None:
                state = KeyState.UNKNOWN
            elif not now:
                state = KeyState.GONE
            else:
                state = KeyState.SAME if sorted(now) == sorted(kept) else KeyState.OTHER
            if found.get(name, KeyState.SAME) is KeyState.SAME:
                found[name] = state
    return dict(sorted(found.items()))


def _unconfirmed(checked: MailsAudit, live: _Live) -> tuple[str, ...]:
    """The players of whose mails DNS does not confirm one now. Raises `NetworkError` if it does not answer."""
    found: dict[str, None] = {}
    answers = {name: records for name, records in live.items() if records is not None}
    for mail in checked.signed:
        if judge_dkim(mail.mail, answers, at=mail.at, token=mail.token).holds:
            continue
        silent = next((name for name in key_names(mail.mail) if name not in answers), None)
        if silent is not None:
            raise NetworkError(silent, tell("DNS has not answered"), hint=tell("try again later"))
        found[mail.name] = None
    return tuple(found)


def _require(result: Audit, least: RequiredGrade, unconfirmed: Sequence[str]) -> Audit:
    """The audit with a finding, which names nobody, for each seat that is weaker than is required."""
    enough = (SeatGrade.OWN,) if least is RequiredGrade.OWN else (SeatGrade.OWN, SeatGrade.CHECKED)
    found = []
    for name, grade in result.grades.items():
        if grade not in enough:
            reason = tell(
                "the seat of {name} has the grade: {grade}; --require {least} needs a better one",
                name=name,
                grade=BRIEF_GRADES[grade],
                least=least.value,
            )
        elif grade is SeatGrade.CHECKED and name in unconfirmed:
            reason = tell("DNS does not confirm the keys by which the mails of {name} were signed", name=name)
        else:
            continue
        found.append(Finding(AuditStep.MAILS, None, (), reason))
    return replace(result, findings=(*result.findings, *found))


def _unreadable(file: str, reason: str) -> StorageError:
    return StorageError(
        tell("cannot read {file}: {reason}", file=file, reason=reason), hint=tell("give a file of mails")
    )
