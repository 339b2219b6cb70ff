"""Exactly one entry wins each place with two processes on one database, in a sample of what measure.py does.

Planted faults are found.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.races.clients import Told
from tests.lab.races.judgement import asking, judged, strays
from tests.lab.races.measure import Done, raced
from tests.lab.races.unfair import Forked


def _raced(folder: Path, submissions: int, fault: str | None = None, database: str | None = None) -> Done:
    services = [Forked(folder / "data", fault, database) for _ in range(2)]
    try:
        return raced(services, database or folder / "data" / "hkoji.sqlite3", submissions, seed=5, racers=3)
    finally:
        for service in services:
            service.stop()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    folder = tmp_path_factory.mktemp("races")
    return folder / "data" / "hkoji.sqlite3", _raced(folder, 300)


def test_one_wins_each_place_and_losers_are_told_the_head(honest: tuple[Path, Done]) -> None:
    done = honest[1]
    assert done.wrong == []
    assert done.counts["submissions"] >= 300
    won = sum(each.accepted for each in done.told.values())
    gifts = done.counts["gift against move: 201"]
    assert won == sum(count for what, count in done.counts.items() if what.endswith(": 201")) - gifts > 30
    for kind in ("open against open", "join against join", "two devices", "different moves"):
        assert done.counts[f"{kind}: 201"] > 0
        assert done.counts[f"{kind}: 409"] > 0
    assert done.counts["accepted before: 200"] > 0
    assert done.counts["gift against move: 201"] > 0
    assert done.counts["gift against move: 409"] > 0
    assert done.counts["kind credit"] > 0
    assert done.counts["stale: 409"] > 0
    assert any(each.heads for each in done.told.values())


FAULTS = {
    "no compare-and-swap": r"[2-9] accepted for place",
    "another receipt": "the same text again got 200",
    "an old head": r"told 409 .* where",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_service_is_seen(tmp_path: Path, fault: str) -> None:
    done = _raced(tmp_path, 120, fault)
    assert any(re.search(FAULTS[fault], complaint) for complaint in done.wrong), done.wrong


@pytest.mark.parametrize("fault", [None, "no compare-and-swap"])
def test_on_postgresql_one_wins_and_a_fault_is_seen(tmp_path: Path, postgres: str, fault: str | None) -> None:
    done = _raced(tmp_path, 80, fault, postgres)
    if fault is None:
        assert done.counts["submissions"] >= 80
        assert done.wrong == []
        assert sum(each.accepted for each in done.told.values()) > 10
    else:
        assert any(re.search(FAULTS[fault], complaint) for complaint in done.wrong), done.wrong


Tamper = Callable[[sqlite3.Connection, dict[str, Told]], None]


def _sql(statement: str) -> Tamper:
    def tamper(connection: sqlite3.Connection, _: dict[str, Told]) -> None:
        connection.execute(statement)

    return tamper


def _told(change: Callable[[Told], Told]) -> Tamper:
    def tamper(_: sqlite3.Connection, told: dict[str, Told]) -> None:
        game = max(told, key=lambda each: len(told[each].lines))
        told[game] = change(told[game])

    return tamper


_LAST = "(game, seq) IN (SELECT game, max(seq) FROM entry GROUP BY game)"
TAMPERS: dict[str, tuple[Tamper, str]] = {
    "an entry is gone": (_sql(f"DELETE FROM entry WHERE {_LAST}"), "are not those that were acknowledged"),
    "a receipt is another": (
        _sql("UPDATE entry SET receipt_sig = zeroblob(100) WHERE seq = 2"),
        "are not those that were acknowledged",
    ),
    "an opening is gone": (_sql("DELETE FROM opening"), "the opening of entry"),
    "a list lies": (_sql("UPDATE game SET seq = seq + 1"), "the list says"),
    "a signature is nobody's": (
        _sql("UPDATE entry SET sig = (SELECT sig FROM entry AS other WHERE other.seq = 1 LIMIT 1) WHERE seq = 2"),
        "step=<AuditStep.SIGNATURES",
    ),
    "a game is unknown": (
        _sql("INSERT INTO secret VALUES ('00', 'seed', 'alice')"),
        "games in secret",
    ),
    "a head has never been": (
        _told(lambda told: replace(told, heads={*told.heads, (3, "5e" * 32)})),
        "heads that have never been",
    ),
    "one was accepted and is not there": (
        _told(lambda told: replace(told, accepted=told.accepted + 1)),
        "of which .* were accepted",
    ),
}


@pytest.mark.parametrize("what", TAMPERS)
def test_a_wrong_result_is_seen_in_the_end(honest: tuple[Path, Done], tmp_path: Path, what: str) -> None:
    told = dict(honest[1].told)
    copy = tmp_path / "copy.sqlite3"
    copy.write_bytes(honest[0].read_bytes())
    tamper, expected = TAMPERS[what]
    connection = sqlite3.connect(copy)
    tamper(connection, told)
    connection.commit()
    connection.close()
    ask = asking(copy)
    found = [*strays(ask, told), *judged(ask, told, {})]
    assert any(re.search(expected, complaint) for complaint in found), found
