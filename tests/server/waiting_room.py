"""A store of made-up games in memory, and readers of streams whose connections break: for the laws of waiting."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from hkoji_server.routes.event_streams import EventStream
from hkoji_server.service.games.followers import GameFollower, PlayerFollower, StreamFollower, parse_cursor
from hkoji_server.service.games.waiting_hub import WaitingHub
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.store.game_values import GamePlace, Hint, OnHint

from hkoji.client.requests import read_events
from hkoji.log.line import StoredLine, make_entry, make_receipt, parse_line

AT = "2026-11-20T12:00:00Z"


@dataclass
class Room:
    """A store with what a hub needs. Reads take one or several turns of the event loop; some hints are lost."""

    chance: random.Random
    heard: float = 1.0
    """The share of hints that arrive, at each hub."""
    logs: dict[str, list[StoredLine]] = field(default_factory=dict)
    players: dict[str, set[str]] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)
    invitations: list[str] = field(default_factory=list)
    """The games that a player has been invited to and has not joined, the newest last."""
    listeners: list[OnHint] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    def write(self, game: str, *players: str, end: bool = False) -> None:
        """The next entry of a game."""
        log = self.logs.setdefault(game, [])
        self.players.setdefault(game, set()).update(players)
        kind = "end" if end else "move"
        at = ClockAndEntropy().at()
        seen = at if log else None
        entry = make_entry(at=at, body={}, by="alice", game=game, kind=kind, prev="0" * 64, seen=seen, seq=len(log))
        receipt = make_receipt(at=entry.at, game=game, head=entry.head, seq=entry.seq)
        log.append(StoredLine(entry.text, b"signature", receipt.text, b"signature"))
        if end:
            self.ended[game] = ClockAndEntropy().at()
        for listener in self.listeners:
            if self.chance.random() < self.heard:
                listener(Hint(game, tuple(self.players[game])))

    async def _turns(self) -> None:
        for _ in range(self.chance.randrange(3)):
            await asyncio.sleep(0)

    async def written(self, game: str, after: int = -1) -> tuple[StoredLine, ...]:
        await self._turns()
        found = tuple(self.logs.get(game, ())[after + 1 :])
        await self._turns()
        return found

    async def head(self, game: str) -> tuple[int, str] | None:
        await self._turns()
        return (len(self.logs[game]) - 1, self.logs[game][-1].head) if game in self.logs else None

    async def heads(self, games: Collection[str]) -> Mapping[str, int]:
        self.asked.append(len(games))
        found = {game: len(self.logs[game]) - 1 for game in games if game in self.logs}
        await self._turns()
        return found

    async def places(self, player: str, since: str, limit: int, invitations: int) -> Mapping[str, GamePlace]:
        mine = [game for game, them in self.players.items() if player in them and game not in self.invitations]
        invited = [game for game in self.invitations if player in self.players[game]]
        return {**await self._places(mine, since, limit), **await self._places(invited, since, invitations)}

    async def _places(self, mine: Collection[str], since: str, limit: int) -> Mapping[str, GamePlace]:
        found = {
            game: GamePlace(len(self.logs[game]) - 1, self.ended.get(game, AT), game in self.ended)
            for game in mine
            if game not in self.ended or self.ended[game] >= since
        }
        await self._turns()
        going_on_last = sorted(found, key=lambda game: game not in self.ended)
        return {game: found[game] for game in going_on_last[-limit:]}

    def listen(self, listener: OnHint) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)


@dataclass
class Ear:
    """A reader of one game, or of all of a player's, in one stream after another; `told` are the entries received."""

    room: Room
    game: str | None = None
    player: str = ""
    place: str | None = None
    told: list[tuple[str, int]] = field(default_factory=list)
    visits: int = 0
    last: bytes = b""

    def _followed(self, hub: WaitingHub) -> StreamFollower:
        store, sources = self.room, ClockAndEntropy()
        if self.game is not None:
            return GameFollower(self.game, int(self.place or "-1"), store)  # type: ignore[arg-type] # all it needs
        cursor = parse_cursor(self.place) if self.place else None
        return PlayerFollower(self.player, cursor, hub, store, sources)  # type: ignore[arg-type] # all it needs

    async def listen(self, hub: WaitingHub, gone: asyncio.Event, *, wait: int = 3600, cut: bool = False) -> None:
        """One stream, until it ends or the reader is gone; `cut`: the last block does not arrive completely."""
        said = bytearray()

        async def receive() -> dict[str, str]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            await self.room._turns()
            body = message.get("body", b"")
            assert isinstance(body, bytes)
            said.extend(body)

        self.visits += 1
        stream = EventStream(hub, self._followed(hub), wait)
        await stream({"type": "http"}, receive, send)  # type: ignore[arg-type] # all it looks at
        self.last = bytes(said)
        if cut:
            del said[self.room.chance.randint(0, len(said)) :]
        self._read(bytes(said))

    def _read(self, said: bytes) -> None:
        """The client's reading: an event counts when it has arrived completely."""
        lines = (line for line in said.splitlines(keepends=True) if line.endswith(b"\n"))
        for event in read_events(line for line in lines):
            if event is None:
                continue
            if event.name == "entry":
                entry = parse_line(event.data).entry
                self.told.append((entry.game, entry.seq))
            if event.place is not None:
                self.place = event.place


async def visits(ear: Ear, hubs: list[WaitingHub], over: asyncio.Event) -> None:
    """One stream after another, at any of the hubs, each cut off after a moment, until `over`."""
    chance = ear.room.chance
    while not over.is_set():
        gone = asyncio.Event()
        stay = asyncio.get_running_loop().create_task(ear.listen(chance.choice(hubs), gone, cut=chance.random() < 0.5))
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), chance.uniform(0, 0.1))
        gone.set()
        await stay
