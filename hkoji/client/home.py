"""The folder of one player: identity, settings, login tokens, and a folder for each game.

`HKOJI_HOME`, or the platform's folder for user data. Two folders are two players, also on one machine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from hkoji.client.files import damaged, intact, locked, read_json, text_or_none, write_json
from hkoji.errors import LoginError
from hkoji.log.canonical import is_hex
from hkoji.messages.text import tell

ENVIRONMENT: Final = "HKOJI_HOME"


def default_home() -> Path:
    """`HKOJI_HOME`, else the platform's folder for user data."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("hkoji", appauthor=False)


class Home:
    """The files of one player under `path`. Reading needs no file to be there."""

    def __init__(self, path: Path | None = None) -> None:
        self.path: Final = path or default_home()
        self._tokens: Final = self.path / "tokens.json"
        self._new: Final = self.path / "new.json"

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
            raise LoginError(
                tell("there is no player in {path}", path=self.path), hint=tell("make one with `hkoji init NAME`")
            )
        return config

    def update_config(self, **changes: Any) -> None:  # Any: JSON
        """Keeps further settings."""
        with locked(self.path):
            write_json(self.config_file, {**read_json(self.config_file), **changes})

    def token(self, server: str) -> str | None:
        """The login token for a server, if one is kept."""
        with intact(self._tokens):
            return text_or_none(read_json(self._tokens).get(server))

    def set_token(self, server: str, token: str) -> None:
        """Keeps a login token."""
        with locked(self.path):
            write_json(self._tokens, {**read_json(self._tokens), server: token})

    def spare_key_file(self) -> Path:
        """A file for another private key: one that is not there yet."""
        number = 2
        while (file := self.path / f"{self.key_file.name}-{number}").exists():
            number += 1
        return file

    def started(self) -> dict[str, Any]:  # Any: JSON
        """The game that `new` has asked for and not brought to its receipt; empty if there is none."""
        started = read_json(self._new)
        if not is_hex(started.get("game", "0" * 32), 32):  # a folder is named after it
            raise damaged(self._new)
        return started

    def set_started(self, started: dict[str, Any]) -> None:  # Any: JSON
        """Keeps what `started` returns."""
        write_json(self._new, started)

    def game_folder(self, game: str) -> Path:
        """The folder of one game."""
        return self.path / "games" / game

    def games(self) -> tuple[str, ...]:
        """The games of which a log is kept."""
        return tuple(sorted(log.parent.name for log in self.path.glob("games/*/log.jsonl")))
