"""The players of a service, their keys and logins, and the codes of the operator.

Codes, challenges and tokens are kept by their digests alone. A code allows a registration, or a player's new key. Each
function does all of its work or raises. A key that a player has had can never be registered again.
"""

from __future__ import annotations

import json
from typing import Final

from sqlalchemy import ColumnElement, Connection, bindparam, delete, exists, insert, or_, select, update

from hkoji.errors import ConflictError, ExistsError, ForbiddenError, RevokedError
from hkoji.game import entry_kinds
from hkoji.log.public_key import parse_public_key
from hkoji.messages.text import tell
from hkoji_server.store.choices import remove_channels
from hkoji_server.store.mail_tables import HELD_KEY
from hkoji_server.store.player_tables import CHALLENGE, CODE, PLAYER, RETIRED, TOKEN, OperatorCode, Player, RetiredKey
from hkoji_server.store.reservations import verify_not_reserved
from hkoji_server.store.sql_steps import SqlSteps, holding, transaction
from hkoji_server.store.tables import ENTRY, GAME, one_of, row_of, rows_of


class CodeStore(SqlSteps):
    """The area of the store that is about codes."""

    async def add_code(self, code: OperatorCode) -> None:
        """Keeps a code of the operator; one for a player's new key takes the place of an earlier one, however made."""
        await self._transaction(lambda connection: keep_code(connection, code))

    @transaction
    def invitations(self, connection: Connection, now: str) -> tuple[OperatorCode, ...]:
        """Returns the codes for new players that are valid, the first to expire first."""
        valid = CODE.c.name.is_(None) & (CODE.c.expires > now)
        found = rows_of(OperatorCode, connection.execute(select(*CODE.c).where(valid)))
        return tuple(sorted(found, key=lambda code: (code.expires, code.digest)))

    async def withdraw_code(self, digest: str) -> bool:
        """Forgets a code for new players. Returns False if there is none."""
        gone = delete(CODE).where(CODE.c.digest == digest, CODE.c.name.is_(None))
        return await self._change(gone) == 1


def keep_code(connection: Connection, code: OperatorCode) -> None:
    """Keeps a code: see `CodeStore.add_code`."""
    if code.name is not None:
        void_code(connection, code.name)
    connection.execute(insert(CODE).values(code.model_dump()))


def void_code(connection: Connection, name: str) -> None:
    """Forgets the code for another key of a player, if there is one."""
    connection.execute(delete(CODE).where(CODE.c.name == name))


def verify_code(connection: Connection, digest: str, now: str, name: str | None = None) -> None:
    """Checks that a code can be used. Raises `ForbiddenError`."""
    if connection.execute(select(CODE.c.digest).where(_is_valid(digest, now, name))).first() is None:
        raise _invalid(name)


def use_code(connection: Connection, digest: str, now: str, name: str | None = None) -> None:
    """Uses a code for a registration, or for the new key of the player `name`, once.

    A code that cannot be used again is forgotten. Raises `ForbiddenError` if it is not valid.
    """
    # The row is changed before anything depends on it: of two transactions that use it, the second waits here.
    used = update(CODE).where(_is_valid(digest, now, name)).values(uses=CODE.c.uses - 1)
    if connection.execute(used).rowcount != 1:
        raise _invalid(name)
    connection.execute(delete(CODE).where(CODE.c.digest == digest, CODE.c.uses == 0))


def _is_valid(digest: str, now: str, name: str | None) -> ColumnElement[bool]:
    purpose = (CODE.c.digest == digest) & CODE.c.name.is_not_distinct_from(name)
    return purpose & (CODE.c.expires > now) & (CODE.c.uses > 0)


def _invalid(name: str | None) -> ForbiddenError:
    if name is None:
        return ForbiddenError(
            tell("the code is not one of this service's, or it has been used or has expired"),
            hint=tell("nothing was changed; ask the operator of the service for another code"),
        )
    return ForbiddenError(
        tell("the code is not the one that {name} was given, or it has been used or has expired", name=name),
        hint=tell(
            "nothing was changed; ask the operator of the service for another code, or, if you play by mail, write "
            "there: own key"
        ),
    )


_AT_ONCE: Final = ""
"""A time before all others: from then on the keeper looks at a game."""
RETIRED_KEY: Final = select(*RETIRED.c).where(RETIRED.c.key == bindparam("b_key"))
_PLAYER: Final = select(*PLAYER.c).where(PLAYER.c.name == bindparam("b_name"))
_OWN_KEY: Final = _PLAYER.where(~exists().where(HELD_KEY.c.key == PLAYER.c.key))
_KNOWN_KEY: Final = (
    select(PLAYER.c.key)
    .where(PLAYER.c.key == bindparam("b_key"))
    .union_all(select(RETIRED.c.key).where(RETIRED.c.key == bindparam("b_key")))
)
_RETIRED_KEYS: Final = (
    select(*RETIRED.c).where(RETIRED.c.name == bindparam("b_name")).order_by(RETIRED.c.at, RETIRED.c.key)
)
_TOKEN: Final = select(TOKEN.c.name).where(
    TOKEN.c.digest == bindparam("b_digest"), TOKEN.c.expires > bindparam("b_now")
)


class PlayerStore(SqlSteps):
    """The area of the store that is about players."""

    async def player(self, name: str) -> Player | None:
        """Returns a registered player."""
        return one_of(Player, await self._read(_PLAYER, b_name=name))

    async def has_own_key(self, name: str) -> bool:
        """Tells whether a player has registered a key of their own, which the service does not hold."""
        return bool(await self._read(_OWN_KEY, b_name=name))

    async def add_player(self, player: Player, code: str | None = None) -> Player | None:
        """Registers a player. Returns None, or the player that has the name or the key already.

        Unless `code` is None, the registration needs a code of the operator with this digest, and uses it.
        Changes nothing if it raises: `RevokedError` or `ExistsError` for a key that a player had before,
        `ForbiddenError` if there is no such code or it has expired.
        """
        return await self._transaction(lambda connection: register(connection, player, code))

    async def knows_key(self, key: str) -> bool:
        """Tells whether a key belongs, or has belonged, to a player."""
        return bool(await self._read(_KNOWN_KEY, b_key=key))

    async def retired(self, key: str) -> RetiredKey | None:
        """Returns a key that a player no longer uses; None for any other key."""
        return one_of(RetiredKey, await self._read(RETIRED_KEY, b_key=key))

    async def retired_of(self, name: str) -> tuple[RetiredKey, ...]:
        """Returns the keys that a player had before, in order of time.

        A revoked key may also be the player's current one.
        """
        return rows_of(RetiredKey, await self._read(_RETIRED_KEYS, b_name=name))

    @transaction
    def replace_key(self, connection: Connection, player: Player, retired: RetiredKey) -> None:
        """Replaces the `retired` key of a registered player by the key of `player`, and ends all the player's logins.

        Changes nothing if it raises: `ForbiddenError` if the retired key is not the current one, `RevokedError` if it
        has been revoked, `ExistsError` if the new key belongs or has belonged to a player.
        """
        verify_valid(connection, retired.key)
        if _key_of(connection, player.name) != retired.key:
            raise ForbiddenError(tell("the key to replace is not the current key of {name}", name=player.name))
        _verify_unused(connection, player.key)
        connection.execute(insert(RETIRED).values(retired.model_dump()))
        _set_key(connection, player)

    async def revoke_key(self, retired: RetiredKey) -> None:
        """Revokes a player's key, the current one or an earlier one, and ends the logins that were made with it.

        With the current one the player's channels are removed, unless the service holds it: then the keeper looks at
        the invitations of the player soon. A key that has been revoked before stays as it is, and no login ends. After
        this returns, no further entry signed with the key appears. Raises `ForbiddenError` if the player never had the
        key.
        """
        await self._transaction(lambda connection: revoke(connection, retired))

    async def recover(self, player: Player, digest: str, now: str) -> None:
        """Gives a player the key of `player` in place of a revoked one, and uses the recovery code up.

        Or in place of one that the service holds, which is revoked with this. After this returns, no further entry
        signed with it appears.

        Changes nothing if it raises: `ForbiddenError` if there is no such code, it has expired, or the player's key is
        their own and not revoked; `ExistsError` if the new key belongs or has belonged to a player; `ConflictError`,
        with a game, if the held key is still needed to send the entropy of a seat there.
        """

        def is_held(connection: Connection) -> bool:
            verify_code(connection, digest, now, player.name)
            return held_key_of(connection, player.name) is not None

        def work(connection: Connection) -> None:
            use_code(connection, digest, now, player.name)
            key = _key_of(connection, player.name)
            lost = _retired(connection, key) if key else None
            if (held := held_key_of(connection, player.name)) is not None:
                _verify_seeds_sent(connection, player.name)
                revoke(connection, row_of(RetiredKey, key=held, name=player.name, at=now, revoked=True))
            elif lost is None or not lost.revoked:
                raise ForbiddenError(tell("the key of {name} has not been revoked", name=player.name))
            else:  # one may have been asked for with a login that the revocation has ended
                remove_channels(connection, player.name)
            _verify_unused(connection, player.key)
            _set_key(connection, player)

        # A held key may be signing now. Beside this nothing is entered, so nobody sees a game that has half of it.
        run = self._alone if await self._transaction(is_held) else self._transaction
        await run(work)

    # --- logins ---------------------------------------------------------------------------------------------------

    async def add_challenge(self, digest: str, expires: str) -> None:
        """Keeps a login challenge by its digest."""
        await self._change(insert(CHALLENGE).values(digest=digest, expires=expires))

    @holding
    def take_challenge(self, connection: Connection, digest: str, now: str) -> bool:
        """Uses a challenge up, and forgets those that have expired.

        Returns False if there is no such challenge or it has expired.
        """
        good = delete(CHALLENGE).where(CHALLENGE.c.digest == digest, CHALLENGE.c.expires > now)
        taken = connection.execute(good).rowcount == 1
        connection.execute(delete(CHALLENGE).where(CHALLENGE.c.expires <= now))
        return taken

    @transaction
    def add_token(self, connection: Connection, digest: str, name: str, expires: str, now: str, key: str = "") -> None:
        """Keeps a login token by its digest, and forgets those that have expired.

        `key` is the key that has logged in. If it is revoked or no longer the player's, even if that has
        just changed, the token is not kept, and `RevokedError` or `ForbiddenError` is raised.
        """
        # In the same transaction as the insertion: a revocation that commits first ends this login too.
        if key:
            verify_valid(connection, key)
            if _key_of(connection, name) != key:
                raise ForbiddenError(
                    tell("{name} has another key now", name=name), hint=tell("log in again with that one")
                )
        connection.execute(delete(TOKEN).where(TOKEN.c.expires <= now))
        connection.execute(insert(TOKEN).values(digest=digest, name=name, expires=expires))

    async def drop_token(self, digest: str) -> None:
        """Forgets a token."""
        await self._change(delete(TOKEN).where(TOKEN.c.digest == digest))

    async def token(self, digest: str, now: str) -> str | None:
        """Returns the name of the player whose token it is; None if there is none or it has expired."""
        rows = await self._read(_TOKEN, b_digest=digest, b_now=now)
        return rows[0][0] if rows else None


def verify_not_revoked(retired: RetiredKey | None) -> None:
    """Raises `RevokedError` for a revoked key."""
    if retired is not None and retired.revoked:
        raise RevokedError(retired.name, parse_public_key(retired.key).fingerprint)


def verify_valid(connection: Connection, key: str) -> None:
    """Raises `RevokedError` if a key has been revoked."""
    verify_not_revoked(_retired(connection, key))


def _verify_unused(connection: Connection, key: str) -> None:
    """Raises `RevokedError` or `ExistsError` if a key belongs, or has belonged, to a player."""
    # In this order, so that a key that is being replaced meanwhile is found in one place or the other.
    current = connection.execute(select(PLAYER.c.name).where(PLAYER.c.key == key)).first()
    retired = _retired(connection, key)
    verify_not_revoked(retired)
    if retired or current:
        fingerprint = parse_public_key(key).fingerprint
        raise ExistsError(
            tell("key"), fingerprint, hint=tell("make another key; this one belongs, or has belonged, to a player")
        )


def register(connection: Connection, player: Player, code: str | None) -> Player | None:
    """Adds a player, with a code unless that is None. Returns None, or the player that has the name or the key."""
    found = select(*PLAYER.c).where(or_(PLAYER.c.name == player.name, PLAYER.c.key == player.key))
    holder = one_of(Player, connection.execute(found.order_by(PLAYER.c.name != player.name)))
    if holder is not None:
        return holder
    verify_not_reserved(connection, player.name, player.key, player.registered)
    _verify_unused(connection, player.key)
    if code is not None:
        use_code(connection, code, player.registered)
    connection.execute(insert(PLAYER).values(player.model_dump()))
    return None


def revoke(connection: Connection, retired: RetiredKey) -> None:
    """Revokes a key. If it is revoked already, nothing changes.

    In particular, no login ends then: everybody can read the statement of a revocation and send it again. The logins
    of an earlier key ended when it was replaced. Channels go with the logins: a thief of the key may have made them.
    With a held key nobody logs in, and letters go on: its owner has a key of their own. The keeper declines the
    invitations to it, so it looks at them soon.
    """
    before = _retired(connection, retired.key)
    held_for = connection.execute(select(HELD_KEY.c.name).where(HELD_KEY.c.key == retired.key)).scalar()
    has_it = retired.name == held_for or _key_of(connection, retired.name) == retired.key
    holder = before.name if before else retired.name if has_it else None
    if holder != retired.name:
        raise ForbiddenError(tell("{name} has never had this key", name=retired.name))
    if before is None:
        connection.execute(insert(RETIRED).values(retired.model_dump()))
        if held_for is not None:
            look_at_invitations(connection, retired)
        else:
            connection.execute(delete(TOKEN).where(TOKEN.c.name == retired.name))
            remove_channels(connection, retired.name)
    elif before.revoked:
        return
    else:
        connection.execute(update(RETIRED).where(RETIRED.c.key == retired.key).values(retired.model_dump()))


def look_at_invitations(connection: Connection, retired: RetiredKey) -> None:
    """Has the keeper look at the invitations to a player whose held key is revoked."""
    if _is_held(connection, retired.key):
        invited = (GAME.c.invite == retired.name, GAME.c.guest.is_(None), GAME.c.status == "open")
        connection.execute(update(GAME).where(*invited).values(look_at=_AT_ONCE))


def held_key_of(connection: Connection, name: str) -> str | None:
    """Returns the valid key of a player if the service holds it."""
    key = _key_of(connection, name)
    if key is None or not _is_held(connection, key) or _retired(connection, key) is not None:
        return None
    return key


def _is_held(connection: Connection, key: str) -> bool:
    """Returns whether the service holds a key, or has held it: also one that is revoked."""
    return connection.execute(select(HELD_KEY.c.key).where(HELD_KEY.c.key == key)).first() is not None


def _verify_seeds_sent(connection: Connection, name: str) -> None:
    """Raises `ConflictError` for a game in which a player has a seat and has not sent the entropy for it.

    Only the service has that entropy, and only the held key can send it: without the key the game would get stuck.
    """
    columns = (GAME.c.game, GAME.c.seq, GAME.c.head)
    for seat in (GAME.c.host, GAME.c.guest):
        for status in ("open", "playing"):
            begins = (seat == name, GAME.c.status == status, GAME.c.round == 0)
            for game, seq, head in connection.execute(select(*columns).where(*begins).order_by(GAME.c.created)).all():
                texts = connection.execute(select(ENTRY.c.text).where(ENTRY.c.game == game)).scalars()
                sent = {(entry["kind"], entry["by"]) for entry in map(json.loads, texts)}
                if (entry_kinds.Seed.KIND, name) not in sent:
                    raise ConflictError(
                        game,
                        seq=seq,
                        head=head,
                        reason=tell("game {game} has not begun, and needs the key that the service holds", game=game),
                        hint=tell(
                            "nothing was changed, and the code is still valid; wait until the game has begun, or let "
                            "its host take it back: `cancel`"
                        ),
                    )


def _retired(connection: Connection, key: str) -> RetiredKey | None:
    return one_of(RetiredKey, connection.execute(RETIRED_KEY, {"b_key": key}))


def _key_of(connection: Connection, name: str) -> str | None:
    key: str | None = connection.execute(select(PLAYER.c.key).where(PLAYER.c.name == name)).scalar()
    return key


def _set_key(connection: Connection, player: Player) -> None:
    values = {"key": player.key, "text": player.text, "sig": player.sig}
    connection.execute(update(PLAYER).where(PLAYER.c.name == player.name).values(values))
    connection.execute(delete(TOKEN).where(TOKEN.c.name == player.name))
