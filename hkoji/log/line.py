"""Lines of a log file: an entry's exact text with its signature and, in exports, its receipt.

docs/spec/log.md, "Files". A line is canonical like an entry, but that its strings may hold quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from hkoji.errors import MalformedError
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue, decode_base64, decode_json, encode_base64, encode_json
from hkoji.log.entry import MAX_ENTRY_BYTES, SERVER_NAME, Entry, parse_entry
from hkoji.log.keys import Signer
from hkoji.log.receipt import Receipt, parse_receipt

MAX_LINE_BYTES: Final = 2 * MAX_ENTRY_BYTES + 4096

_ASCII = re.compile(r"[ -~]*")
_LINE_KEYS: Final = frozenset({"entry", "sig"})
_EXPORT_KEYS: Final = _LINE_KEYS | {"receipt"}
_SIGNED_KEYS: Final = frozenset({"text", "sig"})


@dataclass(frozen=True, slots=True)
class SignedReceipt:
    """A receipt with the service's SSHSIG blob."""

    receipt: Receipt
    sig: bytes


@dataclass(frozen=True, slots=True)
class Line:
    """An entry with its author's SSHSIG blob and perhaps its receipt."""

    entry: Entry
    sig: bytes
    receipt: SignedReceipt | None = None


def sign_entry(entry: Entry, signer: Signer) -> bytes:
    """The blob of an entry in the namespace of its author: the service's, or the players'."""
    return signer.sign(sshsig.SERVER if entry.by == SERVER_NAME else sshsig.ENTRY, entry.message)


def line_to_json(line: Line, *, receipts: bool = True) -> dict[str, JsonValue]:
    """The object of a line; without its receipt if `receipts` is False."""
    value: dict[str, JsonValue] = {"entry": line.entry.text, "sig": encode_base64(line.sig)}
    if receipts and line.receipt:
        value["receipt"] = {"sig": encode_base64(line.receipt.sig), "text": line.receipt.receipt.text}
    return value


def format_line(line: Line, *, receipts: bool = True) -> str:
    """A line's text, without the newline."""
    return encode_json(line_to_json(line, receipts=receipts))


def format_log(lines: Iterable[Line], *, receipts: bool = True) -> str:
    """The text of a log file."""
    return "".join(f"{format_line(line, receipts=receipts)}\n" for line in lines)


def parse_line(text: str) -> Line:
    """Reads one line without its newline. Raises `MalformedError` or `NotUnderstoodError`."""
    if len(text) > MAX_LINE_BYTES:
        raise MalformedError("line", f"it is longer than {MAX_LINE_BYTES} bytes")
    if not _ASCII.fullmatch(text):
        raise MalformedError("line", "it is not printable ASCII")
    value = decode_json(text, "line")
    if encode_json(value) != text:
        raise MalformedError("line", "it is not canonical: keys sorted and each once, no spaces, no other spelling")
    return read_line(value)


def read_line(value: JsonValue) -> Line:
    """Reads a decoded line. Raises `MalformedError` or `NotUnderstoodError`."""
    if not isinstance(value, dict) or value.keys() not in (_LINE_KEYS, _EXPORT_KEYS):
        raise MalformedError("line", "it is not an object with entry, sig and perhaps receipt")
    entry, sig = value["entry"], value["sig"]
    if not isinstance(entry, str) or not isinstance(sig, str):
        raise MalformedError("line", "entry and sig are not text")
    receipt = read_signed_receipt(value["receipt"]) if "receipt" in value else None
    return Line(parse_entry(entry), decode_base64(sig, "signature"), receipt)


def read_signed(value: JsonValue, what: str) -> tuple[str, bytes]:
    """Text and blob of a decoded `{"text", "sig"}`. Raises `MalformedError` for `what`."""
    if not isinstance(value, dict) or value.keys() != _SIGNED_KEYS:
        raise MalformedError(what, "it is not an object with text and sig")
    text, sig = value["text"], value["sig"]
    if not isinstance(text, str) or not isinstance(sig, str):
        raise MalformedError(what, "text and sig are not text")
    return text, decode_base64(sig, "signature")


def read_signed_receipt(value: JsonValue) -> SignedReceipt:
    """Reads a decoded receipt with its signature. Raises `MalformedError` or `NotUnderstoodError`."""
    text, sig = read_signed(value, "receipt")
    return SignedReceipt(parse_receipt(text), sig)


def parse_lines(log: str | bytes) -> Iterator[Line]:
    """Reads a log file line by line, lazily; every line ends in a newline.

    Raises `MalformedError` or `NotUnderstoodError` at the first line that cannot be read.
    """
    # Latin-1 keeps every byte a character of its own, and parse_line refuses those that are not ASCII.
    text = log.decode("latin-1") if isinstance(log, bytes) else log
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        if end < 0:
            raise MalformedError("line", "it does not end in a newline: the file is cut short")
        yield parse_line(text[start:end])
        start = end + 1


def parse_log(log: str | bytes) -> tuple[Line, ...]:
    """Reads a whole log file. Raises like `parse_lines`."""
    return tuple(parse_lines(log))
