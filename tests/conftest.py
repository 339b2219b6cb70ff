"""Sets up all tests: Hypothesis profiles, seeded randomness, English and default settings, and the toy game.

The profile `default` is the same on every run; `long` (HYPOTHESIS_PROFILE=long) tries more examples; `brief`, for
mutation testing, tries few and does not shrink failures. Each test draws the same randomness whenever it runs
(`tests.support.chance`). The language and settings of the user who runs the tests have no effect. The game of
`tests.toy` is registered for all tests. Temporary files are in memory, where there is room for them: much of the
program waits for its files to be on the disk, and no test is about the disk itself. Garbage is collected seldom: tests
leave little, and to look for it among all that has been imported and collected takes long.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.support import chance

gc.disable()  # until the tests are collected
chance.install()

from tests.support.browsers import missing_browsers  # noqa: E402
from tests.support.cluster import Cluster  # noqa: E402 # these import modules that draw randomness
from tests.support.cluster import cluster as cluster_running  # noqa: E402
from tests.support.forked import PRELOADED  # noqa: E402
from tests.toy import register  # noqa: E402

_SLOW_OK = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", derandomize=True, database=None, deadline=None, max_examples=80, suppress_health_check=_SLOW_OK
)
settings.register_profile("long", database=None, deadline=None, max_examples=5000, suppress_health_check=_SLOW_OK)
settings.register_profile(
    "brief",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=20,
    suppress_health_check=_SLOW_OK,
    phases=(Phase.explicit, Phase.generate),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

for _name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG", "HKOJI_LANG", "HKOJI_DECK", "HKOJI_ALWAYS"):
    os.environ.pop(_name, None)
for _name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
    os.environ.pop(_name, None)
    os.environ.pop(_name.upper(), None)
os.environ["HKOJI_CONFIG"] = os.devnull

PRELOADED.append("tests.support.served_once")

_GARBAGE = 10_000
"""New objects after which garbage is collected."""

_MEMORY = Path("/dev/shm")
_ROOM = 4 * 2**30  # a run of all tests in one process leaves less than a tenth of it


def _holds_temporary_files(folder: Path) -> bool:
    """Whether tests may use it: it has room, and programs in it may be started, which containers often forbid."""
    if not os.access(folder, os.W_OK):
        return False
    return shutil.disk_usage(folder).free > _ROOM and not os.statvfs(folder).f_flag & os.ST_NOEXEC


if _holds_temporary_files(_MEMORY):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.default_int_handler(number, frame)


# Some tests send SIGINT to programs they start. If the tests run in the background, those programs would inherit that
# SIGINT is ignored.
# It is another function than Python's own because event loops exchange that one for theirs each time they run.
signal.signal(signal.SIGINT, _interrupt)

register()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL server with a database `migrated` that has the schema and no rows."""
    from hkoji_server.store.location import parse_location
    from hkoji_server.store.postgres.store import open_postgres

    from tests.support.loops import run

    with cluster_running() as made:
        with made.connect() as connection:
            connection.execute("CREATE DATABASE migrated")
        run(run(open_postgres(parse_location(made.url("migrated")))).close())
        yield made


@pytest.fixture
def postgres(cluster: Cluster) -> Iterator[str]:
    """The URL of the test's own database, which has the schema."""
    name = cluster.create("migrated")
    yield cluster.url(name)
    cluster.drop(name)


def pytest_configure(config: pytest.Config) -> None:
    """Silences Python's warning about forks under pytest-xdist, whose workers have a thread that waits for work."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        config.addinivalue_line("filterwarnings", "ignore:This process .* use of fork:DeprecationWarning")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Seeds the test's randomness before any of its fixtures runs."""
    chance.begin(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
    """Seeds a shared fixture by its own name, so that it is the same whichever test needs it first."""
    if fixturedef.scope == "function":
        return (yield)
    before = chance.begin(f"{fixturedef.baseid}::{fixturedef.argname}")
    try:
        return (yield)
    finally:
        chance.go_on(before)


_WAITING = (
    "tests/lab/mail/test_sample.py",
    "tests/server/test_timed_processes.py",
    "tests/lab/timeouts/test_sample.py",
    "tests/lab/outages/test_sample.py",
    "tests/lab/notices/test_sample.py",
    "tests/server/test_processes.py",
    "tests/mail/test_imap_dovecot.py",
    "tests/lab/races/test_sample.py",
    "tests/server/test_invitations.py",
    "tests/trust/test_attacks_relay.py",
    "tests/client/test_long_answers.py",
    "tests/server/test_waiting.py",
)
"""Files whose tests wait longer than they work, those that take longest first."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts equally many files between two that wait, so that processes that share the work do not wait together."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    here = Path(__file__).parents[1]
    waiting = [files.pop(here / name) for name in _WAITING if here / name in files]
    order = list(files.values())
    between = len(order) // (len(waiting) + 1)  # the last of them is not the last of all
    for number, some in enumerate(waiting):
        order.insert(number * (between + 1), some)
    items[:] = [item for some in order for item in some]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says in one line which tests this run left out because the machine has no browser for them."""
    reports = terminalreporter.stats.get("skipped", [])
    missing = missing_browsers(each.longrepr[2] for each in reports if isinstance(each.longrepr, tuple))
    if missing:
        said = ", ".join(f"{name} ({count} tests)" for name, count in missing.items())
        terminalreporter.write_line(f"NOT TESTED, for want of {said}: CONTRIBUTING.md says how to install", red=True)


def pytest_collection_finish() -> None:
    """Exempts the collected tests from garbage collection, which would go through all of them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    gc.enable()
