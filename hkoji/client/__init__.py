"""The player's side as a library: `Client` does what the commands do. docs/library.md.

It is light to import, and independent of the command line.
"""

from hkoji.client.client import Client
from hkoji.client.game import ClientGame, MadeMove
from hkoji.client.home import Home
from hkoji.game.position import Position

__all__ = ["Client", "ClientGame", "Home", "MadeMove", "Position"]
