"""`scripts/mutate`: changes the rules, the log and the game in small ways, and sees whether the tests notice.

    scripts/mutate                                  every mutant; goes on where it was stopped
    scripts/mutate --sample 500 --seed 2            500 of them, drawn at random
    scripts/mutate --module 'hkoji/log/*'           those of some modules (may be given several times)
    scripts/mutate --module hkoji/log/text_form.py --show        and the survivors themselves
    scripts/mutate --again                          survivors once more, after tests have been added
    scripts/mutate --report                         what is known so far; judges nothing

How it works is told in docs/quality.md. Verdicts are kept in --state, one a line. A mutant is known by its change and
its function: when either is edited it is another one, and is judged. Exit code 0 if at least --threshold percent of
what was asked for is killed, 1 if less, 2 if the tests fail without a mutant.
"""

from __future__ import annotations

import argparse
import fnmatch
import functools
import hashlib
import importlib
import json
import os
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Final

from scripts.mutation.mutants import SCOPE, Mutant, mutants
from scripts.mutation.report import CAUGHT, package, report
from scripts.mutation.tests import JUDGES, LEFT_OUT, Task, Verdict, judge_all, judge_anew, trace

_CONTROL: Final = "(nothing changed)"
_TRUSTED: Final = 200
"""So many mutants are judged before the tests that killed them are tried without a mutant."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What each test takes and which lines it runs."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, frozenset[str]]]
    imported: dict[str, frozenset[int]]
    libraries: frozenset[str]
    files: Sequence[str]

    def tests(self, mutant: Mutant) -> Sequence[str]:
        """The tests that may notice `mutant`, cheapest first: those that run a line of it.

        A line that runs while modules are imported concerns every test: one that runs anything in the module and one
        that does not (it may still look at a table) take turns.
        """
        lines = self.lines.get(mutant.path, {})
        touched = range(mutant.line, mutant.line + len(mutant.before))
        judges = JUDGES[package(mutant.path)]
        everything = [t for _, t in sorted((s, t) for t, s in self.seconds.items()) if t.startswith(judges)]
        if self.imported.get(mutant.path, frozenset()).isdisjoint(touched):
            chosen = frozenset[str]().union(*(lines.get(line, frozenset()) for line in touched))
            return [test for test in everything if test in chosen]
        near = frozenset[str]().union(*lines.values())
        turns = zip_longest((t for t in everything if t in near), (t for t in everything if t not in near))
        return [test for turn in turns for test in turn if test]


def main() -> None:
    """Judges what was asked for and reports."""
    given = _arguments()
    given.state.mkdir(parents=True, exist_ok=True)
    os.environ["HYPOTHESIS_PROFILE"] = "brief"
    # Where pytest keeps its temporary folders it clears away those of others, and a test without its folder fails.
    with tempfile.TemporaryDirectory(prefix="hkoji-mutate-") as own:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = own
        _run(given)


def _run(given: argparse.Namespace) -> None:
    chosen = _chosen(_mutants(given.state, given.module), given)
    if not chosen:
        sys.exit("mutate: there is no such mutant")
    known = _verdicts(given.state)
    if not given.report:
        due = [m for m in chosen if known.get(m.name, ("again",))[0] == "again"]
        if given.again:
            due = [m for m in chosen if known.get(m.name, ("again",))[0] not in CAUGHT]
            known = {name: found for name, found in known.items() if found[0] in (*CAUGHT, "again")}
        if due:
            traces = _traces(given.state, due)
            _judge(due, _Court(traces, known, given.state, given.budget), given.state)
            _judge_anew(due, _Court(traces, _verdicts(given.state), given.state, given.budget))
            known = _verdicts(given.state)
    report(chosen, known, given)


def _arguments() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        prog="scripts/mutate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--module", action="append", default=[], help="only modules whose path fits this pattern")
    parser.add_argument("--sample", type=int, help="judge so many, drawn at random, not all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument(
        "--budget", type=float, default=2, help="seconds of tests at most for a mutant, cheapest first (default 2)"
    )
    parser.add_argument("--again", action="store_true", help="judge those again that were not killed")
    parser.add_argument("--report", action="store_true", help="judge nothing")
    parser.add_argument("--show", action="store_true", help="print survivors")
    parser.add_argument("--json", type=Path, help="a file for the figures and survivors as JSON")
    parser.add_argument("--threshold", type=float, default=90, help="percent (default 90)")
    parser.add_argument("--state", type=Path, default=Path(".mutation"), help="a folder that keeps what is known")
    return parser.parse_args()


# --- what there is to judge ---------------------------------------------------------------------------------------


def _mutants(state: Path, patterns: Sequence[str]) -> list[Mutant]:
    kept = state / "mutants.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    paths = sorted(path for package in JUDGES for path in Path(package).rglob("*.py"))
    found: list[Mutant] = []
    for path in paths:
        name = path.as_posix()
        if patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            continue
        digest = f"{SCOPE} {_digest(path)}"
        if name not in known or known[name]["digest"] != digest:
            known[name] = {"digest": digest, "mutants": [asdict(mutant) for mutant in mutants(path)]}
            kept.write_text(json.dumps(known))
        found += [
            Mutant(**{**each, "before": tuple(each["before"]), "after": tuple(each["after"])})
            for each in known[name]["mutants"]
        ]
    return found


def _chosen(everything: Sequence[Mutant], given: argparse.Namespace) -> list[Mutant]:
    # Drawn by a hash of the name: a larger sample contains the smaller, and goes on where that ended.
    drawn = sorted(everything, key=lambda m: hashlib.sha256(f"{given.seed} {m.name}".encode()).digest())
    return drawn[: given.sample] if given.sample is not None else drawn


def _tests(path: Path) -> Iterable[Path]:
    return (path,) if path.is_file() else path.rglob("test_*.py")


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in paths)).hexdigest()


def _verdicts(state: Path) -> dict[str, tuple[str, str]]:
    kept = state / "verdicts.jsonl"
    if not kept.exists():
        return {}
    told = (json.loads(line) for line in kept.read_text().splitlines())
    return {name: (outcome, test) for name, outcome, test, _ in told}


# --- judging ------------------------------------------------------------------------------------------------------


def _traces(state: Path, due: Sequence[Mutant]) -> Traces:
    """Runs each test file whose traces are older than it, or than what it stands on."""
    kept = state / "traces.json"
    before = json.loads(kept.read_text()) if kept.exists() else {}
    folders = {folder for mutant in due for folder in JUDGES[package(mutant.path)]}
    tests = sorted(path for folder in folders for path in _tests(Path(folder)))
    tests = [path for path in tests if path.as_posix() not in LEFT_OUT]
    ground = _digest(
        *sorted(path for package in ("hkoji", "server") for path in Path(package).rglob("*.py")),
        *sorted(path for path in Path("tests").rglob("*.py") if not path.name.startswith("test_")),
    )
    digests = {path.as_posix(): ground + _digest(path) for path in tests}
    after = {path: found for path, found in before.items() if digests.get(path, found["digest"]) == found["digest"]}
    old = [path for path in digests if path not in after]
    for folder in sorted({str(Path(path).parent) for path in old}):
        files = [path for path in old if str(Path(path).parent) == folder]
        _say(f"which lines do the tests of {len(files)} files in {folder} run?")
        output = state / "traces.new"
        _apart(functools.partial(trace, files, tuple(JUDGES), output), state / "tests.log")
        told = json.loads(output.read_text())
        output.unlink()
        for path in files:
            after[path] = {
                "digest": digests[path],
                "tests": {},
                "imported": told["imported"],
                "libraries": told["libraries"],
            }
        for test, found in told["tests"].items():
            after[test.partition("::")[0]]["tests"][test] = found
        kept.write_text(json.dumps(after))
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    imported: dict[str, set[int]] = defaultdict(set)
    for each in (after[path] for path in digests):
        for path, ran in each["imported"].items():
            imported[path].update(ran)
        for test, found in each["tests"].items():
            seconds[test] = found["seconds"]
            for path, ran in found["lines"].items():
                for line in ran:
                    lines[path][line].add(test)
    return Traces(
        seconds,
        {path: {line: frozenset(each) for line, each in found.items()} for path, found in lines.items()},
        {path: frozenset(each) for path, each in imported.items()},
        frozenset(name for each in after.values() for name in each["libraries"]),
        sorted(digests),
    )


class _Court:
    """Hands out tasks and takes down verdicts. What has killed a module's mutants before goes first."""

    def __init__(self, traces: Traces, known: dict[str, tuple[str, str]], state: Path, budget: float) -> None:
        self.traces = traces
        self.known = known
        self._kept = state / "verdicts.jsonl"
        self._budget = budget
        self._killers: dict[str, Counter[str]] = defaultdict(Counter)
        self._sources: dict[str, str] = {}
        self._kills: dict[str, str] = {}  # since the code as it is was judged last: the mutant and the test
        for name, (outcome, test) in known.items():
            self._count(name, outcome, test)

    def tasks(self, due: Sequence[Mutant]) -> Iterator[Task]:
        """A task for each mutant that a test can see, made when it is asked for; first the code as it is.

        And again and again the code as it is, for the tests that have killed since: they are to be believed.
        """
        yield self.control(due[0])
        for number, mutant in enumerate(due, 1):
            if task := self.task(mutant):
                yield task
            else:
                self.take(Verdict(mutant.name, "untested", "", 0.0))
            if number % _TRUSTED == 0 or number == len(due):
                yield replace(self.control(mutant), tests=tuple(sorted(set(self._kills.values()))))

    def task(self, mutant: Mutant) -> Task | None:
        """What is to be run for `mutant`; None if no test runs its line."""
        tests = self.traces.tests(mutant)
        if not tests:
            return None
        within = set(tests)
        often = [test for test, _ in self._killers[mutant.path].most_common(12) if test in within][:6]
        order: list[str] = []
        left = self._budget
        for test in dict.fromkeys((*often, *tests)):
            left -= self.traces.seconds[test]
            if left < 0 and order:
                break
            order.append(test)
        return Task(mutant.name, mutant.path, mutant.source(self._source(mutant.path)), tuple(order))

    def control(self, mutant: Mutant) -> Task:
        """The code as it is, which must survive, or the verdicts mean nothing."""
        return Task(_CONTROL, mutant.path, self._source(mutant.path), tuple(self.traces.tests(mutant)[:50]))

    def take(self, verdict: Verdict) -> None:
        """Writes a verdict down."""
        if verdict.name == _CONTROL:
            if verdict.outcome in CAUGHT:
                for name in self._kills:
                    self._write(Verdict(name, "again", "", 0.0))
                _say(f"{verdict.test} fails without a mutant; nothing can be judged, {len(self._kills)} kills are void")
                sys.exit(2)
            self._kills.clear()
            return
        self.known[verdict.name] = (verdict.outcome, verdict.test)
        self._count(verdict.name, verdict.outcome, verdict.test)
        if verdict.outcome == "killed" and "::" in verdict.test:
            self._kills[verdict.name] = verdict.test
        self._write(verdict)

    def _write(self, verdict: Verdict) -> None:
        with self._kept.open("a") as kept:
            print(json.dumps([verdict.name, verdict.outcome, verdict.test, round(verdict.seconds, 2)]), file=kept)

    def anew(self, task: Task) -> Verdict:
        """Judges by a new import; first with the file that kills most of this module's mutants, for importing costs."""
        files = Counter[str]()
        for test, count in self._killers[task.path].items():
            files[test.partition("::")[0]] += count
        of_task = {test.partition("::")[0] for test in task.tests}
        likely = next((file for file, _ in files.most_common() if file in of_task), "")
        first = tuple(test for test in task.tests if test.partition("::")[0] == likely)
        rest = tuple(test for test in task.tests if test.partition("::")[0] != likely)
        seconds = 0.0
        for tests in filter(None, (first, rest)):
            verdict = judge_anew(replace(task, tests=tests), self.traces.seconds)
            seconds += verdict.seconds
            if verdict.outcome in CAUGHT:
                break
        return replace(verdict, seconds=seconds)

    def _source(self, path: str) -> str:
        if path not in self._sources:
            self._sources[path] = Path(path).read_text()
        return self._sources[path]

    def _count(self, name: str, outcome: str, test: str) -> None:
        if outcome in CAUGHT:
            self._killers[name.partition(":")[0]][test] += 1


def _judge(due: Sequence[Mutant], court: _Court, state: Path) -> None:
    new = [mutant for mutant in due if court.known.get(mutant.name, ("",))[0] != "again"]
    if new:
        _say(f"{len(new)} to judge")
        _apart(
            lambda: judge_all(court.traces.files, court.tasks(new), court.traces.seconds, court.take),
            state / "tests.log",
        )


def _judge_anew(due: Sequence[Mutant], court: _Court) -> None:
    for name in sorted(court.traces.libraries):  # once, for all the processes that will import the project anew
        with suppress(ImportError), warnings.catch_warnings(action="ignore"):
            importlib.import_module(name)
    started = _edited()
    left = [mutant for mutant in due if court.known[mutant.name][0] == "again"]
    if left:
        _say(f"{len(left)} of them by a new import")
        court.take(judge_anew(court.control(left[0]), court.traces.seconds))
    for mutant in left:
        task = court.task(mutant)
        assert task
        verdict = court.anew(task)
        if _edited() > started:
            sys.exit("mutate: code or tests have been edited meanwhile: start again")
        court.take(verdict)


def _edited() -> int:
    """When code or tests were edited last. A test that is gone would seem to have noticed the mutant."""
    return max(path.stat().st_mtime_ns for folder in ("hkoji", "tests") for path in Path(folder).rglob("*.py"))


def _apart(work: Callable[[], object], output: Path) -> None:
    """Does `work` in a process of its own, so that this one has nothing of the project loaded."""
    child = os.fork()
    if not child:
        code = 1
        try:
            log = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            work()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        sys.exit(2)


def _say(text: str) -> None:
    print(f"mutate: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
