"""Puts together what processes mails and makes letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hkoji.log.mail_claim import MailGrade
from hkoji_server.service.games.parts import GameParts
from hkoji_server.service.mail.cases import MailOutcome
from hkoji_server.service.mail.commands import MailCommands
from hkoji_server.service.mail.entries import MailEntries
from hkoji_server.service.mail.game_commands import GameCommands
from hkoji_server.service.mail.letter_facts import LetterFacts
from hkoji_server.service.mail.orders import MailOrders
from hkoji_server.service.mail.rights import LookUp
from hkoji_server.service.mail.seat_games import SeatGames
from hkoji_server.service.mail.tokens import MailTokens
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.settings import Settings, own_address
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MailVia


class MailParts(NamedTuple):
    """`orders` processes mails that have come, and `letters` makes letters when they are sent."""

    orders: MailOrders
    letters: LetterFacts


def make_mail_parts(
    store: Store,
    settings: Settings,
    parts: GameParts,
    time: ServiceTime,
    sources: ClockAndEntropy,
    *,
    origin: str,
    look_up: LookUp,
    count: Callable[[MailVia, MailOutcome], None] = lambda *_: None,
) -> MailParts:
    """Returns the use cases of mail over those of games, for a service that has a mail address.

    `origin` is its address for browsers, and `look_up` asks DNS. `count` is called with the way of each mail and what
    has become of it.
    """
    own, require = own_address(settings), MailGrade(settings.mail_require)
    assert own is not None
    held, games, players = parts.held, parts.games, parts.held_players
    tokens, seats = MailTokens(store), SeatGames(store, held, time)
    entries = MailEntries(store, held, games, parts.statements, sources)
    game_commands = GameCommands(store, held, entries, games, parts.invitations, players, tokens)
    commands = MailCommands(store, tokens, players, game_commands.steps)
    orders = MailOrders(store, seats, entries, commands, tokens, time, require=require, look_up=look_up, count=count)
    letters = LetterFacts(store, seats, tokens, time, settings, own=own, origin=origin)
    return MailParts(orders, letters)
