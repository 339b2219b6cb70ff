"""Draws docs/charts/*.svg from docs/charts/figures.json, which holds the figures of docs/performance.md.

Run by scripts/build_charts. The same figures give the same files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl  # type: ignore[import-not-found]

mpl.use("svg")
from matplotlib import pyplot as plt

FOLDER: Final = Path(__file__).parents[1] / "docs" / "charts"
_BAR: Final = "#4878a8"
_OTHER: Final = "#c8885a"
_AIM: Final = "#303030"


def draw_aims(rows: list[dict[str, Any]]) -> None:  # Any: JSON
    """Each ratio as a part of its aim, so that 1 is the aim; longer is better."""
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(rows) + 1))
    parts = [row["aim"] / row["ratio"] if row.get("at_most") else row["ratio"] / row["aim"] for row in rows]
    axes.barh(range(len(rows)), parts, color=[_BAR if part >= 1 else _OTHER for part in parts])
    axes.axvline(1, color=_AIM, linewidth=1)
    for place, (row, part) in enumerate(zip(rows, parts, strict=True)):
        bound = "≤" if row.get("at_most") else "≥"
        axes.text(part + 0.02, place, f"{row['ratio']:g} (aim {bound} {row['aim']:g})", va="center", fontsize=8)
        axes.texts[-1].set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5})
    axes.set_yticks(range(len(rows)), [row["what"] for row in rows], fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, max(parts) * 1.25)
    axes.set_xlabel("of the aim; 1 and more is reached")
    _keep(figure, "aims")


def draw_lines(name: str, chart: dict[str, Any]) -> None:  # Any: JSON
    """Lines over a common axis, both logarithmic."""
    figure, axes = plt.subplots(figsize=(8, 4))
    for label, values in chart["series"].items():
        axes.plot(chart["x"], values, marker="o", markersize=4, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(chart["x"], [f"{x:,}" for x in chart["x"]])
    axes.minorticks_off()
    axes.set_xlabel(chart["x_label"])
    axes.set_ylabel(chart["y_label"])
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    _keep(figure, name)


def draw_pairs(name: str, chart: dict[str, Any]) -> None:  # Any: JSON
    """For each row one bar a series, side by side."""
    rows, series = chart["rows"], chart["series"]
    figure, axes = plt.subplots(figsize=(8, 0.5 * len(rows) + 1.2))
    height = 0.8 / len(series)
    colours = [_BAR, _OTHER, "#88a878", "#a888b8"]
    for number, (label, values) in enumerate(series.items()):
        places = [row + number * height for row in range(len(rows))]
        axes.barh(places, values, height, label=label, color=colours[number])
        for place, value in zip(places, values, strict=True):
            axes.text(value, place, f" {value:g}", va="center", fontsize=7)
    axes.set_yticks([row + (len(series) - 1) * height / 2 for row in range(len(rows))], rows, fontsize=9)
    axes.invert_yaxis()
    if chart.get("log"):
        axes.set_xscale("log")
        axes.set_xlim(left=1)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.minorticks_off()
    axes.set_xlabel(chart["label"])
    axes.legend(fontsize=8)
    _keep(figure, name)


def _keep(figure: Any, name: str) -> None:  # Any: of the library
    figure.savefig(FOLDER / f"{name}.svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def main() -> None:
    """Draws all charts."""
    plt.rcParams["svg.hashsalt"] = "hkoji"
    figures = json.loads((FOLDER / "figures.json").read_text())
    draw_aims(figures["aims"])
    for name, chart in figures["lines"].items():
        draw_lines(name, chart)
    for name, chart in figures["pairs"].items():
        draw_pairs(name, chart)


if __name__ == "__main__":
    main()
