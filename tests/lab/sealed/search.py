"""Searches all that a service has, sends and gets while sealed games are played for anything that it must not have.

    python -m tests.lab.sealed.search --games 40
    python -m tests.lab.sealed.search --games 40 --postgres

Two real clients play each game at a service process, all games at once, in every mixture of rulesets and deposits. A
proxy keeps every request and answer, also pages, event streams and webhooks. Tables, files of the database and the log
are read again and again. At the end:

- every row of a game and every answer is public, or a deposit that is due later;
- no secret of a player is anywhere, in whatever form; entropy not before its own entry;
- an attacker who runs the service and is one of the players reads no card of the other.

At last things are planted, which the same search must find. Prints the figures and all that is wrong; exits with 1 if
anything is.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hkoji.game.sealed_parts import read_give
from hkoji.log.canonical import encode_base64
from hkoji.sealed.ristretto import ORDER
from tests.lab.sealed.attacker import Played, Reading, locks, read
from tests.lab.sealed.needles import Needles
from tests.lab.sealed.playing import NotedNonces, Record, recorded
from tests.lab.sealed.structure import judge_answer, judge_states, judge_tables, states_of
from tests.support.cluster import Cluster, cluster
from tests.support.ledger import connected


@dataclass
class Verdict:
    """All that was found, and figures of the search."""

    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    readings: list[Reading] = field(default_factory=list)


def games_of(record: Record) -> dict[str, Played]:
    """The games as they were played, with the secrets of their players."""
    deposits: dict[str, bytes] = {}
    for message in record.proxy.messages():
        sent = message.json if message.start.startswith("POST ") else None
        if isinstance(sent, dict) and "deposit" in sent:
            share = read_give(sent["deposit"])
            deposits[share.digest] = share.shares
    return {
        table.game: Played(table.game, table.ruleset, table.lines, table.sealers(), table.deposit, deposits)
        for table in record.tables
    }


def needles_of(record: Record, games: dict[str, Played]) -> tuple[Needles, dict[str, str]]:
    """All secrets of all players; and the names of entropies, with the signature of the entry that reveals each."""
    needles, revealed = Needles(), dict[str, str]()
    for table in record.tables:
        for client in table.clients:
            needles.add("a sealed key", *map(bytes.fromhex, (client.home.path / "sealed.key").read_text().split()))
    for played in games.values():
        for seat, sealer in enumerate(played.sealers):
            needles.add("a seal", sealer._seal._seal)
            for number in locks(played.steps, sealer, seat).values():
                needles.add("the number of a lock", number, pow(number, -1, ORDER))
            for step in played.steps:
                dealt = step.course.sealed and step.course.sealed.now
                if dealt and dealt.number:
                    needles.add("a number that hides a card", *(number for _, number in sealer._hidden(dealt)))
        for line in played.lines:
            if line.entry.kind == "seed":
                name = f"entropy of {line.entry.by}"
                needles.add(name, bytes.fromhex(str(line.entry.body["entropy"])))
                revealed[name] = encode_base64(line.sig)
    for number, proof in enumerate(NotedNonces.noted):
        needles.add("the key of nonces", proof.key)
        needles.add("random bytes of nonces", proof.fresh)
        for index, scalar in enumerate(proof.scalars):
            needles.add(f"branch {number} {index}" if proof.branches else "a nonce", scalar)
    return needles, revealed


def judge(record: Record, *, attackers: bool = True) -> Verdict:
    """Searches everything. Without `attackers` it does not look at what an attacker could compute."""
    verdict, games = Verdict(), games_of(record)
    verdict.counts.update(record.counts)
    record.add_wire()
    needles, revealed = needles_of(record, games)
    verdict.faults += _found(record, needles, revealed)
    verdict.faults += judge_tables(record.kept, games)
    states = {state for played in games.values() for state in states_of(played)}
    texts = {line.entry.text for played in games.values() for line in played.lines}
    for played in games.values():
        verdict.faults += judge_states(played)
    counts: dict[str, int] = {}
    for message in record.proxy.messages():
        if message.name.startswith("answer"):
            verdict.faults += judge_answer(message.json, states, texts, counts)
    verdict.counts.update({f"keys {key}": count for key, count in counts.items()})
    verdict.counts.update(
        {
            "games": len(games),
            "entries": len(texts),
            "rounds": sum(played.steps[-1].course.state.round for played in games.values()),
            "readings of the database": record.kept.snapshots,
            "rows": len(record.kept.rows),
            "moments of games in the tables": len(record.kept.moments),
            "deposits in the tables": len({(m.game, row) for m in record.kept.moments for row in m.deposits}),
            "bytes": record.seen.bytes,
            "runs of bytes": len(record.seen.runs),
            "secrets": len(needles.names),
            "webhooks": len(record.hook.posts),
        }
    )
    for played in games.values() if attackers else ():
        for seat in (0, 1):
            reading = read(played, seat)
            verdict.readings.append(reading)
            verdict.faults += [f"{played.game}: {each}" for each in reading.leaks]
            if reading.early and not played.deposit[1 - seat]:
                verdict.faults.append(f"{played.game}: seat {seat} reads a draw, and nobody has deposited it")
    return verdict


def _found(record: Record, needles: Needles, revealed: dict[str, str]) -> Iterator[str]:
    """The secrets that were found where they must not be."""
    branches: dict[str, set[str]] = {}
    runs = record.seen.runs
    for hit in needles.search(runs):
        if hit.secret.startswith("branch "):
            _, proof, scalar = hit.secret.split()
            branches.setdefault(proof, set()).add(scalar)
        elif hit.secret not in revealed:
            yield f"{hit.secret}, {hit.form}, in {hit.place.what}"
        elif hit.place < (shown := runs[revealed[hit.secret].rstrip("=").encode()]):
            yield f"{hit.secret}, {hit.form}, in {hit.place.what}, before {shown.what}"
    for number, found in branches.items():
        # The responses of all branches but one are published: the nonce is not.
        if len(found) >= len(NotedNonces.noted[int(number)].scalars):
            yield f"the nonce of proof {number}, of one of several"


# --- the control ------------------------------------------------------------------------------------------------------


def control(record: Record) -> dict[str, bool]:
    """Plants leaks in the tables, an answer and the log, and says which of them the search has found."""
    table, games = record.tables[0], games_of(record)
    key = bytes.fromhex((table.clients[0].home.path / "sealed.key").read_text().split()[0])
    number = locks(games[table.game].steps, games[table.game].sealers[1], 1)[1]
    blinding = next(
        found
        for step in games[table.game].steps
        if step.course.sealed and step.course.sealed.now.number
        for _, found in games[table.game].sealers[0]._hidden(step.course.sealed.now)
    )
    planted = {
        "a hand in a table": "table opening",
        "a seed in a table": "table secret",
        "a deposit that is not due": "table deposit",
        "a sealed key in a table, in hex": "a sealed key, hex, in a table",
        "a number of a lock in a request, decimal": "the number of a lock, decimal, in request",
        "a blinding in the header of an answer, in base64": "a number that hides a card, base64, in answer",
    }
    change(
        record.where,
        f"INSERT INTO opening (game, seq, part, cards, salt) VALUES ('{table.game}', 9, 0, 'ABCDEFG', '')",
        f"UPDATE secret SET seed = '{'5e' * 32}' WHERE game = '{table.game}'",
        f"INSERT INTO deposit (game, round, at, seat, shares) SELECT '{table.game}', 1, 12, 1, sig FROM entry "
        f"WHERE game = '{table.game}' AND seq = 1",
        f"INSERT INTO setting (player, json) VALUES ('{table.clients[0].identity.name}', '{{\"k\":\"{key.hex()}\"}}')",
    )
    record.proxy.planted = b"X-Planted: " + encode_base64(blinding.to_bytes(32, "little")).encode()
    record.ask("GET", f"/?{number}")
    record.proxy.planted = b""
    record.read_database()
    faults = judge(record, attackers=False).faults
    found = {name: any(fault.startswith(begin) for fault in faults) for name, begin in planted.items()}
    cards = [read(games[table.game], seat, with_other=True) for seat in (0, 1)]
    return {**found, "the other's locks for an attacker": all(len(each.leaks) > 6 for each in cards)}


def change(where: Path | str, *statements: str) -> None:
    """Changes rows behind the service's back."""
    connection: Any = sqlite3.connect(where, timeout=60) if isinstance(where, Path) else connected(where)
    with closing(connection):
        for statement in statements:
            connection.execute(statement)
        if isinstance(where, Path):
            connection.commit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--postgres", action="store_true", help="with PostgreSQL in the place of SQLite")
    given = parser.parse_args()
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hkoji-sealed-")))
        more = _in_cluster(stack.enter_context(cluster())) if given.postgres else {}
        record = stack.enter_context(recorded(folder, given.games, **more))
        print(f"{time.monotonic() - began:9.0f} s to play", flush=True)
        verdict = judge(record)
        print(f"{time.monotonic() - began:9.0f} s with the search", flush=True)
        found = control(record)
        told = record.service.said()
    for name, count in sorted(verdict.counts.items()):
        print(f"{count:12,} {name}")
    total = Counter[str]()
    for reading in verdict.readings:
        total.update(moments=reading.moments, hidden=reading.hidden, tried=reading.tried, early=reading.early)
    print(f"{total['moments']:12,} moments of an attacker, with {total['hidden']:,} hidden cards of the other")
    print(f"{total['tried']:12,} times 32 bytes tried with a lock, {total['early']:,} own draws read early by deposits")
    print(f"{len(told):12,} lines of the log")
    for fault in verdict.faults:
        print(fault)
    missed = [name for name, seen in found.items() if not seen]
    print(
        f"{len(found) - len(missed)} of {len(found)} planted leaks found{''.join(f'; NOT {each}' for each in missed)}"
    )
    print(f"{len(verdict.faults)} wrong; {time.monotonic() - began:.0f} s")
    sys.exit(bool(verdict.faults or missed))


def _in_cluster(server: Cluster) -> dict[str, Any]:
    name = server.create()
    return {"database": server.url(name), "files": server.folder / "data"}


if __name__ == "__main__":
    main()
