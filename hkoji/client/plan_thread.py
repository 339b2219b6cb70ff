"""Runs plans beside something else, such as `hkoji watch`: a thread with a client of its own.

It looks at a game when it is told of an entry, when a reply is due, and when the plan of the game has changed; at all
games when it begins, and now and then. Files and their locks are all that it shares with other threads and processes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Self

from hkoji.client.plan_files import PlanFiles, planned_games
from hkoji.client.plan_runner import PlanRun, PlanRunner
from hkoji.errors import HkojiError
from hkoji.game.clock import parse_time
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.client import Client

_ALL: Final = 300.0
"""After so many seconds all games are looked at again, and so is a game whose look has failed after `_AGAIN`."""
_AGAIN: Final = 30.0
_GLANCE: Final = 2.0
"""After so many seconds it sees that a plan has been made or changed."""
_END: Final = 2.0
"""The longest wait for a request that is under way when the work ends."""


class PlanThread:
    """Runs the plans of `client`, which nothing else may use, during a `with` block. `told` gets what they bring."""

    def __init__(self, client: Client, runner: PlanRunner, told: Callable[[PlanRun], None]) -> None:
        self._client: Final = client
        self._runner: Final = runner
        self._told: Final = told
        self._wake: Final = threading.Condition()
        self._noticed: set[str] = set()
        self._ended = False
        self._next: dict[str, float] = {}
        self._plans: dict[str, int] = {}
        self._errors: dict[str, str] = {}
        self._thread: Final = threading.Thread(target=self._work, name="plans", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._wake:
            self._ended = True
            self._wake.notify()
        self._thread.join(_END)  # what is cut off here is as safe as after a kill

    def notice(self, game: str) -> None:
        """Says that a game has a new entry, which is kept here."""
        with self._wake:
            self._noticed.add(game)
            self._wake.notify()

    def _work(self) -> None:
        every = 0.0
        while not self._ended:
            if time.monotonic() >= every:
                self._plans = self._stamps()
                every = time.monotonic() + (_ALL if self._look_at_all() else _AGAIN)
            with self._wake:
                if not (self._noticed or self._ended):
                    self._wake.wait(max(0.0, min([_GLANCE, *(at - time.monotonic() for at in self._next.values())])))
                games, self._noticed = self._noticed, set()
            plans, before = self._stamps(), self._plans
            self._plans = plans
            games |= {game for game, stamp in plans.items() if before.get(game) != stamp}
            now = time.monotonic()
            games |= {game for game, at in self._next.items() if at <= now}
            for game in sorted(games):
                self._look(game, fetch=game in self._errors)

    def _look_at_all(self) -> bool:
        """Looks at all games. Returns whether the service has said which they are."""
        try:
            games = self._runner.games()
        except HkojiError as error:
            self._say("", error)
            return False
        self._errors.pop("", None)
        for game in games:
            if not self._ended:
                self._look(game, fetch=True)
        return True

    def _look(self, game: str, *, fetch: bool) -> None:
        run = self._runner.look(game, fetch=fetch)
        self._next.pop(game, None)
        if run.error is not None:
            self._say(game, run.error)
            self._next[game] = time.monotonic() + _AGAIN
        else:
            self._errors.pop(game, None)
            if run.due is not None:
                self._next[game] = time.monotonic() + max(0, parse_time(run.due) - parse_time(self._runner.now()))
        if run.made or run.ended:
            self._told(run)

    def _say(self, game: str, error: HkojiError) -> None:
        """Says what went wrong, once for as long as it stays the same."""
        if self._errors.get(game) == str(error):
            return
        self._errors[game] = str(error)
        self._client.say(tell("plans: {reason}; trying again", reason=error))

    def _stamps(self) -> dict[str, int]:
        """Returns when each plan was written."""
        home, found = self._client.home, {}
        for game in planned_games(home.path):
            try:
                found[game] = PlanFiles(home.game_folder(game)).file.stat().st_mtime_ns
            except FileNotFoundError:  # it has just been removed
                continue
        return found
