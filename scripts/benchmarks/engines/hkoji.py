"""hkoji through its public rules API, as a referee of both hands: every event is checked, every state a new value."""

from __future__ import annotations

import sys

from hkoji.rules.events import Chance, Draw, Event, Reveal
from hkoji.rules.protocol import DECISION_KINDS, Due, State
from hkoji.rules.registry import RULESETS
from scripts.benchmarks.engines.driver import chance, pick, serve


def main(game: str) -> None:
    """Plays the game of that name with its default options."""
    ruleset = RULESETS[game]()
    cards = [kind for _, kind in ruleset.pack.deck()]
    width = ruleset.pack.width

    def play() -> int:
        decisions = 0
        face_down: dict[int, str] = {}
        state: State = ruleset.initial()
        while (due := state.due) is not Due.OVER:
            seat = state.actor
            event: Event
            if due is Due.DRAW:
                assert seat is not None
                event = Draw(seat, state.deck[:width])
            elif due is Due.DEAL:
                chance.shuffle(cards)
                event = ruleset.deal(tuple(cards))
            elif due is Due.REVEAL:
                (shown, *_) = state.due_reveals()
                event = Reveal(shown, face_down[shown])
            elif due is Due.CHANCE:
                event = Chance(pick((0, 1)))
            else:
                assert seat is not None
                action = pick(state.legal_actions())
                if due is Due.ACT:
                    for hidden in ruleset.hidden(action):
                        if hidden.counts:
                            face_down[seat] = hidden.cards
                event = DECISION_KINDS[due](seat, action)
                decisions += 1
            state = state.apply(event)
        return decisions

    serve(play)


if __name__ == "__main__":
    main(sys.argv[1])
