"""The addresses of the service: LOCAL@HOST, LOCAL+TOKEN@HOST for answers, LOCAL+b-TOKEN@HOST for bounces; Message-IDs.

Below them stand the readers of the addresses in the header of a mail.

A token is 26 letters of base32. It is read in either case and written in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hkoji.messages.text import Text, tell

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


# --- addresses in header fields --------------------------------------------------------------------------------------

_ATEXT: Final = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~.-"
# A quoted string or a comment that is not closed goes on to the end: so no character is looked at twice.
_TOKENS = re.compile(
    rf'(?P<address>[{_ATEXT}]++@[A-Za-z0-9.-]++)|(?P<atom>[{_ATEXT}]++)|(?P<quoted>"(?:[^"\\]|\\.)*+"?)'
    r"|(?P<angle><[^<>]*+>)|(?P<space>[ \t]++)|(?P<other>.)",
    re.DOTALL,
)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)

_NO_SENDER: Final = tell("it has no field From")
_TWO_SENDERS: Final = tell("it has two fields From")
_NOT_ASCII: Final = tell("its From is not written in plain ASCII")
_GROUP: Final = tell("its From is a group of addresses")
_SEVERAL: Final = tell("its From has several addresses")
_NO_ADDRESS: Final = tell("its From is not one address, with nothing before it but a name")
_IN_NO_NAME: Final = frozenset(":;<>\\()")
"""Signs that a name does not have outside of quotes and comments: of a group, of a second address, or not closed."""
_OTHER_ADDRESS = re.compile(r"[^,]@[^,]*\.[^,.]")
"""Another address, as far as one could be in a name without its spaces."""


def read_sender(values: Sequence[bytes]) -> str | Text:
    """Returns the one address of the fields From, in lower case, or why they have none.

    A name before it must not be understood as another sender's address, by whatever program.
    """
    if len(values) != 1:
        return _TWO_SENDERS if values else _NO_SENDER
    # Each byte beyond ASCII is a character that stands in no address, whatever charset it is of.
    tokens = list(_tokens(values[0].decode("latin-1")))
    *name, (kind, text) = tokens or [("other", "")]
    if kind == "address" and not name:
        mailbox = text
    elif kind == "angle":
        mailbox = text[1:-1].strip(" \t")
    else:
        mailbox = ""
    if is_mailbox(mailbox) and not _could_name_another(name, mailbox):
        return mailbox.lower()
    if not values[0].isascii():
        return _NOT_ASCII
    others = [text for kind, text in tokens if kind == "other"]
    if ":" in others:
        return _GROUP
    return _SEVERAL if "," in others or ";" in others else _NO_ADDRESS


def _could_name_another(name: list[tuple[str, str]], mailbox: str) -> bool:
    """Tells whether the tokens before an address could be understood as another sender's, by whatever program."""
    outside = []
    own = mailbox.lower()
    for (kind, text), following in zip(name, [*name, ("other", "")][1:], strict=True):
        if kind == "angle" or (kind == "other" and text in _IN_NO_NAME):
            return True
        if kind == "quoted":
            outside.append('"')
            if not _QUOTED.fullmatch(text):
                return True
        elif kind != "address" or text.lower() != (f"'{own}" if following == ("atom", "'") else own):
            outside.append(text)  # some programs write the address once more, and some of them in apostrophes
    return _OTHER_ADDRESS.search("".join(outside)) is not None


def addresses_in(text: str) -> Iterator[str]:
    """Yields the addresses in the value of a field, in lower case; what is none is passed over."""
    address = ""
    for kind, piece in (*_tokens(text), ("other", ",")):
        if kind == "angle":
            address = piece[1:-1].strip(" \t")
        elif kind == "address":
            address = address or piece
        elif kind == "other" and piece in ",;:":
            if is_mailbox(address):
                yield address.lower()
            address = ""


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yields kind and text of what a list of addresses consists of, without spaces and comments.

    A comment that is not closed is yielded at the end as one bracket.
    """
    depth = 0
    place = 0
    while place < len(text):
        if depth or text[place] == "(":
            # In a comment only brackets and pairs with a backslash matter (RFC 5322, 3.2.2).
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            place += 2 if text[place] == "\\" else 1
            continue
        token = _TOKENS.match(text, place)
        assert token is not None
        assert token.lastgroup is not None
        place = token.end()
        if token.lastgroup != "space":
            yield token.lastgroup, token[0]
    if depth:
        yield "other", "("
