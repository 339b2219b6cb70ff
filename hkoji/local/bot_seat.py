"""A bot at a correspondence game: a client that plays what the bot decides from its seat's view."""

from __future__ import annotations

from hkoji.bots.protocol import Bot, see
from hkoji.client import Client, Position
from hkoji.client.game import Made
from hkoji.errors import NotYourTurnError
from hkoji.game.course import Stage
from hkoji.messages.text import tell


def decide(bot: Bot, position: Position) -> str:
    """What `bot` would play in a position in which its seat is to decide. Raises what the bot raises."""
    assert position.seat is not None
    return bot.decide(see(position.course.setup.ruleset, position.events, position.seat))


def step(client: Client, bot: Bot, game: str) -> Made | None:
    """Does what this player owes: joins, reveals the own entropy, or moves as `bot` decides. None if no move was due.

    Nothing is signed unless the move is legal: a bot that fails leaves the game as it was. Raises what the bot raises,
    and `NotYourTurnError` in a game of others.
    """
    position = client.position(game)
    if position.course.stage is Stage.JOIN and position.seat is None:
        position = client.join(game)
    if position.seat is None and not position.over:
        raise NotYourTurnError(
            tell("you do not play in this game"), actor=position.course.actor, hint=tell("nothing was sent")
        )
    if not position.legal:
        return None
    return client.move(game, decide(bot, position))
