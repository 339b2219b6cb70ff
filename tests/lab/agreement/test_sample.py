"""All readers agree on every entry that the referee accepts; the referee accepts every log that an audit accepts.

This is a sample; `python -m tests.lab.agreement.measure` tries any number.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from hkoji import errors
from hkoji.arena.plan import MatchPlan
from hkoji.arena.referees import LoggingReferee
from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.log.line import format_log
from hkoji.rules.hanamikoji import actions
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.lab.agreement.changes import NEW, STRANGER, finished, mutant, position, retold, sort_of
from tests.lab.agreement.readers import assert_agreed, offered, play_on, refereed
from tests.support.drafts import draft, pins, write_log
from tests.support.memory_service import MemoryService, begin, registered
from tests.support.memory_service import play_on as play_at
from tests.support.rules import GAMES, Game, every_game
from tests.support.shell_audit import by_hkoji, by_script, missing_tools
from tests.support.table import Table, new_game, whole_game


@every_game
@pytest.mark.parametrize("seed", range(3))
def test_all_readers_agree_on_what_the_referee_accepts(game: Game, seed: int) -> None:
    rng = random.Random(f"{game.name} {seed}")
    table = position(rng, game)
    assert_agreed(table)
    taken = {}
    for _ in range(60):
        did, submission = mutant(rng, table)
        after = offered(table, submission, (*NEW, STRANGER)) if submission else None
        if submission is not None and after is not None:
            taken[sort_of(did, submission, table)] = after
    for sort in sorted(taken)[:4]:  # the moves come first
        assert_agreed(taken[sort], table)
    for after in list(taken.values())[:1]:
        assert_agreed(play_on(after, rng))


@every_game
@pytest.mark.parametrize("seed", range(2))
def test_the_referee_accepts_a_log_that_an_audit_accepts(game: Game, seed: int) -> None:
    rng = random.Random(f"{game.name} {seed}")
    table = finished(rng, game)
    assert_agreed(table)
    assert refereed(table.text.encode()) == []
    for _ in range(4):
        log, _ = retold(rng, table)
        result = audit(log)
        if result.ok and result.finished:
            assert refereed(log) == []


def test_the_script_agrees_on_a_game_told_otherwise(tmp_path: Path) -> None:
    if missing := missing_tools():
        pytest.fail(missing)
    rng = random.Random(1)
    table = finished(rng, GAMES[0])
    for number in range(2):
        log, _ = retold(rng, table)
        path = tmp_path / str(number)
        path.write_bytes(log)
        assert by_script(path, pins(table)).agrees(by_hkoji(log, pins(table)))


def _lenient(self: Hanamikoji, action: str, cards: tuple[str, ...]) -> str:
    """Completes an action without counting the hidden cards (`X`)."""
    if not self.hidden(action) and not cards:
        return action
    completed = action[0] + cards[0]
    actions.read(completed)
    return completed


def test_a_referee_that_counts_no_hidden_cards_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws above fail if a reader sees something else than the others."""
    table = new_game(3)
    honest = table.move(next(action for action in table.course.state.legal_actions() if action[0] == "2"))
    commits = tuple(opening.commitment(table.game) for opening in honest.opening)
    miscounted = table.entry(0, entry_kinds.Move("2X", commits))._replace(opening=honest.opening)
    assert offered(table, miscounted) is None
    monkeypatch.setattr(Hanamikoji, "complete", _lenient)
    taken = offered(table, miscounted)
    assert taken is not None
    with pytest.raises((AssertionError, errors.HkojiError)):
        assert_agreed(taken, table)


def test_a_log_with_another_answer_of_the_referee_is_detected() -> None:
    table = whole_game(1)
    drafts = draft(table)
    second = next(it for it in drafts if it.kind == "move" and "commit" in it.body)
    second.body["commit"] = ["ab" * 32]
    assert refereed(write_log(drafts)) != []


# --- the same referee elsewhere ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", [Hanamikoji("random", 1, "charm"), GAMES[1].rulesets[-1]])
def test_an_arena_keeps_to_the_same_rule_book(ruleset: Ruleset) -> None:
    plan = MatchPlan(("one", "other"), ruleset, 1, "7")
    for table in "ab":
        scribe = LoggingReferee(plan, 0, table)
        scribe.begin()
        rng = random.Random(table)
        while scribe.state.outcome is None:
            scribe.decide(rng.choice(scribe.state.legal_actions()))
        log = scribe.unseal().encode()
        assert audit(log).finished
        assert refereed(log) == []


def test_local_play_keeps_to_the_same_rule_book(tmp_path: Path) -> None:
    service = MemoryService()
    players = (registered(service, "alice", tmp_path / "alice"), registered(service, "bob", tmp_path / "bob"))
    game = begin(*players, Hanamikoji("host", 1))
    play_at(players, game, 60)
    kept = service.games[game]
    assert kept.refereed.course.finished
    assert refereed(format_log(kept.lines).encode()) == []
    table = Table(Hanamikoji("host", 1))
    table.lines, table.refereed, table.game, table.server = kept.lines, kept.refereed, game, service.key
    assert_agreed(table)


def test_a_list_has_the_time_of_record_not_what_an_author_claims(tmp_path: Path) -> None:
    service = MemoryService()
    recorded = "2026-11-20T13:00:00Z"
    service._now = lambda: recorded  # the service's clock; those of players say noon
    alice = registered(service, "alice", tmp_path / "alice")
    game = alice.client.new(Hanamikoji()).course.setup.game
    assert service.games[game].lines[-1].entry.at != recorded
    status, listed, *_ = service.answer("GET", "/v1/games", None, None)
    assert status == 200
    assert [(each["created"], each["updated"]) for each in json.loads(listed)["games"]] == [(recorded, recorded)]
