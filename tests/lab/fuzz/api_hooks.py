"""Schemathesis hooks for measure_api.py, with real ids, real entries and real logins.

Schemathesis loads this module by the name in `SCHEMATHESIS_HOOKS`; the file named by `HKOJI_FUZZ_API` has players and
games. Without that file nothing is registered.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import schemathesis

from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit, parse_opening
from hkoji.game.course import Course
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_registration, proof_message
from tests.support.service import Answer, Player, Service

CONFIG: Final = "HKOJI_FUZZ_API"
_LASTING: Final = {
    "GET /v1/games/{game}/log": float("inf"),
    "GET /v1/games/{game}/events": 3600,
    "GET /v1/events": 3600,
}
"""The addresses that can wait, and the longest `wait` in seconds."""
_NEW_GAMES: Final = 200
"""When fewer games than this accept entries, new ones begin."""


def hasten(case: Any) -> None:  # Any: a case of Schemathesis
    """Sets a valid `wait` to 0, so that no request takes long. Invalid values stay, to be refused."""
    operation = f"{case.operation.method.upper()} {case.operation.path}"
    if operation not in _LASTING:
        return
    case.query = dict(case.query or {})
    given = case.query.get("wait", 3600)
    try:
        seconds = float(given[-1] if isinstance(given, list) and given else given)
    except (TypeError, ValueError):
        return
    if 0 < seconds <= _LASTING[operation]:
        case.query["wait"] = 0


class _There:
    """The running service, as a client sees it."""

    def __init__(self, url: str) -> None:
        self.port = int(url.rpartition(":")[2])

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        return Service.ask(self, method, path, body, token, raw)  # type: ignore[arg-type] # all it needs is a port


class Deep:
    """Makes generated requests meaningful. `counts` counts the answers."""

    def __init__(self, config: dict[str, Any]) -> None:  # Any: JSON
        self.chance = random.Random(config["seed"])
        self.service = _There(config["url"])
        self.games: list[str] = config["games"]
        self.dead: list[str] = config["dead"]
        self.deep = config["run"] == "deep"
        self.players = [self._player(given) for given in config["players"]]
        self.lost = [(self._player(given), given["code"], given["game"]) for given in config["lost"]]
        """Players whose keys the host has revoked: with the code for another key, and a game that waits for them."""
        self.old_keys: dict[str, PrivateKey] = {}
        self.newcomers: list[Player] = []
        """Players whose keys are changed and revoked."""
        self.logins: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.sent: list[tuple[str, bytes]] = []
        """Entries meant to be accepted; most have been."""

    def _player(self, given: dict[str, Any]) -> Player:  # Any: JSON
        openings = {game: [parse_opening(each) for each in kept] for game, kept in given["openings"].items()}
        key = PrivateKey.from_openssh(given["key"].encode())
        return Player(self.service, given["name"], key, given["entropy"], openings)

    def login(self, player: Player) -> str:
        """A valid token of a player: the last one, unless it has been logged out."""
        if player.name not in self.logins:
            self.logins[player.name] = player.login().token
        return self.logins[player.name]

    def login_if_possible(self, player: Player) -> str:
        """A valid token, or an invalid one for a player whose key has been replaced."""
        if self.service.ask("GET", f"/v1/players/{player.name}").json["key"] != player.key.public.text:
            return "0" * 64
        return self.login(player)

    # --- before a request -----------------------------------------------------------------------------------------

    def before(self, case: Any) -> None:  # Any: a case of Schemathesis
        """Sets the login and, mostly, ids that exist."""
        operation = f"{case.operation.method.upper()} {case.operation.path}"
        if self.chance.random() < 0.8:
            for name, known in (("game", self.games), ("name", ["alice", "bob", "carol"])):
                if name in (case.path_parameters or {}):
                    case.path_parameters[name] = self.chance.choice(known)
        self._authorize(case)
        sort, keys = self.chance.random(), Keys(self)
        if sort < 0.25:
            return
        match operation:
            case "POST /v1/games/{game}/entries":
                case.path_parameters["game"], case.body = self._entry(change=sort > 0.5)
            case "POST /v1/login":
                case.body = self._login(change=sort > 0.6)
            case "POST /v1/players":
                case.body = self._registration(change=sort > 0.5)
            case "POST /v1/players/{name}/key":
                case.path_parameters["name"], case.body = keys.another(change=sort > 0.6)
            case "POST /v1/players/{name}/revocation":
                case.path_parameters["name"], case.body = keys.revocation(change=sort > 0.6)
            case "POST /v1/players/{name}/recovery":
                case.path_parameters["name"], case.body = keys.recovery(change=sort > 0.6)
            case "POST /v1/games/{game}/recovery":
                case.path_parameters["game"], token, case.body = keys.seat(change=sort > 0.6)
                case.headers["Authorization"] = f"Bearer {token}"

    def _authorize(self, case: Any) -> None:  # Any: a case of Schemathesis
        sort = self.chance.random()
        if sort < 0.7:
            token = self.login(self.chance.choice(self.players))
        elif sort < 0.8:
            token = self.chance.choice(self.dead)
        else:
            case.headers.pop("Authorization", None)
            return
        case.headers["Authorization"] = f"Bearer {token}"

    def _entry(self, *, change: bool) -> tuple[str, bytes]:
        """The address and body of an entry that a game waits for, or of such an entry after a change."""
        game, player, submission = self._due()
        value = submission.to_json()
        if not change:
            self._follow()
            self.sent.append((game, json.dumps(value).encode()))
            return self.sent[-1]
        if self.sent and self.chance.random() < 0.1:
            return self.chance.choice(self.sent)
        if self.chance.random() < 0.2:
            return game, json.dumps(self._refused(submission).to_json()).encode()
        address = self.chance.choice(self.games) if self.chance.random() < 0.1 else game
        match self.chance.randrange(6):
            case 0:
                return address, self._damaged(json.dumps(value).encode())
            case 1:
                value["sig"] = base64.b64encode(self._damaged(submission.sig)).decode()
            case 2:
                value["opening"] = self._openings(value.get("opening", []))
            case 3:
                value[self.chance.choice(["entry", "sig", "opening", "extra"])] = self.chance.choice(
                    [None, 1, [], {}, ""]
                )
            case 4:
                value = self._signed(player, self._damaged(submission.entry.text.encode()).decode("latin-1"))
            case _:
                value = self._signed(player, self._other_fields(submission), value.get("opening"))
        return address, json.dumps(value).encode()

    def _refused(self, submission: Submission) -> Submission:
        """A well-formed entry that may not come next: of the wrong seat or game, or an illegal move."""
        place = (submission.entry.seq - 1, submission.entry.prev)
        player = self.chance.choice(self.players)
        sort = self.chance.choice(
            ["seed", "join", "resign", "cancel", "3GGG", "3ABC", "-A", "GA1A2A3", "-A1A2", "!A", "^0"]
        )
        content: entry_kinds.EntryBody = entry_kinds.Move(sort)
        match sort:
            case "seed":
                content = entry_kinds.Seed("0" * 64)
            case "join":
                content = entry_kinds.Join("0" * 64, player.key.public)
            case "resign" if player.name not in (submission.entry.by,):
                content = entry_kinds.Resign()
            case "cancel" | "resign":
                content = entry_kinds.Cancel()
        if self.chance.random() < 0.5 and not isinstance(content, entry_kinds.Cancel | entry_kinds.Resign):
            player = next(each for each in self.players if each.name == submission.entry.by)
        return player.entry(submission.entry.game, place, content)

    def _due(self) -> tuple[str, Player, Submission]:
        """An entry that may come next in some game."""
        for game in self.chance.sample(self.games, len(self.games)):
            found = self._due_in(game)
            if found is not None:
                return game, *found
        host = self.chance.choice(self.players)
        host.token = self.login(host)
        self.games.append(host.new())
        return self._due()

    def _due_in(self, game: str) -> tuple[Player, Submission] | None:
        summary = self.service.ask("GET", f"/v1/games/{game}").json
        by_name = {player.name: player for player in self.players}
        place = (summary["seq"], summary["head"])
        match summary["status"], summary["round"]:
            case "open", _:
                player = by_name.get(summary["invite"] or "") or next(
                    player for name, player in by_name.items() if name != summary["host"]
                )
                commit = entropy_commit(game, 1, player.entropy)
                return player, player.entry(game, place, entry_kinds.Join(commit, player.key.public))
            case "playing", 0:
                player = by_name[summary["to_move"]]
                return player, player.entry(game, place, entry_kinds.Seed(player.entropy))
            case "playing", _:
                player = by_name[summary["to_move"]]
                if self.chance.random() < 0.02:
                    return player, player.entry(game, place, entry_kinds.Resign())
                player.token = self.login(player)
                course: Course = player.course(game)
                return player, player.make_move(course, self.chance.choice(course.state.legal_actions()))
        return None

    def _follow(self) -> None:
        """Keeps the number of running games: a new one replaces each that ends."""
        if len(self.games) < _NEW_GAMES and self.chance.random() < 0.05:
            host = self.chance.choice(self.players)
            host.token = self.login(host)
            self.games.append(host.new())

    def _signed(self, player: Player, text: str, opening: Any = None) -> dict[str, Any]:  # Any: JSON
        sig = player.key.sign(sshsig.ENTRY, text.encode("latin-1", "replace") + b"\n")
        value = {"entry": text, "sig": base64.b64encode(sig).decode()}
        return {**value, "opening": opening} if opening is not None else value

    def _other_fields(self, submission: Submission) -> str:
        """The entry with one value changed, in canonical form."""
        entry: dict[str, Any] = json.loads(submission.entry.text)
        odd: Callable[[], Any] = lambda: self.chance.choice(  # noqa: E731 # Any: JSON
            [0, 1, -1, 2**53 - 1, None, True, "", "X", "server", "alice", "0" * 64, "0" * 32, [], {}, [[]], {"ext": {}}]
        )
        where = entry if self.chance.random() < 0.5 else entry["body"]
        match self.chance.randrange(4):
            case 0 if where:
                del where[self.chance.choice(sorted(where))]
            case 1:
                where[self.chance.choice(["ext", "more", "commit", "action"])] = odd()
            case 2:
                entry["kind"] = self.chance.choice(["offer", "open", "join", "seed", "move", "end", "reveal", "rekey"])
            case _ if where:
                where[self.chance.choice(sorted(where))] = odd()
        try:
            return encode(entry)
        except Exception:
            return json.dumps(entry)

    def _openings(self, openings: Any) -> Any:  # Any: JSON
        """Openings with one changed, one too many, or one too few."""
        opening = {"cards": "A", "part": 0, "salt": "0" * 64, "seq": 5}
        if not openings or self.chance.random() < 0.3:
            return self.chance.choice([[opening], [opening, opening], [], [{}], [None], opening, "A"])
        changed = dict(openings[0])
        changed[self.chance.choice(["cards", "part", "salt", "seq", "more"])] = self.chance.choice(
            [0, 1, 2, -1, 2**53, "A", "G", "", "é", None, [], "1" * 64]
        )
        return [changed, *openings[1:]]

    def _damaged(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self.chance.randint(1, 3)):
            at = self.chance.randrange(len(changed))
            match self.chance.randrange(3):
                case 0:
                    changed[at] = self.chance.randrange(256)
                case 1:
                    del changed[at]
                case _:
                    changed.insert(at, self.chance.choice(b'"\\{}[],:0aX \x00\xff'))
        return bytes(changed)

    def _login(self, *, change: bool) -> bytes:
        player = self.chance.choice(self.players)
        text = self.service.ask("POST", "/v1/login/challenge").json["text"]
        value = {"name": player.name, "text": text, "sig": player.signed(text, sshsig.LOGIN)}
        return self.perhaps(value, change=change)

    def _registration(self, *, change: bool) -> bytes:
        """A registration of an existing player, or of a new one."""
        player = self.chance.choice(self.players)
        if self.chance.random() < 0.5:
            player = Player(self.service, f"new{self.chance.randrange(10**6)}")
        origin = self.service.ask("GET", "/v1/service").json["origin"]
        text = make_registration(at="2026-11-20T12:00:00Z", key=player.key.public, name=player.name, origin=origin).text
        return self.perhaps({"text": text, "sig": player.signed(text, sshsig.REGISTER)}, change=change)

    def perhaps(self, value: dict[str, str], *, change: bool) -> bytes:
        data = json.dumps(value).encode()
        return self._damaged(data) if change else data

    # --- after a request ------------------------------------------------------------------------------------------

    def after(self, case: Any, response: Any) -> None:  # Any: of Schemathesis
        """Counts the answer; a token that has been logged out is not used again."""
        method = response.request.method
        self.counts[f"{method} {case.operation.path} {response.status_code}"] += 1
        if case.operation.path == "/v1/logout" and response.status_code == 204:
            used = response.request.headers.get("Authorization", "").removeprefix("Bearer ")
            self.logins = {name: token for name, token in self.logins.items() if token != used}
            self.dead.append(used)
        if case.operation.path == "/v1/offers" and response.status_code == 201 and len(self.games) < _NEW_GAMES:
            self.games.append(response.json()["game"])


class Keys:
    """Players' statements about their keys."""

    def __init__(self, deep: Deep) -> None:
        self.deep, self.chance = deep, deep.chance

    def _newcomer(self) -> Player:
        known = self.deep.newcomers
        if not known or self.chance.random() < 0.3:
            known.append(Player(self.deep.service, f"key{self.chance.randrange(10**9)}").register())
        return self.chance.choice(known)

    def _fresh(self) -> PrivateKey:
        return PrivateKey.from_seed(self.chance.randbytes(32))

    def another(self, *, change: bool) -> tuple[str, bytes]:
        """Changes a newcomer's key."""
        player, new = self._newcomer(), self._fresh()
        data = self.deep.perhaps(player.rekeying(new), change=change)
        if not change:
            player.key = new
        return player.name, data

    def revocation(self, *, change: bool) -> tuple[str, bytes]:
        """A newcomer's key revokes itself."""
        player = self._newcomer()
        return player.name, self.deep.perhaps(player.revoking(), change=change)

    def recovery(self, *, change: bool) -> tuple[str, bytes]:
        """Replaces a revoked key, with the host's code or with an invalid one."""
        player, code, _ = self.chance.choice(self.deep.lost[::2])
        new = self._fresh()
        code = code if self.chance.random() < 0.8 else self.chance.choice(["", "x", code[:-1], code + "0"])
        value = player.recovering(new, code)
        if change:
            return player.name, self.deep.perhaps(value, change=True)
        return player.name, json.dumps(value).encode()

    def seat(self, *, change: bool) -> tuple[str, str, bytes]:
        """A recovered player asks for their seat; the game, their login, and the proof."""
        player, code, game = self.chance.choice(self.deep.lost[1::2])
        if player.name not in self.deep.logins:
            new = self._fresh()
            if player.ask(f"/v1/players/{player.name}/recovery", player.recovering(new, code)).status == 200:
                self.deep.old_keys[player.name], player.key = player.key, new
        token = self.deep.login_if_possible(player)
        old = self.deep.old_keys.get(player.name, player.key)
        last = player.lines(game)[-1].entry
        place_of = {"game": game, "prev": last.head, "seq": last.seq + 1, "name": player.name}
        message = proof_message(key=player.key.public, old=old.public, **place_of)
        proof = base64.b64encode(player.key.sign(sshsig.REKEY, message)).decode()
        return game, token, self.deep.perhaps({"proof": proof}, change=change)


def register(deep: Deep) -> None:
    @schemathesis.hook
    def after_call(_: Any, case: Any, response: Any) -> None:  # Any: of Schemathesis
        deep.after(case, response)

    if deep.deep:

        @schemathesis.hook
        def before_call(_: Any, case: Any, __: Any) -> None:  # Any: of Schemathesis
            hasten(case)
            deep.before(case)

    else:

        @schemathesis.hook("before_call")
        def in_haste(_: Any, case: Any, __: Any) -> None:  # Any: of Schemathesis
            hasten(case)

        @schemathesis.auth()
        class _Login:
            def get(self, _: Any, __: Any) -> str:
                return deep.login(deep.players[0])

            def set(self, case: Any, data: str, _: Any) -> None:
                case.headers["Authorization"] = f"Bearer {data}"


if CONFIG in os.environ:
    _config = json.loads(Path(os.environ[CONFIG]).read_text())
    _deep = Deep(_config)
    register(_deep)
    atexit.register(lambda: Path(_config["counts"]).write_text(json.dumps(_deep.counts)))
