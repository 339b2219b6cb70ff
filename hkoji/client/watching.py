"""Waits for a player's turn, and watches games: reports each entry once, in order and verified.

Connections, the service and this machine may fail meanwhile. A service's events are not trusted: an event is only a
reason to read the log, which is verified and kept as by every command. So false, repeated, late or missing events
change nothing; without any, the log is still read now and then.

A program that waits fetches signed heads every five minutes, and once more when the time is over: docs/spec/log.md,
"Client rules". A head convicts a service that holds the opponent's move back, or that backdates it: so a head is wanted
while the opponent's time runs, and above all once it should be over and the game goes on.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.client.agenda import LOOK_SECONDS
from hkoji.client.requests import ServerSentEvent, unreadable_stream
from hkoji.errors import (
    BusyError,
    CancelledError,
    HkojiError,
    InvalidError,
    NetworkError,
    NotFoundError,
    ServiceError,
    TooManyError,
    UsageError,
)
from hkoji.game.course import Stage
from hkoji.game.position import Position
from hkoji.log.line import read_line
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.client import Client
    from hkoji.client.game import ClientGame
    from hkoji.client.news import UnreadMessage
    from hkoji.game.replay import Step

Say = Callable[[str], None]
_AWAY: Final = (NetworkError, ServiceError, BusyError, TooManyError)
"""Errors that may pass: the service is asked again."""
_LOOK: Final = 300.0
"""After so many seconds without an event the log is read anyway."""
_WHILE: Final = 10.0
_FIRST: Final = 0.5
_LONGEST: Final = 30.0
_ASKED: Final = 50
"""For so many seconds the service may wait before it answers: proxies cut silent connections, often after 60."""
_FASTEST: Final = 0.2
_SLOWEST: Final = 2.0
_PATIENCE: Final = 60.0


class HeadSchedule:
    """The games of a program that waits. `now` returns seconds that only go forward."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._next: Final[dict[str, float]] = {}
        """By game, when its head is wanted. A game whose time does not run, or that waits for the player, is absent."""
        self._entry: Final[dict[str, int]] = {}

    def is_due(self, game: str) -> bool:
        """Returns whether a head of the game is wanted now."""
        return game in self._next and self._now() >= self._next[game]

    def due(self) -> tuple[str, ...]:
        """Returns the games of which a head is wanted now."""
        return tuple(game for game in self._next if self.is_due(game))

    def forget(self, game: str) -> None:
        """Wants no more heads of a game."""
        self._next.pop(game, None)

    def look(self, held: ClientGame) -> None:
        """Fetches a head of a game that has just been brought up to date, if one is wanted or the game has moved."""
        game, known = held.vault.game, held.record.require()
        reading = held.time.kept().reading
        if reading.deadline is None or known.position.mine:
            self.forget(game)
            return
        if self._entry.get(game) == known.position.course.seq and not self.is_due(game):
            return
        held.time.fetch_head()
        self._entry[game] = held.record.require().position.course.seq
        self._next[game] = self._now() + LOOK_SECONDS
        left, slack = held.time.kept().reading.left(held.time.kept().now), held.service.slack()
        if left is not None and left + slack >= 0:
            # One second later the head says that the time is over, or the log does.
            self._next[game] = min(self._next[game], self._now() + left + slack + 1)


class WatchedEntry(NamedTuple):
    """A new entry, by its number in the log of `position`, which may have later entries already."""

    position: Position
    seq: int

    @property
    def step(self) -> Step:
        """The entry, what it brings, and the game after it."""
        return self.position.replay.steps[self.seq]

    @property
    def mine(self) -> bool:
        """Whether it was this player's turn after the entry."""
        position, course = self.position, self.step.course
        if position.invited:
            return course.stage is Stage.JOIN
        return position.seat is not None and course.actor == position.seat


class _Link:
    """Whether the service answers; `say` gets a remark when that changes.

    The pauses between attempts are longer each time, and random, so that the clients of a service that has stopped do
    not all come back at once.
    """

    def __init__(self, say: Say) -> None:
        self._say = say
        self._lost = False
        self._next = _FIRST
        self._chance: Final = secrets.SystemRandom()

    def lost(self, error: HkojiError) -> None:
        """Notes that the service does not answer, and waits until it may be asked again."""
        if not self._lost:
            self._say(tell("{reason}; trying again until it answers", reason=error))
        self._lost = True
        self._pause(min(float(getattr(error, "retry_after", 0)), 2 * _LONGEST))

    def found(self, *, news: bool = False) -> None:
        """Notes that the service answers. With `news` the next pause is a short one again."""
        if self._lost:
            self._say(tell("the service answers again"))
        self._lost = False
        if news:
            self._next = _FIRST

    def ended(self, began: float) -> None:
        """Waits after the end of a connection that was opened at `began`; not for long if it has lasted."""
        if time.monotonic() - began > _WHILE:
            self._next = _FIRST
        self._pause()

    def _pause(self, least: float = 0.0) -> None:
        time.sleep(max(least, self._next * self._chance.uniform(0.5, 1.0)))
        self._next = min(self._next * 2, _LONGEST)


def _position(client: Client, game: str, heads: HeadSchedule) -> Position:
    with client.game(game) as held:
        held.current()
        heads.look(held)
        return held.stored()


def wait(client: Client, game: str, timeout: float | None = None) -> Position:
    """Returns the game when the player owes the next entry or is invited to join, or when it is over.

    Raises `CancelledError` after `timeout` seconds. If the service stops answering during the wait, it is asked again
    for a minute; then `NetworkError` is raised.
    """
    end = None if timeout is None else time.monotonic() + timeout
    heads = HeadSchedule()
    position = _position(client, game, heads)
    pause, asked = _FASTEST, _ASKED
    silent_since: float | None = None
    while not (position.over or position.mine):
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            raise CancelledError(
                tell("still waiting in game {game}", game=game[:8]), hint=tell("give a longer --timeout, or none")
            )
        began, seq = time.monotonic(), position.course.seq
        seconds = asked if left is None else min(asked, int(left))
        try:
            if client.service(client.server_of(game)).log(game, seq, seconds) or heads.is_due(game):
                position = _position(client, game, heads)
            asked, silent_since = _ASKED, None
        except (BusyError, TooManyError) as error:
            asked, pause = 0, max(_SLOWEST, min(error.retry_after, _PATIENCE))
        except NetworkError:
            silent_since = silent_since or began
            if time.monotonic() - silent_since > _PATIENCE:
                raise
        if position.course.seq > seq:
            pause = _FASTEST
        elif time.monotonic() - began < seconds / 2 or not seconds:
            # The service did not wait: it cannot, or is stopping, or has announced an entry that it does not show.
            left = pause if end is None else end - time.monotonic()
            time.sleep(max(0.0, min(pause, left)))
            pause = min(pause * 1.5, _SLOWEST)
    return position


def watch_game(client: Client, game: str, after: int | None = None) -> Generator[WatchedEntry, None, None]:
    """Yields each entry of a game until it is over, from now on or after an entry.

    Of a game that is over, it yields the `end` again. Goes on when the service cannot be reached, and asks again.
    """
    heads = HeadSchedule()
    position = _position(client, game, heads)
    told = _now(position) if after is None else after
    if told > position.course.seq:
        raise UsageError(
            tell("game {game} has no entry {seq} yet", game=game[:8], seq=told),
            hint=tell("omit --after to watch from now on"),
        )
    yield from _since(position, told)
    told = max(told, position.course.seq)
    link, able = _Link(client.say), True
    while not position.over:
        began = time.monotonic()
        try:
            signs = _signs_of(client, game, told, heads) if able else _polled(client, game, told, heads)
            with closing(signs):
                for _ in signs:
                    position = _position(client, game, heads)
                    link.found(news=position.course.seq > told)
                    if position.course.seq > told:
                        yield from _since(position, told)
                        told = position.course.seq
                    if position.over:
                        return
            link.ended(began)
        except NotFoundError:
            able = False  # an older service: it has the game, but no events
        except _AWAY as error:
            link.lost(error)


def watch_all(client: Client) -> Generator[WatchedEntry | UnreadMessage, None, None]:
    """Yields each new entry of the player's unfinished games, and of new games, and each new message. Does not end.

    A service announces no messages in its streams. It is asked for them whenever it gives a sign of life.
    """
    watched = _AllGames(client)
    watched.start()
    link, able = _Link(client.say), True
    while True:
        began = time.monotonic()
        try:
            signs: Iterator[str | None] = watched.signs() if able else iter(("",))
            for game in signs:
                # Each is passed on before the next game is asked for: that may fail, and none is told a second time.
                for happened in watched.look(game) if game is not None else ():
                    link.found(news=True)
                    yield happened
                yield from watched.heard()
                link.found()
            link.ended(began)
        except _AWAY as error:
            if isinstance(error, ServiceError) and error.status in (404, 405):
                able = False
            else:
                link.lost(error)


def _now(position: Position) -> int:
    """Returns the number of the last entry; if the game is over, of the one before its `end`."""
    if not position.over:
        return position.course.seq
    return next(seq for seq, step in enumerate(position.replay.steps) if step.course.finished) - 1


def _since(position: Position, told: int) -> Iterator[WatchedEntry]:
    for seq in range(told + 1, position.course.seq + 1):
        yield WatchedEntry(position, seq)


def _signs_of(client: Client, game: str, told: int, heads: HeadSchedule) -> Generator[None, None, None]:
    """Yields once when the stream is open, and then whenever the log should be read. Ends when the stream ends."""
    service = client.service(client.server_of(game))
    with closing(service.game_events(game, told)) as events:
        yield
        looked = time.monotonic()
        for event in events:
            seq = _entry_of(event, game)[1] if event else -1
            if seq <= told and time.monotonic() - looked < _LOOK and not heads.is_due(game):
                continue
            told, looked = max(told, seq), time.monotonic()
            yield


def _polled(client: Client, game: str, told: int, heads: HeadSchedule) -> Generator[None, None, None]:
    """Yields once if there is something new in the log, or a signed head is wanted."""
    if client.service(client.server_of(game)).log(game, told, _ASKED) or heads.is_due(game):
        yield


class _AllGames:
    """All games of a player. `_told` has the number of each game's last reported entry; None if it is not watched."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._say = client.say
        self._told: dict[str, int | None] = {}
        self._last: dict[str, str] = {}
        self._heads: Final = HeadSchedule()
        self._place: str | None = None
        self._heard: dict[str, int] = {}

    def start(self) -> None:
        """Records the last entry of each unfinished game, and its last message. Only later ones are reported."""
        self._heard = {each.game: each.number for each in self._client.news.messages()}
        for summary in self._listed():
            position = self._position(summary["game"])
            self._told[summary["game"]] = position.course.seq if position and not position.over else None

    def heard(self) -> Iterator[UnreadMessage]:
        """Yields the messages that are new."""
        for each in self._client.news.messages():
            if each.number > self._heard.get(each.game, 0):
                self._heard[each.game] = each.number
                yield each

    def signs(self) -> Generator[str | None, None, None]:
        """Yields each game whose log should be read, or `""` for all games, as when the stream has been opened.

        None is a sign of life, after which no log need be read.
        """
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
                else:
                    yield None
                yield from self._heads.due()
                if event is not None and event.place is not None:
                    self._place = event.place  # what the event announced has been reported by now

    def _open(self) -> Generator[ServerSentEvent | None, None, None]:
        service = self._client.service()
        try:
            return service.own_events(self._place)
        except InvalidError:  # the service does not know the place: all games are looked at anyway
            if self._place is None:
                raise
            self._place = None
            return service.own_events(None)

    def look(self, game: str) -> Iterator[WatchedEntry]:
        """Yields the new entries of a game, or for `""` of all games."""
        if game:
            yield from self._look(game)
            return
        going = {summary["game"]: summary["head"] for summary in self._listed()}
        gone = [each for each, told in self._told.items() if told is not None and each not in going]
        for each in (*going, *gone):
            if each in gone or self._last.get(each) != going[each]:
                yield from self._look(each)

    def _look(self, game: str) -> Iterator[WatchedEntry]:
        told = self._told.get(game, -1)
        if told is None:
            self._heads.forget(game)
            return
        position = self._position(game)
        if position is None:
            self._told[game] = None
            self._heads.forget(game)
            return
        yield from _since(position, told)
        self._told[game] = None if position.over else max(told, position.course.seq)

    def _position(self, game: str) -> Position | None:
        """Returns a game as it stands now; None, after a remark, if its log does not hold."""
        try:
            position = _position(self._client, game, self._heads)
        except _AWAY:
            raise
        except HkojiError as error:
            self._say(tell("game {game} is not watched any more: {reason}", game=game[:8], reason=error))
            self._say(error.hint)
            return None
        self._last[game] = position.course.head
        return position

    def _listed(self) -> list[dict[str, Any]]:  # Any: JSON
        service = self._client.service()
        return [each for status in ("open", "playing") for each in service.own_games(status=status)]


def _entry_of(event: ServerSentEvent, game: str | None = None) -> tuple[str, int]:
    """Returns the game and number of the entry in an event; the number is -1 for another game's entry, or for none."""
    if event.name != "entry":
        return "", -1
    try:
        entry = read_line(json.loads(event.data)).entry
    except (HkojiError, ValueError, RecursionError) as error:
        raise unreadable_stream(tell("it is not an entry")) from error
    return entry.game, entry.seq if game in (None, entry.game) else -1
