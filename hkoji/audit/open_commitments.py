"""The commitments of a log, entry by entry: which are still closed, and whether the openings fit.

docs/spec/log.md, "Commitments"; "Audit", step 6. Whether an entry may stand where it does, and opens what is due there,
is step 8, the replay.
"""

from __future__ import annotations

from hkoji.audit.checks import verify_all_opened, verify_new_salt
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening, verify_entropy, verify_opening
from hkoji.game.dealer import Terms, verify_end, verify_seed
from hkoji.log.entry import Entry


class Commitments:
    """The commitments of a log so far; `opened` of them have been opened."""

    def __init__(self) -> None:
        self.opened = 0
        self.sealed = False
        """Whether the game has ended and its seed has not been published."""
        self._terms: Terms | None = None
        self._entropy: dict[str, tuple[int, str]] = {}
        self._commits: dict[tuple[int, int], str] = {}
        self._salts: set[str] = set()

    @property
    def closed(self) -> int:
        """How many groups of face-down cards are still closed."""
        return len(self._commits)

    def read(self, entry: Entry, body: entry_kinds.EntryBody) -> None:
        """Reads the next entry. Raises `CommitmentError` if it breaks a commitment."""
        match body:
            case entry_kinds.Move():  # first, because most entries are moves
                for part, commit in enumerate(body.commit):
                    self._commits[entry.seq, part] = commit
            case entry_kinds.Offer(terms):
                self._terms = terms
            case entry_kinds.Open(commit) | entry_kinds.Join(commit):
                self._entropy[entry.by] = (int(isinstance(body, entry_kinds.Join)), commit)
            case entry_kinds.Seed(value):
                seat, commit = self._entropy.get(entry.by, (0, ""))
                verify_entropy(entry.game, seat, value, commit, entry.seq)
                self.opened += 1
            case entry_kinds.RevealBody(openings):
                self._open(entry.game, openings)
            case entry_kinds.End(openings, _, seed):
                if self._terms:
                    verify_end(self._terms, entry.game, entry.seq, seed)
                self.sealed = seed is None
                self.opened += seed is not None
                self._open(entry.game, openings)
                verify_all_opened(self._commits)
            case entry_kinds.Unseal(seed):
                if self._terms:
                    verify_seed(self._terms, entry.game, entry.seq, seed)
                self.sealed = False
                self.opened += 1
            case _:
                pass

    def _open(self, game: str, openings: tuple[Opening, ...]) -> None:
        for opening in openings:
            verify_opening(game, opening, self._commits.pop((opening.seq, opening.part), None))
            verify_new_salt(opening, self._salts)
            self.opened += 1
