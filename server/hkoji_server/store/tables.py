"""The tables, for both backends, and their rows, which are the values that the store takes and returns.

Those of players are in `player_tables`, those of play by mail in `mail_tables`.

Every primary key of a game's data begins with the game, so that the data can be split among databases by game. Times
are stored as the log's text, which sorts in order of time.

A row is made by `row_of`, or read by `rows_of`, and by nothing else: such a row has nothing of SQLAlchemy's in it. So
it is made several times as fast, equals another one with the same columns, and cannot be changed. No row is made of the
classes whose names end in `Table`: what is read of them are some of their columns, as tuples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final, Literal, ParamSpec, TypeVar, cast

from sqlalchemy import Index, Table, Text
from sqlalchemy.orm import configure_mappers, declared_attr
from sqlmodel import Field, SQLModel

from hkoji.log.canonical import decode
from hkoji.log.mail_claim import MailClaim, read_mail

P = ParamSpec("P")
R = TypeVar("R", bound=SQLModel)

# Clusters a table on its key: the entries of a game lie side by side, which makes reading a game several times faster.
CLUSTERED: Final = {"sqlite_with_rowid": False}

_SEATS: Final = {
    "host": "host IS NOT NULL",
    "guest": "guest IS NOT NULL",
    "invite": "invite IS NOT NULL AND guest IS NULL",
}
"""The columns that name a player of a game, and the rows that each index contains. An invited player who has joined is
the guest, and is found under `guest` only."""


_PUBLIC: Final = "status != 'offered' AND link IS NULL"
"""The games of public lists."""


def partial_index(name: str, where: str, *columns: str, unique: bool = False) -> Index:
    """Returns an index of the rows for which `where` holds.

    Migrations make the indexes. Here the condition is only noted: given to SQLAlchemy it would load both dialects, with
    all their drivers, in every process.
    """
    return Index(name, *columns, unique=unique, info={"where": where})


def _index(name: str, where: str, *columns: str) -> Index:
    return partial_index(f"game_{name}", where, *columns)


class NamedTable(SQLModel):
    """A table with the name of its class, without `Table` at the end: `MailInvitationTable` is `mail_invitation`."""

    @declared_attr.directive
    def __tablename__(cls) -> str:  # noqa: N805 # SQLAlchemy calls it with the class
        return re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__.removesuffix("Table")).lower()


class ClusteredTable(NamedTable):
    """A table whose rows lie in the order of its key: the entries of a game side by side."""

    __table_args__ = (CLUSTERED,)


class ServiceTable(NamedTable, table=True):
    """The service itself: one row."""

    id: int = Field(default=1, primary_key=True)
    private_key: str = Field(sa_type=Text)
    origin: str = Field(sa_type=Text)
    mail_secret: str | None = Field(default=None, sa_type=Text)
    """From which the tokens of letters are made; None until one is needed."""


class GameTable(NamedTable, table=True):
    """The summary and the head of a game."""

    __table_args__ = (
        # Lists are ordered by the time of creation, which never changes. So a page stays the same while games go on,
        # and a move updates one index only: the one of the player who owes the next entry. The indexes of a player's
        # games begin with the status, and finished games have another index by the time they ended. So a query for
        # the few games that go on does not read the many that are finished.
        _index("waiting", "to_move IS NOT NULL AND status = 'playing'", "to_move", "created"),
        *(_index(seat, where, seat, "status", "created") for seat, where in _SEATS.items()),
        *(_index(f"{seat}_ended", f"{where} AND ended IS NOT NULL", seat, "ended") for seat, where in _SEATS.items()),
        _index("status", _PUBLIC, "status", "created"),
        _index("shown", _PUBLIC, "created"),
        _index("offered", "status = 'offered'", "created"),
        _index("look", "look_at IS NOT NULL", "way", "look_at"),
        _index("ended", "ended IS NOT NULL", "ended", "game"),
        _index("pair", "status = 'finished'", "host", "guest"),
        CLUSTERED,
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
    """When the game ended. Not the same column as `updated`, so that a move changes no index of finished games."""
    agreement: str = Field(sa_type=Text)
    deadline: str | None = Field(default=None, sa_type=Text)
    look_at: str | None = Field(default=None, sa_type=Text)
    """From when on the keeper looks whether the game's time is over: never after its deadline, and mostly before. Most
    moves set a later deadline and leave this as it is, so that they rewrite no index of times."""
    link: str | None = Field(default=None, sa_type=Text)
    way: str = Field(sa_type=Text)
    """The way of the deadline, which changes only with `look_at`: the one that is open to whom it is for."""
    by_mail: str = Field(sa_type=Text)
    dealer: str = Field(sa_type=Text)


class SecretTable(ClusteredTable, table=True):
    """The seed of a game, and the player who may open the game. A sealed game has no seed."""

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    seed: str | None = Field(default=None, sa_type=Text)
    offered_to: str = Field(sa_type=Text)


class OfferTable(ClusteredTable, table=True):
    """An offer that a player has asked for, for as long as it counts for the player's limit.

    It may be here when the game is gone, because nobody has opened it.
    """

    player: str = Field(primary_key=True, sa_type=Text)
    at: str = Field(primary_key=True, sa_type=Text)
    game: str = Field(primary_key=True, sa_type=Text)


class EntryTable(ClusteredTable, table=True):
    """One line of a log: its exact texts and signatures."""

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    seq: int = Field(primary_key=True)
    text: str = Field(sa_type=Text)
    sig: bytes
    receipt: str = Field(sa_type=Text)
    receipt_sig: bytes


class OpeningTable(ClusteredTable, table=True):
    """An opening that the service holds. It is private until the log publishes it."""

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    seq: int = Field(primary_key=True)
    part: int = Field(primary_key=True)
    cards: str = Field(sa_type=Text)
    salt: str = Field(sa_type=Text)


class DepositTable(ClusteredTable, table=True):
    """A draw of a sealed game that seat `seat` has deposited: its share of the position `at` in that round.

    It is private until the service releases it. It is deleted when its position has been given, and with the game's
    end.
    """

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    round: int = Field(primary_key=True)
    at: int = Field(primary_key=True)
    seat: int
    shares: bytes


class KeptStatement(ClusteredTable, table=True):
    """A signed statement about the entry `head` of a game, which was taken at the time `at`.

    `name` has signed it. `sig` is the signature in base64. `seconds` is the time that a `give` gives; else None.
    """

    __tablename__ = "statement"

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    head: str = Field(primary_key=True, sa_type=Text)
    kind: Literal["give", "annul"] = Field(primary_key=True, sa_type=Text)
    name: str = Field(primary_key=True, sa_type=Text)
    seconds: int | None = None
    sig: str = Field(sa_type=Text)
    at: str = Field(sa_type=Text)
    mail: str | None = Field(default=None, sa_type=Text)
    """The claim about the mail behind it, as canonical text, if the service has signed the statement."""

    @property
    def claim(self) -> MailClaim | None:
        """The claim about the mail behind it."""
        return None if self.mail is None else read_mail(decode(self.mail, "mail"))


class OutageTable(ClusteredTable, table=True):
    """A time in which no process took entries that came one way."""

    way: str = Field(primary_key=True, sa_type=Text)
    begin: str = Field(primary_key=True, sa_type=Text, sa_column_kwargs={"name": "from"})
    until: str = Field(sa_type=Text)
    number: int = Field(unique=True)
    """The first outage that was recorded, of whatever way, has the number 1, the next one 2. So the highest is how many
    there are, and an append finds it in the index, however many there are."""


class BeatTable(ClusteredTable, table=True):
    """The newest time at which a process said that it takes entries that come one way: a row for each way."""

    way: str = Field(primary_key=True, sa_type=Text)
    at: str = Field(sa_type=Text)
    version: str | None = Field(default=None, sa_type=Text)
    """The version of the program that said so."""


class Channel(NamedTable, table=True):
    """A way in which a player wants to be told of events: `kind` is such as `webhook`, `target` its address."""

    id: str = Field(primary_key=True, sa_type=Text)
    player: str = Field(index=True, sa_type=Text)
    """A player, or the name under which the owner of a mailbox is invited."""
    kind: str = Field(sa_type=Text)
    target: str = Field(sa_type=Text)
    events: str = Field(sa_type=Text)
    """The names of the events, in order, with a space before and after each."""
    settings: str = Field(sa_type=Text)
    """Other settings of the player, as canonical text: an object."""
    created: str = Field(sa_type=Text)
    confirmed: str | None = Field(default=None, sa_type=Text)
    """When the player has typed the code of the first notice; nothing else is sent before."""
    code: str | None = Field(default=None, sa_type=Text)
    """The digest of that code, until it has been typed."""
    failures: int = 0
    """How many notices in a row have been given up."""
    off: str | None = Field(default=None, sa_type=Text)
    """When the service gave the channel up; nothing is sent to it until the player tests it."""

    @property
    def works(self) -> bool:
        """Whether notices are sent to it."""
        return self.confirmed is not None and self.off is None

    @property
    def event_names(self) -> tuple[str, ...]:
        """The names of the events."""
        return tuple(self.events.split())


class OutboxTable(NamedTable, table=True):
    """A notice that has to be sent: what happened at entry `seq` of a game, or in message `seq` about it.

    The answer to a mail has the number of the mail, and no game if the mail is about none.
    """

    __table_args__ = (Index("outbox_due", "kind", "not_before"), Index("outbox_channel", "channel"), CLUSTERED)

    game: str = Field(primary_key=True, sa_type=Text)
    seq: int = Field(primary_key=True)
    event: str = Field(primary_key=True, sa_type=Text)
    channel: str = Field(primary_key=True, sa_type=Text)
    kind: str = Field(sa_type=Text)
    """The kind of the channel: a process looks only for the kinds that it can send."""
    due: str = Field(sa_type=Text)
    """When it was to be sent. Some time after that it is given up."""
    not_before: str = Field(sa_type=Text)
    """The first time at which it may be sent. A failure or a lease moves it on."""
    tries: int
    """How often it has been leased since it was due."""


class KeptMessage(NamedTable, table=True):
    """A signed message of player `name` to the other player of a game, which was kept at the time `at`.

    `sig` is the signature in base64.
    """

    __tablename__ = "talk"
    # The first message of each game, by its time: for finding games whose messages are to be deleted.
    __table_args__ = (
        partial_index("talk_first", "number = 1", "at", "game"),
        CLUSTERED,
    )

    game: str = Field(primary_key=True, foreign_key="game.game", sa_type=Text)
    number: int = Field(primary_key=True)
    name: str = Field(sa_type=Text)
    text: str | None = Field(default=None, sa_type=Text)
    """The signed text; None once its author has deleted the message."""
    sig: str | None = Field(default=None, sa_type=Text)
    at: str = Field(sa_type=Text)


def table_of(model: type[SQLModel]) -> Table:
    """Returns the table of a class, for statements."""
    return SQLModel.metadata.tables[str(model.__tablename__)]


SERVICE: Final = table_of(ServiceTable)
GAME: Final = table_of(GameTable)
SECRET: Final = table_of(SecretTable)
OFFER: Final = table_of(OfferTable)
ENTRY: Final = table_of(EntryTable)
OPENING: Final = table_of(OpeningTable)
DEPOSIT: Final = table_of(DepositTable)
STATEMENT: Final = table_of(KeptStatement)
OUTAGE: Final = table_of(OutageTable)
BEAT: Final = table_of(BeatTable)
CHANNEL: Final = table_of(Channel)
OUTBOX: Final = table_of(OutboxTable)
TALK: Final = table_of(KeptMessage)


# Before this the attributes of rows cannot be read.
configure_mappers()


def row_of(table: Callable[P, R], *_: P.args, **columns: P.kwargs) -> R:
    """Returns a row of a table with those columns. It is checked by mypy, and by nothing while the program runs."""
    return cast(type[R], table).model_construct(None, **columns)


def rows_of(table: type[R], rows: Iterable[Sequence[Any]]) -> tuple[R, ...]:  # Any: column values
    """Returns the rows that were read with all columns of a table, in the order of its fields."""
    names, flags = _fields(table)
    found = []
    for row in rows:
        columns = dict(zip(names, row, strict=True))
        columns.update({name: bool(columns[name]) for name in flags})  # SQLite has 0 and 1
        found.append(table.model_construct(**columns))
    return tuple(found)


def one_of(table: type[R], rows: Iterable[Sequence[Any]]) -> R | None:  # Any: column values
    """Returns the first of such rows; None if there is none."""
    return next(iter(rows_of(table, rows)), None)


def changed(row: R, **columns: Any) -> R:  # Any: column values
    """Returns the row with other values in those columns."""
    return row.model_copy(update=columns)


@cache
def _fields(table: type[SQLModel]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names of all fields of a table, and of those that are flags."""
    fields = table.model_fields
    return tuple(fields), tuple(name for name, field in fields.items() if field.annotation is bool)
