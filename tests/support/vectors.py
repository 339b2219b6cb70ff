"""The complete games among the test vectors, and the keys in them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hkoji.log.public_key import PublicKey, parse_public_key

FOLDER: Final = Path(__file__).parents[1] / "data" / "vectors" / "games"


def games(*, sealed: bool = True) -> dict[str, dict[str, Any]]:  # Any: JSON
    """The facts of each game, by the name of its file."""
    found: dict[str, dict[str, Any]] = json.loads((FOLDER / "games.json").read_text())
    return {**found, **json.loads((FOLDER / "sealed.json").read_text())} if sealed else found


def expected_keys(facts: Mapping[str, Any]) -> dict[str, tuple[PublicKey, ...]]:  # Any: JSON
    """All keys of a game by name, in order: the first ones, and those that came later."""
    later = facts.get("later_keys", {})
    return {name: tuple(map(parse_public_key, [key, *later.get(name, [])])) for name, key in facts["keys"].items()}
