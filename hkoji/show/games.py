"""The games that can be shown, and decks. A new game gets a line here, which names its board and its drawing."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell
from hkoji.show.deck import STANDARD, Deck

if TYPE_CHECKING:
    from hkoji.game.position import Position
    from hkoji.show.board import Board, Look
    from hkoji.show.brief import Brief
    from hkoji.show.scene import Scene


class ShownGame(NamedTuple):
    """Where a game's board, drawing and brief are, as `module:name`; a game may do without the last two."""

    board: str
    drawing: str = ""
    brief: str = ""


SHOWN_GAMES: Final = {
    "geishas-road": ShownGame(
        "hkoji.show.geishas_road.board:GeishasRoadBoard",
        "hkoji.show.geishas_road.drawing:draw",
        "hkoji.show.geishas_road.brief:GeishasRoadBrief",
    ),
    "hanamikoji": ShownGame(
        "hkoji.show.hanamikoji.board:HanamikojiBoard",
        "hkoji.show.hanamikoji.drawing:draw",
        "hkoji.show.hanamikoji.brief:HanamikojiBrief",
    ),
}
"""By a ruleset's name. The modules of a game are imported when they are first used."""


def board_type(ruleset: str) -> type[Board]:
    """Returns the class of a game's boards."""
    found: type[Board] = _load(SHOWN_GAMES[ruleset].board)
    return found


def board(position: Position, look: Look) -> Board:
    """Returns the board of a position."""
    return board_type(position.course.setup.ruleset.name)(position, look)


def brief_type(ruleset: str) -> type[Brief]:
    """Returns the class of a game's briefs."""
    found: type[Brief] = _load(SHOWN_GAMES[ruleset].brief or "hkoji.show.brief:Brief")
    return found


def draw_position(scene: Scene) -> str:
    """Returns a scene as SVG text. Raises `UsageError` for a game that has no drawing."""
    name = scene.state.ruleset.name
    drawing = SHOWN_GAMES[name].drawing if name in SHOWN_GAMES else ""
    if not drawing:
        raise UsageError(
            tell("there is no drawing of {game}", game=name), hint=tell("omit --svg and --png to see its board")
        )
    drawn: str = _load(drawing)(scene)
    return drawn


_OTHER_DECKS: Final = {"everdeck": "hkoji.show.hanamikoji.everdeck:Everdeck"}
"""Imported when they are used. To add a deck, add a line here."""
DECKS: Final = (STANDARD.name, *_OTHER_DECKS)


def find_deck(name: str) -> Deck:
    """Returns the deck of that name. Raises `UsageError`."""
    if name == STANDARD.name:
        return STANDARD
    if name not in _OTHER_DECKS:
        raise UsageError(
            tell("there is no deck {name!r}", name=shorten(name)), hint=tell("decks: {names}", names=", ".join(DECKS))
        )
    found: Deck = _load(_OTHER_DECKS[name])()
    return found


def _load(place: str) -> Any:  # Any: what the table names, which is a class or a function
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
