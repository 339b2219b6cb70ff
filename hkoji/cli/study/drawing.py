"""Writes positions as pictures: SVG files, or PNG files if the library for that is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from hkoji.cli import terminal
from hkoji.cli.files import write_result
from hkoji.cli.language import translate
from hkoji.cli.settings import deck_for
from hkoji.errors import UsageError
from hkoji.extras import install_command
from hkoji.game.position import Position
from hkoji.messages.text import tell
from hkoji.show.board import Look
from hkoji.show.games import board, draw_position

_ZOOM: Final = 2.0
"""Pixels of a PNG for each one of the drawing."""


def is_png(file: str) -> bool:
    """Returns whether a file is drawn as PNG, and not as SVG. Raises `UsageError` if its name does not say."""
    ending = Path(file).suffix.lower()
    if ending not in (".svg", ".png"):
        raise UsageError(
            tell("{file} is neither an SVG nor a PNG file", file=file), hint=tell("the name must end in .svg or .png")
        )
    return ending == ".png"


def draw(position: Position, where: str) -> str:
    """Returns a position as SVG text, with the title `where`."""
    deck = deck_for(position.course.setup.ruleset.name, symbols=True)
    return draw_position(board(position, Look(translate, deck)).scene(where))


def write(svg: str, file: str, *, png: bool, force: bool) -> None:
    """Writes a drawing into a file, `-` for standard output.

    Raises `UsageError` if a PNG cannot be made or shown here, and what `write_result` raises.
    """
    data = _png(svg) if png else svg.encode()
    if file != "-":
        write_result(file, data, force=force)
        return
    if png and sys.stdout.isatty():
        raise UsageError(tell("a PNG cannot be shown at a terminal"), hint=tell("give a file, or pipe it on"))
    terminal.screen().write_bytes(data)


def _png(svg: str) -> bytes:
    try:
        import resvg_py
    except ImportError as error:
        raise UsageError(
            tell("the PNG renderer is not installed"),
            hint=tell("install it with: {command}, or draw an SVG", command=install_command("png")),
        ) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM))
