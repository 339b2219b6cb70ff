"""The program, for the shell and for `python -m hkoji`.

It answers `--version` before it loads anything else; every other command line is `hkoji.cli.main`'s.
"""

from __future__ import annotations

import sys

from hkoji import __version__


def main() -> None:
    """Runs the program."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        try:
            print(f"hkoji {__version__}", flush=True)
            return
        except OSError:
            pass  # what follows prints it again, and says why it cannot
    from hkoji.cli.main import main

    main()


if __name__ == "__main__":
    main()
