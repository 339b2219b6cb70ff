"""Target: the service's HTTP application, called directly: every endpoint, as every viewer, with any query and body.

The handlers, the models, the store and the problem documents are the real ones; the HTTP server (uvicorn) is not
included. Nothing may raise, no answer may be a 500, and every refusal is a problem document.
"""

from __future__ import annotations

import atexit
import json
import shutil
from contextlib import ExitStack
from typing import Final, NamedTuple

from hkoji_server.log import configure_logging

from hkoji.game.submission import format_submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_login, make_new_key, make_recovery, make_registration, make_revocation
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.fuzz.of_keys import folder
from tests.lab.fuzz.of_logs import AT, GAME
from tests.lab.fuzz.of_logs import WORDS as LOG_WORDS
from tests.lab.fuzz.target import Target, chosen, split_off
from tests.support.service import Player, begin, play
from tests.support.service_in_process import Inside, inside

_PROBLEM: Final = "application/problem+json"
_AGE: Final = 2000
"""After this many inputs a fresh service is set up, so that accepted data does not fill the memory."""

# The path, where {} is the game that has begun, and the seat that asks (None: nobody).
_REQUESTS: Final = (
    ("POST", "/v1/players", None),
    ("POST", "/v1/login", None),
    ("POST", "/v1/offers", 0),
    ("POST", "/v1/games/{}/entries", None),
    ("GET", "/v1/games?", None),
    ("GET", "/v1/me/games?", 1),
    ("GET", "/v1/games/{}/log?", None),
    ("GET", "/v1/games/{}/view?", 0),
    ("GET", "/v1/games/", None),
    ("GET", "/v1/players/", None),
    ("GET", "/", None),
    ("POST", "/v1/", 1),
    ("POST", "/v1/logout", None),
    ("POST", "/v1/login/challenge", None),
    ("POST", "/v1/players/anna/key", None),
    ("POST", "/v1/players/anna/revocation", None),
    ("POST", "/v1/players/anna/recovery", None),
    ("POST", "/v1/games/{}/recovery", 0),
)


class _World(NamedTuple):
    """A service with a game that has begun, and the players' logins."""

    service: Inside
    game: str
    tokens: tuple[str, str]
    move: bytes


class _Kept:
    """The state between inputs: the current service, its number of requests, and how to end it."""

    world: _World | None = None
    asked = 0
    ends = ExitStack()


def _world() -> _World:
    if _Kept.world is None:
        folder()  # registered first, so it is removed last
        atexit.register(lambda: _Kept.ends.close())  # noqa: PLW0108 # looks up the current one when it runs
    if _Kept.world is None or _Kept.asked >= _AGE:
        _Kept.ends.close()
        _Kept.ends = ExitStack()
        configure_logging("error")
        data = folder() / "service"
        _Kept.ends.callback(shutil.rmtree, data, ignore_errors=True)
        _Kept.world, _Kept.asked = _begun(_Kept.ends.enter_context(inside(data))), 0
    _Kept.asked += 1
    return _Kept.world


def _begun(service: Inside) -> _World:
    players = tuple(
        Player(service, name, PrivateKey.from_seed(name.encode() * 8), name.encode().hex() * 8).register()
        for name in ("anna", "otto")
    )
    game = begin(players[0], players[1])
    course = play(players[0], players[1], game, 2)
    assert course.actor is not None
    actor = players[course.actor]
    own = actor.course(game)
    move = actor.make_move(own, own.state.legal_actions()[0])
    return _World(service, game, (players[0].token, players[1].token), format_submission(move).encode())


def request(data: bytes) -> None:
    """A request: its number, then the rest of the path or the body. `GAME` stands for the game that has begun."""
    number, rest = split_off(data, len(_REQUESTS))
    world = _world()
    method, path, seat = _REQUESTS[number]
    rest = rest.replace(b"GAME", world.game.encode())
    path = path.replace("{}", world.game)
    if method == "GET":
        path += rest.decode("latin-1").replace("#", "")
        rest = b""
    answer = world.service.ask(method, path, raw=rest, token=None if seat is None else world.tokens[seat])
    assert answer.status < 500, answer
    if answer.status >= 400:
        problem = answer.json
        assert answer.headers["content-type"] == _PROBLEM, answer
        assert problem["status"] == answer.status
        assert problem["detail"] or problem["title"]
        assert len(answer.body) < 16384


# --- seeds ------------------------------------------------------------------------------------------------------------


def request_seeds() -> list[bytes]:
    """Requests that succeed, or nearly."""
    world = _world()
    key = PrivateKey.from_seed(b"x" * 32)
    made = make_registration(at=AT, key=key.public, name="carol", origin="http://inside")
    sig = encode_base64(key.sign(sshsig.REGISTER, made.message))
    login = make_login(expires=AT, nonce="0" * 64, origin="http://inside")
    return [
        chosen(0, json.dumps({"text": made.text, "sig": sig})),
        chosen(1, json.dumps({"text": login.text, "sig": "AAAA", "name": "anna"})),
        chosen(2, json.dumps({"ruleset": Hanamikoji().to_json()})),
        chosen(2, json.dumps({"ruleset": GeishasRoad("random", "random").to_json()})),
        chosen(3, world.move.replace(world.game.encode(), b"GAME")),
        chosen(4, "status=playing&player=anna&prefix=abcd&limit=5"),
        chosen(4, f"after={AT}~{GAME}&limit=200"),
        chosen(5, "waiting=true&status=open&limit=1"),
        *(chosen(number, "after=3") for number in (6, 7)),
        *(chosen(8, tail) for tail in ("GAME", "GAME/log?after=-1", "GAME/view", "00/../GAME")),
        *(chosen(9, tail) for tail in ("anna", "nobody", "anna%00", "")),
        *(chosen(10, tail) for tail in ("healthz", "openapi.json", "v1/service", "docs", "v1//games")),
        *(chosen(11, tail) for tail in ("{}", "[1]", "null")),
        chosen(12, ""),
        chosen(13, "x"),
        *_about_keys(),
    ]


def _about_keys() -> list[bytes]:
    old, new = (PrivateKey.from_seed(seed) for seed in (b"anna" * 8, b"y" * 32))
    said = {"at": AT, "name": "anna", "origin": "http://inside"}
    replaced = make_new_key(**said, key=new.public, old=old.public)
    sigs = [encode_base64(key.sign(sshsig.NEW_KEY, replaced.message)) for key in (new, old)]
    revoked = make_revocation(**said, key=old.public)
    recovered = make_recovery(**said, key=new.public)
    return [
        chosen(14, json.dumps({"text": replaced.text, "sig": sigs[0], "old_sig": sigs[1]})),
        chosen(15, json.dumps({"text": revoked.text, "sig": encode_base64(old.sign(sshsig.REVOKE, revoked.message))})),
        chosen(16, json.dumps({"text": recovered.text, "sig": sigs[0], "code": "a code"})),
        chosen(17, json.dumps({"proof": sigs[0]})),
    ]


_WORDS: Final = (
    *('"text":', '"sig":', '"name":', '"ruleset":', '"entry":', '"opening":', "GAME", "limit=", "after=", "status="),
    *("player=", "prefix=", "waiting=", "&", "%00", "%ff", "?", "\\ud800", "\\u0000", "[[[[[[[[", "1e400", "-0", "NaN"),
)
TARGETS: Final = (
    Target("http", "requests to the service", request, request_seeds, 60_000, 4096, (*_WORDS, *LOG_WORDS)),
)
