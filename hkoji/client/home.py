"""The folder of one player: identity, settings, pins, and a folder for each game.

`HKOJI_HOME`, or the platform's folder for user data. Files are readable by their owner only and written whole: a new
file is synced and renamed over the old one, so a crash leaves the one or the other. Two folders are two players.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hkoji.errors import LoginError, StorageError

ENVIRONMENT: Final = "HKOJI_HOME"


def default_home() -> Path:
    """`HKOJI_HOME`, else the platform's folder for user data."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given).expanduser()
    from platformdirs import user_data_path

    return user_data_path("hkoji", appauthor=False)


def make_folder(path: Path) -> None:
    """Makes a folder and those above it that are missing, for their owner only. Raises `OSError`."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def write_file(path: Path, data: bytes) -> None:
    """Writes a file whole and durably, for its owner only. Raises `StorageError`; then the old file stands."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        make_folder(path.parent)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(f"cannot write {path}: {error.strerror}", hint="nothing was sent or changed") from error


def write_json(path: Path, value: Mapping[str, Any]) -> None:  # Any: JSON
    """`write_file` for an object."""
    write_file(path, (json.dumps(value, indent=1, sort_keys=True) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:  # Any: JSON
    """The object in a file; an empty one if there is no file. Raises `StorageError` if it cannot be read."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read {path}: {error}", hint="restore the file from a backup") from error
    if not isinstance(value, dict):
        raise StorageError(f"{path} does not hold what it should", hint="restore the file from a backup")
    return value


class Home:
    """The files of one player under `path`. Reading needs no file to be there."""

    def __init__(self, path: Path | None = None) -> None:
        self.path: Final = path or default_home()

    @property
    def config_file(self) -> Path:
        """Name, key and server."""
        return self.path / "config.json"

    @property
    def key_file(self) -> Path:
        """The private key that `init` makes."""
        return self.path / "id_ed25519"

    def config(self) -> dict[str, Any]:  # Any: JSON
        """The settings. Raises `LoginError` before `hkoji init`."""
        config = read_json(self.config_file)
        if "name" not in config:
            raise LoginError(f"there is no player in {self.path}", hint="make one with `hkoji init NAME`")
        return config

    def update_config(self, **changes: str) -> None:
        """Keeps further settings."""
        write_json(self.config_file, {**read_json(self.config_file), **changes})

    def pins(self) -> dict[str, Any]:  # Any: JSON
        """Keys seen first, by server: `{url: {"key": …, "players": {name: key}}}`."""
        return read_json(self.path / "pins.json")

    def set_pins(self, pins: Mapping[str, Any]) -> None:  # Any: JSON
        """Keeps pins."""
        write_json(self.path / "pins.json", pins)

    def token(self, server: str) -> str | None:
        """The login token for a server, if one is kept."""
        token = read_json(self.path / "tokens.json").get(server)
        return token if isinstance(token, str) else None

    def set_token(self, server: str, token: str) -> None:
        """Keeps a login token."""
        path = self.path / "tokens.json"
        write_json(path, {**read_json(path), server: token})

    def game_folder(self, game: str) -> Path:
        """The folder of one game."""
        return self.path / "games" / game

    def games(self) -> tuple[str, ...]:
        """The games that have a folder."""
        folder = self.path / "games"
        return tuple(sorted(each.name for each in folder.iterdir())) if folder.is_dir() else ()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One command at a time changes this folder."""
        try:
            make_folder(self.path)
            handle = os.open(self.path / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageError(f"cannot use {self.path}: {error.strerror}", hint="set HKOJI_HOME") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
