"""The store on an SQL database: the methods that are the same on every backend.

A backend gives the steps of `SqlSteps`, and the methods of the contract that each database does in another way: appends
and new games, login challenges, heads, hints and `drained`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select, update

from hkoji.game.clock import Outage, Way
from hkoji.game.commitments import Opening
from hkoji.game.course import OVER
from hkoji.log.line import Line, StoredLine
from hkoji_server.store import (
    choices,
    expired,
    game_lists,
    game_statements,
    offers,
    operator_codes,
    outages,
    player_keys,
    talk,
)
from hkoji_server.store import notices as outbox
from hkoji_server.store.contract import (
    FinishedGame,
    GamePlace,
    GameSummary,
    History,
    OfferQuota,
    Query,
    Removed,
    Secrets,
    Store,
)
from hkoji_server.store.migrate import verify_schema
from hkoji_server.store.notice_contract import Channel, DueChannel, LeasedNotice, NewNotice
from hkoji_server.store.player_contract import OperatorCode, Player, RetiredKey
from hkoji_server.store.sql_mail import SqlMailStore
from hkoji_server.store.statements import Row, read_line, read_outage
from hkoji_server.store.tables import SERVICE, TOKEN
from hkoji_server.store.talk_contract import KeptMessage, LastMessage, NewMessage
from hkoji_server.store.time_contract import KeptStatement


class SqlStore(SqlMailStore, Store):
    """Implements `Store` over the steps of a backend. The contract documents the public methods."""

    async def verify_ready(self) -> None:
        def work(connection: Connection) -> None:
            verify_schema(connection)
            # Writes a value that is there already, which is a write like any other.
            connection.execute(update(SERVICE).values(origin=SERVICE.c.origin))

        await self._transaction(work)

    # --- service and players --------------------------------------------------------------------------------------

    async def identity(self) -> tuple[str, str] | None:
        rows = await self._rows(self._reads.identity, {})
        return (rows[0][0], rows[0][1]) if rows else None

    async def add_identity(self, key: str, origin: str) -> tuple[str, str]:
        def work(connection: Connection) -> tuple[str, str]:
            kept = connection.execute(select(SERVICE.c.private_key, SERVICE.c.origin)).first()
            if kept:
                return kept[0], kept[1]
            connection.execute(insert(SERVICE).values(id=1, private_key=key, origin=origin))
            return key, origin

        return await self._transaction(work)

    async def set_origin(self, origin: str) -> None:
        await self._transaction(lambda connection: connection.execute(update(SERVICE).values(origin=origin)).rowcount)

    async def player(self, name: str) -> Player | None:
        rows = await self._rows(self._reads.player, {"b_name": name})
        return Player(*rows[0]) if rows else None

    async def add_player(self, player: Player, code: str | None = None) -> Player | None:
        return await self._transaction(lambda connection: player_keys.register(connection, player, code))

    async def knows_key(self, key: str) -> bool:
        return bool(await self._rows(self._reads.known_key, {"b_key": key}))

    async def retired(self, key: str) -> RetiredKey | None:
        rows = await self._rows(self._reads.retired_key, {"b_key": key})
        return player_keys.read_retired(rows[0]) if rows else None

    async def retired_of(self, name: str) -> tuple[RetiredKey, ...]:
        rows = await self._rows(self._reads.retired_keys, {"b_name": name})
        return tuple(map(player_keys.read_retired, rows))

    async def replace_key(self, player: Player, retired: RetiredKey) -> None:
        await self._transaction(lambda connection: player_keys.replace(connection, player, retired))

    async def revoke_key(self, retired: RetiredKey) -> None:
        await self._transaction(lambda connection: player_keys.revoke(connection, retired))

    async def add_code(self, code: OperatorCode) -> None:
        await self._transaction(lambda connection: operator_codes.store_code(connection, code))

    async def invitations(self, now: str) -> tuple[OperatorCode, ...]:
        return await self._transaction(lambda connection: operator_codes.invitations(connection, now))

    async def withdraw_code(self, digest: str) -> bool:
        return await self._transaction(lambda connection: operator_codes.withdraw(connection, digest))

    async def recover(self, player: Player, digest: str, now: str) -> None:
        held = await self._transaction(
            lambda connection: player_keys.ends_held_key(connection, player.name, digest, now)
        )
        # A held key may be signing now. Beside this nothing is entered, so nobody sees a game that has half of it.
        run = self._alone if held else self._transaction
        await run(lambda connection: player_keys.recover(connection, player, digest, now))

    # --- logins ---------------------------------------------------------------------------------------------------

    async def add_token(self, digest: str, name: str, expires: str, now: str, key: str = "") -> None:
        def work(connection: Connection) -> None:
            # In the same transaction as the insertion: a revocation that commits first ends this login too.
            player_keys.verify_logs_in(connection, name, key)
            connection.execute(delete(TOKEN).where(TOKEN.c.expires <= now))
            connection.execute(insert(TOKEN).values(digest=digest, name=name, expires=expires))

        await self._transaction(work)

    async def token(self, digest: str, now: str) -> str | None:
        rows = await self._rows(self._reads.token, {"b_digest": digest, "b_now": now})
        return rows[0][0] if rows else None

    # --- games ----------------------------------------------------------------------------------------------------

    async def verify_may_offer(self, player: str, quota: OfferQuota) -> None:
        values = {"b_player": player, "b_since": quota.since, "b_game": ""}
        (row,) = await self._rows(self._reads.offers, values)
        offers.verify_may_offer(player, quota, offers.CountedOffers._make(row))

    async def head(self, game: str) -> tuple[int, str] | None:
        rows = await self._rows(self._reads.head, {"b_game": game})
        return (rows[0][0], rows[0][1]) if rows else None

    async def summary(self, game: str) -> GameSummary | None:
        rows = await self._rows(self._reads.summary, {"b_game": game})
        return GameSummary._make(rows[0]) if rows else None

    async def lines(self, game: str, after: int = -1) -> tuple[Line, ...]:
        return tuple(each.read() for each in await self.written(game, after))

    async def written(self, game: str, after: int = -1) -> tuple[StoredLine, ...]:
        rows = await self._rows(self._reads.lines, {"b_game": game, "b_after": after})
        return tuple(map(StoredLine._make, rows))

    async def history(self, game: str, after: int = -1) -> History | None:
        reads = self._reads
        # The deadline first and the statements last: see `History`.
        timed, rows, secret, opened, said = await self._snapshot(
            reads.deadline,
            reads.lines,
            reads.secret,
            reads.openings,
            reads.kept_statements,
            values={"b_game": game, "b_after": after},
        )
        if not secret or not timed:
            return None
        ((seed, offered_to),) = secret
        ((deadline, way),) = timed
        lines = tuple(read_line(row) for row in rows)
        # If the statements are read one after the other, entries may be appended in between. Lines and openings are
        # only ever added, so that those up to the last line found are the ones of its moment.
        last = lines[-1].entry.seq if lines else after
        openings = tuple(opening for opening in (Opening(*row) for row in opened) if opening.seq <= last)
        statements = tuple(map(game_statements.read_statement, said))
        return History(lines, Secrets(seed, offered_to, openings), deadline, statements, Way(way))

    async def games(self, query: Query) -> tuple[GameSummary, ...]:
        rows = await self._rows(self._reads.games(game_lists.statement_of(query)), game_lists.values_of(query))
        return tuple(map(GameSummary._make, rows))

    async def finished(self, before: str, after: tuple[str, str], limit: int) -> tuple[FinishedGame, ...]:
        ended, game = after
        values = {"b_before": before, "b_ended": ended, "b_game": game}
        rows = await self._rows(self._reads.finished(limit), values)
        return tuple(FinishedGame(row[0], GameSummary._make(row[1:])) for row in rows)

    async def places(self, player: str, since: str, limit: int, invitations: int) -> Mapping[str, GamePlace]:
        rows = await self._rows(self._reads.places(limit, invitations), {"b_player": player, "b_since": since})
        return {game: GamePlace(seq, updated, status in OVER) for game, seq, updated, status in rows}

    # --- what players have chosen -----------------------------------------------------------------------------------

    async def settings(self, player: str) -> str | None:
        rows = await self._rows(self._reads.settings, {"b_player": player})
        return rows[0][0] if rows else None

    async def set_settings(self, player: str, text: str) -> None:
        await self._transaction(lambda connection: choices.set_settings(connection, player, text))

    async def blocks(self, player: str) -> tuple[str, ...]:
        return tuple(name for (name,) in await self._rows(self._reads.blocks, {"b_player": player}))

    async def add_block(self, player: str, other: str) -> None:
        await self._transaction(lambda connection: choices.add_block(connection, player, other))

    async def remove_block(self, player: str, other: str) -> bool:
        return await self._transaction(lambda connection: choices.remove_block(connection, player, other))

    async def is_blocked(self, player: str, other: str) -> bool:
        return bool(await self._rows(self._reads.block, {"b_player": player, "b_other": other}))

    async def have_finished(self, one: str, other: str) -> bool:
        ((found,),) = await self._rows(self._reads.finished_pair, {"b_player": one, "b_other": other})
        return bool(found)

    async def open_invitations(self, host: str, invited: str) -> tuple[str, ...]:
        rows = await self._rows(self._reads.open_invitations, {"b_player": invited, "b_other": host})
        return tuple(game for (game,) in rows)

    # --- deadlines, and statements about games --------------------------------------------------------------------

    async def overdue(self, way: Way, before: str, limit: int) -> tuple[str, ...]:
        rows = await self._rows(self._reads.overdue, {"b_way": way, "b_before": before, "b_limit": limit})
        return tuple(game for (game,) in rows)

    async def set_deadline(self, game: str, head: str, old: str | None, new: str | None) -> None:
        await self._holding(lambda connection: game_statements.set_deadline(connection, game, head, old, new))

    async def add_statement(
        self,
        new: KeptStatement,
        *,
        deadline: str | None,
        after: str | None,
        outages: int,
        notices: Sequence[NewNotice] = (),
        mail: int | None = None,
        key: str = "",
    ) -> bool:
        def work(connection: Connection) -> bool:
            return game_statements.add_statement(
                connection,
                new,
                deadline=deadline,
                after=after,
                outages=outages,
                notices=notices,
                mail=mail,
                key=key,
                clock=lambda: self._time(connection),
            )

        return await self._waking(self._holding(work))

    async def statements(self, game: str) -> tuple[KeptStatement, ...]:
        rows = await self._rows(self._reads.kept_statements, {"b_game": game})
        return tuple(map(game_statements.read_statement, rows))

    async def remove_statement(self, game: str, head: str, kind: str, name: str) -> bool:
        return await self._transaction(
            lambda connection: game_statements.remove_statement(connection, game, head, kind, name)
        )

    # --- talk -----------------------------------------------------------------------------------------------------

    async def add_message(self, new: NewMessage, since: str) -> tuple[KeptMessage, bool]:
        return await self._waking(self._holding(lambda connection: talk.add_message(connection, new, since)))

    async def messages(self, game: str, after: int, limit: int) -> tuple[KeptMessage, ...]:
        rows = await self._rows(self._reads.messages, {"b_game": game, "b_after": after, "b_limit": limit})
        return tuple(map(KeptMessage._make, rows))

    async def last_messages(self, player: str, since: str, limit: int) -> tuple[LastMessage, ...]:
        rows = await self._rows(self._reads.last_messages(limit), {"b_player": player, "b_since": since})
        return tuple(map(LastMessage._make, rows))

    async def delete_message(self, game: str, number: int, name: str) -> None:
        await self._holding(lambda connection: talk.delete_message(connection, game, number, name))

    async def remove_talk(self, ended_before: str, begun_before: str, most: int) -> int:
        if not await self._rows(self._reads.any_old_talk, {"b_ended": ended_before, "b_begun": begun_before}):
            return 0
        return await self._transaction(
            lambda connection: talk.remove_talk(connection, ended_before, begun_before, most)
        )

    # --- beats and outages ----------------------------------------------------------------------------------------

    async def last_beat(self, way: Way) -> str | None:
        rows = await self._rows(self._reads.beat, {"b_way": way})
        return rows[0][0] if rows else None

    async def outages(self) -> tuple[Outage, ...]:
        return tuple(map(read_outage, await self._rows(self._reads.outages, {})))

    async def close_gap(self, way: Way, beat: str | None, now: str) -> Outage | None:
        return await self._alone(lambda connection: outages.close_gap(connection, way, beat, now))

    async def add_outage(self, outage: Outage, now: str) -> None:
        await self._alone(lambda connection: outages.add_outage(connection, outage, now))

    # --- channels and the outbox ----------------------------------------------------------------------------------

    async def add_channel(self, channel: Channel) -> bool:
        return await self._holding(lambda connection: outbox.add_channel(connection, channel))

    async def channel(self, channel: str) -> Channel | None:
        rows = await self._rows(self._reads.channel, {"b_id": channel})
        return outbox.read_channel(rows[0]) if rows else None

    async def channels(self, player: str) -> tuple[Channel, ...]:
        return tuple(map(outbox.read_channel, await self._rows(self._reads.channels, {"b_player": player})))

    async def confirm_channel(self, player: str, channel: str, digest: str, at: str) -> bool:
        return await self._holding(lambda connection: outbox.confirm_channel(connection, player, channel, digest, at))

    async def reset_channel(self, player: str, channel: str) -> bool:
        return await self._holding(lambda connection: outbox.reset_channel(connection, player, channel))

    async def set_channel_settings(self, channel: str, settings: str) -> bool:
        return await self._transaction(lambda connection: outbox.set_channel_settings(connection, channel, settings))

    async def remove_channel(self, player: str, channel: str) -> bool:
        return await self._holding(lambda connection: outbox.remove_channel(connection, player, channel))

    async def next_notice(self, kinds: Collection[str]) -> str | None:
        found = [await self._rows(self._reads.next_notice, {"b_kind": kind}) for kind in kinds]
        return min((rows[0][0] for rows in found if rows), default=None)

    async def due_channels(self, kinds: Collection[str], now: str, most: int) -> tuple[DueChannel, ...]:
        found: list[Row] = []
        for kind in kinds:
            found += await self._rows(self._reads.due_channels, {"b_kind": kind, "b_now": now, "b_limit": most})
        return tuple(map(DueChannel._make, found))

    async def lease_notices(
        self, kinds: Collection[str], now: str, until: str, most: int, *, of: Collection[str] | None = None
    ) -> tuple[LeasedNotice, ...]:
        return await self._holding(lambda connection: outbox.lease_notices(connection, kinds, now, until, most, of))

    async def lease_channel(self, channel: str, now: str, until: str, most: int) -> tuple[LeasedNotice, ...]:
        return await self._holding(lambda connection: outbox.lease_channel(connection, channel, now, until, most))

    async def delete_notice(self, leased: LeasedNotice, *, sent: bool) -> bool:
        return await self._holding(lambda connection: outbox.delete_notice(connection, leased, sent=sent))

    async def put_off_notice(
        self, leased: LeasedNotice, not_before: str, *, anew: bool = False, tried: bool = True
    ) -> bool:
        return await self._holding(
            lambda connection: outbox.put_off_notice(connection, leased, not_before, anew=anew, tried=tried)
        )

    async def give_up_notice(self, leased: LeasedNotice, now: str, most: int) -> bool:
        given_up = self._holding(lambda connection: outbox.give_up_notice(connection, leased, now, most))
        return await self._waking(given_up)

    async def remove_stray_notices(self) -> int:
        # Nearly always there is none, and a read disturbs no writer.
        if not await self._rows(self._reads.any_stray_notice, {}):
            return 0
        return await self._holding(outbox.remove_stray_notices)

    # --- what is no longer needed ---------------------------------------------------------------------------------

    async def withdraw_offer(self, game: str, player: str) -> None:
        await self._transaction(lambda connection: expired.withdraw_offer(connection, game, player))

    async def remove_expired(self, now: str, offered_before: str, most: int) -> Removed:
        # Nearly always there is nothing to remove, and a read disturbs no writer.
        if not await self._rows(self._reads.any_expired, {"b_now": now, "b_before": offered_before}):
            return Removed()
        return await self._transaction(lambda connection: expired.remove_expired(connection, now, offered_before, most))
