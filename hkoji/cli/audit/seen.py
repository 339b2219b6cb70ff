"""The memory of an audit of many logs, with which later logs are compared: the logs, their claims, and the mails.

The logs and their claims are in a database in a temporary file, so the memory of the process does not grow with the
number of logs. The file takes about 2 kB for each game. It is deleted at the end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.audit.contradictions import (
    Contradiction,
    ContradictionKind,
    LogClaims,
    SeedBinding,
    covers,
    extends,
    fork,
    in_outage,
    other_seed,
    pack_time,
    two_receipts,
)
from hkoji.errors import StorageError
from hkoji.game.clock import Outage, Way
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.mail.mails_audit import OpenedMail


_TABLES: Final = """
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    CREATE TABLE text (digest BLOB PRIMARY KEY, file TEXT, line INTEGER) WITHOUT ROWID;
    CREATE TABLE course (id INTEGER PRIMARY KEY, game TEXT, heads BLOB, times BLOB, vouched BLOB, ways BLOB,
        server TEXT, pinned INTEGER, file TEXT, line INTEGER, first BLOB, last BLOB);
    CREATE INDEX game ON course (game);
    CREATE TABLE bond (server TEXT, deal TEXT, seed_commit TEXT, file TEXT, line INTEGER,
        PRIMARY KEY (server, deal)) WITHOUT ROWID;
    CREATE TABLE outage (server TEXT, begin TEXT, until TEXT, way TEXT, game TEXT, file TEXT, line INTEGER,
        PRIMARY KEY (server, begin, until, way)) WITHOUT ROWID;
"""


class LogPlace(NamedTuple):
    """Where a log begins: its file, and the line from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return self.file if self.line <= 1 else f"{self.file}:{self.line}"


class FoundContradiction(NamedTuple):
    """Two logs that cannot both be true: the earlier one, and the later one where it was noticed."""

    earlier: LogPlace
    later: LogPlace
    game: str
    contradiction: Contradiction


class SeenLogs:
    """The memory of one run. Raises `StorageError` when the temporary file cannot be written."""

    def __init__(self) -> None:
        self._base: Final = sqlite3.connect("", isolation_level=None)
        self._base.executescript(_TABLES)
        self._base.execute("BEGIN")

    def close(self) -> None:
        """Closes the database, which deletes its temporary file."""
        self._base.close()

    def seen(self, text: bytes, place: LogPlace) -> LogPlace | None:
        """Returns the place of an earlier log with the same text. If there is none, records `place`; returns None."""
        digest = sha256(text).digest()
        try:
            found = self._base.execute("SELECT file, line FROM text WHERE digest = ?", (digest,)).fetchone()
            if found is None:
                self._base.execute("INSERT INTO text VALUES (?, ?, ?)", (digest, *place))
        except sqlite3.Error as error:
            raise _full(error) from error
        return None if found is None else LogPlace(*found)

    def add(self, claims: LogClaims, place: LogPlace) -> tuple[LogPlace | None, list[FoundContradiction]]:
        """Records a log's claims. Returns an earlier log, if one covers it, and the contradictions with earlier logs.

        The earlier log is of the same game and begins with all entries of this one.
        """
        try:
            earlier, found = self._course(claims, place)
            if claims.bond:
                found += self._bond(claims, claims.bond, place)
            found += self._outages(claims, place)
        except sqlite3.Error as error:
            raise _full(error) from error
        return earlier, found

    def _course(self, claims: LogClaims, place: LogPlace) -> tuple[LogPlace | None, list[FoundContradiction]]:
        rows = self._base.execute(
            "SELECT id, heads, times, vouched, ways, server, pinned, file, line FROM course WHERE game = ? ORDER BY id",
            (claims.game,),
        )
        kin: list[tuple[int, LogClaims, LogPlace]] = []
        rivals: list[tuple[LogClaims, LogPlace]] = []
        for number, heads, times, vouched, ways, server, pinned, file, line in rows:
            other = LogClaims(claims.game, heads, times, vouched, server, bool(pinned), None, ways=ways)
            there = LogPlace(file, line)
            if covers(other, claims):
                return there, []
            if extends(other, claims) or extends(claims, other):
                kin.append((number, other, there))
            else:
                rivals.append((other, there))
        for number, other, _there in kin:
            if covers(claims, other):
                self._base.execute("DELETE FROM course WHERE id = ?", (number,))
        values = (claims.game, claims.heads, claims.times, claims.vouched, claims.ways, claims.server, claims.pinned)
        self._base.execute(
            "INSERT INTO course (game, heads, times, vouched, ways, server, pinned, file, line, first, last) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, *place, *claims.span),
        )
        twice = [(conflict, other, there) for _, other, there in kin if (conflict := two_receipts(claims, other))]
        same = [(other, there) for _, other, there in kin if not two_receipts(claims, other)]
        earlier = next((there for other, there in same if extends(other, claims)), None)
        found = [
            FoundContradiction(there, place, claims.game, conflict)
            for rival, there in rivals
            if not _known(conflict := fork(claims, rival), rival, (other for _number, other, _there in kin))
        ]
        found += [
            FoundContradiction(there, place, claims.game, conflict)
            for conflict, other, there in twice
            if not any((known := two_receipts(each, other)) and known.entry == conflict.entry for each, _ in same)
        ]
        # Of several contradictions, one that convicts somebody is reported.
        found.sort(key=lambda each: each.contradiction.signer is None)
        return earlier, found[:1]

    def _bond(self, claims: LogClaims, bond: SeedBinding, place: LogPlace) -> list[FoundContradiction]:
        found = self._base.execute(
            "SELECT seed_commit, file, line FROM bond WHERE server = ? AND deal = ?", (claims.server, bond.deal)
        ).fetchone()
        if found is None:
            values = (claims.server, bond.deal, bond.seed_commit)
            self._base.execute("INSERT INTO bond VALUES (?, ?, ?, ?, ?)", (*values, *place))
            return []
        seed_commit, *there = found
        if seed_commit == bond.seed_commit:
            return []
        return [FoundContradiction(LogPlace(*there), place, claims.game, other_seed(claims, bond))]

    def _outages(self, claims: LogClaims, place: LogPlace) -> list[FoundContradiction]:
        """Compares the times of a log with the outages of earlier logs, and its outages with their times.

        Of a log, one contradiction is reported.
        """
        known = self._base.execute(
            "SELECT begin, until, way, game, file, line FROM outage WHERE server = ?", (claims.server,)
        )
        for begin, until, way, game, *there in known:
            if conflict := in_outage(claims, Outage(begin, until, Way(way)), game):
                return [FoundContradiction(LogPlace(*there), place, claims.game, conflict)]
        for outage in claims.outages:
            values = (claims.server, *outage, claims.game, *place)
            if not self._base.execute("INSERT OR IGNORE INTO outage VALUES (?, ?, ?, ?, ?, ?, ?)", values).rowcount:
                continue
            for other, there in self._at_work(claims.server, outage):
                if conflict := in_outage(other, outage, claims.game):
                    return [FoundContradiction(there, place, other.game, conflict)]
        return []

    def _at_work(self, server: str, outage: Outage) -> Iterator[tuple[LogClaims, LogPlace]]:
        """The earlier logs of a service that go on before the end of an outage and after its beginning."""
        rows = self._base.execute(
            "SELECT game, heads, times, vouched, ways, server, pinned, file, line FROM course "
            "WHERE server = ? AND first < ? AND last >= ? ORDER BY id",
            (server, pack_time(outage.until), pack_time(outage.begin)),
        )
        for game, heads, times, vouched, ways, key, pinned, file, line in rows:
            yield LogClaims(game, heads, times, vouched, key, bool(pinned), None, ways=ways), LogPlace(file, line)


def _known(conflict: Contradiction, rival: LogClaims, kin: Iterable[LogClaims]) -> bool:
    """Returns whether a log of `kin` has contradicted `rival` before, and convicted somebody if `conflict` does."""
    return any(
        not (extends(each, rival) or extends(rival, each)) and (conflict.signer is None or fork(each, rival).signer)
        for each in kin
    )


def _full(error: sqlite3.Error) -> StorageError:
    return StorageError(
        tell("the audit cannot write its temporary file: {reason}", reason=str(error)),
        hint=tell("name a folder with more room in the environment variable SQLITE_TMPDIR"),
    )


class SeenMails:
    """The memory of one run. It grows with the mails that were given, not with the logs."""

    def __init__(self) -> None:
        self._seen: Final[dict[tuple[str, str], tuple[OpenedMail, str, LogPlace]]] = {}

    def add(self, opened: Iterable[OpenedMail], game: str, place: LogPlace) -> list[FoundContradiction]:
        """Records the mails behind a log. Returns the contradictions with earlier logs."""
        found = []
        for each in opened:
            earlier, other, there = self._seen.setdefault((each.key, each.mail), (each, game, place))
            if earlier.commit != each.commit and there != place:
                reason = tell(
                    "one mail is behind entry {entry}, and behind entry {other} of game {game}",
                    entry=each.entry,
                    other=earlier.entry,
                    game=other[:8],
                )
                conflict = Contradiction(ContradictionKind.MAIL, each.entry, each.signer, reason)
                found.append(FoundContradiction(there, place, game, conflict))
        return found
