"""A service without sockets: in this process, the referee answers the requests of the HTTP contract over a store.

docs/spec/http.md, as far as local play uses it. Challenges and tokens are in memory only, so logins end
with the process; a client logs in again by itself.

The store is a folder with the service's key, its players, and the secrets and the log of each game. A receipt means
that the move is on disk: secrets are written before the log, the log before the answer, each file atomically and
synced. So a crash leaves a game as it was before an entry or after it. A folder without a log was never
acknowledged.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from hkoji import errors, referee
from hkoji.client.kept.files import locked, read_json, write_file, write_json
from hkoji.client.transport import HttpAnswer, Transport
from hkoji.errors import HkojiError, StorageError
from hkoji.game.agreement import read_agreement
from hkoji.game.commitments import parse_opening
from hkoji.game.submission import parse_submission
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64, encode_base64
from hkoji.log.game_statements import make_head
from hkoji.log.line import SERVER_NAME, Line, format_log, line_to_json, parse_log
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import make_login, parse_login, parse_registration
from hkoji.messages.text import parts_of, tell
from hkoji.referee import RefereedGame
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


class LocalGameFiles(NamedTuple):
    """A stored game: the referee's state, and the lines of its log, receipts included."""

    refereed: RefereedGame
    lines: tuple[Line, ...]


class LocalStore:
    """The store of a local service: files under `folder`, for their owner only. Several processes may use one folder.

    Everything but `locked` must be called with the store locked.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self._key: PrivateKey | None = None
        self._read: dict[str, tuple[tuple[int, int, int], LocalGameFiles]] = {}

    def locked(self) -> AbstractContextManager[None]:
        """Lets in one request at a time, from any process."""
        return locked(self.folder)

    def key(self, entropy: Callable[[int], bytes]) -> PrivateKey:
        """Returns the service's key, which is made from random bytes if there is none."""
        if self._key is None:
            file = self.folder / "id_ed25519"
            if not file.exists():
                write_file(file, PrivateKey.from_seed(entropy(32)).to_openssh())
            self._key = PrivateKey.from_openssh(file.read_bytes())
        return self._key

    def players(self) -> dict[str, str]:
        """Returns the players' keys by name."""
        return dict(read_json(self.folder / "players.json"))

    def add_player(self, name: str, key: str) -> None:
        """Adds a player."""
        write_json(self.folder / "players.json", {**self.players(), name: key})

    def log_file(self, game: str) -> Path:
        """Returns the file of a game's public log."""
        return self.folder / "games" / game / "log.jsonl"

    def load(self, game: str) -> LocalGameFiles | None:
        """Returns a game; None if there is none with that id. Raises `StorageError` if it is damaged."""
        file = self.log_file(game)
        try:
            status = file.stat()
        except FileNotFoundError:
            return None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)  # files are replaced, never written over
        held = self._read.get(game)
        if held is None or held[0] != stamp:
            held = self._read[game] = (stamp, self._load(game, file))
        return held[1]

    def _load(self, game: str, file: Path) -> LocalGameFiles:
        secrets = read_json(self._secrets(game))
        try:
            lines = parse_log(file.read_bytes())
            last = lines[-1].entry.seq
            # Openings are written before their entry: a crash in between leaves openings without an entry.
            openings = (parse_opening(value) for value in secrets["openings"])
            refereed = referee.resume(lines, secrets["seed"], tuple(each for each in openings if each.seq <= last))
        except (OSError, HkojiError, KeyError, TypeError, IndexError) as error:
            raise unreadable(file, error) from error
        return LocalGameFiles(refereed, lines)

    def keep(self, game: str, kept: LocalGameFiles) -> None:
        """Keeps a game as it stands now, durably: first its secrets, then the log, which makes the entry valid."""
        secrets: dict[str, Any] = {  # Any: JSON
            "openings": [opening.to_json() for opening in kept.refereed.openings],
            "seed": kept.refereed.seed,
        }
        if read_json(self._secrets(game)) != secrets:
            write_json(self._secrets(game), secrets)
        write_file(self.log_file(game), format_log(kept.lines).encode())
        self._read.pop(game, None)

    def _secrets(self, game: str) -> Path:
        return self.folder / "games" / game / "secrets.json"


def unreadable(file: Path, error: Exception) -> StorageError:
    """Returns the error for a game's file that cannot be read."""
    return StorageError(
        tell("{file} cannot be read: {reason}", file=file, reason=getattr(error, "message", str(error))),
        hint=tell("restore it from a backup, or begin another game with `hkoji play --new`"),
    )


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
