"""The bodies of entries, kind by kind: those that break the specification are refused, and the error names the part."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from hkoji.game.commitments import parse_openings
from hkoji.game.entry_kinds import KINDS, Lapse, parse_body
from hkoji.game.entry_kinds.time import WHY_DECLINED
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
RULES: dict[str, Json] = {"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}
CLOCK: dict[str, Json] = {"add": 0, "bank": 120, "cap": 120, "move": 60, "rest": "", "zone": "+00:00"}
AGREEMENT: dict[str, Json] = {"clock": CLOCK, "expires": AT, "rated": True, "rematch": "cd" * 16, "series": None}
GIFT: dict[str, Json] = {"head": HEX, "seconds": 60, "sig": SIG}
OUTAGE: dict[str, Json] = {"from": AT, "until": "2026-11-20T12:00:01Z", "way": "http"}
LATER_OUTAGE: dict[str, Json] = {"from": "2026-11-20T12:00:02Z", "until": "2026-11-20T12:00:03Z", "way": "http"}
REVOKED: dict[str, Json] = {"at": AT, "origin": "https://play.example", "sig": SIG}
GATEWAY: dict[str, Json] = {"address": HEX, "at": AT, "key": KEY, "origin": "https://play.example", "sig": SIG}

PROOF = base64.b64encode(bytes(112)).decode()
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
    "release": {"close": {"card": "E2", "proof": PROOF}},
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


def test_a_move_and_a_chance_may_leave_keys_out() -> None:
    for kind, key in (("move", "commit"), ("chance", "first"), ("chance", "markers")):
        assert parse_body(kind, {name: value for name, value in GOOD[kind].items() if name != key})


def test_a_credit_gives_something() -> None:
    assert parse_body("credit", {"gift": None, "outages": [OUTAGE]}).to_json() == {"gift": None, "outages": [OUTAGE]}
    assert parse_body("credit", {"gift": GIFT, "outages": []}).to_json() == {"gift": GIFT, "outages": []}
    assert parse_body("annul", {**GOOD["annul"], "gift": None, "outages": []})


def test_null_where_the_page_allows_it() -> None:
    assert parse_body("open", {**GOOD["open"], "invite": None}) != parse_body("open", GOOD["open"])
    assert parse_body("open", {**GOOD["open"], "invite": {"key": None, "name": "bob"}})
    assert parse_body("revoke", {**GOOD["revoke"], "revocation": None}) != parse_body("revoke", GOOD["revoke"])
    assert parse_body("end", {**GOOD["end"], "result": {"reason": "limit", "winner": None}, "seed": None})


def test_openings_at_their_bounds() -> None:
    both: Json = [{**OPENING, "cards": "A" * 16, "seq": 0}, {**OPENING, "part": 1, "seq": MAX_INTEGER}]
    assert [opening.to_json() for opening in parse_openings(both)] == both
