"""A sealed game at one table, in process: the referee, two players with their secrets, and the log.

Everything that a player makes goes through the product's own code. Random bytes come from a seed, so games repeat.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from hkoji import referee
from hkoji.client.sealing import Sealer, rounds_of, seat_knowledge
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.clock import add_seconds
from hkoji.game.commitments import entropy_commit
from hkoji.game.course import Course, EntryBody, Stage
from hkoji.game.entry_kinds import Join, Open, Resign, Seed
from hkoji.game.knowledge import SeatKnowledge
from hkoji.game.replay import Replay, replay
from hkoji.game.sealed_parts import GivePart
from hkoji.game.submission import Submission, draft_entry
from hkoji.log.line import Line, format_log
from hkoji.log.private_key import PrivateKey
from hkoji.referee import Accepted
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset

NAMES = ("alice", "bob")


class SealedTable:
    """One game. `at` is the time now; each entry takes `seconds` of it. `deposit` says which seats deposit draws."""

    def __init__(
        self,
        ruleset: Ruleset,
        seed: int = 0,
        *,
        agreement: Agreement = UNTIMED,
        seconds: int = 60,
        deposit: tuple[bool, bool] = (False, False),
    ) -> None:
        self.random = random.Random(f"sealed table {seed}")
        self.game = self.random.randbytes(16).hex()
        self.server = PrivateKey.from_seed(self.random.randbytes(32))
        self.keys = tuple(PrivateKey.from_seed(self.random.randbytes(32)) for _ in NAMES)
        self.entropy = tuple(self.random.randbytes(32).hex() for _ in NAMES)
        self.sealed_keys = tuple(self.random.randbytes(32) for _ in NAMES)
        self.sealers = tuple(
            Sealer(self.sealed_keys[seat], self.game, seat, self.entropy[seat], ruleset, self.random.randbytes)
            for seat in (0, 1)
        )
        self.deposit = deposit
        self.at = "2026-11-28T12:00:00Z"
        self.seconds = seconds
        offered = referee.offer(self.game, ruleset, None, signer=self.server, at=self.at, agreement=agreement)
        self.refereed = offered.refereed
        self.lines = list(offered.lines)
        self.public = replay(self.lines)

    @property
    def course(self) -> Course:
        """The game as the referee knows it, which is as a spectator does."""
        return self.refereed.course

    def log(self) -> str:
        """The text of the log, with receipts."""
        return format_log(self.lines)

    def submission(self, seat: Seat, body: EntryBody) -> Submission:
        """A signed entry of a seat that follows the last."""
        draft = draft_entry(self.course, body, by=NAMES[seat], at=self.at, seen=self.refereed.at)
        return draft.sign(self.keys[seat])

    def send(
        self, seat: Seat, body: EntryBody, *, seconds: int | None = None, deposit: GivePart | None = None
    ) -> Accepted:
        """Sends an entry of a seat; raises what the referee raises, and then nothing has changed."""
        at = add_seconds(self.at, self.seconds if seconds is None else seconds)
        submission = self.submission(seat, body)._replace(deposit=deposit)
        accepted = referee.accept(self.refereed, submission, signer=self.server, at=at)
        self.at, self.refereed = at, accepted.refereed
        self.lines.extend(accepted.lines)
        self.public = replay(accepted.lines, after=self.public)
        return accepted

    def owed(self) -> tuple[Seat, EntryBody]:
        """The entry that is due, made by the seat that owes it; decisions are drawn from those that are legal."""
        seat, body, _ = self.due()
        return seat, body

    def due(self) -> tuple[Seat, EntryBody, GivePart | None]:
        """The entry that is due, and what its seat deposits with it."""
        course = self.course
        match course.stage:
            case Stage.OPEN:
                commit = entropy_commit(self.game, 0, self.entropy[0])
                return 0, Open(commit, self.keys[0].public, parts=self.sealers[0].open(course)), None
            case Stage.JOIN:
                return 1, Join(entropy_commit(self.game, 1, self.entropy[1]), self.keys[1].public), None
        seat = course.actor
        assert seat is not None
        if course.stage in (Stage.GUEST_SEED, Stage.HOST_SEED):
            parts, share = self.sealers[seat].seed(course, deposit=self.deposit[seat])
            return seat, Seed(self.entropy[seat], None, parts), share
        if course.debtor is not None:
            return seat, *self.sealers[seat].release(course, deposit=self.deposit[seat])
        own = self.seen_by(seat).course
        assert own is not None
        action = self.random.choice(own.state.legal_actions())
        return seat, *self.sealers[seat].move(own, action, deposit=self.deposit[seat])

    def seen_by(self, seat: Seat) -> Replay:
        """The game as a seat knows it."""
        knowledge = own_cards(self.sealers[seat], seat, (step.course for step in self.public.steps))
        return replay(self.lines, knowledge)

    def step(self) -> Accepted:
        """Makes the entry that is due."""
        seat, body, share = self.due()
        return self.send(seat, body, deposit=share)

    def play(self, entries: int = 1000) -> None:
        """Plays on, for so many entries or to the end."""
        for _ in range(entries):
            if self.course.finished:
                return
            self.step()

    def resign(self, seat: Seat) -> None:
        """A seat resigns."""
        self.send(seat, Resign())


def own_cards(sealer: Sealer, seat: Seat, courses: Iterable[Course]) -> SeatKnowledge:
    """The own cards of all rounds, from the game after each entry as anybody knows it."""
    return seat_knowledge(seat, map(sealer.own, rounds_of(courses)))


def texts(lines: Sequence[Line]) -> list[str]:
    """The texts of entries."""
    return [line.entry.text for line in lines]
