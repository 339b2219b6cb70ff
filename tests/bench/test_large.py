"""The benchmarks' rows of large databases are those that the store writes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hkoji_server.store.game_values import Append, NewGame
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.audit.log_audit import audit
from hkoji.game.commitments import Opening
from hkoji.log.line import Line, SignedReceipt, format_log, parse_entry, parse_receipt
from scripts.bench import large
from tests.support.loops import run
from tests.support.times import now

TABLES = ("entry", "game", "opening", "secret")


def _rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(path) as connection:
        found = {name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2, 3").fetchall() for name in TABLES}
    connection.close()
    return found


async def _play(store: SqliteStore, given: large.Stock) -> None:
    """Gives the store a game of the stock, submission by submission."""
    before = None
    for step in given.steps:
        lines = tuple(
            Line(parse_entry(text), sig, SignedReceipt(parse_receipt(receipt), receipt_sig))
            for text, sig, receipt, receipt_sig in step.lines
        )
        if before is None:
            await store.add_game(NewGame(step.summary, lines[0], given.seed, large.NAMES[0], now(), outages=0))
        else:
            openings = tuple(Opening(*each) for each in step.openings)
            append = Append(
                given.game, before.seq, before.head, lines, openings, step.summary,
                outline=True, at=now(), outages=0, deadline=before.deadline,
            )  # fmt: skip
            await store.append(append)
        before = step.summary


def test_rows_are_those_that_the_store_writes(tmp_path: Path) -> None:
    made = large.stock(6)
    plan = large.Plan(games=6, entries=300, players=3)
    written, stored = tmp_path / "written.sqlite3", tmp_path / "stored.sqlite3"
    large.fill_sqlite(written, plan, made)
    store = SqliteStore(stored)
    for given in made:
        run(_play(store, given))
    store.close()
    assert _rows(written) == _rows(stored)
    assert len(_rows(stored)["opening"]) > 20


def test_copies_are_as_long_and_their_chains_hold(tmp_path: Path) -> None:
    made = large.stock(16)
    path, larger = tmp_path / "small.sqlite3", tmp_path / "large.sqlite3"
    count = large.fill_sqlite(path, large.Plan(40, 1600, 5, playing=0.3, opened=0.3), made)
    store = SqliteStore(path)
    lengths = {(len(text), len(receipt)) for each in made for step in each.steps for text, _, receipt, _ in step.lines}
    stages = set()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT game, seq, head, status, host, to_move FROM game").fetchall()
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (count,)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    assert len(rows) == 40
    for game, seq, head, status, _, _ in rows:
        lines = run(store.lines(game))
        assert (lines[-1].entry.seq, lines[-1].entry.head) == (seq, head)
        assert {(len(each.entry.text), len(each.receipt.receipt.text)) for each in lines if each.receipt} <= lengths
        assert [each.entry.prev for each in lines[1:]] == [each.entry.head for each in lines[:-1]]
        stages.add(status)
    assert stages == {"open", "playing", "finished"}
    for given in made:
        assert audit(format_log(run(store.lines(given.game)))).ok
    store.close()
    large.enlarge_sqlite(path, larger, 3)
    before, after = _rows(path), _rows(larger)
    for table in TABLES:
        stock = sum(row[0] in {each.game for each in made} for row in before[table])
        assert len(after[table]) == 3 * (len(before[table]) - stock) + stock
    assert len({row[0] for row in after["game"]}) == len(after["game"])
