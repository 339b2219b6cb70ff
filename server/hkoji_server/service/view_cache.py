"""A cache of views, each valid for one head of its game.

Processes need not inform each other: a view is served only for the head that the store has just returned, and one for
an earlier head counts as missing. Each viewer has views of their own, by name; a viewer without a name is a spectator.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from hkoji.game.commitments import Opening
from hkoji.game.course import Course
from hkoji.log.statement import View
from hkoji.rules.protocol import State


@dataclass(frozen=True, slots=True)
class OwnView:
    """A game as a seat sees it: the signed statement of its cards, its position, and its openings."""

    view: View
    sig: bytes
    course: Course
    state: State
    legal: tuple[str, ...]
    openings: tuple[Opening, ...]


class ViewCache:
    """The views of the `most` games that were requested last, each game at one head only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[str, dict[str | None, bytes]]] = OrderedDict()

    def get(self, game: str, head: str, viewer: str | None) -> bytes | None:
        """Returns the view made for `viewer` of a game at `head`."""
        kept = self._kept.get(game)
        if kept is None or kept[0] != head:
            return None
        self._kept.move_to_end(game)
        return kept[1].get(viewer)

    def keep(self, game: str, head: str, viewer: str | None, made: bytes) -> None:
        """Keeps a view, and forgets all views of the game at another head."""
        kept = self._kept.get(game)
        if kept is None or kept[0] != head:
            kept = self._kept[game] = (head, {})
        kept[1][viewer] = made
        self._kept.move_to_end(game)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
