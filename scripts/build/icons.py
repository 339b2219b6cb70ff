"""Builds the icons of the home screen, `icon-192.png` and `icon-512.png`, from `icon.svg` beside them.

python -m scripts.build.icons           write the files
python -m scripts.build.icons --check   fail if the files differ
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

import resvg_py

FOLDER: Final = Path(__file__).parents[2] / "server" / "hkoji_server" / "web" / "static"
SIZES: Final = (192, 512)
_SHAPES: Final = re.compile(r'<svg [^>]*viewBox="0 0 32 32"[^>]*>(.*)</svg>\s*', re.DOTALL)
_GROUND: Final = "#fff8ec"


def build() -> dict[Path, bytes]:
    """Path and contents of every file."""
    found = _SHAPES.fullmatch((FOLDER / "icon.svg").read_text(encoding="utf-8"))
    assert found is not None
    # Phones cut icons to shapes of their own: an eighth at each edge is only ground.
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-5 -5 42 42"><rect x="-5" y="-5" width="42" height="42" '
        f'fill="{_GROUND}"/>{found[1]}</svg>'
    )
    return {
        FOLDER / f"icon-{size}.png": bytes(resvg_py.svg_to_bytes(svg_string=svg, width=size, height=size))
        for size in SIZES
    }


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
