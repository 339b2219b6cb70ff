"""A mailbox that is read by IMAP (RFC 9051, RFC 3501): one connection, and what is asked over it.

imapclient waits for each answer, so every method here does, for a bounded time, and is called in a thread. All that a
server sends is bounded too: it says itself how much it is about to send. Its words are never kept: they may quote the
name of the user.
"""

from __future__ import annotations

import contextlib
import imaplib
import logging
import socket
import ssl
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn

import imapclient
from imapclient.exceptions import LoginError, ProtocolError
from imapclient.imap4 import IMAP4WithTimeout
from imapclient.tls import IMAP4_TLS

from hkoji.mail.fields import LONGEST_MAIL
from hkoji_server.mail_settings import DONE_FOLDER, ImapServer

_CONNECT_SECONDS: Final = 20.0
_ANSWER_SECONDS: Final = 30.0
"""How long the server may leave one read or write waiting."""
_MOST_BYTES: Final = 4 * 1024 * 1024
"""How much of what a server sends is read for one answer."""
_A_LINE: Final = 200
"""How many bytes each line counts more, for the time that reading one takes."""
_LONGEST_LITERAL: Final = 4 * LONGEST_MAIL
"""Some servers state the size of a mail before they change it a little."""
_LARGEST_NUMBER: Final = 2**32 - 1
"""Of a mail, and of a folder's numbering (RFC 9051, 9)."""


class ImapError(Exception):
    """Something could not be asked. The text says what, and is for the operator's log."""


class ImapRefusedError(ImapError):
    """The server has said no to one command. The connection can be used."""


class LoginRefusedError(ImapRefusedError):
    """The server does not take the user's name and password."""


class ImapBrokenError(ImapError):
    """The connection cannot be used any more: it is broken, too slow, or what came over it cannot be understood."""


class ImapSession:
    """A connection to a mailbox, from the login on. `open_session` makes one."""

    def __init__(self, client: imapclient.IMAPClient, folder: str) -> None:
        self._client = client
        self._folder = folder
        with _asking("capability"):
            self._moves: bool = client.has_capability("MOVE")
            self._expunges: bool = client.has_capability("UIDPLUS")
            self._done = _prefix(client) + DONE_FOLDER

    @property
    def files(self) -> bool:
        """Whether mails can be put into another folder without touching those of others."""
        return self._moves or self._expunges

    def select(self) -> int:
        """Opens the folder anew, and returns its UIDVALIDITY."""
        with _asking("select"):
            return _kept_number(self._client.select_folder(self._folder)[b"UIDVALIDITY"])

    def search(self, after: int) -> tuple[int, ...]:
        """Returns the UIDs above `after`, the lowest first."""
        with _asking("search"):
            # A range that ends in `*` always has the last mail.
            found = self._client.search(["UID", f"{after + 1}:*"])
            return tuple(sorted({_kept_number(uid) for uid in found if uid > after}))

    def sizes(self, uids: Sequence[int]) -> dict[int, int]:
        """Returns the sizes of those mails that are still there, in bytes."""
        with _asking("fetch sizes"):
            found = self._client.fetch(list(uids), ["RFC822.SIZE"]) if uids else {}
            return {uid: int(data[b"RFC822.SIZE"]) for uid, data in found.items() if b"RFC822.SIZE" in data}

    def fetch(self, uid: int, size: int) -> bytes | None:
        """Returns a mail of that size, of one that is too long only its beginning; None if it is no longer there."""
        part = "BODY.PEEK[]" if size <= LONGEST_MAIL else f"BODY.PEEK[]<0.{LONGEST_MAIL + 1}>"
        with _asking("fetch"):
            data = self._client.fetch([uid], [part]).get(uid)
            if data is None:
                return None
            raw = next((value for name, value in data.items() if name.startswith(b"BODY[]")), None)
            if not isinstance(raw, bytes):
                raise ImapRefusedError("fetch: the server has sent no mail")
            return raw[: LONGEST_MAIL + 1]

    def file(self, uids: Sequence[int]) -> None:
        """Puts mails into the folder of those that are done with. A server that cannot do that marks them as read."""
        if not self.files:
            with _asking("store"):
                self._client.add_flags(list(uids), [imapclient.SEEN], silent=True)
            return
        try:
            self._file(list(uids))
        except ImapRefusedError:  # perhaps there is no such folder yet
            with contextlib.suppress(ImapRefusedError), _asking("create"):
                self._client.create_folder(self._done)
            self._file(list(uids))

    def _file(self, uids: list[int]) -> None:
        with _asking("move"):
            if self._moves:
                self._client.move(uids, self._done)
                return
            self._client.copy(uids, self._done)
            self._client.delete_messages(uids, silent=True)
            # Without UIDs this would remove what others have marked for deletion too.
            self._client.uid_expunge(uids)

    def cut(self) -> None:
        """Ends the connection at once, also while another thread waits for an answer."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._client.socket(), socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.shutdown()


def open_session(server: ImapServer, password: str, *, context: ssl.SSLContext | None = None) -> ImapSession:
    """Connects and logs in. `context` is that of TLS; by default the machine must trust the server's certificate.

    Raises `LoginRefusedError`, `ImapBrokenError` or `ImapRefusedError`.
    """
    # It logs commands, and what servers say.
    logging.getLogger("imapclient").setLevel(logging.CRITICAL)
    timeout = imapclient.SocketTimeout(_CONNECT_SECONDS, _ANSWER_SECONDS)
    with _asking("connect"):
        client = _BoundedClient(server.host, server.port, ssl=server.tls, ssl_context=context, timeout=timeout)
    try:
        with _asking("login"):
            if client.has_capability("AUTH=PLAIN"):
                client.plain_login(server.user, password)
            elif password.isascii():
                client.login(server.user, password)
            else:  # LOGIN has no form for it
                raise LoginRefusedError("login: the server takes only a password of plain ASCII")
        return ImapSession(client, server.folder)
    except BaseException:
        with contextlib.suppress(Exception):
            client.shutdown()
        raise


class _BoundedReading(imaplib.IMAP4):
    """Reads at most so much for one command."""

    _left = _MOST_BYTES

    def _command(self, name: str, *args: object) -> object:
        self._left = _MOST_BYTES
        return super()._command(name, *args)  # type: ignore[misc] # not in typeshed

    def read(self, size: int) -> bytes:
        """Reads a literal."""
        if size > _LONGEST_LITERAL:
            self._end()
        data = super().read(size)
        self._count(len(data))
        return data

    def readline(self) -> bytes:
        """Reads a line."""
        try:
            line = super().readline()
        except self.abort:
            raise
        except self.error:  # a line that is too long: what follows is the rest of it
            self._end()
        self._count(len(line) + _A_LINE)
        return line

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            self._end()

    def _end(self) -> NoReturn:
        raise self.abort("the server sends too much")


class _PlainConnection(_BoundedReading, IMAP4WithTimeout):  # type: ignore[misc] # imapclient has no types
    """A connection to this machine."""


class _TlsConnection(_BoundedReading, IMAP4_TLS):  # type: ignore[misc] # as above
    """A connection with TLS."""


class _BoundedClient(imapclient.IMAPClient):  # type: ignore[misc] # as above
    """A client whose connections are bounded."""

    def _create_IMAP4(self) -> imaplib.IMAP4:  # noqa: N802 # imapclient's
        if self.ssl:
            return _TlsConnection(self.host, self.port, self.ssl_context, _CONNECT_SECONDS)  # type: ignore[call-arg] # as above
        return _PlainConnection(self.host, self.port, _CONNECT_SECONDS)


def _kept_number(number: int) -> int:
    """Returns a number that is to be kept. Raises `ValueError` for one that no server may send."""
    if number > _LARGEST_NUMBER:
        raise ValueError
    return int(number)


@contextlib.contextmanager
def _asking(what: str) -> Iterator[None]:
    """Turns what goes wrong within the block into an `ImapError`."""
    try:
        yield
    except ImapError:
        raise
    except LoginError as error:
        if isinstance(error.__context__, imaplib.IMAP4.abort):
            raise ImapBrokenError(f"{what}: the connection has ended") from error
        raise LoginRefusedError(f"{what}: the server refuses the user or the password") from error
    except (imaplib.IMAP4.abort, ProtocolError) as error:
        raise ImapBrokenError(f"{what}: {type(error).__name__}") from error
    except imaplib.IMAP4.error as error:
        raise ImapRefusedError(f"{what}: the server has refused it") from error
    except Exception as error:  # of what a server sends anything can break the reading of it
        raise ImapBrokenError(f"{what}: {type(error).__name__}") from error


def _prefix(client: imapclient.IMAPClient) -> str:
    """Returns what the names of own folders begin with: on some servers all of them lie below `INBOX`."""
    if not client.has_capability("NAMESPACE"):
        return ""
    personal = client.namespace().personal
    return str(personal[0][0]) if personal else ""
