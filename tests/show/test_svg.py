"""SVG as text: escaping, numbers, groups; and charts whose bars have the lengths of their shares."""

from __future__ import annotations

from math import isclose
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkoji.show.svg.canvas import Canvas
from hkoji.show.svg.charts import Bar, Chart, draw_charts

SVG = "{http://www.w3.org/2000/svg}"
printable = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=40)


@given(printable, printable)
def test_words_come_back_as_they_were(title: str, words: str) -> None:
    canvas = Canvas(100, 50, title, "#fff")
    canvas.text(1, 2, words, 10, font_family=words)
    root = ElementTree.fromstring(str(canvas))
    assert (root.findtext(f"{SVG}title") or "") == title
    (text,) = root.iter(f"{SVG}text")
    assert (text.text or "") == words
    assert text.get("font-family") == words


@given(st.floats(-9999, 9999))
def test_numbers_are_short_and_near(number: float) -> None:
    canvas = Canvas(10, 10, "", "#fff")
    canvas.circle(number, 0, 1)
    (circle,) = ElementTree.fromstring(str(canvas)).iter(f"{SVG}circle")
    written = circle.get("cx", "")
    assert isclose(float(written), number, abs_tol=0.00501)
    assert "e" not in written
    assert written != "-0"
    assert len(written.partition(".")[2]) <= 2


def test_groups_nest_and_attributes_that_are_none_are_left_out() -> None:
    canvas = Canvas(10, 10, "", "#fff")
    canvas.open(transform="translate(1 2)")
    canvas.add("path", d="M0 0", stroke_width=2, fill=None, class_="a")
    canvas.close()
    (group,) = ElementTree.fromstring(str(canvas)).iter(f"{SVG}g")
    assert [child.attrib for child in group] == [{"d": "M0 0", "stroke-width": "2", "class": "a"}]


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_bar_is_as_long_as_its_share(share: float) -> None:
    def width(of: float) -> float:
        svg = draw_charts("", (Chart("c", (Bar("a", of),)),))
        *_, bar = ElementTree.fromstring(svg).iter(f"{SVG}rect")
        return float(bar.get("width", ""))

    assert isclose(width(share), share * width(1.0), abs_tol=0.01)
