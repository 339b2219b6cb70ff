"""The LMTP door: what a mail server hears, word by word, from a raw socket."""

from __future__ import annotations

import asyncio
import socket
import stat
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hkoji_server.mail import lmtp
from hkoji_server.mail.lmtp import LmtpDoor
from hkoji_server.mail.receiving import Received
from hkoji_server.mail_settings import LmtpPlace
from hkoji_server.store.mail_values import MailVia

from hkoji.errors import StorageError
from hkoji.mail.fields import LONGEST_MAIL
from hkoji.mail.mail import Mail

ANYWHERE = LmtpPlace("127.0.0.1", 0, None)


class Taken(NamedTuple):
    recipient: str
    null_sender: bool | None
    raw: bytes


class Desk:
    """Takes what comes, and can be told to be busy, to fail, or to wait."""

    def __init__(self) -> None:
        self.taken: list[Taken] = []
        self.busy = False
        self.error: Exception | None = None
        self.gate: asyncio.Event | None = None
        self.began = asyncio.Event()

    def is_ours(self, recipient: str) -> bool:
        return recipient.lower().startswith("play") and recipient.lower().endswith("@hkoji.example")

    async def receive(self, recipient: str, mail: Mail, via: MailVia, *, null_sender: bool | None) -> Received:
        self.began.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        if self.busy:
            return Received.FULL
        self.taken.append(Taken(recipient, null_sender, mail.raw))
        return Received.KEPT


class Client:
    """A mail server, at the level of bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def reply(self) -> str:
        """Returns the last line of the next reply; empty if the connection has been closed."""
        while True:
            line = await asyncio.wait_for(self.reader.readline(), 10)
            if len(line) < 4 or line[3:4] != b"-":
                return line.decode().rstrip("\r\n")

    async def say(self, line: str | bytes) -> str:
        """Sends a line and returns the reply."""
        self.writer.write((line if isinstance(line, bytes) else line.encode()) + b"\r\n")
        return await self.reply()

    async def begin(self, recipient: str = "play+x@hkoji.example", sender: str = "bob@example.org") -> None:
        """Says everything up to DATA."""
        assert (await self.say("LHLO mta.example")).startswith("250 ")
        assert (await self.say(f"MAIL FROM:<{sender}>")).startswith("250 2.0.0")
        assert (await self.say(f"RCPT TO:<{recipient}>")).startswith("250 2.0.0")

    async def send(self, raw: bytes) -> str:
        """Sends a mail whose lines have been stuffed, after `begin`."""
        assert (await self.say("DATA")).startswith("354")
        self.writer.write(raw + b"\r\n.\r\n")
        return await self.reply()


@asynccontextmanager
async def connected(desk: Desk, count: int = 1) -> AsyncIterator[tuple[LmtpDoor, list[Client]]]:
    door = LmtpDoor(desk, "hkoji.example")
    host, _, port = (await door.open(ANYWHERE)).rpartition(":")
    clients = []
    try:
        for _ in range(count):
            client = Client(*await asyncio.open_connection(host, int(port)))
            clients.append(client)
            assert (await client.reply()).startswith("220 hkoji.example")
        yield door, clients
    finally:
        for client in clients:
            client.writer.close()
        await door.close()


def dialogue(talk: Callable[[Desk, Client], Coroutine[Any, Any, None]], desk: Desk | None = None) -> Desk:
    """Runs a dialogue of one client, and returns what was taken."""

    async def run() -> Desk:
        user = desk or Desk()
        async with connected(user) as (_, [client]):
            await talk(user, client)
        return user

    return asyncio.run(run())


def test_a_mail_is_taken_with_its_bytes_as_they_are() -> None:
    raw = b"Subject: x\r\n\r\n..one\r\n.\rtwo\nthree\x00\xff\r\n..\r\n\n.\n"

    async def talk(_: Desk, client: Client) -> None:
        await client.begin()
        assert await client.send(raw) == "250 2.0.0 OK"
        assert (await client.say("QUIT")).startswith("221")

    # A bare LF ends no line, so neither the points after it are stuffed, nor does a point between two end the mail.
    kept = b"Subject: x\r\n\r\n.one\r\n\rtwo\nthree\x00\xff\r\n.\r\n\n.\n\r\n"
    assert dialogue(talk).taken == [Taken("play+x@hkoji.example", False, kept)]


@pytest.mark.parametrize("size", [LONGEST_MAIL, LONGEST_MAIL + 1, 3 * LONGEST_MAIL])
@pytest.mark.parametrize("line", [70, 998, 5_000, 200_000, None])
def test_no_mail_is_refused_for_its_size_or_the_length_of_its_lines(size: int, line: int | None) -> None:
    raw = b"a" * size if line is None else (b"b" * line + b"\r\n") * (size // (line + 2) + 1)

    async def talk(_: Desk, client: Client) -> None:
        await client.begin()
        assert await client.send(raw) == "250 2.0.0 OK"
        await client.begin()
        assert await client.send(b"a second one") == "250 2.0.0 OK"

    first, second = (each.raw for each in dialogue(talk).taken)
    # One byte more than is ever read says that there is more.
    assert first == (raw + b"\r\n")[: LONGEST_MAIL + 1]
    assert second == b"a second one\r\n"


def test_neither_size_nor_starttls_nor_login_is_offered() -> None:
    async def talk(_: Desk, client: Client) -> None:
        client.writer.write(b"LHLO mta\r\n")
        offered: list[str] = []
        while not offered or offered[-1][3:4] == "-":
            offered.append((await client.reader.readline()).decode().strip())
        words = {line[4:].split()[0] for line in offered[1:]}
        assert words & {"SIZE", "STARTTLS", "AUTH", "CHUNKING"} == set()
        assert {"8BITMIME", "SMTPUTF8"} <= words
        assert (await client.say("STARTTLS")).startswith("4")
        assert (await client.say("BDAT 3 LAST")).startswith("500")
        for greeting in ("EHLO mta", "HELO mta"):
            assert (await client.say(greeting)).startswith("500")

    assert not dialogue(talk).taken


def test_only_a_recipient_that_is_not_ours_gets_550() -> None:
    async def talk(_: Desk, client: Client) -> None:
        await client.say("LHLO mta")
        await client.say("MAIL FROM:<a@b>")
        for other in ("postmaster@hkoji.example", "play@else.example", "pläy@hkoji.example", ""):
            assert (await client.say(f"RCPT TO:<{other}>")).startswith("550 5.1.1")
        assert (await client.say("DATA")).startswith("503")
        assert (await client.say("RCPT TO:<PLAY+ABC@Hkoji.Example>")).startswith("250")
        assert await client.send(b"x") == "250 2.0.0 OK"

    assert [each.recipient for each in dialogue(talk).taken] == ["PLAY+ABC@Hkoji.Example"]


def test_a_second_recipient_is_asked_to_come_again_and_the_first_gets_the_one_reply() -> None:
    async def talk(_: Desk, client: Client) -> None:
        await client.begin("play+a@hkoji.example")
        assert (await client.say("RCPT TO:<play+b@hkoji.example>")).startswith("452 4.5.3")
        assert (await client.say("RCPT TO:<other@hkoji.example>")).startswith("452 4.5.3")
        assert await client.send(b"x") == "250 2.0.0 OK"
        assert (await client.say("NOOP")).startswith("250")  # one reply for the data, not two

    assert [each.recipient for each in dialogue(talk).taken] == ["play+a@hkoji.example"]


@pytest.mark.parametrize(
    ("said", "null"),
    [
        ("<>", True),
        ("<> BODY=8BITMIME", True),
        ("<bob@example.org> SIZE=99999999 BODY=8BITMIME SMTPUTF8 RET=HDRS", False),
        ("<foo..bar.@docomo.example>", False),
        ('<"a>b <c"@example.org>', False),
        ("<@relay:bob@example.org>", False),
        ("<böb@exämple.org> SMTPUTF8", False),
    ],
)
def test_no_mail_is_refused_for_its_sender(said: str, null: bool) -> None:
    async def talk(_: Desk, client: Client) -> None:
        await client.say("LHLO mta")
        assert (await client.say(f"MAIL FROM:{said}")).startswith("250")
        assert (await client.say("RCPT TO:<play+x@hkoji.example>")).startswith("250")
        assert await client.send(b"x") == "250 2.0.0 OK"

    assert [each.null_sender for each in dialogue(talk).taken] == [null]


def test_a_failure_is_answered_451_without_a_word_about_why() -> None:
    desk = Desk()
    desk.error = RuntimeError("the password is s3cret")

    async def talk(user: Desk, client: Client) -> None:
        await client.begin()
        assert await client.send(b"x") == "451 4.3.0 Not now; try again later"
        user.error = StorageError("/home/me/hkoji.sqlite3")
        await client.begin()
        assert await client.send(b"x") == "451 4.3.0 Not now; try again later"
        user.error = None
        await client.begin()
        assert await client.send(b"x") == "250 2.0.0 OK"

    assert len(dialogue(talk, desk).taken) == 1


def test_a_busy_desk_is_452() -> None:
    desk = Desk()
    desk.busy = True

    async def talk(_: Desk, client: Client) -> None:
        await client.begin()
        assert (await client.send(b"x")).startswith("452 4.2.2")

    assert not dialogue(talk, desk).taken


def test_commands_out_of_order_and_nonsense() -> None:
    async def talk(_: Desk, client: Client) -> None:
        assert (await client.say("MAIL FROM:<a@b>")).startswith("503")
        assert (await client.say("DATA")).startswith("503")
        await client.say("LHLO mta")
        assert (await client.say("RCPT TO:<play@hkoji.example>")).startswith("503")
        assert (await client.say("MAIL a@b")).startswith("501")
        assert (await client.say("MAIL")).startswith("501")
        assert (await client.say("MAIL FROM:<a@b>")).startswith("250")
        assert (await client.say("MAIL FROM:<a@b>")).startswith("503")
        assert (await client.say("RCPT")).startswith("501")
        assert (await client.say("RSET")).startswith("250")
        assert (await client.say("RCPT TO:<play@hkoji.example>")).startswith("503")
        assert (await client.say(b"VRFY \xff\xfe<"))[:3] in {"252", "451", "502"}
        assert (await client.say(b"X" * 3000)).startswith("500")
        assert (await client.say("LHLO mta")).startswith("250")

    assert not dialogue(talk).taken


def test_a_whole_dialogue_in_one_packet() -> None:
    async def talk(_: Desk, client: Client) -> None:
        mail = b"MAIL FROM:<a@b>\r\nRCPT TO:<play@hkoji.example>\r\nDATA\r\n%d\r\n.\r\n"
        client.writer.write(b"LHLO mta\r\n" + b"".join(mail % n for n in range(20)) + b"QUIT\r\n")
        replies = [await client.reply() for _ in range(1 + 4 * 20 + 1)]
        assert [each[:3] for each in replies] == ["250", *["250", "250", "354", "250"] * 20, "221"]

    assert [each.raw for each in dialogue(talk).taken] == [b"%d\r\n" % n for n in range(20)]


@pytest.mark.parametrize(
    "sent", [b"", b"LHLO mta\r\nMAIL FR", b"LHLO mta\r\nMAIL FROM:<a@b>\r\nRCPT TO:<play@hkoji.example>\r\nDATA\r\nx"]
)
@pytest.mark.parametrize("half", [True, False])
def test_a_connection_that_ends_in_the_middle_takes_nothing_and_others_go_on(sent: bytes, half: bool) -> None:
    async def run() -> Desk:
        desk = Desk()
        async with connected(desk, 2) as (_, [first, second]):
            first.writer.write(sent)
            await first.writer.drain()
            if half:
                first.writer.write_eof()
            else:
                sock = first.writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # RST instead of FIN
                first.writer.close()
            await second.begin()
            assert await second.send(b"y") == "250 2.0.0 OK"
            if half:
                rest = await asyncio.wait_for(first.reader.read(), 10)  # the door closes it too
                assert b"250 2.0.0 OK\r\n451" not in rest
        return desk

    assert [each.raw for each in asyncio.run(run()).taken] == [b"y\r\n"]


def test_no_reply_before_the_mail_is_kept() -> None:
    async def run() -> None:
        desk = Desk()
        desk.gate = asyncio.Event()
        async with connected(desk) as (_, [client]):
            await client.begin()
            await client.say("DATA")
            client.writer.write(b"x\r\n.\r\n")
            await desk.began.wait()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.reader.readline(), 0.1)
            desk.gate.set()
            assert await client.reply() == "250 2.0.0 OK"

    asyncio.run(run())


def test_a_door_that_closes_waits_for_the_mail_that_is_being_kept() -> None:
    async def run() -> None:
        desk = Desk()
        desk.gate = asyncio.Event()
        async with connected(desk, 2) as (door, [client, idle]):
            await client.begin()
            await client.say("DATA")
            client.writer.write(b"x\r\n.\r\n")
            await desk.began.wait()
            closing = asyncio.create_task(door.close())
            assert await idle.reader.read() == b""
            assert not closing.done()
            desk.gate.set()
            assert await client.reply() == "250 2.0.0 OK"
            await closing
            assert await client.reader.read() == b""
        assert len(desk.taken) == 1

    asyncio.run(run())


def test_a_connection_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmtp, "MOST_CONNECTIONS", 2)

    async def run() -> None:
        async with connected(Desk(), 2) as (_, [first, second]):
            host, port = first.writer.get_extra_info("peername")
            third = Client(*await asyncio.open_connection(host, port))
            assert (await third.reply()).startswith("421 4.3.2")
            assert await third.reader.read() == b""
            third.writer.close()
            second.writer.close()
            await second.writer.wait_closed()
            await asyncio.sleep(0.05)
            fourth = Client(*await asyncio.open_connection(host, port))
            assert (await fourth.reply()).startswith("220")
            fourth.writer.close()

    asyncio.run(run())


def test_a_client_that_sends_a_mail_for_ever_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmtp, "IDLE_SECONDS", 0.3)

    async def run() -> None:
        desk = Desk()
        async with connected(desk) as (_, [client]):
            await client.begin()
            await client.say("DATA")
            ended = asyncio.create_task(client.reader.read())
            for _ in range(500):
                client.writer.write(b"x\r\n")
                await asyncio.sleep(0.01)
                if ended.done():
                    break
            assert ended.done()
            ended.exception()  # closed, or reset because it was still sending
        assert not desk.taken

    asyncio.run(run())


def test_a_socket_of_the_machine_and_one_that_was_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "mail.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert path.is_socket()

    async def run() -> None:
        desk = Desk()
        door = LmtpDoor(desk, "hkoji.example")
        assert await door.open(LmtpPlace("", 0, str(path))) == str(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        client = Client(*await asyncio.open_unix_connection(str(path)))
        await client.reply()
        await client.begin()
        assert await client.send(b"x") == "250 2.0.0 OK"
        with pytest.raises(StorageError, match=r"cannot take mail at .*in use"):
            await LmtpDoor(desk, "hkoji.example").open(LmtpPlace("", 0, str(path)))
        await client.begin()
        assert await client.send(b"y") == "250 2.0.0 OK"
        client.writer.close()
        await door.close()
        assert not path.exists()
        assert len(desk.taken) == 2

    asyncio.run(run())


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text("mine")
    with pytest.raises(StorageError):
        asyncio.run(LmtpDoor(Desk(), "hkoji.example").open(LmtpPlace("", 0, str(path))))
    assert path.read_text() == "mine"


def test_a_place_that_is_taken_is_an_error() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        with pytest.raises(StorageError, match=r"cannot take mail at 127\.0\.0\.1:"):
            asyncio.run(LmtpDoor(Desk(), "h").open(LmtpPlace("127.0.0.1", busy.getsockname()[1], None)))
