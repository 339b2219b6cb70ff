"""Attacks by the service of a duplicate game, whose seed is published once its tables are done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hkoji.audit.log_audit import AuditStep
from hkoji.game import entry_kinds
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.adversary import convicted, other_cards
from tests.support.false_plays import traded_off
from tests.support.forgery import changed_body, rewrite
from tests.support.lying_game import goes_on, refuted, rewritten
from tests.support.shell import run
from tests.support.table import Table, whole_game

DEAL = ("d0" * 16, "5e" * 32)
OTHER = "77" * 32

both_games = pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()], ids=lambda ruleset: ruleset.name)


class Elsewhere(Table):
    """Another game of the same service."""

    def bytes(self, count: int) -> bytes:
        return bytes(reversed(super().bytes(count))) if count == 16 else super().bytes(count)


def opened(ruleset: Ruleset, seed: int = 3) -> Table:
    return whole_game(seed, ruleset, DEAL).unseal()


@both_games
def test_an_unseal_with_another_seed(tmp_path: Path, ruleset: Ruleset) -> None:
    table = opened(ruleset)
    number = len(table.lines) - 1
    forged = goes_on(table, number, (entry_kinds.Unseal(OTHER), "server"))
    reason = f"entry {number} of the log does not hold: .* seed"
    refuted(tmp_path / "x", table, forged, (AuditStep.COMMITMENTS, number, "server"), reason)


@both_games
@pytest.mark.parametrize("left", [1, 6])
def test_an_unseal_before_the_end(tmp_path: Path, ruleset: Ruleset, left: int) -> None:
    """The attack fails even when only the end is missing."""
    table = opened(ruleset)
    number = len(table.lines) - 1 - left
    forged = goes_on(table, number, (entry_kinds.Unseal(DEAL[1]), "server"))
    reason = f"entry {number} of the log does not hold: the service owes no unseal now"
    refuted(tmp_path / "x", table, forged, (AuditStep.REPLAY, number, "server"), reason)


@both_games
def test_tables_of_a_deal_with_other_cards(tmp_path: Path, ruleset: Ruleset) -> None:
    """Two commitments for one deal contradict each other; under one commitment, the other table cannot open it."""
    table = opened(ruleset)
    key = f"server={table.server.public.text}"
    for seed, code in ((DEAL[1], 0), (OTHER, 8)):
        other = Elsewhere(ruleset, 3, (DEAL[0], seed)).begin().play().unseal()
        assert (other.game != table.game, other.server.public) == (True, table.server.public)
        files = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
        for file, text in zip(files, (table.text, other.text), strict=True):
            file.write_text(text)
            assert run("audit", str(file), "--key", key).code == 0
        done = run("audit", *map(str, files), "--key", key, "--json")
        found = [json.loads(line) for line in done.out.splitlines()]
        assert done.code == code
        told = [(each["contradiction"], each["signer"]) for each in found if "contradiction" in each]
        assert told == ([] if code == 0 else [("deal", "server")])
    number = len(other.lines) - 1
    dealer = table.lines[0].entry.body["dealer"]
    forged = rewritten(other, changed_body(other, 0, dealer=dealer))
    reason = f"entry {number} of the log does not hold: .* seed"
    refuted(tmp_path / "x", other, forged, (AuditStep.COMMITMENTS, number, "server"), reason)


def test_cards_of_the_opponent_traded_off() -> None:
    table, number, cards = traded_off()
    log = rewrite(table, other_cards(table, number, cards))
    convicted(table, log, AuditStep.REPLAY, len(table.lines) - 1, "server")
    table.unseal()
    log = rewrite(table, other_cards(table, number, cards))
    convicted(table, log, AuditStep.REPLAY, number, "bob and server")
