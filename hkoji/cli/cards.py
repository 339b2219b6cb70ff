"""The deck of this process: how cards are named for the person who sits at it, in and out.

`--deck`, `HKOJI_DECK` or the settings choose one. A deck that was asked for on the command line has to suit the game;
one that is merely settled on is used where it does.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hkoji.cli.language import translate
from hkoji.errors import UsageError
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.show.decks import Deck


class _Chosen:
    deck: Deck | None = None
    asked = False


def use(name: str | None, *, asked: bool = True) -> None:
    """Makes `name` the deck of this process; None is every game's own cards. `asked`: for this very command.

    Raises `UsageError` if there is no such deck.
    """
    _Chosen.asked, _Chosen.deck = asked and name is not None, None
    if name is not None:
        from hkoji.show.decks import find_deck

        _Chosen.deck = find_deck(name)


def deck_for(ruleset: str) -> Deck:
    """The deck for a game. Raises `UsageError` if one was asked for that the game cannot be played with."""
    from hkoji.show.decks import STANDARD

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
    """The deck that was chosen, in whichever way; None if none was."""
    return _Chosen.deck


def is_standard() -> bool:
    """Whether every game's own cards are in use: then what was typed needs no reading."""
    return _Chosen.deck is None or _Chosen.deck.name == "standard"


def typed(deck: Deck, action: str) -> str:
    """What to type for an action, in the deck's words and the language in use."""
    return " ".join(translate(part) for part in deck.parts(action))


def symbols(deck: Deck, cards: Iterable[str]) -> str:
    """Cards side by side, a column or a name each."""
    return " ".join(deck.symbol(card) for card in cards)


def spelled(deck: Deck, cards: Iterable[str]) -> str:
    """Cards spelled out, in the language in use."""
    return " ".join(translate(deck.word(card)) for card in cards)
