"""The keys of players: registration, replacement, revocation and recovery, as statements in an open transaction.

Each function does all of its work or raises. A key that a player has had can never be registered again.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Final

from sqlalchemy import Connection, delete, insert, or_, select, update

from hkoji.errors import ConflictError, ExistsError, ForbiddenError, RevokedError
from hkoji.game import entry_kinds
from hkoji.log.public_key import parse_public_key
from hkoji.messages.text import tell
from hkoji_server.store.mail_tables import HELD_KEY
from hkoji_server.store.notices import remove_channels
from hkoji_server.store.operator_codes import use_code, verify_code
from hkoji_server.store.player_contract import Player, RetiredKey
from hkoji_server.store.reservations import verify_not_reserved
from hkoji_server.store.statements import Row
from hkoji_server.store.tables import ENTRY, GAME, PLAYER, RETIRED, TOKEN

_AT_ONCE: Final = ""
"""A time before all others: from then on the keeper looks at a game."""


def read_retired(row: Row) -> RetiredKey:
    """Returns the retired key of a row."""
    key, name, at, revoked, *statement = row
    return RetiredKey(key, name, at, bool(revoked), *statement)


def verify_not_revoked(retired: RetiredKey | None) -> None:
    """Raises `RevokedError` for a revoked key."""
    if retired is not None and retired.revoked:
        raise RevokedError(retired.name, parse_public_key(retired.key).fingerprint)


def verify_valid(connection: Connection, key: str) -> None:
    """Raises `RevokedError` if a key has been revoked."""
    verify_not_revoked(_retired(connection, key))


def verify_unused(connection: Connection, key: str) -> None:
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


def verify_logs_in(connection: Connection, name: str, key: str) -> None:
    """Raises `RevokedError` or `ForbiddenError` unless `key` is the player's valid key. An empty key is not checked."""
    if not key:
        return
    verify_not_revoked(_retired(connection, key))
    if _key_of(connection, name) != key:
        raise ForbiddenError(tell("{name} has another key now", name=name), hint=tell("log in again with that one"))


def register(connection: Connection, player: Player, code: str | None) -> Player | None:
    """Adds a player, with a code unless that is None. Returns None, or the player that has the name or the key."""
    found = select(*PLAYER.c).where(or_(PLAYER.c.name == player.name, PLAYER.c.key == player.key))
    row = connection.execute(found.order_by(PLAYER.c.name != player.name)).first()
    if row:
        return Player(*row)
    verify_not_reserved(connection, player.name, player.key, player.registered)
    verify_unused(connection, player.key)
    if code is not None:
        use_code(connection, code, player.registered)
    connection.execute(insert(PLAYER).values(**asdict(player)))
    return None


def replace(connection: Connection, player: Player, retired: RetiredKey) -> None:
    """Replaces the `retired` key by the key of `player`."""
    verify_not_revoked(_retired(connection, retired.key))
    if _key_of(connection, player.name) != retired.key:
        raise ForbiddenError(tell("the key to replace is not the current key of {name}", name=player.name))
    verify_unused(connection, player.key)
    connection.execute(insert(RETIRED).values(**asdict(retired)))
    _set_key(connection, player)


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
        connection.execute(insert(RETIRED).values(**asdict(retired)))
        if held_for is not None:
            look_at_invitations(connection, retired)
        else:
            connection.execute(delete(TOKEN).where(TOKEN.c.name == retired.name))
            remove_channels(connection, retired.name)
    elif before.revoked:
        return
    else:
        connection.execute(update(RETIRED).where(RETIRED.c.key == retired.key).values(**asdict(retired)))


def look_at_invitations(connection: Connection, retired: RetiredKey) -> None:
    """Has the keeper look at the invitations to a player whose held key is revoked."""
    if is_held(connection, retired.key):
        invited = (GAME.c.invite == retired.name, GAME.c.guest.is_(None), GAME.c.status == "open")
        connection.execute(update(GAME).where(*invited).values(look_at=_AT_ONCE))


def ends_held_key(connection: Connection, name: str, digest: str, now: str) -> bool:
    """Returns whether a recovery of `name` with that code would revoke the key that the service holds for them.

    Raises `ForbiddenError` if the code is not valid.
    """
    verify_code(connection, digest, now, name)
    return holds(connection, name) is not None


def recover(connection: Connection, player: Player, digest: str, now: str) -> None:
    """Replaces a revoked key, or one that the service holds and that is revoked with this, by the key of `player`."""
    use_code(connection, digest, now, player.name)
    key = _key_of(connection, player.name)
    lost = _retired(connection, key) if key else None
    if (held := holds(connection, player.name)) is not None:
        _verify_seeds_sent(connection, player.name)
        revoke(connection, RetiredKey(held, player.name, now, revoked=True))
    elif lost is None or not lost.revoked:
        raise ForbiddenError(tell("the key of {name} has not been revoked", name=player.name))
    verify_unused(connection, player.key)
    _set_key(connection, player)


def is_held(connection: Connection, key: str) -> bool:
    """Returns whether the service holds a key, or has held it: also one that is revoked."""
    return connection.execute(select(HELD_KEY.c.key).where(HELD_KEY.c.key == key)).first() is not None


def holds(connection: Connection, name: str) -> str | None:
    """Returns the valid key of a player if the service holds it."""
    key = _key_of(connection, name)
    if key is None or not is_held(connection, key) or _retired(connection, key) is not None:
        return None
    return key


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
    row = connection.execute(select(*RETIRED.c).where(RETIRED.c.key == key)).first()
    return read_retired(tuple(row)) if row else None


def _key_of(connection: Connection, name: str) -> str | None:
    row = connection.execute(select(PLAYER.c.key).where(PLAYER.c.name == name)).first()
    return row[0] if row else None


def _set_key(connection: Connection, player: Player) -> None:
    values = {"key": player.key, "text": player.text, "sig": player.sig}
    connection.execute(update(PLAYER).where(PLAYER.c.name == player.name).values(values))
    connection.execute(delete(TOKEN).where(TOKEN.c.name == player.name))
