"""Checks, for every game, of the errors for text that is not a move."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from hkoji.errors import NotationError

Parse = Callable[[str], str]


def explains(parse: Parse, typed: str, words: str) -> None:
    """Asserts that `typed` is refused: the message matches `words`, the error carries the text and a hint."""
    with pytest.raises(NotationError, match=words) as caught:
        parse(typed)
    error = caught.value
    assert error.text == typed
    assert re.search(words, error.reason)
    assert str(error).isascii()
    assert error.hint


def is_brief_about(parse: Parse, typed: str) -> None:
    """Asserts that long text is refused quickly and not repeated in full. Quadratic work would take minutes."""
    started = time.process_time()
    with pytest.raises(NotationError) as caught:
        parse(typed)
    assert time.process_time() - started < 2
    assert len(str(caught.value)) < 200
