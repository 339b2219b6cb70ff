"""The game's own cards, by the letters of the notation."""

from __future__ import annotations

from typing import Final

from hkoji.show.decks.protocol import Card


class StandardDeck:
    """Names every card as the notation does."""

    name: Final = "standard"

    def fits(self, ruleset: str) -> bool:  # noqa: ARG002 # every game has its own cards
        """Always."""
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

    def cards(self) -> tuple[Card, ...]:
        """None: they come with the game."""
        return ()
