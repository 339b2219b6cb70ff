"""The time of one game as its player knows it: what its clock shows, signed heads, gifts, and calling the game off.

docs/spec/log.md, "Clock" and "Client rules". What a clock shows is computed from the verified log. Only gifts and
outages for the entry that is due are not in the log yet; the service is asked for them, and a gift counts only if the
giver has signed it. Call what asks or sends with the vault locked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hkoji.audit.credit_checks import verify_gift
from hkoji.client.answers import ClockAnswer
from hkoji.client.sending import EntrySender
from hkoji.client.service import Service
from hkoji.client.signed_heads import FetchedHeads
from hkoji.client.verified_log import VerifiedLog
from hkoji.errors import HkojiError, IllegalError, NotFoundError, NotYourTurnError, TrustError
from hkoji.game.agreement import Agreement, read_agreement
from hkoji.game.clock import Outage, outages_between
from hkoji.game.clock_reading import SLACK_SECONDS, ClockReading, read_clock
from hkoji.game.course import Course
from hkoji.game.entry_kinds import GivenTime, Invite
from hkoji.game.entry_kinds.time import credited_seconds, largest_gift
from hkoji.game.position import Position, time_of_record
from hkoji.log import sshsig
from hkoji.log.canonical import JsonValue, encode_base64
from hkoji.log.game_statements import AnnulStatement, GiftStatement, make_annul, make_gift
from hkoji.log.line import Line
from hkoji.messages.text import tell

NEVER: Final = 2**40
"""The slack of a game of which nobody here can know whether it is overdue."""
_NOT_SENT: Final = tell("nothing was sent")


class GameTime(NamedTuple):
    """What is known about the time of a game at `now`: the agreement, the clock, and what is not in the log yet.

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
    """The time of the game of `record` at `service`. `sender` knows the player and the keys; `say` gets warnings."""

    def __init__(self, record: VerifiedLog, service: Service, sender: EntrySender, say: Callable[[str], None]) -> None:
        self._record: Final = record
        self._service: Final = service
        self._sender: Final = sender
        self._heads: Final = FetchedHeads(record, service.now, say)
        self._say = say

    def kept(self) -> GameTime:
        """Returns the time of the game as the log here says it. Raises `NotFoundError` if there is none."""
        known = self._record.require()
        return kept_time(known.position.course, known.lines[-1], self._service.now())

    def current(self) -> GameTime:
        """Returns the time of the game with what the service knows beside the log: gifts, outages, wishes to call off.

        The log must have been brought up to date before. If the player waits for somebody else and time runs, a signed
        head is fetched and kept, which may bring new lines. A game without a clock can be called off as well.
        """
        self.fetch_head()
        found = self.kept()
        if (found.reading.left(found.now) or 0) < 0:
            found = found._replace(slack=self.slack())
        course = self._record.require().position.course
        if course.finished or (course.actor is None and not _waits_for_mail(course)):
            return found
        try:
            said = self._record.take_clock() or self._service.clock(self._record.vault.game)
        except NotFoundError:  # the service knows nothing beside the log
            return found
        except TrustError:
            raise
        except HkojiError as error:
            self._say(tell("gifts of time, outages and who asks to call off are not known now: {reason}", reason=error))
            return found
        return self._with(found, said)

    def fetch_head(self) -> None:
        """Fetches and keeps a signed head if the player waits for somebody else and time runs. Raises `TrustError`."""
        known, found = self._record.require(), self.kept()
        if found.reading.deadline is None or known.position.mine:
            return
        try:
            self._heads.fetch(found.reading.deadline)
        except NotFoundError:  # the service signs no heads
            return
        except TrustError:
            raise
        except HkojiError as error:
            self._say(tell("the service gives no signed head now: {reason}", reason=error))

    def slack(self) -> int:
        """Returns how many seconds after a deadline the service writes a `timeout`."""
        try:
            return self._service.slack
        except HkojiError:
            return SLACK_SECONDS

    def _with(self, found: GameTime, said: ClockAnswer) -> GameTime:
        """Adds what counts of what the service says. Of several gifts the largest counts."""
        known = self._record.require()
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
        credits = credited_seconds(clock.control, largest_gift(gifts), outages)
        return found._replace(
            reading=read_clock(course, time_of_record(known.lines[-1]), credits),
            gifts=tuple(gifts),
            outages=outages,
        )

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
            raise IllegalError(
                tell("nobody has joined yet"),
                hint=tell("take it back with `hkoji cancel {short}`", short=position.short),
            )
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
        player = self._sender.player()
        sig = player.signer_of(self._sender.counting_key(position.course)).sign(namespace, statement.message)
        said: dict[str, str | int] = {"head": statement.head, "kind": kind, "name": statement.name, **more}
        self._service.state(position.game, {**said, "sig": encode_base64(sig)})
