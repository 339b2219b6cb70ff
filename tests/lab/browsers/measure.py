"""Runs all that takes long in real browsers: whole games, each size of the screen, many tabs, kills at each step.

    python -m tests.lab.browsers.measure                    some minutes
    python -m tests.lab.browsers.measure -k whole_games -x  arguments go to pytest

Each module of this folder has tests of one subject, which `tests/web` has a sample of. The tests of a run with
`scripts/test` do not include them. Exits with 1 if one of them fails.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

FOLDER: Final = Path(__file__).parent


def main(arguments: list[str]) -> int:
    """Runs the tests of this folder; `arguments` go to pytest."""
    return int(pytest.main([str(FOLDER), "--override-ini=python_files=*.py", *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
