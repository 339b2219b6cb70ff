"""The art: pictures within their fields, no two alike, with presentation attributes only, and paints that are known."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hkoji.rules.geishas_road.actions import NAMES as ROAD_NAMES
from hkoji.rules.hanamikoji.actions import KINDS
from hkoji.rules.hanamikoji.actions import NAMES as ROW_NAMES
from hkoji.show import art

SVG = "{http://www.w3.org/2000/svg}"
TEXT = art.FILE.read_text(encoding="utf-8")


def test_each_kind_and_each_action_has_a_picture_of_its_own() -> None:
    assert "".join(art.TONES) == KINDS
    motifs = {f"m{kind}" for kind in KINDS}
    signs = {f"a-{name}" for name in (*ROW_NAMES.values(), *ROAD_NAMES.values())}
    assert set(art.pictures()) == {*motifs, *signs, "mark", "back"}
    assert all(one != other for one, other in combinations(art.pictures().values(), 2))


def test_the_file_needs_no_rules_of_a_style_sheet() -> None:
    root = ElementTree.fromstring(TEXT)
    assert [symbol.get("id") for symbol in root] == list(art.pictures())
    assert set(re.findall(r" ([a-zA-Z-]+)=", TEXT)) == {
        "xmlns", "id", "viewBox", "d", "fill", "stroke", "stroke-width", "stroke-linejoin", "stroke-linecap",
    }  # fmt: skip
    assert not re.search(r"class=|style=|url\(|<style", TEXT)
    paths = list(root.iter(f"{SVG}path"))
    for path in paths:
        assert {path.get("fill"), path.get("stroke")} - {None, "none"}
        for paint in (path.get("fill", "none"), path.get("stroke", "none")):
            assert paint in ("none", "currentColor", *(f"var(--{name})" for name in art.toned("A")))
    assert sum(picture.paths.count("<path") for picture in art.pictures().values()) == len(paths)


@pytest.mark.parametrize("kind", art.TONES)
def test_a_drawing_has_no_variables(kind: str) -> None:
    for name in (f"m{kind}", "mark", "back", "a-gift"):
        painted = art.pictures()[name].painted(art.toned(kind))
        assert "var(" not in painted
        assert painted.count("<path") == art.pictures()[name].paths.count("<path")


def test_the_style_sheet_of_pages_has_the_paints_of_drawings() -> None:
    web = Path(__file__).parents[2] / "server" / "hkoji_server" / "web" / "static"
    light = (web / "style.css").read_text(encoding="utf-8").partition("@media (prefers-color-scheme: dark)")[0]
    for name, colour in art.FIXED.items():
        assert re.search(rf"--{name}: {colour}\b", light), name
