"""A naive service after docs/spec/http.md: dictionaries and lists, one request at a time.

It receives the real service's random values, and gives the required answer to each request. It imports nothing of the
project; the caller asks both and compares the answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

from tests.lab.machine import naive_log as log
from tests.lab.machine import seen
from tests.lab.machine.expected import Expected, lines_of, refused
from tests.lab.machine.naive_game import NaiveGame, Refused, check_body
from tests.lab.machine.naive_log import Object
from tests.lab.machine.naive_statements import report, state, withdraw
from tests.lab.machine.naive_time import NaiveTime, NotTrustedError, outside

Drawn = list[bytes]


@dataclass
class NaiveService:
    """`key` and `origin` are the service's; lifetimes in seconds."""

    key: str
    origin: str
    token_lifetime: int
    challenge_lifetime: int
    slack: int
    time: NaiveTime
    players: dict[str, Object] = field(default_factory=dict)
    challenges: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)
    games: dict[str, NaiveGame] = field(default_factory=dict)

    def answer(
        self, method: str, address: str, body: bytes, token: str | None, now: datetime, drawn: Drawn
    ) -> Expected:
        """The required parameters of the requests that this model knows."""
        try:
            return self._answer(method, address, body, token, now, drawn)
        except Refused as answer:
            return refused(answer.status, answer.code)
        except NotTrustedError:
            return refused(503, "clock")

    def _answer(
        self, method: str, address: str, body: bytes, token: str | None, now: datetime, drawn: Drawn
    ) -> Expected:
        path, _, rest = address.partition("?")
        query = dict(parse_qsl(rest))
        at = _text(now)
        match method, *path.strip("/").split("/")[1:]:
            case "GET", "service":
                return Expected(200, body=self._about(at))
            case "POST", "players":
                return self._register(json.loads(body), at)
            case "POST", "players", name, "key":
                return self._another_key(name, json.loads(body), at)
            case "GET", "players", name:
                found = self.players.get(name)
                return Expected(200, body=found) if found else refused(404, "not-found")
            case "POST", "login", "challenge":
                nonce, expires = drawn[0].hex(), _text(now + timedelta(seconds=self.challenge_lifetime))
                self.challenges[nonce] = expires
                text = log.canonical({"expires": expires, "nonce": nonce, "origin": self.origin, "v": 1})
                return Expected(201, body={"text": text})
            case "POST", "login":
                return self._login(json.loads(body), now, drawn)
            case "GET", "games":
                return self._page(query, self._listed(query.get("player")), query.get("player"))
            case "GET", "games", game:
                return self._spectate(game)
            case "GET", "games", game, "log":
                return self._log(game, int(query.get("after", -1)))
            case "POST", "games", game, "entries":
                return self._submit(game, body)
            case "POST", "games", game, "statements":
                return state(self._game(game), json.loads(body), self.now)
            case "GET", "games", game, "clock":
                return report(self._game(game), self.time.before(self.slack))
            case "GET", "games", game, "head":
                self.now()
                self._game(game)
                return Expected(200, signed_head=True)
            case "GET", "outages":
                return Expected(200, body={"outages": self.time.outages})
        me = self._whose(token, at)
        if me is None:
            return refused(401, "login-required")
        match method, *path.strip("/").split("/")[1:]:
            case "POST", "logout":
                del self.tokens[str(token)]
                return Expected(204)
            case "POST", "offers":
                return self._offer(json.loads(body), me, drawn)
            case "DELETE", "games", game, "statements", "annul":
                return withdraw(self._game(game), me)
            case "GET", "me", "games":
                if query.get("order") == "deadline":
                    return self._by_deadline(query, [game for game in self._listed(me) if game.to_move == me], me)
                if query.get("waiting") == "true":
                    return self._page(query, [game for game in self._listed(me) if game.to_move == me], me)
                return self._page(query, self._listed(me), me)
            case "GET", "games", game, "view":
                return self._view(game, me, int(query.get("after", -1)))
        raise AssertionError(f"the model does not know {method} {address}")

    # --- players --------------------------------------------------------------------------------------------------

    def _register(self, signed: Object, at: str) -> Expected:
        statement = json.loads(signed["text"])
        name, key = statement["name"], statement["key"]
        if not log.signature_holds(key, "hkoji.register.v1", signed["text"], signed["sig"]):
            return refused(403, "bad-signature")
        if statement["origin"] != self.origin:
            return refused(403, "forbidden")
        holder = self.players.get(name) or next((each for each in self.players.values() if each["key"] == key), None)
        if holder is not None:
            same = (holder["name"], holder["key"]) == (name, key)
            return Expected(200, body=holder) if same else refused(409, "exists")
        begun: Object = {"name": name, "key": key, "registered": at, "statement": signed, "revoked": False}
        self.players[name] = {**begun, "earlier": []}
        return Expected(201, body=self.players[name])

    def keys_of(self, name: str) -> list[str]:
        """A player's keys so far, the current one first."""
        player = self.players[name]
        return [player["key"], *(each["key"] for each in player["earlier"])]

    def _another_key(self, name: str, sent: Object, at: str) -> Expected:
        """A player's key gives way to another that it names; both have signed."""
        said, player = json.loads(sent["text"]), self.players.get(name)
        if said["name"] != name:
            return refused(400, "malformed")
        if said["origin"] != self.origin:
            return refused(403, "forbidden")
        for key, sig in ((said["old"], sent["old_sig"]), (said["key"], sent["sig"])):
            if not log.signature_holds(key, "hkoji.newkey.v1", sent["text"], sig):
                return refused(403, "bad-signature")
        if player is None:
            return refused(404, "not-found")
        if player["statement"]["text"] == sent["text"]:
            return Expected(200, body=player)
        if said["old"] != player["key"]:
            return refused(403, "forbidden")
        if any(said["key"] in self.keys_of(each) for each in self.players):
            return refused(409, "exists")
        past = {"key": said["old"], "until": at, "revoked": False, "text": sent["text"], "sig": sent["old_sig"]}
        earlier = [*player["earlier"], {**past, "new_sig": sent["sig"]}]
        statement = {"text": sent["text"], "sig": sent["sig"]}
        self.players[name] = {**player, "key": said["key"], "statement": statement, "earlier": earlier}
        self.tokens = {token: given for token, given in self.tokens.items() if given[0] != name}
        return Expected(200, body=self.players[name])

    def _login(self, signed: Object, now: datetime, drawn: Drawn) -> Expected:
        statement, player, at = json.loads(signed["text"]), self.players.get(signed["name"]), _text(now)
        if statement["origin"] != self.origin:
            return refused(403, "forbidden")
        if player is None:
            return refused(404, "not-found")
        if not log.signature_holds(player["key"], "hkoji.login.v1", signed["text"], signed["sig"]):
            return refused(403, "bad-signature")
        good = self.challenges.pop(statement["nonce"], "") > at
        self.challenges = {nonce: expires for nonce, expires in self.challenges.items() if expires > at}
        if not good:
            return refused(401, "login-required")
        token, expires = drawn[0].hex(), _text(now + timedelta(seconds=self.token_lifetime))
        self.tokens = {known: given for known, given in self.tokens.items() if given[1] > at}
        self.tokens[token] = (player["name"], expires)
        return Expected(200, body={"token": token, "expires": expires})

    def _whose(self, token: str | None, at: str) -> str | None:
        name, expires = self.tokens.get(token or "", (None, ""))
        return name if expires > at else None

    # --- time -----------------------------------------------------------------------------------------------------

    def now(self) -> str:
        """The time in which something can be decided."""
        return self.time.now(max([game.taken for game in self.games.values()], default=""))

    def note(self) -> None:
        """The service notes the time."""
        self.time.note(max([game.taken for game in self.games.values()], default=""))

    def keep(self) -> int:
        """The service looks for games whose time is over. Returns how many it has ended."""
        at, ended = self.now(), 0
        before = self.time.before(self.slack)
        if (self.time.beat or "") < before:  # nobody's time is over before the service has noted a later time
            self.note()
        for game in self.games.values():
            if game.time.listed is None or game.time.listed >= before:
                continue
            if game.time.listed != game.deadline():  # an outage has moved it on
                game.time.listed = game.deadline()
                continue
            game.end_by_service("lapse" if game.stage == "join" else "timeout", at)
            ended += 1
        return ended

    def _game(self, name: str) -> NaiveGame:
        if name not in self.games:
            raise Refused(404, "not-found")
        return self.games[name]

    # --- games ----------------------------------------------------------------------------------------------------

    def _about(self, at: str) -> Object:
        return {"name": "hkoji", "origin": self.origin, "key": self.key, "time": at, "slack": self.slack}

    def _offer(self, asked: Object, me: str, drawn: Drawn) -> Expected:
        at, expires = outside(self.now(), self.time.outages), asked["agreement"]["expires"]
        if expires is not None and expires <= at:
            return refused(422, "illegal")
        game, seed = drawn[0].hex(), drawn[1].hex()
        assert game not in self.games
        rest = (asked["agreement"], self.time.outages)
        made = NaiveGame(game, asked["ruleset"], seed, me, at, self.key, *rest)
        self.games[game] = made
        return Expected(201, body={"game": game}, lines=lines_of(made, 0))

    def _submit(self, address: str, raw: bytes) -> Expected:
        try:
            text, sig, openings, entry = _read_submission(raw)
        except (ValueError, KeyError, TypeError):
            return Expected(400)
        if entry["game"] != address:
            return refused(400, "malformed")
        game = self.games.get(address)
        if game is None:
            return refused(404, "not-found")
        if entry["seq"] <= game.seq:
            return _repeat(game, entry, text, sig)
        at = self.now()
        try:
            self._check_registered(game, entry)
            brought = game.take(entry, text, sig, openings, at)
        except Refused as answer:
            return refused(answer.status, answer.code, game if answer.status == 409 else None)
        return Expected(201, lines=lines_of(game, len(game.texts) - brought))

    def _check_registered(self, game: NaiveGame, entry: Object) -> None:
        if entry["kind"] in ("open", "join"):
            check_body(entry["kind"], entry["body"])
            player = self.players.get(entry["by"])
            if player is None or player["key"] != entry["body"]["key"]:
                raise Refused(403, "forbidden")
            if entry["kind"] == "open" and game.stage == "open" and game.offered_to != entry["by"]:
                raise Refused(403, "forbidden")

    def _spectate(self, name: str) -> Expected:
        game = self.games.get(name)
        if game is None:
            return refused(404, "not-found")
        return Expected(200, body=game.summary(self.time.before(self.slack)), shown=seen.position(game, None))

    def _log(self, name: str, after: int) -> Expected:
        game = self.games.get(name)
        if game is None:
            return refused(404, "not-found")
        return Expected(200, lines=lines_of(game, after + 1), etag=f'"{game.head}"')

    def _view(self, name: str, me: str, after: int) -> Expected:
        game = self.games.get(name)
        if game is None:
            return refused(404, "not-found")
        seat = game.seat_of(me)
        if seat is None:
            return refused(403, "forbidden")
        dealt = [{"cards": cards[seat], "round": number} for number, cards in enumerate(game.dealt, 1)]
        place = {"game": name, "seat": seat, "seq": game.seq, "head": game.head}
        text = log.canonical({**place, "dealt": dealt, "v": 1})
        body = {
            **place,
            "status": game.status,
            "actor": game.actor,
            "openings": [each["opening"] for each in game.down if each["seat"] == seat],
            "view": {"text": text},
        }
        legal = game.moves() if game.stage == "play" and game.actor == seat else set()
        return Expected(200, body=body, lines=lines_of(game, after + 1), shown=seen.position(game, seat), legal=legal)

    # --- lists ----------------------------------------------------------------------------------------------------

    def _listed(self, player: str | None) -> list[NaiveGame]:
        opened = [game for game in self.games.values() if game.status != "offered"]
        if player is not None:
            opened = [game for game in opened if player in (*game.names, game.invite and game.invite["name"])]
        opened.sort(key=lambda game: (game.created, game.game), reverse=True)
        return sorted(opened, key=lambda game: 0 if player is None else _part(game, player))

    def waiting_for(self, name: str) -> list[str]:
        """The games whose next entry a player owes."""
        return [game.game for game in self._listed(name) if game.to_move == name]

    def own_games(self, name: str) -> list[str]:
        """The games that a player sits in, or is invited to."""
        return [game.game for game in self._listed(name)]

    def _page(self, query: dict[str, str], found: list[NaiveGame], player: str | None) -> Expected:
        limit = int(query.get("limit", 50))
        in_parts = player if "prefix" not in query else None
        chosen = list(_chosen(query, found, in_parts))[:limit]
        cursor = _cursor(chosen[-1], in_parts) if len(chosen) == limit else None
        late = self.time.before(self.slack)
        return Expected(200, body={"games": [game.summary(late) for game in chosen], "next": cursor})

    def _by_deadline(self, query: dict[str, str], found: list[NaiveGame], player: str) -> Expected:
        """The first page: the player's games, then invitations, the earliest deadline first."""
        late = self.time.before(self.slack)
        found = sorted(found, key=lambda game: (_part(game, player), game.time.listed or "~", game.game))
        chosen = found[: int(query.get("limit", 50))]
        return Expected(200, body={"games": [game.summary(late) for game in chosen]})


def _part(game: NaiveGame, player: str) -> int:
    """The part of a player's list in which a game stands: those that go on, invitations, those that are over."""
    if game.status in ("finished", "cancelled"):
        return 2
    return 1 if game.status == "open" and game.names[0] != player else 0


def _cursor(game: NaiveGame, player: str | None) -> str:
    place = f"{game.created}~{game.game}"
    return place if player is None else f"{place}~{_part(game, player)}"


def _chosen(query: dict[str, str], found: list[NaiveGame], player: str | None) -> Iterator[NaiveGame]:
    created, name, *part = query["after"].split("~") if "after" in query else ("", "")
    for game in found:
        if query.get("status", game.status) != game.status or not game.game.startswith(query.get("prefix", "")):
            continue
        place = (0 if player is None else -_part(game, player), game.created, game.game)
        if "after" not in query or place < (-int(*part or "0"), created, name):
            yield game


def _read_submission(raw: bytes) -> tuple[str, str, list[Object], Object]:
    value = json.loads(raw)
    if set(value) - {"entry", "sig", "opening"}:
        raise ValueError("a key too many")
    text, sig, openings = value["entry"], value["sig"], value.get("opening", [])
    entry: Any = json.loads(text, parse_float=_no_fraction)
    if log.canonical(entry) != text or set(entry) != {"at", "body", "by", "game", "kind", "prev", "seen", "seq", "v"}:
        raise ValueError("not the one form")
    places = [(each["seq"], each["part"]) for each in openings]
    if places != sorted(set(places)):
        raise ValueError("openings out of order")
    return text, sig, openings, entry


def _no_fraction(text: str) -> None:
    raise ValueError(text)


def _repeat(game: NaiveGame, entry: Object, text: str, sig: str) -> Expected:
    at = entry["seq"]
    if _ended_instead(game, entry, json.loads(game.texts[at])):
        return refused(409, "time-over", game)
    if game.texts[at] != text or entry["by"] == "server":
        return refused(409, "conflict", game)
    key = game.key_at(game.names.index(entry["by"]), at)
    assert key is not None
    if not log.signature_holds(key, "hkoji.entry.v1", text, sig):
        return refused(403, "bad-signature")
    last = at + 1
    while last < len(game.texts) and json.loads(game.texts[last])["by"] == "server":
        last += 1
    return Expected(200, lines=lines_of(game, at)[: last - at])


def _ended_instead(game: NaiveGame, entry: Object, there: Object) -> bool:
    """Whether the log has what the author's delay has brought."""
    if there["kind"] == "timeout":
        return entry["kind"] in ("seed", "move") and entry["by"] == game.names[there["body"]["seat"]]
    return bool(there["kind"] == "lapse" and entry["kind"] == "join")


def _text(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
