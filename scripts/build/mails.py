"""Builds what tests keep of mail: bombs, and our letters.

    python -m scripts.build.mails           write the files
    python -m scripts.build.mails --check   fail if a file differs

tests/data/letters/ is made by `scripts.build.letters`. The mails of tests/data/mails are written by hand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scripts.build import letters
from scripts.build.golden import main
from tests.support.mail_bombs import FILED

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data"


def build() -> dict[str, str | bytes]:
    """The files' names and contents."""
    return {**{f"bombs/{name}.eml": raw for name, raw in FILED.items()}, **letters.build()}


if __name__ == "__main__":
    main("mails", FOLDER, build)
