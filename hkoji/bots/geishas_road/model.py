"""A model of a round of Geisha's Road in small integers: positions of the geisha, leads, and the effects of plays.

A card is a number from 0 to 19; a set of cards is a bit mask, as in the rules' pack. A *road* is one number: eight bits
for each colour (steps from home, homecomings, prestige of her lanterns), and above them the number of lanterns taken
from each deck. A *lead* is one player's influence on each geisha less the other's: signed numbers, each shifted by
eight bits a colour and summed. It does not include a marker's half point. This model never referees a game: tests/bots/
compares it with the rules engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple, Protocol, TypeAlias

from hkoji.rules.geishas_road import road as rules
from hkoji.rules.geishas_road.actions import BITS, CODES, COMPETITION, GIFT, INTRIGUE, KNOWN, PACK, REVEAL

Card: TypeAlias = int
Road: TypeAlias = int
Lead: TypeAlias = int

COLOURS: Final = 5
CARDS: Final = tuple(range(20))
COLOUR: Final = tuple(card >> 2 for card in CARDS)
NUMBER: Final = tuple((card & 3) + 1 for card in CARDS)
INFLUENCE: Final[tuple[Lead, ...]] = tuple(number << 8 * colour for colour, number in zip(COLOUR, NUMBER, strict=True))
ALL_CARDS: Final = KNOWN

_SHIFT: Final = tuple(8 * colour for colour in COLOUR)
_LIGHT: Final = 1 << 40
_DARK: Final = 1 << 43
_LEVEL: Final = sum(64 << 8 * colour for colour in range(COLOURS))
_INDEX: Final = {name: card for card, name in enumerate(PACK.kinds)}
_NAMES: Final = PACK.kinds


def cards_of(text: str) -> tuple[Card, ...]:
    """Returns the cards named in `text`, in its order."""
    return tuple(_INDEX[name] for name in PACK.split(text))


def names_of(cards: Sequence[Card]) -> str:
    """Returns the cards' names, in the same order."""
    return "".join(_NAMES[card] for card in cards)


def in_mask(mask: int) -> tuple[Card, ...]:
    """Returns the known cards of a set."""
    return tuple(card for card in CARDS if mask >> card & 1)


def mask_of(cards: Sequence[Card]) -> int:
    """Returns the set of the given cards."""
    return sum(1 << card for card in cards)


def from_road(road: rules.Road) -> Road:
    """Converts the rules' road to a number."""
    value = 0
    for colour in range(COLOURS):
        value |= (road.places[colour] | road.homes[colour] << 3 | road.lanterns[colour] << 5) << 8 * colour
    return value + len([h for h in road.homes if h > 0]) * _LIGHT + len([h for h in road.homes if h > 1]) * _DARK


def step(road: Road, card: Card) -> Road:
    """Returns the road after one card."""
    shift, number = _SHIFT[card], NUMBER[card]
    geisha = road >> shift & 255
    place = (geisha & 7) + number
    if place < 5:
        return road + (number << shift)
    if place > 5:
        return road - (5 - number << shift)
    if geisha & 24:
        return road + (8 + (rules.DARK[road >> 43] << 5) - (geisha & 7) << shift) + _DARK
    return road + (8 + (rules.LIGHT[road >> 40 & 7] << 5) - (geisha & 7) << shift) + _LIGHT


def lanterns(road: Road) -> tuple[int, ...]:
    """Returns the prestige of each geisha's lanterns."""
    return tuple(road >> 8 * colour + 5 & 7 for colour in range(COLOURS))


def leads(lead: Lead) -> tuple[int, ...]:
    """Returns the lead on each geisha, from -10 to 10."""
    level = lead + _LEVEL
    return tuple((level >> 8 * colour & 255) - 64 for colour in range(COLOURS))


class Play(NamedTuple):
    """One or two cards that a player plays together, with the road after them and their influence."""

    cards: tuple[Card, ...]
    road: Road
    influence: Lead


def plays(road: Road, cards: tuple[Card, ...]) -> tuple[Play, ...]:
    """Returns the ways to play one card or two: both orders only if their effects differ, the sorted one first."""
    if len(cards) == 1:
        return (Play(cards, step(road, cards[0]), INFLUENCE[cards[0]]),)
    first, second = cards if cards[0] < cards[1] else (cards[1], cards[0])
    between = step(road, first)
    forth = step(between, second)
    sorted_one = Play((first, second), forth, INFLUENCE[first] + INFLUENCE[second])
    # The order of two geisha matters only if both come home: the first takes the first lantern.
    taken = road >> 40, between >> 40, forth >> 40
    if _SHIFT[first] != _SHIFT[second] and not taken[0] < taken[1] < taken[2]:
        return (sorted_one,)
    back = step(step(road, second), first)
    return (sorted_one,) if forth == back else (sorted_one, Play((second, first), back, sorted_one.influence))


class GeishasRoadMove(NamedTuple):
    """An action: its bit in a mask of used actions, its cards in the order of its notation, and as a set.

    `shares` are the cards that the other player can take of a proposal, each with the cards left. It is empty for other
    actions.
    """

    bit: int
    cards: tuple[Card, ...]
    mask: int
    shares: tuple[tuple[tuple[Card, ...], tuple[Card, ...]], ...]


REVEALS, INTRIGUES, GIFTS, COMPETITIONS = (BITS[code] for code in (REVEAL, INTRIGUE, GIFT, COMPETITION))


@cache
def make(bit: int, cards: tuple[Card, ...]) -> GeishasRoadMove:
    """Makes a move from its bit and its cards."""
    shares: tuple[tuple[tuple[Card, ...], tuple[Card, ...]], ...] = ()
    if bit == GIFTS:
        shares = tuple(((card,), tuple(c for c in cards if c != card)) for card in cards)
    elif bit == COMPETITIONS:
        shares = ((cards[:2], cards[2:]), (cards[2:], cards[:2]))
    return GeishasRoadMove(bit, cards, mask_of(cards), shares)


def read(action: str) -> GeishasRoadMove:
    """Converts an action in canonical notation, with all of its cards known, to a move."""
    return make(BITS[action[0]], cards_of(action[1:]))


def write(move: GeishasRoadMove) -> str:
    """Returns the canonical notation of a move."""
    return CODES[move.bit.bit_length() - 1] + names_of(move.cards)


class GeishasRoadSide(NamedTuple):
    """The side of one player: hand, mask of used actions, lead, cards still to come, and the card it keeps.

    `lead` counts the player's own kept card but not the other's. `coming` are all cards except those that the player
    knows to be in a tableau, kept or discarded, so they include its own hand. `kept` is a set of one card, or empty.
    """

    hand: int
    used: int
    lead: Lead
    coming: int
    kept: int = 0

    def shows(self, move: GeishasRoadMove, gain: Lead) -> GeishasRoadSide:
        """Returns this side after its own move, which adds `gain` to its lead."""
        mask = move.mask
        return GeishasRoadSide(
            self.hand & ~mask, self.used | move.bit, self.lead + gain, self.coming & ~mask, self.kept
        )

    def hides(self, move: GeishasRoadMove) -> GeishasRoadSide:
        """Returns this side after its own intrigue."""
        mask, card = move.mask, move.cards[0]
        return GeishasRoadSide(
            self.hand & ~mask, self.used | move.bit, self.lead + INFLUENCE[card], self.coming & ~mask, 1 << card
        )

    def meets(self, move: GeishasRoadMove, gain: Lead) -> GeishasRoadSide:
        """Returns this side after a move of the other that is not an intrigue and adds `gain` to the other's lead."""
        return GeishasRoadSide(self.hand, self.used, self.lead - gain, self.coming & ~move.mask, self.kept)


class GeishasRoadPlayer(Protocol):
    """A player in a playout."""

    def best(self, side: GeishasRoadSide, road: Road) -> GeishasRoadMove:
        """Returns the player's move."""

    def reply(self, side: GeishasRoadSide, road: Road, move: GeishasRoadMove) -> tuple[Play, tuple[Card, ...]]:
        """Returns the cards that the player takes of a proposal, in order, and those that are left."""

    def order(self, side: GeishasRoadSide, options: tuple[Play, ...]) -> Play:
        """Returns the order in which the player plays the cards left of its proposal, if the order matters."""


GeishasRoadPair: TypeAlias = tuple[GeishasRoadPlayer, GeishasRoadPlayer]
"""The players in seats 0 and 1. Seat 0 is the player who decides, whatever its seat in the game."""


class GeishasRoadRoundEnd(NamedTuple):
    """The end of a round: the road and seat 0's lead after both kept cards have been played."""

    road: Road
    lead: Lead


def make_move(
    sides: tuple[GeishasRoadSide, GeishasRoadSide],
    seat: int,
    road: Road,
    move: GeishasRoadMove,
    players: GeishasRoadPair,
) -> tuple[GeishasRoadSide, GeishasRoadSide, Road]:
    """Returns both sides and the road after `seat`'s move, with its answer and the order of the cards left, if any."""
    actor, other = sides[seat], sides[1 - seat]
    if move.bit == INTRIGUES:
        actor = actor.hides(move)
        return (other, actor, road) if seat else (actor, other, road)
    if move.shares:
        taken, rest = players[1 - seat].reply(other, road, move)
        return finish(sides, seat, move, taken, rest, players)
    gain = INFLUENCE[move.cards[0]]
    road = step(road, move.cards[0])
    actor, other = actor.shows(move, gain), other.meets(move, gain)
    return (other, actor, road) if seat else (actor, other, road)


def finish(
    sides: tuple[GeishasRoadSide, GeishasRoadSide],
    seat: int,
    move: GeishasRoadMove,
    taken: Play,
    rest: tuple[Card, ...],
    players: GeishasRoadPair,
) -> tuple[GeishasRoadSide, GeishasRoadSide, Road]:
    """Returns both sides and the road after `seat`'s proposal, of which `taken` has been taken."""
    options = plays(taken.road, rest)
    gain = options[0].influence - taken.influence
    actor, other = sides[seat].shows(move, gain), sides[1 - seat].meets(move, gain)
    road = (options[0] if len(options) == 1 else players[seat].order(actor, options)).road
    return (other, actor, road) if seat else (actor, other, road)


def play_out(
    sides: tuple[GeishasRoadSide, GeishasRoadSide],
    seat: int,
    road: Road,
    deck: Sequence[Card],
    starter: int,
    players: GeishasRoadPair,
) -> GeishasRoadRoundEnd:
    """Plays a round to its end. `seat` draws the first card of `deck`; `starter` is the seat that started the round."""
    first, second = sides
    for card in deck:
        hand, used, lead, coming, kept = second if seat else first
        side = GeishasRoadSide(hand | 1 << card, used, lead, coming, kept)
        both = (first, side) if seat else (side, second)
        first, second, road = make_move(both, seat, road, players[seat].best(side, road), players)
        seat = 1 - seat
    mine, yours = first.kept.bit_length() - 1, second.kept.bit_length() - 1
    road = step(step(road, yours), mine) if starter else step(step(road, mine), yours)
    return GeishasRoadRoundEnd(road, first.lead - INFLUENCE[yours])
