"""A game as it is kept here, for when the service is not asked or does not answer, and its time.

A kept game has been verified. It is as old as the service's last answer about the game, which is the modification time
of the game's lock: a time in a file would differ from one run to the next, and the lock is there anyway.

docs/spec/log.md, "Clock" and "Client rules". Clocks are computed from the verified log. Only gifts and outages for the
entry that is due are not in the log yet; the service is asked for them, and a gift counts only if the giver has signed
it. Lock the vault around every method that asks or sends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from hkoji.audit.credit_checks import verify_gift
from hkoji.client.answers import ClockAnswer
from hkoji.client.kept.game import Vault
from hkoji.client.sending import EntrySender, not_joined
from hkoji.client.verified_log import KnownGame
from hkoji.errors import (
    HkojiError,
    IllegalError,
    NetworkError,
    NotFoundError,
    NotYourTurnError,
    ServiceError,
    TrustError,
)
from hkoji.game.agreement import Agreement, read_agreement
from hkoji.game.clock import Outage, outages_between
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import GivenTime, Invite
from hkoji.game.entry_kinds.time import credited_seconds, largest_gift
from hkoji.game.position import SLACK_SECONDS, ClockReading, Position, action_of, read_clock, summarise, time_of_record
from hkoji.game.replay import continue_own
from hkoji.game.result_text import closing_body, lapse_json
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue, encode_base64
from hkoji.log.game_statements import AnnulStatement, GiftStatement, make_annul, make_gift
from hkoji.log.line import Line, parse_entry
from hkoji.messages.text import tell

NEVER: Final = 2**40
"""The slack of a game of which nobody here can know whether it is overdue."""
_NOT_SENT: Final = tell("nothing was sent")
_DOWN = (502, 503, 504)
"""The statuses that a proxy answers for a service that does not answer."""


class GameTime(NamedTuple):
    """The time of a game at `now`, as far as it is known: the agreement, the clock, and what is not in the log yet.

    `gifts` and `outages` count for the entry that is due; `annul` has the names of the players who have asked to call
    the game off, and `silent` those whose mailbox does not take letters, each with the time since when. `slack` is how
    many seconds after a deadline the service writes a `timeout`.
    """

    agreement: Agreement
    reading: ClockReading
    now: str
    slack: int = SLACK_SECONDS
    gifts: tuple[GivenTime, ...] = ()
    outages: tuple[Outage, ...] = ()
    annul: tuple[str, ...] = ()
    silent: tuple[tuple[str, str], ...] = ()

    @property
    def overdue(self) -> bool:
        """Whether the service should have ended the game by now."""
        return self.reading.is_overdue(self.now, self.slack)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the clock for programs. docs/json.md."""
        return self.reading.to_json(self.now, self.slack)


def kept_time(course: Course, last: Line, now: str) -> GameTime:
    """Returns the time of a game as its log alone says it; `last` is the last line."""
    return GameTime(course.setup.agreement, read_clock(course, time_of_record(last)), now)


def with_clock(summary: dict[str, Any], time: GameTime) -> dict[str, Any]:  # Any: JSON
    """Returns a summary with its agreement and clock, the deadline as the clock has it, and who asks to call it off."""
    return {
        **summary,
        "agreement": time.agreement.to_json(),
        "deadline": time.reading.deadline,
        "overdue": time.overdue,
        "clock": time.to_json(),
        "annul": list(time.annul),
    }


def listed_time(summary: dict[str, Any], now: str) -> GameTime:  # Any: JSON
    """Returns the time of a game from a summary that `with_clock` has made."""
    clock, agreement = summary["clock"], read_agreement(summary["agreement"])
    reserve = None if clock["reserve"] is None else (clock["reserve"][0], clock["reserve"][1])
    reading = ClockReading(agreement.clock, clock["seat"], clock["since"], clock["deadline"], reserve, clock["spent"])
    # Whether the game is overdue was found with the slack of its service, or cannot be known from a saved copy.
    return GameTime(agreement, reading, now, 0 if clock["overdue"] else NEVER)


def _waits_for_mail(course: Course) -> bool:
    """Whether a game waits for somebody to join who was invited by the key that the service holds for them."""
    invite = course.setup.invite
    return course.joinable and isinstance(invite, Invite) and invite.key is not None


class TimeKeeper:
    """The time of the game of `sender`, which knows the player and the keys."""

    def __init__(self, sender: EntrySender) -> None:
        self._sender: Final = sender
        self._record: Final = sender.record
        self._service: Final = sender.service
        self._say = sender.say

    def kept(self) -> GameTime:
        """Returns the time of the game as the log here says it. Raises `NotFoundError` if there is none."""
        return self._kept(self._record.require())

    def _kept(self, known: KnownGame) -> GameTime:
        return kept_time(known.position.course, known.lines[-1], self._service.now())

    def current(self) -> GameTime:
        """Returns the time of the game with what the service knows beside the log: gifts, outages, wishes to call off.

        The log must have been brought up to date before. If the player waits for somebody else and time runs, a signed
        head is fetched and kept, which may bring new lines. A game without a clock can be called off as well.
        """
        self.fetch_head()
        known = self._record.require()
        found, course = self._kept(known), known.position.course
        if (found.reading.left(found.now) or 0) < 0:
            found = found._replace(slack=self._service.slack())
        if course.finished or (course.actor is None and not _waits_for_mail(course)):
            return found
        try:
            said = self._record.take_clock(course.head) or self._service.clock(self._record.vault.game)
        except NotFoundError:  # the service knows nothing beside the log
            return found
        except TrustError:
            raise
        except HkojiError as error:
            self._say(tell("gifts of time, outages and who asks to call off are not known now: {reason}", reason=error))
            return found
        return self._with(found, known, said)

    def fetch_head(self) -> None:
        """Fetches and keeps a signed head if the player waits for somebody else and time runs. Raises `TrustError`."""
        known = self._record.require()
        if known.position.mine or (deadline := self._kept(known).reading.deadline) is None:
            return
        try:
            self._record.fetch_head(deadline)
        except NotFoundError:  # the service signs no heads
            return
        except TrustError:
            raise
        except HkojiError as error:
            self._say(tell("the service gives no signed head now: {reason}", reason=error))

    def _with(self, found: GameTime, known: KnownGame, said: ClockAnswer) -> GameTime:
        """Adds what counts of what the service says. Of several gifts the largest counts."""
        course = known.position.course
        clock, reading = course.clock, found.reading
        known_names = {*course.setup.names, course.setup.invited}
        found = found._replace(
            annul=tuple(name for name in course.setup.names if name in said.annul),
            silent=tuple(each for each in said.silent if each[0] in known_names),
        )
        if clock is None or reading.seat is None or reading.since is None:
            return found
        giver = 1 - reading.seat
        name, key = course.setup.names[giver], course.setup.keys[giver]
        assert name is not None
        assert key is not None
        gifts = []
        for gift in said.gifts:
            try:
                verify_gift(gift, clock.heads, course.setup.game, name, key, held=course.setup.held(giver))
            except HkojiError as error:
                self._say(tell("warning: the service reports a gift that does not hold: {reason}", reason=error))
            else:
                gifts.append(gift)
        outages = outages_between(said.outages, course.setup.way(reading.seat), reading.since)
        if not gifts and not outages:
            return found
        credits = credited_seconds(clock.control, largest_gift(gifts), outages)
        reading = read_clock(course, time_of_record(known.lines[-1]), credits)
        return found._replace(reading=reading, gifts=tuple(gifts), outages=outages)

    # --- what can be said out of turn -------------------------------------------------------------------------------

    def give(self, seconds: int) -> GameTime:
        """Gives the opponent time for the entry that is due, and returns the time of the game after that.

        The log must have been brought up to date before. Raises `IllegalError`, `NotYourTurnError`, `TimeOverError`,
        `ConflictError` if the game has moved on, or `MalformedError` for a length that no gift has.
        """
        position = self._record.require().position
        position.verify_player(hint=_NOT_SENT)
        course = position.course
        if course.setup.agreement.clock is None:
            raise IllegalError(tell("this game has no clock, so there is no time to give"), hint=_NOT_SENT)
        if course.actor is None or position.mine:
            raise NotYourTurnError(
                tell("time can be given only to the opponent, when the game waits for them"),
                actor=course.actor,
                hint=_NOT_SENT,
            )
        statement = make_gift(
            game=course.setup.game, head=course.head, name=self._sender.player().name, seconds=seconds
        )
        self._send("give", sshsig.GIVE, position, statement, {"seconds": seconds})
        return self.current()

    def annul(self) -> GameTime:
        """Wishes to call the game off, which ends it if the opponent wishes so too. Raises like `give`."""
        position = self._position_joined()
        course = position.course
        statement = make_annul(game=course.setup.game, head=course.head, name=self._sender.player().name)
        self._send("annul", sshsig.ANNUL, position, statement, {})
        self._record.refresh()
        return self.current()

    def withdraw(self) -> GameTime:
        """Asks the service to forget the player's wish to call the game off. The signature stays valid till a move."""
        self._position_joined()
        self._service.withdraw(self._record.vault.game)
        return self.current()

    def _position_joined(self) -> Position:
        position = self._record.require().position
        position.verify_player(hint=_NOT_SENT)
        if position.course.actor is None:
            raise not_joined(position.short)
        return position

    def _send(
        self,
        kind: str,
        namespace: str,
        position: Position,
        statement: GiftStatement | AnnulStatement,
        more: dict[str, int],
    ) -> None:
        """Signs a statement about the last entry and sends it. Signed again it has the same bytes."""
        sig = self._sender.signer(position.course).sign(namespace, statement.message)
        said: dict[str, str | int] = {"head": statement.head, "kind": kind, "name": statement.name, **more}
        self._service.state(position.game, {**said, "sig": encode_base64(sig)})


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


def read_kept(vault: Vault, known: KnownGame, now: str, signed_action: Callable[[Submission], str | None]) -> KeptGame:
    """Returns the game of `vault`, which is `known`, at the time `now`.

    In a sealed game `signed_action` gives the action of an own move with its cards, if it can be read.
    """
    confirmed = vault.confirmed()
    as_of = None if confirmed is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(confirmed))
    return KeptGame(known.position, known.lines, as_of, tuple(_unsent(vault, known, signed_action)), now)


def _unsent(vault: Vault, known: KnownGame, signed_action: Callable[[Submission], str | None]) -> Iterable[UnsentEntry]:
    def read(made: Submission, *, waits: bool) -> UnsentEntry:
        sealed = known.position.course.sealed is not None
        action = signed_action(made) if sealed else _action(vault, known, made)
        return UnsentEntry(made.entry.seq, made.entry.kind, action, waits)

    last = known.lines[-1].entry.seq
    pending = vault.outbox()
    if pending is not None and pending.entry.seq > last:
        yield read(pending, waits=True)
    for text in vault.signed(last + 1):
        if pending is None or text != pending.entry.text:
            yield read(Submission(parse_entry(text), b""), waits=False)


def _action(vault: Vault, known: KnownGame, made: Submission) -> str | None:
    if made.entry.kind != "move":
        return None
    openings = (*vault.openings(), *made.opening)
    try:
        after = continue_own(known.replay, (Line(made.entry, made.sig),), known.seat, known.view, openings)
        return action_of(after.steps[-1])
    except HkojiError:  # it does not follow what is kept here: the service has refused it, or will
        return None


def readable(games: Iterable[str], read: Callable[[str], KeptGame], say: Callable[[str], None]) -> list[KeptGame]:
    """Returns the games that can be read, most recently changed first; says which cannot."""
    found: list[KeptGame] = []
    for game in games:
        try:
            found.append(read(game))
        except HkojiError as error:
            say(tell("game {game}: {reason}", game=game[:8], reason=error))
    return sorted(found, key=lambda each: each.recorded, reverse=True)
