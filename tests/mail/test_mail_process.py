"""`hkoji admin mail run` as a process: how it starts, what it says, and how it ends."""

from __future__ import annotations

import os
import secrets
import signal
import smtplib
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hkoji_server import mail_admin
from hkoji_server.store.contract import Store

from hkoji.errors import NotFoundError, StorageError, UsageError
from hkoji.log.private_key import PrivateKey
from tests.mail.test_receiving import TO, a_mail, with_mailbox_and_token
from tests.support.conditions import until
from tests.support.forked import ForkedProcess
from tests.support.loops import run
from tests.support.mail.imap_double import PASSWORD, USER, ImapDouble, imap_server
from tests.support.metrics import free_port, read
from tests.support.new_database import copy_new_database
from tests.support.stores import sqlite_at

HKOJI = (sys.executable, "-m", "hkoji")


def with_identity(store: Store) -> None:
    """A store with the key of the service too."""
    run(store.add_identity(PrivateKey.from_seed(bytes(32)).to_openssh().decode(), "http://service"))
    with_mailbox_and_token(store)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder of a service with bob's mailbox and one token, whose game is unknown."""
    copy_new_database(tmp_path / "data" / "hkoji.sqlite3", with_identity)
    return tmp_path / "data"


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The settings of a service with mail; letters go nowhere."""
    monkeypatch.setenv("HKOJI_SERVER_MAIL", "play@hkoji.example")
    monkeypatch.setenv("HKOJI_SERVER_MAIL_LMTP", "127.0.0.1:0")
    monkeypatch.setenv("HKOJI_SERVER_MAIL_SMTP", "smtp://127.0.0.1:9")
    return monkeypatch


class Process:
    """A mail process. One that is not `forked` is the program itself."""

    program: ForkedProcess | subprocess.Popen[bytes]

    def __init__(self, data: Path, *, forked: bool = True) -> None:
        words = ["admin", "mail", "run", "--data", str(data)]
        environment = {**os.environ, "HKOJI_LANG": "en"}
        said = data.parent / f"said-{secrets.token_hex(4)}"
        with said.open("w") as stderr:
            if forked:
                self.program = ForkedProcess(words, env=environment, stderr=stderr.fileno())
            else:
                self.program = subprocess.Popen([*HKOJI, *words], env=environment, stderr=stderr)
        until(lambda: "\n" in said.read_text() or self.program.poll() is not None)
        self.ready = "".join(said.read_text().partition("\n")[:2])
        self._said = said

    def door(self) -> tuple[str, int]:
        """Where it takes mail, as it says."""
        host, _, port = self.ready.partition(" at ")[2].partition(",")[0].rpartition(":")
        return host, int(port)

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Sends a signal. Returns the exit code and what else was said."""
        os.kill(self.program.pid, number)
        code = self.program.wait(30)
        return code, self._said.read_text().removeprefix(self.ready)


def send(door: tuple[str, int], raw: bytes, to: str = TO) -> None:
    """Sends a mail as a mail server does."""
    with smtplib.LMTP(*door) as client:
        client.sendmail("bob@example.org", [to], raw)


def states(data: Path) -> list[str]:
    """The results for the mails."""
    with sqlite_at(data / "hkoji.sqlite3") as store:
        found: list[str] = []
        while (row := run(store.incoming(len(found) + 1))) is not None:
            found.append(row.state)
        return found


def test_it_says_where_it_takes_mail_keeps_what_comes_and_ends_with_sigterm(
    data: Path, settings: pytest.MonkeyPatch
) -> None:
    port = free_port()
    settings.setenv("HKOJI_SERVER_MAIL_METRICS", f"127.0.0.1:{port}")
    process = Process(data, forked=False)
    try:
        assert process.ready.startswith("hkoji takes mail for play@hkoji.example at 127.0.0.1:")
        assert process.ready.endswith(f", data in {data}; stop it with Ctrl-C\n")
        send(process.door(), a_mail())
        with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
            send(process.door(), a_mail(), "postmaster@hkoji.example")
        assert refused.value.recipients["postmaster@hkoji.example"][0] == 550
        assert read(port)['hkoji_mail_received_total{result="kept",via="lmtp"}'] == 1
        door = process.door()
    finally:
        code, rest = process.end(signal.SIGTERM)
    assert code == 0, rest
    assert len(states(data)) == 1
    with socket.socket() as sock:
        assert sock.connect_ex(door) != 0


def test_it_reads_a_mailbox_by_imap_opens_no_door_and_ends_while_the_server_is_silent(
    data: Path, settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    double, password = ImapDouble(), tmp_path / "password"
    double.deliver(a_mail(Delivered_To=TO))
    password.touch(0o600)
    password.write_text(f"{PASSWORD}\n")
    with imap_server(double) as port:
        settings.delenv("HKOJI_SERVER_MAIL_LMTP")
        settings.setenv("HKOJI_SERVER_MAIL_IMAP", f"imap://{USER}@127.0.0.1:{port}/INBOX")
        settings.setenv("HKOJI_SERVER_MAIL_IMAP_PASSWORD_FILE", str(password))
        settings.setenv("HKOJI_SERVER_OUTAGE_AFTER", "3")  # so it polls each second
        process = Process(data)
        try:
            assert " from a mailbox at 127.0.0.1, data in " in process.ready
            while not double.done:
                assert process.program.poll() is None
                time.sleep(0.02)
            stuck, released = threading.Event(), threading.Event()

            def said(command: str) -> None:
                if command.startswith("SELECT"):
                    stuck.set()
                    released.wait(30)

            double.said = said
            assert stuck.wait(20)
        finally:
            code, rest = process.end(signal.SIGTERM)
            released.set()
        assert code == 0, rest
        assert PASSWORD not in rest
    assert len(states(data)) == 1


def test_ctrl_c_ends_it_as_it_ends_the_service(data: Path, settings: pytest.MonkeyPatch) -> None:
    code, _ = Process(data).end(signal.SIGINT)
    assert code == 130


def test_everything_acknowledged_is_there_after_a_kill(data: Path, settings: pytest.MonkeyPatch) -> None:
    process = Process(data)
    send(process.door(), a_mail())
    process.end(signal.SIGKILL)
    assert len(states(data)) == 1
    again = Process(data)
    send(again.door(), a_mail())  # the mail server may not have heard of it
    again.end(signal.SIGTERM)
    assert len(states(data)) == 1


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MAIL", None, "this service has no mail address"),
        ("MAIL_SMTP", "smtps://me@mail.example", "mail_smtp needs a user and a password"),
        ("MAIL_SMTP_PASSWORD_FILE", "/nowhere", "mail_smtp needs a user and a password"),
        ("MAIL_SMTP", "ftp://mail.example", "the setting mail_smtp is not valid"),
        ("MAIL_IMAP", "imaps://me@mail.example", "mail_imap needs a user and a password"),
        ("MAIL_IMAP", "imap://me@mail.example", "the setting mail_imap is not valid"),
    ],
)
def test_settings_with_which_nothing_can_be_done(
    data: Path, settings: pytest.MonkeyPatch, name: str, value: str | None, said: str
) -> None:
    if value is None:
        settings.delenv(f"HKOJI_SERVER_{name}")
    else:
        settings.setenv(f"HKOJI_SERVER_{name}", value)
    with pytest.raises(UsageError, match=said):
        mail_admin.run(data, database=None, config=None, log_level=None)


def test_a_folder_without_a_service_is_not_made(tmp_path: Path, settings: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError):
        mail_admin.run(tmp_path / "none", database=None, config=None, log_level=None)
    assert not (tmp_path / "none").exists()
    with pytest.raises(UsageError, match="a service needs a folder"):
        mail_admin.run(None, database=None, config=None, log_level=None)


def test_a_part_that_fails_ends_the_process(data: Path, settings: pytest.MonkeyPatch) -> None:
    async def failing(*_: object) -> None:
        raise RuntimeError("a fault of the program")

    settings.setattr("hkoji_server.mail_app.work_at_intervals", failing)
    with pytest.raises(RuntimeError, match="a fault of the program"):
        mail_admin.run(data, database=None, config=None, log_level=None)


def test_a_place_that_is_taken(data: Path, settings: pytest.MonkeyPatch) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        settings.setenv("HKOJI_SERVER_MAIL_LMTP", f"127.0.0.1:{busy.getsockname()[1]}")
        with pytest.raises(StorageError, match="cannot take mail at"):
            mail_admin.run(data, database=None, config=None, log_level=None)


def test_without_the_packages_of_mail_it_says_how_to_install_them(data: Path, settings: pytest.MonkeyPatch) -> None:
    for module in [
        name for name in sys.modules if name.startswith(("aiosmtpd", "hkoji_server.mail.lmtp", "hkoji_server.mail_app"))
    ]:
        settings.delitem(sys.modules, module)
    settings.setitem(sys.modules, "aiosmtpd.lmtp", None)
    with pytest.raises(UsageError, match="playing by mail needs the package aiosmtpd") as raised:
        mail_admin.run(data, database=None, config=None, log_level=None)
    assert "[mail]" in raised.value.hint
