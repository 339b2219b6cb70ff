"""A bar that shows how far long work has come: on standard error, and only if that is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hkoji.cli.output import CommandOutput

Advance = Callable[[int], None]


@contextmanager
def progress(out: CommandOutput, total: int, *, sized: bool = False, hidden: bool = False) -> Iterator[Advance]:
    """What to call with how much more is done of `total`, which is in bytes if `sized`.

    Results may be printed meanwhile: at a terminal they appear above the bar.
    """
    if hidden or not shows_progress(out):
        yield lambda done: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    count = DownloadColumn() if sized else MofNCompleteColumn()
    # Rich would take what is printed along to standard error: right only where both are the terminal.
    same = sys.stdout.isatty()
    with Progress(
        BarColumn(), count, TimeRemainingColumn(), console=Console(stderr=True), transient=True, redirect_stdout=same
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


def shows_progress(out: CommandOutput) -> bool:
    """Whether there is anybody to see a bar."""
    return not (out.plain or out.keep) and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
