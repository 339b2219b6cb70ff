"""Measures what a mail process and many games by mail cost the players of other games.

    python -m scripts.bench.moves_beside_mail
    python -m scripts.bench.moves_beside_mail --pairs 12 --held 1000

Two services on SQLite have the same games to play. One of them also has games in which the service holds the key of a
seat, each of another mail player, and during its rounds a mail process runs beside it. The services take turns, and the
order of the two changes from pair to pair; so what else the machine does strikes both. Both services are on one core of
their own, as in `moves`; the mail process is placed by the system. The ratio printed is the median of all pairs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from hkoji_server.store.mail_invitations import NewMailbox
from hkoji_server.store.mail_tables import KeptCertificate, KeptHeldKey
from hkoji_server.store.mail_values import Mailbox
from hkoji_server.store.player_tables import Player
from hkoji_server.store.sqlite.store import SqliteStore
from hkoji_server.store.tables import row_of

from hkoji.game.agreement import DAY, Agreement, TimeControl
from scripts.bench.memory import processor_seconds, server_seconds
from scripts.bench.moves import KEY, apart
from scripts.bench.page import Figure, record, shown
from scripts.bench.prepared import Prepared, fill, prepare, requests
from scripts.bench.volley import Fire, generator
from tests.support import mailboxes
from tests.support.leases import lease_due
from tests.support.service import HKOJI, Service, serving

_MAIL: Final = "play@hkoji.example"
_SINCE: Final = "2026-11-20T12:00:00Z"
_SETTLED: Final = 3.0
"""How many seconds a mail process runs before it is measured."""
_DAYS: Final = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY))
_ALL_CORES: Final = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset[int]()


@dataclass
class Turns:
    """The results of one service's rounds."""

    speeds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    """Processor time of the service, in seconds a move."""
    latencies: list[float] = field(default_factory=list)

    def tell(self, name: str) -> None:
        """Prints the results."""
        p50, p99 = median(self.latencies), quantiles(self.latencies, n=100)[98]
        print(
            f"  {name:8} {median(self.speeds):7,.0f} moves/s; server {median(self.processor) * 1e6:.0f} us of processor"
            f" a move; p50 {p50 * 1e3:.1f} ms, p99 {p99 * 1e3:.1f} ms; {len(self.latencies):,} moves",
            flush=True,
        )


async def _add_mail_player(store: SqliteStore, game: Prepared) -> None:
    """Gives the guest of a game a mailbox that has accepted."""
    name, key = game.begun[1].lines[-1].entry.by, game.guest_key.public.text
    address = f"{name}@players.example"
    box = Mailbox(f"channel-{name}", name, address, key, "en", "invited", _SINCE)
    held = row_of(KeptHeldKey, key=key, name=name, private=game.guest_key.to_openssh().decode())
    certificate = row_of(KeptCertificate, text="{}" + name, key=key, mailbox=address, salt="5a" * 32)
    await store.invite_mailbox(NewMailbox(box, "{}", None, held, certificate))
    await mailboxes.accept(
        store, box.channel, row_of(Player, name=name, key=key, registered=_SINCE, text="text", sig="sig")
    )


def _make_database(path: Path, games: Sequence[Prepared], held: Sequence[Prepared]) -> None:
    async def make(store: SqliteStore) -> None:
        await store.add_identity(KEY.to_openssh().decode(), "http://127.0.0.1")
        await fill(store, [*games, *held])
        for game in held:
            await _add_mail_player(store, game)
        # The letters that invited them were sent long ago.
        for leased in await lease_due(store, ("mail",), "2027-01-01T00:00:00Z", "2027-01-01T00:01:00Z"):
            await store.delete_notice(leased, sent=True)

    path.parent.mkdir()
    store = SqliteStore(path)
    asyncio.run(make(store))
    store.close()


@contextmanager
def _mail_process(data: Path) -> Iterator[subprocess.Popen[str]]:
    """A mail process that has been running for a while, placed by the system."""
    settings = {"MAIL": _MAIL, "MAIL_LMTP": "127.0.0.1:0", "MAIL_SMTP": "smtp://127.0.0.1:9"}
    environment = {**os.environ, **{f"HKOJI_SERVER_{name}": value for name, value in settings.items()}}
    with subprocess.Popen(
        [str(HKOJI), "admin", "mail", "run", "--data", str(data)], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stderr is not None
            assert "takes mail" in process.stderr.readline()
            for each in Path(f"/proc/{process.pid}/task").iterdir() if _ALL_CORES else ():
                os.sched_setaffinity(int(each.name), _ALL_CORES)
            time.sleep(_SETTLED)
            yield process
        finally:
            process.terminate()


def _round(service: Service, fire: Fire, plans: Sequence[Sequence[Prepared]], found: Turns) -> None:
    sent = [[request for game in plan for request in requests(game)] for plan in plans]
    number, before = sum(map(len, sent)), server_seconds(service.process.pid)
    fired = fire(service.port, sent)
    found.processor.append((server_seconds(service.process.pid) - before) / number)
    found.speeds.append(number / fired.seconds)
    found.latencies.extend(fired.latencies)


def run(pairs: int = 8, games: int = 6, connections: int = 16, held: int = 1000, *, control: bool = False) -> float:
    """Prints moves a second of both services and their ratio, and returns it. Each connection plays `games` a round.

    As a `control` no mail process runs.
    """
    print(f"\nSigned durable moves over HTTP, beside a mail process and {held:,} held seats")
    prepared = prepare((pairs + 1) * connections * games, KEY)
    owed = prepare(held, KEY, first=len(prepared), agreement=_DAYS, held=True)
    size = connections * games
    rounds = [
        [prepared[at + n :: connections][:games] for n in range(connections)] for at in range(0, len(prepared), size)
    ]
    without, beside, mail_seconds, seconds = Turns(), Turns(), 0.0, 0.0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hkoji-bench-")))
        places = {"without": folder / "without", "with": folder / "with"}
        for name, data in places.items():
            _make_database(data / "hkoji.sqlite3", prepared, owed if name == "with" else ())
        services = {name: stack.enter_context(serving(data, log_level="error")) for name, data in places.items()}
        plain, mailed = (service.process.pid for service in services.values())
        stack.enter_context(apart(plain))
        for each in Path(f"/proc/{mailed}/task").iterdir() if _ALL_CORES else ():
            os.sched_setaffinity(int(each.name), os.sched_getaffinity(plain))
        fire = stack.enter_context(generator())
        for service in services.values():
            _round(service, fire, rounds[0], Turns())
        for number, plans in enumerate(rounds[1:]):
            for name in sorted(services, reverse=bool(number % 2)):
                if name == "without" or control:
                    time.sleep(_SETTLED)  # as long as the other stands idle before its round
                    _round(services[name], fire, plans, without if name == "without" else beside)
                    continue
                with _mail_process(places[name]) as process:
                    began = processor_seconds(process.pid)
                    started = time.monotonic()
                    _round(services[name], fire, plans, beside)
                    seconds += time.monotonic() - started
                    mail_seconds += processor_seconds(process.pid) - began
    without.tell("without:")
    beside.tell("with:")
    ratios = sorted(one / other for one, other in zip(beside.speeds, without.speeds, strict=True))
    processor = median(beside.processor) / median(without.processor)
    print(
        f"  ratio {median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f} in {len(ratios)} pairs); processor time a"
        f" move {processor:.3f} of that without; the mail process takes {mail_seconds / (seconds or 1):.1%} of a core",
        flush=True,
    )
    speed, floor = median(beside.speeds), f"{shown(median(without.speeds))} moves without both"
    if not control and held == 1000:
        what = "moves beside a mail process and 1,000 games with a held seat, against moves without both"
        record(what, Figure(speed, median(ratios), floor, limits=False))
    return median(ratios)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--games", type=int, default=6, help="games a connection in each round, of twelve moves each")
    parser.add_argument("--held", type=int, default=1000, help="held seats")
    parser.add_argument("--control", action="store_true", help="no mail process runs: how far the two differ by chance")
    given = parser.parse_args()
    run(given.pairs, given.games, held=given.held, control=given.control)


if __name__ == "__main__":
    main()
