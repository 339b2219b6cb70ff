"""How a plan stands in a game: what has been seen since it was made, what it plays now, or why it has ended.

A plan is for one round. Its player's own moves are not among the tokens, because the plan made them; nor are the
opponent's draws, which show nothing. A pattern is a list of tokens, as `hkoji.plans.grammar` has read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hkoji.errors import NotationError
from hkoji.game.course import Stage
from hkoji.game.entry_kinds.key_changes import Rekey
from hkoji.game.position import Position
from hkoji.game.replay import Step
from hkoji.messages.text import tell
from hkoji.plans.grammar import ANY_TOKENS, Plan
from hkoji.rules.events import DECISIONS, Draw, Event, Seat
from hkoji.rules.protocol import State
from hkoji.rules.transcript import format_event

_REGULAR: Final = {"?": ".", "*": ".*"}


def matches(pattern: Sequence[str], seen: Sequence[str]) -> bool:
    """Returns whether a pattern describes exactly the tokens seen."""
    return len(pattern) in _places(pattern, seen)


def may_follow(pattern: Sequence[str], seen: Sequence[str]) -> bool:
    """Returns whether a pattern can still describe what is seen after at least one more token."""
    return any(place < len(pattern) for place in _places(pattern, seen))


def _places(pattern: Sequence[str], seen: Iterable[str]) -> set[int]:
    """Returns how many tokens of a pattern can be behind the tokens seen: an automaton in all its states at once."""
    places = _skip(pattern, {0})
    for token in seen:
        after = set()
        for place in places:
            if place == len(pattern):
                continue
            if pattern[place] == ANY_TOKENS:
                after.add(place)
            elif _expression(pattern[place]).fullmatch(token):
                after.add(place + 1)
        places = _skip(pattern, after)
    return places


def _skip(pattern: Sequence[str], places: set[int]) -> set[int]:
    """Adds the places that are reached without a token, because `**` may stand for none."""
    for place, token in enumerate(pattern):
        if place in places and token == ANY_TOKENS:
            places.add(place + 1)
    return places


@lru_cache(maxsize=1024)
def _expression(token: str) -> re.Pattern[str]:
    return re.compile("".join(_REGULAR.get(sign) or re.escape(sign) for sign in token))


class ArmedPlan(NamedTuple):
    """A plan with the entry after which it was made, by number and hash, and the round.

    `made` has the hashes of the entries that the plan has made or was about to make.
    """

    plan: Plan
    seq: int
    head: str
    round: int
    made: tuple[str, ...] = ()


class PlanChoice(NamedTuple):
    """The move that a plan makes, and the number of the line that says so."""

    action: str
    line: int


class PlanStanding(NamedTuple):
    """How a plan stands: the tokens seen, what it plays now if its player is to move, or why it has ended.

    Without `choice` and `ended` it waits for somebody else's move.
    """

    seen: tuple[str, ...]
    choice: PlanChoice | None = None
    ended: str | None = None


def token_of(event: Event, seat: Seat) -> str | None:
    """Returns an event of a round as a token that `seat` sees; None for what is no token."""
    if isinstance(event, Draw):
        return format_event(event) if event.seat == seat else None
    if isinstance(event, DECISIONS):
        return format_event(event) if event.seat != seat else None
    return None


def seen_tokens(steps: Iterable[Step], seat: Seat) -> tuple[str, ...]:
    """Returns what `seat` sees in the steps of one round."""
    tokens = (token_of(event, seat) for step in steps for event in step.events)
    return tuple(token for token in tokens if token is not None)


def choose(plan: Plan, seen: Sequence[str], state: State, legal: Sequence[str]) -> PlanChoice | None:
    """Returns what a plan plays where `legal` are the moves: of the first line that matches and has a legal choice."""
    for line in plan.lines:
        if not matches(line.pattern, seen):
            continue
        if not line.choices and len(legal) == 1:
            return PlanChoice(legal[0], line.number)
        for text in line.choices:
            action = _canonical(text, state)
            if action in legal:
                return PlanChoice(action, line.number)
    return None


def _canonical(text: str, state: State) -> str:
    """Returns a move as it is written in a position; an empty text if it is no move there."""
    try:
        return state.parse_action(text)
    except NotationError:
        return ""


def can_follow(plan: Plan, seen: Sequence[str]) -> bool:
    """Returns whether any line can still match after at least one more token."""
    return any(may_follow(line.pattern, seen) for line in plan.lines)


def stand(armed: ArmedPlan, position: Position) -> PlanStanding:
    """Returns how a plan stands in a game, which is known up to its last entry."""
    steps, seat = position.replay.steps, position.seat
    if seat is None or len(steps) <= armed.seq or steps[armed.seq].entry.head != armed.head:
        return PlanStanding((), ended=tell("the log here is not the one for which it was made"))
    since, name = steps[armed.seq + 1 :], position.course.setup.names[seat]
    for step in since:
        # A new key comes into the game by itself, with the first look at the player's turn.
        own = step.entry.by == name and not isinstance(step.body, Rekey)
        if own and step.entry.head not in armed.made:
            return PlanStanding((), ended=tell("you have made entry {seq} yourself", seq=step.entry.seq))
    if position.over or position.course.stage is not Stage.PLAY:
        return PlanStanding((), ended=tell("the game is over"))
    if position.course.state.round != armed.round:
        return PlanStanding((), ended=tell("the round is over"))
    seen = seen_tokens(since, seat)
    if position.legal:
        choice = choose(armed.plan, seen, position.course.state, position.legal)
        if choice is None:
            return PlanStanding(seen, ended=tell("it is your turn, and no line says what to play"))
        return PlanStanding(seen, choice)
    if not can_follow(armed.plan, seen):
        return PlanStanding(seen, ended=tell("no line fits what has happened"))
    return PlanStanding(seen)
