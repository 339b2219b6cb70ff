"""What a process holds and has used, as the system counts it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def memory(pid: int) -> tuple[float, float]:
    """Megabytes: resident, and its share of them if pages that several processes have are divided among them."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        name, _, rest = line.partition(":")
        if rest.endswith("kB"):
            found[name] = int(rest.split()[0]) / 1024
    return found["Rss"], found["Pss"]


def report_memory(when: str, pid: int) -> None:
    """Prints it."""
    resident, share = memory(pid)
    print(f"memory of the service, {when}: {resident:.0f} MB resident, {share:.0f} MB proportional")


def processor_seconds(pid: int) -> float:
    """What all threads of a process have used so far."""
    return sum(int((each / "schedstat").read_text().split()[0]) for each in Path(f"/proc/{pid}/task").iterdir()) / 1e9


def server_seconds(pid: int) -> float:
    """The same of a PostgreSQL server and the processes that it has now."""
    children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    found = processor_seconds(pid)
    for child in children:
        with suppress(FileNotFoundError, ProcessLookupError):
            found += processor_seconds(child)
    return found
