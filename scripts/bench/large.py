"""A database of many games for measurements, filled with rows like those that the store writes.

A stock of complete games is played and signed through the referee. Every game of the stock goes in unchanged. The
others are copies with their own ids, players and times. The chain of a copy holds, and its rows are as long as the
original's to the byte, but signatures and commitments are the original's, because making them anew would take hours.
tests/bench/test_large.py checks that the rows are those that the store writes.

Entries arrive as they do at a service: many games are in progress at once, and each entry is written at its place among
those of the others.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from hkoji_server.service.games.loaded_games import summarise
from hkoji_server.store.game_values import GameSummary
from hkoji_server.store.sqlite.store import SqliteStore
from hkoji_server.store.statements import summary_values
from hkoji_server.store.tables import GAME

from hkoji import referee
from hkoji.log.line import Line
from hkoji.log.private_key import PrivateKey
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.table import AT, Table

NAMES: Final = ("player-host", "player-gues")
BUSY: Final = "player-busy"
"""A player who hosts one game in twenty."""
_SEPARATOR: Final = "\n"
_BATCH: Final = 4000
_CACHE_KIB: Final = 1_000_000
_FIRST: Final = 1_600_000_000

Row = tuple[object, ...]
Batch = dict[str, list[Row]]
"""Rows to insert, by table."""


class Step(NamedTuple):
    """The rows that one submission adds: entries (text, signature, receipt, its signature), openings, summary."""

    lines: tuple[tuple[str, bytes, str, bytes], ...]
    openings: tuple[tuple[int, int, str, str], ...]
    summary: GameSummary


class Stock(NamedTuple):
    """A game from offer to end."""

    game: str
    seed: str
    steps: tuple[Step, ...]

    @property
    def entries(self) -> int:
        """The number of its entries."""
        return sum(len(step.lines) for step in self.steps)


class _Noted(Table):
    """A table that records the rows of each submission."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # All games of a service are offered with one key.
        self.server = PrivateKey.from_seed(b"large" + bytes(27))
        offered = referee.offer(self.game, self.ruleset, self.refereed.seed, signer=self.server, at=AT)
        self.lines, self.refereed = list(offered.lines), offered.refereed
        self.steps = [_step(offered.lines, offered.refereed, 0)]

    def _keep(self, accepted: referee.Accepted) -> None:
        known = len(self.refereed.openings)
        super()._keep(accepted)
        self.steps.append(_step(accepted.lines, accepted.refereed, known))


def _step(lines: list[Line] | tuple[Line, ...], refereed: referee.RefereedGame, known: int) -> Step:
    rows = []
    for line in lines:
        assert line.receipt is not None
        rows.append((line.entry.text, line.sig, line.receipt.receipt.text, line.receipt.sig))
    openings = tuple((each.seq, each.part, each.cards, each.salt) for each in refereed.openings[known:])
    return Step(tuple(rows), openings, summarise(refereed, created=AT))


def stock(count: int, seed: int = 0) -> list[Stock]:
    """`count` complete games, half of each ruleset."""
    made = []
    for number in range(count):
        table = _Noted((Hanamikoji(), GeishasRoad())[number % 2], seed * 1_000_003 + number, names=NAMES)
        table.begin().play()
        made.append(Stock(table.game, table.server_seed, tuple(table.steps)))
    return made


@dataclass(frozen=True, slots=True)
class Plan:
    """The size: `games` with `entries` in all, of `players`, with `window` of them in progress at any time."""

    games: int
    entries: int
    players: int
    window: int = 5_000
    playing: float = 0.05
    opened: float = 0.01
    seed: int = 1


def write(plan: Plan, made: list[Stock], put: Callable[[Batch], None]) -> int:
    """Passes all rows to `put`, in the order in which entries arrive. Returns the number of entries."""
    count = 0
    batch: Batch = {"game": [], "secret": [], "entry": [], "opening": []}
    for step in _arrivals(plan, made):
        for table, rows in step.items():
            batch[table] += rows
        count += len(step["entry"])
        if len(batch["entry"]) >= _BATCH:
            put(batch)
            batch = {table: [] for table in batch}
    put(batch)
    return count


def _arrivals(plan: Plan, made: list[Stock]) -> Iterator[Batch]:
    rng = random.Random(plan.seed)
    choose = _chooser(plan, made, rng)
    going: list[Iterator[Batch]] = []
    started = 0
    while going or started < plan.games:
        while started < plan.games and len(going) < min(plan.window, 1 + started * 2):
            if started < len(made):
                given = made[started]
                going.append(_rows(given, given.game, given.steps))
            else:
                going.append(_copy(plan, choose(), started, rng))
            started += 1
        place = rng.randrange(len(going))
        arrived = next(going[place], None)
        if arrived is None:
            going[place] = going[-1]
            going.pop()
        else:
            yield arrived


def _chooser(plan: Plan, made: list[Stock], rng: random.Random) -> Callable[[], Stock]:
    """Returns a function that draws prepared games, whose average length is that of the plan."""
    by_length = sorted(made, key=lambda each: each.entries)
    cut = len(made) - max(1, len(made) // 8)
    short, long = by_length[:cut], by_length[cut:]
    # Games in progress have half of their entries on average, open ones two.
    whole = plan.entries / plan.games / (1 - plan.playing / 2 - plan.opened)
    mean_long, mean_short = fmean(each.entries for each in long), fmean(each.entries for each in short)
    share = (whole - mean_short) / (mean_long - mean_short)
    share = min(1.0, max(0.0, share))
    return lambda: rng.choice(long if rng.random() < share else short)


def _copy(plan: Plan, given: Stock, number: int, rng: random.Random) -> Iterator[Batch]:
    drawn = rng.random()
    stage = "open" if drawn < plan.opened else "playing" if drawn < plan.opened + plan.playing else "finished"
    steps = given.steps
    if stage == "open":
        steps = steps[:2]
    elif stage == "playing":
        steps = steps[: rng.randrange(4, len(steps))]
    game = rng.randbytes(16).hex()
    names = BUSY if number % 20 == 7 else player(rng.randrange(plan.players)), player(rng.randrange(plan.players))
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_FIRST + number * 600))
    texts = _SEPARATOR.join(text for step in steps for line in step.lines for text in (line[0], line[2]))
    for old, new in ((given.game, game), (NAMES[0], names[0]), (NAMES[1], names[1]), (AT, at)):
        texts = texts.replace(old, new)
    changed = iter(texts.split(_SEPARATOR))
    before = head = "0" * 64
    copied = []
    for step in steps:
        lines = []
        for text, sig, _, receipt_sig in step.lines:
            new = next(changed).replace(before, head)
            before, head = _head_of_stock(text), _head(new)
            lines.append((new, sig, next(changed).replace(before, head), receipt_sig))
        copied.append(step._replace(lines=tuple(lines)))
    last = copied[-1].summary
    named = {NAMES[0]: names[0], NAMES[1]: names[1]}
    summary = last._replace(
        game=game,
        host=named.get(last.host or ""),
        guest=named.get(last.guest or ""),
        to_move=named.get(last.to_move or ""),
        head=head,
        created=at,
        updated=at,
    )
    yield from _rows(given, game, (*copied[:-1], copied[-1]._replace(summary=summary)))


def _rows(given: Stock, game: str, steps: tuple[Step, ...]) -> Iterator[Batch]:
    """The rows of each step. Those of the game and its secrets come with the first, in their last state."""
    seq = 0
    for number, step in enumerate(steps):
        entries: list[Row] = []
        for line in step.lines:
            entries.append((game, seq, *line))
            seq += 1
        first = number == 0
        yield {
            "game": [tuple(summary_values(steps[-1].summary)[column.name] for column in GAME.columns)] if first else [],
            "secret": [(game, given.seed, steps[-1].summary.host or NAMES[0])] if first else [],
            "entry": entries,
            "opening": [(game, *each) for each in step.openings],
        }


@lru_cache(maxsize=100_000)
def _head_of_stock(text: str) -> str:
    return _head(text)


def _head(text: str) -> str:
    return sha256(f"{text}\n".encode()).hexdigest()


def player(number: int) -> str:
    """A player's name, as long as those of the stock."""
    return f"player{number:05}"


def players(count: int) -> Iterator[Row]:
    """Rows of players: keys and signatures have the right form and length, but are random."""
    rng = random.Random(count)
    for name in (*NAMES, BUSY, *map(player, range(count))):
        key = f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{rng.randbytes(33).hex()[:43]}"
        text = f'{{"at":"{AT}","key":"{key}","name":"{name}","origin":"http://127.0.0.1:8000","v":1}}'
        yield name, key, AT, text, rng.randbytes(180).hex()[:248]


def fill_sqlite(path: Path, plan: Plan, made: list[Stock]) -> int:
    """Makes the database at `path` by the store's own migrations, and fills it. Returns the number of entries."""
    SqliteStore(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    # The measurements begin later: until then each page is written only when the cache is full.
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")

    def put(batch: Batch) -> None:
        for table, rows in batch.items():
            if rows:
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

    connection.execute("BEGIN")
    put({"player": list(players(plan.players))})
    count = write(plan, made, put)
    connection.execute("COMMIT")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    return count


def enlarge_sqlite(small: Path, large: Path, times: int) -> None:
    """Makes `large` of so many copies of each game in `small`, and its stock once.

    Ids, players and times differ, lengths are the same. Heads do not fit the texts, because no measurement looks at
    them. The games are stored in the order of their ids, packed as after a `VACUUM`.
    """
    SqliteStore(large).close()
    connection = sqlite3.connect(large, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("ATTACH ? AS small", (str(small),))
    connection.execute("CREATE TEMP TABLE stock AS SELECT game FROM small.game WHERE host = ?", NAMES[:1])
    connection.execute("BEGIN")
    connection.execute("INSERT INTO player SELECT * FROM small.player WHERE name IN (?, ?, ?)", (*NAMES, BUSY))
    ((width,),) = connection.execute("SELECT count(*) FROM small.player").fetchall()
    for number in range(times):
        _enlarge(connection, {"n": f"{number:x}", "w": number * width, "k": f"+{number} years", "busy": BUSY})
    for table in ("game", "secret", "entry", "opening"):
        connection.execute(f"INSERT INTO {table} SELECT * FROM small.{table} WHERE game IN stock")
    connection.execute("COMMIT")
    connection.execute("DETACH small")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def _enlarge(connection: sqlite3.Connection, given: dict[str, object]) -> None:
    """Copies everything but the stock once, in the order of the new ids."""
    game, player_ = ":n || substr(game, 1, 31)", "printf('player%05d', :w + substr({0}, 7))"
    seats = ("host", "guest", "to_move")
    named = [f"CASE {each} WHEN :busy THEN {each} ELSE {player_.format(each)} END" for each in seats]
    host_, guest, to_move = (
        f"CASE WHEN {seat} IS NOT NULL THEN {new} END" for seat, new in zip(seats, named, strict=True)
    )
    times = ("created", "updated", "ended")
    created, updated, ended = (f"strftime('%Y-%m-%dT%H:%M:%SZ', {each}, :k)" for each in times)
    rows = {
        "player": f"{player_.format('name')}, substr(key, 1, 60) || printf('%08d', :w + rowid), registered, text, sig",
        "game": f"{game}, ruleset, status, {host_}, {guest}, NULL, seq, head, round, actor, {to_move}, {created},"
        f" {updated}, reason, winner, {ended}, agreement, deadline, look_at, link, way, by_mail, dealer",
        "secret": f"{game}, seed, offered_to",
        "entry": f"{game}, seq, replace(text, game, {game}), sig, replace(receipt, game, {game}), receipt_sig",
        "opening": f"{game}, seq, part, cards, salt",
    }
    for table, row in rows.items():
        which = "name GLOB 'player[0-9]*'" if table == "player" else "game NOT IN stock"
        connection.execute(f"INSERT INTO {table} SELECT {row} FROM small.{table} WHERE {which}", given)
