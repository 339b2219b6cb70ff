"""The four actions and the two answers: which a hand allows, where their cards go, and how they are read and written.

Every result on cards here depends only on a multiset of cards or on an action's text. There are few of either (12,960
hands, of which a few thousand occur, and fewer than a thousand actions), so all these results are memoised without a
bound.

Moves are read as people type them, lenient in, canonical out: `1e`, `2 b c`, `4ac/bd`, `gift b c c`, `trade-off bc`,
`-c`, `take b d`, `regalo b c c`, `prendi b d`. Whether a move is legal is not checked. docs/rules/notation.md describes
the notation.

Source: rulebooks, "Actions" (2018 English: Secret, Discard, Gift, Competition).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from typing import Final, NamedTuple

from hkoji.errors import NotationError
from hkoji.messages.text import plural, tell
from hkoji.rules.cards import UNKNOWN, Cards, Pack

KINDS: Final = "ABCDEFG"
CHARM: Final = (2, 2, 2, 3, 3, 4, 5)
"""The geisha in their row, by charm; each has as many item cards."""

PACK: Final = Pack(KINDS, CHARM)

SECRET, TRADE_OFF, GIFT, COMPETITION = 1, 2, 3, 4
NUMBERS: Final = (SECRET, TRADE_OFF, GIFT, COMPETITION)
"""An action's number is also the number of cards it uses."""

NAMES: Final = {
    SECRET: tell("secret"),
    TRADE_OFF: tell("trade-off"),
    GIFT: tell("gift"),
    COMPETITION: tell("competition"),
}
FACE_DOWN: Final = frozenset({SECRET, TRADE_OFF})
ALL_USED: Final = 0b1111


def bit(number: int) -> int:
    """The bit of an action in a mask of used actions."""
    return 1 << (number - 1)


class HanamikojiPlayed(NamedTuple):
    """An action, read: its number, its cards, and the part of a used-actions mask it sets."""

    number: int
    cards: Cards
    mask: int


@cache
def read(action: str) -> HanamikojiPlayed:
    """Reads canonical notation. `1X` and `2XX` are canonical too. Raises `NotationError` for anything else."""
    number = "1234".find(action[:1]) + 1
    names = PACK.split(action[1:])
    if not number or len(names) != number:
        raise NotationError(action, tell("an action is its number and that many cards, as in 1E, 2BC, 3BCC or 4ACBD"))
    unknown = names.count(UNKNOWN)
    if unknown and (number not in FACE_DOWN or unknown != number):
        raise NotationError(
            action,
            tell(
                "{unknown} stands only for all cards of a {first} or {second}",
                unknown=UNKNOWN,
                first=NAMES[SECRET],
                second=NAMES[TRADE_OFF],
            ),
        )
    if write(number, names) != action:
        raise NotationError(action, tell("the canonical form is {form}", form=write(number, names)))
    return HanamikojiPlayed(number, PACK.encode(names), bit(number))


def write(number: int, names: tuple[str, ...]) -> str:
    """Canonical notation: cards sorted; in a competition sorted within each pair, then the pairs."""
    if number == COMPETITION:
        pairs = sorted("".join(sorted(pair)) for pair in (names[:2], names[2:]))
        return f"{number}{''.join(pairs)}"
    return f"{number}{''.join(sorted(names))}"


@cache
def choices(number: int, hand: Cards) -> tuple[str, ...]:
    """All actions of one number that a known hand allows, sorted."""
    groups = sorted(set(combinations(PACK.decode(hand), number)))
    if number != COMPETITION:
        return tuple(write(number, group) for group in groups)
    splits = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2))
    return tuple(sorted({write(number, tuple(group[i] for i in split)) for group in groups for split in splits}))


@cache
def choice_set(number: int, hand: Cards) -> frozenset[str]:
    """`choices` as a set."""
    return frozenset(choices(number, hand))


@cache
def actions(hand: Cards, used: int) -> tuple[str, ...]:
    """All actions open to a known hand, without those in `used`, sorted."""
    return tuple(action for number in NUMBERS if not used & bit(number) for action in choices(number, hand))


@cache
def answers(proposal: str) -> tuple[str, ...]:
    """All answers to an offered gift or competition, sorted."""
    cards = proposal[1:]
    if proposal[0] == str(GIFT):
        return tuple(f"-{card}" for card in sorted(set(cards)))
    return tuple(sorted({f"-{cards[:2]}", f"-{cards[2:]}"}))


@cache
def taken(proposal: str, answer: str) -> tuple[Cards, Cards]:
    """The cards that an answer takes and those that are left to the actor. The answer is one of `answers(proposal)`."""
    took = PACK.encode(answer[1:])
    return took, PACK.encode(proposal[1:]) - took


def public(action: str) -> str:
    """An action as the opponent sees it: a secret and a trade-off show none of their cards."""
    return action[0] + UNKNOWN * (len(action) - 1) if action[:1] in ("1", "2") else action


_WORDS: Final = {
    "secret": SECRET,
    "trade-off": TRADE_OFF,
    "tradeoff": TRADE_OFF,
    "trade off": TRADE_OFF,
    "discard": TRADE_OFF,
    "gift": GIFT,
    "competition": COMPETITION,
    "compete": COMPETITION,
    "segreto": SECRET,
    "scarto": TRADE_OFF,
    "regalo": GIFT,
    "sfida": COMPETITION,
}
"""The words of all languages are accepted, whichever language is in use."""
_ANSWER_WORDS: Final = ("take", "answer", "choose", "prendi", "rispondi", "scegli")
_HEAD = re.compile(rf"({'|'.join(sorted(_WORDS, key=len, reverse=True))}|[1-4])", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s,/]+")

EXAMPLES: Final = tell("moves look like 1E, 2BC, 3BCC, 4ACBD; answers like -C or -BD")


def parse(text: str, *, proposal: str = "") -> str:
    """Canonical notation of one decision.

    `proposal` is the canonical proposal that waits for an answer, or empty; with one, the answer's `-` may be left out.
    Raises `NotationError`.
    """
    given = text.strip()
    if not given:
        raise NotationError(text, tell("it is empty"), hint=EXAMPLES)
    if not given.isascii():
        raise NotationError(text, tell("only plain letters and digits are used"), hint=EXAMPLES)
    lowered = given.lower()
    for word in ("-", *_ANSWER_WORDS):
        if lowered.startswith(word):
            return _answer(text, _cards(text, given[len(word) :]))
    head = _HEAD.match(given)
    if head is None:
        if proposal:
            return _answer(text, _cards(text, given))
        raise NotationError(text, tell("moves begin with 1 to 4"), hint=EXAMPLES)
    name = head[1].lower()
    number = int(name) if name in "1234" else _WORDS[name]
    rest = given[head.end() :]
    cards = _cards(text, rest)
    if len(cards) != number:
        reason = plural(
            "{action} ({code}) takes {n} card, not {given}",
            "{action} ({code}) takes {n} cards, not {given}",
            number,
            action=NAMES[number],
            code=number,
            given=len(cards),
        )
        raise NotationError(text, reason, hint=EXAMPLES)
    # In `4 a/bcd` the slash is a mistake: do not guess that a pair is AB.
    if number == COMPETITION and "/" in rest and [len(_cards(text, pair)) for pair in rest.split("/")] != [2, 2]:
        raise NotationError(text, tell("a / stands between the two pairs of two cards"), hint=EXAMPLES)
    unknown = cards.count(UNKNOWN)
    if unknown and (number not in (SECRET, TRADE_OFF) or unknown != number):
        reason = tell("{unknown} can stand only for a whole secret or trade-off", unknown=UNKNOWN)
        raise NotationError(text, reason, hint=EXAMPLES)
    return write(number, tuple(cards))


def _cards(text: str, rest: str) -> str:
    cards = _SEPARATORS.sub("", rest).upper()
    for card in cards:
        if card not in KINDS + UNKNOWN:
            raise NotationError(text, tell("{card!r} is no card; cards are A to G", card=card), hint=EXAMPLES)
    return cards


def _answer(text: str, cards: str) -> str:
    if len(cards) not in (1, 2):
        raise NotationError(
            text, tell("an answer takes one card of a gift or one pair of a competition"), hint=EXAMPLES
        )
    if UNKNOWN in cards:
        raise NotationError(text, tell("an answer names its cards"), hint=EXAMPLES)
    return "-" + "".join(sorted(cards))
