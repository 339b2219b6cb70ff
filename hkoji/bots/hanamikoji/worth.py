"""The worth of favour markers: the chance to win the whole game with the markers as they lie after a round.

A game without a limit goes on until a player has won, and markers stay from round to round. So a round is not won or
lost: its result is its markers. Their worth follows from a chain of rounds, in which each geisha's marker moves on its
own with the chances in `MOVES`, measured by `scripts/bench/bots.py --markers`. In truth the geisha depend on each
other; the chain ignores that. The rules decide when a game ends.
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

from hkoji.bots.hanamikoji.model import KINDS, Lead, leads
from hkoji.rules.events import Seat
from hkoji.rules.hanamikoji import scoring
from hkoji.rules.hanamikoji.actions import CHARM
from hkoji.rules.hanamikoji.position import HanamikojiOptions

MOVES: Final = {2: (0.31, 0.33), 3: (0.44, 0.37), 4: (0.32, 0.36), 5: (0.26, 0.29)}
"""For each charm, how often a round's starter has more of a geisha's items, and how often the other player."""

SETTLED: Final = 12
"""The number of rounds to look ahead in a game without a limit: hardly any game lasts that long."""

Worths: TypeAlias = tuple[float, ...]
"""Indexed by the markers as a number in base 3, geisha A the lowest digit: 0 middle, 1 the starter's, 2 the other's."""

_SIZE: Final = 2187
_POWERS: Final[tuple[int, ...]] = tuple(3**i for i in range(KINDS))


@cache
def _ends(goals_only: bool, tiebreak: str) -> tuple[float | None, ...]:
    """Returns the worth for the side whose markers are 1 where the rules end the game, and None elsewhere."""
    worths: list[float | None] = []
    for code in range(_SIZE):
        markers = "".join(".01"[code // power % 3] for power in _POWERS)
        outcome = scoring.winner(markers) or (None if goals_only else scoring.limit(markers, tiebreak))
        worths.append(None if outcome is None else {0: 1.0, 1: 0.0, None: 0.5}[outcome.winner])
    return tuple(worths)


@cache
def _swap() -> tuple[int, ...]:
    """Returns the index of each position with the sides swapped."""
    return tuple(sum((0, 2, 1)[code // power % 3] * power for power in _POWERS) for code in range(_SIZE))


@cache
def before_round(rounds: int, tiebreak: str) -> Worths:
    """Returns the chance to win of the player who starts a round, with at most `rounds` to go, this one included."""
    values = list(after_round(rounds - 1, tiebreak))
    for power, charm in zip(_POWERS, CHARM, strict=True):
        more, less = MOVES[charm]
        tie = 1.0 - more - less
        for code in range(_SIZE):
            if code // power % 3 == 0:
                middle, mine, yours = values[code], values[code + power], values[code + 2 * power]
                moved = more * mine + less * yours
                values[code] = moved + tie * middle
                values[code + power] = moved + tie * mine
                values[code + 2 * power] = moved + tie * yours
    return tuple(values)


@cache
def after_round(rounds: int, tiebreak: str) -> Worths:
    """Returns the chance to win of the player who started the round just scored, with at most `rounds` to go."""
    swap = _swap()
    if rounds == 0:
        return tuple(worth if worth is not None else 0.0 for worth in _ends(False, tiebreak))
    ahead = before_round(rounds, tiebreak)
    return tuple(
        worth if worth is not None else 1.0 - ahead[swap[code]] for code, worth in enumerate(_ends(True, tiebreak))
    )


def code_of(markers: str, seat: Seat) -> int:
    """Returns the markers as a number from the side of `seat`: its own have the digit 1."""
    digits = {scoring.NEUTRAL: 0, str(seat): 1, str(1 - seat): 2}
    return sum(digits[marker] * power for marker, power in zip(markers, _POWERS, strict=True))


class HanamikojiRoundWorth(dict[Lead, float]):
    """A seat's chance to win the game, by its lead at the end of the current round. Entries are computed on demand."""

    def __init__(self, ruleset: HanamikojiOptions, markers: str, seat: Seat, first: Seat, number: int) -> None:
        """`markers` are those before the scoring of round `number`, which seat `first` has started."""
        super().__init__()
        to_go = ruleset.max_rounds - number if ruleset.max_rounds else SETTLED
        after = after_round(to_go, ruleset.tiebreak)
        swap = _swap()
        self._worths: Worths = after if seat == first else tuple(1.0 - after[swap[code]] for code in range(_SIZE))
        before = code_of(markers, seat)
        self._digits = tuple(before // power % 3 for power in _POWERS)

    def __missing__(self, lead: Lead) -> float:
        code = 0
        for ahead, digit, power in zip(leads(lead), self._digits, _POWERS, strict=True):
            code += power * (1 if ahead > 0 else 2 if ahead < 0 else digit)
        worth: float = self._worths[code]
        self[lead] = worth
        return worth
