"""Parts that the laboratories of time share: the players, planted faults, and the command line.

Each of them lets a real service run, does something to it, and then judges what its database holds.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from hkoji_server.store.location import parse_location
from hkoji_server.store.postgres.store import open_postgres

from hkoji.log.private_key import PrivateKey
from tests.lab.races.judgement import Ask, asking
from tests.support.cluster import cluster
from tests.support.loops import run
from tests.support.service import Asked, Player
from tests.support.wired_tables import Seated

_SHOWN: Final = 20
_TRIES: Final = 6
"""How often a fault has the chance to do harm: that depends on which process is first, and on what is in flight."""


class Done(NamedTuple):
    """The counts, and the complaints."""

    counts: Counter[str]
    wrong: list[str]


class Wanted(NamedTuple):
    """How much to do, with which seed, and the fault to plant."""

    size: int
    seed: int = 1
    fault: str | None = None


Measure = Callable[[Path, Wanted, str | None], Done]
"""Does what is wanted with a service, and judges. It is given an empty folder and a PostgreSQL database, or None."""


class PlantedFault(NamedTuple):
    """A fault for the service. `plant` changes the service in this process."""

    plant: Callable[[], None]
    shown_by: str
    """The condition under which it does harm."""
    said: str
    """A pattern of what the judgement says then."""
    only_on_postgres: bool = False


def seeds(where: Path | str) -> Callable[[str], str]:
    """Reads the service's seed of a game from an SQLite file, or from the PostgreSQL database at a URL."""
    return partial(_seed, asking(where))


def _seed(ask: Ask, game: str) -> str:
    ((seed,),) = ask("SELECT seed FROM secret WHERE game = ?", (game,))
    return str(seed)


def seated(service: Asked, number: int, rng: random.Random) -> tuple[Seated, Seated]:
    """Registers a host and a guest, whose names have that number."""
    return _seat(service, f"host{number}", rng), _seat(service, f"guest{number}", rng)


def _seat(service: Asked, name: str, rng: random.Random) -> Seated:
    player = Player(service, name, PrivateKey.from_seed(rng.randbytes(32)), rng.randbytes(32).hex()).register()
    return Seated(name, player.key, player.entropy, player.token)


def see(
    measure: Measure, wanted: Wanted, fault: PlantedFault, folder: Path, database: Callable[[], str | None]
) -> Done:
    """Plants the fault that is wanted, and returns what the judgement has found. Fails if it does not find the fault.

    `database` gives the URL of another database for each try.
    """
    wrong: list[str] = []
    for number in range(_TRIES):
        place = folder / f"{number}"
        place.mkdir()
        done = measure(place, wanted._replace(seed=wanted.seed + number), database())
        if any(re.search(fault.said, complaint) for complaint in done.wrong):
            return done
        wrong += done.wrong
    raise AssertionError(f"{wanted.fault}: {wrong}")


def _migrated(url: str) -> str:
    """Gives the database at a URL its schema, and returns the URL."""
    run(run(open_postgres(parse_location(url))).close())
    return url


def main(
    measure: Measure, description: str, what: str, faults: Mapping[str, PlantedFault], shown: str = "how many"
) -> int:
    """Measures as the command line says; `what` is what is counted. Returns the exit code."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(what, type=int, nargs="?", default=200, help=shown)
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--planted", choices=sorted(faults), help="a fault in the service, to be found")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix=f"hkoji-{what}-"))
    began = time.monotonic()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        database = None
        if given.postgres or (given.planted and faults[given.planted].only_on_postgres):
            server = stack.enter_context(cluster())
            database = _migrated(server.url(server.create()))
        done = measure(folder, Wanted(getattr(given, what), given.seed, given.planted), database)
    for name, count in sorted(done.counts.items()):
        print(f"  {name:44} {count:12,}")
    print(f"{len(done.wrong)} wrong; {time.monotonic() - began:,.0f} s in all")
    for complaint in done.wrong[:_SHOWN]:
        print(f"  {complaint}")
    return 1 if done.wrong else 0
