"""Decks: the cards that people have on their table, as names for the cards of a game, in and out.

Pure. A deck changes how cards are written for people, never how they behave: notation, JSON and the log know nothing
of it.
"""

from hkoji.show.decks.protocol import Card, Deck
from hkoji.show.decks.registry import DECKS, STANDARD, find_deck

__all__ = ["DECKS", "STANDARD", "Card", "Deck", "find_deck"]
