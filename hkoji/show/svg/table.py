"""The table of a drawing: cards, markers and tokens, each at a place on a mat, the frame, and each player's panel.

A panel has name, actions and hand. Nothing here knows a game. A kind of card has a letter, a colour and a sign of its
own, so that each of the three identifies it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.messages.text import Text
from hkoji.rules.events import Seat
from hkoji.show import art
from hkoji.show.scene import Scene
from hkoji.show.svg.canvas import SERIF, Canvas

CARD_WIDTH: Final = 46
CARD_HEIGHT: Final = 64

INK: Final = art.FIXED["k"]
FAINT: Final = "#6f6a5d"
LINE: Final = "#d8ccb4"
PAPER: Final = "#fffdf6"
TABLE: Final = "#f4eee1"
FELT: Final = "#ebe2cf"
GOLD: Final = art.FIXED["gold"]
BACK: Final = art.FIXED["back"]


def motif(mat: Canvas, letter: str, x: float, y: float, size: float) -> None:
    """The motif of a kind, its middle at (x, y)."""
    mat.picture(f"m{letter}", x - size / 2, y - size / 2, size, art.toned(letter))


def sign(mat: Canvas, name: str, x: float, y: float, size: float, colour: str) -> None:
    """The sign of an action by its English name, its middle at (x, y)."""
    mat.picture(f"a-{name}", x - size / 2, y - size / 2, size, color=colour)


def face(mat: Canvas, name: str, x: float, y: float, *, dashed: bool = False, scale: float = 1) -> None:
    """The card `name` (`G`, `B3`) with its upper left corner at (x, y); dashed if it lies face down and is known."""
    tones = art.TONES[name[0]]
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
    mat.rect(3.5, 3.5, CARD_WIDTH - 7, 23, rx=3, fill=tones.light)
    mat.text(CARD_WIDTH / 2, 22, mat.symbol(name), 20, anchor="middle", fill=INK, font_weight="bold", font_family=SERIF)
    motif(mat, name[0], CARD_WIDTH / 2, 44.5, 36)
    mat.close()


def back(mat: Canvas, x: float, y: float, *, scale: float = 1) -> None:
    """Draws a card that no reader of this drawing knows."""
    mat.open(transform=f"translate({x:.1f} {y:.1f})" + (f" scale({scale:g})" if scale != 1 else ""))
    mat.rect(0.5, 0.5, CARD_WIDTH - 1, CARD_HEIGHT - 1, rx=5, fill=BACK, stroke=INK)
    inner = CARD_WIDTH - 8
    mat.picture("back", 4, (CARD_HEIGHT - inner / CARD_WIDTH * CARD_HEIGHT) / 2, inner)
    mat.rect(4, 4, CARD_WIDTH - 8, CARD_HEIGHT - 8, rx=2, fill="none", stroke=art.FIXED["thread"])
    mat.close()


def card(mat: Canvas, name: str, x: float, y: float, *, down: bool = False, scale: float = 1) -> None:
    """A card by name; `X` is one that is not known. `down`: it lies face down."""
    if name == "X":
        back(mat, x, y, scale=scale)
    else:
        face(mat, name, x, y, dashed=down, scale=scale)


def row(mat: Canvas, names: tuple[str, ...], x: float, y: float, step: float = CARD_WIDTH + 4) -> None:
    """Cards side by side."""
    for number, name in enumerate(names):
        card(mat, name, x + step * number, y)


def deck(mat: Canvas, names: tuple[str, ...], x: float, y: float, space: float) -> None:
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


def stack(mat: Canvas, names: tuple[str, ...], x: float, edge: float, direction: int, marked: TurnedUp) -> None:
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


def _badge(mat: Canvas, words: str, x: float, y: float) -> None:
    """A sign in a circle, its middle at (x, y)."""
    mat.circle(x, y, 9, fill=INK, stroke=PAPER, stroke_width=1.5)
    mat.text(x, y + 4.5, words, 13, anchor="middle", fill="#ffffff", font_weight="bold", font_family=SERIF)


def marker(mat: Canvas, x: float, y: float, radius: float = 15) -> None:
    """A marker, its middle at (x, y)."""
    mat.picture("mark", x - radius, y - radius, 2 * radius)


def framed(mat: Canvas, x: float, y: float, width: float, height: float, letter: str, side: int) -> None:
    """The card of a geisha; the edge above (-1) or below (1) is golden if a side has her, 0 if nobody has."""
    mat.rect(x, y, width, height, rx=9, fill=art.TONES[letter].light, stroke=INK, stroke_width=1.5)
    if side:
        edge = y + height if side > 0 else y
        mat.line(x + 8, edge, x + width - 8, edge, stroke=GOLD, stroke_width=5, stroke_linecap="round")


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
    """An action of a player: the character that its notation begins with, its name and what it means.

    `used` says whether it has been taken; `down` are the cards that lie face down by it.
    """

    code: str
    name: Text
    hint: Text
    used: bool
    down: tuple[str, ...] = ()

    @property
    def picture(self) -> str:
        """The name of its picture, after `a-`."""
        return str(self.name)


def begin(scene: Scene, height: float, game: str, where: str) -> Canvas:
    """A canvas with the heading; `height` is that of the table below it, without head and foot."""
    # The last lines show the last events and what is due.
    full = HEAD + height + 22 + _NEWS * (len(scene.news) + bool(scene.turn))
    mat = Canvas(WIDTH, full, f"{game}: {scene.title}" if scene.title else game, TABLE, scene.symbol)
    mat.text(MARGIN, 38, game, 26, fill=INK, font_family=SERIF, font_weight="bold")
    mat.text(MARGIN + 232, 37, where, 16, fill=INK)
    mat.text(WIDTH - MARGIN, 37, scene.title, 13, anchor="end", fill=FAINT)
    mat.line(MARGIN, HEAD - 6, WIDTH - MARGIN, HEAD - 6, stroke=LINE)
    return mat


def end(mat: Canvas, scene: Scene, y: float) -> str:
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
    mat: Canvas,
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
        _tile(mat, action, scene.word(action.name), MARGIN + _NAME + _TILE * number, y + 12)
    x, space = MARGIN + _HAND, WIDTH - 2 * MARGIN - _HAND - 10
    step = min(CARD_WIDTH + 4, (space - CARD_WIDTH) / max(1, len(hand) - 1))
    row(mat, hand, x, y + 18, step)


def _tile(mat: Canvas, action: ActionTile, name: str, x: float, y: float) -> None:
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
    mat.text(x + 10, y + 32, action.code, 26, fill=ink, font_family=SERIF, font_weight="bold")
    if not action.down:
        sign(mat, action.picture, x + _TILE - 30, y + 25, 30, ink)
    mat.text(x + 10, y + height - 10, name, 13, fill=ink)
    if action.used and not action.down:
        mat.line(x + _TILE - 48, y + 33, x + _TILE - 12, y + 17, stroke=FAINT, stroke_width=2.5)
    scale = 0.66
    step = CARD_WIDTH * scale + 2
    left = x + _TILE - 12 - step * len(action.down)
    for number, each in enumerate(action.down):
        card(mat, each, left + step * number, y + 7, down=True, scale=scale)
