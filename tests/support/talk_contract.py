"""The tests of talk and blocks that every store must pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from unittest.mock import patch

import pytest
from hkoji_server.service.games.notice_rules import NoticeEvent
from hkoji_server.store.contract import Store
from hkoji_server.store.tables import KeptMessage
from hkoji_server.store.talk import TALK_EVENT, LastMessage, NewMessage

from hkoji.errors import ForbiddenError, NotFoundError, TalkClosedError, TooManyError
from hkoji.log.private_key import PrivateKey
from tests.support.leases import read_due
from tests.support.loops import run
from tests.support.rows import a_kept_channel, a_kept_message, a_player, replace
from tests.support.table import AT
from tests.support.waiting_contract import new_game

EARLIER, LATER = "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"


def added(store: Store, game: str, text: str, name: str = "alice", at: str = AT) -> KeptMessage:
    other = "bob" if name == "alice" else "alice"
    return run(store.add_message(NewMessage(game, name, other, text, f"sig of {text}", at), EARLIER))[0]


class TalkContract:
    """The promises of `hkoji_server.store.talk`."""

    @pytest.fixture
    def talked(self, store: Store) -> str:
        return new_game(store, 0, host="alice", guest="bob").game

    def test_messages_are_numbered_and_the_same_text_is_kept_once(self, store: Store, talked: str) -> None:
        one, two = added(store, talked, "one"), added(store, talked, "two", "bob")
        assert (one, two.number) == (a_kept_message(talked, 1, "alice", "one", "sig of one", AT), 2)
        again = NewMessage(talked, "alice", "bob", "one", "another sig", LATER)
        assert run(store.add_message(again, EARLIER)) == (one, False)
        assert run(store.add_message(replace(again, text="three"), EARLIER))[0].number == 3
        assert [each.number for each in run(store.messages(talked, 0, 10))] == [1, 2, 3]
        assert run(store.messages(talked, 1, 1)) == (two,)
        assert run(store.messages("0" * 32, 0, 10)) == ()

    def test_the_last_message_of_the_other_in_each_game(self, store: Store, talked: str) -> None:
        talked = new_game(store, 4, host="alice", guest="bob", status="playing").game
        silent, own, over = (new_game(store, n, host="bob", guest="alice", status="playing").game for n in (1, 2, 3))
        for text in ("one", "two", "three"):
            added(store, talked, text)
        added(store, talked, "four", "bob")
        added(store, own, "one", "bob")
        added(store, over, "one")
        assert set(run(store.last_messages("bob", AT, 9))) == {
            LastMessage(talked, 3, "alice"),
            LastMessage(over, 1, "alice"),
        }
        run(store.delete_message(talked, 3, "alice"))
        assert LastMessage(talked, 2, "alice") in run(store.last_messages("bob", AT, 9))
        assert set(run(store.last_messages("alice", AT, 9))) == {
            LastMessage(talked, 4, "bob"),
            LastMessage(own, 1, "bob"),
        }
        assert len(run(store.last_messages("alice", AT, 1))) <= 1
        assert run(store.last_messages("carol", AT, 9)) == ()
        assert silent not in {each.game for each in run(store.last_messages("bob", AT, 9))}

    def test_two_at_once_get_different_numbers(self, opened: Callable[[], AbstractContextManager[Store]]) -> None:
        with opened() as one, opened() as two:
            talked = new_game(one, 0, host="alice", guest="bob").game

            async def both() -> list[int]:
                work = [
                    store.add_message(NewMessage(talked, name, "x", f"{name} {n}", "sig", AT), EARLIER)
                    for n in range(10)
                    for store, name in ((one, "alice"), (two, "bob"))
                ]
                return [message.number for message, _ in await asyncio.gather(*work)]

            assert sorted(run(both())) == list(range(1, 21))
            assert run(one.messages(talked, 0, 30)) == run(two.messages(talked, 0, 30))

    def test_a_message_that_is_not_kept_changes_nothing(self, store: Store, talked: str) -> None:
        added(store, talked, "one")
        before = run(store.messages(talked, 0, 10))
        with pytest.raises(NotFoundError):
            added(store, "0" * 32, "one")
        with patch("hkoji_server.store.talk.MOST_A_DAY", 1), pytest.raises(TooManyError):
            added(store, talked, "two")
        with patch("hkoji_server.store.talk.MOST_MESSAGES", 1), pytest.raises(TalkClosedError):
            added(store, talked, "two", "bob")
        assert run(store.messages(talked, 0, 10)) == before
        with patch("hkoji_server.store.talk.MOST_A_DAY", 1):
            new = NewMessage(talked, "alice", "bob", "later", "sig", LATER)
            assert run(store.add_message(new, LATER))[1]

    def test_only_its_author_deletes_a_message(self, store: Store, talked: str) -> None:
        added(store, talked, "one")
        two = added(store, talked, "two")
        with pytest.raises(ForbiddenError):
            run(store.delete_message(talked, 1, "bob"))
        for number, game in ((3, talked), (1, "0" * 32)):
            with pytest.raises(NotFoundError):
                run(store.delete_message(game, number, "alice"))
        assert run(store.messages(talked, 1, 10)) == (two,)
        for _ in range(2):
            run(store.delete_message(talked, 2, "alice"))
            assert run(store.messages(talked, 1, 10)) == (replace(two, text=None, sig=None),)
        assert added(store, talked, "three").number == 3

    def test_the_reader_is_told_of_each_message_once(self, store: Store, talked: str) -> None:
        keys = {name: PrivateKey.from_seed(name.encode().ljust(32, b".")).public.text for name in ("alice", "bob")}
        for name, key in keys.items():
            assert run(store.add_player(a_player(name, key, AT, "text", "sig"))) is None
            made = a_kept_channel(f"of {name}", name, "webhook", "x", ("talk",), "{}", AT, confirmed=AT)
            assert run(store.add_channel(made))
        assert NoticeEvent.TALK.value == TALK_EVENT
        added(store, talked, "one")
        added(store, talked, "one")
        added(store, talked, "two", "bob")
        added(store, talked, "three")
        with patch("hkoji_server.store.talk.MOST_A_DAY", 1), pytest.raises(TooManyError):
            added(store, talked, "four")
        run(store.delete_message(talked, 3, "alice"))
        found = run(read_due(store, ("webhook",), LATER))
        assert sorted((each.seq, each.event, each.channel) for each in found) == [
            (1, "talk", "of bob"),
            (2, "talk", "of alice"),
        ]

    def test_the_talk_of_games_that_ended_long_ago_is_removed(self, store: Store) -> None:
        kept = []
        for number in range(4):
            game = new_game(store, number, status="finished" if number < 3 else "playing").game
            if number:
                added(store, game, "one")
                added(store, game, "two", at=LATER)
                kept.append(game)
        assert run(store.remove_talk(AT, LATER, 5)) == 0
        assert run(store.remove_talk(LATER, AT, 5)) == 0
        assert [run(store.remove_talk(LATER, LATER, 1)) for _ in range(3)] == [1, 1, 0]
        assert [len(run(store.messages(each, 0, 5))) for each in kept] == [0, 0, 2]
