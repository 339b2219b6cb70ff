"""Logs with false times, shown to players and to strangers; and the same logs with true times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.audit.log_audit import Audit, AuditStep, audit
from hkoji.errors import TrustError
from hkoji.game import entry_kinds
from hkoji.log.line import Line, format_log
from hkoji.log.public_key import PublicKey, parse_public_key
from tests.support.adversary import HostileService, convicted, lying, on_disk, proven, told
from tests.support.forgery import pins
from tests.support.lying_game import Said, goes_on, staged
from tests.support.memory_service import LocalPlayer
from tests.support.shell import Done, Shell, run
from tests.support.shell_audit import by_script
from tests.support.table import Table
from tests.support.timed_table import TimedTable

EVERYBODY = (0, 1, 2)
"""Host, guest and a spectator."""


def said(lines: Iterable[Line]) -> tuple[Said, ...]:
    """The bodies and authors of lines."""
    return tuple((entry_kinds.parse_body(line.entry.kind, line.entry.body), line.entry.by) for line in lines)


def retimed(table: Table, number: int, at: str) -> tuple[Line, ...]:
    """The table's log in which entry `number`, and all that follow, have this time of record."""
    return goes_on(table, number, *said(table.lines[number:]), at=at)


def due_of(table: Table) -> str:
    """The deadline of the entry that is due."""
    due = table.deadline()
    assert due is not None
    return due


def until_owes(table: TimedTable, seat: int) -> TimedTable:
    """The table, played on until `seat` owes the next entry, and not the one before."""
    while table.course.actor != seat or table.lines[-1].entry.by == table.names[seat]:
        table.play(1)
    return table


def bare(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Lines without receipts."""
    return tuple(line._replace(receipt=None) for line in lines)


# --- what programs find -----------------------------------------------------------------------------------------------


_HELD: set[str] = set()
_ACCEPTED: set[tuple[str, tuple[int, ...]]] = set()
"""Logs that have been found honest already, and logs with those who were shown them. Many lies are about one log."""


def scripted(folder: Path, lines: Iterable[Line], known: dict[str, PublicKey]) -> tuple[int, int | None]:
    """The exit code of the specification's script, and the entry at which it stops."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "log.jsonl"
    file.write_text(format_log(lines))
    verdict = by_script(file, known)
    return verdict.exit, verdict.found[0][1] if verdict.found else None


def holds(folder: Path, table: Table, lines: Sequence[Line] | None = None) -> None:
    """Checks that the audit and the script find nothing in a log, by default the table's."""
    lines = table.lines if lines is None else lines
    log = format_log(lines)
    if log not in _HELD:
        assert audit(log, pins(table)).findings == ()
        assert scripted(folder, lines, pins(table)) == (0, None)
        _HELD.add(log)


def found(
    folder: Path,
    honest: Table,
    forged: Sequence[Line],
    entry: int,
    *,
    step: AuditStep = AuditStep.TIMES,
    named: str | None = "server",
    script: bool = True,
) -> Audit:
    """Checks that the audit stops at this entry of `forged`, and whom it names; `honest` holds.

    With `script` the specification's script must stop there too. Of forgeries that it treats alike, one is enough here,
    because `tests.lab.two_audits` compares the two audits.
    """
    result = convicted(honest, format_log(forged), step, entry, named)
    if script:
        assert scripted(folder / "forged", forged, pins(honest)) == (1, entry)
    return result


def refuse(
    service: HostileService, player: LocalPlayer, game: str, forged: Sequence[Line], reason: str, *more: Any
) -> TrustError:
    """Checks that a player refuses a log each time, and keeps what there was. `more` are further lies."""
    before = on_disk(player)
    with lying(service, told(tuple(forged)), *more):
        for _ in range(2):
            with pytest.raises(TrustError, match=reason) as refusal:
                player.position(game)
            assert refusal.value.hint
            assert on_disk(player) == before
    return refusal.value


def lied_to(
    folder: Path,
    honest: Table,
    forged: Sequence[Line],
    reason: str,
    *,
    proof: Iterable[str] = ("server",),
    victims: Iterable[int] = EVERYBODY,
) -> None:
    """Checks that players and spectator refuse `forged`, and whom their evidence names then.

    In their place others who are shown the `honest` log accept it, and their evidence names nobody.
    """
    victims = tuple(victims)
    service, seats = staged(honest, folder / "lied to")
    for number in victims:
        refuse(service, seats[number], honest.game, forged, reason)
        assert proven(service, seats[number], honest.game) == set(proof)
    accepted(folder / "told the truth", honest, victims)


def accepted(folder: Path, honest: Table, seats: Iterable[int] = EVERYBODY) -> None:
    """Checks that players and spectator accept the table's log, and that their evidence names nobody."""
    shown = honest.text, tuple(seats)
    if shown in _ACCEPTED:
        return
    service, players = staged(honest, folder)
    for number in shown[1]:
        assert players[number].position(honest.game).course.head == honest.course.head
        assert proven(service, players[number], honest.game) == set()
    _ACCEPTED.add(shown)


# --- a stranger's command line ----------------------------------------------------------------------------------------


def keys_of(service: HostileService) -> tuple[str, ...]:
    """The options that tell `hkoji audit` all keys."""
    known = {name: parse_public_key(key) for name, key in service.players.items()}
    return tuple(f"--key={name}={key.text}" for name, key in {**known, "server": service.key.public}.items())


def written(player: LocalPlayer, game: str, file: Path) -> Path:
    """The file that `hkoji evidence` writes."""
    done = Shell(player)("evidence", game, "--output", str(file))
    assert done.code == 0, done
    return file


def judged(service: HostileService, file: Path) -> Done:
    """The verdict of `hkoji audit` about a file of evidence."""
    return run("audit", str(file), *keys_of(service))


def without_heads(file: Path) -> Path:
    """The file without the service's signed heads."""
    lines = [line for line in file.read_text().splitlines() if "head" not in json.loads(line)]
    other = file.with_suffix(".bare")
    other.write_text("".join(f"{line}\n" for line in lines))
    assert len(lines) < len(file.read_text().splitlines())
    return other


def names(made: EvidenceFile, table: Table) -> set[str]:
    """Whom a stranger convicts by a file of evidence, with the keys from outside."""
    findings = audit_file(format_evidence(made), pins(table)).findings
    return {finding.signer for finding in findings if finding.signer}
