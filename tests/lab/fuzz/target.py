"""Fuzz targets: readers of outside input, each with the properties that must hold for any bytes.

A reader may return a value or raise a `HkojiError`. Any other exception is a finding, and so is an `AssertionError` of
the target itself, raised when a value does not match what was read. A refusal must have a message that can be shown in
every language and sent in a problem document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zlib import crc32

from hkoji.errors import HkojiError
from hkoji.manual.catalogues import load_catalogue
from hkoji.messages.text import Catalogue, assemble, parts_of, render

DATA = Path(__file__).parents[2] / "data"


@dataclass(frozen=True)
class Target:
    """`read` gets any bytes, at most `longest`; `runs` is the number of inputs of a complete campaign.

    `seeds` are inputs that are read successfully, and `words` are parts of such inputs.
    """

    name: str
    about: str
    read: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    runs: int
    longest: int = 4096
    words: tuple[str, ...] = ()


@contextmanager
def refusals() -> Iterator[None]:
    """Catches a `HkojiError`. For one in eight, `told` checks that its message can be rendered, which is slow."""
    try:
        yield
    except HkojiError as error:
        if not crc32(str(error).encode("utf-8", "replace")) & 7:
            told(error)


def told(error: HkojiError) -> None:
    """Renders an error in another language, and sends it through JSON to its reader."""
    message, hint = str(error), error.hint
    for text in (error.message, hint):
        assert isinstance(render(text, _italian()), str)
    document = json.loads(json.dumps({"detail": message, "hint": hint, "parts": parts_of(error)}))
    for name in ("detail", "hint"):
        assert isinstance(render(assemble(document[name], document["parts"].get(name)), _italian()), str)


@cache
def _italian() -> Catalogue:
    return load_catalogue("it")


def text(data: bytes) -> str:
    """Bytes as text of every plane; invalid UTF-8 becomes the replacement character."""
    return data.decode("utf-8", "replace")


def split_off(data: bytes, count: int) -> tuple[int, bytes]:
    """The first byte as a choice among `count`, and the rest. A letter chooses by its place in the alphabet."""
    if not data:
        return 0, b""
    return (data[0] - ord("a")) % count, data[1:]


def chosen(number: int, data: str | bytes) -> bytes:
    """An input that `split_off` takes apart again."""
    return bytes((ord("a") + number,)) + (data.encode() if isinstance(data, str) else data)
