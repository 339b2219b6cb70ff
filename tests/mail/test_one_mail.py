"""The store of a process that takes one mail does what the whole store does, or nothing."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hkoji_server import mail_admin
from hkoji_server.store.closing import Closing
from hkoji_server.store.mail_values import KeptMail, NewMail
from hkoji_server.store.sqlite.one_mail import OneMailStore, SeldomError, open_for_one_mail
from hkoji_server.store.sqlite.store import SqliteStore
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hkoji.errors import HkojiError
from hkoji.game.clock import Outage, Way
from tests.mail.test_pipe import data, kept, pipe
from tests.mail.test_receiving import GAME, a_mail, with_mailbox_and_token
from tests.support.loops import run
from tests.support.stores import sqlite_at

__all__ = ["data"]  # a fixture

NOW = datetime.fromisoformat("2026-03-01T12:00:00Z")


def _at(seconds: int) -> str:
    return (NOW + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted(database.execute(f"SELECT * FROM {name}"), key=repr) for name in names}


@pytest.fixture(scope="module")
def office_file() -> Iterator[Path]:
    """A database with bob's mailbox, one token, a beat, and outages of both ways."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "hkoji.sqlite3"
        with sqlite_at(path) as store:
            with_mailbox_and_token(store)
            run(store.beat(Way.MAIL, _at(-5)))
            run(store.add_outage(Outage(_at(-9000), _at(-8000), Way.MAIL), _at(0)))
            run(store.add_outage(Outage(_at(-9500), _at(-7900), Way.HTTP), _at(0)))
        yield path


_MAILS = st.builds(
    lambda number, named, age, outages, channel, reply: (number, named, age, outages, channel, reply),
    number=st.integers(0, 8),
    named=st.integers(0, 9),
    age=st.sampled_from((0, 0, 0, 0, 60, 61)),
    outages=st.sampled_from((2, 2, 2, 3, 1)),
    channel=st.sampled_from((True, True, True, True, True, False)),
    reply=st.booleans(),
)


_FIVE = [(number, number + 1, 0, 2, True, True) for number in range(5)]
"""As many mails as may wait."""


@settings(deadline=None, max_examples=30)
@example([*_FIVE, (6, 6, 0, 2, True, True), (4, 5, 0, 2, True, True), 3, (6, 6, 0, 2, True, True)])
@example([*_FIVE, (6, 3, 0, 2, True, True)])
@given(st.lists(st.one_of(_MAILS, st.integers(1, 5)), min_size=1, max_size=12))
def test_both_ways_keep_the_same_mails(office_file: Path, steps: list[Any]) -> None:
    """A step is a mail, or the number of a mail that is closed."""
    with TemporaryDirectory() as folder:
        paths = Path(folder) / "whole.sqlite3", Path(folder) / "both.sqlite3"
        for path in paths:
            shutil.copy(office_file, path)
        with sqlite_at(paths[0]) as whole, sqlite_at(paths[1]) as other:
            whole._clock = other._clock = lambda: NOW
            (channel,) = (row[0] for row in _rows(paths[0])["mailbox"])
            for step in steps:
                if isinstance(step, int):
                    assert _closed(whole, step) == _closed(other, step)
                    continue
                new = _new_mail(channel, *step)
                assert _kept(whole, new) == _by_pipe(paths[1], other, new)
                assert _rows(paths[0]) == _rows(paths[1])


def _new_mail(channel: str, number: int, named: int, age: int, outages: int, known: bool, reply: bool) -> NewMail:
    return NewMail(
        digest=sha256(b"%d" % number).hexdigest(),
        via="pipe",
        raw=b"%d" % number,
        received=_at(-age),
        name="bob",
        channel=channel if known else "unknown",
        game=GAME,
        message_id=f"<{named}@x>" if named else "",
        reply="ab" * 32 if reply else None,
        outages=outages,
    )


def _kept(store: SqliteStore | OneMailStore, new: NewMail) -> KeptMail | str:
    try:
        return run(store.add_incoming(new))
    except HkojiError as error:
        return error.code


def _closed(store: SqliteStore, number: int) -> str:
    try:
        run(store.close_incoming(Closing(number)))
    except HkojiError as error:
        return error.code
    return "closed"


def _by_pipe(path: Path, whole: SqliteStore, new: NewMail) -> KeptMail | str:
    before = _rows(path)
    try:
        with open_for_one_mail(path, lambda: NOW) as quick:
            return _kept(quick, new)
    except SeldomError:
        assert _rows(path) == before
        return _kept(whole, new)


def test_both_ways_read_the_same(office_file: Path) -> None:
    with sqlite_at(office_file) as whole, open_for_one_mail(office_file, lambda: NOW) as quick:
        assert run(quick.outages()) == run(whole.outages()) != ()
        assert run(quick.clock()) is run(whole.clock()) is None
        for way in Way:
            assert run(quick.last_beat(way)) == run(whole.last_beat(way))
        (reply,) = _rows(office_file)["reply"]
        assert run(quick.reply(reply[0])) == run(whole.reply(reply[0])) is not None
        assert run(quick.reply("unknown")) is None
        assert run(quick.mailbox_at("nobody@example.org")) is None
        with pytest.raises(SeldomError):
            run(quick.mailbox_at("BOB@example.org"))


@pytest.mark.parametrize("seconds", [-6, -5, -4, 0])
def test_both_ways_note_the_same_beat(office_file: Path, tmp_path: Path, seconds: int) -> None:
    paths = tmp_path / "whole.sqlite3", tmp_path / "quick.sqlite3"
    for path in paths:
        shutil.copy(office_file, path)
    with sqlite_at(paths[0]) as whole, open_for_one_mail(paths[1], lambda: NOW) as quick:
        for way in Way:  # one has been noted before, the other has not
            assert run(quick.beat(way, _at(seconds))) == run(whole.beat(way, _at(seconds)))
            assert _rows(paths[0]) == _rows(paths[1])


def test_a_mail_is_kept_with_the_settings_that_survive_a_power_cut(office_file: Path) -> None:
    with open_for_one_mail(office_file, lambda: NOW) as quick:
        for name, value in (("journal_mode", "wal"), ("synchronous", 2), ("foreign_keys", 1)):
            assert quick._connection.execute(f"PRAGMA {name}").fetchone() == (value,)


def test_a_mail_that_it_cannot_use_is_left_to_the_whole_store(office_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite3"
    shutil.copy(office_file, other)
    with closing(sqlite3.connect(other)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '0001'")
    (tmp_path / "empty.sqlite3").touch()
    (tmp_path / "broken.sqlite3").write_bytes(b"no database at all" * 1000)
    for name in ("other", "missing", "empty", "broken"):
        with pytest.raises(SeldomError), open_for_one_mail(tmp_path / f"{name}.sqlite3", lambda: NOW):
            pass
    assert not (tmp_path / "missing.sqlite3").exists()


def test_an_everyday_mail_needs_no_whole_store(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def none(*_: object) -> Iterator[None]:
        raise AssertionError("the whole store was opened")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mail_admin, "open_store", none)
        with pytest.raises(AssertionError):
            pipe(data, a_mail())  # nobody has taken mail here before: that is seldom
    assert kept(data) == []
    for number in range(2):
        assert pipe(data, a_mail(Message_ID=f"<{number}@x>")) == 0
    monkeypatch.setattr(mail_admin, "open_store", none)
    for number in range(5):
        assert pipe(data, a_mail(Message_ID=f"<{number}@x>")) == 0
    assert pipe(data, a_mail(Message_ID="<5@x>")) == 75
    assert pipe(data, a_mail(From="eve@example.org", To=None), "play@hkoji.example") == 0
    assert pipe(data, a_mail(), sender="") == 0
    assert pipe(data, a_mail(), "postmaster@hkoji.example") == 67
    assert len(kept(data)) == 5
