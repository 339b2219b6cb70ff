"""`hkoji admin mail receive`: what a mail server's pipe learns from its exit code, and what is kept."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hkoji_server import mail_admin
from hkoji_server.store.mail_values import MOST_WAITING

from hkoji.mail.tokens import token_digest
from tests.mail.test_receiving import (
    BOUNCES,
    FROM_ITSELF,
    GAME,
    OTHER_TOKEN,
    SECONDS,
    TO,
    TO_ITSELF,
    TOKEN,
    a_mail,
    report,
    seconds_for,
    with_mailbox_and_token,
)
from tests.support.forked import run_forked
from tests.support.loops import run
from tests.support.new_database import copy_new_database
from tests.support.stores import sqlite_at

BOMBS = sorted((Path(__file__).parents[1] / "data" / "bombs").iterdir())
HKOJI = (sys.executable, "-m", "hkoji")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a service with bob's mailbox and one token."""
    monkeypatch.setenv("HKOJI_SERVER_MAIL", "play@hkoji.example")
    copy_new_database(tmp_path / "data" / "hkoji.sqlite3", with_mailbox_and_token)
    return tmp_path / "data"


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A mail has been taken in this process, so nothing is left to import."""
    folder = tmp_path_factory.mktemp("warm") / "data"
    copy_new_database(folder / "hkoji.sqlite3", with_mailbox_and_token)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HKOJI_SERVER_MAIL", "play@hkoji.example")
        assert pipe(folder, a_mail()) == 0


def pipe(data: Path, raw: bytes, to: str = TO, sender: str | None = None) -> int:
    """Takes a mail in this process."""
    return mail_admin.receive(to, io.BytesIO(raw), sender=sender, data=data)


def program(data: Path, raw: bytes, *words: str, to: str = TO) -> subprocess.CompletedProcess[bytes]:
    """Takes a mail as a mail server has it taken, in a new process."""
    return subprocess.run(
        [*HKOJI, "admin", "mail", "receive", "--recipient", to, "--data", str(data), *words],
        input=raw,
        capture_output=True,
        check=False,
        env={**os.environ, "HKOJI_LANG": "en"},
    )


def forked(data: Path, raw: bytes, *words: str, to: str = TO) -> subprocess.CompletedProcess[str]:
    """Takes a mail by the command, in a forked process: for what does not depend on how it starts."""
    line = ["admin", "mail", "receive", "--recipient", to, "--data", str(data), *words]
    return run_forked(line, env={**os.environ, "HKOJI_LANG": "en"}, stdin=raw.decode())


def kept(data: Path) -> list[tuple[str, str, str, bytes]]:
    """The mails that are kept: how they came, for whom, for which game, their bytes."""
    with sqlite_at(data / "hkoji.sqlite3") as store:
        rows: list[tuple[str, str, str, bytes]] = []
        while (row := run(store.incoming(len(rows) + 1))) is not None:
            rows.append((row.via, row.name, row.game, row.raw))
            assert row.tries == 0  # this process does not process it
        return rows


def test_a_mail_is_kept_before_the_program_ends_with_0(data: Path) -> None:
    raw = a_mail(b"1e\n\n-- \nBob\n").replace(b"\r\n", b"\n")
    done = program(data, raw)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert kept(data) == [("pipe", "bob", GAME, raw)]
    assert forked(data, raw).returncode == 0  # the mail server has not heard of it, and tries again
    assert len(kept(data)) == 1


def test_a_mail_is_taken_without_loading_games() -> None:
    """The program starts for each mail. With what reads games it takes a fifth longer to start."""
    code = "import sys, hkoji_server.mail.receiving; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "hkoji_server.mail.receiving" in loaded
    assert {"hkoji.game.course", "hkoji.show", "sqlalchemy", "fastapi"}.isdisjoint(loaded)


def test_exit_codes(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program(data, a_mail(), to="postmaster@hkoji.example").returncode == 67
    missing = program(tmp_path / "none", a_mail())
    assert missing.returncode == 75
    assert b"the mail has to come again" in missing.stderr
    assert not (tmp_path / "none").exists()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "hkoji.sqlite3").write_bytes(b"no database at all" * 1000)
    assert forked(tmp_path / "broken", a_mail()).returncode == 75
    monkeypatch.setenv("HKOJI_SERVER_MAIL_DELIMITER", "?")
    assert forked(data, a_mail()).returncode == 75  # a mistake in the settings must not make mails bounce
    monkeypatch.delenv("HKOJI_SERVER_MAIL_DELIMITER")
    monkeypatch.delenv("HKOJI_SERVER_MAIL")
    unset = forked(data, a_mail())
    assert unset.returncode == 75
    assert "this service has no mail address" in unset.stderr
    assert kept(data) == []


def test_while_five_mails_of_a_player_wait_another_has_to_come_again(data: Path) -> None:
    for number in range(MOST_WAITING):
        assert pipe(data, a_mail(Message_ID=f"<{number}@x>")) == 0
    assert pipe(data, a_mail(Message_ID="<6@x>")) == 75
    assert forked(data, a_mail(Message_ID="<6@x>")).returncode == 75
    assert len(kept(data)) == MOST_WAITING


@pytest.mark.parametrize(
    ("sender", "top"),
    [("", b""), ("MAILER-DAEMON", b""), (None, b"Return-Path: <>\n"), (None, b"From x\nReturn-Path: <>\r\n")],
)
def test_a_player_who_has_sent_nothing_gets_nothing(data: Path, sender: str | None, top: bytes) -> None:
    assert pipe(data, top + a_mail(), sender=sender) == 0
    assert kept(data) == []


@pytest.mark.parametrize(
    ("sender", "top"), [("bob@example.org", b""), (None, b""), (None, b"Return-Path: <bob@example.org>\n")]
)
def test_a_sender_that_is_not_null_or_not_known_is_kept(data: Path, sender: str | None, top: bytes) -> None:
    assert pipe(data, top + a_mail(), sender=sender) == 0
    assert len(kept(data)) == 1


def test_a_bounce_through_the_pipe_pauses_letters(data: Path) -> None:
    assert pipe(data, report("5.1.1"), BOUNCES) == 0
    with sqlite_at(data / "hkoji.sqlite3") as store:
        box = run(store.mailbox_at("bob@example.org"))
        assert box is not None
        assert box.paused is not None
    assert kept(data) == []


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda path: path.stem)
@pytest.mark.parametrize("to", [TO, BOUNCES, "play+x@hkoji.example"])
def test_a_mail_that_is_made_to_take_long_does_not(warm: None, data: Path, bomb: Path, to: str) -> None:
    raw = bomb.read_bytes()
    assert seconds_for(lambda: pipe(data, raw, to)) < SECONDS
    assert pipe(data, raw, to) == 0


def test_more_than_is_ever_read_is_taken_to_its_end(data: Path) -> None:
    raw = a_mail(b"x" * 2_000_000)
    assert forked(data, raw).returncode == 0
    ((_, _, _, row),) = kept(data)
    assert row == raw[: 256 * 1024 + 1]


def test_a_mail_of_the_service_to_itself_comes_through_the_pipe(data: Path) -> None:
    raw, digest = a_mail(**FROM_ITSELF), token_digest(OTHER_TOKEN)
    assert pipe(data, raw, TO_ITSELF) == 0
    with sqlite_at(data / "hkoji.sqlite3") as store:
        run(store.add_probe(digest, "2026-03-01T00:00:00Z"))
    assert pipe(data, raw, TO_ITSELF) == 0
    with sqlite_at(data / "hkoji.sqlite3") as store:
        assert run(store.probe(digest)) == (TO_ITSELF, raw)
    assert kept(data) == []


def test_the_queue_says_what_waits(data: Path) -> None:
    assert mail_admin.queue(data)["mails"] == 0
    pipe(data, a_mail())
    found = mail_admin.queue(data)
    assert found["mails"] == 1
    assert found["mails_since"] is not None
    line = ["admin", "mail", "queue", "--data", str(data)]
    shown = run_forked(line, env={**os.environ, "HKOJI_LANG": "en"})
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[0] == f"1 mail waits to be processed, the oldest since {found['mails_since']}"
    assert shown.stdout.splitlines()[1] == "0 letters wait to be sent"


def test_no_secret_of_a_mail_is_printed_or_logged(data: Path) -> None:
    done = program(data, a_mail(b"the hidden word"), "--sender", "bob@example.org")
    assert done.stdout + done.stderr == b""
    failed = forked(data / "none", a_mail(b"the hidden word"))
    assert failed.returncode == 75
    said = failed.stdout + failed.stderr
    assert all(each not in said for each in ("hidden", TOKEN, "bob"))
