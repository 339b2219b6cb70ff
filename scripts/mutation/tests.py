"""The project's tests in a process of their own: which lines each runs, and whether they catch a mutant.

A mutant is judged in a copy (fork) of a process that has collected the tests. A change inside a function is put into
the function that is there, and memoised results are forgotten; that takes milliseconds. Tables that were made while
modules were imported are still those of the original, so whatever survives this, and whatever changes more than the
inside of functions, is judged again in a process that imports everything anew with the mutant in place.

A test may take several times the processor time that it takes without a mutant, then it counts as a timeout: an
endless loop has been noticed. Only processor time is counted, so that a busy machine kills nothing.
"""

from __future__ import annotations

import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import mmap
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final

import coverage  # type: ignore[import-not-found, unused-ignore]
import pytest

JUDGES: Final = {
    "hkoji/rules": ("tests/rules/", "tests/cli/test_rules_pages.py"),
    "hkoji/log": ("tests/log/", "tests/game/"),
    "hkoji/game": ("tests/game/", "tests/trust/"),
}
"""What is changed, and the folders of the tests that are to notice it."""
LEFT_OUT: Final = ("tests/game/test_stock_audit.py", "tests/game/test_stock_tools.py")
"""Tests that spend their time in other programs."""
_OPTIONS: Final = (
    *("-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:schemathesis"),
    *("--assert=plain", "--tb=native", "--capture=no", "-o", "tmp_path_retention_policy=none"),
    *(f"--ignore={path}" for path in LEFT_OUT),
)
_OWN: Final = {"hkoji", "hkoji_server", "tests", "scripts", "__main__", "conftest"}
_SURVIVED: Final = 0
_KILLED: Final = 1
_LEFT: Final = 3
_WALL: Final = 900.0
_MEMORY: Final = 3 << 30


@dataclass(frozen=True, slots=True)
class Task:
    """A mutated source and the tests (node ids) that are to catch it, in order."""

    name: str
    path: str
    source: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a task: `killed`, `timeout`, `survived`, or `again` if it must be judged with a new import."""

    name: str
    outcome: str
    test: str
    seconds: float


# --- which test runs which line -----------------------------------------------------------------------------------


def trace(files: Sequence[str], packages: Sequence[str], output: Path) -> None:
    """Runs the tests of `files` once and writes to `output`, for each, its seconds and the lines it ran.

    Tests that fail as they are judge nothing: they are named and left out.
    """
    watch = coverage.Coverage(data_file=None, include=[f"{package}/*" for package in packages])
    watch.start()
    tracer = _Tracer(watch)
    code = pytest.main([*_OPTIONS, *files], plugins=[tracer])
    watch.stop()
    if code not in (0, 1):
        sys.exit(int(code))
    for test in sorted(tracer.failed):
        print(f"mutate: {test} fails as it is, and is left out", file=sys.stderr)
    ran: dict[str, dict[str, list[int]]] = {test: {} for test in ("", *tracer.seconds)}
    data = watch.get_data()
    root = Path.cwd()
    for file in data.measured_files():
        path = Path(file).relative_to(root).as_posix()
        for line, tests in data.contexts_by_lineno(file).items():
            for test in tests:
                ran[test].setdefault(path, []).append(line)
    imported = ran.pop("")
    found = {test: {"seconds": round(tracer.seconds[test], 4), "lines": lines} for test, lines in ran.items()}
    found = {test: told for test, told in found.items() if test not in tracer.failed}
    libraries = [name for name in sys.modules if name.partition(".")[0] not in _OWN]
    output.write_text(json.dumps({"imported": imported, "tests": found, "libraries": libraries}))


class _Tracer:
    """Tells the coverage tool which test runs. Memoised results are forgotten, so that each test runs its own lines."""

    def __init__(self, watch: coverage.Coverage) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self._watch = watch
        self._memories: list[Callable[[], None]] = []

    def pytest_collection_finish(self) -> None:
        self._memories = _memories(gc.get_objects())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        _forget(self._memories)
        self._watch.switch_context(item.nodeid)
        started = time.process_time()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.process_time() - started
            self._watch.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)


# --- judging ------------------------------------------------------------------------------------------------------


def judge_all(
    files: Sequence[str], tasks: Iterable[Task], seconds: dict[str, float], take: Callable[[Verdict], None]
) -> None:
    """Judges each task in a copy of this process, which collects the tests once; `take` is told each verdict."""
    _collected(files, _Server(tasks, seconds, take))


def judge_anew(task: Task, seconds: dict[str, float]) -> Verdict:
    """Judges one task in a process that imports the project with the mutant in place."""
    files = sorted({test.partition("::")[0] for test in task.tests})

    def run(started: Callable[[int], None]) -> None:
        sys.meta_path.insert(0, _Substitute(task))
        _collected(files, _Runner(task, seconds, started))

    return _fork(task, run)


def _collected(files: Sequence[str], plugin: object) -> None:
    code = pytest.main([*_OPTIONS, *files], plugins=[plugin])
    if code:
        os._exit(_KILLED)


class _Runner:
    """Runs a task's tests in its order until one fails, and ends the process."""

    def __init__(self, task: Task, seconds: dict[str, float], started: Callable[[int], None]) -> None:
        self._task = task
        self._seconds = seconds
        self._started = started

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        by_name = {item.nodeid: item for item in session.items}
        # What a mutant takes from the collection is noticed too: a test that is gone has failed.
        if any(test not in by_name for test in self._task.tests):
            os._exit(_KILLED)
        self.run([by_name[test] for test in self._task.tests])
        return True

    def run(self, items: Sequence[pytest.Item]) -> None:
        for number, item in enumerate(items):
            self._started(number)
            signal.setitimer(signal.ITIMER_PROF, 1 + 8 * self._seconds[item.nodeid])
            following = items[number + 1] if number + 1 < len(items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        os._exit(_SURVIVED)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(_KILLED)


class _Server:
    """Judges tasks one after the other, each in a copy of this process."""

    def __init__(self, tasks: Iterable[Task], seconds: dict[str, float], take: Callable[[Verdict], None]) -> None:
        self._tasks = tasks
        self._seconds = seconds
        self._take = take
        self._runner: _Runner | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one folder, not one a copy
        everything = gc.get_objects()
        memories = _memories(everything)
        functions = _functions(everything)
        del everything
        gc.freeze()
        parent = os.getppid()
        for task in self._tasks:
            if os.getppid() != parent:
                os._exit(_LEFT)  # whoever asked is gone
            try:
                replacements = _replacements(task, functions)
            except _NotInFunctionsError:
                self._take(Verdict(task.name, "again", "", 0.0))
                continue
            verdict = _fork(task, functools.partial(self._run, task, replacements, memories, items))
            if verdict.outcome == "survived" and replacements:
                verdict = replace(verdict, outcome="again")
            self._take(verdict)
        return True

    def _run(
        self,
        task: Task,
        replacements: Sequence[tuple[FunctionType, CodeType]],
        memories: Sequence[Callable[[], None]],
        items: dict[str, pytest.Item],
        started: Callable[[int], None],
    ) -> None:
        for function, code in replacements:
            function.__code__ = code
        _forget(memories)
        self._runner = _Runner(task, self._seconds, started)
        self._runner.run([items[test] for test in task.tests])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        assert self._runner
        self._runner.pytest_runtest_logreport(report)


def _fork(task: Task, run: Callable[[Callable[[int], None]], None]) -> Verdict:
    shared = mmap.mmap(-1, 8)
    started = time.monotonic()
    child = os.fork()
    if not child:
        try:
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(quiet, stream)
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.setitimer(signal.ITIMER_REAL, _WALL)
            signal.setitimer(signal.ITIMER_PROF, 20)  # for the import
            run(lambda number: shared.__setitem__(slice(0, 8), struct.pack("q", number + 1)))
            os._exit(_LEFT)
        except BaseException:
            os._exit(_KILLED)
    _, status, usage = os.wait4(child, 0)
    number = struct.unpack("q", shared[:8])[0] - 1
    shared.close()
    seconds = usage.ru_utime + usage.ru_stime if usage else time.monotonic() - started
    test = task.tests[number] if number >= 0 else "(import)"
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
        return Verdict(task.name, "timeout", test, seconds)
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == _KILLED:
        return Verdict(task.name, "killed", test, seconds)
    return Verdict(task.name, "survived", "", seconds)


# --- a mutant in place --------------------------------------------------------------------------------------------


class _NotInFunctionsError(Exception):
    """The change is not, or not only, inside of functions."""


_Key = tuple[str, str, int]


def _functions(everything: Sequence[object]) -> dict[_Key, list[FunctionType]]:
    found: dict[_Key, list[FunctionType]] = {}
    for each in everything:
        if type(each) is FunctionType:
            code = each.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(each)
    return found


def _replacements(task: Task, functions: dict[_Key, list[FunctionType]]) -> list[tuple[FunctionType, CodeType]]:
    path = str(Path(task.path).resolve())
    original = compile(Path(path).read_text(), path, "exec", dont_inherit=True)
    mutated = compile(task.source, path, "exec", dont_inherit=True)
    found = []
    for old, new in _changed(original, mutated):
        live = functions.get((path, old.co_qualname, old.co_firstlineno), [])
        if not live or old.co_freevars != new.co_freevars:
            raise _NotInFunctionsError
        found += [(function, new) for function in live]
    return found


def _changed(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """The functions that differ. Raises `_NotInFunctionsError` if what runs on import differs."""
    old_parts, new_parts = _parts(old), _parts(new)
    if (
        old.co_code != new.co_code
        or old.co_names != new.co_names
        or len(old_parts) != len(new_parts)
        or _values(old) != _values(new)
    ):
        raise _NotInFunctionsError
    for before, after in zip(old_parts, new_parts, strict=True):
        if before == after:
            continue
        if before.co_flags & 0x2:  # CO_NEWLOCALS: a function, not the body of a class
            yield before, after
        else:
            yield from _changed(before, after)


def _parts(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _values(code: CodeType) -> list[tuple[type, object]]:
    return [(type(each), each) for each in code.co_consts if not isinstance(each, CodeType)]


def _memories(everything: Sequence[object]) -> list[Callable[[], None]]:
    return [
        each.cache_clear
        for each in everything
        if type(each) is functools._lru_cache_wrapper and (each.__module__ or "").startswith(("hkoji", "tests"))
    ]


def _forget(memories: Sequence[Callable[[], None]]) -> None:
    for clear in memories:
        clear()


class _Substitute(importlib.abc.MetaPathFinder):
    """Finds the mutant where the module is asked for."""

    def __init__(self, task: Task) -> None:
        self._module = task.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        self._path = str(Path(task.path).resolve())
        self._source = task.source

    def find_spec(
        self,
        fullname: str,
        path: object = None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        return importlib.util.spec_from_file_location(
            fullname, self._path, loader=_Loader(fullname, self._path, self._source)
        )


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, source: str) -> None:
        super().__init__(fullname, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002
        return compile(self._source, self.path, "exec", dont_inherit=True)
