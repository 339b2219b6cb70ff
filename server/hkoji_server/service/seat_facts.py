"""The facts about a game that letters to one of its players are made of."""

from __future__ import annotations

import json
from typing import Final

from hkoji.mail.letters.game_facts import GameRow, SeatFacts
from hkoji_server.service.seat_games import SeatGame
from hkoji_server.store.contract import GameSummary, Query, Store
from hkoji_server.store.mail_values import Mailbox

_MOST_ROWS: Final = 50


class SeatFactsReader:
    """Reads what letters say about games."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, mailbox: Mailbox, game: SeatGame, now: str) -> SeatFacts:
        """Returns a game as the owner of a mailbox knows it."""
        seat, opponent, setup = game.seat, game.opponent, game.course.setup
        by_mail = opponent is not None and setup.is_by_mail(opponent)
        other = await self._store.mailbox_of(opponent, now) if opponent is not None and by_mail else None
        held = seat is None or setup.held(seat)
        return SeatFacts(
            game.position,
            game.clock,
            now,
            cards=mailbox.cards,
            held=held,
            opponent_held=seat is not None and setup.held(1 - seat),
            silent=mailbox.paused,
            opponent_silent=None if other is None else other.paused,
            signs=game.signs and (held or (mailbox.orders and not game.owes_own_seed)),
            own=not game.signs and await self._has_own_key(mailbox.name),
            zone=mailbox.zone,
        )

    async def _has_own_key(self, name: str) -> bool:
        player = await self._store.player(name)
        return player is not None and await self._store.held_key(player.key) is None

    async def rows(self, name: str) -> tuple[GameRow, ...]:
        """Returns the running games of a player, as lists show them."""
        found = await self.running(name)
        return tuple(
            GameRow(
                each.game,
                next((one for one in (each.host, each.guest, each.invite) if one is not None and one != name), None),
                json.loads(each.ruleset)["name"],
                each.to_move == name,
                each.deadline,
            )
            for each in found
        )

    async def running(self, name: str) -> tuple[GameSummary, ...]:
        """Returns the summaries of a player's running games."""
        return await self._store.games(Query(player=name, status="playing", limit=_MOST_ROWS, own=True))
