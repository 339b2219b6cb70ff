"""Hanamikoji on the Everdeck, a generic deck of 120 cards: eight suits, ranks 0 to 9, X, J, Q, K and A.

A geisha of charm n is the n of her suit, and her items are the ranks below. Items of a suit are interchangeable, so a
typed move may name any rank of an item. A written move has no ranks. The action cards are the X, J, Q and K of two
suits.

Source: the Everdeck's page for Hanamikoji. Its table does not say whether moons or stars carry the geisha of charm 5
and her items; here it is moons.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from hkoji.errors import NotationError
from hkoji.messages.text import Speaker, Text, tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.hanamikoji.actions import CHARM, COMPETITION, GIFT, KINDS, SECRET, TRADE_OFF
from hkoji.rules.hanamikoji.ruleset import NAME
from hkoji.show.deck import Deck, DeckCard


class _Suit(NamedTuple):
    """A suit: its name in code and JSON, spelled out for people, its symbol, and what else is read for it."""

    name: str
    word: Text
    symbol: str
    read: tuple[str, ...]


_SUITS: Final = (
    _Suit("clubs", tell("clubs"), "♣", ("club", "♧", "fiori", "fiore")),
    _Suit("spades", tell("spades"), "♠", ("spade", "♤", "picche", "picca")),
    _Suit("hearts", tell("hearts"), "♥", ("heart", "♡", "cuori", "cuore")),
    _Suit("diamonds", tell("diamonds"), "♦", ("diamond", "♢", "quadri", "quadro")),
    _Suit("coins", tell("coins"), "◉", ("coin", "monete", "moneta", "denari")),
    _Suit("crowns", tell("crowns"), "♛", ("crown", "♕", "corone", "corona")),
    _Suit("moons", tell("moons"), "☾", ("moon", "☽", "lune", "luna")),
    _Suit("stars", tell("stars"), "★", ("star", "☆", "stelle", "stella")),
)
_OF: Final = dict(zip(KINDS, _SUITS, strict=False))
_KINDS: Final = {suit.name: kind for kind, suit in _OF.items()}
_ITEMS: Final = {kind: tuple("0123456789"[:charm]) for kind, charm in zip(KINDS, CHARM, strict=True)}
_ACTIONS: Final = {"J": SECRET, "X": TRADE_OFF, "Q": GIFT, "K": COMPETITION}
_OWNERS: Final = {"host": "clubs", "guest": "spades"}

_NAMES: Final = {name: suit.name for suit in _SUITS for name in (suit.name, suit.symbol, *suit.read)}
_WORDS: Final = "|".join(sorted((name for name in _NAMES if name.isascii()), key=len, reverse=True))
_SYMBOLS: Final = "".join(name for name in _NAMES if not name.isascii())
# A symbol may be followed by the sign that asks for its coloured form.
_CARD: Final = re.compile(
    rf"(?:(?<![a-z])({_WORDS})(?![a-z])|([{_SYMBOLS}])\N{{VARIATION SELECTOR-16}}?)(?:[ \t]*([0-9]))?", re.IGNORECASE
)
_ACTION: Final = re.compile(r"\s*([XJQK])(?![a-z])", re.IGNORECASE)


class Everdeck(Deck):
    """Names the cards of Hanamikoji by suits: by symbols, or spelled out by `say`."""

    name = "everdeck"

    def __init__(self, say: Speaker | None = None) -> None:
        self._say: Final = say
        self.is_spelled = say is not None

    def fits(self, ruleset: str) -> bool:
        """Only Hanamikoji."""
        return ruleset == NAME

    def spelled(self, say: Speaker) -> Everdeck:
        """The deck without symbols."""
        return Everdeck(say)

    def symbol(self, card: str) -> str:
        """The suit's symbol."""
        if card not in _OF:
            return card
        return _OF[card].symbol if self._say is None else self._say(_OF[card].word)

    def word(self, card: str) -> str:
        """The suit, spelled out."""
        return card if card == UNKNOWN else _OF[card].word

    def write(self, notation: str) -> str:
        """`3♠♥♥` for `3BCC`, or `3 spades hearts hearts`."""
        return (" " if self.is_spelled else "").join(map(self.symbol, notation))

    def parts(self, action: str) -> tuple[str, ...]:
        """`3`, `spades`, `hearts`, `hearts`; a `/` between the pairs of a competition; `take` for an answer."""
        cards = tuple(self.word(card) for card in action[1:])
        if action[0] == "-":
            return (tell("take"), *cards)
        if action[0] == str(COMPETITION):
            return (action[0], *cards[:2], "/", *cards[2:])
        return (action[0], *cards)

    def read(self, text: str) -> str:
        """`gift spades hearts 0 hearts`, `3 ♠ ♥ ♥`, `q picche cuori cuori` as `3 B C C`; letters are left alone."""
        action = _ACTION.match(text)
        read = f"{_ACTIONS[action[1].upper()]}{text[action.end() :]}" if action else text
        return _CARD.sub(lambda found: f" {self._kind(text, found)} ", read).strip()

    @staticmethod
    def _kind(text: str, found: re.Match[str]) -> str:
        suit, rank = _NAMES[(found[1] or found[2]).lower()], found[3]
        if suit not in _KINDS:
            raise NotationError(text, tell("no card of the game is of {suit}", suit=spelled(suit)))
        kind = _KINDS[suit]
        if rank and rank not in _ITEMS[kind]:
            raise NotationError(
                text,
                tell("{rank} of {suit} is no item", rank=rank, suit=spelled(suit)),
                hint=tell("items of {suit} are {ranks}", suit=spelled(suit), ranks=" ".join(_ITEMS[kind])),
            )
        return kind

    def cards(self) -> tuple[DeckCard, ...]:
        """36 cards: seven geisha, 21 items, four actions for each player."""
        geisha = (
            DeckCard("geisha", suit.name, (str(charm),), kind)
            for (kind, suit), charm in zip(_OF.items(), CHARM, strict=True)
        )
        items = (DeckCard("item", suit.name, _ITEMS[kind], kind) for kind, suit in _OF.items())
        actions = (
            DeckCard("action", suit, (rank,), str(number), owner)
            for owner, suit in _OWNERS.items()
            for rank, number in sorted(_ACTIONS.items(), key=lambda each: each[1])
        )
        return (*geisha, *items, *actions)


def spelled(suit: str) -> Text:
    """A suit's name for people. Raises `StopIteration` if there is no such suit."""
    return next(each.word for each in _SUITS if each.name == suit)
