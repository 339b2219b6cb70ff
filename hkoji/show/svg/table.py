"""The table of a drawing: cards, markers and tokens, each at a place on a mat, the frame, and each player's panel.

A panel has name, actions and hand. Nothing here knows a game. A kind of card has a letter, a colour and a sign of its
own, so that each of the three identifies it. People with any of the usual kinds of colour blindness can distinguish the
seven colours (after Okabe and Ito).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from hkoji.rules.events import Seat
from hkoji.show.board import Scene
from hkoji.show.svg.canvas import SERIF, Canvas

CARD_WIDTH: Final = 46
CARD_HEIGHT: Final = 64

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
    mat.rect(
        0.5,
        0.5,
        CARD_WIDTH - 1,
        CARD_HEIGHT - 1,
        rx=5,
        fill=PAPER,
        stroke=INK,
        stroke_dasharray="4 3" if dashed else None,
    )
    mat.rect(4, 4, CARD_WIDTH - 8, 23, rx=3, fill=kind.colour)
    mat.text(
        CARD_WIDTH / 2, 22, mat.symbol(name), 19, anchor="middle", fill=kind.ink, font_weight="bold", font_family=SERIF
    )
    sign(mat, kind.letter, CARD_WIDTH / 2, 45, 1, INK)
    mat.close()


def back(mat: Mat, x: float, y: float, *, scale: float = 1) -> None:
    """Draws a card that no reader of this drawing knows."""
    mat.open(transform=f"translate({x:.1f} {y:.1f})" + (f" scale({scale:g})" if scale != 1 else ""))
    mat.rect(0.5, 0.5, CARD_WIDTH - 1, CARD_HEIGHT - 1, rx=5, fill=BACK, stroke=INK)
    mat.rect(5, 5, CARD_WIDTH - 10, CARD_HEIGHT - 10, rx=3, fill="none", stroke=_THREAD)
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


def row(mat: Mat, names: tuple[str, ...], x: float, y: float, step: float = CARD_WIDTH + 4) -> None:
    """Cards side by side."""
    for number, name in enumerate(names):
        card(mat, name, x + step * number, y)


def deck(mat: Mat, names: tuple[str, ...], x: float, y: float, space: float) -> None:
    """Cards to be drawn, the next one first: if unknown as a fan of backs `space` wide, else small and in rows."""
    if "X" in names:
        step = min(20.0, (space - CARD_WIDTH) / max(1, len(names) - 1))
        for number in reversed(range(len(names))):
            back(mat, x + step * number, y)
        return
    scale, in_row = 0.6, 4
    for number, name in enumerate(names):
        line, column = divmod(number, in_row)
        face(
            mat,
            name,
            x + column * (CARD_WIDTH * scale + 3),
            y + line * (CARD_HEIGHT * scale + 4),
            dashed=True,
            scale=scale,
        )


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
        y = edge + OVERLAP * at if direction > 0 else edge - CARD_HEIGHT - OVERLAP * at
        face(mat, names[at], x, y)
        if at == last:
            _badge(mat, marked.sign, x + CARD_WIDTH - 1, y + 5)


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


WIDTH: Final = 1080
MARGIN: Final = 24
HEAD: Final = 58
PANEL: Final = 112
_NAME: Final = 210
_TILE: Final = 112
_HAND: Final = _NAME + 4 * _TILE + 36
_NEWS: Final = 20
_LONGEST: Final = 17


class ActionTile(NamedTuple):
    """An action of a player: its sign and name, whether it has been taken, and the cards it keeps face down."""

    sign: str
    name: str
    used: bool
    down: tuple[str, ...] = ()


def begin(scene: Scene, height: float, game: str, where: str) -> Mat:
    """A canvas with the heading; `height` is that of the table below it, without head and foot."""
    full = HEAD + height + foot(scene)
    mat = Mat(WIDTH, full, f"{game}: {scene.title}" if scene.title else game, TABLE, scene.symbol)
    mat.text(MARGIN, 38, game, 26, fill=INK, font_family=SERIF, font_weight="bold")
    mat.text(MARGIN + 232, 37, where, 16, fill=INK)
    mat.text(WIDTH - MARGIN, 37, scene.title, 13, anchor="end", fill=FAINT)
    mat.line(MARGIN, HEAD - 6, WIDTH - MARGIN, HEAD - 6, stroke=LINE)
    return mat


def foot(scene: Scene) -> float:
    """The height of the last lines, which show the last events and what is due."""
    return 22 + _NEWS * (len(scene.news) + bool(scene.turn))


def end(mat: Mat, scene: Scene, y: float) -> str:
    """The last lines, from `y` on, and with them the whole drawing."""
    mat.line(MARGIN, y, WIDTH - MARGIN, y, stroke=LINE)
    y += 6
    for line in scene.news:
        y += _NEWS
        mat.text(MARGIN, y, line, 14, fill=FAINT)
    if scene.turn:
        mat.text(MARGIN, y + _NEWS, scene.turn, 15, fill=INK, font_weight="bold")
    return str(mat)


def panel(
    mat: Mat,
    scene: Scene,
    seat: Seat,
    y: float,
    totals: tuple[str, ...],
    actions: tuple[ActionTile, ...],
    hand: tuple[str, ...],
) -> None:
    """A player's name with totals, the four actions, and the hand; the one who is to decide has a bar at the side."""
    name = scene.names[seat]
    acting = scene.state.actor == seat
    mat.rect(MARGIN, y, WIDTH - 2 * MARGIN, PANEL - 12, rx=8, fill=PAPER, stroke=INK if acting else LINE)
    if acting:
        mat.rect(MARGIN, y, 7, PANEL - 12, rx=3, fill=INK)
    shown = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    mat.text(MARGIN + 20, y + 36, shown, 20, fill=INK, font_weight="bold")
    for number, line in enumerate(totals):
        mat.text(MARGIN + 20, y + 60 + 20 * number, line, 14, fill=FAINT)
    for number, action in enumerate(actions):
        _tile(mat, action, MARGIN + _NAME + _TILE * number, y + 12)
    x, space = MARGIN + _HAND, WIDTH - 2 * MARGIN - _HAND - 10
    step = min(CARD_WIDTH + 4, (space - CARD_WIDTH) / max(1, len(hand) - 1))
    row(mat, hand, x, y + 18, step)


def _tile(mat: Mat, action: ActionTile, x: float, y: float) -> None:
    height = PANEL - 36
    mat.rect(
        x,
        y,
        _TILE - 8,
        height,
        rx=6,
        fill=FELT if action.used else PAPER,
        stroke=LINE if action.used else INK,
    )
    ink = FAINT if action.used else INK
    mat.text(x + 10, y + 32, action.sign, 26, fill=ink, font_family=SERIF, font_weight="bold")
    mat.text(x + 10, y + height - 10, action.name, 13, fill=ink)
    if action.used and not action.down:
        mat.path(f"M{x + _TILE - 34:g} {y + 22:g}l6 7l11 -14", fill="none", stroke=FAINT, stroke_width=3)
    scale = 0.66
    step = CARD_WIDTH * scale + 2
    left = x + _TILE - 12 - step * len(action.down)
    for number, name in enumerate(action.down):
        card(mat, name, left + step * number, y + 7, down=True, scale=scale)
