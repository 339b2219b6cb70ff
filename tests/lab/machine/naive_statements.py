"""The model's answers to statements about games, and the clocks that it shows, from docs/spec/http.md."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.lab.machine import naive_log as log
from tests.lab.machine.expected import Expected, lines_of, refused
from tests.lab.machine.naive_game import NaiveGame
from tests.lab.machine.naive_log import Object

SPACES = {"give": "hkoji.give.v1", "annul": "hkoji.annul.v1"}


def state(game: NaiveGame, said: Object, now: Callable[[], str]) -> Expected:
    """The answer to a statement. `now` gives the time in which something can be decided."""
    seat, ended = game.seat_of(said["name"]), _called_off(game)
    repeated = said["kind"] == "annul" and ended is not None and json.loads(game.texts[ended])["prev"] == said["head"]
    if said["head"] != game.head and not repeated:
        return refused(409, "conflict", game)
    if seat is None:
        return refused(403, "forbidden")
    key, text = game.keys[seat], log.statement_text(game.game, said)
    assert key is not None
    if not log.signature_holds(key, SPACES[said["kind"]], text, said["sig"]):
        return refused(403, "bad-signature")
    if repeated:
        assert ended is not None
        return Expected(200, body={"deadline": None}, lines=lines_of(game, ended))
    if game.stage == "over":
        return refused(409, "game-over")
    at = now()
    if game.actor is None:
        return refused(422, "illegal")
    if said["kind"] == "give" and (game.time.clock is None or game.actor == seat):
        return refused(422, "illegal")
    deadline = game.deadline()
    if deadline is not None and max(at, game.at) > deadline:
        return refused(409, "time-over", game)
    return _give(game, said) if said["kind"] == "give" else _annul(game, said, seat, at)


def _give(game: NaiveGame, said: Object) -> Expected:
    kept = [each for each in game.time.gifts() if (each["head"], each["name"]) == (said["head"], said["name"])]
    fresh = all(each["seconds"] < said["seconds"] for each in kept)
    if fresh:  # of several gifts the largest counts
        game.time.statements = [each for each in game.time.statements if each not in kept] + [said]
        game.time.listed = game.deadline()
    return Expected(201 if fresh else 200, body={"deadline": game.deadline()}, lines=[])


def _annul(game: NaiveGame, said: Object, seat: int, at: str) -> Expected:
    wishes = game.time.wishes(game.head)
    other = wishes.get(str(game.names[1 - seat]))
    if other is not None:
        sigs = [said["sig"], other["sig"]] if seat == 0 else [other["sig"], said["sig"]]
        brought = game.end_by_service("annul", at, sigs)
        return Expected(201, body={"deadline": None}, lines=lines_of(game, len(game.texts) - brought))
    if said["name"] not in wishes:
        game.time.statements.append(said)
    return Expected(200 if said["name"] in wishes else 201, body={"deadline": game.deadline()}, lines=[])


def _called_off(game: NaiveGame) -> int | None:
    """The number of the `annul`, if the game has ended by one."""
    at = len(game.texts) - 2
    return at if game.stage == "over" and json.loads(game.texts[at])["kind"] == "annul" else None


def withdraw(game: NaiveGame, name: str) -> Expected:
    """The answer to a player who wishes no more to call a game off."""
    if game.seat_of(name) is None:
        return refused(403, "forbidden")
    if game.stage == "over":
        return refused(409, "game-over")
    wish = game.time.wishes(game.head).get(name)
    game.time.statements = [each for each in game.time.statements if each is not wish]
    return Expected(204)


def report(game: NaiveGame, late: str) -> Expected:
    """The clocks of a game as they are shown; with a deadline before `late` it is overdue."""
    time, deadline = game.time, game.deadline()
    runs = time.since is not None and time.clock is not None
    body = {
        "game": game.game,
        "seq": game.seq,
        "head": game.head,
        "agreement": game.agreement,
        "seat": game.actor,
        "since": time.since,
        "spent": time.clock.spent if time.clock and runs else None,
        "deadline": deadline,
        "overdue": deadline is not None and deadline < late,
        "reserve": time.clock.banks if time.clock and runs else None,
        "gifts": [{name: gift[name] for name in ("head", "name", "seconds", "sig")} for gift in time.gifts()],
        "outages": time.lost(),
        "annul": list(time.wishes(game.head)),
    }
    return Expected(200, body=body)
