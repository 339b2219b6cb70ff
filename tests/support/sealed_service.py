"""A sealed game over HTTP: two players, each with their own secrets, who send what they owe to a service."""

from __future__ import annotations

import random

from hkoji.client.sealing import Sealer
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.course import Course, EntryBody
from hkoji.game.replay import replay
from hkoji.game.sealed_parts import GivePart
from hkoji.log.line import Line
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset
from tests.support.sealed_table import SealedTable
from tests.support.service import Answer, Player, offer_of


def ask_for(player: Player, ruleset: Ruleset, agreement: Agreement = UNTIMED, dealer: str = "sealed/v1") -> Answer:
    """Asks for a game of that dealer."""
    return player.service.ask("POST", "/v1/offers", {**offer_of(ruleset, agreement), "dealer": dealer}, player.token)


class ServedTable(SealedTable):
    """One game. `deposit` says which seats deposit draws."""

    def __init__(
        self,
        players: tuple[Player, Player],
        ruleset: Ruleset,
        seed: int = 0,
        *,
        agreement: Agreement = UNTIMED,
        deposit: tuple[bool, bool] = (True, True),
    ) -> None:
        self.random = random.Random(f"served table {seed}")
        self.players = players
        self.deposit = deposit
        answer = ask_for(players[0], ruleset, agreement)
        assert answer.status == 201, answer
        self.game = str(answer.json["game"])
        self.keys = tuple(player.key for player in players)
        self.entropy = tuple(self.random.randbytes(32).hex() for _ in players)
        self.sealed_keys = tuple(self.random.randbytes(32) for _ in players)
        self.sealers = tuple(
            Sealer(self.sealed_keys[seat], self.game, seat, self.entropy[seat], ruleset, self.random.randbytes)
            for seat in (0, 1)
        )
        self.read()

    def read(self) -> None:
        """Reads the log."""
        self.lines: list[Line] = list(self.players[0].lines(self.game))
        self.public = replay(self.lines)

    @property
    def course(self) -> Course:
        """The game as a spectator knows it."""
        assert self.public.course is not None
        return self.public.course

    def posted(self, seat: Seat, body: EntryBody, deposit: GivePart | None = None) -> Answer:
        """Sends an entry of a seat that follows the last, and reads the log."""
        player, course = self.players[seat], self.course
        submission = player.entry(self.game, (course.seq, course.head), body)._replace(deposit=deposit)
        answer = player.send(submission)
        self.read()
        return answer

    def go_on(self, entries: int = 1) -> Answer:
        """Sends so many entries that are due. Returns the last answer."""
        for _ in range(entries):
            answer = self.posted(*self.due())
            assert answer.status == 201, answer
        return answer

    def until_deposited(self) -> None:
        """Goes on until the service keeps a deposit."""
        while self.course.sealed is None or not self.course.sealed.deposits:
            self.go_on()

    def finish(self) -> None:
        """Goes on to the end."""
        while not self.course.finished:
            self.go_on()

    def secrets(self) -> set[bytes]:
        """The players' secrets of the rounds so far: sealed keys, numbers of locks, and numbers that hide cards."""
        found = set(self.sealed_keys)
        for step in self.public.steps:
            dealt = step.course.sealed and step.course.sealed.now
            if dealt and dealt.number:
                for sealer in self.sealers:
                    numbers = [sealer._number(dealt), *(number for _, number in sealer._hidden(dealt))]
                    found.update(number.to_bytes(32, "little") for number in numbers)
        return found
