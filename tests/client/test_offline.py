"""Entries can be signed without the service, and sent from anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji.client import Client, Home
from hkoji.client.kept.game import Vault
from hkoji.errors import ConflictError, IllegalActionError, NetworkError, NotFoundError, NotYourTurnError
from hkoji.game.submission import Submission, format_submission, parse_submission
from tests.support.memory_service import URL, LocalPlayer, LocalTransport, MemoryService, begin, play_on


def unplug(service: MemoryService) -> None:
    def nothing(_method: str, _path: str) -> None:
        raise NetworkError(URL, "there is no network")

    service.before = nothing


def plug_in(service: MemoryService) -> None:
    service.before = lambda _method, _path: None


def signed(alice: LocalPlayer, game: str, number: int = -1) -> Submission:
    return alice.sign(game, alice.client.stored(game).legal[number])


@pytest.mark.parametrize("number", [0, -1])
def test_a_move_is_signed_offline_and_sent_from_a_machine_that_knows_nothing(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, tmp_path: Path, number: int
) -> None:
    game = begin(alice, bob)
    unplug(service)
    submission = signed(alice, game, number)
    assert set(submission.opening) <= set(Vault(alice.folder(game)).openings())
    plug_in(service)
    elsewhere = Client(Home(tmp_path / "elsewhere"), connect=lambda url: LocalTransport(url, service))
    lines = elsewhere.submit(parse_submission(format_submission(submission)), URL)
    assert lines[0].entry == submission.entry
    assert elsewhere.submit(submission, URL) == lines  # the first receipt again
    assert alice.position(game).course.seq == 5
    assert service.games[game].receipts == 5


def test_the_game_may_move_on_meanwhile(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    submission = signed(alice, game)
    alice.move(game, alice.client.stored(game).legal[0])
    with pytest.raises(ConflictError):
        alice.client.submit(submission)
    assert service.games[game].receipts == 5


def test_a_second_signature_for_a_place_is_said_to_be_one(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    alice.said.clear()
    first = signed(alice, game, 0)
    assert alice.said == []
    second = signed(alice, game, -1)
    assert any("either of them may become" in remark for remark in alice.said)
    assert Vault(alice.folder(game)).signed(5) == (first.entry.text, second.entry.text)
    alice.said.clear()
    alice.move(game, alice.client.stored(game).legal[0])
    assert any("either of them may become" in remark for remark in alice.said)


def test_only_legal_moves_in_ones_own_turn_are_signed(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    bob.position(game)
    unplug(service)
    with pytest.raises(NotYourTurnError):
        bob.sign(game, "1A")
    pairs = (f"2{card}{card}" for card in "ABCDEFG")  # no hand of seven has all of them
    with pytest.raises(IllegalActionError):
        alice.sign(game, next(pair for pair in pairs if pair not in alice.client.stored(game).legal))
    with pytest.raises(NotFoundError, match="no game"):
        alice.sign("0" * 32, "1A")
    assert not Vault(alice.folder(game)).signed(5)


def test_with_a_network_the_news_is_fetched_if_it_was_not_ones_turn(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    bob.position(game)
    play_on((alice, bob), game, 1)
    assert not bob.client.stored(game).legal
    submission = bob.sign(game, "-A" if bob.position(game).legal == ("-A",) else _any(bob, game))
    assert submission.entry.seq == 6


def _any(player: LocalPlayer, game: str) -> str:
    return player.position(game).legal[0]
