"""Letters about sealed games, whose cards the service does not see, and mails that answer them: nothing is played."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hkoji_server.service.players.channel_settings import ChannelSettings

from hkoji.game.course import Stage
from hkoji.game.entry_kinds import Invite, Open
from hkoji.log.public_key import parse_public_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.mail.list_world import DAYS, ListWorld, list_world, unread
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.sealed_service import ServedTable
from tests.support.service import Player, two_players

ADDRESS = "alice@phone.example"
ONLY_YOUR_PROGRAM = "in a sealed game only your own program can play your cards"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ListWorld]:
    with list_world(tmp_path / "data", mail="play@hkoji.example") as made:
        yield made


class Reader:
    """Alice, who plays a sealed game with her program against bob, and gets letters at which she can order by mail."""

    def __init__(self, world: ListWorld, ruleset: Ruleset, deposit: tuple[bool, bool] = (False, False)) -> None:
        self.world = world
        self.players = two_players(world.service)
        self.phone = MailboxPlayer(world.mailbox(ADDRESS))
        told = {"kind": "mail", "target": ADDRESS, "orders": True, "settings": ChannelSettings().to_json()}
        done = world.service.ask("POST", "/v1/me/channels", told, self.players[0].token)
        assert done.status == 201, done
        (letter,) = self.letters(1)
        self.phone.answer(letter, "yes")
        self.letters(1)
        self.table = ServedTable(self.players, ruleset, agreement=DAYS, deposit=deposit)

    def letters(self, seconds: int = 61) -> list[Letter]:
        self.world.deliver(seconds)
        return unread(self.phone)

    def ordered(self, letter: Letter, line: str) -> tuple[str, str]:
        """The fate of an answer: its kind, and the letter that comes."""
        self.phone.answer(letter, line)
        (answer,) = self.letters(1)
        result = json.loads(self.world.incoming().result)
        return str(result.get("answer")), answer.text

    @property
    def must_decide(self) -> bool:
        """Whether alice owes a move, and not only her program a card."""
        course = self.table.course
        return course.stage is Stage.PLAY and course.actor == 0 and course.debtor is None

    def until_alice_releases(self) -> None:
        """Goes on until only alice's program owes something, and reads her letters."""
        while self.table.course.debtor != 0:
            self.table.go_on()
        self.letters(0)


@pytest.mark.parametrize("ruleset", [Hanamikoji(max_rounds=1), GeishasRoad()], ids=["hanamikoji", "road"])
def test_every_letter_of_a_game_has_public_facts_only(world: ListWorld, ruleset: Ruleset) -> None:
    reader = Reader(world, ruleset)
    found: list[Letter] = []
    while not reader.table.course.finished:
        reader.table.go_on()
        found += reader.letters()
    titles = [" ".join(each.text.split()) for each in found]
    assert any(title.startswith("It is your turn against bob") for title in titles)
    assert any("only your own program can play your cards" in title for title in titles)
    assert "Only your program sees your cards" in " ".join(titles)
    for title in titles:
        assert "answer: moves" not in title


def test_a_player_whose_program_owes_a_card_is_told_so(world: ListWorld) -> None:
    reader = Reader(world, Hanamikoji())
    reader.until_alice_releases()
    (letter,) = reader.letters()
    said = " ".join(letter.text.split())
    assert said.startswith("Your program owes bob a card: Hanamikoji, ")
    assert "leave hkoji watch running" in said
    assert "It is your turn" not in said


def test_a_release_that_comes_at_once_makes_no_letter(world: ListWorld) -> None:
    reader = Reader(world, Hanamikoji())
    reader.until_alice_releases()
    reader.table.go_on()
    assert not [each for each in reader.letters() if "owes bob a card" in " ".join(each.text.split())]


def test_a_release_of_the_service_is_no_news(world: ListWorld) -> None:
    reader = Reader(world, Hanamikoji(), deposit=(True, True))
    while True:
        reader.letters()
        answer = reader.table.go_on()
        entries = [json.loads(line["entry"]) for line in answer.json["lines"]]
        if entries[-1]["kind"] == "release" and entries[0]["by"] == "bob" and reader.table.course.actor == 1:
            break
    assert reader.letters() == []


@pytest.mark.parametrize("line", ["1A", "resign", "call off", "give 1d"])
def test_a_mail_that_answers_a_sealed_game_is_told_why_nothing_is_played(world: ListWorld, line: str) -> None:
    reader = Reader(world, Hanamikoji())
    while not reader.must_decide:
        reader.table.go_on()
    letter = reader.letters()[-1]
    before = reader.table.lines
    answer, said = reader.ordered(letter, line)
    assert answer == "not done"
    assert ONLY_YOUR_PROGRAM in " ".join(said.lower().split())
    reader.table.read()
    assert reader.table.lines == before


@pytest.mark.parametrize("word", ["show", "moves", "log", "games", "help"])
def test_an_order_that_only_reads_is_answered(world: ListWorld, word: str) -> None:
    reader = Reader(world, Hanamikoji())
    while reader.table.course.state.round == 0 or reader.table.course.actor != 0:
        reader.table.go_on()
    answer, _ = reader.ordered(reader.letters()[-1], word)
    assert answer == word


def mail_player(world: ListWorld, host: Player) -> MailboxPlayer:
    """Dave, a registered player whose only key the service holds."""
    dave = world.player("dave@example.org")
    world.joined(host, dave)
    world.deliver(61)
    unread(dave)
    return dave


def test_nobody_who_plays_by_mail_gets_into_a_sealed_game(world: ListWorld) -> None:
    alice, bob = two_players(world.service)
    mail_player(world, alice)
    held = world.service.ask("GET", "/v1/players/dave").json["key"]
    table = ServedTable((alice, bob), Hanamikoji())
    commit, key, parts = table.entropy[0], alice.key.public, table.sealers[0].open(table.course)
    opened = Open(commit, key, Invite("dave", parse_public_key(held)), parts=parts)
    refused = table.players[0].send(alice.entry(table.game, (0, table.course.head), opened))
    assert refused.status == 422
    assert ONLY_YOUR_PROGRAM in refused.json["detail"]
    assert "the game was not opened" in refused.json["hint"]
    assert table.game not in world.games_of("alice")
