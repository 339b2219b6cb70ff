"""One game's folder: the verified log, the player's secrets, and the entry that has no receipt yet.

docs/spec/log.md, "Client rules". Entropy, entry, signature and openings are here before the first byte is sent, and
a retry sends the bytes that are kept here. The log here only ever grows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji.client.files import intact, locked, read_json, remove_file, text_or_none, write_file, write_json
from hkoji.errors import HkojiError, StorageError
from hkoji.game.commitments import Opening, entropy_commit, parse_opening
from hkoji.game.submission import Submission, format_submission, parse_submission
from hkoji.log.canonical import encode_base64
from hkoji.log.line import Line, SignedEntry, format_log, parse_lines, parse_log, read_signed
from hkoji.log.statement import View, parse_view
from hkoji.messages.text import tell

_Stamp = tuple[int, int, int]
_ABSENT: Final = (0, 0, 0)


class VaultStamp(NamedTuple):
    """The state of a game's files, which changes whenever one does: files are replaced, never written over."""

    log: _Stamp
    view: _Stamp
    secrets: _Stamp


class Vault:
    """The files of one game under `folder`. Use `locked` around everything that writes."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.game: Final = folder.name
        self._log: Final = folder / "log.jsonl"
        self._secrets: Final = folder / "secrets.json"
        self._outbox: Final = folder / "outbox.json"
        self._view: Final = folder / "view.json"
        self._lock: Final = folder / "lock"

    def locked(self) -> AbstractContextManager[None]:
        """Keeps other commands from changing this folder while the block runs."""
        return locked(self.folder)

    @property
    def exists(self) -> bool:
        """Whether anything of the game is here."""
        return _stamp(self._secrets) != _ABSENT

    def confirm(self) -> None:
        """Notes that the service has just answered about the game, and that its answer holds. It needs no sync."""
        os.utime(self._lock)

    def confirmed(self) -> float | None:
        """Returns the time, in seconds of the epoch, at which `confirm` was called; None if it never was."""
        try:
            return os.stat(self._lock).st_mtime
        except FileNotFoundError:
            return None

    def stamp(self) -> VaultStamp:
        """Returns the state of the files that say how the game stands."""
        return VaultStamp(_stamp(self._log), _stamp(self._view), _stamp(self._secrets))

    @property
    def server(self) -> str | None:
        """The URL of the service that keeps the game; None if the game is not known here."""
        with intact(self._secrets):
            return text_or_none(read_json(self._secrets).get("server"))

    def begin(self, server: str) -> None:
        """Keeps which server has the game."""
        if self.server is None:
            self._update(server=server)

    # --- the log --------------------------------------------------------------------------------------------------

    def lines(self) -> tuple[Line, ...]:
        """Returns the verified lines so far. Raises `StorageError` if the file is damaged."""
        try:
            return parse_log(self._log.read_bytes())
        except FileNotFoundError:
            return ()
        except (OSError, HkojiError) as error:
            raise StorageError(
                tell("cannot read {log}: {reason}", log=self._log, reason=error),
                hint=tell("restore it from a backup, or move it away: then the log is fetched and verified anew"),
            ) from error

    def readable_lines(self) -> tuple[Line, ...]:
        """Returns the lines so far; of a damaged file those before the damage."""
        lines: list[Line] = []
        with suppress(OSError, HkojiError):
            lines.extend(parse_lines(self._log.read_bytes()))
        return tuple(lines)

    def append(self, lines: Iterable[Line]) -> None:
        """Keeps further lines, which have been verified."""
        before = self._log.read_bytes() if self._log.exists() else b""
        write_file(self._log, before + format_log(lines).encode())

    # --- secrets --------------------------------------------------------------------------------------------------

    def entropy(self, seat: int, commitment: str | None) -> str | None:
        """Returns the player's entropy, 64 hex digits, that opens a commitment in the log; None if it is not here."""
        with intact(self._secrets):
            kept = [text_or_none(each) or "" for each in read_json(self._secrets).get("entropy", [])]
        return next((each for each in kept if entropy_commit(self.game, seat, each) == commitment), None)

    def keep_entropy(self, entropy: str) -> None:
        """Keeps fresh entropy. Older ones stay: an entry that was refused may still appear in the log."""
        self._update(entropy=[*read_json(self._secrets).get("entropy", []), entropy])

    def openings(self) -> tuple[Opening, ...]:
        """Returns all openings made here, also those of entries that were never accepted."""
        with intact(self._secrets):
            return tuple(map(parse_opening, read_json(self._secrets).get("openings", [])))

    def keep_openings(self, openings: Iterable[Opening]) -> None:
        """Keeps further openings."""
        kept = self.openings()
        new = [opening for opening in openings if opening not in kept]
        if new:
            self._update(openings=[opening.to_json() for opening in (*kept, *new)])

    def signed(self, seq: int) -> tuple[str, ...]:
        """Returns the entries signed with a number that may still appear in the log: signed for later, or refused."""
        with intact(self._secrets):
            return tuple(
                text_or_none(each) or "" for each in read_json(self._secrets).get("signed", {}).get(str(seq), ())
            )

    def keep_signed(self, submission: Submission) -> None:
        """Notes an entry that was signed for later, or refused."""
        self.keep_openings(submission.opening)
        entry = submission.entry
        before = self.signed(entry.seq)
        if entry.text not in before:
            every = read_json(self._secrets).get("signed", {})
            self._update(signed={**every, str(entry.seq): [*before, entry.text]})

    def _update(self, **changes: Any) -> None:  # Any: JSON
        write_json(self._secrets, {**read_json(self._secrets), **changes})

    # --- the outbox -----------------------------------------------------------------------------------------------

    def outbox(self) -> Submission | None:
        """Returns the submission that has no receipt yet; None if there is none."""
        if _stamp(self._outbox) == _ABSENT:
            return None
        try:
            return parse_submission(self._outbox.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, HkojiError) as error:
            raise StorageError(
                tell("cannot read {outbox}: {reason}", outbox=self._outbox, reason=error),
                hint=tell("restore it from a backup"),
            ) from error

    def keep_outbox(self, submission: Submission) -> None:
        """Keeps a submission before it is sent."""
        self.keep_openings(submission.opening)
        write_file(self._outbox, format_submission(submission).encode())

    def clear_outbox(self) -> None:
        """Forgets the submission: it has its receipt, or was refused."""
        remove_file(self._outbox)

    # --- the view -------------------------------------------------------------------------------------------------

    def view(self) -> View | None:
        """Returns the latest signed view."""
        with intact(self._view):
            text = text_or_none(read_json(self._view).get("text"))
            return None if text is None else parse_view(text)

    def signed_view(self) -> SignedEntry | None:
        """Returns the latest view with its signature, if it can be read."""
        try:
            return read_signed(read_json(self._view), "view")
        except HkojiError:
            return None

    def keep_view(self, signed: SignedEntry) -> None:
        """Keeps a verified view, with its signature: it is evidence."""
        write_json(self._view, {"text": signed.text, "sig": encode_base64(signed.sig)})


def _stamp(file: Path) -> _Stamp:
    try:
        status = os.stat(file)  # `Path.stat` takes 1.5 times as long, and a batch looks often
    except FileNotFoundError:
        return _ABSENT
    return (status.st_mtime_ns, status.st_size, status.st_ino)
