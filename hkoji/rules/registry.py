"""Which games there are. The one place that names them all; adding a game is adding a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.rules.geishas_road.ruleset import NAME as GEISHAS_ROAD
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import NAME as HANAMIKOJI
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Json, Ruleset

RULESETS: Final[dict[str, Callable[[dict[str, Json]], Ruleset]]] = {
    HANAMIKOJI: Hanamikoji.from_json,
    GEISHAS_ROAD: GeishasRoad.from_json,
}


def parse_ruleset(options: Json) -> Ruleset:
    """Reads the `ruleset` object of a log. Raises `NotUnderstoodError` for an unknown game, else `MalformedError`."""
    if not isinstance(options, dict) or not isinstance(options.get("name"), str):
        raise MalformedError("ruleset", "it is an object with a name")
    name = str(options["name"])
    if name not in RULESETS:
        raise NotUnderstoodError("ruleset", name)
    return RULESETS[name](options)
