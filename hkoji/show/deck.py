"""Decks: names of a game's cards, shown to people and typed by them. Notation, JSON and the log do not use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

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


class Deck:
    """A way to name the cards of some games. This one has every game's own cards, by the letters of the notation."""

    name: str = "standard"
    """The deck's name in options and settings."""
    is_spelled = False
    """Whether its cards are spelled out: no table has room for that."""

    def fits(self, ruleset: str) -> bool:  # noqa: ARG002 # every game has its own cards
        """Whether the game of that name can be played with it."""
        return True

    def spelled(self, say: Speaker) -> Deck:  # noqa: ARG002 # letters are shown everywhere
        """The deck for places that do not have its symbols: its cards are spelled out in the speaker's language."""
        return self

    def symbol(self, card: str) -> str:
        """The shortest name of a card; `X` stays `X`."""
        return card

    def word(self, card: str) -> str:
        """The name of a card, spelled out; a `Text` if it depends on the language."""
        return card

    def write(self, notation: str) -> str:
        """Canonical notation with symbols for its cards, for reading only."""
        return notation

    def parts(self, action: str) -> tuple[str, ...]:
        """The words to type for a decision in canonical notation; `read` reads them back."""
        return (action,)

    def read(self, text: str) -> str:
        """A typed decision with this deck's names replaced by those of the notation.

        Leaves unknown text to the game's own parser. Raises `NotationError` for a card that is not in the game.
        """
        return text

    def cards(self) -> tuple[DeckCard, ...]:
        """The cards to pick for a game at a table; empty for a game's own cards."""
        return ()


STANDARD: Final = Deck()


def typed(deck: Deck, action: str, say: Speaker) -> str:
    """Returns the text to type for a decision, in the deck's names and the speaker's language."""
    return " ".join(map(say, deck.parts(action)))


def symbols(deck: Deck, cards: Iterable[str]) -> str:
    """Returns the cards side by side by their symbols."""
    return " ".join(map(deck.symbol, cards))


def spelled(deck: Deck, cards: Iterable[str], say: Speaker) -> str:
    """Returns the cards side by side, spelled out in the speaker's language."""
    return " ".join(map(say, map(deck.word, cards)))
