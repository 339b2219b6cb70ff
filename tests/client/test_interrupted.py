"""A command that breaks off at any request, before or after it arrived, can be given again.

In every case there is one entry with one receipt, and it is the entry that was signed first.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hkoji.client.identity import create
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import KeyStanding
from hkoji.client.links import enrol, introduce, own_link
from hkoji.errors import ConflictError, HkojiError, NetworkError, NotYourTurnError, ServiceError
from hkoji.game.course import Stage
from hkoji.log.link_key import link_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.adversary import key_of
from tests.support.breaking_off import breaks, quiet
from tests.support.memory_service import URL, Game, LocalPlayer, MemoryService, begin, play_on, registered


class _Kept:
    """A copy of a service's games and of players' homes, which can be as they were again."""

    def __init__(self, service: MemoryService, *homes: Path) -> None:
        self._service = service
        self._games = {game: _copy(each) for game, each in service.games.items()}
        self._players = dict(service.players)
        self._homes = {home: home.with_name(f"{home.name}-kept") for home in homes}
        for home, kept in self._homes.items():
            shutil.copytree(home, kept)

    def restore(self) -> None:
        self._service.games.clear()
        self._service.games.update({game: _copy(each) for game, each in self._games.items()})
        self._service.players.clear()
        self._service.players.update(self._players)
        for home, kept in self._homes.items():
            shutil.rmtree(home)
            shutil.copytree(kept, home)


def _copy(game: Game) -> Game:
    return replace(game, lines=list(game.lines))


def entries(service: MemoryService, game: str, kind: str) -> list[str]:
    return [line.entry.text for line in service.games[game].lines if line.entry.kind == kind]


def test_new(alice: LocalPlayer, service: MemoryService) -> None:
    count = 0
    for _ in breaks(service, _Kept(service, alice.path).restore, lambda: alice.client.new(Hanamikoji())):
        count += 1
        waiting = {folder.name: text for folder in (alice.path / "games").glob("*/") if (text := _outbox(folder))}
        assert len(waiting) <= 1
        position = alice.client.new(Hanamikoji())
        game = position.course.setup.game
        assert position.course.stage is Stage.JOIN
        assert position.seat == 0
        if waiting:
            assert waiting == {game: entries(service, game, "open")[0]}
        assert len(entries(service, game, "open")) == 1
        assert service.games[game].receipts == 1
        assert not _outbox(alice.folder(game))
        assert alice.client.new(Hanamikoji()).course.setup.game != game  # the next one differs
    assert count >= 16


def test_new_when_the_service_has_removed_the_unopened_offer(alice: LocalPlayer, service: MemoryService) -> None:
    """Wherever the first command broke off, the next one opens another game, if the service has removed the first."""
    removed = 0
    for _ in breaks(service, _Kept(service, alice.path).restore, lambda: alice.client.new(Hanamikoji())):
        for game in [game for game in service.games if not entries(service, game, "open")]:
            removed += 1
            del service.games[game]
        position = alice.client.new(Hanamikoji())
        assert (position.course.stage, position.seat) == (Stage.JOIN, 0)
        assert position.course.setup.game in service.games
        assert alice.client.home.started() == {}
    assert removed >= 8


def test_join(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = alice.client.new(Hanamikoji()).course.setup.game
    count = 0
    for _ in breaks(service, _Kept(service, alice.path, bob.path).restore, lambda: bob.join(game)):
        count += 1
        text = _outbox(bob.folder(game))
        position = bob.join(game)
        assert position.seat == 1
        assert service.games[game].refereed.course.stage is Stage.HOST_SEED
        for kind in ("join", "seed"):
            assert len(entries(service, game, kind)) == 1
        if text:
            assert text in [line.entry.text for line in service.games[game].lines]
        assert not _outbox(bob.folder(game))
        assert alice.position(game).course.stage is Stage.PLAY  # and the game goes on
    assert count >= 20


def test_join_by_link(alice: LocalPlayer, service: MemoryService, tmp_path: Path) -> None:
    """A guest who had registered nowhere has the service afterwards, and knows the host and it by the link."""
    game = alice.client.new(Hanamikoji(), by_link=True).course.setup.game
    link = own_link(alice.client, game)
    assert link is not None
    dora = LocalPlayer(service, "dora", tmp_path / "dora")
    create(dora.client.home, "dora", None, bytes(32))

    def join() -> None:
        client = dora.client
        about = introduce(client, link)
        with client.game(link.game) as held:
            held.join(lambda _: (enrol(client, link, about.origin), None)[1], link.code)

    count = 0
    for _ in breaks(service, _Kept(service, alice.path, dora.path).restore, join):
        count += 1
        join()
        assert dora.client.home.config()["server"] == URL
        pins = dora.client.service(URL).pins
        assert pins.server_key is not None
        assert pins.standing("server", pins.server_key) is KeyStanding.LINK
        assert pins.standing("alice", key_of(alice).public) is KeyStanding.LINK
        for kind in ("join", "seed"):
            assert len(entries(service, game, kind)) == 1
        assert alice.position(game).course.stage is Stage.PLAY
    assert count >= 60


@pytest.mark.parametrize("action", ["1", "2", "3"])
def test_move(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, action: str) -> None:
    """The same command again gives the same entry, also when the move hides cards under fresh salts."""
    game = begin(alice, bob)
    notation = next(each for each in alice.position(game).legal if each[0] == action)
    count = 0
    for _ in breaks(service, _Kept(service, alice.path, bob.path).restore, lambda: alice.move(game, notation)):
        count += 1
        text = _outbox(alice.folder(game))
        again = alice.move(game, notation) if text or not entries(service, game, "move") else None
        assert len(entries(service, game, "move")) == 1
        if text:
            assert entries(service, game, "move") == [text]
            assert again is not None
            assert again.position.replay.steps[again.seq].entry.text == text
        assert service.games[game].receipts == 5  # open, join, seed, seed, move: nothing was accepted twice
        bob.move(game, bob.position(game).legal[0])
    assert count >= 10


def test_another_command_delivers_what_waits(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    legal = alice.position(game).legal
    _break_post(service, "after")
    with pytest.raises(NetworkError) as broken:
        alice.move(game, legal[0])
    assert broken.value.reason == "it broke"
    text = _outbox(alice.folder(game))
    service.after = quiet
    assert alice.position(game).course.seq == 5
    assert entries(service, game, "move") == [text]
    with pytest.raises(NotYourTurnError):
        alice.move(game, legal[1])


@pytest.mark.parametrize("when", ["before", "after"])
def test_another_move_instead_is_not_sent(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, when: str
) -> None:
    """The signed move stands; the second one is refused with the news, and neither is lost or doubled."""
    game = begin(alice, bob)
    legal = alice.position(game).legal
    _break_post(service, when)
    with pytest.raises(NetworkError):
        alice.move(game, legal[0])
    service.before = service.after = quiet
    with pytest.raises(ConflictError) as conflict:
        alice.move(game, legal[-1])
    assert f"your earlier move {legal[0]} has arrived as entry 5" in conflict.value.hint
    assert len(entries(service, game, "move")) == 1


def test_resigning_twice_is_once(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    _break_post(service, "after")
    with pytest.raises(NetworkError):
        alice.resign(game)
    service.after = quiet
    assert alice.resign(game).position.over
    assert len(entries(service, game, "resign")) == 1


def test_a_refused_entry_is_remembered(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, tmp_path: Path
) -> None:
    """Two players try to join: the slower one's entry was signed and exists, and its entropy is kept."""
    carol = registered(service, "carol", tmp_path / "carol")
    game = alice.client.new(Hanamikoji()).course.setup.game

    def be_faster(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/entries"):
            service.before = quiet
            bob.join(game)

    service.before = be_faster
    with pytest.raises(ConflictError):
        carol.join(game)
    kept = Vault(carol.folder(game))
    assert kept.outbox() is None
    (text,) = kept.signed(2)
    assert '"by":"carol"' in text
    assert carol.position(game).seat is None


def test_after_a_refusal_another_entry_may_be_signed_and_it_is_said(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    legal = alice.position(game).legal

    def refuse(method: str, path: str, answer: Any) -> Any:
        if method == "POST" and path.endswith("/entries"):
            return answer._replace(status=422, body=b'{"code": "illegal", "detail": "no"}')
        return answer

    real = service.games[game]
    kept = (real.refereed, list(real.lines))
    service.tamper = refuse
    with pytest.raises(HkojiError, match="no"):
        alice.move(game, legal[0])
    service.tamper = lambda _m, _p, answer: answer
    real.refereed, real.lines = kept  # it was not accepted
    alice.said.clear()
    alice.move(game, legal[-1])
    assert any("either of them may become part of the log" in remark for remark in alice.said)


@pytest.mark.parametrize("status", [404, 408, 413, 429, 500, 502, 503, 302])
def test_an_answer_that_is_no_clear_refusal_leaves_the_entry_waiting(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, status: int
) -> None:
    game = begin(alice, bob)
    notation = alice.position(game).legal[0]

    def trouble(method: str, path: str, answer: Any) -> Any:
        if method == "POST" and path.endswith("/entries"):
            return answer._replace(status=status, body=b"<html>busy</html>")
        return answer

    service.tamper = trouble
    with pytest.raises(HkojiError):
        alice.move(game, notation)
    text = _outbox(alice.folder(game))
    assert text
    service.tamper = lambda _m, _p, answer: answer
    assert alice.move(game, notation).seq == 5
    assert entries(service, game, "move") == [text]


def test_an_answer_that_is_not_understood_leaves_the_entry_waiting(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    notation = alice.position(game).legal[0]
    for body in (b"", b"{}", b"[]", b'{"lines": [{"entry": 1}]}', b'{"lines": 3}', b"\xff", b"[" * 100000):
        service.tamper = lambda method, _, answer, body=body: answer._replace(body=body) if method == "POST" else answer  # type: ignore[misc] # a default fixes this turn's body
        with pytest.raises(ServiceError):
            alice.move(game, notation)
        assert _outbox(alice.folder(game))
    service.tamper = lambda _m, _p, answer: answer
    alice.move(game, notation)
    assert len(entries(service, game, "move")) == 1


def test_an_interrupted_reveal_is_sent_by_the_next_command(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = alice.client.new(Hanamikoji()).course.setup.game
    bob.join(game)
    _break_post(service, "before")
    with pytest.raises(NetworkError):
        alice.position(game)
    text = _outbox(alice.folder(game))
    assert '"kind":"seed"' in text
    service.before = quiet
    assert [each["to_move"] for each in alice.client.waiting()] == ["alice"]
    assert text in entries(service, game, "seed")
    play_on((alice, bob), game, 2)


@pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()], ids=lambda ruleset: ruleset.name)
def test_a_service_that_is_gone_once_it_has_taken_a_move(
    ruleset: Ruleset, alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    """The command succeeds, at once or when it is given again: each move is made once, and is the one asked for."""
    game = begin(alice, bob, ruleset)
    taken, broken, chance = 0, 0, random.Random(7)

    def gone(method: str, path: str) -> None:
        if method == "GET" and len(entries(service, game, "move")) > taken:
            raise NetworkError(URL, "it is gone")

    while not service.games[game].refereed.course.finished:
        player = next(each for each in (alice, bob) if each.position(game).legal)
        taken = len(entries(service, game, "move"))
        notation = chance.choice(player.position(game).legal)
        service.before = gone
        try:
            made = player.move(game, notation)
        except NetworkError:
            broken += 1
            service.before = quiet
            made = player.move(game, notation)
        service.before = quiet
        assert len(entries(service, game, "move")) == taken + 1
        assert service.games[game].lines[made.seq].entry.text == entries(service, game, "move")[-1]
    assert broken


def _outbox(folder: Path) -> str:
    submission = Vault(folder).outbox()
    return submission.entry.text if submission else ""


def _break_post(service: MemoryService, when: str) -> None:
    def broken(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/entries"):
            raise NetworkError(URL, "it broke")

    setattr(service, when, broken)


# --- by link ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_new_that_broke_off_gives_the_same_link_again(when: str, tmp_path: Path) -> None:
    service = MemoryService()
    alice = registered(service, "alice", tmp_path / "alice")

    def lost(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/entries"):
            raise NetworkError(URL, "lost")

    setattr(service, when, lost)
    with pytest.raises(NetworkError):
        alice.client.new(Hanamikoji(), by_link=True)
    (game,) = service.games
    first = own_link(alice.client, game)
    assert first is not None
    setattr(service, when, lambda _method, _path: None)
    position = alice.client.new(Hanamikoji(), by_link=True)
    assert position.course.setup.game == game
    assert position.course.setup.link == link_key(first.code).public
    assert own_link(alice.client, game) == first
    assert list(service.games) == [game]
    another = alice.client.new(Hanamikoji(), by_link=True).course.setup
    other = own_link(alice.client, another.game)
    assert other is not None
    assert other.code != first.code
