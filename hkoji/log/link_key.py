"""Invitation by link: the code in a link, the key that is made from it, and the text that this key signs.

docs/spec/log.md, "Invitation by link". Only the two clients know the code; the service sees the public key and the
signatures. The key signs the `open` in namespace `hkoji.invite.v1` and the `join` in `hkoji.join.v1`, over one form of
text, so that neither can be taken for the other. This module does not know what a link looks like, and draws no code.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.errors import MalformedError
from hkoji.log.canonical import GAME, HASH, NAME, TEXT, VERSION, JsonValue, TextForm, encode, is_hex, message
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.log.private_key import PrivateKey

CODE_BYTES: Final = 16
CODE_DIGITS: Final = 2 * CODE_BYTES
MAX_LINK_STATEMENT_BYTES: Final = 1024

_LINK: Final = TextForm(
    "entry by link",
    MAX_LINK_STATEMENT_BYTES,
    {"entropy_commit": HASH, "game": GAME, "key": TEXT, "name": NAME, "prev": HASH},
)


class LinkStatement(NamedTuple):
    """Player `name`, with `key` and `entropy_commit`, opens or joins `game` by the entry after the head `prev`."""

    entropy_commit: str
    game: str
    key: PublicKey
    name: str
    prev: str
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.invite.v1` or `hkoji.join.v1`."""
        return message(self.text)


def parse_link_statement(text: str) -> LinkStatement:
    """Reads the exact text. Raises `MalformedError`, `WeakKeyError` or `NotUnderstoodError`."""
    entropy_commit, game, key, name, prev = _LINK.read(text)
    return LinkStatement(entropy_commit, game, parse_public_key(key), name, prev, text)


def make_link_statement(*, entropy_commit: str, game: str, key: PublicKey, name: str, prev: str) -> LinkStatement:
    """A statement from its fields, which are those of the entry. Raises what `parse_link_statement` raises."""
    value: dict[str, JsonValue] = {
        "entropy_commit": entropy_commit,
        "game": game,
        "key": key.text,
        "name": name,
        "prev": prev,
        "v": VERSION,
    }
    return parse_link_statement(encode(value))


def link_key(code: str) -> PrivateKey:
    """The key of a link, from its code: exactly 32 lower case hex digits. Raises `MalformedError`, without the code."""
    if not is_hex(code, CODE_DIGITS):
        raise MalformedError(
            tell("the code of a link"), tell("it is not {digits} lower case hex digits", digits=CODE_DIGITS)
        )
    from hkoji.log.private_key import PrivateKey

    return PrivateKey.from_seed(sha256(f"hkoji.link.v1\n{code}\n".encode("ascii")).digest())
