"""The store on PostgreSQL, which any number of processes on any number of machines may share.

What the contract promises holds at READ COMMITTED, with locks on single rows only:

- *One append at a place.* An append locks its game's row (`HOLD`), and so waits for another one of that game; then a
  statement that begins only now (`append_statement`) sees where the game stands and changes it, or nothing. What is in
  (game, seq) twice cannot be committed in any case.
- *All or nothing*: that one statement does everything. Its transaction ends with the round trip, and the answer is
  believed only when the server has said that it is idle again, which it says after the commit.
- *On disk*: a connection whose commits do not wait for the disk is not used (`connections.check_safe`).
- *Nothing stale*: every read is a statement of its own on a server that takes writes, and sees all that was committed
  before it began. What a `history` reads in several statements only ever grows, and is cut to the same length.
- *Nothing is appended for a revoked key.* `append_statement` looks whether it is. One that looked before a revocation
  was committed has its number from `HOLD` by then, so it is among those that are under way right after the commit: the
  revocation waits until all of these have ended before it returns. Whoever has been told of a revocation will see no
  entry appear that is not there yet, and no append pays for that with a lock on the player.
- *A key is one player's, once and for all*; a replaced key gives way once; a code is used once: these are many-step
  decisions on a handful of rows, made at SERIALIZABLE (`serial`).
- *A challenge is taken once*: a row is deleted by one statement only.
- *A lost connection.* Reads are given again. So are an append and a new game, since they can be recognised: if the
  place is taken then, and what stands there is what was to be written, to the byte, it has been written. Of other
  writes the caller is told that their outcome is not known; done again they bring what they would have brought.

Nothing here holds two games in one transaction, and every key of a game's data begins with the game. There are no
advisory locks, no sequences, and no numbers that PostgreSQL has drawn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Final

from psycopg.errors import UniqueViolation
from sqlalchemy import URL, Connection, delete, insert, select, update

from hkoji.errors import ConflictError, RevokedError, StorageError
from hkoji.game.openings import Opening
from hkoji.log.line import Line, StoredLine
from hkoji.log.private_key import parse_public_key
from hkoji.messages.text import tell
from hkoji_server.store import game_lists, player_keys, readiness
from hkoji_server.store.contract import (
    Append,
    Decide,
    GamePlace,
    GameSummary,
    History,
    NewGame,
    Notice,
    Player,
    Query,
    RetiredKey,
    Secrets,
    hint_of,
)
from hkoji_server.store.location import show_location
from hkoji_server.store.postgres import connections as pool
from hkoji_server.store.postgres import statements as said
from hkoji_server.store.postgres.connections import Connections
from hkoji_server.store.postgres.decision_thread import DecisionThread
from hkoji_server.store.postgres.hints import PostgresHints
from hkoji_server.store.postgres.transactions import SerializableTransactions
from hkoji_server.store.sqlite import statements
from hkoji_server.store.sqlite.statements import SERVICE, TOKEN, Row, Values

_MOST: Final = 10
"""Connections for moves and reads. The database has a hundred for all who ask, if nobody has given it more."""
_PACE: Final = 0.005
_PATIENCE: Final = 10.0
_UNDER_WAY: Final = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"
_ENDED: Final = "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= %(before)s::xid8"


class PostgresStore:
    """`Store` on the database at a URL. Made by `open_postgres`; used and closed in the same event loop."""

    def __init__(self, url: URL, *, most: int = _MOST) -> None:
        self._serial = SerializableTransactions(url, show_location(url))
        self._connections = Connections(url, most=most)
        self._hints = PostgresHints(self._connections)
        self._deciding = DecisionThread()

    async def open(self) -> None:
        """Looks whether the database is safe, migrates it, and connects. Raises `StorageError`."""
        await asyncio.to_thread(self._serial.open)
        await self._connections.open()

    async def close(self) -> None:
        """Finishes what was begun and closes connections."""
        await asyncio.to_thread(self._deciding.close)
        await self._hints.close()
        await self._connections.close()
        await asyncio.to_thread(self._serial.close)

    async def verify_ready(self) -> None:
        """Reads and writes a little. Raises `StorageError` if that fails, or the schema is not this program's."""
        await self._serial.run(readiness.verify_ready)

    # --- service and players --------------------------------------------------------------------------------------

    async def identity(self) -> tuple[str, str] | None:
        """The service's OpenSSH private key text and its origin; None in a new store."""
        rows = await self._rows(said.IDENTITY, {})
        return (rows[0][0], rows[0][1]) if rows else None

    async def add_identity(self, key: str, origin: str) -> tuple[str, str]:
        """Keeps key and origin unless there are some. Returns those that are kept now."""

        def work(connection: Connection) -> tuple[str, str]:
            kept = connection.execute(select(SERVICE.c.private_key, SERVICE.c.origin)).first()
            if kept:
                return kept[0], kept[1]
            connection.execute(insert(SERVICE).values(id=1, private_key=key, origin=origin))
            return key, origin

        return await self._serial.run(work)

    async def set_origin(self, origin: str) -> None:
        """Changes the origin."""
        await self._serial.run(lambda connection: connection.execute(update(SERVICE).values(origin=origin)).rowcount)

    async def player(self, name: str) -> Player | None:
        """A registered player."""
        rows = await self._rows(said.PLAYER_OF, {"b_name": name})
        return Player(*rows[0]) if rows else None

    async def add_player(self, player: Player) -> Player | None:
        """Registers. Returns the player that holds the name or the key already, or None if it is done."""
        return await self._serial.run(lambda connection: player_keys.register(connection, player))

    async def retired(self, key: str) -> RetiredKey | None:
        """What became of a key that was a player's and is no more."""
        rows = await self._rows(said.RETIRED_KEY, {"b_key": key})
        return player_keys.read_retired(rows[0]) if rows else None

    async def retired_of(self, name: str) -> tuple[RetiredKey, ...]:
        """The keys that a player had before, in order of time; a revoked one may still be the last they had."""
        return tuple(map(player_keys.read_retired, await self._rows(said.RETIRED_OF, {"b_name": name})))

    async def replace_key(self, player: Player, retired: RetiredKey) -> None:
        """Gives a registered player another key, and ends all their logins; all or nothing."""
        await self._serial.run(lambda connection: player_keys.replace(connection, player, retired))

    async def revoke_key(self, retired: RetiredKey) -> None:
        """Makes a player's key, the last one or an earlier, count nowhere, and ends all their logins.

        Returns when no append that has not seen it is under way.
        """
        await self._serial.run(lambda connection: player_keys.revoke(connection, retired))
        ((before,),) = await self._rows(_UNDER_WAY, {})
        async with asyncio.timeout(_PATIENCE) as limit:
            try:
                while not (await self._rows(_ENDED, {"before": before}))[0][0]:
                    await asyncio.sleep(_PACE)
            except asyncio.CancelledError as error:
                if not limit.expired():
                    raise
                raise StorageError(
                    tell("the key is revoked, but an entry of that moment may still appear"),
                    hint=tell("do the same again later to be certain"),
                ) from error

    async def allow_recovery(self, name: str, digest: str, expires: str) -> None:
        """Keeps the digest of a code, in place of an earlier one."""
        await self._serial.run(lambda connection: player_keys.allow(connection, name, digest, expires))

    async def recover(self, player: Player, digest: str, now: str) -> None:
        """Gives a player whose key is revoked another one, and uses the code up; all or nothing."""
        await self._serial.run(lambda connection: player_keys.recover(connection, player, digest, now))

    # --- logins ---------------------------------------------------------------------------------------------------

    async def add_challenge(self, digest: str, expires: str) -> None:
        """Keeps a login challenge by its digest."""
        await self._write(said.ADD_CHALLENGE, {"digest": digest, "expires": expires})

    async def take_challenge(self, digest: str, now: str) -> bool:
        """Uses a challenge up, and forgets those that have expired. False if there is none that is still good."""

        async def take(connection: pool.Connection) -> bool:
            taken = await connection.execute(said.TAKE_CHALLENGE, {"b_digest": digest, "b_now": now})
            await connection.execute(said.FORGET_CHALLENGES, {"b_now": now})
            return taken.rowcount == 1

        return await self._connections.once(take)

    async def add_token(self, digest: str, name: str, expires: str, now: str, key: str = "") -> None:
        """Keeps a login token by its digest, if the `key` still counts, and forgets those that have expired."""

        def work(connection: Connection) -> None:
            player_keys.verify_logs_in(connection, name, key)
            connection.execute(delete(TOKEN).where(TOKEN.c.expires <= now))
            connection.execute(insert(TOKEN).values(digest=digest, name=name, expires=expires))

        await self._serial.run(work)

    async def drop_token(self, digest: str) -> None:
        """Forgets a token."""
        await self._write(said.DROP_TOKEN, {"b_digest": digest})

    async def token(self, digest: str, now: str) -> str | None:
        """Whose token it is, if it is still good."""
        rows = await self._rows(said.NAME_OF_TOKEN, {"b_digest": digest, "b_now": now})
        return rows[0][0] if rows else None

    # --- games ----------------------------------------------------------------------------------------------------

    async def add_game(self, new: NewGame) -> None:
        """Keeps a new game."""
        values = said.game_values(new)

        async def add(connection: pool.Connection) -> None:
            await connection.execute(said.ADD_GAME, values)

        try:
            await self._connections.again(add)
        except StorageError as error:
            if not isinstance(error.__cause__, UniqueViolation) or not await self._stands(new.summary.game, new.line):
                raise

    async def append(self, append: Append | Decide) -> None:
        """Appends, or raises `RevokedError`, or `ConflictError` with the current head and changes nothing."""
        if not isinstance(append, Append):
            append = await self._deciding.decide(append)
        values = said.append_values(append)
        statement = said.append_statement(append)
        tries = 0

        async def work(connection: pool.Connection) -> tuple[Row | None, Row | None]:
            nonlocal tries
            tries += 1
            async with connection.pipeline():  # one transaction, which ends with the block
                held = await connection.execute(said.HOLD, values)
                done = await connection.execute(statement, values)
            return await held.fetchone(), await done.fetchone()

        held, done = await self._connections.again(work)
        assert done is not None
        moved, revoked = done
        if not moved and not (tries > 1 and await self._stands(append.game, *append.lines)):
            if revoked:
                raise RevokedError(revoked, parse_public_key(append.key).fingerprint)
            seq, head = held or (-1, "")
            raise ConflictError(append.game, seq=seq, head=head)
        self._hints.tell(hint_of(append))

    async def head(self, game: str) -> tuple[int, str] | None:
        """The last entry's number and head."""
        rows = await self._rows(said.HEAD_OF, {"b_game": game})
        return (rows[0][0], rows[0][1]) if rows else None

    async def summary(self, game: str) -> GameSummary | None:
        """A game's summary."""
        rows = await self._rows(said.GAME_OF, {"b_game": game})
        return GameSummary._make(rows[0]) if rows else None

    async def lines(self, game: str, after: int = -1) -> tuple[Line, ...]:
        """A game's lines with receipts, from the one after number `after` on."""
        return tuple(each.read() for each in await self.written(game, after))

    async def written(self, game: str, after: int = -1) -> tuple[StoredLine, ...]:
        """The same lines as they were written, for those who only pass them on."""
        return tuple(map(StoredLine._make, await self._rows(said.LINES_OF, {"b_game": game, "b_after": after})))

    async def history(self, game: str, after: int = -1) -> History | None:
        """A game's lines after number `after` and its secrets, of one moment."""
        wanted: Values = {"b_game": game, "b_after": after}
        rows, secret, openings = await self._connections.rows_of(
            (said.LINES_OF, wanted), (said.SECRET_OF, wanted), (said.OPENINGS_OF, wanted)
        )
        if not secret:
            return None
        ((seed, offered_to),) = secret
        lines = tuple(statements.read_line(row) for row in rows)
        last = lines[-1].entry.seq if lines else after
        found = (Opening(*row) for row in openings)
        return History(lines, Secrets(seed, offered_to, tuple(each for each in found if each.seq <= last)))

    async def games(self, query: Query) -> tuple[GameSummary, ...]:
        """Games that match, newest first. Games that have not been opened are in no list."""
        rows = await self._rows(_listed(game_lists.form_of(query)), game_lists.values_of(query))
        return tuple(map(GameSummary._make, rows))

    # --- waiting --------------------------------------------------------------------------------------------------

    async def heads(self, games: Collection[str]) -> Mapping[str, int]:
        """The numbers of the last entries of those `games` that there are."""
        return dict(await self._rows(said.HEADS_OF, {"b_games": list(games)}))

    async def places(self, player: str, since: str, limit: int) -> Mapping[str, GamePlace]:
        """Where a player's listed games stand that are not over, or have ended at `since` or later."""
        rows = await self._rows(_going_on(limit), {"b_player": player, "b_since": since})
        return {game: GamePlace(seq, updated, status == "finished") for game, seq, updated, status, _ in rows}

    def listen(self, notice: Notice) -> Callable[[], None]:
        """Gives hints to `notice` until the function that is returned is called."""
        return self._hints.listen(notice)

    # --- asking ---------------------------------------------------------------------------------------------------

    async def _rows(self, statement: str, values: Values) -> list[Row]:
        return await self._connections.rows(statement, values)

    async def _write(self, statement: str, values: Values) -> None:
        """Does what may be done twice."""

        async def write(connection: pool.Connection) -> None:
            await connection.execute(statement, values)

        await self._connections.again(write)

    async def _stands(self, game: str, *lines: Line) -> bool:
        """Whether these very lines stand in a game."""
        first = lines[0].entry.seq
        return (await self.lines(game, first - 1))[: len(lines)] == lines


@lru_cache(maxsize=256)
def _listed(form: game_lists.ListStatement) -> str:
    return said.compiled(game_lists.listed(form))


@lru_cache(maxsize=8)
def _going_on(limit: int) -> str:
    return said.compiled(game_lists.going_on(limit))


async def open_postgres(url: URL) -> PostgresStore:
    """The store at `url`, migrated and connected. Raises `StorageError` if it cannot be used."""
    store = PostgresStore(url)
    try:
        await store.open()
    except BaseException:
        await store.close()
        raise
    return store
