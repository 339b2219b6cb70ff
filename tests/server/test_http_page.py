"""docs/spec/http.md names every answer of the API and every field that it has, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.service_in_process import inside

PAGE: Final = (Path(__file__).parents[2] / "docs" / "spec" / "http.md").read_text()
SECTION: Final = PAGE.partition("### Fields of answers\n")[2].partition("\n#")[0]
ROW: Final = re.compile(r"\| (.+?) \| (.+) \|")
FIELD: Final = re.compile(r"`([a-z_]+)`(\??)(?:: .+)?")
OTHER_NAMES: Final = {"given": "gift", "gateway": "gateway", "finished": "finished game"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:  # Any: JSON
    with inside(tmp_path_factory.mktemp("page") / "data") as service:
        return service.ask("GET", "/openapi.json").json


def rows() -> Iterator[tuple[str, str]]:
    for line in SECTION.splitlines():
        if (row := ROW.fullmatch(line)) and not line.startswith(("| answer of", "| has |")):
            yield row[1], row[2]


def answers_on_page() -> dict[str, str]:
    return {each.strip("`"): has for of, has in rows() if of.startswith("`") for each in of.split(", ")}


def fields_on_page() -> dict[str, dict[str, bool]]:
    """For each kind of answer its fields, and whether each may be left out."""
    found: dict[str, dict[str, bool]] = {}
    for name, text in rows():
        if not name.startswith("`"):
            parts = text.split("; ")
            found[name] = dict(found["summary"]) if parts[0] == "all of summary" else {}
            for part in parts[bool(found[name]) :]:
                field = FIELD.fullmatch(part)
                assert field is not None, (name, part)
                assert field[1] not in found[name], (name, part)
                found[name][field[1]] = bool(field[2])
    return found


def shown(schema: dict[str, Any]) -> str:
    """How the page calls what a model describes."""
    model = schema["$ref"].rpartition("/")[2].removesuffix("Model")
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", model).lower()
    return OTHER_NAMES.get(name, name)


def test_every_answer_is_on_the_page(document: Any) -> None:
    found: dict[str, set[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                schema = answer.get("content", {}).get("application/json", {}).get("schema")
                if status.startswith("2") and schema is not None:
                    name = shown(schema) if "$ref" in schema else "health"
                    found.setdefault(f"{method.upper()} {path}", set()).add(name)
    assert {each: {name} for each, name in answers_on_page().items()} == found


def fields_of_models(document: Any) -> dict[str, dict[str, bool]]:  # Any: JSON
    """For each kind of answer of the API its fields, and whether each may be left out."""
    found: dict[str, dict[str, bool]] = {"health": {"status": False}}
    models = document["components"]["schemas"]

    def read(schema: Any) -> None:
        if isinstance(schema, list):
            for each in schema:
                read(each)
        elif isinstance(schema, dict):
            if "$ref" in schema and (name := shown(schema)) not in found:
                model = models[schema["$ref"].rpartition("/")[2]]
                found[name] = {field: field not in model.get("required", ()) for field in model["properties"]}
                read(model["properties"])
            for each in schema.values():
                read(each)

    for operations in document["paths"].values():
        for operation in operations.values():
            for answer in operation["responses"].values():
                for content in answer.get("content", {}).values():
                    read(content.get("schema"))
    return found


def test_every_field_is_on_the_page(document: Any) -> None:
    assert fields_of_models(document) == fields_on_page()


def test_every_endpoint_is_in_a_table(document: Any) -> None:
    before = PAGE.partition("### Fields of answers\n")[0]
    listed = set(re.findall(r"/[^`\s,]*", "".join(re.findall(r"^\| (`.*?`) \|", before, re.MULTILINE))))
    paths = {re.sub(r"\{channel\}", "{id}", path) for path in document["paths"]}
    assert {path for path in paths if path not in listed} == set()
