"""Puts together what processes mails and makes letters."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hkoji.log.mail_claim import MailGrade
from hkoji.mail.addresses import OwnAddress
from hkoji_server.service.games.parts import GameParts
from hkoji_server.service.mail.cases import MailOutcome
from hkoji_server.service.mail.commands import MailCommands
from hkoji_server.service.mail.entries import MailEntries
from hkoji_server.service.mail.game_commands import GameCommands, RematchCommands
from hkoji_server.service.mail.letter_facts import LetterFacts
from hkoji_server.service.mail.orders import MailOrders
from hkoji_server.service.mail.rights import LookUp
from hkoji_server.service.mail.seat_games import SeatGames
from hkoji_server.service.mail.tokens import MailTokens
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.store.contract import Store
from hkoji_server.store.mail_values import MailVia


class MailParts(NamedTuple):
    """`orders` processes mails that have come, and `letters` makes letters when they are sent."""

    orders: MailOrders
    letters: LetterFacts


def make_mail_parts(
    store: Store,
    parts: GameParts,
    time: ServiceTime,
    sources: ClockAndEntropy,
    *,
    own: OwnAddress,
    origin: str,
    require: MailGrade,
    look_up: LookUp,
    per_day: int,
    per_hour: int,
    count: Callable[[MailVia, MailOutcome], None] = lambda *_: None,
) -> MailParts:
    """Returns the use cases of mail over those of games.

    `own` is the service's mail address, `origin` its address for browsers. `require` is the least grade of a mail that
    counts, and `look_up` asks DNS. `per_day` letters a day go to one mailbox, and `per_hour` an hour to all. `count` is
    called with the way of each mail and what has become of it.
    """
    held, games, players = parts.held, parts.games, parts.held_players
    tokens, seats = MailTokens(store), SeatGames(store, held, time)
    entries = MailEntries(store, held, games, parts.statements, sources)
    game_commands = GameCommands(store, entries, games, parts.invitations, players, tokens)
    rematches = RematchCommands(store, held, entries, games, tokens)
    commands = MailCommands(store, tokens, players, {**game_commands.steps, **rematches.steps})
    orders = MailOrders(store, seats, entries, commands, tokens, time, require=require, look_up=look_up, count=count)
    letters = LetterFacts(store, seats, tokens, time, own=own, origin=origin, per_day=per_day, per_hour=per_hour)
    return MailParts(orders, letters)
