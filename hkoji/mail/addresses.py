"""The addresses of the service: LOCAL@HOST, LOCAL+TOKEN@HOST for answers, LOCAL+b-TOKEN@HOST for bounces; Message-IDs.

A token is 26 letters of base32. It is read in either case and written in lower case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NamedTuple

TOKEN_LETTERS: Final = 26
DELIMITERS: Final = ("+", "-", "")
"""The signs that may stand between LOCAL and a token; the empty text if the mailbox has one address only."""

_TOKEN = re.compile(rf"[a-z2-7]{{{TOKEN_LETTERS}}}")
_BOUNCE: Final = "b-"
_OUR_ID = re.compile(rf"[a-z][a-z0-9_-]{{0,31}}\.[0-9]{{1,18}}\.([a-z2-7]{{{TOKEN_LETTERS}}})")

# A local part may hold more (RFC 5322, 3.4.1); quoted ones and domain literals are not read anywhere in the project.
_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_ENCODED_WORD: Final = "=?"
"""With it begin the words of RFC 2047, as which a reader could understand an address; none may stand in one."""
_LONGEST_LOCAL: Final = 64
_LONGEST_DOMAIN: Final = 255
_LONGEST_MAILBOX: Final = 254
"""RFC 5321, 4.5.3.1: a path of 256 characters has two angle brackets."""


def is_mailbox(text: str) -> bool:
    """Tells whether `text` is one ASCII address `local@domain`: a dot-atom and the name of a host."""
    local, at, domain = text.rpartition("@")
    return (
        bool(at)
        and _ENCODED_WORD not in text
        and len(text) <= _LONGEST_MAILBOX
        and len(local) <= _LONGEST_LOCAL
        and len(domain) <= _LONGEST_DOMAIN
        and _LOCAL.fullmatch(local) is not None
        and _DOMAIN.fullmatch(domain) is not None
    )


def is_token(text: str) -> bool:
    """Tells whether `text` is a token as it is written: 26 letters of base32 in lower case."""
    return _TOKEN.fullmatch(text) is not None


class Found(NamedTuple):
    """A token in lower case, and whether the address that had it is one for bounces."""

    token: str
    bounce: bool = False


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """The address of a service. `mailbox` is LOCAL@HOST, `delimiter` one of `DELIMITERS`.

    Without a delimiter every address is LOCAL@HOST, and tokens stand only in Message-IDs.
    """

    mailbox: str
    delimiter: str = "+"

    def __post_init__(self) -> None:
        """Raises `ValueError` if the mailbox is no address, or the delimiter is unknown."""
        if not is_mailbox(self.mailbox) or self.delimiter not in DELIMITERS:
            raise ValueError(f"{self.mailbox!r} with the delimiter {self.delimiter!r} is no address of a service")

    @property
    def local(self) -> str:
        """The part before the `@`."""
        return self.mailbox.rpartition("@")[0]

    @property
    def host(self) -> str:
        """The part after the `@`."""
        return self.mailbox.rpartition("@")[2]

    def with_token(self, token: str) -> str:
        """Returns the address to which a player answers."""
        return self._tagged(token)

    def bounce(self, token: str) -> str:
        """Returns the envelope sender of a letter."""
        return self._tagged(_BOUNCE + token)

    def message_id(self, event: str, seq: int, token: str) -> str:
        """Returns the Message-ID of a letter, with its angle brackets."""
        return f"<{event}.{seq}.{token}@{self.host}>"

    def _tagged(self, tag: str) -> str:
        return f"{self.local}{self.delimiter}{tag}@{self.host}" if self.delimiter else self.mailbox

    def is_ours(self, address: str) -> bool:
        """Tells whether mail to `address` is for this service: LOCAL@HOST, also with anything behind the delimiter.

        A sender who has copied a token wrongly gets no bounce: it could go to somebody whose address was forged. Nobody
        has copied what is not ASCII.
        """
        if not address.isascii():
            return False
        local, at, host = address.lower().rpartition("@")
        own = self.local.lower()
        ours = local == own or (bool(self.delimiter) and local.startswith(own + self.delimiter))
        return bool(at) and host == self.host.lower() and ours

    def find_in_address(self, address: str) -> Found | None:
        """Returns the token in one of our addresses; None for every other address, and for one without a token."""
        local, at, host = address.lower().rpartition("@")
        head = self.local.lower() + self.delimiter
        if not at or not self.delimiter or host != self.host.lower() or not local.startswith(head):
            return None
        tag = local[len(head) :]
        token = tag.removeprefix(_BOUNCE)
        return Found(token, token != tag) if is_token(token) else None

    def find_in_id(self, message_id: str) -> Found | None:
        """Returns the token in the Message-ID of one of our letters; None for every other. Brackets may be missing."""
        local, at, host = message_id.lower().removeprefix("<").removesuffix(">").rpartition("@")
        if not at or host != self.host.lower():
            return None
        ours = _OUR_ID.fullmatch(local)
        return None if ours is None else Found(ours[1])
