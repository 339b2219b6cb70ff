"""entries.json"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from scripts.build.vectors.canonical import nested
from scripts.build.vectors.formulas import (
    AT,
    FIRST_TIME,
    GAME,
    LAST_TIME,
    MAX,
    Vector,
    canonical,
    encode64,
    key_text,
    public,
    sign,
)
from tests.support.curve import NEUTRAL, encode_point


def entry(**change: object) -> Vector:
    """The text of a move, with its head. Only entry 0 has no `seen`."""
    value: Vector = {"at": AT, "body": {"action": "3BCC"}, "by": "alice", "game": GAME}
    value |= {"kind": "move", "prev": "0" * 64, "seen": None if change.get("seq") == 0 else AT, "seq": 8, "v": 1}
    value |= change
    text = canonical(value)
    return {"form": "entry", "text": text, "head": hashlib.sha256(f"{text}\n".encode()).hexdigest()}


def wrap(text: str, sig: str, receipt: Vector | None = None) -> str:
    """A line of a log. `receipt` is an object with `sig` and `text`."""
    value: Vector = {"entry": text, "sig": sig}
    return canonical(value if receipt is None else {**value, "receipt": receipt})


def entries() -> Vector:
    """entries.json"""
    first, move = entry(seq=0, kind="offer", by="server", body={"requires": []}), entry()
    chained = entry(seq=1, kind="open", prev=first["head"], body={"ext": {"note": "ignored"}, "invite": None})
    receipt = canonical({"at": AT, "game": GAME, "head": move["head"], "seq": 8, "v": 1})
    dealt = [{"cards": "ABCDEFG", "round": 1}, {"cards": "BBCDEF", "round": 2}]
    view = canonical({"dealt": dealt, "game": GAME, "head": move["head"], "seat": 1, "seq": 8, "v": 1})
    signed = encode64(sign("alice", "hkoji.entry.v1", move["text"] + "\n"))
    origin = "https://play.example"
    registration = canonical({"at": AT, "key": key_text(public("alice")), "name": "alice", "origin": origin, "v": 1})
    login = canonical({"expires": AT, "nonce": "5" * 64, "origin": origin, "v": 1})
    good: list[Vector] = [first, chained, move, entry(seq=MAX), entry(body={}), entry(at="2028-02-29T23:59:59Z")]
    good += [entry(by=name) for name in ("al", "0-", "a" * 32)] + [
        *(entry(kind=kind) for kind in ("rekey", "o", "o" * 32, "of-er_2")),
        *(entry(**{key: time}) for key in ("at", "seen") for time in (FIRST_TIME, LAST_TIME)),
    ]
    for form, text in (("receipt", receipt), ("view", view), ("registration", registration), ("login", login)):
        good.append({"form": form, "text": text})
    good += [{"form": form, "text": text} for form, text in statements(move["head"])]
    line = wrap(move["text"], signed, {"sig": signed, "text": receipt})
    good += [{"form": "line", "text": line}, {"form": "line", "text": wrap(move["text"], signed)}]

    changes: list[tuple[str, Vector]] = [
        ("at is no day of the calendar", {"at": "2027-02-29T12:00:00Z"}),
        ("at is a leap second", {"at": "2016-12-31T23:59:60Z"}),
        ("at has an offset", {"at": "2026-11-20T12:00:00+00:00"}),
        ("at has a fraction", {"at": "2026-11-20T12:00:00.0Z"}),
        ("at is in the year 0", {"at": "0000-01-01T00:00:00Z"}),
        ("at is in the year 1999", {"at": "1999-12-31T23:59:59Z"}),
        ("at is in the year 9000", {"at": "9000-01-01T00:00:00Z"}),
        ("body is no object", {"body": []}),
        ("by is too short", {"by": "a"}),
        ("by is too long", {"by": "a" * 33}),
        ("by has a capital", {"by": "Alice"}),
        ("by begins with a hyphen", {"by": "-alice"}),
        ("game is too short", {"game": GAME[1:]}),
        ("game has capitals", {"game": GAME.upper()}),
        ("kind is empty", {"kind": ""}),
        ("kind has a capital", {"kind": "Move"}),
        ("kind has a capital inside", {"kind": "offEr"}),
        ("kind begins with a digit", {"kind": "0ffer"}),
        ("kind begins with a hyphen", {"kind": "-offer"}),
        ("kind is too long", {"kind": "o" * 33}),
        ("prev is too long", {"prev": "0" * 65}),
        ("prev is no string", {"prev": None}),
        ("seen is null in entry 8", {"seen": None}),
        ("seen is a time in entry 0", {"seq": 0, "seen": AT}),
        ("seen is empty", {"seen": ""}),
        ("seen is a number", {"seen": 1795176000}),
        ("seen is a list", {"seen": [AT]}),
        ("seen is no day of the calendar", {"seen": "2026-11-31T12:00:00Z"}),
        ("seen has an offset", {"seen": "2026-11-20T12:00:00+00:00"}),
        ("seen is in the year 1999", {"seen": "1999-12-31T23:59:59Z"}),
        ("seen is in the year 9000", {"seen": "9000-01-01T00:00:00Z"}),
        ("seq is a boolean", {"seq": True}),
        ("seq is a string", {"seq": "8"}),
        ("v is a boolean", {"v": True}),
        ("a key too many", {"ext": {}}),
    ]
    bad = [{"form": "entry", "text": entry(**c)["text"], "error": "malformed", "reason": why} for why, c in changes]
    text = move["text"]
    for form, changed, reason in (
        ("entry", text.replace(f'"seen":"{AT}",', ""), "seen is missing"),
        ("entry", first["text"].replace('"seen":null,', ""), "seen is missing in entry 0"),
        ("entry", text.replace('"seq":8,', ""), "seq is missing"),
        ("entry", text.replace('"seq":8', '"seq":8.0'), "seq has a fraction"),
        ("entry", text.replace('"seq":8', '"seq":-8'), "seq has a sign"),
        ("entry", text.replace('"seq":8', '"seq":08'), "seq has a leading zero"),
        ("entry", text.replace('"seq":8', f'"seq":{MAX + 1}'), "seq is 2^53"),
        ("entry", text.replace('"seq":8', '"seq":8,"seq":8'), "a key twice"),
        ("entry", text.replace('"body":{"action":"3BCC"},', "")[:-1] + ',"body":{}}', "keys not sorted"),
        ("entry", text.replace('"3BCC"', '"3BCC","action":"3BCC"'), "a key twice in the body"),
        ("entry", text.replace('"3BCC"', "0.5"), "a fraction in the body"),
        ("entry", text.replace('"3BCC"', canonical(nested(15))), "nested 17 deep"),
        ("entry", text.replace("3BCC", r"3B\u0043C"), "an escape"),
        ("entry", text.replace(":", ": ", 1), "a space"),
        ("entry", text + "\n", "a newline after"),
        ("entry", "\ufeff" + text, "a byte order mark"),
        ("entry", "[]", "no object"),
        ("receipt", receipt.replace('"seq":8', '"seq":true'), "seq is a boolean"),
        ("receipt", receipt.replace(AT, "1999-12-31T23:59:59Z"), "at is in the year 1999"),
        ("receipt", receipt.replace(AT, "9000-01-01T00:00:00Z"), "at is in the year 9000"),
        ("receipt", receipt.replace('"at"', '"as"'), "a wrong key"),
        ("receipt", text, "an entry"),
        ("view", view.replace('"seat":1', '"seat":2'), "seat is neither 0 nor 1"),
        ("view", view.replace('"round":2', '"round":3'), "a round is left out"),
        ("view", view.replace("ABCDEFG", ""), "a round without cards"),
        ("registration", registration.replace('"alice"', '"Alice"'), "name has a capital"),
        ("registration", registration.replace("ssh-ed25519 ", "ssh-ed25519  "), "key is malformed"),
        ("login", login.replace("5" * 64, "5" * 63), "nonce is too short"),
        ("login", login.replace(origin, ""), "origin is empty"),
        ("line", line + "\n", "a newline after"),
        ("line", line.replace(",", ", ", 1), "a space in the entry"),
        ("line", line.replace('"sig":', '"sig": ', 1), "a space in the line"),
        ("line", line.replace("alice", r"al\u0069ce", 1), "an escape that is not needed"),
        ("line", line.replace('"entry":', '"opening":[],"entry":'), "a key too many"),
        ("line", wrap(text, ""), "no signature"),
        ("line", wrap(text, signed[:-1]), "base64 without its padding"),
        ("line", wrap(text, signed[:-3] + chr(ord(signed[-3]) + 1) + "=="), "base64 in another spelling"),
        ("line", wrap(text + " ", signed), "the entry is malformed"),
        ("line", wrap(text, signed, {"sig": signed, "text": receipt + " "}), "the receipt is malformed"),
    ):
        bad.append({"form": form, "text": changed, "error": "malformed", "reason": reason})
    bad += [*_bad_statements(move["head"])]
    later = entry(v=2, kind="move", more=[])["text"]
    for form, changed in (
        ("entry", later),
        ("receipt", receipt.replace('"v":1', '"v":0')),
        ("line", wrap(later, signed)),
    ):
        bad.append({"form": form, "text": changed, "error": "not-understood", "reason": "another version"})
    weak = registration.replace(key_text(public("alice")), key_text(encode_point(NEUTRAL)))
    bad.append({"form": "registration", "text": weak, "error": "weak-key", "reason": "the key is of small order"})
    return {"good": good, "bad": bad}


def statements(head: str) -> tuple[tuple[str, str], ...]:
    """Statements about a head: form and text of each. There are two gifts, of the least and of the most seconds."""
    said = {"game": GAME, "head": head, "name": "alice", "v": 1}
    return (
        ("give", canonical({**said, "seconds": 1})),
        ("give", canonical({**said, "seconds": 2592000})),
        ("annul", canonical(said)),
        ("head", canonical({"at": AT, "game": GAME, "head": head, "seq": 8, "v": 1})),
        ("head", canonical({"at": LAST_TIME, "game": GAME, "head": head, "seq": 0, "v": 1})),
        ("link", canonical({**entering(head), "name": "alice"})),
        ("give", canonical({**said, "mail": {"commit": "cd" * 32, "grade": "dkim"}, "seconds": 60})),
        ("annul", canonical({**said, "mail": {"commit": "cd" * 32, "grade": "token"}})),
    )


def entering(prev: str) -> Vector:
    """The fields that the key of a link signs for an entry after the head `prev`, without the name."""
    return {"entropy_commit": "ab" * 32, "game": GAME, "key": key_text(public("alice")), "prev": prev, "v": 1}


def _bad_statements(head: str) -> Iterator[Vector]:
    (_, give), (_, most), (_, annul), (_, said), _, (_, link), (_, by_mail), (_, off) = statements(head)
    for form, text, reason in (
        ("give", give.replace('"seconds":1', '"seconds":0'), "no time is given"),
        ("give", most.replace("2592000", "2592001"), "over 30 days are given"),
        ("give", give.replace('"seconds":1', '"seconds":true'), "seconds is a boolean"),
        ("give", give.replace('"seconds":1', '"seconds":"1"'), "seconds is a string"),
        ("give", give.replace('"seconds":1', '"seconds":01'), "seconds has a leading zero"),
        ("give", give.replace("alice", "Alice"), "name has a capital"),
        ("give", annul, "seconds is missing"),
        ("annul", give, "a key too many"),
        ("annul", annul.replace(head, head[1:]), "head is too short"),
        ("annul", annul.replace(GAME, GAME.upper()), "game has capitals"),
        ("annul", annul.replace(":", ": ", 1), "a space"),
        ("head", said.replace(AT, "1999-12-31T23:59:59Z"), "at is in the year 1999"),
        ("head", said.replace(AT, "9000-01-01T00:00:00Z"), "at is in the year 9000"),
        ("head", said.replace('"seq":8', '"seq":-8'), "seq has a sign"),
        ("head", said.replace(head, head.upper()), "head has capitals"),
        ("head", annul, "another statement"),
        ("give", by_mail.replace('"dkim"', '"none"'), "the grade none in a gift"),
        ("give", by_mail.replace("cd" * 32, "CD" * 32), "the commit has capitals"),
        ("annul", off.replace('{"commit":"' + "cd" * 32 + '","grade":"token"}', "null"), "mail is null"),
        ("annul", by_mail, "a gift by mail"),
        ("head", said.replace('"game"', '"mail":{},"game"'), "a mail in a head"),
        ("link", annul, "another statement"),
        ("link", link.replace("ab" * 32, "AB" * 32), "entropy_commit has capitals"),
        ("link", link.replace(f'"game":"{GAME}",', ""), "game is missing"),
        ("link", link.replace("ssh-ed25519 ", "ssh-ed25519  "), "key is malformed"),
        ("link", link.replace('"v":1', '"seq":1,"v":1'), "a key too many"),
    ):
        yield {"form": form, "text": text, "error": "malformed", "reason": reason}
    for form, text in (("give", give), ("annul", annul), ("head", said), ("link", link)):
        other = text.replace('"v":1', '"v":2')
        yield {"form": form, "text": other, "error": "not-understood", "reason": "another version"}
