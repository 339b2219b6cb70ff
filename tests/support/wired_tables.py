"""Tables of games over HTTP, for services that go away and come back: each request is sent until it is answered.

One program plays both seats and reads the service's secrets, so it can always make a legal move.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from hkoji import referee
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.course import Stage
from hkoji.game.submission import Submission, format_submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_gift
from hkoji.log.line import Line, make_entry, read_line, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due
from tests.support.load import Pipe, Reply, connect, got, posted
from tests.support.timed_logs import Given

_PAUSE: Final = 0.08
_ANSWERED: Final = 8.0
_CREATED: Final = (200, 201)


class SilentServiceError(Exception):
    """Nothing has answered for long."""


class Wires:
    """Requests to the ports that `ports` returns, over connections that are made again when they break."""

    def __init__(self, ports: Callable[[], tuple[int, ...]], patience: float = 60, answered: float = _ANSWERED) -> None:
        self._ports = ports
        self._patience = patience
        self._answered = answered
        self._pipes: dict[int, Pipe] = {}
        self.counts: Counter[str] = Counter()

    async def ask(self, request: bytes, number: int = 0) -> Reply:
        """Sends the same bytes until an answer says something, to the port `number` first and then to the others."""
        end = time.monotonic() + self._patience
        while time.monotonic() < end:
            reply = await self.once(request, number)
            if reply is not None and reply.status < 500:
                return reply
            number += 1
            await asyncio.sleep(_PAUSE)
        raise SilentServiceError(request[:80])

    async def once(self, request: bytes, number: int = 0) -> Reply | None:
        """One try. Returns None if the connection breaks, or if no answer comes in time."""
        ports = self._ports()
        port = ports[number % len(ports)] if ports else 0
        try:
            pipe = self._pipes.get(port)
            if pipe is None:
                pipe = self._pipes[port] = await connect(port)
            reply = await asyncio.wait_for(pipe.ask(request), self._answered)
        except (OSError, TimeoutError):
            broken = self._pipes.pop(port, None)
            if broken is not None:
                broken.close()
            self.counts["answers that did not come"] += 1
            return None
        if reply.status >= 500:
            self.counts[f"answers {reply.status}"] += 1
        return reply

    def close(self) -> None:
        for pipe in self._pipes.values():
            pipe.close()
        self._pipes.clear()


class Seated(NamedTuple):
    """A registered player, logged in with `token`."""

    name: str
    key: PrivateKey
    entropy: str
    token: str


class Sent(NamedTuple):
    """A player's entry that was sent for a place, and whether it was taken; None if no answer came."""

    seq: int
    head: str
    taken: bool | None


@dataclass
class WiredTable:
    """A host, a guest, and one game of theirs. `told` are all lines that the service has shown, by number."""

    wires: Wires
    players: tuple[Seated, Seated]
    seed_of: Callable[[str], str]
    rng: random.Random
    told: dict[int, str] = field(default_factory=dict)
    gifts: list[Given] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refereed: referee.RefereedGame = field(init=False)
    openings: tuple[Opening, ...] = ()

    @property
    def game(self) -> str:
        return self.refereed.course.setup.game

    @property
    def finished(self) -> bool:
        return self.refereed.course.finished

    @property
    def due(self) -> str | None:
        """The deadline, as far as the players know it."""
        gifts = [entry_kinds.GivenTime(each.head, each.seconds, b"") for each in self.gifts if each.taken]
        return referee.deadline(self.refereed, gifts=gifts)

    async def offer(self, agreement: Agreement) -> bool:
        """Asks for a game. Returns False if the service refuses the agreement, as when it would have expired."""
        body = json.dumps({"agreement": agreement.to_json(), "ruleset": Hanamikoji().to_json()}).encode()
        reply = await self.wires.ask(posted("/v1/offers", body, self.players[0].token))
        assert reply.status in (201, 422), reply
        if reply.status == 422:
            return False
        line = read_line(json.loads(reply.body)["line"])
        self.refereed = referee.resume((line,), self.seed_of(line.entry.game), ())
        self._note((line,))
        return True

    def next_entry(self) -> Submission:
        """The entry that is due, by the player who owes it: a random legal move."""
        course = self.refereed.course
        game, (host, guest) = self.game, self.players
        if course.stage is Stage.OPEN:
            return self._sign(host, entry_kinds.Open(entropy_commit(game, 0, host.entropy), host.key.public, None))
        if course.stage is Stage.JOIN:
            return self._sign(guest, entry_kinds.Join(entropy_commit(game, 1, guest.entropy), guest.key.public))
        assert course.actor is not None
        party = self.players[course.actor]
        if course.stage is not Stage.PLAY:
            return self._sign(party, entry_kinds.Seed(party.entropy))
        action = self.rng.choice(course.state.legal_actions())
        ruleset = course.setup.ruleset
        groups = ruleset.hidden(action) if course.state.due is Due.ACT else ()
        openings = tuple(
            Opening(course.seq + 1, part, group.cards, self.rng.randbytes(32).hex())
            for part, group in enumerate(groups)
        )
        shown = ruleset.public(action) if groups else action
        content = entry_kinds.Move(shown, tuple(each.commitment(game) for each in openings))
        signed = self._sign(party, content)
        return Submission(signed.entry, signed.sig, openings)

    def _sign(self, party: Seated, content: entry_kinds.EntryBody) -> Submission:
        course = self.refereed.course
        entry = make_entry(
            at="2026-11-20T12:00:00Z",
            body=content.to_json(),
            by=party.name,
            game=self.game,
            kind=content.KIND,
            prev=course.head,
            seen=self.refereed.at,
            seq=course.seq + 1,
        )
        return Submission(entry, sign_entry(entry, party.key))

    async def send(self, submission: Submission) -> bool:
        """Sends an entry until it is answered. Returns whether it was taken; then the table has it."""
        entry = submission.entry
        request = posted(f"/v1/games/{entry.game}/entries", format_submission(submission).encode())
        try:
            reply = await self.wires.ask(request, self.rng.randrange(2))
        except SilentServiceError:
            self.sent.append(Sent(entry.seq, entry.head, None))
            raise
        taken = reply.status in _CREATED
        if not taken and reply.status != 409:
            self.wrong.append(f"an entry was answered {reply.status}: {reply.body[:200]!r}")
        self.sent.append(Sent(entry.seq, entry.head, taken))
        if taken:
            self.openings += submission.opening
            self._follow(tuple(read_line(each) for each in json.loads(reply.body)["lines"]))
        return taken

    async def go_on(self) -> bool:
        """Makes and sends the entry that is due."""
        return await self.send(self.next_entry())

    async def give(self, seconds: int) -> bool:
        """The player who waits gives time to the other one. Returns whether the service has acknowledged it."""
        course = self.refereed.course
        assert course.actor is not None
        giver = self.players[1 - course.actor]
        gift = make_gift(game=self.game, head=course.head, name=giver.name, seconds=seconds)
        sig = encode_base64(giver.key.sign(sshsig.GIVE, gift.message))
        body = {"head": course.head, "kind": "give", "name": giver.name, "seconds": seconds, "sig": sig}
        reply = await self.wires.ask(
            posted(f"/v1/games/{self.game}/statements", json.dumps(body).encode()), self.rng.randrange(2)
        )
        taken = reply.status in _CREATED
        if not taken and reply.status != 409:
            self.wrong.append(f"a gift was answered {reply.status}: {reply.body[:200]!r}")
        self.gifts.append(Given(course.head, seconds, taken))
        return taken

    async def read(self) -> None:
        """Reads what is new in the log, and goes on from there."""
        reply = await self.wires.ask(got(f"/v1/games/{self.game}/log?after={self.refereed.course.seq}"))
        assert reply.status == 200, reply
        self._follow(tuple(read_line(each) for each in map(json.loads, reply.body.splitlines())))

    def _follow(self, lines: tuple[Line, ...]) -> None:
        self._note(lines)
        new = tuple(line for line in lines if line.entry.seq > self.refereed.course.seq)
        self.refereed = referee.catch_up(self.refereed, new, self.openings)

    def _note(self, lines: tuple[Line, ...]) -> None:
        for line in lines:
            assert line.receipt is not None
            shown = f"{line.entry.head} {line.receipt.receipt.text}"
            if self.told.setdefault(line.entry.seq, shown) != shown:
                self.wrong.append(f"entry {line.entry.seq} was shown in two ways")


def told_faults(table: WiredTable, standing: list[Any]) -> list[str]:  # Any: the entries of the log that is stored
    """Answers of the service to the players of a table, and those that do not stand in its log."""
    wrong = list(table.wrong)
    heads = {entry.seq: entry.head for entry in standing}
    kept = {entry.seq: f"{entry.head} {json.loads(entry.line)['receipt']['text']}" for entry in standing}
    wrong += [
        f"entry {seq} is not the one that was shown" for seq, shown in table.told.items() if kept.get(seq) != shown
    ]
    for each in table.sent:
        if each.taken is not None and each.taken != (heads.get(each.seq) == each.head):
            wrong.append(f"entry {each.seq} was {'taken' if each.taken else 'refused'}, and the log says otherwise")
    return wrong
