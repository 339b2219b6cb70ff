"""The rules of notices: which players are told of which events, and when. Pure rules over public facts.

A notice depends on the public log, statements and messages only. It has no cards, no legal moves and no text of a
message. `notices_of`, `notices_of_gift` and `notice_of_annul` are asked when something happens, and their result is
written in its transaction. They know no channels. `judge` is asked when a notice is to be sent, perhaps days later: it
reads the game as it is then, and the settings of the channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.game.agreement import DAY
from hkoji.game.clock import Effect, add_seconds, format_time, parse_time
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import KINDS, Lapse
from hkoji.game.entry_kinds.time import LapseReason
from hkoji.log.line import SERVER_NAME, Entry
from hkoji.log.mail_claim import MAIL, NO_MAIL
from hkoji.referee import RefereedGame
from hkoji_server.service.players.channel_settings import AHEAD, LONGEST_QUIET, ChannelSettings
from hkoji_server.store.game_values import NewNotice
from hkoji_server.store.notices import WaitingNotice


class NoticeEvent(StrEnum):
    """The events that a player can be told of. The values are stored, and players choose among them for a channel."""

    TURN = "turn"
    """The player owes the next entry."""
    REMIND1 = "remind1"
    """The player still owes it, 24 hours before its deadline."""
    REMIND2 = "remind2"
    """The same, 4 hours before."""
    OVER = "over"
    """A game of the player has ended, not by what they have just done."""
    INVITED = "invited"
    """Somebody has opened a game for the player by name."""
    JOINED = "joined"
    """Somebody has joined a game that the player hosts."""
    DECLINED = "declined"
    """The invited player has declined a game that the player hosts."""
    GIVEN = "given"
    """The opponent has given the player time."""
    ANNUL = "annul"
    """The opponent wishes to call the game off."""
    TALK = "talk"
    """The opponent has written a message."""
    FAILING = "failing"
    """The service has given up another channel of the player."""
    ANSWER = "answer"
    """The player has written a mail, whose number `seq` is. The game may be empty."""
    CONFIRM = "confirm"
    """The owner of a mailbox is asked to confirm it. There is no game."""
    STOPPED = "stopped"
    """The letters to a mailbox were stopped by one click, at the time `seq`. There is no game."""

    @property
    def has_deadline(self) -> bool:
        """Whether the player has until some time to do what the notice is about."""
        return self in _WITH_DEADLINE


_WITH_DEADLINE: Final = (
    NoticeEvent.TURN,
    NoticeEvent.REMIND1,
    NoticeEvent.REMIND2,
    NoticeEvent.INVITED,
    NoticeEvent.GIVEN,
    NoticeEvent.ANNUL,
)
OF_MAIL: Final = (NoticeEvent.ANSWER, NoticeEvent.CONFIRM, NoticeEvent.STOPPED)
"""Events that are told only by mail, to a mailbox that has asked for it or is asked; nobody chooses them."""
EVENTS: Final = tuple(event.value for event in NoticeEvent if event not in OF_MAIL)
"""The names of the events that players choose among, in the order of lists."""

TURN_WAIT: Final = 60
"""How many seconds a `turn` waits, so that a quick reply makes no notice."""
REMINDERS: Final = {NoticeEvent.REMIND1: DAY, NoticeEvent.REMIND2: 4 * 3600}
"""How many seconds before the deadline each reminder comes, the first one first."""
_EARLY: Final = LONGEST_QUIET + AHEAD
"""How many seconds earlier than that a reminder is looked at, since quiet hours may make it come earlier."""
OLDEST_NOTICE: Final = 3 * DAY
"""For how many seconds after it was due a notice is tried."""
OF_TURN: Final = (NoticeEvent.TURN, *REMINDERS)
"""The events that say that it is the player's turn."""
_OWED: Final = (*OF_TURN, NoticeEvent.GIVEN)
"""The events that are about an entry that the player owes."""


# --- when something happens -------------------------------------------------------------------------------------------


def notices_of(
    before: Course, after: RefereedGame, entries: Sequence[Entry], *, deadline: str | None, by: str | None = None
) -> tuple[NewNotice, ...]:
    """Returns who is told of `entries`, which have led from `before` to `after`. `deadline` is that of the game then.

    `by` is the player who has caused entries of the service, None if nobody has. Nobody is told of what they have done.
    """
    # A player whose key the service holds has not sent the `seed` that it sends for them.
    sent = entries[0].by != SERVER_NAME and entries[0].body.get(MAIL) != NO_MAIL.to_json()
    author = entries[0].by if sent else by
    course = after.course
    names = course.setup.names
    told: list[tuple[NoticeEvent, str | None]] = []
    if course.finished:
        if not before.finished:
            declined = entries[0].kind == Lapse.KIND and entries[0].body.get("reason") == LapseReason.DECLINED
            told = [(NoticeEvent.DECLINED, names[0])] if declined else [(NoticeEvent.OVER, name) for name in names]
        return tuple(_now(after, event, name) for event, name in told if name is not None and name != author)
    if before.stage is Stage.OPEN and course.joinable:
        told.append((NoticeEvent.INVITED, course.to_move))
    elif before.joinable and not course.joinable:
        told.append((NoticeEvent.JOINED, names[0]))
    notices = [_now(after, event, name) for event, name in told if name is not None and name != author]
    # A change of keys leaves the turn, and what was written about it, as they are.
    if course.actor is None or all(KINDS[entry.kind].EFFECT is Effect.NONE for entry in entries):
        return tuple(notices)
    player = names[course.actor]
    assert player is not None
    if player != author:
        notices.append(_now(after, NoticeEvent.TURN, player, TURN_WAIT))
    return (*notices, *reminders(course, player, course.seq, after.at, deadline))


def notices_of_gift(after: RefereedGame, *, deadline: str | None, at: str) -> tuple[NewNotice, ...]:
    """Returns what the player who owes the next entry is told of a gift of time at `at`, which sets the `deadline`."""
    course = after.course
    assert course.actor is not None
    assert course.clock is not None
    player = course.setup.names[course.actor]
    assert player is not None
    given = NewNotice(course.setup.game, course.seq, NoticeEvent.GIVEN, player, at)
    seq = _turn_seq(course)
    since = course.clock.settled(after.at).due(course.clock.control, course.actor).since
    return (given, *reminders(course, player, seq, max(since, at), deadline))


def _turn_seq(course: Course) -> int:
    """Returns the number that reminders have: of the entry with which the turn went over, before changes of keys."""
    setup = course.setup
    changes = {each.seq for each in setup.replaced}
    changes |= {seq for held in setup.held_keys if not held.only for seq in (held.since, held.until) if seq is not None}
    seq = course.seq
    while seq in changes:
        seq -= 1
    return seq


def notice_of_annul(course: Course, name: str, at: str) -> tuple[NewNotice, ...]:
    """Returns what the opponent of player `name`, who wishes to call the game off, is told."""
    return tuple(
        NewNotice(course.setup.game, course.seq, NoticeEvent.ANNUL, each, at)
        for each in course.setup.names
        if each is not None and each != name
    )


def reminders(course: Course, player: str, seq: int, since: str, deadline: str | None) -> tuple[NewNotice, ...]:
    """Returns the reminders of the entry that `player` owes since that time, to be looked at early enough."""
    if deadline is None:
        return ()
    left = parse_time(deadline) - parse_time(since)
    return tuple(
        NewNotice(course.setup.game, seq, event, player, add_seconds(since, max(TURN_WAIT, left - before - _EARLY)))
        for event, before in REMINDERS.items()
        if left > 2 * before
    )


def _now(after: RefereedGame, event: NoticeEvent, player: str, wait: int = 0) -> NewNotice:
    course = after.course
    return NewNotice(course.setup.game, course.seq, event, player, add_seconds(after.at, wait))


# --- when it is to be sent --------------------------------------------------------------------------------------------


class ToldGame(NamedTuple):
    """The public facts of a game when a notice about it is to be sent.

    `later` are the kinds of the entries after the one that the notice is about. `wishes` are the players who wish to
    call the game off now.
    """

    course: Course
    deadline: str | None
    later: tuple[str, ...]
    wishes: tuple[str, ...]


class Verdict(NamedTuple):
    """A decision on a notice: it is sent now (`at` is None), put off until `at`, or `dropped`.

    With `anew` it counts as due only then.
    """

    dropped: bool = False
    at: str | None = None
    anew: bool = False


SEND: Final = Verdict()
DROP: Final = Verdict(dropped=True)


def judge(notice: WaitingNotice, player: str, game: ToldGame, settings: ChannelSettings, now: str) -> Verdict:
    """Returns what becomes of a notice at the time `now`. It is dropped if what it tells is no longer so."""
    event = NoticeEvent(notice.event)
    if _stale(event, player, game, now):
        return DROP
    if (before := REMINDERS.get(event)) is not None:
        assert game.deadline is not None
        wanted = settings.before_quiet(format_time(parse_time(game.deadline) - before))
        if wanted > now:
            return Verdict(at=wanted, anew=True)
        wanted = now
    else:
        wanted = max(now, _with_digest(event, notice.due, game, settings))
    at = settings.after_quiet(wanted)
    # A notice that was tried before keeps the time at which it was due, or it would be tried for ever.
    return SEND if at <= now else Verdict(at=at, anew=notice.tried == 1)


def _stale(event: NoticeEvent, player: str, game: ToldGame, now: str) -> bool:
    course, deadline = game.course, game.deadline
    if event in _OWED:
        if course.actor is None or course.setup.names[course.actor] != player:
            return True
        if any(KINDS[kind].EFFECT is not Effect.NONE for kind in game.later):
            return True
        if deadline is None:
            return event in REMINDERS
        # The first reminder is of no use when it is time for the second.
        last = parse_time(deadline) - (REMINDERS[NoticeEvent.REMIND2] if event is NoticeEvent.REMIND1 else 0)
        return parse_time(now) > last
    if event is NoticeEvent.INVITED:
        return not course.joinable or course.to_move != player or (deadline is not None and now > deadline)
    if event is NoticeEvent.ANNUL:
        return bool(game.later) or course.finished or not set(game.wishes) - {player}
    return False


def _with_digest(event: NoticeEvent, due: str, game: ToldGame, settings: ChannelSettings) -> str:
    """Returns the digest time at which an event is told; its own time if that would be after the deadline."""
    if event is NoticeEvent.FAILING:
        return due
    at = settings.next_digest(due)
    late = game.deadline is not None and at > game.deadline and event.has_deadline
    return due if late else at
