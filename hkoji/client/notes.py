"""What a player has noted about a game, for nobody else: a file in the game's folder, which is never sent."""

from __future__ import annotations

from typing import Final

from hkoji.client.files import remove_file, write_file
from hkoji.client.vault import Vault
from hkoji.errors import StorageError, TooLargeError
from hkoji.messages.text import tell

MAX_NOTE_BYTES: Final = 65_536
"""The most bytes of UTF-8 that the note of one game may have."""


class GameNote:
    """The note about the game of `vault`. Hold the vault's lock around everything that writes."""

    def __init__(self, vault: Vault) -> None:
        self._path: Final = vault.folder / "note.txt"

    def text(self) -> str | None:
        """Returns the note; None if there is none. Raises `StorageError` if it cannot be read."""
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise StorageError(
                tell("cannot read {path}: {reason}", path=self._path, reason=error),
                hint=tell("restore the file from a backup, or move it away"),
            ) from error

    def add(self, text: str) -> str:
        """Adds lines at the end of the note, and returns the note. Raises `TooLargeError`; nothing changes then."""
        before = self.text()
        return self.replace(text if before is None else f"{before}\n{text}")

    def replace(self, text: str) -> str:
        """Writes a note in place of an earlier one, and returns it. Raises `TooLargeError`; nothing changes then."""
        data = text.encode("utf-8", "replace")
        if len(data) > MAX_NOTE_BYTES:
            raise TooLargeError(tell("the note"), MAX_NOTE_BYTES, hint=tell("nothing was changed; shorten it"))
        write_file(self._path, data)
        return data.decode()

    def delete(self) -> None:
        """Deletes the note, if there is one."""
        remove_file(self._path)
