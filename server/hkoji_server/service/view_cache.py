"""What was made of games to show them, kept as long as nothing has come after it.

A process may keep this without being asked by anybody, because nothing is served from it that is not of the head that
the store has just told: what is kept of an earlier one is as good as not there. Each viewer has what was made for
them, by name; a viewer without one is a spectator.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from hkoji.game.course import Course
from hkoji.game.openings import Opening
from hkoji.log.statement import View
from hkoji.rules.protocol import State


@dataclass(frozen=True, slots=True)
class OwnView:
    """What a seat may see: the signed statement of its cards, its position, and its openings."""

    view: View
    sig: bytes
    course: Course
    state: State
    legal: tuple[str, ...]
    openings: tuple[Opening, ...]


class ViewCache:
    """Of at most `most` games, those asked for last; of each at one head only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[str, dict[str | None, bytes]]] = OrderedDict()

    def get(self, game: str, head: str, viewer: str | None) -> bytes | None:
        """What was made for `viewer` of a game at `head`."""
        kept = self._kept.get(game)
        if kept is None or kept[0] != head:
            return None
        self._kept.move_to_end(game)
        return kept[1].get(viewer)

    def keep(self, game: str, head: str, viewer: str | None, made: bytes) -> None:
        """Keeps what was made; it takes the place of everything that is of another head."""
        kept = self._kept.get(game)
        if kept is None or kept[0] != head:
            kept = self._kept[game] = (head, {})
        kept[1][viewer] = made
        self._kept.move_to_end(game)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
