"""Reading moves of Geisha's Road as people type them: lenient in, canonical out.

`ra3`, `reveal A3`, `i b2 c1`, `gift a1 b2 c4`, `c a1b2/c3d4`, `-b2`, `take a1 b2`, `>c4a1`, `order c4 a1`, `!a`,
`marker a`, `^0`, `start host`. This module does not check whether a move is legal. docs/rules/notation.md describes the
notation.
"""

from __future__ import annotations

import re
from typing import Final

from hkoji.errors import NotationError
from hkoji.messages.text import plural, tell
from hkoji.rules.cards import UNKNOWN, no_more
from hkoji.rules.geishas_road.actions import COLOURS, COMPETITION, GIFT, INTRIGUE, NAMES, REVEAL, SIZES, write
from hkoji.rules.protocol import Due

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
