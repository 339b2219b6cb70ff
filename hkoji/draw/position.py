"""The drawing of any game's position: one module a game, found by the ruleset's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.draw import geishas_road, hanamikoji
from hkoji.draw.scene import Scene

_DRAWINGS: Final[dict[str, Callable[[Scene], str]]] = {
    "geishas-road": geishas_road.draw,
    "hanamikoji": hanamikoji.draw,
}


def draw_position(scene: Scene) -> str:
    """The SVG text of a scene."""
    return _DRAWINGS[scene.state.ruleset.name](scene)
