"""The log: entries, the links of its chain, and the lines of its file, each an entry with signature and receipt.

docs/spec/log.md, "Entries", "Receipts" and "Files". Each entry names its game, its place and the head before it. Here a
body is any canonical object; the kinds and their bodies are in `hkoji.game`. Signatures are not part of the chain,
because a signer can make many for one text.

A receipt is the service's signed statement that an entry is on disk and in the chain. Its time is the time of record;
an entry's own time is a claim. A line is canonical like an entry, except that its strings may hold quotes, written
`\\"`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.log import sshsig
from hkoji.log.canonical import (
    GAME,
    HASH,
    KIND,
    MAX_DEPTH,
    NAME,
    NUMBER,
    OBJECT,
    TIME,
    TIME_OR_NULL,
    VERSION,
    JsonValue,
    TextForm,
    decode,
    decode_base64,
    encode,
    encode_base64,
    exactly,
    fields,
    message,
)
from hkoji.log.mail_claim import MAIL
from hkoji.log.private_key import Signer
from hkoji.messages.text import tell

SERVER_NAME: Final = "server"

GENESIS: Final = "0" * 64
"""The head that the first entry names as the one before it."""

MAX_ENTRY_BYTES: Final = 2**20
"""The limit. The longest entry is an `end`, with an opening for each card that a long game kept hidden."""

_FORM: Final = TextForm(
    "entry",
    MAX_ENTRY_BYTES,
    {
        "at": TIME,
        "body": OBJECT,
        "by": NAME,
        "game": GAME,
        "kind": KIND,
        "prev": HASH,
        "seen": TIME_OR_NULL,
        "seq": NUMBER,
    },
)


class Entry(NamedTuple):
    """One entry, made by `parse_entry` or `make_entry`. A named tuple, because logs are read entry by entry.

    `seen` is the time of record of the entry before, None in entry 0.
    `text` is the exact line, `message` the bytes that are signed and hashed (with the LF), and `head` their SHA-256 in
    hex, which the next entry names as its `prev`.
    """

    at: str
    body: dict[str, JsonValue]
    by: str
    game: str
    kind: str
    prev: str
    seen: str | None
    seq: int
    text: str
    message: bytes
    head: str


def parse_entry(text: str) -> Entry:
    """Reads an entry's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    at, encoded, by, game, kind, prev, said, seq = _FORM.read(text)
    seen = None if said == "null" else said[1:-1]
    if (seen is None) != (seq == "0"):
        raise MalformedError("entry", tell("seen is a time in each entry but the first, and null in that"))
    body = decode(encoded, "body of an entry", MAX_DEPTH - 1)
    assert isinstance(body, dict)
    signed = message(text)
    return Entry(at, body, by, game, kind, prev, seen, _FORM.number(seq), text, signed, sha256(signed).hexdigest())


def make_entry(
    *, at: str, body: dict[str, JsonValue], by: str, game: str, kind: str, prev: str, seen: str | None, seq: int
) -> Entry:
    """An entry from its fields. Raises what `parse_entry` raises."""
    value: dict[str, JsonValue] = {
        "at": at,
        "body": body,
        "by": by,
        "game": game,
        "kind": kind,
        "prev": prev,
        "seen": seen,
        "seq": seq,
        "v": VERSION,
    }
    return parse_entry(encode(value))


def verify_start(entry: Entry) -> None:
    """Checks that `entry` can be a log's first. Raises `MalformedError`."""
    if entry.seq != 0:
        raise MalformedError(tell("chain"), tell("it begins with entry {seq}, not with entry 0", seq=entry.seq))
    if entry.prev != GENESIS:
        raise MalformedError(tell("chain"), tell("prev of entry 0 is not 64 zeros"))


def verify_link(entry: Entry, seq: int, head: str, game: str) -> None:
    """Checks that `entry` comes right after entry `seq` of `game`, which has that `head`. Raises `MalformedError`."""
    if entry.game != game:
        raise MalformedError(
            tell("chain"), tell("entry {seq} after entry {before} belongs to another game", seq=entry.seq, before=seq)
        )
    if entry.seq != seq + 1:
        raise MalformedError(
            tell("chain"), tell("entry {seq} does not follow entry {before}", seq=entry.seq, before=seq)
        )
    if entry.prev != head:
        raise MalformedError(
            tell("chain"), tell("prev of entry {seq} is not the hash of entry {before}", seq=entry.seq, before=seq)
        )


# --- reading bodies ---------------------------------------------------------------------------------------------------

# docs/spec/log.md, "Kinds" and "Growing": readers ignore only this one object.
_EXT: Final = "ext"


def read_fields(
    body: JsonValue, what: str, keys: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, JsonValue]:
    """Reads a body that has exactly `keys`, perhaps some of `optional`, and perhaps `ext`, which is ignored.

    Raises `MalformedError` or `NotUnderstoodError`.
    """
    fields = exactly(body, what, keys, (*optional, _EXT, MAIL))
    # Every reader knows this key. So where it does not belong, the body is malformed.
    if MAIL in fields and MAIL not in optional:
        raise MalformedError(what, tell("{key} does not belong in it", key=MAIL))
    if not isinstance(fields.get(_EXT, {}), dict):
        raise MalformedError(what, tell("{ext} is not an object", ext=_EXT))
    return fields


# --- receipts and lines -----------------------------------------------------------------------------------------------

MAX_RECEIPT_BYTES: Final = 1024

_RECEIPT_FORM: Final = TextForm("receipt", MAX_RECEIPT_BYTES, {"at": TIME, "game": GAME, "head": HASH, "seq": NUMBER})


class Receipt(NamedTuple):
    """The statement that entry `seq`, with that `head`, was stored in `game` at `at`. `text` is its exact line."""

    at: str
    game: str
    head: str
    seq: int
    text: str

    @property
    def message(self) -> bytes:
        """The signed bytes, in namespace `hkoji.receipt.v1`."""
        return message(self.text)


def parse_receipt(text: str) -> Receipt:
    """Reads a receipt's exact text. Raises `MalformedError`, or `NotUnderstoodError` for another version."""
    at, game, head, seq = _RECEIPT_FORM.read(text)
    return Receipt(at, game, head, _RECEIPT_FORM.number(seq), text)


def make_receipt(*, at: str, game: str, head: str, seq: int) -> Receipt:
    """A receipt from its fields. Raises what `parse_receipt` raises."""
    # The text needs no encoder: parsing refuses anything but the canonical text of a receipt.
    return parse_receipt(f'{{"at":"{at}","game":"{game}","head":"{head}","seq":{seq},"v":{VERSION}}}')


MAX_LINE_BYTES: Final = 2 * MAX_ENTRY_BYTES + 8192
"""The limit: an entry, a backslash for each of its quotes, two signatures and a receipt."""

# Possessive (+): a wrapped string can end in one place only, so the matcher need not remember where to try again.
_BASE64: Final = r'"([A-Za-z0-9+/]++={0,2})"'
_WRAPPED: Final = r'"([ !#-\[\]-~]*+(?:\\"[ !#-\[\]-~]*+)*+)"'
SIGNED: Final = rf'\{{"sig":{_BASE64},"text":{_WRAPPED}\}}'
"""Matches what `format_signed` writes, with groups for the signature and the text, which `unquote` reads."""
_LINE = re.compile(rf'\{{"entry":{_WRAPPED},(?:"receipt":{SIGNED},)?"sig":{_BASE64}\}}')
_STRANGE = re.compile(r"[^ -~]")


class SignedEntry(NamedTuple):
    """A text and its SSHSIG blob; on the wire `{"sig": base64, "text": …}`."""

    text: str
    sig: bytes


class SignedReceipt(NamedTuple):
    """A receipt with the service's SSHSIG blob."""

    receipt: Receipt
    sig: bytes


class Line(NamedTuple):
    """An entry with its author's SSHSIG blob and perhaps its receipt."""

    entry: Entry
    sig: bytes
    receipt: SignedReceipt | None = None


class StoredLine(NamedTuple):
    """A line with its receipt as stored, not parsed: exact texts and SSHSIG blobs."""

    text: str
    sig: bytes
    receipt: str
    receipt_sig: bytes

    @property
    def head(self) -> str:
        """The SHA-256 of its entry's message in hex, which the next entry names as its `prev`."""
        return sha256(message(self.text)).hexdigest()

    def read(self) -> Line:
        """Parses the line. Raises `MalformedError` or `NotUnderstoodError`."""
        return Line(parse_entry(self.text), self.sig, SignedReceipt(parse_receipt(self.receipt), self.receipt_sig))


def entry_namespace(entry: Entry) -> str:
    """The namespace in which an entry is signed: the service's own, that of keys which it holds, or the players'.

    The text decides, so a signature cannot be exchanged for one in another namespace: that would be another entry.
    """
    if entry.by == SERVER_NAME:
        return sshsig.SERVER
    return sshsig.GATEWAY if MAIL in entry.body else sshsig.ENTRY


def sign_entry(entry: Entry, signer: Signer) -> bytes:
    """The SSHSIG blob of an entry."""
    return signer.sign(entry_namespace(entry), entry.message)


def line_to_json(line: Line) -> dict[str, JsonValue]:
    """The object of a line, with its receipt if it has one."""
    value: dict[str, JsonValue] = {"entry": line.entry.text, "sig": encode_base64(line.sig)}
    if line.receipt:
        value["receipt"] = {"sig": encode_base64(line.receipt.sig), "text": line.receipt.receipt.text}
    return value


def format_line(line: Line, *, receipts: bool = True) -> str:
    """A line's text, without the newline."""
    signed = line.receipt if receipts else None
    return _format(line.entry.text, line.sig, format_signed(signed.receipt.text, signed.sig) if signed else "")


def format_stored(written: StoredLine) -> str:
    """The text of a stored line: what `format_line` gives for the parsed one, without parsing it."""
    text, sig, receipt, receipt_sig = written
    return _format(text, sig, format_signed(receipt, receipt_sig))


def format_signed(text: str, sig: bytes) -> str:
    """The canonical text of `{"sig", "text"}`."""
    return f'{{"sig":"{encode_base64(sig)}","text":{_quote(text)}}}'


def unquote(text: str) -> str:
    """The text that stands in a line as the string `text`, without the quotes around it."""
    return text.replace('\\"', '"')


def _format(text: str, sig: bytes, receipt: str) -> str:
    middle = f'"receipt":{receipt},' if receipt else ""
    return f'{{"entry":{_quote(text)},{middle}"sig":"{encode_base64(sig)}"}}'


def format_log(lines: Iterable[Line], *, receipts: bool = True) -> str:
    """The text of a log file."""
    return "".join(f"{format_line(line, receipts=receipts)}\n" for line in lines)


def parse_line(text: str) -> Line:
    """Reads one line without its newline. Raises `MalformedError` or `NotUnderstoodError`."""
    match = _LINE.fullmatch(text) if len(text) <= MAX_LINE_BYTES else None
    if match is None:
        raise _explain(text)
    wrapped, receipt_sig, receipt, sig = match.groups()
    entry = parse_entry(unquote(wrapped))
    if receipt is None:
        return Line(entry, decode_base64(sig, "signature"))
    signed = SignedReceipt(parse_receipt(unquote(receipt)), decode_base64(receipt_sig, "signature of the receipt"))
    return Line(entry, decode_base64(sig, "signature"), signed)


def read_line(value: object) -> Line:
    """Reads a decoded line. Raises `MalformedError` or `NotUnderstoodError`."""
    line = fields(value, "line", "entry", "sig", optional=("receipt",))
    entry = parse_entry(_text(line, "entry", "line"))
    sig = decode_base64(_text(line, "sig", "line"), "signature")
    return Line(entry, sig, read_signed_receipt(line["receipt"]) if "receipt" in line else None)


def read_signed(value: object, what: str) -> SignedEntry:
    """Reads a decoded `{"sig", "text"}` with any text. Raises `MalformedError` for `what`."""
    signed = fields(value, what, "sig", "text")
    return SignedEntry(_text(signed, "text", what), decode_base64(_text(signed, "sig", what), "signature"))


def read_signed_receipt(value: object) -> SignedReceipt:
    """Reads a decoded receipt with its signature. Raises `MalformedError` or `NotUnderstoodError`."""
    signed = read_signed(value, "receipt")
    return SignedReceipt(parse_receipt(signed.text), signed.sig)


def parse_lines(log: str | bytes) -> Iterator[Line]:
    """Reads a log file line by line, lazily; every line ends in LF.

    Raises `MalformedError` or `NotUnderstoodError` at the first line that cannot be read, and counts it from 1.
    """
    # Latin-1 keeps every byte a character of its own, and parse_line refuses those that are not ASCII.
    text = log.decode("latin-1") if isinstance(log, bytes) else log
    start = number = 0
    while start < len(text):
        number += 1
        end = text.find("\n", start)
        if end < 0:
            raise MalformedError(
                tell("line {number}", number=number), tell("it does not end in LF: the file is cut short")
            )
        try:
            line = parse_line(text[start:end])
        except MalformedError as error:
            reason = (
                error.reason
                if error.what == "line"
                else tell("its {what}: {reason}", what=error.what, reason=error.reason)
            )
            raise MalformedError(tell("line {number}", number=number), reason) from None
        except NotUnderstoodError as error:
            raise NotUnderstoodError(
                tell("line {number}: {what}", number=number, what=error.what), error.value
            ) from None
        yield line
        start = end + 1


def parse_log(log: str | bytes) -> tuple[Line, ...]:
    """Reads a whole log file; an empty one has no lines. Raises like `parse_lines`."""
    return tuple(parse_lines(log))


def _explain(text: str) -> MalformedError:
    """The error of a line that does not match; may raise it instead of returning it."""
    if len(text) > MAX_LINE_BYTES:
        return MalformedError(
            tell("line"), tell("it is longer than {max_line_bytes} bytes", max_line_bytes=MAX_LINE_BYTES)
        )
    if not text:
        return MalformedError(tell("line"), tell("it is empty"))
    strange = _STRANGE.search(text)
    if strange:
        found = f"column {strange.start() + 1} is U+{ord(strange[0]):04X}"
        return MalformedError(
            tell("line"), tell("{found}; only printable ASCII and, at the end, LF are allowed", found=found)
        )
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return MalformedError(tell("line"), tell("it is not JSON"))
    read_line(value)
    return MalformedError(tell("line"), tell("it is not written canonically: keys sorted and each once, no spaces"))


def _quote(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def _text(value: dict[str, JsonValue], name: str, what: str) -> str:
    text = value[name]
    if not isinstance(text, str):
        raise MalformedError(what, tell("{name} is not text", name=name))
    return text
