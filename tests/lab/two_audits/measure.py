"""Compares docs/spec/audit.sh with `hkoji audit` on N rounds of damaged and forged logs, from a seed.

    python -m tests.lab.two_audits.measure 20 1
    python -m tests.lab.two_audits.measure 0 1 --golden

Each round has one log of every sort of damaged_logs.py. With --golden the test vectors come first: their logs, and
their games, each of them also cut after every entry. Prints every log on which the two differ, and the numbers by
verdict; exits with 1 if any differ. The folder --keep keeps those logs.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab.two_audits.damaged_logs import Case, cases, golden
from tests.support.shell_audit import Verdict, by_hkoji, by_script, missing_tools


def main() -> None:
    measure(__doc__ or "", cases)


def measure(doc: str, sorts: Callable[[random.Random], Iterator[Case]]) -> None:
    """The command that compares rounds of `sorts`; `doc` is its docstring. Exits."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("rounds", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--jobs", type=int, default=2, help="how many scripts run at a time")
    parser.add_argument("--keep", type=Path, help="a folder for the logs on which they differ")
    parser.add_argument("--golden", action="store_true", help="also the test vectors, their games cut anywhere")
    given = parser.parse_args()
    if missing := missing_tools():
        sys.exit(missing)
    rng = random.Random(given.seed)
    logs = list(golden()) if given.golden else []
    logs += [case for _ in range(given.rounds) for case in sorts(rng)]
    started = time.monotonic()
    verdicts: Counter[str] = Counter()
    differences = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        for number, case, script, hkoji in compare(logs, Path(folder), pool):
            verdicts[_word(hkoji)] += 1
            if script.agrees(hkoji):
                continue
            differences += 1
            print(f"log {number}, {case.name}: the script says {script}, hkoji says {hkoji}")
            if given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{number}.jsonl").write_bytes(case.log)
    for word, count in sorted(verdicts.items()):
        print(f"{count:6} {word}")
    print(f"{len(logs)} logs in {time.monotonic() - started:.0f} s, {differences} on which the two differ")
    sys.exit(differences > 0)


def compare(logs: list[Case], folder: Path, pool: ThreadPoolExecutor) -> Iterator[tuple[int, Case, Verdict, Verdict]]:
    """The number of each log, the log, the script's verdict and that of `hkoji audit`."""

    def script(number: int) -> Verdict:
        path = folder / f"{number}.jsonl"
        path.write_bytes(logs[number].log)
        try:
            return by_script(path, logs[number].pins)
        finally:
            path.unlink()

    for number, verdict in enumerate(pool.map(script, range(len(logs)))):
        case = logs[number]
        yield number, case, verdict, by_hkoji(case.log, case.pins)


def _word(verdict: Verdict) -> str:
    if not verdict.found:
        return "holds"
    if verdict.exit == 3:
        return "not understood"
    return "findings in step " + " and ".join(str(step) for step, _ in verdict.found)


if __name__ == "__main__":
    main()
