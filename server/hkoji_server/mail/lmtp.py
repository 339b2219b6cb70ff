"""The LMTP door (RFC 2033): takes mail from the mail server of the machine, one recipient at a time.

aiosmtpd reads the commands. It is a server of SMTP for tests and small uses, and some of what it does would lose mail
or make the mail server bounce it to a sender who may be forged. So the three commands that carry a mail are our own:

- No mail is refused because of what is in it, or because of its size or sender: such a mail is taken and not acted on.
  Only a recipient that is not ours gets 550, and what cannot be done now gets 4xx, so the mail server keeps the mail.
- A mail has one recipient: LMTP answers each recipient of a mail by itself, which aiosmtpd does not. A second one is
  asked to come again (452), which mail servers do with a mail of its own.
- 250 is said after the mail is on disk. If something fails, the answer is 451 without a word about why.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import re
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from aiosmtpd.lmtp import LMTP

from hkoji.errors import StorageError
from hkoji.mail.fields import LONGEST_MAIL
from hkoji.mail.mail import Mail, read_mail
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.mail.receiving import Received
from hkoji_server.mail_settings import LmtpPlace
from hkoji_server.store.mail_values import MailVia

MOST_CONNECTIONS: Final = 50
"""How many connections are served at once; others wait in the queue of the mail server."""
IDLE_SECONDS: Final = 120.0
"""How long a client may take for a command, and for the whole of a mail."""
_AT_ONCE: Final = 64 * 1024
_LONGEST_COMMAND: Final = 2048
_CLOSING: Final = 10.0
"""For how many seconds a door that closes waits for mails that are being kept."""
_PATH = re.compile(r"\s*<(.*?)>(?:\s.*)?", re.ASCII)

_OK: Final = "250 2.0.0 OK"
_LATER: Final = "451 4.3.0 Not now; try again later"
_BUSY: Final = "452 4.2.2 Too many mails wait; try again later"
_ONE_ONLY: Final = "452 4.5.3 One recipient at a time"
_NOT_OURS: Final = "550 5.1.1 No such address here"
_SYNTAX: Final = "501 5.5.4 Syntax error"
_ORDER: Final = "503 5.5.1 Not now"
_FULL: Final = b"421 4.3.2 Too many connections; try again later\r\n"


class TakesMails(Protocol):
    """Decides about the mails that come in (`hkoji_server.mail.receiving`)."""

    def is_ours(self, recipient: str) -> bool:
        """Whether mail to that address is for this service."""

    async def receive(self, recipient: str, mail: Mail, via: MailVia, *, null_sender: bool | None) -> Received:
        """Keeps a mail durably, or drops it. Every error is answered with 451."""


class _LmtpConnection(LMTP):
    """One connection."""

    line_length_limit = _AT_ONCE
    command_size_limit = _LONGEST_COMMAND

    def __init__(self, receiving: TakesMails, hostname: str, ended: Callable[[_LmtpConnection], None]) -> None:
        # Without a limit of aiosmtpd's the door says no SIZE, for which the mail server would bounce a longer mail
        # itself. For the same reason it takes addresses and fields in UTF-8.
        super().__init__(
            receiving,
            data_size_limit=None,
            enable_SMTPUTF8=True,
            hostname=hostname,
            ident="hkoji",
            timeout=IDLE_SECONDS,
            loop=asyncio.get_running_loop(),
        )
        self._receiving = receiving
        self._ended = ended
        self._null_sender: bool | None = None
        self._recipient: str | None = None
        self.keeping = False
        """Whether a mail is being kept now."""
        # The limits of commands are in one table of the class, to which each LHLO adds.
        self.command_size_limits = _SameLimit()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self._handler_coroutine is not None
        self._handler_coroutine.add_done_callback(_retrieve)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self._ended(self)

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    async def handle_exception(self, error: Exception) -> str:
        """Returns the reply when something has failed."""
        log.error("could not take a mail", reason=type(error).__name__)
        return _LATER

    def _set_rset_state(self) -> None:
        super()._set_rset_state()  # type: ignore[no-untyped-call]
        self._null_sender = self._recipient = None

    async def smtp_MAIL(self, arg: str | None) -> None:  # noqa: N802 # aiosmtpd finds commands by name
        """Begins a mail. Of the sender only counts whether it is null."""
        path = _path_of(arg, "FROM:")
        assert self.session is not None
        if not self.session.host_name or self._null_sender is not None:
            await self.push(_ORDER)
        elif path is None:
            await self.push(_SYNTAX)
        else:
            self._null_sender = not path.strip()
            await self.push(_OK)

    async def smtp_RCPT(self, arg: str | None) -> None:  # noqa: N802 # aiosmtpd finds commands by name
        """Names the recipient."""
        path = _path_of(arg, "TO:")
        if self._null_sender is None:
            await self.push(_ORDER)
        elif path is None:
            await self.push(_SYNTAX)
        elif self._recipient is not None:
            await self.push(_ONE_ONLY)
        elif not self._receiving.is_ours(path):
            await self.push(_NOT_OURS)
        else:
            self._recipient = path
            await self.push(_OK)

    async def smtp_DATA(self, arg: str | None) -> None:  # noqa: N802 # aiosmtpd finds commands by name
        """Reads the mail, and says 250 when it is kept."""
        recipient, null_sender = self._recipient, self._null_sender
        if arg:
            await self.push(_SYNTAX)
            return
        if recipient is None or null_sender is None:
            await self.push(_ORDER)
            return
        await self.push("354 End data with <CR><LF>.<CR><LF>")
        raw = await self._read_mail()
        self._set_rset_state()
        self.keeping = True
        try:
            received = await self._receiving.receive(recipient, read_mail(raw), "lmtp", null_sender=null_sender)
        finally:
            self.keeping = False
        await self.push(_BUSY if received is Received.FULL else _OK)

    async def _read_mail(self) -> bytes:
        """Returns what comes before the line with the point alone: at most one byte more than is ever read."""
        kept = bytearray()
        at_start = True
        while True:
            try:
                part = await self._reader.readuntil(b"\r\n")
                ends = True
            except asyncio.LimitOverrunError as error:
                part = await self._reader.read(error.consumed)
                ends = False
            if at_start and part == b".\r\n":
                return bytes(kept)
            if at_start and part.startswith(b"."):
                part = part[1:]
            kept += part[: LONGEST_MAIL + 1 - len(kept)]
            at_start = ends


class _SameLimit(dict[str, int]):
    """The longest command line, for every command."""

    def __missing__(self, key: str) -> int:
        return _LONGEST_COMMAND

    def __setitem__(self, key: str, value: int) -> None:
        """Leaves the limit as it is."""


def _path_of(arg: str | None, keyword: str) -> str | None:
    """Returns what stands between the angle brackets of `MAIL FROM:<...>`, without its parameters; None if nothing."""
    if arg is None or not arg.upper().startswith(keyword):
        return None
    found = _PATH.fullmatch(arg[len(keyword) :])
    return None if found is None else found[1]


def _retrieve(task: asyncio.Task[None]) -> None:
    """Takes note of how a connection has ended, which otherwise asyncio reports as forgotten."""
    if not task.cancelled():
        task.exception()


class _SurplusConnection(asyncio.Protocol):
    """A connection too many."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Says so, and closes."""
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(_FULL)
        transport.close()


class LmtpDoor:
    """Listens, and serves connections. `hostname` is the host of the service's address."""

    def __init__(self, receiving: TakesMails, hostname: str) -> None:
        self._receiving = receiving
        self._hostname = hostname
        self._open: set[_LmtpConnection] = set()
        self._server: asyncio.Server | None = None
        self._socket: Path | None = None
        # aiosmtpd logs commands, which have addresses and tokens.
        logging.getLogger("mail.log").setLevel(logging.CRITICAL)

    async def open(self, place: LmtpPlace) -> str:
        """Begins to listen, and returns where: `HOST:PORT`, or the path of the socket. Raises `StorageError`."""
        loop = asyncio.get_running_loop()
        try:
            if place.socket is None:
                self._server = await loop.create_server(self._serve, place.host, place.port)
                host, port = self._server.sockets[0].getsockname()[:2]
                return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            listener = _bind(Path(place.socket))
            self._server = await loop.create_unix_server(self._serve, sock=listener)
            self._socket = Path(place.socket)
        except OSError as error:
            raise StorageError(
                tell("cannot take mail at {place}: {reason}", place=_shown(place), reason=error.strerror),
                hint=tell("choose another place with the setting mail_lmtp"),
            ) from error
        return place.socket

    async def close(self) -> None:
        """Stops listening, waits a few seconds for mails that are being kept, and closes all connections."""
        if self._server is not None:
            self._server.close()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.unlink()
        loop = asyncio.get_running_loop()
        end = loop.time() + _CLOSING
        for door in [each for each in self._open if not each.keeping]:
            door.close()
        while any(door.keeping for door in self._open) and loop.time() < end:
            await asyncio.sleep(0.02)
        for door in list(self._open):
            door.close()
        await asyncio.sleep(0)

    def _serve(self) -> asyncio.BaseProtocol:
        if len(self._open) >= MOST_CONNECTIONS:
            return _SurplusConnection()
        door = _LmtpConnection(self._receiving, self._hostname, self._open.discard)
        self._open.add(door)
        return door


def _shown(place: LmtpPlace) -> str:
    return place.socket or f"{place.host}:{place.port}"


def _bind(path: Path) -> socket.socket:
    """Returns a bound socket of the machine. Raises `OSError`.

    asyncio would remove a socket at which another process listens. Here only one is removed at which nobody does, as a
    process leaves it that was killed.
    """
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            with (
                socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe,
                contextlib.suppress(ConnectionRefusedError),
            ):
                probe.connect(str(path))
                raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
            path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        # The folder and the group of the service decide about who may connect.
        path.chmod(0o660)
    except OSError:
        listener.close()
        raise
    return listener
