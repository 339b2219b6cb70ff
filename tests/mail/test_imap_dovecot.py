"""Fetching mail from a real Dovecot: all commands, other numbers, TLS, and a process that is killed in the middle."""

from __future__ import annotations

import random
import signal
import ssl
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hkoji_server.mail.imap import ImapPoller
from hkoji_server.mail.imap_session import ImapBrokenError, ImapError, LoginRefusedError, open_session
from hkoji_server.mail.receiving import Bounces, Receiving
from hkoji_server.mail_settings import ImapServer
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_tables import IncomingMail
from hkoji_server.store.mail_values import ImapPlace

from hkoji.game.clock import Way
from hkoji.mail.fields import LONGEST_MAIL
from tests.mail.test_imap import delivered
from tests.mail.test_receiving import OWN, a_mail, with_mailbox_and_token
from tests.support.forked import ForkedCall
from tests.support.loops import run
from tests.support.mail.dovecot_server import PASSWORD, DovecotServer, dovecot_server
from tests.support.new_database import copy_new_database
from tests.support.receiver import certified
from tests.support.stores import sqlite_at

USER = "play@hkoji.example"
KILLS = 3


@pytest.fixture
def dovecot(tmp_path: Path) -> Iterator[DovecotServer]:
    certified(tmp_path, "localhost")
    with dovecot_server(tmp_path / "certificate.pem") as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "hkoji.sqlite3"
    copy_new_database(path, with_mailbox_and_token)
    return path


def poller_of(store: Store, port: int, results: list[str]) -> ImapPoller:
    """The poller that reads the mailbox of a Dovecot."""
    sources = ClockAndEntropy()
    mail_time = ServiceTime(store, sources, outage_after=180, way=Way.MAIL, polled=True)
    bounces = Bounces(store, mail_time)
    receiving = Receiving(store, mail_time, OWN, bounces, count=lambda _, result: results.append(result.value))
    server = ImapServer("127.0.0.1", port, USER, "INBOX", tls=False)
    opened = partial(open_session, server, PASSWORD)
    return ImapPoller(store, mail_time, sources, receiving, OWN, server.place, opened)


def rows(store: Store) -> list[IncomingMail]:
    """All mails that are kept."""
    found: list[IncomingMail] = []
    while (mail := run(store.incoming(len(found) + 1))) is not None:
        found.append(mail)
    return found


def test_mails_are_read_byte_for_byte_put_away_and_read_again_under_other_numbers(
    dovecot: DovecotServer, file: Path
) -> None:
    raws = [delivered(a_mail(b"\xff.\r\n..\r\n" * number, Message_ID=f"<{number}@x>")) for number in range(3)]
    long = delivered(a_mail(b"x" * LONGEST_MAIL, Message_ID="<long@x>"))
    for raw in (*raws, delivered(a_mail(Auto_Submitted="auto-replied")), long):
        dovecot.deliver(raw)
    results: list[str] = []
    with sqlite_at(file) as store:
        poller = poller_of(store, dovecot.port, results)
        assert not run(poller.poll())
        assert results == ["kept"] * 3 + ["automatic", "kept"]
        assert [row.raw for row in rows(store)[:3]] == raws
        assert len(rows(store)[3].raw) == LONGEST_MAIL + 1
        assert (len(dovecot.inbox), len(dovecot.done)) == (0, 5)
        place = run(store.imap_place(ImapServer("127.0.0.1", dovecot.port, USER, "INBOX", tls=False).place))
        assert place is not None
        assert place.last == 5
        poller.close()
        dovecot.restore()
        time.sleep(1.1)  # Dovecot makes the number from the second
        dovecot.number_anew()
        dovecot.deliver(delivered(a_mail(Message_ID="<new@x>")))
        results.clear()
        for _ in range(3):  # it ends the connection when it notices
            try:
                run(poller.poll())
                break
            except ImapError:
                pass
        assert sorted(results) == ["automatic", "kept", *["repeated"] * 4]
        assert (len(rows(store)), len(dovecot.inbox)) == (5, 0)
        again = run(store.imap_place(ImapServer("127.0.0.1", dovecot.port, USER, "INBOX", tls=False).place))
        assert again is not None
        assert again.validity != place.validity
        assert isinstance(again, ImapPlace)
        poller.close()


def test_tls_a_wrong_password_and_a_certificate_that_is_not_trusted(dovecot: DovecotServer, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    _, stranger = certified(other, "localhost")
    trusting = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
    server = ImapServer("localhost", dovecot.tls_port, USER, "INBOX", tls=True)
    session = open_session(server, PASSWORD, context=trusting)
    assert session.files
    assert session.select() > 0
    assert session.search(0) == ()
    session.close()
    with pytest.raises(ImapBrokenError, match="SSLCertVerificationError"):
        open_session(server, PASSWORD, context=stranger)
    with pytest.raises(LoginRefusedError):
        open_session(server, "wrong", context=trusting)


def fetch_for_ever(file: Path, port: int, begun: Path) -> None:
    """Polls until it is killed, and processes what is kept."""
    with sqlite_at(file) as store:
        poller = poller_of(store, port, [])
        while True:
            run(poller.poll())
            begun.touch()
            for mail in run(store.waiting_mails(50)):
                run(store.close_incoming(Closing(mail.number)))


def test_a_process_that_is_killed_in_the_middle_of_polls_loses_no_mail_and_doubles_none(
    dovecot: DovecotServer, file: Path
) -> None:
    chance, sent, kept = random.Random(1), 0, 0
    for number in range(KILLS):
        begun = file.with_name(f"begun{number}")
        process = ForkedCall(fetch_for_ever, file, dovecot.port, begun)
        while not begun.exists():
            assert process.poll() is None
            time.sleep(0.005)
        for _ in range(6):
            dovecot.deliver(delivered(a_mail(Message_ID=f"<{sent}@x>")))
            sent += 1
        time.sleep(chance.uniform(0.01, 0.1))
        process.kill()
        assert process.wait(10) == -signal.SIGKILL
    with sqlite_at(file) as store:
        kept = len(rows(store))
    assert 0 < kept < sent  # some were killed while there was something to do
    results: list[str] = []
    with sqlite_at(file) as store:
        poller = poller_of(store, dovecot.port, results)
        while dovecot.inbox:
            run(poller.poll())
            for mail in run(store.waiting_mails(50)):
                run(store.close_incoming(Closing(mail.number)))
        assert sorted(row.message_id for row in rows(store)) == sorted(f"<{number}@x>" for number in range(sent))
        poller.close()
    assert len(set(dovecot.done)) == sent
