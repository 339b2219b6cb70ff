"""A game from the first registration to the audit, in which a chosen call fails: the database's, the disk's, the
system's, a connection's, the clock's.

The service is the real application and store, in this process; requests come one after another, so that the same
calls are made in the same order on every run, and each can be made to fail in its turn.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.app import create_app
from hkoji_server.routes.problems import Problem
from hkoji_server.service.ports import Ports
from hkoji_server.settings import Settings
from hkoji_server.store import sqlite as module

from hkoji.errors import StorageError
from hkoji.game import bodies
from hkoji.game.audit import audit
from hkoji.game.hidden import entropy_commit
from hkoji.log.keys import PrivateKey, parse_public_key
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.driver_calls import driver_watched
from tests.support.inside import drawn
from tests.support.ledger import Ledger, dumped, half_done, lines_told, lost, openings_told
from tests.support.service import Answer, Player
from tests.support.sqlite_files import BUSY, CANTOPEN, FULL, IOERR, Call, watched

KINDS: Final = (
    "driver",  # a call of the database driver raises instead of happening
    "driver, after",  # it has happened, and raises
    "file",  # a call of SQLite to the system fails
    "disk full",  # from a write on there is no space, until somebody has been told
    "system",  # the store's own calls about its folder fail
    "send",  # the connection breaks while the answer goes out
    "receive",  # or while the request comes in
    "clock fails",
    "clock back",  # by a day, and stays there
    "clock ahead",  # by two days
    "clock jumps",  # back and forth at every call from that one on
)
_DATABASE: Final = ("driver", "driver, after", "file", "disk full", "system")
_DAY: Final = 24 * 3600
_TRIES: Final = 4
_LOGINS: Final = 12  # with a clock that jumps most challenges have expired


class BrokenError(Exception):
    """A connection that breaks, or a clock."""


class DroppedError(Exception):
    """What a client sees of a connection that has broken."""


@dataclass
class Fault:
    """Makes the `at`th call of its kind fail; 0 fails none, and counts them. `hit` says which call it was."""

    kind: str = ""
    at: int = 0
    count: int = 0
    hit: str = ""
    paused: bool = False
    calls: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)
    """The calls of its kind, in order."""
    _full: bool = False

    def due(self, kind: str, shown: str) -> bool:
        """Whether this call fails."""
        if self.paused:
            return False
        self.calls[kind] += 1
        if kind != self.kind:
            return False
        self.count += 1
        self.names.append(shown)
        if self.count == self.at:
            self.hit = shown
            return True
        return False

    def heal(self) -> None:
        """There is space again."""
        self._full = False

    # --- the database's driver ------------------------------------------------------------------------------------

    def before_call(self, what: str, sql: str) -> None:
        if self.due("driver", f"{what} {sql[:60]}"):
            raise sqlite3.OperationalError("disk I/O error")

    def after_call(self, what: str, sql: str) -> None:
        if self.due("driver, after", f"{what} {sql[:60]}"):
            raise sqlite3.OperationalError("disk I/O error")

    # --- SQLite's calls to the system -----------------------------------------------------------------------------

    def before(self, call: Call) -> int:
        if call.what in ("close", "folder"):
            return 0  # their failures are passed over by SQLite
        codes = {"lock": BUSY, "open": CANTOPEN}
        if self.due("file", f"{call.what} {call.name}"):
            return codes.get(call.what, IOERR)
        if call.what == "write" and self.due("disk full", f"{call.what} {call.name}"):
            self._full = True
        return FULL if self._full and call.what == "write" and not self.paused else 0

    def after(self, call: Call) -> None:
        return

    # --- the clock ------------------------------------------------------------------------------------------------

    def clock(self) -> datetime:
        """The time now."""
        now = datetime(2026, 11, 20, 12, tzinfo=UTC) + timedelta(seconds=self.calls["clock"])
        self.calls["clock"] += not self.paused
        if self.due("clock fails", "clock"):
            raise BrokenError("the clock is broken")
        for kind in ("clock back", "clock ahead", "clock jumps"):
            self.due(kind, "clock")
        if not self.hit:
            return now
        if self.kind == "clock back":
            return now - timedelta(seconds=_DAY)
        if self.kind == "clock ahead":
            return now + timedelta(seconds=2 * _DAY)
        if self.kind == "clock jumps":
            return now + timedelta(seconds=random.choice((-_DAY, 0, 0, 0, 2 * _DAY)))
        return now


class _System:
    """Stands in for `os` in the store."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def __getattr__(self, name: str) -> Any:  # Any: whatever `os` has
        real = getattr(os, name)
        if name not in ("open", "fsync"):
            return real

        def call(*given: Any) -> Any:  # Any: the arguments of that function
            if self._fault.due("system", name):
                raise OSError(28, "No space left on device")
            return real(*given)

        return call


class Scenario:
    """The game. `complaints` are what was not as it must be; `verdicts` what the service has decided."""

    def __init__(self, data: Path, fault: Fault) -> None:
        self.data = data
        self.fault = fault
        self.complaints: list[str] = []
        self.verdicts: list[tuple[str, int]] = []
        self.failures = 0
        self._renewed: dict[str, str] = {}
        self.ledger = Ledger()
        self.entropy = drawn("scenario")
        self.players = tuple(
            Player(self, name, PrivateKey.from_seed(bytes([number]) * 32), f"{number:02x}" * 32)
            for number, name in enumerate(("alice", "bob"), 1)
        )
        self._runner = asyncio.Runner()
        self._app: Any = None  # Any: ASGI
        self._lifespan: Any = None

    @property
    def path(self) -> Path:
        return self.data / "hkoji.sqlite3"

    def run(self) -> None:
        """All of it."""
        with ExitStack() as stack:
            stack.enter_context(self._runner)
            stack.enter_context(patch("gc.freeze"))  # there are many services in this process, one after another
            stack.enter_context(watched(self.fault))
            stack.enter_context(driver_watched(self.fault))
            stack.enter_context(patch.object(module, "os", _System(self.fault)))
            self.start()
            try:
                self._play()
            except (AssertionError, KeyError, DroppedError) as error:
                self.complaints.append(f"the game does not go on: {type(error).__name__} {error}"[:300])
            finally:
                self.stop()
        with self._quiet():
            self._check(self.ledger)

    # --- the service ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts, a second time if the first fails."""
        for _ in range(_TRIES):
            app = create_app(
                Settings(data=self.data, log_level="error"),
                Ports(self.fault.clock, self.entropy),
                address="http://inside",
            )
            lifespan = app.router.lifespan_context(app)
            try:
                self._runner.run(lifespan.__aenter__())
            except StorageError:
                self._failed()
            except Exception as error:
                self._failed()
                self.complaints.append(f"the start fails with {type(error).__name__}: {error}")
            else:
                self._app, self._lifespan = app, lifespan
                return
        raise AssertionError("it does not start")

    def stop(self) -> None:
        """Stops. That something cannot be tidied away is no failure, since nothing depends on it."""
        try:
            self._runner.run(self._lifespan.__aexit__(None, None, None))
        except Exception as error:
            self._failed()
            self.complaints.append(f"the stop fails with {type(error).__name__}: {error}")

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        """One request, and if it fails the same again: by the second time it must go through."""
        failed = 0
        for _ in range(_TRIES):
            if token and token in self._renewed:
                token = self._renewed[token]
            try:
                answer = self._runner.run(self._answer(method, path, body, token))
            except DroppedError:
                answer = None
            if answer is not None and answer.status == 401 and token:
                self._log_in_again(token)
                continue
            if answer is not None and answer.status < 500:
                if failed > 1:
                    self.complaints.append(f"{method} {path} failed {failed} times")
                if method == "GET" or path.endswith("/entries"):
                    decided = 201 if method == "POST" and answer.status == 200 else answer.status  # it may be a retry
                    self.verdicts.append((f"{method} {re.sub('[0-9a-f]{6,}', 'game', path)}", decided))
                self._note(method, path, body, answer)
                return answer
            failed += 1
            self._failed(answer)
        raise DroppedError(f"{method} {path}")

    async def _answer(self, method: str, path: str, body: Any, token: str | None) -> Answer:  # Any: JSON
        address, _, query = path.partition("?")
        sent = json.dumps(body).encode() if body else b""
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(sent)).encode())]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": address,
            "raw_path": address.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8000),
        }
        given = iter([{"type": "http.request", "body": sent, "more_body": False}])
        said: list[Any] = []
        broken = False

        async def receive() -> Any:  # Any: an ASGI message
            nonlocal broken
            if self.fault.due("receive", "receive"):
                broken = True
            if broken:
                return {"type": "http.disconnect"}
            return next(given)

        async def send(message: Any) -> None:  # Any: an ASGI message
            nonlocal broken
            if self.fault.due("send", "send"):
                broken = True
            if broken:
                raise BrokenError("the connection is broken")
            said.append(message)

        try:
            await self._app(scope, receive, send)
        except Exception as error:
            # A service writes it to its log and goes on; what the client has got, it has got.
            if not broken and not isinstance(error, BrokenError):
                self.complaints.append(f"{method} {path} raised {type(error).__name__}: {error}")
        if broken or not said:
            raise DroppedError(path)
        found = {name.decode().lower(): value.decode() for name, value in said[0]["headers"]}
        return Answer(said[0]["status"], found, b"".join(part.get("body", b"") for part in said[1:]))

    def _failed(self, answer: Answer | None = None) -> None:
        """What must be true when something has failed: it is said clearly, and nothing is half done."""
        self.failures += 1
        self.fault.heal()
        if not self.fault.hit:
            self.complaints.append(f"a failure without a fault: {answer}")
        if answer is not None:
            document = answer.json
            Problem.model_validate(document)
            expected = (503, "storage") if self.fault.kind in _DATABASE else (500, "internal")
            if (answer.status, document["code"]) != expected or not document.get("hint"):
                self.complaints.append(f"the failure is told as {answer.status} {document}")
        with self._quiet():
            if self.path.exists():
                self._check(None)

    def _check(self, ledger: Ledger | None) -> None:
        try:
            dump = dumped(self.path)
        except sqlite3.OperationalError as error:
            if ledger is not None or "no such table" not in str(error):
                self.complaints.append(f"the database cannot be read: {error}")
            return
        self.complaints += half_done(dump, self.ledger.sent.__contains__)
        self.complaints += lost(dump, self.ledger.facts)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        self.fault.paused = True
        try:
            yield
        finally:
            self.fault.paused = False

    def _note(self, method: str, path: str, body: Any, answer: Answer) -> None:  # Any: JSON
        if method == "POST" and path.endswith("/entries") and answer.status in (200, 201):
            entry = json.loads(body["entry"])
            self.ledger.add(lines_told(answer.json["lines"]))
            self.ledger.add(openings_told(entry["game"], body.get("opening", ())))

    # --- the players ----------------------------------------------------------------------------------------------

    def _play(self) -> None:
        alice, bob = self.players
        for player in self.players:
            self._log_in(player)
        game = self._offer(alice)
        self._send(alice, game, bodies.Open(entropy_commit(game, 0, alice.entropy), alice.key.public, None))
        self._send(bob, game, bodies.Join(entropy_commit(game, 1, bob.entropy), bob.key.public))
        self._send(bob, game, bodies.Seed(bob.entropy))
        self._send(alice, game, bodies.Seed(alice.entropy))
        for kind in "1", "2", "3", "", "4":
            self._move(game, kind)
        self.stop()
        self.start()
        self._move(game, "")
        self._move(game, "1")
        self._send(alice, game, bodies.Resign())
        for path in (f"/v1/games/{game}", "/v1/games", f"/v1/games?prefix={game[:6]}"):
            answer = self.ask("GET", path)
            shown = answer.json["games"][0] if "games" in answer.json else answer.json
            assert (shown["status"], shown["result"]["winner"]) == ("finished", 1), answer
        mine = self.ask("GET", "/v1/me/games", token=bob.token)
        assert [each["game"] for each in mine.json["games"]] == [game]
        log = self.ask("GET", f"/v1/games/{game}/log").body
        key = parse_public_key(self.ask("GET", "/v1/service").json["key"])
        result = audit(log, {"server": key, "alice": alice.key.public, "bob": bob.key.public})
        assert result.ok, result.findings
        assert result.finished
        times = [json.loads(json.loads(line)["receipt"]["text"])["at"] for line in log.splitlines()]
        assert times == sorted(times), times
        assert self.ask("POST", "/v1/logout", token=bob.token).status == 204

    def _log_in(self, player: Player) -> None:
        for _ in range(_LOGINS):
            try:
                player.login() if player.token == "again" else player.register()
            except KeyError:  # the challenge was used up in vain, or has expired
                player.token = "again"
            else:
                return
        raise AssertionError("no login")

    def _log_in_again(self, token: str) -> None:
        """A new token for whoever had this one: it has expired, or was dropped by a logout that was not answered."""
        player = next(player for player in self.players if player.token == token)
        player.token = "again"
        self._log_in(player)
        self._renewed[token] = player.token

    def _offer(self, player: Player) -> str:
        asked = {"ruleset": Hanamikoji().to_json()}
        answer = self.ask("POST", "/v1/offers", asked, player.token)
        assert answer.status == 201, answer
        self.ledger.add(lines_told([answer.json["line"]]))
        return str(answer.json["game"])

    def _send(self, player: Player, game: str, body: bodies.Body) -> None:
        submission = player.entry(game, player.head(game), body)
        self._accepted(player, submission)

    def _accepted(self, player: Player, submission: Any) -> None:  # Any: a Submission
        self.ledger.sending(submission.entry.text)
        first = player.send(submission)
        assert first.status in (200, 201), first
        again = player.send(submission)
        assert (again.status, again.body) == (200, first.body), again

    def _move(self, game: str, kind: str) -> None:
        """The first legal move of a kind, or of any; and one that comes too late is refused."""
        for player in self.players:
            if self.ask("GET", f"/v1/games/{game}/view", token=player.token).json["legal"]:
                course = player.course(game)
                legal = course.state.legal_actions()
                chosen = next((action for action in legal if action.startswith(kind)), legal[0])
                submission = player.make_move(course, chosen)
                self._accepted(player, submission)
                late = player.entry(game, (submission.entry.seq - 1, submission.entry.prev), bodies.Resign())
                refused = player.send(late)
                assert (refused.status, refused.json["code"]) == (409, "conflict"), refused
                return
        raise AssertionError("nobody is to move")


def run_with(folder: Path, kind: str = "", at: int = 0) -> Scenario:
    """The scenario in a new folder, with the `at`th call of a kind failing."""
    random.seed(1)
    scenario = Scenario(folder / "one" / "data", Fault(kind, at))
    scenario.run()
    return scenario
