"""The tables. Each row is a `…Record`; what it means is in `contract`.

Every key begins with the game, so that a database split by game can take over. Times are the log's text, which sorts.
"""

from __future__ import annotations

from sqlalchemy import Index, Text, text
from sqlmodel import Field, SQLModel

_KEEP_TOGETHER = {"sqlite_with_rowid": False}
# Clustered on the key: a game's entries lie side by side, which makes reading one several times faster.


_SEATS = {"host": "host IS NOT NULL", "guest": "guest IS NOT NULL", "invite": "invite IS NOT NULL AND guest IS NULL"}
"""Where a player is found. Whoever was invited and has joined is the guest, and found as such."""


def _index(name: str, where: str, *columns: str) -> Index:
    return Index(f"game_{name}", *columns, sqlite_where=text(where), postgresql_where=text(where))


class ServiceTable(SQLModel, table=True):
    """The service itself: one row."""

    __tablename__ = "service"

    id: int = Field(default=1, primary_key=True)
    private_key: str = Field(sa_type=Text)
    origin: str = Field(sa_type=Text)


class PlayerTable(SQLModel, table=True):
    """A registered player."""

    __tablename__ = "player"

    name: str = Field(primary_key=True, sa_type=Text)
    key: str = Field(unique=True, sa_type=Text)
    registered: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    sig: str = Field(sa_type=Text)


class RetiredKeyTable(SQLModel, table=True):
    """A key that has been a player's, and is no more; nobody can ever register it again."""

    __tablename__ = "retired"
    __table_args__ = (Index("retired_name", "name", "at"),)

    key: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    at: str = Field(sa_type=Text)
    revoked: bool
    text: str | None = Field(default=None, sa_type=Text)
    sig: str | None = Field(default=None, sa_type=Text)
    new_sig: str | None = Field(default=None, sa_type=Text)


class RecoveryTable(SQLModel, table=True):
    """That a player may have another key, by the digest of the code that the host has given them."""

    __tablename__ = "recovery"

    name: str = Field(primary_key=True, sa_type=Text)
    digest: str = Field(sa_type=Text)
    expires: str = Field(sa_type=Text)


class ChallengeTable(SQLModel, table=True):
    """A login challenge that waits, by the digest of its nonce."""

    __tablename__ = "challenge"

    digest: str = Field(primary_key=True, sa_type=Text)
    expires: str = Field(index=True, sa_type=Text)


class TokenTable(SQLModel, table=True):
    """A login token, by its digest."""

    __tablename__ = "token"

    digest: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(index=True, sa_type=Text)
    expires: str = Field(index=True, sa_type=Text)


class GameTable(SQLModel, table=True):
    """A game's summary and head."""

    __tablename__ = "game"
    __table_args__ = (
        # Lists are ordered by creation, which never changes: so a page stays put while games go on, and a move touches
        # one index only, that of who owes the next entry. A player's games are kept apart by status, and those that
        # are over once more by their end: nobody has to go through the many that are over to find the few that go on.
        _index("waiting", "to_move IS NOT NULL", "to_move", "created"),
        *(_index(seat, where, seat, "status", "created") for seat, where in _SEATS.items()),
        *(_index(f"{seat}_ended", f"{where} AND ended IS NOT NULL", seat, "ended") for seat, where in _SEATS.items()),
        _index("status", "status != 'offered'", "status", "created"),
        _index("shown", "status != 'offered'", "created"),
        _KEEP_TOGETHER,
    )

    game: str = Field(primary_key=True, sa_type=Text)
    ruleset: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    host: str | None = Field(default=None, sa_type=Text)
    guest: str | None = Field(default=None, sa_type=Text)
    invite: str | None = Field(default=None, sa_type=Text)
    seq: int
    head: str = Field(sa_type=Text)
    round: int
    actor: int | None = None
    to_move: str | None = Field(default=None, sa_type=Text)
    created: str = Field(sa_type=Text)
    updated: str = Field(sa_type=Text)
    reason: str | None = Field(default=None, sa_type=Text)
    winner: int | None = None
    ended: str | None = Field(default=None, sa_type=Text)
    """When it was over; apart from `updated`, since no move touches it."""


class SecretTable(SQLModel, table=True):
    """A game's seed, and who may open it."""

    __tablename__ = "secret"
    __table_args__ = (_KEEP_TOGETHER,)

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    seed: str = Field(sa_type=Text)
    offered_to: str = Field(sa_type=Text)


class EntryTable(SQLModel, table=True):
    """One line of a log: exact texts and signatures."""

    __tablename__ = "entry"
    __table_args__ = (_KEEP_TOGETHER,)

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    seq: int = Field(primary_key=True)
    text: str = Field(sa_type=Text)
    sig: bytes
    receipt: str = Field(sa_type=Text)
    receipt_sig: bytes


class OpeningTable(SQLModel, table=True):
    """An opening that the service holds; private until the log publishes it."""

    __tablename__ = "opening"
    __table_args__ = (_KEEP_TOGETHER,)

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    seq: int = Field(primary_key=True)
    part: int = Field(primary_key=True)
    cards: str = Field(sa_type=Text)
    salt: str = Field(sa_type=Text)
