"""Games with a clock at a real service in this process, and what players state about them over plain HTTP.

The service's time stands still until the test moves it. docs/spec/log.md, "Clock" and "Statements".
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.games import keeper

from hkoji.audit.log_audit import audit
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_annul
from hkoji.log.line import format_log
from hkoji.log.public_key import parse_public_key
from tests.support.conditions import PATIENCE
from tests.support.service import Answer, Player, begin
from tests.support.service_in_process import Inside, inside

HOUR = 3600
AN_HOUR = Agreement(TimeControl(HOUR, 0, 0, 0))
SLACK = 120
"""Seconds that the keeper waits after a deadline, as the service has it by default."""
NEVER_OUT = 10**7
"""So that time can pass between two requests although the test's process notes it only with the second one."""
_LOOK = keeper.Keeper.look


@contextmanager
def inside_with_keeper(data: Path, **settings: Any) -> Iterator[Inside]:  # Any: arguments of `inside`
    """A service for the duration of a block. Its keeper looks only when it is let, and it notes no outage by itself.

    A keeper that looked by itself could do so while a request waits for the store.
    """

    async def wait(_: keeper.Keeper) -> int:
        return 0

    with (
        patch.object(keeper, "KEEPER_PACE", 0.02),
        patch.object(keeper.Keeper, "look", wait),
        inside(data, **{"outage_after": NEVER_OUT, **settings}) as service,
    ):
        yield service


def let_keepers_look(service: Inside) -> None:
    """Waits until the keeper of `inside_with_keeper` has looked once, from beginning to end."""
    looked = asyncio.Event()

    async def looking(self: keeper.Keeper) -> int:
        try:
            return await _LOOK(self)
        finally:
            looked.set()

    async def work() -> None:
        async with asyncio.timeout(PATIENCE):
            await looked.wait()

    with patch.object(keeper.Keeper, "look", looking):
        service.runner.run(work())


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    """For test files that import it."""
    with inside_with_keeper(tmp_path / "data") as service:
        yield service


# --- what there is ----------------------------------------------------------------------------------------------------


def log_of(player: Player, game: str) -> bytes:
    """The game's log, as the service has it."""
    return player.service.ask("GET", f"/v1/games/{game}/log").body


def kinds(player: Player, game: str) -> list[str]:
    """The kinds of the game's entries."""
    return [line.entry.kind for line in player.lines(game)]


def summary_of(player: Player, game: str) -> dict[str, Any]:  # Any: JSON
    """The game as lists show it."""
    found: dict[str, Any] = player.service.ask("GET", f"/v1/games/{game}").json
    return found


def clock_of(player: Player, game: str) -> dict[str, Any]:  # Any: JSON
    """The game's clock, as the service states it."""
    answer = player.service.ask("GET", f"/v1/games/{game}/clock")
    assert answer.status == 200
    found: dict[str, Any] = answer.json
    return found


def verify(player: Player, game: str) -> None:
    """Checks that the public audit of the log finds nothing."""
    key = parse_public_key(player.service.ask("GET", "/v1/service").json["key"])
    assert audit(format_log(player.lines(game)), {"server": key}).findings == ()


def refused(answer: Answer, status: int, code: str) -> None:
    """Checks that a request was refused, and why."""
    assert (answer.status, answer.json["code"]) == (status, code), answer


# --- what players do --------------------------------------------------------------------------------------------------


def owing(players: tuple[Player, Player], game: str) -> Player:
    """The player who must act."""
    actor = players[0].course(game).actor
    assert actor is not None
    return players[actor]


def timed(players: tuple[Player, Player], agreement: Agreement = AN_HOUR) -> tuple[str, Player, Player]:
    """A game, the player who owes the next entry, and the other one."""
    game = begin(*players, agreement=agreement)
    mover = owing(players, game)
    return game, mover, players[1 - players.index(mover)]


def move_of(player: Player, game: str) -> Submission:
    """The player's first legal action, signed."""
    own = player.course(game)
    return player.make_move(own, own.state.legal_actions()[0])


def a_gift(player: Player, game: str, seconds: int, **changes: Any) -> dict[str, Any]:  # Any: JSON
    """The request for a gift about the last entry."""
    return {**player.gift(game, player.head(game)[1], seconds), **changes}


def a_wish(player: Player, game: str, **changes: Any) -> dict[str, Any]:  # Any: JSON
    """The request to call off the game after its last entry."""
    head = player.head(game)[1]
    statement = make_annul(game=game, head=head, name=player.name)
    sig = encode_base64(player.key.sign(sshsig.ANNUL, statement.message))
    return {"head": head, "kind": "annul", "name": player.name, "sig": sig, **changes}


def state(player: Player, game: str, statement: dict[str, Any]) -> Answer:  # Any: JSON
    """Sends a statement about a game."""
    return player.service.ask("POST", f"/v1/games/{game}/statements", statement)
