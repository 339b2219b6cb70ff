"""Builds what tests keep of mail: mails of many programs with what is to be read from them, bombs, and our letters.

    python -m scripts.build.mails           write the files
    python -m scripts.build.mails --check   fail if a file differs, or if a mail is read in another way

The readings are written by hand, beside the mails. tests/data/mails/README has them all, one mail a line.
tests/data/letters/ is made by `scripts.build.letters`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from scripts.build import letters
from scripts.build.golden import keep
from tests.support import mail_clients, mail_loose_forms, mail_oddities
from tests.support.mail_bombs import FILED
from tests.support.mail_shape import Shape, describe

FOLDER: Final = Path(__file__).parents[2] / "tests" / "data"
SHAPES: Final[tuple[Shape, ...]] = (*mail_clients.shapes(), *mail_oddities.shapes(), *mail_loose_forms.shapes())

_HEAD: Final = """\
Mails as mail programs write them, and mails that are no plain answers. A line has the name of a file without .eml, what
is due from its writer (turn: an action; gift: the answer to a gift; road: an action of Geisha's Road; -: nothing), and
what is to be read from it. Built by scripts/build/mails.py.

"""


def build() -> dict[str, str | bytes]:
    """The files' names and contents."""
    lines = (f"{shape.name}  {shape.due or '-'}  {shape.reading}\n" for shape in SHAPES)
    return {
        "mails/README": _HEAD + "".join(lines),
        **{f"mails/{shape.name}.eml": shape.raw for shape in SHAPES},
        **{f"bombs/{name}.eml": raw for name, raw in FILED.items()},
        **letters.build(),
    }


def read_otherwise() -> list[str]:
    """The mails from which something else is read than is written beside them."""
    return [shape.name for shape in SHAPES if describe(shape.raw, shape.due) != shape.reading]


def main() -> int:
    """Runs as a program. Returns its exit code."""
    wrong = read_otherwise()
    if wrong:
        print(f"read otherwise: {', '.join(wrong)}", file=sys.stderr)
    code = keep("mails", FOLDER, build, sys.argv[1:])
    print(f"{len(SHAPES)} shapes of mails, {len(FILED)} bombs")
    return code or bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
