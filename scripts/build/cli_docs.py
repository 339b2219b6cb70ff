"""Makes docs/cli.md from the program's own help and a hand-written part, `cli.in.md`. `--check` compares."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from hkoji.cli.app import groups

DOCS = Path(__file__).parents[2] / "docs"
HKOJI = Path(sys.executable).with_name("hkoji")


def settings() -> str:
    """The table of a service's settings."""
    from hkoji_server.settings import PREFIX, Settings

    rows = ["| setting | environment variable | default | meaning |", "|---|---|---|---|"]
    for name, field in Settings.model_fields.items():
        value = field.get_default(call_default_factory=True)
        default = "none" if value in (None, ()) else f"`{value}`"
        meaning = " ".join((field.description or "").split())
        rows.append(f"| `{name}` | `{PREFIX}{name.upper()}` | {default} | {meaning} |")
    return "\n".join(rows)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Yields the title of each group of the help with its commands, in the order of the help."""
    for title, group in groups():
        root = typer.main.get_group(group)
        yield str(title), [" ".join(words) for words in _leaves(root, ())]


def _leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:  # Any: Typer does not export the type
    below = getattr(command, "commands", None)
    if below is None:
        yield words
        return
    for name, each in below.items():
        yield from _leaves(each, (*words, name))


def build() -> str:
    """Returns the page."""
    parts = [
        Path(__file__).with_name("cli.in.md").read_text().replace("SETTINGS\n", settings() + "\n"),
        "\n## Commands\n",
    ]
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "HKOJI_LANG": "en"}
    for title, names in commands():
        parts.append(f"\n### {title}\n")
        for command in names:
            shown = subprocess.run(
                [str(HKOJI), *command.split(), "--help"], env=environment, capture_output=True, text=True, check=True
            ).stdout
            body = "\n".join(f"    {line}".rstrip() for line in shown.strip().splitlines())
            parts.append(f"\n#### hkoji {command}\n\n{body}\n")
    return "".join(parts)


def main() -> None:
    """Writes the page, or with `--check` compares it."""
    path, text = DOCS / "cli.md", build()
    if "--check" in sys.argv[1:]:
        if not path.is_file() or path.read_text() != text:
            sys.exit(f"{path} is not what scripts/build/cli_docs.py makes")
        return
    path.write_text(text)


if __name__ == "__main__":
    main()
