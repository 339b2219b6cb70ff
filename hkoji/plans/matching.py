"""Compares patterns with what has been seen. A pattern is a list of tokens, as `hkoji.plans.grammar` has read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from hkoji.plans.grammar import ANY_TOKENS

_REGULAR: Final = {"?": ".", "*": ".*"}


def matches(pattern: Sequence[str], seen: Sequence[str]) -> bool:
    """Returns whether a pattern describes exactly the tokens seen."""
    return len(pattern) in _places(pattern, seen)


def may_follow(pattern: Sequence[str], seen: Sequence[str]) -> bool:
    """Returns whether a pattern can still describe what is seen after at least one more token."""
    return any(place < len(pattern) for place in _places(pattern, seen))


def _places(pattern: Sequence[str], seen: Iterable[str]) -> set[int]:
    """Returns how many tokens of a pattern can be behind the tokens seen: an automaton in all its states at once."""
    places = _skip(pattern, {0})
    for token in seen:
        after = set()
        for place in places:
            if place == len(pattern):
                continue
            if pattern[place] == ANY_TOKENS:
                after.add(place)
            elif _expression(pattern[place]).fullmatch(token):
                after.add(place + 1)
        places = _skip(pattern, after)
    return places


def _skip(pattern: Sequence[str], places: set[int]) -> set[int]:
    """Adds the places that are reached without a token, because `**` may stand for none."""
    for place, token in enumerate(pattern):
        if place in places and token == ANY_TOKENS:
            places.add(place + 1)
    return places


@lru_cache(maxsize=1024)
def _expression(token: str) -> re.Pattern[str]:
    return re.compile("".join(_REGULAR.get(sign) or re.escape(sign) for sign in token))
