"""Players are told of what others do, by laws over whole games; and notices are sent in time, by laws over times."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hkoji_server.service.games.notice_rules import (
    DROP,
    EVENTS,
    REMINDERS,
    SEND,
    TURN_WAIT,
    NoticeEvent,
    ToldGame,
    Verdict,
    judge,
    notice_of_annul,
    notices_of,
    notices_of_gift,
)
from hkoji_server.service.players.channel_settings import AHEAD, LONGEST_QUIET, ChannelSettings, Quiet
from hkoji_server.store.game_values import NewNotice
from hkoji_server.store.notices import WaitingNotice
from hypothesis import assume, given
from hypothesis import strategies as st

from hkoji import referee
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.game.clock import format_time, parse_time
from hkoji.game.course import Course
from hkoji.game.setup import Invite
from hkoji.log.line import SERVER_NAME
from hkoji.log.private_key import PrivateKey
from tests.support.table import AT
from tests.support.timed_table import TimedTable, later

HOUR = 3600
CONTROLS = (
    None,
    TimeControl(HOUR, 0, 0, 0),
    TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY),
    TimeControl(9 * HOUR, 0, 0, 0),
)
TURNS = (NoticeEvent.TURN, *REMINDERS)


@dataclass
class ToldTable(TimedTable):
    """A table that notes who is told of each append: course before, author, lines, deadline, notices."""

    told: list[tuple[Course, str | None, int, str | None, tuple[NewNotice, ...]]] = field(default_factory=list)
    by: str | None = None
    """The player who causes entries of the service."""

    def _keep(self, accepted: referee.Accepted) -> None:
        before = self.course
        super()._keep(accepted)
        entries = [line.entry for line in accepted.lines]
        author = self.by if entries[0].by == SERVER_NAME else entries[0].by
        due = self.deadline()
        notices = notices_of(before, self.refereed, entries, deadline=due, by=self.by)
        self.told.append((before, author, len(entries), due, notices))

    def last(self) -> set[tuple[str, str]]:
        """Events and players of the last append, without reminders."""
        return {(each.event, each.player) for each in self.told[-1][-1] if each.event not in REMINDERS}


@given(seed=st.integers(0, 10**6), control=st.sampled_from(CONTROLS), data=st.data())
def test_everybody_is_told_once_of_what_others_have_done_and_of_nothing_else(
    seed: int, control: TimeControl | None, data: st.DataObject
) -> None:
    table = ToldTable(seed=seed, agreement=Agreement(control))
    table.begin()
    while not table.course.finished:
        what = data.draw(st.sampled_from(["play"] * 12 + ["wait", "rekey", "resign", "time out", "call off"]))
        if what == "wait":
            table.wait(data.draw(st.integers(1, DAY)))
        elif what == "rekey" and not table.course.rekeyed:
            assert table.course.actor is not None
            table.rekey(table.course.actor)
        elif what == "resign":
            table.send(table.entry(data.draw(st.integers(0, 1)), entry_kinds.Resign()))
        elif what == "time out" and control is not None:
            table.wait(30 * DAY).time_out()
        elif what == "call off":
            due = table.deadline()
            if due is None or table.now <= due:
                table.by = table.names[1]
                table.call_off()
        elif what == "play":
            due = table.deadline()
            if due is not None and table.now > due:
                table.time_out()
            else:
                table.play(1)
    seq = 0
    for _, author, entries, due, notices in table.told:
        seq += entries
        kinds = [line.entry.kind for line in table.lines[seq - entries + 1 : seq + 1]]
        at = _received(table, seq)
        assert len({(each.event, each.player) for each in notices}) == len(notices)
        assert all(each.seq == seq and each.game == table.game and each.event in EVENTS for each in notices)
        told = {(each.event, each.player): each.not_before for each in notices}
        for event, player in told:
            assert player in table.names
            assert player != author or event in REMINDERS
        over = {player for event, player in told if event == "over"}
        if "end" in kinds:
            assert over == set(table.names) - {author}
            assert set(told) == {("over", player) for player in over}
            continue
        assert not over
        plays = any(kind in ("seed", "move", "join") for kind in kinds)
        owes = table.names[_actor_after(table, seq)] if plays else None
        assert {player for event, player in told if event == "turn"} == ({owes} - {author} if owes else set())
        if owes is not None and owes != author:
            assert told["turn", owes] == later(at, TURN_WAIT)
        reminded = {event for event, player in told if event in REMINDERS and player == owes}
        assert reminded == {event for event in told_reminders(at, due) if owes is not None}
        for event in reminded:
            assert owes is not None
            assert due is not None
            assert at < told[event, owes] <= later(due, -REMINDERS[NoticeEvent(event)])


def told_reminders(at: str, due: str | None) -> set[str]:
    """The reminders of a turn, by the rule in words: the turn has more than twice the time of the reminder."""
    return set() if due is None else {event for event, s in REMINDERS.items() if later(at, 2 * s) < due}


def _received(table: TimedTable, seq: int) -> str:
    receipt = table.lines[seq].receipt
    assert receipt is not None
    return receipt.receipt.at


def _actor_after(table: TimedTable, seq: int) -> int:
    """The player who owes the entry after number `seq`: the author of the next seed or move, by replaying."""
    resumed = referee.resume(table.lines[: seq + 1], table.refereed.seed, table.refereed.openings)
    assert resumed.course.actor is not None
    return resumed.course.actor


@pytest.mark.parametrize("invited", [False, True])
def test_of_an_open_game_the_invited_and_the_host_are_told(invited: bool) -> None:
    table = ToldTable()
    table.open(Invite("bob", None) if invited else None)
    assert table.last() == ({("invited", "bob")} if invited else set())
    table.join()
    assert table.last() == {("joined", "alice")}
    table.reveal_seed(1)
    assert table.last() == {("turn", "alice")}


@pytest.mark.parametrize(("reason", "told"), [("declined", {("declined", "alice")}), ("expired", {("over", "alice")})])
def test_the_host_is_told_that_a_game_has_lapsed(reason: str, told: set[tuple[str, str]]) -> None:
    table = ToldTable(agreement=Agreement(CONTROLS[1], later(AT, 60)))
    table.open(Invite("bob", None))
    table.wait(120).lapse(reason)
    assert table.last() == told


def test_a_gift_tells_the_player_who_got_it_and_sets_the_reminders_of_that_turn() -> None:
    table = ToldTable(agreement=Agreement(TimeControl(9 * HOUR, 0, 0, 0))).begin()
    table.play(3)
    actor = table.course.actor
    assert actor is not None
    player = table.names[actor]
    seq = table.course.seq
    table.wait(60).rekey(actor)
    table.wait(60).give(30 * DAY)
    due = table.deadline()
    assert due is not None
    notices = notices_of_gift(table.refereed, deadline=due, at=table.now)
    assert [(each.event, each.seq, each.player) for each in notices] == [
        ("given", seq + 1, player),
        ("remind1", seq, player),
        ("remind2", seq, player),
    ]
    assert notices[0].not_before == table.now


def test_a_wish_to_call_a_game_off_is_told_to_the_other_player() -> None:
    table = ToldTable().begin()
    (told,) = notice_of_annul(table.course, "bob", AT)
    assert told == NewNotice(table.game, table.course.seq, "annul", "alice", AT)


# --- settings ---------------------------------------------------------------------------------------------------------

MINUTES = st.integers(0, 1439).map(lambda minute: 60 * minute)


@st.composite
def quiets(draw: st.DrawFn) -> Quiet:
    begin = draw(MINUTES)
    return Quiet(begin, (begin + 60 * draw(st.integers(1, LONGEST_QUIET // 60))) % DAY)


@st.composite
def settings(draw: st.DrawFn, *, digests: bool = True) -> ChannelSettings:
    quiet = draw(st.none() | quiets())
    times = draw(st.sets(MINUTES, max_size=3)) if digests else set()
    quarters = draw(st.integers(-59, 59))
    hours, quarter = divmod(abs(quarters), 4)
    zone = f"{'-' if quarters < 0 else '+'}{hours:02}:{15 * quarter:02}"
    kept = tuple(sorted(each for each in times if quiet is None or quiet.since(each) is None))
    return ChannelSettings(kept, "json", quiet, zone)


MOMENTS = st.integers(0, 10 * DAY).map(lambda seconds: format_time(parse_time(AT) + seconds))


def of_day(chosen: ChannelSettings, at: str) -> int:
    """The second of the day, in the zone, by another way of computing it."""
    sign = -1 if chosen.zone.startswith("-") else 1
    shifted = later(at, sign * (int(chosen.zone[1:3]) * HOUR + int(chosen.zone[4:]) * 60))
    return int(shifted[11:13]) * HOUR + int(shifted[14:16]) * 60 + int(shifted[17:19])


def is_quiet(chosen: ChannelSettings, at: str) -> bool:
    """Whether a time is in the quiet hours, as one says it."""
    if chosen.quiet is None:
        return False
    begin, until = chosen.quiet
    second = of_day(chosen, at)
    return begin <= second < until if begin < until else second >= begin or second < until


@given(chosen=settings())
def test_settings_are_read_as_they_are_written(chosen: ChannelSettings) -> None:
    assert ChannelSettings.parse(chosen.text) == chosen


@given(chosen=settings(), at=MOMENTS)
def test_quiet_hours_end_at_the_first_second_that_is_not_quiet(chosen: ChannelSettings, at: str) -> None:
    found = chosen.after_quiet(at)
    assert not is_quiet(chosen, found)
    assert (found == at) != is_quiet(chosen, at)
    if found != at:
        assert is_quiet(chosen, later(found, -1))
        assert parse_time(found) - parse_time(at) <= LONGEST_QUIET


@given(chosen=settings(), at=MOMENTS)
def test_a_reminder_comes_shortly_before_the_quiet_hours(chosen: ChannelSettings, at: str) -> None:
    found = chosen.before_quiet(at)
    assert not is_quiet(chosen, found)
    assert (found == at) != is_quiet(chosen, at)
    if found != at:
        begin = later(found, AHEAD)
        assert is_quiet(chosen, begin)
        assert not is_quiet(chosen, later(begin, -1))
        assert begin <= at


@given(chosen=settings(), at=MOMENTS)
def test_the_next_digest_is_the_first_at_or_after_a_time(chosen: ChannelSettings, at: str) -> None:
    found = chosen.next_digest(at)
    assert chosen.next_digest(found) == found
    if not chosen.digest:
        assert found == at
        return
    assert of_day(chosen, found) in chosen.digest
    passed = parse_time(found) - parse_time(at)
    assert 0 <= passed < DAY
    assert not any((each - of_day(chosen, at)) % DAY < passed for each in chosen.digest)


# --- when it is sent --------------------------------------------------------------------------------------------------

NO_LATER = ChannelSettings()


def owed_game(due: str | None, later_kinds: tuple[str, ...] = ()) -> tuple[str, ToldGame]:
    """A game in which somebody owes an entry; and who."""
    table = ToldTable(agreement=Agreement(CONTROLS[1])).begin()
    actor = table.course.actor
    assert actor is not None
    return table.names[actor], ToldGame(table.course, due, later_kinds, ())


def waiting(event: str, due: str, tries: int = 0) -> WaitingNotice:
    return WaitingNotice("g", 1, event, "c", due, due, tries)


@given(
    event=st.sampled_from(list(REMINDERS)),
    left=st.integers(-2 * HOUR, 5 * DAY),
    chosen=settings(),
    tries=st.integers(0, 3),
    moment=MOMENTS,
)
def test_a_reminder_is_sent_at_its_time_or_before_the_quiet_hours(
    event: NoticeEvent, left: int, chosen: ChannelSettings, tries: int, moment: str
) -> None:
    deadline = later(moment, left)
    player, game = owed_game(deadline)
    verdict = judge(waiting(event, later(moment, -5), tries), player, game, chosen, moment)
    wanted = chosen.before_quiet(later(deadline, -REMINDERS[event]))
    if left < 0 or (event is NoticeEvent.REMIND1 and left < 4 * HOUR):
        assert verdict == DROP
    elif moment < wanted:
        assert (verdict.at, verdict.anew, verdict.dropped) == (wanted, True, False)
        # The next look sends it.
        assert judge(waiting(event, wanted), player, game, chosen, wanted) == SEND
    elif is_quiet(chosen, moment):
        assert (verdict.at, verdict.anew) == (chosen.after_quiet(moment), tries == 0)
    else:
        assert verdict == SEND


@given(chosen=settings(), due=MOMENTS, wait=st.integers(0, 2 * DAY), tries=st.integers(0, 3), data=st.data())
def test_a_turn_waits_for_the_digest_and_the_end_of_the_quiet_hours_and_then_is_sent(
    chosen: ChannelSettings, due: str, wait: int, tries: int, data: st.DataObject
) -> None:
    now = later(due, wait)
    deadline = data.draw(st.none() | st.integers(wait, 9 * DAY).map(lambda seconds: later(due, seconds)))
    player, game = owed_game(deadline)
    notice = waiting("turn", due, tries)
    verdict = judge(notice, player, game, chosen, now)
    assert not verdict.dropped
    if verdict.at is None:
        assert not is_quiet(chosen, now)
        digest = chosen.next_digest(due)
        assert digest <= now or (deadline is not None and digest > deadline)
        return
    assert now < verdict.at <= later(now, DAY + LONGEST_QUIET)
    assert not is_quiet(chosen, verdict.at)
    assume(deadline is None or verdict.at <= deadline)
    again = waiting("turn", verdict.at if verdict.anew else due, 0 if verdict.anew else tries + 1)
    assert judge(again, player, game, chosen, verdict.at) == SEND


@pytest.mark.parametrize("event", [*TURNS, NoticeEvent.GIVEN])
def test_a_notice_about_an_entry_is_dropped_when_the_player_no_longer_owes_it(event: NoticeEvent) -> None:
    now = later(AT, 4 * DAY)
    due = later(now, 2 * HOUR if event is NoticeEvent.REMIND2 else 20 * HOUR)
    player, game = owed_game(due)
    other = next(name for name in game.course.setup.names if name != player)
    assert other is not None
    notice = waiting(event, later(now, -60))

    def judged(name: str, told: ToldGame, at: str = now) -> object:
        return judge(notice, name, told, NO_LATER, at)

    assert judged(player, game) == SEND
    assert judged(other, game) == DROP
    assert judged(player, game._replace(later=("rekey",))) == SEND
    for kinds in (("move", "move"), ("rekey", "seed", "move"), ("move", "reveal")):
        assert judged(player, game._replace(later=kinds)) == DROP
    assert judged(player, game, later(due, 1)) == DROP
    ended = ToldTable(agreement=Agreement(CONTROLS[1])).begin()
    ended.call_off()
    assert judged(player, game._replace(course=ended.course)) == DROP


def test_an_invitation_is_dropped_when_it_is_over() -> None:
    table = ToldTable(agreement=Agreement(CONTROLS[1], later(AT, HOUR)))
    table.open(Invite("bob", None))
    game = ToldGame(table.course, later(AT, HOUR), (), ())
    notice = waiting("invited", AT)
    assert judge(notice, "bob", game, NO_LATER, AT) == SEND
    assert judge(notice, "carol", game, NO_LATER, AT) == DROP
    assert judge(notice, "bob", game, NO_LATER, later(AT, HOUR + 1)) == DROP
    table.join()
    assert judge(notice, "bob", game._replace(course=table.course, later=("join",)), NO_LATER, AT) == DROP


@pytest.mark.parametrize("event", ["turn", "given", "annul", "invited"])
def test_an_event_that_ends_before_the_next_digest_time_is_told_at_once(event: str) -> None:
    player, game = owed_game(later(AT, HOUR))
    game = game._replace(wishes=("alice", "bob"))
    if event == "invited":
        table = ToldTable(agreement=Agreement(CONTROLS[1], later(AT, HOUR)))
        table.open(Invite("bob", None))
        player, game = "bob", game._replace(course=table.course)

    def judged(wait: int) -> Verdict:
        chosen = ChannelSettings(digest=((parse_time(AT) + wait) % DAY,))
        return judge(waiting(event, AT), player, game, chosen, AT)

    assert judged(HOUR) == Verdict(at=later(AT, HOUR), anew=True)
    assert judged(HOUR + 60) == SEND


def test_a_wish_that_was_taken_back_is_dropped() -> None:
    table = ToldTable().begin()
    game = ToldGame(table.course, None, (), ("bob",))
    notice = waiting("annul", AT)
    assert judge(notice, "alice", game, NO_LATER, AT) == SEND
    assert judge(notice, "bob", game, NO_LATER, AT) == DROP
    assert judge(notice, "alice", game._replace(wishes=()), NO_LATER, AT) == DROP
    assert judge(notice, "alice", game._replace(later=("rekey",)), NO_LATER, AT) == DROP


def test_a_rekey_brings_no_turn() -> None:
    table = ToldTable(agreement=Agreement(CONTROLS[2])).begin()
    for number in range(4):
        assert table.course.actor is not None
        table.rekey(table.course.actor, PrivateKey.from_seed(bytes([number + 7]) * 32))
        assert table.told[-1][-1] == ()
        table.play(1)
