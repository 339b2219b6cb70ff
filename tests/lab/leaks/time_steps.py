"""Events of time in a story: gifts, wishes to call the game off, outages, and ends by the clock.

Everything here is public, and the same in every world but for hashes. The signatures of gifts and wishes are over
heads, so they may differ where heads do.
"""

from __future__ import annotations

import json
from typing import Final

from hkoji.game.clock import parse_time
from hkoji.log import sshsig
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.rules.events import Seat
from tests.lab.leaks.telling import Telling
from tests.lab.leaks.worlds import Answer, Request

_LATE: Final = 60
_SLACK: Final = 120


async def pass_through(telling: Telling, kind: str, number: int) -> tuple[Seat, Answer | None]:
    """Does one step. `number` is that of the decision before which it comes. Returns who acts, and the answer."""
    match kind:
        case "gift":
            giver: Seat = 1 - telling.story.decisions[number].seat
            return giver, await _state(telling, giver, "give", 100 + 100 * number)
        case "wish":
            return number % 2, await _state(telling, number % 2, "annul")
        case "withdraw":
            return number % 2, await _withdraw(telling, number % 2)
        case "annul":
            await _state(telling, 0, "annul")
            return 1, await _state(telling, 1, "annul")
        case "outage":
            await telling.world.pass_time(400 + number, absent=True)
            return 0, None
        case "late":
            await telling.world.pass_time(await _left(telling) + _LATE)
            telling.overdue = True
            return 0, None
    await telling.world.pass_time(_SLACK)
    telling.overdue = False
    assert await telling.world.by_hand.keeper.look() == 1, telling.story
    return 0, await _read_on(telling)


async def _left(telling: Telling) -> int:
    """The seconds until the time of the game is over."""
    clock = await telling.world.ask(Request("clock", "GET", f"/v1/games/{telling.game}/clock"))
    return parse_time(clock.json["deadline"]) - parse_time(telling.now())


async def _state(telling: Telling, seat: Seat, kind: str, seconds: int | None = None) -> Answer:
    """Sends a statement about the last entry, which must be accepted, and learns what it adds to the log."""
    game, head, person = telling.game, telling.head, telling.seats[seat]
    if seconds is None:
        sig = person.sign(make_annul(game=game, head=head, name=person.name).text, sshsig.ANNUL)
    else:
        sig = person.sign(make_gift(game=game, head=head, name=person.name, seconds=seconds).text, sshsig.GIVE)
    telling.world.allow(sig, f"{kind} of {seat} at {telling.seq} of {game[:8]}")
    value = {"head": head, "kind": kind, "name": person.name, "sig": sig}
    body = json.dumps(value if seconds is None else {**value, "seconds": seconds}).encode()
    answer = await telling.world.ask(Request("statement", "POST", f"/v1/games/{game}/statements", body=body))
    assert answer.status == 201, (telling.story, answer)
    if answer.json["lines"]:
        telling.take(telling.world.learn(telling.world.key, answer))
    return answer


async def _withdraw(telling: Telling, seat: Seat) -> Answer:
    path = f"/v1/games/{telling.game}/statements/annul"
    answer = await telling.world.ask(Request("withdrawal", "DELETE", path, telling.seats[seat].token))
    assert answer.status == 204, (telling.story, answer)
    return answer


async def _read_on(telling: Telling) -> Answer:
    """Reads what the service has written by itself."""
    path = f"/v1/games/{telling.game}/log?after={telling.seq}"
    answer = await telling.world.ask(Request("log", "GET", path))
    lines = b",".join(answer.body.splitlines())
    told = answer._replace(body=b'{"lines":[' + lines + b"]}")
    telling.take(telling.world.learn(telling.world.key, told))  # all of these lines are the service's
    return answer
