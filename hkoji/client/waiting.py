"""Waiting for one's turn: a service that can wait is asked to, any other is asked again and again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from hkoji.errors import BusyError, CancelledError, NetworkError, TooManyError
from hkoji.game.position import Position
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.client import Client

_FASTEST: Final = 0.2
_SLOWEST: Final = 2.0
_PATIENCE: Final = 60.0
_ASKED: Final = 50
"""For so many seconds is a service asked to wait: less than what lies between may keep a silent connection."""


def wait(client: Client, game: str, timeout: float | None) -> Position:
    """`Client.wait`."""
    end = None if timeout is None else time.monotonic() + timeout
    position = client.position(game)
    pause, asked = _FASTEST, _ASKED
    silent_since: float | None = None
    while not (position.over or position.mine):
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            raise CancelledError(
                tell("still waiting in game {game}", game=game[:8]), hint=tell("give a longer --timeout, or none")
            )
        began, seq = time.monotonic(), position.course.seq
        seconds = asked if left is None else min(asked, int(left))
        try:
            if client.service(client.server_of(game)).log(game, seq, seconds):
                position = client.position(game)
            asked, silent_since = _ASKED, None
        except (BusyError, TooManyError) as error:
            asked, pause = 0, max(_SLOWEST, min(error.retry_after, _PATIENCE))
        except NetworkError:
            silent_since = silent_since or began
            if time.monotonic() - silent_since > _PATIENCE:
                raise
        if position.course.seq > seq:
            pause = _FASTEST
        elif time.monotonic() - began < seconds / 2 or not seconds:
            # It has not waited: it cannot, or stops, or says that there is something and does not show it.
            left = pause if end is None else end - time.monotonic()
            time.sleep(max(0.0, min(pause, left)))
            pause = min(pause * 1.5, _SLOWEST)
    return position
