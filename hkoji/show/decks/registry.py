"""Which decks there are. The one place that names them all."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from hkoji.errors import UsageError, shorten
from hkoji.messages.text import tell
from hkoji.show.decks.protocol import Deck
from hkoji.show.decks.standard import StandardDeck

STANDARD: Final[Deck] = StandardDeck()
_OTHERS: Final = {"everdeck": "hkoji.show.decks.everdeck:Everdeck"}
"""Imported only when they are used."""

DECKS: Final = (STANDARD.name, *_OTHERS)


def find_deck(name: str) -> Deck:
    """The deck of that name. Raises `UsageError`."""
    if name == STANDARD.name:
        return STANDARD
    if name not in _OTHERS:
        raise UsageError(
            tell("there is no deck {name!r}", name=shorten(name)), hint=tell("decks: {names}", names=", ".join(DECKS))
        )
    module, _, made = _OTHERS[name].partition(":")
    return cast(Callable[[], Deck], getattr(import_module(module), made))()
