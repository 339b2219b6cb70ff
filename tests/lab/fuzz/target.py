"""What a fuzz target is: a reader of outside input, and what must be true of whatever it makes of any bytes.

A reader may give a value or raise a `HkojiError`. Anything else that it raises goes through and is a finding, and so is
an `AssertionError` of the target's own: a value that does not say what was read. A refusal must be one that a person
can be told, in every language, and that can be sent in a problem document.
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
from hkoji.messages.text import Catalogue, render
from hkoji.messages.wire import assemble, parts_of

DATA = Path(__file__).parents[2] / "data"


@dataclass(frozen=True)
class Target:
    """`read` is given any bytes, at most `longest`; `runs` is how many inputs a whole campaign tries.

    `seeds` are inputs that are read well, and `words` what such inputs are made of.
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
    """Lets a `HkojiError` pass; one message in eight is told in every way it may have to be, which takes its time."""
    try:
        yield
    except HkojiError as error:
        if not crc32(str(error).encode("utf-8", "replace")) & 7:
            told(error)


def told(error: HkojiError) -> None:
    """What becomes of an error: text in another language, and JSON that its reader takes apart."""
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
    """Bytes as text of every plane; what is no UTF-8 becomes the sign for that."""
    return data.decode("utf-8", "replace")


def split_off(data: bytes, count: int) -> tuple[int, bytes]:
    """The first byte as a choice among `count`, and the rest. A letter chooses as its place in the alphabet does."""
    if not data:
        return 0, b""
    return (data[0] - ord("a")) % count, data[1:]


def chosen(number: int, data: str | bytes) -> bytes:
    """An input that `split_off` takes apart again."""
    return bytes((ord("a") + number,)) + (data.encode() if isinstance(data, str) else data)
