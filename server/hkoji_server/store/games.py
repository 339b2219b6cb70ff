"""The games: offers, lines, summaries and secrets; and the service itself.

How many offers a player may ask for in a day is counted in the transaction that adds the game. Beside it the same
player adds no other game: on SQLite one transaction writes at a time, and on PostgreSQL it holds the player's row.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from hkoji.errors import TooManyGamesError
from hkoji.game.agreement import DAY
from hkoji.game.clock import Way, add_seconds
from hkoji.game.commitments import Opening
from hkoji.game.course import OVER
from hkoji.game.dealer import SEALED_V1
from hkoji.game.sealed_parts import GivePart
from hkoji.log.line import Line, StoredLine
from hkoji.messages.text import plural, tell
from hkoji_server.store import game_lists
from hkoji_server.store.game_statements import KEPT_STATEMENTS
from hkoji_server.store.game_values import (
    Append,
    Decide,
    FinishedGame,
    GamePlace,
    GameSummary,
    History,
    NewGame,
    OfferQuota,
    OnHint,
    Query,
    Removed,
    Secrets,
)
from hkoji_server.store.migrate import verify_schema
from hkoji_server.store.player_tables import CHALLENGE, CODE, PLAYER, TOKEN
from hkoji_server.store.sql_steps import Row, SqlSteps, compiled, transaction
from hkoji_server.store.tables import (
    DEPOSIT,
    ENTRY,
    GAME,
    OFFER,
    OPENING,
    SECRET,
    SERVICE,
    STATEMENT,
    KeptStatement,
    rows_of,
)


class CountedOffers(NamedTuple):
    """How many offers of a player count, the time of the first one of them, and when the player registered."""

    number: int
    first: str | None
    registered: str | None


_OF_PLAYER: Final = OFFER.c.player == bindparam("b_player")
_REGISTERED: Final = select(PLAYER.c.registered).where(PLAYER.c.name == bindparam("b_player")).scalar_subquery()
COUNTED_OFFERS: Final = select(func.count(), func.min(OFFER.c.at), _REGISTERED).where(
    _OF_PLAYER, OFFER.c.at > bindparam("b_since"), OFFER.c.game != bindparam("b_game")
)
"""Selects a row of `CountedOffers` of `b_player` after `b_since`, without the game `b_game`."""
NOTE_OFFER: Final = insert(OFFER).values(player=bindparam("b_player"), at=bindparam("b_at"), game=bindparam("b_game"))
"""Inserts the offer of the game `b_game` for `b_player` at `b_at`."""
FORGET_OFFERS: Final = delete(OFFER).where(_OF_PLAYER, OFFER.c.at <= bindparam("b_since"))
"""Deletes the offers of `b_player` up to `b_since`, which no longer count."""


def quota_values(new: NewGame, quota: OfferQuota) -> dict[str, str]:
    """Returns the parameters of these statements."""
    return {"b_player": new.offered_to, "b_since": quota.since, "b_game": new.summary.game, "b_at": new.at}


def verify_may_offer(player: str, quota: OfferQuota, counted: CountedOffers) -> None:
    """Raises `TooManyGamesError` if the player has asked for as many games as the quota allows."""
    young = counted.registered is not None and counted.registered > quota.since
    new = young and quota.most_of_new < quota.most
    limit = quota.most_of_new if new else quota.most
    if counted.number < limit:
        return
    # A new name may ask for more as soon as it is no longer new.
    first = min(filter(None, (counted.first, counted.registered if new else None)), default=quota.since)
    again = add_seconds(first, DAY)
    raise TooManyGamesError(
        plural(
            "{name} has asked for {n} game within 24 hours, which is the limit",
            "{name} has asked for {n} games within 24 hours, which is the limit",
            limit,
            name=player,
        )
        if not new
        else plural(
            "{name} has asked for {n} game, which is the limit for the first 24 hours after registering",
            "{name} has asked for {n} games, which is the limit for the first 24 hours after registering",
            limit,
            name=player,
        ),
        hint=tell("nothing was created; ask again after {time}", time=again),
    )


_GAME: Final[ColumnElement[str]] = bindparam("b_game")
HEAD: Final = select(GAME.c.seq, GAME.c.head).where(GAME.c.game == _GAME)
IDENTITY: Final = select(SERVICE.c.private_key, SERVICE.c.origin)
_SUMMARY: Final = select(*game_lists.SUMMARY_COLUMNS).where(GAME.c.game == _GAME)
_LINES: Final = (
    select(ENTRY.c.text, ENTRY.c.sig, ENTRY.c.receipt, ENTRY.c.receipt_sig)
    .where(ENTRY.c.game == _GAME, ENTRY.c.seq > bindparam("b_after", type_=BigInteger))
    .order_by(ENTRY.c.seq)
)
GAME_SECRET: Final = select(SECRET.c.seed, SECRET.c.offered_to).where(SECRET.c.game == _GAME)
GAME_OPENINGS: Final = (
    select(OPENING.c.seq, OPENING.c.part, OPENING.c.cards, OPENING.c.salt)
    .where(OPENING.c.game == _GAME)
    .order_by(OPENING.c.seq, OPENING.c.part)
)
GAME_DEPOSITS: Final = (
    select(GAME.c.seq, GAME.c.dealer, DEPOSIT.c.at, DEPOSIT.c.round, DEPOSIT.c.shares)
    .join_from(GAME, DEPOSIT, DEPOSIT.c.game == GAME.c.game, isouter=True)
    .where(GAME.c.game == _GAME)
    .order_by(DEPOSIT.c.round, DEPOSIT.c.at)
)
"""Selects the deposits of a game, each with the number of the game's last entry at that moment; a row at least."""
_DEADLINE: Final = select(GAME.c.deadline, GAME.c.way).where(GAME.c.game == _GAME)
_listed: Final = lru_cache(maxsize=256)(game_lists.listed)
_finished: Final = lru_cache(maxsize=256)(game_lists.finished)
_going_on: Final = lru_cache(maxsize=8)(game_lists.going_on)
_TRIES: Final = 8
"""How often a history is read until all of it is of one moment. Each time another process has just appended."""
_EXPIRING: Final = (TOKEN, CHALLENGE, CODE)


def _unopened(before: ColumnElement[str] | str) -> tuple[ColumnElement[bool], ...]:
    # A literal, so that the database sees that its index for offers has all of them.
    return GAME.c.status == literal_column("'offered'"), GAME.c.created < before


def _any_expired(now: ColumnElement[str], offered_before: ColumnElement[str]) -> Select[Any]:
    expired = (exists().where(table.c.expires <= now) for table in _EXPIRING)
    return select(literal_column("1")).where(or_(exists().where(*_unopened(offered_before)), *expired))


_ANY_EXPIRED: Final = _any_expired(bindparam("b_now", type_=Text), bindparam("b_before", type_=Text))


class GameStore(SqlSteps):
    """The area of the store that is about games, and the service itself."""

    @transaction
    def verify_ready(self, connection: Connection) -> None:
        """Reads and writes a little. Raises `StorageError` if that fails or the schema is not that of this program."""
        verify_schema(connection, tell("restart the service with the version of hkoji that migrated it"))
        # Writes a value that is there already, which is a write like any other.
        connection.execute(update(SERVICE).values(origin=SERVICE.c.origin))

    async def identity(self) -> tuple[str, str] | None:
        """Returns the service's OpenSSH private key text and its origin; None in a new store."""
        rows = await self._read(IDENTITY)
        return (rows[0][0], rows[0][1]) if rows else None

    @transaction
    def add_identity(self, connection: Connection, key: str, origin: str) -> tuple[str, str]:
        """Keeps key and origin unless the store has some already. Returns those that it has now."""
        kept = connection.execute(IDENTITY).first()
        if kept:
            return kept[0], kept[1]
        connection.execute(insert(SERVICE).values(id=1, private_key=key, origin=origin))
        return key, origin

    async def set_origin(self, origin: str) -> None:
        """Changes the origin."""
        await self._change(update(SERVICE).values(origin=origin))

    # --- offers, and what is no longer needed ---------------------------------------------------------------------

    async def verify_may_offer(self, player: str, quota: OfferQuota) -> None:
        """Raises `TooManyGamesError` if a game of the player's would be one too many by its quota."""
        (row,) = await self._read(COUNTED_OFFERS, b_player=player, b_since=quota.since, b_game="")
        verify_may_offer(player, quota, CountedOffers._make(row))

    @transaction
    def withdraw_offer(self, connection: Connection, game: str, player: str) -> None:
        """Removes an offer of the player's, which then no longer counts. An offer that is opened stays."""
        status = connection.execute(select(GAME.c.status).where(GAME.c.game == game).with_for_update()).scalar()
        if status == "offered":
            _remove_offers(connection, [game])
            connection.execute(delete(OFFER).where(OFFER.c.player == player, OFFER.c.game == game))

    async def remove_expired(self, now: str, offered_before: str, most: int) -> Removed:
        """Removes what is no longer needed: offers made before that time that nobody has opened, at most `most`, and
        expired codes, logins and challenges. An offer that is being opened stays, or its opening finds no game.
        """

        def work(connection: Connection) -> Removed:
            found = select(GAME.c.game).where(*_unopened(offered_before)).order_by(GAME.c.created).limit(most)
            # On PostgreSQL an append holds the row of its game: a game whose row is held is left out here, and an
            # append that comes while the row is being removed waits and then finds no game.
            games = [row[0] for row in connection.execute(found.with_for_update(skip_locked=True))]
            _remove_offers(connection, games)
            logins, challenges, codes = (
                connection.execute(delete(table).where(table.c.expires <= now)).rowcount for table in _EXPIRING
            )
            return Removed(len(games), logins, challenges, codes)

        # Nearly always there is nothing to remove, and a read disturbs no writer.
        if not await self._read(_ANY_EXPIRED, b_now=now, b_before=offered_before):
            return Removed()
        return await self._transaction(work)

    # --- writes ---------------------------------------------------------------------------------------------------

    @abstractmethod
    async def add_game(self, new: NewGame, opening: Append | None = None) -> None:
        """Adds a new game, with the append that opens it if there is one.

        Or changes nothing and raises `StaleDecisionError`, `TooManyGamesError` by its quota, and what `append` raises.
        With an opening it raises `ConflictError` if there is a game with that id.
        """

    @abstractmethod
    async def append(self, append: Append | Decide) -> None:
        """Appends, or changes nothing and raises `RevokedError`, `ConflictError` with the current head, or
        `TooManyGamesError`, or `NotFoundError` for a game that is not there, or what `verify_closing` and
        `close_mail` raise.

        Raises `StaleDecisionError` if the head is the same, and the deadline is not, there are more outages, or the
        decision is too old. An append that ends the game forgets the statements about it.

        A function that decides what to append runs in a thread of the store, while nothing is locked. Its errors are
        raised here.
        """

    # --- reads ----------------------------------------------------------------------------------------------------
    # Lines, heads, places and lists are tuples: a request reads hundreds of them, and each takes 0.2 µs,
    # where a row takes 6.

    async def head(self, game: str) -> tuple[int, str] | None:
        """Returns the number and the head of the last entry."""
        rows = await self._read(HEAD, b_game=game)
        return (rows[0][0], rows[0][1]) if rows else None

    async def summary(self, game: str) -> GameSummary | None:
        """Returns the summary of a game."""
        rows = await self._read(_SUMMARY, b_game=game)
        return GameSummary._make(rows[0]) if rows else None

    async def lines(self, game: str, after: int = -1) -> tuple[Line, ...]:
        """Returns the lines of a game with their receipts, beginning after entry number `after`."""
        return tuple(map(StoredLine.read, await self.written(game, after)))

    async def written(self, game: str, after: int = -1) -> tuple[StoredLine, ...]:
        """Returns the same lines as they are stored, for callers that only pass them on."""
        return tuple(map(StoredLine._make, await self._read(_LINES, b_game=game, b_after=after)))

    async def history(self, game: str, after: int = -1) -> History | None:
        """Returns the lines of a game after entry number `after`, and its secrets, of one moment."""
        # The deadline first and the statements last: see `History`.
        reads = (_DEADLINE, _LINES, GAME_SECRET, GAME_OPENINGS, GAME_DEPOSITS, KEPT_STATEMENTS)
        for _ in range(_TRIES):
            timed, rows, secret, opened, deposited, said = await self._snapshot(
                [compiled(each, self._dialect) for each in reads], {"b_game": game, "b_after": after}
            )
            if not secret or not timed or not deposited:
                return None
            ((seed, offered_to),) = secret
            ((deadline, way),) = timed
            lines = tuple(StoredLine._make(row).read() for row in rows)
            # If the statements are read one after the other, entries may be appended in between. Lines and openings
            # are only ever added, so that those up to the last line found are the ones of its moment. Deposits are
            # deleted too: those of another moment are read again, and so are all the others.
            last = lines[-1].entry.seq if lines else after
            if deposited[0][0] == last or deposited[0][1] != SEALED_V1:
                break
        openings = tuple(opening for opening in (Opening(*row) for row in opened) if opening.seq <= last)
        secrets = Secrets(seed, offered_to, openings, read_deposits(deposited))
        return History(lines, secrets, deadline, rows_of(KeptStatement, said), Way(way))

    async def games(self, query: Query) -> tuple[GameSummary, ...]:
        """Returns the games that match, in the order of `Query`. Games that have not been opened are in no list."""
        found = await self._read(_listed(game_lists.statement_of(query)), **game_lists.values_of(query))
        return tuple(map(GameSummary._make, found))

    async def finished(self, before: str, after: tuple[str, str], limit: int) -> tuple[FinishedGame, ...]:
        """Returns games that ended before the time `before`, in the order of (ended, game), however they ended.

        At most `limit`, the first of those that come after the place `after`.
        """
        ended, game = after
        rows = await self._read(_finished(limit), b_before=before, b_ended=ended, b_game=game)
        return tuple(FinishedGame(row[0], GameSummary._make(row[1:])) for row in rows)

    @abstractmethod
    async def heads(self, games: Collection[str]) -> Mapping[str, int]:
        """Returns the numbers of the last entries of those `games` that exist. For at most a few hundred games."""

    async def places(self, player: str, since: str, limit: int, invitations: int) -> Mapping[str, GamePlace]:
        """Returns the places of a player's listed games that go on or ended at the time `since` or later.

        At most `limit` games that the player has opened or joined, and at most so many `invitations`. Of each kind the
        games that go on come first, and then those that were created last.
        """
        rows = await self._read(_going_on(limit, invitations), b_player=player, b_since=since)
        return {game: GamePlace(seq, updated, status in OVER) for game, seq, updated, status in rows}

    def listen(self, listener: OnHint) -> Callable[[], None]:
        """Calls `listener` with hints, in the running loop, until the returned function is called.

        The hint of a write of this process comes as soon as the write is on disk. For writes of other processes, the
        store gives those hints that it can.
        """
        return self._hints.listen(listener)


def read_deposits(rows: Iterable[Row]) -> tuple[GivePart, ...]:
    """Returns the deposits in the rows of `GAME_DEPOSITS`."""
    return tuple(GivePart((at,), number, bytes(shares)) for _, _, at, number, shares in rows if at is not None)


def _remove_offers(connection: Connection, games: list[str]) -> None:
    for table in (STATEMENT, OPENING, DEPOSIT, ENTRY, SECRET, GAME) if games else ():
        connection.execute(delete(table).where(table.c.game.in_(games)))
