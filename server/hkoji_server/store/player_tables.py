"""The tables of players, their keys, logins and choices, for both backends, and their rows: see `tables`."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Index, Text
from sqlalchemy.orm import configure_mappers
from sqlmodel import Field

from hkoji_server.store.tables import ClusteredTable, NamedTable, table_of


class Player(NamedTable, table=True):
    """A registered player: name, public key text, time of registration, and the signed statement about that key.

    The statement is the registration or, for a later key, the one that put this key in the place of the key before.
    """

    name: str = Field(primary_key=True, sa_type=Text)
    key: str = Field(unique=True, sa_type=Text)
    registered: str = Field(sa_type=Text)
    text: str = Field(sa_type=Text)
    sig: str = Field(sa_type=Text)


class RetiredKey(NamedTable, table=True):
    """A key that belonged to a player until `at`. Nobody can register it again.

    A key that was replaced is still valid in games that name it. A key that is `revoked` is valid nowhere.

    `text` is the statement that ended the use of the key. It is signed by the key itself (`sig`) and, if another key
    replaced it, by that one (`new_sig`). If the operator has revoked the key, there is no statement.
    """

    __tablename__ = "retired"
    __table_args__ = (Index("retired_name", "name", "at"),)

    key: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    at: str = Field(sa_type=Text)
    revoked: bool
    text: str | None = Field(default=None, sa_type=Text)
    sig: str | None = Field(default=None, sa_type=Text)
    new_sig: str | None = Field(default=None, sa_type=Text)


class OperatorCode(NamedTable, table=True):
    """A code that is given to people, by its digest. It can be used `uses` times before it expires.

    The operator gives it, or a letter to a mail player. It is for another key of the player `name` or, without a name,
    for new players.
    """

    __tablename__ = "code"

    digest: str = Field(primary_key=True, sa_type=Text)
    expires: str = Field(index=True, sa_type=Text)
    uses: int = 1
    name: str | None = Field(default=None, unique=True, sa_type=Text)


class ChallengeTable(NamedTable, table=True):
    """A login challenge that has not been answered, by the digest of its nonce."""

    digest: str = Field(primary_key=True, sa_type=Text)
    expires: str = Field(index=True, sa_type=Text)


class TokenTable(NamedTable, table=True):
    """A login token, by its digest."""

    digest: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(index=True, sa_type=Text)
    expires: str = Field(index=True, sa_type=Text)


class SettingTable(NamedTable, table=True):
    """The settings of a player at the service, as canonical text: an object."""

    player: str = Field(primary_key=True, foreign_key="player.name", sa_type=Text)
    json_text: str = Field(sa_type=Text, sa_column_kwargs={"name": "json"})


class BlockTable(ClusteredTable, table=True):
    """A player from whom another one wants no invitations, joins or messages."""

    player: str = Field(primary_key=True, foreign_key="player.name", sa_type=Text)
    other: str = Field(primary_key=True, foreign_key="player.name", sa_type=Text)


PLAYER: Final = table_of(Player)
RETIRED: Final = table_of(RetiredKey)
CODE: Final = table_of(OperatorCode)
CHALLENGE: Final = table_of(ChallengeTable)
TOKEN: Final = table_of(TokenTable)
SETTING: Final = table_of(SettingTable)
BLOCK: Final = table_of(BlockTable)

configure_mappers()  # as in `tables`
