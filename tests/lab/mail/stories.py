"""Random stories of games by mail, in memory: whoever owes a move has a letter by which it can be made.

The mail process is killed at random points. Letters come late, twice and in any order. The player with the mailbox
answers old and new letters, with moves, other commands and words that are none. Whenever all has come to rest, the
player owes no move, or can make one in answer to a letter. A mail program shows a letter once that comes twice.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from hkoji_server.service.notices.delivery import LEASE

from hkoji.game.course import Stage
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.mail.fragile_store import FragileStore, KilledError
from tests.support.mail.list_world import ListWorld, list_world
from tests.support.mail.post_office import Letter, letters
from tests.support.mail.reading import is_invitation, offered
from tests.support.mail.signing import SigningProvider
from tests.support.service import Player

STEPS: Final = 60
_BOB: Final = "bob@example.org"
_WORDS: Final = ("show", "moves", "zzz", "help", "rules", "log", "games", "call off", "cards on", "lang en", "resign")
_TURN: Final = 61
"""After so many seconds a letter about a turn is due."""
_POINTS: Final = 30
"""A process that is killed ends at one of so many points."""
_LAST: Final = 4


class StoriesResult(NamedTuple):
    """How they went."""

    counts: Counter[str]
    wrong: list[str]


class Story:
    """One game, in which bob has a mailbox and alice a client."""

    def __init__(self, world: ListWorld, seed: int, counts: Counter[str]) -> None:
        self._world = world
        self._rng = random.Random(seed)
        self._counts = counts
        self._fragile = FragileStore(world.store)
        self._shown: dict[str, Letter] = {}
        """The letters that the mail program shows, by id."""
        world.restart(self._fragile.store)
        world.after_letter = self._fragile.point
        if self._rng.random() < 0.5:
            world.mailbox(_BOB).signs = SigningProvider(world.dns.records)
        self._alice = Player(world.service, "alice").register()
        self._bob = world.player(_BOB)
        first = self._rng.choice(("host", "guest"))
        ruleset = self._rng.choice((Hanamikoji(first, 1), GeishasRoad(first, "random")))
        self._game = world.invite(self._alice, "bob", _BOB, ruleset=ruleset)
        world.deliver()
        world.processes = False

    def go(self) -> str | None:
        """Plays, and returns what is wrong at the end; None if nothing is."""
        steps: tuple[Callable[[], None], ...] = (
            self._write,
            self._write,
            self._move,
            lambda: self._may_die(self._deliver),
            lambda: self._may_die(self._deliver),
            lambda: self._world.clock.pass_by(self._rng.choice((5, _TURN, LEASE + 1))),
            lambda: self._may_die(self._world.process),
        )
        for number in range(STEPS):
            self._read()
            self._rng.choice(steps)()
            if number % 10 == 9 and not self._can_go_on():
                last = [f"{letter.id}: {letter.text[:120]}" for letter in [*self._shown.values()][-_LAST:]]
                return f"bob owes an entry after {self._seq()}, and no letter takes it; the last ones: {last}"
            if self._alice.course(self._game).finished:
                break
        return None

    # --- steps ----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        for letter in letters(self._bob.mailbox):
            self._shown.setdefault(letter.id, letter)

    def _write(self) -> None:
        """Bob answers one of the last letters with something."""
        shown = [*self._shown.values()]
        letter = self._rng.choice(shown[-self._rng.choice((1, 1, 2, 5)) :])
        moves = offered(letter)
        if is_invitation(letter, "en"):
            line = "accept"
        elif moves and self._rng.random() < 0.6:
            line = self._rng.choice(moves)
        else:
            line = self._rng.choice(_WORDS)
        self._counts["mails"] += 1
        self._bob.answer(letter, line)

    def _move(self) -> None:
        """Alice does what she can do now."""
        self._alice.login()
        course = self._alice.course(self._game)
        if course.actor != 0:
            return
        if course.stage is Stage.HOST_SEED:
            self._alice.seed(self._game)
        elif course.stage is Stage.PLAY:
            self._alice.send(self._alice.make_move(course, self._rng.choice(course.state.legal_actions())))

    def _deliver(self) -> None:
        self._world.deliver(self._rng.choice((0, 1, _TURN)))

    def _may_die(self, work: Callable[[], object]) -> None:
        """Does something, in which the mail process may be killed. Then another one is started."""
        self._fragile.arm(self._rng.randrange(_POINTS) if self._rng.random() < 0.4 else None)
        try:
            work()
        except KilledError:
            self._counts["kills"] += 1
            self._world.restart(self._fragile.store)
        self._fragile.arm(None)

    # --- what must be true ----------------------------------------------------------------------------------------

    def _rest(self) -> None:
        """Lets all come to rest: no mail and no letter waits any more."""
        for _ in range(3):
            self._world.process()
            self._world.deliver(LEASE + _TURN)
        self._read()

    def _seq(self) -> int:
        return self._alice.course(self._game).seq

    def _can_go_on(self) -> bool:
        """Whether bob owes no move now, or can make one: a letter that asks an order back is answered once more."""
        self._rest()
        course = self._alice.course(self._game)
        if course.stage is not Stage.PLAY or course.actor != 1:
            return True
        self._counts["turns"] += 1
        seq = self._seq()
        for _ in range(2):
            for letter in [each for each in self._shown.values() if offered(each)][: -_LAST - 1 : -1]:
                self._bob.answer(letter, offered(letter)[0])
                self._rest()
                if self._seq() > seq:
                    return True
        return False


def run_stories(number: int, seed: int = 1) -> StoriesResult:
    """Tells so many stories."""
    counts, wrong = Counter[str](), list[str]()
    for each in range(seed, seed + number):
        with (
            tempfile.TemporaryDirectory(prefix="hkoji-stories-") as folder,
            list_world(Path(folder, "data"), mail="play@hkoji.example", per_day=10**6, per_hour=10**6) as world,
        ):
            fault = Story(world, each, counts).go()
            counts["stories"] += 1
            if fault is not None:
                wrong.append(f"story {each}: {fault}")
    return StoriesResult(counts, wrong)
