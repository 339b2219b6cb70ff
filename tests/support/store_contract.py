"""The tests that every store must pass. A backend's tests subclass `StoreContract` and give it an `opened` fixture."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest
from hkoji_server.store.contract import Store
from hkoji_server.store.game_lists import cursor_of
from hkoji_server.store.game_values import MOST_INVITATIONS, MOST_OPEN, Append, GameSummary, NewGame, Query, Removed
from hkoji_server.store.player_tables import Player

from hkoji.errors import (
    ConflictError,
    ExistsError,
    ForbiddenError,
    IllegalError,
    NotFoundError,
    RevokedError,
    TooManyGamesError,
)
from hkoji.game.commitments import Opening
from hkoji.log.line import Line
from hkoji.log.private_key import PrivateKey
from tests.support.choice_contract import ChoiceContract
from tests.support.closing_contract import ClosingContract
from tests.support.finished_contract import FinishedContract
from tests.support.loops import run
from tests.support.mail_contract import MailContract
from tests.support.notice_contract import NoticeContract
from tests.support.own_key_contract import OwnKeyContract
from tests.support.own_mailbox_contract import OwnMailboxContract
from tests.support.rows import a_code, a_player, a_retired_key, replace
from tests.support.table import AT, Table
from tests.support.talk_contract import TalkContract
from tests.support.time_contract import TimeContract
from tests.support.times import now
from tests.support.waiting_contract import WaitingContract

Opened = Callable[[], AbstractContextManager[Store]]


def summary(table: Table, lines: int, **changes: Any) -> GameSummary:  # Any: fields by name
    """A summary of the first `lines` lines of a game; everything else is made up."""
    entry = table.lines[lines - 1].entry
    made = GameSummary(
        game=table.game,
        ruleset="{}",
        agreement="{}",
        status="offered",
        host=None,
        guest=None,
        invite=None,
        seq=entry.seq,
        head=entry.head,
        round=0,
        actor=None,
        to_move=None,
        created=AT,
        updated=AT,
    )
    return made._replace(**changes)


def append_of(table: Table, after: int, lines: tuple[Line, ...], **changes: Any) -> Append:  # Any: fields by name
    """The append of `lines` after entry number `after`."""
    last = lines[-1].entry
    made = Append(
        game=table.game,
        seq=after,
        head=table.lines[after].entry.head,
        lines=lines,
        openings=(),
        summary=summary(table, 1, seq=last.seq, head=last.head, status="playing", host="alice", guest="bob"),
        outline=True,
        at=now(),
        outages=0,
        deadline=None,
    )
    return replace(made, **changes)


def game_of(table: Table, **changes: Any) -> NewGame:  # Any: fields of the summary by name
    """The new game of the first line."""
    return NewGame(summary(table, 1, **changes), table.lines[0], "5e" * 32, "alice", now(), outages=0)


@contextmanager
def with_game(store: Store, seed: int = 0, **changes: Any) -> Iterator[Table]:  # Any: fields of the summary
    """A store with a new game; `table` has the lines to come."""
    table = Table(seed=seed).begin().play(4)
    run(store.add_game(game_of(table, **changes)))
    yield table


class StoreContract(
    WaitingContract,
    TimeContract,
    ChoiceContract,
    FinishedContract,
    NoticeContract,
    TalkContract,
    MailContract,
    ClosingContract,
    OwnKeyContract,
    OwnMailboxContract,
):
    """The promises of `hkoji_server.store.contract`."""

    @pytest.fixture
    def store(self, opened: Opened) -> Iterator[Store]:
        with opened() as store:
            yield store

    # --- service, players, logins ---------------------------------------------------------------------------------

    def test_the_first_identity_stays(self, opened: Opened) -> None:
        with opened() as store:
            assert run(store.identity()) is None
            assert run(store.add_identity("key one", "http://one")) == ("key one", "http://one")
            assert run(store.add_identity("key two", "http://two")) == ("key one", "http://one")
            run(store.set_origin("http://three"))
        with opened() as store:
            assert run(store.identity()) == ("key one", "http://three")

    def test_names_and_keys_belong_to_one_player(self, store: Store) -> None:
        alice = a_player("alice", "key a", AT, "text", "sig")
        assert run(store.add_player(alice)) is None
        assert run(store.player("alice")) == alice
        assert run(store.player("bob")) is None
        assert run(store.add_player(replace(alice, text="again"))) == alice
        assert run(store.add_player(replace(alice, key="key b"))) == alice
        assert run(store.add_player(replace(alice, name="bob"))) == alice
        bob = a_player("bob", "key b", AT, "text", "sig")
        assert run(store.add_player(bob)) is None
        # If the name and the key belong to two players, the name's holder is returned.
        assert run(store.add_player(a_player("bob", "key a", AT, "text", "sig"))) == bob

    def test_a_key_gives_way_once_and_is_nobodys_again(self, store: Store) -> None:
        one, two, three = (PrivateKey.from_seed(bytes([n]) * 32).public.text for n in (1, 2, 3))
        alice, bob = a_player("alice", one, AT, "text", "sig"), a_player("bob", two, AT, "text", "sig")
        for player in (alice, bob):
            assert run(store.add_player(player)) is None
        run(store.add_token("a", "alice", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"))
        new, gone = (
            replace(alice, key=three, text="new"),
            a_retired_key(one, "alice", AT, False, "new", "old sig", "sig"),
        )
        for other, retired, error in (
            (replace(new, key=two), gone, ExistsError),
            (replace(new, key=one), gone, ExistsError),
            (new, replace(gone, key=two), ForbiddenError),
            (replace(new, name="carol"), replace(gone, name="carol"), ForbiddenError),
        ):
            with pytest.raises(error):
                run(store.replace_key(other, retired))
            assert run(store.player("alice")) == alice
            assert run(store.token("a", "2026-01-01T00:00:00Z")) == "alice"
            assert run(store.retired_of("alice")) == ()
        assert [run(store.knows_key(key)) for key in (one, two, three)] == [True, True, False]
        run(store.replace_key(new, gone))
        assert [run(store.knows_key(key)) for key in (one, two, three)] == [True, True, True]
        assert (run(store.player("alice")), run(store.retired(one)), run(store.retired_of("alice"))) == (
            new,
            gone,
            (gone,),
        )
        assert run(store.token("a", "2026-01-01T00:00:00Z")) is None
        assert run(store.retired(three)) is None
        with pytest.raises(ForbiddenError):
            run(store.replace_key(replace(new, key=two), gone))
        with pytest.raises(ExistsError):
            run(store.replace_key(replace(new, name="bob", key=one), a_retired_key(two, "bob", AT, False)))
        with pytest.raises(ExistsError):
            run(store.add_player(replace(alice, name="carol")))
        assert run(store.player("bob")) == bob

    def test_a_revoked_key_counts_nowhere_until_a_code_brings_another(self, store: Store) -> None:
        one, two, three = (PrivateKey.from_seed(bytes([n]) * 32).public.text for n in (1, 2, 3))
        alice = a_player("alice", one, AT, "text", "sig")
        run(store.add_player(alice))
        now, later = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
        run(store.add_token("a", "alice", later, now))
        new, gone = replace(alice, key=two, text="recovered"), a_retired_key(one, "alice", AT, True)
        run(store.add_code(a_code("code", later, name="alice")))
        for retired in (replace(gone, key=two), replace(gone, name="bob")):
            with pytest.raises(ForbiddenError):
                run(store.revoke_key(retired))
        with pytest.raises(ForbiddenError):
            run(store.recover(new, "code", now))  # nothing is revoked
        run(store.revoke_key(gone))
        run(store.revoke_key(replace(gone, text="again")))
        assert run(store.retired_of("alice")) == (gone,)
        assert run(store.token("a", now)) is None
        for player, digest, at in ((new, "other", now), (new, "code", later), (replace(new, name="bob"), "code", now)):
            with pytest.raises(ForbiddenError):
                run(store.recover(player, digest, at))
        for work in (
            store.recover(replace(new, key=one), "code", now),
            store.replace_key(new, replace(gone, revoked=False)),
        ):
            with pytest.raises(RevokedError):
                run(work)
        assert run(store.player("alice")) == alice
        run(store.add_code(a_code("second", later, name="alice")))
        with pytest.raises(ForbiddenError):
            run(store.recover(new, "code", now))  # the earlier code
        run(store.recover(new, "second", now))
        assert run(store.player("alice")) == new
        with pytest.raises(ForbiddenError):
            run(store.recover(replace(new, key=three), "second", now))
        with pytest.raises(RevokedError):
            run(store.add_player(a_player("carol", one, AT, "text", "sig")))
        run(store.add_token("b", "alice", later, now, two))
        run(store.revoke_key(gone))  # changes nothing, and so ends no login
        assert run(store.token("b", now)) == "alice"

    def test_a_code_allows_as_many_registrations_as_it_says_however_many_try_at_once(self, store: Store) -> None:
        keys = [PrivateKey.from_seed(bytes([n]) * 32).public.text for n in range(1, 10)]
        players = [a_player(f"player{n}", key, AT, "text", "sig") for n, key in enumerate(keys)]
        run(store.add_code(a_code("code", "2027-01-01T00:00:00Z", uses=3)))

        async def race() -> list[Player | BaseException | None]:
            return await asyncio.gather(*(store.add_player(each, "code") for each in players), return_exceptions=True)

        results = run(race())
        assert results.count(None) == 3
        assert sum(isinstance(each, ForbiddenError) for each in results) == 6
        registered = [run(store.player(each.name)) is not None for each in players]
        assert registered == [each is None for each in results]
        taken = players[registered.index(True)]
        assert run(store.add_player(taken, "code")) == taken  # again, without a use

    def test_codes_for_new_players_are_listed_and_withdrawn(self, store: Store) -> None:
        key = PrivateKey.from_seed(b"\x01" * 32).public.text
        late, early = a_code("a", "2027-01-02T00:00:00Z", uses=3), a_code("b", "2027-01-01T00:00:00Z")
        for code in (late, early, a_code("gone", AT), a_code("recovers", late.expires, name="alice")):
            run(store.add_code(code))
        assert run(store.invitations(AT)) == (early, late)
        assert run(store.withdraw_code("a"))
        assert run(store.invitations(AT)) == (early,)
        for digest in ("a", "recovers", "unknown"):
            assert not run(store.withdraw_code(digest))
        with pytest.raises(ForbiddenError):
            run(store.add_player(a_player("bob", key, AT, "text", "sig"), "a"))
        assert run(store.add_player(a_player("bob", key, AT, "text", "sig"), "b")) is None
        assert run(store.invitations(AT)) == ()

    def test_a_code_is_for_one_purpose_and_in_time(self, store: Store) -> None:
        one, two = (PrivateKey.from_seed(bytes([n]) * 32).public.text for n in (1, 2))
        alice, bob = a_player("alice", one, AT, "text", "sig"), a_player("bob", two, AT, "text", "sig")
        later = "2027-01-01T00:00:00Z"
        run(store.add_player(alice))
        run(store.add_code(a_code("recovers", later, name="alice")))
        run(store.add_code(a_code("registers", later)))
        run(store.add_code(a_code("registers too", later)))
        run(store.add_code(a_code("expired", AT)))
        for code in ("recovers", "expired", "unknown", ""):
            with pytest.raises(ForbiddenError):
                run(store.add_player(bob, code))
        assert run(store.player("bob")) is None
        run(store.revoke_key(a_retired_key(one, "alice", AT, True)))
        with pytest.raises(ForbiddenError):
            run(store.recover(replace(alice, key=two), "registers", AT))
        assert run(store.add_player(replace(bob, key=one), "registers")) == alice  # which leaves the code as it was
        assert run(store.add_player(bob, "registers")) is None
        with pytest.raises(ForbiddenError):
            run(store.add_player(replace(bob, name="carol", key="ssh-ed25519 x"), "registers"))

    def test_nothing_is_appended_for_a_revoked_key(self, store: Store) -> None:
        key = PrivateKey.from_seed(b"\x01" * 32).public.text
        run(store.add_player(a_player("alice", key, AT, "text", "sig")))
        with with_game(store) as table:
            run(store.append(append_of(table, 0, (table.lines[1],), key=key)))
            run(store.revoke_key(a_retired_key(key, "alice", AT, True)))
            with pytest.raises(RevokedError):
                run(store.append(append_of(table, 1, (table.lines[2],), key=key)))
            assert run(store.lines(table.game)) == tuple(table.lines[:2])
            run(store.append(append_of(table, 1, (table.lines[2],))))

    def test_a_challenge_is_taken_once_and_in_time(self, store: Store) -> None:
        async def work() -> list[bool]:
            await store.add_challenge("digest", "2026-01-01T00:05:00Z")
            await store.add_challenge("late", "2026-01-01T00:00:00Z")
            takers = [store.take_challenge("digest", "2026-01-01T00:00:00Z") for _ in range(5)]
            taken = await asyncio.gather(*takers)
            return [sum(taken) == 1, await store.take_challenge("late", "2026-01-01T00:00:00Z")]

        assert run(work()) == [True, False]

    def test_a_token_is_good_until_it_expires_or_is_dropped(self, store: Store) -> None:
        run(store.add_token("a", "alice", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"))
        run(store.add_token("b", "bob", "2026-01-03T00:00:00Z", "2026-01-01T00:00:00Z"))
        assert run(store.token("a", "2026-01-01T23:59:59Z")) == "alice"
        assert run(store.token("a", "2026-01-02T00:00:00Z")) is None
        run(store.add_token("c", "carol", "2026-01-04T00:00:00Z", "2026-01-02T00:00:00Z"))
        assert run(store.token("a", "2026-01-01T00:00:00Z")) is None
        assert run(store.token("b", "2026-01-02T00:00:00Z")) == "bob"
        run(store.drop_token("b"))
        assert run(store.token("b", "2026-01-02T00:00:00Z")) is None

    def test_a_key_that_no_longer_counts_gets_no_token(self, store: Store) -> None:
        one, two = (PrivateKey.from_seed(bytes([n]) * 32).public.text for n in (1, 2))
        alice, now, later = a_player("alice", one, AT, "text", "sig"), "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
        run(store.add_player(alice))
        run(store.add_token("a", "alice", later, now, one))
        assert run(store.token("a", now)) == "alice"
        run(store.replace_key(replace(alice, key=two), a_retired_key(one, "alice", AT, False)))
        with pytest.raises(ForbiddenError, match="another key now"):
            run(store.add_token("b", "alice", later, now, one))
        run(store.add_token("d", "alice", later, now, two))
        run(store.revoke_key(a_retired_key(one, "alice", AT, True)))  # ends the logins with that key, and no other
        assert run(store.token("d", now)) == "alice"
        run(store.revoke_key(a_retired_key(two, "alice", AT, True)))
        with pytest.raises(RevokedError):
            run(store.add_token("c", "alice", later, now, two))
        assert [run(store.token(digest, now)) for digest in "abcd"] == [None] * 4

    # --- games ----------------------------------------------------------------------------------------------------

    def test_a_game_is_kept_to_the_byte(self, opened: Opened) -> None:
        openings = (Opening(2, 0, "A", "aa" * 32), Opening(2, 1, "BC", "bb" * 32))
        with opened() as store, with_game(store) as table:
            append = append_of(table, 0, tuple(table.lines[1:4]), openings=openings)
            run(store.append(append))
        with opened() as store:
            assert run(store.lines(table.game)) == tuple(table.lines[:4])
            assert run(store.lines(table.game, 2)) == (table.lines[3],)
            assert run(store.lines(table.game, 3)) == ()
            assert run(store.head(table.game)) == (3, table.lines[3].entry.head)
            kept = run(store.summary(table.game))
            assert kept == append.summary._replace(ruleset="{}", created=AT)
            history = run(store.history(table.game, 1))
            assert history is not None
            assert history.lines == tuple(table.lines[2:4])
            secrets = history.secrets
            assert (secrets.seed, secrets.offered_to, secrets.openings) == ("5e" * 32, "alice", openings)

    def test_there_is_nothing_where_there_is_no_game(self, store: Store) -> None:
        game = "0" * 32
        assert run(store.head(game)) is None
        assert run(store.summary(game)) is None
        assert run(store.lines(game)) == ()
        assert run(store.history(game)) is None

    @pytest.mark.parametrize("wrong", [{"seq": 1}, {"head": "00" * 32}, {"game": "00" * 16}])
    def test_an_append_elsewhere_than_at_the_head_changes_nothing(self, store: Store, wrong: dict[str, Any]) -> None:
        with with_game(store) as table:
            run(store.append(append_of(table, 0, (table.lines[1],))))
            before = (run(store.summary(table.game)), run(store.history(table.game)))
            append = append_of(table, 1, (table.lines[2],), openings=(Opening(2, 0, "A", "aa" * 32),))
            if "seq" in wrong:
                wrong = {"seq": 0}
            if "game" in wrong:
                with pytest.raises(NotFoundError):
                    run(store.append(replace(append, **wrong)))
            else:
                with pytest.raises(ConflictError) as raised:
                    run(store.append(replace(append, **wrong)))
                assert (raised.value.seq, raised.value.head) == (1, table.lines[1].entry.head)
            assert (run(store.summary(table.game)), run(store.history(table.game))) == before

    def test_of_many_appends_for_one_place_one_wins(self, store: Store) -> None:
        with with_game(store) as table:
            appends = [append_of(table, 0, tuple(table.lines[1 : 2 + number])) for number in range(5)]

            async def race() -> list[BaseException | None]:
                return await asyncio.gather(*(store.append(each) for each in appends), return_exceptions=True)

            results = run(race())
            (winner,) = [number for number, result in enumerate(results) if result is None]
            assert run(store.lines(table.game)) == (table.lines[0], *appends[winner].lines)
            for result in results:
                if result is not None:
                    assert isinstance(result, ConflictError)
                    assert (result.seq, result.head) == run(store.head(table.game))

    def test_an_append_is_decided_once_and_outside_of_the_loop(self, store: Store) -> None:
        with with_game(store, 1) as one, with_game(store, 2) as two, with_game(store, 3) as three:
            decided: list[tuple[str, int]] = []

            def decide(table: Table) -> Append:
                decided.append((table.game, threading.get_ident()))
                if table is two:
                    raise IllegalError("no")
                return append_of(table, 0, (table.lines[1],))

            async def together() -> list[BaseException | None]:
                appends = [store.append(partial(decide, table)) for table in (one, two, three)]
                return await asyncio.gather(*appends, return_exceptions=True)

            first, second, third = run(together())
            assert (first, third) == (None, None)
            assert isinstance(second, IllegalError)
            assert sorted(game for game, _ in decided) == sorted(table.game for table in (one, two, three))
            assert threading.get_ident() not in {thread for _, thread in decided}
            assert [run(store.head(table.game)) for table in (one, two, three)] == [
                (seq, table.lines[seq].entry.head) for table, seq in ((one, 1), (two, 0), (three, 1))
            ]

    def test_a_write_that_fails_midway_takes_nothing_of_the_others_with_it(self, store: Store) -> None:
        with with_game(store, 1) as one, with_game(store, 2) as two, with_game(store, 3) as three:
            twice = (Opening(1, 0, "A", "aa" * 32), Opening(1, 0, "A", "aa" * 32))
            appends = [append_of(table, 0, (table.lines[1],)) for table in (one, two, three)]
            appends[1] = replace(appends[1], openings=twice)

            async def together() -> list[BaseException | None]:
                return await asyncio.gather(*(store.append(each) for each in appends), return_exceptions=True)

            first, second, third = run(together())
            assert first is None
            assert third is None
            assert second is not None
            assert [run(store.head(table.game)) for table in (one, three)] == [
                (1, table.lines[1].entry.head) for table in (one, three)
            ]
            assert run(store.head(two.game)) == (0, two.lines[0].entry.head)
            assert run(store.lines(two.game)) == (two.lines[0],)

    # --- lists ----------------------------------------------------------------------------------------------------

    def test_lists(self, store: Store) -> None:
        made: dict[str, str] = {}
        rows: dict[str, dict[str, Any]] = {  # Any: fields by name
            "mine": {"status": "playing", "host": "alice", "guest": "bob", "to_move": "alice"},
            "theirs": {"status": "playing", "host": "bob", "guest": "alice", "to_move": "bob"},
            "invited": {"status": "open", "host": "bob", "invite": "alice", "to_move": "alice"},
            "free": {"status": "open", "host": "carol"},
            "over": {"status": "finished", "host": "carol", "guest": "alice", "reason": "charm", "winner": 1},
            "cancelled": {"status": "cancelled", "host": "carol", "invite": "alice", "reason": "cancel"},
            "offered": {"status": "offered"},
            "linked": {"status": "open", "host": "alice", "link": "a key"},
            "linked, over": {"status": "cancelled", "host": "alice", "link": "a key", "reason": "cancel"},
        }
        for number, (name, fields) in enumerate(rows.items()):
            with with_game(store, number, created=f"2026-01-0{number + 1}T00:00:00Z", **fields) as table:
                made[table.game] = name

        def listed(**wanted: Any) -> list[str]:  # Any: fields of the query
            return [made[each.game] for each in run(store.games(Query(**wanted)))]

        wanted: dict[str, Any]  # Any: fields of the query
        assert listed() == ["cancelled", "over", "free", "invited", "theirs", "mine"]
        assert listed(status="open") == ["free", "invited"]
        assert listed(status="finished") == ["over"]
        assert listed(status="cancelled") == ["cancelled"]
        assert listed(player="alice") == ["theirs", "mine", "invited", "cancelled", "over"]
        assert listed(player="alice", status="open") == ["invited"]
        assert listed(player="bob") == ["invited", "theirs", "mine"]
        assert listed(player="alice", status="finished") == ["over"]
        assert listed(player="alice", status="cancelled") == ["cancelled"]
        assert listed(player="alice", status="playing") == ["theirs", "mine"]
        assert listed(player="alice", waiting=True) == ["mine", "invited"]
        assert listed(player="alice", waiting=True, status="playing") == ["mine"]
        assert listed(player="alice", waiting=True, status="finished") == []
        assert listed(player="dave") == []
        named = {name: game for game, name in made.items()}
        assert listed(prefix=named["over"][:6]) == ["over"]
        for prefix in (named["linked"][:6], named["linked"], named["linked, over"]):
            for wanted in ({}, {"player": "alice"}, {"status": "open"}):
                assert listed(prefix=prefix, **wanted) == []
        own = {"player": "alice", "own": True}
        assert listed(**own) == ["linked", "theirs", "mine", "invited", "linked, over", "cancelled", "over"]
        assert listed(**own, status="open") == ["linked", "invited"]
        assert listed(**own, status="cancelled") == ["linked, over", "cancelled"]
        assert listed(**own, waiting=True) == ["mine", "invited"]
        assert listed(player="bob", own=True) == ["invited", "theirs", "mine"]
        urgent = {"player": "alice", "waiting": True, "by_deadline": True}
        assert listed(**urgent) == ["mine", "invited"]
        for rank, rest in ((0, ["invited"]), (1, []), (2, [])):  # a cursor may come from any list
            assert listed(**urgent, after=f"9999-12-31T23:59:59Z~{'f' * 32}~{rank}") == rest
        for wanted in ({}, {"player": "alice"}, own, {"status": "open"}, {"player": "alice", "waiting": True}, urgent):
            paged: list[str] = []
            after: str | None = None
            while page := run(store.games(query := Query(limit=1, after=after, **wanted))):
                paged.append(made[page[0].game])
                after = cursor_of(query, page[0])
            assert paged == listed(**wanted)

    def test_invitations_stand_behind_the_games_that_a_player_plays(self, store: Store) -> None:
        fields: dict[str, dict[str, Any]] = {  # Any: fields by name
            "playing": {"status": "playing", "host": "alice", "guest": "bob", "to_move": "alice"},
            "invitation": {"status": "open", "host": "bob", "invite": "alice", "to_move": "alice"},
            "withdrawn": {"status": "cancelled", "host": "bob", "invite": "alice", "reason": "cancel"},
        }
        made: dict[str, str] = {}
        for number, name in enumerate(["playing", "playing", *["invitation", "withdrawn"] * 4]):
            with with_game(store, number, created=f"2026-01-{number + 1:02}T00:00:00Z", **fields[name]) as table:
                made[table.game] = name

        def listed(**wanted: Any) -> list[str]:  # Any: fields of the query
            return [made[each.game] for each in run(store.games(Query(player="alice", limit=3, **wanted)))]

        assert listed() == ["playing", "playing", "invitation"]
        assert listed(waiting=True) == ["playing", "playing", "invitation"]
        for limits, kinds in (((1, 9), ["playing"]), ((9, 3), ["playing", "playing"])):
            found = [made[game] for game in run(store.places("alice", "2026-01-01T00:00:00Z", *limits))]
            assert [each for each in found if each == "playing"] == kinds
            left = min(limits[1], 4)
            assert [each for each in found if each == "invitation"] == ["invitation"] * left
        assert len(run(store.places("alice", "2026-01-01T00:00:00Z", 9, 99))) == 10

    # --- limits on open games -------------------------------------------------------------------------------------

    def test_a_host_has_only_so_many_open_games_and_invitations_of_one_player(self, store: Store) -> None:
        def open_one(seed: int, invite: str | None, host: str = "alice") -> Table:
            with with_game(store, seed) as table:
                after = summary(table, 2, status="open", host=host, invite=invite, to_move=invite)
                run(store.append(append_of(table, 0, (table.lines[1],), summary=after, opens=True)))
                return table

        for name in ("alice", "carol"):
            run(store.add_player(a_player(name, f"key of {name}", AT, "text", "sig")))
        tables = [open_one(seed, "bob") for seed in range(MOST_INVITATIONS)]
        with pytest.raises(TooManyGamesError, match="3 open invitations to bob"):
            open_one(100, "bob")
        refused = Table(seed=100).begin()
        assert run(store.head(refused.game)) == (0, refused.lines[0].entry.head)
        open_one(101, "bob", host="carol")
        open_one(102, "dave")
        seeds = iter(range(103, 200))
        while len(run(store.games(Query(player="alice", status="open")))) < MOST_OPEN:
            open_one(next(seeds), None)
        with pytest.raises(TooManyGamesError, match="20 open games"):
            open_one(next(seeds), None)
        assert len(run(store.games(Query(player="alice", status="open")))) == MOST_OPEN
        joined = tables[0]
        after = summary(joined, 3, status="playing", host="alice", guest="bob", invite="bob")
        run(store.append(append_of(joined, 1, (joined.lines[2],), summary=after)))
        open_one(next(seeds), "bob")
        with pytest.raises(ConflictError):  # an entry that has lost its place hears that first
            run(store.append(append_of(joined, 0, (joined.lines[1],), opens=True)))

    def test_hosts_who_open_many_games_at_once_open_no_more_than_they_may(self, opened: Opened) -> None:
        with opened() as one, opened() as two:
            run(one.add_player(a_player("alice", "key", AT, "text", "sig")))
            appends = []
            for seed in range(12):
                with with_game(one, seed) as table:
                    after = summary(table, 2, status="open", host="alice", invite="bob", to_move="bob")
                    appends.append(append_of(table, 0, (table.lines[1],), summary=after, opens=True))

            async def race() -> list[BaseException | None]:
                stores = itertools.cycle((one, two))
                return await asyncio.gather(*(next(stores).append(each) for each in appends), return_exceptions=True)

            results = run(race())
            refused = [each for each in results if each is not None]
            assert [type(each) for each in refused] == [TooManyGamesError] * (12 - MOST_INVITATIONS)
            found = run(one.games(Query(player="bob")))
            assert {each.game for each in found} == {
                each.game for each, result in zip(appends, results, strict=True) if result is None
            }

    # --- what is no longer needed ---------------------------------------------------------------------------------

    def test_offers_that_nobody_opened_are_removed_and_no_other_game_is(self, store: Store) -> None:
        old, new, now = "2026-11-19T12:00:00Z", AT, "2026-11-21T00:00:00Z"
        kept = []
        for seed, at in enumerate((old, old, old, new)):
            with with_game(store, seed, created=at) as table:
                if seed == 0:
                    run(store.append(append_of(table, 0, (table.lines[1],))))
                kept.extend([table.game] if seed in (0, 3) else [])
        run(store.add_challenge("late", old))
        run(store.add_token("late", "alice", now, old))
        run(store.add_code(a_code("late", now)))
        run(store.add_code(a_code("valid", "2026-11-22T00:00:00Z", uses=2)))
        games = [Table(seed=seed).game for seed in range(4)]
        assert run(store.remove_expired(old, old, 9)) == Removed(challenges=1)
        assert [game for game in games if run(store.head(game))] == games
        assert run(store.remove_expired(now, AT, 1)) == Removed(offers=1, logins=1, codes=1)
        assert run(store.remove_expired(now, AT, 9)) == Removed(offers=1)
        assert run(store.remove_expired(now, AT, 9)) == Removed()
        assert [game for game in games if run(store.head(game))] == kept
        for game in games:
            there = game in kept
            assert (run(store.history(game)) is not None, bool(run(store.lines(game)))) == (there, there)
        assert run(store.add_player(a_player("bob", "ssh-ed25519 x", now, "text", "sig"), "valid")) is None

    def test_an_offer_that_is_withdrawn_is_gone_and_an_opened_game_stays(self, store: Store) -> None:
        opened, other, withdrawn = (Table(seed=seed).game for seed in range(3))
        for seed in range(3):
            with with_game(store, seed) as table:
                if table.game == opened:
                    run(store.append(append_of(table, 0, (table.lines[1],))))
        for game in (opened, withdrawn, withdrawn):
            run(store.withdraw_offer(game, "alice"))
        assert [game for game in (opened, other, withdrawn) if run(store.head(game))] == [opened, other]
        assert run(store.history(withdrawn)) is None

    def test_an_offer_that_is_opened_while_it_is_removed_is_there_or_is_gone(self, store: Store) -> None:
        tables = []
        for seed in range(40):
            with with_game(store, seed) as table:
                tables.append(table)

        async def open_(table: Table, turns: int) -> bool:
            for _ in range(turns):
                await asyncio.sleep(0)
            try:
                await store.append(append_of(table, 0, (table.lines[1],)))
            except NotFoundError:
                return False
            return True

        async def race() -> tuple[list[bool], int]:
            openings = [asyncio.ensure_future(open_(table, seed // 2)) for seed, table in enumerate(tables)]
            removed = 0
            while not all(opening.done() for opening in openings):
                removed += (await store.remove_expired(AT, "2026-11-21T00:00:00Z", 3)).offers
                await asyncio.sleep(0)  # a read of SQLite does not let others run
            return [opening.result() for opening in openings], removed

        opened, removed = run(race())
        assert removed >= opened.count(False)
        for table, there in zip(tables, opened, strict=True):
            assert run(store.lines(table.game)) == (tuple(table.lines[:2]) if there else ())
            assert (run(store.history(table.game)) is not None) == there
