"""The folder of one player: identity, settings, login tokens, and a folder for each game.

The folder is `HKOJI_HOME`, or the platform's folder for user data. It belongs to one player; another player on the same
machine needs another folder.
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
MAIL_WISHES: Final = "mail"
"""The key of the settings with what `own_mailbox` keeps there, by the URL of the service."""


def default_home() -> Path:
    """Returns `HKOJI_HOME`, or else the platform's folder for user data."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("hkoji", appauthor=False)


class Home:
    """The files of one player under `path`. A file that does not exist reads as empty."""

    def __init__(self, path: Path | None = None) -> None:
        self.path: Final = path or default_home()
        self._tokens: Final = self.path / "tokens.json"
        self._new: Final = self.path / "new.json"

    @property
    def config_file(self) -> Path:
        """The file with the name, key and server."""
        return self.path / "config.json"

    @property
    def key_file(self) -> Path:
        """The file of the private key that `init` makes."""
        return self.path / "id_ed25519"

    def config(self) -> dict[str, Any]:  # Any: JSON
        """Returns the content of `config_file`. Raises `LoginError` before `hkoji init`."""
        config = read_json(self.config_file)
        if "name" not in config:
            raise LoginError(
                tell("there is no player in {path}", path=self.path), hint=tell("make one with `hkoji init NAME`")
            )
        return config

    def update_config(self, **changes: Any) -> None:  # Any: JSON
        """Changes these values of `config_file`, and keeps all others."""
        with locked(self.path):
            write_json(self.config_file, {**read_json(self.config_file), **changes})

    def token(self, server: str) -> str | None:
        """Returns the login token for a server; None if there is none."""
        with intact(self._tokens):
            return text_or_none(read_json(self._tokens).get(server))

    def set_token(self, server: str, token: str) -> None:
        """Keeps a login token."""
        with locked(self.path):
            write_json(self._tokens, {**read_json(self._tokens), server: token})

    def spare_key_file(self) -> Path:
        """Returns the path of a new file for another private key."""
        number = 2
        while (file := self.path / f"{self.key_file.name}-{number}").exists():
            number += 1
        return file

    def started(self) -> dict[str, Any]:  # Any: JSON
        """Returns the game that `new` has asked for but not yet opened; empty if there is none."""
        started = read_json(self._new)
        if not is_hex(started.get("game", "0" * 32), 32):  # the game's folder is named after it
            raise damaged(self._new)
        return started

    def set_started(self, started: dict[str, Any]) -> None:  # Any: JSON
        """Keeps what `started` returns."""
        write_json(self._new, started)

    def game_folder(self, game: str) -> Path:
        """Returns the folder of one game."""
        return self.path / "games" / game

    def games(self) -> tuple[str, ...]:
        """Returns the games whose logs are kept here."""
        return tuple(sorted(log.parent.name for log in self.path.glob("games/*/log.jsonl")))
