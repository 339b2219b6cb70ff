"""The four actions of Geisha's Road, read and listed: what a hand can play, and which cards an action names.

All twenty cards differ, so a multiset of them is a set, and its number in `PACK` a bit mask.

Source: rulebook (2021), "Gameplay": 1 Reveal, 2 Intrigue, 3 Gift, 4 Competition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import combinations
from operator import add, itemgetter
from typing import Final, NamedTuple, TypeAlias

from hkoji.errors import IllegalActionError, MissingCardsError, NotationError
from hkoji.messages.text import any_of, tell
from hkoji.rules.cards import NAME_CARDS, UNKNOWN, Cards, Pack

COLOURS: Final = "ABCDE"
NUMBERS: Final = (1, 2, 3, 4)
"""The cards of each colour. The number is how far the geisha moves and how much influence the card has."""

PACK: Final = Pack([f"{colour}{number}" for colour in COLOURS for number in NUMBERS], [1] * 20)
KNOWN: Final = PACK.total
"""Mask of all known cards; what lies above it counts unknown ones."""

_WEIGHTS: Final = tuple((name, PACK.weight(name)) for name in PACK.kinds)

REVEAL, INTRIGUE, GIFT, COMPETITION = "R", "I", "G", "C"
CODES: Final = (REVEAL, INTRIGUE, GIFT, COMPETITION)
SIZES: Final = {REVEAL: 1, INTRIGUE: 2, GIFT: 3, COMPETITION: 4}
NAMES: Final = {
    REVEAL: tell("reveal"),
    INTRIGUE: tell("intrigue"),
    GIFT: tell("gift"),
    COMPETITION: tell("competition"),
}
BITS: Final = {REVEAL: 1, INTRIGUE: 2, GIFT: 4, COMPETITION: 8}
ALL_USED: Final = 0b1111

_HIDDEN: Final = INTRIGUE + UNKNOWN * 2
_HEADS: Final = {REVEAL: 1, INTRIGUE: 3, GIFT: 5, COMPETITION: 5}
"""How many characters of an action, as in `_listed`, form its first half."""
_PADDING: Final = 2
"""An `itemgetter` gives a tuple only for two places or more."""
_SPLITS: Final = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2))

_Choice: TypeAlias = Callable[[list[str]], tuple[str, ...]]
"""Selects items of a list in a fixed order."""


class GeishasRoadPlayed(NamedTuple):
    """An action, read: its code, its cards, and the part of a used-actions mask it sets."""

    code: str
    cards: Cards
    mask: int


@cache
def read(action: str) -> GeishasRoadPlayed:
    """Reads canonical notation. Raises `NotationError` for anything else.

    `IXX` is canonical too, and so is `IB2X`, whose kept card has been revealed since.
    """
    code = action[:1]
    names = PACK.split(action[1:]) if code in CODES else ()
    if len(names) != SIZES.get(code):
        raise NotationError(
            action, tell("an action is its letter and its cards, as in RA3, IB2C1, GA1B2C4 or CA1B2C3D4")
        )
    if UNKNOWN in names and (code != INTRIGUE or names[1] != UNKNOWN):
        raise NotationError(
            action, tell("{unknown} stands only for the cards of an {action}", unknown=UNKNOWN, action=NAMES[INTRIGUE])
        )
    if write(code, names) != action:
        raise NotationError(action, tell("the canonical form is {form}", form=write(code, names)))
    return GeishasRoadPlayed(code, PACK.encode(names), BITS[code])


def write(code: str, names: tuple[str, ...]) -> str:
    """Canonical notation: cards sorted; in a competition within each pair, then the pairs; an intrigue as given.

    The first card of an intrigue is kept and the second discarded, so their order matters.
    """
    if code == COMPETITION:
        return code + "".join(sorted("".join(sorted(pair)) for pair in (names[:2], names[2:])))
    return code + "".join(names if code == INTRIGUE else sorted(names))


# The cache is small: there are 77,520 hands of seven cards, and each has 189 actions.
@lru_cache(maxsize=1024)
def actions(hand: Cards, used: int) -> tuple[str, ...]:
    """All actions open to a known hand, without those in `used`, sorted."""
    names = tuple([name for name, weight in _WEIGHTS if hand & weight])
    parts = _parts(names)
    heads, tails = _halves(len(names), used)
    return tuple(map(add, heads(parts), tails(parts)))[:-_PADDING]


def _listed(names: tuple[str, ...], used: int) -> list[str]:
    """All actions of a hand with these cards, one by one."""
    found: list[str] = []
    if not used & BITS[COMPETITION]:
        for group in combinations(names, 4):
            found.extend(COMPETITION + group[a] + group[b] + group[c] + group[d] for a, b, c, d in _SPLITS)
        found.sort()
    if not used & BITS[GIFT]:
        found.extend(GIFT + a + b + c for a, b, c in combinations(names, 3))
    if not used & BITS[INTRIGUE]:
        found.extend(INTRIGUE + kept + discarded for kept in names for discarded in names if kept != discarded)
    if not used & BITS[REVEAL]:
        found.extend(REVEAL + name for name in names)
    return found


def _parts(names: tuple[str, ...]) -> list[str]:
    """Every text with which an action of this hand can begin or end."""
    two = list(map("".join, combinations(names, 2)))
    return [
        REVEAL,
        *names,
        *two,
        *[COMPETITION + pair for pair in two],
        *[GIFT + pair for pair in two],
        *[INTRIGUE + name for name in names],
    ]


@cache
def _halves(size: int, used: int) -> tuple[_Choice, _Choice]:
    """For hands of that many cards: which of the `_parts` each action begins with, and which follows.

    The names of a hand's cards are in the order of their places in it. So the list of actions of one hand, by places,
    is the list for all hands of that size.
    """
    names = PACK.kinds[:size]
    place = {part: n for n, part in enumerate(_parts(names))}
    listed = _listed(names, used)
    padding = [0] * _PADDING
    heads = [place[action[: _HEADS[action[0]]]] for action in listed] + padding
    tails = [place[action[_HEADS[action[0]] :]] for action in listed] + padding
    return itemgetter(*heads), itemgetter(*tails)


def pairs(proposal: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The two pairs of an offered competition."""
    a, b, c, d = PACK.split(proposal[1:])
    return (a, b), (c, d)


def public(action: str) -> str:
    """An action as the other seat sees it: an intrigue shows none of its cards."""
    return _HIDDEN if action[:1] == INTRIGUE else action


def all_differ(places: Iterable[Cards]) -> bool:
    """Whether no known card lies in two of `places`."""
    seen = 0
    for place in places:
        known = place & KNOWN
        if seen & known:
            return False
        seen |= known
    return True


def missing(action: str, hand: Cards, cards: Cards, shape: tuple[str, ...]) -> IllegalActionError:
    """The error of an action whose `cards` cannot be played from `hand`, which lacks some of them."""
    if cards >= PACK.unknown and hand < PACK.unknown:
        return IllegalActionError(action, NAME_CARDS, shape=shape)
    if hand >= PACK.unknown:
        return IllegalActionError(action, tell("the hand does not have that many cards"), shape=shape)
    return MissingCardsError(action, any_of(PACK.split(PACK.decode(cards & ~hand))), shape=shape)


def why_wrong_answer(answer: str, proposal: str, options: tuple[str, ...]) -> str:
    """The reason why `answer` is none of the `options`: it may name the right cards in the other order."""
    turned = "-" + "".join(reversed(PACK.split(answer[1:]))) if answer[:1] == "-" else ""
    if turned in options and proposal[0] == COMPETITION:
        return tell("both orders come to the same here, so it is written {turned}", turned=turned)
    return tell("{proposal} can be answered {answers}", proposal=proposal, answers=any_of(options))
