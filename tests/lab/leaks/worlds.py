"""Worlds: the real application with a chosen deal, and the parts of its answers that may differ between worlds.

Two worlds are the same service with the same key, time, players and public game. They differ in what one viewer cannot
know: cards, salts, entropy not yet revealed, other people's tokens. Therefore the hashes over those differ, and the
signatures over the hashes. A world knows exactly which: the test computes each of them from the entries and the world's
own secrets, and names it, as in `<head 3 of 0>`. Answers are compared with these names in place of the bytes. Any other
token, however random it looks, must be the same in both worlds.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji_server.app import Application
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import load
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.line import SERVER_NAME, Entry, entry_namespace, make_receipt, parse_entry
from hkoji.log.private_key import PrivateKey
from tests.lab.leaks.receiver import TABLES, Posted, Receiver, delivery_by_hand, send_what_is_due
from tests.support.lent_routers import BorrowedRouters
from tests.support.service import UNLIMITED
from tests.support.service_in_process import Clock, http_scope
from tests.support.time_by_hand import time_by_hand

TRUTH: Final = "truth"
"""The world with which the others are compared."""
ADDRESS: Final = "http://inside"
_TOKEN: Final = re.compile(rb"[0-9a-f]{64}|U1NIU0lH[A-Za-z0-9+/]{64,}={0,2}")
_RUN: Final = re.compile(r"[0-9a-f]{40,}")
_SIZES: Final = (40, 64)
_PACE: Final = 150
"""The seconds between two times that the service notes; after 180 it would count as absent."""
_TIMED: Final = re.compile(r'"(ms|pid|request|timestamp)": ("[^"]*"|[0-9.]+)')


class Request(NamedTuple):
    """A complete request. `name` is its name in reports."""

    name: str
    method: str
    path: str
    token: str | None = None
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class Answer(NamedTuple):
    """An answer: every header as it was sent, in order, and what the service wrote to its log meanwhile."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    log: str

    @property
    def json(self) -> Any:  # Any: JSON
        return json.loads(self.body)


class Journal:
    """Stands in for stderr and keeps what the process writes to it."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        self.parts.append(text)
        return len(text)

    def flush(self) -> None:
        """Does nothing: there is no buffer to flush."""

    def take(self) -> str:
        """The log since the last call."""
        text = "".join(self.parts)
        self.parts.clear()
        return text


class Draws:
    """The service's randomness, which depends on its purpose, and on the world if it is a secret of the world.

    Identifiers (16 bytes) are public, so they are the same everywhere.
    """

    def __init__(self, session: str, world: str) -> None:
        self._session, self._world = session, world
        self.use("start")

    def use(self, label: str, *, secret: bool = False) -> None:
        """Sets the purpose of the randomness that follows."""
        self._label, self._secret, self._count = label, secret, 0

    def __call__(self, size: int) -> bytes:
        self._count += 1
        whose = self._world if self._secret and size != 16 else TRUTH
        return sha256(f"{self._session} {whose} {self._label} {self._count}".encode()).digest()[:size]


@dataclass
class World:
    """A running application. Open it with `start` and close it with `stop`, in one event loop."""

    name: str
    session: str
    data: Path
    journal: Journal
    level: str = "debug"
    clock: Clock = field(default_factory=Clock)
    names: dict[bytes, bytes] = field(default_factory=dict)
    """The tokens that may differ, with their names."""
    secrets: set[str] = field(default_factory=set)
    """The secrets that no log may contain."""
    logged: list[str] = field(default_factory=list)
    times: dict[str, str] = field(default_factory=dict)
    """The time of record of each entry, by its head."""
    _routers: BorrowedRouters = field(default_factory=BorrowedRouters)

    async def start(self) -> World:
        self.draws = Draws(self.session, self.name)
        settings = load(data=self.data, log_level=self.level, **UNLIMITED)
        sources = ClockAndEntropy(self.clock, self.draws, self.clock.elapsed)
        self.app: Application = Application(settings, sources, address=ADDRESS)
        self._lifespan = self.app.router.lifespan_context(self.app)
        with self._routers.starting(), time_by_hand() as self.by_hand, delivery_by_hand() as deliveries:
            await self._lifespan.__aenter__()
        (self._delivery,) = deliveries
        self.receiver = Receiver()
        for courier in self._delivery.couriers.values():
            courier._poster = self.receiver  # type: ignore[attr-defined] # each is a `PostCourier`
        self._database = sqlite3.connect(settings.file)
        self.store = SqliteStore(settings.file)  # forget it, as another process would
        identity = await self.store.identity()
        assert identity
        self.key = PrivateKey.from_openssh(identity[0].encode())
        self.secrets.update(identity[0].splitlines()[1:-1])
        return self

    async def stop(self) -> None:
        self._database.close()
        self.store.close()
        await self._lifespan.__aexit__(None, None, None)
        self._routers.give_back()

    async def pass_time(self, seconds: int, *, absent: bool = False) -> None:
        """Lets time pass; while the service is `absent` it notes no time, so after long it records an outage."""
        while seconds > 0:
            step = seconds if absent else min(_PACE, seconds)
            self.clock.pass_by(step)
            await self.by_hand.time.beat()
            seconds -= step

    # --- asking ---------------------------------------------------------------------------------------------------

    async def ask(self, request: Request) -> Answer:
        """One request over ASGI, as the HTTP server would pass it on."""
        headers = [(b"host", b"inside"), (b"content-length", str(len(request.body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in request.headers]
        if request.body and not any(name == "content-type" for name, _ in request.headers):
            headers.append((b"content-type", b"application/json"))
        if request.token:
            headers.append((b"authorization", f"Bearer {request.token}".encode()))
        body: bytes | None = request.body
        said: list[Any] = []

        async def receive() -> Any:  # Any: an ASGI message
            nonlocal body
            if body is None:
                await asyncio.Event().wait()
            given, body = body, None
            return {"type": "http.request", "body": given, "more_body": False}

        async def send(message: Any) -> None:
            said.append(message)

        self.journal.take()
        await self.app(http_scope(request.method, request.path, headers), receive, send)
        log = self.journal.take()
        if log:
            self.logged.append(log)
        content = b"".join(part.get("body", b"") for part in said[1:])
        return Answer(said[0]["status"], tuple(map(tuple, said[0]["headers"])), content, log)

    # --- notices ---------------------------------------------------------------------------------------------------

    def rows(self, table: str, names: tuple[str, str, str]) -> Answer:
        """The rows of three players in one of `TABLES`, in the form of an answer."""
        rows = self._database.execute(TABLES[table], names).fetchall()
        return Answer(len(rows), (), repr(rows).encode(), "")

    async def deliver(self, *, failing: bool) -> tuple[list[Posted], Answer]:
        """Sends what is due. Returns the posts, and in the form of an answer their bytes and lines of the log."""
        self.journal.take()
        self.receiver.failing = failing
        await send_what_is_due(self._delivery)
        self.receiver.failing = False
        log = self.journal.take()
        self.logged.append(log)
        posts = self.receiver.take()
        for post in posts:
            if post.is_push:
                continue
            sig = self.key.sign(sshsig.NOTICE, post.message)
            self.allow(encode_base64(sig), f"signature of notice {post.id.decode()}")
        lines = sorted(_TIMED.sub(r'"\1": #', log).splitlines())
        return posts, Answer(len(posts), (), b"\n".join(post.wire for post in posts), "\n".join(lines))

    # --- what may differ ------------------------------------------------------------------------------------------

    def allow(self, token: str, name: str) -> None:
        """Registers a token that may differ between worlds."""
        self.names[token.encode()] = f"<{name}>".encode()

    def allow_line(self, entry: Entry, author: PrivateKey, at: str) -> None:
        """Registers the head of an entry and the signatures over it and its receipt; `at` is the time of receipt."""
        place = f"{entry.seq} of {entry.game[:8]}"
        self.allow(entry.head, f"head {place}")
        self.times[entry.head] = at
        sig = author.sign(entry_namespace(entry), entry.message)
        self.allow(encode_base64(sig), f"signature {place}")
        receipt = make_receipt(at=at, game=entry.game, head=entry.head, seq=entry.seq)
        self.allow(encode_base64(self.key.sign(sshsig.RECEIPT, receipt.message)), f"receipt {place}")

    def allow_view(self, text: str) -> None:
        """Registers the signature over this text of a view, which contains no more than the text."""
        sig = self.key.sign(sshsig.VIEW, text.encode() + b"\n")
        self.allow(encode_base64(sig), "signature of the view")

    def allow_head(self, text: str) -> None:
        """Registers the signature over this text of a signed head, which contains no more than the text."""
        sig = self.key.sign(sshsig.HEAD, text.encode() + b"\n")
        self.allow(encode_base64(sig), "signature of the head")

    def keep_secret(self, *texts: str) -> None:
        """Registers secrets that must not appear in a log."""
        assert all(len(text) in _SIZES or not _RUN.fullmatch(text) for text in texts)
        self.secrets.update(texts)

    def learn(self, author: PrivateKey, answer: Answer) -> list[Entry]:
        """Takes in the new lines of a game: the author's, and the service's."""
        entries = [parse_entry(line["entry"]) for line in answer.json["lines"]]
        at = self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        for entry in entries:
            self.allow_line(entry, self.key if entry.by == SERVER_NAME else author, at)
        return entries

    def named(self, data: bytes) -> bytes:
        """`data` with the names in place of the tokens that may differ."""
        return _TOKEN.sub(lambda found: self.names.get(found[0], found[0]), data)

    def leaked(self) -> list[str]:
        """Log lines that contain a secret; clears the log."""
        text = "".join(self.logged)
        self.logged.clear()
        # There are thousands of secrets, nearly all long hex digits, and megabytes of log: only long runs of hex digits
        # are compared.
        runs = _RUN.findall(text)
        found = {run[at : at + size] for run in runs for size in _SIZES for at in range(len(run) - size + 1)}
        found &= self.secrets
        found |= {secret for secret in self.secrets if not _RUN.fullmatch(secret) and secret in text}
        return [line for line in text.splitlines() if any(secret in line for secret in found)] if found else []


def difference(one: World, first: Answer, two: World, second: Answer) -> str | None:
    """The difference between the answers of two worlds, as text; None if there is none."""
    if first.status != second.status:
        return f"status {first.status} against {second.status}"
    if len(first.body) != len(second.body):
        return f"length {len(first.body)} against {len(second.body)}: {_apart(first.body, second.body)}"
    if first.body != second.body and (one_body := one.named(first.body)) != (two_body := two.named(second.body)):
        return f"body: {_apart(one_body, two_body)}"
    if first.headers != second.headers:
        heads = tuple(
            [(name, len(value), world.named(_said(name, value))) for name, value in answer.headers]
            for world, answer in ((one, first), (two, second))
        )
        if heads[0] != heads[1]:
            return f"headers: {_apart(repr(heads[0]).encode(), repr(heads[1]).encode())}"
    if first.log != second.log:
        logs = tuple(
            world.named(_TIMED.sub(r'"\1": #', answer.log).encode()) for world, answer in ((one, first), (two, second))
        )
        if logs[0] != logs[1]:
            return f"log: {_apart(*logs)}"
    return None


def _said(name: bytes, value: bytes) -> bytes:
    """A header's value, or its form if the value is random for every request."""
    return b"drawn" if name == b"x-request-id" and re.fullmatch(rb"[0-9a-f]{16}", value) else value


def _apart(one: bytes, two: bytes) -> str:
    """The place where two texts begin to differ."""
    at = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    return f"{one[max(0, at - 40) : at + 60]!r} against {two[max(0, at - 40) : at + 60]!r}"
