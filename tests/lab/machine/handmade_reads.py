"""Handmade read requests with tokens of all sorts, and invalid logins."""

from __future__ import annotations

import json

from hkoji.log.canonical import encode_base64
from tests.lab.machine import naive_log as log
from tests.lab.machine.handmade_entries import STRANGER
from tests.lab.machine.naive_game import NaiveGame
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
