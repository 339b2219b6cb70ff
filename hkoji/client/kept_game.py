"""Games as they are kept here, for when the service is not asked or does not answer.

What is kept has been verified. It is as old as the service's last answer about the game, which is the modification time
of the game's lock: a time in a file would differ from one run to the next, and the lock is there anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hkoji.client.game_time import NEVER, GameTime, kept_time, with_clock
from hkoji.client.vault import Vault
from hkoji.client.verified_log import KnownGame
from hkoji.errors import HkojiError, NetworkError, ServiceError
from hkoji.game.course import Stage
from hkoji.game.position import Position, action_of, summarise, time_of_record
from hkoji.game.result_text import closing_body, lapse_json
from hkoji.game.submission import Submission
from hkoji.game.view import continue_own
from hkoji.log.entry import parse_entry
from hkoji.log.line import Line
from hkoji.messages.text import tell

_DOWN = (502, 503, 504)
"""What a proxy answers for a service that does not answer."""


class UnsentEntry(NamedTuple):
    """An own entry that is signed and not in the log kept here; `waits` if the next command sends it by itself."""

    seq: int
    kind: str
    action: str | None
    waits: bool


class KeptGame(NamedTuple):
    """A game as it is kept here. `as_of` is the time of the service's last answer; None if that is not known.

    `now` is the time at which it was read, by the service's clock as far as that is known.
    """

    position: Position
    lines: tuple[Line, ...]
    as_of: str | None
    unsent: tuple[UnsentEntry, ...]
    now: str

    @property
    def recorded(self) -> str:
        """The time of record of the last entry."""
        return time_of_record(self.lines[-1])

    @property
    def age(self) -> dict[str, Any]:  # Any: JSON
        """The fields that say that a result is what is kept here."""
        return {
            "offline": True,
            "as_of": self.as_of,
            "recorded": self.recorded,
            "unsent": [{"seq": each.seq, "kind": each.kind, "action": each.action} for each in self.unsent],
        }

    @property
    def time(self) -> GameTime:
        """The time of the game as its log alone says it. It is never overdue: the service may have ended it since."""
        return kept_time(self.position.course, self.lines[-1], self.now)._replace(slack=NEVER)

    @property
    def summary(self) -> dict[str, Any]:  # Any: JSON
        """The game as a list of games shows it, with its clock and its age."""
        found = summarise(self.position.course, self.lines[0], self.lines[-1])
        return {**with_clock(found, self.time), **self.lapse, **self.age}

    @property
    def lapse(self) -> dict[str, Any]:  # Any: JSON
        """Why the game ended before anybody joined it, as a field of its summary; nothing for any other game.

        It is None if the host has cancelled the game.
        """
        if not self.position.over or self.position.course.setup.names[1] is not None:
            return {}
        return {"lapse": lapse_json(closing_body(step.body for step in self.position.replay.steps))}

    def concerns(self, name: str) -> bool:
        """Whether the player with that name plays in the game or is invited to it."""
        course = self.position.course
        invited = course.setup.invited if course.stage is Stage.JOIN else None
        return course.stage is not Stage.OPEN and (self.position.seat is not None or invited == name)


def service_is_down(error: HkojiError) -> bool:
    """Returns whether an error means that the service cannot be reached, directly or behind its proxy."""
    return isinstance(error, NetworkError) or (isinstance(error, ServiceError) and error.status in _DOWN)


def read_kept(vault: Vault, known: KnownGame, now: str) -> KeptGame:
    """Returns the game of `vault`, which is `known`, at the time `now`."""
    confirmed = vault.confirmed()
    as_of = None if confirmed is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(confirmed))
    return KeptGame(known.position, known.lines, as_of, tuple(_unsent(vault, known)), now)


def _unsent(vault: Vault, known: KnownGame) -> Iterable[UnsentEntry]:
    last = known.lines[-1].entry.seq
    pending = vault.outbox()
    if pending is not None and pending.entry.seq > last:
        yield _read(vault, known, pending, waits=True)
    for text in vault.signed(last + 1):
        if pending is None or text != pending.entry.text:
            yield _read(vault, known, Submission(parse_entry(text), b""), waits=False)


def _read(vault: Vault, known: KnownGame, made: Submission, *, waits: bool) -> UnsentEntry:
    entry, action = made.entry, None
    if entry.kind == "move":
        openings = (*vault.openings(), *made.opening)
        try:
            after = continue_own(known.replay, (Line(entry, made.sig),), known.seat, known.view, openings)
            action = action_of(after.steps[-1])
        except HkojiError:  # it does not follow what is kept here: the service has refused it, or will
            action = None
    return UnsentEntry(entry.seq, entry.kind, action, waits)


def readable(games: Iterable[str], read: Callable[[str], KeptGame], say: Callable[[str], None]) -> list[KeptGame]:
    """Returns the games that can be read, most recently changed first; says which cannot."""
    found: list[KeptGame] = []
    for game in games:
        try:
            found.append(read(game))
        except HkojiError as error:
            say(tell("game {game}: {reason}", game=game[:8], reason=error))
    return sorted(found, key=lambda each: each.recorded, reverse=True)
