"""Random plans and tokens, and a naive reading of the page about plans: docs/plans.md."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hkoji.rules.events import Chance, Close, Deal, Draw, Event, Reveal, Seat
from hkoji.rules.protocol import Due, State
from tests.support.rules import Played


def naive_matches(pattern: Sequence[str], seen: Sequence[str]) -> bool:
    """Whether a pattern describes the tokens seen, by trying everything."""
    if not pattern:
        return not seen
    if pattern[0] == "**":
        return any(naive_matches(pattern[1:], seen[skipped:]) for skipped in range(len(seen) + 1))
    return bool(seen) and naive_token(pattern[0], seen[0]) and naive_matches(pattern[1:], seen[1:])


def naive_token(pattern: str, token: str) -> bool:
    """Whether one token of a pattern, not `**`, describes one token."""
    if not pattern:
        return not token
    if pattern[0] == "*":
        return any(naive_token(pattern[1:], token[skipped:]) for skipped in range(len(token) + 1))
    return bool(token) and pattern[0] in ("?", token[0]) and naive_token(pattern[1:], token[1:])


def naive_tokens(events: Sequence[Event], seat: Seat) -> tuple[str, ...]:
    """The events of a round that a seat sees, with its own moves and the other's draws left out."""
    found = []
    for event in events:
        match event:
            case Draw(owner, card):
                if owner == seat:
                    found.append(f"+{card}")
            case Chance() | Deal() | Reveal() | Close():
                continue
            case _:
                if event.seat != seat:
                    found.append(event.action)
    return tuple(found)


def naive_choice(lines: Sequence[str], seen: Sequence[str], legal: Sequence[str], state: State) -> str | None:
    """The move of a plan in canonical form; None for nothing."""
    for line in lines:
        pattern, _, choices = line.partition(":")
        if not naive_matches(pattern.split(), seen):
            continue
        for choice in choices.split():
            if choice == "only":
                if len(legal) == 1:
                    return legal[0]
            elif state.parse_action(choice) in legal:
                return state.parse_action(choice)
    return None


def blurred(token: str, chance: random.Random) -> str:
    """A token with some of its characters replaced by `?` and `*`."""
    cut = chance.randrange(1, len(token) + 1)
    return chance.choice((token, token[:cut] + ("*" if cut < len(token) else ""), token[:-1] + "?", "*", "**"))


def random_line(play: Played, seat: Seat, chance: random.Random) -> str:
    """A line for a seat in a game that goes on as in `play`, or nearly so."""
    events = play.seen_by(seat)
    begin = chance.randrange(len(events))
    until = next((n for n in range(begin + 1, len(events)) if isinstance(events[n], Deal)), len(events))
    tokens = naive_tokens(events[begin:until], seat)[: chance.randrange(4)]
    pattern = " ".join(blurred(token, chance) for token in tokens) or "**"
    return f"{pattern} : {random_choices(play, seat, chance)}"


def random_choices(play: Played, seat: Seat, chance: random.Random) -> str:
    """Some moves, or `only`."""
    if chance.random() < 0.2:
        return "only"
    mine = [state for state in play.states if state.actor == seat and state.due in (Due.ACT, Due.ANSWER, Due.ORDER)]
    legal = [action for state in chance.sample(mine, min(3, len(mine))) for action in state.legal_actions()]
    return " ".join(chance.sample(legal, min(len(legal), chance.randrange(1, 9)))) if legal else "only"
