"""The four actions of Geisha's Road: what a hand can play, which cards an action names, how they are read and written.

All twenty cards differ, so a multiset of them is a set, and its number in `PACK` a bit mask.

Moves are read as people type them, lenient in, canonical out: `ra3`, `reveal A3`, `i b2 c1`, `gift a1 b2 c4`,
`c a1b2/c3d4`, `-b2`, `take a1 b2`, `>c4a1`, `order c4 a1`, `!a`, `marker a`, `^0`, `start host`. Whether a move is
legal is not checked. docs/rules/notation.md describes the notation.

Source: rulebook (2021), "Gameplay": 1 Reveal, 2 Intrigue, 3 Gift, 4 Competition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import combinations
from operator import add, itemgetter
from typing import Final, NamedTuple, TypeAlias

from hkoji.errors import IllegalActionError, MissingCardsError, NotationError
from hkoji.messages.text import any_of, plural, tell
from hkoji.rules.cards import NAME_CARDS, UNKNOWN, Cards, Pack, no_more
from hkoji.rules.protocol import Due

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


_WORDS: Final = {
    "competition": COMPETITION,
    "compete": COMPETITION,
    "intrigue": INTRIGUE,
    "reveal": REVEAL,
    "gift": GIFT,
    "rivelazione": REVEAL,
    "rivela": REVEAL,
    "intrigo": INTRIGUE,
    "regalo": GIFT,
    "sfida": COMPETITION,
    "r": REVEAL,
    "i": INTRIGUE,
    "g": GIFT,
    "c": COMPETITION,
}
"""Words are tried in this order, so a longer word stands before a shorter word with which it begins.

The words of all languages are accepted, whichever language is in use.
"""
_SIGNS: Final = {
    "-": ("take", "answer", "choose", "prendi", "rispondi", "scegli"),
    ">": ("order", "play", "ordine", "ordina", "gioca"),
    "!": ("marker", "pick", "segnalino"),
    "^": ("starter", "start", "first", "comincia"),
}
"""The sign of a decision, and the words for it."""
_BARE: Final = {Due.ANSWER: "-", Due.ORDER: ">"}
"""The sign that is assumed for cards without a sign when one of these is due."""
_SEATS: Final = {"0": 0, "host": 0, "casa": 0, "1": 1, "guest": 1, "ospite": 1}

_CARDS = re.compile(r"(?:[A-E][1-4]|X)*")
_CARD = re.compile(r"[A-E][1-4]|X")
_SEPARATORS = re.compile(r"[\s,/]+")

_NO_CARDS: Final = tell("its cards are not colours A to E with numbers 1 to 4")
EXAMPLES: Final = tell("moves look like RA3, IB2C1, GA1B2C4, CA1B2C3D4; answers like -B2 or -B2A1; orders like >C4A1")


def parse(text: str, *, due: Due = Due.ACT) -> str:
    """Canonical notation of one decision. `due` is the decision that is due; its sign may be left out.

    Raises `NotationError`.
    """
    given = text.strip()
    if not given:
        raise NotationError(text, tell("it is empty"), hint=EXAMPLES)
    if not given.isascii():
        raise NotationError(text, tell("only plain letters and digits are used"), hint=EXAMPLES)
    sign, rest = _sign(given)
    if sign:
        return _signed(text, sign, rest)
    if due is Due.PICK and (given.lower() in _SEATS or len(given) == 1):
        return _signed(text, "^" if given.lower() in _SEATS else "!", given)
    if due in _BARE and _is_cards(given):
        return _signed(text, _BARE[due], given)
    return _action(text, given)


def _sign(given: str) -> tuple[str, str]:
    """The sign that `given` begins with (or its word) and the rest; an empty sign if there is none."""
    for sign, words in _SIGNS.items():
        if given.startswith(sign):
            return sign, given[1:]
        for word in words:
            if given.lower().startswith(word):
                return sign, given[len(word) :]
    return "", given


def _signed(text: str, sign: str, rest: str) -> str:
    if sign == "^":
        seat = _SEATS.get(rest.strip().lower())
        if seat is None:
            raise NotationError(text, tell("the starting player is 0 or host, 1 or guest"), hint=EXAMPLES)
        return f"^{seat}"
    if sign == "!":
        colour = rest.strip().upper()
        if len(colour) != 1 or colour not in COLOURS:
            raise NotationError(
                text, tell("a marker is one of the colours A to E"), hint=tell("type ! and a colour, as in !A")
            )
        return f"!{colour}"
    cards = _cards(text, rest)
    if UNKNOWN in cards:
        raise NotationError(text, tell("an answer and an order name their cards"), hint=EXAMPLES)
    if sign == "-" and len(cards) not in (1, 2):
        raise NotationError(
            text, tell("an answer takes one card of a gift or one pair of a competition"), hint=EXAMPLES
        )
    if sign == ">" and len(cards) != 2:
        raise NotationError(
            text, tell("an order names the two cards that are left, the first one first"), hint=EXAMPLES
        )
    _check_single(text, cards)
    return sign + "".join(cards)


def _action(text: str, given: str) -> str:
    joined = _SEPARATORS.sub("", given).lower()
    words = [word for word in _WORDS if joined.startswith(word)]
    word = next((word for word in words if _CARDS.fullmatch(joined[len(word) :].upper())), None)
    if word is None:
        reason = _NO_CARDS if words else tell("moves begin with R, I, G or C")
        raise NotationError(text, reason, hint=EXAMPLES)
    code, cards = _WORDS[word], tuple(_CARD.findall(joined[len(word) :].upper()))
    if len(cards) != SIZES[code]:
        reason = plural(
            "{action} ({code}) takes {n} card, not {given}",
            "{action} ({code}) takes {n} cards, not {given}",
            SIZES[code],
            action=NAMES[code],
            code=code,
            given=len(cards),
        )
        raise NotationError(text, reason, hint=EXAMPLES)
    _check_single(text, tuple(card for card in cards if card != UNKNOWN))
    # In `c a1/b2c3d4` the slash is a mistake: do not guess that a pair is A1B2.
    first, slash, _ = given.partition("/")
    pair = _SEPARATORS.sub("", first)[len(word) :]
    if code == COMPETITION and slash and (given.count("/") > 1 or len(pair) != len("A1B2")):
        raise NotationError(text, tell("a / stands between the two pairs of two cards"), hint=EXAMPLES)
    if UNKNOWN in cards and (code != INTRIGUE or cards[1] != UNKNOWN):
        reason = tell("{unknown} can stand only for the cards of an {action}", unknown=UNKNOWN, action=NAMES[INTRIGUE])
        raise NotationError(text, reason, hint=EXAMPLES)
    return write(code, cards)


def _check_single(text: str, cards: tuple[str, ...]) -> None:
    for card in cards:
        if cards.count(card) > 1:
            raise NotationError(text, no_more(1, card), hint=EXAMPLES)


def _is_cards(given: str) -> bool:
    return _CARDS.fullmatch(_SEPARATORS.sub("", given).upper()) is not None


def _cards(text: str, rest: str) -> tuple[str, ...]:
    joined = _SEPARATORS.sub("", rest).upper()
    if not _CARDS.fullmatch(joined):
        raise NotationError(text, _NO_CARDS, hint=EXAMPLES)
    return tuple(_CARD.findall(joined))
