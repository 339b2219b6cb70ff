"""Fetching mail by IMAP: what is taken and put away, and what happens where a server fails. The server is a double."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from hkoji_server.mail import imap
from hkoji_server.mail.imap import MOST_A_POLL, ImapPoller, pace_of, poll_at_intervals
from hkoji_server.mail.imap_session import (
    ImapBrokenError,
    ImapError,
    ImapRefusedError,
    LoginRefusedError,
    open_session,
)
from hkoji_server.mail.receiving import Bounces, Received, Receiving
from hkoji_server.mail_settings import ImapServer
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.closing import Closing
from hkoji_server.store.mail_values import MOST_WAITING, ImapPlace

from hkoji.errors import StorageError
from hkoji.game.clock import Way
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.fields import LONGEST_MAIL
from hkoji.mail.mail import read_mail
from tests.mail.test_receiving import BOUNCES, OWN, TO, TOKEN, Office, a_mail, office_at, report
from tests.support.loops import run
from tests.support.mail.imap_double import PASSWORD, USER, BreakOffError, ImapDouble, Said, imap_server
from tests.support.receiver import certified
from tests.support.service_in_process import Clock
from tests.support.times import log_time

PLACE = "here"
AFTER = 180


class FetchingOffice:
    """A store with bob's mailbox and a token, an IMAP server, and what fetches from it. The test moves the clock."""

    def __init__(self, office: Office, double: ImapDouble, port: int, own: OwnAddress = OWN) -> None:
        self.office = office
        self.store = office.store
        self.double = double
        self.port = port
        self.own = own
        self.clock = Clock(ClockAndEntropy().clock())
        self.results: list[str] = []
        self.poller = self._begin(PASSWORD)

    def start(self, password: str = PASSWORD) -> None:
        """A mail process begins, after a kill of the one before."""
        self.poller.close()
        self.poller = self._begin(password)

    def _begin(self, password: str) -> ImapPoller:
        sources = ClockAndEntropy(self.clock, boot=self.clock.elapsed)
        self.time = ServiceTime(self.store, sources, outage_after=AFTER, way=Way.MAIL, polled=True)
        receiving = Receiving(
            self.store,
            self.time,
            self.own,
            Bounces(self.store, self.time),
            count=lambda via, result: self.results.append(f"{via} {result}"),
        )
        server = ImapServer("127.0.0.1", self.port, USER, "INBOX", tls=False)
        opened = partial(open_session, server, password)
        return ImapPoller(self.store, self.time, sources, receiving, self.own, PLACE, opened)

    def poll(self) -> list[str]:
        """Polls once. Returns what became of the mails that were read."""
        before = len(self.results)
        run(self.poller.poll())
        return [each.removeprefix("imap ") for each in self.results[before:]]

    def now(self, seconds: int = 0) -> str:
        """The time by the clock of the test, and so many seconds later."""
        return log_time(self.clock() + timedelta(seconds=seconds))

    @property
    def beat(self) -> str | None:
        return run(self.store.last_beat(Way.MAIL))

    @property
    def kept(self) -> list[bytes]:
        return [row.raw for row in self.office.rows()]

    def deliver(self, *numbers: int) -> list[bytes]:
        """Delivers mails of bob's to his token, numbered. Returns them."""
        raws = [delivered(a_mail(Message_ID=f"<{number}@x>")) for number in numbers]
        for raw in raws:
            self.double.deliver(raw)
        return raws

    def close_all(self) -> None:
        """Processes all that waits."""
        for number, row in enumerate(self.office.rows(), 1):
            if row.state == "new":
                run(self.store.close_incoming(Closing(number)))


def delivered(raw: bytes, to: str = TO, sender: str = "bob@example.org") -> bytes:
    """A mail with what the provider writes on top of it."""
    return f"Return-Path: <{sender}>\r\nDelivered-To: {to}\r\nReceived: by x\r\n\tfor y\r\n".encode() + raw


@pytest.fixture
def fetching(tmp_path: Path) -> Iterator[FetchingOffice]:
    double = ImapDouble()
    with imap_server(double) as port, office_at(tmp_path / "hkoji.sqlite3") as office:
        made = FetchingOffice(office, double, port)
        yield made
        made.poller.close()


# --- what is taken ----------------------------------------------------------------------------------------------------


def test_a_mail_becomes_one_row_with_its_bytes_and_is_put_away(fetching: FetchingOffice) -> None:
    (raw,) = fetching.deliver(1)
    assert fetching.poll() == ["kept"]
    (row,) = fetching.office.rows()
    assert (row.raw, row.via, row.name, row.reply) == (raw, "imap", "bob", fetching.office.reply.digest)
    assert (fetching.double.inbox, fetching.double.done) == ([], [raw])
    assert fetching.beat is not None
    assert fetching.poll() == []
    assert fetching.double.connections == 1


def test_the_same_mail_counts_once_whichever_ways_it_takes(fetching: FetchingOffice) -> None:
    raw = a_mail()
    assert fetching.office.take(raw) is Received.KEPT
    fetching.double.deliver(delivered(raw))
    assert fetching.poll() == ["repeated"]
    bare = a_mail(Message_ID="<2@x>", To="play@hkoji.example")
    fetching.double.deliver(delivered(bare, "play@hkoji.example"))
    assert fetching.poll() == ["kept"]
    assert fetching.office.take(bare, "play@hkoji.example") is Received.REPEATED
    assert len(fetching.kept) == 2
    assert fetching.double.inbox == []


def test_a_mail_that_needs_no_answer_is_put_away_too_and_leaves_no_row(fetching: FetchingOffice) -> None:
    letter = a_mail(From="hkoji <play@hkoji.example>", X_Hkoji="turn", Auto_Submitted="auto-generated")
    for raw in (
        a_mail(Auto_Submitted="auto-replied"),
        a_mail(From="eve@example.org", To="play@hkoji.example"),
        letter,
        a_mail(From="hkoji <play@hkoji.example>"),
    ):
        fetching.double.deliver(delivered(raw, "play@hkoji.example"))
    fetching.double.deliver(delivered(a_mail(), sender=""))
    assert fetching.poll() == ["automatic", "no letter", "automatic", "own", "null sender"]
    assert fetching.kept == []
    assert fetching.double.inbox == []
    assert len(fetching.double.done) == 5


@pytest.mark.parametrize(
    ("top", "envelope"),
    [
        (f"Delivered-To: {TO}\r\n", (TO, None)),
        (f"Return-Path: <x@y>\r\nX-Original-To: {TO}\r\nDelivered-To: box17@provider\r\n", (TO, False)),
        (f"Delivered-To: <{TO.upper()}>\r\n", (TO.upper(), None)),
        (f"Delivered-To: play@hkoji.example\r\nDelivered-To: {TO}\r\n", ("play@hkoji.example", None)),
        (f"Return-Path: <>\r\nDelivered-To: {BOUNCES}\r\n", (BOUNCES, True)),
        ("Return-Path: <>\r\nReturn-Path: <x@y>\r\n", ("play@hkoji.example", True)),
        (f"no field\r\nDelivered-To:\r\n {TO}\r\n", (TO, None)),
        ("", ("play@hkoji.example", None)),
    ],
)
def test_the_envelope_is_what_stands_on_top(top: str, envelope: tuple[str, bool | None]) -> None:
    raw = top.encode() + a_mail(To="play@hkoji.example", Subject=TO)
    assert read_mail(raw).envelope(OWN) == envelope
    assert read_mail(raw + b"x" * LONGEST_MAIL).envelope(OWN) == envelope


def test_a_bounce_is_known_by_its_address_and_without_one_by_the_id_that_it_quotes(fetching: FetchingOffice) -> None:
    fetching.double.deliver(delivered(report("5.1.1"), BOUNCES, sender=""))
    assert fetching.poll() == ["bounce"]
    assert fetching.office.paused()


@pytest.mark.parametrize("top", ["Return-Path: <>\r\n", ""])
def test_without_a_delimiter_ids_are_all_that_tells_which_letter_is_answered(tmp_path: Path, top: str) -> None:
    own, double = OwnAddress("play@hkoji.example", ""), ImapDouble()
    with imap_server(double) as port, office_at(tmp_path / "hkoji.sqlite3", own=own) as office:
        fetching = FetchingOffice(office, double, port, own)
        ours = f"<turn.12.{TOKEN}@hkoji.example>"
        to = {"To": "play@hkoji.example", "From": "eve@example.org"}
        double.deliver(delivered(a_mail(**to, In_Reply_To=ours), "play@hkoji.example"))
        double.deliver(a_mail(**to, Message_ID="<2@x>", References=f"<a@b> {ours}"))
        double.deliver(a_mail(b"x" * LONGEST_MAIL, **to, Message_ID="<3@x>", In_Reply_To=ours))
        double.deliver(delivered(a_mail(**to, Message_ID="<4@x>"), TO))
        assert fetching.poll() == ["kept", "kept", "kept", "no letter"]
        assert [row.reply for row in office.rows()] == [office.reply.digest] * 3
        double.deliver(top.encode() + report("5.1.1"))
        assert fetching.poll() == ["bounce"]
        assert office.paused()
        double.deliver(b"Return-Path: <eve@example.org>\r\n" + report("5.1.1"))
        assert fetching.poll() == ["automatic"]
        fetching.poller.close()


def test_of_a_mail_that_is_too_long_only_its_beginning_is_fetched_and_a_letter_can_say_why(
    fetching: FetchingOffice,
) -> None:
    fetching.double.deliver(delivered(a_mail(b"x" * 5 * LONGEST_MAIL)))
    assert fetching.poll() == ["kept"]
    (row,) = fetching.office.rows()
    assert (len(row.raw), row.reply) == (LONGEST_MAIL + 1, fetching.office.reply.digest)
    assert fetching.double.inbox == []


# --- the place --------------------------------------------------------------------------------------------------------


def test_after_a_kill_between_keeping_and_putting_away_a_mail_is_neither_lost_nor_doubled(
    fetching: FetchingOffice,
) -> None:
    fetching.deliver(1, 2)

    def broken(command: str) -> bytes | None:
        if command.startswith("UID MOVE"):
            raise BreakOffError
        return None

    fetching.double.said = broken
    with pytest.raises(ImapBrokenError):
        fetching.poll()
    assert (len(fetching.kept), fetching.double.inbox, fetching.beat is None) == (2, [1, 2], False)
    fetching.double.said = lambda _: None
    fetching.start()
    fetching.deliver(3)
    assert fetching.poll() == ["repeated", "repeated", "kept"]
    assert (len(fetching.kept), fetching.double.inbox, len(fetching.double.done)) == (3, [], 3)


def test_a_new_uidvalidity_lets_all_be_read_again_and_nothing_counts_twice(fetching: FetchingOffice) -> None:
    fetching.double.capabilities = "IMAP4rev1 AUTH=PLAIN"  # so that all stays in the folder
    raws = fetching.deliver(1, 2, 3)
    assert fetching.poll() == ["kept"] * 3
    assert fetching.poll() == []
    assert run(fetching.store.imap_place(PLACE)) == ImapPlace(7, 3)
    fetching.start()
    assert fetching.poll() == []
    fetching.double.number_anew()
    fetching.deliver(4)
    assert fetching.poll() == ["repeated"] * 3 + ["kept"]
    assert run(fetching.store.imap_place(PLACE)) == ImapPlace(8, 4)
    assert [row.raw for row in fetching.office.rows()][:3] == raws
    assert fetching.poll() == []
    fetching.double.number_anew()
    fetching.start()
    assert fetching.poll() == ["repeated"] * 4


def test_the_sixth_mail_of_a_player_stays_in_the_folder_and_holds_up_nobody(fetching: FetchingOffice) -> None:
    fetching.deliver(*range(1, MOST_WAITING + 3))
    fetching.double.deliver(delivered(a_mail(From="eve@example.org", To="play@hkoji.example"), "play@hkoji.example"))
    assert fetching.poll() == ["kept"] * MOST_WAITING + ["full"] * 2 + ["no letter"]
    assert fetching.double.inbox == [6, 7]
    fetching.deliver(9)
    assert fetching.poll() == ["full", "full", "full"]
    fetching.close_all()
    fetching.start()  # whoever was killed meanwhile still knows of them
    assert fetching.poll() == ["kept"] * 3
    assert fetching.double.inbox == []
    assert len({row.message_id for row in fetching.office.rows()}) == 8


def test_new_mails_are_read_before_those_that_had_to_wait(fetching: FetchingOffice) -> None:
    fetching.deliver(*range(1, MOST_WAITING + 2))
    assert fetching.poll()[-1] == "full"
    fetching.close_all()
    (new,) = fetching.deliver(8)
    assert fetching.poll() == ["kept", "kept"]
    assert fetching.kept[-2] == new


def test_a_flood_is_taken_in_several_polls_each_of_which_is_a_beat(fetching: FetchingOffice) -> None:
    eve = delivered(a_mail(From="eve@example.org", To="play@hkoji.example"), "play@hkoji.example")
    for _ in range(MOST_A_POLL + 1):
        fetching.double.deliver(eve)
    fetching.deliver(1)
    assert run(fetching.poller.poll())
    assert len(fetching.results) == MOST_A_POLL
    assert fetching.beat is not None
    assert not run(fetching.poller.poll())
    assert fetching.results[-2:] == ["imap no letter", "imap kept"]
    assert fetching.double.inbox == []


# --- putting away -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capabilities", "prefix"),
    [("IMAP4rev1 MOVE", ""), ("IMAP4rev1 UIDPLUS", ""), ("IMAP4rev1 MOVE NAMESPACE AUTH=PLAIN", "INBOX.")],
)
def test_mails_are_put_into_the_folder_of_what_is_done_which_is_made_if_need_be(
    fetching: FetchingOffice, capabilities: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.mail.imap_double.PASSWORD", "plain")
    fetching.start("plain")
    fetching.double.capabilities, fetching.double.prefix = capabilities, prefix
    raws = fetching.deliver(1, 2)
    other = fetching.double.deliver(delivered(a_mail(Message_ID="<other@x>")))
    fetching.double.flags[other] = {r"\Deleted"}  # by somebody else
    assert fetching.poll() == ["kept"] * 3
    assert fetching.double.done[:2] == raws
    assert fetching.double.inbox == []
    assert f"{prefix}hkoji-done" in fetching.double.folders
    assert not any(each.strip() == "EXPUNGE" for each in fetching.double.commands)


def test_only_mails_that_are_done_with_are_removed(fetching: FetchingOffice) -> None:
    fetching.double.capabilities = "IMAP4rev1 UIDPLUS AUTH=PLAIN"
    fetching.deliver(*range(1, MOST_WAITING + 2))
    fetching.double.flags[6] = {r"\Deleted"}  # the one that has to wait, by somebody else
    assert fetching.poll()[-1] == "full"
    assert fetching.double.inbox == [6]


def test_a_server_that_cannot_put_mails_away_marks_them_as_read_and_they_are_not_read_again(
    fetching: FetchingOffice,
) -> None:
    fetching.double.capabilities = "IMAP4rev1 AUTH=PLAIN"
    fetching.deliver(1)
    assert fetching.poll() == ["kept"]
    assert (fetching.double.inbox, fetching.double.flags) == ([1], {1: {r"\Seen"}})
    assert fetching.poll() == []


@pytest.mark.parametrize("refused", ["UID MOVE", "CREATE"])
def test_a_server_that_refuses_to_put_mails_away_does_not_stop_the_others(
    fetching: FetchingOffice, refused: str
) -> None:
    fetching.double.said = lambda command: b"NO over quota\r\n" if command.startswith(refused) else None
    fetching.deliver(1)
    assert fetching.poll() == ["kept"]
    assert fetching.beat is not None
    assert fetching.double.inbox == [1]
    fetching.deliver(2)
    assert fetching.poll() == ["kept"]
    fetching.start()
    assert fetching.poll() == []


# --- failures ---------------------------------------------------------------------------------------------------------

LITERAL = b"* 1 FETCH (UID 1 BODY[] {%d}\r\n"


@pytest.mark.parametrize(
    ("at", "sent"),
    [
        ("AUTHENTICATE", b""),
        ("SELECT", b"* 1 EXISTS\r\n* BYE going down\r\n"),
        ("SELECT", b"nonsense\r\n"),
        ("UID SEARCH", b"* SEARCH 1 x\r\n"),
        ("UID FETCH", b""),
        ("UID FETCH", LITERAL % 100 + b"From: x"),
        ("UID FETCH", LITERAL % 10**12),
        ("UID FETCH", LITERAL % 10**30),
        ("UID FETCH", b"* 1 FETCH (UID 1 BODY[] " + b"x" * 1_100_000 + b")\r\n"),
        ("UID FETCH", b"* 7 EXISTS\r\n" * 300_000),
        ("UID FETCH", LITERAL % 1 + b"x" + b"(" * 50_000 + b"\r\n"),
    ],
)
def test_a_connection_that_breaks_or_a_server_that_sends_anything_is_an_incomplete_poll_and_nothing_is_lost(
    fetching: FetchingOffice, at: str, sent: bytes
) -> None:
    (raw,) = fetching.deliver(1)

    def said(command: str) -> bytes | None:
        if command.startswith(at) and "RFC822" not in command:
            raise BreakOffError(sent)
        return None

    fetching.double.said = said
    with pytest.raises(ImapBrokenError) as raised:
        fetching.poll()
    assert PASSWORD not in str(raised.value)
    assert fetching.kept == []
    assert run(fetching.store.imap_place(PLACE)) is None
    fetching.double.said = lambda _: None
    assert fetching.poll() == ["kept"]
    assert fetching.kept == [raw]
    assert fetching.double.connections == 2


@pytest.mark.parametrize(
    ("at", "sent"),
    [
        ("SELECT", b"* 1 EXISTS\r\n* OK [UIDVALIDITY %d] x\r\nOK done\r\n"),
        ("UID SEARCH", b"* SEARCH 1 %d\r\nOK done\r\n"),
    ],
)
def test_a_number_that_no_server_may_send_is_an_incomplete_poll(fetching: FetchingOffice, at: str, sent: bytes) -> None:
    (raw,) = fetching.deliver(1)
    fetching.double.said = lambda command: sent % 2**64 if command.startswith(at) else None
    with pytest.raises(ImapBrokenError):
        fetching.poll()
    assert (fetching.kept, fetching.beat, run(fetching.store.imap_place(PLACE))) == ([], None, None)
    fetching.double.said = lambda _: None
    assert fetching.poll() == ["kept"]
    assert fetching.kept == [raw]


@pytest.mark.parametrize("answer", [b"NO x\r\n", b"BAD x\r\n"])
@pytest.mark.parametrize("at", ["SELECT", "UID SEARCH", "UID FETCH 1 (RFC822.SIZE)"])
def test_a_refusal_of_what_every_poll_needs_is_an_incomplete_poll(
    fetching: FetchingOffice, at: str, answer: bytes
) -> None:
    fetching.deliver(1)
    fetching.double.said = lambda command: answer if command.startswith(at) else None
    with pytest.raises(ImapRefusedError) as raised:
        fetching.poll()
    assert USER not in str(raised.value)
    assert (fetching.kept, fetching.beat) == ([], None)
    fetching.double.said = lambda _: None
    assert fetching.poll() == ["kept"]


def test_a_login_that_is_refused_says_so_without_the_user_or_the_password(fetching: FetchingOffice) -> None:
    for capabilities, wrong in (("AUTH=PLAIN", 'wr"ong é'), ("", 'wr"ong \\')):
        fetching.double.capabilities = f"IMAP4rev1 {capabilities}"
        fetching.start(wrong)
        with pytest.raises(LoginRefusedError, match="refuses the user or the password") as raised:
            fetching.poll()
        assert USER not in str(raised.value)
        assert "wr" not in str(raised.value)


def test_a_password_is_sent_as_it_is_by_login_too(fetching: FetchingOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.mail.imap_double.PASSWORD", 'a "b" \\c')
    fetching.double.capabilities = "IMAP4rev1"
    fetching.start('a "b" \\c')
    fetching.deliver(1)
    assert fetching.poll() == ["kept"]


@pytest.mark.parametrize("answer", [b"NO x\r\n", b"* 1 FETCH (UID 1 BODY[] NIL)\r\nOK done\r\n"])
def test_a_mail_that_the_server_does_not_give_holds_up_no_other(fetching: FetchingOffice, answer: bytes) -> None:
    fetching.deliver(1, 2)
    fetching.double.said = lambda command: answer if command.startswith("UID FETCH 1 (BODY") else None
    for expected in (["kept"], [], []):
        assert fetching.poll() == expected
        assert fetching.beat is not None
    asked = len(fetching.double.commands)
    assert fetching.poll() == []
    assert not any("BODY" in each for each in fetching.double.commands[asked:])
    fetching.double.said = lambda _: None
    fetching.clock.pass_by(301)
    assert fetching.poll() == ["kept"]
    assert fetching.double.inbox == []


def test_a_mail_that_breaks_the_connection_comes_last_and_is_left_alone_after_three_tries(
    fetching: FetchingOffice,
) -> None:
    fetching.deliver(1, 2)

    def said(command: str) -> bytes | None:
        if command.startswith("UID FETCH 1 (BODY"):
            raise BreakOffError
        return None

    fetching.double.said = said
    with pytest.raises(ImapBrokenError):
        fetching.poll()
    for number in (3, 4):
        fetching.deliver(number)
        with pytest.raises(ImapBrokenError):
            fetching.poll()
    assert len(fetching.kept) == 3
    assert fetching.double.inbox == [1, 2, 3, 4]
    assert fetching.poll() == []
    assert fetching.double.inbox == [1]
    assert fetching.beat is not None
    fetching.start()
    fetching.double.said = lambda _: None
    assert fetching.poll() == ["kept"]


def test_a_mail_at_which_the_program_fails_holds_up_no_other(
    fetching: FetchingOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = fetching.deliver(1, 2)

    def failing(raw: bytes) -> object:
        if raw == bad:
            raise RuntimeError("a fault of the program")
        return read_mail(raw)

    with monkeypatch.context() as patch:
        patch.setattr(imap, "read_mail", failing)
        assert fetching.poll() == ["kept"]
    assert fetching.kept == [good]
    assert fetching.poll() == ["kept"]


def test_while_the_database_fails_the_mails_stay_in_the_folder_and_there_is_no_beat(
    fetching: FetchingOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetching.poll()
    before = fetching.beat
    fetching.deliver(1, 2)

    async def broken(*_: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(fetching.store, "add_incoming", broken)
        with pytest.raises(StorageError):
            fetching.poll()
    assert (fetching.kept, fetching.double.inbox, fetching.beat) == ([], [1, 2], before)
    assert fetching.poll() == ["kept", "kept"]


def silent_until(released: threading.Event) -> Said:
    """Lets a server open no folder before that."""

    def said(command: str) -> None:
        if command.startswith("SELECT"):
            released.wait(20)

    return said


def test_a_server_that_does_not_answer_is_cut_off(fetching: FetchingOffice, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(imap, "_STEP_SECONDS", 0.2)
    fetching.double.said = silent_until(released)
    with pytest.raises(ImapBrokenError, match="too long"):
        fetching.poll()
    released.set()
    fetching.double.said = lambda _: None
    monkeypatch.setattr(imap, "_STEP_SECONDS", 20)
    fetching.deliver(1)
    assert fetching.poll() == ["kept"]


def test_a_poll_that_nobody_waits_for_any_more_ends_at_once(fetching: FetchingOffice) -> None:
    released = threading.Event()
    fetching.double.said = silent_until(released)

    async def stopped() -> None:
        task = asyncio.create_task(poll_at_intervals(fetching.poller, 0.01))
        while not any(each.startswith("SELECT") for each in fetching.double.commands):
            await asyncio.sleep(0.01)
        task.cancel()
        async with asyncio.timeout(5):
            with pytest.raises(asyncio.CancelledError):
                await task

    run(stopped())
    released.set()


def test_a_mail_that_somebody_else_has_moved_is_no_failure(fetching: FetchingOffice) -> None:
    fetching.deliver(1, 2)

    def said(command: str) -> bytes | None:
        if command.startswith("UID FETCH 1,2"):
            fetching.double.folders["INBOX"].pop(1)
        if command.startswith("UID FETCH 2"):
            fetching.double.folders["INBOX"].pop(2)
        return None

    fetching.double.said = said
    assert fetching.poll() == []
    assert fetching.beat is not None
    assert run(fetching.store.imap_place(PLACE)) == ImapPlace(7, 2)


# --- between polls ----------------------------------------------------------------------------------------------------


def test_after_failures_it_waits_longer_each_time_and_longest_after_a_refused_login(fetching: FetchingOffice) -> None:
    answers: list[Exception | bool] = [
        *[ImapBrokenError("x")] * 6,
        True,
        False,
        StorageError("x"),
        LoginRefusedError("x"),
        False,
    ]
    waits: list[float] = []

    class Stub:
        async def poll(self) -> bool:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        def close(self) -> None:
            closed.append(True)

    closed: list[bool] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        if not answers:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(poll_at_intervals(Stub(), 30, pause=pause))  # type: ignore[arg-type] # it polls
    assert waits == [5, 10, 20, 40, 60, 60, 0, 30, 5, 300, 30]
    assert closed == [True]


@pytest.mark.parametrize(("outage_after", "pace"), [(180, 30), (3, 1), (60, 20), (10**6, 30)])
def test_polls_are_frequent_enough_that_no_pause_is_an_outage(outage_after: int, pace: float) -> None:
    assert pace_of(outage_after) == pace


def test_while_the_server_is_away_nothing_is_noted_and_the_outage_is_recorded_before_the_first_mail(
    fetching: FetchingOffice,
) -> None:
    fetching.poll()
    last, began = fetching.now(), fetching.now(1)
    fetching.deliver(1)
    fetching.double.said = lambda _: b"BYE\r\n"
    for _ in range(10):
        fetching.clock.pass_by(60)
        with pytest.raises(ImapError):
            fetching.poll()
        run(fetching.time.beat())
    assert (fetching.beat, run(fetching.store.outages())) == (last, ())
    fetching.double.said = lambda _: None
    assert fetching.poll() == ["kept"]
    assert run(fetching.store.outages()) == ((began, fetching.now(), Way.MAIL),)
    (row,) = fetching.office.rows()
    assert row.received == fetching.beat == fetching.now()


def test_after_a_short_failure_there_is_no_outage(fetching: FetchingOffice) -> None:
    fetching.poll()
    fetching.double.said = lambda _: b"BYE\r\n"
    fetching.clock.pass_by(AFTER)
    with pytest.raises(ImapError):
        fetching.poll()
    fetching.double.said = lambda _: None
    fetching.deliver(1)
    assert fetching.poll() == ["kept"]
    assert run(fetching.store.outages()) == ()
    assert fetching.beat == fetching.now()


def test_tls_is_used_with_a_certificate_that_is_trusted_and_with_no_other(tmp_path: Path) -> None:
    served, trusting = certified(tmp_path, "localhost", "mail.example")
    with imap_server(ImapDouble(), served) as port:
        server = ImapServer("localhost", port, USER, "INBOX", tls=True)
        session = open_session(server, PASSWORD, context=trusting)
        assert session.select() == 7
        session.close()
        for context in (None, ssl.create_default_context()):
            with pytest.raises(ImapBrokenError, match="SSLCertVerificationError"):
                open_session(server, PASSWORD, context=context)
        with pytest.raises(ImapBrokenError, match="SSLCertVerificationError"):
            open_session(server._replace(host="127.0.0.1"), PASSWORD, context=trusting)


def test_nobody_listens() -> None:
    with imap_server(ImapDouble()) as port:
        pass
    with pytest.raises(ImapError, match="connect: ConnectionRefusedError"):
        open_session(ImapServer("127.0.0.1", port, USER, "INBOX", tls=False), PASSWORD)
