"""The replay of a log: each step with its events and position, up to the first entry that is not valid.

It works on complete and truncated logs, for any knowledge. A replay checks no signatures; the audit does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.game.course import Course
from hkoji.game.dealer import seed_fits
from hkoji.game.entry_kinds import EntryBody, begin, parse_body
from hkoji.game.knowledge import FullKnowledge, Knowledge, SpectatorKnowledge
from hkoji.log.entry import Entry
from hkoji.log.line import Line
from hkoji.rules.events import Event


class Step(NamedTuple):
    """One entry: its parsed body, the events of the rules that it brings, and the game after it."""

    entry: Entry
    body: EntryBody
    events: tuple[Event, ...]
    course: Course


class Replay(NamedTuple):
    """The valid steps. `stop` is the error of the next one; None at the end of the log."""

    steps: tuple[Step, ...]
    stop: HkojiError | None = None

    @property
    def course(self) -> Course | None:
        """The game after the last valid step."""
        return self.steps[-1].course if self.steps else None

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in order."""
        return tuple(event for step in self.steps for event in step.events)


_NOTHING: Final = Replay(())


def replay(lines: Iterable[Line], knowledge: Knowledge | None = None, *, after: Replay = _NOTHING) -> Replay:
    """Replays `lines`, which follow those of `after`, with `knowledge`; by default with all that the lines reveal."""
    lines = tuple(lines)
    known = knowledge or public_knowledge(lines)
    steps = list(after.steps)
    course = after.course
    try:
        for line in lines:
            body = parse_body(line.entry.kind, line.entry.body)
            events: tuple[Event, ...] = ()
            if course is None:
                course = begin(line.entry, body)
            else:
                course, events = course.apply(line.entry, body, known)
            steps.append(Step(line.entry, body, events, course))
    except HkojiError as error:
        return Replay(tuple(steps), error)
    return Replay(tuple(steps))


def public_knowledge(lines: Sequence[Line], bodies: Sequence[EntryBody] | None = None) -> Knowledge:
    """Returns the knowledge that a log itself reveals: only public cards before its `end`, then also face-down cards.

    `bodies` are those of the lines, if they have been parsed. The seed, which the `end` or an `unseal` publishes,
    reveals all cards. Openings published during a game are events of the log and need no knowledge.
    """
    openings: dict[int, list[Opening]] = {}
    ended, seed, offer = False, None, None
    try:
        for number, line in enumerate(lines):
            if line.entry.kind == "offer":
                offer = line.entry
            if line.entry.kind in ("reveal", "end", "unseal"):
                body = bodies[number] if bodies else parse_body(line.entry.kind, line.entry.body)
                if isinstance(body, entry_kinds.RevealBody | entry_kinds.End):
                    for opening in body.openings:
                        openings.setdefault(opening.seq, []).append(opening)
                if isinstance(body, entry_kinds.End) or (isinstance(body, entry_kinds.Unseal) and ended):
                    ended, seed = True, body.seed
        if seed is not None and (offer is None or not _committed(offer, seed)):
            seed = None  # a wrong seed gives other cards, so the first move would fail instead of the entry at fault
    except HkojiError:
        return SpectatorKnowledge()
    if not ended:
        return SpectatorKnowledge()
    by_seq = {seq: tuple(sorted(group)) for seq, group in openings.items()}
    return SpectatorKnowledge(by_seq) if seed is None else FullKnowledge(seed, by_seq)


def _committed(offer: Entry, seed: str) -> bool:
    """Reports whether the offer commits to that seed."""
    body = parse_body(offer.kind, offer.body)
    return isinstance(body, entry_kinds.Offer) and seed_fits(body.terms, offer.game, seed)
