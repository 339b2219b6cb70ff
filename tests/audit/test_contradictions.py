"""Logs compared with one another: which contradict, who is convicted, and who cannot be."""

from __future__ import annotations

import random

import pytest

from hkoji import referee
from hkoji.audit.contradictions import (
    ContradictionKind,
    LogClaims,
    covers,
    extends,
    fork,
    in_outage,
    log_claims,
    other_seed,
    two_receipts,
)
from hkoji.audit.log_audit import audit
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import Outage, Way
from hkoji.game.entry_kinds import Resign
from hkoji.log.line import Line, format_log
from hkoji.log.public_key import PublicKey
from tests.support.docs import DOCS
from tests.support.forgery import later_receipt
from tests.support.table import Table, new_game, whole_game

OUTAGE = Outage("2026-11-20T12:00:05Z", "2026-11-20T12:00:15Z", Way.HTTP)
"""While games of `new_game` are played at 12:00:00."""

DEAL = "9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77"


def said(lines: list[Line], *, receipts: bool = True, pins: dict[str, PublicKey] | None = None) -> LogClaims:
    text = format_log(lines, receipts=receipts).encode()
    found = log_claims(audit(text, pins))
    assert found is not None
    return found


def branches(moves: int = 3) -> tuple[Table, Table]:
    """One game, which its service continues in two ways after so many moves."""
    one, other = (new_game(5).play(moves) for _ in range(2))
    other.random = random.Random("another course")
    assert one.text == other.text
    one.play()
    other.play()
    return one, other


def test_a_longer_log_extends_a_shorter_one_and_covers_it_if_it_has_its_receipts() -> None:
    lines = whole_game(1).lines
    whole, part, bare = said(lines), said(lines[:9]), said(lines, receipts=False)
    assert whole.entries == len(lines)
    assert extends(whole, part)
    assert not extends(part, whole)
    assert extends(whole, whole)
    assert extends(bare, part)
    assert covers(whole, part)
    assert covers(whole, bare)
    assert not covers(bare, part)
    assert not covers(bare, whole)
    assert not extends(whole, said(whole_game(2).lines))


@pytest.mark.parametrize("moves", [0, 3, 7])
def test_two_entries_with_receipts_for_one_place_convict_the_service(moves: int) -> None:
    one, other = branches(moves)
    first = next(n for n, (a, b) in enumerate(zip(one.lines, other.lines, strict=False)) if a.entry != b.entry)
    pins = {"server": one.server.public}
    found = fork(said(one.lines, pins=pins), said(other.lines, pins=pins))
    assert (found.kind, found.entry, found.signer) == (ContradictionKind.FORK, first, "server")
    assert f"entry {first}" in found.reason
    unpinned = fork(said(one.lines), said(other.lines)).signer
    assert unpinned == f"server with the unpinned key {one.server.public.fingerprint}"


def test_two_receipts_for_one_entry_convict_the_service() -> None:
    """Each log holds, and one of them dates its entry a minute later."""
    table = new_game(5).play(3)
    late = later_receipt(table)
    pins = {"server": table.server.public}
    assert audit(format_log(late), pins).ok
    mine, theirs, before, bare = (
        said(table.lines, pins=pins),
        said(late, pins=pins),
        said(table.lines[:-1], pins=pins),
        said(table.lines, receipts=False, pins=pins),
    )
    for one, other in ((mine, theirs), (theirs, mine)):
        found = two_receipts(one, other)
        assert found is not None
        last = len(late) - 1
        assert (found.kind, found.entry, found.signer) == (ContradictionKind.RECEIPT, last, "server")
        assert not covers(one, other)
        assert covers(one, before)
        assert covers(one, bare)
    for one, other in ((mine, mine), (mine, before), (before, theirs), (mine, bare), (bare, theirs)):
        assert two_receipts(one, other) is None


@pytest.mark.parametrize(("mine", "theirs"), [(True, False), (False, True), (False, False)])
def test_player_signatures_alone_for_one_place_convict_nobody(mine: bool, theirs: bool) -> None:
    one, other = branches()
    found = fork(said(one.lines, receipts=mine), said(other.lines, receipts=theirs))
    assert found.signer is None
    assert "not both have receipts" in found.reason


def test_entries_of_the_service_need_no_receipts() -> None:
    """Two offers of one game."""
    one, other = Table(seed=3), Table(seed=3, deal=(DEAL, "1" * 64))
    assert one.game == other.game
    found = fork(said(one.lines, receipts=False), said(other.lines, receipts=False))
    assert (found.entry, found.signer) == (0, f"server with the unpinned key {one.server.public.fingerprint}")


def test_a_log_under_another_key_convicts_nobody() -> None:
    """Anybody can make one for a game that they have seen."""
    one = whole_game(4)
    forged = remade(one.game)
    found = fork(said(one.lines), said(forged.lines))
    assert found.signer is None
    assert "different keys" in found.reason


def remade(game: str) -> Table:
    """Another service's game with that id."""

    class Remade(Table):
        @property
        def game(self) -> str:
            return game

        @game.setter
        def game(self, _: str) -> None:
            return

    return Remade(seed=9).begin().play()


def test_entries_that_do_not_hold_are_not_compared() -> None:
    one, other = branches()
    text = format_log(one.lines)
    cut = text[:-5]
    found = log_claims(audit(cut))
    assert found is not None
    assert found.entries == cut.count("\n")
    assert extends(said(one.lines), found)
    forged = [*one.lines[:8], other.lines[-1]._replace(entry=one.lines[8].entry), *one.lines[9:]]
    assert extends(said(one.lines), said(forged))
    assert said(forged).entries == 8
    for nothing in (b"", b"no log\n", text.encode()[:-1].replace(b'"seq', b'"sex', 1)):
        assert log_claims(audit(nothing)) is None


def test_an_offer_says_what_its_deal_is_bound_to() -> None:
    one, other = (Table(seed=6, deal=(DEAL, digit * 64)) for digit in "12")
    pins = {"server": one.server.public}
    mine, theirs = said(one.lines, pins=pins), said(other.lines, pins=pins)
    assert mine.bond is not None
    assert theirs.bond is not None
    assert mine.bond.deal == theirs.bond.deal == DEAL
    assert mine.bond.seed_commit != theirs.bond.seed_commit
    assert said(new_game(1).lines).bond is None
    found = other_seed(mine, theirs.bond)
    assert (found.kind, found.entry, found.signer) == (ContradictionKind.DEAL, 0, "server")
    assert DEAL in found.reason


def test_the_words_for_contradictions_are_those_of_the_page() -> None:
    page = (DOCS / "json.md").read_text()
    *others, last = (f"`{each.value}`" for each in ContradictionKind)
    assert f"| `contradiction` | string | {', '.join(others)} or {last} |" in page


def credited() -> Table:
    """A timed game whose log credits `OUTAGE`."""
    table = Table(seed=3, agreement=Agreement(TimeControl(600, 0, 0, 0))).begin()
    move = table.move(table.course.state.legal_actions()[0])
    accepted = referee.accept(table.refereed, move, signer=table.server, at="2026-11-20T12:00:20Z", outages=(OUTAGE,))
    table.lines += accepted.lines
    assert table.lines[-1].entry.kind == "credit"
    return table


@pytest.mark.parametrize("receipts", [True, False])
@pytest.mark.parametrize(
    ("at", "convicted"),
    [
        ("2026-11-20T12:00:04Z", False),
        (OUTAGE.begin, True),
        ("2026-11-20T12:00:14Z", True),
        (OUTAGE.until, False),
    ],
)
def test_an_entry_in_an_outage_that_another_game_credits_convicts_the_service(
    at: str, *, convicted: bool, receipts: bool
) -> None:
    table = credited()
    other = Table(seed=4, host_key=table.server).begin()
    other.send(other.move(other.course.state.legal_actions()[0]), at)
    other.send(other.entry(0, Resign()), at)  # so that the service's own `end` states the times, also without receipts
    pins = {"server": table.server.public}
    mine, theirs = said(table.lines, pins=pins), said(other.lines, receipts=receipts, pins=pins)
    assert mine.outages == (OUTAGE,)
    found = in_outage(theirs, OUTAGE, mine.game)
    if convicted:
        assert found is not None
        assert (found.kind, found.entry, found.signer) == (ContradictionKind.OUTAGE, 5, "server")
        assert all(text in found.reason for text in (mine.game, theirs.game, OUTAGE.begin, OUTAGE.until))
    else:
        assert found is None
    assert in_outage(mine, OUTAGE, theirs.game) is None


def test_a_player_alone_can_state_no_time_in_an_outage() -> None:
    """Without receipts, `seen` of an entry that the service has not continued convicts nobody."""
    table = credited()
    other = Table(seed=4, host_key=table.server).begin()
    for _ in range(2):
        other.send(other.move(other.course.state.legal_actions()[0]), OUTAGE.begin)
    assert other.lines[-1].entry.seen == OUTAGE.begin
    assert in_outage(said(other.lines, receipts=False), OUTAGE, table.game) is None
    assert in_outage(said(other.lines), OUTAGE, table.game) is not None
