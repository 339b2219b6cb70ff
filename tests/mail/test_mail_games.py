"""Whole games in which mailboxes are lists: the service writes letters, and the players answer them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.log.line import parse_log
from tests.support.mail.list_world import ListWorld, list_world, unread
from tests.support.mail.mail_hosts import mail_host
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import LetterReader
from tests.support.service import Player

MOST_ROUNDS = 400
"""How often everybody looks at their mail, at most; a game has at most some 80 moves."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ListWorld]:
    # A whole game is played in an hour, with more mistakes than a player may be told of in a day.
    with list_world(tmp_path / "data", mail="play@hkoji.example", per_day=1000) as world:
        yield world


def read_letters(player: MailboxPlayer, reader: LetterReader) -> None:
    """Answers all unread letters as the reader says."""
    for letter in unread(player):
        if lines := reader.answer_to(letter):
            player.answer(letter, *lines)


def move_by_client(player: Player, game: str) -> None:
    """Sends what the player owes, with their own key."""
    while len(player.lines(game)) > 3:
        course = player.course(game)
        seat = course.setup.seat_of(player.name)
        if course.actor != seat:
            return
        if course.seed_seat == seat:
            player.seed(game)
            continue
        legal = course.state.legal_actions()
        assert player.send(player.make_move(course, legal[(course.seq * 5) % len(legal)])).status == 201


def is_over(world: ListWorld, game: str) -> bool:
    return str(world.service.ask("GET", f"/v1/games/{game}").json["status"]) in ("finished", "cancelled")


@pytest.mark.parametrize(("game", "lang"), [("hanamikoji", "en"), ("geishas-road", "it")])
def test_two_players_with_mailboxes_only_play_a_game(world: ListWorld, game: str, lang: str) -> None:
    rng = random.Random(f"two {game} {lang}")
    bob, commands = mail_host(world, lang)
    carol = world.player("carol@example.com")
    bob.write(commands, "a game", f"{'new' if lang == 'en' else 'nuova'} {game} carol carol@example.com 3d/7d")
    world.deliver()
    (played,) = world.games_of("bob")
    readers = LetterReader(lang, rng), LetterReader(lang, rng)
    for _ in range(MOST_ROUNDS):
        world.deliver(61)
        read_letters(bob, readers[0])
        read_letters(carol, readers[1])
        if is_over(world, played):
            break
    raw = world.service.ask("GET", f"/v1/games/{played}/log").body
    assert audit(raw).ok
    assert world.service.ask("GET", f"/v1/games/{played}").json["status"] == "finished", [
        line.entry.kind for line in parse_log(raw)
    ]
    world.deliver(61)
    for player in (bob, carol):
        last = Letter(player.mailbox.received()[-1])
        assert list(last.attachments.values()) == [raw], last.text
