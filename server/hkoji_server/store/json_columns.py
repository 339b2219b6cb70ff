"""Values in the columns that hold JSON, for conditions in SQL: each database reads them with functions of its own."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Boolean, ColumnElement, Integer, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeEngine

_TYPES: Final[dict[type, tuple[TypeEngine[Any], str]]] = {  # Any: of any type
    int: (Integer(), "bigint"),
    bool: (Boolean(), "boolean"),
    str: (Text(), "text"),
}


class JsonField(ColumnElement[Any]):  # Any: of the type that is asked for
    """The value of the field at `path`, of the type `kind`, in a column of JSON objects; NULL if there is none."""

    inherit_cache = False

    def __init__(self, column: ColumnElement[str], kind: type, *path: str) -> None:
        self.column = column
        self.path = path
        self.type, self.sql_type = _TYPES[kind]


@compiles(JsonField, "sqlite")
def _in_sqlite(field: JsonField, compiler: Any, **options: Any) -> str:  # Any: SQLAlchemy's compiler
    return f"json_extract({compiler.process(field.column, **options)}, '$.{'.'.join(field.path)}')"


@compiles(JsonField, "postgresql")
def _in_postgres(field: JsonField, compiler: Any, **options: Any) -> str:  # Any: SQLAlchemy's compiler
    column = compiler.process(field.column, **options)
    return f"(({column})::json #>> '{{{','.join(field.path)}}}')::{field.sql_type}"
