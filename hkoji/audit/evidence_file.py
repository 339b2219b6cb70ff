"""A file of evidence: one game's log, the service's signed views and heads, and what a client has refused of it.

docs/spec/evidence.md. Reading is strict: a file in any other form is refused. This module checks no signatures and
draws no conclusions, not even whether an entry may stand where it does; `hkoji.audit.evidence_audit` does. The keys in
a file are those that its maker had pinned, and no proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from hkoji.errors import HkojiError, MalformedError, NotUnderstoodError
from hkoji.game.entry_kinds import EntryBody, parse_body
from hkoji.log.canonical import JsonValue, decode, encode, is_hex, is_name
from hkoji.log.game_statements import SignedHead, format_head, parse_head_line
from hkoji.log.line import GENESIS, Entry, Line, format_line, parse_line
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import SignedView, format_view, parse_view_line
from hkoji.messages.text import tell

VERSION: Final = 1
MAX_STATEMENTS: Final = 4096
"""The most views, heads and refused lines, together, that a file may have."""
MAX_HEADER_BYTES: Final = 65_536

_BEGINS: Final = '{"evidence":'
_WHAT: Final = tell("evidence")
_BEGINS_VIEW: Final = '{"view":'
_BEGINS_HEAD: Final = '{"head":'
_REFUSED: Final = '{"refused":'

SignedStatement: TypeAlias = Line | SignedView | SignedHead
"""A statement that the service has sent and a client can refuse."""


class EvidenceFile(NamedTuple):
    """The content of a file. `log` is the text of the log's lines, not parsed; `keys` are its maker's pinned keys."""

    game: str
    keys: Mapping[str, tuple[PublicKey, ...]]
    log: str
    views: tuple[SignedView, ...] = ()
    refused: tuple[SignedStatement, ...] = ()
    heads: tuple[SignedHead, ...] = ()


def is_evidence(data: str | bytes) -> bool:
    """Whether the first bytes of a file say that it is evidence."""
    return data.startswith(_BEGINS) if isinstance(data, str) else data.startswith(_BEGINS.encode())


def format_evidence(evidence: EvidenceFile) -> str:
    """The text of a file."""
    keys: dict[str, JsonValue] = {name: [key.text for key in known] for name, known in evidence.keys.items()}
    header = encode({"evidence": VERSION, "game": evidence.game, "keys": keys})
    views = map(format_view, evidence.views)
    heads = map(format_head, evidence.heads)
    refused = map(format_refused, evidence.refused)
    return f"{header}\n{evidence.log}" + "".join(f"{line}\n" for line in (*views, *heads, *refused))


def format_refused(statement: SignedStatement) -> str:
    """The line of a refused statement, without the newline."""
    match statement:
        case Line():
            inner = format_line(statement)
        case SignedView():
            inner = format_view(statement)
        case SignedHead():
            inner = format_head(statement)
    return f"{_REFUSED}{inner}}}"


def parse_refused_line(text: str) -> SignedStatement:
    """Reads the line of a refused statement. Raises `MalformedError` or `NotUnderstoodError`."""
    if not (text.startswith(_REFUSED) and text.endswith("}")):
        raise MalformedError(tell("line"), tell("it is not a line of a log, a view, a head or a refused statement"))
    inner = text[len(_REFUSED) : -1]
    if inner.startswith(_BEGINS_VIEW):
        return parse_view_line(inner)
    return parse_head_line(inner) if inner.startswith(_BEGINS_HEAD) else parse_line(inner)


def parse_evidence(data: str | bytes) -> EvidenceFile:
    """Reads a file, but does not parse the lines of the log in it. Raises `MalformedError` or `NotUnderstoodError`."""
    text = data.decode("latin-1") if isinstance(data, bytes) else data
    if not text.endswith("\n"):
        raise MalformedError(_WHAT, tell("it does not end in LF: the file is cut short"))
    end = text.index("\n")
    game, keys = _parse_header(text[:end])
    start = log = end + 1
    while text.startswith('{"entry":', start):
        start = text.index("\n", start) + 1
    lines = text[start:].split("\n")[:-1]
    if len(lines) > MAX_STATEMENTS:
        raise MalformedError(_WHAT, tell("it has more than {most} views, heads and refused lines", most=MAX_STATEMENTS))
    views: list[SignedView] = []
    heads: list[SignedHead] = []
    refused: list[SignedStatement] = []
    first = text.count("\n", 0, start) + 1
    for number, line in enumerate(lines, first):
        try:
            if line.startswith(_BEGINS_VIEW) and not heads and not refused:
                views.append(parse_view_line(line))
            elif line.startswith(_BEGINS_HEAD) and not refused:
                heads.append(parse_head_line(line))
            else:
                refused.append(parse_refused_line(line))
        except MalformedError as error:
            raise MalformedError(_WHAT, tell("line {number}: {what}", number=number, what=error.reason)) from None
        except NotUnderstoodError as error:
            raise NotUnderstoodError(
                tell("line {number}: {what}", number=number, what=error.what), error.value
            ) from None
    return EvidenceFile(game, keys, text[log:start], tuple(views), tuple(refused), tuple(heads))


def _parse_header(text: str) -> tuple[str, Mapping[str, tuple[PublicKey, ...]]]:
    if len(text) > MAX_HEADER_BYTES:
        raise MalformedError(_WHAT, tell("its first line is longer than {most} bytes", most=MAX_HEADER_BYTES))
    value = decode(text, "evidence")
    if not isinstance(value, dict) or type(value.get("evidence")) is not int:
        raise MalformedError(_WHAT, tell("its first line does not give a version"))
    if value["evidence"] != VERSION:
        raise NotUnderstoodError(tell("evidence version"), str(value["evidence"]))
    game, keys = value.get("game"), value.get("keys")
    if set(value) != {"evidence", "game", "keys"} or not isinstance(keys, dict):
        raise MalformedError(_WHAT, tell("its first line must have exactly the keys evidence, game and keys"))
    if not isinstance(game, str) or not is_hex(game, 32):
        raise MalformedError(_WHAT, tell("its game is not 32 lower case hex digits"))
    return game, {name: _parse_keys(name, known) for name, known in keys.items()}


def _parse_keys(name: str, known: JsonValue) -> tuple[PublicKey, ...]:
    if not is_name(name) or not isinstance(known, list) or not known:
        raise MalformedError(_WHAT, tell("its keys must be lists of keys by name"))
    texts = [each for each in known if isinstance(each, str)]
    if len(texts) < len(known):
        raise MalformedError(_WHAT, tell("its keys must be lists of keys by name"))
    return tuple(map(parse_public_key, texts))


def of_game(statements: Iterable[SignedStatement], game: str) -> tuple[SignedStatement, ...]:
    """The statements that are about `game`."""
    return tuple(each for each in statements if _game(each) == game)


def _game(statement: SignedStatement) -> str:
    match statement:
        case Line():
            return statement.entry.game
        case SignedView():
            return statement.view.game
        case SignedHead():
            return statement.statement.game


# --- the entries of one game ------------------------------------------------------------------------------------------


class EntryTree:
    """The entries of one game in a file, as a tree. `lines` are in the order of the file."""

    def __init__(self, game: str, lines: Iterable[Line]) -> None:
        self._lines: Final[dict[str, list[Line]]] = {}
        self._parents: Final[set[str]] = set()
        self._bodies: Final[dict[str, EntryBody | None]] = {}
        for line in lines:
            if line.entry.game == game:
                self._lines.setdefault(line.entry.head, []).append(line)
                self._parents.add(line.entry.prev)

    def __iter__(self) -> Iterator[Entry]:
        return (lines[0].entry for lines in self._lines.values())

    def find(self, head: str) -> Entry | None:
        """The entry with that head."""
        lines = self._lines.get(head)
        return lines[0].entry if lines else None

    def body(self, entry: Entry) -> EntryBody | None:
        """The parsed body of an entry; None if it is not understood."""
        if entry.head not in self._bodies:
            try:
                self._bodies[entry.head] = parse_body(entry.kind, entry.body)
            except HkojiError:
                self._bodies[entry.head] = None
        return self._bodies[entry.head]

    def lines(self, head: str) -> list[Line]:
        """All lines that hold an entry, each with a signature and perhaps a receipt."""
        return self._lines[head]

    def ends(self) -> Iterator[str]:
        """The heads of the entries that no other entry follows."""
        return (head for head in self._lines if head not in self._parents)

    def path(self, head: str) -> tuple[str, ...] | None:
        """The heads from an offer to `head`; None if an entry between them is missing."""
        path: list[str] = []
        while (entry := self.find(head)) is not None and len(path) <= len(self._lines):
            path.append(head)
            if entry.prev == GENESIS:
                return tuple(reversed(path)) if entry.seq == 0 else None
            head = entry.prev
        return None
