"""Targets for complete games: files of logs, audited and compared, and games of unsigned entries."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from hkoji.audit.card_checks import Commitments
from hkoji.audit.contradictions import covers, extends, fork, log_claims
from hkoji.audit.evidence_audit import audit_file
from hkoji.cli.files import UnreadableLog, split
from hkoji.cli.study.stats import read_logs
from hkoji.errors import HkojiError
from hkoji.game.replay import replay
from hkoji.log.canonical import encode
from hkoji.log.line import Line, make_entry, parse_log
from tests.lab.fuzz.of_logs import AT, GAME, WORDS, known, lines_of
from tests.lab.fuzz.target import Target, refusals, text

TIMED: Final = ("timed.jsonl", "timeout.jsonl", "annulled.jsonl", "expired.jsonl")
"""Games with entries about time."""

# --- whole logs -------------------------------------------------------------------------------------------------------


@lru_cache(4096)
def _once(verify: Callable[[object], HkojiError | None], check: object) -> HkojiError | None:
    """Caches signature checks by bytes, signature and key."""
    return verify(check)


def _each(
    verify: Callable[[Any], HkojiError | None], checks: Iterable[Any]
) -> Iterable[HkojiError | None]:  # Any: opaque
    return (_once(verify, check) for check in checks)


def archive(data: bytes) -> None:
    """A file of logs as `hkoji audit` and `hkoji stats` read it: each audited, and compared with the others.

    Nobody has the keys of the games in the seeds, so no input derived from them may accuse anybody.
    """
    found = []
    for piece in split(io.BytesIO(data), "-", 2**16):
        if isinstance(piece, UnreadableLog):
            continue
        result = audit_file(piece.text, known().pins, map_checks=_each)
        assert 0 <= result.holds <= result.entries
        assert not any(finding.signer for finding in result.findings)
        assert result.ok == (not result.findings)
        if claimed := log_claims(result):
            assert claimed.entries == result.holds
            found.append(claimed)
    for one in found:
        for other in found:
            if one.game != other.game or extends(one, other) or extends(other, one):
                assert not covers(one, other) or one.entries >= other.entries
            else:
                against = fork(one, other)
                assert against.entry < min(one.entries, other.entries)
                assert against.signer is None
    for _ in read_logs(split(io.BytesIO(data), "-")):
        pass


def course(data: bytes) -> None:
    """A game of entries that are chained but not signed: a line each with author, kind and body."""
    lines: list[Line] = []
    prev, at = "0" * 64, AT
    with refusals():
        for seq, told in enumerate(data.split(b"\n")):
            by, _, rest = text(told).partition(" ")
            kind, _, given = rest.partition(" ")
            try:
                value = json.loads(given)
            except (ValueError, RecursionError):
                break
            seen = at if seq else None
            made = make_entry(at=at, body=value, by=by, game=GAME, kind=kind, prev=prev, seen=seen, seq=seq)
            prev = made.head
            lines.append(Line(made, b""))
    result = replay(lines)
    assert (result.stop is None) == (len(result.steps) == len(lines))
    if result.course:
        assert result.course.seq == len(result.steps) - 1
    with refusals():
        commitments = Commitments()
        for step in result.steps:
            commitments.read(step.entry, step.body)


# --- seeds ------------------------------------------------------------------------------------------------------------


def archive_seeds() -> list[bytes]:
    """A short game, its beginnings, and two of them in one file."""
    short = known().logs["resigned.jsonl"]
    begun = b"".join(lines_of("resigned.jsonl", 3))
    return [short, begun, begun + b"".join(lines_of("running.jsonl", 2)), begun + begun]


def course_seeds() -> list[bytes]:
    """Games as lines of author, kind and body."""
    made = []
    for name in ("resigned.jsonl", "running.jsonl", "road-running.jsonl", "whole.jsonl", "duplicate-b.jsonl", *TIMED):
        entries = [each.entry for each in parse_log(known().logs[name])]
        made.append("\n".join(f"{each.by} {each.kind} {encode(each.body)}" for each in entries).encode())
    return made


TARGETS: Final = (
    Target("archive", "files of logs, audited and compared", archive, archive_seeds, 200_000, 16384, WORDS),
    Target("course", "games told by unsigned entries, replayed", course, course_seeds, 200_000, 16384, WORDS),
)
