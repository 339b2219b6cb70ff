"""A service without sockets: in this process, the referee answers the requests of the HTTP contract over a store.

docs/spec/http.md, as far as this project's client uses it. Challenges and tokens are in memory only, so logins end
with the process; a client logs in again by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from hkoji import errors, referee
from hkoji.client.transport import HttpAnswer, Transport
from hkoji.game.agreement import read_agreement
from hkoji.game.course import Stage
from hkoji.game.position import summarise
from hkoji.game.submission import parse_submission
from hkoji.local.local_store import LocalGameFiles, LocalStore
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.entry import SERVER_NAME
from hkoji.log.game_statements import make_head
from hkoji.log.line import Line, format_log, line_to_json
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import make_login, parse_login, parse_registration
from hkoji.messages.text import tell
from hkoji.messages.wire import parts_of
from hkoji.rules.registry import parse_ruleset

_NEVER: Final = "8999-12-31T23:59:59Z"

_STATUS: Final[dict[type[errors.HkojiError], int]] = {
    errors.HkojiError: 500,
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
_DATA: Final = ("game", "seq", "head", "actor")


class LocalService:
    """The service over `store`, called `origin`. `entropy` returns random bytes, `now` the time as in entries."""

    def __init__(self, store: LocalStore, origin: str, entropy: Callable[[int], bytes], now: Callable[[], str]) -> None:
        self.store: Final = store
        self.origin = origin
        self._entropy = entropy
        self._now = now
        # Unused challenges, and the player of each token.
        self.nonces: Final[set[str]] = set()
        self.tokens: Final[dict[str, str]] = {}

    def answer(self, method: str, path: str, body: bytes | None, token: str | None) -> HttpAnswer:
        """Returns the answer; a problem document for a refusal. Raises `StorageError` if nothing was answered."""
        parts = urlsplit(path)
        try:
            with self.store.locked():
                status, value = self._answer(method, parts.path, parse_qs(parts.query), body or b"", token)
        except errors.StorageError:
            raise
        except errors.HkojiError as error:
            status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
            value = {"code": error.code, "detail": str(error), "hint": error.hint, "status": status}
            value |= {name: getattr(error, name) for name in _DATA if hasattr(error, name)}
            value["parts"] = parts_of(error)
        return HttpAnswer(status, (value if isinstance(value, str) else json.dumps(value)).encode())

    def _answer(
        self, method: str, path: str, query: dict[str, list[str]], body: bytes, token: str | None
    ) -> tuple[int, Any]:  # Any: JSON, or text
        after = int(query.get("after", ["-1"])[0])
        match (method, *path.strip("/").split("/")[1:]):
            case ("GET", "service"):
                return 200, {"name": "hkoji", "key": self._key.public.text, "origin": self.origin}
            case ("POST", "players"):
                return self._register(json.loads(body))
            case ("GET", "players", name):
                if name not in self.store.players():
                    raise errors.NotFoundError(tell("player"), name)
                return 200, {"name": name, "key": self.store.players()[name], "earlier": []}
            case ("POST", "login", "challenge"):
                nonce = self._entropy(32).hex()
                self.nonces.add(nonce)
                return 201, {"text": make_login(expires=_NEVER, nonce=nonce, origin=self.origin).text}
            case ("POST", "login"):
                return self._login(json.loads(body))
            case ("POST", "offers"):
                self._player(token)
                return self._offer(json.loads(body))
            case ("POST", "games", game, "entries"):
                return self._submit(game, body)
            case ("GET", "games", game, "log"):
                return 200, format_log(line for line in self._game(game).lines if line.entry.seq > after)
            case ("GET", "games", game, "head"):
                return 200, self._head(game)
            case ("GET", "games", game, "view"):
                return 200, self._view(game, self._player(token), after)
            case ("GET", *me, "games"):
                listed = self._list(query, self._player(token) if me else None)
                if query.get("joinable") == ["true"]:
                    mine = self._player(token)
                    listed = [each for each in listed if each["host"] != mine and each["invite"] in (None, mine)]
                return 200, {"games": listed, "next": None}
        raise errors.NotFoundError(tell("address"), path)

    @property
    def _key(self) -> PrivateKey:
        return self.store.key(self._entropy)

    # --- players --------------------------------------------------------------------------------------------------

    def _register(self, value: dict[str, str]) -> tuple[int, Any]:
        statement = parse_registration(value["text"])
        sig = decode_base64(value["sig"], "sig")
        sshsig.verify(sig, statement.key, sshsig.REGISTER, statement.message, statement.name)
        known = self.store.players().get(statement.name)
        if known not in (None, statement.key.text):
            raise errors.ExistsError(tell("player"), statement.name)
        if known is None:
            self.store.add_player(statement.name, statement.key.text)
        return (200 if known else 201), {"name": statement.name, "key": statement.key.text, "registered": statement.at}

    def _login(self, value: dict[str, str]) -> tuple[int, Any]:
        statement = parse_login(value["text"])
        known = self.store.players().get(value["name"])
        if known is None or statement.nonce not in self.nonces:
            raise errors.LoginError(tell("there is no such player, or no such challenge"))
        sig = decode_base64(value["sig"], "sig")
        sshsig.verify(sig, parse_public_key(known), sshsig.LOGIN, statement.message, value["name"])
        self.nonces.discard(statement.nonce)
        token = self._entropy(16).hex()
        self.tokens[token] = value["name"]
        return 200, {"token": token, "expires": _NEVER}

    def _player(self, token: str | None) -> str:
        if token not in self.tokens:
            raise errors.LoginError(tell("log in first"))
        return self.tokens[token]

    # --- games ----------------------------------------------------------------------------------------------------

    def _game(self, game: str) -> LocalGameFiles:
        kept = self.store.load(game)
        if kept is None:
            raise errors.NotFoundError(tell("game"), game)
        return kept

    def _offer(self, options: Any) -> tuple[int, Any]:  # Any: JSON
        game, seed = self._entropy(16).hex(), self._entropy(32).hex()
        ruleset, agreement = parse_ruleset(options["ruleset"]), read_agreement(options["agreement"])
        accepted = referee.offer(game, ruleset, seed, signer=self._key, at=self._now(), agreement=agreement)
        self.store.keep(game, LocalGameFiles(accepted.refereed, accepted.lines))
        return 201, {"game": game, "line": line_to_json(accepted.lines[0])}

    def _submit(self, game: str, body: bytes) -> tuple[int, Any]:
        kept = self._game(game)
        submission = parse_submission(body)
        seq = submission.entry.seq
        if seq < len(kept.lines) and kept.lines[seq].entry.text == submission.entry.text:
            return 200, _brought(kept.lines[seq:])
        accepted = referee.accept(kept.refereed, submission, signer=self._key, at=self._now())
        self.store.keep(game, LocalGameFiles(accepted.refereed, (*kept.lines, *accepted.lines)))
        return 201, _brought(accepted.lines)

    def _view(self, game: str, player: str, after: int) -> dict[str, Any]:  # Any: JSON
        refereed, lines = self._game(game)
        course = refereed.course
        seat = course.setup.require_seat(player)
        view = referee.view(refereed, seat)
        return {
            "game": game,
            "seat": seat,
            "seq": course.seq,
            "head": course.head,
            "status": course.status,
            "actor": course.actor,
            "view": {"text": view.text, "sig": encode_base64(self._key.sign(sshsig.VIEW, view.message))},
            "openings": [opening.to_json() for opening in referee.own_openings(refereed, seat)],
            "lines": [line_to_json(line) for line in lines if line.entry.seq > after],
        }

    def _head(self, game: str) -> dict[str, str]:
        last = self._game(game).lines[-1].entry
        head = make_head(at=self._now(), game=game, head=last.head, seq=last.seq)
        return {"text": head.text, "sig": encode_base64(self._key.sign(sshsig.HEAD, head.message))}

    def _list(self, query: dict[str, list[str]], player: str | None) -> list[dict[str, Any]]:  # Any: JSON
        prefix, status = query.get("prefix", [""])[0], query.get("status", [None])[0]
        only_waiting = query.get("waiting") == ["true"]
        found = []
        for game in self.store.games():
            refereed, lines = self._game(game)
            course = refereed.course
            summary = summarise(course, lines[0], lines[-1])
            summary |= {"agreement": course.setup.agreement.to_json(), "deadline": referee.deadline(refereed)}
            summary |= {"overdue": False}  # nobody waits for a time here
            owes = player == summary["to_move"]
            if course.stage is Stage.OPEN or not game.startswith(prefix) or status not in (None, course.status):
                continue
            if player is not None and player not in course.setup.names and not owes:
                continue
            if player is None and summary["by_link"]:
                continue
            if owes or not only_waiting:
                found.append(summary)
        return sorted(found, key=lambda each: str(each["updated"]), reverse=True)


class LocalTransport(Transport):
    """A transport to the local service: a function call. Nothing leaves the process."""

    def __init__(self, url: str, service: LocalService) -> None:
        super().__init__(url)
        self._service = service

    @property
    def exposed(self) -> bool:
        """Returns False: nothing goes over a network."""
        return False

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        """Returns the local service's answer."""
        return self._service.answer(method, path, body, token)


def _brought(lines: tuple[Line, ...]) -> dict[str, Any]:  # Any: JSON
    """Returns the answer to an entry: its own line, the first, and the service's lines that follow directly."""
    own = lines[0]
    assert own.receipt is not None
    brought = [own]
    for line in lines[1:]:
        if line.entry.by != SERVER_NAME:
            break
        brought.append(line)
    return {
        "receipt": {"text": own.receipt.receipt.text, "sig": encode_base64(own.receipt.sig)},
        "lines": [line_to_json(line) for line in brought],
    }
