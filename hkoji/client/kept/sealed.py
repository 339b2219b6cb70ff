"""The player's sealed keys, and the notes about locks that keep a machine from answering twice.

docs/spec/sealed.md, "How a client makes them". All secrets of sealed games are made from a sealed key. A home can have
several; the first one is for new games.
"""

from __future__ import annotations

from typing import Final

from hkoji.client.kept.files import damaged, intact, locked, read_json, text_or_none, unreadable, write_file, write_json
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home
from hkoji.errors import IllegalError, StorageError
from hkoji.log.canonical import is_hex
from hkoji.messages.text import tell

KEY_BYTES: Final = 32
"""The length of a sealed key."""
_KEY_DIGITS: Final = 2 * KEY_BYTES


class MissingSealedKeyError(StorageError):
    """The sealed key with which a game is played is not in this home."""


class OtherMachineError(IllegalError):
    """A round can only be dealt from the machine that has made its first lock."""


class SealedKeys:
    """The sealed keys of a home, in the file `sealed.key`: one a line, as 64 hex digits."""

    def __init__(self, home: Home) -> None:
        self._home: Final = home
        self.file: Final = home.path / "sealed.key"

    def all(self) -> tuple[bytes, ...]:
        """Returns the keys, 32 bytes each. Raises `StorageError` if the file cannot be read."""
        try:
            lines = self.file.read_text(encoding="ascii").split()
        except FileNotFoundError:
            return ()
        except UnicodeDecodeError as error:
            raise damaged(self.file) from error
        except OSError as error:
            hint = tell("copy it again from a backup, or from your other machine")
            raise unreadable(self.file, error, hint) from error
        if not all(is_hex(line, _KEY_DIGITS) for line in lines):
            raise damaged(self.file)
        return tuple(map(bytes.fromhex, lines))

    def add(self, key: bytes) -> None:
        """Puts a key before all others. It is on disk when this returns."""
        with locked(self._home.path):
            keys = (key, *(each for each in self.all() if each != key))
            write_file(self.file, "".join(f"{each.hex()}\n" for each in keys).encode())


class LockNotes:
    """The first locks of a game that were made on this machine, and the second decks that were answered under them.

    They lie outside the home, in the platform's folder for the state of programs. So a home that is copied to another
    machine has none of them there, and one that is replaced by an old copy keeps them. Locks and decks are named by 64
    hex digits. All changes are on disk when a method returns.
    """

    def __init__(self, game: str) -> None:
        from platformdirs import user_state_path

        # On macOS the folder of `hkoji` is the home, so this one has another name.
        self._folder: Final = user_state_path("hkoji-locks", appauthor=False)
        self._file: Final = self._folder / f"{game}.json"

    def has(self, lock: str) -> bool:
        """Whether a lock was made on this machine, or answered on it."""
        return lock in read_json(self._file)

    def keep(self, lock: str) -> None:
        """Notes a lock that is made now."""
        self._note(lock, None)

    def answer(self, lock: str, deck: str) -> str:
        """Notes that a second deck is answered under a lock, unless one is noted. Returns the one that is noted."""
        answered = self._note(lock, deck)
        assert answered is not None
        return answered

    def _note(self, lock: str, deck: str | None) -> str | None:
        with locked(self._folder), intact(self._file):
            notes = read_json(self._file)
            answered = text_or_none(notes.get(lock)) or deck
            if lock not in notes or answered != notes[lock]:
                write_json(self._file, {**notes, lock: answered})
        return answered


class SealedNotes:
    """The notes of the home of `vault` about a sealed game, in the file `sealed.json` of the game's folder."""

    def __init__(self, vault: Vault) -> None:
        self._file: Final = vault.folder / "sealed.json"

    @property
    def deposits(self) -> bool | None:
        """Whether the player wants to deposit draws in this game; None if nothing was said about this game."""
        found = read_json(self._file).get("deposits")
        return found if isinstance(found, bool) else None

    def keep_deposits(self, wanted: bool) -> None:
        """Keeps whether draws are to be deposited in this game."""
        if self.deposits is not wanted:
            write_json(self._file, {**read_json(self._file), "deposits": wanted})
