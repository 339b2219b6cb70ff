"""One game with plans: two homes of bob, alice, and everything that can come between.

Each step is one command with a new client, as a new process. Commands are killed at random requests and writes, and
at other requests somebody else is faster. `Story` records what is signed, by whom and when, what is sent, and when
replies are due; the judgement reads that.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from hkoji.client import Client, Home, game, sending
from hkoji.client.identity import create
from hkoji.client.kept import evidence, files
from hkoji.client.kept import game as vault
from hkoji.client.kept.game import Vault
from hkoji.client.plans import USUAL_DELAY, Delay, DueReply, PlanFiles, PlanRunner
from hkoji.errors import HkojiError
from hkoji.game.clock import add_seconds
from hkoji.game.course import Stage
from hkoji.game.position import Position
from hkoji.game.submission import Submission
from hkoji.plans.grammar import format_plan, parse_plan
from hkoji.plans.standing import ArmedPlan, stand
from hkoji.rules.events import Deal, Event
from hkoji.rules.protocol import DECISION_KINDS, Due, Ruleset, State
from tests.support.memory_service import AT, URL, LocalPlayer, LocalTransport, MemoryService, begin
from tests.support.plans import blurred, naive_tokens
from tests.support.rules import choose, next_event

_AT_ONCE: Final = Delay(0, 0)
_BOB: Final = 1
"""Bob's seat."""
_ALICE: Final = -1
"""Stands for alice where a number stands for one of bob's homes."""
_MOST_STEPS: Final = 400


class KilledError(Exception):
    """The process ends here: no code of the client runs any more."""


@dataclass
class SeededPlayer(LocalPlayer):
    """A player whose randomness comes from a seed, so that a game can be played again."""

    entropy: Callable[[int], bytes] = token_bytes

    @property
    def client(self) -> Client:
        """A fresh client, as a new process would have it."""
        return Client(
            Home(self.path),
            entropy=self.entropy,
            connect=lambda url: LocalTransport(url, self.service),
            say=self.said.append,
        )


class MadePlan(NamedTuple):
    """A plan as it was armed at a home: its number, its lines, and the position in which it was made."""

    number: int
    home: int
    lines: tuple[str, ...]
    armed: ArmedPlan
    position: Position


class Signed(NamedTuple):
    """An own entry when it was kept to be sent. Two homes may sign the same entry in the same second.

    `by_plan` says that a run of plans signed it, and `plan` is the one that was armed then, if there was any.
    """

    submission: Submission
    home: int
    by_plan: bool
    plan: MadePlan | None
    now: str


class Story:
    """One game, from its beginning to its end or `_MOST_STEPS` steps."""

    def __init__(self, folder: Path, ruleset: Ruleset, seed: int) -> None:
        self.rng: Final = random.Random(seed)
        self.service: Final = MemoryService(seed)
        self.alice: Final = self._player("alice", folder / "alice", self.service.random.randbytes(32))
        key = self.service.random.randbytes(32)
        self.bobs: Final = [self._player("bob", folder / f"bob{number}", key) for number in range(2)]
        self.game: Final = begin(self.alice, self.bobs[0], ruleset)
        self.counts: Final[Counter[str]] = Counter()
        self.plans: Final[list[MadePlan]] = []
        self.signed: Final[dict[tuple[str, int], Signed]] = {}
        self.sent: Final[list[tuple[int, bytes, int]]] = []
        self.dues: Final[dict[tuple[int, str], list[str]]] = {}
        self.wrong: Final[list[str]] = []
        self.now = AT
        self._armed: list[MadePlan | None] = [None, None]
        self._who: list[tuple[int, bool]] = []

    def _player(self, name: str, path: Path, seed: bytes) -> LocalPlayer:
        player = SeededPlayer(self.service, name, path, entropy=self.rng.randbytes)
        create(Home(path), name, None, seed)
        player.client.register(URL)
        return player

    @property
    def over(self) -> bool:
        """Whether the game is over."""
        return self.service.games[self.game].refereed.course.finished

    def play(self) -> None:
        """Plays the game."""
        with self._recorded():
            for _ in range(_MOST_STEPS):
                if self.over:
                    break
                self._step()
            for home in range(2):
                with suppress(HkojiError):
                    self._run(home, _AT_ONCE)

    @contextmanager
    def _recorded(self) -> Iterator[None]:
        keep_outbox, answer, set_due = Vault.keep_outbox, self.service.answer, PlanFiles.set_due

        def keep(vault_: Vault, submission: Submission) -> None:
            home, by_plan = self._who[-1]
            if home != _ALICE:
                self._sign(home, submission, by_plan=by_plan)
            keep_outbox(vault_, submission)

        def answered(method: str, path: str, body: bytes | None, token: str | None) -> Any:  # Any: the answer
            entry = method == "POST" and path.endswith("/entries")
            try:
                found = answer(method, path, body, token)
            except KilledError:
                if entry and body is not None:
                    self.sent.append((self._who[-1][0], body, 0))
                raise
            if entry and body is not None:
                self.sent.append((self._who[-1][0], body, found.status))
            return found

        def due(files_: PlanFiles, reply: DueReply) -> None:
            set_due(files_, reply)
            self.dues.setdefault((self._who[-1][0], reply.head), []).append(reply.due)

        with (
            patch.object(Vault, "keep_outbox", keep),
            patch.object(self.service, "answer", answered),
            patch.object(PlanFiles, "set_due", due),
            patch.object(game, "utc_now", lambda: self.now),
            patch.object(sending, "utc_now", lambda: self.now),
        ):
            yield

    def _sign(self, home: int, submission: Submission, *, by_plan: bool) -> None:
        plan = self._armed[home] if PlanFiles(self.bobs[home].folder(self.game)).armed else None
        self.signed[submission.entry.head, home] = Signed(
            submission, home, by_plan, plan if by_plan else None, self.now
        )

    # --- what happens -----------------------------------------------------------------------------------------------

    def _step(self) -> None:
        """Does something at random."""
        home, rng = self.rng.randrange(2), self.rng
        self.now = add_seconds(self.now, 1)
        what = rng.choices(("run", "alice", "plan", "hand", "drop", "time"), (10, 6, 5, 1.5, 0.3, 1))[0]
        if what == "time":
            self.now = add_seconds(self.now, rng.choice((60, 1800, 12_000)))
        elif what == "alice":
            self._by_alice()
        elif what == "plan":
            self._make_plan(home)
        elif what == "drop":
            self._armed[home] = None
            PlanFiles(self.bobs[home].folder(self.game)).drop()
        else:
            delay = rng.choice((_AT_ONCE, _AT_ONCE, _AT_ONCE, USUAL_DELAY))
            act = (lambda: self._by_hand(home)) if what == "hand" else (lambda: self._run(home, delay))
            if self._disturbed(act) and rng.random() < 0.5:
                self.now = add_seconds(self.now, 1)
                with suppress(HkojiError):
                    self._run(home, _AT_ONCE)  # as what starts a client again would

    def _disturbed(self, act: Callable[[], None]) -> bool:
        """Does something that may be killed, or during which somebody else may be faster. Returns whether it was
        killed.
        """
        how = self.rng.choice(("", "", "kill", "kill", "faster", "faster"))
        self.counts[how or "undisturbed"] += 1
        try:
            if how == "kill":
                with self._killed(self.rng.randrange(1, 12)):
                    act()
            elif how == "faster":
                with self._faster(self.rng.randrange(1, 5)):
                    act()
            else:
                act()
        except KilledError:
            self.counts["killed"] += 1
            return True
        except HkojiError as error:
            self.counts[f"error {error.code}"] += 1
        return False

    @contextmanager
    def _killed(self, at: int) -> Iterator[None]:
        left = at

        def count(*_: object) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise KilledError

        write_file, append_lines = files.write_file, files.append_lines

        def write(path: Path, data: bytes, **options: bool) -> None:
            count()
            write_file(path, data, **options)

        def append(path: Path, lines: bytes, **options: bool) -> bool:
            try:
                count()
            except KilledError:
                before = path.read_bytes() if path.exists() else b""
                path.write_bytes(files.whole_lines(before) + lines[: len(lines) // 2])
                raise
            return append_lines(path, lines, **options)

        self.service.before = self.service.after = count
        try:
            with (
                patch.object(files, "write_file", write),
                patch.object(vault, "append_lines", append),
                patch.object(evidence, "append_lines", append),
            ):
                yield
        finally:
            self.service.before = self.service.after = lambda *_: None

    @contextmanager
    def _faster(self, at: int) -> Iterator[None]:
        """At a request, some moves are made by others: bob's other home by hand or by its plan, and alice."""
        left, mine = at, self._who

        def before(*_: str) -> None:
            nonlocal left
            left -= 1
            if left:
                return
            self.counts["faster"] += 1
            other = 1 - (mine[-1][0] if mine else 0)
            for _number in range(self.rng.randrange(1, 5)):
                with suppress(HkojiError):
                    self.rng.choice(
                        (
                            lambda: self._by_hand(other),
                            lambda: self._run(other, _AT_ONCE),
                            self._by_alice,
                        )
                    )()

        self.service.before = before
        try:
            yield
        finally:
            self.service.before = lambda *_: None

    # --- commands ---------------------------------------------------------------------------------------------------

    def _move(self, player: LocalPlayer) -> None:
        position = player.position(self.game)
        if position.legal:
            player.move(self.game, choose(position.legal, self.rng))

    @contextmanager
    def _acting(self, home: int, *, by_plan: bool = False) -> Iterator[None]:
        self._who.append((home, by_plan))
        try:
            yield
        finally:
            self._who.pop()

    def _by_alice(self) -> None:
        with self._acting(_ALICE):
            self._move(self.alice)

    def _by_hand(self, home: int) -> None:
        with self._acting(home):
            self._move(self.bobs[home])

    def _run(self, home: int, delay: Delay) -> None:
        client: Client = self.bobs[home].client
        runner = PlanRunner(client, only=self.rng.random() < 0.1, delay=delay, now=lambda: self.now, chance=self.rng)
        with self._acting(home, by_plan=True):
            for each in runner.run():
                self.counts["moves by plans"] += len(each.made)
                if each.ended:
                    self.counts[f"ended: {each.ended.split('entry')[0]}"] += 1
                    self._armed[home] = None
                if each.error is not None:
                    raise each.error

    def _make_plan(self, home: int) -> None:
        client = self.bobs[home].client
        with self._acting(home), client.game(self.game) as held:
            position = held.current()
            course = position.course
            if course.stage is not Stage.PLAY or position.seat is None:
                return
            text = "\n".join(self._line() for _ in range(self.rng.randrange(1, 5)))
            plan = parse_plan(text, course.setup.ruleset)
            armed = ArmedPlan(plan, course.seq, course.head, course.state.round)
            if stand(armed, position).ended is not None:
                return
            PlanFiles(held.vault.folder).write(armed)
        made = MadePlan(len(self.plans), home, tuple(format_plan(plan).splitlines()), armed, position)
        self.plans.append(made)
        self._armed[home] = made

    def _line(self) -> str:
        """A line that fits a game that goes on from here at random: what bob might see, blurred, and might do."""
        rng, state = self.rng, self.service.games[self.game].refereed.course.state
        ruleset, wanted, events = state.ruleset, rng.randrange(1, 4), list[Event]()
        moves: list[str] = []
        seen: tuple[str, ...] = ()
        while True:
            if state.due in DECISION_KINDS and state.actor == _BOB:
                seen = naive_tokens(events, _BOB)
                moves = rng.sample(state.legal_actions(), min(len(state.legal_actions()), rng.randrange(1, 12)))
                wanted -= 1
            if not wanted or state.due in (Due.OVER, Due.REVEAL, Due.DEAL):
                break
            state = _next(ruleset, events, state, rng)
        seen = tuple(ruleset.public(token) if token[0] in ruleset.action_names else token for token in seen)
        pattern = " ".join(blurred(token, rng) for token in seen) or rng.choice(("**", "*"))
        choices = "only" if not moves or rng.random() < 0.15 else " ".join(moves)
        return f"{pattern} : {choices}"


def _next(ruleset: Ruleset, events: list[Event], state: State, rng: random.Random) -> State:
    event = next_event(ruleset, events, state, rng)
    assert not isinstance(event, Deal)
    events.append(event)
    return state.apply(event)
