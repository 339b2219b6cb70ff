"""The pictures of cards, marker, actions and card back, which `art.svg` draws: the same art for pages and drawings.

Each is a symbol: `mA` (the motif of a kind), `a-gift` (the sign of an action), `mark`, `back`. Its paints are
variables, because a `<use>` of another file sees the variables of the page that uses it, and none of its rules. The
style sheet of the pages has their colours, and others for the dark. A drawing puts those of this module in their
places. All motifs were drawn for this project.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

FILE: Final = files("hkoji.show") / "art.svg"
"""A part of the package, as its code is."""
_SYMBOL: Final = re.compile(r'<symbol id="([\w-]+)" viewBox="0 0 (\d+) (\d+)"[^>]*>(.*?)</symbol>', re.DOTALL)
_VARIABLE: Final = re.compile(r"var\(--(\w+)\)")

FIXED: Final = {
    "k": "#2b2a33",
    "gold": "#d8a531",
    "rim": "#6d4d0c",
    "cream": "#fff3cf",
    "bronze": "#8a6413",
    "back": "#3c4a68",
    "thread": "#6e7fa3",
}
"""The paints of a drawing: the ink of outlines; disc, outline, blossom and outline of the blossom of the favour marker;
a card's back, and the waves on it."""


class Tones(NamedTuple):
    """The two tones of a kind of card, `c` and `l` in its picture, and the ink that is read on the darker one."""

    colour: str
    light: str
    ink: str


TONES: Final = {
    "A": Tones("#c94f30", "#f6c9ae", "#ffffff"),
    "B": Tones("#dfae2b", "#fbe9ae", FIXED["k"]),
    "C": Tones("#4c9fcf", "#cfe8f6", FIXED["k"]),
    "D": Tones("#2f8d68", "#bfe3d0", "#ffffff"),
    "E": Tones("#b75b92", "#f0cfe2", "#ffffff"),
    "F": Tones("#e58a33", "#fde2bd", FIXED["k"]),
    "G": Tones("#2f5192", "#c6d4ef", "#ffffff"),
}
"""By the letter of the kind."""


class Picture(NamedTuple):
    """Paths, the later ones on top, in a field of `width` by `height` from (0, 0)."""

    width: int
    height: int
    paths: str

    def painted(self, paints: Mapping[str, str]) -> str:
        """Returns the paths with these paints instead of variables. The colour of text stays `currentColor`."""
        return _VARIABLE.sub(lambda found: paints[found[1]], self.paths)


@cache
def pictures() -> dict[str, Picture]:
    """Returns all pictures by their ids."""
    found = _SYMBOL.findall(FILE.read_text(encoding="utf-8"))
    return {name: Picture(int(width), int(height), paths.replace("\n", "")) for name, width, height, paths in found}


def toned(kind: str) -> dict[str, str]:
    """Returns the paints of a drawing for a kind of card."""
    return {**FIXED, "c": TONES[kind].colour, "l": TONES[kind].light}


def icon(ground: str = "") -> str:
    """Returns the mark of hkoji, its blossom, as a file; `ground` has shapes for a field of 64 by 64 behind it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{"-8 -8 64 64" if ground else "0 0 48 48"}" '
        f'stroke-linejoin="round" stroke-linecap="round">{ground}{pictures()["mF"].painted(toned("F"))}</svg>'
    )
