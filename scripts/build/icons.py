"""Builds the pictures that are no SVG: the icons of the home screen, and that of an invitation.

Messengers show `invite.png` beside a link: the seven geisha of Hanamikoji as a hand of cards.

python -m scripts.build.icons           write the files
python -m scripts.build.icons --check   fail if the files differ
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import resvg_py

from hkoji.show.art import TONES, icon, pictures, toned

FOLDER: Final = Path(__file__).parents[2] / "server" / "hkoji_server" / "web" / "static"
SIZES: Final = (192, 512)
_GROUND: Final = "#fff8ec"


def build() -> dict[Path, bytes]:
    """Path and contents of every file."""
    # Phones cut icons to shapes of their own: an eighth at each edge is only ground.
    svg = icon(f'<rect x="-8" y="-8" width="64" height="64" fill="{_GROUND}"/>')
    return {
        FOLDER / "invite.png": bytes(resvg_py.svg_to_bytes(svg_string=_invitation(), width=1200, height=630)),
        **{
            FOLDER / f"icon-{size}.png": bytes(resvg_py.svg_to_bytes(svg_string=svg, width=size, height=size))
            for size in SIZES
        },
    }


def _invitation() -> str:
    """Seven cards in a hand, drawn 1200 by 630."""
    cards = "".join(_card(number, kind) for number, kind in enumerate(TONES))
    joins = 'stroke-linejoin="round" stroke-linecap="round"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 630" {joins}>'
        f'<rect width="1200" height="630" fill="#f4eee1"/>{cards}</svg>'
    )


def _card(number: int, kind: str) -> str:
    paints = toned(kind)
    # They turn about a point far below, as cards in a hand.
    return (
        f'<g transform="rotate({(number - 3) * 8} 600 1330) translate(505 150)">'
        f'<rect width="190" height="290" rx="20" fill="#fffdf6" stroke="#4a4438" stroke-width="3"/>'
        f'<rect x="12" y="12" width="166" height="266" rx="12" fill="{paints["l"]}"/>'
        f'<g transform="translate(11 60) scale(3.5)">{pictures()[f"m{kind}"].painted(paints)}</g></g>'
    )


def main(arguments: list[str]) -> int:
    """Writes the files, or compares them."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    stale = []
    for path, data in build().items():
        if not arguments:
            path.write_bytes(data)
        elif not path.is_file() or path.read_bytes() != data:
            stale.append(path.name)
    if stale:
        print(f"not what scripts/build/icons.py writes: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
