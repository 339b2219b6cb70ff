"""Inputs that once took new branches, as golden text: a file for each target in tests/data/fuzz.

A line is a JSON string whose characters are the input's bytes. Lines are sorted by length, then by text. Written by
`python -m tests.lab.fuzz.measure --keep`; inputs that revealed faults, since fixed, are added by hand and stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.lab.fuzz.target import DATA

KEPT: Final = DATA / "fuzz"
_MOST: Final = 40
_BYTES: Final = 16_000


def read(target: str) -> tuple[bytes, ...]:
    """The inputs kept for a target; none if there is no file."""
    file = KEPT / f"{target}.txt"
    if not file.exists():
        return ()
    return tuple(json.loads(line).encode("latin-1") for line in file.read_text(encoding="ascii").splitlines())


def write(target: str, inputs: Iterable[bytes]) -> None:
    """Keeps inputs for a target, sorted and without duplicates."""
    lines = {json.dumps(data.decode("latin-1")) for data in inputs}
    KEPT.mkdir(exist_ok=True)
    text = "".join(f"{line}\n" for line in sorted(lines, key=lambda line: (len(line), line)))
    (KEPT / f"{target}.txt").write_text(text, encoding="ascii")


def keep(target: str, folder: Path) -> None:
    """Adds the smallest inputs that a campaign has left in `folder`, up to the limit, and its findings."""
    known = set(read(target))
    findings = {path.read_bytes() for path in (folder / "findings").iterdir()}
    found = {path.read_bytes() for path in (folder / "inputs").iterdir() if not path.name.startswith("seed-")}
    small = sorted(found - known, key=lambda data: (len(data), data))
    most = _MOST - len(known)
    for data in small[:: max(1, len(small) // most)][:most] if most > 0 else ():
        if len(data) + sum(map(len, known)) <= _BYTES:
            known.add(data)
    write(target, known | findings)
