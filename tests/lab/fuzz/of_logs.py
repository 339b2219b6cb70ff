"""Targets: log files and their parts, statements, submissions, canonical text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, NamedTuple

from hkoji.game.entry_kinds import KINDS, parse_body
from hkoji.game.submission import format_submission, parse_submission
from hkoji.log.canonical import decode, encode
from hkoji.log.game_statements import make_annul, make_gift, make_head, parse_annul, parse_gift, parse_head
from hkoji.log.line import (
    Entry,
    Line,
    format_line,
    format_log,
    make_entry,
    make_receipt,
    parse_entry,
    parse_line,
    parse_lines,
    parse_log,
    parse_receipt,
)
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import (
    make_login,
    make_new_key,
    make_recovery,
    make_registration,
    make_revocation,
    make_view,
    parse_login,
    parse_new_key,
    parse_recovery,
    parse_registration,
    parse_revocation,
    parse_view,
)
from tests.lab.fuzz.target import DATA, Target, chosen, refusals, split_off, text

GAMES: Final = DATA / "vectors" / "games"
AT: Final = "2026-11-20T12:00:00Z"
GAME: Final = "27" * 16
_KINDS: Final = sorted(KINDS)
_GIFT: Final = f'{{"head":"{64 * "a"}","seconds":60,"sig":"U1NI"}}'
_OUTAGE: Final = f'{{"from":"{AT}","until":"2026-11-20T12:05:00Z","way":"http"}}'
_BY: Final = ("server", "alice", "bob")

WORDS: Final = (
    *('{"entry":"{', '\\"', '","receipt":{"sig":"', '","text":"', '"},"sig":"', '"}\n', '{"', '":', '","', "[]", "{}"),
    *('"at":', '"body":', '"by":', '"game":', '"kind":', '"prev":', '"seq":', '"v":1', '"ext":{}', "null", "true"),
    *('"dealer":', '"name":', '"seed_commit":', '"requires":', '"ruleset":', '"server_key":', '"entropy_commit":'),
    *(
        '"invite":',
        '"link":',
        '"link_sig":',
        '"key":',
        '"entropy":',
        '"first":',
        '"markers":',
        '"action":',
        '"commit":',
        '"openings":',
    ),
    *('"cards":', '"part":', '"salt":', '"result":', '"reason":', '"winner":', '"seed":', '"seen":', '"deal":'),
    *('"agreement":', '"clock":', '"add":', '"bank":', '"cap":', '"rest":', '"zone":', '"expires":', '"rated":'),
    *('"rematch":', '"series":', '"games":', '"id":', '"number":', '"gift":', '"outages":', '"head":', '"seconds":'),
    *(
        '"from":',
        '"until":',
        '"way":',
        "mail",
        '"sigs":',
        '"seat":',
        "expired",
        "declined",
        "+01:00",
        "8999-12-31T23:59:59Z",
    ),
    *("server/v1", "duplicate/v1", "hanamikoji", "geishas-road", "charm", "ssh-ed25519 ", AT, "0" * 64, "f" * 64, GAME),
    *(*KINDS, *_BY, "9007199254740991", "9007199254740992", "-0", "1.0", "1e9", "\\u0022", "\x7f", "\xff"),
)


# --- reading ----------------------------------------------------------------------------------------------------------


def log_file(data: bytes) -> None:
    """A log file, line by line: the value read is written as the same text."""
    lines: list[Line] = []
    with refusals():
        lines.extend(parse_lines(data))
        assert format_log(lines).encode() == data
        assert parse_log(data.decode("ascii")) == tuple(lines)


def line(data: bytes) -> None:
    given = data.decode("latin-1")
    with refusals():
        assert format_line(parse_line(given)) == given


def entry(data: bytes) -> None:
    """An entry's text."""
    given = text(data)
    with refusals():
        read = parse_entry(given)
        fields = {name: getattr(read, name) for name in ("at", "body", "by", "game", "kind", "prev", "seen", "seq")}
        assert make_entry(**fields) == read
        assert json.loads(given) == {**fields, "v": 1}
        _body(read.kind, read.body)


def _body(kind: str, body: Any) -> None:  # Any: JSON
    read = parse_body(kind, body)
    assert kind == read.KIND
    assert read.to_json() == {key: value for key, value in body.items() if key != "ext"}


def body(data: bytes) -> None:
    """The body of an entry: a kind, and JSON in any spelling, which is then written canonically."""
    number, rest = split_off(data, len(_KINDS))
    try:
        value = json.loads(rest)
    except (ValueError, RecursionError):
        return
    with refusals():
        _body(_KINDS[number], decode(encode({"body": value}), "body")["body"])  # type: ignore[call-overload,index]


def statement(data: bytes) -> None:
    """A receipt, view, registration, login, or a statement about keys or about an entry of a game."""
    number, rest = split_off(data, 10)
    given = text(rest)
    with refusals():
        match number:
            case 7:
                gift = parse_gift(given)
                assert make_gift(game=gift.game, head=gift.head, name=gift.name, seconds=gift.seconds) == gift
            case 8:
                wish = parse_annul(given)
                assert make_annul(game=wish.game, head=wish.head, name=wish.name) == wish
            case 9:
                last = parse_head(given)
                assert make_head(at=last.at, game=last.game, head=last.head, seq=last.seq) == last
            case 4:
                new = parse_new_key(given)
                assert make_new_key(at=new.at, key=new.key, name=new.name, old=new.old, origin=new.origin) == new
            case 5:
                gone = parse_revocation(given)
                assert make_revocation(at=gone.at, key=gone.key, name=gone.name, origin=gone.origin) == gone
            case 6:
                back = parse_recovery(given)
                assert make_recovery(at=back.at, key=back.key, name=back.name, origin=back.origin) == back
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
    """A player's submission."""
    with refusals():
        read = parse_submission(data)
        assert parse_submission(format_submission(read)) == read


def canonical(data: bytes) -> None:
    """Canonical text: it has one value, and the value has one text."""
    given = text(data)
    with refusals():
        value = decode(given, "text")
        assert encode(value) == given
        assert json.loads(given) == value


class Known(NamedTuple):
    pins: dict[str, PublicKey]
    logs: dict[str, bytes]


@cache
def known() -> Known:
    facts = json.loads((GAMES / "games.json").read_text())["resigned.jsonl"]
    keys = {name: parse_public_key(key) for name, key in facts["keys"].items()}
    return Known(keys, {path.name: path.read_bytes() for path in sorted(GAMES.glob("*.jsonl"))})


# --- seeds ------------------------------------------------------------------------------------------------------------


def lines_of(name: str, count: int) -> list[bytes]:
    return known().logs[name].splitlines(keepends=True)[:count]


def _entries() -> Iterator[Entry]:
    """One entry of every kind, and of each game."""
    seen = set()
    for name in known().logs:
        for each in parse_log(known().logs[name]):
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
    """Beginnings of games, and a short complete game."""
    return [*(b"".join(lines_of(name, 2)) for name in known().logs), known().logs["resigned.jsonl"][:8000]]


def line_seeds() -> list[bytes]:
    """Lines with and without receipts."""
    lines = [each.rstrip(b"\n") for name in ("whole.jsonl", "road.jsonl") for each in lines_of(name, 12)]
    bare = [format_line(each, receipts=False).encode() for each in parse_log(known().logs["resigned.jsonl"])]
    return [*lines, *bare]


def entry_seeds() -> list[bytes]:
    """Entries of every kind."""
    return [each.text.encode() for each in _entries()]


def body_seeds() -> list[bytes]:
    """Bodies of every kind."""
    return [chosen(_KINDS.index(each.kind), encode(each.body)) for each in _entries()] + [
        chosen(_KINDS.index("cancel"), "{}"),
        chosen(_KINDS.index("timeout"), '{"seat":0}'),
        chosen(_KINDS.index("lapse"), '{"reason":"expired"}'),
        chosen(_KINDS.index("credit"), f'{{"gift":{_GIFT},"outages":[]}}'),
        chosen(_KINDS.index("annul"), f'{{"gift":null,"outages":[{_OUTAGE}],"seat":1,"sigs":["U1NI","U1NI"]}}'),
    ]


def statement_seeds() -> list[bytes]:
    """The test vectors' statements, and some about keys, gifts, wishes and heads."""
    forms = ("receipt", "view", "registration", "login")
    one, other = (PublicKey(bytes((number,)) * 32) for number in (7, 9))
    said = {"at": AT, "key": one, "name": "alice", "origin": "https://hanamikoji.example"}
    return [
        *(chosen(number, good) for number, form in enumerate(forms) for good in _vectors(form)),
        chosen(4, make_new_key(**said, old=other).text),  # type: ignore[arg-type] # fields by name
        chosen(5, make_revocation(**said).text),  # type: ignore[arg-type] # as above
        chosen(6, make_recovery(**said).text),  # type: ignore[arg-type] # as above
        chosen(7, make_gift(game=GAME, head="ab" * 32, name="alice", seconds=3600).text),
        chosen(8, make_annul(game=GAME, head="ab" * 32, name="alice").text),
        chosen(9, make_head(at=AT, game=GAME, head="ab" * 32, seq=9).text),
    ]


def submission_seeds() -> list[bytes]:
    """Entries of players, one with an opening."""
    opening = {"cards": "A", "part": 0, "salt": "ab" * 32, "seq": 5}
    made = []
    for each in parse_log(known().logs["resigned.jsonl"])[1:8]:
        value = json.loads(format_line(each, receipts=False))
        made += [json.dumps(value).encode(), json.dumps({**value, "opening": [opening]}).encode()]
    return made


def canonical_seeds() -> list[bytes]:
    """The test vectors' texts."""
    value = json.loads((DATA / "vectors" / "canonical.json").read_text())
    return [each["text"].encode() for part in ("good", "bad") for each in value[part]]


TARGETS: Final = (
    Target("log", "a log file", log_file, log_seeds, 1_000_000, 8192, WORDS),
    Target("line", "a line of a log", line, line_seeds, 700_000, 4096, WORDS),
    Target("entry", "an entry's text and body", entry, entry_seeds, 700_000, 4096, WORDS),
    Target("body", "bodies of entries, in any JSON", body, body_seeds, 700_000, 2048, WORDS),
    Target("statement", "receipts, views, logins, words on keys", statement, statement_seeds, 700_000, 1024, WORDS),
    Target("submission", "what a player sends", submission, submission_seeds, 500_000, 4096, WORDS),
    Target("canonical", "canonical text", canonical, canonical_seeds, 700_000, 4096, WORDS),
)
