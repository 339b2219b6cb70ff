"""A model of a round of Hanamikoji in small integers, with all cards known: search plays it thousands of times a move.

A multiset of cards is a number with four bits for each geisha. So is a *lead*: one player's cards at each geisha less
the other's; each of its digits may be negative. Every change of the rows is then one addition, and results that depend
only on a hand or a lead are memoised. This model never referees a game: tests/bots/ compares it with the rules engine,
move by move and lead by lead.

A *move* is an action without its name: the cards it takes from the hand and the ways it can change the actor's lead.
To answer a proposal is to choose one of the changes. The owner of a secret counts it at once; a trade-off changes only
which cards are known to be out of play.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import combinations
from typing import Final, NamedTuple, Protocol, TypeAlias

from hkoji.rules.cards import Cards
from hkoji.rules.hanamikoji.actions import CHARM, COMPETITION, GIFT, PACK, SECRET, TRADE_OFF, bit

Hand: TypeAlias = int
"""A multiset of known cards, four bits a geisha."""

Lead: TypeAlias = int
"""One side's cards less the other's at each geisha: signed numbers, each shifted by four bits a geisha and summed."""

KINDS: Final = 7
WEIGHTS: Final = tuple(1 << 4 * i for i in range(KINDS))
ALL_CARDS: Final[Hand] = sum(charm * weight for charm, weight in zip(CHARM, WEIGHTS, strict=True))
LEVEL: Final = sum(8 << 4 * i for i in range(KINDS))
"""Added to a lead, this raises every digit by eight, so that none is negative."""

_INDEX: Final = {kind: i for i, kind in enumerate(PACK.kinds)}
_SPLITS: Final = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2))


class HanamikojiMove(NamedTuple):
    """An action: its bit in a mask of used actions, its cards, and the possible changes of the actor's lead."""

    bit: int
    cards: Hand
    changes: tuple[Lead, ...]


def hand_of(names: Iterable[str]) -> Hand:
    """Returns the multiset of known cards given by their letters."""
    return sum(WEIGHTS[_INDEX[name]] for name in names)


def names_of(cards: Hand) -> str:
    """Returns the letters of a multiset, in the order of the row."""
    return "".join(kind * n for kind, n in zip(PACK.kinds, counts(cards), strict=True))


@cache
def counts(cards: Hand) -> tuple[int, ...]:
    """Returns the number of cards of each geisha."""
    return tuple(cards >> 4 * i & 15 for i in range(KINDS))


def leads(lead: Lead) -> tuple[int, ...]:
    """Returns the lead at each geisha, from -5 to 5."""
    level = lead + LEVEL
    return tuple((level >> 4 * i & 15) - 8 for i in range(KINDS))


@cache
def from_pack(cards: Cards) -> Hand:
    """Converts a multiset of the rules' pack; unknown cards are left out."""
    return sum(n * weight for n, weight in zip(PACK.counts(cards), WEIGHTS, strict=False))


@cache
def read(action: str) -> HanamikojiMove:
    """Converts an action in canonical notation, with all of its cards known, to a move."""
    number, cards = int(action[0]), hand_of(action[1:])
    changes: tuple[Lead, ...] = (0,)
    if number == SECRET:
        changes = (cards,)
    elif number == GIFT:
        changes = tuple(cards - 2 * hand_of(card) for card in sorted(set(action[1:])))
    elif number == COMPETITION:
        changes = tuple(cards - 2 * hand_of(pair) for pair in sorted({action[1:3], action[3:5]}))
    return HanamikojiMove(bit(number), cards, changes)


@lru_cache(maxsize=1 << 14)
def choices(number: int, hand: Hand) -> tuple[HanamikojiMove, ...]:
    """Returns all moves with one action number that a hand allows."""
    groups = sorted(set(combinations(names_of(hand), number)))
    if number != COMPETITION:
        return tuple(read(f"{number}{''.join(group)}") for group in groups)
    pairs = (sorted((g[a] + g[b], g[c] + g[d])) for g in groups for a, b, c, d in _SPLITS)
    return tuple(dict.fromkeys(read(f"{number}{first}{second}") for first, second in pairs))


@lru_cache(maxsize=1 << 14)
def moves(hand: Hand, used: int) -> tuple[HanamikojiMove, ...]:
    """Returns all moves open to a hand, without the actions in the mask `used`."""
    return tuple(move for number in (1, 2, 3, 4) if not used & bit(number) for move in choices(number, hand))


class HanamikojiSide(NamedTuple):
    """The side of one player: hand, mask of used actions, lead, and the cards still to come.

    `lead` counts the player's own secret but not the other's. `coming` are all cards except those that the player knows
    to be at the geisha or out of play, so they include its own hand.
    """

    hand: Hand
    used: int
    lead: Lead
    coming: Hand

    def plays(self, move: HanamikojiMove, change: Lead) -> HanamikojiSide:
        """Returns this side after its own move, whose answer changes its lead by `change`."""
        return HanamikojiSide(
            self.hand - move.cards, self.used | move.bit, self.lead + change, self.coming - move.cards
        )

    def meets(self, move: HanamikojiMove, change: Lead) -> HanamikojiSide:
        """Returns this side after the other's move."""
        if move.bit in FACE_DOWN:
            return self
        return HanamikojiSide(self.hand, self.used, self.lead - change, self.coming - move.cards)


FACE_DOWN: Final = (bit(SECRET), bit(TRADE_OFF))


class HanamikojiPlayer(Protocol):
    """A player in a playout."""

    def best(self, side: HanamikojiSide) -> HanamikojiMove:
        """Returns the player's move."""

    def reply(self, side: HanamikojiSide, move: HanamikojiMove) -> Lead:
        """Answers a proposal that allows several changes of the other's lead: returns the chosen one."""


def play_out(
    sides: tuple[HanamikojiSide, HanamikojiSide],
    seat: int,
    deck: Iterable[Hand],
    secret: Hand,
    players: tuple[HanamikojiPlayer, HanamikojiPlayer],
) -> Lead:
    """Plays a round to its end and returns the lead of seat 0 once both secrets are turned up.

    Seat 0 is the player who decides, whatever its seat in the game. `seat` draws the first card of `deck`; `secret` is
    seat 1's secret if it has been played, else 0.
    """
    first, second = sides
    actor, other = (second, first) if seat else (first, second)
    for card in deck:
        hand, used, lead, coming = actor
        actor = HanamikojiSide(hand + card, used, lead, coming)
        move = players[seat].best(actor)
        changes = move.changes
        change = changes[0] if len(changes) == 1 else players[1 - seat].reply(other, move)
        if seat and move.bit == 1:
            secret = move.cards
        actor, other = other.meets(move, change), actor.plays(move, change)
        seat = 1 - seat
    return (other if seat else actor).lead - secret
