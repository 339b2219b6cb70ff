"""The report of `hkoji audit` on one log, for people and as JSON; and where the log of a game comes from.

With `--clock` it has the account of the game's clock, turn by turn, computed from the lines that hold:
docs/spec/log.md, "Clock". No rules of a game are needed. Without receipts it goes as far as entries state the times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.keyring import ExpectedKeys, MapChecks, Party
from hkoji.audit.log_audit import Audit, AuditStep, Finding
from hkoji.audit.times import ClockTurn, TimedLine, TimedLog, last_worded
from hkoji.cli.audit import AuditOptions
from hkoji.cli.language import _, _n, translate
from hkoji.cli.output import client, out
from hkoji.cli.terminal import columns
from hkoji.errors import AuditError, LaterVersionError
from hkoji.game import entry_kinds
from hkoji.game.agreement import TimeControl, format_duration, format_time_control
from hkoji.game.entry_kinds import parse_body
from hkoji.log.line import format_log
from hkoji.log.mail_claim import MailGrade
from hkoji.messages.text import tell
from hkoji.rules.events import Seat

if TYPE_CHECKING:
    from hkoji.cli.audit.mail_checks import MailReport


class ClockAccount:
    """The account of the log that an audit has read."""

    def __init__(self, result: Audit) -> None:
        timed = [TimedLine(line, parse_body(line.entry.kind, line.entry.body)) for line in result.lines]
        log = TimedLog(timed, last_worded(result.lines))
        self._turns: tuple[ClockTurn, ...] = tuple(log.turns())
        self._reserves = log.reserves()
        self._control: TimeControl | None = None
        self._names: list[str] = []
        for line, body in timed:
            if isinstance(body, entry_kinds.Offer):
                self._control = body.agreement.clock
            if body.newcomer_key() is not None:
                self._names.append(line.entry.by)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns the account for programs. docs/json.md."""
        return {
            "text": format_time_control(self._control),
            "control": None if self._control is None else self._control.to_json(),
            "turns": [
                {
                    "seat": turn.seat,
                    "name": self._name(turn.seat),
                    "begin": turn.begin,
                    "until": turn.until,
                    "spent": turn.spent,
                    "reserve": turn.reserve,
                }
                for turn in self._turns
            ],
            "reserve": None if self._reserves is None else list(self._reserves),
        }

    def text(self) -> str:
        """Returns the account for people, a line for each turn."""
        from hkoji.cli.games.game_words import local_time
        from hkoji.show.terms import clock_words

        if self._control is None:
            return _("The game has no clock.")
        rows = [(_("turn"), _("player"), _("began"), _("ended"), _("counted"), _("reserve"))]
        for number, turn in enumerate(self._turns, 1):
            rows.append(
                (
                    str(number),
                    self._name(turn.seat),
                    local_time(turn.begin, seconds=True),
                    _("goes on") if turn.until is None else local_time(turn.until, seconds=True),
                    _signed(turn.spent),
                    format_duration(turn.reserve),
                )
            )
        lines = [_("Clock: {clock}.", clock=translate(clock_words(self._control))), *columns(rows)]
        if self._reserves is not None:
            for seat, left in enumerate(self._reserves):
                lines.append(_("Reserve of {name}: {time}.", name=self._name(seat), time=format_duration(left)))
        return "\n".join(lines)

    def _name(self, seat: Seat) -> str:
        return self._names[seat] if seat < len(self._names) else str(seat)


def _signed(seconds: int) -> str:
    """Formats counted seconds, which are negative if a gift was larger than the time that was used."""
    return format_duration(seconds) if seconds >= 0 else f"-{format_duration(-seconds)}"


def show_audit(data: bytes, pins: ExpectedKeys, wish: AuditOptions, map_checks: MapChecks = map) -> None:
    """Audits one log, and shows the account of its clock if that is wished.

    Raises `AuditError` naming step, entry and signer if the log does not hold. If this version does not understand it,
    that is a `LaterVersionError`. For mails it raises what `check_mails` raises.
    """
    result, report = audit_file(data, pins, map_checks=map_checks), None
    if wish.about_mails:
        from hkoji.cli.audit.mail_checks import check_mails

        result, report = check_mails(result, wish)
    if wish.clock:
        account = ClockAccount(result)
        value = {**audit_json(result, report), "clock": account.to_json()}
        out.result(value, lambda: f"{account.text()}\n{audit_text(result, report)}")
    else:
        out.result(audit_json(result, report), lambda: audit_text(result, report))
    if result.findings:
        first = main_finding(result)
        if result.not_understood:
            raise LaterVersionError(int(first.step), finding_text(first), seq=first.entry)
        raise AuditError(int(first.step), finding_text(first), seq=first.entry, signer=first.signer)


def show_game_audit(game: str, pins: ExpectedKeys, wish: AuditOptions) -> None:
    """Audits a game on the service, with the keys that the player knows already. Raises what `show_audit` raises."""
    game = client().find(game)
    known = client().pins(client().server_of(game))
    with client().game(game) as held:
        lines = held.log()
    show_audit(format_log(lines).encode(), {**known, **pins}, wish)


_STEPS: Final = {
    AuditStep.PARSE: tell("parse"),
    AuditStep.CHAIN: tell("chain"),
    AuditStep.KEYS: tell("keys"),
    AuditStep.SIGNATURES: tell("signatures"),
    AuditStep.TIMES: tell("times"),
    AuditStep.COMMITMENTS: tell("commitments"),
    AuditStep.DEAL: tell("deal"),
    AuditStep.REPLAY: tell("replay"),
    AuditStep.RESULT: tell("result"),
    AuditStep.EVIDENCE: tell("evidence"),
    AuditStep.MAILS: tell("mails"),
}


def main_finding(result: Audit) -> Finding:
    """Returns the finding to report: the first that names a signer, else the first."""
    return next((finding for finding in result.findings if finding.signer), result.findings[0])


def finding_text(finding: Finding) -> str:
    """Returns a finding in one line: step, entry, signer and reason."""
    step, name = int(finding.step), _STEPS[finding.step]
    place = tell("step {step} ({name})", step=step, name=name)
    if finding.entry is not None:
        place = tell("step {step} ({name}), entry {entry}", step=step, name=name, entry=finding.entry)
    if finding.signer:
        return tell("{place}: {who}: {reason}", place=place, who=finding.signer, reason=finding.reason)
    return tell("{place}: {reason}", place=place, reason=finding.reason)


def audit_json(result: Audit, mails: MailReport | None = None) -> dict[str, Any]:  # Any: JSON
    """Returns an audit for programs, with the report on mails if there is one."""
    outcome = result.outcome
    return {
        "game": result.game,
        "ok": result.ok,
        "finished": result.finished,
        "entries": result.entries,
        "holds": result.holds,
        "steps": [{"step": int(step), "name": step.name.lower(), "note": note} for step, note in result.notes.items()],
        "parties": [{**signer_json(party), "key": party.key.text, "since": party.since} for party in result.parties],
        "players": [
            {"name": name, "grade": grade.value, "signed_for": _signed_json(result, name)}
            for name, grade in result.grades.items()
        ],
        "findings": [
            {
                "step": int(finding.step),
                "name": finding.step.name.lower(),
                "entry": finding.entry,
                "signer": finding.signer,
                "signers": [signer_json(party) for party in finding.signers],
                "reason": finding.reason,
                "understood": finding.understood,
            }
            for finding in result.findings
        ],
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome and result.finished else None,
        **({} if mails is None else mails.to_json()),
    }


def signer_json(party: Party) -> dict[str, Any]:  # Any: JSON
    """Returns a signer for programs."""
    return {
        "name": party.name,
        "fingerprint": party.key.fingerprint,
        "pinned": party.pinned,
        "vouched": party.vouched,
        "held": party.held,
    }


def _signed_json(result: Audit, name: str) -> dict[str, Any] | None:  # Any: JSON
    """Returns what the service has signed for a player; None if it holds no key of this player."""
    for each in result.signed_for:
        if each.name == name:
            claims = {grade.value: count for grade, count in each.claims.items()}
            return {"entries": each.entries, "statements": each.statements, **claims, "drawn": each.drawn}
    return None


def _signed_lines(result: Audit, mails: MailReport | None) -> list[str]:
    """Returns for each player for whom the service has signed what that was, and what it proves."""
    checked = {each.name for each in mails.seats if each.checked} if mails is not None else set()
    lines = []
    for each in (each for each in result.signed_for if each.entries or each.statements):
        signed = _n("{n} entry", "{n} entries", each.entries)
        if each.statements:
            statements = _n("{n} statement", "{n} statements", each.statements)
            signed = _("{entries}, {statements}", entries=signed, statements=statements)
        first = _(
            "{signed} signed by the service for {name}: {dkim} say dkim, {token} token, {none} none; {checked}.",
            signed=signed,
            name=each.name,
            dkim=each.claims[MailGrade.DKIM],
            token=each.claims[MailGrade.TOKEN],
            none=each.claims[MailGrade.NONE],
            checked=_("for the mails see step 11") if each.name in checked else _("not checked against mails"),
        )
        proves = _("They prove what the service says, not what {name} did.", name=each.name)
        if each.drawn:
            drawn = _("The service drew {name}'s part in the shuffle.", name=each.name)
            proves = f"{proves} {drawn}"
        lines += [f"  {each.name:12} {first}", f"{'':15}{proves}"]
    if sum(each.drawn for each in result.signed_for) > 1:
        lines.append(f"{'':15}{_('The deal is the word of the service alone: nobody else has drawn any of it.')}")
    return lines


def _standing(result: Audit, party: Party) -> str:
    """Returns whether a key was expected, and from which entry on it counts, if it replaced another."""
    if party.held:
        service = _("expected") if party.pinned else _("not pinned")
        pinned = _("held by the service, whose key is {pinned}", pinned=service)
    else:
        pinned = _("expected") if party.pinned else _("not pinned")
    if party.vouched:
        return _("{pinned}, from entry {entry} on by the server's word alone", pinned=pinned, entry=party.since)
    if party == next(each for each in result.parties if each.name == party.name):
        return pinned
    return _("{pinned}, from entry {entry} on", pinned=pinned, entry=party.since)


def audit_text(result: Audit, mails: MailReport | None = None) -> str:
    """Returns an audit for people: its steps, the parties, the conclusion, and the report on mails, if there is one."""
    lines = []
    for step, note in result.notes.items():
        lines.append(f"{int(step)} {translate(_STEPS[step]):12} {translate(note)}")
        if step is AuditStep.SIGNATURES:
            lines += _signed_lines(result, mails)
        if step is AuditStep.MAILS and mails is not None:
            lines += mails.lines()
    for party in result.parties:
        lines.append(f"  {party.name:10} {party.key.fingerprint}  {_standing(result, party)}")
    if result.ok:
        if not result.entries:
            lines.append(_("The file contains no log; its statements do not contradict one another."))
        elif result.finished:
            lines.append(_("All {n} entries hold; the game is finished.", n=result.entries))
        else:
            lines.append(
                _n(
                    "The one entry holds; the game is still running.",
                    "All {n} entries hold; the game is still running.",
                    result.entries,
                )
            )
        if not all(party.pinned for party in result.parties):
            lines.append(_("Compare the keys that are not pinned with what their owners say, or give them with --key."))
    else:
        lines.append(
            _n(
                "{n} of {total} entries holds.",
                "{n} of {total} entries hold.",
                result.holds,
                total=result.entries,
            )
        )
        beside = (finding for finding in result.findings if finding.step >= AuditStep.EVIDENCE)
        lines += [translate(finding_text(finding)) for finding in beside]
        if result.not_understood:
            lines.append(_("The log is from a later version: this program cannot say whether it is valid or forged."))
    return "\n".join(lines)
