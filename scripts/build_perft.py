"""Counts the decision sequences of some deals, as other engines can too: tests/data/hanamikoji.perft.

A line is a deal as in a transcript and the numbers of sequences of 1, 2, 3 … decisions from it. `--check` compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hkoji.rules.events import Act, Answer, Deal, Draw
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, State

FILE = Path(__file__).parents[1] / "tests" / "data" / "hanamikoji.perft"
DEALS = {
    "=ABCDEF/ABCDEF/GGGGGDEF/F": 3,
    "=AABBCC/DDDEEE/FFFFGGGG/G": 3,
    "=GGGGGF/FFFEEE/DDDCCBBA/A": 4,
    "=CDEFFF/BDEEFG/BAAGGDCG/G": 3,
}


def counts(deal: str, depth: int) -> list[int]:
    """How many sequences of 1 to `depth` decisions a deal allows in a first round."""
    hands = deal[1:].split("/")
    state: State = Hanamikoji().initial()
    state = state.apply(Deal((hands[0], hands[1]), hands[2], hands[3]))
    return [_count(state, n) for n in range(1, depth + 1)]


def _count(state: State, depth: int) -> int:
    if state.due is Due.DRAW:
        assert state.actor is not None
        return _count(state.apply(Draw(state.actor, state.deck[0])), depth)
    legal = state.legal_actions()
    if depth == 1:
        return len(legal)
    assert state.actor is not None
    kind = Act if state.due is Due.ACT else Answer
    return sum(_count(state.apply(kind(state.actor, action)), depth - 1) for action in legal)


def main() -> None:
    """Writes the file, or with `--check` compares it."""
    text = "".join(f"{deal} {' '.join(map(str, counts(deal, depth)))}\n" for deal, depth in DEALS.items())
    if "--check" in sys.argv[1:]:
        if FILE.read_text() != text:
            sys.exit(f"{FILE} is not what scripts/build_perft.py makes")
        return
    FILE.write_text(text)


if __name__ == "__main__":
    main()
