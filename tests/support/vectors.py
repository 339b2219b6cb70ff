"""The keys of the complete games among the test vectors, from `games.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hkoji.log.public_key import PublicKey, parse_public_key


def expected_keys(facts: Mapping[str, Any]) -> dict[str, tuple[PublicKey, ...]]:  # Any: JSON
    """All keys of a game by name, in order: the first ones, and those that came later."""
    later = facts.get("later_keys", {})
    return {name: tuple(map(parse_public_key, [key, *later.get(name, [])])) for name, key in facts["keys"].items()}
