"""How the settings of mail are read: the service's own address, where mail comes in, where letters go out, passwords.

It stands below the settings. A reader of a setting raises `ValueError` with a reason for people, which never quotes a
value.
"""

from __future__ import annotations

import ipaddress
import os
import re
import stat
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from hkoji.errors import UsageError
from hkoji.messages.text import tell

_LONGEST_LOCAL: Final = 64 - len("+b-") - 26
"""A local part has at most 64 characters (RFC 5321), and a delimiter, `b-` and a token must have room in it."""
_LOCAL: Final = re.compile(r"[a-z0-9][a-z0-9_]*(?:[.-][a-z0-9_]+)*")
_HOST: Final = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*"
)
_PLACE: Final = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[A-Za-z0-9.-]+)):(?P<port>[0-9]{1,5})")
_PORTS: Final = {"smtp": 25, "smtps": 465, "imap": 143, "imaps": 993}

DONE_FOLDER: Final = "hkoji-done"
"""The folder of a mailbox into which mails are put that are done with."""


class MailDelimiter(StrEnum):
    """The text between the local part of the service's address and a token."""

    PLUS = "+"
    MINUS = "-"
    NONE = "none"
    """Nothing: the provider delivers only the bare address, and tokens are found in `In-Reply-To`."""


class SmtpTls(StrEnum):
    """How a connection to the submission host is protected."""

    NEVER = "never"
    """Not at all: it does not leave this machine."""
    STARTTLS = "starttls"
    IMPLICIT = "implicit"


class SmtpServer(NamedTuple):
    """The host to which letters are submitted. `user` is None if it asks for no login."""

    host: str
    port: int
    user: str | None
    tls: SmtpTls


class LmtpPlace(NamedTuple):
    """Where mail is taken by LMTP: at a host and port, or at a socket of this machine, whose path `socket` is."""

    host: str
    port: int
    socket: str | None


class ImapServer(NamedTuple):
    """A mailbox that is read by IMAP: a folder of `user` at a host. Without `tls` the host is this machine."""

    host: str
    port: int
    user: str
    folder: str
    tls: bool

    @property
    def place(self) -> str:
        """The mailbox as one text, which tells it from others."""
        return f"{self.user}@{self.host}:{self.port}/{self.folder}"


def read_own_address(text: str) -> str:
    """Returns the service's own address in its one form, in lower case."""
    local, _, host = text.strip().lower().rpartition("@")
    if not _LOCAL.fullmatch(local) or not _HOST.fullmatch(host):
        raise ValueError(tell("an address is like play@hkoji.example, of letters, digits, points, - and _"))
    if len(local) > _LONGEST_LOCAL:
        raise ValueError(tell("the part before the @ may have at most {most} characters", most=_LONGEST_LOCAL))
    return f"{local}@{host}"


def read_lmtp(text: str) -> LmtpPlace:
    """Reads where mail is taken by LMTP: `HOST:PORT` of this machine, or the path of a socket."""
    if text.startswith("/"):
        if len(text.encode()) > 100:
            raise ValueError(tell("the path of a socket may have at most 100 bytes"))
        return LmtpPlace("", 0, text)
    found = _PLACE.fullmatch(text)
    if not found or int(found["port"]) > 65535:
        raise ValueError(tell("it is HOST:PORT, the path of a socket that begins with /, or off"))
    return LmtpPlace(found["six"] or found["host"], int(found["port"]), None)


def read_smtp(text: str) -> SmtpServer:
    """Reads the submission host: `smtp://host`, `smtps://user@host:465`. Off this machine `smtp` demands STARTTLS."""
    like = tell("it is like smtp://127.0.0.1:25 or smtps://user@mail.example")
    url = _read_url(text, ("smtp", "smtps"), "mail_smtp", like)
    if url.path not in ("", "/"):
        raise ValueError(like)
    return SmtpServer(url.host, url.port, url.user, _tls(url.scheme, url.host))


def read_imap(text: str) -> ImapServer:
    """Reads the mailbox in which mail comes: `imaps://user@host/INBOX`. `imap`, without TLS, is for this machine."""
    like = tell("it is like imaps://user@mail.example/INBOX")
    url = _read_url(text, ("imap", "imaps"), "mail_imap", like)
    folder = unquote(url.path.removeprefix("/")) or "INBOX"
    if url.user is None or not folder.isprintable():
        raise ValueError(like)
    if folder == DONE_FOLDER:
        raise ValueError(tell("that folder is for mails that are done with"))
    if url.scheme == "imap" and not is_loopback(url.host):
        raise ValueError(tell("off this machine it needs TLS, as in imaps://user@mail.example/INBOX"))
    return ImapServer(url.host, url.port, url.user, folder, url.scheme == "imaps")


class _Url(NamedTuple):
    scheme: str
    host: str
    port: int
    user: str | None
    path: str


def _read_url(text: str, schemes: tuple[str, str], setting: str, like: str) -> _Url:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        raise ValueError(like) from None
    if url.scheme not in schemes or not url.hostname or url.query or url.fragment:
        raise ValueError(like)
    if url.password is not None:
        raise ValueError(tell("a password is read from {setting}_password_file only", setting=setting))
    user = unquote(url.username) if url.username else None
    if user is not None and not all("!" <= letter <= "~" for letter in user):
        raise ValueError(tell("the name of the user must be printable ASCII"))
    return _Url(url.scheme, url.hostname, port or _PORTS[url.scheme], user, url.path)


def _tls(scheme: str, host: str) -> SmtpTls:
    if scheme == "smtps":
        return SmtpTls.IMPLICIT
    return SmtpTls.NEVER if is_loopback(host) else SmtpTls.STARTTLS


def is_loopback(host: str) -> bool:
    """Whether connections to a host stay on this machine. Of names only `localhost` does."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_password(file: Path | None, setting: str) -> str | None:
    """Returns the first line of the password file for `setting`, None without a file.

    Raises `UsageError` if it cannot be read, the line is empty, or other users may read the file.
    """
    if file is None:
        return None
    try:
        others = is_open_to_others(file)
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else tell("it is not UTF-8")
        raise UsageError(
            tell("cannot read {file}: {reason}", file=file, reason=reason),
            hint=tell(
                "write the password for {setting} into its first line, or name another file by {variable}; nothing was "
                "started",
                setting=setting,
                variable=f"HKOJI_SERVER_{setting.upper()}_PASSWORD_FILE",
            ),
        ) from error
    if others:
        raise UsageError(
            tell("other users of this machine may read {file}", file=file),
            hint=tell("let only the service read it, as with chmod 600; nothing was started"),
        )
    if not lines or not lines[0]:
        raise UsageError(
            tell("the first line of {file} is empty", file=file),
            hint=tell("it has to be the password for {setting}; nothing was started", setting=setting),
        )
    return lines[0]


def is_open_to_others(file: Path) -> bool:
    """Whether users of the machine who are neither its owner nor of its group may read or change a file.

    Raises `OSError`.
    """
    return os.name == "posix" and bool(file.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH))
