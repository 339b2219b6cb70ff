"""Racing clients: for each place of a game several signed entries, sent at once to several processes of a service.

The answers are judged when the volley is over: one entry is accepted, the same text again gets the first receipt, every
other gets the current head. They are kept for the judgement of the final log (`judgement.py`).
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from hkoji import referee
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, UNTIMED, Agreement, TimeControl
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.course import Stage
from hkoji.game.submission import Submission, format_submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import make_gift
from hkoji.log.line import Line, make_entry, read_line, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from tests.support.load import Pipe, Reply, posted
from tests.support.service import offer_of

_TIMES: Final = ("2026-11-20T12:00:00Z", "2026-11-20T12:00:01Z")
_TIMED: Final = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY), rated=True)
_TIMED_GAMES: Final = 0.6
_GIVING: Final = 0.4
_KEPT: Final = 40
_PATIENCE: Final = 50


class Party(NamedTuple):
    """A registered player; `token` is a login that hosts have."""

    name: str
    key: PrivateKey
    entropy: str
    token: str = ""


class Shot(NamedTuple):
    """A submission as it is sent. `kind` is its sort, for counting."""

    kind: str
    text: str
    request: bytes


@dataclass
class Told:
    """The answers about a game: digests of acknowledged lines, heads named by refusals, the number of first
    acceptances."""

    lines: dict[int, bytes] = field(default_factory=dict)
    heads: set[tuple[int, str]] = field(default_factory=set)
    accepted: int = 0


def digest(text: str, sig: bytes, receipt: str, receipt_sig: bytes) -> bytes:
    """A digest of a line's bytes."""
    return blake2b(b"\0".join((text.encode(), sig, receipt.encode(), receipt_sig)), digest_size=16).digest()


@dataclass
class Racer:
    """A host and guests who play one game after another, with `pipes` connections to each process.

    All randomness comes from `rng`.
    """

    parties: Sequence[Party]
    pipes: Sequence[Sequence[Pipe]]
    seed_of: Callable[[str], str]
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    told: dict[str, Told] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    async def play(self, enough: Callable[[], bool]) -> None:
        """Plays until the limit is reached or something is wrong."""
        try:
            while not enough() and not self.wrong:
                await self._play_one(enough)
        except ConnectionError as error:
            self.wrong.append(str(error))

    async def _play_one(self, enough: Callable[[], bool]) -> None:
        await self._offer()
        while not self.refereed.course.finished and not enough() and not self.wrong:
            await self._volley(self._candidates())
        if not self.wrong:
            await self._volley([])  # to a finished or waiting game: nothing may be accepted

    async def _offer(self) -> None:
        ruleset: Ruleset = GeishasRoad() if self.rng.random() < 0.3 else Hanamikoji()
        host_ = self.parties[0]
        agreement = _TIMED if self.rng.random() < _TIMED_GAMES else UNTIMED
        body = json.dumps(offer_of(ruleset, agreement)).encode()
        reply = await self._pipe(self.rng.randrange(len(self.pipes))).ask(posted("/v1/offers", body, host_.token))
        assert reply.status == 201, reply
        line = read_line(json.loads(reply.body)["line"])
        game = line.entry.game
        self.refereed = referee.resume((line,), self.seed_of(game), ())
        self.now = self.told.setdefault(game, Told())
        self._acknowledged((line,))
        self.lost: list[Shot] = []  # signed and refused entries, to be sent again and again
        self.won: list[tuple[Shot, bytes]] = []
        self.guest: Party | None = None

    # --- what is sent ---------------------------------------------------------------------------------------------

    def _sign(self, party: Party, content: entry_kinds.EntryBody, **changes: Any) -> Submission:  # Any: fields by name
        course = self.refereed.course
        fields: dict[str, Any] = {
            "at": self.rng.choice(_TIMES),
            "body": content.to_json(),
            "by": party.name,
            "game": course.setup.game,
            "kind": content.KIND,
            "prev": course.head,
            "seen": self.refereed.at,
            "seq": course.seq + 1,
        }
        entry = make_entry(**{**fields, **changes})
        return Submission(entry, sign_entry(entry, party.key))

    def _shot(self, kind: str, submission: Submission) -> Shot:
        path = f"/v1/games/{submission.entry.game}/entries"
        return Shot(kind, submission.entry.text, posted(path, format_submission(submission).encode()))

    def _candidates(self) -> list[tuple[Shot, Submission]]:
        """Two or more entries for the next place, each of which would be accepted if it came first."""
        course = self.refereed.course
        game, first = course.setup.game, self.parties[0]
        made: list[tuple[str, Submission]] = []
        if course.stage is Stage.OPEN:
            for at in _TIMES:
                opened = entry_kinds.Open(entropy_commit(game, 0, first.entropy), first.key.public, None)
                made.append(("open against open", self._sign(first, opened, at=at)))
        elif course.stage is Stage.JOIN:
            for guest in self.parties[1:]:
                joined = entry_kinds.Join(entropy_commit(game, 1, guest.entropy), guest.key.public)
                made.append(("join against join", self._sign(guest, joined)))
            if self.rng.random() < 0.1:
                made.append(("cancel against join", self._sign(first, entry_kinds.Cancel())))
        else:
            made += self._moves()
            if self.rng.random() < 0.03:
                made.append(
                    ("resign against move", self._sign(self._seat(self.rng.randrange(2)), entry_kinds.Resign()))
                )
        return [(self._shot(kind, each), each) for kind, each in made]

    def _moves(self) -> list[tuple[str, Submission]]:
        course = self.refereed.course
        seat = course.actor
        assert seat is not None
        party = self._seat(seat)
        if course.stage is not Stage.PLAY:
            return [("two devices", self._sign(party, entry_kinds.Seed(party.entropy), at=at)) for at in _TIMES]
        legal = course.state.legal_actions()
        chosen = self.rng.sample(legal, min(2, len(legal)))
        if self.rng.random() < 0.3:
            chosen.append(chosen[0])  # the same move, signed at another time and with other salts
        return [
            ("different moves", self._move(party, action, f"2026-11-20T12:00:0{number + 2}Z"))
            for number, action in enumerate(chosen)
        ]

    def _move(self, party: Party, action: str, at: str) -> Submission:
        course = self.refereed.course
        game, seq, ruleset = course.setup.game, course.seq + 1, course.setup.ruleset
        groups = ruleset.hidden(action) if course.state.due is Due.ACT else ()
        openings = tuple(
            Opening(seq, part, group.cards, self.rng.randbytes(32).hex()) for part, group in enumerate(groups)
        )
        shown = ruleset.public(action) if groups else action
        content = entry_kinds.Move(shown, tuple(each.commitment(game) for each in openings))
        signed = self._sign(party, content, at=at)
        return Submission(signed.entry, signed.sig, openings)

    def _seat(self, seat: int) -> Party:
        assert self.guest is not None
        return (self.parties[0], self.guest)[seat]

    def _others(self) -> list[Shot]:
        """Entries that cannot be accepted now, or have been accepted already."""
        course, rng = self.refereed.course, self.rng
        shots = [Shot("stale", *each[1:]) for each in rng.sample(self.lost, min(3, len(self.lost)))]
        if course.stage is Stage.PLAY and course.actor is not None and rng.random() < 0.3:
            wrong = self._move(self._seat(1 - course.actor), rng.choice(course.state.legal_actions()), _TIMES[0])
            shots.append(self._shot("wrong seat", wrong))
        if course.setup.names[0] and rng.random() < 0.1:
            ahead = self._sign(self.parties[0], entry_kinds.Resign(), seq=course.seq + 2)
            shots.append(self._shot("ahead of the head", ahead))
        return shots

    # --- a volley -------------------------------------------------------------------------------------------------

    async def _volley(self, candidates: list[tuple[Shot, Submission]]) -> None:
        rng = self.rng
        shots = [shot for shot, _ in candidates for _ in range(1 + (rng.random() < 0.5))]
        if shots:
            shots.append(rng.choice(shots))
        shots += self._others()
        again = rng.sample(self.won, min(1, len(self.won)))
        shots += [Shot("accepted before", *shot[1:]) for shot, _ in again]
        rng.shuffle(shots)
        start = rng.randrange(len(self.pipes))
        gifts = self._gifts() if candidates else []
        requests = [*(shot.request for shot in shots), *(request for _, request in gifts)]
        order = list(range(len(requests)))
        if rng.random() < 0.7:  # a gift takes longer than an entry: sent last, it would always come too late
            order.reverse()
        asked = {number: self._pipe(start + number).ask(requests[number]) for number in order}
        replies = await asyncio.gather(*(asked[number] for number in range(len(requests))))
        self._given = {}
        for (seconds, _), reply in zip(gifts, replies[len(shots) :], strict=True):
            self.counts[f"gift against move: {reply.status}"] += 1
            self._given[seconds] = reply.status
        answers = list(zip(shots, replies[: len(shots)], strict=True))
        self.counts["submissions"] += len(shots)
        for _ in range(_PATIENCE):
            if not (later := [shot for shot, reply in answers if reply.status >= 500]):
                break
            answers = [each for each in answers if each[1].status < 500]
            for number, shot in enumerate(later):
                answers.append((shot, await self._pipe(start + number).ask(shot.request)))
                self.counts["asked again after a 503"] += 1
        self._judge(candidates, answers)

    def _gifts(self) -> list[tuple[int, bytes]]:
        """Requests with gifts of the opponent of who must act, about the head that the volley is about to move.

        With each of them its seconds. Two of one player: the larger one counts, in whatever order they come.
        """
        course, rng = self.refereed.course, self.rng
        if course.clock is None or course.actor is None or rng.random() > _GIVING:
            return []
        giver, game = self._seat(1 - course.actor), course.setup.game
        made = []
        for seconds in rng.sample(range(1, DAY), rng.choice((1, 2))):
            gift = make_gift(game=game, head=course.head, name=giver.name, seconds=seconds)
            sig = encode_base64(giver.key.sign(sshsig.GIVE, gift.message))
            body = {"head": course.head, "kind": "give", "name": giver.name, "seconds": seconds, "sig": sig}
            made.append((seconds, posted(f"/v1/games/{game}/statements", json.dumps(body).encode())))
        return made

    def _judge_gifts(self, head: str, lines: tuple[Line, ...]) -> None:
        """The gifts that were taken before the entry that won are credited to it: the largest, and no other."""
        taken = [seconds for seconds, status in self._given.items() if status in (200, 201)]
        largest = max(taken, default=None) if lines[0].entry.kind in ("seed", "move") else None
        bodies = [entry_kinds.parse_body(line.entry.kind, line.entry.body) for line in lines]
        found = [
            (body.gift.head, body.gift.seconds) if body.gift else None
            for body in bodies
            if isinstance(body, entry_kinds.Credit)
        ]
        unsure = any(status >= 500 for status in self._given.values())
        if not unsure and found != ([(head, largest)] if largest is not None else []):
            self._complain(f"{self._given} were given, and {found} are credited after entry {lines[0].entry.seq}")
        if any(status not in (200, 201, 409, 503) for status in self._given.values()):
            self._complain(f"gifts were answered {self._given}")

    def _pipe(self, number: int) -> Pipe:
        return self.rng.choice(self.pipes[number % len(self.pipes)])

    def _judge(self, candidates: list[tuple[Shot, Submission]], answers: list[tuple[Shot, Reply]]) -> None:
        course = self.refereed.course
        before = (course.seq, course.head)
        texts = {shot.text: (shot, submission) for shot, submission in candidates}
        first = [(shot, reply.body) for shot, reply in answers if reply.status == 201]
        if len(first) != bool(candidates) or any(shot.text not in texts for shot, _ in first):
            self._complain(f"{len(first)} accepted for place {course.seq + 1}: {[shot.kind for shot, _ in first]}")
            return
        answered = {shot.text: body for shot, body in self.won}
        if first:
            shot, body = first[0]
            answered[shot.text] = body
            self._advance(texts[shot.text][1], body)
            self.won = [*self.won[-_KEPT:], (shot, body)]
            self.lost = [*self.lost[-_KEPT:], *(each for text, (each, _) in texts.items() if text != shot.text)]
        after = (self.refereed.course.seq, self.refereed.course.head)
        for shot, reply in answers:
            self.counts[f"{shot.kind}: {reply.status}"] += 1
            if reply.status == 201:
                continue
            if shot.text in answered:
                if (reply.status, reply.body) != (200, answered[shot.text]):
                    self._complain(f"{shot.kind}: the same text again got {reply.status} {reply.body[:200]!r}")
                continue
            told = json.loads(reply.body)
            head = (told.get("seq"), told.get("head"))
            allowed = (after,) if shot.text in texts else (before, after)
            if reply.status != 409 or head not in allowed:
                self._complain(f"{shot.kind}: told {reply.status} {head} where {allowed} stand: {reply.body[:200]!r}")
            self.now.heads.add(head)

    def _advance(self, submission: Submission, body: bytes) -> None:
        lines = tuple(read_line(each) for each in json.loads(body)["lines"])
        openings = self.refereed.openings + submission.opening
        self._acknowledged(lines)
        self._judge_gifts(self.refereed.course.head, lines)
        self.now.accepted += 1
        self.refereed = referee.catch_up(self.refereed, lines, openings)
        for line in lines:
            self.counts[f"kind {line.entry.kind}"] += 1
        if submission.entry.kind == "join":
            self.guest = next(each for each in self.parties if each.name == submission.entry.by)

    def _acknowledged(self, lines: tuple[Line, ...]) -> None:
        for line in lines:
            assert line.receipt is not None
            given = digest(line.entry.text, line.sig, line.receipt.receipt.text, line.receipt.sig)
            if self.now.lines.setdefault(line.entry.seq, given) != given:
                self._complain(f"entry {line.entry.seq} was acknowledged twice")

    def _complain(self, what: str) -> None:
        self.wrong.append(f"{self.refereed.course.setup.game}: {what}")
