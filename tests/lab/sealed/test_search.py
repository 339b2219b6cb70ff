"""A small sample of the search of all that a service has of sealed games, and what it finds when leaks are planted."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from hkoji.log.canonical import encode
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.sealed.needles import Needles, Place, Seen
from tests.lab.sealed.playing import recorded
from tests.lab.sealed.search import control, judge
from tests.lab.sealed.structure import judge_answer

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
