"""The evidence kept of a game, to show it to others: signed views and heads, and statements that the client refused.

docs/spec/evidence.md. Each file has a limit, so that no service can fill the disk; statements that convict somebody
have a file of their own, so nothing else can take their room. Lines that cannot be read, after a disk failure or in a
file cut short, are skipped.

A waiting player fetches many heads of one entry. Of these the newest convicts whatever an older one convicts, so it
takes their place; those on both sides of the deadline stay, as they say how the game stood when the time was over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from hkoji.audit.evidence_file import EvidenceFile, SignedStatement, format_evidence, format_refused, parse_refused_line
from hkoji.client.kept.files import append_lines, unreadable, whole_lines, write_file
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Pins
from hkoji.errors import HkojiError
from hkoji.game.entry_kinds import NEWCOMER_KINDS
from hkoji.log.game_statements import SignedHead, format_head, parse_head_line
from hkoji.log.line import Line, SignedEntry, format_log
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import SignedView, View, format_view, parse_view_line, read_view

_Read = TypeVar("_Read")


class EvidenceLimit(NamedTuple):
    """The most that one file of a game's evidence may hold."""

    bytes: int
    lines: int


VIEWS: Final = EvidenceLimit(2**20, 1024)
HEADS: Final = EvidenceLimit(2**19, 512)
PROOF: Final = EvidenceLimit(2**21, 2048)
"""Refused statements that convict somebody, together with the log and the views kept at that time."""
DOUBTFUL: Final = EvidenceLimit(2**18, 256)
"""Refused statements that the service has signed, but that convict nobody yet."""


class ProofStrength(Enum):
    """How much refused statements prove, together with the evidence kept before."""

    NONE = auto()
    ALONE = auto()
    WITH_CARDS = auto()
    """They are proof only together with views, which show the player's cards."""


class KeptEvidence:
    """The files of one game's evidence. Hold the vault's lock around everything that writes."""

    def __init__(self, folder: Path) -> None:
        self._views: Final = folder / "views.signed"
        self._heads: Final = folder / "heads.signed"
        self._proof: Final = folder / "refused.signed"
        self._doubtful: Final = folder / "refused-doubtful.signed"

    def views(self) -> tuple[SignedView, ...]:
        """Returns each signed view that showed new cards, in the order in which they were accepted."""
        return tuple(_parsed(self._views, parse_view_line))

    def last_view(self) -> View | None:
        """Returns the last of these views; None if there is none."""
        last = next(_parsed(self._views, parse_view_line, backwards=True), None)
        return last.view if last else None

    def keep_view(self, signed: SignedEntry) -> bool:
        """Keeps a verified view, unless it shows no cards, or the same cards as the last one.

        Returns False if there is no room for it.
        """
        shown = read_view(signed)
        last = self.last_view()
        return shown.view.dealt == (last.dealt if last else ()) or _append(self._views, (format_view(shown),), VIEWS)

    def heads(self) -> tuple[SignedHead, ...]:
        """Returns the signed heads that are kept, by the numbers of their entries and their times."""
        return tuple(sorted(_parsed(self._heads, parse_head_line), key=_place))

    def keep_head(self, signed: SignedHead, deadline: str | None) -> bool:
        """Keeps a verified head: of each entry the newest one, and the last before the deadline and the first after.

        `deadline` is that of the entry which is due after the head's entry; without one only the newest stays. The file
        is replaced, with two syncs. Returns False if there is no room for the head.
        """
        before = self.heads()
        same = [each for each in (*before, signed) if _entry(each) == _entry(signed)]
        others = [each for each in before if _entry(each) != _entry(signed)]
        after = sorted((*others, *_worth_keeping(same, deadline)), key=_place)
        if not _fits(after):
            after = sorted({_entry(each): each for each in after}.values(), key=_place)  # the newest of each entry
        if not _fits(after):
            return False
        if after != list(before):
            write_file(self._heads, "".join(f"{format_head(each)}\n" for each in after).encode())
        return True

    def refused(self) -> tuple[SignedStatement, ...]:
        """Returns all refused statements, those that convict first."""
        return tuple(each for file in (self._proof, self._doubtful) for each in _parsed(file, parse_refused_line))

    def refuse(self, statements: Iterable[SignedStatement], *, convicts: bool) -> None:
        """Keeps refused statements, as far as there is room."""
        if convicts:
            _append(self._proof, map(format_refused, statements), PROOF)
        else:
            _append(self._doubtful, map(format_refused, statements), DOUBTFUL)

    def refuse_and_weigh(
        self,
        game: str,
        known: Iterable[Line],
        statements: Iterable[SignedStatement],
        keys: Mapping[str, tuple[PublicKey, ...]],
    ) -> ProofStrength:
        """Keeps refused statements of `game`, whose log so far is `known`, and returns how much they prove.

        `keys` are those of the players and of the service, by name.
        """
        from hkoji.audit.evidence_audit import audit_file

        def convicts(some: EvidenceFile) -> bool:
            found = audit_file(format_evidence(some), keys).findings
            return any(finding.signer and finding.understood for finding in found)

        new = tuple(statements)
        # Two statements that contradict each other may have arrived at different times.
        evidence = EvidenceFile(game, {}, format_log(known), self.views(), (*self.refused(), *new), self.heads())
        weight = ProofStrength.NONE
        if convicts(evidence):
            bare = tuple(each for each in evidence.refused if not isinstance(each, SignedView))
            weight = (
                ProofStrength.ALONE if convicts(evidence._replace(views=(), refused=bare)) else ProofStrength.WITH_CARDS
            )
        self.refuse(new, convicts=weight is not ProofStrength.NONE)
        return weight


class WrittenEvidence(NamedTuple):
    """A file of evidence: its text, the numbers of things in it, and how many views were left out."""

    text: str
    entries: int
    views: int
    heads: int
    refused: int
    left_out: int


def write_evidence(vault: Vault, pins: Pins, *, cards: bool) -> WrittenEvidence:
    """Returns the evidence of a game as one file. While the game runs, views are included only if `cards` is true."""
    kept = KeptEvidence(vault.folder)
    lines = vault.readable_lines()
    views = list(kept.views())
    last = vault.signed_view()
    if last is not None and all(each.view.text != last.text for each in views):
        views += readable_view(last)
    refused = kept.refused()
    entries = [*lines, *(each for each in refused if isinstance(each, Line))]
    over = any(line.entry.kind == "end" for line in entries)
    shown = [each for each in refused if over or cards or not isinstance(each, SignedView)]
    seen = views if over or cards else []
    names = {line.entry.by for line in entries if line.entry.kind in NEWCOMER_KINDS}
    known = {name: keys for name, keys in pins.every.items() if name in names}
    if pins.server_key is not None:
        known["server"] = (pins.server_key,)
    heads = kept.heads()
    text = format_evidence(EvidenceFile(vault.game, known, format_log(lines), tuple(seen), tuple(shown), heads))
    left_out = len(views) - len(seen) + len(refused) - len(shown)
    return WrittenEvidence(text, len(lines), len(seen), len(heads), len(shown), left_out)


def readable_view(view: SignedEntry | None) -> list[SignedView]:
    """Returns a signed view as evidence; nothing if there is none or it cannot be read."""
    try:
        return [read_view(view)] if view else []
    except HkojiError:
        return []


def _entry(signed: SignedHead) -> tuple[int, str]:
    return signed.statement.seq, signed.statement.head


def _place(signed: SignedHead) -> tuple[int, str, str]:
    return signed.statement.seq, signed.statement.at, signed.statement.head


def _worth_keeping(heads: Sequence[SignedHead], deadline: str | None) -> set[SignedHead]:
    """Of the heads of one entry the newest, the last at or before the deadline, and the first after it."""
    ordered = sorted(heads, key=_place)
    chosen = {ordered[-1]}
    if deadline is not None:
        chosen.update([each for each in ordered if each.statement.at <= deadline][-1:])
        chosen.update([each for each in ordered if each.statement.at > deadline][:1])
    return chosen


def _fits(heads: Sequence[SignedHead]) -> bool:
    return len(heads) <= HEADS.lines and sum(len(format_head(each)) + 1 for each in heads) <= HEADS.bytes


def _append(file: Path, lines: Iterable[str], room: EvidenceLimit) -> bool:
    """Appends the lines that are not in the file yet, in order, as far as there is room; returns whether all fit."""
    before = whole_lines(_bytes(file))
    known = set(before.decode("latin-1").split("\n"))
    count, size = len(known), len(before)
    new: list[str] = []
    enough = True
    for line in lines:
        if line in known:
            continue
        count, size = count + 1, size + len(line) + 1
        if count > room.lines or size > room.bytes:
            enough = False
            break
        known.add(line)
        new.append(line)
    if new:
        append_lines(file, "".join(f"{line}\n" for line in new).encode())
    return enough


def _parsed(file: Path, parse: Callable[[str], _Read], *, backwards: bool = False) -> Iterator[_Read]:
    lines = _bytes(file).decode("latin-1").split("\n")
    for line in filter(None, reversed(lines) if backwards else lines):
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
        raise unreadable(file, error.strerror) from error
