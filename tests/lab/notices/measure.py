"""Lets two processes deliver the notices of many games while they are killed, and judges what has arrived.

    python -m tests.lab.notices.measure 10000
    python -m tests.lab.notices.measure 10000 --postgres      on its own PostgreSQL server
    python -m tests.lab.notices.measure 60 --planted "stale notices are sent"      must find it

Pairs of players with a channel and a browser each play many games at once: they invite, join, move, reply at once or
not at all, give time twice, wish to call a game off, call it off, resign. Two processes deliver. Each kills itself by
SIGKILL before or after it sends some notice, and is started again. A receiver and a push service record each id, and
refuse some. In the end each notice that must have been sent has arrived at both, each browser can open what it was
sent, none tells of something that was over, none came to the wrong player, and no more came twice than the kills
explain. Exits with 1 if anything was wrong.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from hkoji_server.service.games import notice_rules
from hkoji_server.store.choices import PUSH_KIND
from hkoji_server.store.contract import Store
from hkoji_server.store.game_values import MOST_INVITATIONS

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.log.line import Line
from tests.lab.notices.deliverer import ID_HEADER, KIND, PLANTED, deliver
from tests.lab.notices.receiver import Arrival, Pushes, Receiver
from tests.support.couriers import Told, told
from tests.support.forked import ForkedCall
from tests.support.service import Player
from tests.support.service_in_process import RunningClock
from tests.support.timed_games import a_gift, a_wish, move_of, state
from tests.support.timed_laboratory import Done, Wanted, main

_WAIT: Final = 1
"""The seconds that a `turn` waits here."""
_DAYS: Final = Agreement(TimeControl(9 * DAY, 0, 0, 0))
_PAIRS: Final = 6
_AT_ONCE: Final = 12
_KILLS: Final = 0.01
_PATIENCE: Final = 120.0

Step = Iterator[None]


class Pair(NamedTuple):
    """A host and a guest."""

    host: Player
    guest: Player

    def owing(self, game: str) -> tuple[Player, Player]:
        """The player who must act, and the other one."""
        actor = self.host.course(game).actor
        return (self.host, self.guest) if actor == 0 else (self.guest, self.host)


class Deliverers:
    """Two processes that deliver, and are started again when they have been killed."""

    def __init__(self, *given: object) -> None:
        self._given = given
        self.kills = 0
        self._processes = [self._started() for _ in range(2)]

    def _started(self) -> ForkedCall:
        return ForkedCall(deliver, *self._given)

    def revive(self) -> None:
        """Starts those again that were killed."""
        for number, process in enumerate(self._processes):
            if process.poll() is not None:
                self.kills += 1
                self._processes[number] = self._started()

    def stop(self) -> None:
        """Asks them to end, and waits."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(60)


# --- what players do --------------------------------------------------------------------------------------------------


def _story(pair: Pair, played: PlayedGame, rng: random.Random, end: str, invited: Counter[str]) -> Step:
    """One game, step by step; between the steps other games go on. `invited` counts the open games of each host."""
    game, (host, guest) = played.game, pair
    if invited[host.name] < MOST_INVITATIONS - 1:
        invited[host.name] += 1
        yield
        invited[host.name] -= 1
    guest.join(game)
    played.must.add((2, "joined", host.name))
    guest.seed(game)
    host.seed(game)
    for _ in range(rng.randrange(4)):
        yield
        mover, _other = pair.owing(game)
        mover.send(move_of(mover, game))
    yield
    mover, other = pair.owing(game)
    mover.send(move_of(mover, game))
    owing, other = pair.owing(game)
    seq = owing.head(game)[0]
    if owing is not mover:
        played.must.add((seq, "turn", owing.name))
    if end == "gifts":
        for seconds in (DAY, 2 * DAY):
            assert state(other, game, a_gift(other, game, seconds)).status == 201
            played.gifts.add(seq)
            yield
        played.must.add((seq, "given", owing.name))
    elif end == "a wish":
        assert state(other, game, a_wish(other, game)).status == 201
        played.wishes.add((seq, other.name))
        played.must.add((seq, "annul", owing.name))
    elif end == "called off":
        for player in (owing, other):
            assert state(player, game, a_wish(player, game)).status == 201
            played.wishes.add((seq, player.name))
        _over(played, owing, game)
    elif end == "resigned":
        other.send(other.entry(game, other.head(game), entry_kinds.Resign()))
        _over(played, owing, game)


def _over(played: PlayedGame, told: Player, game: str) -> None:
    """The game is over, and only one player has to be told."""
    played.must = {each for each in played.must if each[1] != "turn"}
    played.must.add((told.head(game)[0], "over", told.name))


ENDS: Final = ("left", "gifts", "a wish", "called off", "resigned")


# --- the run ----------------------------------------------------------------------------------------------------------


def run_notices(folder: Path, wanted: Wanted, database: str | None = None, *, kills: float = _KILLS) -> Done:
    """Plays, delivers and judges."""
    rng, counts = random.Random(wanted.seed), Counter[str]()
    data, receiver, pushes = folder / "data", Receiver(wanted.seed), Pushes(wanted.seed, ID_HEADER)
    where: dict[str, Any] = {"database": database} if database else {}  # Any: settings by name
    quick, served = patch.object(notice_rules, "TURN_WAIT", _WAIT), told(data, clock=RunningClock(), **where)
    with quick, served as service:
        pairs = [_seated(service, number, pushes) for number in range(_PAIRS)]
        deliverers = Deliverers(data, database, receiver.port, kills, wanted.fault)
        games: list[PlayedGame] = []
        try:
            _play(wanted.size, receiver.ids, pairs, games, rng, deliverers, counts)
            left = _wait_until_sent(service, deliverers)
        finally:
            deliverers.stop()
            receiver.close()
            pushes.close()
        for played in games:
            played.lines = pairs[0].host.lines(played.game)
    counts["processes killed"] = deliverers.kills
    counts["notices arrived"] = len(receiver.arrivals)
    counts["pushes arrived"] = len(pushes.arrivals)
    counts.update(f"arrived: {each.id.split('.')[2]}" for each in receiver.arrivals)
    counts["arrived again"] = len(receiver.arrivals) - len({each.id for each in receiver.arrivals})
    wrong = [*judged(games, receiver.arrivals, deliverers.kills, left), *pushes.faults()]
    wrong += [f"pushed: {each}" for each in judged(games, pushes.arrivals, deliverers.kills, ())]
    return Done(counts, wrong)


def _seated(service: Told, number: int, pushes: Pushes) -> Pair:
    """Two players, each with a channel and a browser."""
    asked = service.service
    pair = Pair(Player(asked, f"host{number}").register(), Player(asked, f"guest{number}").register())
    for player in pair:
        service.add(player.name, kind=KIND)
        target = pushes.browser(player.name).subscription
        service.add(player.name, f"push-{player.name}", kind=PUSH_KIND, target=target)
    return pair


def _play(
    size: int,
    arrived: set[str],
    pairs: list[Pair],
    games: list[PlayedGame],
    rng: random.Random,
    deliverers: Deliverers,
    counts: Counter[str],
) -> None:
    """Begins games until that many notices have arrived, and ends those that go on."""
    going_on: list[Step] = []
    invited = Counter[str]()
    while len(arrived) < size or going_on:
        deliverers.revive()
        if len(arrived) < size and len(going_on) < _AT_ONCE:
            pair, end = rng.choice(pairs), ENDS[len(games) % len(ENDS)]
            counts[f"games that end: {end}"] += 1
            invite = entry_kinds.Invite(pair.guest.name, None)
            game = pair.host.new(invite=invite, agreement=_DAYS)
            games.append(PlayedGame(game, (pair.host.name, pair.guest.name)))
            going_on.append(_story(pair, games[-1], rng, end, invited))
            next(going_on[-1])
        step = rng.choice(going_on)
        if next(step, "over") == "over":
            going_on.remove(step)


def _wait_until_sent(service: Told, deliverers: Deliverers) -> list[str]:
    """Waits until only reminders are left, and returns the ids of what waits after a long time all the same."""
    assert isinstance(service.store, Store)
    end = time.monotonic() + _PATIENCE
    while True:
        deliverers.revive()
        query = "SELECT game, seq, event, channel FROM outbox WHERE event NOT IN ('remind1', 'remind2')"
        rows = service.run(service.store._rows(query, {}))
        if not rows or time.monotonic() > end:
            return [".".join(map(str, row)) for row in rows]
        time.sleep(0.2)


def measured(folder: Path, wanted: Wanted, database: str | None) -> Done:
    """Does what the command line says. With a planted fault more processes are killed if that shows it."""
    kills = _KILLS
    if wanted.fault:
        kills = 0.1 if PLANTED[wanted.fault].shown_by == "kills" else 0.0
    return run_notices(folder, wanted, database, kills=kills)


IN_FLIGHT: Final = 4.0
"""The seconds within which something may change while a notice is on its way."""
_OWED: Final = ("turn", "given")
_PLAYED: Final = ("seed", "move", "resign")


@dataclass
class PlayedGame:
    """A game, and what its players have said beside its log. `must` are the events that somebody has to be told of.

    They are (seq, event, player).
    """

    game: str
    names: tuple[str, str]
    must: set[tuple[int, str, str]] = field(default_factory=set)
    gifts: set[int] = field(default_factory=set)
    """The numbers of the entries about which somebody gave time."""
    wishes: set[tuple[int, str]] = field(default_factory=set)
    """The wishes to call the game off: the entry after which each came, and the player."""
    lines: Sequence[Line] = ()


def judged(games: Sequence[PlayedGame], arrivals: Sequence[Arrival], kills: int, left: Sequence[str]) -> Iterator[str]:
    """The faults found. `left` are the ids of notices that still wait, without reminders."""
    arrived = Counter(each.id for each in arrivals)
    known = {each.game: each for each in games}
    for played in games:
        for seq, event, player in sorted(played.must):
            name = f"{played.game}.{seq}.{event}.of-{player}"
            if not arrived[name]:
                yield f"{name} was never sent"
    for each in arrivals:
        game, number, event, channel = each.id.split(".")
        if game not in known:
            yield f"{each.id} is about no game"
            continue
        yield from (f"{each.id} {fault}" for fault in _faults(known[game], int(number), event, channel, each.at))
    more = sum(count - 1 for name, count in arrived.items() if ".given." not in name)
    # A process that is killed has at most ten channels, and sends one notice to each at a time.
    if more > 10 * kills:
        yield f"notices arrived again {more} times, and processes were killed {kills} times"
    for name in left:
        yield f"{name} still waits"


def _faults(played: PlayedGame, seq: int, event: str, channel: str, at: float) -> Iterator[str]:
    player = channel.removeprefix("of-")
    entries = [line.entry for line in played.lines]
    if seq >= len(entries) or player not in played.names:
        yield "is about no entry, or for nobody"
        return
    author = next(each.by for each in reversed(entries[: seq + 1]) if each.by != "server")
    following = next((number for number in range(seq + 1, len(entries)) if entries[number].kind in _PLAYED), None)
    if event in _OWED:
        if following is not None and entries[following].kind != "resign" and entries[following].by != player:
            yield "was for the wrong player"
        ended = seq + 1 < len(entries) and entries[seq + 1].kind != "credit"
        if ended and at > _time(played.lines[seq + 1]) + IN_FLIGHT:
            yield "is stale"
    if event == "turn" and (player == author or entries[seq].kind == "end"):
        yield "tells of what the player has done"
    if event == "given" and seq not in played.gifts:
        yield "tells of no gift"
    if event == "annul" and (seq, next(name for name in played.names if name != player)) not in played.wishes:
        yield "tells of no wish"
    if event == "over" and (entries[seq].kind != "end" or (entries[seq - 1].kind == "resign" and player == author)):
        yield "tells of no end"
    if event == "joined" and (entries[seq].kind != "join" or player != played.names[0]):
        yield "tells of no join"
    if event == "invited" and (seq != 1 or player != played.names[1]):
        yield "tells of no invitation"


def _time(line: Line) -> float:
    assert line.receipt is not None
    return datetime.fromisoformat(line.receipt.receipt.at).timestamp()


if __name__ == "__main__":
    sys.exit(main(measured, __doc__, "notices", PLANTED, "how many notices arrive at least"))
