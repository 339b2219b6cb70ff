"""Read requests with tokens of all sorts, logins, and statements that no client sends. The model gives the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from hkoji.log.canonical import encode_base64
from hkoji.log.private_key import PrivateKey
from tests.lab.machine import naive_log as log
from tests.lab.machine.handmade_entries import STRANGER
from tests.lab.machine.naive_game import NaiveGame
from tests.lab.machine.naive_log import Object
from tests.lab.machine.naive_statements import SPACES
from tests.lab.machine.world import World


def ask(world: World, game: NaiveGame, what: int, choice: int) -> None:
    """Reads something with a token of some sort, or tries an invalid login."""
    after = choice % (game.seq + 3) - 1
    tokens = [
        None,
        "0" * 64,
        *world.model.tokens,
        *(device.home.token(device.client.server) for device in world.devices),
    ]
    token = tokens[choice % len(tokens)]
    status = ["", "&status=open", "&status=playing", "&status=finished", "&status=cancelled"][choice % 5]
    match what % 9:
        case 0:
            world.ask("GET", f"/v1/games/{game.game}", token=token)
        case 1:
            world.ask("GET", f"/v1/games/{game.game}/log?after={after}", token=token)
        case 2 | 3:
            timed = "&clock=true" if choice % 2 else ""
            world.ask("GET", f"/v1/games/{game.game}/view?after={after}{timed}", token=token)
        case 4:
            world.ask("GET", f"/v1/me/games?limit={1 + choice % 3}{status}", token=token)
        case 5:
            world.ask("GET", f"/v1/me/games?waiting=true{status}", token=token)
        case 6:
            name = ["alice", "bob", "carol", "nobody"][choice // 4 % 4]
            found, _ = world.ask("GET", f"/v1/games?limit={1 + choice % 2}&player={name}{status}")
            after_that = json.loads(found.body)["next"]
            if after_that:
                world.ask("GET", f"/v1/games?limit={1 + choice % 2}&player={name}{status}&after={after_that}")
        case 7:
            world.ask("GET", f"/v1/games?prefix={game.game[: 4 + choice % 20]}{status}")
        case _:
            _log_in(world, choice)


def _log_in(world: World, choice: int) -> None:
    """Tries to log in: the challenge may be fresh, old, used or another player's; the name may be right or wrong."""
    device = world.devices[choice % len(world.devices)]
    match choice // 4 % 6:
        case 0:
            world.ask("POST", "/v1/login/challenge")
            return
        case 1:
            tokens = list(world.model.tokens)
            if tokens:
                world.ask("POST", "/v1/logout", token=tokens[choice % len(tokens)])
            return
        case 2:
            world.ask("GET", f"/v1/players/{['alice', 'bob', 'nobody'][choice % 3]}")
            return
    challenges = list(world.model.challenges.items())
    nonce, expires = challenges[choice % len(challenges)] if challenges else ("0" * 64, "2026-11-20T12:00:00Z")
    origin = world.model.origin if choice % 7 else "http://elsewhere"
    text = log.canonical({"expires": expires, "nonce": nonce, "origin": origin, "v": 1})
    key = device.key if choice % 5 else STRANGER
    sig = encode_base64(key.sign("hkoji.login.v1", text.encode() + b"\n"))
    name = device.name if choice % 11 else "nobody"
    signed = json.dumps({"name": name, "sig": sig, "text": text}).encode()
    world.ask("POST", "/v1/login", signed)
    if choice % 3 == 0:
        world.ask("POST", "/v1/login", signed)


class _Said:
    """A statement that would be accepted, if there is one, before it is changed."""

    def __init__(self, world: World, game: NaiveGame, choice: int) -> None:
        self.world, self.game, self.choice = world, game, choice
        self.keys = {device.name: device.key_in(game) for device in world.devices}
        seat = 1 - game.actor if game.actor is not None else choice % 2
        self.name = game.names[seat] or "alice"
        self.kind, self.head = ("give", "annul")[choice // 2 % 2], game.head
        self.seconds = 1 + choice % 4000 + game.seq
        self.key: PrivateKey | None = None

    def send(self) -> None:
        said: Object = {"head": self.head, "kind": self.kind, "name": self.name}
        if self.kind == "give":
            said["seconds"] = self.seconds
        key = self.key or self.keys.get(self.name, STRANGER)
        text = log.statement_text(self.game.game, said)
        said["sig"] = encode_base64(key.sign(SPACES[self.kind], text.encode() + b"\n"))
        self.world.ask("POST", f"/v1/games/{self.game.game}/statements", json.dumps(said).encode())


Sort = Callable[[_Said], None]


def _twice(said: _Said) -> None:
    """A statement, and the same again, or a smaller gift."""
    said.send()
    said.seconds = max(1, said.seconds - said.choice % 2)
    said.send()


def _of_the_other(said: _Said) -> None:
    """A gift to oneself, or the wish of who owes the entry."""
    said.name = said.game.names[said.game.actor or 0] or "alice"
    said.send()


def _of_an_old_head(said: _Said) -> None:
    said.head = log.head_of(said.game.texts[said.choice % len(said.game.texts)])
    said.send()


def _again(said: _Said) -> None:
    """A statement that was taken once, of this game, is sent again by anybody."""
    taken = said.game.time.statements
    if taken:
        old = taken[said.choice % len(taken)]
        said.world.ask("POST", f"/v1/games/{said.game.game}/statements", json.dumps(old).encode())


def _by_another_key(said: _Said) -> None:
    others = [key for name, key in said.keys.items() if name != said.name]
    said.key = [STRANGER, *others][said.choice % 3]
    said.send()


def _by_nobody(said: _Said) -> None:
    outside = [name for name in said.keys if name not in said.game.names]
    said.name = [*outside, "mallory"][said.choice % (len(outside) + 1)]
    said.send()


def _withdrawn(said: _Said) -> None:
    device = said.world.devices[said.choice % len(said.world.devices)]
    token = device.home.token(device.client.server) if said.choice % 5 else None
    said.world.ask("DELETE", f"/v1/games/{said.game.game}/statements/annul", token=token)


def _clock(said: _Said) -> None:
    said.world.ask("GET", f"/v1/games/{said.game.game if said.choice % 9 else '0' * 32}/clock")


def _head(said: _Said) -> None:
    said.world.ask("GET", f"/v1/games/{said.game.game}/head")


def _outages(said: _Said) -> None:
    said.world.ask("GET", "/v1/outages")


def _by_deadline(said: _Said) -> None:
    device = said.world.devices[said.choice % len(said.world.devices)]
    token = device.home.token(device.client.server)
    said.world.ask("GET", "/v1/me/games?waiting=true&order=deadline", token=token)


_SORTS: Final[dict[str, Sort]] = {
    "statement twice": _twice,
    "statement of the other": _of_the_other,
    "statement about an old head": _of_an_old_head,
    "statement again": _again,
    "statement by another key": _by_another_key,
    "statement by nobody": _by_nobody,
    "withdrawal": _withdrawn,
    "clock": _clock,
    "signed head": _head,
    "outages": _outages,
    "by deadline": _by_deadline,
}
SORTS: Final = tuple(_SORTS)


def submit(world: World, game: NaiveGame, sort: str, choice: int) -> None:
    """Sends a request of some sort and compares the two answers."""
    _SORTS[sort](_Said(world, game, choice))
