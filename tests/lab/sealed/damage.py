"""Whether each changed bit of a point or proof in a whole log is found at its entry, by the package and by sealed.py.

    python -m tests.lab.sealed.damage --count 10000

The logs are the published ones. One bit of a part of one entry is changed; salts are left out, because nothing proves
them. The entry is judged behind the true entries before it: by `Course.apply` and the proofs, and by
docs/spec/sealed.py, which shares no code with the package.
"""

from __future__ import annotations

import argparse
import base64
import copy
import importlib.util
import json
import random
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hkoji.errors import HkojiError
from hkoji.game.course import Course
from hkoji.game.entry_kinds import parse_body
from hkoji.game.knowledge import SpectatorKnowledge
from hkoji.game.proving import verify_proofs
from hkoji.game.replay import replay
from hkoji.log.canonical import encode
from hkoji.log.line import Entry, parse_log
from hkoji.sealed.sodium import combine

ROOT = Path(__file__).parents[3]
LOGS = tuple(sorted((ROOT / "tests" / "data" / "vectors" / "games").glob("sealed-*.jsonl")))
FIELDS = {"lock": ("deck", "key", "proof"), "give": ("shares",), "show": ("proof",), "close": ("proof",)}


class Place(NamedTuple):
    """An entry with parts, the game before it, and the state of sealed.py before it."""

    entry: Entry
    course: Course
    checker: Any
    line: bytes


@cache
def places(logs: tuple[Path, ...]) -> tuple[Place, ...]:
    """All entries of these logs that have points or proofs."""
    spec = importlib.util.spec_from_file_location("sealed_spec", ROOT / "docs" / "spec" / "sealed.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = []
    for path in logs:
        raw = path.read_bytes().splitlines(keepends=True)
        steps, checker = replay(parse_log(path.read_bytes())).steps, module.Log()
        for number, step in enumerate(steps):
            if set(step.entry.body) & {*FIELDS, "hide"}:
                found.append(Place(step.entry, steps[number - 1].course, copy.deepcopy(checker), raw[number]))
            checker.read(raw[number])
    return tuple(found)


def changed(entry: Entry, rng: random.Random) -> tuple[str, dict[str, Any]]:
    """The body of an entry with one bit changed, and the part that it is in."""
    body: dict[str, Any] = json.loads(json.dumps(entry.body))
    part = rng.choice(sorted(set(body) & {*FIELDS, "hide"}))
    field: Any = rng.randrange(len(body["hide"])) if part == "hide" else rng.choice(FIELDS[part])
    raw = bytearray(base64.b64decode(body[part][field]))
    raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    body[part][field] = base64.b64encode(raw).decode()
    return part, body


def found_by_package(place: Place, body: dict[str, Any]) -> bool:
    """Whether the package refuses the entry with that body."""
    entry = place.entry._replace(body=body)
    try:
        read = parse_body(entry.kind, body)
        place.course.apply(entry, read, SpectatorKnowledge())
        verify_proofs(place.course, entry, read, combine)
    except HkojiError:
        return True
    return False


def found_by_page(place: Place, body: dict[str, Any]) -> bool:
    """Whether sealed.py refuses the entry with that body."""
    line = json.loads(place.line)
    line["entry"] = encode({**json.loads(line["entry"]), "body": body})
    checker = copy.deepcopy(place.checker)
    try:
        checker.read(json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError):
        return True
    return False


def damages(count: int, rng: random.Random, logs: tuple[Path, ...] = LOGS) -> Iterator[tuple[str, bool, bool]]:
    """The part in which a bit was changed, and whether the package and sealed.py have found it."""
    for _ in range(count):
        place = rng.choice(places(logs))
        part, body = changed(place.entry, rng)
        yield part, found_by_package(place, body), found_by_page(place, body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for place in places(LOGS):  # the honest entries hold for both
        assert not found_by_package(place, place.entry.body)
        assert not found_by_page(place, place.entry.body)
    missed = 0
    for part, package, page in damages(given.count, random.Random(given.seed)):
        if not (package and page):
            missed += 1
            print(f"{part}: missed by {'sealed.py' if package else 'the package'}")
    print(f"{given.count:9,} changed bits in {len(places(LOGS))} entries: {missed} missed")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
