"""What a course remembers beside the position: what was settled before the first card, and the face-down cards."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.errors import IllegalError
from hkoji.game.dealer import Dealer
from hkoji.game.dealer_terms import Terms
from hkoji.log.private_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset


class Invite(NamedTuple):
    """The only player who may join: a name and, if `key` is given, the key that the player must have."""

    name: str
    key: PublicKey | None = None


class Replaced(NamedTuple):
    """`old` was the key of a seat up to and including entry `seq`, which put another key in its place.

    `vouched`: only the service says that the new key is the player's.
    """

    seq: int
    seat: Seat
    old: PublicKey
    vouched: bool


class Setup(NamedTuple):
    """The players, and what is settled before the first card. Pairs are by seat; None until the log has the value."""

    game: str
    ruleset: Ruleset
    terms: Terms
    server_key: PublicKey
    names: tuple[str | None, str | None] = (None, None)
    keys: tuple[PublicKey | None, PublicKey | None] = (None, None)
    """Those that count for the next entry."""
    invite: Invite | None = None
    entropy_commits: tuple[str | None, str | None] = (None, None)
    entropy: tuple[str | None, str | None] = (None, None)
    replaced: tuple[Replaced, ...] = ()
    """Keys that counted before, in order."""

    def dealer(self, seed: str | None) -> Dealer | None:
        """The dealer; None until the seed and everything else that it needs are known."""
        return None if seed is None else self.terms.dealer(self.game, self.ruleset, seed, self.entropy)

    def seat_of(self, name: str) -> Seat | None:
        """The seat of a player's name; None for anybody else."""
        return self.names.index(name) if name in self.names else None

    def key_at(self, seat: Seat, seq: int) -> PublicKey | None:
        """The key that must have signed the seat's entry `seq`."""
        for each in self.replaced:
            if each.seat == seat and seq <= each.seq:
                return each.old
        return self.keys[seat]

    def all_keys(self, seat: Seat) -> tuple[PublicKey, ...]:
        """The keys that a seat has had, in order; the last one counts."""
        now = self.keys[seat]
        return (*(each.old for each in self.replaced if each.seat == seat), *((now,) if now else ()))

    def change_key(self, replaced: Replaced, key: PublicKey) -> Setup:
        """The same with `key` in the place of a seat's old key. Raises `IllegalError`."""
        seat = replaced.seat
        verify_replaced_key(self.names[seat] or "", replaced.old, self.keys[seat])
        if key in (self.server_key, *self.all_keys(0), *self.all_keys(1)):
            raise IllegalError(tell("the new key is, or was, a key of this game already"))
        keys = (key, self.keys[1]) if seat == 0 else (self.keys[0], key)
        return self._replace(keys=keys, replaced=(*self.replaced, replaced))


def verify_replaced_key(name: str, old: PublicKey, counting: PublicKey | None) -> None:
    """Checks that a change of keys names the key that counts so far for `name`. Raises `IllegalError`."""
    if old != counting:
        raise IllegalError(tell("the key that it replaces is not the key of {name}", name=name))


class FaceDown(NamedTuple):
    """A group of cards played face down and not opened yet."""

    seq: int
    part: int
    seat: Seat
    round: int
    commit: str
    counts: bool
