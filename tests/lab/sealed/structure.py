"""Judges what a service has of sealed games in tables and answers: the public log, deposits that are due later, lists.

Tables are read with SQL that knows nothing of the store. Everything is judged at the end, when the logs are whole.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji.game.sealing import owner
from hkoji.log.canonical import encode
from tests.lab.sealed.attacker import Played
from tests.support.ledger import connected

Row = Mapping[str, Any]  # Any: column values
Tables = dict[str, list[Row]]

_HEX: Final = "[0-9a-f]"
_TIME: Final = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_NAME: Final = "[a-z0-9-]{1,20}"
_GAME: Final = {
    "game": f"{_HEX}{{32}}",
    "status": "offered|open|playing|finished",
    "host": _NAME,
    "guest": _NAME,
    "invite": _NAME,
    "seq": r"\d+",
    "head": f"{_HEX}{{64}}",
    "round": r"\d+",
    "actor": "[01]",
    "to_move": _NAME,
    "created": _TIME,
    "updated": _TIME,
    "reason": "[a-z]+",
    "winner": "[01]",
    "ended": _TIME,
    "deadline": _TIME,
    "look_at": _TIME,
    "way": "[a-z]*",
    "by_mail": r"\{\}",
    "dealer": "sealed/v1",
}
"""The columns of lists; `ruleset` and `agreement` are those of the log."""
_OUTBOX: Final = {
    "seq": r"\d+",
    "event": "[a-z]+",
    "channel": "[0-9a-f]{16}",
    "kind": "webhook",
    "due": _TIME,
    "not_before": _TIME,
    "tries": r"\d+",
}
_LONG: Final = 40
"""No public text of a game is so long, but keys and signatures."""
_LONG_FIELDS: Final = ("head", "key", "nonce", "push", "sig", "target", "token")
_CURSOR: Final = re.compile(rf"{_TIME}~{_HEX}{{32}}")
"""The place in a list of games: a time and a game."""
_MASKED: Final = ("hands", "deck", "removed", "trade_offs", "discards")


class Moment(NamedTuple):
    """The state of a game in the tables at one time: its last entry, and its deposits."""

    game: str
    seq: int
    deposits: frozenset[tuple[int, int, int, bytes]]


@dataclass
class Kept:
    """Everything that was read in the tables, each row once."""

    rows: dict[tuple[Any, ...], Row] = field(default_factory=dict)  # Any: column values
    moments: set[Moment] = field(default_factory=set)
    snapshots: int = 0

    def add(self, tables: Tables) -> Iterator[bytes]:
        """Takes a reading in; returns the values that are new."""
        self.snapshots += 1
        for table, rows in tables.items():
            for row in rows:
                key = (table, *(bytes(v) if isinstance(v, memoryview) else v for v in row.values()))
                if key not in self.rows:
                    self.rows[key] = row
                    for value in row.values():
                        yield bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
        last: dict[str, int] = {}
        for row in tables["entry"]:
            last[row["game"]] = max(row["seq"], last.get(row["game"], -1))
        for game, seq in last.items():
            own = (row for row in tables["deposit"] if row["game"] == game)
            deposits = frozenset((row["round"], row["at"], row["seat"], bytes(row["shares"])) for row in own)
            self.moments.add(Moment(game, seq, deposits))


def tables_of(where: Path | str) -> Tables:
    """All columns of all tables of a SQLite file, or of a PostgreSQL database, at one time."""
    lite = isinstance(where, Path)
    names = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if lite
        else "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    )
    connection: Any = sqlite3.connect(where, timeout=60) if lite else connected(str(where))  # Any: either driver's
    with closing(connection):
        connection.execute("BEGIN" if lite else "BEGIN ISOLATION LEVEL REPEATABLE READ")
        found: Tables = {}
        for (name,) in connection.execute(names).fetchall():
            cursor = connection.execute(f'SELECT * FROM "{name}"')
            columns = [each[0] for each in cursor.description]
            found[name] = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
        return found


def files_of(where: Path) -> Iterator[tuple[str, bytes]]:
    """The bytes of the files of a database, by name; a file may be gone when it is read."""
    for path in sorted(where.rglob("*") if where.is_dir() else where.parent.glob(f"{where.name}*")):
        try:
            if path.is_file() and not path.is_symlink():
                yield path.name, path.read_bytes()
        except OSError:
            time.sleep(0)


# --- judging the tables -----------------------------------------------------------------------------------------------


def judge_tables(kept: Kept, games: Mapping[str, Played]) -> Iterator[str]:
    """All values that a service must not have."""
    for (table, *_), row in kept.rows.items():
        played = games.get(str(row.get("game")))
        if played is None:
            continue
        fault = _row_fault(table, row, played)
        if fault:
            yield f"table {table}: {fault}"
    for moment in kept.moments:
        played = games.get(moment.game)
        if played is not None:
            yield from _deposit_faults(moment, played)


def _row_fault(table: str, row: Row, played: Played) -> str:
    """A fault in a row of a sealed game; empty if there is none."""
    match table:
        case "entry":
            line = played.lines[row["seq"]]
            assert line.receipt is not None
            public = (line.entry.text, line.sig, line.receipt.receipt.text, line.receipt.sig)
            found = (row["text"], bytes(row["sig"]), row["receipt"], bytes(row["receipt_sig"]))
            rest = set(row) - {"game", "seq", "text", "sig", "receipt", "receipt_sig"}
            return "" if found == public and not rest else f"entry {row['seq']} is not that of the log, or has more"
        case "secret":
            known = row["seed"] is None and set(row) == {"game", "seed", "offered_to"}
            return "" if known and row["offered_to"] in played.steps[-1].course.setup.names else f"has {dict(row)}"
        case "game":
            agreed = played.lines[0].entry.body
            faults = [
                name for name, value in row.items() if value is not None and not _is_listed(name, value, played, agreed)
            ]
            return f"column {', '.join(faults)}" if faults else ""
        case "deposit":
            return "" if set(row) == {"game", "round", "at", "seat", "shares"} else "has another column"
        case "outbox":
            wrong = [n for n, v in row.items() if n in _OUTBOX and not re.fullmatch(_OUTBOX[n], str(v))]
            return f"column {wrong}" if wrong or set(row) - {*_OUTBOX, "game"} else ""
        case "offer":
            return "" if set(row) == {"player", "at", "game"} else "has another column"
    return f"has a row of a sealed game: {dict(row)}"


def _is_listed(name: str, value: Any, played: Played, agreed: Mapping[str, Any]) -> bool:  # Any: JSON
    if name == "ruleset":
        return bool(json.loads(value) == played.ruleset.to_json())
    if name == "agreement":
        return all(item == agreed.get(key, item) for key, item in json.loads(value).items()) and len(value) < 200
    return name in _GAME and re.fullmatch(_GAME[name], str(value)) is not None


def _deposit_faults(moment: Moment, played: Played) -> Iterator[str]:
    sealed = played.steps[moment.seq].course.sealed
    over = played.steps[moment.seq].course.finished
    named = {(each.round, each.position, each.digest) for each in sealed.deposits} if sealed and not over else set()
    kept = {(number, at, sha256(shares).hexdigest()) for number, at, _, shares in moment.deposits}
    if named != kept:
        yield f"table deposit: after entry {moment.seq} of {moment.game} it has {len(kept)} rows, not {len(named)}"
    for number, at, seat, shares in moment.deposits:
        given = sealed is not None and number in (sealed.now.number, sealed.coming.number)
        if not given or sealed is None or sealed.round(number).is_given(at):
            yield f"table deposit: position {at} after entry {moment.seq} of {moment.game} is not due later"
        if seat != 1 - owner(at) or not played.deposit[seat] or len(shares) != 80:
            yield f"table deposit: seat {seat} of {moment.game} deposits nothing there"


# --- judging answers --------------------------------------------------------------------------------------------------


def states_of(played: Played) -> set[str]:
    """The positions of a game as a spectator sees them, as canonical texts."""
    return {encode(step.course.state.to_json()) for step in played.steps}


def judge_states(played: Played) -> Iterator[str]:
    """All hidden cards that a spectator's position shows; each place of a card that nobody has turned up is an X."""
    for step in played.steps:
        state = step.course.state.to_json()
        masked = [text for name in _MASKED if name in state for text in _flat(state[name])]
        closed = step.course.sealed is not None and None in step.course.sealed.now.closed
        if "secrets" in state and closed:
            masked += _flat(state["secrets"])
        if "intrigues" in state:
            pairs = zip(_list(state["intrigues"]), _list(state["revealed"]), strict=True)
            masked += [text for each, up in pairs if not up for text in _flat(each)]
        if any(set(text) - {"X"} for text in masked):
            yield f"the position after entry {step.entry.seq} of {played.game} shows {masked}"


def _flat(value: Any) -> list[str]:  # Any: JSON
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]


def _list(value: Any) -> list[Any]:  # Any: JSON
    assert isinstance(value, list)
    return value


def _is_long(text: str) -> bool:
    return len(text) >= _LONG and not text.startswith("{") and not _CURSOR.fullmatch(text)


def judge_answer(value: Any, states: set[str], texts: set[str], counts: dict[str, int]) -> Iterator[str]:  # Any: JSON
    """All that an answer must not have, in whatever object: cards, openings, a seed, a position that is not public.

    `texts` are the entries of all logs. `counts` gets how often each key was seen that is judged.
    """
    if isinstance(value, list):
        for each in value:
            yield from judge_answer(each, states, texts, counts)
    elif isinstance(value, str) and value.startswith("{"):
        try:
            yield from judge_answer(json.loads(value), states, texts, counts)
        except ValueError:
            return
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in ("dealt", "openings", "opening", "seed", "state", "entry", "legal"):
                counts[key] = counts.get(key, 0) + 1
            if key in ("dealt", "openings", "opening", "legal", "seed") and each not in ([], None):
                yield f"an answer has {key}: {str(each)[:80]}"
            if key == "state" and isinstance(each, dict) and encode(each) not in states:
                yield f"an answer has a position that is not public: {str(each)[:200]}"
            if key == "entry" and isinstance(each, str) and each.startswith("{"):
                if each not in texts:
                    yield f"an answer has an entry that is not in a log: {each[:80]}"
                continue
            if isinstance(each, str) and key not in _LONG_FIELDS and _is_long(each):
                yield f"an answer has a long {key}: {each[:80]}"
            yield from judge_answer(each, states, texts, counts)
