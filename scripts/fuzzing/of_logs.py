"""Targets: log files and their parts, statements, submissions, canonical text; replay and audit of whole logs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from hkoji.cli.gather import Problem, read_logs
from hkoji.cli.split import split
from hkoji.game.archive import claims, covers, extends, fork
from hkoji.game.audit import audit
from hkoji.game.bodies import KINDS, parse_body
from hkoji.game.commitments import Commitments
from hkoji.game.replay import replay
from hkoji.game.submission import format_submission, parse_submission
from hkoji.log.canonical import decode, encode
from hkoji.log.entry import Entry, make_entry, parse_entry
from hkoji.log.keys import PublicKey, parse_public_key
from hkoji.log.line import Line, format_line, format_log, parse_line, parse_lines, parse_log
from hkoji.log.receipt import make_receipt, parse_receipt
from hkoji.log.statement import (
    make_login,
    make_registration,
    make_view,
    parse_login,
    parse_registration,
    parse_view,
)
from scripts.fuzzing.target import DATA, Target, chosen, refusals, split_off, text

GAMES: Final = DATA / "vectors" / "games"
AT: Final = "2026-11-20T12:00:00Z"
GAME: Final = "27" * 16
_KINDS: Final = sorted(KINDS.values())
_BY: Final = ("server", "alice", "bob")

WORDS: Final = (
    *('{"entry":"{', '\\"', '","receipt":{"sig":"', '","text":"', '"},"sig":"', '"}\n', '{"', '":', '","', "[]", "{}"),
    *('"at":', '"body":', '"by":', '"game":', '"kind":', '"prev":', '"seq":', '"v":1', '"ext":{}', "null", "true"),
    *('"dealer":', '"name":', '"seed_commit":', '"requires":', '"ruleset":', '"server_key":', '"entropy_commit":'),
    *('"invite":', '"key":', '"entropy":', '"first":', '"markers":', '"action":', '"commit":', '"openings":'),
    *('"cards":', '"part":', '"salt":', '"result":', '"reason":', '"winner":', '"seed":', '"since":', '"deal":'),
    *("server/v1", "duplicate/v1", "hanamikoji", "geishas-road", "charm", "ssh-ed25519 ", AT, "0" * 64, "f" * 64, GAME),
    *(*KINDS.values(), *_BY, "9007199254740991", "9007199254740992", "-0", "1.0", "1e9", "\\u0022", "\x7f", "\xff"),
)


# --- reading ----------------------------------------------------------------------------------------------------------


def log_file(data: bytes) -> None:
    """A log file, line by line: what has been read is what stands there."""
    lines: list[Line] = []
    with refusals():
        lines.extend(parse_lines(data))
        assert format_log(lines).encode() == data
        assert parse_log(data.decode("ascii")) == tuple(lines)


def line(data: bytes) -> None:
    """One line."""
    given = data.decode("latin-1")
    with refusals():
        assert format_line(parse_line(given)) == given


def entry(data: bytes) -> None:
    """An entry's text."""
    given = text(data)
    with refusals():
        read = parse_entry(given)
        fields = {name: getattr(read, name) for name in ("at", "body", "by", "game", "kind", "prev", "seq")}
        assert make_entry(**fields) == read
        assert json.loads(given) == {**fields, "v": 1}
        _body(read.kind, read.body)


def _body(kind: str, body: Any) -> None:  # Any: JSON
    read = parse_body(kind, body)
    assert KINDS[type(read)] == kind
    assert read.to_json() == {key: value for key, value in body.items() if key != "ext"}


def body(data: bytes) -> None:
    """The body of an entry: a kind, and JSON of any spelling that is then spelled as it must be."""
    number, rest = split_off(data, len(_KINDS))
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError):
        return
    with refusals():
        _body(_KINDS[number], decode(encode({"body": value}), "body")["body"])  # type: ignore[call-overload,index]


def statement(data: bytes) -> None:
    """A receipt, view, registration or login."""
    number, rest = split_off(data, 4)
    given = text(rest)
    with refusals():
        match number:
            case 0:
                receipt = parse_receipt(given)
                assert make_receipt(at=receipt.at, game=receipt.game, head=receipt.head, seq=receipt.seq) == receipt
            case 1:
                view = parse_view(given)
                again = make_view(dealt=view.dealt, game=view.game, head=view.head, seat=view.seat, seq=view.seq)
                assert again.text == view.text
            case 2:
                made = parse_registration(given)
                again_made = make_registration(at=made.at, key=made.key, name=made.name, origin=made.origin)
                assert again_made.text == made.text
            case _:
                login = parse_login(given)
                again_login = make_login(expires=login.expires, nonce=login.nonce, origin=login.origin)
                assert again_login.text == login.text


def submission(data: bytes) -> None:
    """What a player sends."""
    with refusals():
        read = parse_submission(data)
        assert parse_submission(format_submission(read)) == read


def canonical(data: bytes) -> None:
    """Canonical text: there is one value of it, and of that one text."""
    given = text(data)
    with refusals():
        value = decode(given, "text")
        assert encode(value) == given
        assert json.loads(given) == value


# --- whole logs -------------------------------------------------------------------------------------------------------


class _Known(NamedTuple):
    pins: dict[str, PublicKey]
    logs: dict[str, bytes]


@cache
def _known() -> _Known:
    facts = json.loads((GAMES / "games.json").read_text())["resigned.jsonl"]
    keys = {name: parse_public_key(key) for name, key in facts["keys"].items()}
    return _Known(keys, {path.name: path.read_bytes() for path in sorted(GAMES.glob("*.jsonl"))})


def archive(data: bytes) -> None:
    """A file of logs as `hkoji audit` and `hkoji stats` read it: each audited, and held against one another."""
    found = []
    for piece in split(io.BytesIO(data), "-", 2**16):
        if isinstance(piece, Problem):
            continue
        result = audit(piece.text, _known().pins)
        assert 0 <= result.holds <= result.entries
        assert result.ok == (not result.findings)
        if claimed := claims(piece.text, result):
            assert claimed.entries == result.holds
            found.append(claimed)
    for one in found:
        for other in found:
            if one.game != other.game or extends(one, other) or extends(other, one):
                assert not covers(one, other) or one.entries >= other.entries
            else:
                assert fork(one, other).entry < min(one.entries, other.entries)
    for _ in read_logs(io.BytesIO(data), "-"):
        pass


def course(data: bytes) -> None:
    """A game told by entries that are chained but not signed: a line each with author, kind and body."""
    lines: list[Line] = []
    prev, at = "0" * 64, AT
    with refusals():
        for seq, told in enumerate(data.split(b"\n")):
            by, _, rest = text(told).partition(" ")
            kind, _, given = rest.partition(" ")
            try:
                value = json.loads(given)
            except (ValueError, RecursionError):
                break
            made = make_entry(at=at, body=value, by=by, game=GAME, kind=kind, prev=prev, seq=seq)
            prev = made.head
            lines.append(Line(made, b""))
    result = replay(lines)
    assert (result.stop is None) == (len(result.steps) == len(lines))
    if result.course:
        assert result.course.seq == len(result.steps) - 1
    with refusals():
        commitments = Commitments()
        for step in result.steps:
            commitments.read(step.entry, step.body)


# --- seeds ------------------------------------------------------------------------------------------------------------


def _lines(name: str, count: int) -> list[bytes]:
    return _known().logs[name].splitlines(keepends=True)[:count]


def _entries() -> Iterator[Entry]:
    """One entry of every kind, and of each game."""
    seen = set()
    for name in _known().logs:
        for each in parse_log(_known().logs[name]):
            shape = (name.startswith("road"), each.entry.kind, "commit" in each.entry.body)
            if shape not in seen:
                seen.add(shape)
                yield each.entry


def _vectors(form: str) -> list[str]:
    """The good texts of a form among the test vectors."""
    return [
        each["text"]
        for each in json.loads((DATA / "vectors" / "entries.json").read_text())["good"]
        if each["form"] == form
    ]


def log_seeds() -> list[bytes]:
    """Beginnings of games, and a short game whole."""
    return [*(b"".join(_lines(name, 2)) for name in _known().logs), _known().logs["resigned.jsonl"][:8000]]


def line_seeds() -> list[bytes]:
    """Lines with and without receipts."""
    lines = [each.rstrip(b"\n") for name in ("whole.jsonl", "road.jsonl") for each in _lines(name, 12)]
    bare = [format_line(each, receipts=False).encode() for each in parse_log(_known().logs["resigned.jsonl"])]
    return [*lines, *bare]


def entry_seeds() -> list[bytes]:
    """Entries of every kind."""
    return [each.text.encode() for each in _entries()]


def body_seeds() -> list[bytes]:
    """Bodies of every kind."""
    return [chosen(_KINDS.index(each.kind), encode(each.body)) for each in _entries()] + [
        chosen(_KINDS.index("cancel"), "{}"),
        chosen(_KINDS.index("timeout"), '{"seat":0,"since":"2026-11-20T12:00:00Z"}'),
    ]


def statement_seeds() -> list[bytes]:
    """The test vectors' statements."""
    forms = ("receipt", "view", "registration", "login")
    return [chosen(number, good) for number, form in enumerate(forms) for good in _vectors(form)]


def submission_seeds() -> list[bytes]:
    """Entries of players, one with an opening."""
    opening = {"cards": "A", "part": 0, "salt": "ab" * 32, "seq": 5}
    made = []
    for each in parse_log(_known().logs["resigned.jsonl"])[1:8]:
        value = json.loads(format_line(each, receipts=False))
        made += [json.dumps(value).encode(), json.dumps({**value, "opening": [opening]}).encode()]
    return made


def canonical_seeds() -> list[bytes]:
    """The test vectors' texts."""
    value = json.loads((DATA / "vectors" / "canonical.json").read_text())
    return [each["text"].encode() for part in ("good", "bad") for each in value[part]]


def archive_seeds() -> list[bytes]:
    """A short game, its beginnings, and two of them in one file."""
    short = _known().logs["resigned.jsonl"]
    begun = b"".join(_lines("resigned.jsonl", 3))
    return [short, begun, begun + b"".join(_lines("running.jsonl", 2)), begun + begun]


def course_seeds() -> list[bytes]:
    """Games as lines of author, kind and body."""
    made = []
    for name in ("resigned.jsonl", "running.jsonl", "road-running.jsonl", "whole.jsonl", "duplicate-b.jsonl"):
        entries = [each.entry for each in parse_log(_known().logs[name])]
        made.append("\n".join(f"{each.by} {each.kind} {encode(each.body)}" for each in entries).encode())
    return made


TARGETS: Final = (
    Target("log", "a log file", log_file, log_seeds, 1_500_000, 8192, WORDS),
    Target("line", "a line of a log", line, line_seeds, 1_000_000, 4096, WORDS),
    Target("entry", "an entry's text and body", entry, entry_seeds, 1_000_000, 4096, WORDS),
    Target("body", "bodies of entries, in any JSON", body, body_seeds, 1_000_000, 2048, WORDS),
    Target("statement", "receipts, views, registrations, logins", statement, statement_seeds, 1_000_000, 1024, WORDS),
    Target("submission", "what a player sends", submission, submission_seeds, 500_000, 4096, WORDS),
    Target("canonical", "canonical text", canonical, canonical_seeds, 1_000_000, 4096, WORDS),
    Target("archive", "files of logs, audited and compared", archive, archive_seeds, 200_000, 16384, WORDS),
    Target("course", "games told by unsigned entries, replayed", course, course_seeds, 200_000, 16384, WORDS),
)
