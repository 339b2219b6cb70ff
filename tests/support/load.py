"""Players who keep a service busy and remember all its answers, and the pipelined connections of a load generator.

A client library costs more than the service's own work on a request, so it would be what is measured.

A pair does one thing at a time and never forgets what it has signed: when no answer comes, or one that says "not now",
it sends the same bytes again.
"""

from __future__ import annotations

import asyncio
import hashlib
import http.client
import json
import random
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, UNTIMED, Agreement, TimeControl
from hkoji.game.commitments import entropy_commit
from hkoji.game.replay import replay_own
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.line import Line, parse_log
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_registration, parse_login, parse_view
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.ledger import Fact, Ledger, lines_told, openings_told
from tests.support.service import Answer, Asked, Player, offer_of


class Reply(NamedTuple):
    """An answer of the service."""

    status: int
    body: bytes


class Pipe(asyncio.Protocol):
    """One connection. Answers come in the order of the requests; those cut off raise `ConnectionError`."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[Reply]] = deque()
        self._data = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transport does not inherit from asyncio's

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the service has gone away"))

    def ask(self, request: bytes) -> asyncio.Future[Reply]:
        """Sends bytes at once. Returns a future of the answer."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self._transport is None:
            future.set_exception(ConnectionResetError("the service has gone away"))
            return future
        self._waiting.append(future)
        self._transport.write(request)
        return future

    def data_received(self, data: bytes) -> None:
        self._data += data
        while self._waiting and (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            place = head.find(b"\r\ncontent-length:")
            assert place >= 0, head
            length = int(head[place + 17 :].split(b"\r\n", 1)[0])
            if len(self._data) < end + 4 + length:
                return
            body = self._data[end + 4 : end + 4 + length]
            self._data = self._data[end + 4 + length :]
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(Reply(int(head[9:12]), body))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def connect(port: int) -> Pipe:
    """A connection to a loopback port."""
    _, pipe = await asyncio.get_running_loop().create_connection(Pipe, "127.0.0.1", port)
    return pipe


def posted(path: str, body: bytes, token: str = "") -> bytes:
    """A POST request with JSON."""
    login = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{login}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def got(path: str, token: str = "") -> bytes:
    """A GET request."""
    login = f"Authorization: Bearer {token}\r\n" if token else ""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{login}\r\n".encode()


AWAY: Final = (OSError, http.client.HTTPException)
"""The errors that a client meets when the service goes away."""


_GIVING: Final = 0.3


class NotNowError(Exception):
    """The service has answered that it cannot now: nothing has happened, and the same request may be sent again."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(f"{answer.status} {answer.body[:300]!r}")


class WrongError(Exception):
    """The service has given an answer that it must not give."""


class Wire:
    """A persistent connection to the service on a loopback port, which may change. For one thread at a time."""

    def __init__(self, port: Callable[[], int]) -> None:
        self._port = port
        self._connection: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        """One request. Raises one of `AWAY`."""
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        sent = raw if raw is not None else json.dumps(body) if body else None
        if self._connection is None or self._connection.port != self._port():
            self.close()
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port(), timeout=120)
        try:
            self._connection.request(method, path, sent, headers)
            response = self._connection.getresponse()
            found = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except BaseException:
            self.close()
            raise
        if found.headers.get("connection") == "close":
            self.close()
        return found

    def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass
class Pair:
    """Two players who play one game after another. `step` does the next thing; all randomness comes from `rng`."""

    number: int
    asked: Asked
    ledger: Ledger
    rng: random.Random
    longest: int = 40
    """The number of entries after which a player resigns."""
    game: str | None = None
    games: list[str] = field(default_factory=list)
    pending: Submission | None = None
    answers: list[tuple[Submission, Answer]] = field(default_factory=list)
    retried: int = 0
    accepted: int = 0
    given: int = 0
    """How many gifts of time were acknowledged."""

    @property
    def timed(self) -> bool:
        """Whether its games have a clock: those of every other pair."""
        return self.number % 2 == 1

    def __post_init__(self) -> None:
        self.players = tuple(
            Player(
                self.asked,
                f"{side}-{self.number}",
                PrivateKey.from_seed(self.rng.randbytes(32)),
                self.rng.randbytes(32).hex(),
            )
            for side in ("host", "guest")
        )
        self._statements: dict[str, dict[str, str]] = {}
        self._registered: set[str] = set()
        self._old = False

    def step(self) -> None:
        """Does the next thing. Raises one of `AWAY`, `NotNowError`, `WrongError`."""
        for player in self.players:
            if player.name not in self._registered:
                self._register(player)
                return
            if not player.token:
                self._login(player)
                return
        if self.pending is None:
            self.pending = self._next()
            self._old = False
            if self.pending is not None and self.timed and self.rng.random() < _GIVING:
                self._give(self.pending)
        if self.pending is not None:
            self._send(self.pending)

    def _send(self, submission: Submission) -> None:
        self.ledger.sending(submission.entry.text)
        again = self._old
        self._old = True  # from here on the request may have arrived
        answer = self._answered(
            self.asked.ask("POST", f"/v1/games/{submission.entry.game}/entries", submission.to_json()),
            (200, 201) if again else (201,),
        )
        self.retried += again
        self.accepted += 1
        told = answer.json["lines"]
        since = int(answer.headers.get("x-position", 0))
        game = submission.entry.game
        self.ledger.add(lines_told(told, since))
        self.ledger.add(openings_told(game, [each.to_json() for each in submission.opening], since))
        self.pending = None
        self.answers.append((submission, answer))
        if again or self.rng.random() < 0.05:
            self.repeat(submission, answer)
        if "end" in {json.loads(line["entry"])["kind"] for line in told}:
            self.game = None

    def _give(self, submission: Submission) -> None:
        """The opponent of who is about to send a `seed` or `move` gives time for it."""
        entry = submission.entry
        if entry.kind not in ("seed", "move"):
            return
        giver = next(player for player in self.players if player.name != entry.by)
        seconds = self.rng.randrange(1, DAY)
        answer = self._answered(giver.give(entry.game, entry.prev, seconds), (200, 201))
        since = int(answer.headers.get("x-position", 0))
        self.ledger.add([Fact("statement", (entry.game, entry.prev, "give", giver.name), (seconds,), since)])
        self.given += 1

    def repeat(self, submission: Submission, first: Answer) -> None:
        """Checks that the same entry sent again brings the same receipt, to the byte."""
        path = f"/v1/games/{submission.entry.game}/entries"
        answer = self._answered(self.asked.ask("POST", path, submission.to_json()), (200,))
        if answer.body != first.body:
            raise WrongError(f"another answer to entry {submission.entry.seq} of {submission.entry.game}")

    def _next(self) -> Submission | None:
        """The next entry to send. None if the game has just been offered."""
        host, guest = self.players
        if self.game is None:
            ruleset: Ruleset = GeishasRoad() if self.number % 4 == 3 else Hanamikoji()
            agreement = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY)) if self.timed else UNTIMED
            asked = offer_of(ruleset, agreement)
            offer = self._answered(self.asked.ask("POST", "/v1/offers", asked, host.token), (201,))
            since = int(offer.headers.get("x-position", 0))
            self.ledger.add(lines_told([offer.json["line"]], since))
            self.game = str(offer.json["game"])
            self.ledger.add([Fact("secret", (self.game,), (host.name,), since)])
            self.games.append(self.game)
        lines = self.lines(self.game)
        kinds = [line.entry.kind for line in lines]
        last = lines[-1].entry
        head = (last.seq, last.head)
        if kinds[-1] == "end":  # an entry that was not answered has ended it
            self.game = None
            return None
        if "open" not in kinds:
            opened = entry_kinds.Open(entropy_commit(self.game, 0, host.entropy), host.key.public, None)
            return host.entry(self.game, head, opened)
        if "join" not in kinds:
            joined = entry_kinds.Join(entropy_commit(self.game, 1, guest.entropy), guest.key.public)
            return guest.entry(self.game, head, joined)
        if (seeds := kinds.count("seed")) < 2:
            seed_of = guest if seeds == 0 else host
            return seed_of.entry(self.game, head, entry_kinds.Seed(seed_of.entropy))
        return self._decide(self.game, lines)

    def _decide(self, game: str, lines: tuple[Line, ...]) -> Submission:
        last = lines[-1].entry
        if last.seq >= self.longest:
            return self.rng.choice(self.players).entry(game, (last.seq, last.head), entry_kinds.Resign())
        for player in self.players if self.rng.random() < 0.5 else self.players[::-1]:
            answer = self._answered(self.asked.ask("GET", f"/v1/games/{game}/view", token=player.token), (200,))
            view = parse_view(answer.json["view"]["text"])
            openings = player.openings.get(game, [])
            own = replay_own(lines, view.seat, view, openings)
            if own.course is None:
                raise WrongError(f"the view of {game} does not go with its log")
            if own.course.actor == view.seat:
                return player.make_move(own.course, self.rng.choice(own.course.state.legal_actions()))
        raise WrongError(f"nobody is to move in {game}")

    def lines(self, game: str) -> tuple[Line, ...]:
        """The log as it is now."""
        answer = self._answered(self.asked.ask("GET", f"/v1/games/{game}/log"), (200,))
        shown = [json.loads(line) for line in answer.body.splitlines()]
        self.ledger.add(lines_told(shown, int(answer.headers.get("x-position", 0))))
        return parse_log(answer.body)

    def _register(self, player: Player) -> None:
        origin = self._answered(self.asked.ask("GET", "/v1/service"), (200,)).json["origin"]
        if player.name not in self._statements:
            statement = make_registration(
                at="2026-11-20T12:00:00Z", key=player.key.public, name=player.name, origin=origin
            )
            sig = player.signed(statement.text, sshsig.REGISTER)
            self._statements[player.name] = {"text": statement.text, "sig": sig}
        signed = self._statements[player.name]
        answer = self._answered(self.asked.ask("POST", "/v1/players", signed), (200, 201))
        since = int(answer.headers.get("x-position", 0))
        self.ledger.add([Fact("player", (player.name,), (signed["text"], signed["sig"]), since)])
        self._registered.add(player.name)

    def _login(self, player: Player) -> None:
        answer = self._answered(self.asked.ask("POST", "/v1/login/challenge"), (201,))
        text = answer.json["text"]
        nonce = hashlib.sha256(parse_login(text).nonce.encode()).hexdigest()
        sent = {"name": player.name, "text": text, "sig": player.signed(text, sshsig.LOGIN)}
        answer = self._answered(self.asked.ask("POST", "/v1/login", sent), (200,))
        since = int(answer.headers.get("x-position", 0))
        token = answer.json["token"]
        digest = hashlib.sha256(token.encode()).hexdigest()
        self.ledger.add(
            [Fact("token", (digest,), (player.name,), since), Fact("challenge", (nonce,), (), since, False)]
        )
        player.token = token

    def _answered(self, answer: Answer, wanted: Iterable[int]) -> Answer:
        if answer.status in wanted:
            return answer
        if answer.status >= 500:
            raise NotNowError(answer)
        raise WrongError(f"{answer.status} {answer.body[:300]!r}")


def busy(
    pairs: Iterable[Pair], stop: Callable[[Pair], bool], failed: Callable[[Pair, Exception], None]
) -> list[threading.Thread]:
    """Starts a thread for each pair, which plays until `stop` or an error."""

    def play(pair: Pair) -> None:
        try:
            while not stop(pair):
                pair.step()
        except Exception as error:
            failed(pair, error)

    threads = [threading.Thread(target=play, args=(pair,), daemon=True) for pair in pairs]
    for thread in threads:
        thread.start()
    return threads
