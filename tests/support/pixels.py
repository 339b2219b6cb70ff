"""PNG pictures as pixels: those that browsers write, with 8 bits a channel and not interlaced (W3C, PNG)."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

Colour = tuple[int, int, int]
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_CHANNELS: Final = {2: 3, 6: 4}


class Pixels(NamedTuple):
    """Rows of colours; transparency is left out."""

    rows: tuple[tuple[Colour, ...], ...]

    def part(self, x: int, y: int, width: int, height: int) -> Pixels:
        """A rectangle by its upper left corner."""
        return Pixels(tuple(row[x : x + width] for row in self.rows[y : y + height]))

    def each(self) -> Iterator[Colour]:
        """All pixels, row by row."""
        return (colour for row in self.rows for colour in row)


def read_png(data: bytes) -> Pixels:
    """The pixels of a picture. Raises ValueError for a form that browsers do not write."""
    if not data.startswith(_SIGNATURE):
        raise ValueError("this is no PNG")
    chunks = dict[bytes, bytes]()
    at = len(_SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        chunks[kind] = chunks.get(kind, b"") + body
        at += length + 12
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if depth != 8 or colours not in _CHANNELS or interlaced:
        raise ValueError(f"depth {depth}, colours {colours}, interlaced {interlaced}")
    size = _CHANNELS[colours]
    raw = zlib.decompress(chunks[b"IDAT"])
    rows = []
    before = bytearray(width * size)
    for row in range(height):
        start = row * (width * size + 1)
        line = bytearray(raw[start + 1 : start + 1 + width * size])
        _unfilter(raw[start], line, before, size)
        rows.append(tuple((line[n], line[n + 1], line[n + 2]) for n in range(0, len(line), size)))
        before = line
    return Pixels(tuple(rows))


def _unfilter(kind: int, line: bytearray, above: bytearray, size: int) -> None:
    for n in range(len(line)):
        left = line[n - size] if n >= size else 0
        corner = above[n - size] if n >= size else 0
        line[n] = (line[n] + _predicted(kind, left, above[n], corner)) & 0xFF


def _predicted(kind: int, left: int, up: int, corner: int) -> int:
    match kind:
        case 0:
            return 0
        case 1:
            return left
        case 2:
            return up
        case 3:
            return (left + up) // 2
        case _:
            guess = left + up - corner
            return min((left, up, corner), key=lambda each: abs(guess - each))


def write_png(pixels: Pixels, colours: int = 256) -> bytes:
    """A small PNG with a palette of the colours that most pixels have; each other pixel gets the nearest of them."""
    buckets: dict[Colour, Counter[Colour]] = {}
    for colour in pixels.each():
        red, green, blue = colour
        buckets.setdefault((red >> 3, green >> 3, blue >> 3), Counter())[colour] += 1
    often = sorted(buckets, key=lambda each: -buckets[each].total())[:colours]
    palette = [buckets[each].most_common(1)[0][0] for each in often]
    place = {bucket: _nearest(found.most_common(1)[0][0], palette) for bucket, found in buckets.items()}
    lines = b"".join(b"\0" + bytes(place[r >> 3, g >> 3, b >> 3] for r, g, b in row) for row in pixels.rows)
    size = struct.pack(">IIBBBBB", len(pixels.rows[0]), len(pixels.rows), 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", size), (b"PLTE", bytes(chain(*palette))), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )


def _nearest(colour: Colour, palette: list[Colour]) -> int:
    def distance(n: int) -> int:
        return sum((one - other) ** 2 for one, other in zip(colour, palette[n], strict=True))

    return min(range(len(palette)), key=distance)
