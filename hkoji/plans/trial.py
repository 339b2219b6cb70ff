"""Tries a plan: what it would do if certain things were seen next, and which of its moves cannot become legal.

The rules decide what can happen, as in the game.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hkoji.errors import HkojiError, IllegalActionError, IllegalError
from hkoji.game.position import Position
from hkoji.messages.text import all_of, tell
from hkoji.plans.grammar import Plan, action_cards, canonical_token
from hkoji.plans.standing import ArmedPlan, PlanChoice, can_follow, choose, stand
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import Act, Deal, Draw, Event
from hkoji.rules.protocol import DECISION_KINDS, Due, State

_UNCHANGED = tell("nothing was sent or stored")


class TriedMove(NamedTuple):
    """A move that the plan makes after the tokens `seen`."""

    seen: tuple[str, ...]
    choice: PlanChoice


class PlanTrial(NamedTuple):
    """The trial of a plan: its moves, in order, all that was seen by then, and why it has ended, if it has."""

    moves: tuple[TriedMove, ...]
    seen: tuple[str, ...]
    ended: str | None


def try_plan(armed: ArmedPlan, position: Position, words: Sequence[str]) -> PlanTrial:
    """Returns what a plan would do if the tokens `words` were seen next, as it stands in `position`.

    The own moves are not among the tokens: the plan makes them. Raises `NotationError` for what is no token, and
    `IllegalError` for what cannot happen.
    """
    standing = stand(armed, position)
    if standing.ended is not None or position.seat is None:
        return PlanTrial((), standing.seen, standing.ended)
    seat, state, seen = position.seat, position.course.state, list(standing.seen)
    moves: list[TriedMove] = []
    left = [canonical_token(word, state.ruleset) for word in words]
    while True:
        if state.due in DECISION_KINDS and state.actor == seat:
            choice = choose(armed.plan, seen, state, state.legal_actions())
            if choice is None:
                return PlanTrial(tuple(moves), tuple(seen), tell("it is your turn, and no line says what to play"))
            moves.append(TriedMove(tuple(seen), choice))
            state = state.apply(DECISION_KINDS[state.due](seat, choice.action))
        elif state.due is Due.DRAW and state.actor is not None and state.actor != seat:
            state = state.apply(Draw(state.actor, UNKNOWN))
        elif not left and state.due is Due.REVEAL:
            return PlanTrial(tuple(moves), tuple(seen), tell("the round is over"))
        elif not can_follow(armed.plan, seen):
            return PlanTrial(tuple(moves), tuple(seen), tell("no line fits what has happened"))
        elif not left:
            return PlanTrial(tuple(moves), tuple(seen), None)
        else:
            token = left.pop(0)
            state = _see(state, token)
            seen.append(token)


def _see(state: State, token: str) -> State:
    """Returns the position after a token of the opponent, or after an own draw."""
    event: Event | None = None
    if state.due is Due.DRAW and state.actor is not None and token.startswith("+"):
        event = Draw(state.actor, token[1:])
    elif state.due in DECISION_KINDS and state.actor is not None and not token.startswith("+"):
        event = DECISION_KINDS[state.due](state.actor, state.parse_action(token))
    if event is not None:
        try:
            return state.apply(event)
        except IllegalActionError:  # it names the token already
            raise
        except HkojiError as error:
            raise IllegalError(
                tell("{token} cannot be seen next: {reason}", token=token, reason=error.message), hint=_UNCHANGED
            ) from error
    raise IllegalError(
        tell("{token} cannot be seen where {due} is due", token=token, due=state.due.value), hint=_UNCHANGED
    )


def plan_warnings(plan: Plan, position: Position) -> tuple[str, ...]:
    """Returns a sentence for each action whose cards its player can no longer get in this round.

    An action that needs a card which may still be drawn is none of them.
    """
    state, ruleset = position.course.state, position.course.setup.ruleset
    if position.seat is None:
        return ()
    hand, unseen = Counter(ruleset.pack.split(position.hand)), _unseen(position)
    draws = (len(ruleset.pack.split(state.deck)) + 1) // 2
    found = []
    for line in plan.lines:
        for action in line.choices:
            if action[0] not in ruleset.action_names:
                continue
            missing = Counter(action_cards(action, ruleset)) - hand
            lacking = missing - unseen
            if lacking:
                reason = tell("you cannot get {cards} any more", cards=all_of(sorted(lacking)))
            elif missing.total() > draws:
                reason = tell("you do not draw that many cards any more")
            else:
                continue
            found.append(
                tell(
                    "line {line}: {action} will not be legal in this round: {reason}",
                    line=line.number,
                    action=action,
                    reason=reason,
                )
            )
    return tuple(found)


def _unseen(position: Position) -> Counter[str]:
    """Returns the cards of the round that this player has not seen, so those that may still be drawn."""
    ruleset, seat = position.course.setup.ruleset, position.seat or 0
    pack = ruleset.pack
    unseen = Counter(dict(zip(pack.kinds, pack.copies, strict=True)))
    deals = [number for number, event in enumerate(position.events) if isinstance(event, Deal)]
    for event in position.events[deals[-1] if deals else 0 :]:
        if isinstance(event, Deal):
            unseen -= Counter(pack.split(event.hands[seat]))
        elif isinstance(event, Draw) and event.seat == seat:
            unseen -= Counter(pack.split(event.card))
        elif isinstance(event, Act) and event.seat != seat:
            unseen -= Counter(action_cards(event.action, ruleset))
    return unseen
