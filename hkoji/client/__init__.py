"""The player's side as a library: `Client` does what the commands do, and is what programs import.

Light to import on purpose; it knows no command line.
"""

from hkoji.client.home import Home
from hkoji.client.position import Position
from hkoji.client.session import Client
from hkoji.client.table import Made

__all__ = ["Client", "Home", "Made", "Position"]
