"""The tests of notices that every store must pass: channels, and the outbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hkoji_server.store.choices import MOST_BROWSERS, MOST_CHANNELS, PUSH_KIND
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append, NewNotice
from hkoji_server.store.notices import LeasedNotice, WaitingNotice
from hkoji_server.store.tables import Channel
from hkoji_server.store.time_contract import StaleDecisionError

from hkoji.errors import ConflictError, ExistsError
from tests.support.leases import lease_due, read_due
from tests.support.loops import run
from tests.support.rows import a_kept_channel, a_player, a_retired_key, replace
from tests.support.table import AT, Table
from tests.support.time_contract import FIRST, SECOND, THIRD, gift
from tests.support.waiting_contract import new_game, next_line

FAR = "2027-01-01T00:00:00Z"
ALL = ("webhook", "mail")


def channel(name: str, player: str = "bob", **changes: Any) -> Channel:  # Any: fields by name
    """A channel that works and wants to tell of turns."""
    fields = {"target": f"https://{name}.example", "events": ("turn", "given"), "settings": "{}", "created": AT}
    return a_kept_channel(name, player, **{"kind": "webhook", **fields, "confirmed": AT, **changes})


def with_channels(store: Store, *channels: Channel) -> Table:
    """A store with players, their channels and a new game."""
    for number, name in enumerate(("alice", "bob")):
        run(store.add_player(a_player(name, f"key {number}", AT, "text", "sig")))
    for each in channels:
        assert run(store.add_channel(each))
    return new_game(store, 1)


def told(table: Table, *notices: NewNotice) -> Append:
    """The append of the next line of a new game, with notices."""
    return replace(next_line(table, 0), notices=notices)


def turn(table: Table, seq: int = 1, player: str = "bob", **changes: Any) -> NewNotice:  # Any: fields by name
    """A notice of a turn."""
    return replace(NewNotice(table.game, seq, "turn", player, FIRST), **changes)


def leased(store: Store, now: str = FIRST, until: str = SECOND, most: int = 10) -> tuple[LeasedNotice, ...]:
    """The current leases."""
    return run(lease_due(store, ALL, now, until, most))


def due(store: Store, name: str, now: str) -> WaitingNotice:
    """The next notice to a channel."""
    found = run(store.due_notice(name, now))
    assert found is not None
    return found


def rows(store: Store) -> list[tuple[int, str, str]]:
    """Number, event and channel of all notices; nobody may hold any afterwards."""
    return sorted(each[1:4] for each in run(read_due(store, ALL, FAR)))


class NoticeContract:
    """The promises of `hkoji_server.store.notices`."""

    # --- channels -------------------------------------------------------------------------------------------------

    def test_a_channel_is_kept_as_it_was_added(self, store: Store) -> None:
        made = [
            channel("b", created=FIRST, confirmed=None, code="digest", settings='{"digest":[]}'),
            channel("a", created=SECOND, kind="mail", events=()),
        ]
        with_channels(store, *made)
        assert run(store.channels("bob")) == tuple(made)
        assert run(store.channels("alice")) == ()
        assert run(store.channel("a")) == made[1]
        assert run(store.channel("c")) is None

    def test_a_player_has_at_most_three_channels(self, store: Store) -> None:
        made = tuple(channel(f"c{number}") for number in range(MOST_CHANNELS))
        with_channels(store, *made)
        assert not run(store.add_channel(channel("d")))
        assert run(store.channels("bob")) == made
        assert run(store.add_channel(channel("d", "alice")))
        assert run(store.remove_channel("bob", "c1"))
        assert run(store.add_channel(channel("e")))

    def test_a_player_has_five_browsers_beside_the_other_channels(self, store: Store) -> None:
        others = tuple(channel(f"c{number}") for number in range(MOST_CHANNELS))
        browsers = tuple(channel(f"p{number}", kind=PUSH_KIND) for number in range(MOST_BROWSERS))
        with_channels(store, *browsers, *others)
        for more in (channel("d"), channel("q", kind=PUSH_KIND)):
            assert not run(store.add_channel(more))
            assert run(store.channels("bob")) == (*others, *browsers)
        assert run(store.remove_channel("bob", "p0"))
        assert not run(store.add_channel(channel("d")))
        assert run(store.add_channel(channel("q", kind=PUSH_KIND)))

    def test_of_channels_that_are_added_at_once_no_more_than_three_are_kept(self, store: Store) -> None:
        with_channels(store)

        async def race() -> list[bool]:
            return await asyncio.gather(*(store.add_channel(channel(f"c{number}")) for number in range(6)))

        assert sum(run(race())) == MOST_CHANNELS
        assert len(run(store.channels("bob"))) == MOST_CHANNELS

    def test_an_address_has_one_channel_also_of_those_that_are_added_at_once(
        self, store: Store, opened: Callable[[], AbstractContextManager[Store]]
    ) -> None:
        with_channels(store, channel("other"))
        waiting = [channel(f"c{number}", target="https://a.example", confirmed=None, code="x") for number in range(6)]

        with opened() as further:

            async def race() -> list[bool]:
                adds = (each.add_channel(one) for each, one in zip((store, further) * 3, waiting, strict=True))
                return await asyncio.gather(*adds)

            assert all(run(race()))
        (kept,) = (each for each in run(store.channels("bob")) if each.id != "other")
        assert kept in waiting
        # Also a player who has as many as there may be adds it again.
        assert run(store.add_channel(channel("third")))
        again = replace(kept, id="again", code="y")
        assert run(store.add_channel(again))
        assert {each.id for each in run(store.channels("bob"))} == {"other", "third", "again"}
        # One that is confirmed stays, and so does everything else.
        assert run(store.confirm_channel("bob", "again", "y", SECOND))
        before = run(store.channels("bob"))
        with pytest.raises(ExistsError):
            run(store.add_channel(replace(again, id="more")))
        assert run(store.channels("bob")) == before
        # Another player may be told at that address too.
        assert run(store.add_channel(replace(again, id="more", player="alice")))

    def test_only_its_code_confirms_a_channel_and_only_once(self, store: Store) -> None:
        made = channel("a", confirmed=None, code="one")
        with_channels(store, made)
        for player, name, digest in (("bob", "a", "two"), ("alice", "a", "one"), ("bob", "b", "one")):
            assert not run(store.confirm_channel(player, name, digest, FIRST))
            assert run(store.channel("a")) == made
        assert run(store.confirm_channel("bob", "a", "one", FIRST))
        confirmed = replace(made, confirmed=FIRST, code=None)
        assert run(store.channel("a")) == confirmed
        assert not run(store.confirm_channel("bob", "a", "one", SECOND))
        assert run(store.channel("a")) == confirmed

    def test_a_revocation_removes_the_channels_of_the_player(self, store: Store) -> None:
        """A thief of the key may have made them, and the player cannot log in to remove them."""
        table = with_channels(store, channel("a"), channel("b", confirmed=None), channel("c", "alice"))
        run(store.append(told(table, turn(table), turn(table, player="alice"))))
        gone = a_retired_key("key 1", "bob", AT, True)
        run(store.revoke_key(gone))
        assert run(store.channels("bob")) == ()
        assert run(store.channels("alice")) == (channel("c", "alice"),)
        assert rows(store) == [(1, "turn", "c")]
        later = channel("d")  # of the recovered player
        assert run(store.add_channel(later))
        run(store.revoke_key(gone))
        assert run(store.channels("bob")) == (later,)

    def test_a_channel_that_is_removed_takes_its_notices_along(self, store: Store) -> None:
        table = with_channels(store, channel("a"), channel("b"))
        run(store.append(told(table, turn(table))))
        assert not run(store.remove_channel("alice", "a"))
        assert run(store.remove_channel("bob", "a"))
        assert not run(store.remove_channel("bob", "a"))
        assert (rows(store), run(store.channel("a"))) == ([(1, "turn", "b")], None)
        assert run(store.remove_stray_notices()) == 0

    # --- what is written ------------------------------------------------------------------------------------------

    def test_a_notice_is_written_for_each_channel_that_works_and_wants_it(self, store: Store) -> None:
        table = with_channels(
            store,
            channel("a"),
            channel("off", off=FIRST),
            channel("new", confirmed=None, code="code"),
            channel("other", "alice", events=("over", "turns", "remind1")),
            channel("mail", "alice", kind="mail", events=("over",)),
        )
        notices = [turn(table), turn(table, player="alice"), turn(table, player="alice", event="over")]
        run(store.append(told(table, *notices)))
        assert run(store.head(table.game)) == (1, table.lines[1].entry.head)
        assert rows(store) == [(1, "over", "mail"), (1, "over", "other"), (1, "turn", "a")]

    def test_an_append_that_changes_nothing_writes_no_notice(self, store: Store) -> None:
        table = with_channels(store, channel("a"))
        append = told(table, turn(table))
        for wrong, error in (
            (replace(append, head="0" * 64), ConflictError),
            (replace(append, deadline=FIRST), StaleDecisionError),
        ):
            with pytest.raises(error):
                run(store.append(wrong))
            assert run(store.next_notice(ALL)) is None
        run(store.append(append))
        with pytest.raises(ConflictError):
            run(store.append(replace(append, notices=(turn(table, seq=2),))))
        assert rows(store) == [(1, "turn", "a")]

    def test_a_statement_writes_its_notices_if_it_is_kept(self, store: Store) -> None:
        table = with_channels(store, channel("a"))

        def give(seconds: int, at: str, deadline: str | None = None) -> bool:
            notice = NewNotice(table.game, 0, "given", "bob", at)
            made = gift(table, 0, seconds)
            return run(store.add_statement(made, deadline=deadline, after=None, outages=0, notices=[notice]))

        with pytest.raises(StaleDecisionError):
            give(5, FIRST, THIRD)
        assert run(store.next_notice(ALL)) is None
        assert give(5, FIRST)
        assert run(store.next_notice(ALL)) == FIRST
        assert not give(5, SECOND)
        assert run(store.next_notice(ALL)) == FIRST
        assert give(6, SECOND)
        assert run(store.next_notice(ALL)) == SECOND
        assert rows(store) == [(0, "given", "a")]

    # --- what is sent ---------------------------------------------------------------------------------------------

    def test_a_lease_keeps_a_notice_for_its_holder_until_it_ends(self, store: Store) -> None:
        table = with_channels(store, channel("a"), channel("mail", kind="mail"))
        run(store.append(told(table, turn(table))))
        assert leased(store, AT) == ()
        waiting = due(store, "a", FIRST)
        assert waiting == (table.game, 1, "turn", "a", FIRST, FIRST, 0)
        first = run(store.lease_notice(waiting, SECOND))
        assert first == LeasedNotice(table.game, 1, "turn", "a", FIRST, SECOND, 1)
        assert run(store.due_notice("a", FIRST)) is None
        assert run(store.next_notice(["webhook"])) == SECOND
        assert run(store.next_notice(["mail"])) == FIRST
        assert first is not None
        second = run(store.lease_notice(due(store, "a", SECOND), THIRD))
        assert second is not None
        assert second == first._replace(not_before=THIRD, tries=2)
        for earlier in (waiting, first):
            for change in (
                store.lease_notice(earlier, FAR),
                store.delete_notice(earlier, sent=True),
                store.put_off_notice(earlier, FIRST, anew=True),
                store.give_up_notice(earlier, FIRST, 1),
            ):
                assert not run(change)
        assert run(store.next_notice(["webhook"])) == THIRD
        assert run(store.delete_notice(second, sent=True))
        assert not run(store.delete_notice(second, sent=True))
        assert rows(store) == [(1, "turn", "mail")]

    def test_the_notices_that_waited_longest_are_leased_first(self, store: Store) -> None:
        table = with_channels(store, channel("a"), channel("b"))
        notices = [turn(table, seq=seq, not_before=at) for seq, at in ((1, THIRD), (2, FIRST), (3, SECOND))]
        run(store.append(told(table, *notices)))
        found = leased(store, THIRD, FAR, 4)
        assert [(each.seq, each.channel) for each in found] == [(2, "a"), (2, "b"), (3, "a"), (3, "b")]
        further = due(store, "a", THIRD)
        assert (further.seq, further.channel, further.tries) == (1, "a", 0)
        assert [each.channel for each in leased(store, THIRD, FAR)] == ["a", "b"]

    def test_of_those_that_lease_a_notice_at_once_one_gets_it(
        self, store: Store, opened: Callable[[], AbstractContextManager[Store]]
    ) -> None:
        table = with_channels(store, channel("a"))
        run(store.append(told(table, *(turn(table, seq=seq) for seq in range(10)))))
        with opened() as other:

            async def race() -> list[LeasedNotice | None]:
                waiting = await store.due_notice("a", FIRST)
                assert waiting is not None
                return list(await asyncio.gather(*(each.lease_notice(waiting, SECOND) for each in (store, other) * 2)))

            for _ in range(10):
                assert sum(each is not None for each in run(race())) == 1
        assert leased(store) == ()

    def test_all_that_is_due_to_a_channel_is_held_back_and_nothing_else(self, store: Store) -> None:
        table = with_channels(store, channel("a"), channel("b"))
        told_at = ((1, FIRST), (2, FIRST), (3, FIRST), (4, THIRD))
        run(store.append(told(table, *(turn(table, seq=seq, not_before=at) for seq, at in told_at))))
        held = run(store.lease_notice(due(store, "a", FIRST), THIRD))
        assert held is not None
        run(store.hold_back("a", FIRST, SECOND))
        assert run(store.due_notice("a", FIRST)) is None
        found = leased(store, SECOND, FAR)
        assert [(each.seq, each.channel, each.due, each.tries) for each in found if each.channel == "a"] == [
            (2, "a", FIRST, 1),
            (3, "a", FIRST, 1),
        ]
        assert [each.seq for each in found if each.channel == "b"] == [1, 2, 3]
        assert run(store.delete_notice(held, sent=True))
        assert [(each.seq, each.channel) for each in leased(store, THIRD, FAR)] == [(4, "a"), (4, "b")]

    def test_a_notice_that_is_written_anew_is_none_of_the_lease(self, store: Store) -> None:
        table = with_channels(store, channel("a"))
        run(store.append(told(table, turn(table))))
        (held,) = leased(store)
        # Even if the new one is for the time at which the lease ends.
        run(store.append(replace(next_line(table, 1), notices=(turn(table, not_before=SECOND),))))
        assert not run(store.delete_notice(held, sent=True))
        assert not run(store.put_off_notice(held, FIRST, anew=False))
        assert not run(store.give_up_notice(held, FIRST, 1))
        (again,) = leased(store, SECOND, THIRD)
        assert again == held._replace(due=SECOND, not_before=THIRD, tries=1)

    def test_a_notice_that_is_written_anew_is_none_of_those_that_were_read(self, store: Store) -> None:
        """A larger gift in the same second: a letter that was planned before says less than it."""
        table = with_channels(store, channel("a"))
        run(store.append(told(table, turn(table))))
        for number in range(2):
            read = due(store, "a", FIRST)
            run(store.append(replace(next_line(table, number + 1), notices=(turn(table),))))
            assert run(store.lease_notice(read, SECOND)) is None
            assert not run(store.delete_notice(read, sent=False))
        assert due(store, "a", FIRST)._replace(tries=0) == (*read[:-1], 0)

    @pytest.mark.parametrize(("anew", "due", "tries"), [(False, FIRST, 2), (True, SECOND, 1)])
    def test_a_notice_that_is_put_off_is_tried_again(self, store: Store, anew: bool, due: str, tries: int) -> None:
        table = with_channels(store, channel("a"))
        run(store.append(told(table, turn(table))))
        (held,) = leased(store, FIRST, THIRD)
        assert run(store.put_off_notice(held, SECOND, anew=anew))
        assert leased(store, FIRST) == ()
        (again,) = leased(store, SECOND, THIRD)
        assert (again.due, again.tries) == (due, tries)

    def test_a_channel_that_fails_too_often_is_off_and_the_others_tell_so(self, store: Store) -> None:
        telling = ("failing", "turn")
        table = with_channels(store, channel("a", events=telling), channel("b", events=telling), channel("c"))
        run(store.append(told(table, *(turn(table, seq=seq) for seq in range(4)))))
        mine = [each for each in leased(store) if each.channel == "a"]
        assert not run(store.give_up_notice(mine[0], THIRD, 2))
        assert run(store.channel("a")) == channel("a", events=telling, failures=1)
        assert run(store.delete_notice(mine[1], sent=False))
        assert run(store.channel("a")) == channel("a", events=telling, failures=1)
        assert run(store.give_up_notice(mine[2], THIRD, 2))
        assert run(store.channel("a")) == channel("a", events=telling, failures=2, off=THIRD)
        run(store.append(replace(next_line(table, 1), notices=(turn(table, seq=9),))))
        expected = [(seq, "turn", name) for seq in (0, 1, 2, 3, 9) for name in ("b", "c")]
        assert rows(store) == sorted([*expected, (mine[2].seq, "failing", "b")])
        assert not run(store.reset_channel("alice", "a"))
        assert run(store.reset_channel("bob", "a"))
        assert run(store.channel("a")) == channel("a", events=telling)

    def test_a_notice_that_arrives_makes_up_for_failures(self, store: Store) -> None:
        table = with_channels(store, channel("a"))
        run(store.append(told(table, turn(table, seq=1), turn(table, seq=2))))
        one, two = leased(store)
        assert not run(store.give_up_notice(one, THIRD, 2))
        assert run(store.delete_notice(two, sent=True))
        assert run(store.channel("a")) == channel("a")

    def test_nothing_is_left_of_a_notice_whose_channel_is_gone(self, store: Store) -> None:
        table = with_channels(store, channel("a"))
        run(store.append(told(table, turn(table))))
        (held,) = leased(store)
        assert run(store.remove_channel("bob", "a"))
        assert not run(store.give_up_notice(held, FIRST, 1))
        assert not run(store.put_off_notice(held, FIRST, anew=False))
        assert rows(store) == []
