"""Refusals of readers as data that other implementations can use: tests/data/refusals, a file for each area.

A file has cases for each reader by name. A case is what the reader is given, as `text`, as `value` (JSON) or as
`base64` (bytes), and either `error`, `message` and `hint`, or `read`, the reading as text. A long text is a list of
pieces, each with how often it comes. `python -m scripts.build.refusals` writes the answers anew.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from hkoji.errors import HkojiError

FOLDER: Final = Path(__file__).parents[1] / "data" / "refusals"
Reader = Callable[[Any], object]  # Any: a text, bytes or a JSON value
Case = dict[str, Any]  # Any: JSON


def cases(area: str) -> dict[str, list[Case]]:
    """The cases of an area's file, by the name of the reader."""
    found: dict[str, list[Case]] = json.loads((FOLDER / f"{area}.json").read_text())
    return found


def given(case: Case) -> Any:  # Any: a text, bytes or a JSON value
    """The text, bytes or value for the reader."""
    if "base64" in case:
        return b64decode(case["base64"])
    text = case.get("text")
    return case["value"] if text is None else text if isinstance(text, str) else "".join(map(_repeated, text))


def _repeated(piece: tuple[str, int]) -> str:
    return piece[0] * piece[1]


def answer(read: Reader, value: Any) -> dict[str, str]:  # Any: a text, bytes or a JSON value
    """The answer of a reader to a value, as a case has it."""
    try:
        return {"read": str(read(value))}
    except (HkojiError, ValueError) as error:
        return {"error": type(error).__name__, "message": str(error), "hint": str(getattr(error, "hint", ""))}


def every_reader(areas: Mapping[str, Mapping[str, Iterable[Reader]]]) -> pytest.MarkDecorator:
    """Parametrises a test with `read` and `found`: each reader of the areas, with the cases of its name."""
    rows = []
    for area, readers in areas.items():
        found = cases(area)
        assert found.keys() == readers.keys()
        rows += [pytest.param(read, found[name], id=name) for name in found for read in readers[name]]
    return pytest.mark.parametrize(("read", "found"), rows)


def check(read: Reader, found: Sequence[Case]) -> None:
    """Asserts that a reader answers as its cases say, and that a person can read each error: one line of plain text."""
    told = [answer(read, given(case)) for case in found]
    assert told == [{name: case[name] for name in each} for each, case in zip(told, found, strict=True)]
    for each in told:
        assert each.get("message", "").isprintable()
        assert each.get("hint", "").isprintable()
