"""The mail process is away near the deadlines of held seats, in a sample of `mail_story`. A planted fault is found."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from hkoji_server.service.time.service_time import ServiceTime

from tests.lab.outages.mail_story import PLANTED, no_beat_needed, struck
from tests.support.timed_laboratory import Wanted

FAULT = "the keeper needs no beat of mail"


def test_no_held_seat_loses_because_the_mail_process_was_away(tmp_path: Path) -> None:
    done = struck(tmp_path, Wanted(2, seed=1))
    assert done.wrong == []
    assert done.counts["outages of mail"] >= 2
    assert done.counts["credits of mail"] >= 2
    assert done.counts["outages of http"] == done.counts["credits of http"] == 0
    assert done.counts["kills"] >= 6
    assert done.counts["answers"] >= 2


def test_a_keeper_that_does_not_wait_for_mail_is_seen(tmp_path: Path) -> None:
    with patch.object(ServiceTime, "taken_until", no_beat_needed):
        done = struck(tmp_path, Wanted(1, seed=1))
    assert any(PLANTED[FAULT].said in complaint for complaint in done.wrong), done.wrong
