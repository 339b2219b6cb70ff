"""Target: files of evidence, read and judged. However honest ones are changed, they convict nobody."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import format_evidence, parse_evidence
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.fuzz.of_logs import WORDS as LOG_WORDS
from tests.lab.fuzz.target import Target, refusals
from tests.support.forgery import every_pin
from tests.support.framing import Story, evidence, story

WORDS: Final = (
    *LOG_WORDS,
    '{"evidence":1,"game":"',
    '","keys":{',
    '{"view":{"sig":"',
    '{"head":{"sig":"',
    '{"refused":{',
    '"dealt":',
    '"head":',
)


def judged(data: bytes) -> None:
    """A file of evidence, with the keys of the service and players of the seeds."""
    with refusals():
        assert format_evidence(parse_evidence(data)).encode("latin-1") == data
    assert data.startswith(b'{"evidence":') or not audit_file(b'{"evidence":' + data).lines
    for told in _stories():
        result = audit_file(data, every_pin(told.table))
        assert not {finding.signer for finding in result.findings} & {"server", "alice", "bob"}


def seeds() -> Iterator[bytes]:
    """Short honest files."""
    for told in _stories():
        lines = told.table.lines
        for made in (
            evidence(told),
            evidence(told, 0, refused=(lines[-1], told.views[-1], told.heads[0])),
            evidence(told, log="", refused=tuple(lines)),
            evidence(told, views=(), keys={"server": (told.table.server.public,)}),
        ):
            yield format_evidence(made).encode()


@cache
def _stories() -> tuple[Story, ...]:
    return story(1, Hanamikoji(), 0), story(2, GeishasRoad(), 1, resigns=True)


TARGETS: Final = (Target("evidence", "files of evidence, judged", judged, seeds, 200_000, 16384, WORDS),)
