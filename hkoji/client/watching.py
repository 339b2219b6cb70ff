"""Watching games: every entry told once, in order, and verified, whatever becomes of connection, service and machine.

What a service sends as events is believed no more than anything else. An event says that it is time to look; what is
told is what the log has then, verified and kept as every command does it. So events that are false, doubled, late or
left out change nothing of what is told; without any, it is looked now and then.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.events import Event
from hkoji.errors import (
    BusyError,
    HkojiError,
    InvalidError,
    NetworkError,
    NotFoundError,
    ServiceError,
    TooManyError,
    UsageError,
)
from hkoji.game.position import Position
from hkoji.log.line import read_line
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.client import Client
    from hkoji.game.replay import Step

Say = Callable[[str], None]

_AWAY: Final = (NetworkError, ServiceError, BusyError, TooManyError)
"""What passes, or may: it is tried again."""
_LOOK: Final = 300.0
"""After so many seconds without an event it is looked all the same."""
_WHILE: Final = 10.0
_FIRST: Final = 0.5
_LONGEST: Final = 30.0
_ASKED: Final = 50


class Happened(NamedTuple):
    """An entry that has come, by its number in the log of `position`, which is later than it if more have come."""

    position: Position
    seq: int

    @property
    def step(self) -> Step:
        """The entry, what it says, and the game after it."""
        return self.position.replay.steps[self.seq]


class _Pauses:
    """Between tries: longer each time, and never the same for two clients that lost one service together."""

    def __init__(self) -> None:
        self._next = _FIRST
        self._chance: Final = secrets.SystemRandom()

    def again(self, least: float = 0.0) -> None:
        """Sleeps, at least for what the service has asked for (but not for ever)."""
        time.sleep(max(min(least, 2 * _LONGEST), self._next * self._chance.uniform(0.5, 1.0)))
        self._next = min(self._next * 2, _LONGEST)

    def begin(self) -> None:
        """All is well: the next pause is a short one."""
        self._next = _FIRST

    def since(self, began: float) -> None:
        """So too if it has been well for a while."""
        if time.monotonic() - began > _WHILE:
            self.begin()


class _Link:
    """Whether the service answers, told when it changes."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._lost = False
        self.pauses = _Pauses()

    def lost(self, error: HkojiError) -> None:
        """It does not; returns when it may be tried again."""
        if not self._lost:
            self._say(tell("{reason}; trying again until it answers", reason=error))
        self._lost = True
        self.pauses.again(float(getattr(error, "retry_after", 0)))

    def found(self) -> None:
        """It does."""
        if self._lost:
            self._say(tell("the service answers again"))
        self._lost = False


def watch_game(client: Client, game: str, after: int | None, say: Say) -> Generator[Happened, None, None]:
    """`Client.watch`."""
    position = client.position(game)
    told = position.course.seq if after is None else after
    if told > position.course.seq:
        raise UsageError(
            tell("game {game} has no entry {seq} yet", game=game[:8], seq=told),
            hint=tell("leave --after out to watch from now on"),
        )
    yield from _since(position, told)
    told = max(told, position.course.seq)
    link, able = _Link(say), True
    while not position.over:
        began = time.monotonic()
        try:
            signs = _signs_of(client, game, told) if able else _polled(client, game, told)
            with closing(signs):
                for _ in signs:
                    position = client.position(game)
                    link.found()
                    if position.course.seq > told:
                        link.pauses.begin()
                        yield from _since(position, told)
                        told = position.course.seq
                    if position.over:
                        return
            link.pauses.since(began)
            link.pauses.again()
        except NotFoundError:
            able = False  # an older service: the game is there, and events are not
        except _AWAY as error:
            link.lost(error)


def watch_all(client: Client, say: Say) -> Generator[Happened, None, None]:
    """`Client.watch_all`."""
    watched = _All(client, say)
    watched.start()
    link, able = _Link(say), True
    while True:
        began = time.monotonic()
        try:
            signs = watched.signs() if able else iter(("",))
            for game in signs:
                happened = list(watched.look(game))
                link.found()
                if happened:
                    link.pauses.begin()
                yield from happened
            link.pauses.since(began)
            link.pauses.again()
        except _AWAY as error:
            if isinstance(error, ServiceError) and error.status in (404, 405):
                able = False
            else:
                link.lost(error)


def _since(position: Position, told: int) -> Iterator[Happened]:
    for seq in range(told + 1, position.course.seq + 1):
        yield Happened(position, seq)


def _signs_of(client: Client, game: str, told: int) -> Generator[None, None, None]:
    """One when the stream is open, and then one for each reason to look. Ends when the stream ends."""
    service = client.service(client.server_of(game))
    with closing(service.api.game_events(game, told)) as events:
        yield
        looked = time.monotonic()
        for event in events:
            seq = _entry_of(event, game)[1] if event else -1
            if seq <= told and time.monotonic() - looked < _LOOK:
                continue
            told, looked = max(told, seq), time.monotonic()
            yield


def _polled(client: Client, game: str, told: int) -> Generator[None, None, None]:
    """One sign if there is something new in the log."""
    if client.service(client.server_of(game)).log(game, told, _ASKED):
        yield


class _All:
    """All games of a player: `told` has for each the number of the last entry told, and None for those not watched."""

    def __init__(self, client: Client, say: Say) -> None:
        self._client = client
        self._say = say
        self._told: dict[str, int | None] = {}
        self._heads: dict[str, str] = {}
        self._place: str | None = None

    def start(self) -> None:
        """Begins with the games that go on, from now on."""
        for summary in self._listed():
            position = self._position(summary["game"])
            self._told[summary["game"]] = position.course.seq if position and not position.over else None

    def signs(self) -> Generator[str, None, None]:
        """Which game is to be looked at, or `""` for all: when the stream is open, and then for each reason."""
        with closing(self._open()) as events:
            yield ""
            looked = time.monotonic()
            for event in events:
                if event is not None and event.name == "entry":
                    game, seq = _entry_of(event)
                    told = self._told.get(game, -1)
                    if told is not None and seq > told:
                        yield game
                elif time.monotonic() - looked >= _LOOK:
                    looked = time.monotonic()
                    yield ""
                if event is not None and event.place is not None:
                    self._place = event.place  # what it says has been told now

    def _open(self) -> Generator[Event | None, None, None]:
        service = self._client.service()
        try:
            return service.own_events(self._place)
        except InvalidError:  # a place that means nothing to the service: all is looked at anyway
            if self._place is None:
                raise
            self._place = None
            return service.own_events(None)

    def look(self, game: str) -> Iterator[Happened]:
        """What has come in a game, or in any."""
        if game:
            yield from self._look(game)
            return
        going = {summary["game"]: summary["head"] for summary in self._listed()}
        gone = [each for each, told in self._told.items() if told is not None and each not in going]
        for each in (*going, *gone):
            if each in gone or self._heads.get(each) != going[each]:
                yield from self._look(each)

    def _look(self, game: str) -> Iterator[Happened]:
        told = self._told.get(game, -1)
        if told is None:
            return
        position = self._position(game)
        if position is None:
            self._told[game] = None
            return
        yield from _since(position, told)
        self._told[game] = None if position.over else max(told, position.course.seq)

    def _position(self, game: str) -> Position | None:
        """A game as it stands now; None for one that does not hold, which is said."""
        try:
            position = self._client.position(game)
        except _AWAY:
            raise
        except HkojiError as error:
            self._say(tell("game {game} is not watched any more: {reason}", game=game[:8], reason=error))
            self._say(error.hint)
            return None
        self._heads[game] = position.course.head
        return position

    def _listed(self) -> list[dict[str, Any]]:  # Any: JSON
        service = self._client.service()
        return [each for status in ("open", "playing") for each in service.own_games(status=status)]


def _entry_of(event: Event, game: str | None = None) -> tuple[str, int]:
    """The game and number of the entry that an event tells of; number -1 if it is another's, or tells of none."""
    if event.name != "entry":
        return "", -1
    try:
        entry = read_line(json.loads(event.data)).entry
    except (HkojiError, ValueError, RecursionError) as error:
        raise ServiceError(
            200,
            tell("the service's stream of events is not understood: {reason}", reason=tell("it is no entry")),
            hint=tell("nothing was changed here"),
        ) from error
    return entry.game, entry.seq if game in (None, entry.game) else -1
