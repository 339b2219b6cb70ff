"""Reads a process's memory and processor time from the system."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def memory(pid: int) -> tuple[float, float]:
    """Megabytes: resident, and proportional (shared pages divided among the processes that have them)."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        name, _, rest = line.partition(":")
        if rest.endswith("kB"):
            found[name] = int(rest.split()[0]) / 1024
    return found["Rss"], found["Pss"]


def report_memory(when: str, pid: int) -> None:
    """Prints the memory."""
    resident, share = memory(pid)
    print(f"memory of the service, {when}: {resident:.0f} MB resident, {share:.0f} MB proportional")


def processor_seconds(pid: int) -> float:
    """The processor time of all threads of a process so far."""
    return sum(int((each / "schedstat").read_text().split()[0]) for each in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def server_seconds(pid: int) -> float:
    """The same for a server and all processes below it: workers are children of a fork server."""
    found = processor_seconds(pid)
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            found += sum(server_seconds(int(child)) for child in (thread / "children").read_text().split())
    return found
