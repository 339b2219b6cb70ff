"""Makes the man pages from the program's own commands: `hkoji.1`, and one page for each command and group.

`python -m scripts.build.man_pages FOLDER` writes them. The hook at the end of this file adds them to every wheel.
click-man does not serve: it reads Click's commands, not Typer's, leaves arguments and examples out, and does not escape
text.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import typer
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_CODES: Final = re.compile(r"^\| (\d+) \| (.+) \|$", re.MULTILINE)
_ENVIRONMENT: Final = (
    ("HKOJI_HOME", "The folder with your identity, keys and games. Each folder belongs to one player."),
    ("HKOJI_CONFIG", "The settings file; see hkoji-config(1)."),
    ("HKOJI_LANG, HKOJI_DECK", "As --lang and --deck."),
    ("HKOJI_DATABASE, HKOJI_SERVER_*", "The settings of a service; see hkoji-serve(1)."),
    ("NO_COLOR", "If set, nothing is coloured."),
)


def escape(text: str) -> str:
    """Returns text that roff prints as it is."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    coded = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in plain)
    return f"\\&{coded}" if coded.startswith(".") else coded


def pages() -> dict[str, str]:
    """Returns the pages by their file names."""
    from hkoji.cli.app import NAME, groups, whole

    root: Any = typer.main.get_command(whole())  # Any: Typer does not export the type of commands
    context = typer.Context(root, info_name=NAME, **root.context_settings)
    found = {f"{NAME}.1": _page(root, context, _program(root, [str(title) for title, _ in groups()]))}
    found.update(_below(root, context))
    return found


def _below(group: Any, parent: Any) -> Iterator[tuple[str, str]]:  # Any: as above, and contexts
    for name, command in group.commands.items():
        context = typer.Context(command, info_name=name, parent=parent, **command.context_settings)
        commands = getattr(command, "commands", {})
        listed = [".SH COMMANDS", *_commands(commands, context.command_path)] if commands else []
        title = context.command_path.replace(" ", "-")
        above = parent.command_path.replace(" ", "-")
        yield f"{title}.1", _page(command, context, [*listed, ".SH SEE ALSO", f".BR {escape(above)} (1)"])
        if commands:
            yield from _below(command, context)


def _page(command: Any, context: Any, rest: Iterable[str]) -> str:  # Any: as above
    from hkoji import __version__

    name = context.command_path.replace(" ", "-")
    first, *more = _SENTENCES.split(" ".join((command.help or "").split()))
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{escape(name.upper())}" "1" "{_date()}" "hkoji {__version__}" "hkoji manual"',
        ".SH NAME",
        f"{escape(name)} \\- {escape(first.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {escape(context.command_path)}",
        escape(usage),
        ".SH DESCRIPTION",
        *map(escape, (first, *more)),
        *_records("ARGUMENTS", command, context, "argument"),
        *_records("OPTIONS", command, context, "option"),
        *_examples(command.epilog or ""),
        *rest,
    ]
    return "\n".join(lines) + "\n"


def _records(title: str, command: Any, context: Any, kind: str) -> Iterator[str]:  # Any: as above
    shown = [each.get_help_record(context) for each in command.get_params(context) if each.param_type_name == kind]
    records = [each for each in shown if each is not None]
    if records:
        yield f".SH {title}"
    for names, help_ in records:
        yield from (".TP", f".B {escape(names)}", escape(" ".join((help_ or "").split())))


def _examples(epilog: str) -> Iterator[str]:
    word, _, commands = epilog.partition(": ")
    if word in ("Example", "Examples"):
        yield from (".SH EXAMPLES", ".nf", *(escape(each) for each in commands.split("; ")), ".fi")
    elif epilog:
        yield from (".SH FIRST STEPS", *map(escape, _SENTENCES.split(epilog)))


def _program(root: Any, titles: Iterable[str]) -> Iterator[str]:  # Any: as above
    """Yields the sections that only the program's own page has."""
    for title in titles:
        group = {name: each for name, each in root.commands.items() if str(each.rich_help_panel) == title}
        yield f".SH {escape(title.upper())}"
        yield from _commands(group, "hkoji")
    yield ".SH ENVIRONMENT"
    for name, meaning in _ENVIRONMENT:
        yield from (".TP", f".B {escape(name)}", escape(meaning))
    yield ".SH EXIT STATUS"
    source = Path(__file__).with_name("cli.in.md").read_text(encoding="utf-8")
    for code, meaning in _CODES.findall(source):
        yield from (".TP", f".B {code}", escape(meaning.replace("`", "")))
    names = sorted(f"hkoji-{name}" for name in root.commands)
    yield ".SH SEE ALSO"
    yield from (f".BR {escape(name)} (1){',' if name != names[-1] else ''}" for name in names)


def _commands(commands: Any, path: str) -> Iterator[str]:  # Any: as above
    for name, each in commands.items():
        page = f"{path} {name}".replace(" ", "-")
        yield from (".TP", f".BR {escape(page)} (1)", escape(each.get_short_help_str(200)))


def _date() -> str:
    moment = os.environ.get("SOURCE_DATE_EPOCH")
    return time.strftime("%Y-%m-%d", time.gmtime(int(moment) if moment else None))


def write(folder: Path) -> dict[str, Path]:
    """Writes the pages into a folder; returns their files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="ascii")
    return {name: folder / name for name in made}


class ManPages(BuildHookInterface):  # type: ignore[type-arg] # its configuration has no type of its own
    """Puts the man pages into a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # Any: hatchling's  # noqa: ARG002
        """Makes the pages and adds them to what the wheel installs."""
        if self.target_name != "wheel":
            return
        sys.path.insert(0, self.root)
        for name, file in write(Path(self.root) / "build" / "man").items():
            build_data["shared_data"][str(file)] = f"share/man/man1/{name}"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
