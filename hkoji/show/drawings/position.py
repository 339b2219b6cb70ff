"""The drawing of any game's position: one module a game, found by the ruleset's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.errors import UsageError
from hkoji.messages.text import tell
from hkoji.show.drawings import geishas_road, hanamikoji
from hkoji.show.scene import Scene

DRAWINGS: Final[dict[str, Callable[[Scene], str]]] = {
    "geishas-road": geishas_road.draw,
    "hanamikoji": hanamikoji.draw,
}
"""By a ruleset's name. A game may do without one."""


def draw_position(scene: Scene) -> str:
    """The SVG text of a scene. Raises `UsageError` for a game that has no drawing."""
    name = scene.state.ruleset.name
    if name not in DRAWINGS:
        raise UsageError(
            tell("there is no drawing of {game}", game=name), hint=tell("leave --svg and --png out to see its board")
        )
    return DRAWINGS[name](scene)
