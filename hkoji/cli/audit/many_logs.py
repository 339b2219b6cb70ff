"""`hkoji audit` of many logs: audits each, in several processes, and compares them with one another.

The unit is a log, not a file, so that the logs of one file are also distributed. A log is dropped after its result;
a `SeenLogs` remembers what later logs are compared with.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.audit.contradictions import LogClaims, log_claims
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.keyring import ExpectedKeys
from hkoji.audit.log_audit import Audit
from hkoji.cli.audit.report import audit_json, finding_text, main_finding, signer_json
from hkoji.cli.audit.seen import FoundContradiction, LogPlace, SeenLogs, SeenMails
from hkoji.cli.files import LogBytes, UnreadableLog
from hkoji.cli.language import _, _n, translate
from hkoji.cli.long_work import map_in_processes, progress, uninterrupted
from hkoji.cli.output import Exit, out
from hkoji.errors import AuditError, HkojiError, LaterVersionError
from hkoji.log.sshsig import use_fastest
from hkoji.messages.text import plural, tell

if TYPE_CHECKING:
    from hkoji.cli.audit.mail_checks import MailReport
    from hkoji.mail.mails_audit import MailIndex, OpenedMail

_GROUP_LOGS: Final = 8
_GROUP_BYTES: Final = 2**18


class RepeatedLog(NamedTuple):
    """A log that equals one audited before, at `earlier`, byte for byte."""

    place: LogPlace
    earlier: LogPlace
    size: int


class AuditedLog(NamedTuple):
    """A log with its audit, and its claims, which other logs may contradict; and its mails, if any were given."""

    place: LogPlace
    audit: Audit
    claims: LogClaims | None
    size: int
    mails: MailReport | None = None
    opened: tuple[OpenedMail, ...] = ()


LogToAudit = LogBytes | UnreadableLog | RepeatedLog
LogResult = AuditedLog | UnreadableLog | RepeatedLog


class ArchiveSummary:
    """The totals of an audit. Most count logs; `entries` and `holds` count entries, `contradictions` pairs of logs.

    `unreadable` counts files or logs.
    """

    def __init__(self) -> None:
        self.logs = self.finished = self.running = self.broken = self.not_understood = 0
        self.repeated = self.contradictions = self.unreadable = self.unpinned = self.entries = self.holds = 0
        self.interrupted = False

    def add(self, result: Audit) -> None:
        """Counts a log that was audited."""
        self.logs += 1
        self.entries += result.entries
        self.holds += result.holds
        if result.findings:
            self.broken += 1
            self.not_understood += result.not_understood
        elif result.finished:
            self.finished += 1
        else:
            self.running += 1
        self.unpinned += not all(party.pinned for party in result.parties)

    @property
    def ok(self) -> bool:
        """Whether there are logs, and all could be read and hold."""
        return not (self.broken or self.contradictions or self.unreadable or self.interrupted) and bool(
            self.logs or self.repeated
        )

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns the totals for programs."""
        return {"ok": self.ok, **vars(self)}


def show_logs(
    logs: Iterable[LogBytes | UnreadableLog],
    pins: ExpectedKeys,
    jobs: int,
    total: int = 0,
    *,
    mails: tuple[str, ...] = (),
) -> int:
    """Audits logs, with the mails in the files `mails`, and returns the exit code.

    `total` is the size of the logs, for the progress bar. Raises `AuditError` or `HkojiError` on a fault.
    """
    summary, known, seen = ArchiveSummary(), _read_mails(mails), SeenMails()
    # JSON at a terminal would be broken by a bar.
    hushed = out.json and sys.stdout.isatty()
    try:
        with (
            closing(SeenLogs()) as ledger,
            progress(total, sized=True, hidden=hushed or not total) as advance,
            closing(_audited(logs, pins, jobs, ledger, known)) as results,
        ):
            for found in results:
                with uninterrupted():
                    _take(ledger, seen, summary, found)
                advance(0 if isinstance(found, UnreadableLog) else found.size)
    except KeyboardInterrupt:
        summary.interrupted = True
    value = {"summary": summary.to_json()}
    out.result(value, lambda: "\n".join(_text(summary)))
    if summary.interrupted:
        out.say(tell("Interrupted: the figures cover what was audited until then."))
        return Exit.INTERRUPTED
    _judge(summary)
    return Exit.OK


def _judge(summary: ArchiveSummary) -> None:
    if summary.broken > summary.not_understood:
        reason = plural("{n} log does not hold", "{n} logs do not hold", summary.broken)
        raise AuditError(None, reason, seq=None, signer=None)
    if summary.contradictions:
        reason = plural("{n} contradiction between logs", "{n} contradictions between logs", summary.contradictions)
        raise AuditError(None, reason, seq=None, signer=None)
    if summary.not_understood:
        reason = plural("{n} log is not understood", "{n} logs are not understood", summary.not_understood)
        raise LaterVersionError(None, reason, seq=None)
    if summary.unreadable:
        raise HkojiError(
            plural("{n} file or log could not be read", "{n} files or logs could not be read", summary.unreadable),
            hint=tell("the result names them; the logs that could be read hold"),
        )
    if not summary.ok:
        raise HkojiError(
            tell("there is no log to audit"), hint=tell("give log files, or folders with files named *.jsonl")
        )


# --- the work -----------------------------------------------------------------------------------------------------


def _audited(
    logs: Iterable[LogBytes | UnreadableLog],
    pins: ExpectedKeys,
    jobs: int,
    ledger: SeenLogs,
    mails: MailIndex | None,
) -> Generator[LogResult, None, None]:
    items = map(partial(_new, ledger), logs)
    work = partial(_work, dict(pins), mails)
    if jobs == 1:
        yield from chain.from_iterable(map(work, ((item,) for item in items)))
        return
    groups = _groups(items)
    begun = list(islice(groups, 2))
    if len(begun) < 2:  # this process is done sooner than others start
        yield from chain.from_iterable(map(work, begun))
        return
    yield from map_in_processes(chain(begun, groups), work, jobs, here=_idle)


def _new(ledger: SeenLogs, item: LogBytes | UnreadableLog) -> LogToAudit:
    """Returns the log, or for an exact copy of an earlier log where that was."""
    if isinstance(item, UnreadableLog) or not item.text:
        return item
    place = LogPlace(item.file, item.line)
    earlier = ledger.seen(item.text, place)
    return RepeatedLog(place, earlier, len(item.text)) if earlier else item


def _groups(items: Iterable[LogToAudit]) -> Iterator[tuple[LogToAudit, ...]]:
    group: list[LogToAudit] = []
    size = 0
    for item in items:
        group.append(item)
        size += len(item.text) if isinstance(item, LogBytes) else 0
        if len(group) == _GROUP_LOGS or size >= _GROUP_BYTES:
            yield tuple(group)
            group, size = [], 0
    if group:
        yield tuple(group)


def _idle(group: tuple[LogToAudit, ...]) -> bool:
    return not any(isinstance(item, LogBytes) for item in group)


def _work(pins: ExpectedKeys, mails: MailIndex | None, group: tuple[LogToAudit, ...]) -> list[LogResult]:
    use_fastest()  # a process that was spawned, not forked, has not called it yet
    return [_check(pins, mails, item) if isinstance(item, LogBytes) else item for item in group]


def _read_mails(files: tuple[str, ...]) -> MailIndex | None:
    if not files:
        return None
    from hkoji.cli.audit.mail_checks import read_mails

    return read_mails(files)


def _check(pins: ExpectedKeys, mails: MailIndex | None, log: LogBytes) -> AuditedLog:
    result, report = audit_file(log.text, pins), None
    opened: tuple[OpenedMail, ...] = ()
    if mails is not None:
        from hkoji.cli.audit.mail_checks import check_indexed

        result, report, opened = check_indexed(result, mails)
    # The lines are no longer needed once the claims are known, and sending them to another process is slow.
    claims, place = log_claims(result), LogPlace(log.file, log.line)
    return AuditedLog(place, replace(result, lines=()), claims, len(log.text), report, opened)


def size_of(files: Iterable[str]) -> int:
    """Returns the total size of the files whose size is known, for the progress bar."""
    total = 0
    for file in files:
        try:
            total += os.stat(file).st_size if file != "-" else 0
        except OSError:  # it is reported when it is read
            continue
    return total


# --- the report on each log -------------------------------------------------------------------------------------------


def _take(ledger: SeenLogs, seen: SeenMails, summary: ArchiveSummary, found: LogResult) -> None:
    """Counts a result and prints it: every one for programs, only problems and running games for people."""
    if isinstance(found, UnreadableLog):
        summary.unreadable += 1
        value = {**found._asdict(), "line": found.line or None, "ok": False, "read": False}
        _tell(
            value, lambda: _("{file}: {reason}", file=LogPlace(found.file, found.line), reason=translate(found.reason))
        )
        return
    if isinstance(found, RepeatedLog):
        summary.repeated += 1
        _tell({**found.place._asdict(), "repeats": found.earlier._asdict()}, None)
        return
    earlier, contradictions = ledger.add(found.claims, found.place) if found.claims else (None, [])
    contradictions += seen.add(found.opened, found.audit.game or "", found.place)
    result = found.audit
    if earlier and result.ok:
        summary.repeated += 1
        _tell({**found.place._asdict(), "game": result.game, "repeats": earlier._asdict()}, None)
    else:
        summary.add(result)
        told = None if result.ok and result.finished else partial(_remark, found)
        _tell({**found.place._asdict(), **audit_json(result, found.mails)}, told)
    for each in contradictions:
        summary.contradictions += 1
        _tell(_contradiction_json(each), partial(_contradiction, each))


def _tell(value: Mapping[str, Any], text: Callable[[], str] | None) -> None:  # Any: JSON
    if out.keep:
        return
    if out.json:
        out.line(value)
    elif text:
        sys.stdout.write(text() + "\n")
    else:
        return
    sys.stdout.flush()


def _remark(found: AuditedLog) -> str:
    result = found.audit
    if result.ok:
        return _n(
            "{file}: the one entry holds; the game is still running.",
            "{file}: all {n} entries hold; the game is still running.",
            result.entries,
            file=found.place,
        )
    reason = translate(finding_text(main_finding(result)))
    return _n(
        "{file}: {n} of {total} entries holds: {reason}",
        "{file}: {n} of {total} entries hold: {reason}",
        result.holds,
        file=found.place,
        total=result.entries,
        reason=reason,
    )


def _contradiction_json(each: FoundContradiction) -> dict[str, Any]:  # Any: JSON
    contradiction = each.contradiction
    return {
        "contradiction": contradiction.kind.value,
        "game": each.game,
        "entry": contradiction.entry,
        "signer": contradiction.signer,
        "signers": [] if contradiction.party is None else [signer_json(contradiction.party)],
        "reason": contradiction.reason,
        "logs": [each.earlier._asdict(), each.later._asdict()],
        "ok": False,
    }


def _contradiction(each: FoundContradiction) -> str:
    contradiction = each.contradiction
    reason = translate(contradiction.reason)
    if contradiction.signer is None:
        return _("{one} against {other}: {reason}", one=each.earlier, other=each.later, reason=reason)
    return _(
        "{one} against {other}: {who}: {reason}",
        one=each.earlier,
        other=each.later,
        who=translate(contradiction.signer),
        reason=reason,
    )


def _text(summary: ArchiveSummary) -> Iterator[str]:
    """Yields the lines of the summary for people."""
    yield _n(
        "{n} log; entries that hold: {holds} of {entries}",
        "{n} logs; entries that hold: {holds} of {entries}",
        summary.logs,
        holds=summary.holds,
        entries=summary.entries,
    )
    rows = (
        (_("finished games"), summary.finished),
        (_("running games"), summary.running),
        (_("do not hold"), summary.broken),
        (_("not understood"), summary.not_understood),
        (_("repeated"), summary.repeated),
        (_("contradictions"), summary.contradictions),
        (_("not readable"), summary.unreadable),
    )
    for name, number in rows:
        if number:
            yield f"  {name:17} {number}"
    if summary.ok:
        yield _("All hold.")
    if summary.unpinned:
        yield _n(
            "{n} log has keys that were not expected: give them with --key or --keys.",
            "{n} logs have keys that were not expected: give them with --key or --keys.",
            summary.unpinned,
        )
