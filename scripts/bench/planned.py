"""Moves of a game on a running service, signed ahead of time with a referee that knows what the service knows."""

from __future__ import annotations

import json

from hkoji import referee
from hkoji.log.private_key import PrivateKey
from tests.lab.races.judgement import asking
from tests.support.service import Player, Service


def plan(service: Service, host: Player, guest: Player, game: str) -> list[tuple[str, bytes]]:
    """Signed moves of a game's first round, in order, made ahead of time with a referee of the same seed."""
    ask = asking(service.database or service.data / "hkoji.sqlite3")
    ((seed,),) = ask("SELECT seed FROM secret WHERE game = ?", (game,))
    ((text,),) = ask("SELECT private_key FROM service", ())
    signer = PrivateKey.from_openssh(text.encode())
    refereed = referee.resume(host.lines(game), seed, ())
    bodies: list[tuple[str, bytes]] = []
    while refereed.course.state.round == 1 and refereed.course.actor is not None:
        mover = (host, guest)[refereed.course.actor]
        move = mover.make_move(refereed.course, refereed.course.state.legal_actions()[0])
        bodies.append((f"/v1/games/{game}/entries", json.dumps(move.to_json()).encode()))
        accepted = referee.accept(refereed, move, signer=signer, at=refereed.at)
        if len(accepted.lines) > 1:
            break  # the service's own entries carry its own time: later moves cannot be signed ahead
        refereed = accepted.refereed
    return bodies
