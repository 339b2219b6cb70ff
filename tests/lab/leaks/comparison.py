"""Compares, for every viewer of many stories, the answers of two worlds, and checks that no world logs a secret.

A state is one moment of a game, one viewer (host, guest, or outsiders: a stranger with a login, a spectator without)
and one other deal that this viewer cannot distinguish from the true one. In each state the viewer asks for the view,
for the game or its log, and for two of the many other things of `SOMETIMES`, in the true world and in the other. Every
answer must be the same: status, headers, length, body (with the names of `worlds` in place of hashes), and what was
written to the service's log. So must the answer to every move of the viewer. Time is not compared.

After each step the rows that the service keeps beside the log must be the same too, and the posts to webhooks and
browsers, whoever owns the channel.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple
from unittest.mock import patch

import structlog
from hkoji_server.log import configure_logging

from hkoji.errors import UnknownHandError
from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Seat
from tests.lab.leaks import looking, refused
from tests.lab.leaks.asides import begin, take_step
from tests.lab.leaks.chosen_deals import Dealt, chosen_deals
from tests.lab.leaks.looking import Eye, Probe
from tests.lab.leaks.receiver import TABLES
from tests.lab.leaks.refused import too_late
from tests.lab.leaks.stories import OPENING, SEATS_OF, VIEWERS, Story, actor_of, decisions, finished_story, sample_story
from tests.lab.leaks.telling import Person, Telling, arrive, chosen
from tests.lab.leaks.worlds import TRUTH, Answer, Journal, Request, World, difference

ALWAYS: Final[tuple[Probe, ...]] = (looking.own_view, looking.game_or_log)
SOMETIMES: Final[tuple[Probe, ...]] = (
    looking.log_unchanged,
    looking.events,
    looking.view_of_nobody,
    looking.games,
    looking.own_games,
    looking.open_games,
    looking.choices,
    looking.past,
    looking.player,
    looking.service,
    looking.clock,
    looking.signed_head,
    looking.outages,
    looking.channels,
    looking.mail,
    looking.finished_games,
    looking.link_page,
    looking.page,
    looking.page,
    looking.talk,
    looking.talk,
    refused.stated,
    refused.withdrawn,
    refused.talked,
    refused.declined,
    refused.too_late,
    looking.nowhere,
    refused.account,
    refused.keys,
    refused.illegal,
    refused.illegal,
    refused.illegal,
    refused.badly_opened,
    refused.badly_opened,
    refused.guessed,
    refused.guessed,
    refused.misplaced,
    refused.malformed,
    refused.intruding,
)


LEVELS: Final = ("debug", "debug", "info", "warning", "error")
_SIGNATURE: Final = re.compile(rb"U1NIU0lH[A-Za-z0-9+/=]+")
_STORIES: Final = 40
_PROBES: Final = 2
_DELIVERED: Final = 2
"""Notices are delivered after one step of so many; the second step is the host's invitation."""
_FAILING: Final = 0.15
"""How often all receivers refuse what they get."""


class Leak(NamedTuple):
    """A difference by which one viewer could distinguish two worlds."""

    place: str
    what: str


@dataclass
class Tally:
    """The comparisons, with the results."""

    states: int = 0
    early: int = 0
    """States before the first card; included in `states`."""
    alike: int = 0
    """States whose other deal happened to be the true one; included in `states`, but they show nothing."""
    answers: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """Numbers of answers by request and status."""
    leaks: list[Leak] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.states += other.states
        self.early += other.early
        self.alike += other.alike
        self.answers += other.answers
        self.kinds.update(other.kinds)
        self.leaks.extend(other.leaks)


Look = Callable[["Scene", str], Awaitable[list[Leak]]]
"""A further comparison, made for a viewer in some states."""

Enough = Callable[[Tally], bool]
"""Whether what has been compared is enough."""


@dataclass
class Scene:
    """The current position of a story in every world."""

    story: Story
    step: int
    tellings: dict[str, Telling]
    past: str
    expired: str
    chance: random.Random
    tally: Tally

    @property
    def place(self) -> str:
        """The story and the step in it."""
        ruleset = self.story.ruleset.to_json()
        return f"{self.story.name} {ruleset}, after {self.story.steps[self.step]}"

    def eye(self, viewer: str, world: str) -> Eye:
        """A viewer in one of the worlds."""
        telling = self.tellings[world]
        seat = SEATS_OF[viewer]
        state = self.story.position(self.step)
        legal: tuple[str, ...] = ()
        if seat is not None and actor_of(state) == seat and not self.story.ended(self.step):
            try:
                legal = state.project(seat).legal_actions()
            except UnknownHandError:
                legal = ()
        tried = tuple(event.action for event in self.story.decisions)
        return Eye(telling, viewer, legal, tried, self.expired, self.past)

    async def compare(self, viewer: str) -> None:
        """Compares one state: asks in both worlds and notes the differences."""
        self.tally.states += 1
        dealt = bool(self.story.position(self.step).round)
        self.tally.early += not dealt
        self.tally.alike += dealt and self.tellings[viewer].events == self.story.events
        eyes = self.eye(viewer, TRUTH), self.eye(viewer, viewer)
        probes = (*ALWAYS, *self.chance.sample(SOMETIMES, _PROBES))
        if self.tellings[viewer].overdue or self.story.ended(self.step):
            probes = (*probes, too_late)
        for number, probe in enumerate(probes):
            seed = self.chance.getrandbits(64)
            requests = [probe(eye, random.Random(seed)) for eye in eyes]
            answers = []
            for eye, request in zip(eyes, requests, strict=True):
                eye.telling.world.draws.use(f"{self.story.name} {self.step} {viewer} {number}")
                answers.append(await _ask(eye.telling.world, request))
            one, two = (eye.telling.world for eye in eyes)
            name = requests[0].name
            assert _asked(one, requests[0]) == _asked(two, requests[1]), requests
            self.tally.answers += 1
            self.tally.kinds[f"{name}: {answers[0].status}"] += 1
            assert answers[0].status != 201 or name in ("offer", "challenge"), (self.place, viewer, requests[0])
            assert answers[0].status < 500, (self.place, viewer, requests[0], answers[0])
            if found := difference(one, answers[0], two, answers[1]):
                self.tally.leaks.append(Leak(f"{name} {answers[0].status}", f"{viewer}, {self.place}: {found}"))


def _asked(world: World, request: Request) -> tuple[object, ...]:
    """A request without the parts that must differ between worlds: heads, and signatures over them."""
    headers = tuple((name, world.named(value.encode())) for name, value in request.headers)
    return request[:4], _SIGNATURE.sub(b"#", world.named(request.body)), headers


async def _ask(world: World, request: Request) -> Answer:
    answer = await world.ask(request)
    if request.name == "view" and answer.status == 200:
        world.allow_view(answer.json["view"]["text"])
        if "signed_head" in answer.json:
            world.allow_head(answer.json["signed_head"]["text"])
    if request.name == "head" and answer.status == 200:
        world.allow_head(answer.json["text"])
    return answer


@dataclass
class Comparison:
    """Four worlds, and the stories played in all of them. `look` is called in one of `every` states."""

    seed: int
    folder: Path
    runner: asyncio.Runner
    deals: dict[str, Dealt]
    journal: Journal
    look: Look | None = None
    every: int = 50
    wanted: Callable[[Story], bool] = lambda story: True
    """Stories that are not wanted are not told."""
    told: int = 0
    scene: Scene | None = None
    """The scene compared last."""

    def start(self) -> None:
        self.chance = random.Random(f"leaks {self.seed}")
        level = self.chance.choice(LEVELS)
        session = f"leaks {self.seed}"
        names = (TRUTH, *VIEWERS)
        self.worlds = {name: World(name, session, self.folder / name, self.journal, level) for name in names}
        configure_logging(level)  # type: ignore[arg-type] # one of the levels
        self.runner.run(self._start())

    async def _start(self) -> None:
        for world in self.worlds.values():
            await world.start()
        self.expired = await self._early_login()
        self.past = await self._tell_past()

    def stop(self) -> None:
        for world in self.worlds.values():
            self.runner.run(world.stop())

    def sample(self, states: int, stories: int = 1_000_000, *, until: Enough = lambda tally: False) -> Tally:
        """Compares stories until this many states or stories have been compared, or until what was found is enough."""
        tally = Tally()
        while tally.states < states and stories and not until(tally):
            self.told += 1
            stories -= 1
            story = sample_story(f"{self.seed}x{self.told}", self.chance)
            if self.wanted(story):
                self.runner.run(self._tell(story, tally, states, until))
        return tally

    async def _early_login(self) -> str:
        """A token that has expired since."""
        token = ""
        for world in self.worlds.values():
            key = PrivateKey.from_seed(bytes.fromhex(chosen(world.session, TRUTH, "key of late")))
            late = Person("late", key)
            await arrive(world, late, known=True)
            await world.pass_time(90_000, absent=True)
            token = late.token
        return token

    async def _tell_past(self) -> str:
        """A finished game that is the same in every world."""
        story = finished_story(f"{self.seed}x0", self.chance)
        game = ""
        for world in self.worlds.values():
            telling = await begin(Telling(story, world, None, story.events, self.deals))
            for step in story.steps:
                await take_step(telling, step)
            game = telling.game
        return game

    async def _tell(self, story: Story, tally: Tally, states: int, until: Enough) -> None:
        tellings: dict[str, Telling] = {}
        for name, world in self.worlds.items():
            events = story.events if name == TRUTH else story.told_to(name, self.chance)
            assert len(decisions(events)) == len(story.decisions)
            tellings[name] = await begin(Telling(story, world, name, events, self.deals))
        early = self.chance.random() < 0.3 or len(story.opening) < len(OPENING)
        for number, step in enumerate(story.steps):
            if until(tally):
                break
            passed = self.chance.randint(11, 500)  # a signed head is shown again for ten seconds
            told: dict[str, tuple[Seat, Answer | None]] = {}
            for name, telling in tellings.items():
                await telling.world.pass_time(passed)
                told[name] = await take_step(telling, step)
            place = f"{story.name}, {step}"
            self._compare_taken(told, place, tally)
            self._compare_rows(tellings, place, tally)
            if number % _DELIVERED == 1:
                await self._compare_posts(place, tally)
            if (number < len(OPENING) - 1 and not early) or tally.states >= states:
                continue
            scene = self.scene = Scene(story, number, tellings, self.past, self.expired, self.chance, tally)
            for viewer in VIEWERS:
                await scene.compare(viewer)
                if self.look is not None and self.chance.randrange(self.every) == 0:
                    tally.leaks.extend(await self.look(scene, viewer))
        for world in self.worlds.values():
            tally.leaks.extend(Leak("a secret in the log", line) for line in world.leaked())

    def _compare_taken(self, told: dict[str, tuple[Seat, Answer | None]], place: str, tally: Tally) -> None:
        """Compares the answers to an accepted step: completely for the player who made it, for others only the log."""
        seat, first = told[TRUTH]
        for viewer in VIEWERS:
            second = told[viewer][1]
            if first is None or second is None:
                continue
            if SEATS_OF[viewer] == seat:
                tally.answers += 1
                tally.kinds[f"taken: {first.status}"] += 1
            else:
                second = first._replace(log=second.log)
            if found := difference(self.worlds[TRUTH], first, self.worlds[viewer], second):
                tally.leaks.append(Leak("taken", f"{viewer}, {place}: {found}"))

    def _compare_rows(self, tellings: dict[str, Telling], place: str, tally: Tally) -> None:
        """Compares what the database holds beside the log: whether a row is there must not depend on cards either."""
        for table in TABLES:
            first = tellings[TRUTH].world.rows(table, tellings[TRUTH].names)
            tally.kinds[f"rows of {table}: {'some' if first.status else 'none'}"] += len(VIEWERS)
            tally.answers += len(VIEWERS)
            for viewer in VIEWERS:
                second = tellings[viewer].world.rows(table, tellings[viewer].names)
                if found := difference(self.worlds[TRUTH], first, self.worlds[viewer], second):
                    tally.leaks.append(Leak(f"rows of {table}", f"{viewer}, {place}: {found}"))

    async def _compare_posts(self, place: str, tally: Tally) -> None:
        """Lets all worlds deliver what is due, and compares the posts byte by byte, and what was logged."""
        failing = self.chance.random() < _FAILING
        told = {name: await world.deliver(failing=failing) for name, world in self.worlds.items()}
        posts, first = told[TRUTH]
        for viewer in VIEWERS:
            tally.answers += len(posts)
            for post in posts:
                kind = "push" if post.is_push else "webhook"
                tally.kinds[f"{kind} {post.event}: {'refused' if failing else 'taken'}"] += 1
            if found := difference(self.worlds[TRUTH], first, self.worlds[viewer], told[viewer][1]):
                tally.leaks.append(Leak("webhook", f"{viewer}, {place}: {found}"))


@contextmanager
def comparing(seed: int, *, look: Look | None = None, every: int = 50) -> Iterator[Comparison]:
    """The worlds of a seed, for the duration of the block."""
    journal = Journal()
    # In memory if possible: the database is not kept, and syncing would take most of the time.
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="hkoji-leaks-", dir=memory if os.access(memory, os.W_OK) else None))
    try:
        deals: dict[str, Dealt] = {}
        with (
            chosen_deals(deals),
            patch.object(sys, "stderr", journal),
            patch("hkoji_server.app._tune_garbage_collection"),  # what it exempts would outlive these services
            asyncio.Runner() as runner,
        ):
            comparison = Comparison(seed, folder, runner, deals, journal, look, every)
            comparison.start()
            try:
                yield comparison
            finally:
                comparison.stop()
    finally:
        structlog.reset_defaults()
        shutil.rmtree(folder)


def sample(seed: int, states: int, *, look: Look | None = None, every: int = 50) -> Tally:
    """Compares this many states from a seed, in worlds that are made anew from time to time."""
    tally = Tally()
    number = seed * 1_000_000
    while tally.states < states:
        with comparing(number, look=look, every=every) as comparison:
            tally.add(comparison.sample(states - tally.states, _STORIES))
        number += 1
    return tally
