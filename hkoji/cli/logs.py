"""Logs: the public log, exports, replay and audit, from a file, standard input or a game on the service."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hkoji.cli.output import Output
from hkoji.cli.play import read_input
from hkoji.client import Client, Position
from hkoji.errors import AuditError, IllegalError, MalformedError, UsageError
from hkoji.game.audit import Audit, audit
from hkoji.game.replay import Replay, replay
from hkoji.log.keys import PublicKey, parse_public_key
from hkoji.log.line import Line, format_log, parse_lines
from hkoji.rules.transcript import Transcript, format_transcript


def is_file(source: str) -> bool:
    """Whether FILE|GAME names a file: one that is there, or `-`."""
    return source == "-" or Path(source).is_file()


def export(client: Client, out: Output, game: str) -> None:
    """A finished game with receipts."""
    game = client.find(game)
    lines = client.log(game)
    if not lines or lines[-1].entry.kind != "end":
        raise IllegalError(f"game {game[:8]} is not over yet", hint=f"see its log so far with `hkoji log {game[:8]}`")
    out.lines(format_log(lines))


def show_replay(client: Client, out: Output, source: str, at: int | None) -> None:
    """The position after an entry, and the whole game in notation."""
    result = _replay(client, out, source)
    if not result.steps:
        raise result.stop or MalformedError("log", "it is empty")
    last = result.steps[-1].entry.seq
    if at is not None and not 0 <= at <= last:
        raise UsageError(f"there is no entry {at}", hint=f"the log has entries 0 to {last}")
    steps = result.steps if at is None else result.steps[: at + 1]
    course = steps[-1].course
    events = tuple(event for step in steps for event in step.events)
    names = zip(("Host", "Guest"), course.setup.names, strict=True)
    tags = (("Game", course.setup.game), *((title, name) for title, name in names if name is not None))
    transcript = format_transcript(Transcript(course.setup.ruleset, tags, events))
    position = Position(course, None, events, (), Replay(steps))
    stopped = str(result.stop) if result.stop else None
    value: dict[str, Any] = {  # Any: JSON
        "game": course.setup.game,
        "ruleset": course.setup.ruleset.name,
        "host": course.setup.names[0],
        "guest": course.setup.names[1],
        "at": steps[-1].entry.seq,
        "entries": len(result.steps),
        "status": course.status,
        "state": course.state.to_json(),
        "text": transcript,
        "stopped": stopped,
    }

    def text() -> str:
        from hkoji.cli.boards import draw

        shown = f"{transcript}\nAfter entry {steps[-1].entry.seq}:\n\n" + draw(position, out.style)
        return shown + (f"\nThe log stops there: {stopped}\n" if stopped and at is None else "")

    out.result(value, text)


def _replay(client: Client, out: Output, source: str) -> Replay:
    if is_file(source):
        lines: list[Line] = []
        try:
            lines.extend(parse_lines(read_input(out, source)))
        except MalformedError as error:
            result = replay(lines)
            return Replay(result.steps, result.stop or error)
        return replay(lines)
    position = client.position(client.find(source))
    return position.replay


def show_audit(client: Client, out: Output, source: str, keys: list[str]) -> None:
    """Audits a log. Raises `AuditError` naming step, entry and signer if it does not hold."""
    pins = dict(parse_pin(pin) for pin in keys)
    if is_file(source):
        data = read_input(out, source)
    else:
        game = client.find(source)
        data = format_log(client.log(game)).encode()
        pins = {**client.pins(client.server_of(game)), **pins}
    result = audit(data, pins)
    out.result(audit_json(result), lambda: audit_text(result))
    if result.findings:
        first = result.findings[0]
        where = f", entry {first.entry}" if first.entry is not None else ""
        who = f": {first.signer}" if first.signer else ""
        raise AuditError(
            int(first.step),
            f"step {int(first.step)} ({first.step.name.lower()}){where}{who}: {first.reason}",
            seq=first.entry,
            signer=first.signer,
        )


def parse_pin(text: str) -> tuple[str, PublicKey]:
    """`NAME=KEY`; the key as text or the path of a `.pub` file. Raises `UsageError`."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text!r} is not NAME=KEY", hint="as in --key 'alice=ssh-ed25519 AAAA…' or alice=alice.pub")
    if Path(value).is_file():
        value = Path(value).read_text(encoding="ascii", errors="replace")
    return name, parse_public_key(" ".join(value.split()[:2]))


def audit_json(result: Audit) -> dict[str, Any]:  # Any: JSON
    """An audit for programs."""
    outcome = result.outcome
    return {
        "game": result.game,
        "ok": result.ok,
        "finished": result.finished,
        "entries": result.entries,
        "holds": result.holds,
        "steps": [{"step": int(step), "name": step.name.lower(), "note": note} for step, note in result.notes.items()],
        "parties": [
            {"name": party.name, "key": party.key.text, "fingerprint": party.key.fingerprint, "pinned": party.pinned}
            for party in result.parties
        ],
        "findings": [
            {
                "step": int(finding.step),
                "name": finding.step.name.lower(),
                "entry": finding.entry,
                "signer": finding.signer,
                "reason": finding.reason,
                "understood": finding.understood,
            }
            for finding in result.findings
        ],
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome and result.finished else None,
    }


def audit_text(result: Audit) -> str:
    """An audit for people: its steps, the parties, and what it comes to."""
    lines = [f"{int(step)} {step.name.lower():12} {note}" for step, note in result.notes.items()]
    for party in result.parties:
        lines.append(f"  {party.name:10} {party.key.fingerprint}  {'expected' if party.pinned else 'not pinned'}")
    whole = "the game is finished" if result.finished else "the game is still running"
    if result.ok:
        lines.append(f"All {result.entries} entries hold; {whole}.")
        if not all(party.pinned for party in result.parties):
            lines.append("Compare the keys that are not pinned with what their owners say, or give them with --key.")
    else:
        lines.append(f"{result.holds} of {result.entries} entries hold.")
        if not all(finding.understood for finding in result.findings):
            lines.append("The log is from a later version: it is neither valid nor forged as far as can be said here.")
    return "\n".join(lines)
