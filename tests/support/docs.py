"""Reads what tests check of the documentation: tables, code blocks, text in backquotes, the shapes of docs/json.md.

A type is a word (`string`), `list of` or `map of` a type, a link to another shape, or several with `or`; parentheses
group. "The fields of [shape]" takes over the fields of another shape, "also the fields of" makes them optional as a
whole, and "Each line is" lists the shapes of lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

DOCS = Path(__file__).parents[2] / "docs"


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the table whose first column has this heading, without the heading row."""
    lines = page.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    cells = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells.append([cell.strip() for cell in line.strip("|").split("|")])
    return cells


def quoted(text: str) -> list[str]:
    """The texts in backquotes."""
    return re.findall(r"`([^`]+)`", text)


def blocks(page: str) -> list[str]:
    """The fenced code blocks."""
    return re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


NOTATION, ROAD_NOTATION = (DOCS / "rules" / "notation.md").read_text().split("\n## Geisha's Road\n")
"""The two parts of the page on notation."""


def check_options(page: str, options: Mapping[str, object]) -> dict[str, list[str]]:
    """Checks that a page lists all of `options` with these defaults; returns the values it lists for each."""
    table = {row[0].split(":")[0].strip("`"): row[1:] for row in rows(page, "option")}
    assert set(table) == set(options) - {"name", "version"}
    assert {name: cells[1].strip("`") for name, cells in table.items()} == {name: str(options[name]) for name in table}
    return {name: quoted(cells[0]) or [cells[0]] for name, cells in table.items()}


_TITLE: Final = re.compile(r"#+ (.+)")
_ROW: Final = re.compile(r"\| `([^`]+)`(\??) \| (.+?) \| (.+) \|")
_LINK: Final = re.compile(r"\[[^\]]+\]\(#([^)]+)\)")
_ALSO = re.compile(r"also (has )?the fields of \[")
_TOKEN: Final = re.compile(r"\[[^\]]+\]\(#([^)]+)\)|(list of|map of|or)\b|([()])|(\w+)|\s+")
_WORDS: Final[dict[str, Callable[[Any], bool]]] = {
    "any": lambda _: True,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
    "object": lambda value: isinstance(value, dict),
}


@dataclass
class Shape:
    """The description of an object: its fields, and those that it takes over from other shapes."""

    title: str
    fields: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """For each field its type, and whether it may be missing."""
    takes: list[str] = field(default_factory=list)
    may_take: list[str] = field(default_factory=list)
    one_of: list[str] = field(default_factory=list)


@dataclass
class JsonPage:
    """The page. `seen` collects the fields that some value has had, by shape."""

    shapes: dict[str, Shape]
    seen: set[tuple[str, str]] = field(default_factory=set)

    def problems(self, value: Any, anchor: str) -> list[str]:  # Any: JSON
        """Returns how a value differs from a shape; nothing if it has it."""
        shape = self.shapes[anchor]
        if shape.one_of:
            found = [self.problems(value, each) for each in shape.one_of]
            return [] if [] in found else min(found, key=len)
        if not isinstance(value, dict):
            return [f"{shape.title}: {value!r} is no object"]
        needed = self._fields(anchor)
        for each in shape.may_take:
            more = self._fields(each)
            if more.keys() & value.keys():
                needed |= more
        wrong = [f"{shape.title}: the page has no {name}" for name in value.keys() - needed.keys()]
        for name, (kind, optional, owner) in needed.items():
            if name in value:
                self.seen.add((owner, name))
                if not self._fits(value[name], kind):
                    wrong.append(f"{shape.title}: {name} is {str(value[name])[:300]}, not {kind}")
            elif not optional:
                wrong.append(f"{shape.title}: {name} is missing")
        return wrong

    def unseen(self) -> Iterator[str]:
        """Yields the fields that no value has had."""
        for anchor, shape in self.shapes.items():
            yield from (f"{shape.title}: {name}" for name in shape.fields if (anchor, name) not in self.seen)

    def _fields(self, anchor: str) -> dict[str, tuple[str, bool, str]]:
        shape = self.shapes[anchor]
        taken = {name: each for other in shape.takes for name, each in self._fields(other).items()}
        return taken | {name: (kind, optional, anchor) for name, (kind, optional) in shape.fields.items()}

    def _fits(self, value: Any, kind: str) -> bool:  # Any: JSON
        tokens = [match for match in _TOKEN.finditer(kind) if match[0].strip()]
        assert "".join(match[0] for match in tokens) == "".join(kind.split(" ")) or tokens, kind
        fits = self._alternatives(tokens)
        assert not tokens, kind
        return fits(value)

    def _alternatives(self, tokens: list[re.Match[str]]) -> Callable[[Any], bool]:  # Any: JSON
        found = [self._one(tokens)]
        while tokens and tokens[0][2] == "or":
            tokens.pop(0)
            found.append(self._one(tokens))
        return lambda value: any(fits(value) for fits in found)

    def _one(self, tokens: list[re.Match[str]]) -> Callable[[Any], bool]:  # Any: JSON
        token = tokens.pop(0)
        if token[1]:
            return lambda value: not self.problems(value, token[1])
        if token[2] in ("list of", "map of"):
            inner = self._one(tokens)
            if token[2] == "list of":
                return lambda value: isinstance(value, list) and all(map(inner, value))
            return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
        if token[3] == "(":
            inner = self._alternatives(tokens)
            assert tokens.pop(0)[3] == ")"
            return inner
        return _WORDS[token[4]]


def anchor_of(title: str) -> str:
    """The anchor of a title, as on GitHub."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def read_json_page(text: str) -> JsonPage:
    """Reads the page."""
    shapes: dict[str, Shape] = {}
    shape = Shape("")
    for part in text.split("\n\n"):
        title = _TITLE.fullmatch(part.strip())
        flat = " ".join(part.split())
        if title:
            shape = shapes[anchor_of(title[1])] = Shape(title[1])
        elif flat.startswith("Each line is"):
            shape.one_of = _LINK.findall(flat)
        elif also := _ALSO.search(flat):
            shape.may_take = _LINK.findall(flat[also.start() :])
        elif "The fields of [" in flat:
            shape.takes = _LINK.findall(flat[flat.index("The fields of [") :])
        for row in _ROW.finditer(part):
            shape.fields[row[1]] = (row[3], row[2] == "?")
    return JsonPage({anchor: each for anchor, each in shapes.items() if each.fields or each.one_of or each.takes})
