"""Server-sent events, read strictly: what a service may send here is little, and it may send anything.

The format is that of the HTML standard, section 9.2, of which a service has only lines that end in LF or CR LF.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Final, NamedTuple

from hkoji.errors import ServiceError
from hkoji.messages.text import tell

_MOST_BETWEEN: Final = 65_536
"""So many bytes may come that are no event: comments, to keep a connection open, of an hour and more."""
_LONGEST_PLACE: Final = 16_384


class ServerSentEvent(NamedTuple):
    """An event; `name` and `data` are empty where only the place is told. `place` is what to come again with."""

    name: str
    data: str
    place: str | None


def read_events(lines: Generator[bytes, None, None]) -> Generator[ServerSentEvent | None, None, None]:
    """The events of a stream's lines, and None for each sign of life that is no event. Closes `lines` in the end.

    Raises `ServiceError` for what is no such stream.
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
            raise _strange(tell("too much comes that is no event"))
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
                    raise _strange(tell("the id of an event is too long"))
                place = text
            case b"retry":
                pass
            case _:
                raise _strange(tell("it has a field of another name"))


def _text(value: bytes) -> str:
    if not value.isascii() or any(byte < 32 or byte == 127 for byte in value):
        raise _strange(tell("it is not plain text"))
    return value.decode()


def _strange(reason: str) -> ServiceError:
    return ServiceError(
        200,
        tell("the service's stream of events is not understood: {reason}", reason=reason),
        hint=tell("nothing was changed here"),
    )
