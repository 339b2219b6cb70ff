"""Writes or compares the golden files that a builder makes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def keep(script: str, folder: Path, build: Callable[[], dict[str, str]], arguments: Sequence[str]) -> int:
    """Writes the files that `build` returns by name, or compares them (`--check`). Returns an exit code."""
    if arguments not in ([], ["--check"]):
        print(f"usage: python -m scripts.build.{script} [--check]", file=sys.stderr)
        return 2
    stale = []
    for name, text in build().items():
        path = folder / name
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            stale.append(name)
    if stale:
        print(f"not what python -m scripts.build.{script} makes: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


def main(script: str, folder: Path, build: Callable[[], dict[str, str]]) -> None:
    """Runs `keep` as a program."""
    sys.exit(keep(script, folder, build, sys.argv[1:]))
