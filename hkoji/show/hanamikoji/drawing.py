"""A position of Hanamikoji: the row of geisha with their favours, both sides' items, actions, hands, proposal, deck."""

from __future__ import annotations

from typing import Final

from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji.actions import CHARM, KINDS, NAMES, NUMBERS, PACK, SECRET, TRADE_OFF, bit
from hkoji.rules.hanamikoji.position import NEUTRAL, charm, geisha
from hkoji.rules.hanamikoji.ruleset import HanamikojiState
from hkoji.show.hanamikoji.board import HELP
from hkoji.show.scene import Scene
from hkoji.show.svg import table
from hkoji.show.svg.canvas import SERIF, Canvas
from hkoji.show.svg.table import FAINT, FELT, HEAD, INK, LINE, MARGIN, PANEL, WIDTH, ActionTile, TurnedUp

_COLUMN: Final = 118
_STACK: Final = table.CARD_HEIGHT + 4 * table.OVERLAP + 26
"""Room for five items, one over the other."""
_GEISHA: Final = 132
_CARD: Final = 100
_SIDE: Final = MARGIN + 7 * _COLUMN + 18
"""Where the column with proposal and deck begins."""


def draw(scene: Scene) -> str:
    """The SVG text. The scene's state is one of Hanamikoji."""
    state = scene.state
    assert isinstance(state, HanamikojiState)
    near, far = scene.near, 1 - scene.near
    count = f"{state.round} / {state.ruleset.max_rounds}" if state.ruleset.max_rounds else str(state.round)
    where = tell("round {number}", number=count) if state.round else tell("before the first round")
    middle = 2 * _STACK + _GEISHA
    mat = table.begin(scene, 2 * PANEL + middle + 16, "Hanamikoji", scene.word(where))
    y: float = HEAD + 4
    _panel(mat, scene, state, far, y)
    y += PANEL
    mat.rect(MARGIN, y + _STACK - 10, 7 * _COLUMN, _GEISHA + 20, rx=10, fill=FELT)
    secrets = tuple(TurnedUp(card, str(SECRET)) for card in scene.turned_up)
    for number, kind in enumerate(KINDS):
        x = MARGIN + _COLUMN * number + (_COLUMN - _CARD) / 2
        left = x + (_CARD - table.CARD_WIDTH) / 2
        far_items, near_items = ((kind,) * PACK.counts(state.rows[seat])[number] for seat in (far, near))
        table.stack(mat, far_items, left, y + _STACK - 18, -1, secrets[far])
        _geisha(mat, state, near, number, kind, x, y + _STACK)
        table.stack(mat, near_items, left, y + _STACK + _GEISHA + 18, 1, secrets[near])
    _beside(mat, scene, state, y + 16)
    y += middle + 8
    _panel(mat, scene, state, near, y)
    return table.end(mat, scene, y + PANEL)


def action_tiles(state: HanamikojiState, seat: Seat) -> tuple[ActionTile, ...]:
    """The actions of a seat, in order."""
    down = {SECRET: state.secrets[seat], TRADE_OFF: state.trade_offs[seat]}
    return tuple(
        ActionTile(
            str(number),
            NAMES[number],
            HELP[number],
            bool(state.used[seat] & bit(number)),
            PACK.split(PACK.decode(down.get(number, 0))),
        )
        for number in NUMBERS
    )


def _panel(mat: Canvas, scene: Scene, state: HanamikojiState, seat: Seat, y: float) -> None:
    totals = (
        scene.word(tell("{n} geisha", n=geisha(state.markers, seat))),
        scene.word(tell("{n} charm", n=charm(state.markers, seat))),
    )
    table.panel(mat, scene, seat, y, totals, action_tiles(state, seat), PACK.split(PACK.decode(state.hands[seat])))


def _geisha(mat: Canvas, state: HanamikojiState, near: Seat, number: int, kind: str, x: float, y: float) -> None:
    owner = state.markers[number]
    side = 0 if owner == NEUTRAL else 1 if owner == str(near) else -1
    table.framed(mat, x, y, _CARD, _GEISHA, kind, side)
    for at, words, anchor in ((x + 9, mat.symbol(kind), "start"), (x + _CARD - 10, str(CHARM[number]), "end")):
        mat.text(at, y + 29, words, 25, anchor=anchor, fill=INK, font_family=SERIF, font_weight="bold")
    table.motif(mat, kind, x + _CARD / 2, y + 78, 76)
    if side:
        table.marker(mat, x + _CARD / 2, y + _GEISHA if side > 0 else y)


def _beside(mat: Canvas, scene: Scene, state: HanamikojiState, y: float) -> None:
    """Deck and removed card, and below them the proposal that waits."""
    if state.deck:
        mat.text(_SIDE, y + 14, scene.word(tell("deck: {n}", n=len(state.deck))), 14, fill=FAINT)
        table.deck(mat, PACK.split(state.deck), _SIDE, y + 24, WIDTH - MARGIN - _SIDE)
        mat.text(_SIDE, y + 132, scene.word(tell("removed")), 14, fill=FAINT)
        table.card(mat, PACK.decode(state.aside), _SIDE, y + 140, down=True)
    if state.proposal:
        top = y + 244
        mat.text(_SIDE, top, scene.word(tell("on offer")), 15, fill=INK, font_weight="bold")
        names = PACK.split(state.proposal[1:])
        groups = (names[:2], names[2:]) if state.proposal[0] == "4" else (names,)
        for number, group in enumerate(groups):
            step = table.CARD_WIDTH + 4 if len(group) < 3 else table.CARD_WIDTH + 2
            table.row(mat, group, _SIDE, top + 12 + (table.CARD_HEIGHT + 12) * number, step)
            if number:
                mat.line(_SIDE, top + 18 + table.CARD_HEIGHT, _SIDE + 96, top + 18 + table.CARD_HEIGHT, stroke=LINE)
