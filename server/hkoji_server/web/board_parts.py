"""The parts of the boards of all games: both players' strips, cards, the actions, and the pack of cards for scripts.

A board is made of a position and nothing else, so it shows only what the position's owner knows. A card that is not
known is an `X`, whose back is drawn. Words are messages; templates say them in the reader's language.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from hkoji.game.course import Course
from hkoji.messages.text import Text, tell
from hkoji.rules.events import Seat
from hkoji.show.svg.table import ActionTile

FAR, NEAR, MIDDLE = "far", "near", ""
"""The sides of a board: above, below, and neither."""

THINGS: Final = {
    "A": tell("fan"),
    "B": tell("parasol"),
    "C": tell("comb"),
    "D": tell("tea bowl"),
    "E": tell("lantern"),
    "F": tell("blossom"),
    "G": tell("moon"),
}
"""The things on the pictures of cards, by the letter of the kind."""


class Face(NamedTuple):
    """A card of the pack: what stands in its corner beside the name, and its name for readers of no pictures."""

    card: str
    corner: str
    label: Text


class Slip(NamedTuple):
    """A card on the table. `turned_up` marks one that lay face down until the end of the round."""

    card: str
    turned_up: bool = False


class Strip(NamedTuple):
    """A player. `name` is None for a guest who has not come yet, and `asked` the only one who may come, if anybody is.

    `hand` are the cards that the player holds.
    """

    side: str
    name: str | None
    asked: str | None
    to_move: bool
    totals: tuple[Text, ...]
    hand: tuple[str, ...]
    signs: tuple[ActionTile, ...]


def strip(course: Course, seat: Seat, near: Seat, totals: tuple[Text, ...], signs: tuple[ActionTile, ...]) -> Strip:
    """Returns the strip of a seat, seen from the seat `near`."""
    pack = course.setup.ruleset.pack
    return Strip(
        side_of(seat, near),
        course.setup.names[seat],
        course.setup.invited,
        course.actor == seat and not course.finished,
        totals,
        pack.split(pack.decode(course.state.hands[seat])),
        signs,
    )


def side_of(owner: Seat | None, near: Seat) -> str:
    """The side of the board that belongs to a seat; None owns the middle."""
    return MIDDLE if owner is None else NEAR if owner == near else FAR


def side_of_marker(marker: str, near: Seat) -> str:
    """The side on which a marker of a position lies."""
    return side_of(int(marker) if marker.isdigit() else None, near)


def pile(cards: Iterable[str], turned_up: str) -> tuple[Slip, ...]:
    """Cards of one kind on one side; of those that are the card `turned_up`, the last one was."""
    names = list(cards)
    marked = len(names) - 1 - names[::-1].index(turned_up) if turned_up in names else -1
    return tuple(Slip(card, number == marked) for number, card in enumerate(names))
