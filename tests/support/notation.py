"""What text that is no move is answered with, in every game."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from hkoji.errors import NotationError

Parse = Callable[[str], str]


def explains(parse: Parse, typed: str, words: str) -> None:
    """Asserts that `typed` is refused in plain words that match `words`, that the error names the text, and helps."""
    with pytest.raises(NotationError, match=words) as caught:
        parse(typed)
    error = caught.value
    assert error.text == typed
    assert re.search(words, error.reason)
    assert str(error).isascii()
    assert error.hint


def is_brief_about(parse: Parse, typed: str) -> None:
    """Asserts that long text is refused fast, and not repeated whole. Work that grows with its square takes minutes."""
    started = time.process_time()
    with pytest.raises(NotationError) as caught:
        parse(typed)
    assert time.process_time() - started < 2
    assert len(str(caught.value)) < 200
