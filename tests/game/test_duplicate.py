"""Dealer `duplicate/v1`: the same deals at several tables, a seed that stays unopened, and refusals."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji import errors, referee
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game import entry_kinds
from hkoji.game.course import Stage
from hkoji.game.dealer import DuplicateTerms, ServerTerms, duplicate_seed_commit
from hkoji.game.entry_kinds import parse_body
from hkoji.game.replay import replay, replay_own
from hkoji.game.submission import Submission
from hkoji.log.canonical import JsonValue
from hkoji.log.line import sign_entry
from hkoji.rules.events import Chance, Deal, Event
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.forgery import append, changed_body, entry_number, only, pins, rewrite
from tests.support.rules import GAMES, fewer
from tests.support.table import Table, new_game, refused, whole_game

DEAL = ("d0" * 16, "5e" * 32)
OTHER_SEED = "77" * 32

RULESETS = st.sampled_from([ruleset for game in GAMES for ruleset in game.rulesets])
DEALS = st.tuples(st.binary(min_size=16, max_size=16), st.binary(min_size=32, max_size=32)).map(
    lambda pair: (pair[0].hex(), pair[1].hex())
)


def unopened(seed: int = 1, ruleset: Ruleset | None = None) -> Table:
    return whole_game(seed, ruleset, DEAL)


def opened(seed: int = 1, ruleset: Ruleset | None = None) -> Table:
    return unopened(seed, ruleset).unseal()


def deals(table: Table) -> list[Event]:
    """The dealer's decisions in a table's log, in order."""
    return [event for event in replay(table.lines).events if isinstance(event, Chance | Deal)]


# --- the same deals ---------------------------------------------------------------------------------------------------


@fewer
@given(DEALS, RULESETS, st.integers(0, 10**6), st.integers(0, 10**6))
def test_tables_of_a_deal_get_the_same_cards_whoever_plays(
    deal: tuple[str, str], ruleset: Ruleset, one: int, other: int
) -> None:
    tables = [whole_game(seed, ruleset, deal).unseal() for seed in (one, other)]
    if one != other:
        assert tables[0].game != tables[1].game
        assert tables[0].keys != tables[1].keys
        assert tables[0].entropy != tables[1].entropy
    here, there = deals(tables[0]), deals(tables[1])
    common = min(len(here), len(there))
    assert common >= 1
    assert here[:common] == there[:common]
    dealers = [table.course.setup.dealer(table.server_seed) for table in tables]
    assert dealers[0] is not None
    assert dealers[0] == dealers[1]
    for number in range(1, 12):
        assert dealers[0].deal(number) == dealers[1].deal(number)


@fewer
@given(DEALS, DEALS, RULESETS)
def test_another_deal_id_or_seed_gives_other_cards(
    one: tuple[str, str], two: tuple[str, str], ruleset: Ruleset
) -> None:
    def rounds(deal: str, seed: str) -> list[Deal]:
        dealer = DuplicateTerms.bind(deal, seed).dealer("00" * 16, ruleset, seed, (None, None))
        assert dealer is not None
        return [dealer.deal(number) for number in range(1, 5)]

    known = rounds(*one)
    assert all(known[0] != later for later in known[1:])
    if one[0] != two[0]:
        assert rounds(two[0], one[1]) != known
    if one[1] != two[1]:
        assert rounds(one[0], two[1]) != known


def test_the_offers_of_a_deal_show_that_the_tables_share_it() -> None:
    bound = {str(new_game(seed, deal=DEAL).lines[0].entry.body["dealer"]) for seed in range(3)}
    assert len(bound) == 1


def test_random_starters_and_markers_come_from_the_deal() -> None:
    for game in GAMES:
        for ruleset in game.rulesets:
            if ruleset.chance():
                assert deals(opened(1, ruleset))[0] == deals(opened(2, ruleset))[0]
    firsts = {new_game(1, Hanamikoji("random"), (f"{number:032x}", DEAL[1])).course.actor for number in range(12)}
    assert firsts == {0, 1}


def test_the_specifications_example_is_true() -> None:
    page = (Path(__file__).parents[2] / "docs" / "spec" / "log.md").read_text()
    shown = re.search(r'"dealer":\{"deal":"(\w{32})","name":"duplicate/v1","seed_commit":"(\w{4})…(\w{4})"\}', page)
    seed = re.search(r'"body":\{"seed":"(\w{4})…\1"\}', page)
    assert shown
    assert seed
    commit = DuplicateTerms.bind(shown[1], 16 * seed[1]).seed_commit
    assert (commit[:4], commit[-4:]) == (shown[2], shown[3])


# --- the seed unopened, and opened ------------------------------------------------------------------------------------


@fewer
@given(st.integers(0, 10**6), RULESETS)
def test_a_log_with_its_seed_unopened_holds_as_far_as_cards_are_open(seed: int, ruleset: Ruleset) -> None:
    table = unopened(seed, ruleset)
    end = parse_body("end", table.lines[-1].entry.body)
    assert isinstance(end, entry_kinds.End)
    assert end.seed is None
    assert DEAL[1] not in table.text
    result = audit(table.text, pins(table))
    assert result.ok
    assert result.finished
    assert result.outcome == table.course.outcome
    assert result.notes[AuditStep.DEAL] == "not reached: the seed is still unopened"
    assert result.notes[AuditStep.COMMITMENTS].endswith("the seed still unopened")
    assert result.notes[AuditStep.REPLAY].endswith("as far as cards are open")
    assert " wins " in result.notes[AuditStep.RESULT] or "a shared win" in result.notes[AuditStep.RESULT]


@fewer
@given(st.integers(0, 10**6), RULESETS)
def test_a_log_with_its_seed_opened_is_audited_to_the_last_card(seed: int, ruleset: Ruleset) -> None:
    table = unopened(seed, ruleset)
    unopened_result = audit(table.text, pins(table))
    table.unseal()
    assert [line.entry.kind for line in table.lines[-2:]] == ["end", "unseal"]
    result = audit(table.text, pins(table))
    assert result.ok
    assert result.finished
    assert result.holds == len(table.lines)
    assert result.outcome == unopened_result.outcome == table.course.outcome
    assert result.notes[AuditStep.DEAL].endswith("dealt from the seed")
    assert "as far as" not in result.notes[AuditStep.REPLAY]


def test_a_replay_without_the_seed_opens_what_was_face_down_and_no_hand() -> None:
    for game in GAMES:
        table = unopened(5, game.rulesets[0])
        result = replay(table.lines)
        assert result.stop is None
        course = result.course
        assert course is not None
        assert (course.stage, course.status) == (Stage.UNSEAL, "finished")
        own = [step for step in result.steps if "X" in str(step.entry.body.get("action"))]
        assert own
        assert all("X" not in event.action for step in own for event in step.events if hasattr(event, "action"))
        dealt = [event for event in result.events if isinstance(event, Deal)]
        assert all(set("".join(deal.hands) + deal.rest + deal.aside) == {"X"} for deal in dealt)


def test_a_player_still_knows_the_own_cards_only_while_the_seed_is_unopened() -> None:
    table = unopened(5)
    own = replay_own(table.lines, 0, referee.view(table.refereed, 0), referee.own_openings(table.refereed, 0)).course
    assert own is not None
    assert own.stage is Stage.UNSEAL
    assert all("X" not in mine for mine, _ in own.dealt)
    assert all(set(theirs) == {"X"} for _, theirs in own.dealt)
    view = referee.view(table.refereed, 0)
    table.unseal()
    known = replay_own(table.lines, 0, view, ()).course
    assert known is not None
    assert known.dealt == table.course.dealt


def test_games_that_end_early_leave_the_seed_unopened_too() -> None:
    cancelled = Table(seed=3, deal=DEAL)
    cancelled.open()
    cancelled.send(cancelled.entry(0, entry_kinds.Cancel()))
    left = Table(seed=4, deal=DEAL)
    left.open()
    left.join()
    left.send(left.entry(1, entry_kinds.Resign()))
    for table in (cancelled, left):
        assert table.course.stage is Stage.UNSEAL
        assert audit(table.text, pins(table)).ok
        result = audit(table.unseal().text, pins(table))
        assert result.ok
        assert result.notes[AuditStep.DEAL] == "not reached"


@pytest.mark.parametrize("deal", [DEAL, None])
def test_a_stored_game_resumes_where_it_was(deal: tuple[str, str] | None) -> None:
    table = whole_game(6, None, deal)
    assert referee.resume(table.lines, table.server_seed, table.refereed.openings) == table.refereed
    if deal:
        table.unseal(at="2026-11-20T13:00:00Z")
        assert referee.resume(table.lines, table.server_seed, table.refereed.openings) == table.refereed
        assert table.refereed.at == "2026-11-20T13:00:00Z"


def test_the_time_of_an_unseal_does_not_go_back() -> None:
    assert unopened().unseal(at="2020-01-01T00:00:00Z").refereed.at == "2026-11-20T12:00:00Z"


# --- refused by the referee -------------------------------------------------------------------------------------------


def test_no_unseal_before_the_end() -> None:
    for table in (Table(deal=DEAL), new_game(1, deal=DEAL), new_game(1, deal=DEAL).play(9), new_game(1).play(9)):
        refused(table, table.unseal, errors.IllegalError)


def test_no_second_unseal() -> None:
    table = opened()
    refused(table, table.unseal, errors.GameOverError)


def test_nothing_to_unseal_where_the_end_has_published_the_seed() -> None:
    table = whole_game(1)
    refused(table, table.unseal, errors.GameOverError)


def test_no_unseal_with_another_seed() -> None:
    table = unopened()
    table.refereed = table.refereed._replace(seed=OTHER_SEED)
    refused(table, table.unseal, errors.CommitmentError)


def test_no_offer_with_terms_of_another_seed_deal_or_game() -> None:
    table = Table()
    for terms in (
        DuplicateTerms.bind(DEAL[0], OTHER_SEED),
        DuplicateTerms("00" * 16, duplicate_seed_commit(*DEAL)),
        ServerTerms.bind("00" * 16, DEAL[1]),
    ):
        with pytest.raises(errors.CommitmentError):
            referee.offer(
                table.game, Hanamikoji(), DEAL[1], signer=table.server, at="2026-11-20T12:00:00Z", terms=terms
            )


def test_players_can_neither_unseal_nor_go_on_after_the_end() -> None:
    table = unopened()
    unseal = table.entry(0, entry_kinds.Unseal(DEAL[1]))
    refused(table, lambda: table.send(unseal), errors.GameOverError)
    refused(table, lambda: table.send(table.entry(0, entry_kinds.Resign())), errors.GameOverError)
    refused(table, lambda: table.send(table.entry(1, entry_kinds.Move("3ABC"))), errors.GameOverError)
    running = new_game(1, deal=DEAL)
    early = running.entry(0, entry_kinds.Unseal(DEAL[1]))
    refused(running, lambda: running.send(early), errors.ForbiddenError)
    forged = running.entry(0, entry_kinds.Unseal(DEAL[1]), by="server").entry
    stolen = Submission(forged, sign_entry(forged, running.keys[0]))
    refused(running, lambda: running.send(stolen), errors.MalformedError)


# --- found by the audit -----------------------------------------------------------------------------------------------


def test_an_end_that_publishes_a_seed_too_early_convicts_the_server() -> None:
    table = unopened()
    end = len(table.lines) - 1
    log = rewrite(table, changed_body(table, end, seed=DEAL[1]))
    assert only(audit(log, pins(table))) == (AuditStep.COMMITMENTS, end, "server")


def test_an_end_without_seed_convicts_the_server_of_server_v1() -> None:
    table = whole_game(1)
    end = len(table.lines) - 1
    log = rewrite(table, changed_body(table, end, seed=None))
    result = audit(log, pins(table))
    assert only(result) == (AuditStep.COMMITMENTS, end, "server")
    assert result.findings[0].reason == f"opening 0 of entry {end}: the end does not publish the seed"


def test_an_unseal_with_another_seed_convicts_the_server() -> None:
    table = opened()
    last = len(table.lines) - 1
    log = rewrite(table, changed_body(table, last, seed=OTHER_SEED))
    result = audit(log, pins(table))
    assert only(result) == (AuditStep.COMMITMENTS, last, "server")
    assert result.finished


def test_another_deal_id_does_not_go_with_the_seed() -> None:
    table = opened()
    last = len(table.lines) - 1
    dealer = {**DuplicateTerms.bind(*DEAL).to_json(), "deal": "ab" * 16}
    log = rewrite(table, changed_body(table, 0, dealer=dealer))
    assert only(audit(log, pins(table))) == (AuditStep.COMMITMENTS, last, "server")


def test_cards_of_another_deal_show_as_an_impossible_move() -> None:
    table = opened(17)
    dealer = DuplicateTerms.bind("ab" * 16, DEAL[1]).to_json()
    step, number, signer = only(audit(rewrite(table, changed_body(table, 0, dealer=dealer)), pins(table)))
    assert step is AuditStep.REPLAY
    assert number is not None
    assert table.lines[number].entry.kind == "move"
    assert signer in ("alice and server", "bob and server")


def test_false_chance_is_found_once_the_seed_is_known() -> None:
    table = opened(1, Hanamikoji("random"))
    number = entry_number(table, "chance")
    first = table.lines[number].entry.body["first"]
    assert isinstance(first, int)
    log = rewrite(table, changed_body(table, number, first=1 - first))
    assert only(audit(log, pins(table))) == (AuditStep.DEAL, number, "server")


@pytest.mark.parametrize("deal", [DEAL, None])
def test_a_further_unseal_convicts_the_server(deal: tuple[str, str] | None) -> None:
    table = whole_game(1, None, deal)
    if deal:
        table.unseal()
    append(table, entry_kinds.Unseal(table.server_seed))
    assert only(audit(table.text, pins(table))) == (AuditStep.REPLAY, len(table.lines) - 1, "server")


def test_an_early_unseal_convicts_the_server() -> None:
    table = new_game(1, deal=DEAL).play(7)
    append(table, entry_kinds.Unseal(DEAL[1]))
    assert only(audit(table.text, pins(table))) == (AuditStep.REPLAY, len(table.lines) - 1, "server")


def test_nothing_but_the_unseal_follows_an_end_without_seed() -> None:
    for body in (
        entry_kinds.Timeout(0),
        entry_kinds.RevealBody(()),
        entry_kinds.ChanceBody(0, None),
    ):
        table = unopened()
        append(table, body)
        assert only(audit(table.text, pins(table)))[1:] == (len(table.lines) - 1, "server")


# --- the forms --------------------------------------------------------------------------------------------------------

GOOD: dict[str, JsonValue] = {"deal": DEAL[0], "name": "duplicate/v1", "seed_commit": "ab" * 32}


def test_terms_are_read() -> None:
    offer = Table(deal=DEAL).lines[0].entry.body
    read = parse_body("offer", {**offer, "dealer": GOOD})
    assert isinstance(read, entry_kinds.Offer)
    assert read.terms == DuplicateTerms(DEAL[0], "ab" * 32)


def test_an_end_says_null_and_does_not_leave_the_seed_out() -> None:
    body = dict(unopened().lines[-1].entry.body)
    assert body["seed"] is None
    del body["seed"]
    with pytest.raises(errors.MalformedError, match="seed is missing"):
        parse_body("end", body)
    for line in opened().lines:
        assert parse_body(line.entry.kind, line.entry.body).to_json() == line.entry.body
