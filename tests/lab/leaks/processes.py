"""The same comparison with real processes: the service over a socket, its log file, and the command.

It is slow and therefore covers few states. It adds what comparison.py lacks: the HTTP server's own headers, what a
service process writes to its log, and the command as a process with its own connection. It compares two worlds of one
viewer.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import re
import shutil
import subprocess
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.client import Client, Home
from hkoji.client.kept.files import write_file
from hkoji.log.private_key import PrivateKey
from tests.lab.leaks.asides import begin, take_step
from tests.lab.leaks.chosen_deals import DealFiles
from tests.lab.leaks.chosen_service import choose
from tests.lab.leaks.comparison import Leak, Scene, Tally
from tests.lab.leaks.stories import SEATS_OF, Story, sample_story
from tests.lab.leaks.telling import Telling
from tests.lab.leaks.worlds import ADDRESS, TRUTH, Answer, Draws, Journal, Request, World, difference
from tests.support.service import HKOJI, Service, start

_COMMANDS: Final = (
    "show GAME",
    "show GAME --json",
    "log GAME --json",
    "games --json",
    "next",
    "replay GAME --json",
    "audit GAME --clock --json",
)
_TIMES: Final = re.compile(r'"(ms|pid|request|timestamp)": ("[^"]*"|[0-9.]+)')


class _DrawsToFile(Draws):
    """Names the purpose of the next randomness, for this process and another one."""

    def __init__(self, session: str, world: str, file: Path) -> None:
        self._file = file
        super().__init__(session, world)

    def use(self, label: str, *, secret: bool = False) -> None:
        """Sets the purpose of the randomness that follows."""
        super().use(label, secret=secret)
        said = {"session": self._session, "world": self._world, "label": label, "secret": secret}
        self._file.write_text(json.dumps(said))


class ServedWorld(World):
    """A world whose service is a process, reached over a socket."""

    service: Service

    async def start(self) -> World:
        self.draws = _DrawsToFile(self.session, self.name, Path(f"{self.data}.draws"))
        chosen = partial(choose, self.data)
        settled = {"origin": ADDRESS}
        self.service = await asyncio.to_thread(
            start, self.data, log_level="debug", forked=True, prepare=chosen, settings=settled
        )
        self.store = SqliteStore(self.data / "hkoji.sqlite3")
        identity = await self.store.identity()
        assert identity
        self.key = PrivateKey.from_openssh(identity[0].encode())
        self.secrets.update(identity[0].splitlines()[1:-1])
        return self

    async def stop(self) -> None:
        """Ends the process and reads its log."""
        self.store.close()
        await asyncio.to_thread(self.service.stop)
        self.logged.append(self.service.log.read_text())

    async def ask(self, request: Request) -> Answer:
        """One request on a new connection; the raw bytes of the answer, without the date."""
        return await asyncio.to_thread(self._ask, request)

    def _ask(self, request: Request) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=300)
        headers = dict(request.headers)
        if request.token:
            headers["authorization"] = f"Bearer {request.token}"
        if request.body:
            headers.setdefault("content-type", "application/json")
        headers["host"] = "inside"
        try:
            connection.request(request.method, request.path, request.body or None, headers)
            response = connection.getresponse()
            shown = tuple(
                (name.encode(), b"#" * len(value) if name.lower() == "date" else value.encode())
                for name, value in response.getheaders()
            )
            return Answer(response.status, shown, response.read(), "")
        finally:
            connection.close()

    def log_text(self) -> str:
        """The complete log file, without this process's own times, folder and port."""
        text = self.service.log.read_text().replace(str(self.data), "DATA").replace(self.service.url, "URL")
        return self.named(_TIMES.sub(r'"\1": #', text).encode()).decode()


async def compare(
    seed: int, folder: Path, viewer: str, *, every: int = 4, commands: int = 2, positions: int = 1000
) -> Tally:
    """Plays one story in two processes, up to `positions` positions; compares one in `every` over HTTP and by some
    commands."""
    chance = random.Random(f"processes {seed}")
    story: Story = sample_story("told", chance)
    while len(story.steps) < 12 or story.passes_time():  # there the clock stands still
        story = sample_story("told", chance)
    story = replace(story, channels=())  # the service of a process would post to the real internet
    tally = Tally()
    tellings: dict[str, Telling] = {}
    worlds = {name: ServedWorld(name, f"processes {seed}", folder / name, Journal()) for name in (TRUTH, viewer)}
    try:
        for name, world in worlds.items():
            await world.start()
            events = story.events if name == TRUTH else story.told_to(name, chance)
            deals = DealFiles(Path(f"{world.data}.deals"))
            tellings[name] = await begin(Telling(story, world, name, events, deals))
        assert tellings[viewer].events != story.events
        for number, step in enumerate(story.steps):
            told = {name: await take_step(telling, step) for name, telling in tellings.items()}
            _compare_taken(told[TRUTH], told[viewer], worlds, viewer, tally)
            if number < 4 or number % every:
                continue
            if positions == 0:
                break
            positions -= 1
            scene = Scene(story, number, tellings, tellings[TRUTH].game, "0" * 64, chance, tally)
            await scene.compare(viewer)
            for command in chance.sample(_COMMANDS, commands):
                one, two = [await asyncio.to_thread(_command, scene, viewer, name, command) for name in worlds]
                tally.answers += 1
                tally.kinds[f"process, hkoji {command}"] += 1
                if one != two:
                    tally.leaks.append(Leak(f"process, hkoji {command}", f"{viewer}, {scene.place}: {one!r}, {two!r}"))
    finally:
        for world in worlds.values():
            await world.stop()
    logs = [world.log_text() for world in worlds.values()]
    tally.answers += 1
    tally.kinds["process, log file"] += 1
    if logs[0] != logs[1]:
        tally.leaks.append(Leak("process, log file", f"{viewer}: {logs[0]!r} against {logs[1]!r}"))
    for world in worlds.values():
        tally.leaks.extend(Leak("a secret in the log", line) for line in world.leaked())
    return tally


def _compare_taken(
    first: tuple[int, Answer | None],
    second: tuple[int, Answer | None],
    worlds: dict[str, ServedWorld],
    viewer: str,
    tally: Tally,
) -> None:
    """The answer to a step, for the player who made it."""
    (seat, one), (_, two) = first, second
    if one is None or two is None or SEATS_OF[viewer] != seat:
        return
    tally.answers += 1
    tally.kinds[f"taken: {one.status}"] += 1
    if found := difference(worlds[TRUTH], one, worlds[viewer], two):
        tally.leaks.append(Leak("taken", f"{viewer}: {found}"))


def _command(scene: Scene, viewer: str, name: str, command: str) -> bytes:
    """The output of `hkoji` as a process, for a viewer whose home is made here, the same in all worlds."""
    eye = scene.eye(viewer, name)
    world = eye.telling.world
    assert isinstance(world, ServedWorld)
    folder = world.data.parent / "home"
    home = Home(folder)
    write_file(home.key_file, eye.me.key.to_openssh())
    home.update_config(name=eye.me.name, key=eye.me.key.public.text, key_file=home.key_file.name)
    home.set_token(world.service.url, eye.me.token)
    with closing(Client(home)) as client:
        client.register(world.service.url, origin=ADDRESS)
    words = [word.replace("GAME", eye.game) for word in command.split()]
    done = subprocess.run(
        [str(HKOJI), *words],
        capture_output=True,
        check=False,
        env={**os.environ, "HKOJI_HOME": str(folder)},
        timeout=300,
    )
    shutil.rmtree(folder)
    shown = b"%d\n%s\n%s" % (done.returncode, done.stdout, done.stderr)
    assert done.returncode in (0, 8), shown  # 8: a player has another key, and only the service says so
    return world.named(shown.replace(world.service.url.encode(), b"URL"))
