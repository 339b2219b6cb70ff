"""What is kept of a game to show it to others: the views that the service has signed, and what was refused.

docs/spec/evidence.md. Refused statements are on disk before the error is raised. All of it is bounded, so that nobody
can fill the disk: what convicts somebody has its own room, which nothing else can take. A line that cannot be read (a
disk that failed, a file cut short) is left out and stands in nobody's way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from hkoji.audit.evidence_file import (
    EvidenceFile,
    SignedStatement,
    SignedView,
    format_evidence,
    format_refused,
    format_view,
    of_game,
    parse_refused_line,
    parse_view_line,
    read_view,
)
from hkoji.client.files import write_file
from hkoji.client.pins import Pins
from hkoji.client.vault import Vault
from hkoji.errors import HkojiError, InvalidError, StorageError, TrustError
from hkoji.log.line import Line, SignedEntry, format_line, format_log
from hkoji.log.statement import View
from hkoji.messages.text import tell

_Read = TypeVar("_Read")


class EvidenceLimit(NamedTuple):
    """How much of one sort is kept of a game."""

    bytes: int
    lines: int


VIEWS: Final = EvidenceLimit(2**20, 1024)
PROOF: Final = EvidenceLimit(2**21, 2048)
"""Refused statements that convict somebody, together with the log and the views as they were then."""
DOUBTFUL: Final = EvidenceLimit(2**18, 256)
"""Refused statements that are signed by the service and convict nobody yet."""


class KeptEvidence:
    """The files of one game's evidence. Use the vault's lock around everything that writes."""

    def __init__(self, folder: Path) -> None:
        self._views: Final = folder / "views.signed"
        self._proof: Final = folder / "refused.signed"
        self._doubtful: Final = folder / "refused-doubtful.signed"

    @property
    def exists(self) -> bool:
        """Whether anything was refused."""
        return self._proof.exists() or self._doubtful.exists()

    def views(self) -> tuple[SignedView, ...]:
        """Every signed view that brought new cards, in the order in which they were accepted."""
        return tuple(_parsed(self._views, parse_view_line))

    def last_view(self) -> View | None:
        """The last of them."""
        views = self.views()
        return views[-1].view if views else None

    def keep_view(self, signed: SignedEntry) -> None:
        """Keeps a view that was verified, unless it shows no cards or what the last one has shown."""
        shown = read_view(signed)
        last = self.last_view()
        if shown.view.dealt != (last.dealt if last else ()):
            _append(self._views, (format_view(shown),), VIEWS)

    def refused(self) -> tuple[SignedStatement, ...]:
        """All that was refused, first what convicts."""
        return tuple(each for file in (self._proof, self._doubtful) for each in _parsed(file, parse_refused_line))

    def refuse(self, statements: Iterable[SignedStatement], *, convicts: bool) -> None:
        """Keeps what was refused, as far as there is room."""
        if convicts:
            _append(self._proof, map(format_refused, statements), PROOF)
        else:
            _append(self._doubtful, map(format_refused, statements), DOUBTFUL)


class ProofStrength(Enum):
    """What that proves which was refused, together with what is kept."""

    NONE = auto()
    ALONE = auto()
    WITH_CARDS = auto()
    """Only with views, which show the player's cards."""


class Refusals:
    """Keeps what is refused of a game at the service with those pins."""

    def __init__(self, vault: Vault, pins: Pins) -> None:
        self._vault: Final = vault
        self._pins: Final = pins
        self.kept: Final = KeptEvidence(vault.folder)

    @contextmanager
    def kept_if_refused(
        self, known: Sequence[Line], sent: Sequence[Line], view: SignedEntry | None = None
    ) -> Iterator[None]:
        """What is checked in here was `sent`; if it is refused, that is kept, and the error says so."""
        try:
            yield
        except (TrustError, InvalidError) as error:
            self.keep(error, known, sent, view)
            raise

    def keep(
        self, error: HkojiError, known: Sequence[Line], sent: Sequence[Line], view: SignedEntry | None = None
    ) -> None:
        """Keeps what of `sent` and `view` the service has signed; the hint of `error` then says so."""
        error.hint = error.hint or tell("nothing was accepted")
        try:
            kept = self._keep(known, sent, view)
        except StorageError as failed:
            error.hint = tell("{hint}; what was refused could not be kept: {reason}", hint=error.hint, reason=failed)
            return
        command = f"hkoji evidence {self._vault.game[:8]}"
        match kept:
            case None:
                return
            case ProofStrength.NONE:
                said = tell(
                    "{hint}; what the service has signed is kept: `{command}` makes a file of it",
                    hint=error.hint,
                    command=command,
                )
            case _:
                said = tell(
                    "{hint}; what the service has signed is kept, and is proof: `{command}` makes a file of it",
                    hint=error.hint,
                    command=f"{command} --with-cards" if kept is ProofStrength.WITH_CARDS else command,
                )
        error.hint = said

    def _keep(self, known: Sequence[Line], sent: Sequence[Line], view: SignedEntry | None) -> ProofStrength | None:
        """What that proves which was kept; None if there was nothing to keep."""
        from hkoji.audit.entry_tree import EntryTree
        from hkoji.audit.evidence_audit import audit_file
        from hkoji.audit.service_statements import ServiceStatements

        game, key = self._vault.game, self._pins.server_key
        views = _readable_view(view)
        old = set(map(format_line, known))
        lines = [line for line in sent if format_line(line) not in old]
        statements = of_game((*lines, *views), game)
        if key is None or not ServiceStatements(key, game, EntryTree(game, lines), views).any:
            return None
        # Two words that contradict may have come at different times.
        evidence = EvidenceFile(game, {}, format_log(known), self.kept.views(), (*self.kept.refused(), *statements))
        pins = {**self._pins.every, "server": (key,)}

        def convicts(some: EvidenceFile) -> bool:
            found = audit_file(format_evidence(some), pins).findings
            return any(finding.signer and finding.understood for finding in found)

        weight = ProofStrength.NONE
        if convicts(evidence):
            bare = tuple(each for each in evidence.refused if isinstance(each, Line))
            weight = (
                ProofStrength.ALONE if convicts(evidence._replace(views=(), refused=bare)) else ProofStrength.WITH_CARDS
            )
        self.kept.refuse(statements, convicts=weight is not ProofStrength.NONE)
        return weight


class WrittenEvidence(NamedTuple):
    """A file of evidence: its text, how much is in it, and how many views were left out of it."""

    text: str
    entries: int
    views: int
    refused: int
    left_out: int


def write_evidence(vault: Vault, pins: Pins, *, cards: bool) -> WrittenEvidence:
    """What is kept of a game as one file. While the game runs it has no views unless `cards` are wanted."""
    kept = KeptEvidence(vault.folder)
    lines = vault.readable_lines()
    views = list(kept.views())
    last = vault.signed_view()
    if last is not None and all(each.view.text != last.text for each in views):
        views += _readable_view(last)
    refused = kept.refused()
    entries = [*lines, *(each for each in refused if isinstance(each, Line))]
    over = any(line.entry.kind == "end" for line in entries)
    shown = [each for each in refused if over or cards or isinstance(each, Line)]
    seen = views if over or cards else []
    names = {line.entry.by for line in entries if line.entry.kind in ("open", "join")}
    known = {name: keys for name, keys in pins.every.items() if name in names}
    if pins.server_key is not None:
        known["server"] = (pins.server_key,)
    text = format_evidence(EvidenceFile(vault.game, known, format_log(lines), tuple(seen), tuple(shown)))
    left_out = len(views) - len(seen) + len(refused) - len(shown)
    return WrittenEvidence(text, len(lines), len(seen), len(shown), left_out)


def _readable_view(view: SignedEntry | None) -> list[SignedView]:
    try:
        return [read_view(view)] if view else []
    except HkojiError:
        return []


def _append(file: Path, lines: Iterable[str], room: EvidenceLimit) -> None:
    """Adds lines that are not there yet, as far as there is room for them, in order."""
    data = _bytes(file)
    before = data if not data or data.endswith(b"\n") else data + b"\n"
    known = set(before.decode("latin-1").split("\n"))
    count, size = len(known), len(before)
    new: list[str] = []
    for line in lines:
        if line in known:
            continue
        count, size = count + 1, size + len(line) + 1
        if count > room.lines or size > room.bytes:
            break
        known.add(line)
        new.append(line)
    if new:
        write_file(file, before + "".join(f"{line}\n" for line in new).encode())


def _parsed(file: Path, parse: Callable[[str], _Read]) -> Iterator[_Read]:
    for line in _bytes(file).decode("latin-1").split("\n"):
        try:
            yield parse(line)
        except HkojiError:
            continue


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StorageError(
            tell("cannot read {path}: {reason}", path=file, reason=error.strerror),
            hint=tell("restore the file from a backup"),
        ) from error
