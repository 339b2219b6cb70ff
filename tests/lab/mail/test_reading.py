"""What players read in letters and answer is what the service reads in their mails: in every position of some games."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from hkoji.game.course import Stage
from hkoji.mail.letters import LetterHeaders, compose, write_letter
from hkoji.mail.letters.facts import Facts, MovesFacts, TurnFacts
from hkoji.mail.letters.game_facts import SeatFacts
from hkoji.mail.message import read_text
from hkoji.mail.order_types import OrderFault, OrderKind
from hkoji.mail.orders import read_orders
from hkoji.mail.paragraph import order_paragraph
from hkoji.manual.catalogues import load_speaker
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.boards import stages
from tests.support.letters import COMMANDS, letters_of_game, letters_of_no_game, seat_of
from tests.support.mail.mail_programs import MAIL_PROGRAMS
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import LetterReader, command_address, has_command_address, is_invitation, offered

HEADERS = LetterHeaders(
    to="bob@players.example",
    sender="play@hkoji.example",
    reply_to=COMMANDS,
    message_id=f"<turn.9.{COMMANDS[5:31]}@hkoji.example>",
    at="2026-11-22T10:00:00Z",
    event="turn",
    stop_url="https://hkoji.example/v1/mail/stop/x",
    stop_address=COMMANDS,
)


class Sent:
    """A mailbox that keeps what is sent."""

    address = "bob@players.example"

    def __init__(self) -> None:
        self.raw: list[bytes] = []

    def send(self, raw: bytes, to: object) -> None:
        self.raw.append(raw)

    def received(self) -> list[bytes]:
        return []


def composed(facts: Facts, lang: str) -> Letter:
    return Letter(compose(write_letter(facts, load_speaker(lang)), HEADERS))


def seats(ruleset: Ruleset, seed: int) -> Iterator[SeatFacts]:
    """The games of players who owe a move, after each entry of a game."""
    for table in stages(ruleset, seed, names=("alice", "bob")):
        actor = table.course.actor
        if table.course.stage is Stage.PLAY and actor is not None:
            facts = seat_of(table, actor)
            if facts.position.mine:
                yield facts


@pytest.mark.parametrize("lang", ["en", "it"])
@pytest.mark.parametrize("ruleset", [Hanamikoji(max_rounds=2), GeishasRoad()])
def test_every_line_that_a_letter_offers_is_read_as_a_legal_move(ruleset: Ruleset, lang: str) -> None:
    rng, seen = random.Random(8), 0
    for facts in seats(ruleset, 5):
        state = facts.position.course.state
        letter = composed(TurnFacts(facts), lang)
        lines = offered(letter)
        assert lines, letter.text
        for name, program in MAIL_PROGRAMS.items():
            line = rng.choice(lines)
            mailbox = Sent()
            MailboxPlayer(mailbox, program).answer(letter, line)
            orders = read_orders(order_paragraph(read_text(mailbox.raw[0]).lines), state)
            assert not isinstance(orders, OrderFault), (name, line, orders)
            (order,) = orders
            assert order.kind is OrderKind.MOVE
            assert order.action in facts.position.legal
            seen += 1
    assert seen > 60


@pytest.mark.parametrize("lang", ["en", "it"])
@pytest.mark.parametrize("ruleset", [Hanamikoji(max_rounds=2), GeishasRoad()])
def test_the_letter_with_all_moves_offers_each_of_them(ruleset: Ruleset, lang: str) -> None:
    for facts in seats(ruleset, 6):
        actions = []
        for line in offered(composed(MovesFacts(facts), lang)):
            orders = read_orders([line], facts.position.course.state)
            assert not isinstance(orders, OrderFault), (line, orders)
            actions += [order.action for order in orders]
        assert sorted(actions) == sorted(facts.position.legal)


@pytest.mark.parametrize("lang", ["en", "it"])
def test_letters_that_ask_for_no_move_are_not_answered(lang: str) -> None:
    quiet = {
        "over",
        "welcome",
        "welcome-without-game",
        "welcome-bare",
        "games",
        "help-without-game",
        "no-games",
        "declined",
    }
    asked = 0
    for table in stages(Hanamikoji(max_rounds=1), 3, names=("alice", "bob")):
        if table.course.stage is not Stage.OVER:
            continue
        facts = seat_of(table, 1)
        for name, each in (*letters_of_game(facts, b"{}\n"), *letters_of_no_game("bob", facts, lang)):
            letter = composed(each, lang)
            if name in quiet:
                reader = LetterReader(lang, random.Random(1))
                assert reader.answer_to(letter) == (), (name, letter.text)
            if name.startswith("invited") and name != "invited-own-key":  # who has one needs the command line
                assert is_invitation(letter, lang), letter.text
                asked += 1
            if name.startswith("welcome"):
                assert has_command_address(letter) is not name.endswith("bare")
                assert name.endswith("bare") or command_address(letter) == COMMANDS
    assert asked == 4
