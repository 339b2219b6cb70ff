"""What a process holds, as the system counts it."""

from __future__ import annotations

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
