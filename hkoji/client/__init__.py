"""The player's side as a library: `Client` does what the commands do. docs/library.md.

It is light to import, and independent of the command line. A program loads only the parts that it uses.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hkoji.client.client import Client
    from hkoji.client.game import ClientGame, MadeMove
    from hkoji.client.kept.home import Home
    from hkoji.game.position import Position

__all__ = ["Client", "ClientGame", "Home", "MadeMove", "Position"]

_PLACES = {
    "Client": "hkoji.client.client",
    "ClientGame": "hkoji.client.game",
    "Home": "hkoji.client.kept.home",
    "MadeMove": "hkoji.client.game",
    "Position": "hkoji.game.position",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
