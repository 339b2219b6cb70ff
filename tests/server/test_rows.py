"""Rows of tables as values: made in two ways, equal by their columns, and never changed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hkoji_server.store import mail_tables, player_tables, tables
from hkoji_server.store.player_tables import OperatorCode, RetiredKey
from hkoji_server.store.tables import changed, row_of, rows_of
from sqlmodel import SQLModel

ROOT = Path(__file__).parents[2]
MODULES = (tables, player_tables, mail_tables)
ROWS = {
    name: table
    for module in MODULES
    for name, table in vars(module).items()
    if isinstance(table, type) and issubclass(table, SQLModel) and table is not SQLModel
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_cannot_be_changed(name: str) -> None:
    table = ROWS[name]
    names = tuple(table.model_fields)
    (row,) = rows_of(table, [tuple(range(len(names)))])
    for field in names:
        with pytest.raises(AttributeError):
            setattr(row, field, "other")
        with pytest.raises(AttributeError):
            delattr(row, field)
    flags = [field for field in names if table.model_fields[field].annotation is bool]
    assert [getattr(row, field) for field in names] == [
        bool(place) if field in flags else place for place, field in enumerate(names)
    ]


def test_rows_are_equal_if_their_columns_are() -> None:
    made = row_of(RetiredKey, key="k", name="alice", at="now", revoked=True)
    assert rows_of(RetiredKey, [("k", "alice", "now", 1, None, None, None)]) == (made,)
    other = changed(made, revoked=False)
    assert (made.revoked, other.revoked, other.key) == (True, False, "k")
    assert made != other
    assert row_of(OperatorCode, digest="d", expires="now") == row_of(
        OperatorCode, digest="d", expires="now", uses=1, name=None
    )


def test_no_program_makes_a_row_in_another_way_or_adds_one_to_a_session() -> None:
    """The constructor of a table is slower, and makes a row that can be changed."""
    for path in (*(ROOT / "server").rglob("*.py"), *(ROOT / "scripts").rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        text = path.read_text()
        if "hkoji_server.store" not in text:
            continue
        assert "Session(" not in text or path == Path(__file__), path
        if "tables" not in text:
            continue
        nodes = tuple(ast.walk(ast.parse(text)))
        imported = {
            each.asname or each.name
            for node in nodes
            if isinstance(node, ast.ImportFrom) and node.module in {module.__name__ for module in MODULES}
            for each in node.names
            if each.name in ROWS
        }
        called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert not imported & called, path
