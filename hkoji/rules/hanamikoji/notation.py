"""Reading moves as people type them: lenient in, canonical out.

`1e`, `2 b c`, `4ac/bd`, `gift b c c`, `trade-off bc`, `-c`, `take b d`, `regalo b c c`, `prendi b d`.
This module does not check whether a move is legal. docs/rules/notation.md describes the notation.
"""

from __future__ import annotations

import re
from typing import Final

from hkoji.errors import NotationError
from hkoji.messages.text import plural, tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.hanamikoji.actions import COMPETITION, GIFT, KINDS, NAMES, SECRET, TRADE_OFF, write

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
