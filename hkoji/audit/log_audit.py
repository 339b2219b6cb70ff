"""The audit of a log: nine numbered steps, each on the entries that hold in the steps before.

docs/spec/log.md, "Audit"; the numbers are the same there, here and in the output. The audit reports how many entries
hold and why the next one does not. Only a valid signature by a pinned key convicts its signer. Faults in bytes, chain,
keys or signatures name nobody, because anybody could have made them. A key that is not pinned is named by its
fingerprint. Expected keys come from outside, never from the log alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, ParamSpec

from hkoji.audit.card_checks import Commitments, PlayedCards
from hkoji.audit.checks import verify_key_named, verify_receipt_entry, verify_receipt_time, verify_receipts_complete
from hkoji.audit.keyring import (
    ExpectedKeys,
    Keyring,
    LogSignatures,
    MapChecks,
    Party,
    SignedFor,
    keys_note,
    seat_grades,
    signed_for,
)
from hkoji.audit.times import TimedLine, TimedLog, TimeFault, TimePass, last_worded
from hkoji.errors import HkojiError, KeptDepositError, MalformedError, NotUnderstoodError, WeakKeyError
from hkoji.game import entry_kinds
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import EntryBody, parse_body
from hkoji.game.held_keys import SeatGrade
from hkoji.game.result_text import closing_body, course_result
from hkoji.log.line import SERVER_NAME, Entry, Line, parse_lines, verify_link, verify_start
from hkoji.messages.text import plural, tell
from hkoji.rules.events import Outcome


class AuditStep(IntEnum):
    """The steps, in order."""

    PARSE = 1
    CHAIN = 2
    KEYS = 3
    SIGNATURES = 4
    TIMES = 5
    COMMITMENTS = 6
    DEAL = 7
    REPLAY = 8
    RESULT = 9
    EVIDENCE = 10
    """Not a step for a log: everything else in a file of evidence (hkoji.audit.evidence_audit)."""
    MAILS = 11
    """Not a step for a log: the mails behind its entries (hkoji.mail.mails_audit)."""


_P = ParamSpec("_P")
LOG_STEPS: Final = tuple(step for step in AuditStep if step < AuditStep.EVIDENCE)


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a log does not hold. `entry` counts from 0; `signers` are those whom it convicts.

    `understood` is False if a later version may understand the entry: then the log is neither valid nor forged.
    """

    step: AuditStep
    entry: int | None
    signers: tuple[Party, ...]
    reason: str
    understood: bool = True

    @property
    def signer(self) -> str | None:
        """Those whom it convicts, for people; None for nobody."""
        return " and ".join(map(str, self.signers)) or None


@dataclass(frozen=True, slots=True)
class Audit:
    """The result. The log has `entries` entries, of which the first `holds` hold; `notes` say what each step did."""

    entries: int
    holds: int
    findings: tuple[Finding, ...]
    notes: Mapping[AuditStep, str]
    parties: tuple[Party, ...] = ()
    signed_for: tuple[SignedFor, ...] = ()
    """The signatures that the service has given for players whose keys it holds."""
    grades: Mapping[str, SeatGrade] = field(default_factory=dict)
    """For each player how it is known who has made the decisions, as far as the log holds."""
    game: str | None = None
    outcome: Outcome | None = None
    finished: bool = False
    lines: tuple[Line, ...] = field(default=(), repr=False, compare=False)
    """The lines that hold, as they were parsed."""

    @property
    def ok(self) -> bool:
        """Whether the whole log holds, finished or not."""
        return not self.findings

    @property
    def not_understood(self) -> bool:
        """Whether the log is neither valid nor forged: it has no finding that a later version might not take back."""
        return bool(self.findings) and not any(finding.understood for finding in self.findings)


@dataclass(slots=True)
class _Work:
    """The work that one step passes to the next: the lines that still hold and what has been parsed of them."""

    lines: list[Line]
    bodies: list[EntryBody]
    keyring: Keyring
    findings: list[Finding] = field(default_factory=list)
    notes: dict[AuditStep, str] = field(default_factory=dict)
    weak: dict[int, WeakKeyError] = field(default_factory=dict)  # by entry; step 3 cuts the log there

    def author(self, number: int) -> Party | None:
        """The owner of the key that has signed an entry: the service, if it holds that key for the player."""
        return self.keyring.signer(number, self.lines[number].entry)

    def takers(self, number: int) -> tuple[Party, ...]:
        """The service, if it has accepted entry `number`: by a receipt, by an entry of its own, or by signing it."""
        author = self.author(number)
        if author is not None and author.held:
            return (author,)
        took = self.lines[number].receipt is not None or _taken(self.lines, number)
        service = self.keyring.party(SERVER_NAME, number)
        return (service,) if took and service is not None else ()

    def signers(self, number: int) -> tuple[Party, ...]:
        """Those who must answer for entry `number`: its author, and the service if it has accepted the entry."""
        author = self.author(number)
        return tuple(dict.fromkeys((*((author,) if author else ()), *self.takers(number))))

    def fail(self, step: AuditStep, entry: int | None, error: HkojiError, *signers: Party) -> None:
        """Adds a finding against `signers` and cuts the log before `entry`."""
        understood = not isinstance(error, NotUnderstoodError)
        self.findings.append(Finding(step, entry, signers, str(error), understood))
        if entry is not None:
            del self.lines[entry:]
            del self.bodies[entry:]


def audit(log: str | bytes, pins: ExpectedKeys | None = None, *, map_checks: MapChecks = map) -> Audit:
    """Audits the text of a log (lines, each ending in a newline). Never raises for anything in `log`.

    `pins` are the keys expected from outside: for each name (`server` is the service's), one key or several.
    `map_checks` verifies the signatures.
    """
    work, entries = _parse(log, pins or {})
    _chain(work)
    _keys(work)
    signed = LogSignatures(work.lines, work.bodies, work.keyring, map_checks)
    _signatures(work, signed)
    _times(work, signed)
    _commitments(work)
    course = _replay(work, _deal(work))
    for step in LOG_STEPS:
        work.notes.setdefault(step, tell("not reached") if work.findings or not work.lines else tell("holds"))
    return Audit(
        entries=entries,
        holds=len(work.lines),
        findings=tuple(work.findings),
        notes=dict(sorted(work.notes.items())),
        parties=tuple(work.keyring.parties),
        signed_for=signed_for(work.lines, work.bodies),
        grades=seat_grades(course),
        game=work.lines[0].entry.game if work.lines else None,
        outcome=course.outcome if course else None,
        finished=course is not None and course.finished,
        lines=tuple(work.lines),
    )


def _parse(log: str | bytes, pins: ExpectedKeys) -> tuple[_Work, int]:
    """1: exact bytes, known kinds, exactly their keys. Weak keys are found here and reported by step 3."""
    work = _Work([], [], Keyring(pins))
    failed: HkojiError | None = None
    try:
        for line in parse_lines(log):
            try:
                body = parse_body(line.entry.kind, line.entry.body)
            except WeakKeyError as error:
                work.weak[len(work.lines)] = error
                body = entry_kinds.Resign()  # in place of what cannot be read; step 3 cuts the log here
            work.lines.append(line)
            work.bodies.append(body)
    except HkojiError as error:
        failed = error
    number = len(work.lines)
    lines = log.count("\n") if isinstance(log, str) else log.count(b"\n")
    entries = max(number + (failed is not None), lines)
    if failed:
        work.fail(AuditStep.PARSE, number, failed)
    elif not work.lines:
        work.fail(AuditStep.PARSE, None, MalformedError(tell("log"), tell("it is empty")))
    else:
        work.notes[AuditStep.PARSE] = plural("{n} entry in canonical form", "{n} entries in canonical form", number)
    return work, entries


def _chain(work: _Work) -> None:
    """2: each entry is of this game and follows the one before."""
    before: Entry | None = None
    for number, line in enumerate(work.lines):
        try:
            if before is None:
                verify_start(line.entry)
            else:
                verify_link(line.entry, before.seq, before.head, before.game)
        except HkojiError as error:
            work.fail(AuditStep.CHAIN, number, error)
            return
        before = line.entry
    if before:
        work.notes[AuditStep.CHAIN] = tell("head {head} at entry {entry}", head=before.head, entry=before.seq)


def _keys(work: _Work) -> None:
    """3: no key is weak, and the keys of the log are the expected ones."""
    for number, (line, body) in enumerate(zip(work.lines, work.bodies, strict=True)):
        if number in work.weak:
            work.fail(AuditStep.KEYS, number, work.weak[number])
            return
        try:
            work.keyring.read(number, line.entry, body)
        except HkojiError as error:
            work.fail(AuditStep.KEYS, number, error)
            return
    if work.keyring.parties:
        work.notes[AuditStep.KEYS] = keys_note(work.keyring.parties)


def _error(verify: Callable[_P, None], *args: _P.args, **kwargs: _P.kwargs) -> HkojiError | None:
    """The error that `verify` raises; None if it raises none."""
    try:
        verify(*args, **kwargs)
    except HkojiError as error:
        return error
    return None


def _signatures(work: _Work, signed: LogSignatures) -> None:
    """4: each entry is signed by the key that is valid for its author at that entry; the proofs of new keys verify."""
    if signed.fault:
        work.fail(AuditStep.SIGNATURES, signed.stop, signed.fault)
    elif signed.stop < len(work.lines):
        unnamed = _error(verify_key_named, work.lines[signed.stop].entry.by, None)
        assert unnamed
        work.fail(AuditStep.SIGNATURES, signed.stop, unnamed)
    else:
        work.notes[AuditStep.SIGNATURES] = plural("{n} signature", "{n} signatures", signed.verified)


def _times(work: _Work, signed: LogSignatures) -> None:
    """5: receipts and times of record fit the entries, and each clock was kept."""
    service = work.keyring.party(SERVER_NAME, len(work.lines))
    if service is None:
        return
    receipts = _find_receipt_fault(work, signed)
    standing = receipts.entry if receipts else len(work.lines)
    # Receipts after a false one have not been looked at, so they say nothing.
    signs = max((number for number, line in enumerate(work.lines) if line.entry.by == SERVER_NAME), default=-1)
    worded = max(signs, last_worded(work.lines[:standing]))
    timed = [TimedLine(line, body) for line, body in zip(work.lines, work.bodies, strict=True)]
    log = TimedLog(timed[:standing], worded)
    for which in TimePass:
        fault = log.find_fault(which, settled=worded - 1)
        if which is TimePass.RECORD and fault is None:
            fault = receipts
        if fault is not None:
            work.fail(AuditStep.TIMES, fault.entry, fault.error, *((service,) if fault.convicts else ()))
            worded = last_worded(work.lines)
            log = TimedLog(timed[: fault.entry], worded)
    if len(work.lines) == len(timed):
        work.notes[AuditStep.TIMES] = _timed(work, sum(1 for _ in log.turns()))


def _timed(work: _Work, turns: int) -> str:
    without = not work.lines or work.lines[0].receipt is None
    receipts = tell("no receipts") if without else plural("{n} receipt", "{n} receipts", len(work.lines))
    return tell("{receipts}, {turns}", receipts=receipts, turns=_turns(turns)) if turns else receipts


def _turns(n: int) -> str:
    return plural("{n} turn on the clock", "{n} turns on the clock", n)


def _find_receipt_fault(work: _Work, signed: LogSignatures) -> TimeFault | None:
    """The first receipt that is not the service's, is not for its entry, or goes back in time."""
    if all(line.receipt is None for line in work.lines):
        return None
    number, before = -1, None
    for number, (line, forged) in enumerate(zip(work.lines, signed.receipts, strict=False)):
        assert line.receipt
        receipt, entry = line.receipt.receipt, line.entry
        if forged:
            return TimeFault(number, forged, convicts=False)
        if error := _error(verify_receipt_entry, receipt, entry):
            # Anybody who holds the file can put true receipts beside other entries. Only two statements about one
            # place convict the service.
            twice = (receipt.game, receipt.seq) == (entry.game, entry.seq) and _taken(work.lines, number)
            return TimeFault(number, error, twice)
        if before and (error := _error(verify_receipt_time, receipt, before)):
            return TimeFault(number, error)
        before = receipt
    if number + 1 < len(work.lines):
        incomplete = _error(verify_receipts_complete, work.lines[number + 1])
        assert incomplete
        return TimeFault(number + 1, incomplete, convicts=False)
    return None


def _taken(lines: Sequence[Line], number: int) -> bool:
    """Whether the service has written this entry or a later one, and so has accepted it."""
    return any(line.entry.by == SERVER_NAME for line in lines[number:])


def _commitments(work: _Work) -> None:
    """6: seed, entropy and openings give their commitments, and no salt comes twice."""
    made = Commitments()
    for number, (line, body) in enumerate(zip(work.lines, work.bodies, strict=True)):
        try:
            made.read(line.entry, body)
        except HkojiError as error:
            work.fail(AuditStep.COMMITMENTS, number, error, *work.signers(number))
            return
    if work.lines:
        work.notes[AuditStep.COMMITMENTS] = _opened(made.opened, made.closed, unopened=made.unopened)


def _opened(opened: int, closed: int, *, unopened: bool) -> str:
    if not closed:
        return tell("{n} opened, the seed still unopened", n=opened) if unopened else tell("{n} opened", n=opened)
    if unopened:
        return tell("{n} opened, {closed} still closed, the seed still unopened", n=opened, closed=closed)
    return tell("{n} opened, {closed} still closed", n=opened, closed=closed)


def _deal(work: _Work) -> PlayedCards:
    """7: what chance has decided follows from seed and entropy. Returns the cards of the entries that still hold."""
    cards = PlayedCards(work.lines, work.bodies)
    fault = cards.find_chance_fault()
    if fault is not None:
        work.fail(AuditStep.DEAL, fault.entry, fault.error, *work.signers(fault.entry))
        return PlayedCards(work.lines, work.bodies)
    if cards.sealed and (fault := cards.find_deal_fault()) is not None:
        work.fail(AuditStep.DEAL, fault.entry, fault.error, *work.signers(fault.entry))
        return PlayedCards(work.lines, work.bodies)
    if cards.dealer is not None:
        work.notes[AuditStep.DEAL] = tell("holds")
    return cards


def _never_opened(bodies: Sequence[EntryBody]) -> int:
    """How many cards of a sealed game were played face down and stay so."""
    hidden = sum(len(body.parts.hide.hidden) for body in bodies if body.parts.hide)
    return hidden - sum(body.parts.close is not None for body in bodies)


def _replay(work: _Work, cards: PlayedCards) -> Course | None:
    """8 and 9: each move follows from the rules and the deck, and the result from the moves."""
    course, fault = cards.replay()
    if fault is not None:
        number = fault.entry
        ends = isinstance(work.bodies[number], entry_kinds.End) and not fault.excludes
        # Where the service has not released a deposit, a player may write anything: the fault is the service's.
        alone = fault.excludes or isinstance(fault.error, KeptDepositError)
        signers = work.takers(number) if alone else work.signers(number)
        work.fail(AuditStep.RESULT if ends else AuditStep.REPLAY, number, fault.error, *signers)
        return course
    if course is None:
        return None
    if course.sealed is not None and course.state.round:
        host, guest = course.setup.names
        work.notes[AuditStep.DEAL] = plural(
            "{n} round dealt by {host} and {guest}, {proofs} proofs",
            "{n} rounds dealt by {host} and {guest}, {proofs} proofs",
            course.state.round,
            host=host,
            guest=guest,
            proofs=cards.proofs,
        )
    elif course.state.round and cards.dealer is not None:
        work.notes[AuditStep.DEAL] = plural(
            "{n} round dealt from the seed", "{n} rounds dealt from the seed", course.state.round
        )
    elif course.stage is Stage.UNSEAL:
        work.notes[AuditStep.DEAL] = tell("not reached: the seed is still unopened")
    else:
        work.notes[AuditStep.DEAL] = tell("not reached")
    moves = sum(isinstance(body, entry_kinds.Move) for body in work.bodies)
    if cards.seed_known or course.sealed is not None:
        work.notes[AuditStep.REPLAY] = plural("{n} move by the rules", "{n} moves by the rules", moves)
    else:
        work.notes[AuditStep.REPLAY] = plural(
            "{n} move by the rules, as far as cards are open", "{n} moves by the rules, as far as cards are open", moves
        )
    unfinished = tell("not reached: the game is still running")
    closed = closing_body(work.bodies)
    work.notes[AuditStep.RESULT] = course_result(course, closed) if course.finished else unfinished
    if course.finished and course.sealed is not None and (never := _never_opened(work.bodies)):
        cards_left = plural("{n} card never opened", "{n} cards never opened", never)
        work.notes[AuditStep.RESULT] = tell("{result}; {cards}", result=work.notes[AuditStep.RESULT], cards=cards_left)
    return course
