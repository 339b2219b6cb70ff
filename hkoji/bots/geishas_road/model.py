"""A round of Geisha's Road as small integers: where the geisha stand, who is ahead where, and what a play changes.

A card is a number from 0 to 19, a set of cards a bit mask as in the rules' pack. A *road* is one number too: eight
bits a colour (steps from home, homecomings, prestige of her lanterns) and above them how many lanterns have been
taken of either deck. A *lead* is one player's influence on each geisha less the other's, eight bits a colour, added
up as signed numbers; a marker's half point is no part of it. Nobody referees with this: tests/bots/ holds it to the
rules engine.
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
    """The cards named in `text`, in its order."""
    return tuple(_INDEX[name] for name in PACK.split(text))


def names_of(cards: Sequence[Card]) -> str:
    """The cards' names, in the same order."""
    return "".join(_NAMES[card] for card in cards)


def in_mask(mask: int) -> tuple[Card, ...]:
    """The known cards of a set."""
    return tuple(card for card in CARDS if mask >> card & 1)


def mask_of(cards: Sequence[Card]) -> int:
    """The set of some cards."""
    return sum(1 << card for card in cards)


def from_road(road: rules.Road) -> Road:
    """The rules' road as a number."""
    value = 0
    for colour in range(COLOURS):
        value |= (road.places[colour] | road.homes[colour] << 3 | road.lanterns[colour] << 5) << 8 * colour
    return value + len([h for h in road.homes if h > 0]) * _LIGHT + len([h for h in road.homes if h > 1]) * _DARK


def step(road: Road, card: Card) -> Road:
    """The road after one card."""
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
    """The prestige of each geisha's lanterns."""
    return tuple(road >> 8 * colour + 5 & 7 for colour in range(COLOURS))


def leads(lead: Lead) -> tuple[int, ...]:
    """The lead on each geisha, from -10 to 10."""
    level = lead + _LEVEL
    return tuple((level >> 8 * colour & 255) - 64 for colour in range(COLOURS))


class Play(NamedTuple):
    """Cards played in one go by one player: the road after them, and their influence."""

    cards: tuple[Card, ...]
    road: Road
    influence: Lead


def plays(road: Road, cards: tuple[Card, ...]) -> tuple[Play, ...]:
    """The ways to play one card or two: both orders only where they differ, the sorted one first."""
    if len(cards) == 1:
        return (Play(cards, step(road, cards[0]), INFLUENCE[cards[0]]),)
    first, second = cards if cards[0] < cards[1] else (cards[1], cards[0])
    between = step(road, first)
    forth = step(between, second)
    sorted_one = Play((first, second), forth, INFLUENCE[first] + INFLUENCE[second])
    # Two geisha get in each other's way only if both come home: then it matters who is first.
    taken = road >> 40, between >> 40, forth >> 40
    if _SHIFT[first] != _SHIFT[second] and not taken[0] < taken[1] < taken[2]:
        return (sorted_one,)
    back = step(step(road, second), first)
    return (sorted_one,) if forth == back else (sorted_one, Play((second, first), back, sorted_one.influence))


class GeishasRoadMove(NamedTuple):
    """An action: its bit in a mask of used actions, its cards in the order of its notation, and as a set.

    `shares` are what the other player can take of an offer, each with what is left: both are empty for other actions.
    """

    bit: int
    cards: tuple[Card, ...]
    mask: int
    shares: tuple[tuple[tuple[Card, ...], tuple[Card, ...]], ...]


REVEALS, INTRIGUES, GIFTS, COMPETITIONS = (BITS[code] for code in (REVEAL, INTRIGUE, GIFT, COMPETITION))


@cache
def make(bit: int, cards: tuple[Card, ...]) -> GeishasRoadMove:
    """A move from its bit and its cards."""
    shares: tuple[tuple[tuple[Card, ...], tuple[Card, ...]], ...] = ()
    if bit == GIFTS:
        shares = tuple(((card,), tuple(c for c in cards if c != card)) for card in cards)
    elif bit == COMPETITIONS:
        shares = ((cards[:2], cards[2:]), (cards[2:], cards[:2]))
    return GeishasRoadMove(bit, cards, mask_of(cards), shares)


def read(action: str) -> GeishasRoadMove:
    """An action in canonical notation, all of its cards known, as a move."""
    return make(BITS[action[0]], cards_of(action[1:]))


def write(move: GeishasRoadMove) -> str:
    """The canonical notation of a move."""
    return CODES[move.bit.bit_length() - 1] + names_of(move.cards)


class GeishasRoadSide(NamedTuple):
    """What one player holds and sees: hand, mask of used actions, lead, cards still to come, and the card it keeps.

    `lead` counts the player's own kept card and not the other's; `coming` are all cards that the player does not know
    to be in a tableau, kept or discarded, so its own hand is among them. `kept` is a set of one card, or empty.
    """

    hand: int
    used: int
    lead: Lead
    coming: int
    kept: int = 0

    def shows(self, move: GeishasRoadMove, gain: Lead) -> GeishasRoadSide:
        """This side after its own move, in which it gains `gain` of influence over the other."""
        mask = move.mask
        return GeishasRoadSide(
            self.hand & ~mask, self.used | move.bit, self.lead + gain, self.coming & ~mask, self.kept
        )

    def hides(self, move: GeishasRoadMove) -> GeishasRoadSide:
        """This side after its own intrigue."""
        mask, card = move.mask, move.cards[0]
        return GeishasRoadSide(
            self.hand & ~mask, self.used | move.bit, self.lead + INFLUENCE[card], self.coming & ~mask, 1 << card
        )

    def meets(self, move: GeishasRoadMove, gain: Lead) -> GeishasRoadSide:
        """This side after the other's move, if it was not an intrigue."""
        return GeishasRoadSide(self.hand, self.used, self.lead - gain, self.coming & ~move.mask, self.kept)


class GeishasRoadPlayers(Protocol):
    """Who plays a round out. Seat 0 is whoever the round is about, whatever it is in the game."""

    def act(self, seat: int, side: GeishasRoadSide, road: Road) -> GeishasRoadMove:
        """The move of `seat`."""

    def reply(
        self, seat: int, side: GeishasRoadSide, road: Road, move: GeishasRoadMove
    ) -> tuple[Play, tuple[Card, ...]]:
        """What `seat` takes of an offer, in what order, and what is left of it."""

    def order(self, seat: int, side: GeishasRoadSide, options: tuple[Play, ...]) -> Play:
        """The order in which `seat` plays what is left of its offer, where it matters."""


class GeishasRoadRoundEnd(NamedTuple):
    """A round's end: the road and seat 0's lead after both kept cards have been played."""

    road: Road
    lead: Lead


def make_move(
    sides: tuple[GeishasRoadSide, GeishasRoadSide],
    seat: int,
    road: Road,
    move: GeishasRoadMove,
    players: GeishasRoadPlayers,
) -> tuple[GeishasRoadSide, GeishasRoadSide, Road]:
    """Both sides and the road after `seat`'s move, any answer and any order of what is left."""
    actor, other = sides[seat], sides[1 - seat]
    if move.bit == INTRIGUES:
        actor = actor.hides(move)
        return (other, actor, road) if seat else (actor, other, road)
    if move.shares:
        taken, rest = players.reply(1 - seat, other, road, move)
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
    players: GeishasRoadPlayers,
) -> tuple[GeishasRoadSide, GeishasRoadSide, Road]:
    """Both sides and the road after `seat`'s offer, of which `taken` has been taken."""
    options = plays(taken.road, rest)
    gain = options[0].influence - taken.influence
    actor, other = sides[seat].shows(move, gain), sides[1 - seat].meets(move, gain)
    road = (options[0] if len(options) == 1 else players.order(seat, actor, options)).road
    return (other, actor, road) if seat else (actor, other, road)


def play_out(
    sides: tuple[GeishasRoadSide, GeishasRoadSide],
    seat: int,
    road: Road,
    deck: Sequence[Card],
    starter: int,
    players: GeishasRoadPlayers,
) -> GeishasRoadRoundEnd:
    """Plays a round to its end. `seat` is to draw the first card of `deck`; `starter` has started the round."""
    first, second = sides
    for card in deck:
        hand, used, lead, coming, kept = second if seat else first
        side = GeishasRoadSide(hand | 1 << card, used, lead, coming, kept)
        both = (first, side) if seat else (side, second)
        first, second, road = make_move(both, seat, road, players.act(seat, side, road), players)
        seat = 1 - seat
    mine, yours = first.kept.bit_length() - 1, second.kept.bit_length() - 1
    road = step(step(road, yours), mine) if starter else step(step(road, mine), yours)
    return GeishasRoadRoundEnd(road, first.lead - INFLUENCE[yours])
