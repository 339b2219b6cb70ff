"""Strikes the mail process of a service while HTTP goes on: it is stopped, stands still, or is killed as it records.

    python -m tests.lab.outages.mail_story 200              200 strikes
    python -m tests.lab.outages.mail_story 5 --planted "the keeper needs no beat of mail"      must find it

Mail players answer in the last hours before their deadlines, and their provider keeps what the service does not take.
Everything is in this process, in a time that the story moves. In the end no held seat has lost because mail was away:
each credit has exactly the outages of the way that is open to its seat, cut to the turn, by a naive clock; no entry or
mail lies in an outage of its way; no signed head is contradicted; `hkoji audit` accepts all logs together.
"""

from __future__ import annotations

import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.service.games.keeper import Keeper
from hkoji_server.service.games.loaded_games import LoadedGames
from hkoji_server.service.players.players import identify
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime

from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.game.clock import parse_time
from hkoji.log.public_key import parse_public_key
from tests.lab.outages.players import ShownHead, head_faults
from tests.support.mail.fragile_store import FragileStore, KilledError
from tests.support.mail.list_world import ListedMailbox, ListWorld, list_world, unread
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.reading import is_invitation, offered
from tests.support.service import Player
from tests.support.service_in_process import drawn
from tests.support.timed_laboratory import Done, PlantedFault, Wanted, main
from tests.support.timed_logs import Stored, archive_faults, clock_faults, outage_faults, stored
from tests.support.times import log_time


async def no_beat_needed(_self: Any, _way: Any, before: str) -> str:  # Any: as in the original
    """A deadline of mail is over when its time is over, whether or not mail was taken after it."""
    return before


def _plant() -> None:
    patch.object(ServiceTime, "taken_until", no_beat_needed).start()


PLANTED: Final[dict[str, PlantedFault]] = {
    "the keeper needs no beat of mail": PlantedFault(_plant, "stopped", "while its seat could not answer"),
}


OUTAGE_AFTER: Final = 3600
STRIKES: Final = ("killed while it records", "stands still", "stopped")
_SLACK: Final = 120
_HALF_STEP: Final = 600
_HOUR: Final = 3600
_NEAR: Final = 2 * _HOUR
"""A mail player answers within so many seconds of the deadline."""
_LONGEST: Final = 5 * _HOUR
_FOREVER: Final = 10**8
_CLOCK: Final = Agreement(TimeControl(DAY, 0, 0, 0))
_SILENT: Final = 0.03
"""How often a mail player does not answer a turn at all."""
_MAILS: Final = 3
_CALLS: Final = 12
"""More points than a mail process passes until it has recorded an outage; a kill comes at each."""
_LOOKS: Final = 0.2
"""How often somebody looks at the heads, and whether a game is over."""


@dataclass
class Provider(ListedMailbox):
    """A mailbox whose provider keeps mails until the service takes them."""

    queue: list[tuple[bytes, str]] = field(default_factory=list)

    def send(self, raw: bytes, to: Iterable[str]) -> None:
        self.queue += [(raw, recipient) for recipient in to]


@dataclass
class HeldSeat:
    """A mail player and their game. `planned` says when to answer, with what, and to which address."""

    player: MailboxPlayer
    box: Provider
    game: str
    planned: tuple[float, str, str] | None = None


class MailStory:
    """A service whose mail players play against a host with a client, and a game over HTTP beside them."""

    def __init__(self, world: ListWorld, rng: random.Random) -> None:
        self._world, self._rng = world, rng
        self._fragile = FragileStore(world.store)
        self._takes = True
        self.counts: Counter[str] = Counter()
        self.heads: list[ShownHead] = []
        sources = ClockAndEntropy(world.clock, drawn("http"), world.clock.elapsed)
        key, _ = world.run(identify(world.store, sources, None, "http://inside"))
        self._http = ServiceTime(world.store, sources, outage_after=OUTAGE_AFTER)
        self._keeper = Keeper(world.store, LoadedGames(world.store, 100), self._http, sources, key, slack=_SLACK)
        self._host, self._guest = Player(world.service, "alice").register(), Player(world.service, "carol").register()
        self._plain = ""
        self._seats = [self._seat(number) for number in range(_MAILS)]

    @property
    def _now(self) -> int:
        return parse_time(log_time(self._world.clock()))

    def _seat(self, number: int) -> HeldSeat:
        address = f"bob{number}@example.org"
        box = Provider(address, self._world)
        self._world.lists[address] = box
        seat = HeldSeat(MailboxPlayer(box), box, "")
        self._begin(seat)
        return seat

    def _begin(self, seat: HeldSeat) -> None:
        """Begins the next game of a mail player, which needs the mail process."""
        seat.game, seat.planned = (
            self._world.invite(self._host, seat.player.name, seat.box.address, agreement=_CLOCK),
            None,
        )
        self._world.deliver()
        invitation = [letter for letter in unread(seat.player) if is_invitation(letter, "en")][-1]
        seat.player.answer(invitation, "accept")
        self._take()
        self._world.deliver()
        self._host.seed(seat.game)
        self.counts["games by mail"] += 1

    # --- what goes on by itself -------------------------------------------------------------------------------------

    def go_on(self, seconds: float) -> None:
        """Lets time pass, in which everybody plays and all processes that are there do their work."""
        end = self._now + seconds
        while self._now < end:
            self._step()

    def _step(self) -> None:
        world = self._world
        world.clock.pass_by(_HALF_STEP)
        world.run(self._http.beat())
        if self._takes:
            world.run(world.time.beat())
            world.deliver()
        for seat in self._seats:
            self._write(seat)
        if self._rng.random() < 0.1:
            self._move_by_client()
        looks = self._rng.random() < _LOOKS
        if looks:
            self._look_at_heads()
        world.clock.pass_by(_HALF_STEP)
        if self._takes:
            self._take()
            self.counts["timeouts by the mail process"] += world.run(world.keeper.look())
        self.counts["timeouts by HTTP"] += world.run(self._keeper.look())
        if self._takes and looks:
            for seat in self._seats:
                if self._over(seat.game):
                    self._begin(seat)

    def _take(self) -> None:
        for seat in self._world.lists.values():
            assert isinstance(seat, Provider)
            waiting, seat.queue = seat.queue, []
            for raw, recipient in waiting:
                self._world.take(raw, recipient)

    def _write(self, seat: HeldSeat) -> None:
        """Reads what has come. Answers a turn shortly before its deadline, and now and then never."""
        for letter in unread(seat.player):
            if not (moves := offered(letter)) or not letter.id.startswith("<turn."):
                continue
            due = self._world.service.ask("GET", f"/v1/games/{seat.game}/clock").json["deadline"]
            if due is None or self._rng.random() < _SILENT:
                continue
            when = parse_time(due) - self._rng.uniform(2 * _HALF_STEP, _NEAR)
            seat.planned = (when, moves[0], letter.answered_to)
        if seat.planned is not None and seat.planned[0] <= self._now:
            _, move, to = seat.planned
            seat.planned = None
            seat.player.write(to, "Re: a game", move)
            self.counts["answers"] += 1

    def _over(self, game: str) -> bool:
        return str(self._world.service.ask("GET", f"/v1/games/{game}").json["status"]) in ("finished", "cancelled")

    def _move_by_client(self) -> None:
        if not self._plain or self._over(self._plain):
            self._plain = self._host.new(agreement=_CLOCK)
            self._guest.join(self._plain)
            self._guest.seed(self._plain)
            self._host.seed(self._plain)
        for game in (self._plain, *(seat.game for seat in self._seats)):
            for player in (self._host, self._guest):
                self._move(player, game)

    def _move(self, player: Player, game: str) -> None:
        if self._over(game) or (game != self._plain and player is not self._host):
            return
        course = player.course(game)
        if course.actor is None or course.setup.seat_of(player.name) != course.actor:
            return
        if course.seed_seat == course.actor:
            player.seed(game)
        else:
            assert player.send(player.make_move(course, self._rng.choice(course.state.legal_actions()))).status == 201

    def _look_at_heads(self) -> None:
        for game in (self._plain, self._rng.choice(self._seats).game):
            if game:
                shown = self._world.service.ask("GET", f"/v1/games/{game}/head").json
                self.heads.append(ShownHead(shown["text"], shown["sig"]))

    # --- strikes ----------------------------------------------------------------------------------------------------

    def strike(self, name: str) -> None:
        """Waits until an answer is near, and lets the mail process be away then."""
        while not any(seat.planned and seat.planned[0] - self._now < _HOUR for seat in self._seats):
            self._step()
        self.counts[name] += 1
        self._takes = False
        self.go_on(self._rng.uniform(OUTAGE_AFTER + 2 * _HALF_STEP, _LONGEST))
        world = self._world
        if name == "killed while it records":
            for number in range(_CALLS):
                self._killed(number)
                self.go_on(self._rng.choice((0, 0, 2 * _HALF_STEP)))
        if name == "stands still":
            world.run(world.time.beat())
        else:
            world.restart(world.store)
        self._takes = True
        self.go_on(_HOUR)

    def _killed(self, number: int) -> None:
        """A mail process starts, and is killed at the call of that number, before it has an effect or after it."""
        store, self._fragile = self._world.store, self._fragile
        self._fragile.arm(number)
        try:
            self._world.restart(self._fragile.store)
        except KilledError:
            self.counts["kills"] += 1
        self._fragile.arm(None)
        assert self._world.store is store


# --- the judgement ----------------------------------------------------------------------------------------------------


def _judged(path: Path, kept: Stored, heads: Iterable[ShownHead], server: str) -> Iterator[str]:
    for game, entries in kept.games.items():
        yield from (f"{game}: {fault}" for fault in clock_faults(entries, kept.outages, slack=_SLACK))
    key = parse_public_key(server)
    for head in heads:
        yield from head_faults(kept.games, head, key)
    yield from outage_faults(kept)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        for number, received, state in database.execute("SELECT number, received, state FROM incoming").fetchall():
            if state != "done":
                yield f"mail {number} was not processed: {state}"
            for outage in kept.outages:
                if outage.way == "mail" and outage.begin <= received < outage.until:
                    yield f"mail {number} of {received} lies in the outage {outage}"
    yield from archive_faults(kept.games, server)


def struck(folder: Path, wanted: Wanted, database: str | None = None) -> Done:
    """Strikes the mail process of a service on a file, and judges."""
    assert database is None, "this story is of a file"
    rng, data = random.Random(wanted.seed), folder / "data"
    given: dict[str, Any] = {
        "mail": "play@hkoji.example",
        "token_lifetime": _FOREVER,
        "per_day": _FOREVER,
        "per_hour": _FOREVER,
    }
    with list_world(data, outage_after=OUTAGE_AFTER, **given) as world:
        if wanted.fault:
            PLANTED[wanted.fault].plant()
        story = MailStory(world, rng)
        for number in range(wanted.size):
            story.strike(STRIKES[number % len(STRIKES)])
        server = world.service.ask("GET", "/v1/service").json["key"]
    kept = stored(data / "hkoji.sqlite3")
    counts = story.counts
    counts.update(f"outages of {outage.way}" for outage in kept.outages)
    entries = [entry for each in kept.games.values() for entry in each]
    counts.update({"entries": len(entries), "heads": len(story.heads)})
    for entry in entries:
        if entry.kind == "credit":
            counts.update(f"credits of {each['way']}" for each in entry.body["outages"])
    return Done(counts, list(_judged(data / "hkoji.sqlite3", kept, story.heads, server)))


if __name__ == "__main__":
    sys.exit(main(struck, __doc__, "strikes", PLANTED))
