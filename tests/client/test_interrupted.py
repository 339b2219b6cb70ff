"""A command that breaks off at any request, before or after it arrived, and is then given again.

Whatever happened, there is one entry, with one receipt, and it is the entry that was signed first.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hkoji.client import files, vault
from hkoji.client.vault import Vault
from hkoji.errors import ConflictError, HkojiError, NetworkError, NotYourTurnError, ServiceError
from hkoji.game.course import Stage
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.desk import URL, Desk, Seat, begin, play_on, seated

WRITE = files.write_file


class KilledError(Exception):
    """The process ends here: nothing of the client runs any more."""


class Breaker:
    """Breaks at step `at`: at a request before or after the service has seen it, or before a file is written."""

    def __init__(self, desk: Desk, at: int, when: str, error: Callable[[], Exception]) -> None:
        self._left = at
        self._error = error
        self.done = False
        self._writes = when == "write"
        if not self._writes:
            setattr(desk, when, self._count)

    def _count(self, method: str, path: str) -> None:
        self._left -= 1
        if self._left == 0:
            self.done = True
            raise self._error()

    def write(self, path: Path, data: bytes) -> None:
        """Stands in for writing a file."""
        if self._writes:
            self._count("", "")
        WRITE(path, data)


def breaks(desk: Desk, prepare: Callable[[], Any], act: Callable[[], Any]) -> Iterator[None]:
    """Every way in which `act` can break off, each on what `prepare` has made anew."""
    for when in ("before", "after", "write"):
        for error in (KilledError, lambda: NetworkError(URL, "it broke")):
            at = 0
            while True:
                at += 1
                prepare()
                breaker = Breaker(desk, at, when, error)
                try:
                    with (
                        patch.object(files, "write_file", breaker.write),
                        patch.object(vault, "write_file", breaker.write),
                    ):
                        act()
                except (KilledError, NetworkError):
                    assert breaker.done
                desk.before = desk.after = _quiet
                if not breaker.done:
                    break
                yield


def entries(desk: Desk, game: str, kind: str) -> list[str]:
    return [line.entry.text for line in desk.games[game].lines if line.entry.kind == kind]


def test_new(alice: Seat, desk: Desk) -> None:
    count = 0
    for _ in breaks(desk, lambda: None, lambda: alice.client.new(Hanamikoji())):
        count += 1
        waiting = {folder.name: text for folder in (alice.path / "games").glob("*/") if (text := _outbox(folder))}
        assert len(waiting) <= 1
        position = alice.client.new(Hanamikoji())
        game = position.course.setup.game
        assert position.course.stage is Stage.JOIN
        assert position.seat == 0
        if waiting:
            assert waiting == {game: entries(desk, game, "open")[0]}
        assert len(entries(desk, game, "open")) == 1
        assert desk.games[game].receipts == 1
        assert not _outbox(alice.folder(game))
        assert alice.client.new(Hanamikoji()).course.setup.game != game  # the next one is another one
    assert count >= 16


def test_join(alice: Seat, bob: Seat, desk: Desk) -> None:
    game = ""

    def prepare() -> None:
        nonlocal game
        game = alice.client.new(Hanamikoji()).course.setup.game

    count = 0
    for _ in breaks(desk, prepare, lambda: bob.join(game)):
        count += 1
        text = _outbox(bob.folder(game))
        position = bob.join(game)
        assert position.seat == 1
        assert desk.games[game].refereed.course.stage is Stage.HOST_SEED
        for kind in ("join", "seed"):
            assert len(entries(desk, game, kind)) == 1
        if text:
            assert text in [line.entry.text for line in desk.games[game].lines]
        assert not _outbox(bob.folder(game))
        assert alice.position(game).course.stage is Stage.PLAY  # and the game goes on
    assert count >= 20


@pytest.mark.parametrize("action", ["1", "2", "3"])
def test_move(alice: Seat, bob: Seat, desk: Desk, action: str) -> None:
    """The same command again gives the same entry, also when the move hides cards under fresh salts."""
    game = notation = ""

    def prepare() -> None:
        nonlocal game, notation
        game = begin(alice, bob)
        notation = next(each for each in alice.position(game).legal if each[0] == action)

    count = 0
    for _ in breaks(desk, prepare, lambda: alice.move(game, notation)):
        count += 1
        text = _outbox(alice.folder(game))
        again = alice.move(game, notation) if text or not entries(desk, game, "move") else None
        assert len(entries(desk, game, "move")) == 1
        if text:
            assert entries(desk, game, "move") == [text]
            assert again is not None
            assert again.position.replay.steps[again.seq].entry.text == text
        assert desk.games[game].receipts == 5  # open, join, seed, seed, move: nothing was taken twice
        bob.move(game, bob.position(game).legal[0])
    assert count >= 10


def test_another_command_delivers_what_waits(alice: Seat, bob: Seat, desk: Desk) -> None:
    game = begin(alice, bob)
    legal = alice.position(game).legal
    _break_post(desk, "after")
    with pytest.raises(NetworkError) as broken:
        alice.move(game, legal[0])
    assert broken.value.reason == "it broke"
    text = _outbox(alice.folder(game))
    desk.after = _quiet
    assert alice.position(game).course.seq == 5
    assert entries(desk, game, "move") == [text]
    with pytest.raises(NotYourTurnError):
        alice.move(game, legal[1])


@pytest.mark.parametrize("when", ["before", "after"])
def test_another_move_instead_is_not_sent(alice: Seat, bob: Seat, desk: Desk, when: str) -> None:
    """What was signed stands; the second move is refused with the news, and neither is lost or doubled."""
    game = begin(alice, bob)
    legal = alice.position(game).legal
    _break_post(desk, when)
    with pytest.raises(NetworkError):
        alice.move(game, legal[0])
    desk.before = desk.after = _quiet
    with pytest.raises(ConflictError) as conflict:
        alice.move(game, legal[-1])
    assert f"your earlier move {legal[0]} has arrived as entry 5" in conflict.value.hint
    assert len(entries(desk, game, "move")) == 1


def test_resigning_twice_is_once(alice: Seat, bob: Seat, desk: Desk) -> None:
    game = begin(alice, bob)
    _break_post(desk, "after")
    with pytest.raises(NetworkError):
        alice.resign(game)
    desk.after = _quiet
    assert alice.resign(game).position.over
    assert len(entries(desk, game, "resign")) == 1


def test_a_refused_entry_is_remembered(alice: Seat, bob: Seat, desk: Desk, tmp_path: Path) -> None:
    """Two want to join: the slower one's entry was signed and exists, and its entropy is kept."""
    carol = seated(desk, "carol", tmp_path / "carol")
    game = alice.client.new(Hanamikoji()).course.setup.game

    def be_faster(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/entries"):
            desk.before = _quiet
            bob.join(game)

    desk.before = be_faster
    with pytest.raises(ConflictError):
        carol.join(game)
    kept = Vault(carol.folder(game))
    assert kept.outbox() is None
    (text,) = kept.signed(2)
    assert '"by":"carol"' in text
    assert carol.position(game).seat is None


def test_after_a_refusal_another_entry_may_be_signed_and_it_is_said(alice: Seat, bob: Seat, desk: Desk) -> None:
    game = begin(alice, bob)
    legal = alice.position(game).legal

    def refuse(method: str, path: str, answer: Any) -> Any:
        if method == "POST" and path.endswith("/entries"):
            return answer._replace(status=422, body=b'{"code": "illegal", "detail": "no"}')
        return answer

    real = desk.games[game]
    kept = (real.refereed, list(real.lines))
    desk.tamper = refuse
    with pytest.raises(HkojiError, match="no"):
        alice.move(game, legal[0])
    desk.tamper = lambda _m, _p, answer: answer
    real.refereed, real.lines = kept  # it was not taken
    alice.said.clear()
    alice.move(game, legal[-1])
    assert any("either of them may become part of the log" in remark for remark in alice.said)


@pytest.mark.parametrize("status", [404, 408, 413, 429, 500, 502, 503, 302])
def test_what_is_no_clear_refusal_leaves_the_entry_waiting(alice: Seat, bob: Seat, desk: Desk, status: int) -> None:
    game = begin(alice, bob)
    notation = alice.position(game).legal[0]

    def trouble(method: str, path: str, answer: Any) -> Any:
        if method == "POST" and path.endswith("/entries"):
            return answer._replace(status=status, body=b"<html>busy</html>")
        return answer

    desk.tamper = trouble
    with pytest.raises(HkojiError):
        alice.move(game, notation)
    text = _outbox(alice.folder(game))
    assert text
    desk.tamper = lambda _m, _p, answer: answer
    assert alice.move(game, notation).seq == 5
    assert entries(desk, game, "move") == [text]


def test_an_answer_that_is_not_understood_leaves_the_entry_waiting(alice: Seat, bob: Seat, desk: Desk) -> None:
    game = begin(alice, bob)
    notation = alice.position(game).legal[0]
    for body in (b"", b"{}", b"[]", b'{"lines": [{"entry": 1}]}', b'{"lines": 3}', b"\xff", b"[" * 100000):
        desk.tamper = lambda method, _p, answer, body=body: answer._replace(body=body) if method == "POST" else answer  # type: ignore[misc] # a default fixes this turn's body
        with pytest.raises(ServiceError):
            alice.move(game, notation)
        assert _outbox(alice.folder(game))
    desk.tamper = lambda _m, _p, answer: answer
    alice.move(game, notation)
    assert len(entries(desk, game, "move")) == 1


def test_an_interrupted_reveal_is_sent_by_the_next_command(alice: Seat, bob: Seat, desk: Desk) -> None:
    game = alice.client.new(Hanamikoji()).course.setup.game
    bob.join(game)
    _break_post(desk, "before")
    with pytest.raises(NetworkError):
        alice.position(game)
    text = _outbox(alice.folder(game))
    assert '"kind":"seed"' in text
    desk.before = _quiet
    assert [each["to_move"] for each in alice.client.waiting()] == ["alice"]
    assert text in entries(desk, game, "seed")
    play_on((alice, bob), game, 2)


@pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()], ids=lambda ruleset: ruleset.name)
def test_a_service_that_is_gone_once_it_has_taken_a_move(ruleset: Ruleset, alice: Seat, bob: Seat, desk: Desk) -> None:
    """The command succeeds, or succeeds when it is given again: each move is made once, and is the one asked for."""
    game = begin(alice, bob, ruleset)
    taken, broken, chance = 0, 0, random.Random(7)

    def gone(method: str, path: str) -> None:
        if method == "GET" and len(entries(desk, game, "move")) > taken:
            raise NetworkError(URL, "it is gone")

    while not desk.games[game].refereed.course.finished:
        player = next(each for each in (alice, bob) if each.position(game).legal)
        taken = len(entries(desk, game, "move"))
        notation = chance.choice(player.position(game).legal)
        desk.before = gone
        try:
            made = player.move(game, notation)
        except NetworkError:
            broken += 1
            desk.before = _quiet
            made = player.move(game, notation)
        desk.before = _quiet
        assert len(entries(desk, game, "move")) == taken + 1
        assert desk.games[game].lines[made.seq].entry.text == entries(desk, game, "move")[-1]
    assert broken


def _quiet(_method: str, _path: str) -> None:
    return


def _outbox(folder: Path) -> str:
    submission = Vault(folder).outbox()
    return submission.entry.text if submission else ""


def _break_post(desk: Desk, when: str) -> None:
    def broken(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/entries"):
            raise NetworkError(URL, "it broke")

    setattr(desk, when, broken)
