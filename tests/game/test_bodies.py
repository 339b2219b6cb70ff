"""The bodies of entries, kind by kind: those that break the specification are refused, and the error names the part."""

from __future__ import annotations

from typing import Any

import pytest

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.game.commitments import parse_openings
from hkoji.game.entry_kinds import KINDS, Lapse, parse_body
from hkoji.game.entry_kinds.time import WHY_DECLINED
from hkoji.game.submission import MAX_SUBMISSION_BYTES, parse_submission, read_submission
from hkoji.log.canonical import MAX_INTEGER
from hkoji.log.private_key import PrivateKey
from tests.support.docs import DOCS, rows

Json = Any  # wrong on purpose


def wrong(*values: Json) -> tuple[Json, ...]:
    return values


KEY, OTHER = (PrivateKey.from_seed(bytes([number]) * 32).public.text for number in (1, 2))
HEX, AT, SIG = "ab" * 32, "2026-11-20T12:00:00Z", "U1NI"
OPENING: dict[str, Json] = {"cards": "E", "part": 0, "salt": HEX, "seq": 7}
DEALER: dict[str, Json] = {"name": "server/v1", "seed_commit": HEX}
DUPLICATE: dict[str, Json] = {"deal": "cd" * 16, "name": "duplicate/v1", "seed_commit": HEX}
RULES: dict[str, Json] = {"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}
CLOCK: dict[str, Json] = {"add": 0, "bank": 120, "cap": 120, "move": 60, "rest": "", "zone": "+00:00"}
AGREEMENT: dict[str, Json] = {"clock": CLOCK, "expires": AT, "rated": True, "rematch": "cd" * 16, "series": None}
GIFT: dict[str, Json] = {"head": HEX, "seconds": 60, "sig": SIG}
OUTAGE: dict[str, Json] = {"from": AT, "until": "2026-11-20T12:00:01Z", "way": "http"}
LATER_OUTAGE: dict[str, Json] = {"from": "2026-11-20T12:00:02Z", "until": "2026-11-20T12:00:03Z", "way": "http"}
REVOKED: dict[str, Json] = {"at": AT, "origin": "https://play.example", "sig": SIG}
GATEWAY: dict[str, Json] = {"address": HEX, "at": AT, "key": KEY, "origin": "https://play.example", "sig": SIG}

GOOD: dict[str, dict[str, Json]] = {
    "offer": {"agreement": AGREEMENT, "dealer": DEALER, "requires": [], "ruleset": RULES, "server_key": KEY},
    "open": {"entropy_commit": HEX, "invite": {"key": OTHER, "name": "bob"}, "key": KEY},
    "join": {"entropy_commit": HEX, "key": KEY},
    "lapse": {"reason": "expired"},
    "seed": {"entropy": HEX},
    "chance": {"first": 0, "markers": "AB"},
    "move": {"action": "2XX", "commit": [HEX]},
    "credit": {"gift": GIFT, "outages": [OUTAGE, LATER_OUTAGE]},
    "reveal": {"openings": [OPENING]},
    "rekey": {"key": KEY, "old": OTHER, "proof": SIG},
    "revoke": {"key": KEY, "name": "bob", "old": OTHER, "proof": SIG, "revocation": REVOKED},
    "delegate": {"gateway": GATEWAY, "grade": "token"},
    "resign": {},
    "timeout": {"seat": 0},
    "annul": {"gift": GIFT, "outages": [OUTAGE], "seat": 1, "sigs": [SIG, SIG]},
    "cancel": {},
    "end": {"openings": [OPENING], "result": {"reason": "charm", "winner": 0}, "seed": HEX},
    "unseal": {"seed": HEX},
}
MALFORMED: list[tuple[str, str, Json, str]] = [
    # kind, key, wrong value, what is named
    *(("offer", "agreement", value, "agreement") for value in wrong(None, [], {}, {**AGREEMENT, "rated": 1})),
    ("offer", "agreement", {**AGREEMENT, "clock": {**CLOCK, "move": True}}, "clock"),
    *(("offer", "dealer", value, "dealer") for value in wrong(None, [], {}, {"name": 1}, {"name": "server/v1"})),
    ("offer", "dealer", {**DEALER, "seed_commit": HEX[1:]}, "seed_commit"),
    ("offer", "dealer", {**DUPLICATE, "deal": HEX}, "deal"),
    ("offer", "dealer", {**DUPLICATE, "seed_commit": HEX.upper()}, "seed_commit"),
    *(("offer", "requires", value, "requires") for value in wrong(None, {}, "", [1], ["a", 1])),
    *(("offer", "ruleset", value, "ruleset") for value in wrong(None, {}, {**RULES, "first": 0})),
    *(("offer", "server_key", value, "server_key") for value in wrong(None, 1, [])),
    *(("open", "entropy_commit", value, "entropy_commit") for value in wrong(None, "", HEX + "0", 1)),
    *(("open", "invite", value, "invite") for value in wrong([], "bob", {"name": "bob"}, {"key": None})),
    *(("open", "invite", {"key": None, "name": value}, "invite") for value in wrong(None, "", "Bob", "b", "server!")),
    *(("open", "invite", {"key": value, "name": "bob"}, "invite key") for value in wrong(1, [])),
    *(("open", "key", value, "key") for value in wrong(None, 1)),
    *(("join", "entropy_commit", value, "entropy_commit") for value in wrong(None, "g" * 64)),
    *(("join", "key", value, "key") for value in wrong(None, {})),
    *(("seed", "entropy", value, "entropy") for value in wrong(None, "", HEX[2:], HEX.upper())),
    *(("chance", "first", value, "chance") for value in wrong(2, -1, True, "0", None)),
    *(("chance", "markers", value, "chance") for value in wrong("", "A1", 1, [], None)),
    *(("move", "action", value, "move") for value in wrong(None, 1, "", "1" * 33)),
    *(("move", "commit", value, "move") for value in wrong(None, [], HEX, [HEX] * 3)),
    *(("move", "commit", value, "commitment") for value in wrong([None], [HEX, ""])),
    *(("reveal", "openings", value, "openings") for value in wrong(None, {}, [OPENING, OPENING])),
    *(("rekey", name, 1, name) for name in ("key", "old")),
    *(("rekey", "proof", value, "rekey") for value in wrong(None, "", 1)),
    ("rekey", "proof", "A", "signature"),
    *(("revoke", name, 1, name) for name in ("key", "old")),
    *(("revoke", "name", value, "revoke") for value in wrong(None, "", "Bob")),
    *(("revoke", "proof", value, "revoke") for value in wrong(None, "")),
    *(("revoke", "revocation", value, "revocation") for value in wrong([], "", {}, {**REVOKED, "at": ""})),
    *(("revoke", "revocation", {**REVOKED, "origin": value}, "revocation") for value in wrong(None, "", "a b")),
    *(("revoke", "revocation", {**REVOKED, "sig": value}, "revocation") for value in wrong(None, "")),
    *(("delegate", "grade", value, "grade of a mail") for value in wrong(None, 1, "none", [])),
    ("delegate", "gateway", None, "delegate"),
    *(("delegate", "gateway", value, "gateway") for value in wrong([], "", {})),
    *(("timeout", "seat", value, "timeout") for value in wrong(None, 2, True, "0")),
    *(("lapse", "reason", value, "lapse") for value in wrong(None, 1, [])),
    *(
        (kind, "gift", {**GIFT, "seconds": value}, "gift")
        for kind in ("credit", "annul")
        for value in wrong(0, 2592001, None, True, "60", -1)
    ),
    *((kind, "gift", value, "gift") for kind in ("credit", "annul") for value in wrong([], 60, {}, {"head": HEX})),
    ("credit", "gift", {**GIFT, "head": HEX[1:]}, "head of the gift"),
    ("credit", "gift", {**GIFT, "sig": ""}, "gift"),
    ("annul", "gift", {**GIFT, "sig": "A"}, "signature"),
    *((kind, "outages", value, "outages") for kind in ("credit", "annul") for value in wrong(None, {}, AT)),
    *(
        (kind, "outages", value, "outages")
        for kind in ("credit", "annul")
        for value in wrong(
            [LATER_OUTAGE, OUTAGE], [OUTAGE, OUTAGE], [OUTAGE, {**LATER_OUTAGE, "from": "2026-11-20T12:00:01Z"}]
        )
    ),
    *(("credit", "outages", [{**OUTAGE, "until": value}], "outage") for value in wrong(None, "", AT, "9000-01-01")),
    *(("annul", "outages", [value], "outage") for value in wrong(None, {}, [AT, AT], {"from": AT})),
    *(("annul", "seat", value, "annul") for value in wrong(None, 2, True, "0")),
    *(("annul", "sigs", value, "annul") for value in wrong(None, [], [SIG], [SIG] * 3, SIG, [SIG, ""], [None, SIG])),
    ("annul", "sigs", [SIG, "A"], "signature"),
    *(("end", "openings", value, "openings") for value in wrong(None, {}, [OPENING, {**OPENING, "seq": 6}])),
    *(("end", "result", value, "result") for value in wrong(None, {}, {"reason": "charm"}, {"winner": 0})),
    *(("end", "result", {"reason": value, "winner": 0}, "result") for value in wrong(None, 1)),
    *(("end", "result", {"reason": "charm", "winner": value}, "result") for value in wrong(2, -1, True, "0")),
    *(("end", "seed", value, "seed") for value in wrong("", 1, HEX[1:])),
    *(("unseal", "seed", value, "seed") for value in wrong(None, "", HEX[1:])),
]
LATER: list[tuple[str, str, Json, str, str]] = [
    # kind, key, value of a later version, category, its name
    ("offer", "dealer", {"name": "sealed/v1"}, "dealer", "sealed/v1"),
    ("offer", "dealer", {**DEALER, "ext": {}}, "dealer key", "ext"),
    ("offer", "requires", ["clocks", "more"], "requirement", "clocks"),
    ("offer", "ruleset", {**RULES, "name": "koi-koi"}, "ruleset", "koi-koi"),
    ("offer", "agreement", {**AGREEMENT, "stake": 1}, "agreement key", "stake"),
    ("offer", "agreement", {**AGREEMENT, "clock": {**CLOCK, "live": True}}, "clock key", "live"),
    ("open", "invite", {"key": None, "name": "bob", "until": AT}, "invite key", "until"),
    ("delegate", "gateway", {**GATEWAY, "until": AT}, "gateway key", "until"),
    ("delegate", "grade", "arc", "grade of a mail", "arc"),
    ("lapse", "reason", "moved", "lapse", "moved"),
    ("credit", "gift", {**GIFT, "why": ""}, "gift key", "why"),
    ("credit", "outages", [{**OUTAGE, "why": "a storm"}], "outage key", "why"),
    *((kind, "outages", [{**OUTAGE, "way": "pigeon"}], "outage", "pigeon") for kind in ("credit", "annul")),
    ("annul", "outages", [{**OUTAGE, "why": "a storm"}], "outage key", "why"),
    ("revoke", "revocation", {**REVOKED, "why": ""}, "revocation key", "why"),
    ("reveal", "openings", [{**OPENING, "why": ""}], "opening key", "why"),
    ("end", "result", {"reason": "tiredness", "winner": 0}, "result", "tiredness"),
    ("end", "result", {"reason": "charm", "winner": 0, "by": 3}, "result key", "by"),
]


@pytest.mark.parametrize("ext", [{}, {"why": "elsewhere"}, {"why": 1}, {"why": ["later"]}, {"reason": "later"}])
def test_a_decline_shows_known_reasons_and_no_others(ext: dict[str, Json]) -> None:
    assert parse_body("lapse", {"reason": "declined", "ext": ext}) == Lapse("declined")
    for why in WHY_DECLINED:
        body: dict[str, Json] = {"reason": "declined", "ext": {**ext, "why": why}}
        assert parse_body("lapse", body) == Lapse("declined", why)
        assert parse_body("lapse", Lapse("declined", why).to_json()) == Lapse("declined", why)
        assert parse_body("lapse", {**body, "reason": "expired"}) == Lapse("expired")


def test_every_kind_is_on_the_page_and_is_read() -> None:
    table = rows((DOCS / "spec" / "log.md").read_text(), "seq")
    assert [row[1].strip("`") for row in table if row[0] != "4"] == list(GOOD) == list(KINDS)
    assert {row[1].strip("`") for row in table if row[2].startswith("server")} == {
        kind for kind, each in KINDS.items() if each.AUTHOR.name.startswith("SERVICE")
    }
    for kind, body in GOOD.items():
        read = parse_body(kind, body)
        assert type(read) is KINDS[kind]
        assert parse_body(kind, {**body, "ext": {"anything": [1]}}) == read
    with pytest.raises(NotUnderstoodError) as error:
        parse_body("plan", {})
    assert (error.value.what, error.value.value) == ("entry kind", "plan")


@pytest.mark.parametrize("kind", GOOD)
def test_a_body_has_exactly_its_keys(kind: str) -> None:
    body = GOOD[kind]
    with pytest.raises(NotUnderstoodError) as later:
        parse_body(kind, {**body, "more": 1})
    assert (later.value.what, later.value.value) == (f"{kind} key", "more")
    for key in body:
        if (kind, key) in {("move", "commit"), ("chance", "first"), ("chance", "markers")}:
            parse_body(kind, {name: value for name, value in body.items() if name != key})
            continue
        with pytest.raises(MalformedError, match=f"{key} is missing") as error:
            parse_body(kind, {name: value for name, value in body.items() if name != key})
        assert error.value.what == kind
    for ext in wrong(None, [], "", 1):
        with pytest.raises(MalformedError, match="ext is not an object") as error:
            parse_body(kind, {**body, "ext": ext})
        assert error.value.what == kind
    if kind == "chance":
        with pytest.raises(MalformedError, match="it decides nothing"):
            parse_body(kind, {})


@pytest.mark.parametrize(("kind", "key", "value", "what"), MALFORMED)
def test_what_is_malformed_is_named(kind: str, key: str, value: Json, what: str) -> None:
    with pytest.raises(MalformedError) as error:
        parse_body(kind, {**GOOD[kind], key: value})
    assert error.value.what == what
    assert error.value.reason


@pytest.mark.parametrize(("kind", "key", "value", "what", "name"), LATER)
def test_what_a_later_version_may_know(kind: str, key: str, value: Json, what: str, name: str) -> None:
    with pytest.raises(NotUnderstoodError) as error:
        parse_body(kind, {**GOOD[kind], key: value})
    assert (error.value.what, error.value.value) == (what, name)


def test_a_credit_gives_something() -> None:
    with pytest.raises(MalformedError, match="neither a gift nor an outage") as error:
        parse_body("credit", {"gift": None, "outages": []})
    assert error.value.what == "credit"
    assert parse_body("credit", {"gift": None, "outages": [OUTAGE]}).to_json() == {"gift": None, "outages": [OUTAGE]}
    assert parse_body("credit", {"gift": GIFT, "outages": []}).to_json() == {"gift": GIFT, "outages": []}
    assert parse_body("annul", {**GOOD["annul"], "gift": None, "outages": []})


def test_null_where_the_page_allows_it() -> None:
    assert parse_body("open", {**GOOD["open"], "invite": None}) != parse_body("open", GOOD["open"])
    assert parse_body("open", {**GOOD["open"], "invite": {"key": None, "name": "bob"}})
    assert parse_body("revoke", {**GOOD["revoke"], "revocation": None}) != parse_body("revoke", GOOD["revoke"])
    assert parse_body("end", {**GOOD["end"], "result": {"reason": "limit", "winner": None}, "seed": None})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        *(({"cards": value}, "cards are") for value in wrong(None, "", "A B", "A" * 17, 1)),
        *(({"part": value}, "part is not 0 or 1") for value in wrong(None, -1, 2, True, "0")),
        *(({"seq": value}, "seq is") for value in wrong(None, -1, MAX_INTEGER + 1, True, "7")),
        *(({"salt": value}, "salt is") for value in wrong(None, HEX[1:], HEX.upper(), "g" * 64, 1)),
    ],
)
def test_malformed_openings(change: dict[str, Json], why: str) -> None:
    with pytest.raises(MalformedError, match=why) as error:
        parse_openings([{**OPENING, **change}])
    assert error.value.what == "opening"


def test_openings_at_their_bounds() -> None:
    both: Json = [{**OPENING, "cards": "A" * 16, "seq": 0}, {**OPENING, "part": 1, "seq": MAX_INTEGER}]
    assert [opening.to_json() for opening in parse_openings(both)] == both
    with pytest.raises(MalformedError, match="not sorted") as error:
        parse_openings(both[::-1])
    assert error.value.what == "openings"
    with pytest.raises(MalformedError, match="not an object"):
        parse_openings([None])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        *((value, "it is not an object") for value in wrong(None, [], "", 1)),
        *(({"entry": entry, "sig": sig}, "both text") for entry, sig in ((None, SIG), ("", None), (1, SIG), ("", 1))),
        ({}, "both text"),
    ],
)
def test_malformed_submissions(value: Json, why: str) -> None:
    with pytest.raises(MalformedError, match=why) as error:
        read_submission(value)
    assert error.value.what == "submission"


def test_a_submission_is_json_of_bounded_length() -> None:
    for text in ("", "{", "[" * 10_000, " " * MAX_SUBMISSION_BYTES):
        with pytest.raises(MalformedError, match="it is not JSON") as error:
            parse_submission(text)
        assert error.value.what == "submission"
    with pytest.raises(NotUnderstoodError) as later:
        read_submission({"entry": "", "sig": "", "why": ""})
    assert (later.value.what, later.value.value) == ("submission key", "why")
