"""Horizontal bar charts of shares, one below the other. Knows numbers and labels, and no game."""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.show.svg.canvas import Canvas

WIDTH: Final = 760
_LEFT: Final = 190
_RIGHT: Final = 190
_BAR: Final = 20
_STEP: Final = 28
_TITLE: Final = 58
_MARGIN: Final = 24
_PAPER: Final = "#fbfaf7"
_INK: Final = "#22242a"
_FAINT: Final = "#6a6f7a"
_GRID: Final = "#d9d6cd"
_FILL: Final = "#3a6ea5"


class Bar(NamedTuple):
    """A share from 0 to 1 with its label and a remark to its right; `interval` is drawn as a whisker."""

    label: str
    share: float
    remark: str = ""
    interval: tuple[float, float] | None = None


class Chart(NamedTuple):
    """Bars under a title; `half` marks 50 %, for shares of wins."""

    title: str
    bars: tuple[Bar, ...]
    half: bool = False


def draw_charts(title: str, charts: tuple[Chart, ...]) -> str:
    """All charts as one SVG text."""
    height = 2 * _MARGIN + 30 + sum(_TITLE + _STEP * len(chart.bars) for chart in charts)
    canvas = Canvas(WIDTH, height, title, _PAPER)
    canvas.text(_MARGIN, _MARGIN + 16, title, 20, fill=_INK, font_weight="bold")
    y: float = _MARGIN + 30
    for chart in charts:
        y = _draw(canvas, chart, y)
    return str(canvas)


def _draw(canvas: Canvas, chart: Chart, y: float) -> float:
    scale = WIDTH - _LEFT - _RIGHT
    canvas.text(_MARGIN, y + _TITLE - 28, chart.title, 14, fill=_INK, font_weight="bold")
    top, bottom = y + _TITLE - 6, y + _TITLE - 6 + _STEP * len(chart.bars)
    for percent in (0, 25, 50, 75, 100):
        x = _LEFT + scale * percent / 100
        strong = chart.half and percent == 50
        canvas.line(x, top, x, bottom, stroke=_INK if strong else _GRID, stroke_width=1.5 if strong else 1)
        canvas.text(x, y + _TITLE - 10, f"{percent} %", 9, anchor="middle", fill=_FAINT)
    for number, bar in enumerate(chart.bars):
        at = top + _STEP * number + (_STEP - _BAR) / 2
        canvas.text(_LEFT - 10, at + 15, bar.label, 13, anchor="end", fill=_INK)
        canvas.rect(_LEFT, at, scale * bar.share, _BAR, fill=_FILL, rx=2)
        if bar.interval is not None:
            low, high = (_LEFT + scale * each for each in bar.interval)
            middle = at + _BAR / 2
            canvas.path(
                f"M{low:.1f} {middle - 5:.1f}V{middle + 5:.1f}M{low:.1f} {middle:.1f}H{high:.1f}"
                f"M{high:.1f} {middle - 5:.1f}V{middle + 5:.1f}",
                stroke=_INK,
                stroke_width=1.5,
                fill="none",
            )
        canvas.text(WIDTH - _RIGHT + 14, at + 15, bar.remark, 12, fill=_FAINT)
    return y + _TITLE + _STEP * len(chart.bars)
