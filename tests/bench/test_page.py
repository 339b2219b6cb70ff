"""docs/performance.md has the rows that benchmarks write, and no figure beside them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from scripts.bench import page, scale
from scripts.bench.__main__ import BENCHMARKS

ROOT = Path(__file__).parents[2]


def test_every_row_of_the_page_belongs_to_a_benchmark_that_writes_it() -> None:
    rows = page.rows_of(page.PAGE.read_text())
    assert set(page.ROWS) == set(BENCHMARKS)
    known = {what: (name, aim) for name, of in page.ROWS.items() for what, aim in of.items()}
    for what, line in rows.items():
        cells = page.cells_of(line)
        name, aim = known[what]
        assert (cells[4], cells[7]) == (aim, f"`{name}`")
        assert re.match(r"\d{4}-\d\d-\d\d, load \d", cells[6]), line


def test_every_row_is_recorded_by_a_program() -> None:
    """By a text, or a pattern with parts that the program fills in."""
    patterns = []
    for source in (ROOT / "scripts" / "bench").glob("*.py"):
        if source.name == "page.py":
            continue
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                patterns.append(re.escape(node.value))
            elif isinstance(node, ast.JoinedStr):
                parts = (re.escape(str(each.value)) if isinstance(each, ast.Constant) else ".+" for each in node.values)
                patterns.append("".join(parts))
    fitting = [re.compile(each) for each in patterns if len(each.replace(".+", "")) > 5]
    for rows in page.ROWS.values():
        for what in rows:
            assert any(each.fullmatch(what) for each in fitting), what


def test_no_figure_of_the_page_stands_beside_its_rows() -> None:
    """A figure in a sentence is refreshed by nobody."""
    text = page.PAGE.read_text()
    beside = text[: text.index(page.BEGIN)] + text[text.index(page.END) :]
    assert re.findall(r"\b\d[\d,.]*(?: to [\d.]+)? (?:µs|ms|MB|KiB|s|%|times)\b", beside) == []
    assert beside.count("\n|") == 0


def test_no_docstring_states_a_measured_ratio() -> None:
    """It names the benchmark: no run refreshes a docstring."""
    stated = []
    ratio = re.compile(r"\d\.\d+ times[^.]*")
    sources = (path.read_text() for folder in ("hkoji", "server") for path in (ROOT / folder).rglob("*.py"))
    for text in filter(ratio.search, sources):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                stated += ratio.findall(ast.get_docstring(node) or "")
    assert stated == []


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "performance.md"
    text = page.PAGE.read_text()
    start, end = text.index(page.BEGIN) + len(page.BEGIN), text.index(page.END)
    copy.write_text(f"{text[:start]}\n{page.HEAD}\n{text[end:]}")
    monkeypatch.setattr(page, "PAGE", copy)
    monkeypatch.setattr(page, "_found", {})
    return copy


def test_a_benchmark_writes_its_rows_and_leaves_all_others(copied: Path) -> None:
    before = copied.read_text()
    page.record("durable move in the store, 32 waiting", page.Figure(16020.4, 3.1, "5,310 raw sqlite3 moves"))
    page.write("2026-01-02, load 0.1")
    page.record("`hkoji --help`: time", page.Figure(9.1, 1.06, "9.7 empty Typer app", limits=True))
    page.write("2026-01-03, load 7.5")
    rows = page.rows_of(copied.read_text())
    assert list(rows.values()) == [
        "| durable move in the store, 32 waiting | 5,310 raw sqlite3 moves | 16,020 | 3.10 | 0.85 | yes "
        "| 2026-01-02, load 0.1 | `store` |",
        "| `hkoji --help`: time | 9.7 empty Typer app | 9.1 | 1.06 | at most 1 | no "
        "| 2026-01-03, load 7.5, limits on | `command` |",
    ]
    written = copied.read_text()
    assert written.replace("\n".join(rows.values()) + "\n", "") == before
    page.write("2026-01-04, load 0.0")  # nothing was measured
    assert copied.read_text() == written


def test_a_figure_without_a_row_is_refused(copied: Path) -> None:
    before = copied.read_text()
    with pytest.raises(KeyError):
        page.record("a row that nobody knows", page.Figure(1.0))
    page.write("2026-01-02, load 0.1")
    assert copied.read_text() == before


@pytest.mark.parametrize(
    ("aim", "measured", "ratio", "reached"),
    [
        ("0.75", 9.0, 0.75, True),
        ("0.75", 9.0, 0.74, False),
        ("at most 2", 2.0, None, True),
        ("at most 1", 5, 1.1, False),
    ],
)
def test_whether_an_aim_is_reached(aim: str, measured: float, ratio: float | None, reached: bool) -> None:
    assert page.is_reached(aim, page.Figure(measured, ratio)) is reached


def test_the_figures_of_large_databases_are_those_of_the_page(copied: Path) -> None:
    measured = dict.fromkeys(scale.POINTS, (10.0, 11.0)) | {"head of a game": (10.0, 12.5)}
    moves = {
        f"a durable move, {way}": (100.0, 100.0 + late) for late, way in enumerate(("one at a time", "32 waiting"))
    }
    asked = {"waiting for me": (20.0, 24.0), "waiting for me, by the statement alone": (5.0, 6.0)}
    scale._keep({**measured, **moves, **asked})
    page.write("2026-01-02, load 0.1")
    shown = {what: page.cells_of(line)[2:6] for what, line in page.rows_of(copied.read_text()).items()}
    assert set(shown) == {*page.ROWS["scale"]} - {"size on disk, against the payload of the tables"}
    slowest, *_, waiting, alone = shown.values()
    assert slowest == ["12.5", "1.25", "at most 1.25", "yes"]
    assert (waiting, alone) == (["24", "", "at most 10", "no"], ["6", "", "", ""])
