"""The size of the product and its tests: lines, lines of code, files, and how long functions and lines are."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_CODE_FILES: Final = (".py", ".html", ".css", ".js")
"""The endings of the product's files that are written by hand; everything else in it is text, or is built."""
LONGEST: Final = 500
"""The number of lines over which a file needs a place in `tests/data/rooms.json`."""
_TENTH: Final = 10


def files(*folders: str) -> list[Path]:
    """The files in these folders that belong to the project and are written by hand."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / name for name in listed.stdout.splitlines() if name.endswith(_CODE_FILES) and (ROOT / name).exists()]


def count_lines(paths: Sequence[Path]) -> int:
    """The number of lines of all of them."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def code_lines(path: Path) -> list[str]:
    """The lines of a file without docstrings, comments, blank lines and imports."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix != ".py":
        return [line for line in lines if line.strip()]
    left = {number for number, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")}
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.Expr) and _is_text(node)):
            left -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return [lines[number - 1] for number in sorted(left)]


def _function_lengths(paths: Sequence[Path]) -> Iterator[int]:
    for path in paths:
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield (node.end_lineno or node.lineno) - node.lineno + 1


def _upper_tenth(values: Sequence[int]) -> int:
    """The value that nine of ten do not exceed."""
    return sorted(values)[len(values) - len(values) // _TENTH - 1]


def sizes() -> dict[str, int]:
    """The figures by name."""
    product = files("hkoji", "server")
    code = [line for path in product for line in code_lines(path)]
    return {
        "product: lines": count_lines(product),
        "product: lines of code": len(code),
        "product: files": len(product),
        "product: function length, nine of ten": _upper_tenth(list(_function_lengths(product))),
        "product: line width, nine of ten": _upper_tenth([len(line) for line in code]),
        "tests: lines": count_lines([path for path in files("tests") if path.suffix == ".py"]),
        "tests/lab: lines": count_lines([path for path in files("tests/lab") if path.suffix == ".py"]),
    }


def long_files() -> dict[str, int]:
    """The lengths of the product's files with more than `LONGEST` lines, by name."""
    lengths = {str(path.relative_to(ROOT)): count_lines([path]) for path in files("hkoji", "server")}
    return {name: length for name, length in lengths.items() if length > LONGEST}
