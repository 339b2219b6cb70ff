"""Random play through the public rules API, and replay of finished logs."""

from __future__ import annotations

import random

from hkoji.game.replay import replay
from hkoji.log.line import parse_log
from hkoji.rules.events import Act, Answer, Deal, Draw, Reveal
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due
from scripts.bench.page import Figure, record
from scripts.bench.timing import report, speeds
from tests.support.table import whole_game

_GAMES = 60


def run() -> None:
    """Prints decisions a second and entries a second."""
    ruleset = Hanamikoji()
    deck = [kind for _, kind in ruleset.pack.deck()]
    chance = random.Random(1)

    def play() -> int:
        decisions = 0
        for _ in range(400):
            state = ruleset.initial()
            while (due := state.due) is not Due.OVER:
                if due is Due.DRAW:
                    assert state.actor is not None
                    state = state.apply(Draw(state.actor, state.deck[0]))
                elif due is Due.DEAL:
                    chance.shuffle(deck)
                    dealt: Deal = ruleset.deal(tuple(deck))
                    state = state.apply(dealt)
                elif due is Due.REVEAL:
                    seat = state.due_reveals()[0]
                    state = state.apply(Reveal(seat, ruleset.pack.decode(state.secrets[seat])))
                else:
                    assert state.actor is not None
                    kind = Act if due is Due.ACT else Answer
                    state = state.apply(kind(state.actor, chance.choice(state.legal_actions())))
                    decisions += 1
        return decisions

    logs = [parse_log(whole_game(seed).text) for seed in range(_GAMES)]

    def replay_all() -> int:
        return sum(len(replay(lines).steps) for lines in logs)

    def parse_all() -> int:
        return sum(len(parse_log(text)) for text in texts)

    texts = [whole_game(seed).text for seed in range(_GAMES)]
    contenders = {"random play, decisions": play, "parse of a log, entries": parse_all, "replay, entries": replay_all}
    found = speeds(contenders)
    report("Rules and replay", "/s", found, "random play, decisions")
    record("random play at Hanamikoji, decisions a second", Figure(found["random play, decisions"]))
    record("parse of a log, entries a second", Figure(found["parse of a log, entries"]))
    record("replay of finished games, entries a second", Figure(found["replay, entries"]))
