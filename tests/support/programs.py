"""Programs that tests run and a machine may lack: one on the PATH is used, else the one of Debian's packages.

The packages are unpacked into the virtual environment. This needs no rights of root and changes nothing else on the
machine. Without Debian's tools or without a network the test is skipped.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Final, NamedTuple

import pytest

_SECONDS: Final = 30
"""How long fetching may take altogether."""


class _Source(NamedTuple):
    """The packages that hold a program, its name in them, and arguments with which it must succeed."""

    packages: tuple[str, ...]
    name: str
    trial: tuple[str, ...]


_SOURCES: Final = {
    "zsh": _Source(("zsh-static", "zsh-common"), "zsh-static", ("-fc", "autoload -Uz compinit && compinit -D")),
    "fish": _Source(("fish", "fish-common", "libpcre2-32-0"), "fish", ("-c", "complete -C 'ls '")),
    "mandoc": _Source(("mandoc",), "mandoc", ("-T", "lint", "-W", "error", os.devnull)),
    "strace": _Source(("strace", "libunwind8"), "strace", ("-qq", "-o", os.devnull, "true")),
}
# Unlike with the machine's own settings nothing is written outside of the folder, no hooks run, what is installed does
# not matter, and nobody waits for long.
_SETTINGS: Final = """\
Dir::Cache "{folder}/cache";
Dir::State::status "{folder}/status";
Acquire::Retries "0";
Acquire::http::Timeout "5";
Acquire::https::Timeout "5";
Acquire::Languages "none";
APT::Sandbox::User "root";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


class _Debian:
    """Debian's tools, which write only into a folder of their own and stop after some seconds."""

    def __init__(self, folder: Path) -> None:
        self._end = time.monotonic() + _SECONDS
        self._folder = folder
        self._lists: tuple[str, ...] = ()
        (folder / "cache" / "archives" / "partial").mkdir(parents=True)
        (folder / "status").touch()
        (folder / "apt.conf").write_text(_SETTINGS.format(folder=folder))

    def unpack(self, packages: Iterable[str], root: Path) -> None:
        """Fetches packages and unpacks their files below `root`."""
        archives = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            self._apt("download", *packages, at=archives)
        except subprocess.CalledProcessError:
            if self._lists:
                raise
            self._update()
            self._apt("download", *packages, at=archives)
        for archive in archives.iterdir():
            self.run("dpkg-deb", "-x", archive.name, str(root), at=archives)

    def _update(self) -> None:
        """Fetches lists of packages: the machine has none or old ones."""
        state = self._folder / "state"
        (state / "lists" / "partial").mkdir(parents=True)
        self._lists = ("-o", f"Dir::State={state}", "-o", f"Dir::State::lists={state}/lists")
        self._apt("update", at=self._folder)

    def _apt(self, *words: str, at: Path) -> None:
        self.run("apt-get", "-q", "-c", str(self._folder / "apt.conf"), *self._lists, *words, at=at)

    def run(self, *words: str, at: Path) -> None:
        """Runs a program until it succeeds, fails or takes too long."""
        # No pipes: processes that a stopped program leaves behind could hold them open.
        nothing = subprocess.DEVNULL
        seconds = max(self._end - time.monotonic(), 0)
        subprocess.run(words, cwd=at, stdin=nothing, stdout=nothing, stderr=nothing, timeout=seconds, check=True)


def _make_start(name: str, inside: str, root: Path) -> Path:
    """Makes what starts the program from wherever its files are: `root`/start/`name`."""
    if (root / "etc").exists():
        (root / "etc").rename(root / "usr" / "etc")  # there fish looks for it, beside its own folder
    (program,) = (path for path in (root / "bin" / inside, root / "usr" / "bin" / inside) if path.exists())
    program = program.rename(program.with_name(name))  # Typer finds out by its name which shell calls
    variables = {
        "FPATH": [path for path in sorted((root / "usr/share/zsh/functions").rglob("*")) if path.is_dir()],
        "LD_LIBRARY_PATH": sorted({path.parent for path in (root / "usr/lib").glob("*/*.so.*")}),
    }
    lines = ["#!/bin/sh", 'root="${0%/*}/.."']
    for variable, folders in variables.items():
        if folders:
            value = ":".join(f"$root/{folder.relative_to(root)}" for folder in folders)
            lines.append(f'export {variable}="{value}"')
    lines.append(f'exec "$root/{program.relative_to(root)}" "$@"\n')
    start = root / "start" / name
    start.parent.mkdir()
    start.write_text("\n".join(lines))
    start.chmod(0o755)
    return start


def fetch(names: Iterable[str], folder: Path) -> list[Path]:
    """Fetches programs into `folder`, unless they are there. Returns the folders for the PATH of those that are."""
    names = list(names)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            first = first_to_lock(lock)
            missing = [name for name in names if not (folder / name).exists()]
            if first and missing and shutil.which("apt-get") and shutil.which("dpkg-deb"):
                with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as made:
                    _fetch_into(folder, missing, Path(made))
    return [folder / name / "start" for name in names if (folder / name).exists()]


def first_to_lock(file: IO[str]) -> bool:
    """Locks a file. Returns False if another process held it: that one has just tried to fetch the same."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(file, fcntl.LOCK_EX)
        return False
    return True


def _fetch_into(folder: Path, names: Iterable[str], within: Path) -> None:
    debian = _Debian(within)
    for name in names:
        source, root = _SOURCES[name], within / name
        with suppress(OSError, ValueError, subprocess.SubprocessError):
            root.mkdir()
            debian.unpack(source.packages, root)
            debian.run(str(_make_start(name, source.name, root)), *source.trial, at=within)
            root.rename(folder / name)


@cache
def path() -> str:
    """The PATH for programs of tests, with those that had to be fetched at its end."""
    folders = [os.environ["PATH"]]
    if sys.prefix != sys.base_prefix:  # in no virtual environment there is no place for them
        missing = [name for name in _SOURCES if shutil.which(name) is None]
        folders += map(str, fetch(missing, Path(sys.prefix) / "share" / "hkoji-test-programs"))
    return ":".join(folders)


def find(name: str) -> str | None:
    """Finds a program. Returns its place, or None if it is not here."""
    return shutil.which(name, path=path())


def needs(name: str) -> str:
    """Returns the place of a program. Skips the test if it is not here."""
    place = find(name)
    if place is None:
        pytest.skip(f"{name} is not on the PATH" + " and could not be fetched" * (name in _SOURCES))
    return place
