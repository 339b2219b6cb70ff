"""The art: pictures within their fields, no two alike, and `art.svg` for pages with presentation attributes only."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from hkoji.rules.geishas_road.actions import NAMES as ROAD_NAMES
from hkoji.rules.hanamikoji.actions import KINDS
from hkoji.rules.hanamikoji.actions import NAMES as ROW_NAMES
from hkoji.show import art

SVG = "{http://www.w3.org/2000/svg}"


def test_each_kind_and_each_action_has_a_picture_of_its_own() -> None:
    assert "".join(art.MOTIFS) == KINDS == "".join(art.TONES)
    assert set(art.SIGNS) == {str(name) for name in (*ROW_NAMES.values(), *ROAD_NAMES.values())}
    pictures = list(art.picture_ids().values())
    assert len(pictures) == len(KINDS) + len(art.SIGNS) + 2
    assert all(one != other for one, other in combinations(pictures, 2))


@pytest.mark.parametrize("name", art.picture_ids())
def test_a_picture_uses_known_paints(name: str) -> None:
    for shape in art.picture_ids()[name].shapes:
        assert shape.fill or shape.line
        assert {shape.fill, shape.line} - {""} <= set(art.VARIABLES)


def test_the_file_of_pages_needs_no_rules_of_a_style_sheet() -> None:
    text = art.sprite()
    root = ElementTree.fromstring(text)
    assert [symbol.get("id") for symbol in root] == list(art.picture_ids())
    assert set(re.findall(r" ([a-zA-Z-]+)=", text)) == {
        "xmlns", "id", "viewBox", "d", "fill", "stroke", "stroke-width", "stroke-linejoin", "stroke-linecap",
    }  # fmt: skip
    assert not re.search(r"class=|style=|url\(|<style", text)
    for path in root.iter(f"{SVG}path"):
        for paint in (path.get("fill", ""), path.get("stroke", "")):
            assert paint in ("", "none", *art.VARIABLES.values())
