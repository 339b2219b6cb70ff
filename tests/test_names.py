"""Each name has one meaning: a class of the product, a term of the glossary. No files import each other in a circle."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]


PRODUCT = ("hkoji", "server/hkoji_server")
IMPORT = re.compile(r"^ *(?:from ([\w.]+) import (\([^)]*\)|[^\n]+)|import ([\w., ]+))", re.MULTILINE)
NAMED = re.compile(r'"([a-z_]+(?:\.[a-z_]+)+)[:"]')
"""A module by its name as text, in a table that names code to import when it is used."""


def modules(*folders: str) -> dict[str, str]:
    """The text of every module in these folders, by the module's name."""
    found = {}
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to((ROOT / folder).parent).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


def imported(text: str, known: Collection[str]) -> Iterator[str]:
    """Those of the `known` modules that a module imports: anywhere in it, for type checking too, or by name as text."""
    for package, names, plain in IMPORT.findall(text):
        inner = [f"{package}.{name}" for name in re.findall(r"(?<!as )\b(?!as\b)\w+", names)] if package else []
        submodules = [name for name in inner if name in known]
        yield from submodules
        if package in known and len(submodules) < len(inner):
            yield package
        yield from (name for name in re.findall(r"[\w.]+", plain) if name in known)
    yield from (name for name in NAMED.findall(text) if name in known)


def test_no_files_import_each_other_in_a_circle() -> None:
    known = modules(*PRODUCT, "scripts", "tests")
    # A program that starts itself again has its own name as text.
    found = {module: {*imported(text, known)} - {module} for module, text in known.items()}
    assert sum(map(len, found.values())) > 5000
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' <- '.join(error.args[1])}") from None


def test_a_class_name_is_defined_once() -> None:
    places = defaultdict(list)
    for module, text in modules(*PRODUCT).items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_word_of_the_glossary_has_one_row() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
    words = Counter(word for cell in cells if cell != "word" for word in cell.split(", "))
    assert [word for word, rows in words.items() if rows > 1] == []
