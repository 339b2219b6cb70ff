"""Positions for people: drawings, decks, words. Pure: the same input gives the same bytes."""
