"""The table of all games, by name. To add a game, add a line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.messages.text import tell
from hkoji.rules.events import CLOSING_REASONS
from hkoji.rules.geishas_road.ruleset import NAME as GEISHAS_ROAD
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import NAME as HANAMIKOJI
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Json, Ruleset


class RulesetType(Protocol):
    """A game before its options are fixed."""

    @property
    def action_names(self) -> Mapping[str, str]:
        """As in `Ruleset`: the same whatever the options."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """As in `Ruleset`: the same whatever the options."""

    def __call__(self) -> Ruleset:
        """The game with its default options."""

    def from_json(self, options: dict[str, Json], /) -> Ruleset:
        """Reads the `ruleset` object of a log. Raises `NotUnderstoodError` or `MalformedError`."""


RULESETS: Final[dict[str, RulesetType]] = {
    HANAMIKOJI: Hanamikoji,
    GEISHAS_ROAD: GeishasRoad,
}

DEFAULT: Final = HANAMIKOJI
"""The game that is meant if none is named."""


def parse_ruleset(options: Json) -> Ruleset:
    """Reads the `ruleset` object of a log. Raises `NotUnderstoodError` for an unknown game, else `MalformedError`."""
    if not isinstance(options, dict) or not isinstance(options.get("name"), str):
        raise MalformedError(tell("ruleset"), tell("it is not an object with a name"))
    name = str(options["name"])
    if name not in RULESETS:
        raise NotUnderstoodError(tell("ruleset"), name)
    return RULESETS[name].from_json(options)


def reasons() -> frozenset[str]:
    """All words that can be the reason of a result: those of every game, and those of an end from outside."""
    return frozenset(CLOSING_REASONS).union(*(ruleset.reasons for ruleset in RULESETS.values()))
