"""Games prepared for a benchmark: refereed and signed beforehand, so that only their moves remain to be made.

All are Hanamikoji up to the first decision, and the moves are those of the first round. They are signed ahead, although
each entry states the time of record of the one before it: that of the first is far in the future, and no later one is
earlier.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from hkoji_server.service.games.loaded_games import summarise
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append, NewGame

from hkoji import referee
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.course import Stage
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
from tests.support.table import Table

NEVER_OLD = "2999-01-01T00:00:00Z"
"""The time of a decision that the store takes however long ago it was made. Games are prepared long before they are
written."""
_AT_ONCE = 64
_OUTLINE = ("status", "host", "guest", "invite", "reason", "winner")


class Move(NamedTuple):
    """A player's submission, and the referee's result."""

    submission: Submission
    append: Append


class Prepared(NamedTuple):
    """A game: its setup, the entries up to its first decision, and the moves to come.

    `guest_key` is the guest's.
    """

    new: NewGame
    begun: tuple[Append, ...]
    moves: tuple[Move, ...]
    guest_key: PrivateKey


def prepare(
    number: int, signer: PrivateKey, *, first: int = 0, agreement: Agreement = UNTIMED, held: bool = False
) -> list[Prepared]:
    """So many games of a service whose key is `signer`, each between its own players.

    If the guests' keys are `held` by the service, no moves are prepared.
    """
    games = [_prepare(seed, signer, agreement, held=held) for seed in range(first, first + number)]
    sshsig.forget_verdicts()  # the service that is measured has not seen them
    return games


def _prepare(seed: int, signer: PrivateKey, agreement: Agreement, *, held: bool) -> Prepared:
    names = (f"host-{seed}", f"guest-{seed}")
    seats = (1,) if held else ()
    table = Table(seed=seed, names=names, host_key=signer, agreement=agreement, now=NEVER_OLD, held=seats)
    new = NewGame(
        summarise(table.refereed, created=table.refereed.at),
        table.lines[0],
        table.server_seed,
        table.names[0],
        at=NEVER_OLD,
        outages=0,
    )
    begun = [
        _append(table, table.open),
        _append(table, table.join),
        _append(table, partial(table.reveal_seed, 1)),
        _append(table, partial(table.reveal_seed, 0)),
    ]
    moves = []
    while not held and table.course.stage is Stage.PLAY and table.course.state.round == 1:
        submission = table.move(table.random.choice(table.course.state.legal_actions()))
        moves.append(Move(submission, _append(table, partial(table.send, submission))))
    return Prepared(new, tuple(begun), tuple(moves), table.keys[1])


def _append(table: Table, step: Callable[[], object]) -> Append:
    """The store's input for a step of the table."""
    before = table.refereed
    step()
    after = table.refereed
    old, new = (summarise(refereed, created="", deadline=referee.deadline(refereed)) for refereed in (before, after))
    return Append(
        game=table.game,
        seq=old.seq,
        head=old.head,
        lines=tuple(table.lines[old.seq + 1 :]),
        openings=after.openings[len(before.openings) :],
        summary=new,
        outline=any(getattr(old, name) != getattr(new, name) for name in _OUTLINE),
        at=NEVER_OLD,
        outages=0,
        deadline=old.deadline,
    )


async def fill(store: Store, games: Iterable[Prepared]) -> None:
    """Puts the games into a store, up to their first decision."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def bring(game: Prepared) -> None:
        async with gate:
            await store.add_game(game.new)
            for append in game.begun:
                await store.append(append)

    await asyncio.gather(*map(bring, games))


def requests(game: Prepared) -> Iterator[bytes]:
    """The HTTP requests that make the game's moves."""
    for move in game.moves:
        body = json.dumps(move.submission.to_json()).encode()
        head = f"POST /v1/games/{game.new.summary.game}/entries HTTP/1.1\r\nHost: hkoji\r\n"
        yield f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
