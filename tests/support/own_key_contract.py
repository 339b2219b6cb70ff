"""The tests of codes with which mail players get keys of their own, that every store must pass."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hkoji_server.store.closing import Closing
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import Append
from hkoji_server.store.mail_invitations import NewMailbox
from hkoji_server.store.mail_tables import MailboxMove
from hkoji_server.store.mail_values import ClosedMailError, Mailbox, NewAnswer
from hkoji_server.store.player_tables import Player
from hkoji_server.store.time_contract import StaleDecisionError

from hkoji.errors import ConflictError, ForbiddenError, RevokedError
from hkoji.game.clock import Way
from tests.support.loops import run
from tests.support.mail_contract import FAR, add_mailbox, key_text, mail, with_mailbox
from tests.support.rows import a_certificate, a_code, a_player, a_retired_key, replace
from tests.support.table import Table
from tests.support.time_contract import FIRST, SECOND, annulment, gift
from tests.support.waiting_contract import new_game, next_line

CODE = a_code("code", FAR, name="bob")


def own(number: int = 101) -> Player:
    """Bob with a key of his own."""
    return a_player("bob", key_text(number), FIRST, f"own {number}", "sig")


def begun(store: Store, entries: int, **changes: Any) -> Table:  # Any: fields of the last summary by name
    """A game of alice and bob that has so many entries after its offer."""
    table = new_game(store, 7)
    for seq in range(1, entries + 1):
        run(store.append(entry(table, seq, **(changes if seq == entries else {}))))
    return table


def entry(table: Table, seq: int, **changes: Any) -> Append:  # Any: fields of the summary by name
    """The append of an entry, the first ones of which are an open, a join, bob's seed and alice's."""
    guest, status = (None, "open") if seq == 1 else ("bob", "playing")
    return next_line(table, seq - 1, **{"status": status, "guest": guest, "round": int(seq > 3), **changes})


class OwnKeyContract:
    """The promises of `Store.recover` for a player whose key the service holds, and of the codes for it."""

    def test_a_recovery_revokes_the_held_key_and_registers_the_new_one(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.add_code(CODE))
        run(store.recover(own(), "code", SECOND))
        assert run(store.player("bob")) == own()
        assert run(store.retired_of("bob")) == (a_retired_key(box.held_key, "bob", SECOND, revoked=True),)
        assert [each.id for each in run(store.channels("bob"))] == [box.channel]
        with pytest.raises(ForbiddenError):
            run(store.recover(own(102), "code", SECOND))
        # From now on the key is the player's: a mailbox brings no other one.
        run(store.add_code(CODE))
        with pytest.raises(ForbiddenError):
            run(store.recover(own(102), "code", SECOND))
        assert run(store.player("bob")) == own()

    def test_of_two_recoveries_at_the_same_time_one_wins(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.add_code(CODE))

        async def race() -> list[BaseException | None]:
            tries = [store.recover(own(101 + number), "code", SECOND) for number in range(4)]
            return await asyncio.gather(*tries, return_exceptions=True)

        results = run(race())
        assert [type(each) for each in results if each is not None] == [ForbiddenError] * 3
        assert run(store.player("bob")) == own(101 + results.index(None))
        assert [each.key for each in run(store.retired_of("bob"))] == [box.held_key]

    @pytest.mark.parametrize("entries", [1, 2, 3])
    def test_a_held_key_stays_while_a_seat_needs_it_to_send_entropy(self, store: Store, entries: int) -> None:
        """Bob, the guest, sends his entropy as entry 3; as the host of an open game he has not sent it either."""
        box = with_mailbox(store)
        run(store.add_code(CODE))
        changes = {"host": "bob"} if entries == 1 else {}
        table = begun(store, entries, **changes)
        before = run(store.player("bob"))
        if entries < 3:
            with pytest.raises(ConflictError) as caught:
                run(store.recover(own(), "code", SECOND))
            assert (caught.value.game, caught.value.seq) == (table.game, entries)
            assert run(store.player("bob")) == before
            assert run(store.retired(box.held_key)) is None
            if entries == 1:
                return
            run(store.append(entry(table, 3)))
        run(store.recover(own(), "code", SECOND))
        assert run(store.player("bob")) == own()

    def test_nothing_is_appended_for_a_held_key_after_a_recovery(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.add_code(CODE))
        table = begun(store, 4)
        run(store.recover(own(), "code", SECOND))
        with pytest.raises(RevokedError):
            run(store.append(replace(entry(table, 5), key=box.held_key)))
        assert run(store.head(table.game)) == (4, table.lines[4].entry.head)

    def test_no_statement_of_a_held_key_is_kept_after_a_recovery(self, store: Store) -> None:
        """The key was still valid when its statement was verified."""
        box = with_mailbox(store)
        run(store.add_code(CODE))
        table = begun(store, 4)
        run(store.recover(own(), "code", SECOND))
        for new in (gift(table, 4), annulment(table, 4, "bob")):
            with pytest.raises(RevokedError):
                run(store.add_statement(new, deadline=None, after=None, outages=0, key=box.held_key))
            assert run(store.statements(table.game)) == ()
            assert run(store.add_statement(new, deadline=None, after=None, outages=0, key=own().key))
            assert run(store.remove_statement(new.game, new.head, new.kind, new.name))

    @pytest.mark.parametrize("by_recovery", [True, False])
    def test_gifts_wishes_and_moves_beside_a_revocation_come_before_it_or_not_at_all(
        self, store: Store, by_recovery: bool
    ) -> None:
        box = with_mailbox(store)
        run(store.add_code(CODE))
        tables = [new_game(store, seed) for seed in range(40, 49)]
        for table in tables:
            for seq in range(1, 5):
                run(store.append(entry(table, seq)))
        retired, ended = a_retired_key(box.held_key, "bob", SECOND, revoked=True), list[bool]()

        async def revoke() -> None:
            await (store.recover(own(), "code", SECOND) if by_recovery else store.revoke_key(retired))
            ended.append(True)

        async def say(place: int, table: Table) -> str:
            over = bool(ended)
            new = gift(table, 4) if place % 3 == 0 else annulment(table, 4, "bob")
            try:
                if place % 3 == 2:
                    await store.append(replace(entry(table, 5), key=box.held_key))
                else:
                    await store.add_statement(new, deadline=None, after=None, outages=0, key=box.held_key)
            except RevokedError:
                return ""
            assert not over
            return table.game

        async def race() -> list[str]:
            tasks = [asyncio.create_task(say(*each)) for each in enumerate(tables[:5])]
            done = asyncio.create_task(revoke())
            tasks += [asyncio.create_task(say(*each)) for each in enumerate(tables[5:], 5)]
            await done
            tasks += [asyncio.create_task(say(place, table)) for place, table in enumerate(tables)]
            return [game for game in await asyncio.gather(*tasks) if game]

        said = run(race())
        stated = {each.game for table in tables for each in run(store.statements(table.game))}
        moved = {table.game for table in tables if run(store.head(table.game)) == (5, table.lines[5].entry.head)}
        assert sorted(said) == sorted(stated | moved)

    @pytest.mark.parametrize("by_recovery", [True, False])
    def test_the_keeper_finds_the_invitations_to_a_held_key_that_is_revoked(
        self, store: Store, by_recovery: bool
    ) -> None:
        box = with_mailbox(store)
        add_mailbox(store, "carol", 2)
        table = begun(store, 1, invite="bob")
        run(store.add_code(CODE))
        assert run(store.overdue(Way.HTTP, FIRST, 10)) == ()
        if by_recovery:
            run(store.recover(own(), "code", SECOND))
        else:
            run(store.revoke_key(a_retired_key(box.held_key, "bob", SECOND, revoked=True)))
        assert run(store.overdue(Way.HTTP, FIRST, 10)) == (table.game,)
        run(store.set_deadline(table.game, table.lines[1].entry.head, None, None))
        assert run(store.overdue(Way.HTTP, FIRST, 10)) == ()

    @pytest.mark.parametrize("by_recovery", [True, False])
    def test_no_game_is_opened_with_a_held_key_that_is_revoked(self, store: Store, by_recovery: bool) -> None:
        """The host has asked before that, when the key was still valid."""
        box = with_mailbox(store)
        table = new_game(store, 7)
        invites = replace(entry(table, 1, invite="bob"), opens=True, invited_key=box.held_key)
        run(store.add_code(CODE))
        if by_recovery:
            run(store.recover(own(), "code", SECOND))
        else:
            run(store.revoke_key(a_retired_key(box.held_key, "bob", SECOND, revoked=True)))
        with pytest.raises(StaleDecisionError):
            run(store.append(invites))
        assert run(store.head(table.game)) == (0, table.lines[0].entry.head)
        run(store.append(replace(invites, invited_key=own().key)))

    @pytest.mark.parametrize("by_recovery", [True, False])
    def test_a_game_that_is_opened_while_the_held_key_is_revoked_is_found_by_the_keeper(
        self, store: Store, by_recovery: bool
    ) -> None:
        """Whichever comes first, no game waits for a key that nobody signs with any more."""
        box = with_mailbox(store)
        tables = [new_game(store, seed) for seed in range(20, 30)]
        opening = [
            replace(entry(each, 1, host=f"host-{number}", invite="bob"), opens=True, invited_key=box.held_key)
            for number, each in enumerate(tables)
        ]
        run(store.add_code(CODE))

        async def race() -> list[BaseException | None]:
            tries = [store.append(each) for each in opening]
            retired = a_retired_key(box.held_key, "bob", SECOND, revoked=True)
            tries.insert(5, store.recover(own(), "code", SECOND) if by_recovery else store.revoke_key(retired))
            return await asyncio.gather(*tries, return_exceptions=True)

        results = run(race())
        assert results.pop(5) is None
        assert {type(each) for each in results} <= {type(None), StaleDecisionError}
        opened = {each.game for each, error in zip(tables, results, strict=True) if error is None}
        assert set(run(store.overdue(Way.HTTP, FIRST, 20))) == opened

    def test_a_code_is_kept_when_its_mail_is_closed_and_only_for_a_held_key(self, store: Store) -> None:
        box = with_mailbox(store)
        numbers = [run(store.add_incoming(mail(box, number))).number for number in (1, 2)]
        first, second = (number for number in numbers if number is not None)
        run(store.close_incoming(Closing(first, answers=(NewAnswer("", box.channel, FIRST),), code=CODE)))
        with pytest.raises(ClosedMailError):
            run(store.close_incoming(Closing(first, code=replace(CODE, digest="again"))))
        with pytest.raises(ForbiddenError):
            run(store.recover(own(), "again", SECOND))
        run(store.recover(own(), "code", SECOND))
        run(store.close_incoming(Closing(second, code=replace(CODE, digest="late"))))
        run(store.revoke_key(a_retired_key(own().key, "bob", SECOND, revoked=True)))
        with pytest.raises(ForbiddenError):
            run(store.recover(own(102), "late", SECOND))

    @pytest.mark.parametrize("changes", [{"state": "locked"}, {"state": "suspended"}, {"address": "new@example.org"}])
    def test_a_code_is_void_when_its_mailbox_is_locked_or_gets_another_address(
        self, store: Store, changes: dict[str, str]
    ) -> None:
        box = with_mailbox(store)
        run(store.add_code(CODE))
        run(store.change_mailbox(replace(box, lang="it")))
        run(store.change_mailbox(replace(box, **changes)))
        run(store.change_mailbox(box))
        with pytest.raises(ForbiddenError):
            run(store.recover(own(), "code", SECOND))
        assert run(store.retired(box.held_key)) is None

    def test_a_code_is_void_when_another_mailbox_takes_the_place_of_its_own(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.add_code(CODE))
        new = Mailbox("channel-9", "bob", "bob@example.net", "", "en", "asked", FIRST, confirm="move.9")
        asked = run(store.ask_mailbox(NewMailbox(new, "{}", None)))
        number = run(store.add_incoming(mail(box, 1))).number
        assert number is not None
        certificate = a_certificate(f'{{"at":"{SECOND}"}}', box.held_key, new.address, "5a")
        moved = MailboxMove(box.channel, asked.channel, certificate, SECOND)
        run(store.close_incoming(Closing(number, move=moved)))
        with pytest.raises(ForbiddenError):
            run(store.recover(own(), "code", SECOND))
        assert run(store.retired(box.held_key)) is None

    def test_an_erasure_leaves_nothing_of_a_mailbox_that_was_moved_from(self, store: Store) -> None:
        box = with_mailbox(store)
        new = Mailbox("channel-9", "bob", "bob@example.net", "", "en", "asked", FIRST, confirm="move.9")
        asked = run(store.ask_mailbox(NewMailbox(new, "{}", None)))
        number = run(store.add_incoming(mail(asked, 1))).number
        assert number is not None
        certificate = a_certificate(f'{{"at":"{SECOND}"}}', box.held_key, new.address, "5a")
        run(store.close_incoming(Closing(number, move=MailboxMove(box.channel, asked.channel, certificate, SECOND))))
        assert run(store.erase_mailbox(box.channel))
        assert [(each.mailbox, each.salt) for each in run(store.certificates(box.held_key))] == [("", "")] * 2
        assert [run(store.mailbox_at(each)) for each in ("bob@example.org", "bob@example.net")] == [None, None]
        left = run(store.incoming(number))
        assert left is not None
        assert (left.name, left.message_id) == ("", "")

    def test_a_locked_mailbox_leaves_the_operators_code(self, store: Store) -> None:
        box = with_mailbox(store)
        run(store.revoke_key(a_retired_key(box.held_key, "bob", SECOND, revoked=True)))
        run(store.add_code(CODE))
        run(store.change_mailbox(replace(box, state="locked")))
        run(store.recover(own(), "code", SECOND))
        assert run(store.player("bob")) == own()
