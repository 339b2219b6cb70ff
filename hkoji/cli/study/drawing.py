"""Positions as pictures: an SVG file as it stands, or a PNG if the library for that is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from hkoji.cli.boards import board
from hkoji.cli.language import _, translate
from hkoji.cli.output import TextStyle
from hkoji.client import Position
from hkoji.errors import StorageError, UsageError
from hkoji.messages.text import tell
from hkoji.show.drawings.position import draw_position
from hkoji.show.scene import Scene
from hkoji.study.eyes import Eyes

_ZOOM: Final = 2.0
"""Pixels of a PNG for each one of the drawing."""


class DrawingFile(NamedTuple):
    """A file to draw into, `-` for standard output, as SVG or as PNG."""

    file: str
    png: bool


def drawing_file(file: str) -> DrawingFile:
    """A target by the ending of its name. Raises `UsageError` for one that is neither `.svg` nor `.png`."""
    ending = Path(file).suffix.lower()
    if ending not in (".svg", ".png"):
        raise UsageError(tell("{file} is no picture's name", file=file), hint=tell("it ends in .svg or .png"))
    return DrawingFile(file, ending == ".png")


def draw(position: Position, eyes: Eyes, where: str) -> str:
    """A position as SVG text. `where` says what it is a position of."""
    words = board(position, TextStyle(colour=False, plain=False))
    host, guest = position.course.setup.names
    return draw_position(
        Scene(
            state=position.course.state,
            names=(host or _("the host"), guest or _("nobody yet")),
            near=eyes.seat or 0,
            title=where,
            news=tuple(" · ".join(line.split("   ")) for line in words.news()),
            turn=words.turn(),
            translate=translate,
            symbol=words.deck.symbol,
        )
    )


def write(svg: str, where: DrawingFile) -> None:
    """Writes a drawing. Raises `StorageError`, or `UsageError` if a PNG cannot be made or shown here."""
    data = _png(svg) if where.png else svg.encode()
    if where.file == "-":
        if where.png and sys.stdout.isatty():
            raise UsageError(tell("a PNG cannot be shown at a terminal"), hint=tell("give a file, or pipe it on"))
        _stdout().write(data)
        return
    try:
        Path(where.file).write_bytes(data)
    except OSError as error:
        raise StorageError(
            tell("cannot write {file}: {reason}", file=where.file, reason=error.strerror),
            hint=tell("give a file in a folder that you may write to"),
        ) from error


def _stdout() -> BinaryIO:
    sys.stdout.flush()
    return sys.stdout.buffer


def _png(svg: str) -> bytes:
    try:
        import resvg_py
    except ImportError as error:
        raise UsageError(
            tell("what makes a PNG is not installed"),
            hint=tell("install it with: pip install 'hkoji[png]', or draw an SVG"),
        ) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM))
