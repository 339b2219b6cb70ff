"""Positions for people: boards and sentences, SVG drawings, decks. Pure: the same input gives the same bytes.

`games.board` gives the board of a position; its `text` and `scene` are what a page, a letter or a terminal shows.
"""
