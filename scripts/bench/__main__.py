"""Runs the named benchmarks, or all of them: `python -m scripts.bench audit views`.

With `--write` each of them writes its rows of docs/performance.md when it has ended.

Speeds are ratios to a floor measured in the same run: the median of interleaved rounds. pyperf does not fit, because it
runs each benchmark by itself and so cannot alternate between a floor and the benchmark compared with it.

Some benchmarks have options of their own and are also programs, such as `python -m scripts.bench.moves --rounds 9`:
answers, fixed_load, moves, moves_beside_mail, moves_beside_sealed, moves_while_waiting, postgres, scale, waiting and
web; bots and orders, which measure play.
"""

from __future__ import annotations

import compileall
import os
import platform
import sys

from scripts.bench import (
    agreement,
    answers,
    audits,
    command,
    moves,
    moves_beside_mail,
    moves_beside_sealed,
    page,
    postgres,
    rules,
    scale,
    sealed,
    stats,
    store,
    views,
    web,
)


def _answers() -> None:
    answers.run()


def _moves() -> None:
    moves.run_all()
    moves_beside_mail.run()
    moves_beside_sealed.run()


BENCHMARKS = {
    "rules": rules.run,
    "audit": audits.run,
    "store": store.run,
    "moves": _moves,
    "agreement": agreement.run,
    "answers": _answers,
    "postgres": postgres.run,
    "views": views.run,
    "web": web.run,
    "command": command.run,
    "stats": stats.run,
    "scale": scale.run,
    "sealed": sealed.run,
}


def main(names: list[str]) -> None:
    """Runs the named benchmarks in order, or prints their names."""
    if {"-h", "--help"} & {*names}:
        print("usage: python -m scripts.bench [NAME...] [--write]\n")
        print(f"Runs all benchmarks, or these: {', '.join(BENCHMARKS)}.")
        print("With --write, each writes its rows of docs/performance.md.")
        return
    writes = "--write" in names
    names = [name for name in names if name != "--write"]
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"bench: there is no {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    for folder in ("hkoji", "server"):
        compileall.compile_dir(folder, quiet=1)  # as in an installed package
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    for name in names or BENCHMARKS:
        run = page.this_run()
        BENCHMARKS[name]()
        if writes:
            page.write(run)


if __name__ == "__main__":
    main(sys.argv[1:])
