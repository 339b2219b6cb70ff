"""A clean stop under load keeps all acknowledged data, and each transaction under way completes or leaves no trace."""

from __future__ import annotations

import random
import time
from pathlib import Path

from tests.support.ledger import Ledger, dumped, half_done, lost
from tests.support.load import AWAY, NotNowError, Pair, Wire, busy
from tests.support.service import start


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
