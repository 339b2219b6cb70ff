"""Evidence of a sealed game: the service's views show no cards, and its own releases come at once."""

from __future__ import annotations

from functools import cache

import pytest

from hkoji import referee
from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import EvidenceFile, format_evidence
from hkoji.audit.log_audit import Audit, AuditStep
from hkoji.errors import TrustError
from hkoji.game.replay import verify_view
from hkoji.log import sshsig
from hkoji.log.game_statements import SignedHead, make_head
from hkoji.log.line import format_log
from hkoji.log.statement import Dealt, SignedView, View, make_view
from hkoji.rules.events import SEATS
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.sealed_forgery import pins
from tests.support.sealed_table import NAMES, SealedTable


@cache
def played() -> SealedTable:
    """A game in which the service has just released a draw of its own."""
    table = SealedTable(Hanamikoji(), 5, deposit=(True, True))
    while table.lines[-1].entry.kind != "release":
        table.step()
    assert table.lines[-1].entry.by == "server"
    return table


def view(seat: int, dealt: tuple[Dealt, ...] = ()) -> View:
    course = played().course
    return make_view(dealt=dealt, game=course.setup.game, head=course.head, seat=seat, seq=course.seq)


def judge(*, views: tuple[View, ...] = (), heads: tuple[SignedHead, ...] = ()) -> Audit:
    """The audit of a file with these statements, which the service has signed."""
    table = played()
    signed = tuple(SignedView(each, table.server.sign(sshsig.VIEW, each.message)) for each in views)
    known = {name: (key,) for name, key in pins(table).items()}
    made = EvidenceFile(table.game, known, format_log(table.lines), signed, heads=heads)
    return audit_file(format_evidence(made), pins(table))


def head_of(entry: int) -> SignedHead:
    table = played()
    line = table.lines[entry]
    made = make_head(at=table.at, game=table.game, head=line.entry.head, seq=line.entry.seq)
    return SignedHead(made, table.server.sign(sshsig.HEAD, made.message))


def test_the_views_of_an_honest_service() -> None:
    table = played()
    views = tuple(referee.view(table.refereed, seat) for seat in SEATS)
    assert [each.dealt for each in views] == [(), ()]
    assert judge(views=views).findings == ()
    for seat in SEATS:
        own = table.seen_by(seat).course
        assert own is not None
        verify_view(views[seat], own, seat)


@pytest.mark.parametrize("seat", SEATS)
@pytest.mark.parametrize("cards", ["A", "AABCDE", "AABCDEF"])
def test_a_view_with_cards_convicts_the_service(seat: int, cards: str) -> None:
    (finding,) = judge(views=(view(seat, (Dealt(cards, 1),)),)).findings
    assert (finding.step, finding.signer) == (AuditStep.EVIDENCE, "server")
    assert NAMES[seat] in finding.reason
    own = played().seen_by(seat).course
    assert own is not None
    with pytest.raises(TrustError, match="has shown cards that the game cannot have brought"):
        verify_view(view(seat, (Dealt(cards, 1),)), own, seat)


@pytest.mark.parametrize(("head", "signer"), [(-1, None), (-2, "server")])
def test_a_head_before_a_release_of_the_service_convicts_it(head: int, signer: str | None) -> None:
    """The head says that the transaction of its entry is complete, so this release cannot follow it."""
    findings = judge(heads=(head_of(head),)).findings
    assert [each.signer for each in findings] == ([signer] if signer else [])
    assert all("a release follows entry" in each.reason for each in findings)
