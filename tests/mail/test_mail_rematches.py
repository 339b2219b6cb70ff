"""A rematch by mail: one game more, whoever asks for it first, and whatever is repeated."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.service.games.games import Games
from hkoji_server.service.mail.commands import NotDoneError

from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement
from hkoji.game.course import Course, Stage
from hkoji.game.rematch import has_terms, rematch_agreement, rematch_ruleset_of
from hkoji.log.line import format_log
from hkoji.log.public_key import parse_public_key
from hkoji.messages.text import tell
from tests.support.mail.list_world import ListWorld, list_world, unread
from tests.support.mail.mail_hosts import two_by_mail
from tests.support.mail.mail_table import MailTable
from tests.support.mail.mailbox_player import MailboxPlayer


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> MailTable:
    """A table at which alice has resigned; bob has the letter that says so. Its service has ended."""
    with list_world(tmp_path_factory.mktemp("first"), mail="play@hkoji.example") as world:
        table = MailTable(world)
        table.bob.answer(table.letter, "give 1d")  # refused: so bob has read all letters before
        alice, game = table.alice, table.game
        assert alice.send(alice.entry(game, alice.head(game), entry_kinds.Resign())).status == 201
        world.deliver(61)
        table.letter = unread(table.bob)[-1]
        assert table.letter.id.startswith("<over.")
        return table


def course(table: MailTable, game: str) -> Course:
    return table.world.run(table.world.held.read(game)).refereed.course


def answer_of(table: MailTable) -> str:
    """The words of the letter that answers the last mail."""
    return next(" ".join(each.text.split()) for each in table.answers() if each.id.startswith("<answer."))


def new_games(table: MailTable) -> list[str]:
    return [each for each in table.world.games_of("bob") if each != table.game]


def offered_by_alice(table: MailTable, **changes: Any) -> str:  # Any: fields by name
    """The rematch that alice's client opens. Returns its id."""
    before = course(table, table.game)
    agreement: Agreement = rematch_agreement(before, None)._replace(**changes)
    key = parse_public_key(table.world.box("bob").held_key)
    return table.alice.new(rematch_ruleset_of(before, 0), entry_kinds.Invite("bob", key), agreement)


@pytest.mark.parametrize("words", ["rematch", "rivincita"])
def test_a_rematch_has_the_seats_changed_and_the_same_agreement(table: MailTable, words: str) -> None:
    assert table.send(words) == "on record"
    (game,) = new_games(table)
    before, after = course(table, table.game), course(table, game)
    assert after.stage is Stage.JOIN
    assert (after.setup.names[0], after.setup.invited) == ("bob", "alice")
    assert has_terms(after, before, 1, None)
    assert after.setup.agreement.rematch == table.game
    (answer,) = table.answers()
    assert "You have opened a game for alice" in answer.text.replace("\n", " ")
    assert answer.subject.startswith(f"hkoji {game[:8]}")
    table.alice.join(game)
    table.world.deliver(61)
    table.alice.seed(game)
    assert not audit(format_log(table.alice.lines(game))).findings


def test_the_opponents_rematch_is_joined_and_no_other_is_opened(table: MailTable) -> None:
    game = offered_by_alice(table)
    assert table.send("rematch") == "on record"
    assert new_games(table) == [game]
    assert course(table, game).setup.names == ("alice", "bob")
    assert "You have joined the game" in table.answers()[-1].text


def test_asked_again_it_is_the_same_rematch(table: MailTable) -> None:
    table.send("rematch")
    games = new_games(table)
    assert table.send("rematch") == "current"
    assert new_games(table) == games
    table.alice.join(games[0])
    assert table.send("rematch") == "current"
    assert new_games(table) == games


def test_a_rematch_with_other_terms_is_not_joined(table: MailTable) -> None:
    game = offered_by_alice(table, clock=None)
    before = table.alice.head(game)
    assert table.send("rematch") == "not done"
    assert (new_games(table), table.alice.head(game)) == ([game], before)
    assert "other rules or another clock" in answer_of(table)


def test_a_rematch_of_a_game_that_goes_on_or_whose_rematch_is_over_is_refused(table: MailTable) -> None:
    table.send("rematch")
    (game,) = new_games(table)
    table.alice.join(game)
    table.world.deliver(61)
    (joined,) = [each for each in unread(table.bob) if each.id.startswith("<joined.")]
    assert table.send("rematch", to=joined.answered_to) == "not done"
    alice = table.alice
    assert alice.send(alice.entry(game, alice.head(game), entry_kinds.Resign())).status == 201
    assert table.send("rematch") == "not done"
    assert new_games(table) == [game]
    assert "which is over" in table.answers()[-1].text.replace("\n", " ")


def test_after_a_rematch_that_came_to_nothing_there_can_be_another(table: MailTable) -> None:
    table.send("rematch")
    (game,) = new_games(table)
    table.bob.answer(table.answers()[-1], "cancel")
    assert course(table, game).status == "cancelled"
    assert table.send("rematch") == "on record"
    assert len(new_games(table)) == 2


@pytest.mark.parametrize("asked", [False, True])
def test_a_mail_that_is_processed_again_after_any_step_makes_one_entry(table: MailTable, asked: bool) -> None:
    theirs = [offered_by_alice(table)] if asked else []
    table.world.processes = False
    table.bob.answer(table.letter, "rematch")
    number = table.world.taken[-1]
    store, orders = table.world.store, table.world.parts.orders

    class Killed(BaseException):
        pass

    for step in ("add_game", "append", "close_incoming"):
        for after in (False, True):
            real = getattr(store, step)

            async def once(*given: object, real=real, after=after, **named: object) -> object:  # type: ignore[no-untyped-def] # any step
                if after:
                    await real(*given, **named)
                raise Killed

            setattr(store, step, once)
            with suppress(Killed):
                table.world.run(orders.process(number))
            setattr(store, step, real)
    table.world.process()
    games = new_games(table)
    assert len(games) == 1
    assert not asked or games == theirs
    kinds = [line.entry.kind for line in table.alice.lines(games[0])]
    assert kinds[:3] == ["offer", "open", "join"] if asked else kinds == ["offer", "open"]


def test_two_mail_players_who_ask_at_once_get_one_game(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        bob, carol, game = _two(world)
        letters = [unread(each)[-1] for each in (bob, carol)]
        world.processes = False
        bob.answer(letters[0], "rematch")
        carol.answer(letters[1], "rivincita")
        world.processes = True
        assert world.process() == ["on record", "on record"]
        assert len([each for each in world.games_of("bob") if each != game]) == 1


def test_a_player_joins_the_rematch_that_the_opponent_opens_while_their_mail_is_processed(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        bob, carol, game = _two(world)
        letters = [unread(each)[-1] for each in (bob, carol)]
        world.processes = False
        bob.answer(letters[0], "rematch")
        carol.answer(letters[1], "rematch")
        numbers, store, add_game = world.taken[-2:], world.store, world.store.add_game

        async def late(*given: Any) -> None:  # Any: as the store has it
            store.add_game = add_game  # type: ignore[method-assign]
            await world.parts.orders.process(numbers[0])
            await add_game(*given)

        store.add_game = late  # type: ignore[method-assign, assignment]
        assert world.run(world.parts.orders.process(numbers[1])) == ("on record",)
        (again,) = (each for each in world.games_of("bob") if each != game)
        assert world.games_of("carol")[0] == again
        assert [line.entry.kind for line in world.run(store.lines(again))][:3] == ["offer", "open", "join"]


def test_a_rematch_that_is_refused_leaves_nothing_behind_and_the_opponent_can_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        bob, carol, game = _two(world)
        letters = [unread(each)[-1] for each in (bob, carol)]
        with monkeypatch.context() as patched:
            patched.setattr(Games, "opening", refused)
            bob.answer(letters[0], "rematch")
        assert json.loads(world.incoming().result)["answer"] == "not done"
        assert [each for each in world.games_of("bob") if each != game] == []
        carol.answer(letters[1], "rematch")
        assert json.loads(world.incoming().result)["answer"] == "on record"
        (again,) = (each for each in world.games_of("carol") if each != game)
        assert [line.entry.by for line in world.run(world.store.lines(again))] == ["server", "carol"]


async def refused(*_: object, **__: object) -> None:
    raise NotDoneError(tell("not now"))


def _two(world: ListWorld) -> tuple[MailboxPlayer, MailboxPlayer, str]:
    """Two players and their game, which is over."""
    bob, carol, game = two_by_mail(world)
    world.deliver(61)
    letter = unread(bob)[-1]
    bob.answer(letter, "resign")
    world.deliver(1)
    bob.answer(unread(bob)[-1], "resign")
    world.deliver(DAY // 24)
    return bob, carol, game
