"""The audit of evidence: the nine steps for its log, and a tenth that compares everything that the service has signed.

docs/spec/evidence.md, "Judgement". Each course of the game in the file is audited like a log, and views, receipts and
entries are compared with one another. Only signed statements convict, so it does not matter who has made the file: the
statements of an honest signer contradict neither each other nor the deal, in any selection and order.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, takewhile
from typing import Final

from hkoji.audit.evidence_file import EntryTree, EvidenceFile, is_evidence, parse_evidence
from hkoji.audit.keyring import ExpectedKeys, MapChecks, Party
from hkoji.audit.log_audit import LOG_STEPS, Audit, AuditStep, Finding, audit
from hkoji.audit.service_statements import ServiceStatements
from hkoji.audit.times import TimedLine, TimedLog, TimePass
from hkoji.audit.view_checks import MOST_COURSES, ViewChecks
from hkoji.errors import HkojiError, NotUnderstoodError
from hkoji.game import entry_kinds
from hkoji.log.game_statements import SignedHead
from hkoji.log.line import SERVER_NAME, Line, format_log, parse_lines
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import SignedView
from hkoji.messages.text import plural, tell

_STEPS: Final = (*LOG_STEPS, AuditStep.EVIDENCE)


def audit_file(data: str | bytes, pins: ExpectedKeys | None = None, *, map_checks: MapChecks = map) -> Audit:
    """Audits `data`, a log or a file of evidence. Never raises for anything in it. `pins` as in `audit`."""
    return (
        audit_evidence(data, pins or {}, map_checks=map_checks)
        if is_evidence(data)
        else audit(data, pins, map_checks=map_checks)
    )


def audit_evidence(data: str | bytes, pins: ExpectedKeys, *, map_checks: MapChecks = map) -> Audit:
    """Audits a file of evidence: its log, and then everything in it."""
    try:
        evidence = parse_evidence(data)
    except HkojiError as error:
        finding = Finding(AuditStep.PARSE, None, (), str(error), not isinstance(error, NotUnderstoodError))
        return Audit(0, 0, (finding,), dict.fromkeys(_STEPS, tell("not reached")))
    if evidence.log:
        base = audit(evidence.log, pins, map_checks=map_checks)
    else:
        base = Audit(0, 0, (), dict.fromkeys(_STEPS, tell("there is no log")), game=evidence.game)
    return _EvidenceAudit(evidence, base, pins, map_checks).run()


class _EvidenceAudit:
    """The audit of one file, whose log has had its own audit, `base`."""

    def __init__(self, evidence: EvidenceFile, base: Audit, pins: ExpectedKeys, map_checks: MapChecks) -> None:
        self._evidence: Final = evidence
        self._base: Final = base
        self._pins: Final = pins
        self._map_checks: Final = map_checks
        self._kept: Final = _read(evidence.log)
        refused = (statement for statement in evidence.refused if isinstance(statement, Line))
        self._entries: Final = EntryTree(evidence.game, (*self._kept, *refused))
        self._key: Final = self._expected_key()
        self._findings: Final = list(base.findings)

    def run(self) -> Audit:
        """The audit of the log with the tenth step added."""
        base, key = self._base, self._key
        if base.game not in (None, self._evidence.game):
            reason = tell("the file is about game {game}, and its log is of another", game=self._evidence.game)
            return self._done(tell("not reached"), Finding(AuditStep.EVIDENCE, None, (), reason))
        if key is None:
            return self._done(tell("not reached: nothing says what the key of the service is"))
        party = Party(SERVER_NAME, key, SERVER_NAME in self._pins)
        evidence = self._evidence
        views = (*evidence.views, *(each for each in evidence.refused if isinstance(each, SignedView)))
        heads = (*evidence.heads, *(each for each in evidence.refused if isinstance(each, SignedHead)))
        statements = ServiceStatements(key, evidence.game, self._entries, views, heads)
        shown = ViewChecks(self._entries, [each.view for each in statements.views.values()])
        kept = tuple(self._kept)
        self._findings[:] = [self._judged(each, kept, statements, shown, party) for each in self._findings]
        new = [Finding(AuditStep.EVIDENCE, each.entry, (party,), each.reason) for each in statements.faults()]
        new += [Finding(AuditStep.EVIDENCE, each.entry, (party,), each.reason) for each in shown.faults()]
        holds = [self._line(line.entry.head, statements) for line in kept[: base.holds]]
        new += dict.fromkeys([*self._times(holds, statements, party), *self._courses(statements, shown, party)])
        return self._done(self._note(statements), *new)

    # --- courses of the game --------------------------------------------------------------------------------------

    def _courses(self, statements: ServiceStatements, shown: ViewChecks, party: Party) -> list[Finding]:
        """The findings against signers in the other courses: those that are neither the log nor a part of it."""
        found: list[Finding] = []
        kept = [line.entry.head for line in self._kept]
        known = {(each.step, each.entry) for each in self._base.findings}
        for end in islice((end for end in self._entries.ends() if end not in kept), MOST_COURSES):
            path = self._entries.path(end)
            if path is None:
                continue
            lines = [self._line(head, statements) for head in path]
            result = audit(
                format_log(lines, receipts=all(line.receipt for line in lines)), self._pins, map_checks=self._map_checks
            )
            same = sum(1 for one, other in zip(path, kept, strict=False) if one == other)
            for finding in result.findings:
                if finding.entry is None or not finding.understood:
                    continue
                if finding.entry < same and (finding.step, finding.entry) in known:
                    continue
                judged = self._judged(finding, lines, statements, shown, party)
                if judged.signers:
                    found.append(_refused_course(judged))
            found += self._times(lines[: result.holds], statements, party)
        return found

    def _times(self, lines: Sequence[Line], statements: ServiceStatements, party: Party) -> list[Finding]:
        """The first fault of the times in a course, as far as it has the service's word anywhere in the file.

        `lines` hold by themselves, and have all receipts that the file has for them.
        """
        covered = list(takewhile(lambda line: statements.has(line.entry.seq, line.entry.head), lines))
        bodies = [self._entries.body(line.entry) for line in covered]
        timed = [TimedLine(line, body) for line, body in zip(covered, bodies, strict=True) if body is not None]
        if not timed or len(timed) < len(covered):
            return []
        worded, last = len(timed) - 1, timed[-1].line.entry
        settled = worded if statements.names(last.seq, last.head) else worded - 1
        log = TimedLog(timed, worded)
        faults = (log.find_fault(which, settled=settled) for which in TimePass)
        first = next((fault for fault in faults if fault), None)
        return [Finding(AuditStep.EVIDENCE, first.entry, (party,), str(first.error))] if first else []

    def _line(self, head: str, statements: ServiceStatements) -> Line:
        """The line of an entry, with a valid receipt if there is one."""
        entry = self._entries.find(head)
        assert entry is not None
        lines = self._entries.lines(head)
        receipt = statements.receipt(entry)
        return next((line for line in lines if receipt and line.receipt == receipt), lines[0])._replace(receipt=receipt)

    # --- players --------------------------------------------------------------------------------------------------

    def _judged(
        self,
        finding: Finding,
        lines: Sequence[Line],
        statements: ServiceStatements,
        shown: ViewChecks,
        party: Party,
    ) -> Finding:
        """A finding of an audit of `lines`, with what the whole file says of player and service.

        The service answers for a player's entry too if anything in the file has its word on the entry, and alone if
        signed views show that the player could not know better.
        """
        if finding.step <= AuditStep.TIMES or finding.entry is None:
            return finding
        entry = lines[finding.entry].entry
        excused = self._excused(lines, finding.entry, shown) if finding.step is AuditStep.REPLAY else None
        if excused is not None:
            return replace(finding, signers=(party,), reason=excused)
        answers = any(each.held or each == party for each in finding.signers)
        if answers or not statements.has(entry.seq, entry.head):
            return finding
        return replace(finding, signers=(*finding.signers, party))

    def _excused(self, lines: Sequence[Line], number: int, shown: ViewChecks) -> str | None:
        """Why the service alone is to blame for a player's move; None if nothing shows that it is."""
        entry = lines[number].entry
        body = self._entries.body(entry)
        seat = self._seat(lines[:number], entry.by)
        if not isinstance(body, entry_kinds.Move) or seat is None or not shown.excuses(lines, number, seat):
            return None
        return tell(
            "the move of {name} fits the hand that was shown to {name}, and not the one that was dealt", name=entry.by
        )

    def _seat(self, lines: Sequence[Line], name: str) -> int | None:
        for line in lines:
            body = self._entries.body(line.entry)
            if line.entry.by == name and isinstance(body, entry_kinds.Open | entry_kinds.Join):
                return int(isinstance(body, entry_kinds.Join))
        return None

    # --- the rest -------------------------------------------------------------------------------------------------

    def _expected_key(self) -> PublicKey | None:
        """The service's key: the expected one, or else the one in the file's first offer.

        Of several expected keys it is the one that an offer in the file names, if there is one.
        """
        found = (self._entries.body(entry) for entry in self._entries if entry.seq == 0)
        offered = [body.server_key for body in found if isinstance(body, entry_kinds.Offer)]
        given = self._pins.get(SERVER_NAME, ())
        expected = [given] if isinstance(given, PublicKey) else sorted(given, key=lambda key: key.raw)
        return next((key for key in offered if key in expected or not expected), next(iter(expected), None))

    def _note(self, statements: ServiceStatements) -> str:
        views, heads, refused = len(statements.views), len(statements.heads), len(self._evidence.refused)
        note = tell("{views}, {refused}", views=_views(views), refused=_refused(refused))
        if heads:
            note = tell(
                "{views}, {heads}, {refused}", views=_views(views), heads=_heads(heads), refused=_refused(refused)
            )
        if statements.strange:
            note = tell(
                "{note}; left out, because the service has not signed them or they are of another game: {n}",
                note=note,
                n=statements.strange,
            )
        return note

    def _done(self, note: str, *new: Finding) -> Audit:
        if not new and not self._findings:
            note = tell("{note}: nothing contradicts", note=note)
        notes = {**self._base.notes, AuditStep.EVIDENCE: note}
        return replace(self._base, game=self._evidence.game, findings=(*self._findings, *new), notes=notes)


def _refused_course(finding: Finding) -> Finding:
    """A finding in another course than the log, as one of this step."""
    reason = tell(
        "in a course of the game that was refused, step {step}: {reason}",
        step=int(finding.step),
        reason=finding.reason,
    )
    return replace(finding, step=AuditStep.EVIDENCE, reason=reason)


def _views(n: int) -> str:
    return plural("{n} view", "{n} views", n)


def _heads(n: int) -> str:
    return plural("{n} signed head", "{n} signed heads", n)


def _refused(n: int) -> str:
    return plural("{n} statement refused", "{n} statements refused", n)


def _read(log: str) -> list[Line]:
    """The lines of a log up to the first that cannot be parsed."""
    lines: list[Line] = []
    with suppress(HkojiError):
        lines.extend(parse_lines(log))
    return lines
