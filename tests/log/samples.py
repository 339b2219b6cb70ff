"""Samples for the tests of the log: three fixed keys, a small log made with them, and arbitrary canonical values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from hypothesis import strategies as st

from hkoji.errors import InvalidError
from hkoji.log import sshsig
from hkoji.log.canonical import MAX_INTEGER, JsonValue, decode, encode
from hkoji.log.line import GENESIS, SERVER_NAME, Entry, Line, SignedReceipt, make_entry, make_receipt, sign_entry
from hkoji.log.private_key import PrivateKey

T = TypeVar("T")

SERVER: Final = PrivateKey.from_seed(bytes(range(32)))
ALICE: Final = PrivateKey.from_seed(b"\x01" * 32)
BOB: Final = PrivateKey.from_seed(b"\x02" * 32)
GAME: Final = "2714f3b33c7ecb05393f34920c14fec3"
AT: Final = "2026-11-20T12:00:00Z"

_BODIES: Final[tuple[tuple[str, str, dict[str, JsonValue]], ...]] = (
    (SERVER_NAME, "offer", {"requires": [], "server_key": SERVER.public.text}),
    ("alice", "open", {"invite": None, "key": ALICE.public.text}),
    ("bob", "join", {"key": BOB.public.text}),
    ("alice", "move", {"action": "2XX", "commit": ["0" * 64]}),
    (SERVER_NAME, "end", {"result": {"reason": "resign", "winner": 1}, "sure": True}),
)


def make_line(entry: Entry) -> Line:
    """`entry` signed by its author and the service."""
    author = {SERVER_NAME: SERVER, "alice": ALICE, "bob": BOB}[entry.by]
    receipt = make_receipt(at=AT, game=entry.game, head=entry.head, seq=entry.seq)
    return Line(entry, sign_entry(entry, author), SignedReceipt(receipt, SERVER.sign(sshsig.RECEIPT, receipt.message)))


def make_log() -> tuple[Line, ...]:
    """A chain of five signed entries with receipts. It is no game: the log does not look at its content."""
    lines: list[Line] = []
    for seq, (by, kind, body) in enumerate(_BODIES):
        prev = lines[-1].entry.head if lines else GENESIS
        lines.append(
            make_line(
                make_entry(at=AT, body=body, by=by, game=GAME, kind=kind, prev=prev, seen=AT if seq else None, seq=seq)
            )
        )
    return tuple(lines)


LOG: Final = make_log()
MOVE: Final = LOG[3].entry

PLAIN: Final = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in '"\\')
texts = st.text(alphabet=PLAIN, max_size=12)
values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(0, MAX_INTEGER) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def changed(text: str, **change: JsonValue) -> str:
    """A canonical text with other values, or further ones."""
    value = decode(text, "sample")
    assert isinstance(value, dict)
    return encode({**value, **change})


def edits(text: str) -> list[str]:
    """Every text that one insertion, deletion or replacement makes of `text`, with a selection of characters."""
    characters = '0179aAfzZ "\\,:{}[]-+._\t\n\r\x00\x7f\u00e9\u0660\ufeff'
    found = {text[:at] + text[at + 1 :] for at in range(len(text))}
    for new in characters:
        found.update(text[:at] + new + text[at:] for at in range(len(text) + 1))
        found.update(text[:at] + new + text[at + 1 :] for at in range(len(text)))
    found.discard(text)
    return sorted(found)


def reason(error: InvalidError) -> str:
    """The message, after checking that a person can read it: one short line of plain text."""
    message = error.message
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 200
    return message


def attempt(read: Callable[[], T]) -> T | None:
    """The result of `read`; None if it refuses its input with a readable reason. Any other exception passes through."""
    try:
        return read()
    except InvalidError as error:
        reason(error)
        return None


def node_id(value: object) -> str:
    """Returns a test's id without backslashes: pytest escapes them again in each run within one process."""
    return ascii(value).replace("\\", "/")
