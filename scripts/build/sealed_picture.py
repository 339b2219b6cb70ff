"""Builds docs/images/sealed.svg: how two people deal cards by post, with boxes and padlocks, for docs/sealed.md.

It is as wide as a phone, and has a ground of its own, so that it is read on a dark page too.

python -m scripts.build.sealed_picture           write the file
python -m scripts.build.sealed_picture --check   fail if the file differs
"""

from __future__ import annotations

from typing import Final

from hkoji.show.art import TONES, toned
from hkoji.show.svg.canvas import Canvas
from scripts.build.golden import main
from tests.support.docs import DOCS

FOLDER: Final = DOCS / "images"
WIDTH: Final = 360
_TITLE: Final = (
    "Alice locks each card in a box with her padlock A and mixes the boxes. Bob adds his padlock B to each and mixes"
    " them again. Alice takes padlock A off a box that is for Bob. Bob takes off padlock B, and sees the card."
)
_STEPS: Final = (
    ("Alice puts each card into a box,", "locks it with her padlock A,", "and mixes the boxes."),
    ("Bob adds his padlock B to each,", "and mixes them again. Now nobody", "knows which card is where."),
    ("One box is for Bob. Alice takes", "her padlock off it. She cannot look", "inside: Bob's is still on."),
    ("Bob takes off his own, and looks.", "Nobody else has seen the card."),
)
_PANEL: Final = 150
_MARGIN: Final = 16
_PAPER, _INK, _EDGE, _RULE = "#fbf7ec", "#2b2a33", "#6b4a22", "#d9cfb8"
_WOOD, _LID, _INSIDE = "#d9b27c", "#c2965a", "#4a3417"
_LOCKS: Final = {"A": "#b3261e", "B": "#1f4e9c"}
_BOX, _HEIGHT, _GAP = 50, 36, 18
_CHOSEN: Final = 3
"""The number of the box that is for Bob."""


def build() -> dict[str, str]:
    """The file's name and contents."""
    canvas = Canvas(WIDTH, _PANEL * len(_STEPS), _TITLE, _PAPER)
    for number, lines in enumerate(_STEPS):
        top = number * _PANEL
        if number:
            canvas.line(_MARGIN, top, WIDTH - _MARGIN, top, stroke=_RULE)
        canvas.circle(_MARGIN + 12, top + 26, 12, fill=_INK)
        canvas.text(_MARGIN + 12, top + 31, str(number + 1), 15, anchor="middle", fill="#ffffff", font_weight=700)
        for row, words in enumerate(lines):
            canvas.text(_MARGIN + 36, top + 27 + 19 * row, words, 15, fill=_INK)
        _boxes(canvas, number, top + 98)
    return {"sealed.svg": str(canvas)}


def _boxes(canvas: Canvas, step: int, y: float) -> None:
    """The row of boxes of a step, from 0, with `y` as the upper edge of each."""
    for box in range(5):
        x = _MARGIN + 3 + box * (_BOX + _GAP)
        chosen = box == _CHOSEN
        canvas.open(opacity=None if step < 2 or chosen else 0.35)
        if step == 3 and chosen:
            _opened(canvas, x, y)
        else:
            _closed(canvas, x, y, "A" if step == 0 else "B" if step == 2 and chosen else "AB")
        canvas.close()


def _closed(canvas: Canvas, x: float, y: float, locks: str) -> None:
    """A box with its padlocks."""
    canvas.rect(x, y, _BOX, _HEIGHT, rx=3, fill=_WOOD, stroke=_EDGE, stroke_width=1.5)
    canvas.rect(x, y, _BOX, 9, rx=3, fill=_LID, stroke=_EDGE, stroke_width=1.5)
    for place, name in enumerate(locks):
        _padlock(canvas, x + _BOX / 2 + 20 * (place - (len(locks) - 1) / 2), y + 13, name)


def _opened(canvas: Canvas, x: float, y: float) -> None:
    """A box without a lid, with a card that looks out of it."""
    canvas.rect(x, y - 2, _BOX, 11, rx=3, fill=_INSIDE, stroke=_EDGE, stroke_width=1.5)
    canvas.rect(x + 9, y - 44, 32, 50, rx=4, fill="#fffdf6", stroke=_INK, stroke_width=1.5)
    canvas.rect(x + 12, y - 41, 26, 44, rx=2, fill=TONES["G"].light)
    canvas.picture("mG", x + 13, y - 34, 24, toned("G"))
    canvas.rect(x, y + 6, _BOX, _HEIGHT - 6, rx=3, fill=_WOOD, stroke=_EDGE, stroke_width=1.5)


def _padlock(canvas: Canvas, x: float, y: float, name: str) -> None:
    """A padlock with its letter, about `x`, with the top of its body at `y`."""
    colour = _LOCKS[name]
    canvas.path(f"M{x - 5:g} {y + 1:g} v-4 a5 5 0 0 1 10 0 v4", fill="none", stroke=colour, stroke_width=2.5)
    canvas.rect(x - 8.5, y, 17, 17, rx=3, fill=colour)
    canvas.text(x, y + 13, name, 13, anchor="middle", fill="#ffffff", font_weight=700)


if __name__ == "__main__":
    main("sealed_picture", FOLDER, build)
