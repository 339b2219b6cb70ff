"""The deck of this process.

`--deck`, `HKOJI_DECK` or the settings choose one. A deck chosen on the command line must fit the game; a deck from the
environment or the settings is used for the games that it fits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkoji.errors import UsageError
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.show.deck import Deck


class _Chosen:
    deck: Deck | None = None
    asked = False


def use(name: str | None, *, asked: bool = True) -> None:
    """Makes `name` the deck of this process; None stands for every game's own cards.

    `asked` says that the command line names it. Raises `UsageError` if there is no such deck.
    """
    _Chosen.asked, _Chosen.deck = asked and name is not None, None
    if name is not None:
        from hkoji.show.deck import find_deck

        _Chosen.deck = find_deck(name)


def deck_for(ruleset: str) -> Deck:
    """Returns the deck for a game. Raises `UsageError` if the command line names one that does not fit the game."""
    from hkoji.show.deck import STANDARD

    deck = _Chosen.deck or STANDARD
    if deck.fits(ruleset):
        return deck
    if _Chosen.asked:
        raise UsageError(
            tell("{game} cannot be played with the deck {deck!r}", game=ruleset, deck=deck.name),
            hint=tell("leave --deck out"),
        )
    return STANDARD


def chosen() -> Deck | None:
    """Returns the deck that was chosen in any way; None if there is none."""
    return _Chosen.deck


def is_standard() -> bool:
    """Whether every game's own cards are in use, so that a typed move needs no deck to read it."""
    return _Chosen.deck is None or _Chosen.deck.name == "standard"
