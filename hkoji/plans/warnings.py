"""Finds the moves of a plan that cannot become legal, whatever happens, with the cards that its player holds."""

from __future__ import annotations

from collections import Counter

from hkoji.game.position import Position
from hkoji.messages.text import all_of, tell
from hkoji.plans.grammar import Plan, action_cards
from hkoji.rules.events import Act, Deal, Draw


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
