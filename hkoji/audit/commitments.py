"""The commitments of a log, as it goes on: what is still closed, and whether what has been opened fits.

docs/spec/log.md, "Commitments". It looks at commitments alone, entry by entry; whether an entry may come where it
stands, or opens what is due there, is the course's to know.
"""

from __future__ import annotations

from hkoji.errors import CommitmentError
from hkoji.game import entry_kinds
from hkoji.game.dealer_terms import Terms, verify_end, verify_seed
from hkoji.game.openings import Opening, entropy_commit
from hkoji.log.entry import Entry
from hkoji.messages.text import tell


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
        """Takes the next entry in. Raises `CommitmentError` where it breaks a commitment."""
        match body:
            case entry_kinds.Offer(terms):
                self._terms = terms
            case entry_kinds.Open(commit) | entry_kinds.Join(commit):
                self._entropy[entry.by] = (int(isinstance(body, entry_kinds.Join)), commit)
            case entry_kinds.Seed(value):
                seat, commit = self._entropy.get(entry.by, (0, ""))
                if entropy_commit(entry.game, seat, value) != commit:
                    raise CommitmentError(tell("the entropy does not give its commitment"), seq=entry.seq, part=0)
                self.opened += 1
            case entry_kinds.Move(_, commits):
                self._commits.update({(entry.seq, part): commit for part, commit in enumerate(commits)})
            case entry_kinds.RevealBody(openings):
                self._open(entry.game, openings)
            case entry_kinds.End(openings, _, seed):
                if self._terms:
                    verify_end(self._terms, entry.game, entry.seq, seed)
                self.sealed = seed is None
                self.opened += seed is not None
                self._open(entry.game, openings)
                for seq, part in self._commits:
                    raise CommitmentError(tell("the end leaves it closed"), seq=seq, part=part)
            case entry_kinds.Unseal(seed):
                if self._terms:
                    verify_seed(self._terms, entry.game, entry.seq, seed)
                self.sealed = False
                self.opened += 1
            case _:
                pass

    def _open(self, game: str, openings: tuple[Opening, ...]) -> None:
        for opening in openings:
            place = (opening.seq, opening.part)
            if self._commits.pop(place, None) != opening.commitment(game):
                raise CommitmentError(tell("it does not give its commitment"), seq=opening.seq, part=opening.part)
            if opening.salt in self._salts:
                raise CommitmentError(tell("its salt has been used before"), seq=opening.seq, part=opening.part)
            self._salts.add(opening.salt)
            self.opened += 1
