"""Writes or compares the golden files that a builder makes: texts, or bytes where line ends and charsets count."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


def keep(script: str, folder: Path, build: Callable[[], Mapping[str, str | bytes]], arguments: Sequence[str]) -> int:
    """Writes the files that `build` returns by name, or compares them (`--check`). Returns an exit code."""
    if arguments not in ([], ["--check"]):
        print(f"usage: python -m scripts.build.{script} [--check]", file=sys.stderr)
        return 2
    stale = []
    for name, made in build().items():
        path = folder / name
        content = made if isinstance(made, bytes) else made.encode()
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        elif not path.is_file() or path.read_bytes() != content:
            stale.append(name)
    if stale:
        print(f"not what python -m scripts.build.{script} makes: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


def main(script: str, folder: Path, build: Callable[[], Mapping[str, str | bytes]]) -> None:
    """Runs `keep` as a program."""
    sys.exit(keep(script, folder, build, sys.argv[1:]))
