"""Boards for people, one module a game; `draw` finds the one of a position."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from hkoji.cli.boards.board import Board
from hkoji.cli.output import TextStyle
from hkoji.client import Position

BOARDS: Final = {
    "geishas-road": "hkoji.cli.boards.geishas_road:GeishasRoadBoard",
    "hanamikoji": "hkoji.cli.boards.hanamikoji:HanamikojiBoard",
}
"""From a ruleset's name to its board's module and class; only the one that is drawn is imported."""


def board(position: Position, style: TextStyle) -> Board:
    """The board of a position's game."""
    module, _, name = BOARDS[position.course.setup.ruleset.name].partition(":")
    return cast(Callable[[Position, TextStyle], Board], getattr(import_module(module), name))(position, style)


def draw(position: Position, style: TextStyle) -> str:
    """A position as a board, with what has happened and what can be done."""
    return board(position, style).draw()
