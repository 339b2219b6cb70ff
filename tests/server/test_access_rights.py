"""Access rights: every cell of the table in roles.txt is tested, and the table has every endpoint of the API's
document."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from hkoji_server.service.players.channel_settings import ChannelSettings
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji import referee
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_annul
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_registration
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.loops import run
from tests.support.receiver import Receiver, receiver
from tests.support.rows import a_kept_channel, replace
from tests.support.service import Answer, Player, begin, offer_of
from tests.support.service_in_process import Inside, inside
from tests.support.stores import sqlite_at

TABLE: Final = Path(__file__).with_name("roles.txt")
HOLDS: Final = ("public", "hand", "problem", "token", "nothing", "talk")
UNDOCUMENTED: Final = {
    *("/", "/check", "/g/{game}", "/i/{game}", "/me", "/p/{name}", "/rules/{ruleset}"),
    *("/static/{hash}/{name:path}", "/sw.js", "/openapi.json"),
}
"""The application's answers besides its API: pages, which everybody gets alike, and the API's documentation."""


class Cell(NamedTuple):
    """The result for a role at an endpoint."""

    method: str
    path: str
    role: str
    status: int
    holds: str


def cells(text: str) -> list[Cell]:
    """The table's cells, row by row."""
    rows = [re.split(r"\s{2,}", row.strip()) for row in text.splitlines() if row and not row.startswith("#")]
    (_, *roles), *rest = rows
    found = []
    for row in rest:
        # A method shorter than four letters has two spaces after it.
        method, path, *given = row if "/" not in row[0] else [*row[0].split(), *row[1:]]
        assert len(given) == len(roles), row
        for role, cell in zip(roles, given, strict=True):
            status, holds = cell.split()
            assert holds in HOLDS, row
            found.append(Cell(method, path, role, int(status), holds))
    return found


CELLS: Final = cells(TABLE.read_text())
ROLES: Final = tuple(dict.fromkeys(cell.role for cell in CELLS))
REVEALED: Final = {"owner": "host", "opponent": "guest", "expired": "host", "left": "host", "revoked": "host"}
"""The players whose cards a role may be shown where the table says `hand`."""


@dataclass
class Hall:
    """A service with its players, and the secrets of each."""

    service: Inside
    hook: Receiver
    store: SqliteStore
    """Another store on the service's database."""
    witness: sqlite3.Connection
    """A connection that only reads the service's database."""
    games: int = 0

    def changes(self) -> int:
        """A number that is another one once somebody has changed anything in the database."""
        return int(self.witness.execute("PRAGMA data_version").fetchone()[0])

    def player(self, name: str) -> Player:
        """A registered player who is logged in."""
        key = PrivateKey.from_seed(name.encode().ljust(32, b"."))
        return Player(self.service, name, key, name.encode().hex().ljust(64, "0")).register()

    def seat(self) -> tuple[Player, Player, str]:
        """A new game in which both have a card face down and the host must move."""
        self.games += 1
        host, guest = self.player(f"host{self.games}"), self.player(f"guest{self.games}")
        game = begin(host, guest, Hanamikoji())
        for player in (host, guest):
            course = player.course(game)
            hand = str(course.state.to_json()["hands"][player is guest])  # type: ignore[index] # JSON
            assert player.send(player.make_move(course, f"1{hand[0]}")).status == 201
        return host, guest, game


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    folder = tmp_path_factory.mktemp("roles") / "data"
    file = folder / "hkoji.sqlite3"
    with (
        inside(folder, seed="roles", webhook_private=True, mail="play@hkoji.example") as service,
        receiver() as hook,
        sqlite_at(file) as store,
        closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as witness,
    ):
        yield Hall(service, hook, store, witness)


@dataclass
class Visit:
    """A role in a new game: who asks with which token, and the secrets."""

    hall: Hall
    role: str

    def __post_init__(self) -> None:
        service = self.hall.service
        self.host, self.guest, self.game = self.hall.seat()
        number = self.hall.games
        self.course = self.host.course(self.game)
        self.stranger = self.hall.player(f"stranger{number}")
        self.nobody = Player(service, f"nobody{number}", PrivateKey.from_seed(b"n" * 28 + f"{number:04}".encode()))
        self.me = {"opponent": self.guest, "stranger": self.stranger, "spectator": self.nobody}.get(
            self.role, self.host
        )
        self.token: str | None = self.me.token or None
        said = self.host.saying(self.game, f"a word between two players: {number}")
        assert self.host.ask(f"/v1/games/{self.game}/talk", said, self.host.token).status == 201
        self.said = said["text"].partition('"text":"')[2].partition('"')[0]
        self.tokens = [each.token for each in (self.host, self.guest, self.stranger)]
        self.code = f"code{number:06}"
        self.address = f"http://127.0.0.1:{self.hall.hook.port}/secret{number:06}"
        self.channels = {state: f"{number:08x}{state:>08}" for state in ("0", "1")}
        self._add_channels()
        if self.role == "expired":
            service.clock.pass_by(25 * 3600)
        elif self.role == "revoked":
            assert self.host.ask(f"/v1/players/{self.host.name}/revocation", self.host.revoking()).status == 200
        elif self.role == "left":
            assert service.ask("POST", "/v1/logout", token=self.token).status == 204

    def _add_channels(self) -> None:
        """Gives the owner a channel that waits for its code, and one that is confirmed."""
        at, settings = self.hall.service.clock().strftime("%Y-%m-%dT%H:%M:%SZ"), ChannelSettings().text
        waits = a_kept_channel(
            self.channels["0"], self.host.name, "webhook", self.address, ("turn",), settings, at,
            code=sha256(self.code.encode()).hexdigest(),
        )  # fmt: skip
        works = replace(waits, id=self.channels["1"], target=f"{self.address}/1", confirmed=at, code=None)
        assert all(run(self.hall.store.add_channel(each)) for each in (waits, works))

    def ask(self, method: str, path: str) -> Answer:
        """The request of a cell."""
        channel = self.channels["0" if path.endswith("/confirm") else "1"]
        address = path.format(name=self.host.name, game=self.game, number=1, channel=channel, token="a" * 26)
        if path.endswith("/events"):
            address += "?wait=0"  # only past events
        elif path == "/v1/service/proof":
            address += f"?nonce={'0' * 64}"
        if method != "POST":
            chosen = {"invites": "nobody"} if path == "/v1/me/settings" and method == "PUT" else None
            return self.hall.service.ask(method, address, chosen, self.token)
        body: Any = None
        match path:
            case "/v1/players":
                body = self._registration()
            case "/v1/login":
                text = self.hall.service.ask("POST", "/v1/login/challenge").json["text"]
                body = {"name": self.me.name, "text": text, "sig": self.me.signed(text, sshsig.LOGIN)}
            case "/v1/players/{name}/key":
                body = self.me.rekeying(self._new_key(), name=self.host.name)
            case "/v1/players/{name}/revocation":
                body = self.me.revoking(name=self.host.name)
            case "/v1/players/{name}/recovery":
                body = self.me.recovering(self._new_key(), "0" * 40, name=self.host.name)
            case "/v1/games/{game}/recovery":
                body = {"proof": encode_base64(self.me.proof(self.course, self._new_key(), self.me.key))}
            case "/v1/games/{game}/decline":
                body = {"why": "later"}
            case "/v1/games/{game}/statements":
                statement = make_annul(game=self.game, head=self.course.head, name=self.me.name)
                sig = self.me.signed(statement.text, sshsig.ANNUL)
                body = {"head": self.course.head, "kind": "annul", "name": self.me.name, "sig": sig}
            case "/v1/games/{game}/talk":
                body = self.me.saying(self.game, "hello")
            case "/v1/invitations":
                body = {"address": f"friend-of-{self.me.name}@example.org", "name": f"friend-of-{self.me.name}"}
            case "/v1/offers":
                body = offer_of()
            case "/v1/me/channels":
                target = f"http://127.0.0.1:{self.hall.hook.port}/{self.me.name}"
                body = {"kind": "webhook", "target": target, "settings": ChannelSettings().to_json()}
            case "/v1/me/channels/{channel}/confirm":
                body = {"code": self.code}
            case "/v1/games/{game}/entries":
                # The seat that owes the move hides cards with it; the others try one that hides none.
                legal = self.course.state.legal_actions()
                hiding = [action for action in legal if self.course.setup.ruleset.hidden(action)]
                action = hiding[0] if self.me is self.host else next(each for each in legal if each not in hiding)
                body = self.me.make_move(self.course, action).to_json()
        return self.hall.service.ask("POST", address, body, self.token)

    def _new_key(self) -> PrivateKey:
        return PrivateKey.from_seed(f"{self.me.name} {self.hall.games}".encode().ljust(32, b"."))

    def _registration(self) -> dict[str, str]:
        statement = make_registration(
            at="2026-11-20T12:00:00Z", key=self.me.key.public, name=self.me.name, origin="http://inside"
        )
        return {"text": statement.text, "sig": self.me.signed(statement.text, sshsig.REGISTER)}

    def secrets(self) -> dict[str, set[str]]:
        """All secrets, by their owner."""
        history, identity = run(self.hall.store.history(self.game)), run(self.hall.store.identity())
        assert history
        assert identity
        assert history.secrets.seed is not None
        course = referee.resume(history.lines, history.secrets.seed, history.secrets.openings).course
        salts = {(opening.seq, opening.part): opening.salt for opening in history.secrets.openings}
        hands: Any = course.state.to_json()["hands"]
        found = {"service": {history.secrets.seed, course.state.deck, *identity[0].splitlines()[1:-1]}}
        for seat, name in enumerate(("host", "guest")):
            own = {salts[card.seq, card.part] for card in course.face_down if card.seat == seat}
            assert own
            found[name] = {hands[seat], *(cards[seat] for cards in course.dealt), *own}
        found["both"] = {self.said}
        found["host's channels"] = {self.code, self.address}
        logins = {"host": self.tokens[0], "guest": self.tokens[1], "stranger": self.tokens[2]}
        return {**found, **{f"{name}'s login": {token} for name, token in logins.items()}}


def held(text: str, secrets: dict[str, set[str]]) -> set[str]:
    """The owners of the secrets in a text."""
    return {whose for whose, them in secrets.items() if any(each in text for each in them)}


# --- the table is whole -----------------------------------------------------------------------------------------------


def operations(document: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Methods and paths of the API's document."""
    return ((method.upper(), path) for path, found in document["paths"].items() for method in found)


def test_every_endpoint_is_in_the_table(hall: Hall) -> None:
    document = hall.service.ask("GET", "/openapi.json").json
    rows = [(cell.method, cell.path) for cell in CELLS[:: len(ROLES)]]
    assert sorted(rows) == sorted(operations(document))
    assert {"owner", "opponent", "spectator", "stranger", "expired", "revoked"} <= set(ROLES)


def test_the_application_answers_nothing_that_is_in_no_document(hall: Hall) -> None:
    document = hall.service.ask("GET", "/openapi.json").json
    app = hall.service.app
    found = set(app.plain.paths) | set(_paths(app.api.routes))
    assert found >= set(document["paths"])
    assert found - set(document["paths"]) == UNDOCUMENTED


def _paths(routes: Iterable[Any], prefix: str = "") -> Iterator[str]:
    for route in routes:
        inner = getattr(route, "routes", None) or getattr(getattr(route, "original_router", None), "routes", None)
        if inner:
            yield from _paths(inner, prefix)
        elif path := getattr(route, "path", None):
            yield prefix + path


def test_a_table_that_lacks_something_is_found() -> None:
    """The check above fails if a new endpoint, or a new method of an old one, is missing in the table."""
    rows = {(cell.method, cell.path) for cell in CELLS}
    paths: dict[str, dict[str, object]] = {}
    for method, path in rows:
        paths.setdefault(path, {})[method.lower()] = {}
    assert set(operations({"paths": paths})) == rows
    assert set(operations({"paths": {**paths, "/v1/hands/{game}": {"get": {}}}})) != rows
    assert set(operations({"paths": {**paths, "/healthz": {"get": {}, "delete": {}}}})) != rows


# --- the service does what the table says -----------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
def test_everybody_gets_what_the_table_says(hall: Hall, role: str) -> None:
    document = hall.service.ask("GET", "/openapi.json").json
    visit: Visit | None = None
    for cell in (each for each in CELLS if each.role == role):
        if visit is None:
            visit = Visit(hall, role)
            secrets = visit.secrets()
        before = hall.changes()
        answer = visit.ask(cell.method, cell.path)
        assert answer.status == cell.status, (cell, answer)
        assert str(answer.status) in document["paths"][cell.path][cell.method.lower()]["responses"], cell
        text = answer.body.decode() + str(sorted(answer.headers.items()))
        allowed = {REVEALED[role]} if cell.holds == "hand" else set()
        if cell.holds == "talk" and cell.method == "GET":
            allowed = {"both"}
        assert held(text, secrets) == allowed, cell
        if cell.holds == "problem":
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json["status"] == cell.status
        if cell.holds == "token":
            # The token is a new one, and it belongs to the player who asked.
            mine = hall.service.ask("GET", "/v1/me/games", token=answer.json["token"])
            assert mine.status == 200
            assert [game["game"] for game in mine.json["games"]] == ([visit.game] if role != "stranger" else [])
        if cell.holds == "nothing":
            assert answer.body == b""
            left = cell.path == "/v1/logout"
            assert hall.service.ask("GET", "/v1/me/games", token=visit.token).status == (401 if left else 200)
        if hall.changes() != before:
            visit = None
