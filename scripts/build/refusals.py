"""Writes the answers in tests/data/refusals anew: what each reader makes of what it is given there.

    python -m scripts.build.refusals           write the files
    python -m scripts.build.refusals --check   fail if a file differs

To add a case, write what the reader is given into a file, build, and read what was built.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from scripts.build.golden import main
from tests.server.test_refusals import AREAS as OF_SERVICE
from tests.support.refusals import FOLDER, answer, cases, given
from tests.test_refusals import AREAS

_GIVEN = ("text", "value", "base64")


def build() -> dict[str, str]:
    """The files' names and contents."""
    return {f"{area}.json": "".join(_lines(area)) for area in (*AREAS, *OF_SERVICE)}


def _lines(area: str) -> Iterator[str]:
    readers = {**AREAS, **OF_SERVICE}[area]
    found = cases(area)
    yield "{\n"
    for number, (name, each) in enumerate(found.items(), 1):
        read, *_ = readers[name]
        rows = ({key: case[key] for key in _GIVEN if key in case} | answer(read, given(case)) for case in each)
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        yield f" {json.dumps(name)}: [\n{lines}\n ]{',' * (number < len(found))}\n"
    yield "}\n"


if __name__ == "__main__":
    main("refusals", FOLDER, build)
