"""Files are written completely or not at all, for their owner alone, one command at a time."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hkoji.cli.files import write_result
from hkoji.client.identity import load
from hkoji.client.kept.files import locked, make_folder, read_json, remove_file, write_file, write_json
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home, Pins, default_home
from hkoji.drafts import new_part
from hkoji.errors import StorageError
from hkoji.log.private_key import PrivateKey
from tests.support.memory_service import LocalPlayer, begin


def test_a_file_is_written_whole_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    old = os.umask(0)
    try:
        write_file(path, b"one")
        write_file(path, b"two")
    finally:
        os.umask(old)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_a_file_never_takes_the_place_of_a_device_or_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(StorageError, match="not a regular file"):
        write_file(path, b"new")
    assert path.is_fifo()


@pytest.mark.parametrize("step", ["fsync", "open"])
def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    path = tmp_path / "file"
    write_file(path, b"old")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"hkoji.client.kept.files.os.{step}", full)
    with pytest.raises(StorageError, match="No space left") as failed:
        write_file(path, b"new")
    assert "nothing was sent" in failed.value.hint
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_everything_is_synced_before_it_is_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(handle: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_sync(handle)

    def replace(self: Path, target: Path) -> Path:
        steps.append("rename")
        return real_replace(self, target)

    monkeypatch.setattr("hkoji.client.kept.files.os.fsync", sync)
    monkeypatch.setattr(Path, "replace", replace)
    write_file(tmp_path / "file", b"1")
    assert steps == ["file", "rename", "folder"]
    steps.clear()
    remove_file(tmp_path / "file")
    remove_file(tmp_path / "file")
    assert steps == ["folder"]
    steps.clear()
    make_folder(tmp_path / "x" / "y")
    assert steps == ["folder", "folder"]


def test_damaged_json_is_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert read_json(path) == {}
    write_json(path, {"a": 1})
    assert read_json(path) == {"a": 1}
    for text in ("", "{", "[]", "\x00"):
        path.write_text(text)
        with pytest.raises(StorageError, match="file"):
            read_json(path)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    program = (
        "import sys;from pathlib import Path;from hkoji.client.kept.files import locked\n"
        "with locked(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read(); print('out', flush=True)"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], **pipes) as other:  # type: ignore[call-overload] # by name
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        came_in = threading.Event()

        def wait() -> None:
            with locked(tmp_path):
                came_in.set()

        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        assert not came_in.wait(0.3)
        other.stdin.close()
        assert other.stdout.readline() == "out\n"
        assert came_in.wait(300)
        waiting.join(300)


def test_concurrent_settings_are_all_kept(tmp_path: Path) -> None:
    program = (
        "import sys;from pathlib import Path;from hkoji.client.kept.home import Home\n"
        "for n in range(20): Home(Path(sys.argv[1])).update_config(**{f'{sys.argv[2]}{n}': 'x'})"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path), name]) for name in "abc"]
    assert [process.wait(300) for process in running] == [0, 0, 0]
    config = read_json(tmp_path / "config.json")
    assert len(config) == 60


def test_the_home_is_where_it_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_HOME", str(tmp_path / "here"))
    assert default_home() == tmp_path / "here"
    monkeypatch.setenv("HKOJI_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_home().name == "hkoji"
    assert tmp_path in default_home().parents


def test_a_damaged_log_is_not_overwritten(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    path = alice.folder(game) / "log.jsonl"
    whole = path.read_bytes()
    for broken in (whole[:-1].replace(b'"seq', b'"sex', 1), b"\n" + whole, whole[len(whole) // 2 :]):
        path.write_bytes(broken)
        with pytest.raises(StorageError) as damaged:
            alice.position(game)
        assert "away" in damaged.value.hint
        assert path.read_bytes() == broken
    path.write_bytes(whole)
    assert alice.position(game).course.seq == 4


def test_files_that_do_not_go_together_are_said_to_be_so(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    alice.position(game)
    view, earlier = alice.folder(game) / "view.json", alice.folder(game) / "views.signed"
    whole = view.read_text()
    view.unlink()
    earlier.unlink()
    assert alice.position(game).hand  # what is missing is fetched
    assert view.read_text() == whole
    hand = json.loads(json.loads(whole)["text"])["dealt"][0]["cards"]
    view.write_text(whole.replace(hand, "X" * len(hand)))
    with pytest.raises(StorageError, match="contradict each other") as damaged:
        alice.position(game)
    assert "fetched and verified again" in damaged.value.hint
    (alice.folder(game) / "log.jsonl").unlink()
    view.unlink()
    assert alice.position(game).course.seq == 4


def test_the_vault_forgets_no_entropy_and_no_opening(tmp_path: Path) -> None:
    from hkoji.game.commitments import Opening, entropy_commit

    vault = Vault(tmp_path / ("a" * 32))
    one, two = "1" * 64, "2" * 64
    vault.begin("http://a", one)
    vault.begin("http://b", two)
    for entropy in (one, two):
        assert vault.entropy(1, entropy_commit("a" * 32, 1, entropy)) == entropy
        assert vault.entropy(0, entropy_commit("a" * 32, 1, entropy)) is None
    assert vault.entropy(0, None) is None
    first, second = Opening(5, 0, "A", "3" * 64), Opening(5, 0, "B", "4" * 64)
    vault.keep_openings([first])
    vault.keep_openings([second, first])
    assert vault.openings() == (first, second)
    stamp = vault.stamp()
    vault.keep_openings([first])
    vault.begin("http://b")
    assert vault.server == "http://a"
    assert vault.stamp() == stamp
    vault.keep_openings([Opening(6, 0, "C", "5" * 64)])
    assert vault.stamp() != stamp
    assert Vault(vault.folder).openings() == vault.openings()


def test_a_home_without_anything_has_no_games(tmp_path: Path) -> None:
    assert Home(tmp_path / "none").games() == ()
    assert not (tmp_path / "none").exists()


KEY = PrivateKey.from_seed(b"a" * 32).public
GAME = "27" * 16


def _pins(home: Home) -> Pins:
    return Pins(home, "http://here", lambda _: None)


@pytest.mark.parametrize(
    ("name", "content", "use"),
    [
        ("pins.json", {"http://here": {"key": 5}}, lambda home: _pins(home).pin_server(KEY)),
        ("pins.json", {"http://here": {"key": "ssh-rsa"}}, lambda home: _pins(home).pin_server(KEY)),
        ("pins.json", {"http://here": []}, lambda home: _pins(home).pin_server(KEY)),
        ("pins.json", {"http://here": 5}, lambda home: _pins(home).server_key),
        ("pins.json", {"http://here": {"origin": ["x"]}}, lambda home: _pins(home).origin),
        ("pins.json", {"http://there": 5}, lambda home: _pins(home).verify_origin("http://x", KEY)),
        ("pins.json", {"http://here": {"players": ["bob"]}}, lambda home: _pins(home).pin_player("bob", KEY)),
        ("pins.json", {"http://here": {"players": {"bob": 5}}}, lambda home: _pins(home).pin_player("bob", KEY)),
        ("tokens.json", {"http://here": 5}, lambda home: home.token("http://here")),
        ("new.json", {"game": "../../elsewhere"}, lambda home: home.started()),
        ("new.json", {"game": 5}, lambda home: home.started()),
        ("config.json", {"name": 5, "key": KEY.text, "key_file": "k"}, load),
        ("config.json", {"name": "../x", "key": KEY.text, "key_file": "k"}, load),
        (f"games/{GAME}/secrets.json", {"server": 5}, lambda home: _vault(home).server),
        (f"games/{GAME}/secrets.json", {"entropy": 5}, lambda home: _vault(home).entropy(0, "")),
        (f"games/{GAME}/secrets.json", {"entropy": [5]}, lambda home: _vault(home).entropy(0, "")),
        (f"games/{GAME}/secrets.json", {"openings": 5}, lambda home: _vault(home).openings()),
        (f"games/{GAME}/secrets.json", {"openings": [{}]}, lambda home: _vault(home).openings()),
        (f"games/{GAME}/secrets.json", {"signed": []}, lambda home: _vault(home).signed(3)),
        (f"games/{GAME}/secrets.json", {"signed": {"3": 5}}, lambda home: _vault(home).signed(3)),
        (f"games/{GAME}/view.json", {"text": 5}, lambda home: _vault(home).view()),
        (f"games/{GAME}/view.json", {"text": "{}"}, lambda home: _vault(home).view()),
    ],
)
def test_a_file_with_other_content_than_was_written(
    tmp_path: Path, name: str, content: object, use: Callable[[Home], object]
) -> None:
    """An existing file never counts as missing: if a key cannot be read, the next one must not count as the first."""
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))
    with pytest.raises(StorageError) as error:
        use(Home(tmp_path))
    assert str(file.name) in str(error.value)
    assert "backup" in error.value.hint
    assert json.loads(file.read_text()) == content


def test_a_file_that_is_nested_too_deep_to_be_read(tmp_path: Path) -> None:
    (tmp_path / "pins.json").write_bytes(b"[" * 100_000)
    with pytest.raises(StorageError, match="cannot read"):
        _pins(Home(tmp_path)).pin_server(KEY)


def _vault(home: Home) -> Vault:
    return Vault(home.game_folder(GAME))


def test_a_home_that_cannot_be_written_is_not_exchanged_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder would be another player."""

    def read_only(*_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("hkoji.client.kept.files._open_lock", read_only)
    with pytest.raises(StorageError, match="Read-only") as refused, locked(tmp_path):
        pass
    assert "HKOJI_HOME" not in refused.value.hint
    assert "permissions" in refused.value.hint


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_the_draft_of_a_killed_process_is_removed(tmp_path: Path, gone: int) -> None:
    """But not what another process still writes, nor other files that happen to be called like that."""
    path = tmp_path / "talk.json"
    kept = [f".talk.json.{os.getppid()}", f".other.json.{gone}", ".talk.json.old", f"talk.json.{gone}", ".talk.json.0"]
    for name in (f".talk.json.{gone}", *kept):
        (tmp_path / name).write_text("part")
    write_file(path, b"new")
    assert {each.name for each in tmp_path.iterdir()} == {"talk.json", *kept}
    assert path.read_bytes() == b"new"


def test_a_result_takes_no_file_of_the_users_for_a_draft(tmp_path: Path, gone: int) -> None:
    """A result is written into any folder, where `.notes.1999` may be somebody's notes."""
    path = tmp_path / "notes"
    kept = [f".notes.{gone}", f".notes.{gone}.partial", f".notes.{os.getppid()}.part"]
    for name in (f".notes.{gone}.part", *kept):
        (tmp_path / name).write_text("text")
    write_result(str(path), b"new", force=True)
    assert {each.name for each in tmp_path.iterdir()} == {"notes", *kept}
    assert path.read_bytes() == b"new"


def test_parts_of_any_name_are_removed(tmp_path: Path, gone: int) -> None:
    """Each backup has another name."""
    left = [f".yesterday.sqlite3.{gone}.part", f".yesterday.sqlite3.{gone}.part-wal"]
    kept = [f".today.sqlite3.{os.getppid()}.part", f"notes.{gone}.part", "backup.part"]
    for name in (*left, *kept):
        (tmp_path / name).write_text("part")
    assert new_part(tmp_path / "new.sqlite3").name == f".new.sqlite3.{os.getpid()}.part"
    assert {each.name for each in tmp_path.iterdir()} == set(kept)
