"""Logs that a cheat with all keys of a table could publish, and the audit's verdict on them."""

from __future__ import annotations

from hkoji.audit.log_audit import Audit, AuditStep
from hkoji.game import entry_kinds
from hkoji.game.position import time_of_record
from hkoji.log import sshsig
from hkoji.log.line import Entry, Line, SignedReceipt, format_log, make_entry, make_receipt, sign_entry
from hkoji.log.public_key import PublicKey
from tests.support.table import AT, Table


def pins(table: Table) -> dict[str, PublicKey]:
    """The keys in force at the end."""
    return {"alice": table.keys[0].public, "bob": table.keys[1].public, "server": table.server.public}


def every_pin(table: Table) -> dict[str, tuple[PublicKey, ...]]:
    """All keys that anybody at the table has had."""
    setup = table.course.setup
    beside = [held for held in setup.held_keys if not held.only]
    alice, bob = (tuple(each.gateway.key for each in beside if each.seat == seat) for seat in (0, 1))
    return {
        "alice": (*setup.all_keys(0), *alice),
        "bob": (*setup.all_keys(1), *bob),
        "server": (table.server.public,),
    }


def rewrite(table: Table, changes: dict[int, dict[str, object]]) -> str:
    """The log with some entries changed, and everything after them chained, signed and receipted anew.

    A cheat who holds all keys could publish it.
    """
    lines: list[Line] = []
    for line in table.lines:
        old = line.entry
        fields: dict[str, object] = {
            name: getattr(old, name) for name in ("at", "body", "by", "game", "kind", "prev", "seen", "seq")
        }
        fields.update(changes.get(old.seq, {}))
        fields["prev"] = lines[-1].entry.head if lines else old.prev
        entry: Entry = make_entry(**fields)  # type: ignore[arg-type] # fields by name
        receipt = make_receipt(at=old.at, game=entry.game, head=entry.head, seq=entry.seq)
        signed = SignedReceipt(receipt, table.server.sign(sshsig.RECEIPT, receipt.message))
        lines.append(Line(entry, sign_entry(entry, table.signer(line)), signed))
    return format_log(lines)


def only(result: Audit) -> tuple[AuditStep, int | None, str | None]:
    (finding,) = result.findings
    assert result.holds == (finding.entry if finding.entry is not None else result.holds)
    assert not result.ok
    return finding.step, finding.entry, finding.signer


def entry_number(table: Table, kind: str) -> int:
    return next(line.entry.seq for line in table.lines if line.entry.kind == kind)


def changed_body(table: Table, number: int, **changes: object) -> dict[int, dict[str, object]]:
    return {number: {"body": {**table.lines[number].entry.body, **changes}}}


def append(table: Table, body: entry_kinds.EntryBody, at: str = AT) -> None:
    """Adds an entry of the service after the last line, even if the referee would refuse it."""
    last = table.lines[-1].entry
    entry = make_entry(
        at=at,
        body=body.to_json(),
        by="server",
        game=table.game,
        kind=body.KIND,
        prev=last.head,
        seen=time_of_record(table.lines[-1]),
        seq=last.seq + 1,
    )
    receipt = make_receipt(at=at, game=entry.game, head=entry.head, seq=entry.seq)
    signed = SignedReceipt(receipt, table.server.sign(sshsig.RECEIPT, receipt.message))
    table.lines.append(Line(entry, sign_entry(entry, table.server), signed))


def later_receipt(table: Table) -> list[Line]:
    """The log with a second receipt of its last entry, as valid as the first."""
    *lines, last = table.lines
    receipt = make_receipt(at="2026-11-20T23:59:59Z", game=table.game, head=last.entry.head, seq=last.entry.seq)
    signed = SignedReceipt(receipt, table.server.sign(sshsig.RECEIPT, receipt.message))
    assert last.receipt is not None
    assert receipt.at > last.receipt.receipt.at
    return [*lines, last._replace(receipt=signed)]
