"""The same game with other cards wherever an observer cannot see them, while it runs and when it is over.

Every hidden card of a round is a slot: in a hidden hand of the deal, in the deck, or set aside. If its owner has since
shown a card (in an offer, or by a reveal), some slot that the owner had at that moment must hold it. All other unseen
cards go to the remaining slots in any order. So every distribution that is possible for this observer can come out. Of
the rules it uses only which cards of an action are hidden.

The entries stay as they are, so the log would not hold; but no output for the observer may differ.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from hkoji.game.replay import Replay, replay
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import SEATS, Act, Deal, Draw, Event, Reveal, Seat
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset, State
from hkoji.rules.transcript import format_ruleset
from tests.support.table import whole_game


def redistribute(
    ruleset: Ruleset,
    events: tuple[Event, ...],
    observer: Seat | None,
    chance: random.Random,
    opened: Collection[int] = (),
) -> tuple[Event, ...]:
    """A course of events that `observer` (None: a spectator) cannot distinguish from `events`.

    `opened` are the places in `events` of actions whose hidden cards have since been opened, as at the end of a game.
    """
    starts = [at for at, event in enumerate(events) if isinstance(event, Deal)]
    out = list(events[: starts[0]] if starts else events)
    for start, end in pairwise([*starts, len(events)]):
        deal, *rest = events[start:end]
        assert isinstance(deal, Deal)
        known = {at - start - 1 for at in opened if start < at < end}
        out.extend(_Round(ruleset, deal, rest, observer, chance, known).events())
    return tuple(out)


@dataclass
class _Slot:
    kind: str | None = None
    """The card in a slot, once it is settled."""


@dataclass
class _Play:
    """An action of a hidden hand: the slots of each of its hidden groups."""

    groups: list[list[_Slot]] = field(default_factory=list)


class _Round:
    def __init__(
        self,
        ruleset: Ruleset,
        deal: Deal,
        rest: list[Event],
        observer: Seat | None,
        chance: random.Random,
        opened: Collection[int],
    ) -> None:
        self.ruleset, self.rest, self.chance, self.opened = ruleset, rest, chance, opened
        self.hidden = [seat for seat in SEATS if seat != observer]
        split = ruleset.pack.split
        self.dealt = tuple([_Slot(kind) for kind in split(hand)] for hand in deal.hands)
        self.deck = [_Slot(kind) for kind in split(deal.rest)]
        self.aside = [_Slot(kind) for kind in split(deal.aside)]
        self.drawn: dict[int, _Slot] = {}
        self.plays: dict[int, _Play] = {}
        seen = {id(slot) for seat in SEATS if seat not in self.hidden for slot in self.dealt[seat]}
        tops = iter(self.deck)
        for at, event in enumerate(rest):
            if isinstance(event, Draw):
                self.drawn[at] = next(tops)
                if event.seat not in self.hidden:
                    seen.add(id(self.drawn[at]))
        self.unseen = [s for s in (*self.dealt[0], *self.dealt[1], *self.deck, *self.aside) if id(s) not in seen]
        self._scatter()

    def _scatter(self) -> None:
        pool = [slot.kind for slot in self.unseen]
        for slot in self.unseen:
            slot.kind = None
        hands = {seat: list(self.dealt[seat]) for seat in self.hidden}
        for at, event in enumerate(self.rest):
            if isinstance(event, Draw) and event.seat in self.hidden:
                hands[event.seat].append(self.drawn[at])
            elif isinstance(event, Act) and event.seat in self.hidden:
                self._use(at, event, hands[event.seat])
        for slot in self.unseen:
            if slot.kind is not None:
                pool.remove(slot.kind)
        self.chance.shuffle(pool)
        for slot in self.unseen:
            slot.kind = slot.kind or pool.pop()
        assert not pool

    def _use(self, at: int, event: Act, hand: list[_Slot]) -> None:
        names = list(self.ruleset.pack.split(event.action[1:]))
        shown_later = any(isinstance(e, Reveal) and e.seat == event.seat for e in self.rest[at:])
        play = self.plays.setdefault(at, _Play())
        for group in self.ruleset.hidden(event.action):
            cards = self.ruleset.pack.split(group.cards)
            known = at in self.opened or (group.counts and shown_later)
            play.groups.append([self._from(hand, card if known else None) for card in cards])
            for card in cards:
                names.remove(card)
        for card in names:
            self._from(hand, card)

    def _from(self, hand: list[_Slot], kind: str | None) -> _Slot:
        slot = hand.pop(self.chance.randrange(len(hand)))
        slot.kind = kind
        return slot

    def events(self) -> list[Event]:
        hands = ["".join(_kinds(slots)) for slots in self.dealt]
        deal = Deal((hands[0], hands[1]), "".join(_kinds(self.deck)), "".join(_kinds(self.aside)))
        out: list[Event] = [deal]
        for at, event in enumerate(self.rest):
            if isinstance(event, Draw):
                out.append(replace(event, card=self.drawn[at].kind or ""))
            elif isinstance(event, Act) and at in self.plays and self.plays[at].groups:
                cards = tuple("".join(sorted(_kinds(group))) for group in self.plays[at].groups)
                out.append(replace(event, action=self.ruleset.complete(self.ruleset.public(event.action), cards)))
            else:
                out.append(event)
        return out


def _kinds(slots: list[_Slot]) -> list[str]:
    return [slot.kind or "" for slot in slots]


RULESETS: tuple[Ruleset, ...] = (Hanamikoji("random", 2, "charm"), GeishasRoad(), GeishasRoad("random", "random"))
"""The games that are retold."""

_PLAYED: Final[dict[tuple[int, str], Replay]] = {}


def replayed(seed: int, ruleset: Ruleset) -> Replay:
    """A random game to its end, replayed. It is played once for all tests of a process."""
    key = seed, format_ruleset(ruleset)
    if key not in _PLAYED:
        _PLAYED[key] = replay(whole_game(seed, ruleset).lines)
    return _PLAYED[key]


def retold(replay: Replay, observer: Seat | None, chance: random.Random) -> Replay:
    """`replay`, which knows everything, with redistributed cards, and events, positions and dealt cards to match."""
    ruleset = replay.steps[0].course.setup.ruleset
    events = list(redistribute(ruleset, replay.events, observer, chance))
    state: State = ruleset.initial()
    dealt: tuple[tuple[str, str], ...] = ()
    steps = []
    for step in replay.steps:
        told: list[Event] = [events.pop(0) for _ in step.events]
        for event in told:
            state = state.apply(event)
            if isinstance(event, Deal):
                dealt = (*dealt, event.hands)
            elif isinstance(event, Draw):
                assert event.card != UNKNOWN
                host, guest = dealt[-1]
                got = (host + event.card, guest) if event.seat == 0 else (host, guest + event.card)
                dealt = (*dealt[:-1], got)
        # The observer knows the order in which its own cards came, but no event says it.
        own = [list(now) for now in dealt]
        if observer is not None:
            for mine, was in zip(own, step.course.dealt, strict=True):
                mine[observer] = was[observer]
        seen = tuple((host, guest) for host, guest in own)
        steps.append(step._replace(events=tuple(told), course=step.course._replace(state=state, dealt=seen)))
    return Replay(tuple(steps), replay.stop)
