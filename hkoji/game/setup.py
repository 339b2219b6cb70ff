"""What a course remembers beside the position: what was settled before the first card, and what lies face down."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.errors import IllegalError
from hkoji.game import bodies
from hkoji.game.dealer import Dealer
from hkoji.game.rekey_entries import KeyChange, Revoke, changed_name
from hkoji.log.entry import Entry
from hkoji.log.private_key import PublicKey
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset


class Replaced(NamedTuple):
    """That `old` was the key of a seat up to the entry `seq`, in which another has taken its place.

    `vouched` says that the other is the player's by the service's word alone.
    """

    seq: int
    seat: Seat
    old: PublicKey
    vouched: bool


class Setup(NamedTuple):
    """What is settled before the first card, and who plays. Pairs are by seat, None until the log says."""

    game: str
    offer: bodies.Offer
    names: tuple[str | None, str | None] = (None, None)
    keys: tuple[PublicKey | None, PublicKey | None] = (None, None)
    """Those that count for the next entry."""
    invite: bodies.Invite | None = None
    entropy_commits: tuple[str | None, str | None] = (None, None)
    entropy: tuple[str | None, str | None] = (None, None)
    replaced: tuple[Replaced, ...] = ()
    """Keys that counted before, in order."""

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

    def with_changed_key(self, entry: Entry, body: KeyChange, actor: Seat | None) -> Setup:
        """The same with another key of a seat after `entry`; `actor` owes the next entry. Raises `IllegalError`."""
        seat = self.seat_of(changed_name(entry, body))
        if seat is None or seat != actor:
            raise IllegalError(tell("a key changes only while its seat owes the next entry"))
        if body.old != self.keys[seat]:
            raise IllegalError(tell("the key that is to be replaced is not the one that counts"))
        if body.key in (self.offer.server_key, *self.all_keys(0), *self.all_keys(1)):
            raise IllegalError(tell("the new key is, or was, a key of this game already"))
        keys = (body.key, self.keys[1]) if seat == 0 else (self.keys[0], body.key)
        replaced = Replaced(entry.seq, seat, body.old, vouched=isinstance(body, Revoke))
        return self._replace(keys=keys, replaced=(*self.replaced, replaced))


class FaceDown(NamedTuple):
    """A group of cards played face down and not opened yet."""

    seq: int
    part: int
    seat: Seat
    round: int
    commit: str
    counts: bool
