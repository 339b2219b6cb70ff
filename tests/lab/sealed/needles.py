"""Secrets in bytes of any origin: raw, in hex, in base64 or as a decimal number, wherever they begin.

A secret has 32 bytes. `Seen` keeps each run of bytes that could have one, with the time and place of its first
occurrence. So material of which much is repeated is searched once, and the secrets may become known last.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from hkoji.sealed.ristretto import BYTES, ORDER

_TEXT: Final = re.compile(rb"[0-9A-Za-z+/_-]{32,}")
"""It also finds hex digits and decimal numbers."""
_HEX: Final = re.compile(rb"[0-9a-fA-F]{64,}")
_DECIMAL: Final = re.compile(rb"[0-9]{60,}")
_UNPRINTABLE: Final = re.compile(rb"[^\x20-\x7e\s]+")
_URL_SAFE: Final = bytes.maketrans(b"-_", b"+/")
_FRAME: Final = 4096


class Place(NamedTuple):
    """The place and time of an occurrence; time is in seconds."""

    when: float
    what: str


class Hit(NamedTuple):
    """A secret that was found: its name, the form in which it was written, and where it was found first."""

    secret: str
    form: str
    place: Place


class Needles:
    """Secrets with their names. A number counts in both orders of its bytes."""

    def __init__(self) -> None:
        self.names: Final[dict[bytes, str]] = {}
        self._numbers: Final[dict[int, str]] = {}

    def add(self, name: str, *secrets: bytes | int) -> None:
        """Adds numbers below the order of the group, or strings of at least 32 bytes."""
        for secret in secrets:
            raws = [secret % ORDER] if isinstance(secret, int) else []
            parts = [secret[i : i + BYTES] for i in range(0, len(secret), BYTES)] if isinstance(secret, bytes) else []
            for number in raws:
                parts += [number.to_bytes(BYTES, "little"), number.to_bytes(BYTES, "big")]
            for part in parts:
                assert len(part) == BYTES
                self.names[part] = name
                self._numbers[int.from_bytes(part, "little")] = self._numbers[int.from_bytes(part, "big")] = name

    def search(self, runs: Mapping[bytes, Place]) -> Iterator[Hit]:
        """All secrets in runs of bytes."""
        for run, place in runs.items():
            for secret, form in self._forms(run):
                yield Hit(secret, form, place)

    def _forms(self, run: bytes) -> Iterator[tuple[str, str]]:
        yield from self._windows(run, "raw")
        for found in _DECIMAL.findall(run):
            if (name := self._numbers.get(int(found[:400]))) is not None:
                yield name, "decimal"
        for found in _HEX.findall(run):
            for start in (0, 1):
                digits = found[start:]
                yield from self._windows(bytes.fromhex(digits[: len(digits) // 2 * 2].decode()), "hex")
        if _TEXT.fullmatch(run):
            text = run.translate(_URL_SAFE)
            for start in range(4):
                piece = text[start:]
                # The last characters may be less than four, and still have bytes.
                yield from self._windows(base64.b64decode(piece + b"A" * (-len(piece) % 4)), "base64")

    def _windows(self, data: bytes, form: str) -> Iterator[tuple[str, str]]:
        names = self.names
        for start in range(len(data) - BYTES + 1):
            if data[start : start + BYTES] in names:
                yield names[data[start : start + BYTES]], form


class Seen:
    """All runs of bytes that could have a secret."""

    def __init__(self) -> None:
        self.runs: Final[dict[bytes, Place]] = {}
        self.bytes = 0
        self._blocks: Final[set[bytes]] = set()

    def add(self, data: bytes, place: Place) -> None:
        """Takes material in."""
        self.bytes += len(data)
        for found in _TEXT.findall(data):
            self._keep(found, place)
        begin = end = -1
        for match in _UNPRINTABLE.finditer(data):
            if begin >= 0 and match.start() - end >= BYTES:
                self._keep(data[max(0, begin - BYTES + 1) : end + BYTES - 1], place)
                begin = match.start()
            elif begin < 0:
                begin = match.start()
            end = match.end()
        if begin >= 0:
            self._keep(data[max(0, begin - BYTES + 1) : end + BYTES - 1], place)

    def add_file(self, data: bytes, place: Place) -> None:
        """Takes in a file that is read again and again: blocks that were read before are left out."""
        for start in range(0, len(data), _FRAME):
            block = data[start : start + _FRAME + 3 * BYTES]
            if block.strip(b"\0") and block not in self._blocks:
                self._blocks.add(block)
                for part in re.split(rb"\0{32,}", block):
                    self.add(part, place)

    def _keep(self, run: bytes, place: Place) -> None:
        before = self.runs.get(run)
        if before is None or place < before:
            self.runs[run] = place
