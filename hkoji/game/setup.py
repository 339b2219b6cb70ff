"""What a course remembers beside the position: what was settled before the first card, and what lies face down."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.game import bodies
from hkoji.game.dealer import Dealer
from hkoji.log.keys import PublicKey
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset


class Setup(NamedTuple):
    """What is settled before the first card. Pairs are by seat, None until the log says."""

    game: str
    offer: bodies.Offer
    names: tuple[str | None, str | None] = (None, None)
    keys: tuple[PublicKey | None, PublicKey | None] = (None, None)
    invite: bodies.Invite | None = None
    entropy_commits: tuple[str | None, str | None] = (None, None)
    entropy: tuple[str | None, str | None] = (None, None)

    @property
    def ruleset(self) -> Ruleset:
        """The game and its options."""
        return self.offer.ruleset

    def dealer(self, seed: str | None) -> Dealer | None:
        """The dealer, once the seed and whatever else it needs are known."""
        return None if seed is None else self.offer.terms.dealer(self.game, self.ruleset, seed, self.entropy)

    def seat_of(self, name: str) -> Seat | None:
        """The seat of a player's name; None for anybody else."""
        return self.names.index(name) if name in self.names else None


class FaceDown(NamedTuple):
    """A group of cards played face down and not opened yet."""

    seq: int
    part: int
    seat: Seat
    round: int
    commit: str
    counts: bool
