"""Killed services lose nothing, and a stop under load finishes what was acknowledged; planted losses are found."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.crashes.measure import STRIKES, Folder
from tests.lab.power_cuts.measure import record
from tests.support.ledger import Dump, Fact, Ledger, dumped, half_done, lost
from tests.support.load import AWAY, NotNowError, Pair, Wire, busy
from tests.support.service import start


def test_no_kill_loses_what_was_acknowledged(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 7, whole=0, patience=600)
    points = {"after the commit": 4, "after a statement": 4, "amid the answer": 2}
    for point, count in points.items():
        folder.live(point, count)
    folder.finish()
    folder.close()
    assert folder.wrong == []
    assert folder.kills == dict.fromkeys(points, 1)
    assert folder.numbers["entries"] >= 8  # in the end each pair has been answered
    assert folder.numbers["clean stops"] == 0  # `finish` has its own service and checks how that ends


def test_no_strike_at_postgresql_or_at_a_service_on_it_loses_what_was_acknowledged(tmp_path: Path) -> None:
    folder = Folder(tmp_path, 7, whole=0, patience=600, postgres=True)
    try:
        points = {"after the commit": 4, "before the commit": 4}
        for point, count in points.items():
            folder.live(point, count)
        for strike in STRIKES:
            folder.live(strike)
        folder.live("amid the start", 60)  # a service whose start has been seen survives the requests that follow
        folder.finish()
    finally:
        folder.close()
    assert folder.wrong == []
    assert {point: count for point, count in folder.kills.items() if "random" not in point} == dict.fromkeys(
        (*points, *STRIKES), 1
    )
    assert folder.numbers["clean stops"] == 1
    assert folder.numbers["entries"] >= 8


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dump, list[Fact]]:
    made = record(tmp_path_factory.mktemp("record"), None, 250, seed=8)
    return made.final, made.facts


Tamper = Callable[[Dump], None]


def _last(dump: Dump, kind: str) -> tuple[str, int]:
    game, seq = max((key for key, row in dump["entry"].items() if f'"kind":"{kind}"' in row[0]), key=lambda key: key[1])
    return game, seq


def _drop_entry(dump: Dump) -> None:
    game = next(iter(dump["game"]))[0]
    del dump["entry"][game, max(seq for each, seq in dump["entry"] if each == game)]


def _change(table: str, column: int) -> Tamper:
    def tamper(dump: Dump) -> None:
        key, row = max(dump[table].items(), key=lambda item: str(item[0]))
        old = row[column]
        new = old + (b"\n" if isinstance(old, bytes) else 1 if isinstance(old, int) else "x")
        dump[table][key] = (*row[:column], new, *row[column + 1 :])

    return tamper


def _drop(table: str) -> Tamper:
    def tamper(dump: Dump) -> None:
        del dump[table][max(dump[table], key=str)]

    return tamper


def _drop_credit(dump: Dump) -> None:
    game, seq = _last(dump, "credit")
    for each in [key for key in dump["entry"] if key[0] == game and key[1] >= seq]:
        del dump["entry"][each]


def _lose_gift(dump: Dump) -> None:
    """The credit is gone, as if the gift had not been known, and so is what was kept of it."""
    _drop_credit(dump)
    dump["statement"].clear()


def _keep_gift(dump: Dump) -> None:
    """Keeps another gift for an entry that is there already, of a game that goes on."""
    over = {game for (game, _), row in dump["entry"].items() if '"kind":"end"' in row[0]}
    game, seq = next(key for key, row in dump["entry"].items() if '"kind":"credit"' in row[0] and key[0] not in over)
    head = json.loads(dump["entry"][game, seq][0])["body"]["gift"]["head"]
    dump["statement"][game, head, "give", "host-1"] = (60, "")


def _drop_game(dump: Dump) -> None:
    game = next(iter(dump["game"]))[0]
    for table in ("entry", "game", "secret", "opening"):
        for key in [key for key in dump[table] if key[0] == game]:
            del dump[table][key]


def _use_again(dump: Dump) -> None:
    dump["challenge"] = {("5e" * 32,): ("2027-01-01T00:00:00Z",)}


LOSSES: dict[str, tuple[Tamper, str]] = {
    "an entry": (_drop_entry, r"entry .* was acknowledged and is lost"),
    "a game": (_drop_game, r"entry .* was acknowledged and is lost"),
    "a signature": (_change("entry", 1), r"entry .* has changed"),
    "a receipt": (_change("entry", 3), r"entry .* has changed"),
    "a player": (_drop("player"), r"player .* is lost"),
    "a token": (_drop("token"), r"token .* is lost"),
    "an opening": (_drop("opening"), r"opening .* is lost"),
    "a gift": (_lose_gift, r"statement .* is lost"),
    "a seed's owner": (_change("secret", 0), r"secret .* has changed"),
    "a challenge": (_use_again, r"challenge .* is there again"),
}
HALVES: dict[str, tuple[Tamper, str]] = {
    "the last entry": (_drop_entry, r"the list says"),
    "an opening": (_drop("opening"), r"the opening of entry .* is missing"),
    "a summary": (_drop("game"), r"games with entries and rows of game are not the same"),
    "a gift that was credited": (_keep_gift, r"the 60 s that .* are not in the log with the next entry"),
    "a seed": (_drop("secret"), r"games with entries and rows of secret are not the same"),
    "the list's number": (_change("game", 0), r"the list says"),
    "the list's head": (_change("game", 1), r"the list says"),
    "the list's status": (_change("game", 2), r"the list says"),
    "the list's host": (_change("game", 3), r"the list says"),
    "an opening's salt": (_change("opening", 1), r"is missing or another"),
}


def _copy(dump: Dump) -> Dump:
    return {table: dict(rows) for table, rows in dump.items()}


def test_the_recording_is_whole(known: tuple[Dump, list[Fact]]) -> None:
    dump, facts = known
    assert [*lost(dump, facts), *half_done(dump)] == []
    assert len(dump["opening"]) > 3
    assert sum('"kind":"credit"' in row[0] for row in dump["entry"].values()) > 3


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_seen(known: tuple[Dump, list[Fact]], name: str) -> None:
    dump, facts = _copy(known[0]), [*known[1], Fact("challenge", ("5e" * 32,), (), there=False)]
    tamper, expected = LOSSES[name]
    tamper(dump)
    assert any(re.search(expected, complaint) for complaint in lost(dump, facts))


@pytest.mark.parametrize("name", HALVES)
def test_halves_are_seen(known: tuple[Dump, list[Fact]], name: str) -> None:
    dump = _copy(known[0])
    tamper, expected = HALVES[name]
    tamper(dump)
    assert any(re.search(expected, complaint) for complaint in half_done(dump))


def test_an_entry_that_nobody_sent_is_seen(known: tuple[Dump, list[Fact]]) -> None:
    dump = known[0]
    text = next(row[0] for row in dump["entry"].values() if '"kind":"join"' in row[0])
    found = list(half_done(dump, lambda each: each != text))
    assert [complaint.endswith("was sent by nobody") for complaint in found] == [True]


def test_a_stop_under_load_finishes_what_was_acknowledged(tmp_path: Path) -> None:
    service = start(tmp_path / "data", log_level="warning", forked=True)
    ledger = Ledger()
    pairs = [Pair(number, Wire(lambda: service.port), ledger, random.Random(number)) for number in range(5)]
    unexpected: list[Exception] = []
    refused: list[NotNowError] = []

    def failed(_: Pair, error: Exception) -> None:
        if isinstance(error, NotNowError):
            refused.append(error)
        elif not isinstance(error, AWAY):
            unexpected.append(error)

    threads = busy(pairs, lambda _: False, failed)
    end = time.monotonic() + 300
    while (
        sum(pair.accepted for pair in pairs) < 40
        and time.monotonic() < end
        and all(each.is_alive() for each in threads)
    ):
        time.sleep(0.005)
    service.stop()
    for thread in threads:
        thread.join(150)
    assert unexpected == []
    assert all(error.answer.status == 503 and error.answer.json["code"] == "storage" for error in refused)
    assert service.process.returncode == 0
    assert "Traceback" not in service.log.read_text()
    assert [each.name for each in service.data.iterdir()] == ["hkoji.sqlite3"]
    dump = dumped(service.data / "hkoji.sqlite3")
    facts = ledger.facts
    assert sum(fact.table == "entry" for fact in facts) >= 40
    assert [*lost(dump, facts), *half_done(dump, ledger.sent.__contains__)] == []
    for pair in pairs:
        assert isinstance(pair.asked, Wire)
        pair.asked.close()
