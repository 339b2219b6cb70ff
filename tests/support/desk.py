"""A service without sockets: the referee with lists behind the HTTP contract, and a transport that breaks on demand.

`Desk` is honest. What a dishonest or a broken one does is done to its answers (`tamper`) or to its lists.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hkoji import errors
from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.client.transport import Answer, Transport
from hkoji.game import host
from hkoji.game.course import Stage
from hkoji.game.host import Hosted
from hkoji.game.submission import parse_submission
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.keys import PrivateKey, parse_public_key
from hkoji.log.line import Line, format_log, line_to_json
from hkoji.log.statement import make_login, parse_registration
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.registry import parse_ruleset

URL = "http://127.0.0.1:9"
AT = "2026-11-20T12:00:00Z"

_STATUS: dict[type[errors.HkojiError], int] = {
    errors.ConflictError: 409,
    errors.NotYourTurnError: 409,
    errors.GameOverError: 409,
    errors.ExistsError: 409,
    errors.IllegalError: 422,
    errors.ForbiddenError: 403,
    errors.SignatureError: 403,
    errors.LoginError: 401,
    errors.NotFoundError: 404,
    errors.InvalidError: 400,
    errors.CommitmentError: 400,
}


@dataclass
class Game:
    """A game: its referee's state, its lines, and for each accepted entry the lines that it brought."""

    hosted: Hosted
    lines: list[Line]
    owner: str
    brought: dict[str, tuple[Line, ...]] = field(default_factory=dict)
    receipts: int = 0


class Desk:
    """The service. Everything random comes from one seed."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.key = PrivateKey.from_seed(self.random.randbytes(32))
        self.origin = URL
        self.players: dict[str, str] = {}
        self.nonces: set[str] = set()
        self.tokens: dict[str, str] = {}
        self.games: dict[str, Game] = {}
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[bytes | None] = []
        self.tamper: Callable[[str, str, Answer], Answer] = lambda _method, _path, answer: answer
        self.before: Callable[[str, str], None] = lambda _method, _path: None
        self.after: Callable[[str, str], None] = lambda _method, _path: None

    def answer(self, method: str, path: str, body: bytes | None, token: str | None) -> Answer:
        """What the service answers."""
        self.before(method, path)
        self.requests.append((method, path))
        self.bodies.append(body)
        try:
            status, value = self._answer(method, urlsplit(path).path, parse_qs(urlsplit(path).query), body, token)
        except errors.HkojiError as error:
            kind = next(kind for kind in type(error).__mro__ if kind in _STATUS)
            value = {"code": error.code, "detail": str(error), "hint": error.hint, "status": _STATUS[kind]}
            value |= {name: getattr(error, name) for name in ("game", "seq", "head", "actor") if hasattr(error, name)}
            status = _STATUS[kind]
        text = value if isinstance(value, str) else json.dumps(value)
        answer = self.tamper(method, path, Answer(status, text.encode()))
        self.after(method, path)
        return answer

    def _answer(
        self, method: str, path: str, query: dict[str, list[str]], body: bytes | None, token: str | None
    ) -> tuple[int, Any]:  # Any: JSON or text
        match (method, *path.strip("/").split("/")[1:]):
            case ("GET", "service"):
                return 200, {"name": "hkoji", "key": self.key.public.text, "origin": self.origin}
            case ("POST", "players"):
                return self._register(json.loads(body or b""))
            case ("POST", "login", "challenge"):
                nonce = self.random.randbytes(32).hex()
                self.nonces.add(nonce)
                return 201, {"text": make_login(expires="2036-01-01T00:00:00Z", nonce=nonce, origin=self.origin).text}
            case ("POST", "login"):
                return self._login(json.loads(body or b""))
            case ("POST", "offers"):
                player = self._player(token)
                game, seed = self.random.randbytes(16).hex(), self.random.randbytes(32).hex()
                ruleset = parse_ruleset(json.loads(body or b"")["ruleset"])
                accepted = host.offer(game, ruleset, seed, signer=self.key, at=AT)
                self.games[game] = Game(accepted.hosted, list(accepted.lines), player)
                return 201, {"game": game, "line": line_to_json(accepted.lines[0])}
            case ("POST", "games", game, "entries"):
                return self._submit(self._game(game), body or b"")
            case ("GET", "games", game, "log"):
                after = int(query.get("after", ["-1"])[0])
                return 200, format_log(line for line in self._game(game).lines if line.entry.seq > after)
            case ("GET", "games", game, "view"):
                return 200, self.view(game, self._player(token), int(query.get("after", ["-1"])[0]))
            case ("GET", *me, "games"):
                return 200, {"games": self._list(query, self._player(token) if me else None), "next": None}
        raise errors.NotFoundError("address", path)

    def _register(self, value: dict[str, str]) -> tuple[int, Any]:
        statement = parse_registration(value["text"])
        sshsig.verify(
            decode_base64(value["sig"], "sig"), statement.key, sshsig.REGISTER, statement.message, statement.name
        )
        known = self.players.get(statement.name)
        if known not in (None, statement.key.text):
            raise errors.ExistsError("player", statement.name)
        self.players[statement.name] = statement.key.text
        return (200 if known else 201), {"name": statement.name, "key": statement.key.text, "registered": AT}

    def _login(self, value: dict[str, str]) -> tuple[int, Any]:
        nonce = json.loads(value["text"])["nonce"]
        key = parse_public_key(self.players[value["name"]])
        sshsig.verify(
            decode_base64(value["sig"], "sig"), key, sshsig.LOGIN, value["text"].encode() + b"\n", value["name"]
        )
        if nonce not in self.nonces:
            raise errors.LoginError("no such challenge")
        self.nonces.discard(nonce)
        token = self.random.randbytes(16).hex()
        self.tokens[token] = value["name"]
        return 200, {"token": token, "expires": AT}

    def _player(self, token: str | None) -> str:
        if token not in self.tokens:
            raise errors.LoginError("log in first")
        return self.tokens[token]

    def _game(self, game: str) -> Game:
        if game not in self.games:
            raise errors.NotFoundError("game", game)
        return self.games[game]

    def _submit(self, game: Game, body: bytes) -> tuple[int, Any]:
        submission = parse_submission(body)
        known = game.brought.get(submission.entry.text)
        if known is not None:
            return 200, self._brought(known)
        accepted = host.accept(game.hosted, submission, signer=self.key, at=AT)
        game.receipts += 1
        game.hosted = accepted.hosted
        game.lines.extend(accepted.lines)
        game.brought[submission.entry.text] = accepted.lines
        return 201, self._brought(accepted.lines)

    def _brought(self, lines: tuple[Line, ...]) -> dict[str, Any]:
        assert lines[0].receipt is not None
        receipt = lines[0].receipt
        return {
            "receipt": {"text": receipt.receipt.text, "sig": encode_base64(receipt.sig)},
            "lines": [line_to_json(line) for line in lines],
        }

    def view(self, game_id: str, player: str, after: int) -> dict[str, Any]:
        """What a seat is shown."""
        game = self._game(game_id)
        course = game.hosted.course
        seat = course.setup.seat_of(player)
        if seat is None:
            raise errors.ForbiddenError("not your game")
        view = host.view(game.hosted, seat)
        return {
            "game": game_id,
            "seat": seat,
            "seq": course.seq,
            "head": course.head,
            "status": course.status,
            "actor": course.actor,
            "legal": [],
            "state": {},
            "view": {"text": view.text, "sig": encode_base64(self.key.sign(sshsig.VIEW, view.message))},
            "openings": [opening.to_json() for opening in host.own_openings(game.hosted, seat)],
            "lines": [line_to_json(line) for line in game.lines if line.entry.seq > after],
        }

    def _list(self, query: dict[str, list[str]], player: str | None) -> list[dict[str, Any]]:
        found = []
        for game_id, game in self.games.items():
            course = game.hosted.course
            names = course.setup.names
            to_move = names[course.actor] if course.actor is not None else None
            invite = course.setup.invite.name if course.setup.invite else None
            if course.stage is Stage.OPEN or not game_id.startswith(query.get("prefix", [""])[0]):
                continue
            if query.get("status", [course.status])[0] != course.status:
                continue
            owes = to_move == player or (course.stage is Stage.JOIN and invite == player)
            if player is not None and player not in names and not owes:
                continue
            if query.get("waiting") == ["true"] and not owes:
                continue
            found.append(
                {
                    "game": game_id,
                    "ruleset": course.setup.ruleset.to_json(),
                    "status": course.status,
                    "host": names[0],
                    "guest": names[1],
                    "invite": invite,
                    "seq": course.seq,
                    "head": course.head,
                    "round": course.state.round,
                    "actor": course.actor,
                    "to_move": to_move,
                    "created": AT,
                    "updated": AT,
                    "result": None,
                }
            )
        return found


class DeskTransport(Transport):
    """A way to a desk."""

    def __init__(self, url: str, desk: Desk) -> None:
        super().__init__(url)
        self._desk = desk

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> Answer:
        return self._desk.answer(method, path, body, token)


@dataclass
class Seat:
    """A player: a home, and clients over it, each like a command of its own."""

    desk: Desk
    name: str
    path: Path
    said: list[str] = field(default_factory=list)

    @property
    def client(self) -> Client:
        """A fresh client, as a new process would have it."""
        return Client(Home(self.path), connect=lambda url: DeskTransport(url, self.desk), say=self.said.append)

    def folder(self, game: str) -> Path:
        return self.path / "games" / game


def seated(desk: Desk, name: str, path: Path) -> Seat:
    """A registered player."""
    seat = Seat(desk, name, path)
    create(Home(path), name, None, desk.random.randbytes(32))
    seat.client.register(URL)
    return seat


def begin(alice: Seat, bob: Seat, ruleset: Hanamikoji | None = None) -> str:
    """A game up to the host's first decision."""
    game = alice.client.new(ruleset or Hanamikoji()).course.setup.game
    bob.client.join(game)
    assert alice.client.position(game).course.stage is Stage.PLAY
    return game


def play_on(players: tuple[Seat, Seat], game: str, moves: int, seed: int = 1) -> None:
    """Random moves by whoever is to move."""
    chance = random.Random(seed)
    for _ in range(moves):
        for player in players:
            position = player.client.position(game)
            if position.legal:
                player.client.move(game, chance.choice(position.legal))
                break
