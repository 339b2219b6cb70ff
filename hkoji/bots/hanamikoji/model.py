"""A round of Hanamikoji with all cards known, as small integers: what search plays thousands of times a move.

A multiset of cards is a number with four bits a geisha, and so is a *lead*: what one player has at the geisha more
than the other, which may be negative in every digit. Everything that happens to the rows is then one addition, and
whatever depends on a hand or a lead alone is remembered. Nobody referees with this: tests/bots/ holds it to the rules
engine, move by move and lead by lead.

A *move* is an action without its name: what it takes from the hand and how it can change the actor's lead. The answer
to an offer is the choice of one of the changes, made by the other player. A secret is counted at once, since only
scoring will ask; a trade-off changes nothing but the hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from hkoji.rules.cards import Cards
from hkoji.rules.hanamikoji.actions import COMPETITION, GIFT, PACK, SECRET

Hand: TypeAlias = int
"""A multiset of known cards, four bits a geisha."""

Lead: TypeAlias = int
"""For each geisha one side's cards less the other's, four bits a geisha, added up as signed numbers."""

KINDS: Final = 7
WEIGHTS: Final = tuple(1 << 4 * i for i in range(KINDS))
_LEVEL: Final = sum(8 << 4 * i for i in range(KINDS))
_INDEX: Final = {kind: i for i, kind in enumerate(PACK.kinds)}


class Move(NamedTuple):
    """An action: its bit in a mask of used actions, its cards, and the changes of the actor's lead it may bring."""

    bit: int
    cards: Hand
    changes: tuple[Lead, ...]


def hand_of(names: str) -> Hand:
    """The multiset of known cards given by their letters."""
    return sum(WEIGHTS[_INDEX[name]] for name in names)


@cache
def counts(cards: Hand) -> tuple[int, ...]:
    """How many cards of each geisha."""
    return tuple(cards >> 4 * i & 15 for i in range(KINDS))


def leads(lead: Lead) -> tuple[int, ...]:
    """The lead at each geisha, from -5 to 5."""
    level = lead + _LEVEL
    return tuple((level >> 4 * i & 15) - 8 for i in range(KINDS))


@cache
def from_pack(cards: Cards) -> Hand:
    """A multiset of the rules' pack; unknown cards are left out."""
    return sum(n * weight for n, weight in zip(PACK.counts(cards), WEIGHTS, strict=False))


@cache
def read(action: str) -> Move:
    """An action in canonical notation, all of its cards known, as a move."""
    number, cards = int(action[0]), hand_of(action[1:])
    if number == SECRET:
        changes: tuple[Lead, ...] = (cards,)
    elif number == GIFT:
        changes = tuple(cards - 2 * hand_of(card) for card in sorted(set(action[1:])))
    elif number == COMPETITION:
        changes = tuple(cards - 2 * hand_of(pair) for pair in sorted({action[1:3], action[3:5]}))
    else:
        changes = (0,)
    return Move(1 << number - 1, cards, changes)


@cache
def choices(number: int, hand: Hand) -> tuple[Move, ...]:
    """All moves of one number that a hand allows."""
    names = "".join(PACK.kinds[i] * n for i, n in enumerate(counts(hand)))
    splits = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2)) if number == COMPETITION else (tuple(range(number)),)
    groups = sorted(set(combinations(names, number)))
    # An offer of the same four cards in the same pairs is one move however it is written.
    return tuple(
        dict.fromkeys(
            read(f"{number}{''.join(sorted((group[s[0]] + group[s[1]], group[s[2]] + group[s[3]])))}")
            if number == COMPETITION
            else read(f"{number}{''.join(group)}")
            for group in groups
            for s in splits
        )
    )


@cache
def moves(hand: Hand, used: int) -> tuple[Move, ...]:
    """All moves open to a hand with the actions in the mask `used` gone."""
    return tuple(move for number in (1, 2, 3, 4) if not used >> number - 1 & 1 for move in choices(number, hand))


class Round(NamedTuple):
    """A round between two actions, all cards known: `mine` is the player who is to draw, `yours` the other.

    `lead` is the lead of the player who is to draw, and `deck` the cards to be drawn, last first.
    """

    mine: Hand
    yours: Hand
    my_used: int
    your_used: int
    lead: Lead
    deck: tuple[Hand, ...]


Act: TypeAlias = Callable[[Hand, int, Lead], Move]
"""Chooses a move for a hand, a mask of used actions and the actor's lead."""

Reply: TypeAlias = Callable[[Lead, Sequence[Lead]], Lead]
"""Chooses, against the actor, one of the changes of the actor's lead."""


def play_out(position: Round, act: Act, reply: Reply) -> Lead:
    """Plays a round to its end, both sides by the same two functions; the lead of whoever was to draw."""
    mine, yours, my_used, your_used, lead, deck = position
    sign = 1
    for card in reversed(deck):
        mine += card
        bit, cards, changes = act(mine, my_used, lead)
        mine, yours = yours, mine - cards
        my_used, your_used = your_used, my_used | bit
        lead = -lead - (changes[0] if len(changes) == 1 else reply(lead, changes))
        sign = -sign
    return lead * sign
