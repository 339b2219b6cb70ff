"""A service whose deals are read from files beside its data, the folder DIR, with the test's randomness and time.

`DIR.deals` has a file for each seed (chosen_deals.py). `DIR.draws` says what the next randomness is for: the session,
the world, whether it is a secret of that world, and a label. The time stands still. With `PLANTED` in the environment
the service writes hands into its log, to check that this is found.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import structlog
from hkoji_server import app
from hkoji_server.service.games.views import GameViews
from hkoji_server.service.time.service_time import ClockAndEntropy

from tests.lab.leaks.chosen_deals import DealFiles, chosen_deals
from tests.lab.leaks.worlds import Draws
from tests.support.service_in_process import Clock

_LASTING: Final = ExitStack()


class DrawsOfFile(Draws):
    """The randomness described by a file."""

    def __init__(self, file: Path) -> None:
        self._file, self._said = file, ""
        super().__init__("", "")

    def __call__(self, size: int) -> bytes:
        """Bytes for the current contents of the file."""
        said = self._file.read_text()
        if said != self._said:
            self._said = said
            value = json.loads(said)
            self._session, self._world = value["session"], value["world"]
            self.use(value["label"], secret=value["secret"])
        return super().__call__(size)


def plant() -> None:
    """Makes every view write both hands into the log."""
    true = GameViews.view

    async def view(self: GameViews, game: str, *given: Any) -> Any:
        structlog.get_logger("hkoji").info(
            "view", hands=(await self._held.current(game)).refereed.course.state.to_json()["hands"]
        )
        return await true(self, game, *given)

    patch.object(GameViews, "view", view).start()


def choose(data: Path) -> None:
    """Changes this process, which is going to serve `data`."""
    if os.environ.get("PLANTED"):
        plant()
    draws = DrawsOfFile(Path(f"{data}.draws"))
    patch.object(app, "ClockAndEntropy", lambda: ClockAndEntropy(Clock(), draws)).start()
    _LASTING.enter_context(chosen_deals(DealFiles(Path(f"{data}.deals"))))
