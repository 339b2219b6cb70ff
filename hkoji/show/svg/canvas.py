"""The SVG elements that the drawings need, and the pictures, each defined once. Knows no game.

Numbers are written with at most two decimals, attributes in the order in which they are given, text escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from hkoji.show import art

SANS: Final = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
SERIF: Final = "Georgia, 'Times New Roman', 'DejaVu Serif', serif"

Attribute = str | int | float | None
"""An attribute that is None is omitted."""


class Canvas:
    """A drawing of `width` by `height` pixels that elements are added to, the later ones on top.

    `symbol` says what is written on a card of a name.
    """

    def __init__(
        self, width: float, height: float, title: str, background: str, symbol: Callable[[str], str] = str
    ) -> None:
        self.symbol: Final = symbol
        self.width: Final = width
        self.height: Final = height
        self._lines: Final[list[str]] = []
        self._pictures: Final[dict[str, str]] = {}
        self._depth = 1
        self._title: Final = title
        self.rect(0, 0, width, height, fill=background)

    def add(self, tag: str, **attributes: Attribute) -> None:
        """An element without content; `_` in an attribute's name stands for `-`."""
        self._write(f"<{tag}{_attributes(attributes)}/>")

    def rect(self, x: float, y: float, width: float, height: float, **attributes: Attribute) -> None:
        """A rectangle by its upper left corner."""
        self.add("rect", x=x, y=y, width=width, height=height, **attributes)

    def circle(self, x: float, y: float, radius: float, **attributes: Attribute) -> None:
        """A circle by its centre."""
        self.add("circle", cx=x, cy=y, r=radius, **attributes)

    def line(self, x1: float, y1: float, x2: float, y2: float, **attributes: Attribute) -> None:
        """A straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)

    def path(self, d: str, **attributes: Attribute) -> None:
        """A path."""
        self.add("path", d=d, **attributes)

    def text(
        self, x: float, y: float, words: str, size: float, *, anchor: str = "start", **attributes: Attribute
    ) -> None:
        """Words on a base line at `y`; `anchor` is start, middle or end."""
        attributes = {"font_family": SANS, **attributes}
        where = _attributes({"x": x, "y": y, "font_size": size, "text_anchor": anchor, **attributes})
        self._write(f"<text{where}>{escape(words)}</text>")

    def open(self, **attributes: Attribute) -> None:
        """Begins a group; what follows is in it until `close`."""
        self._write(f"<g{_attributes(attributes)}>")
        self._depth += 1

    def close(self) -> None:
        """Ends the group that was begun last."""
        self._depth -= 1
        self._write("</g>")

    def picture(
        self,
        name: str,
        x: float,
        y: float,
        width: float,
        paints: Mapping[str, str] = art.FIXED,
        **attributes: Attribute,
    ) -> None:
        """A picture of `art` by its id and its upper left corner, each time in the same paints."""
        picture = art.pictures()[name]
        if name not in self._pictures:
            paths = picture.painted(paints)
            self._pictures[name] = f'  <g id="{name}" stroke-linejoin="round" stroke-linecap="round">{paths}</g>'
        place = f"translate({x:.1f} {y:.1f}) scale({width / picture.width:.3g})"
        self.add("use", href=f"#{name}", transform=place, **attributes)

    def _write(self, line: str) -> None:
        self._lines.append(f"{' ' * self._depth}{line}")

    def __str__(self) -> str:
        """Returns the complete file."""
        size = _attributes({"width": self.width, "height": self.height})
        box = f"0 0 {_number(self.width)} {_number(self.height)}"
        head = f'<svg xmlns="http://www.w3.org/2000/svg"{size} viewBox="{box}" role="img">'
        defined = [" <defs>", *self._pictures.values(), " </defs>"] if self._pictures else []
        return "\n".join([head, f" <title>{escape(self._title)}</title>", *defined, *self._lines, "</svg>"]) + "\n"


def _attributes(attributes: dict[str, Attribute]) -> str:
    return "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)


@lru_cache(maxsize=4096)  # a drawing repeats most of its attributes, and half of its time goes into them
def _attribute(name: str, value: str | float) -> str:
    text = value if isinstance(value, str) else _number(value)
    return f" {name.rstrip('_').replace('_', '-')}={quoteattr(text)}"


def _number(value: float) -> str:
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
