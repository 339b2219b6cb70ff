"""Positions as players and spectators know them, and their boards as text, from games played in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hkoji import referee
from hkoji.cli import settings
from hkoji.cli.boards import draw
from hkoji.cli.output import TextStyle
from hkoji.game.course import Stage
from hkoji.game.position import Position, read_position
from hkoji.game.replay import replay, replay_own
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset
from tests.support.table import Table

LONG = ("alice-of-the-thirty-two-letters-", "bob_who_has_just_as_many_letters")
"""The longest names allowed."""


def position(table: Table, seat: Seat | None) -> Position:
    """A game as `seat` (None: a spectator) knows it, made as the client makes it from log and view."""
    if seat is None:
        return read_position(replay(table.lines), None)
    openings = referee.own_openings(table.refereed, seat)
    return read_position(replay_own(table.lines, seat, referee.view(table.refereed, seat), openings), seat)


def stages(ruleset: Ruleset, seed: int, names: tuple[str, str] = LONG) -> Iterator[Table]:
    """A game after each of its submissions, from the offer to the end; the same table each time, played on."""
    table = Table(ruleset, seed, names=names)
    yield table
    table.open()
    yield table
    table.join()
    yield table
    table.reveal_seeds()
    yield table
    chance = random.Random(seed)
    while table.course.stage is Stage.PLAY:
        table.send(table.move(chance.choice(table.course.state.legal_actions())))
        yield table


def board(seen: Position, *, plain: bool = False, seated: bool = False, lang: str = "en") -> str:
    """The board of a position, without colours."""
    settings.apply({"lang": lang})
    try:
        return draw(seen, TextStyle(colour=False, plain=plain, seated=seated))
    finally:
        settings.apply({})
