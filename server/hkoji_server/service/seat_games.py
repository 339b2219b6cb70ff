"""A game as one of its players knows it, for players whose client is the service itself.

It is the same projection as over HTTP: the public log, the cards that the seat has been dealt, and the openings of the
cards that it has put face down.
"""

from __future__ import annotations

from typing import NamedTuple

from hkoji import referee
from hkoji.errors import NotFoundError
from hkoji.game.clock_reading import ClockReading, read_clock
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import Invite
from hkoji.game.position import Position, read_position
from hkoji.game.replay import replay
from hkoji.game.view import replay_own, require_whole
from hkoji.log.line import Line
from hkoji.mail.tokens import TokenPlace, place_of
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji_server.service.loaded_games import LoadedGame, LoadedGames
from hkoji_server.service.service_time import ServiceTime
from hkoji_server.store.contract import Store


class SeatGame(NamedTuple):
    """A game at one moment: with all cards in `held`, and in `position` as the player `name` knows it.

    `seat` is None for a player who has none yet. `place` is what tokens of this turn name.
    """

    name: str
    held: LoadedGame
    lines: tuple[Line, ...]
    seat: Seat | None
    position: Position
    clock: ClockReading
    place: TokenPlace
    signs: bool = True
    """Whether the service can sign for the seat: it holds a key of it, and neither that nor the player's is revoked.

    For whoever is invited, and has no seat yet: whether the key with which they are to join is not revoked.
    """

    @property
    def course(self) -> Course:
        """The game with all cards, as the service knows it."""
        return self.held.refereed.course

    @property
    def owes_move(self) -> bool:
        """Whether the player owes a move."""
        return self.seat is not None and self.course.stage is Stage.PLAY and self.course.actor == self.seat

    @property
    def owes_own_seed(self) -> bool:
        """Whether the player owes entropy that only their own client has."""
        return self.seat is not None and self.course.seed_seat == self.seat and not self.course.setup.held(self.seat)

    @property
    def opponent(self) -> str | None:
        """The other player, or who is invited to be that; None while there is none."""
        setup = self.course.setup
        return next((each for each in (*setup.names, setup.invited) if each is not None and each != self.name), None)


class SeatGames:
    """Reads games for their players."""

    def __init__(self, store: Store, games: LoadedGames, time: ServiceTime) -> None:
        self._store = store
        self._games = games
        self._time = time

    async def read(self, game: str, name: str) -> SeatGame:
        """Returns a game as the store has it now, as the player `name` knows it. Raises `NotFoundError`."""
        await self._time.read_outages()
        while True:
            held = await self._games.read(game)
            lines = await self._store.lines(game)
            if not lines:
                raise NotFoundError(tell("game"), game)
            if lines[-1].entry.head == held.refereed.course.head:
                found = self._seat_game(held, lines, name)
                return found._replace(signs=await self._signs(found))

    async def _signs(self, game: SeatGame) -> bool:
        setup = game.course.setup
        if game.seat is None:
            invite = setup.invite
            keys = {invite.key} if isinstance(invite, Invite) and invite.name == game.name else set()
        else:
            held, key = setup.held_key(game.seat), setup.keys[game.seat]
            if held is None:
                return False
            keys = {held.gateway.key, key}
        retired = [await self._store.retired(each.text) for each in keys if each is not None]
        return not any(each is not None and each.revoked for each in retired)

    def _seat_game(self, held: LoadedGame, lines: tuple[Line, ...], name: str) -> SeatGame:
        refereed = held.refereed
        course = refereed.course
        seat = course.setup.seat_of(name)
        if seat is None:
            seen = require_whole(replay(lines))
        else:
            view = referee.view(refereed, seat)
            seen = replay_own(lines, seat, view, referee.own_openings(refereed, seat))
        place = place_of([line.entry for line in lines])
        assert place is not None  # the first entry is an offer
        clock = read_clock(course, refereed.at)._replace(deadline=held.due(self._time.outages))
        return SeatGame(name, held, lines, seat, read_position(seen, seat, name), clock, place)
