"""A game in memory between a player with a client and one with a mailbox, who owes a move."""

from __future__ import annotations

import json
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

from tests.support.mail.list_world import ListWorld, unread
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import offered
from tests.support.service import Player


def mail(sender: str, to: str, *lines: str, fields: tuple[str, ...] = (), number: int = 1) -> bytes:
    """A mail with these fields and lines."""
    head = [f"From: {sender}", f"To: {to}", "Subject: Re: a game", f"Message-ID: <{number}@mail.example>", *fields]
    return "\r\n".join([*head, "", *lines, ""]).encode()


class MailTable:
    """A game of alice, who has a client, and bob, who has a mailbox, in which bob owes a move."""

    def __init__(self, world: ListWorld) -> None:
        self.world = world
        self.alice = Player(world.service, "alice").register()
        self.bob = world.player("bob@example.org")
        self.game = world.joined(self.alice, self.bob)
        self.move()
        world.deliver(61)
        self.letter = self.bob.next_letter(0, lambda letter: letter.id.startswith("<turn."))

    def in_world(self, world: ListWorld) -> MailTable:
        """The same in another world, which has a copy of the data."""
        other = copy(self)
        for address, listed in self.world.lists.items():
            world.mailbox(address).letters.extend(listed.letters)
        world.taken.extend(self.world.taken)
        other.world = world
        other.alice = replace(self.alice, service=world.service, openings=deepcopy(self.alice.openings))
        other.bob = replace(self.bob, mailbox=world.mailbox(self.bob.mailbox.address), sent=[*self.bob.sent])
        return other

    def move(self) -> None:
        """Alice plays until it is bob's turn, and it is one with several moves."""
        while (course := self.alice.course(self.game)).actor == 0:
            assert self.alice.send(self.alice.make_move(course, course.state.legal_actions()[0])).status == 201

    def finish_turn(self) -> None:
        """Bob moves until it is alice's turn, and has read all his letters; `letter` is the last one."""
        while self.alice.course(self.game).actor == 1:
            self.bob.answer(self.letter, self.line)
            self.world.deliver(61)
            self.letter = unread(self.bob)[-1]

    @property
    def line(self) -> str:
        """A move that the letter offers."""
        return offered(self.letter)[0]

    @property
    def to(self) -> str:
        return self.letter.answered_to

    def head(self) -> tuple[int, str]:
        return self.alice.head(self.game)

    def result(self) -> dict[str, Any]:  # Any: JSON
        """The result for the last mail."""
        found: dict[str, Any] = json.loads(self.world.incoming().result)
        return found

    def send(self, *lines: str, sender: str = "bob@example.org", to: str = "", **given: Any) -> str:  # Any: as `mail`
        """Sends a mail, and returns what it is answered with."""
        number = len(self.world.taken) + 100
        to = to or self.to
        self.world.take(mail(sender, to, *lines, **{"number": number, **given}), to)
        return str(self.result()["answer"])

    def answers(self) -> list[Letter]:
        """The letters that come now."""
        self.world.deliver(1)
        return unread(self.bob)
