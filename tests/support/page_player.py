"""A player who uses the page's own client in Node.js, without a page: tests/web/node/player.mjs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.browsers import needs_browser

PROGRAM = Path(__file__).parents[1] / "web" / "node" / "player.mjs"


KeptProcesses = list["subprocess.Popen[str]"]
"""Processes that wait for another player: one that has run needs a quarter of the time of a new one."""


class RefusedByPageError(Exception):
    """The client has refused, or the service has: `key` is a text of WORDS."""

    def __init__(self, said: dict[str, Any]) -> None:  # Any: JSON
        super().__init__(said["key"], said.get("values"), said.get("text"))
        self.key: str = said["key"]
        self.values: dict[str, Any] = said.get("values") or {}  # Any: JSON


class TabKilledError(Exception):
    """The process has ended: it was told to kill itself there."""


class PagePlayer:
    """A player with a storage in `folder`, which outlives the process."""

    def __init__(self, origin: str, folder: Path, kept: KeptProcesses | None = None) -> None:
        self._origin = origin
        self._kept = kept
        self._process: subprocess.Popen[str] | None = None
        self.folder = folder

    def do(self, command: str, **values: Any) -> Any:  # Any: JSON
        """Gives a command, and returns its value."""
        if self._process is None:
            if self._kept:
                self._process = self._kept.pop()
                self.do("tab", at=self._origin, place=str(self.folder))
            else:
                words = [str(needs_browser("node")), "--no-warnings", str(PROGRAM), self._origin, str(self.folder)]
                self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": command, **values}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            _end(self._process)
            self._process = None
            raise TabKilledError(command)
        value = json.loads(answer)
        if "error" in value:
            raise RefusedByPageError(value["error"])
        return value["value"]

    def close(self) -> None:
        """Ends the process, as when a tab is closed; or keeps it for another player, who begins anew."""
        if self._process is not None:
            if self._kept is None:
                _end(self._process)
            else:
                self._kept.append(self._process)
            self._process = None

    # --- what a player does ---------------------------------------------------------------------------------------

    def arrive(self, name: str, seed: str | None = None) -> PagePlayer:
        """Meets the service, makes a key and registers."""
        self.do("meet")
        self.do("key", name=name, **({"seed": seed} if seed else {}))
        self.session("register")
        return self

    def session(self, call: str, *args: Any) -> Any:  # Any: JSON
        return self.do("call", on="session", call=call, args=args)

    def game(self, game: str, call: str, *args: Any) -> Any:  # Any: JSON
        return self.do("call", on=game, call=call, args=args)

    def state(self, game: str, call: str, *args: Any) -> Any:  # Any: JSON
        """Says something beside the log: a function of client/game.js."""
        return self.do("statement", game=game, call=call, args=args)

    def join(self, link: str) -> str:
        """Joins by a link, as the page does: looks at it, proves it, joins. Returns the game."""
        shown = self.do("link", text=link)
        game = link.split("/i/")[1][:32]
        self.game(game, "join", {"seen": shown["head"]})
        return game

    def posts(self) -> list[str]:
        """The paths of the requests since the last call that could have changed something."""
        return [path for method, path, *_ in self.do("sent") if method != "GET"]


def _end(process: subprocess.Popen[str]) -> None:
    with process:
        process.kill()


@contextmanager
def kept_processes() -> Iterator[KeptProcesses]:
    """Processes for the players of a block."""
    kept: KeptProcesses = []
    try:
        yield kept
    finally:
        for each in kept:
            _end(each)


@contextmanager
def page_player(origin: str, folder: Path, kept: KeptProcesses | None = None) -> Iterator[PagePlayer]:
    """A player for the duration of a block, in a process of their own or in one of those that are kept."""
    player = PagePlayer(origin, folder, kept)
    try:
        yield player
    finally:
        player.close()
