"""A player with a key of their own lets the service sign too: only with a key that it holds for them now."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hkoji.game.entry_kinds.key_changes import Delegate
from hkoji.game.held_keys import MailGrade, certify
from hkoji.log.private_key import PrivateKey
from tests.support.service import begin, two_players
from tests.support.service_in_process import inside
from tests.support.timed_games import AN_HOUR, log_of, owing, refused, verify

HELD = PrivateKey.from_seed(b"\x08" * 32)


@pytest.mark.parametrize("origin", ["http://inside", "https://moved.example"])
def test_a_certificate_that_the_service_does_not_act_on_is_no_delegation(tmp_path: Path, origin: str) -> None:
    """A certificate is signed for ever: here of a key that the service has lost, or of its earlier origin."""
    with inside(tmp_path / "data") as service:
        players = two_players(service)
        game = begin(*players, agreement=AN_HOUR)
        mover, before = owing(players, game), log_of(players[0], game)
        with closing(sqlite3.connect(tmp_path / "data" / "hkoji.sqlite3")) as base:
            (private,) = base.execute("SELECT private_key FROM service").fetchone()
        key = PrivateKey.from_openssh(private if isinstance(private, bytes) else private.encode())
        gateway = certify(
            key, address="ab" * 32, at="2026-11-20T12:00:00Z", key=HELD.public, name=mover.name, origin=origin
        )
        course = mover.course(game)
        entry = mover.entry(game, (course.seq, course.head), Delegate(gateway, MailGrade.TOKEN))
        refused(mover.send(entry), 422, "illegal")
        assert log_of(mover, game) == before
        verify(mover, game)
