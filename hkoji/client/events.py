"""Reads server-sent events strictly: an honest service sends little here, but a dishonest one may send anything.

The format is that of the HTML standard, section 9.2, restricted to lines that end in LF or CR LF.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Final, NamedTuple

from hkoji.errors import ServiceError
from hkoji.messages.text import tell

_MOST_BETWEEN: Final = 65_536
"""The most bytes without an event: room for the comments that keep a connection open for more than an hour."""
_LONGEST_PLACE: Final = 16_384


class ServerSentEvent(NamedTuple):
    """An event. `place` is its id, from which a client can resume; `name` and `data` may be empty beside it."""

    name: str
    data: str
    place: str | None


def read_events(lines: Generator[bytes, None, None]) -> Generator[ServerSentEvent | None, None, None]:
    """Yields the events in a stream's lines, and None for each comment, which is a sign of life. Closes `lines`.

    Raises `ServiceError` for anything that is not such a stream.
    """
    with closing(lines):
        yield from _read(lines)


def _read(lines: Iterator[bytes]) -> Iterator[ServerSentEvent | None]:
    name = ""
    data: list[str] = []
    place: str | None = None
    between = size = 0
    for raw in lines:
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        between += len(raw)
        if between - size > _MOST_BETWEEN or size > 2 * _MOST_BETWEEN:
            raise _invalid(tell("too much data without an event"))
        if not line:
            if data or place is not None:
                yield ServerSentEvent(name, "\n".join(data), place)
            between = 0 if data else between
            name, data, place, size = "", [], None, 0
            continue
        if line.startswith(b":"):
            yield None
            continue
        field, _, value = line.partition(b":")
        text = _text(value.removeprefix(b" "))
        match field:
            case b"event":
                name = text
            case b"data":
                data.append(text)
                size += len(raw)
            case b"id":
                if len(text) > _LONGEST_PLACE:
                    raise _invalid(tell("the id of an event is too long"))
                place = text
            case b"retry":
                pass
            case _:
                raise _invalid(tell("it has an unknown field"))


def _text(value: bytes) -> str:
    if not value.isascii() or any(byte < 32 or byte == 127 for byte in value):
        raise _invalid(tell("it is not plain text"))
    return value.decode()


def _invalid(reason: str) -> ServiceError:
    return ServiceError(
        200,
        tell("the service's event stream cannot be read: {reason}", reason=reason),
        hint=tell("nothing was changed here"),
    )
