"""The real service, called directly, and players' real clients: every answer is compared with the model's.

A `Device` is a home folder and the client over it. The wire between them can lose a request, lose an answer, or let
something else happen in the middle.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hkoji_server.app import Application
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import load as load_settings

from hkoji.client import Client, Home, Position
from hkoji.client.identity import create, load
from hkoji.client.kept_game import GameTime, TimeKeeper
from hkoji.client.transport import HttpAnswer, Transport
from hkoji.errors import ClockError, NetworkError
from hkoji.log.private_key import PrivateKey
from tests.lab.machine import naive_log as log
from tests.lab.machine.expected import Expected
from tests.lab.machine.naive_game import NaiveGame
from tests.lab.machine.naive_service import NaiveService
from tests.lab.machine.naive_time import BACK, JUMP, NaiveTime, NotTrustedError
from tests.support import service_in_process
from tests.support.commands import Commands
from tests.support.lent_routers import BorrowedRouters
from tests.support.service import UNLIMITED
from tests.support.service_in_process import Clock, Inside
from tests.support.time_by_hand import client_time, time_by_hand

URL = "http://127.0.0.1:9"
ORIGIN = "http://inside"
TOKEN_LIFETIME = 3600
CHALLENGE_LIFETIME = 60
OUTAGE_AFTER = 180
SLACK = 120
OFFER_LIFETIME = 10**9
PACE = 150
"""The seconds after which the service notes the time again."""
NAMES = ("alice", "bob", "carol")
ANSWERS: Counter[int] = Counter()
"""The number of compared answers in this process, by status."""


@dataclass
class Asked:
    """A request that has reached the service, and the required answer."""

    method: str
    path: str
    body: bytes
    expected: Expected

    @property
    def entry(self) -> dict[str, Any] | None:  # Any: JSON
        """The submission, if the request was one."""
        if self.method == "POST" and self.path.endswith("/entries"):
            found: dict[str, Any] = json.loads(json.loads(self.body)["entry"])
            return found
        return None


class World:
    """A service on a database in `folder`, the model beside it, and players with devices."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.drawn: list[bytes] = []
        self._draw = service_in_process.drawn("service")
        self.runner = asyncio.Runner()
        self._routers = BorrowedRouters()
        self._times = ExitStack()
        self._times.enter_context(client_time(self.time))
        self.wrong = 0
        """How many seconds the clock is off, which it will be set back by."""
        self._start()
        about = self.real.ask("GET", "/v1/service").json
        time = NaiveTime(OUTAGE_AFTER)
        self.model = NaiveService(about["key"], about["origin"], TOKEN_LIFETIME, CHALLENGE_LIFETIME, SLACK, time)
        self.checked: dict[str, int] = {}
        self.devices: list[Device] = []
        for name in NAMES:
            self._seat(name)
        self._seat("alice", "alice-2")

    def _start(self) -> None:
        settings = load_settings(
            data=self.folder / "data",
            log_level="error",
            token_lifetime=TOKEN_LIFETIME,
            challenge_lifetime=CHALLENGE_LIFETIME,
            slack=SLACK,
            outage_after=OUTAGE_AFTER,
            shortest_clock=1,
            offer_lifetime=OFFER_LIFETIME,
            cached_games=1,  # so that games are often read from the database again
            **UNLIMITED,
        )
        sources = ClockAndEntropy(self.clock, self._entropy, self.clock.elapsed)
        app = Application(settings, sources, address=ORIGIN)
        self._lifespan = app.router.lifespan_context(app)
        # The service freezes its objects when it starts, which is too slow for so many services.
        with patch("hkoji_server.app.gc"), self._routers.starting(), time_by_hand() as self.by_hand:
            self.runner.run(self._lifespan.__aenter__())
        self.real = Inside(app, self.runner, self.clock, settings.data)

    def _entropy(self, size: int) -> bytes:
        data: bytes = self._draw(size)
        self.drawn.append(data)
        return data

    def _seat(self, name: str, folder: str = "") -> None:
        home = Home(self.folder / (folder or name))
        create(home, name, None, sha256(name.encode()).digest())
        device = Device(self, name, home)
        self.devices.append(device)
        device.client.register(URL, origin=ORIGIN)

    def time(self) -> str:
        """The time in the form that entries use."""
        return self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")

    def restart(self) -> None:
        """Ends the service and starts it on the same database."""
        self.runner.run(self._lifespan.__aexit__(None, None, None))
        self._routers.give_back()
        self._start()
        self.model.time.restart()
        if self.wrong > -BACK:  # a new process cannot know it, so this is the time now
            self.wrong = 0

    def pass_time(self, seconds: int, *, absent: bool) -> None:
        """Time passes. If the service is `absent` it does nothing meanwhile, else it does what it does by itself."""
        while seconds > 0:
            step = seconds if absent else min(PACE, seconds)
            self.clock.pass_by(step)
            seconds -= step
            if not absent:
                self.beat()
        if not absent:
            self.keep()

    def pass_until(self, time: str, off: int) -> None:
        """Time passes until so many seconds after `time`, if that is to come within two days."""
        left = (datetime.fromisoformat(time) - self.clock()) // timedelta(seconds=1) + off
        if 0 < left <= 2 * 86_400:
            self.pass_time(left, absent=False)

    def set_clock(self, seconds: int) -> None:
        """Somebody sets the clock forward or back."""
        self.clock.jump(seconds)
        if abs(seconds) >= JUMP:
            self.wrong += seconds

    def set_right(self) -> None:
        """The clock is set right again."""
        self.clock.jump(-self.wrong)
        self.wrong = 0

    def beat(self) -> None:
        """The service notes the time."""
        self._alike(self.by_hand.time.beat(), self.model.note)

    def keep(self) -> None:
        """The service ends games whose time is over."""
        ended = [game for game in self.model.games if self.model.games[game].stage != "over"]
        self._alike(self.by_hand.keeper.look(), self.model.keep)
        for game in ended:
            if self.model.games[game].stage == "over":
                self.ask("GET", f"/v1/games/{game}/log")

    def _alike(self, real: Coroutine[Any, Any, object], naive: Callable[[], object]) -> None:  # Any: of a coroutine
        self._tell_time()
        done: object = "clock"
        with suppress(ClockError):
            done = self.runner.run(real)
        wanted: object = "clock"
        with suppress(NotTrustedError):
            wanted = naive()
        assert done == wanted, f"the service did {done} and not {wanted} by itself"

    def _tell_time(self) -> None:
        self.model.time.wall, self.model.time.elapsed = self.clock(), self.clock.elapsed()

    def close(self) -> None:
        with suppress(Exception):
            self.runner.run(self._lifespan.__aexit__(None, None, None))
            self._routers.give_back()
        self.runner.close()
        self._times.close()

    def ask(self, method: str, path: str, body: bytes = b"", token: str | None = None) -> tuple[HttpAnswer, Expected]:
        """Sends a request to service and model, and compares the answers."""
        self.drawn.clear()
        answer = self.real.ask(method, path, raw=body, token=token)
        ANSWERS[answer.status] += 1
        self._tell_time()
        expected = self.model.answer(method, path, body, token, self.clock(), self.drawn)
        try:
            self._compare(expected, answer.status, answer.headers, answer.body)
        except AssertionError as error:
            raise AssertionError(f"{method} {path}: {error}; it answered {answer}") from error
        return HttpAnswer(answer.status, answer.body), expected

    def _compare(self, expected: Expected, status: int, headers: dict[str, str], raw: bytes) -> None:
        assert status == expected.status, f"status {status}, not {expected.status} {expected.code}"
        if status >= 400:
            assert headers["content-type"] == "application/problem+json", "a problem is a problem document"
        if expected.etag:
            assert headers["etag"] == expected.etag, "the tag is the head"
            found: Any = {"lines": [json.loads(line) for line in raw.splitlines()]}
        else:
            found = json.loads(raw) if raw else {}
        if expected.signed_head:
            self._compare_head(found)
        for name, value in (expected.body or {}).items():
            shown = {"text": found[name]["text"]} if name == "view" else found[name]
            if name == "earlier":
                _compare_keys(shown, value)
            elif name in ("gifts", "annul"):
                assert sorted(map(str, shown)) == sorted(map(str, value)), f"{name} is {shown}, not {value}"
            else:
                assert shown == value, f"{name} is {shown}, not {value}"
        for name, value in (expected.shown or {}).items():
            assert found["state"][name] == value, f"state has {name} {found['state'][name]}, not {value}"
        if expected.legal is not None:
            assert len(found["legal"]) == len(expected.legal), "a move is listed twice or missing"
            assert set(found["legal"]) == expected.legal, "the legal moves"
        if expected.lines is not None:
            self._compare_lines(expected.lines, [found["line"]] if "line" in found else found["lines"])
        if "receipt" in found:
            assert found["receipt"] == found["lines"][0]["receipt"], "the receipt is that of the first line"

    def _compare_head(self, found: Any) -> None:  # Any: JSON
        """Checks a signed head, and remembers what it says of the entries to come."""
        said = json.loads(found["text"])
        game, at = self.model.games[said["game"]], said.pop("at")
        assert said == {"game": game.game, "head": game.head, "seq": game.seq, "v": 1}, "the last entry"
        assert log.signature_holds(self.model.key, "hkoji.head.v1", found["text"], found["sig"]), "the head's signature"
        before, now = datetime.fromisoformat(at) - timedelta(seconds=SLACK), self.clock()
        assert abs(before - now) < timedelta(seconds=SLACK + 2 * JUMP), f"the head says {at}, and it is {now}"
        game.said_until = max(game.said_until, before.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def _compare_lines(self, wanted: list[tuple[str, str]], lines: list[Any]) -> None:
        assert [line["entry"] for line in lines] == [text for text, _ in wanted], "the entries"
        assert [line["receipt"]["text"] for line in lines] == [receipt for _, receipt in wanted], "the receipts"
        for line in lines:
            self._check_signatures(line)

    def _check_signatures(self, line: Any) -> None:  # Any: JSON
        """Checks each line's signatures once; after that the line must stay the same."""
        entry = json.loads(line["entry"])
        made = (line["entry"], line["sig"], line["receipt"]["sig"])
        game = self.model.games[entry["game"]]
        place = f"{entry['game']} {entry['seq']}"
        if self.checked.get(place) != hash(made):
            assert place not in self.checked, "a line has changed"
            by_server = entry["by"] == "server"
            key = self.model.key if by_server else game.key_at(game.names.index(entry["by"]), entry["seq"])
            space = "hkoji.server.v1" if by_server else "hkoji.entry.v1"
            assert key is not None
            assert log.signature_holds(key, space, line["entry"], line["sig"]), "the entry's signature"
            text, sig = line["receipt"]["text"], line["receipt"]["sig"]
            assert log.signature_holds(self.model.key, "hkoji.receipt.v1", text, sig), "the receipt's signature"
            self.checked[place] = hash(made)


def _compare_keys(shown: Any, wanted: Any) -> None:  # Any: JSON
    """Compares earlier keys without their order within one second."""
    assert [each["until"] for each in shown] == sorted(each["until"] for each in wanted), "the order of earlier keys"
    for each in wanted:
        assert each in shown, "an earlier key"


@dataclass
class Device(Commands):
    """A home of player `name`, and the client over it."""

    world: World
    name: str
    home: Home
    trace: list[Asked] = field(default_factory=list)
    """The requests of the current operation."""
    lost: str = ""
    """`request` or `answer`, if this operation has lost one."""
    lost_path: str = ""
    """The path of the lost request."""
    waits: dict[str, bytes] = field(default_factory=dict)
    """For each game the submission without an answer, which must be sent next, byte for byte."""
    fault: tuple[str, int] | None = None
    """The part of the next operation that is lost, `request` or `answer`, and of which request."""
    bare: bool = False
    """Whether this operation sends an entry signed earlier, which it does not keep itself."""
    meanwhile: Callable[[], object] | None = None
    """Called between the signing of the next submission and its arrival."""
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._draw = service_in_process.drawn(str(self.home.path.name))
        self.reread()

    @property
    def key(self) -> PrivateKey:
        """The player's current key."""
        return PrivateKey.from_openssh(load(self.home).own.file.read_bytes())

    def key_in(self, game: NaiveGame) -> PrivateKey:
        """The player's key in a game, or the one it would have."""
        seat = game.seat_of(self.name)
        own = load(self.home)
        named = next((each for each in own.keys if seat is not None and each.public.text == game.keys[seat]), own.own)
        return PrivateKey.from_openssh(named.file.read_bytes())

    def reread(self) -> None:
        """Starts a new client on the same files, as a new process would."""
        self._client = Client(self.home, entropy=self._draw, connect=lambda url: Wire(url, self), say=self.said.append)

    @property
    def client(self) -> Client:
        """The client of this device."""
        return self._client

    def begin(self) -> None:
        """Begins an operation."""
        self.trace, self.lost = [], ""

    def about_time(self, game: str, act: Callable[[TimeKeeper], GameTime]) -> GameTime:
        """`hkoji give` and `hkoji annul`."""
        with self.client.game(game) as held:
            held.current()
            return act(held.time)

    def look(self, game: str) -> tuple[Position, GameTime]:
        """`hkoji clock`."""
        with self.client.game(game) as held:
            return held.look()

    def kept_texts(self, game: str) -> list[str]:
        """The entries of the log in the home's files."""
        file = self.home.game_folder(game) / "log.jsonl"
        if not file.exists():
            return []
        return [json.loads(line)["entry"] for line in file.read_text().splitlines()]


class Wire(Transport):
    """The transport of a client's requests."""

    def __init__(self, url: str, device: Device) -> None:
        super().__init__(url)
        self._device = device

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        """A request to the service and to the model."""
        device, sent = self._device, body or b""
        game = path.split("/")[3] if path.endswith("/entries") else None
        kept = game is not None and not device.bare
        if game is not None and kept:
            outbox = device.home.game_folder(game) / "outbox.signed"
            assert outbox.read_bytes().endswith(b"\n" + sent + b"\n") or outbox.read_bytes() == sent + b"\n", (
                "what is sent is on disk before"
            )
            if game in device.waits:
                assert device.waits[game] == sent, "a retry sends the stored bytes"
            if device.meanwhile is not None:
                happens, device.meanwhile = device.meanwhile, None
                happens()
        fault = device.fault
        if fault is not None:
            device.fault = (fault[0], fault[1] - 1) if fault[1] else None
            if fault[1] == 0:
                device.lost, device.lost_path = fault[0], path
                if game is not None and kept:
                    assert outbox.read_bytes().splitlines()[-1] == sent, "an entry without an answer is kept"
                    device.waits[game] = sent
                if fault[0] == "answer":
                    _, expected = device.world.ask(method, path, sent, token)
                    device.trace.append(Asked(method, path, sent, expected))
                raise NetworkError(self.url, "the wire is cut")
        if game is not None and kept:
            device.waits.pop(game, None)
        answer, expected = device.world.ask(method, path, sent, token)
        device.trace.append(Asked(method, path, sent, expected))
        if game is not None and kept and expected.code == "clock":
            device.waits[game] = sent  # it is sent again when the clock is right
        return answer
