"""The pictures of cards, marker, actions and card back, as paths: the same art for pages and drawings.

A picture is a few paths, each with the names of the paints that fill it and draw its outline. A drawing replaces a
name by a fixed colour. In `art.svg` a name is a variable of the page's style sheet, because a `<use>` of another file
sees the variables of the page that uses it, and none of its rules. All motifs were drawn for this project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import cos, pi, sin
from typing import Final, NamedTuple

SIDE: Final = 48
"""The width and height of all pictures but the card back."""
BACK_WIDTH, BACK_HEIGHT = 46, 64

COLOUR, LIGHT, INK = "colour", "light", "ink"
"""The two tones of a kind of card, and the ink of its outlines."""
GOLD, RIM, CREAM, BRONZE = "gold", "rim", "cream", "bronze"
"""The favour marker's disc, the outline of the disc, its blossom, and the outline of the blossom."""
SIGN: Final = "sign"
"""The sign of an action: the colour of the text beside it."""
BACK, THREAD = "back", "thread"
"""A card's back, and the waves on it."""

VARIABLES: Final = {
    COLOUR: "var(--c)",
    LIGHT: "var(--l)",
    INK: "var(--k)",
    GOLD: "var(--gold)",
    RIM: "var(--rim)",
    CREAM: "var(--cream)",
    BRONZE: "var(--bronze)",
    SIGN: "currentColor",
    BACK: "var(--back)",
    THREAD: "var(--thread)",
}
"""The paints of a page."""

FIXED: Final = {
    INK: "#2b2a33",
    GOLD: "#d8a531",
    RIM: "#6d4d0c",
    CREAM: "#fff3cf",
    BRONZE: "#8a6413",
    SIGN: "currentColor",
    BACK: "#3c4a68",
    THREAD: "#6e7fa3",
}
"""The paints of a drawing; the style sheet of the pages has the same, and others for the dark."""


class Tones(NamedTuple):
    """The two tones of a kind of card, and the ink that is read on the darker one."""

    colour: str
    light: str
    ink: str


TONES: Final = {
    "A": Tones("#c94f30", "#f6c9ae", "#ffffff"),
    "B": Tones("#dfae2b", "#fbe9ae", FIXED[INK]),
    "C": Tones("#4c9fcf", "#cfe8f6", FIXED[INK]),
    "D": Tones("#2f8d68", "#bfe3d0", "#ffffff"),
    "E": Tones("#b75b92", "#f0cfe2", "#ffffff"),
    "F": Tones("#e58a33", "#fde2bd", FIXED[INK]),
    "G": Tones("#2f5192", "#c6d4ef", "#ffffff"),
}
"""By the letter of the kind."""

_FINE: Final = 1.35
_TURN: Final = 2 * pi


class Shape(NamedTuple):
    """A path with the names of its paints; an empty name is no paint. `width` is that of the outline."""

    path: str
    fill: str = ""
    line: str = ""
    width: float = _FINE


class Picture(NamedTuple):
    """Shapes, the later ones on top, in a field of `width` by `height` from (0, 0)."""

    shapes: tuple[Shape, ...]
    width: float = SIDE
    height: float = SIDE


# --- points and paths -------------------------------------------------------------------------------------------------


def _number(value: float) -> str:
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _at(x: float, y: float) -> str:
    return f"{_number(x)} {_number(y)}"


def _polar(x: float, y: float, radius: float, angle: float) -> str:
    """The point at `radius` from (x, y); `angle` in radians, 0 to the right, counter-clockwise."""
    return _at(x + radius * cos(angle), y - radius * sin(angle))


def _disc(x: float, y: float, radius: float) -> str:
    arc = f"a{_number(radius)} {_number(radius)} 0 1 0"
    return f"M{_at(x - radius, y)}{arc} {_number(2 * radius)} 0{arc} -{_number(2 * radius)} 0Z"


def _box(x: float, y: float, width: float, height: float, round_: float) -> str:
    """A rectangle with round corners, by its upper left corner."""
    arc = f"a{_number(round_)} {_number(round_)} 0 0 1 "
    flat, tall = width - 2 * round_, height - 2 * round_
    turn = _number(round_)
    return (
        f"M{_at(x + round_, y)}h{_number(flat)}{arc}{turn} {turn}v{_number(tall)}{arc}-{turn} {turn}"
        f"h-{_number(flat)}{arc}-{turn} -{turn}v-{_number(tall)}{arc}{turn} -{turn}Z"
    )


def _fifths(start: float = pi / 2) -> Iterator[float]:
    return (start + k * _TURN / 5 for k in range(5))


def _petals(x: float, y: float, length: float) -> str:
    """Five petals of a cherry blossom around (x, y), each with a notch at its tip."""
    outline = ((0.41, 0.2), (0.5, 0.72), (0.22, 1), (0.04, 0.83), (-0.04, 0.83), (-0.22, 1), (-0.5, 0.72), (-0.41, 0.2))

    def petal(turn: float) -> str:
        low, side, tip, notch, notch_, tip_, side_, low_ = (
            _at(x + length * (a * sin(turn) + b * cos(turn)), y + length * (a * cos(turn) - b * sin(turn)))
            for a, b in outline
        )
        return f"M{_at(x, y)}C{low} {side} {tip}L{notch}L{notch_}L{tip_}C{side_} {low_} {_at(x, y)}Z"

    return "".join(map(petal, _fifths()))


# --- the seven kinds --------------------------------------------------------------------------------------------------


def _fan() -> Picture:
    x, y, outer, inner, ribs = 24, 38.5, 24.5, 9.5, 7
    first, last = pi * 0.1, pi * 0.9
    angles = [first + (last - first) * k / ribs for k in range(ribs + 1)]

    def sector(far: float, near: float) -> str:
        return (
            f"M{_polar(x, y, far, first)}A{far} {far} 0 0 0 {_polar(x, y, far, last)}"
            f"L{_polar(x, y, near, last)}A{near} {near} 0 0 1 {_polar(x, y, near, first)}Z"
        )

    folds = "".join(f"M{_polar(x, y, inner, angle)}L{_polar(x, y, outer, angle)}" for angle in angles[1:-1])
    sticks = "".join(f"M{_at(x, y)}L{_polar(x, y, inner, angle)}" for angle in angles)
    sun = _disc(x + 14.5 * cos(pi * 0.62), y - 14.5 * sin(pi * 0.62), 3.8)
    return Picture(
        (
            Shape(sector(outer, inner), COLOUR),
            Shape(sector(outer, 20.5), LIGHT),
            Shape(sun, LIGHT),
            Shape(folds, line=INK, width=0.9),
            Shape(f"{sector(outer, inner)}{sticks}M24 38.5L21.6 43.5M24 38.5L26.4 43.5", line=INK),
            Shape(_disc(x, y, 1.9), LIGHT, INK),
        )
    )


def _parasol() -> Picture:
    hems = [5 + 38 * k / 6 for k in range(7)]
    scallops = "".join(f"Q{_at((hems[k] + hems[k - 1]) / 2, 23.5)} {_at(hems[k - 1], 27)}" for k in range(6, 0, -1))
    dome = f"M5 27C6 14 14 7.5 24 7.5C34 7.5 42 14 43 27{scallops}Z"
    ribs = "".join(f"M24 7.5Q{_at(24 + (x - 24) * 0.86, 13)} {_at(x, 27)}" for x in hems[1:-1])
    band = (
        "M8.2 18.6C12 13.6 17.5 11.6 24 11.6C30.5 11.6 36 13.6 39.8 18.6"
        "L38 20.4C34.6 16.6 29.8 15 24 15C18.2 15 13.4 16.6 10 20.4Z"
    )
    return Picture(
        (
            Shape(dome, COLOUR),
            Shape(band, LIGHT),
            Shape(ribs, line=INK, width=0.9),
            Shape(f"{dome}M24 4.5V7.5M24 24V40.5A3.2 3.2 0 0 0 30.4 40.5V39", line=INK),
        )
    )


def _comb() -> Picture:
    """A comb in the shape of a half moon, with a flower: two guards, and teeth between them."""
    teeth, guard, tooth, gap = 6, 4.8, 2.7, 2.1
    left, right, root, foot = 3.9, 44.1, 27, 40
    shape = (
        f"M{left} {foot}V27C{left} 14.5 12 7.5 24 7.5S{right} 14.5 {right} 27V{foot}H{_number(right - guard)}V{root}"
    )
    x = right - guard - gap
    for _ in range(teeth):
        shape += f"H{_number(x)}V{foot}H{_number(x - tooth)}V{root}"
        x -= tooth + gap
    shape += f"H{_number(left + guard)}V{foot}Z"
    return Picture(
        (
            Shape(shape, COLOUR, INK),
            Shape("M9 23.5C10.5 16 16.5 11.5 24 11.5S37.5 16 39 23.5", line=LIGHT),
            Shape(_petals(24, 18.6, 6.4), LIGHT),
            Shape(_disc(24, 18.6, 1.4), COLOUR, INK, 1),
        )
    )


def _bowl() -> Picture:
    """A tea bowl without a handle: glaze runs down it, steam rises."""
    bowl = "M6 21.5H42C42.4 31.5 36 38.5 29.5 39.3V42.5H18.5V39.3C12 38.5 5.6 31.5 6 21.5Z"
    glaze = (
        "M6 21.5H42C42.1 25 41.4 28 40.1 30.6C37.5 29.4 36 26.8 33.4 27C30.8 27.2 31 33.2 27.6 33.2"
        "C24.4 33.2 25 28 21.8 27.8C18.8 27.6 18.4 31.4 15.4 31.2C12.6 31 11.4 28.6 7.9 30.5C6.5 28 5.9 25 6 21.5Z"
    )
    steam = (
        "M16.5 17C13.4 13.8 19 11.6 15.9 7.8M24.4 16.5C21.2 12.6 27.4 10.2 24 5.4M32.3 17C29.2 13.8 34.8 11.6 31.7 7.8"
    )
    return Picture((Shape(bowl, LIGHT), Shape(glaze, COLOUR), Shape(bowl, line=INK), Shape(steam, line=INK)))


def _lantern() -> Picture:
    body = "M16 12C8.5 17 8.5 31 16 36H32C39.5 31 39.5 17 32 12Z"
    ribs = "M12.2 17H35.8M10.6 22.2H37.4M10.6 27.2H37.4M12.2 32H35.8"
    glow = "M24 12C18.5 17 18.5 31 24 36C29.5 31 29.5 17 24 12Z"
    caps = f"{_box(16, 8, 16, 4, 1)}{_box(16, 36, 16, 4, 1)}"
    return Picture(
        (
            Shape(body, COLOUR),
            Shape(glow, LIGHT),
            Shape(ribs, line=INK, width=0.9),
            Shape(body, line=INK),
            Shape(caps, COLOUR, INK),
            Shape("M24 4V8M24 40V45M21.4 42.2V46M26.6 42.2V46", line=INK),
        )
    )


def _blossom() -> Picture:
    x, y = 24, 25.2
    stamens = "".join(f"M{_at(x, y)}L{_polar(x, y, 7.4, angle)}" for angle in _fifths())
    tips = "".join(_disc(x + 7.8 * cos(angle), y - 7.8 * sin(angle), 1.1) for angle in _fifths())
    return Picture(
        (
            Shape(_petals(x, y, 21), COLOUR, INK),
            Shape(_petals(x, y, 9), LIGHT),
            Shape(stamens, line=INK, width=0.9),
            Shape(tips, LIGHT, INK, 0.9),
        )
    )


def _moon() -> Picture:
    """A crescent and a star over two clouds."""
    crescent = "M29.5 5.5A18.6 18.6 0 1 0 43.2 29.4A15.4 15.4 0 0 1 29.5 5.5Z"
    star = "M36.2 9.5L37.7 14L42.2 15.5L37.7 17L36.2 21.5L34.7 17L30.2 15.5L34.7 14Z"
    clouds = (
        "M20 33.5H38.5A2.7 2.7 0 0 1 38.5 38.9H15A2.7 2.7 0 0 1 15 33.5Z"
        "M9 39.6H27A2.3 2.3 0 0 1 27 44.2H9A2.3 2.3 0 0 1 9 39.6Z"
    )
    return Picture((Shape(f"{crescent}{star}", COLOUR, INK), Shape(clouds, LIGHT, INK)))


MOTIFS: Final[Mapping[str, Picture]] = {
    "A": _fan(),
    "B": _parasol(),
    "C": _comb(),
    "D": _bowl(),
    "E": _lantern(),
    "F": _blossom(),
    "G": _moon(),
}
"""The motif of each kind of card, by its letter."""


# --- marker, actions, back --------------------------------------------------------------------------------------------


def _marker() -> Picture:
    return Picture(
        (
            Shape(_disc(24, 24, 21), GOLD, RIM, 1.8),
            Shape(_disc(24, 24, 17), line=CREAM, width=1.4),
            Shape(_petals(24, 24.8, 13.6), CREAM, BRONZE, 1.1),
            Shape(_disc(24, 24.8, 2.6), GOLD, BRONZE, 1.1),
        )
    )


MARKER: Final = _marker()
"""The favour of a geisha."""

_BOLD: Final = 2.6
_CROSS: Final = "l8 12m0 -12l-8 12"


def _card_sign(x: float, y: float, width: float = 17, height: float = 30) -> str:
    return _box(x, y, width, height, 2.5)


def _pair_sign(x: float, y: float) -> str:
    """A card in front of another."""
    behind = f"M{_at(x + 4.5, y - 2.5)}v-1a2.5 2.5 0 0 1 2.5 -2.5h7a2.5 2.5 0 0 1 2.5 2.5v17a2.5 2.5 0 0 1 -2.5 2.5h-.5"
    return _card_sign(x, y, 12, 22) + behind


def _signs() -> dict[str, Picture]:
    """Cards that are filled lie face down, empty ones are open, crossed ones are out."""
    left, right, one = _card_sign(5, 9), _card_sign(26, 9), _card_sign(13, 7, 22, 34)
    crosses = f"M9.5 18{_CROSS}", f"M30.5 18{_CROSS}"
    gift = f"{_card_sign(3, 17, 12, 22)}{_card_sign(18, 9, 12, 22)}{_card_sign(33, 17, 12, 22)}M20.5 39H27.5"
    return {
        "secret": Picture((Shape(one, SIGN, SIGN, _BOLD),)),
        "reveal": Picture((Shape(one, line=SIGN, width=_BOLD), Shape(_petals(24, 24.5, 7.8), SIGN))),
        "trade-off": Picture((Shape(f"{left}{right}{''.join(crosses)}", line=SIGN, width=_BOLD),)),
        "intrigue": Picture((Shape(left, SIGN, SIGN, _BOLD), Shape(f"{right}{crosses[1]}", line=SIGN, width=_BOLD))),
        "gift": Picture((Shape(gift, line=SIGN, width=_BOLD),)),
        "competition": Picture((Shape(f"{_pair_sign(3.5, 16)}{_pair_sign(27, 16)}", line=SIGN, width=_BOLD),)),
    }


SIGNS: Final[Mapping[str, Picture]] = _signs()
"""The sign of each action of both games, by its English name."""


def _waves() -> str:
    """Rows of arcs within each other, as on cloth; every second row is shifted by half a wave and cut at the edges."""
    radius, rings = BACK_WIDTH / 4, (11.5, 8.3, 5.1)
    paths = []
    for row in range(6):
        y = 12 + 10.3 * row
        for ring in rings:
            if row % 2:
                paths.append(f"M0 {_number(y - ring)}a{ring} {ring} 0 0 1 {ring} {ring}")
                paths.append(f"M{_at(BACK_WIDTH - ring, y)}a{ring} {ring} 0 0 1 {ring} -{ring}")
            for x in (2 * radius,) if row % 2 else (radius, 3 * radius):
                paths.append(f"M{_at(x - ring, y)}a{ring} {ring} 0 0 1 {_number(2 * ring)} 0")
    return "".join(paths)


CARD_BACK: Final = Picture(
    (Shape("M0 0H46V64H0Z", BACK), Shape(_waves(), line=THREAD, width=1.1)), BACK_WIDTH, BACK_HEIGHT
)
"""The back of a card, without its edge."""


# --- the file for pages -----------------------------------------------------------------------------------------------


def picture_ids() -> dict[str, Picture]:
    """All pictures by their ids in `art.svg`: `mA` (a motif), `mark`, `a-gift` (a sign), `back`."""
    return {
        **{f"m{letter}": picture for letter, picture in MOTIFS.items()},
        **{f"a-{name}": picture for name, picture in SIGNS.items()},
        "mark": MARKER,
        "back": CARD_BACK,
    }


def sprite() -> str:
    """Returns `art.svg`: a symbol for each picture, which a page shows by `<use href="art.svg#mA">`."""
    # On each symbol: a `<use>` of another file inherits nothing from that file's root.
    joins = 'stroke-linejoin="round" stroke-linecap="round"'
    symbols = (
        f'<symbol id="{name}" viewBox="0 0 {_number(picture.width)} {_number(picture.height)}" {joins}>'
        f"{''.join(map(_element, picture.shapes))}</symbol>"
        for name, picture in picture_ids().items()
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(symbols)}</svg>'


def _element(shape: Shape) -> str:
    fill = f'fill="{VARIABLES[shape.fill]}"' if shape.fill else 'fill="none"'
    line = f' stroke="{VARIABLES[shape.line]}" stroke-width="{_number(shape.width)}"' if shape.line else ""
    return f'<path d="{shape.path}" {fill}{line}/>'
