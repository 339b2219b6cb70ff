"""Each name has one meaning: a class of the product, a term of the glossary. No files import each other in a circle."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the product, parsed."""
    found = {}
    for folder in (ROOT, ROOT / "server"):
        for path in folder.glob("hkoji*/**/*.py"):
            name = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
            found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """The product's modules that a module imports: anywhere in it, for type checking too, or by name as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules())
        elif isinstance(node, ast.ImportFrom) and node.module in modules():
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = node.value.partition(":")[0]  # a table that names code to import when it is used
            if named in modules():
                yield named


def test_no_files_import_each_other_in_a_circle() -> None:
    try:
        TopologicalSorter({module: set(imported(tree)) for module, tree in modules().items()}).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle of imports: {' <- '.join(error.args[1])}") from None


def test_a_class_name_is_defined_once() -> None:
    places = defaultdict(list)
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_a_word_of_the_glossary_has_one_row() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
    words = Counter(word for cell in cells if cell != "word" for word in cell.split(", "))
    assert [word for word, rows in words.items() if rows > 1] == []
