"""One game's folder: what has been verified, what is secret, and what is on its way.

docs/spec/log.md, "Client rules". Entropy, entry, signature and openings are here before the first byte is sent, and
what is sent again is what stands here. The log here is never replaced by a shorter or a different one.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from hkoji.client.home import read_json, write_file, write_json
from hkoji.errors import HkojiError, StorageError
from hkoji.game.hidden import Opening, parse_opening
from hkoji.game.submission import Submission, format_submission, parse_submission
from hkoji.log.canonical import encode_base64
from hkoji.log.line import Line, format_log, parse_log
from hkoji.log.statement import View, parse_view


class Vault:
    """The files of one game under `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self._log: Final = folder / "log.jsonl"
        self._secrets: Final = folder / "secrets.json"
        self._outbox: Final = folder / "outbox.json"
        self._view: Final = folder / "view.json"
        self._lines: tuple[Line, ...] = ()  # as last read; another process may write, so the file's stamp decides
        self._stamp: tuple[int, int, int] | None = None

    @property
    def server(self) -> str | None:
        """The URL of the service that keeps the game; None if the game is not known here."""
        server = read_json(self._secrets).get("server")
        return server if isinstance(server, str) else None

    def begin(self, server: str) -> None:
        """Makes the folder of a game at a server."""
        if self.server is None:
            self._update(server=server)

    # --- the log --------------------------------------------------------------------------------------------------

    def lines(self) -> tuple[Line, ...]:
        """The verified lines so far. Raises `StorageError` if the file is damaged."""
        try:
            now = self._log.stat()
            stamp = (now.st_mtime_ns, now.st_size, now.st_ino)
            if stamp != self._stamp:
                self._lines = parse_log(self._log.read_bytes())
                self._stamp = stamp
            return self._lines
        except FileNotFoundError:
            return ()
        except (OSError, HkojiError) as error:
            raise StorageError(
                f"cannot read {self._log}: {error}", hint="move the file away: the service's log is fetched anew"
            ) from error

    def keep_lines(self, lines: Iterable[Line]) -> None:
        """Keeps all verified lines."""
        write_file(self._log, format_log(lines).encode())

    # --- secrets --------------------------------------------------------------------------------------------------

    def entropy(self) -> str | None:
        """The own entropy, 64 hex digits."""
        entropy = read_json(self._secrets).get("entropy")
        return entropy if isinstance(entropy, str) else None

    def keep_entropy(self, entropy: str) -> None:
        """Keeps fresh entropy."""
        self._update(entropy=entropy)

    def openings(self) -> tuple[Opening, ...]:
        """All openings made here, also those of entries that were never accepted."""
        return tuple(parse_opening(value) for value in read_json(self._secrets).get("openings", []))

    def keep_openings(self, openings: Iterable[Opening]) -> None:
        """Keeps further openings."""
        kept = self.openings()
        new = [opening for opening in openings if opening not in kept]
        if new:
            self._update(openings=[opening.to_json() for opening in (*kept, *new)])

    def signed(self) -> dict[str, str]:
        """The entries signed for later (`hkoji sign`), by their number: they may still turn up."""
        return dict(read_json(self._secrets).get("signed", {}))

    def keep_signed(self, submission: Submission) -> None:
        """Notes an entry signed for later."""
        self._update(signed={**self.signed(), str(submission.entry.seq): submission.entry.text})

    def _update(self, **changes: Any) -> None:  # Any: JSON
        write_json(self._secrets, {**read_json(self._secrets), **changes})

    # --- on its way -----------------------------------------------------------------------------------------------

    def outbox(self) -> Submission | None:
        """The submission that has no receipt yet."""
        try:
            return parse_submission(self._outbox.read_bytes())
        except FileNotFoundError:
            return None

    def keep_outbox(self, submission: Submission) -> None:
        """Keeps a submission before it is sent."""
        self.keep_openings(submission.opening)
        write_file(self._outbox, format_submission(submission).encode())

    def clear_outbox(self) -> None:
        """The submission has its receipt, or never will."""
        self._outbox.unlink(missing_ok=True)

    # --- what the service has shown -------------------------------------------------------------------------------

    def view(self) -> View | None:
        """The latest signed view."""
        text = read_json(self._view).get("text")
        return parse_view(text) if isinstance(text, str) else None

    def keep_view(self, view: View, sig: bytes) -> None:
        """Keeps a verified view, with its signature: it is evidence."""
        if read_json(self._view).get("text") != view.text:
            write_json(self._view, {"text": view.text, "sig": encode_base64(sig)})
