"""A small IMAP server on loopback that can fail where a real one does not: it breaks off, refuses, lies about sizes."""

from __future__ import annotations

import base64
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedRWPair
from typing import Final

USER: Final = "play@hkoji.example"
PASSWORD: Final = 'sé"cret\\ 1'
_SECONDS: Final = 30


class BreakOffError(Exception):
    """The connection ends after these bytes."""

    def __init__(self, sent: bytes = b"") -> None:
        super().__init__()
        self.sent = sent


Said = Callable[[str], bytes | None]
"""The answer to a command instead of the usual one, without the tag: `UID FETCH 3 (...)`. None: what a server says."""


@dataclass
class ImapDouble:
    """Mailboxes of one user. `said` is asked first for each command."""

    capabilities: str = "IMAP4rev1 UIDPLUS MOVE AUTH=PLAIN"
    prefix: str = ""
    """The beginning of all names of folders, but for INBOX."""
    validity: int = 7
    folders: dict[str, dict[int, bytes]] = field(default_factory=lambda: {"INBOX": {}})
    flags: dict[int, set[str]] = field(default_factory=dict)
    said: Said = lambda _: None
    commands: list[str] = field(default_factory=list)
    """All commands, without tags and passwords."""
    connections: int = 0
    next_uid: int = 1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def deliver(self, raw: bytes, folder: str = "INBOX") -> int:
        """Puts a mail into a folder. Returns its UID."""
        with self._lock:
            uid, self.next_uid = self.next_uid, self.next_uid + 1
            self.folders[folder][uid] = raw
            return uid

    @property
    def inbox(self) -> list[int]:
        return sorted(self.folders["INBOX"])

    @property
    def done(self) -> list[bytes]:
        """The mails that were put away."""
        return list(self.folders.get(f"{self.prefix}hkoji-done", {}).values())

    def number_anew(self) -> None:
        """Gives all mails in the inbox other UIDs, as after a restored backup."""
        with self._lock:
            self.validity += 1
            mails, self.folders["INBOX"] = list(self.folders["INBOX"].values()), {}
            self.next_uid = 1
        for each in mails:
            self.deliver(each)

    def answer(self, command: str) -> bytes:
        """Returns what is said to a command, without its tag."""
        name, _, rest = command.partition(" ")
        if name == "UID":
            name, _, rest = rest.partition(" ")
        with self._lock:
            done = getattr(self, f"_{name.lower()}")(rest)
        assert isinstance(done, bytes)
        return done

    def _capability(self, rest: str) -> bytes:
        return b"* CAPABILITY " + self.capabilities.encode() + b"\r\nOK done\r\n"

    def _namespace(self, rest: str) -> bytes:
        return f'* NAMESPACE (("{self.prefix}" ".")) NIL NIL\r\nOK done\r\n'.encode()

    def _select(self, rest: str) -> bytes:
        folder = self.folders.get(rest.strip('"'))
        if folder is None:
            return b"NO no such folder of play@hkoji.example\r\n"
        return (
            f"* {len(folder)} EXISTS\r\n* 0 RECENT\r\n* FLAGS (\\Seen \\Deleted)\r\n"
            f"* OK [UIDVALIDITY {self.validity}] x\r\n* OK [UIDNEXT {self.next_uid}] x\r\nOK [READ-WRITE] done\r\n"
        ).encode()

    def _create(self, rest: str) -> bytes:
        folder = rest.strip('"')
        if not folder.startswith(self.prefix) or folder in self.folders:
            return b"NO it cannot be made\r\n"
        self.folders[folder] = {}
        return b"OK done\r\n"

    def _search(self, rest: str) -> bytes:
        low = int(rest.split()[1].split(":", maxsplit=1)[0])
        uids = [uid for uid in self.inbox if uid >= low] or self.inbox[-1:]  # as the protocol says
        return b"* SEARCH " + " ".join(map(str, uids)).encode() + b"\r\nOK done\r\n"

    def _fetch(self, rest: str) -> bytes:
        found, item = b"", rest.partition(" ")[2]
        for number, uid in enumerate(self._uids(rest), 1):
            raw = self.folders["INBOX"][uid]
            if "RFC822.SIZE" in item:
                found += f"* {number} FETCH (UID {uid} RFC822.SIZE {len(raw)})\r\n".encode()
                continue
            assert "BODY.PEEK[]" in item, item  # otherwise it would be marked as read
            part = re.search(r"<0\.(\d+)>", item)
            name = b"BODY[]<0>" if part else b"BODY[]"
            raw = raw[: int(part[1])] if part else raw
            found += f"* {number} FETCH (UID {uid} ".encode() + name + f" {{{len(raw)}}}\r\n".encode() + raw + b")\r\n"
        return found + b"OK done\r\n"

    def _move(self, rest: str) -> bytes:
        said = self._copy(rest)
        if said.startswith(b"OK"):
            for uid in self._uids(rest):
                del self.folders["INBOX"][uid]
        return said

    def _copy(self, rest: str) -> bytes:
        folder = self.folders.get(rest.partition(" ")[2].strip('"'))
        if folder is None:
            return b"NO [TRYCREATE] no such folder\r\n"
        for uid in self._uids(rest):
            folder[len(folder) + 1] = self.folders["INBOX"][uid]
        return b"OK done\r\n"

    def _store(self, rest: str) -> bytes:
        for uid in self._uids(rest):
            self.flags.setdefault(uid, set()).update(re.findall(r"\\\w+", rest))
        return b"OK done\r\n"

    def _expunge(self, rest: str) -> bytes:
        for uid in self._uids(rest):
            if r"\Deleted" in self.flags.get(uid, ()):
                del self.folders["INBOX"][uid]
        return b"OK done\r\n"

    def _uids(self, rest: str) -> list[int]:
        asked = rest.partition(" ")[0].split(",")
        return [uid for uid in map(int, asked) if uid in self.folders["INBOX"]]


@contextmanager
def imap_server(double: ImapDouble, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Lets a double listen, with TLS if there is a `context`. Yields its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []
    open_: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.settimeout(_SECONDS)
            open_.append(connection)
            threads.append(threading.Thread(target=_serve, args=(double, connection, context), daemon=True))
            threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(_SECONDS)
        for each in open_:
            _end(each)
        for thread in threads:
            thread.join(_SECONDS)


def _serve(double: ImapDouble, connection: socket.socket, context: ssl.SSLContext | None) -> None:
    double.connections += 1
    with suppress(OSError, ValueError):
        if context is not None:
            connection = context.wrap_socket(connection, server_side=True)
        with connection, connection.makefile("rwb") as file:
            file.write(b"* OK hello\r\n")
            file.flush()
            try:
                for line in iter(file.readline, b""):
                    tag, _, command = line.decode().strip().partition(" ")
                    double.commands.append(command.partition(" ")[0] if command.startswith("LOGIN") else command)
                    said = double.said(command)
                    if said is None and command.startswith(("LOGIN", "AUTHENTICATE")):
                        said = _login(command, file)
                    said = double.answer(command) if said is None else said
                    before, end, last = said.removesuffix(b"\r\n").rpartition(b"\r\n")
                    file.write(before + end + tag.encode() + b" " + last + b"\r\n")
                    file.flush()
            except BreakOffError as error:
                file.write(error.sent)
                file.flush()
    _end(connection)


def _login(command: str, file: BufferedRWPair) -> bytes:
    if command.startswith("AUTHENTICATE"):
        file.write(b"+ \r\n")
        file.flush()
        _, user, password = base64.b64decode(file.readline()).decode().split("\0")
    else:
        found = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', command)
        user, password = (re.sub(r"\\(.)", r"\1", quoted) or bare for quoted, bare in found[1:])
    right = (user, password) == (USER, PASSWORD)
    return b"OK you are in\r\n" if right else f"NO not {user} with {password}\r\n".encode()


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
