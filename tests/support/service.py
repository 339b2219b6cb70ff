"""A real service process on a loopback port, and players that speak plain HTTP to it."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.course import Course
from hkoji.game.replay import replay_own
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_gift
from hkoji.log.line import Line, make_entry, parse_log, sign_entry
from hkoji.log.link_key import make_link_statement
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import (
    make_new_key,
    make_recovery,
    make_registration,
    make_revocation,
    parse_login,
    parse_view,
    proof_message,
)
from hkoji.log.talk import NOTHING_SEEN, make_talk
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from tests.support.forked import ForkedProcess
from tests.support.new_database import copy_new_database

AT = "2026-11-20T12:00:00Z"
HKOJI = Path(sys.executable).with_name("hkoji")


UNLIMITED: dict[str, Any] = {  # Any: settings by name
    "limit_address": "off",
    "limit_player": "off",
    "limit_registrations": "off",
    "daily_offers": "0",
    "daily_offers_of_new": "0",
    "max_address_connections": "0",
    "max_address_waiting": "0",
}
"""Settings of a service without limits for an address or a player: all clients of a test have the same address."""
_NONE: Mapping[str, str] = MappingProxyType({})
UNLIMITED_ENVIRONMENT = {f"HKOJI_SERVER_{name.upper()}": value for name, value in UNLIMITED.items()}


class Answer(NamedTuple):
    """An answer of the service."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # Any: JSON
        return json.loads(self.body)


class Asked(Protocol):
    """A service that answers requests: a process, or an application called directly."""

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        """One request."""


def ask(
    port: int, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
) -> Answer:  # Any: JSON
    """One request to a service on this machine, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        connection.request(method, path, raw if raw is not None else json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


@dataclass
class Service:
    """A running service."""

    process: subprocess.Popen[str] | ForkedProcess
    url: str
    data: Path
    log: Path
    database: str | None = None
    """The URL of a PostgreSQL database, if the data is there and not in `data`."""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, raw: bytes | None = None
    ) -> Answer:  # Any: JSON
        """One request on a connection of its own."""
        return ask(self.port, method, path, body, token, raw)

    def said(self) -> list[str]:
        """The whole lines of its log so far; the last one may still be half written."""
        return [line for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def stop(self) -> int:
        """Asks it to stop, and waits. Returns the exit code."""
        self.process.terminate()
        return self.process.wait(300)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(300)


def start(
    data: Path,
    *,
    port: int = 0,
    log_level: str = "info",
    program: Sequence[str] = (str(HKOJI),),
    patience: float = 300,
    options: Sequence[str] = (),
    database: str | None = None,
    forked: bool = False,
    prepare: Callable[[], object] | None = None,
    unlimited: bool = True,
    settings: Mapping[str, str] = _NONE,
) -> Service:
    """Starts a service on `data`, which may have been used before; `program` is `hkoji` or one that behaves alike.

    `patience` is the number of seconds the start may take; `options` are further ones of `hkoji serve`. With
    `database`, passed as the documentation tells operators to, `data` is only the place of the server's log.
    `forked` is for tests that need a service but are not about its process: it starts faster (tests/support/forked.py),
    and calls `prepare` before it serves.
    An address has no limits, unless `options` or `settings` (by name) set them or the service is not `unlimited`.
    """
    log = data.parent / f"{data.name}-{secrets.token_hex(4)}.log"
    where = [] if database else ["--data", str(data)]
    words = ["serve", *where, "--port", str(port), "--log-level", log_level, *options]
    env = {**os.environ, "PYTHONUNBUFFERED": "1", **({"HKOJI_DATABASE": database} if database else {})}
    env.update(UNLIMITED_ENVIRONMENT if unlimited else {})
    env.update({f"HKOJI_SERVER_{name.upper()}": value for name, value in settings.items()})
    process: subprocess.Popen[str] | ForkedProcess
    with log.open("w") as stderr:
        if forked:
            if not database:
                copy_new_database(data / "hkoji.sqlite3")
            process = ForkedProcess(words, stderr=log, env=env, daemon="--workers" not in options, prepare=prepare)
        else:
            process = subprocess.Popen([*program, *words], stderr=stderr, text=True, env=env)
    end = time.monotonic() + patience
    while time.monotonic() < end and process.poll() is None:
        for line in log.read_text().splitlines(keepends=True):
            if line.startswith("hkoji is serving on ") and line.endswith("\n"):
                return Service(process, line.split()[4].rstrip(","), data, log, database)
        time.sleep(0.02)
    process.kill()
    raise AssertionError(f"the service did not start: {log.read_text()}")


@contextmanager
def serving(data: Path, **options: Any) -> Iterator[Service]:  # Any: options of `start`
    """A service for the duration of a block."""
    service = start(data, **options)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.stop()


@dataclass
class Player:
    """A player over plain HTTP: signs with `key`, keeps openings, and checks no answer."""

    service: Asked
    name: str
    key: PrivateKey = field(default_factory=lambda: PrivateKey.from_seed(secrets.token_bytes(32)))
    entropy: str = field(default_factory=lambda: secrets.token_hex(32))
    openings: dict[str, list[Opening]] = field(default_factory=dict)
    token: str = ""

    def signed(self, text: str, namespace: str) -> str:
        return encode_base64(self.key.sign(namespace, text.encode() + b"\n"))

    def send_registration(self, code: str | None = None) -> Answer:
        """Sends the registration, always with the same text."""
        statement = make_registration(at=AT, key=self.key.public, name=self.name, origin=self.origin())
        signed = {"text": statement.text, "sig": self.signed(statement.text, sshsig.REGISTER)}
        return self.ask("/v1/players", signed if code is None else {**signed, "code": code})

    def register(self) -> Player:
        answer = self.send_registration()
        assert answer.status in (200, 201), answer
        return self.login()

    def ask(self, path: str, body: dict[str, str], token: str | None = None) -> Answer:
        return self.service.ask("POST", path, body, token)

    def origin(self) -> str:
        return str(self.service.ask("GET", "/v1/service").json["origin"])

    def rekeying(self, new: PrivateKey, **changes: Any) -> dict[str, str]:  # Any: fields by name
        """The request that gives this player another key."""
        fields: dict[str, Any] = {"at": AT, "key": new.public, "name": self.name, "old": self.key.public}
        statement = make_new_key(**{**fields, "origin": self.origin(), **changes})
        return {
            "text": statement.text,
            "sig": encode_base64(new.sign(sshsig.NEW_KEY, statement.message)),
            "old_sig": encode_base64(self.key.sign(sshsig.NEW_KEY, statement.message)),
        }

    def revoking(self, **changes: Any) -> dict[str, str]:  # Any: fields by name
        """The revocation of this player's key, signed with it."""
        fields: dict[str, Any] = {"at": AT, "key": self.key.public, "name": self.name, "origin": self.origin()}
        statement = make_revocation(**{**fields, **changes})
        return {"text": statement.text, "sig": self.signed(statement.text, sshsig.REVOKE)}

    def recovering(self, new: PrivateKey, code: str, **changes: Any) -> dict[str, str]:  # Any: fields by name
        """The request that makes a key this player's by means of a code."""
        fields: dict[str, Any] = {"at": AT, "key": new.public, "name": self.name, "origin": self.origin()}
        statement = make_recovery(**{**fields, **changes})
        sig = encode_base64(new.sign(sshsig.RECOVER, statement.message))
        return {"text": statement.text, "sig": sig, "code": code}

    def proof(self, course: Course, new: PrivateKey, old: PrivateKey) -> bytes:
        """The new key's proof for the next entry of a game."""
        place = {"game": course.setup.game, "prev": course.head, "seq": course.seq + 1, "name": self.name}
        return new.sign(sshsig.REKEY, proof_message(key=new.public, old=old.public, **place))  # type: ignore[arg-type] # by name

    def login(self) -> Player:
        text = self.service.ask("POST", "/v1/login/challenge").json["text"]
        parse_login(text)
        sig = self.signed(text, sshsig.LOGIN)
        self.token = self.service.ask("POST", "/v1/login", {"name": self.name, "text": text, "sig": sig}).json["token"]
        return self

    def lines(self, game: str) -> tuple[Line, ...]:
        return parse_log(self.service.ask("GET", f"/v1/games/{game}/log").body)

    def course(self, game: str) -> Course:
        """The game as this player knows it."""
        lines = self.lines(game)
        shown = self.service.ask("GET", f"/v1/games/{game}/view", token=self.token).json
        view = parse_view(shown["view"]["text"])
        own = replay_own(lines, view.seat, view, self.openings.get(game, []))
        assert own.course is not None
        return own.course

    def entry(
        self, game: str, head: tuple[int, str], content: entry_kinds.EntryBody, seen: str | None = None
    ) -> Submission:
        """An entry for the place after `head`, whose time of record is `seen`: by default the service is asked."""
        entry = make_entry(
            at="2026-11-20T12:00:00Z",
            body=content.to_json(),
            by=self.name,
            game=game,
            kind=content.KIND,
            prev=head[1],
            seen=seen or self.time_of_record(game, head[0]),
            seq=head[0] + 1,
        )
        return Submission(entry, sign_entry(entry, self.key))

    def time_of_record(self, game: str, seq: int) -> str:
        """The time of record of an entry; of one that the log does not have, any time."""
        log = self.service.ask("GET", f"/v1/games/{game}/log?after={seq - 1}")
        lines = parse_log(log.body) if log.status == 200 else ()
        return lines[0].receipt.receipt.at if lines and lines[0].receipt else AT

    def make_move(self, course: Course, action: str) -> Submission:
        game, ruleset, seq = course.setup.game, course.setup.ruleset, course.seq + 1
        groups = ruleset.hidden(action) if course.state.due is Due.ACT else ()
        openings = tuple(Opening(seq, part, g.cards, secrets.token_hex(32)) for part, g in enumerate(groups))
        self.openings.setdefault(game, []).extend(openings)
        shown = ruleset.public(action) if groups else action
        content = entry_kinds.Move(shown, tuple(o.commitment(game) for o in openings))
        submission = self.entry(game, (course.seq, course.head), content)
        return Submission(submission.entry, submission.sig, openings)

    def send(self, submission: Submission) -> Answer:
        return self.service.ask("POST", f"/v1/games/{submission.entry.game}/entries", submission.to_json())

    def gift(self, game: str, head: str, seconds: int) -> dict[str, Any]:  # Any: JSON
        """The request that gives the opponent time at a head."""
        statement = make_gift(game=game, head=head, name=self.name, seconds=seconds)
        sig = self.signed(statement.text, sshsig.GIVE)
        return {"head": head, "kind": "give", "name": self.name, "seconds": seconds, "sig": sig}

    def saying(self, game: str, words: str, **changes: Any) -> dict[str, str]:  # Any: fields by name
        """The request that sends a message to the opponent."""
        fields: dict[str, Any] = {"after": NOTHING_SEEN, "at": AT, "game": game, "name": self.name, "words": words}
        statement = make_talk(**{**fields, **changes})
        return {"text": statement.text, "sig": self.signed(statement.text, sshsig.TALK)}

    def say(self, game: str, words: str, **changes: Any) -> Answer:  # Any: fields by name
        """Sends a message to the opponent."""
        return self.ask(f"/v1/games/{game}/talk", self.saying(game, words, **changes), self.token)

    def give(self, game: str, head: str, seconds: int) -> Answer:
        """Gives the opponent time at a head."""
        return self.service.ask("POST", f"/v1/games/{game}/statements", self.gift(game, head, seconds))

    def offer(self, ruleset: Ruleset | None = None, agreement: Agreement = UNTIMED) -> str:
        answer = self.service.ask("POST", "/v1/offers", offer_of(ruleset, agreement), self.token)
        assert answer.status == 201, answer
        return str(answer.json["game"])

    def sign_by_link(self, link: PrivateKey, game: str, seat: int, **changes: Any) -> bytes:  # Any: fields by name
        """The signature of the link's key for this player's `open` or `join`; `changes` replace fields of it."""
        commit = entropy_commit(game, seat, self.entropy)
        fields = {"entropy_commit": commit, "game": game, "key": self.key.public, "name": self.name}
        said = make_link_statement(**{**fields, "prev": self.head(game)[1], **changes})
        return link.sign(sshsig.JOIN if seat else sshsig.INVITE, said.message)

    def new(
        self,
        ruleset: Ruleset | None = None,
        invite: entry_kinds.Invite | None = None,
        agreement: Agreement = UNTIMED,
        link: PrivateKey | None = None,
    ) -> str:
        game = self.offer(ruleset, agreement)
        commit = entropy_commit(game, 0, self.entropy)
        by_link = entry_kinds.LinkInvite(link.public, self.sign_by_link(link, game, 0)) if link else None
        opened = entry_kinds.Open(commit, self.key.public, by_link or invite)
        answer = self.send(self.entry(game, self.head(game), opened))
        assert answer.status == 201, answer
        return game

    def head(self, game: str) -> tuple[int, str]:
        last = self.lines(game)[-1].entry
        return last.seq, last.head

    def join(self, game: str, link: PrivateKey | None = None) -> None:
        assert self.send_join(game, self.sign_by_link(link, game, 1) if link else None).status == 201

    def send_join(self, game: str, link_sig: bytes | None = None) -> Answer:
        joined = entry_kinds.Join(entropy_commit(game, 1, self.entropy), self.key.public, link_sig)
        return self.send(self.entry(game, self.head(game), joined))

    def seed(self, game: str) -> None:
        assert self.send(self.entry(game, self.head(game), entry_kinds.Seed(self.entropy))).status == 201


def two_players(service: Asked) -> tuple[Player, Player]:
    """Alice and bob, registered."""
    return Player(service, "alice").register(), Player(service, "bob").register()


def offer_of(ruleset: Ruleset | None = None, agreement: Agreement = UNTIMED) -> dict[str, Any]:  # Any: JSON
    """The request for a new game."""
    return {"agreement": agreement.to_json(), "ruleset": (ruleset or Hanamikoji()).to_json()}


def begin(host: Player, guest: Player, ruleset: Ruleset | None = None, agreement: Agreement = UNTIMED) -> str:
    """A game up to its first decision."""
    game = host.new(ruleset, agreement=agreement)
    guest.join(game)
    guest.seed(game)
    host.seed(game)
    return game


def play(host: Player, guest: Player, game: str, moves: int = 1000) -> Course:
    """Plays the first legal move again and again."""
    while True:
        course = host.course(game)
        if course.actor is None or moves == 0:
            return course
        player = (host, guest)[course.actor]
        own = player.course(game)
        legal = own.state.legal_actions()
        answer = player.send(player.make_move(own, legal[(course.seq * 5) % len(legal)]))
        assert answer.status == 201, answer
        moves -= 1
