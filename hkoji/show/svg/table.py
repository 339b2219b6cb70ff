"""The parts that the tables of all games share: the frame, and each player's panel with name, actions and hand."""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.rules.events import Seat
from hkoji.show.scene import Scene
from hkoji.show.svg import cards
from hkoji.show.svg.canvas import SERIF
from hkoji.show.svg.cards import FAINT, INK, LINE, PAPER, Mat

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
    mat = Mat(WIDTH, full, f"{game}: {scene.title}" if scene.title else game, cards.TABLE, scene.symbol)
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
    step = min(cards.WIDTH + 4, (space - cards.WIDTH) / max(1, len(hand) - 1))
    cards.row(mat, hand, x, y + 18, step)


def _tile(mat: Mat, action: ActionTile, x: float, y: float) -> None:
    height = PANEL - 36
    mat.rect(
        x,
        y,
        _TILE - 8,
        height,
        rx=6,
        fill=cards.FELT if action.used else PAPER,
        stroke=LINE if action.used else INK,
    )
    ink = FAINT if action.used else INK
    mat.text(x + 10, y + 32, action.sign, 26, fill=ink, font_family=SERIF, font_weight="bold")
    mat.text(x + 10, y + height - 10, action.name, 13, fill=ink)
    if action.used and not action.down:
        mat.path(f"M{x + _TILE - 34:g} {y + 22:g}l6 7l11 -14", fill="none", stroke=FAINT, stroke_width=3)
    scale = 0.66
    step = cards.WIDTH * scale + 2
    left = x + _TILE - 12 - step * len(action.down)
    for number, name in enumerate(action.down):
        cards.card(mat, name, left + step * number, y + 7, down=True, scale=scale)
