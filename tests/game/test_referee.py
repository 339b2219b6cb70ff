"""The referee accepts complete games, and refuses every invalid submission without any change."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji import errors, referee
from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.course import Stage
from hkoji.game.replay import replay
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.line import parse_log, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Event
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due
from tests.support.rules import fewer
from tests.support.table import AT, Table, new_game, refused, whole_game

RULESETS = st.builds(
    Hanamikoji,
    first=st.sampled_from(["host", "guest", "random"]),
    max_rounds=st.integers(1, 4),
    tiebreak=st.sampled_from(["geisha", "charm"]),
)

OTHER_BODIES: dict[str, dict[str, Any]] = {  # Any: JSON
    "timeout": {"seat": 1},
    "lapse": {"reason": "expired"},
    "credit": {"gift": None, "outages": [{"from": AT, "until": "2026-11-20T12:00:01Z", "way": "http"}]},
    "annul": {"gift": None, "outages": [], "seat": 1, "sigs": ["U1NI", "U1NI"]},
    "unseal": {"seed": "0" * 64},
}
"""Bodies of kinds that only the service writes, and that a whole game need not have."""


@fewer
@given(st.integers(0, 10**6), RULESETS)
def test_every_game_ends_with_a_log_that_audits_clean(seed: int, ruleset: Hanamikoji) -> None:
    table = whole_game(seed, ruleset)
    result = audit(table.text, {"alice": table.keys[0].public, "server": table.server.public})
    assert result.findings == ()
    assert result.finished
    assert result.holds == len(table.lines)
    assert result.outcome == table.course.outcome
    body = entry_kinds.parse_body("end", table.lines[-1].entry.body)
    assert isinstance(body, entry_kinds.End)
    assert body.result == table.course.outcome


def test_an_accepted_entry_says_its_consequences() -> None:
    table = Table(Hanamikoji(first="random"), 3)
    happened: list[Event] = []
    accept = referee.accept

    def listen(*arguments: Any, **more: Any) -> referee.Accepted:  # Any: as they are
        accepted = accept(*arguments, **more)
        happened.extend(accepted.events)
        return accepted

    with patch.object(referee, "accept", listen):
        table.begin().play()
    assert tuple(happened) == replay(table.lines).events


@fewer
@given(st.integers(0, 10**6), st.integers(0, 40))
def test_a_stored_game_resumes_where_it_was(seed: int, moves: int) -> None:
    table = new_game(seed).play(moves)
    assert referee.resume(table.lines, table.server_seed, table.refereed.openings) == table.refereed
    half = len(table.lines) // 2
    earlier = referee.resume(table.lines[:half], table.server_seed, table.refereed.openings)
    assert referee.catch_up(earlier, table.lines[half:], table.refereed.openings) == table.refereed


def test_a_reveal_follows_the_rounds_last_decision_at_once() -> None:
    table = new_game(5)
    while table.course.state.round == 1 and table.course.stage is Stage.PLAY:
        brought = table.send(table.move(table.course.state.legal_actions()[0]))
    assert brought[1].entry.kind == "reveal"
    reveal = entry_kinds.parse_body("reveal", brought[1].entry.body)
    assert isinstance(reveal, entry_kinds.RevealBody)
    assert [len(opening.cards) for opening in reveal.openings] == [1, 1]
    secrets = {line.entry.seq for line in table.lines if line.entry.body.get("action") == "1X"}
    assert {opening.seq for opening in reveal.openings} <= secrets


def test_the_host_starts_unless_the_options_say_otherwise() -> None:
    assert new_game(1).course.actor == 0
    assert new_game(1, Hanamikoji(first="guest")).course.actor == 1
    starters = {new_game(seed, Hanamikoji(first="random")).course.actor for seed in range(12)}
    assert starters == {0, 1}


# --- refused: author and turn -------------------------------------------------------------------------------------


def test_the_wrong_seat_cannot_move() -> None:
    table = new_game()
    action = table.course.state.legal_actions()[0]
    error = refused(table, table.move(action, seat=1), errors.NotYourTurnError)
    assert isinstance(error, errors.NotYourTurnError)
    assert error.actor == 0


def test_a_stranger_cannot_move() -> None:
    table = new_game()
    stranger = PrivateKey.from_seed(bytes(range(32)))
    entry = table.entry(0, entry_kinds.Move("3ABC"), by="carol").entry
    refused(table, Submission(entry, sign_entry(entry, stranger)), errors.ForbiddenError)


def test_another_key_cannot_sign_for_a_player() -> None:
    table = new_game()
    submission = table.move(table.course.state.legal_actions()[0])
    forged = Submission(submission.entry, sign_entry(submission.entry, table.keys[1]), submission.opening)
    refused(table, forged, errors.SignatureError)
    stranger = PrivateKey.from_seed(bytes(range(32)))
    forged = Submission(submission.entry, sign_entry(submission.entry, stranger), submission.opening)
    refused(table, forged, errors.SignatureError)


@pytest.mark.parametrize("namespace", [sshsig.SERVER, sshsig.RECEIPT, sshsig.LOGIN, "file"])
def test_a_signature_for_another_use_does_not_count(namespace: str) -> None:
    table = new_game()
    submission = table.move(table.course.state.legal_actions()[0])
    sig = table.keys[0].sign(namespace, submission.entry.message)
    refused(table, Submission(submission.entry, sig, submission.opening), errors.SignatureError)


@pytest.mark.parametrize("kind", ["offer", "chance", "reveal", "end", *OTHER_BODIES])
def test_a_player_cannot_write_the_services_entries(kind: str) -> None:
    table = whole_game(3)
    body = next((line.entry.body for line in table.lines if line.entry.kind == kind), None)
    if body is None:
        body = {"first": 1} if kind == "chance" else OTHER_BODIES[kind]
    table = new_game(3)
    entry = table.entry(0, entry_kinds.Resign(), kind=kind, body=body).entry
    refused(table, Submission(entry, sign_entry(entry, table.keys[0])), errors.ForbiddenError)
    entry = table.entry(0, entry_kinds.Resign(), kind=kind, body=body, by="server").entry
    refused(table, Submission(entry, sign_entry(entry, table.keys[0])), errors.MalformedError)


# --- refused: place -----------------------------------------------------------------------------------------------


def test_replayed_reordered_and_foreign_entries_are_refused() -> None:
    table = new_game()
    first = table.move(table.course.state.legal_actions()[-1])
    other_game = new_game(99).move(new_game(99).course.state.legal_actions()[-1])
    refused(table, other_game, errors.MalformedError)
    table.send(first)
    error = refused(table, first, errors.ConflictError)
    assert isinstance(error, errors.ConflictError)
    assert (error.seq, error.head) == (table.course.seq, table.course.head)
    answer = table.course.state.legal_actions()[0]
    ahead = table.entry(1, entry_kinds.Move(answer), seq=table.course.seq + 2)
    refused(table, ahead, errors.ConflictError)
    aside = table.entry(1, entry_kinds.Move(answer), prev="0" * 64)
    refused(table, aside, errors.ConflictError)


def test_nothing_follows_the_end() -> None:
    table = whole_game(2)
    refused(table, table.entry(0, entry_kinds.Move("3ABC")), errors.GameOverError)
    refused(table, table.entry(1, entry_kinds.Resign()), errors.GameOverError)


# --- refused: cards -----------------------------------------------------------------------------------------------


def test_illegal_cards_are_refused() -> None:
    table = new_game()
    hand = table.ruleset.pack.decode(table.course.state.hands[0])
    missing = (
        next(card for card in "ABCDEFG" if hand.count(card) == 0 or card not in hand)
        if set(hand) != set("ABCDEFG")
        else "A"
    )
    too_many = missing * 3 if missing in "DEFG" else f"{missing}{missing}{hand[-1]}"
    action = f"3{''.join(sorted(too_many))}"
    error = refused(table, table.move(action), errors.MissingCardsError)
    assert isinstance(error, errors.MissingCardsError)
    assert error.shape == ("1?", "2??", "3???", "4????")


def test_an_action_is_used_once_a_round() -> None:
    table = new_game(4)
    table.send(table.move(next(a for a in table.course.state.legal_actions() if a[0] == "1")))
    table.send(table.move(next(a for a in table.course.state.legal_actions() if a[0] == "1")))
    hand = table.ruleset.pack.decode(table.course.state.hands[0])
    refused(table, table.move(f"1{hand[0]}"), errors.IllegalActionError)


@pytest.mark.parametrize("text", ["3CBA", "4BDAC", "4CABD", "3abc", "3 A B C", "gift a b c", "0A", "5ABCDE", "", "-"])
def test_only_canonical_notation_is_an_entry(text: str) -> None:
    table = new_game()
    if text == "":
        with pytest.raises(errors.MalformedError):
            table.send(table.entry(0, entry_kinds.Move(text)))
        return
    before = table.refereed
    with pytest.raises(errors.InvalidError):
        table.send(table.entry(0, entry_kinds.Move(text)))
    assert table.refereed == before


def test_hidden_cards_are_never_written_openly() -> None:
    table = new_game()
    hand = table.ruleset.pack.decode(table.course.state.hands[0])
    refused(table, table.entry(0, entry_kinds.Move(f"1{hand[0]}")), errors.MalformedError)
    refused(table, table.entry(0, entry_kinds.Move(f"1{hand[0]}", ("0" * 64,))), errors.MalformedError)


def test_commitments_must_be_there_and_open_to_legal_cards() -> None:
    table = new_game()
    state = table.course.state
    secret = table.move(next(a for a in state.legal_actions() if a[0] == "1"))
    refused(table, Submission(secret.entry, secret.sig), errors.MalformedError)
    bare = table.entry(0, entry_kinds.Move("1X"))
    refused(table, bare, errors.MalformedError)
    (opening,) = secret.opening
    other = Opening(opening.seq, 0, "A" if opening.cards != "A" else "B", opening.salt)
    refused(table, Submission(secret.entry, secret.sig, (other,)), errors.CommitmentError)
    salted = Opening(opening.seq, 0, opening.cards, "00" * 32)
    refused(table, Submission(secret.entry, secret.sig, (salted,)), errors.CommitmentError)
    extra = Opening(opening.seq, 1, opening.cards, "11" * 32)
    refused(table, Submission(secret.entry, secret.sig, (opening, extra)), errors.MalformedError)
    hand = table.ruleset.pack.decode(state.hands[0])
    absent = [card for card in "ABCDEFG" if card not in hand]
    for card in absent:
        refused(table, table.move(f"1{card}"), errors.MissingCardsError)
    public = table.move(next(a for a in state.legal_actions() if a[0] == "3"))
    refused(table, Submission(public.entry, public.sig, (opening,)), errors.MalformedError)


def test_two_cards_cannot_hide_behind_a_secret() -> None:
    table = new_game()
    hand = table.ruleset.pack.decode(table.course.state.hands[0])
    seq = table.course.seq + 1
    opening = Opening(seq, 0, hand[:2], "ab" * 32)
    entry = table.entry(0, entry_kinds.Move("1X", (opening.commitment(table.game),)))
    before = table.refereed
    with pytest.raises(errors.InvalidError):
        table.send(Submission(entry.entry, entry.sig, (opening,)))
    assert table.refereed == before


def test_an_unsorted_trade_off_is_no_opening() -> None:
    table = new_game()
    hand = table.ruleset.pack.decode(table.course.state.hands[0])
    first, second = hand[0], hand[-1]
    assert first < second
    opening = Opening(table.course.seq + 1, 0, second + first, "ab" * 32)
    entry = table.entry(0, entry_kinds.Move("2XX", (opening.commitment(table.game),)))
    refused(table, Submission(entry.entry, entry.sig, (opening,)), errors.NotationError)


def test_a_salt_is_used_once_in_a_game() -> None:
    table = new_game(8)
    salt = "5a" * 32
    table.send(table.move(next(a for a in table.course.state.legal_actions() if a[0] == "1"), salt=salt))
    action = next(a for a in table.course.state.legal_actions() if a[0] == "2")
    error = refused(table, table.move(action, salt=salt), errors.CommitmentError)
    assert isinstance(error, errors.CommitmentError)
    assert (error.seq, error.part) == (table.course.seq + 1, 0)


# --- refused: opening, joining, leaving ---------------------------------------------------------------------------


def test_nobody_plays_themselves() -> None:
    table = Table()
    table.open()
    commit = entropy_commit(table.game, 1, table.entropy[1])
    same_key = entry_kinds.Join(commit, table.keys[0].public)
    entry = table.entry(1, same_key).entry
    refused(table, Submission(entry, sign_entry(entry, table.keys[0])), errors.IllegalError)
    same_name = table.entry(1, entry_kinds.Join(commit, table.keys[1].public), by="alice")
    refused(table, same_name, errors.IllegalError)


def test_an_invitation_binds_name_and_key() -> None:
    table = Table()
    table.open(entry_kinds.Invite("bob", table.keys[0].public))
    commit = entropy_commit(table.game, 1, table.entropy[1])
    refused(table, table.entry(1, entry_kinds.Join(commit, table.keys[1].public)), errors.ForbiddenError)
    table = Table()
    table.open(entry_kinds.Invite("carol"))
    refused(table, table.entry(1, entry_kinds.Join(commit, table.keys[1].public)), errors.ForbiddenError)
    table = Table()
    table.open(entry_kinds.Invite("bob", table.keys[1].public))
    table.join()
    assert table.course.setup.names == ("alice", "bob")


def test_the_entropy_must_be_the_committed_one() -> None:
    table = Table()
    table.open()
    table.join()
    refused(table, table.entry(1, entry_kinds.Seed(table.entropy[0])), errors.CommitmentError)
    refused(table, table.entry(0, entry_kinds.Seed(table.entropy[0])), errors.NotYourTurnError)


def test_the_guest_commits_to_entropy_of_their_own() -> None:
    table = Table()
    table.open()
    commit = table.course.setup.entropy_commits[0]
    assert commit
    error = refused(table, table.entry(1, entry_kinds.Join(commit, table.keys[1].public)), errors.IllegalError)
    assert error.message == "the guest's commitment repeats the host's"


def test_an_entry_too_early_or_too_late_is_told_which_one_is_due() -> None:
    table = Table()
    table.open()
    commit = entropy_commit(table.game, 1, table.entropy[1])
    again = refused(table, table.entry(0, entry_kinds.Open(commit, table.keys[0].public, None)), errors.IllegalError)
    assert again.message == "a open cannot come now: the game waits for the join"
    table.join()
    table.reveal_seeds()
    late = refused(table, table.entry(1, entry_kinds.Join(commit, table.keys[1].public)), errors.IllegalError)
    assert late.message == "a join cannot come now: the game waits for a move (act)"


def test_a_game_is_cancelled_only_before_somebody_joins() -> None:
    table = Table()
    table.open()
    refused(table, table.entry(0, entry_kinds.Resign()), errors.IllegalError)
    refused(table, table.entry(1, entry_kinds.Cancel()), errors.ForbiddenError)
    brought = table.send(table.entry(0, entry_kinds.Cancel()))
    assert [line.entry.kind for line in brought] == ["cancel", "end"]
    assert audit(table.text).findings == ()
    table = Table()
    table.open()
    table.join()
    refused(table, table.entry(0, entry_kinds.Cancel()), errors.IllegalError)


@pytest.mark.parametrize("moves", [0, 1, 2, 5, 9, 12, 13])
@pytest.mark.parametrize("seat", [0, 1])
def test_a_player_may_resign_at_any_time(moves: int, seat: int) -> None:
    table = new_game(11, Hanamikoji(max_rounds=3)).play(moves)
    brought = table.send(table.entry(seat, entry_kinds.Resign()))
    assert [line.entry.kind for line in brought] == ["resign", "end"]
    result = audit(table.text)
    assert result.findings == ()
    assert result.outcome is not None
    assert (result.outcome.reason, result.outcome.winner) == ("resign", 1 - seat)
    end = entry_kinds.parse_body("end", table.lines[-1].entry.body)
    assert isinstance(end, entry_kinds.End)
    published = {
        (o["seq"], o["part"])  # type: ignore[call-overload, index] # decoded JSON
        for line in table.lines
        for o in line.entry.body.get("openings", [])  # type: ignore[union-attr] # decoded JSON
    }
    committed = {(line.entry.seq, 0) for line in table.lines if "commit" in line.entry.body}
    assert published == committed


def test_a_player_may_resign_before_the_deal() -> None:
    table = Table()
    table.open()
    table.join()
    table.send(table.entry(0, entry_kinds.Resign()))
    result = audit(table.text)
    assert result.findings == ()
    assert result.finished


def test_receipt_times_never_go_back() -> None:
    table = new_game(6)
    table.send(table.move(table.course.state.legal_actions()[-1]), at="2026-11-20T13:00:00Z")
    (line,) = table.send(table.move(table.course.state.legal_actions()[0]), at="2026-11-20T12:30:00Z")[:1]
    assert line.receipt is not None
    assert line.receipt.receipt.at == "2026-11-20T13:00:00Z"
    assert audit(table.text).findings == ()


def test_a_log_of_a_running_game_hides_what_is_hidden() -> None:
    table = new_game(21).play(9)
    for opening in table.refereed.openings:
        assert opening.salt not in table.text
    assert table.server_seed not in table.text
    seen = replay(parse_log(table.text))
    assert seen.stop is None
    assert seen.course is not None
    assert seen.course.state == table.course.state.project(None)
    assert table.course.state.due in Due
