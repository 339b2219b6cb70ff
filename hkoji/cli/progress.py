"""A progress bar on standard error, shown only at a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hkoji.cli.output import CommandOutput
from hkoji.cli.terminal import beneath, screens

Advance = Callable[[int], None]


@contextmanager
def progress(out: CommandOutput, total: int, *, sized: bool = False, hidden: bool = False) -> Iterator[Advance]:
    """Gives a function that advances the bar towards `total`, which is in bytes if `sized`.

    Results may be printed meanwhile: at a terminal they appear above the bar.
    """
    if hidden or not shows_progress(out):
        yield lambda done: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    count = DownloadColumn() if sized else MofNCompleteColumn()
    # Rich redirects stdout to stderr, which is right only if both are the terminal.
    same = sys.stdout.isatty()
    console = Console(file=beneath(sys.stderr))
    columns = (BarColumn(), count, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=same, redirect_stderr=False) as bar:
        task = bar.add_task("", total=total)
        with screens():  # results pass a screen before Rich gets them
            yield lambda done: bar.advance(task, done)


def shows_progress(out: CommandOutput) -> bool:
    """Returns whether a bar would be visible."""
    return not (out.plain or out.keep) and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
