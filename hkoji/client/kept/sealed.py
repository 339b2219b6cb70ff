"""The player's sealed keys, and what a home notes about the locks of a sealed game.

docs/spec/sealed.md, "How a client makes them". All secrets of sealed games are made from a sealed key. A home can have
several; the first one is for new games. A note of a lock holds a mark that lies outside the home. So a home that was
copied to another machine, or to another folder, counts as another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, NamedTuple

from hkoji.client.kept.files import damaged, intact, locked, read_json, text_or_none, unreadable, write_file, write_json
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home
from hkoji.errors import IllegalError, StorageError
from hkoji.log.canonical import is_hex
from hkoji.messages.text import tell

KEY_BYTES: Final = 32
"""The length of a sealed key."""
_KEY_DIGITS: Final = 2 * KEY_BYTES
_MARK_BYTES: Final = 16


class MissingSealedKeyError(StorageError):
    """The sealed key with which a game is played is not in this home."""


class OtherMachineError(IllegalError):
    """A round can only be dealt from the home that has made its first lock."""


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


class LockNote(NamedTuple):
    """The note of a lock: the mark of the home that has made it, and the second deck that was answered."""

    mark: str
    answer: str | None


class SealedNotes:
    """The notes of the home of `vault` about a sealed game, in the file `sealed.json` of the game's folder.

    Locks and decks are named by 64 hex digits. `entropy` takes a number and returns that many random bytes.
    """

    def __init__(self, vault: Vault, home: Home, entropy: Callable[[int], bytes]) -> None:
        self._file: Final = vault.folder / "sealed.json"
        self._home: Final = home
        self._entropy = entropy

    def lock(self, lock: str) -> LockNote | None:
        """Returns the note of a lock; None if there is none."""
        with intact(self._file):
            found = read_json(self._file).get("locks", {}).get(lock)
            return None if found is None else LockNote(str(found["mark"]), text_or_none(found["answer"]))

    def is_here(self, note: LockNote) -> bool:
        """Whether the lock of a note was made in this home."""
        return note.mark == self._mark()

    def keep_lock(self, lock: str, answer: str | None = None) -> None:
        """Notes a lock as one of this home, and the deck that is answered. It is on disk when this returns.

        Without an answer the note of a lock stays as it is: its entry is sent again, perhaps by a copied home.
        """
        before = self.lock(lock)
        if before is not None and answer is None:
            return
        if before is None or before.answer != answer or not self.is_here(before):
            locks = read_json(self._file).get("locks", {})
            self._update(locks={**locks, lock: {"mark": self._mark(), "answer": answer}})

    @property
    def deposits(self) -> bool | None:
        """Whether the player wants to deposit draws in this game; None if nothing was said about this game."""
        found = read_json(self._file).get("deposits")
        return found if isinstance(found, bool) else None

    def keep_deposits(self, wanted: bool) -> None:
        """Keeps whether draws are to be deposited in this game."""
        if self.deposits is not wanted:
            self._update(deposits=wanted)

    def _update(self, **changes: object) -> None:
        write_json(self._file, {**read_json(self._file), **changes})

    def _mark(self) -> str:
        """Returns the mark of this home, which lies in the platform's folder for the state of programs.

        On macOS that of `hkoji` is the home itself, so the folder has another name.
        """
        from platformdirs import user_state_path

        folder = user_state_path("hkoji-homes", appauthor=False)
        file, place = folder / "homes.json", os.path.realpath(self._home.path)
        with intact(file):
            if (mark := text_or_none(read_json(file).get(place))) is not None:
                return mark
        with locked(folder):
            marks = read_json(file)
            mark = str(marks.get(place) or self._entropy(_MARK_BYTES).hex())
            write_json(file, {**marks, place: mark})
        return mark
