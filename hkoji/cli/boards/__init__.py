"""Boards for people, one module a game; `draw` finds the one of a position."""

from __future__ import annotations

from hkoji.cli.boards import hanamikoji
from hkoji.cli.output import Style
from hkoji.client import Position

_BOARDS = {"hanamikoji": hanamikoji.draw}


def draw(position: Position, style: Style) -> str:
    """A position as a board, with what has happened and what can be done."""
    return _BOARDS[position.course.setup.ruleset.name](position, style)
