"""Local games: complete ones, those continued after a crash at any write, and those that somebody else is playing."""

from __future__ import annotations

import json
import os
import random
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.errors import ForbiddenError, HkojiError, NotFoundError, StorageError, UsageError
from hkoji.game.course import Stage
from hkoji.local.local_game import LocalGame
from hkoji.local.local_games import URL, LocalGames, LocalSeats
from hkoji.local.local_service import LocalTransport
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.commands import current, make_move

RULESETS = (Hanamikoji(max_rounds=2), Hanamikoji("random"), GeishasRoad("guest"))
every_ruleset = pytest.mark.parametrize("ruleset", RULESETS, ids=["hanamikoji", "random start", "geishas-road"])


def play(
    local_games: LocalGames, seats: LocalSeats, moves: int, made: list[str] | None = None, seed: int = 1
) -> list[str]:
    """Random moves of the player, with the bot's between. Notes the acknowledged ones in `made`."""
    chance, made = random.Random(seed), [] if made is None else made
    with closing(LocalGame(local_games, seats)) as local_game, local_game.taken():
        for _ in range(moves):
            position = local_game.wait()
            if position.over:
                break
            move = chance.choice(position.legal)
            make_move(local_games.player, seats.game, move)
            made.append(move)
    return made


# --- whole games ------------------------------------------------------------------------------------------------------


@every_ruleset
def test_a_whole_game_by_processes_of_one_move_each(ruleset: Ruleset, tmp_path: Path) -> None:
    seats = LocalGames(tmp_path).begin(ruleset, "random")
    while not LocalGames(tmp_path).is_over(seats.game):
        assert LocalGames(tmp_path).all_seats() == (seats,)
        play(LocalGames(tmp_path), seats, 1)
        LocalGame(LocalGames(tmp_path), seats).wait()
    local_games = LocalGames(tmp_path)
    end = LocalGame(local_games, seats).wait()
    assert end.over
    result = audit(local_games.log_file(seats.game).read_bytes(), local_games.player.pins(URL))
    assert result.ok
    assert result.finished
    assert {party.name for party in result.parties if party.pinned} == {"server", "player", "random-bot"}
    assert result.outcome == end.course.outcome


def test_the_player_sees_nothing_of_the_other_hand(tmp_path: Path) -> None:
    local_games = LocalGames(tmp_path)
    seats = local_games.begin(Hanamikoji(), "random")
    play(local_games, seats, 3)
    position = LocalGame(local_games, seats).wait()
    true = local_games.course(seats.game).state
    assert position.course.state == true.project(0) != true
    assert position.course.state.hands[1] == Hanamikoji.pack.hide(true.hands[1])


def test_each_side_signs_with_a_key_of_its_own(tmp_path: Path) -> None:
    local_games = LocalGames(tmp_path, "anna")
    seats = local_games.begin(Hanamikoji(), "random")
    LocalGame(local_games, seats).wait()
    setup = local_games.course(seats.game).setup
    assert setup.names == ("anna", "random-bot")
    assert len({local_games.store.key(os.urandom).public, *setup.keys}) == 3
    assert set(local_games.store.players()) == {"anna", "random-bot"}


def test_a_player_called_like_a_bot_is_called_otherwise_here(tmp_path: Path) -> None:
    local_games = LocalGames(tmp_path, "random-bot")
    seats = local_games.begin(Hanamikoji(), "random")
    assert LocalGame(local_games, seats).wait().course.setup.names == ("player", "random-bot")


def test_only_the_owner_can_read_what_is_kept(tmp_path: Path) -> None:
    local_games = LocalGames(tmp_path / "local")
    play(local_games, local_games.begin(Hanamikoji(), "random"), 2)
    files = [file for file in (tmp_path / "local").rglob("*") if file.is_file()]
    assert len(files) > 10
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


def test_games_by_their_beginning(tmp_path: Path) -> None:
    local_games = LocalGames(tmp_path)
    first, second = local_games.begin(Hanamikoji(), "random"), local_games.begin(GeishasRoad(), "random")
    assert set(local_games.all_seats()) == {first, second}
    assert local_games.find(first.game[:12].upper()) == first
    for prefix in ("", "x", first.game[:12] + "x"):
        with pytest.raises(NotFoundError):
            local_games.find(prefix)
    assert local_games.course(second.game).setup.ruleset == GeishasRoad()
    with pytest.raises(NotFoundError):
        local_games.course("0" * 32)


def test_a_bot_that_there_is_not_begins_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no bot"):
        LocalGames(tmp_path).begin(Hanamikoji(), "nobody")
    assert LocalGames(tmp_path).all_seats() == ()


# --- crashes ----------------------------------------------------------------------------------------------------------


class Crash(BaseException):
    """The process is gone."""


def crash_at(number: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Ends the process at its `number`-th sync. Returns how many there have been."""
    real, count = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal count
        count += 1
        if count == number:
            raise Crash
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return lambda: count


def test_a_crash_at_any_write_loses_nothing_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write is synced twice: the file before it gets its name, and then its folder. A crash can come at both."""
    with monkeypatch.context() as patched:
        syncs = crash_at(0, patched)
        seats = LocalGames(tmp_path / "whole").begin(Hanamikoji(), "random")
        started = syncs()
        play(LocalGames(tmp_path / "whole"), seats, 2)
        total = syncs()
    assert 20 < started < total
    crashes = 0
    for number in range(1, total, 5):
        folder = tmp_path / str(number)
        begun: list[LocalSeats] = []
        made: list[str] = []
        with monkeypatch.context() as patched, suppress(Crash):
            crash_at(number, patched)
            begun.append(LocalGames(folder).begin(Hanamikoji(), "random"))
            play(LocalGames(folder), begun[0], 2, made)
        crashes += len(made) < 2
        local_games = LocalGames(folder)
        assert set(begun) <= set(local_games.all_seats())
        seats = local_games.all_seats()[0] if local_games.all_seats() else local_games.begin(Hanamikoji(), "random")
        end = LocalGame(local_games, seats).wait()
        own = [event for event in end.events if getattr(event, "seat", None) == 0 and hasattr(event, "action")]
        assert [event.action for event in own][: len(made)] == made
        assert len(own) <= len(made) + 1
        assert play(local_games, seats, 1)
        assert audit(local_games.log_file(seats.game).read_bytes(), local_games.player.pins(URL)).ok
    assert crashes >= 10  # games differ in their writes, so the last numbers may not be reached


def test_openings_of_an_entry_that_never_came_are_forgotten(tmp_path: Path) -> None:
    """Secrets are written before the log: after a crash between the two the same salts must not count as used."""
    local_games = LocalGames(tmp_path)
    seats = local_games.begin(Hanamikoji(), "random")
    secret = next(move for move in LocalGame(local_games, seats).wait().legal if move[0] == "2")
    file = local_games.log_file(seats.game)
    before = file.read_bytes()
    make_move(local_games.player, seats.game, secret)
    assert len(json.loads(file.with_name("secrets.json").read_text())["openings"]) == 1
    file.write_bytes(before)
    kept = LocalGames(tmp_path).store.load(seats.game)
    assert kept is not None
    assert kept.refereed.openings == ()


def test_damaged_files_are_said_to_be_so(tmp_path: Path) -> None:
    local_games = LocalGames(tmp_path)
    seats = local_games.begin(Hanamikoji(), "random")
    play(local_games, seats, 1)
    file = local_games.log_file(seats.game)
    good = file.read_bytes()
    for bad in (b"", b"nonsense\n", good[:-20], good.replace(b"move", b"mvoe")):
        file.write_bytes(bad)
        with pytest.raises(StorageError, match="cannot be read"):
            LocalGames(tmp_path).course(seats.game)
    file.write_bytes(b"")
    with pytest.raises(StorageError, match="cannot be read"):
        LocalGames(tmp_path).is_over(seats.game)
    file.write_bytes(good)
    assert LocalGames(tmp_path).course(seats.game).stage is Stage.PLAY
    (tmp_path / "games" / f"{seats.game}.json").write_text("{}")
    with pytest.raises(StorageError, match="is damaged"):
        LocalGames(tmp_path).all_seats()


def test_a_lost_secret_is_an_error_and_no_endless_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local_games = LocalGames(tmp_path)
    seats = local_games.begin(Hanamikoji(), "random")
    file = tmp_path / "player" / "games" / seats.game / "secrets.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "entropy": []}))
    with monkeypatch.context() as patched:
        patched.setattr("hkoji.client.seats.entropy_of_key", lambda *_: "0" * 64)  # of a signer that signs differently
        with pytest.raises(StorageError, match="cannot continue"):
            LocalGame(LocalGames(tmp_path), seats).wait()
    assert LocalGame(LocalGames(tmp_path), seats).wait().legal


def test_a_full_disk_is_an_error_and_the_game_goes_on_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local_games = LocalGames(tmp_path)
    seats = local_games.begin(Hanamikoji(), "random")
    legal = LocalGame(local_games, seats).wait().legal

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            make_move(local_games.player, seats.game, legal[0])
    assert play(LocalGames(tmp_path), seats, 2)


# --- several at once --------------------------------------------------------------------------------------------------


def test_one_terminal_at_a_time(tmp_path: Path) -> None:
    local_games = LocalGames(tmp_path)
    seats = local_games.begin(Hanamikoji(), "random")
    with LocalGame(local_games, seats).taken():
        with pytest.raises(UsageError, match="another terminal"), LocalGame(LocalGames(tmp_path), seats).taken():
            raise AssertionError
        assert play(LocalGames(tmp_path), LocalGames(tmp_path).begin(Hanamikoji(), "random"), 1)
    with LocalGame(local_games, seats).taken():
        pass


def test_the_service_believes_nobody(tmp_path: Path) -> None:
    """Another player of the same service neither sees a hand nor takes a name."""
    local_games = LocalGames(tmp_path)
    seats = local_games.begin(Hanamikoji(), "random")
    LocalGame(local_games, seats).wait()
    service = local_games._service

    def client(name: str, folder: str, seed: bytes) -> Client:
        create(Home(tmp_path / folder), name, None, seed * 32)
        return Client(Home(tmp_path / folder), connect=lambda url: LocalTransport(url, service))

    eve = client("eve", "eve", b"\x07")
    eve.register(URL)
    position = current(eve, seats.game)
    assert position.seat is None
    assert position.course.state == local_games.course(seats.game).state.project(None)
    with pytest.raises(ForbiddenError):
        eve.service().view(seats.game, -1)
    with pytest.raises(HkojiError, match="exists already"):
        client("player", "impostor", b"\x08").register(URL)
    assert service.answer("GET", f"/v1/games/{seats.game}/view", None, "guessed").status == 401
