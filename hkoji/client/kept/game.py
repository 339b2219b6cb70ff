"""One game's folder: the verified log, the player's secrets, the entries that the player has signed, and a note.

docs/spec/log.md, "Client rules". The log here only ever grows. The order in which things must be on disk:

1. Entropy, before its commitment is signed, and the code of a link, before its key signs (`secrets.json`, replaced: two
   syncs each, once a game).
2. An entry with its signature and openings, before the first byte of it is sent (`outbox.signed`, added to: one sync).
   A retry sends these bytes, and the openings are read from there ever after, so they need no sync of their own.
3. A view that shows new cards, before the lines that it belongs to (`views.signed`, added to: one sync).
4. Lines that have been verified, before the command reports them (`log.jsonl`, added to: one sync). They are what a
   forked log is recognized by.
5. A signed head, before the command reports how the game stands (`heads.signed`, replaced: two syncs).

Everything else needs no sync. That an entry has its receipt follows from the log; if a power failure takes the note of
it, the same bytes are sent again and get the same receipt. `view.json` has the latest view also when it shows no new
cards: if it is lost, the last one of `views.signed` takes its place. The player's note, `note.txt`, is never sent.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji.client.kept.files import (
    append_lines,
    intact,
    locked,
    read_json,
    remove_file,
    text_in,
    text_or_none,
    unreadable,
    whole_lines,
    write_file,
    write_json,
)
from hkoji.errors import HkojiError, TooLargeError
from hkoji.game.commitments import Opening, entropy_commit, parse_opening, parse_openings
from hkoji.game.submission import Submission, format_submission, parse_submission
from hkoji.log.canonical import encode_base64
from hkoji.log.line import Line, SignedEntry, format_log, parse_lines, parse_log, read_signed
from hkoji.log.statement import View, parse_view
from hkoji.messages.text import tell

_Stamp = tuple[int, int, int]
_ABSENT: Final = (0, 0, 0)
_NO_LONGER: Final = b'{"pending":false}'
"""The line of `outbox.signed` that says that the submission before it has its receipt, or was refused."""
MAX_NOTE_BYTES: Final = 65_536
"""The most bytes of UTF-8 that the note of one game may have."""


class VaultStamp(NamedTuple):
    """The state of a game's files, which changes whenever one does: files are replaced or grow."""

    log: _Stamp
    view: _Stamp
    secrets: _Stamp
    outbox: _Stamp


class _SignedEntries(NamedTuple):
    """The content of `outbox.signed`: the last submission, if it has no receipt yet, and the openings of all."""

    pending: Submission | None = None
    openings: tuple[Opening, ...] = ()


class Vault:
    """The files of one game under `folder`. Use `locked` around everything that writes."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.game: Final = folder.name
        self._log: Final = folder / "log.jsonl"
        self._secrets: Final = folder / "secrets.json"
        self._outbox: Final = folder / "outbox.signed"
        self._view: Final = folder / "view.json"
        self._lock: Final = folder / "lock"
        # The values that were read last, and the state of the file then: a command looks into these files many times.
        self._kept_secrets: tuple[_Stamp, dict[str, Any]] = (_ABSENT, {})  # Any: JSON
        self._kept_openings: tuple[dict[str, Any], tuple[Opening, ...]] = ({}, ())  # Any: JSON
        self._kept_signed: tuple[_Stamp, _SignedEntries] = (_ABSENT, _SignedEntries())
        self._stamps: dict[str, _Stamp] | None = None
        self._confirmed = 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps other commands from changing this folder while the block runs."""
        with locked(self.folder):
            self._stamps = {}  # a file changes only here now, so it need not be looked at again and again
            try:
                yield
            finally:
                self._stamps = None

    @property
    def exists(self) -> bool:
        """Whether anything of the game is here."""
        return self._stamp(self._secrets) != _ABSENT

    def confirm(self, ahead: int) -> None:
        """Notes that the service has just answered about the game, and that its answer holds. It needs no sync.

        The service's clock is `ahead` of this machine's by so many seconds.
        """
        now = int(time.time()) + ahead  # whole seconds are shown, and a batch confirms a game many times in one
        if now != self._confirmed:
            os.utime(self._lock, (now, now))
            self._confirmed = now

    def confirmed(self) -> float | None:
        """Returns the time at which `confirm` was called, by the service's clock; None if it never was.

        It is in seconds of the epoch.
        """
        try:
            return os.stat(self._lock).st_mtime
        except FileNotFoundError:
            return None

    def stamp(self) -> VaultStamp:
        """Returns the state of the files that say how the game stands."""
        return VaultStamp(*map(self._stamp, (self._log, self._view, self._secrets, self._outbox)))

    def _stamp(self, file: Path) -> _Stamp:
        path = str(file)  # a batch looks often, and `Path` hashes and compares itself slowly
        if self._stamps is None:
            return _stamp(path)
        found = self._stamps.get(path)
        if found is None:
            found = self._stamps[path] = _stamp(path)
        return found

    def _changed(self, file: Path) -> None:
        if self._stamps is not None:
            self._stamps.pop(str(file), None)

    @property
    def server(self) -> str | None:
        """The URL of the service that keeps the game; None if the game is not known here."""
        return text_in(self._secrets, self._read_secrets(), "server")

    def begin(self, server: str, *entropy: str) -> None:
        """Keeps which server has the game, and the player's entropy if there is any.

        Older entropy stays: an entry that was refused may still appear in the log.
        """
        kept = self._read_secrets().get("entropy", [])
        if entropy or self.server is None:
            new = (each for each in entropy if each not in kept)
            self._update(server=self.server or server, entropy=[*kept, *new])

    def move(self, server: str) -> None:
        """Keeps that the service of the game is at another address now."""
        self._update(server=server)

    @property
    def link_code(self) -> str | None:
        """The code of the link by which the player has opened the game; None if there is no link."""
        return text_in(self._secrets, self._read_secrets(), "link_code")

    def keep_link_code(self, code: str) -> None:
        """Keeps the code of a new link, before its key signs anything."""
        self._update(link_code=code)

    # --- the log --------------------------------------------------------------------------------------------------

    def lines(self) -> tuple[Line, ...]:
        """Returns the verified lines so far, without a torn last one. Raises `StorageError` for any other damage."""
        try:
            return parse_log(whole_lines(self._log.read_bytes()))
        except FileNotFoundError:
            return ()
        except (OSError, HkojiError) as error:
            hint = tell("restore it from a backup, or move it away: then the log is fetched and verified anew")
            raise unreadable(self._log, error, hint) from error

    def readable_lines(self) -> tuple[Line, ...]:
        """Returns the lines so far; of a damaged file those before the damage."""
        lines: list[Line] = []
        with suppress(OSError, HkojiError):
            lines.extend(parse_lines(self._log.read_bytes()))
        return tuple(lines)

    def append(self, lines: Iterable[Line]) -> bool:
        """Keeps further lines, which have been verified. Returns whether they took the place of a torn last one."""
        torn = append_lines(self._log, format_log(lines).encode())
        self._changed(self._log)
        return torn

    # --- secrets --------------------------------------------------------------------------------------------------

    def entropy(self, seat: int, commitment: str | None) -> str | None:
        """Returns the player's entropy, 64 hex digits, that opens a commitment in the log; None if it is not here."""
        secrets = self._read_secrets()
        with intact(self._secrets):
            kept = [text_or_none(each) or "" for each in secrets.get("entropy", [])]
        return next((each for each in kept if entropy_commit(self.game, seat, each) == commitment), None)

    def openings(self) -> tuple[Opening, ...]:
        """Returns all openings made here, also those of entries that were never accepted."""
        secrets = self._read_secrets()
        if secrets is not self._kept_openings[0]:
            with intact(self._secrets):
                self._kept_openings = (secrets, tuple(map(parse_opening, secrets.get("openings", []))))
        kept = self._kept_openings[1]
        return (*kept, *(each for each in self._signed_entries().openings if each not in kept))

    def keep_openings(self, openings: Iterable[Opening]) -> None:
        """Keeps further openings."""
        known = self.openings()
        new = [opening.to_json() for opening in openings if opening not in known]
        if new:
            self._update(openings=[*self._read_secrets().get("openings", []), *new])

    def signed(self, seq: int) -> tuple[str, ...]:
        """Returns the entries signed with a number that may still appear in the log: signed for later, or refused."""
        secrets = self._read_secrets()
        with intact(self._secrets):
            return tuple(text_or_none(each) or "" for each in secrets.get("signed", {}).get(str(seq), ()))

    def keep_signed(self, submission: Submission) -> None:
        """Notes an entry that was signed for later, or refused."""
        self.keep_openings(submission.opening)
        entry = submission.entry
        before = self.signed(entry.seq)
        if entry.text not in before:
            every = self._read_secrets().get("signed", {})
            self._update(signed={**every, str(entry.seq): [*before, entry.text]})

    def _update(self, **changes: Any) -> None:  # Any: JSON
        changed = {**self._read_secrets(), **changes}
        write_json(self._secrets, changed)
        self._changed(self._secrets)
        self._kept_secrets = (self._stamp(self._secrets), changed)

    def _read_secrets(self) -> dict[str, Any]:  # Any: JSON
        stamp = self._stamp(self._secrets)
        if stamp != self._kept_secrets[0]:
            self._kept_secrets = (stamp, read_json(self._secrets))
        return self._kept_secrets[1]

    # --- the outbox -----------------------------------------------------------------------------------------------

    def outbox(self) -> Submission | None:
        """Returns the submission that has no receipt yet; None if there is none."""
        return self._signed_entries().pending

    def keep_outbox(self, submission: Submission) -> None:
        """Keeps a submission, with its openings, before it is sent."""
        self._add(format_submission(submission).encode())
        openings = (*self._kept_signed[1].openings, *submission.opening)
        self._kept_signed = (self._stamp(self._outbox), _SignedEntries(submission, openings))

    def keep_made(self, submission: Submission) -> None:
        """Keeps a submission that is not sent now, so that `made` has it."""
        pending = self.outbox()
        last = _NO_LONGER if pending is None else format_submission(pending).encode()
        self._add(format_submission(submission).encode() + b"\n" + last)

    def made(self, heads: Collection[str]) -> tuple[Submission, ...]:
        """Returns the submissions kept here that follow one of these heads, in order, also those that were refused."""
        try:
            lines = whole_lines(self._outbox.read_bytes()).splitlines()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise unreadable(self._outbox, error, tell("restore it from a backup")) from error
        with intact(self._outbox):
            found = [parse_submission(line) for line in lines if any(head.encode() in line for head in heads)]
        return tuple(each for each in found if each.entry.prev in heads)

    def clear_outbox(self, *, durable: bool = False) -> None:
        """Notes that the submission has its receipt, or, with `durable`, that it was refused."""
        signed = self._signed_entries()
        if signed.pending is not None:
            self._add(_NO_LONGER, durable=durable)
            self._kept_signed = (self._stamp(self._outbox), signed._replace(pending=None))

    def _add(self, line: bytes, *, durable: bool = True) -> None:
        self._signed_entries()
        append_lines(self._outbox, line + b"\n", durable=durable)
        self._changed(self._outbox)

    def _signed_entries(self) -> _SignedEntries:
        stamp = self._stamp(self._outbox)
        if stamp != self._kept_signed[0]:
            self._kept_signed = (stamp, self._read_signed_entries())
        return self._kept_signed[1]

    def _read_signed_entries(self) -> _SignedEntries:
        try:
            # A torn last line was never sent: what is sent has been synced before.
            lines = whole_lines(self._outbox.read_bytes()).split(b"\n")[:-1]
            pending = parse_submission(lines[-1]) if lines and lines[-1] != _NO_LONGER else None
        except FileNotFoundError:
            return _SignedEntries()
        except (OSError, HkojiError) as error:
            raise unreadable(self._outbox, error, tell("restore it from a backup")) from error
        openings: list[Opening] = []
        with intact(self._outbox):
            for line in lines:
                if b'"opening":' in line:
                    openings += parse_openings(json.loads(line)["opening"])
        return _SignedEntries(pending, tuple(openings))

    # --- the view -------------------------------------------------------------------------------------------------

    def view(self) -> View | None:
        """Returns the latest signed view; None if there is none, or if a power failure has taken it."""
        text = text_in(self._view, self._read_view(), "text")
        with intact(self._view):
            return None if text is None else parse_view(text)

    def signed_view(self) -> SignedEntry | None:
        """Returns the latest view with its signature, if it can be read."""
        try:
            return read_signed(self._read_view(), "view")
        except HkojiError:
            return None

    def keep_view(self, signed: SignedEntry, *, durable: bool) -> None:
        """Keeps a verified view, with its signature: it is evidence."""
        write_json(self._view, {"text": signed.text, "sig": encode_base64(signed.sig)}, durable=durable)
        self._changed(self._view)

    def _read_view(self) -> dict[str, Any]:  # Any: JSON
        with suppress(OSError):
            # It is replaced without a sync, after which a power failure leaves nothing or NULs.
            if not self._view.read_bytes().strip(b"\0"):
                return {}
        return read_json(self._view)


def _stamp(file: str) -> _Stamp:
    try:
        status = os.stat(file)  # `Path.stat` takes 1.5 times as long, and a batch looks often
    except FileNotFoundError:
        return _ABSENT
    return (status.st_mtime_ns, status.st_size, status.st_ino)


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
            hint = tell("restore the file from a backup, or move it away")
            raise unreadable(self._path, error, hint) from error

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
