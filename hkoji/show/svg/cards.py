"""Cards, markers and tokens, each drawn at a place on a mat. Knows no game.

A kind of card has a letter, a colour and a sign of its own, so that each of the three identifies it. People with
any of the usual kinds of colour blindness can distinguish the seven colours (after Okabe and Ito).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from hkoji.show.svg.canvas import SERIF, Canvas

WIDTH: Final = 46
HEIGHT: Final = 64

INK: Final = "#2b2a33"
FAINT: Final = "#7b7669"
LINE: Final = "#cfc7b4"
PAPER: Final = "#fffdf8"
TABLE: Final = "#f3ede0"
FELT: Final = "#e8dfcc"
GOLD: Final = "#d9a521"
BACK: Final = "#4b5670"
_THREAD: Final = "#8b95ad"


class Mat(Canvas):
    """A canvas that cards lie on; `symbol` says what is written on a card of a name."""

    def __init__(
        self, width: float, height: float, title: str, background: str, symbol: Callable[[str], str] = str
    ) -> None:
        super().__init__(width, height, title, background)
        self.symbol: Final = symbol


class CardKind(NamedTuple):
    """How a kind of card looks: its letter, its colour, and the ink that is read on that colour."""

    letter: str
    colour: str
    ink: str


KINDS: Final = {
    kind.letter: kind
    for kind in (
        CardKind("A", "#d55e00", "#ffffff"),
        CardKind("B", "#f0e442", INK),
        CardKind("C", "#56b4e9", INK),
        CardKind("D", "#009e73", "#ffffff"),
        CardKind("E", "#cc79a7", INK),
        CardKind("F", "#e69f00", INK),
        CardKind("G", "#0072b2", "#ffffff"),
    )
}

# Signs, drawn round (0, 0) within 12 pixels: strokes only, so that they read on any colour.
_SIGNS: Final = {
    "A": "M0 9L-11 -2A13 13 0 0 1 11 -2ZM0 9L-5 -6.5M0 9V-8M0 9L5 -6.5",  # a fan
    "B": "M-11 1A11 11 0 0 1 11 1ZM0 1C-1 -4 -2 -7 0 -10C2 -7 1 -4 0 1V8A2.5 2.5 0 0 0 5 8",  # a parasol
    "C": "M-11 0A11 8 0 0 1 11 0V2H-11ZM-9 2V9M-4.5 2V9M0 2V9M4.5 2V9M9 2V9",  # a comb
    "D": (  # a cup
        "M-10 -3H6V2A6 6 0 0 1 0 8H-4A6 6 0 0 1 -10 2ZM6 -2A4 4 0 0 1 6 5"
        "M-5 -6C-7 -8 -3 -9 -5 -11M1 -6C-1 -8 3 -9 1 -11"
    ),
    "E": "M-4 -10H4M-4 -8A9 8 0 0 0 -4 8H4A9 8 0 0 0 4 -8ZM-7.5 -3.5H7.5M-8 2H8M-4 10H4M0 10V13",  # a lantern
    "F": (  # a blossom of five petals
        "M0 -2.5C-5 -5 -4 -11 0 -10.5C4 -11 5 -5 0 -2.5ZM2.4 -0.8C4.5 -6 10.5 -4.5 10 -1C9.5 3 4.5 3 2.4 -0.8Z"
        "M1.5 2C7 2 7.5 8 4.5 9.5C1 10.5 -0.5 6 1.5 2ZM-1.5 2C-7 2 -7.5 8 -4.5 9.5C-1 10.5 0.5 6 -1.5 2Z"
        "M-2.4 -0.8C-4.5 -6 -10.5 -4.5 -10 -1C-9.5 3 -4.5 3 -2.4 -0.8Z"
    ),
    "G": "M3 -11A11 11 0 1 0 11 4A9 9 0 0 1 3 -11ZM8 -9V-3M5 -6H11",  # the moon and a star
}


def sign(mat: Mat, letter: str, x: float, y: float, scale: float, colour: str) -> None:
    """The sign of a kind, its middle at (x, y)."""
    mat.path(
        _SIGNS[letter],
        transform=f"translate({x:.1f} {y:.1f}) scale({scale:g})",
        fill="none",
        stroke=colour,
        stroke_width=round(1.5 / scale**0.5, 2),
        stroke_linecap="round",
        stroke_linejoin="round",
    )


def face(mat: Mat, name: str, x: float, y: float, *, dashed: bool = False, scale: float = 1) -> None:
    """The card `name` (`G`, `B3`) with its upper left corner at (x, y); dashed if it lies face down and is known."""
    kind = KINDS[name[0]]
    mat.open(transform=f"translate({x:.1f} {y:.1f})" + (f" scale({scale:g})" if scale != 1 else ""))
    mat.rect(0.5, 0.5, WIDTH - 1, HEIGHT - 1, rx=5, fill=PAPER, stroke=INK, stroke_dasharray="4 3" if dashed else None)
    mat.rect(4, 4, WIDTH - 8, 23, rx=3, fill=kind.colour)
    mat.text(WIDTH / 2, 22, mat.symbol(name), 19, anchor="middle", fill=kind.ink, font_weight="bold", font_family=SERIF)
    sign(mat, kind.letter, WIDTH / 2, 45, 1, INK)
    mat.close()


def back(mat: Mat, x: float, y: float, *, scale: float = 1) -> None:
    """Draws a card that no reader of this drawing knows."""
    mat.open(transform=f"translate({x:.1f} {y:.1f})" + (f" scale({scale:g})" if scale != 1 else ""))
    mat.rect(0.5, 0.5, WIDTH - 1, HEIGHT - 1, rx=5, fill=BACK, stroke=INK)
    mat.rect(5, 5, WIDTH - 10, HEIGHT - 10, rx=3, fill="none", stroke=_THREAD)
    for row in range(3):
        y0 = 14 + 18 * row
        mat.path(f"M9 {y0}q7 -9 14 0q7 -9 14 0M9 {y0 + 6}q7 -9 14 0q7 -9 14 0", fill="none", stroke=_THREAD)
    mat.close()


def card(mat: Mat, name: str, x: float, y: float, *, down: bool = False, scale: float = 1) -> None:
    """A card by name; `X` is one that is not known. `down`: it lies face down."""
    if name == "X":
        back(mat, x, y, scale=scale)
    else:
        face(mat, name, x, y, dashed=down, scale=scale)


def row(mat: Mat, names: tuple[str, ...], x: float, y: float, step: float = WIDTH + 4) -> None:
    """Cards side by side."""
    for number, name in enumerate(names):
        card(mat, name, x + step * number, y)


def deck(mat: Mat, names: tuple[str, ...], x: float, y: float, space: float) -> None:
    """Cards to be drawn, the next one first: if unknown as a fan of backs `space` wide, else small and in rows."""
    if "X" in names:
        step = min(20.0, (space - WIDTH) / max(1, len(names) - 1))
        for number in reversed(range(len(names))):
            back(mat, x + step * number, y)
        return
    scale, in_row = 0.6, 4
    for number, name in enumerate(names):
        line, column = divmod(number, in_row)
        face(mat, name, x + column * (WIDTH * scale + 3), y + line * (HEIGHT * scale + 4), dashed=True, scale=scale)


OVERLAP: Final = 27
"""How far one card of a stack lies below the other: its name can still be read."""


class TurnedUp(NamedTuple):
    """A card that lay face down until the end of the round, and the sign of the action that it lay by."""

    name: str
    sign: str


def stack(mat: Mat, names: tuple[str, ...], x: float, edge: float, direction: int, marked: TurnedUp) -> None:
    """Open cards one over the other, the first one at `edge`, growing down (1) or up (-1).

    The last one of the name `marked` carries the sign of its action.
    """
    count = len(names)
    last = max((at for at, name in enumerate(names) if name == marked.name), default=None)
    for at in range(count) if direction > 0 else reversed(range(count)):
        y = edge + OVERLAP * at if direction > 0 else edge - HEIGHT - OVERLAP * at
        face(mat, names[at], x, y)
        if at == last:
            _badge(mat, marked.sign, x + WIDTH - 1, y + 5)


def _badge(mat: Mat, words: str, x: float, y: float) -> None:
    """A sign in a circle, its middle at (x, y)."""
    mat.circle(x, y, 9, fill=INK, stroke=PAPER, stroke_width=1.5)
    mat.text(x, y + 4.5, words, 13, anchor="middle", fill="#ffffff", font_weight="bold", font_family=SERIF)


def marker(mat: Mat, x: float, y: float, radius: float = 11) -> None:
    """A marker, its middle at (x, y)."""
    mat.circle(x, y, radius, fill=GOLD, stroke=INK, stroke_width=1.2)
    mat.circle(x, y, radius / 2, fill="#fff6d8", stroke=INK, stroke_width=1)  # the sign of no card


def place(mat: Mat, x: float, y: float, radius: float = 11) -> None:
    """A place where a marker can lie and does not."""
    mat.circle(x, y, radius, fill="none", stroke=LINE, stroke_width=1.2, stroke_dasharray="3 3")
