"""The table of all decks, by name. To add a deck, add a line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from hkoji.errors import UsageError
from hkoji.messages.text import shorten, tell
from hkoji.show.deck import STANDARD, Deck

_OTHERS: Final = {"everdeck": "hkoji.show.hanamikoji.everdeck:Everdeck"}
"""Imported when they are used."""

DECKS: Final = (STANDARD.name, *_OTHERS)


def find_deck(name: str) -> Deck:
    """Returns the deck of that name. Raises `UsageError`."""
    if name == STANDARD.name:
        return STANDARD
    if name not in _OTHERS:
        raise UsageError(
            tell("there is no deck {name!r}", name=shorten(name)), hint=tell("decks: {names}", names=", ".join(DECKS))
        )
    module, _, made = _OTHERS[name].partition(":")
    return cast(Callable[[], Deck], getattr(import_module(module), made))()
