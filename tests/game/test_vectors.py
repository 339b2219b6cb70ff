"""The test vectors for other implementations, checked against this one: commitments, deals, complete games."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hkoji.audit.log_audit import Finding, audit
from hkoji.game.commitments import entropy_commit, entropy_of_key, hidden_commit
from hkoji.game.course import OVER
from hkoji.game.dealer import DuplicateDealer, ServerDealer, duplicate_seed_commit, seed_commit
from hkoji.game.replay import replay
from hkoji.log.line import parse_log
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from hkoji.rules.transcript import format_rounds
from tests.support.shell import run
from tests.support.shell_audit import by_hkoji, by_script, missing_tools
from tests.support.vectors import expected_keys, games

VECTORS = Path(__file__).parents[1] / "data" / "vectors"
KNOWN: dict[str, list[dict[str, Any]]] = json.loads((VECTORS / "commitments.json").read_text())  # Any: JSON
LOGS: dict[str, Any] = json.loads((VECTORS / "logs.json").read_text())  # Any: JSON
GAMES = games()
RULESETS: dict[str, Ruleset] = {"hanamikoji": Hanamikoji("random"), "geishas-road": GeishasRoad("random", "random")}


@pytest.mark.parametrize("vector", KNOWN["commitments"], ids=lambda v: f"{v['kind']}-{v.get('seq', '')}")
def test_commitments(vector: dict[str, Any]) -> None:  # Any: JSON
    game = vector.get("game", "")
    made = {
        "duplicate-seed": lambda: duplicate_seed_commit(vector["deal"], vector["seed"]),
        "seed": lambda: seed_commit(game, vector["seed"]),
        "entropy": lambda: entropy_commit(game, vector["seat"], vector["entropy"]),
        "hidden": lambda: hidden_commit(game, vector["seq"], vector["part"], vector["cards"], vector["salt"]),
    }[vector["kind"]]()
    assert made == vector["commit"]


@pytest.mark.parametrize("vector", KNOWN["key_entropy"], ids=lambda v: v["entropy"][:8])
def test_entropy_of_a_key(vector: dict[str, Any]) -> None:  # Any: JSON
    key = PrivateKey.from_seed(bytes.fromhex(vector["seed"]))
    assert entropy_of_key(key, vector["game"], vector["head"]) == vector["entropy"]


@pytest.mark.parametrize(
    "vector", KNOWN["deals"] + KNOWN["duplicate_deals"], ids=lambda v: f"{v['ruleset']}-round-{v['round']}"
)
def test_deals(vector: dict[str, Any]) -> None:  # Any: JSON
    ruleset, seed = RULESETS[vector["ruleset"]], vector["seed"]
    dealer: ServerDealer | DuplicateDealer
    if "deal" in vector:
        dealer = DuplicateDealer(vector["deal"], ruleset, seed)
    else:
        dealer = ServerDealer(vector["game"], ruleset, seed, vector["host_entropy"], vector["guest_entropy"])
    assert dealer.deck_key(vector["round"]).hex() == vector["deck_key"]
    deal = dealer.deal(vector["round"])
    assert (deal.aside, *deal.hands, deal.rest) == tuple(vector[k] for k in ("removed", "seat_0", "seat_1", "draws"))
    if "first" in vector:
        chance = dealer.chance()
        assert chance is not None
        assert chance.first == vector["first"]
        assert chance.markers == vector.get("markers")


@pytest.mark.parametrize("name", sorted(GAMES))
def test_whole_games(name: str) -> None:
    facts = GAMES[name]
    text = (VECTORS / "games" / name).read_text()
    keys = expected_keys(facts)
    result = audit(text, keys)
    assert result.findings == ()
    assert all(party.pinned for party in result.parties)
    assert len(result.parties) == sum(map(len, keys.values()))
    assert result.holds == facts["entries"]
    assert result.finished == (facts["status"] in OVER)
    replayed = replay(parse_log(text))
    course = replayed.course
    assert course is not None
    assert (course.head, course.status) == (facts["head"], facts["status"])
    assert list(format_rounds(course.setup.ruleset, replayed.events)) == facts["rounds"]
    outcome = course.outcome
    assert facts["result"] == ({"reason": outcome.reason, "winner": outcome.winner} if outcome else None)


@pytest.mark.parametrize("vector", LOGS["logs"], ids=lambda vector: vector["what"])
def test_logs_that_hold_up_to_an_entry(vector: dict[str, Any]) -> None:  # Any: JSON
    result = audit(vector["log"], {name: tuple(map(parse_public_key, keys)) for name, keys in LOGS["keys"].items()})
    assert result.holds == vector["holds"]
    found = [(int(each.step), each.entry, each.understood, each.signer) for each in result.findings]
    wanted = vector["finding"]
    expected = wanted and (wanted["step"], wanted["entry"], wanted["error"] != "not-understood", wanted["names"])
    assert found == ([expected] if wanted else [])
    lines = vector["log"].splitlines(keepends=True)
    for count in range(1, vector["holds"]):
        assert _findings("".join(lines[:count])) == ()  # each beginning of what holds holds


@cache
def _findings(log: str) -> tuple[Finding, ...]:
    """Those of the audit of `log`. Most logs here begin as others do: 1,029 beginnings are 106 different ones."""
    keys = {name: tuple(map(parse_public_key, keys)) for name, keys in LOGS["keys"].items()}
    return audit(log, keys).findings


BY_BOTH = (
    "rekey, then rekey",
    "revoke, then revoke",
    "the kind 'offEr'",
    "the kind 'plan'",
    "agreement: six rest days",
    "agreement: no clock, and rated",
    "agreement: another key of a clock",
    # Invitation by link
    "by link: begun",
    "by link: an open signed for another name",
    "by link: a join without link_sig",
    "by link: link_sig where it is open to bob",
    "by link: a join signed by another link",
    "by link: the link is weak",
    "by link: link, sig and name",
    "by link: link_sig is None",
    "by link: declined",
    # Held keys
    "held: begun",
    "held: a certificate of another service",
    "held: a certificate with a key too many",
    "held: a weak key",
    "held: a mail of grade none in a resign",
    "held: a join without mail",
    "held: a mail under an own key",
    "held: signed in hkoji.entry.v1 with a mail",
    "held: delegated, and a mail",
    "held: a weaker mail than was delegated",
    "held: a delegation, then a revoke",
    # Receipts and times
    "the receipts go back, with receipts",
    "seen is not the receipt's time, with receipts",
    "seen goes back, and the service goes on, without receipts",
    "seen goes back, without receipts",
    "the service's time is not its receipt's, with receipts",
    "an end with a time of its own, without receipts",
    "a join after the offer has expired, with receipts",
    "expired too early, without receipts",
    "declined by nobody, with receipts",
    # Credits
    "a credit after a new key, with receipts",
    "no clock, and a gift, without receipts",
    "a gift of the mover's own, with receipts",
    "a gift at a head that has passed, without receipts",
    "an outage that begins before since, with receipts",
    "an outage that ends after T, without receipts",
    "an entry within an outage, with receipts",
    "called off by the host alone, without receipts",
    "no clock, and called off with an outage, with receipts",
    # Clocks
    "no clock, and a timeout, without receipts",
    "a move at D, with receipts",
    "a late move, without receipts",
    "a timeout at D, with receipts",
    "called off after D, without receipts",
)
"""Logs for every finding of step 5 that a log of honest receipts can have, for findings about links, and some others;
`tests.lab.two_audits` has the rest, and what is wrong with receipts."""


@pytest.mark.parametrize("what", BY_BOTH)
def test_the_script_and_the_command_say_the_same_of_these_logs(what: str, tmp_path: Path) -> None:
    """Their exit codes differ only where the log is at fault: 1 by the script, 8 by the command."""
    (vector,) = (each for each in LOGS["logs"] if each["what"] == what)
    if missing := missing_tools():
        pytest.fail(missing)
    path = tmp_path / "log.jsonl"
    path.write_text(vector["log"])
    script = by_script(path, {})
    assert script.agrees(by_hkoji(vector["log"].encode(), {}))
    done = run("audit", str(path))
    match vector["finding"]:
        case None:
            expected = (0, 0)
        case {"error": "not-understood"}:
            expected = (3, 3)
            assert "cannot say whether it is valid or forged" in done.out
        case {"step": 8}:  # the rules, which the script leaves out
            expected = (0, 8)
        case _:
            expected = (1, 8)
    assert (script.exit, done.code) == expected
