"""Runs all that takes long in real browsers: whole games, each size of the screen, many tabs, kills at each step.

    python -m tests.lab.browsers.measure                    some minutes
    python -m tests.lab.browsers.measure -k whole_games -x  arguments go to pytest

Each module of this folder has tests of one subject, of which `tests/web` has a sample; and what `tests/web` marks as
`long` belongs to them. The suite does not include either. Chromium is the whole browser here, as people have it. Exits
with 1 if one of them fails.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.browsers import find_browser

FOLDER: Final = Path(__file__).parent
PAGES: Final = FOLDER.parents[1] / "web"


def main(arguments: list[str]) -> int:
    """Runs the tests of this folder, then the long ones of pages; `arguments` go to pytest. Returns its exit code."""
    if whole := find_browser("chromium"):
        os.environ["HKOJI_CHROMIUM"] = str(whole)
    runs = ([FOLDER, "--override-ini=python_files=*.py"], [PAGES, "-m", "long"])
    return max(int(pytest.main([*map(str, run), *arguments])) for run in runs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
