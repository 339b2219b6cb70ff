"""A position of Geisha's Road: the circle with the geisha, lanterns, tableaus, influence, markers, hands."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Final

from hkoji.messages.text import tell
from hkoji.rules.cards import Cards
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road.actions import BITS, CODES, COLOURS, COMPETITION, INTRIGUE, NAMES, PACK
from hkoji.rules.geishas_road.position import MIDDLE, leads, prestige
from hkoji.rules.geishas_road.road import TEAHOUSES
from hkoji.rules.geishas_road.ruleset import GeishasRoadState
from hkoji.show.art import TONES
from hkoji.show.geishas_road.board import HELP, written_halves
from hkoji.show.scene import Scene
from hkoji.show.svg import table
from hkoji.show.svg.canvas import SERIF, Canvas
from hkoji.show.svg.table import FAINT, FELT, HEAD, INK, LINE, MARGIN, PANEL, PAPER, ActionTile, TurnedUp

_STACK: Final = table.CARD_HEIGHT + 3 * table.OVERLAP + 26
"""Room for four cards, one over the other."""
_BLOCK: Final = 150
_CARD: Final = 100
_COLUMN: Final = 114
_ROAD: Final = 312
"""The width of the part with the circle."""
_LEFT: Final = MARGIN + _ROAD
_SIDE: Final = _LEFT + len(COLOURS) * _COLUMN + 14
_RADIUS: Final = 112
_DARK: Final = "#3b3a4a"
_LIGHT: Final = "#ffe9a8"


def draw(scene: Scene) -> str:
    """The SVG text. The scene's state is one of Geisha's Road."""
    state = scene.state
    assert isinstance(state, GeishasRoadState)
    near, far = scene.near, 1 - scene.near
    where = tell("round {number}", number=f"{state.round} / 3") if state.round else tell("before the first round")
    middle = 2 * _STACK + _BLOCK
    mat = table.begin(scene, 2 * PANEL + middle + 16, "Geisha’s Road", scene.word(where))
    y: float = HEAD + 4
    _panel(mat, scene, state, far, y)
    y += PANEL
    _road(mat, scene, state, MARGIN + _ROAD / 2 - 12, y + middle / 2 - 24)
    mat.rect(_LEFT, y + _STACK - 10, len(COLOURS) * _COLUMN, _BLOCK + 20, rx=10, fill=FELT)
    intrigues = tuple(TurnedUp(card, INTRIGUE) for card in scene.turned_up)
    for number, colour in enumerate(COLOURS):
        x = _LEFT + _COLUMN * number + (_COLUMN - _CARD) / 2
        left = x + (_CARD - table.CARD_WIDTH) / 2
        table.stack(mat, of_colour(state.tableaus[far], colour), left, y + _STACK - 18, -1, intrigues[far])
        _geisha(mat, state, near, number, x, y + _STACK)
        table.stack(mat, of_colour(state.tableaus[near], colour), left, y + _STACK + _BLOCK + 18, 1, intrigues[near])
    _beside(mat, scene, state, y + 16)
    y += middle + 8
    _panel(mat, scene, state, near, y)
    return table.end(mat, scene, y + PANEL)


def of_colour(tableau: Cards, colour: str) -> tuple[str, ...]:
    """The cards of a colour in a tableau."""
    return tuple(name for name in PACK.split(PACK.decode(tableau)) if name[0] == colour)


def action_tiles(state: GeishasRoadState, seat: Seat) -> tuple[ActionTile, ...]:
    """The actions of a seat, in order."""
    down = PACK.split(PACK.decode(state.intrigues[seat])) + PACK.split(PACK.decode(state.discards[seat]))
    return tuple(
        ActionTile(code, NAMES[code], HELP[code], bool(state.used[seat] & BITS[code]), down if code == INTRIGUE else ())
        for code in CODES
    )


def _panel(mat: Canvas, scene: Scene, state: GeishasRoadState, seat: Seat, y: float) -> None:
    won = leads(state.influence(0), state.influence(1))
    points = prestige(state.road.lanterns, won, seat)
    totals = (
        scene.word(tell("prestige {n}", n=points)),
        scene.word(tell("markers {n} · rounds {wins}", n=state.markers.count(str(seat)), wins=state.wins[seat])),
    )
    table.panel(mat, scene, seat, y, totals, action_tiles(state, seat), PACK.split(PACK.decode(state.hands[seat])))


def _geisha(mat: Canvas, state: GeishasRoadState, near: Seat, number: int, x: float, y: float) -> None:
    """A colour: both sides' influence, her lanterns, and where her marker lies; a golden edge for the leading side."""
    letter = COLOURS[number]
    leader, owner = leads(state.influence(0), state.influence(1))[number], state.markers[number]
    side = 0 if leader == MIDDLE else 1 if leader == str(near) else -1
    table.framed(mat, x, y, _CARD, _BLOCK, letter, side)
    mat.text(x + 9, y + 28, letter, 22, fill=INK, font_family=SERIF, font_weight="bold")
    table.motif(mat, letter, x + _CARD / 2, y + _BLOCK / 2, 62)
    points, homes = state.road.lanterns[number], state.road.homes[number]
    if homes:
        _lantern(mat, x + _CARD - 15, y + _BLOCK / 2 + 16, str(points), light=homes == 1)
    for seat, at in ((1 - near, y + 27), (near, y + _BLOCK - 14)):
        words = written_halves(state.influence(seat)[number])
        mat.text(x + _CARD / 2, at, words, 20, anchor="middle", fill=INK, font_family=SERIF, font_weight="bold")
    if owner != MIDDLE:
        table.marker(mat, x + _CARD - 17, y + _BLOCK - 19 if owner == str(near) else y + 19, 13)


def _lantern(mat: Canvas, x: float, y: float, points: str, *, light: bool) -> None:
    """A lantern with its prestige: pale for the Light deck, dark for the Dark one."""
    fill, ink = (_LIGHT, INK) if light else (_DARK, "#ffffff")
    mat.path(f"M{x - 5:.1f} {y - 17:.1f}h10v4h-10zM{x - 5:.1f} {y + 13:.1f}h10v4h-10z", fill=INK)
    mat.path(f"M{x - 8:.1f} {y - 13:.1f}h16q9 13 0 26h-16q-9 -13 0 -26z", fill=fill, stroke=INK, stroke_width=1.2)
    mat.text(x, y + 6, points, 16, anchor="middle", fill=ink, font_weight="bold")


def _road(mat: Canvas, scene: Scene, state: GeishasRoadState, x: float, y: float) -> None:
    """The circle: five teahouses, clockwise from the top, and in front of each the geisha who stand there."""
    mat.circle(x, y, _RADIUS, fill="none", stroke=LINE, stroke_width=16)
    for number in range(TEAHOUSES):
        angle = 2 * pi * (number + 0.5) / TEAHOUSES
        ax, ay = x + _RADIUS * sin(angle), y - _RADIUS * cos(angle)
        turn = angle * 180 / pi
        mat.path(
            "M-5 -6L4 0L-5 6", transform=f"translate({ax:.1f} {ay:.1f}) rotate({turn:.0f})",
            fill="none", stroke=FAINT, stroke_width=2,
        )  # fmt: skip
    for number, colour in enumerate(COLOURS):
        angle = 2 * pi * number / TEAHOUSES
        hx, hy = x + _RADIUS * sin(angle), y - _RADIUS * cos(angle)
        _teahouse(mat, colour, hx, hy)
        guests = state.road.guests(number)
        for at, guest in enumerate(guests):
            _figure(mat, guest, hx + 21 * (at - (len(guests) - 1) / 2), hy + 34)
    mat.text(x, y - 34, scene.word(tell("next lanterns")), 12, anchor="middle", fill=FAINT)
    for lanterns, light, level in ((state.road.light, True, y - 6), (state.road.dark, False, y + 34)):
        for number, points in enumerate(lanterns):
            _lantern(mat, x + 25 * (number - (len(lanterns) - 1) / 2), level, str(points), light=light)


def _teahouse(mat: Canvas, colour: str, x: float, y: float) -> None:
    look = TONES[colour]
    mat.rect(x - 24, y - 12, 48, 28, rx=2, fill=PAPER, stroke=INK, stroke_width=1.3)
    mat.path(f"M{x - 34:.1f} {y - 11:.1f}q12 -2 14 -16h40q2 14 14 16z", fill=look.colour, stroke=INK, stroke_width=1.3)
    mat.text(x, y - 14, colour, 13, anchor="middle", fill=look.ink, font_weight="bold")
    for post in (-12, 0, 12):
        mat.line(x + post, y - 11, x + post, y + 16, stroke=LINE)
    mat.line(x - 24, y + 2, x + 24, y + 2, stroke=LINE)


def _figure(mat: Canvas, colour: str, x: float, y: float) -> None:
    """A geisha as a wooden doll with her letter."""
    look = TONES[colour]
    mat.path(f"M{x - 9:.1f} {y + 13:.1f}q-1 -24 9 -24q10 0 9 24z", fill=look.colour, stroke=INK, stroke_width=1.2)
    mat.circle(x, y - 14, 6.5, fill="#f7e3cf", stroke=INK, stroke_width=1.2)
    mat.path(
        f"M{x - 6.5:.1f} {y - 14:.1f}a6.5 6.5 0 0 1 13 0q-6.5 -5 -13 0zM{x - 3:.1f} {y - 21:.1f}a3 3 0 0 1 6 0z",
        fill=INK,
    )
    mat.text(x, y + 8, colour, 14, anchor="middle", fill=look.ink, font_weight="bold")


def _beside(mat: Canvas, scene: Scene, state: GeishasRoadState, y: float) -> None:
    """The deck, and below it the proposal that waits, or the cards left of it."""
    if state.deck:
        names = PACK.split(state.deck)
        mat.text(_SIDE, y + 14, scene.word(tell("deck: {n}", n=len(names))), 14, fill=FAINT)
        table.deck(mat, names, _SIDE, y + 24, table.WIDTH - MARGIN - _SIDE)
    waiting = state.proposal[1:] or state.left
    if waiting:
        title = tell("on offer") if state.proposal else tell("cards left")
        mat.text(_SIDE, y + 150, scene.word(title), 15, fill=INK, font_weight="bold")
        names = PACK.split(waiting)
        for number, pair in enumerate((names[:2], names[2:])):
            table.row(mat, pair, _SIDE, y + 162 + (table.CARD_HEIGHT + 14) * number)
        if state.proposal[:1] == COMPETITION:
            line = y + 162 + table.CARD_HEIGHT + 7
            mat.line(_SIDE, line, _SIDE + 2 * table.CARD_WIDTH + 4, line, stroke=INK)
