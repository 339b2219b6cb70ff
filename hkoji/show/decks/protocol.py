"""What a deck is to the rest of the project: the `Deck` protocol, and the cards to pick from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Card:
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
        """What it is called in options and settings."""

    def fits(self, ruleset: str) -> bool:
        """Whether the game of that name can be played with it."""

    def symbol(self, card: str) -> str:
        """A card as the fewest columns show it; `X` stays `X`."""

    def word(self, card: str) -> str:
        """A card as it is spelled out; a `Text` if that depends on the language."""

    def write(self, notation: str) -> str:
        """Canonical notation with symbols for its cards, to be looked at."""

    def parts(self, action: str) -> tuple[str, ...]:
        """Canonical notation as the words to type for it, which `read` reads back."""

    def read(self, text: str) -> str:
        """A move as it was typed, with this deck's names replaced by those of the notation.

        What it does not know it leaves to the game's own parser. Raises `NotationError` for a card that has no part.
        """

    def cards(self) -> tuple[Card, ...]:
        """The cards to pick for a game at a table; empty for a game's own cards."""
