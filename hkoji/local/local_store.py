"""The local service's files, under one folder: its key, its players, and the secrets and the log of each game.

A receipt means that the move is on disk: secrets are written before the log, the log before the answer, each file
atomically and synced. So a crash leaves a game as it was before an entry or after it. A folder without a log was never
acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from hkoji import referee
from hkoji.client.files import locked, read_json, write_file, write_json
from hkoji.errors import HkojiError, StorageError
from hkoji.game.commitments import parse_opening
from hkoji.log.line import Line, format_log, parse_log
from hkoji.log.private_key import PrivateKey
from hkoji.messages.text import tell
from hkoji.referee import RefereedGame


class LocalGameFiles(NamedTuple):
    """A stored game: the referee's state, and the lines of its log, receipts included."""

    refereed: RefereedGame
    lines: tuple[Line, ...]


class LocalStore(Protocol):
    """The store of a local service. Everything but `locked` must be called with the store locked."""

    def locked(self) -> AbstractContextManager[None]:
        """Keeps all others from reading or changing the store while the block runs."""

    def key(self, entropy: Callable[[int], bytes]) -> PrivateKey:
        """Returns the service's key, which is made from random bytes if there is none."""

    def players(self) -> dict[str, str]:
        """Returns the players' keys by name."""

    def add_player(self, name: str, key: str) -> None:
        """Adds a player."""

    def games(self) -> tuple[str, ...]:
        """Returns the stored games."""

    def load(self, game: str) -> LocalGameFiles | None:
        """Returns a game; None if there is none with that id. Raises `StorageError` if it is damaged."""

    def keep(self, game: str, kept: LocalGameFiles) -> None:
        """Keeps a game as it stands now, durably."""


class FolderLocalStore:
    """A store in files under `folder`, for its owner only. Several processes may use one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self._key: PrivateKey | None = None
        self._read: dict[str, tuple[tuple[int, int, int], LocalGameFiles]] = {}

    def locked(self) -> AbstractContextManager[None]:
        """Lets in one request at a time, from any process."""
        return locked(self.folder)

    def key(self, entropy: Callable[[int], bytes]) -> PrivateKey:
        """Returns the service's key, which is made from random bytes if there is none."""
        if self._key is None:
            file = self.folder / "id_ed25519"
            if not file.exists():
                write_file(file, PrivateKey.from_seed(entropy(32)).to_openssh())
            self._key = PrivateKey.from_openssh(file.read_bytes())
        return self._key

    def players(self) -> dict[str, str]:
        """Returns the players' keys by name."""
        return dict(read_json(self.folder / "players.json"))

    def add_player(self, name: str, key: str) -> None:
        """Adds a player."""
        write_json(self.folder / "players.json", {**self.players(), name: key})

    def games(self) -> tuple[str, ...]:
        """Returns the stored games."""
        return tuple(sorted(log.parent.name for log in self.folder.glob("games/*/log.jsonl")))

    def log_file(self, game: str) -> Path:
        """Returns the file of a game's public log."""
        return self.folder / "games" / game / "log.jsonl"

    def load(self, game: str) -> LocalGameFiles | None:
        """Returns a game; None if there is none with that id."""
        file = self.log_file(game)
        try:
            status = file.stat()
        except FileNotFoundError:
            return None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)  # files are replaced, never written over
        held = self._read.get(game)
        if held is None or held[0] != stamp:
            held = self._read[game] = (stamp, self._load(game, file))
        return held[1]

    def _load(self, game: str, file: Path) -> LocalGameFiles:
        secrets = read_json(self._secrets(game))
        try:
            lines = parse_log(file.read_bytes())
            last = lines[-1].entry.seq
            # Openings are written before their entry: a crash in between leaves openings without an entry.
            openings = (parse_opening(value) for value in secrets["openings"])
            refereed = referee.resume(lines, secrets["seed"], tuple(each for each in openings if each.seq <= last))
        except (OSError, HkojiError, KeyError, TypeError, IndexError) as error:
            raise unreadable(file, error) from error
        return LocalGameFiles(refereed, lines)

    def keep(self, game: str, kept: LocalGameFiles) -> None:
        """Keeps a game as it stands now, durably: first its secrets, then the log, which makes the entry valid."""
        secrets: dict[str, Any] = {  # Any: JSON
            "openings": [opening.to_json() for opening in kept.refereed.openings],
            "seed": kept.refereed.seed,
        }
        if read_json(self._secrets(game)) != secrets:
            write_json(self._secrets(game), secrets)
        write_file(self.log_file(game), format_log(kept.lines).encode())
        self._read.pop(game, None)

    def _secrets(self, game: str) -> Path:
        return self.folder / "games" / game / "secrets.json"


def unreadable(file: Path, error: Exception) -> StorageError:
    """Returns the error for a game's file that cannot be read."""
    return StorageError(
        tell("{file} cannot be read: {reason}", file=file, reason=getattr(error, "message", str(error))),
        hint=tell("restore it from a backup, or begin another game with `hkoji play --new`"),
    )
