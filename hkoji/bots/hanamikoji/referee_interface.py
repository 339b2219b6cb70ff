"""The interface of the public Hanamikoji referees: a round's history, the bot's cards and the board in; one move out.

In those contests a bot is a function `hanamikoji_action(history, cards, board)` of text, text and seven numbers. Here
a program reads these as three lines, with spaces between the numbers of `board`, and writes the move as one line:

    3EEG-E 1X 2AB
    BCCDFG
    1 0 0 0 0 -1 0

`history` has a token for each action of the round so far, with its answer attached; the other's hidden cards are `X`.
`board` is the favours before the round, A to G: 1 is the bot's own, -1 the other's, 0 nobody's. A JavaScript module
with such a function needs no changes: node runs it through `referee.mjs`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hkoji.bots.program import Interface
from hkoji.bots.protocol import Seen
from hkoji.errors import UsageError
from hkoji.messages.text import tell
from hkoji.rules.events import Act, Answer, Deal, Event
from hkoji.rules.hanamikoji.position import NEUTRAL
from hkoji.rules.hanamikoji.ruleset import NAME, HanamikojiState

_MODULES: Final = (".js", ".mjs")
_RUNNER: Final = Path(__file__).with_name("referee.mjs")


def _runner(program: str) -> tuple[str, ...]:
    """Returns for a JavaScript module node with `referee.mjs`, which calls the module's function; else nothing."""
    return ("node", str(_RUNNER)) if program.endswith(_MODULES) else ()


def _question(seen: Seen) -> str:
    """Returns history, cards and board. Raises `UsageError` for another game."""
    view = seen.view
    if not isinstance(view, HanamikojiState):
        raise UsageError(
            tell("the referees' interface knows {game} only", game=NAME), hint=tell("use the JSON interface")
        )
    hand = view.ruleset.pack.decode(view.hands[seen.seat])
    board = " ".join(_favor(marker, seen.seat) for marker in view.markers)
    return f"{' '.join(history(seen.events))}\n{hand}\n{board}\n"


def history(events: tuple[Event, ...]) -> tuple[str, ...]:
    """Returns the tokens of the current round: `3BCC-C`, `2XX`, `4ACBD`."""
    tokens: list[str] = []
    for event in events:
        match event:
            case Deal():
                tokens = []
            case Act():
                tokens.append(event.action)
            case Answer():
                tokens[-1] += event.action
    return tuple(tokens)


def _favor(marker: str, seat: int) -> str:
    if marker == NEUTRAL:
        return "0"
    return "1" if int(marker) == seat else "-1"


REFEREE: Final = Interface(_question, _runner)
