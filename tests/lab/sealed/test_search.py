"""A small sample of the search of all that a service has of sealed games, and what it finds when leaks are planted."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hkoji.log.canonical import encode
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.sealed.cards import card_points
from hkoji.sealed.group import write_scalars
from hkoji.sealed.sodium import combine
from tests.lab.sealed.attacker import Played, locks, read
from tests.lab.sealed.needles import Needles, Place, Seen
from tests.lab.sealed.playing import recorded
from tests.lab.sealed.search import control, judge
from tests.lab.sealed.structure import judge_answer
from tests.support.sealed_table import SealedTable

RULESETS = (Hanamikoji("host", 1), GeishasRoad())


def test_a_service_has_nothing_that_it_must_not_have_and_what_is_planted_is_found(tmp_path: Path) -> None:
    with recorded(tmp_path, 2, RULESETS, most=10, pause=0.3, forked=True) as record:
        verdict = judge(record)
        assert verdict.faults == []
        assert verdict.counts["games"] == 2
        assert verdict.counts["webhooks"] > 2
        assert verdict.counts["lines of event streams"] > 20
        assert verdict.counts["keys dealt"] > 10
        # The first game has deposits of both players, the second none.
        early = [reading.early for reading in verdict.readings]
        assert sum(early[:2]) > 0
        assert early[2:] == [0, 0]
        assert all(reading.hidden > 20 and reading.tried > 100 for reading in verdict.readings)
        assert [name for name, found in control(record).items() if not found] == []


@pytest.mark.parametrize(
    "answer",
    [
        {"view": {"text": '{"dealt":["ABCDEF"],"seat":0}'}},
        {"openings": [{"seq": 9, "cards": "A"}]},
        {"games": [{"seed": "5e" * 32}]},
        {"state": {"hands": ["ABCDEF", "XXXXXX"]}},
        {"lines": [{"entry": '{"kind":"move"}'}]},
        {"games": [{"note": "5e" * 32}]},
    ],
    ids=str,
)
def test_an_answer_that_has_more_is_found(answer: Any) -> None:
    public = encode({"hands": ["XXXXXX", "XXXXXX"]})
    assert [*judge_answer({"state": json.loads(public), "dealt": [], "seed": None}, {public}, set(), {})] == []
    assert [*judge_answer(answer, {public}, set(), {})]


def test_an_attacker_reads_what_a_player_gives_away() -> None:
    table = SealedTable(RULESETS[0], 3, deposit=(True, False))
    shares = dict[str, bytes]()
    while not table.course.finished:
        seat, body, deposit = table.due()
        shares.update({deposit.digest: deposit.shares} if deposit is not None else {})
        table.send(seat, body, deposit=deposit)
    host, guest = table.sealers
    game = Played(table.game, RULESETS[0], tuple(table.lines), (host, guest), (True, False), shares)
    assert [read(game, seat).leaks for seat in (0, 1)] == [[], []]
    assert [read(game, seat).early > 0 for seat in (0, 1)] == [False, True]

    # A deposit of a player who has said that they deposit nothing.
    assert len(read(replace(game, deposit=(False, False)), 1).leaks) == read(game, 1).early
    # A card of the host that only the guest's lock is on, and the number of the host's lock.
    number = {seat: locks(game.steps, game.sealers[seat], seat)[1] for seat in (0, 1)}
    points = card_points(RULESETS[0].name, RULESETS[0].pack)
    digest = next(iter(shares))
    for planted, said in (
        (combine((number[1], points.points[4])), f"seat 1 reads {points.cards[4]} at"),
        (write_scalars(number[0]), "the number of a lock of seat 0 has come"),
    ):
        given_away = replace(game, deposits={**shares, digest: planted + shares[digest]})
        assert read(given_away, 1).leaks[0].startswith(said)


def test_a_secret_is_found_in_each_form_wherever_it_begins() -> None:
    secret = bytes(range(150, 182))
    number = int.from_bytes(secret, "little")
    forms = {
        "raw": (b"\x00ab\xff" + secret + b"\xff", b"text" + secret + b"text"),
        "hex": (secret.hex().encode(), b"a" + secret.hex().upper().encode() + b"0"),
        "base64": tuple(base64.b64encode(bytes(count) + secret + bytes(9)) for count in range(4)),
        "decimal": (str(number).encode(), f"[{number}]".encode()),
    }
    needles = Needles()
    needles.add("it", secret)
    for form, texts in forms.items():
        for text in (*texts, base64.urlsafe_b64encode(b"x" + secret)):
            seen = Seen()
            seen.add(b"before: " + text + b"\nafter", Place(2.0, "there"))
            found = {(hit.secret, hit.form, hit.place.what) for hit in needles.search(seen.runs)}
            assert ("it", form if text in texts else "base64", "there") in found, text
    seen = Seen()
    seen.add(bytes([149, *secret[:31]]) + b"\n" + secret.hex()[:63].encode(), Place(2.0, "there"))
    assert [*needles.search(seen.runs)] == []
