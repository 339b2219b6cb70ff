"""The player's side as a library: `Client` does what the commands do, and is what programs import.

Light to import on purpose; it knows no command line.
"""

from hkoji.client.client import Client
from hkoji.client.game import Made
from hkoji.client.home import Home
from hkoji.game.position import Position

__all__ = ["Client", "Home", "Made", "Position"]
