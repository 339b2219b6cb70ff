"""A game through given eyes: what a seat saw at the time, what a spectator could see, or all that is known.

A seat's view is made only from its projected events and the positions folded from them, so it cannot show anything that
the seat could not know. A log reveals a seat's cards with its end. Before that, only a spectator's view is possible.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hkoji.errors import IllegalError, UsageError
from hkoji.game.replay import Replay, Step
from hkoji.messages.text import shorten, tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import SEATS, Act, Deal, Draw, Event, Seat, project
from hkoji.rules.protocol import Ruleset, State


class Eyes(NamedTuple):
    """The observer of a game. `seat` is None for a spectator and for `open_`, which shows all seats' known cards."""

    word: str
    seat: Seat | None
    open_: bool = False


HOST: Final = Eyes("host", 0)
GUEST: Final = Eyes("guest", 1)
ALL: Final = Eyes("all", None, True)
SPECTATOR: Final = Eyes("spectator", None)
EVERY: Final = (HOST, GUEST, ALL, SPECTATOR)
"""All eyes, in the order in which a reader switches through them."""


def parse_eyes(text: str, names: tuple[str | None, str | None]) -> Eyes:
    """Parses `host`, `guest`, `all`, `spectator`, or a player's name; the four words take precedence over names.

    Raises `UsageError`.
    """
    for eyes in EVERY:
        if text == eyes.word:
            return eyes
    if text in names:
        return EVERY[names.index(text)]
    known = ", ".join(name for name in names if name)
    raise UsageError(
        tell("there are no eyes of {text!r}", text=shorten(text)),
        hint=tell("one of host, guest, all, spectator, or a player: {names}", names=known)
        if known
        else tell("one of host, guest, all, spectator"),
    )


def knows(replay: Replay, seat: Seat) -> bool:
    """Reports whether the replay knows all that `seat` has seen: every card it was dealt, has drawn and has played."""
    return not any(UNKNOWN in _own(event, seat) for event in replay.events)


def _own(event: Event, seat: Seat) -> str:
    match event:
        case Deal(hands):
            return hands[seat]
        case Draw(owner, card) if owner == seat:
            return card
        case Act(owner, action) if owner == seat:
            return action
        case _:
            return ""


def see(replay: Replay, eyes: Eyes) -> Replay:
    """Returns the same game through `eyes`. Raises `IllegalError` for a seat whose cards the replay does not know."""
    if eyes.open_ or not replay.steps:
        return replay
    if eyes.seat is not None and not knows(replay, eyes.seat):
        raise IllegalError(
            tell("this log does not reveal what the host saw")
            if eyes.seat == 0
            else tell("this log does not reveal what the guest saw"),
            hint=tell("a log reveals its cards with its end; a game that is not over can be seen as --eyes spectator"),
        )
    state: State = replay.steps[0].course.setup.ruleset.initial()
    steps: list[Step] = []
    for step in replay.steps:
        ruleset = step.course.setup.ruleset
        events = tuple(project(event, eyes.seat, ruleset.public) for event in step.events)
        for event in events:
            state = state.apply(event)
        dealt = tuple(_seen_dealt(ruleset, hands, eyes.seat) for hands in step.course.dealt)
        steps.append(step._replace(events=events, course=step.course._replace(state=state, dealt=dealt)))
    return Replay(tuple(steps), replay.stop)


def _seen_dealt(ruleset: Ruleset, hands: tuple[str, str], seat: Seat | None) -> tuple[str, str]:
    host, guest = (
        cards if owner == seat else UNKNOWN * len(ruleset.pack.split(cards))
        for owner, cards in zip(SEATS, hands, strict=True)
    )
    return host, guest
