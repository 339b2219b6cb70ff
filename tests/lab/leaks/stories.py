"""Stories: random games to be played in several worlds at once, up to some moment, for viewers who know a part of them.

A story is what everybody sees of a game, and what really happened. For each viewer it has variants: with other cards,
salts and entropy in every place that the viewer cannot see, and no difference in the places that they can
(tests/support/redistribution.py). It ends before its game publishes its seed, because from then on everybody knows
everything. Games dealt by `duplicate/v1` go on to their end, which publishes only the face-down cards.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from hkoji.game.agreement import DAY, UNTIMED, Agreement, TimeControl
from hkoji.rules.events import DECISIONS, Act, Deal, Decision, Event, Reveal, Seat
from hkoji.rules.protocol import DECISION_DUE, Due, Ruleset, State
from tests.support.redistribution import redistribute
from tests.support.rules import GAMES, folds, random_game

VIEWERS: Final = ("host", "guest", "outside")
SEATS_OF: Final[dict[str, Seat | None]] = {"host": 0, "guest": 1, "outside": None}
STEPS_OF_TIME: Final = ("gift", "wish", "withdraw", "annul", "outage", "late", "timeout", "lapse")
OF_CLOCK: Final = ("outage", "late", "timeout", "lapse")
"""Those for which the clock of the service must pass."""
STEPS_OF_WORDS: Final = ("say", "answer", "unsay", "rematch")
OPENING: Final = ("offer", "open", "join", "seed 1", "seed 0")
_LONG: Final = TimeControl(30 * DAY, 300 * DAY, DAY, 360 * DAY, "67", "+05:45")
"""Nobody's time is over as long as the worlds last."""
_SHORT: Final = TimeControl(DAY // 12, 1200, 60, 1800)
"""For games that end by the clock: longer than a turn of any story."""
_MOST_WORDS: Final = 4
_SETTINGS: Final = (
    '{"digest":[],"format":"json","quiet":null,"zone":"+00:00"}',
    '{"digest":[],"format":"json","quiet":null,"zone":"+00:00"}',
    '{"digest":[],"format":"slack","quiet":null,"zone":"+00:00"}',
    '{"digest":[],"format":"discord","quiet":{"from":"22:00","until":"07:00"},"zone":"+05:45"}',
    '{"digest":["08:00","12:30","16:00","20:00"],"format":"json","quiet":null,"zone":"-03:30"}',
)
_RULESETS: Final = {game.name: game.rulesets for game in GAMES if game.name != "showdown"}


@dataclass(frozen=True)
class Story:
    """A game's first steps: `OPENING` or its beginning, then `decisions`, then perhaps `last`."""

    name: str
    ruleset: Ruleset
    duplicate: bool
    invited: str | None
    """The guest whom the host invites: None, by "name", by name and "key", or by "link"."""
    opening: tuple[str, ...]
    events: tuple[Event, ...]
    last: str | None = None
    """`cancel`, `decline`, `resign 0`, `resign 1`, `annul`, `timeout` or `lapse`."""
    new_keys: tuple[tuple[int, str], ...] = ()
    """The decisions before which their seats change their keys, and how: `rekey` or `lost`."""
    agreement: Agreement = UNTIMED
    """The agreement but for the time at which the offer expires."""
    expires_in: int | None = None
    """The seconds from the offer to that time."""
    times: tuple[tuple[int, str], ...] = ()
    """The decisions before which something happens to the time: `gift`, `wish`, `withdraw` or `outage`."""
    words: tuple[tuple[int, str], ...] = ()
    """The decisions before which players `say`, `answer` or `unsay` something; their number stands for the end."""
    channels: tuple[tuple[str, str], ...] = ()
    """The player who is told through a webhook and in a browser, and the settings of both, as JSON."""
    wary: bool = False
    """Whether the players accept invitations from each other only, and the host has blocked the stranger."""
    rematch: bool = False
    """Whether the host asks for another game at the end, which the guest declines."""

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """All steps of players in order; decisions are counted from 0."""
        changes = dict(self.new_keys)
        steps = list(self.opening)
        for number in range(len(self.decisions)):
            steps += [f"{kind} {number}" for before, kind in (*self.times, *self.words) if before == number]
            if number in changes:
                steps.append(f"{changes[number]} {number}")
            steps.append(f"move {number}")
        if self.last in ("timeout", "lapse"):
            steps.append("late")
        steps += [self.last] if self.last else []
        end = len(self.decisions)
        steps += [f"{kind} {end}" for before, kind in self.words if before == end]
        return (*steps, *(("rematch",) if self.rematch else ()))

    def ended(self, step: int) -> bool:
        """Whether this step has ended the game otherwise than by its rules."""
        return self.last is not None and self.last in self.steps[: step + 1]

    def passes_time(self) -> bool:
        """Whether the clock of the service must pass in this story."""
        return any(step.split()[0] in OF_CLOCK for step in self.steps)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The places of the decisions in `events`."""
        return tuple(at for at, event in enumerate(self.events) if isinstance(event, DECISIONS))

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """The true decisions."""
        return decisions(self.events)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The true position after each event; the first before any."""
        return tuple(folds(self.ruleset, self.events))

    def position(self, step: int) -> State:
        """The true position after a step and the automatic events that follow it."""
        if step < len(OPENING) - 1:
            return self.states[0]
        made = sum(each.startswith("move") for each in self.steps[: step + 1])
        at = self.places[made] if made < len(self.places) else len(self.events)
        return self.states[at]

    @cached_property
    def over(self) -> bool:
        """Whether the game ends within the story, for any reason."""
        return bool(self.last) or (bool(self.events) and self.states[-1].due is Due.OVER)

    @cached_property
    def opened(self) -> frozenset[tuple[int, int]]:
        """The groups of face-down cards that are open when the story ends: decision and part."""
        found = set()
        for number, at in enumerate(self.places):
            event = self.events[at]
            if not isinstance(event, Act):
                continue
            for part, group in enumerate(self.ruleset.hidden(event.action)):
                if self.over or (group.counts and _revealed(self.events, at, event.seat)):
                    found.add((number, part))
        return frozenset(found)

    def told_to(self, viewer: str, chance: random.Random) -> tuple[Event, ...]:
        """Events that `viewer` cannot distinguish from the true ones."""
        everything: Collection[int] = self.places if self.over else ()
        return redistribute(self.ruleset, self.events, SEATS_OF[viewer], chance, everything)


def decisions(events: tuple[Event, ...]) -> tuple[Decision, ...]:
    """The decisions in a course of events."""
    return tuple(event for event in events if isinstance(event, DECISIONS))


def _revealed(events: tuple[Event, ...], at: int, seat: Seat) -> bool:
    """Whether what `seat` put face down at place `at` is revealed later in its round."""
    for event in events[at:]:
        if isinstance(event, Deal):
            return False
        if isinstance(event, Reveal) and event.seat == seat:
            return True
    return False


def sample_story(name: str, chance: random.Random) -> Story:
    """A random story of either game, with any options, of any length."""
    game = chance.choice(sorted(_RULESETS))
    ruleset = chance.choice(_RULESETS[game])
    duplicate = chance.random() < 0.2
    invited = chance.choice((None, None, "name", "key", "link"))
    channels, wary = _channels(chance), chance.random() < 0.5
    if chance.random() < 0.1:
        opening = OPENING[: chance.randint(1, len(OPENING) - 1)]
        last = None
        agreement, expires_in = UNTIMED, None
        if duplicate and opening[-1] == "open":
            last = chance.choice(("cancel", "lapse", *(("decline",) * 2 if invited in ("name", "key") else ())))
            expires_in = DAY // 12 if last == "lapse" else None
        elif duplicate and opening[-1] != "offer":
            last, agreement = _end(chance)
        elif opening[-1] not in ("offer", "open"):
            agreement = chance.choice((UNTIMED, Agreement(_LONG)))
        early = Story(name, ruleset, duplicate, invited, opening, (), last, (), agreement, expires_in)
        return replace(early, channels=channels, wary=wary)
    events = random_game(ruleset, chance.getrandbits(64)).events
    states = tuple(folds(ruleset, events))
    places = [at for at, event in enumerate(events) if isinstance(event, DECISIONS)]
    # The last decision makes a game publish its seed, unless the seed stays unopened (duplicate games): leave it out.
    most = len(places) if duplicate and states[-1].due is Due.OVER else len(places) - 1
    count = most if chance.random() < 0.7 else chance.randint(0, most)
    events = events[: places[count]] if count < len(places) else events
    over = count == len(places)
    last, agreement = None, chance.choice((UNTIMED, Agreement(_LONG, rated=True), Agreement(_LONG)))
    if duplicate and not over and chance.random() < 0.7:
        last, agreement = _end(chance)
    new_keys: list[tuple[int, str]] = []
    while chance.random() < 0.2 and count:
        number = chance.randrange(count)
        if number not in dict(new_keys):
            new_keys.append((number, chance.choice(("rekey", "lost"))))
    return Story(
        name,
        ruleset,
        duplicate,
        invited,
        OPENING,
        events,
        last,
        tuple(sorted(new_keys)),
        agreement,
        chance.choice((None, 20 * DAY)),
        _times(chance, count, timed=agreement.clock is not None),
        _words(chance, count),
        channels,
        wary,
        rematch=(over or last is not None) and chance.random() < 0.5,
    )


def _end(chance: random.Random) -> tuple[str, Agreement]:
    """How a game that somebody has joined ends before its rules end it, and an agreement that goes with it."""
    last = chance.choice(("resign 0", "resign 1", "annul", "timeout", "timeout"))
    return last, Agreement(_SHORT) if last == "timeout" else chance.choice((UNTIMED, Agreement(_LONG)))


def _times(chance: random.Random, count: int, *, timed: bool) -> tuple[tuple[int, str], ...]:
    """Events of time before some of `count` decisions."""
    kinds = [*(("gift", "gift") if timed else ()), "wish", "outage"]
    found: list[tuple[int, str]] = []
    while count and chance.random() < 0.6:
        number, kind = chance.randrange(count), chance.choice(kinds)
        if (number, kind) not in found:
            found.append((number, kind))
            found += [(number, "withdraw")] if kind == "wish" and chance.random() < 0.5 else []
    return tuple(sorted(found, key=lambda each: each[0]))


def _words(chance: random.Random, count: int) -> tuple[tuple[int, str], ...]:
    """Messages of the players before some of `count` decisions, and at the end."""
    found: list[tuple[int, str]] = []
    while len(found) < _MOST_WORDS and chance.random() < 0.7:
        number = chance.randint(0, count) if found or chance.random() < 0.5 else 0  # many greet each other
        if number not in dict(found):
            found.append((number, "say"))
            found += [(number, kind) for kind, often in (("answer", 0.6), ("unsay", 0.3)) if chance.random() < often]
    return tuple(sorted(found, key=lambda each: each[0]))


def _channels(chance: random.Random) -> tuple[tuple[str, str], ...]:
    """The player who is told through a webhook and in a browser, and in which way."""
    return tuple((viewer, chance.choice(_SETTINGS)) for viewer in VIEWERS if chance.random() < 0.6)


def finished_story(name: str, chance: random.Random) -> Story:
    """A complete game that is the same in every world."""
    while True:
        ruleset = chance.choice(_RULESETS[chance.choice(sorted(_RULESETS))])
        events = random_game(ruleset, chance.getrandbits(64)).events
        if next(reversed(tuple(folds(ruleset, events)))).due is Due.OVER:
            return Story(name, ruleset, False, None, OPENING, events)


def actor_of(state: State) -> Seat | None:
    """The seat that decides in a position; None if none does."""
    return state.actor if state.due in DECISION_DUE else None
