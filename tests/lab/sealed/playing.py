"""Sealed games by real clients at a service process, all at once, while everything is recorded that it has and says."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.sealing import Sealer
from hkoji.client.seats import SealedWish
from hkoji.errors import BusyError, NetworkError, TooManyError
from hkoji.log.line import Line
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from hkoji.sealed import seal
from hkoji.sealed.transcript import Nonces, ProofTranscript
from tests.lab.sealed.needles import Place, Seen
from tests.lab.sealed.structure import Kept, files_of, tables_of
from tests.lab.sealed.wire import Proxy, recording
from tests.support.commands import current, make_move
from tests.support.receiver import Receiver, receiver
from tests.support.service import Service, serving

RULESETS: Final[tuple[Ruleset, ...]] = (
    Hanamikoji("host", 2),
    GeishasRoad(),
    Hanamikoji("random", 3),
    GeishasRoad("guest", "random"),
    Hanamikoji("guest", 2, "charm"),
    GeishasRoad("random", "random"),
)
DEPOSITS: Final = ((True, True), (False, False), (True, False), (False, True))
_TELLING: Final[dict[str, object]] = {"digest": [], "format": "json", "quiet": None, "zone": "+00:00"}
_AT_ONCE: Final = 4
"""How many clients do something at the same time."""
_PAGES: Final = ("/g/{}", "/v1/games/{}", "/v1/games/{}/log", "/v1/games/{}/clock", "/v1/games", "/v1/finished", "/")
_OWN: Final = ("/v1/games/{}/view?clock=true", "/v1/games/{}/view", "/v1/me/channels")


class NotedNonces(Nonces):
    """Nonces of a proof that are noted."""

    noted: Final[list[NotedNonces]] = []

    def __init__(self, key: bytes, transcript: ProofTranscript, fresh: bytes) -> None:
        super().__init__(key, transcript, fresh)
        self.fresh, self.scalars, self.branches = fresh, list[int](), False
        self.noted.append(self)

    @property
    def key(self) -> bytes:
        """The key of the stream."""
        return self._key

    def scalar(self) -> int:
        found = super().scalar()
        self.scalars.append(found)
        return found

    def short(self) -> int:
        self.branches = True
        return super().short()


@dataclass
class Table:
    """Two players with their homes, and a game of theirs."""

    clients: tuple[Client, Client]
    ruleset: Ruleset
    deposit: tuple[bool, bool]
    seed: int
    most: int = 1000
    """After so many decisions the host resigns."""
    game: str = ""

    def play(self, gate: threading.Semaphore) -> None:
        """Plays a whole game with random moves."""
        host, guest = self.clients
        self.game = self._patiently(gate, lambda: host.new(self.ruleset, sealed=SealedWish(self.deposit[0])).game)
        self._patiently(gate, self._join)
        chance, over = random.Random(f"searched {self.seed}"), False
        while not over and self.most > 0:
            for client in (host, guest):
                over = self._patiently(gate, lambda client=client: self._step(client, chance))
                if over:
                    break
                time.sleep(0.01)
        if not over:
            self._patiently(gate, self._resign)
        for client in self.clients:
            self._patiently(gate, lambda client=client: current(client, self.game))

    def _join(self) -> None:
        with self.clients[1].game(self.game) as held:
            held.join(sealed=SealedWish(self.deposit[1]))

    def _resign(self) -> None:
        with self.clients[0].game(self.game) as held:
            if not held.current().over:
                held.resign()

    def _step(self, client: Client, chance: random.Random) -> bool:
        position = current(client, self.game)
        if not position.over and position.legal:
            make_move(client, self.game, chance.choice(position.legal))
            self.most -= 1
        return position.over

    def _patiently(self, gate: threading.Semaphore, act: Any) -> Any:  # Any: what `act` returns
        while True:
            try:
                with gate:
                    return act()
            except (BusyError, TooManyError, NetworkError):
                time.sleep(0.2)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The log, as the host has it."""
        return self.clients[0].kept(self.game)

    def sealers(self) -> tuple[Sealer, Sealer]:
        """The secrets of both."""
        found = []
        for seat, client in enumerate(self.clients):
            with client.game(self.game) as held:
                found.append(held.sealed.cards.sealer(held.stored().course, seat))
        return found[0], found[1]


@dataclass
class Record:
    """Everything that the service has had, said or heard."""

    where: Path | str
    files: Path
    service: Service
    proxy: Proxy
    hook: Receiver
    tables: list[Table]
    kept: Kept = field(default_factory=Kept)
    seen: Seen = field(default_factory=Seen)
    counts: Counter[str] = field(default_factory=Counter)
    _streams: list[socket.socket] = field(default_factory=list)
    _stopped: bool = False

    def read_database(self) -> None:
        """Reads all tables, and the files of the database."""
        rows = tables_of(self.where)
        for value in self.kept.add(rows):
            self.seen.add(value, Place(time.monotonic(), "a table"))
        for name, data in files_of(self.files):
            self.seen.add_file(data, Place(time.monotonic(), f"the file {name}"))

    def look(self, tables: Sequence[Table]) -> None:
        """Asks for everything that there is about games, as a spectator and as both players."""
        for table in tables:
            for path in (each.format(table.game) for each in _PAGES if table.game):
                self.ask("GET", path)
            for client in table.clients:
                token = client.home.token(self.proxy.url)
                for path in (each.format(table.game) for each in _OWN if table.game):
                    self.ask("GET", path, token)

    def watch(self, running: Sequence[Future[None]], pool: Executor, pause: float) -> None:
        """Reads everything again and again until no game runs. Raises what has stopped a game."""
        followed, chance = set[str](), random.Random(len(running))
        for client in (client for table in self.tables[:3] for client in table.clients):
            pool.submit(self.follow, "/v1/events?wait=3600", client.home.token(self.proxy.url))
        while any(not each.done() for each in running):
            self.read_database()
            self.look(chance.sample(self.tables, min(3, len(self.tables))))
            for game in {table.game for table in self.tables[:2]} - followed - {""}:
                followed.add(game)
                pool.submit(self.follow, f"/v1/games/{game}/events?wait=3600", None)
            time.sleep(pause)
        for each in running:
            each.result()
        self.read_database()
        self.look(self.tables)

    def follow(self, path: str, token: str | None) -> None:
        """Follows a stream of events until `stop_following`."""
        self.counts["event streams"] += 1
        with suppress(OSError, HTTPException), closing(HTTPConnection("127.0.0.1", self.proxy.port)) as connection:
            connection.connect()
            self._streams.append(connection.sock)
            connection.request("GET", path, headers=_headers(token) | {"Accept": "text/event-stream"})
            response = connection.getresponse()
            assert response.status == 200, path
            while not self._stopped and response.readline():
                self.counts["lines of event streams"] += 1

    def stop_following(self) -> None:
        """Ends all streams of events."""
        self._stopped = True
        for stream in self._streams:
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def add_wire(self) -> None:
        """Takes in all that has passed the proxy, the webhooks and the log."""
        for message in self.proxy.messages():
            for when, part in message.parts:
                self.seen.add(part, Place(when, message.name))
            self.counts[message.name.split()[0]] += 1
        for post in self.hook.posts:
            text = json.dumps([post.target, dict(post.headers)]).encode() + post.body
            self.seen.add(text, Place(time.monotonic(), "a webhook"))
        self.seen.add(self.service.log.read_bytes(), Place(time.monotonic(), "the log of the service"))

    def ask(self, method: str, path: str, token: str | None = None, body: object = None) -> bytes:
        """One request through the proxy, and the body of its answer."""
        with closing(HTTPConnection("127.0.0.1", self.proxy.port, timeout=60)) as connection:
            headers = _headers(token) | {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            assert response.status < 300, (path, response.status, response.read())
            return response.read()


def _headers(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


@contextmanager
def recorded(
    folder: Path,
    games: int,
    rulesets: Sequence[Ruleset] = RULESETS,
    *,
    most: int = 1000,
    pause: float = 1.0,
    **started: Any,
) -> Iterator[Record]:
    """Plays games at a new service, which still runs during the block.

    A game ends after `most` decisions. The tables are read again after `pause` seconds. `started` is for `serving`;
    `files` is the folder of a database elsewhere.
    """
    files = started.pop("files", None)
    NotedNonces.noted.clear()
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, {"XDG_STATE_HOME": str(folder / "state")}))
        stack.enter_context(patch.object(seal, "Nonces", NotedNonces))
        proxy, hook = stack.enter_context(recording()), stack.enter_context(receiver())
        settings = {"origin": proxy.url, "webhook_private": "true"}
        service = stack.enter_context(serving(folder / "data", settings=settings, log_level="debug", **started))
        proxy.target = service.port
        where = started.get("database") or folder / "data" / "hkoji.sqlite3"
        tables = [_table(folder, number, proxy, rulesets, most) for number in range(games)]
        record = Record(where, files or where, service, proxy, hook, tables)
        for table in tables[:4]:
            _tell_by_webhook(record, table.clients[0])
        gate = threading.Semaphore(_AT_ONCE)
        with ThreadPoolExecutor(games + 8) as pool:
            try:
                record.watch([pool.submit(table.play, gate) for table in tables], pool, pause)
            finally:
                record.stop_following()
        try:
            yield record
        finally:
            for table in tables:
                for client in table.clients:
                    client.close()


def _table(folder: Path, number: int, proxy: Proxy, rulesets: Sequence[Ruleset], most: int) -> Table:
    clients = []
    for seat in (0, 1):
        name = f"p{number}-{'hg'[seat]}"
        home = Home(folder / "homes" / name)
        create(home, name, None, os.urandom(32))
        client = Client(home)
        client.register(proxy.url)
        client.service().list_games()
        client.service().own_games()
        clients.append(client)
    deposit = DEPOSITS[(number + number // len(DEPOSITS)) % len(DEPOSITS)]
    return Table((clients[0], clients[1]), rulesets[number % len(rulesets)], deposit, number, most)


def _tell_by_webhook(record: Record, client: Client) -> None:
    token, before = client.home.token(record.proxy.url), len(record.hook.posts)
    target = f"http://127.0.0.1:{record.hook.port}/{client.identity.name}"
    made = record.ask("POST", "/v1/me/channels", token, {"kind": "webhook", "target": target, "settings": _TELLING})
    code = json.loads(record.hook.wait_for(before + 1)[before].body)["code"]
    record.ask("POST", f"/v1/me/channels/{json.loads(made)['id']}/confirm", token, {"code": code})
