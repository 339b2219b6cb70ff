"""Kills the service again and again, and checks that nothing it had acknowledged is lost.

    python -m tests.lab.crashes.measure --kills 100                a sample, in two minutes
    python -m tests.lab.crashes.measure --kills 2000 --jobs 2      all of it
    python -m tests.lab.crashes.measure --store postgres           the same on PostgreSQL

Real service processes run on real files. Players in threads offer, open, join and play over HTTP and remember every
answer, and so does a pair of real clients with their homes on disk. `kill -9` comes at a random moment, or when the
service reaches a chosen point for the nth time (killed.py: around transactions, statements, commits, writes and syncs
of the write-ahead log, checkpoints, during an answer, the start and a clean stop). Then the service is started on the
same files, and so on: --lives kills for each folder of data, in which games accumulate.

After each kill, the files are read with plain SQL and judged by a naive reading of the specification
(tests/support/ledger.py). Every entry that was acknowledged or shown is there with its signature and receipt, to the
byte; so are openings, registrations and logins. No transaction is incomplete, and lists agree with the logs. Then the
started service must show the logs of the games in progress so that they pass `hkoji audit`, repeat earlier
acknowledgements with the same bytes, and accept what was not answered: once, and after that always with the same
answer.

One service in --whole is a separate `hkoji serve` and is killed at a random moment. The others are forked from a
process with the modules imported, which saves most of a start; those that must end at a checkpoint make one every 60
pages instead of every 1,000.

On PostgreSQL each folder has its own server, which is also struck while the service runs: a process that serves one of
its connections is killed, which makes PostgreSQL end them all and recover; or the complete server is stopped
immediately, as `pg_ctl stop -m immediate` does, and started again. The same service process must then recover by
itself.

Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.audit.log_audit import audit
from hkoji.errors import HkojiError, NetworkError, ServiceError
from hkoji.game.course import OVER
from hkoji.log.public_key import parse_public_key
from tests.lab.crashes.interrupted import Clients
from tests.lab.crashes.killed import ARM, POINTS, POSTGRES_POINTS, Forked
from tests.support.cluster import Cluster
from tests.support.ledger import Ledger, dumped, half_done, lost
from tests.support.load import AWAY, NotNowError, Pair, Wire, busy
from tests.support.service import start

_FILE: Final = "hkoji.sqlite3"
_SHOWN: Final = 20
_PAIRS: Final = 4
_MOMENT: Final = "at a random moment"
_WHOLE: Final = "at a random moment, a process of its own"
_MISSED: Final = "at a random moment (the point did not come)"
_PATIENCE: Final = 2.5
_BACKEND: Final = "PostgreSQL: a process of its own killed"
_STOPPED: Final = "PostgreSQL: stopped at once"
STRIKES: Final = (_BACKEND, _STOPPED)


class Told(NamedTuple):
    """The results of one folder."""

    kills: Counter[str]
    numbers: Counter[str]
    wrong: list[str]


class Folder:
    """One folder of data, and the successive services on it."""

    def __init__(
        self, folder: Path, seed: int, whole: int, patience: float = _PATIENCE, *, postgres: bool = False
    ) -> None:
        self.rng = random.Random(seed)
        self.data = folder / "data"
        self.ledger = Ledger()
        self.cluster = Cluster() if postgres else None
        self.database = self.cluster.url(self.cluster.create()) if self.cluster else None
        self.points = (*POSTGRES_POINTS, *STRIKES, *STRIKES) if postgres else POINTS
        self.struck = False
        self.port = 0
        self.wire = Wire(self._where)
        self.whole = whole
        self.patience = patience
        self.kills: Counter[str] = Counter()
        self.numbers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.pairs = [
            Pair(number, Wire(self._where), self.ledger, random.Random(self.rng.getrandbits(64)), longest=24)
            for number in range(_PAIRS)
        ]
        self.clients = Clients(folder, seed, self._where, self.ledger, random.Random(self.rng.getrandbits(64)))

    def _where(self) -> int:
        return self.port

    def live(self, point: str | None = None, count: int | None = None) -> None:
        """One life: start, checks, load, and the end, at the `count`th time of `point` or at a random moment."""
        if self.whole and self.rng.randrange(self.whole) == 0:
            self._live_whole()
            return
        point = point or self.rng.choice((_MOMENT, _MOMENT, *self.points))
        counts = {"amid the start": 27 if self.cluster else 60, "amid a clean stop": 40, "at a write to the log": 200}
        count = count or self.rng.randrange(1, counts.get(point, 25))
        if point in STRIKES:
            self._live_struck(point)
            return
        service = Forked(self.data, point, count, self.database)
        if service.port is None:
            self._ended(point, service.wait())
            return
        self.port = service.port
        self._look()
        self._arm()
        if point in ("amid the start", "amid a clean stop"):
            self._play(self._limit(self.rng.random() * 0.3))
            service.terminate()
            if point == "amid the start":  # the point was reached fewer times: this is a clean stop
                self._ended("", service.wait())
            else:
                self._ended(point, service.wait())
            return
        if point == _MOMENT:
            end = threading.Timer(0.02 + self.rng.expovariate(4), lambda: os.kill(service.pid, 9))
        else:
            end = threading.Timer(self.patience, lambda: os.kill(service.pid, 9))
        began = time.monotonic()
        end.start()
        self._play(lambda: False)
        end.cancel()
        end.join()
        if point != _MOMENT and time.monotonic() - began >= self.patience:
            point = _MISSED
        self._ended(point, service.kill())

    def _live_struck(self, point: str) -> None:
        """Strikes the database under a running service, which then ends at a random moment."""
        service = Forked(self.data, database=self.database)
        assert service.port is not None, service.log.read_text()
        self.port = service.port
        self._look()
        over: list[float] = []

        def strike() -> None:
            self._strike(point)
            over.append(time.monotonic() + 0.2)

        timer = threading.Timer(0.02 + self.rng.expovariate(4), strike)
        self.struck = True  # from now on the service may answer that the database is away
        timer.start()
        self._play(lambda: bool(over) and time.monotonic() > over[0])
        timer.join()
        self.struck = False
        self.kills[point] += 1
        self._look()
        end = threading.Timer(0.02 + self.rng.expovariate(4), lambda: os.kill(service.pid, 9))
        end.start()
        self._play(lambda: False)
        end.join()
        self._ended(_MOMENT, service.kill())

    def _strike(self, point: str) -> None:
        assert self.cluster is not None
        if point == _STOPPED:
            self.cluster.stop()
            self.cluster.start()
        else:
            self.cluster.kill_one(self.rng.choice)

    def _live_whole(self) -> None:
        service = start(self.data, log_level="warning", database=self.database)
        self.port = service.port
        self._look()
        end = threading.Timer(0.02 + self.rng.expovariate(2), lambda: os.kill(service.process.pid, 9))
        end.start()
        self._play(lambda: False)
        end.join()
        service.kill()
        self._ended(_WHOLE, service.process.wait())

    def finish(self) -> None:
        """The last life: pending entries are sent, all games are audited, and the service stops cleanly."""
        service = Forked(self.data, database=self.database)
        assert service.port is not None, service.log.read_text()
        self.port = service.port
        self._look()
        for pair in self.pairs:
            while pair.pending or not pair.accepted:
                pair.step()
        self._audit(self._games())
        service.terminate()
        if code := service.wait():
            self.wrong.append(f"a clean stop ended with {code}: {service.log.read_text()[-300:]}")
        self._look(asking=False)
        self.numbers["entries"] = sum(fact.table == "entry" for fact in self.ledger.facts)
        self.numbers["openings"] = sum(fact.table == "opening" for fact in self.ledger.facts)
        self.numbers["games"] = len({fact.key[0] for fact in self.ledger.facts if fact.table == "entry"})
        self.numbers["gifts of time"] = sum(pair.given for pair in self.pairs)
        self.numbers["sent again"] = sum(pair.retried for pair in self.pairs)
        self.numbers["moves by the real client"] = self.clients.moves

    def close(self) -> None:
        """Closes connections, and ends PostgreSQL."""
        self.wire.close()
        self.clients.close()
        for pair in self.pairs:
            assert isinstance(pair.asked, Wire)
            pair.asked.close()
        if self.cluster:
            self.cluster.close()

    def _games(self, last: int = 0) -> list[str]:
        """All games known here, or the last ones of each pair."""
        return [game for games in (*(pair.games for pair in self.pairs), self.clients.games) for game in games[-last:]]

    def _ended(self, point: str, code: int) -> None:
        if code == -9:
            self.kills[point] += 1
        elif code == 0:
            self.numbers["clean stops"] += 1
        else:
            self.wrong.append(f"{point}: the service ended with {code}")

    def _arm(self) -> None:
        with contextlib.suppress(*AWAY):
            self.wire.ask("GET", ARM)

    def _limit(self, seconds: float) -> Callable[[], bool]:
        end = time.monotonic() + seconds
        return lambda: time.monotonic() > end

    def _play(self, over: Callable[[], bool]) -> None:
        """Lets all players play until the service goes away or `over()` is true."""

        def play() -> None:
            try:
                while not over():
                    self.clients.step()
            except NetworkError:
                return
            except Exception as error:
                if not (self.struck and isinstance(error, ServiceError) and error.status == 503):
                    self.wrong.append(f"the client: {type(error).__name__}: {error}")

        def failed(pair: Pair, error: Exception) -> None:
            if not isinstance(error, AWAY) and not (self.struck and isinstance(error, NotNowError)):
                self.wrong.append(f"pair {pair.number}: {type(error).__name__}: {error}")

        threads = busy(self.pairs, lambda _: over(), failed)
        client = threading.Thread(target=play, daemon=True)
        client.start()
        for thread in (*threads, client):
            thread.join()

    def _look(self, *, asking: bool = True) -> None:
        """Checks what must be true after a start."""
        dump = dumped(self.database or self.data / _FILE)
        facts = self.ledger.facts
        self.numbers["comparisons"] += len(facts)
        found = [*lost(dump, facts), *half_done(dump, self.ledger.sent.__contains__)]
        if asking:
            self._audit(self._games(1))
            found += self._lists()
            for pair in self.pairs:
                for submission, answer in self.rng.sample(pair.answers, min(2, len(pair.answers))):
                    pair.repeat(submission, answer)
                    self.numbers["answered as at first"] += 1
        self.wrong += found

    def _lists(self) -> list[str]:
        listed = self.wire.ask("GET", "/v1/games?limit=200").json["games"]
        wrong = []
        for each in self.rng.sample(listed, min(5, len(listed))):
            lines = self.wire.ask("GET", f"/v1/games/{each['game']}/log").body.splitlines()
            last = json.loads(json.loads(lines[-1])["entry"])
            if each["seq"] != last["seq"] or (each["status"] in OVER) != (last["kind"] == "end"):
                wrong.append(f"the list is wrong about {each['game']}")
        return wrong

    def _audit(self, games: list[str]) -> None:
        key = parse_public_key(self.wire.ask("GET", "/v1/service").json["key"])
        for game in games:
            log = self.wire.ask("GET", f"/v1/games/{game}/log").body
            result = audit(log, {"server": key})
            self.numbers["audits"] += 1
            if not result.ok:
                self.wrong.append(f"{game}: {result.findings}")


def _task(given: tuple[int, int, int, bool, float]) -> Told:
    seed, lives, whole, postgres, until = given
    if time.time() > until:
        return Told(Counter(), Counter(), [])
    shared = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
    folder = Folder(path, seed, whole, postgres=postgres)
    try:
        while folder.kills.total() < lives and not folder.wrong and time.time() < until:
            folder.live()
        if not folder.wrong:
            folder.finish()
        return Told(folder.kills, folder.numbers, [f"seed {seed}: {each}" for each in folder.wrong])
    except (HkojiError, *AWAY) as error:
        return Told(folder.kills, folder.numbers, [f"seed {seed}: {type(error).__name__}: {error}"])
    finally:
        folder.close()
        shutil.rmtree(path)


def main() -> None:
    """Kills, and prints the results."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--lives", type=int, default=25, help="kills for each folder of data")
    parser.add_argument(
        "--whole", type=int, default=20, help="one service in this many is a separate `hkoji serve`; 0: none"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="stop after this many minutes, with fewer kills"
    )
    given = parser.parse_args()
    started = time.monotonic()
    until = time.time() + given.minutes * 60
    postgres = given.store == "postgres"
    tasks = [
        (given.seed * 10_000 + number, min(given.lives, given.kills - begun), given.whole, postgres, until)
        for number, begun in enumerate(range(0, given.kills, given.lives))
    ]
    kills: Counter[str] = Counter()
    numbers: Counter[str] = Counter()
    wrong: list[str] = []
    with ProcessPoolExecutor(given.jobs) as pool:
        for done, told in enumerate(pool.map(_task, tasks), 1):
            kills += told.kills
            numbers += told.numbers
            wrong += told.wrong
            for line in told.wrong:
                print(line, file=sys.stderr)
            print(f"{done} of {len(tasks)} folders, {kills.total():,} kills, {len(wrong)} wrong", file=sys.stderr)
    for line in wrong[:_SHOWN]:
        print(line)
    for point, count in sorted(kills.items()):
        print(f"{count:6,}  {point}")
    for name, count in sorted(numbers.items()):
        print(f"{count:11,}  {name}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{kills.total():,} kills in {time.monotonic() - started:.0f} s "
        f"({used.ru_utime + used.ru_stime:.0f} s of processor time): {len(wrong)} wrong"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
