"""Targets for a client's input: a service's answers, its problem documents, its own files, settings, addresses."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Final

from hkoji import referee
from hkoji.cli.settings import _parse as parse_settings
from hkoji.client import identity
from hkoji.client.answers import problem, read, read_challenge, read_token
from hkoji.client.kept.game import Vault
from hkoji.client.kept.home import Home, Pins
from hkoji.client.service import Service
from hkoji.client.transport import HttpAnswer, Transport
from hkoji.errors import HkojiError, NetworkError
from hkoji.game.agreement import UNTIMED
from hkoji.game.position import read_position
from hkoji.game.replay import find_seat, replay_own, verify_view
from hkoji.game.submission import Submission
from hkoji.log.canonical import encode_base64, is_hex, is_name
from hkoji.log.line import line_to_json
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import make_login, parse_view
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.service_url import parse_url
from tests.lab.fuzz.of_keys import folder
from tests.lab.fuzz.of_logs import AT, GAME
from tests.lab.fuzz.of_logs import WORDS as LOG_WORDS
from tests.lab.fuzz.target import Target, chosen, refusals, split_off, text, told
from tests.support.commands import without_player
from tests.support.table import Table, new_game

URL: Final = "https://service.example"
_STATUS: Final = (200, 201, 400, 401, 403, 404, 409, 413, 422, 429, 500, 503, 302, 418)
_WORDS: Final = (
    *('"game":', '"status":', '"host":', '"guest":', '"invite":', '"to_move":', '"updated":', '"round":', '"ruleset":'),
    *('"games":[', '"next":', '"lines":', '"view":', '"openings":', '"seq":', '"head":', '"text":', '"sig":', '"key":'),
    *('"origin":', '"token":', '"code":', '"detail":', '"hint":', '"parts":', '"values":', '"many":', '"number":'),
    *('"not-your-turn"', '"conflict"', '"game-over"', '"retry_after":', '"actor":', "{name}", "{0}", "{name!r:>9}"),
    *("\\ud800", "null", "-1", "1e999", "NaN", "../..", "{", "}", "[", "]"),
)


class _Told(Transport):
    """A service that gives the same answer to each of a few requests."""

    said = HttpAnswer(200, b"")
    left = 3

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        if not self.left:
            raise NetworkError(self.url, f"{method} {path} {body!r} {token}: no answer")
        self.left -= 1
        return self.said


@cache
def _table() -> Table:
    return new_game(4).play(4)


@cache
def _sent() -> Submission:
    return _table().move(_table().course.state.legal_actions()[0])


def answers(data: bytes) -> None:
    """A service's answer to each of the client's requests; a shown game is replayed as the client would."""
    number, rest = split_off(data, 9)
    which, body = split_off(rest, len(_STATUS))
    transport = _Told(URL)
    transport.said = HttpAnswer(_STATUS[which], body, "https://elsewhere.example")
    service = without_player(transport)
    with refusals():
        match number:
            case 0:
                assert service.describe().key
            case 1:
                make_login(expires=AT, nonce="0" * 64, origin=read(transport.said, read_challenge).origin)
            case 2:
                assert read(transport.said, read_token).isascii()
            case 3:
                assert service.offer(Hanamikoji(), UNTIMED).entry
            case 4:
                for each in service.list_games(prefix="2714"):
                    assert is_hex(each["game"], 32)
                    assert str(each["round"] or "") + (each["updated"] or "")[:16] + each["ruleset"]["name"][:8]
            case 5:
                service.log(GAME)
            case 6:
                _shown(service)
            case 7:
                for line in service.submit(_sent()):
                    assert line.entry.text
            case _:
                service.revoke("alice", "{}", "AAAA")


def _shown(service: Service) -> None:
    shown = service.view(GAME, -1)
    view = parse_view(shown.view.text)
    seat = find_seat(shown.lines, "bob", {_table().keys[1].public})
    if not shown.lines or seat is None:
        return
    result = replay_own(shown.lines, seat, view, shown.openings)
    assert len(result.steps) == len(shown.lines)
    read_position(result, seat)
    verify_view(view, result.steps[-1].course, seat)


def problems(data: bytes) -> None:
    """A problem document, which becomes an error that can be shown."""
    which, body = split_off(data, len(_STATUS))
    error = problem(HttpAnswer(_STATUS[which], body, text(body)[:99]))
    assert isinstance(error, HkojiError)
    told(error)
    assert len(str(error)) + len(error.hint) < 4000


# --- own files --------------------------------------------------------------------------------------------------------


def home_files(data: bytes) -> None:
    """The files of a player and of a game, with any content."""
    number, rest = split_off(data, 9)
    home = Home(folder() / "player")
    vault = Vault(home.game_folder(GAME))
    file = _files(home)[number]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(rest)
    try:
        for read in _READERS[number]:
            with refusals():
                read(home, vault)
    finally:
        file.unlink()


def _files(home: Home) -> tuple[Path, ...]:
    game = home.game_folder(GAME)
    names = ("config.json", "pins.json", "tokens.json", "new.json")
    kept = ("secrets.json", "outbox.signed", "view.json", "log.jsonl", "lock")
    return (*(home.path / name for name in names), *(game / name for name in kept))


def _pins(home: Home) -> Pins:
    return Pins(home, URL, lambda _: None)


def _config(home: Home, _: Vault) -> None:
    read = identity.load(home)
    assert is_name(read.name)
    assert read.own.file.name


def _server_key(home: Home, _: Vault) -> None:
    key = _pins(home).server_key
    assert key is None or isinstance(key, PublicKey)


def _origin(home: Home, _: Vault) -> None:
    origin = _pins(home).origin
    assert origin is None or isinstance(origin, str)


def _players(home: Home, _: Vault) -> None:
    for name, key in _pins(home).players.items():
        assert name + key.text


def _pinned(home: Home, _: Vault) -> None:
    _pins(home).pin_origin(URL)


def _token(home: Home, _: Vault) -> None:
    home.token(URL)


def _started(home: Home, _: Vault) -> None:
    game = home.started().pop("game", None)
    assert game is None or is_hex(game, 32)


def _secrets(_: Home, vault: Vault) -> None:
    assert vault.server is None or isinstance(vault.server, str)


def _entropy(_: Home, vault: Vault) -> None:
    entropy = vault.entropy(0, "00" * 32)
    assert entropy is None


def _openings(_: Home, vault: Vault) -> None:
    assert isinstance(vault.openings(), tuple)


def _signed(_: Home, vault: Vault) -> None:
    assert all(isinstance(each, str) for each in vault.signed(3))


def _outbox(_: Home, vault: Vault) -> None:
    pending = vault.outbox()
    assert pending is None or pending.entry.seq >= 0
    assert isinstance(vault.openings(), tuple)


def _view(_: Home, vault: Vault) -> None:
    vault.view()


def _log(_: Home, vault: Vault) -> None:
    vault.lines()


_READERS: Final = (
    (_config,),
    (_server_key, _origin, _players, _pinned),
    (_token,),
    (_started,),
    (_secrets, _entropy, _openings, _signed),
    (_outbox,),
    (_view,),
    (_log,),
    (_secrets,),
)


def settings(data: bytes) -> None:
    """The settings file."""
    with refusals():
        assert set(parse_settings(Path("settings.toml"), data)) <= {"lang", "deck"}


def address(data: bytes) -> None:
    """A server's address: one that is accepted is in its canonical form."""
    with refusals():
        url = parse_url(text(data))
        assert parse_url(url) == url
        assert Transport(url).url == url


# --- seeds ------------------------------------------------------------------------------------------------------------


def _good_answers() -> list[tuple[int, object]]:
    """The answers of an honest service: which request, and the JSON."""
    table = _table()
    lines = [line_to_json(line) for line in table.lines]
    view = referee.view(table.refereed, 1)
    sig = encode_base64(table.server.sign("hkoji.view.v1", view.message))
    summary = {
        "game": table.game,
        "status": "playing",
        "host": "alice",
        "guest": "bob",
        "invite": None,
        "seq": 8,
        "head": table.course.head,
        "round": 1,
        "actor": 0,
        "to_move": "alice",
        "created": AT,
        "updated": AT,
        "ruleset": Hanamikoji().to_json(),
        "result": None,
    }
    shown = {"game": table.game, "seat": 1, "seq": table.course.seq, "head": table.course.head, "lines": lines}
    openings = [each.to_json() for each in referee.own_openings(table.refereed, 1)]
    login = make_login(expires=AT, nonce="0" * 64, origin=URL)
    return [
        (0, {"name": "hkoji", "key": table.server.public.text, "origin": URL}),
        (1, {"text": login.text}),
        (2, {"token": "abc-DEF_123", "expires": AT}),
        (3, {"game": table.game, "line": lines[0]}),
        (4, {"games": [summary], "next": None}),
        (4, {"games": [summary], "next": f"{AT}~{table.game}"}),
        (6, {**shown, "view": {"text": view.text, "sig": sig}, "openings": openings}),
        (7, {"lines": lines[-1:]}),
    ]


def answer_seeds() -> list[bytes]:
    """Good answers, a log, and a problem."""
    log = _table().text.encode()[:4000]
    good = [chosen(number, chosen(0, json.dumps(value))) for number, value in _good_answers()]
    return [*good, chosen(5, chosen(0, log)), chosen(8, chosen(2, b'{"code":"malformed","detail":"no","status":400}'))]


def problem_seeds() -> list[bytes]:
    """The service's own problems."""
    told_parts = {"text": "{n} round dealt from the seed", "many": "{n} rounds dealt from the seed", "number": 2}
    detail = {"text": "no {what} {name!r}", "values": {"what": {"english": "game", "text": "game", "values": {}}}}
    return [
        chosen(6, json.dumps({"code": "conflict", "game": GAME, "seq": 7, "head": "9f" * 32, "detail": "gone on"})),
        chosen(6, json.dumps({"code": "not-your-turn", "actor": 0, "detail": "wait", "hint": "wait"})),
        chosen(6, json.dumps({"code": "game-over", "game": GAME})),
        chosen(9, json.dumps({"code": "too-many-requests", "retry_after": 30})),
        chosen(5, json.dumps({"code": "not-found", "detail": "no game", "parts": {"detail": detail}})),
        chosen(
            2, json.dumps({"detail": "2 rounds", "hint": "x", "parts": {"hint": {**told_parts, "values": {"n": 2}}}})
        ),
        chosen(12, "{}"),
    ]


def home_seeds() -> list[bytes]:
    """Unchanged files."""
    table = _table()
    key = table.server.public.text
    opening = table.refereed.openings[0].to_json() if table.refereed.openings else {}
    sent = {**_sent().to_json()}
    return [
        chosen(0, json.dumps({"name": "alice", "key": key, "key_file": "id_ed25519", "server": URL})),
        chosen(1, json.dumps({URL: {"key": key, "origin": URL, "players": {"bob": key}}, "http://b": {"origin": "x"}})),
        chosen(2, json.dumps({URL: "token"})),
        chosen(
            3, json.dumps({"server": URL, "ruleset": Hanamikoji().to_json(), "invite": ["bob", None], "game": GAME})
        ),
        chosen(4, json.dumps({"server": URL, "entropy": ["ab" * 32], "openings": [opening], "signed": {"3": ["{}"]}})),
        chosen(5, json.dumps(sent) + "\n"),
        chosen(6, json.dumps({"text": referee.view(table.refereed, 0).text, "sig": "AAAA"})),
        chosen(7, table.text[:3000]),
    ]


def settings_seeds() -> list[bytes]:
    """A settings file, and other TOML."""
    return [b'lang = "it"\ndeck = "everdeck"\n', b"# nothing\n", b"[a.b]\nc = [1, 2.5, 1979-05-27T07:32:00Z]\n"]


def address_seeds() -> list[bytes]:
    """Addresses."""
    return [b"https://hanamikoji.example/play", b"http://127.0.0.1:8000", b"http://[::1]:80/", b"https://H.example:443"]


_TOML: Final = ("lang", "deck", " = ", '"it"', "'''", '"""', "[", "]", "[[", "{", "}", "\\u0000", "1979-05-27", "inf")
_URL: Final = ("http://", "https://", "[::1]", ":80", ":443", "@", "?", "#", "%2f", "//", "..", "xn--", "\u2100")
TARGETS: Final = (
    Target("answer", "a service's answers", answers, answer_seeds, 300_000, 16384, (*_WORDS, *LOG_WORDS)),
    Target("problem", "problem documents", problems, problem_seeds, 300_000, 1024, _WORDS),
    Target("home", "a player's own files", home_files, home_seeds, 200_000, 4096, (*_WORDS, *LOG_WORDS)),
    Target("settings", "the settings file", settings, settings_seeds, 200_000, 512, _TOML),
    Target("address", "servers' addresses", address, address_seeds, 300_000, 256, _URL),
)
