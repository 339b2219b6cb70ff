"""Reads the testable parts of the documentation: tables, code blocks, text in backquotes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

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
