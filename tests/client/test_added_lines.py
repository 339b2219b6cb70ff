"""Files of lines are added to: at a cost that does not grow, durably, and without harm from a torn last line."""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hkoji.client import Home
from hkoji.client.identity import create
from hkoji.client.kept.evidence import KeptEvidence
from hkoji.client.kept.files import append_lines, whole_lines
from hkoji.client.kept.game import Vault
from hkoji.errors import NetworkError, StorageError
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.memory_service import URL, LocalPlayer, MemoryService, begin, play_on, registered


def test_lines_are_added_for_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "file"
    append_lines(path, b"one\n")
    append_lines(path, b"two\nthree\n")
    assert path.read_bytes() == b"one\ntwo\nthree\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "torn",
    [b"tor", b"\0\0\0", b"x" * 200_000, b"tor\0\0", b"\0" * 70_000],
    ids=["cut", "zeros", "long", "both", "many"],
)
@pytest.mark.parametrize("before", [b"", b"one\n", b"one\ntwo\n"])
def test_a_torn_last_line_is_left_out_and_replaced(tmp_path: Path, before: bytes, torn: bytes) -> None:
    """A crash amid a write leaves part of it; a power failure may leave zeros."""
    path = tmp_path / "file"
    path.write_bytes(before + torn)
    assert whole_lines(path.read_bytes()) == before
    assert append_lines(path, b"new\n")
    assert path.read_bytes() == before + b"new\n"
    assert not append_lines(path, b"more\n")


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_an_addition_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "file"
    append_lines(path, b"one\n")
    real = getattr(os, call)
    calls = [0]

    def full(handle: int, *data: bytes) -> int:
        calls[0] += 1
        if data and calls[0] == 1:
            return int(real(handle, data[0][:3]))  # a part is written before the disk is full
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(f"hkoji.client.kept.files.os.{call}", full)
    with pytest.raises(StorageError, match="No space left") as failed:
        append_lines(path, b"two\nthree\n")
    assert "nothing was sent" in failed.value.hint
    monkeypatch.undo()
    assert path.read_bytes() == b"one\n"


def test_a_torn_line_of_the_log_is_fetched_again(alice: LocalPlayer, bob: LocalPlayer) -> None:
    """The whole lines stay; the rest is verified and kept again. A reader without a lock does not see the part."""
    game = begin(alice, bob)
    play_on((alice, bob), game, 2)
    alice.position(game)
    path = alice.folder(game) / "log.jsonl"
    whole = path.read_bytes()
    starts = [number + 1 for number, byte in enumerate(whole) if byte == ord("\n")]
    alice.said.clear()
    for cut in (starts[-2] + 1, starts[-2] + 200, len(whole) - 1, starts[-3] + 7):
        path.write_bytes(whole[:cut])
        kept = sum(start <= cut for start in starts)
        assert len(alice.client.kept(game)) == kept
        assert alice.client.stored(game).course.seq == kept - 1
        assert alice.said == []
        assert alice.position(game).course.seq == len(starts) - 1
        assert path.read_bytes() == whole
        (warning,) = alice.said
        assert f"game {game[:8]} ended in an incomplete line" in warning
        alice.said.clear()
        assert alice.position(game).course.seq == len(starts) - 1
        assert alice.said == []


def test_a_torn_submission_was_never_sent(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    notation = alice.position(game).legal[0]

    def cut(method: str, path: str) -> None:
        if path.endswith("/entries"):
            raise NetworkError(URL, "it broke")

    service.before = cut
    with pytest.raises(NetworkError):
        alice.move(game, notation)
    service.before = lambda _method, _path: None
    path = alice.folder(game) / "outbox.signed"
    whole = path.read_bytes()
    assert Vault(path.parent).outbox() is not None
    path.write_bytes(whole[:-1])
    assert Vault(path.parent).outbox() is None
    assert alice.move(game, alice.position(game).legal[-1]).seq == 5
    assert Vault(path.parent).outbox() is None


# --- cost -------------------------------------------------------------------------------------------------------------


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Counts the bytes that are written to files of lines, by name, and the syncs."""
    counts: Counter[str] = Counter()
    patch = pytest.MonkeyPatch()
    real = {name: getattr(os, name) for name in ("write", "fsync", "fdatasync")}

    def count(name: str) -> Callable[..., object]:
        def call(handle: int, *data: bytes) -> object:
            path = os.readlink(f"/proc/self/fd/{handle}")
            if data:
                counts[Path(path).name] += len(data[0])
            else:
                counts["syncs"] += 1
                counts[f"{name} {'folder' if os.path.isdir(path) else Path(path).name}"] += 1
            return real[name](handle, *data)

        return call

    for name in real:
        patch.setattr(os, name, count(name))
    try:
        yield counts
    finally:
        patch.undo()


def test_an_entry_costs_what_it_is_long(alice: LocalPlayer, bob: LocalPlayer) -> None:
    """However long the log is, each entry is written once, and nothing else with it."""
    game = begin(alice, bob)
    written = []
    path = alice.folder(game) / "log.jsonl"
    for _ in range(20):
        before = len(path.read_bytes())
        with counted() as counts:
            play_on((alice, alice), game, 1)
            play_on((bob, bob), game, 1)
        written.append((counts["log.jsonl"], len(path.read_bytes()) - before, before))
    added = [own for _, own, _ in written]
    assert sum(added) > 20_000
    # Both players keep the log, and each line once.
    assert sum(both for both, _, _ in written) < 2 * sum(added) + 20_000
    assert written[-1][2] > 10 * added[-1]


@pytest.mark.parametrize("action", ["1", "2", "3", "4"])
def test_the_syncs_of_a_move(alice: LocalPlayer, bob: LocalPlayer, action: str) -> None:
    """One before the entry is sent, one for the line with its receipt, and no others."""
    game = begin(alice, bob)
    client = alice.client
    with client.game(game) as held:
        notation = next(each for each in held.current().legal if each[0] == action)
        with counted() as first:
            held.move(notation)
    assert first["fdatasync outbox.signed"] == 1
    assert first["fdatasync log.jsonl"] == 1
    assert first["syncs"] == 2


def test_no_move_of_a_game_needs_more_than_three_syncs(alice: LocalPlayer, bob: LocalPlayer) -> None:
    """A move after which the player is to move again brings a view with new cards, which is synced too."""
    clients = [alice.client, bob.client]
    found = []
    for ruleset in (Hanamikoji(), GeishasRoad()):
        game = begin(alice, bob, ruleset)
        for number in range(20):
            for client in clients:
                with client.game(game) as held:
                    position = held.current()
                    if not position.legal:
                        continue
                    with counted() as counts:
                        held.move(position.legal[number % len(position.legal)])
                    found.append(counts["syncs"])
    assert len(found) > 20
    assert max(found) <= 3
    assert sum(found) < 2.6 * len(found)


def test_a_look_without_news_needs_none(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    alice.position(game)
    with counted() as counts:
        alice.position(game)
    assert counts["syncs"] == 0


# --- what is not synced may be lost -----------------------------------------------------------------------------------


def test_the_note_of_a_receipt_may_be_lost(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    """The same bytes are sent again, and get the same receipt."""
    game = begin(alice, bob)
    notation = alice.position(game).legal[0]
    made = alice.move(game, notation)
    path = alice.folder(game) / "outbox.signed"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    assert Vault(path.parent).outbox() is not None
    log = path.with_name("log.jsonl").read_bytes()
    assert alice.position(game).course.seq == made.seq
    assert service.games[game].receipts == 5
    assert path.with_name("log.jsonl").read_bytes() == log
    assert Vault(path.parent).outbox() is None


@pytest.mark.parametrize("content", [None, b"", b"\0" * 300])
def test_the_latest_view_may_be_lost(alice: LocalPlayer, bob: LocalPlayer, content: bytes | None) -> None:
    game = begin(alice, bob)
    play_on((alice, bob), game, 3)
    before = alice.position(game)
    path = alice.folder(game) / "view.json"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert alice.client.stored(game) == before
    assert alice.position(game).hand == before.hand


def test_the_latest_view_may_be_an_old_one(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    alice.position(game)
    path = alice.folder(game) / "view.json"
    old = path.read_bytes()
    play_on((alice, bob), game, 3)
    before = alice.position(game)
    path.write_bytes(old)
    assert alice.client.stored(game).hand == before.hand


def test_a_view_for_which_there_is_no_other_room_is_synced(
    alice: LocalPlayer, bob: LocalPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hkoji.client.kept import evidence

    game = begin(alice, bob)
    alice.position(game)
    monkeypatch.setattr(evidence, "VIEWS", evidence.VIEWS._replace(lines=1))
    with counted() as counts:
        play_on((alice, bob), game, 3)
    assert any(name.startswith("fsync .view.json") for name in counts)
    assert KeptEvidence(alice.folder(game)).last_view() != Vault(alice.folder(game)).view()


# --- catching up ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", [Hanamikoji(), GeishasRoad()], ids=["hanamikoji", "geishas-road"])
@pytest.mark.parametrize("moves", [16, 400], ids=["round", "game"])
def test_a_home_heals_wherever_its_log_was_torn(
    service: MemoryService, tmp_path: Path, ruleset: Ruleset, moves: int
) -> None:
    alice, key = registered(service, "alice", tmp_path / "alice"), service.random.randbytes(32)
    bobs = []
    for number in range(2):
        bob = LocalPlayer(service, "bob", tmp_path / f"bob{number}")
        create(Home(bob.path), "bob", None, key)
        bob.client.register(URL)
        bobs.append(bob)
    game = begin(alice, bobs[0], ruleset)
    bobs[1].position(game)
    chance = random.Random(moves)
    for _ in range(moves):
        mover = next((each for each in (alice, bobs[0]) if each.position(game).legal), None)
        if mover is None:
            break
        mover.move(game, chance.choice(mover.position(game).legal))
    whole = bobs[1].position(game)
    log = bobs[1].folder(game) / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    copy = tmp_path / "copy"
    for kept in range(6, len(lines), max(1, len(lines) // 12)):
        shutil.copytree(bobs[1].path, copy)
        torn = LocalPlayer(service, "bob", copy)
        (torn.folder(game) / "log.jsonl").write_bytes(b"".join(lines[:kept]) + lines[kept][:40])
        healed = torn.position(game)
        assert (healed.hand, healed.events, healed.legal) == (whole.hand, whole.events, whole.legal), kept
        shutil.rmtree(copy)
