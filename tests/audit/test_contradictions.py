"""Logs compared with one another: which contradict, who is convicted, and who cannot be."""

from __future__ import annotations

import random

import pytest

from hkoji.audit.contradictions import (
    ContradictionKind,
    LogClaims,
    covers,
    extends,
    fork,
    log_claims,
    other_seed,
    two_receipts,
)
from hkoji.audit.log_audit import audit
from hkoji.log.line import Line, format_log
from hkoji.log.public_key import PublicKey
from tests.support.docs import DOCS
from tests.support.forgery import later_receipt
from tests.support.table import Table, new_game, whole_game

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
