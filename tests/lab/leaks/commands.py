"""Compares what the `hkoji` command prints for a viewer and keeps on their disk in two worlds: it must be the same.

The command is the real one, with its own client and home, in the same folder in both worlds; only the connection is a
function call, and the time is the world's.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from unittest.mock import patch

from hkoji.client import Client, Home
from hkoji.client.kept.files import write_file
from hkoji.client.transport import HttpAnswer, Transport
from tests.lab.leaks.comparison import Leak, Scene
from tests.lab.leaks.stories import OPENING
from tests.lab.leaks.telling import Person
from tests.lab.leaks.worlds import ADDRESS, TRUTH, Request, World
from tests.support.commands import NearTransport
from tests.support.shell import run
from tests.support.time_by_hand import client_time

_COMMANDS: Final = (
    "show GAME",
    "show GAME --json",
    "show GAME --plain",
    "log GAME",
    "log GAME --json",
    "games",
    "games --json",
    "games --all --json",
    "next",
    "next --json",
    "export GAME",
    "export GAME --json",
    "replay GAME",
    "replay GAME --json",
    "replay GAME --eyes spectator --json",
    "replay GAME --eyes host",
    "replay GAME --step --json",
    "wait GAME --timeout 0",
    "audit GAME --json",
    "audit GAME",
    "audit GAME --clock",
    "audit GAME --clock --json",
    "clock GAME",
    "clock GAME --json",
    "move GAME 9",
    "move GAME TRIED",
    "move GAME TRIED --json",
    "move GAME LEGAL --dry-run",
    "move GAME LEGAL --dry-run --json",
    "move GAME TRIED --dry-run",
    "games --open",
    "games --open --clock none --json",
    "games --with OTHER",
    "games --with OTHER --json",
    "games --series 0123 --json",
    "talk GAME",
    "talk GAME --json",
    "talk GAME --mute",
    "note GAME",
    "note GAME they keep something --json",
    "plan GAME",
    "plan GAME PLAN --yes",
    "plan GAME PLAN --yes --json",
    "plan GAME PLAN --try TRIED",
    "plan GAME PLAN --try TRIED --json",
    "plan --list --json",
    "keys",
    "keys --json",
    "notify list",
    "notify list --json",
    "block --list",
    "config invites",
)
_BEGUN: Final = ("decline GAME", "rematch GAME --json")
"""Commands that are refused while a game goes on."""
_PLANS: Final = {
    "hanamikoji": "3* : -A -1 -2 -B -C -D -E -F -G\n-* ** : 1A 1C 1E 1G 2AB 2FG\n** : only\n",
    "geishas-road": ">* : only\n-* ** : only\n** : only\n",
}
_LATER: Final = ("--dry-run", "plan --list", "note GAME")
"""Parts of commands that ask no service. So others fetch the game first."""
_FEW: Final = 6


_PLACE: Final = re.compile("LEGAL|OTHER|TRIED")


class _Called(NearTransport):
    """The transport to a world whose event loop runs in another thread."""

    def __init__(self, url: str, world: World, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(url)
        self._world, self._loop = world, loop

    def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
        """The world's answer."""
        asked = self._ask(Request("by the command", method, path, token, body or b""))
        return asyncio.run_coroutine_threadsafe(asked, self._loop).result()

    async def _ask(self, request: Request) -> HttpAnswer:
        answer = await self._world.ask(request)
        if answer.status == 200 and "/view" in request.path:
            self._world.allow_view(answer.json["view"]["text"])
            if "signed_head" in answer.json:
                self._world.allow_head(answer.json["signed_head"]["text"])
        if answer.status == 200 and request.path.endswith("/head"):
            self._world.allow_head(answer.json["text"])
        return HttpAnswer(answer.status, answer.body)


@dataclass
class _Reader:
    """A viewer's home at `path`, and clients over it."""

    path: Path
    connect: Callable[[str], Transport]

    @property
    def client(self) -> Client:
        """A fresh client, as a new process would have it."""
        return Client(Home(self.path), connect=self.connect)

    def settle(self, person: Person) -> None:
        """Makes the home of a player who is registered and logged in."""
        home = Home(self.path)
        write_file(home.key_file, person.key.to_openssh())
        home.update_config(name=person.name, key=person.key.public.text, key_file=home.key_file.name)
        home.set_token(ADDRESS, person.token)
        self.client.register(ADDRESS)


async def look(scene: Scene, viewer: str) -> list[Leak]:
    """Runs some commands for a viewer in both worlds and compares them."""
    eye = scene.eye(viewer, TRUTH)
    goes_on = eye.telling.seq >= len(OPENING) - 1 and not scene.story.over
    commands = scene.chance.sample((*_COMMANDS, *(_BEGUN if goes_on else ())), _FEW)
    commands.sort(key=lambda command: any(each in command for each in _LATER))
    tried = scene.chance.choice(eye.tried or ("9",))
    if tried in eye.legal:
        tried = "9"
    legal = scene.chance.choice(eye.legal or ("9",))
    other = eye.telling.guest if viewer == "host" else eye.telling.host
    filled = {"LEGAL": legal, "OTHER": other.name, "TRIED": tried}
    with tempfile.TemporaryDirectory(prefix="hkoji-home-") as folder:
        shown = []
        for name in (TRUTH, viewer):
            world = scene.tellings[name].world
            words = [_PLACE.sub(lambda found: filled[found[0]], command) for command in commands]
            world.draws.use(f"command of {viewer}")
            home = Path(folder) / "home"
            loop = asyncio.get_running_loop()
            shown.append(await asyncio.to_thread(_run, scene, viewer, name, words, home, loop))
            shutil.rmtree(home)
    leaks = []
    for command, one, two in zip([*commands, "files"], *shown, strict=True):
        scene.tally.answers += 1
        scene.tally.kinds[f"hkoji {command}"] += 1
        if one != two:
            at = next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
            parted = f"{one[max(0, at - 60) : at + 60]!r} against {two[max(0, at - 60) : at + 60]!r}"
            leaks.append(Leak(f"hkoji {command}", f"{viewer}, {scene.place}: {parted}"))
    return leaks


def _run(
    scene: Scene, viewer: str, name: str, commands: list[str], home: Path, loop: asyncio.AbstractEventLoop
) -> list[bytes]:
    """The output and exit status of each command, and finally the files of the home."""
    eye = scene.eye(viewer, name)
    world = eye.telling.world
    reader = _Reader(home, lambda url: _Called(url, world, loop))
    reader.settle(eye.me)
    shown = []
    plan, clock = home.parent / "plan", lambda: world.clock().timestamp()
    plan.write_text(_PLANS[scene.story.ruleset.name])
    for command in commands:
        words = command.replace("GAME", eye.game).replace("PLAN", str(plan)).split()
        with client_time(eye.telling.now), patch("hkoji.client.kept.game.time", SimpleNamespace(time=clock)):
            done = run(*words, seat=reader)
        shown.append(world.named(f"{done.code}\n{done.out}\n{done.err}".encode()))
    # This test wrote the key file, which differs each time it is written.
    kept = [file for file in sorted(home.rglob("*")) if file.is_file() and file.name != "id_ed25519"]
    files = b"\n".join(f"{file.relative_to(home)}\n".encode() + file.read_bytes() for file in kept)
    return [*shown, world.named(files)]
