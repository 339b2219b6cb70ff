"""From the first letter to the first card: accepting, declining, and what invited people can write."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hkoji_server.service.games import keeper
from hkoji_server.service.games.keeper import send_seeds_at_intervals

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.game.clock import add_seconds
from tests.support.mail.list_world import DAYS, ListWorld, list_world, unread
from tests.support.mail.mail_hosts import command_address, mail_host
from tests.support.mail.post_office import Letter
from tests.support.service import Player


class Invited:
    """Alice has invited bob, who has the letter."""

    def __init__(self, world: ListWorld, agreement: Agreement = DAYS) -> None:
        self.world = world
        self.alice = Player(world.service, "alice").register()
        self.bob = world.player("bob@example.org")
        self.game = world.invite(self.alice, "bob", "bob@example.org", agreement=agreement)
        assert world.deliver() == ["invited"]
        self.letter = self.bob.next_letter(0)

    def write(self, *lines: str, to: Letter | None = None) -> str:
        self.bob.answer(to or self.letter, *lines)
        return str(json.loads(self.world.incoming().result)["answer"])

    def answers(self) -> list[Letter]:
        self.world.deliver(1)
        return unread(self.bob)

    def kinds(self) -> list[str]:
        return [line.entry.kind for line in self.alice.lines(self.game)]


@pytest.fixture
def invited(world: ListWorld) -> Invited:
    return Invited(world)


def registered(world: ListWorld, name: str) -> bool:
    return world.service.ask("GET", f"/v1/players/{name}").status == 200


def test_accept_registers_and_joins_and_the_service_sends_the_seed(invited: Invited) -> None:
    assert not registered(invited.world, "bob")
    assert invited.write("accept") == "welcome"
    assert registered(invited.world, "bob")
    (welcome,) = invited.answers()
    assert invited.kinds() == ["offer", "open", "join", "seed"]
    assert welcome.field("In-Reply-To")
    seed = invited.alice.lines(invited.game)[-1].entry
    assert (seed.by, seed.body["mail"]) == ("bob", {"commit": None, "grade": "none"})
    # The entropy was kept until its seed was on record, and not longer.
    assert invited.world.run(invited.world.store.held_entropy(("", ""), 10)) == ()
    (salt,) = (line.strip() for line in welcome.lines if len(line.strip()) == 64)
    kept = invited.world.run(invited.world.store.certificates(invited.world.box("bob").held_key))
    assert salt == kept[0].salt


def until_dealt(world: ListWorld, game: str, sends: bool) -> None:
    """Waits for the first card of a game. With `sends` the mail process sends seeds as it does by itself."""

    async def work() -> None:
        due = world.seed_due if sends else asyncio.Queue[str]()
        sending = asyncio.create_task(send_seeds_at_intervals(world.seeds, due))
        async with asyncio.timeout(20):
            while (await world.held.current(game)).refereed.course.seed_seat is not None:
                await asyncio.sleep(0.01)
        sending.cancel()

    world.run(work())


def test_the_process_that_has_taken_what_makes_a_seed_due_sends_it_at_once(tmp_path: Path) -> None:
    with (
        patch.object(keeper, "SEED_PACE", 10**6),
        list_world(tmp_path / "data", mail="play@hkoji.example", seeds_at_once=True) as world,
    ):
        bob, commands = mail_host(world)
        bob.write(commands, "a game", "new hanamikoji carol carol@example.com")
        (game,) = world.games_of("bob")
        world.deliver(61)
        carol = world.player("carol@example.com")
        carol.answer(carol.next_letter(0), "accept")
        until_dealt(world, game, sends=True)
        # Alice has a key of her own, so the service's HTTP process takes her entries.
        alice = Player(world.service, "alice").register()
        bob.write(commands, "a game", "new hanamikoji alice alice@example.com")
        game = next(each for each in world.games_of("bob") if each != game)
        alice.join(game)
        alice.seed(game)
        until_dealt(world, game, sends=False)


def test_decline_ends_the_game_and_registers_nobody(invited: Invited) -> None:
    assert invited.write("decline later") == "declined"
    assert invited.kinds()[2] == "lapse"
    assert not registered(invited.world, "bob")
    assert len(invited.answers()) == 1
    assert invited.write("accept") == "turn over"
    assert len(invited.answers()) == 1
    assert not registered(invited.world, "bob")
    assert invited.kinds()[2] == "lapse"


def test_an_invitation_that_was_withdrawn_is_over(invited: Invited) -> None:
    alice, game = invited.alice, invited.game
    assert alice.send(alice.entry(game, alice.head(game), entry_kinds.Cancel())).status == 201
    before = invited.kinds()
    assert invited.write("accept") == "turn over"
    (answer,) = invited.answers()
    assert answer.text.startswith("This invitation is over, so nothing was done.")
    assert "turn" not in answer.text
    assert invited.kinds() == before
    assert not registered(invited.world, "bob")


def test_an_invitation_that_has_expired_by_the_time_of_the_mail(world: ListWorld) -> None:
    expires = add_seconds(world.run(world.time.now()), 3600)
    invited = Invited(world, agreement=Agreement(TimeControl(3 * DAY, 0, 0, 0), expires))
    world.clock.pass_by(3700)
    before = invited.kinds()
    assert invited.write("accept") == "not done"
    assert invited.kinds() == before
    assert len(invited.answers()) == 1


@pytest.mark.parametrize(
    "words", ["help", "rules", "show", "moves", "log", "games", "lang it", "hello", "2bc", "resign"]
)
def test_an_invited_player_may_ask_and_joins_by_nothing_else(invited: Invited, words: str) -> None:
    invited.write(words)
    assert invited.kinds() == ["offer", "open"]
    assert not registered(invited.world, "bob")
    (answer,) = invited.answers()
    # They can still accept, in answer to either letter.
    assert invited.write("accept", to=answer) == "welcome"


@pytest.mark.parametrize("words", [("I accept!",), ("accept", "Bob"), ("help",)])
def test_an_invited_player_without_a_game_who_is_not_understood_or_asks_for_help_is_told_the_words_to_answer_with(
    world: ListWorld, words: tuple[str, ...]
) -> None:
    bob = world.player("bob@example.org")
    world.run(world.players.invite("bob", "bob@example.org", "en", None))
    world.deliver()
    bob.answer(bob.next_letter(0), *words)
    assert not registered(world, "bob")
    world.deliver(1)
    (letter,) = unread(bob)
    assert "Answer this mail:  accept  or  decline  on the first line, then an empty" in letter.text
    bob.answer(letter, "accept")
    assert registered(world, "bob")


def test_a_player_who_is_only_invited_makes_no_games(invited: Invited) -> None:
    assert invited.write("new address") == "setting"
    (answer,) = invited.answers()
    commands = command_address(answer)
    invited.bob.write(commands, "a game", "new hanamikoji carol carol@example.com")
    assert json.loads(invited.world.incoming().result)["answer"] == "not done"
    world = invited.world
    assert world.run(world.store.mailbox_at("carol@example.com")) is None
    assert world.games_of("bob") == [invited.game]
    assert world.run(world.store.mailbox_of("carol", world.incoming().received)) is None


@pytest.mark.parametrize("words", ["hello", "stop"])
def test_mail_to_the_bare_address_brings_no_letter_to_somebody_who_was_only_invited(
    invited: Invited, words: str
) -> None:
    invited.write(words)
    invited.answers()
    invited.bob.write("play@hkoji.example", "hello", "are you there?")
    assert json.loads(invited.world.incoming().result)["answer"] == "silent"
    assert invited.answers() == []


def test_stop_of_somebody_invited_blocks_invitations_until_start(invited: Invited) -> None:
    assert invited.write("stop") == "stopped"
    assert len(invited.answers()) == 1
    box = invited.world.run(invited.world.store.mailbox_at("bob@example.org"))
    assert box is not None
    assert box.state == "blocked"
    with pytest.raises(Exception, match="cannot be invited"):
        invited.world.run(invited.world.players.invite("bobby", "bob@example.org", "en", "alice"))
    assert invited.write("start") == "started"
    box = invited.world.run(invited.world.store.mailbox_at("bob@example.org"))
    assert box is not None
    assert box.state == "invited"


def test_not_me_of_somebody_who_gets_no_invitations_any_more_offers_nothing_to_take_back(invited: Invited) -> None:
    assert invited.write("not me") == "stopped"
    assert invited.write("not me") == "stopped"
    assert "mistake" not in invited.answers()[-1].text


def test_a_mail_player_who_is_invited_again_joins_with_accept(invited: Invited) -> None:
    invited.write("accept")
    invited.answers()
    game = invited.world.invite(invited.alice, "bob", "bob@example.org")
    assert invited.world.deliver(1) == ["invited"]
    (letter,) = unread(invited.bob)
    assert invited.write("accept", to=letter) == "on record"
    assert [line.entry.kind for line in invited.alice.lines(game)][:3] == ["offer", "open", "join"]


def test_a_host_by_mail_withdraws_a_game_that_nobody_has_joined(world: ListWorld) -> None:
    bob, commands = mail_host(world)
    bob.write(commands, "a game", "new hanamikoji carol carol@example.com 2d")
    world.deliver()
    (game,) = world.games_of("bob")
    answer = unread(bob)[-1]
    bob.answer(answer, "cancel")
    assert json.loads(world.incoming().result)["answer"] == "on record"
    assert world.service.ask("GET", f"/v1/games/{game}").json["status"] == "cancelled"
    world.deliver(61)
    assert unread(bob)


@pytest.mark.parametrize(
    "words",
    [
        "new chess carol carol@example.com",
        "new hanamikoji carol carol@example.com 2m",
        "new hanamikoji carol carol@example.com soon",
        "new hanamikoji bob carol@example.com",
        "new hanamikoji carol play@hkoji.example",
        "new hanamikoji carol =?utf-8?q?carol?=@example.com",
    ],
)
def test_a_new_game_that_cannot_be_is_refused_with_the_reason(world: ListWorld, words: str) -> None:
    bob, commands = mail_host(world)
    bob.write(commands, "a game", words)
    assert json.loads(world.incoming().result)["answer"] == "not done"
    assert world.games_of("bob") == []
    # No name and no mailbox is reserved, and no offer is left.
    assert world.run(world.store.mailbox_at("carol@example.com")) is None
    with closing(sqlite3.connect(world.service.data / "hkoji.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM game").fetchone() == (0,)
    assert world.deliver(1) == ["answer"]


def test_a_new_game_beyond_the_days_limit_is_refused_before_anybody_is_invited(world: ListWorld) -> None:
    known = [Player(world.service, name).register().name for name in ("alice", "erin")]
    bob, commands = mail_host(world)
    for number in range(5):  # as many as somebody may ask for who has just registered
        bob.write(commands, "a game", f"new hanamikoji {known[number % 2]} {known[number % 2]}@example.com")
        assert json.loads(world.incoming().result)["answer"] == "on record"
    games = world.games_of("bob")
    for name in ("carol", "dave"):
        bob.write(commands, "a game", f"new hanamikoji {name} {name}@example.com")
        assert json.loads(world.incoming().result)["answer"] == "not done"
        assert "5 games" in json.loads(world.incoming().result)["reason"]["english"]
        assert world.run(world.store.mailbox_at(f"{name}@example.com")) is None
        assert world.run(world.store.mailbox_of(name, world.run(world.time.now()))) is None
    assert world.games_of("bob") == games
    with closing(sqlite3.connect(world.service.data / "hkoji.sqlite3")) as database:
        tables = ("mail_invitation WHERE player = 'bob'", "held_key WHERE name != 'bob'")
        assert [database.execute(f"SELECT count(*) FROM {each}").fetchone() for each in tables] == [(0,)] * 2


def test_new_takes_no_clock_for_an_address_also_of_a_registered_player(world: ListWorld) -> None:
    Player(world.service, "alice").register()
    bob, commands = mail_host(world)
    bob.write(commands, "a game", "new hanamikoji alice 1d/2d")
    assert json.loads(world.incoming().result)["answer"] == "not done"
    assert world.games_of("bob") == []
    world.deliver(1)
    assert "stands a mail address, as in: new hanamikoji bob bob@example.org" in " ".join(unread(bob)[-1].text.split())


def test_new_invites_a_registered_player_by_name(world: ListWorld) -> None:
    alice = Player(world.service, "alice").register()
    bob, commands = mail_host(world)
    bob.write(commands, "a game", "new hanamikoji alice alice@example.com")
    assert json.loads(world.incoming().result)["answer"] == "on record"
    (game,) = world.games_of("bob")
    alice.join(game)
    world.deliver(61)
    assert "joined" in {letter.id[1:].partition(".")[0] for letter in unread(bob)}


def test_a_locked_mailbox_of_an_operator_gets_nothing(world: ListWorld) -> None:
    bob, commands = mail_host(world)
    bob.write(commands, "", "not me")
    world.deliver(1)
    (letter,) = unread(bob)
    world.run(world.store.change_mailbox(replace(world.box("bob"), state="suspended")))
    bob.write(commands, "a game", "new hanamikoji carol carol@example.com")
    assert json.loads(world.incoming().result)["answer"] == "locked"
    assert world.games_of("bob") == []
    world.deliver(1)
    assert "operator of this service has locked" in unread(bob)[0].text.replace("\n", " ")
    bob.answer(letter, "yes")  # what unlocks a lock of one's own does not unlock the operator's
    assert json.loads(world.incoming().result)["answer"] == "locked"
    assert world.box("bob").state == "suspended"
