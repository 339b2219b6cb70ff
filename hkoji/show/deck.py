"""Decks: names of a game's cards, shown to people and typed by them. Notation, JSON and the log do not use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from hkoji.messages.text import Speaker


class DeckCard(NamedTuple):
    """Cards of a deck with one use: `suit` and `ranks` to pick, and what they stand for.

    `use` is `geisha`, `item` or `action`; `stands_for` is a kind of card (`A`) or the number of an action (`4`).
    `owner` is `host` or `guest` for action cards, else empty.
    """

    use: str
    suit: str
    ranks: tuple[str, ...]
    stands_for: str
    owner: str = ""


class Deck(Protocol):
    """A way to name the cards of some games."""

    @property
    def name(self) -> str:
        """The deck's name in options and settings."""

    def fits(self, ruleset: str) -> bool:
        """Whether the game of that name can be played with it."""

    def symbol(self, card: str) -> str:
        """The shortest name of a card; `X` stays `X`."""

    def word(self, card: str) -> str:
        """The name of a card, spelled out; a `Text` if it depends on the language."""

    def write(self, notation: str) -> str:
        """Canonical notation with symbols for its cards, for reading only."""

    def parts(self, action: str) -> tuple[str, ...]:
        """The words to type for a decision in canonical notation; `read` reads them back."""

    def read(self, text: str) -> str:
        """A typed decision with this deck's names replaced by those of the notation.

        Leaves unknown text to the game's own parser. Raises `NotationError` for a card that is not in the game.
        """

    def cards(self) -> tuple[DeckCard, ...]:
        """The cards to pick for a game at a table; empty for a game's own cards."""


class StandardDeck:
    """A game's own cards, named by the letters of the notation."""

    name: Final = "standard"

    def fits(self, ruleset: str) -> bool:  # noqa: ARG002 # every game has its own cards
        """Returns True."""
        return True

    def symbol(self, card: str) -> str:
        """The card's name."""
        return card

    def word(self, card: str) -> str:
        """The card's name."""
        return card

    def write(self, notation: str) -> str:
        """The notation itself."""
        return notation

    def parts(self, action: str) -> tuple[str, ...]:
        """The notation itself."""
        return (action,)

    def read(self, text: str) -> str:
        """The text itself."""
        return text

    def cards(self) -> tuple[DeckCard, ...]:
        """No cards: they come with the game."""
        return ()


STANDARD: Final[Deck] = StandardDeck()


class SpelledDeck:
    """A deck whose cards are spelled out in the speaker's language, for places that do not have its symbols."""

    def __init__(self, deck: Deck, say: Speaker) -> None:
        self._deck: Final = deck
        self._say: Final = say

    @property
    def name(self) -> str:
        """The deck's name."""
        return self._deck.name

    def fits(self, ruleset: str) -> bool:
        """Whether the deck fits."""
        return self._deck.fits(ruleset)

    def symbol(self, card: str) -> str:
        """The card's word."""
        return self._say(self._deck.word(card))

    def word(self, card: str) -> str:
        """The card's word."""
        return self._deck.word(card)

    def write(self, notation: str) -> str:
        """`3 spades hearts hearts` for `3BCC`."""
        return " ".join(each if self._deck.write(each) == each else self.symbol(each) for each in notation)

    def parts(self, action: str) -> tuple[str, ...]:
        """The words to type, which are those of the deck."""
        return self._deck.parts(action)

    def read(self, text: str) -> str:
        """A typed decision, as the deck reads it."""
        return self._deck.read(text)

    def cards(self) -> tuple[DeckCard, ...]:
        """The deck's cards."""
        return self._deck.cards()


def typed(deck: Deck, action: str, say: Speaker) -> str:
    """Returns the text to type for a decision, in the deck's names and the speaker's language."""
    return " ".join(map(say, deck.parts(action)))


def symbols(deck: Deck, cards: Iterable[str]) -> str:
    """Returns the cards side by side by their symbols."""
    return " ".join(map(deck.symbol, cards))


def spelled(deck: Deck, cards: Iterable[str], say: Speaker) -> str:
    """Returns the cards side by side, spelled out in the speaker's language."""
    return " ".join(map(say, map(deck.word, cards)))
