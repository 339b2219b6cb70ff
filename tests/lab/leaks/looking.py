"""A viewer of a story in one world, and the probes that only look: views, logs, events, lists, what does not exist."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Seat
from tests.lab.leaks.asides import choice_of
from tests.lab.leaks.stories import SEATS_OF
from tests.lab.leaks.telling import Person, Telling
from tests.lab.leaks.worlds import Request

FOREIGN: Final = PrivateKey.from_seed(b"nobody's key, to sign badly with")


@dataclass
class Eye:
    """A viewer of a story in one world, at one moment.

    Everything but the hashes is the same in every world of that viewer.
    """

    telling: Telling
    viewer: str
    legal: tuple[str, ...]
    """The viewer's own legal actions; empty when another seat decides."""
    tried: tuple[str, ...]
    """Actions to try: those seen in this game."""
    expired: str
    """A token that has expired."""
    past: str
    """A game that has ended."""

    @property
    def seat(self) -> Seat | None:
        return SEATS_OF[self.viewer]

    @property
    def me(self) -> Person:
        found = {"host": self.telling.host, "guest": self.telling.guest, "outside": self.telling.stranger}
        return found[self.viewer]

    @property
    def game(self) -> str:
        return self.telling.game

    @property
    def token(self) -> str:
        return self.me.token


Probe = Callable[[Eye, random.Random], Request]


def own_view(eye: Eye, chance: random.Random) -> Request:
    after = f"?after={chance.randint(-1, eye.telling.seq + 1)}" if chance.random() < 0.5 else ""
    return Request("view", "GET", f"/v1/games/{eye.game}/view{after}", eye.token)


def spectate(eye: Eye, chance: random.Random) -> Request:
    return Request("game", "GET", f"/v1/games/{eye.game}", chance.choice((None, eye.token)))


def log(eye: Eye, chance: random.Random) -> Request:
    after = f"?after={chance.randint(-1, eye.telling.seq + 1)}" if chance.random() < 0.5 else ""
    return Request("log", "GET", f"/v1/games/{eye.game}/log{after}", chance.choice((None, eye.token)))


def game_or_log(eye: Eye, chance: random.Random) -> Request:
    return spectate(eye, chance) if chance.random() < 0.5 else log(eye, chance)


def events(eye: Eye, chance: random.Random) -> Request:
    """Asks for a stream of past events: of one game, or of all the viewer's games since some place."""
    token = chance.choice((None, eye.token))
    after = f"&after={chance.randint(-1, eye.telling.seq + 2)}" if chance.random() < 0.5 else ""
    place = chance.choice(("", "-1", str(eye.telling.seq), "x", "2026-11-20T12:00:00Z~", "2026-01-01T00:00:00Z~AAAA"))
    headers = (("last-event-id", place),) if place else ()
    if chance.random() < 0.5:
        return Request("events", "GET", f"/v1/games/{eye.game}/events?wait=0{after}", token, b"", headers)
    return Request("own events", "GET", "/v1/events?wait=0", token, b"", headers)


def log_unchanged(eye: Eye, chance: random.Random) -> Request:
    known = chance.choice((f'"{eye.telling.head}"', '"0"', "*", f'W/"{eye.telling.head}"'))
    headers = (("if-none-match", known),)
    return Request("log, if none match", "GET", f"/v1/games/{eye.game}/log", None, b"", headers)


def view_of_nobody(eye: Eye, chance: random.Random) -> Request:
    token = chance.choice((None, "0" * 64, eye.expired, eye.token[:-1], eye.token.upper() + "x"))
    return Request("view without a login", "GET", f"/v1/games/{eye.game}/view", token)


def games(eye: Eye, chance: random.Random) -> Request:
    telling = eye.telling
    queries = (
        f"limit={chance.randint(1, 9)}",
        f"player={chance.choice((telling.host.name, telling.guest.name))}",
        f"prefix={eye.game[: chance.randint(4, 32)]}",
        f"status={chance.choice(('open', 'playing', 'finished', 'cancelled'))}&limit=20",
        f"after=2026-11-2{chance.randrange(10)}T00:00:00Z~{eye.game}&limit=3",
        f"limit={chance.choice(('0', '201', 'x'))}",
    )
    return Request("games", "GET", f"/v1/games?{chance.choice(queries)}", chance.choice((None, eye.token)))


def own_games(eye: Eye, chance: random.Random) -> Request:
    query = chance.choice(
        (
            "",
            "?waiting=true",
            "?waiting=true&order=deadline",
            "?waiting=true&order=deadline&limit=1",
            "?order=deadline",
            "?waiting=false&limit=1",
            "?status=playing",
            "?status=finished",
        )
    )
    return Request("own games", "GET", f"/v1/me/games{query}", chance.choice((eye.token, eye.token, None, eye.expired)))


def open_games(eye: Eye, chance: random.Random) -> Request:
    filters = chance.choice(
        (
            "joinable=true",
            "joinable=true&clock=days",
            "joinable=true&clock=slow&limit=2",
            "rated=true",
            "rated=false&clock=fast",
            "ruleset=hanamikoji",
            "ruleset=geishas-road&joinable=true",
            "clock=none",
        )
    )
    return Request("open games", "GET", f"/v1/games?status=open&{filters}", chance.choice((None, eye.token)))


def choices(eye: Eye, chance: random.Random) -> Request:
    """Settings that a player may change, without an effect on the games of the scene."""
    name = chance.choice(("nobody", "No-Name"))
    method, path, body = chance.choice(
        (
            ("GET", "/v1/me/settings", b""),
            ("PUT", "/v1/me/settings", choice_of(eye.telling, eye.me)),
            ("PUT", "/v1/me/settings", b'{"invites":"nobody","known":["x!"]}'),
            ("GET", "/v1/me/blocks", b""),
            ("PUT", f"/v1/me/blocks/{name}", b""),
            ("DELETE", f"/v1/me/blocks/{name}", b""),
        )
    )
    return Request("choices", method, path, chance.choice((eye.token, eye.token, None)), body)


def past(eye: Eye, chance: random.Random) -> Request:
    path = f"/v1/games/{eye.past}{chance.choice(('', '/log', '/view'))}"
    return Request("a game that is over", "GET", path, eye.token)


def player(eye: Eye, chance: random.Random) -> Request:
    name = chance.choice((eye.telling.host.name, eye.telling.guest.name, "nobody", "No-Name"))
    return Request("player", "GET", f"/v1/players/{name}", chance.choice((None, eye.token)))


def service(_: Eye, chance: random.Random) -> Request:
    proof = f"/v1/service/proof?nonce={chance.randbytes(32).hex()}"
    return Request("service", "GET", chance.choice(("/v1/service", proof, "/healthz", "/readyz")))


def nowhere(eye: Eye, chance: random.Random) -> Request:
    paths = (
        ("GET", f"/v1/games/{eye.game}/nothing"),
        ("GET", f"/v1/games/{'0' * 32}"),
        ("GET", f"/v1/games/{'0' * 32}/view"),
        ("GET", f"/v1/games/{'0' * 32}/log"),
        ("GET", f"/v1/games/{eye.game[:31]}/view"),
        ("GET", f"/v1/games/{eye.game}/view?after=x"),
        ("GET", f"/v1/games/{eye.game}/log?after=-2"),
        ("GET", f"/v1/games/{eye.game}/entries"),
        ("DELETE", f"/v1/games/{eye.game}"),
        ("PUT", f"/v1/games/{eye.game}/view"),
        ("OPTIONS", f"/v1/games/{eye.game}/view"),
        ("HEAD", f"/v1/games/{eye.game}/log"),
        ("HEAD", f"/v1/games/{eye.game}/view"),
    )
    method, path = chance.choice(paths)
    return Request("nothing there", method, path, eye.token)


# --- time -------------------------------------------------------------------------------------------------------------


def clock(eye: Eye, chance: random.Random) -> Request:
    return Request("clock", "GET", f"/v1/games/{eye.game}/clock", chance.choice((None, eye.token)))


def signed_head(eye: Eye, chance: random.Random) -> Request:
    return Request("head", "GET", f"/v1/games/{eye.game}/head", chance.choice((None, eye.token)))


def finished_games(eye: Eye, chance: random.Random) -> Request:
    query = chance.choice(("", "?limit=1", f"?after=2026-11-20T12:00:00Z~{eye.game}", "?after=x"))
    return Request("finished games", "GET", f"/v1/finished{query}", chance.choice((None, eye.token)))


def link_page(eye: Eye, chance: random.Random) -> Request:
    game = chance.choice((eye.game, eye.past, "0" * 32))
    return Request("page of a link", "GET", f"/i/{game}", None)


def page(eye: Eye, chance: random.Random) -> Request:
    """Opens a page as a browser does: mostly that of the game, after some entry, from some side, through some eyes."""
    seq = eye.telling.seq
    at = chance.choice(("", "", f"at={chance.randint(0, seq + 1)}", f"at={seq}"))
    side = chance.choice(("", "", "side=host", "side=guest"))
    eyes = chance.choice(("", "", "eyes=host", "eyes=guest", "eyes=all"))
    query = "&".join(each for each in (at, side, eyes, chance.choice(("", "lang=it"))) if each)
    names = (eye.telling.host.name, eye.telling.guest.name, "nobody")
    game = chance.choice((eye.game, eye.game, eye.game, eye.past))
    path = chance.choice((*[f"/g/{game}?{query}"] * 6, "/", f"/p/{chance.choice(names)}", "/me", "/nothing"))
    headers = (("accept", chance.choice(("text/html", "text/html,*/*;q=0.8"))),)
    return Request("page", "GET", path, chance.choice((None, eye.token)), b"", headers)


def talk(eye: Eye, chance: random.Random) -> Request:
    """Asks for the messages about a game, also where the viewer does not play, or for the last ones about all games."""
    after = chance.choice(("", "", "?after=1", "?after=-1", "?limit=1"))
    game = chance.choice((eye.game, eye.game, eye.game, eye.game, eye.past, "0" * 32))
    token = chance.choice((eye.token, eye.token, eye.token, eye.token, None, eye.expired))
    path = chance.choice(("/v1/me/talk", *[f"/v1/games/{game}/talk{after}"] * 5))
    return Request("talk", "GET", path, token)


def mail(eye: Eye, chance: random.Random) -> Request:
    """Tries to invite somebody by mail, which worlds without mail refuse, and asks for a page that stops letters."""
    token = chance.choice((None, eye.token, eye.token))
    if chance.random() < 0.4:
        invited = {"address": "friend@example.org", "name": f"friend{chance.randint(0, 9)}"}
        return Request("invitation by mail", "POST", "/v1/invitations", token, json.dumps(invited).encode())
    stop = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz234567", k=26))
    return Request("stop page", chance.choice(("GET", "POST")), f"/v1/mail/stop/{stop}", token)


def channels(eye: Eye, chance: random.Random) -> Request:
    """Asks for the viewer's channels, or tries what is refused before anything is posted."""
    token, one = chance.choice((None, eye.token, eye.token)), f"/v1/me/channels/{chance.randbytes(8).hex()}"
    target: dict[str, object] = {"kind": "webhook", "target": "http://127.0.0.1/", "settings": {}}
    if chance.random() < 0.5:
        target |= {"kind": "push", "keys": {"auth": chance.choice(("", "A" * 22)), "p256dh": "BA"}}
    method, path, body = chance.choice(
        (
            ("GET", "/v1/me/channels", None),
            ("POST", "/v1/me/channels", target),
            ("POST", f"{one}/confirm", {"code": "x"}),
            ("POST", f"{one}/test", None),
            ("DELETE", one, None),
        )
    )
    return Request("channels", method, path, token, b"" if body is None else json.dumps(body).encode())


def outages(eye: Eye, chance: random.Random) -> Request:
    return Request("outages", "GET", "/v1/outages", chance.choice((None, eye.token)))
