"""The system's answers about other processes."""

from __future__ import annotations

import subprocess
from pathlib import Path


def process_state(pid: int) -> str:
    """R for a running process, S for one that sleeps until an event, Z for one that has ended; empty for none."""
    if Path("/proc/self/stat").exists():
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return ""
    return subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout[
        :1
    ]


def alive(pid: int) -> bool:
    """Tells whether a process has not ended."""
    return process_state(pid) not in ("", "Z")


def parent(pid: int) -> int:
    """The process id of a process's parent, on Linux."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
