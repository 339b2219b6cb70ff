"""A game from registration to audit in which one chosen call fails: of database, disk, system, connection or clock.

The service is the real application and store, in this process. Requests come one after another, so that the same calls
are made in the same order on every run, and each can be made to fail in its turn.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol
from unittest.mock import patch

from hkoji_server import app as app_module
from hkoji_server.app import Application
from hkoji_server.service.notices.delivery import NoticeDelivery
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime, beat_at_intervals
from hkoji_server.settings import Settings
from pydantic import TypeAdapter

from hkoji.audit.log_audit import audit
from hkoji.errors import StorageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.game.commitments import entropy_commit
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.wire import Problem
from tests.lab.faults.fault import CLOCKS_SET, BrokenError, Fault
from tests.lab.faults.sqlite import OnSqlite
from tests.support.ledger import Dump, Fact, Ledger, half_done, lines_told, lost, openings_told
from tests.support.lent_routers import BorrowedRouters
from tests.support.service import Answer, Player, offer_of
from tests.support.service_in_process import drawn, http_scope

_TRIES: Final = 4
_AGREEMENT: Final = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY), rated=True)
_LOGINS: Final = 12  # with a clock that jumps most challenges and tokens have expired


class DroppedError(Exception):
    """The error that a client gets from a broken connection."""


class Kept(Protocol):
    """The database under the service."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its own calls; their failure is reported as a failure of storage."""

    @property
    def settings(self) -> Settings:
        """The settings of a service on it."""

    @property
    def clock(self) -> Callable[[], datetime] | None:
        """The clock of the service, if the database has one that must agree with it."""

    def watched(self, fault: Fault) -> AbstractContextManager[None]:
        """Lets `fault` choose the call that fails."""

    async def settle(self) -> None:
        """Returns when all work that a request began has ended, so that calls are made in the same order each time."""

    def dumped(self) -> Dump | None:
        """All rows of all tables; None before there are tables."""


async def _deliver_nothing(_: NoticeDelivery) -> None:
    """No notices are sent: when the sender looks for them in a run depends on the machine. Nobody has a channel."""


class Scenario:
    """The game. `complaints` are the faults found; `verdicts` are the service's decisions."""

    def __init__(self, kept: Kept, fault: Fault) -> None:
        self.kept = kept
        self.fault = fault
        self.complaints: list[str] = []
        self.verdicts: list[tuple[str, int]] = []
        self.failures = 0
        self.credited_outages = 0
        """Entries of the service that a game has only because a clock that was set kept the service from noting it."""
        self._renewed: dict[str, str] = {}
        self.ledger = Ledger()
        self.entropy = drawn("scenario")
        self.players = tuple(
            Player(self, name, PrivateKey.from_seed(bytes([number]) * 32), f"{number:02x}" * 32)
            for number, name in enumerate(("alice", "bob"), 1)
        )
        self._runner = asyncio.Runner()
        self._routers = BorrowedRouters()
        self._app: Any = None  # Any: ASGI
        self._lifespan: Any = None

    def run(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(self._runner)
            # Several services run in this process, one after another.
            stack.enter_context(patch("gc.freeze"))
            stack.enter_context(patch("gc.collect"))
            stack.enter_context(self.kept.watched(self.fault))
            stack.enter_context(patch.object(app_module, "beat_at_intervals", self._beat))
            stack.enter_context(patch.object(app_module, "deliver_at_intervals", _deliver_nothing))
            self.start()
            try:
                self._play()
            except (AssertionError, KeyError, DroppedError) as error:
                self.complaints.append(f"the game does not go on: {type(error).__name__} {error}"[:300])
            finally:
                self.stop()
        with self._quiet():
            self._check()

    # --- the service ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the service, and tries again after a failure, at most four times."""
        self.fault.starting = True
        for _ in range(_TRIES):
            app = Application(
                self.kept.settings,
                ClockAndEntropy(self.fault.clock, self.entropy, self.fault.elapsed),
                address="http://inside",
            )
            lifespan = app.router.lifespan_context(app)
            self._beaten = asyncio.Event()
            try:
                with self._routers.starting():
                    self._runner.run(lifespan.__aenter__())
            except StorageError:
                self._failed()
            except Exception as error:
                self._failed()
                self.complaints.append(f"the start fails with {type(error).__name__}: {error}")
            else:
                self._app, self._lifespan = app, lifespan
                self._runner.run(self._beaten.wait())  # so that the first request does not come in the midst of it
                self.fault.starting = False
                return
        raise AssertionError("it does not start")

    async def _beat(self, time: ServiceTime, outage_after: int) -> None:
        """The service's own beat, which tells when it has noted the time, or has failed to."""
        beaten = self._beaten

        async def pause(seconds: float) -> None:
            beaten.set()
            await asyncio.sleep(seconds)

        try:
            await beat_at_intervals(time, outage_after, pause=pause)
        finally:
            beaten.set()

    def stop(self) -> None:
        """Stops the service. An exception during the stop is a complaint."""
        try:
            self._runner.run(self._lifespan.__aexit__(None, None, None))
        except Exception as error:
            self._failed()
            self.complaints.append(f"the stop fails with {type(error).__name__}: {error}")
        self._routers.give_back()

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        """Sends a request, and again if it fails: the second time it must succeed."""
        failed = expired = 0
        while failed < _TRIES and expired < _LOGINS:
            if token and token in self._renewed:
                token = self._renewed[token]
            try:
                answer = self._runner.run(self._answer(method, path, body, token))
            except DroppedError:
                answer = None
            if answer is not None and answer.status == 401 and token:
                self._log_in_again(token)
                expired += 1
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
        sent = json.dumps(body).encode() if body else b""
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(sent)).encode())]
        if token:
            headers.append((b"authorization", f"Bearer {token}".encode()))
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
            await self._app(http_scope(method, path, headers), receive, send)
        except Exception as error:
            # The service logs the error and goes on; the client keeps the bytes that it got.
            if not broken and not isinstance(error, BrokenError):
                self.complaints.append(f"{method} {path} raised {type(error).__name__}: {error}")
        await self.kept.settle()
        if broken or not said:
            raise DroppedError(path)
        found = {name.decode().lower(): value.decode() for name, value in said[0]["headers"]}
        return Answer(said[0]["status"], found, b"".join(part.get("body", b"") for part in said[1:]))

    def _failed(self, answer: Answer | None = None) -> None:
        """Checks what must be true after a failure: it is reported clearly, and no transaction is incomplete."""
        self.failures += 1
        self.fault.heal()
        if not self.fault.hit:
            self.complaints.append(f"a failure without a fault: {answer}")
        if answer is not None:
            document = answer.json
            TypeAdapter(Problem).validate_python(document, strict=True, extra="forbid")
            if self.fault.kind in self.kept.kinds:
                expected = (503, "storage")
            else:
                expected = (503, "clock") if self.fault.kind in CLOCKS_SET else (500, "internal")
            if (answer.status, document["code"]) != expected or not document.get("hint"):
                self.complaints.append(f"the failure is reported as {answer.status} {document}")
        with self._quiet():
            self._check()

    def _check(self) -> None:
        try:
            dump = self.kept.dumped()
        except Exception as error:
            self.complaints.append(f"the database cannot be read: {error}")
            return
        if dump is None:
            if self.ledger.facts:
                self.complaints.append("the tables are gone")
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
        self._send(alice, game, entry_kinds.Open(entropy_commit(game, 0, alice.entropy), alice.key.public, None))
        self._send(bob, game, entry_kinds.Join(entropy_commit(game, 1, bob.entropy), bob.key.public))
        self._send(bob, game, entry_kinds.Seed(bob.entropy))
        self._send(alice, game, entry_kinds.Seed(alice.entropy))
        for kind in "1", "2", "3", "", "4":
            self._move(game, kind)
        self.stop()
        self.start()
        self._move(game, "")
        self._move(game, "1")
        self._send(alice, game, entry_kinds.Resign())
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
        self.credited_outages = log.count(b'\\"gift\\":null')
        assert log.count(b'\\"kind\\":\\"credit\\"') - self.credited_outages == 2, log
        times = [json.loads(json.loads(line)["receipt"]["text"])["at"] for line in log.splitlines()]
        assert times == sorted(times), times
        assert self.ask("POST", "/v1/logout", token=bob.token).status == 204

    def _log_in(self, player: Player) -> None:
        for _ in range(_LOGINS):
            try:
                player.login() if player.token == "again" else player.register()
            except KeyError:  # the challenge was used up by a lost answer, or has expired
                player.token = "again"
            else:
                return
        raise AssertionError("no login")

    def _log_in_again(self, token: str) -> None:
        """A new token in place of one that has expired, or was dropped by a logout that was not answered."""
        player = next(player for player in self.players if player.token == token)
        player.token = "again"
        self._log_in(player)
        self._renewed[token] = player.token

    def _offer(self, player: Player) -> str:
        answer = self.ask("POST", "/v1/offers", offer_of(agreement=_AGREEMENT), player.token)
        assert answer.status == 201, answer
        self.ledger.add(lines_told([answer.json["line"]]))
        return str(answer.json["game"])

    def _send(self, player: Player, game: str, body: entry_kinds.EntryBody) -> None:
        submission = player.entry(game, player.head(game), body)
        self._accepted(player, submission)

    def _give(self, player: Player, game: str, head: str) -> None:
        """Gives time twice, for the same entry; the second time it is there already."""
        wanted: tuple[int, ...] = (201, 200)
        for _ in range(2):
            answer = player.give(game, head, 3600)
            assert answer.status in wanted, answer
            self.ledger.add([Fact("statement", (game, head, "give", player.name), (3600,))])
            wanted = (200,)

    def _accepted(self, player: Player, submission: Any) -> None:  # Any: a Submission
        self.ledger.sending(submission.entry.text)
        first = player.send(submission)
        assert first.status in (200, 201), first
        again = player.send(submission)
        assert (again.status, again.body) == (200, first.body), again

    def _move(self, game: str, kind: str) -> None:
        """Makes the first legal move of a kind, or of any; then one that comes too late and is refused."""
        for player in self.players:
            if self.ask("GET", f"/v1/games/{game}/view", token=player.token).json["legal"]:
                course = player.course(game)
                if kind in ("2", "3"):
                    self._give(next(each for each in self.players if each is not player), game, course.head)
                legal = course.state.legal_actions()
                chosen = next((action for action in legal if action.startswith(kind)), legal[0])
                submission = player.make_move(course, chosen)
                self._accepted(player, submission)
                late = player.entry(game, (submission.entry.seq - 1, submission.entry.prev), entry_kinds.Resign())
                refused = player.send(late)
                assert (refused.status, refused.json["code"]) == (409, "conflict"), refused
                return
        raise AssertionError("nobody is to move")


def run_on(kept: Kept, kind: str = "", at: int = 0) -> Scenario:
    """The scenario, with the `at`th call of a kind failing."""
    random.seed(1)
    scenario = Scenario(kept, Fault(kind, at, begin=kept.clock))
    scenario.run()
    return scenario


def run_with(folder: Path, kind: str = "", at: int = 0) -> Scenario:
    """The same on SQLite in a new folder."""
    return run_on(OnSqlite(folder / "one" / "data"), kind, at)
