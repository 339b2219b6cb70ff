"""`scripts/bench`: runs the benchmarks named, or all of them."""

from __future__ import annotations

import os
import platform
import sys

from scripts.benchmarks import audits, command, counting, moves, postgres, rules, scale, store, views

BENCHMARKS = {
    "rules": rules.run,
    "audit": audits.run,
    "store": store.run,
    "moves": moves.run,
    "postgres": postgres.run,
    "views": views.run,
    "command": command.run,
    "stats": counting.run,
    "scale": scale.run,
}


def main(names: list[str]) -> None:
    """Runs the named benchmarks in order."""
    if names[:1] == ["scale"]:  # which takes arguments, and hours if it is asked for much
        scale.run(names[1:])
        return
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"bench: there is no {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
