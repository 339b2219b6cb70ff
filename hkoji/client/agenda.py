"""The player's games as lists show them: each summary with its clock, and the most urgent first where games wait.

A service's summaries say what it claims. Of a game whose last entry is kept here, the clock is computed from the
verified log instead; the service may only know of a later deadline, because gifts and outages are not in the log yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from typing import Any, Final, Protocol

from hkoji.client.game import ClientGame
from hkoji.client.identity import Identity
from hkoji.client.kept.evidence import KeptEvidence
from hkoji.client.kept.home import Home
from hkoji.client.kept_game import GameTime, KeptGame, with_clock
from hkoji.client.service import Service
from hkoji.errors import HkojiError
from hkoji.game.agreement import UNTIMED, Agreement, read_agreement
from hkoji.game.clock import parse_time
from hkoji.game.position import ClockReading
from hkoji.messages.text import tell

LOOK_SECONDS: Final = 300
"""A signed head that is younger than this is not fetched again."""
_MOST_HEADS: Final = 20
"""The most games whose heads one command fetches."""
_MOST_NEW: Final = 20
"""The most invitations that one command fetches."""
_NO_DEADLINE: Final = "~"
"""Sorts behind every time."""


def stated_time(summary: dict[str, Any], now: str) -> GameTime:  # Any: JSON
    """Returns the time of a game as its summary states it: without the reserves, which a summary does not have."""
    agreement = _agreement(summary)
    runs = agreement.clock is not None and summary["status"] == "playing"
    seat = summary.get("actor") if runs else None
    reading = ClockReading(agreement.clock, seat if seat in (0, 1) else None, None, summary.get("deadline"))
    return GameTime(agreement, reading, now)


def _agreement(summary: dict[str, Any]) -> Agreement:  # Any: JSON
    """Returns a summary's agreement, whose form has been checked."""
    stated = summary.get("agreement")
    return UNTIMED if stated is None else read_agreement(json.loads(stated) if isinstance(stated, str) else stated)


def urgency(summary: dict[str, Any]) -> tuple[str, str]:  # Any: JSON
    """Returns what lists of waiting games are sorted by: the deadline, then the last entry."""
    return summary["clock"]["deadline"] or _NO_DEADLINE, summary["updated"] or ""


class GameHolder(Protocol):
    """The part of a `Client` that the agenda and the news need: its module builds on theirs."""

    @property
    def home(self) -> Home:
        """The player's files."""

    @property
    def identity(self) -> Identity:
        """The player."""

    @property
    def say(self) -> Callable[[str], None]:
        """Gets remarks for people."""

    def service(self) -> Service:
        """Returns the player's service."""

    def server_of(self, game: str) -> str:
        """Returns the URL of the service that keeps a game."""

    def game(self, game: str) -> AbstractContextManager[ClientGame]:
        """Gives a game, and locks it."""

    def kept_game(self, game: str) -> KeptGame:
        """Returns a game as it is kept here."""


class Agenda:
    """The lists of games of a `client`."""

    def __init__(self, client: GameHolder) -> None:
        self._client: Final = client

    def stated(self, summaries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:  # Any: JSON
        """Returns summaries of anybody's games with the clocks that they state, and `lapse` where it is kept here."""
        return [{**with_clock(each, self._stated(each)), **self._kept_lapse(each)} for each in summaries]

    def known(self, summaries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:  # Any: JSON
        """Returns summaries of the player's games, with the clocks as they are known here.

        For games that ended before anybody joined, and that are kept here, `lapse` says how they ended. The service is
        asked only about those whose end this home does not have yet.
        """
        return [{**with_clock(each, self._known(each)), **self._lapse(each)} for each in summaries]

    def waiting(self, summaries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:  # Any: JSON
        """Returns the games that wait for the player, the most urgent first.

        Games that have begun are brought up to date, so what is said of them has been verified, and `annul` has the
        players who have asked to call the game off. That may send a move that an earlier command could not; then the
        game no longer waits.
        """
        found = ((each, self._current(each)) for each in summaries)
        return sorted((with_clock(each, time) for each, time in found if time is not None), key=urgency)

    def look_at_others(self, summaries: Iterable[dict[str, Any]]) -> None:
        """Fetches and keeps signed heads of games with a clock that wait for the opponent.

        They convict a service that holds a move back. A game that was looked at lately is left out.
        """
        due = []
        for each in summaries:
            if _agreement(each).clock is None or not self._is_kept(each["game"]):
                continue
            heads = KeptEvidence(self._client.home.game_folder(each["game"])).heads()
            looked = max((head.statement.at for head in heads), default="")
            if not looked or parse_time(self._client.service().now()) - parse_time(looked) >= LOOK_SECONDS:
                due.append((looked, each["game"]))
        for _, game in sorted(due)[:_MOST_HEADS]:
            with self._remarking(game), self._client.game(game) as held:
                held.time.fetch_head()

    def keep_invitations(self, summaries: Iterable[dict[str, Any]]) -> None:  # Any: JSON
        """Keeps the logs of invitations among games that wait for the player, so that the end of each will be news."""
        invitations = (each["game"] for each in summaries if each["status"] == "open")
        for game in islice((game for game in invitations if not self._is_kept(game)), _MOST_NEW):
            with self._remarking(game), self._client.game(game) as held:
                held.current()

    def _stated(self, summary: dict[str, Any]) -> GameTime:  # Any: JSON
        found = stated_time(summary, self._client.service().now())
        late = (found.reading.left(found.now) or 0) < 0
        return found._replace(slack=self._client.service().slack()) if late else found

    def _lapse(self, summary: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
        """Returns how a game ended that nobody joined, as a field of its summary; nothing if it is not kept here."""
        game = summary["game"]
        if self._is_kept_unplayed(summary):
            with self._remarking(game):
                if not self._client.kept_game(game).position.over:
                    with self._client.game(game) as held:
                        held.current()
                return self._kept_lapse(summary)
        return {}

    def _kept_lapse(self, summary: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
        """Returns the same as `_lapse`, but does not ask the service: nothing if the end is not kept here."""
        if self._is_kept_unplayed(summary):
            with suppress(HkojiError):  # a command about this game tells of it
                return self._client.kept_game(summary["game"]).lapse
        return {}

    def _is_kept_unplayed(self, summary: dict[str, Any]) -> bool:  # Any: JSON
        """Returns whether a game ended before anybody joined it, and its log is kept here."""
        unplayed = summary["status"] == "cancelled" and summary["guest"] is None
        return unplayed and self._is_kept(summary["game"])

    def _is_kept(self, game: str) -> bool:
        return (self._client.home.game_folder(game) / "log.jsonl").exists()

    def _known(self, summary: dict[str, Any]) -> GameTime:  # Any: JSON
        stated = self._stated(summary)
        if stated.reading.control is None or summary["status"] != "playing":
            return stated
        try:
            kept = self._client.kept_game(summary["game"])
        except HkojiError:  # it was never looked at here
            return stated
        if kept.position.course.head != summary["head"]:
            return stated
        return _later(kept.time, stated)

    def _current(self, summary: dict[str, Any]) -> GameTime | None:  # Any: JSON
        """Returns the time of a game that waits for the player; None if it no longer does."""
        stated = self._stated(summary)
        if summary["status"] != "playing":
            return stated
        with self._remarking(summary["game"]):
            with self._client.game(summary["game"]) as held:
                position, time = held.look()
            return time if position.mine else None
        return stated

    @contextmanager
    def _remarking(self, game: str) -> Iterator[None]:
        """Ends the block at an error, which is only said: the others of the games are listed."""
        try:
            yield
        except HkojiError as error:
            self._client.say(tell("game {game}: {reason}", game=game[:8], reason=error))
            if error.hint:
                self._client.say(error.hint)


def _later(kept: GameTime, stated: GameTime) -> GameTime:
    """Returns the time that is kept, with the deadline that the service states if it is later."""
    here, there = kept.reading.deadline, stated.reading.deadline
    kept = kept._replace(slack=stated.slack)
    if here is None or there is None or there <= here:
        return kept
    return kept._replace(reading=kept.reading._replace(deadline=there))
