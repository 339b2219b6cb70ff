"""Compares docs/spec/audit.sh with `hkoji audit` on N rounds of damaged and forged logs, from a seed.

    python -m tests.lab.two_audits.measure 20 1
    python -m tests.lab.two_audits.measure 0 1 --golden
    python -m tests.lab.two_audits.measure 20 1 --golden --page
    python -m tests.lab.two_audits.measure 100 2 --page firefox --no-script

Each round has one log of every sort of damaged_logs.py. With --golden the test vectors come first: their logs, and
their games, each of them also cut after every entry. Prints every log on which the two differ, and the numbers by
verdict; exits with 1 if any differ. The folder --keep keeps those logs. With --page the checker of pages is compared
too, also in whom it names: in Node.js, or in the engine that is given. Sealed logs are left out then, because pages do
not understand them.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab.two_audits.damaged_logs import Case, cases, golden
from tests.support.browsers import find_browser
from tests.support.page_audit import by_page
from tests.support.page_modules import ENGINES
from tests.support.shell_audit import Verdict, by_hkoji, by_script, is_sealed, missing_tools


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
    parser.add_argument("--page", nargs="?", const="node", choices=ENGINES, help="also the checker of pages")
    parser.add_argument("--no-script", action="store_true", help="without audit.sh, which takes most of the time")
    given = parser.parse_args()
    if not given.no_script and (missing := missing_tools()):
        sys.exit(missing)
    if given.page and find_browser(given.page) is None:
        sys.exit(f"{given.page} is missing: install it, or name another engine after --page")
    rng = random.Random(given.seed)
    logs = list(golden()) if given.golden else []
    logs += [case for _ in range(given.rounds) for case in sorts(rng)]
    if given.page:
        logs = [case for case in logs if not is_sealed(case.log)]
    started = time.monotonic()
    verdicts: Counter[str] = Counter()
    differences = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        others: dict[str, Iterable[Verdict]] = {}
        if not given.no_script:
            others["script"] = by_scripts(logs, Path(folder), pool)
        if given.page:
            others["page"] = by_page(given.page, ((case.log, case.pins) for case in logs))
        names = tuple(others)
        for number, (case, *found) in enumerate(zip(logs, *others.values(), strict=True)):
            hkoji = by_hkoji(case.log, case.pins)
            verdicts[_word(hkoji)] += 1
            wrong = [(name, verdict) for name, verdict in zip(names, found, strict=True) if not verdict.agrees(hkoji)]
            for name, verdict in wrong:
                print(f"log {number}, {case.name}: the {name} says {verdict}, hkoji says {hkoji}")
            differences += bool(wrong)
            if wrong and given.keep:
                given.keep.mkdir(parents=True, exist_ok=True)
                (given.keep / f"{number}.jsonl").write_bytes(case.log)
    for word, count in sorted(verdicts.items()):
        print(f"{count:6} {word}")
    compared = " and ".join(names)
    print(f"{len(logs)} logs in {time.monotonic() - started:.0f} s, {differences} on which {compared} and hkoji differ")
    sys.exit(differences > 0)


def compare(logs: list[Case], folder: Path, pool: ThreadPoolExecutor) -> Iterator[tuple[int, Case, Verdict, Verdict]]:
    """The number of each log, the log, the script's verdict and that of `hkoji audit`."""
    for number, verdict in enumerate(by_scripts(logs, folder, pool)):
        yield number, logs[number], verdict, by_hkoji(logs[number].log, logs[number].pins)


def by_scripts(logs: list[Case], folder: Path, pool: ThreadPoolExecutor) -> Iterator[Verdict]:
    """The script's verdict on each log."""

    def script(number: int) -> Verdict:
        path = folder / f"{number}.jsonl"
        path.write_bytes(logs[number].log)
        try:
            return by_script(path, logs[number].pins)
        finally:
            path.unlink()

    return pool.map(script, range(len(logs)))


def _word(verdict: Verdict) -> str:
    if not verdict.found:
        return "holds"
    if verdict.exit == 3:
        return "not understood"
    return "findings in step " + " and ".join(str(step) for step, _ in verdict.found)


if __name__ == "__main__":
    main()
