"""The statements that both backends run, and how values become rows.

Statements that run for every move or view are compiled once and given to the driver as text with named parameters.
SQLAlchemy's own execution of a statement costs several times what SQLite takes to run it. Statements that run rarely
stand where they run.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ClauseElement,
    ColumnElement,
    Dialect,
    Integer,
    ScalarSelect,
    Select,
    Text,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
)

from hkoji.errors import HkojiError, TooManyGamesError
from hkoji.game.clock import Outage, Way
from hkoji.game.course import OVER
from hkoji.log.line import Line, StoredLine
from hkoji.messages.text import tell
from hkoji_server.store import offers
from hkoji_server.store.contract import MOST_INVITATIONS, MOST_OPEN, Append, GameSummary
from hkoji_server.store.expired import any_expired
from hkoji_server.store.game_lists import SUMMARY_COLUMNS, ListStatement, finished, going_on, listed
from hkoji_server.store.mail_tables import HELD_KEY
from hkoji_server.store.notices import any_stray_notice, due_channels, next_notice, wanting
from hkoji_server.store.tables import (
    BEAT,
    BLOCK,
    CHANNEL,
    ENTRY,
    GAME,
    OPENING,
    OUTAGE,
    PLAYER,
    RETIRED,
    SECRET,
    SERVICE,
    SETTING,
    STATEMENT,
    TALK,
    TOKEN,
)
from hkoji_server.store.talk import last_of_others, old_talk
from hkoji_server.store.time_contract import StaleDecisionError

Row = tuple[Any, ...]  # Any: a row has the columns that the statement selects
Values = dict[str, Any]  # Any: column values

PLACE: Final = ("seq", "head", "round", "actor", "to_move", "updated", "deadline")
"""The columns of a game that every append changes."""
OUTLINE: Final = ("status", "host", "guest", "invite", "link", "by_mail", "reason", "winner", "ended")
"""The columns of a game that most appends leave as they are."""


def compiled(statement: ClauseElement, dialect: Dialect) -> str:
    """Returns the text of a statement with named parameters, as the driver takes it."""
    return str(statement.compile(dialect=dialect))


class ReadStatements:
    """The statements of all reads, compiled for the dialect of one backend."""

    def __init__(self, dialect: Dialect) -> None:
        game: BindParameter[str] = bindparam("b_game")

        def text(statement: ClauseElement) -> str:
            return compiled(statement, dialect)

        self.identity: Final = text(select(SERVICE.c.private_key, SERVICE.c.origin))
        self.player: Final = text(select(*PLAYER.c).where(PLAYER.c.name == bindparam("b_name")))
        self.retired_key: Final = text(select(*RETIRED.c).where(RETIRED.c.key == bindparam("b_key")))
        self.known_key: Final = text(
            select(PLAYER.c.key)
            .where(PLAYER.c.key == bindparam("b_key"))
            .union_all(select(RETIRED.c.key).where(RETIRED.c.key == bindparam("b_key")))
        )
        self.retired_keys: Final = text(
            select(*RETIRED.c).where(RETIRED.c.name == bindparam("b_name")).order_by(RETIRED.c.at, RETIRED.c.key)
        )
        self.token: Final = text(
            select(TOKEN.c.name).where(TOKEN.c.digest == bindparam("b_digest"), TOKEN.c.expires > bindparam("b_now"))
        )
        self.any_expired: Final = text(any_expired(bindparam("b_now", type_=Text), bindparam("b_before", type_=Text)))
        self.head: Final = text(select(GAME.c.seq, GAME.c.head).where(GAME.c.game == game))
        opened = (
            select(GAME.c.invite)
            .where(GAME.c.host == bindparam("b_host"), GAME.c.status == literal_column("'open'"))
            .limit(literal_column(str(MOST_OPEN)))
            .offset(literal_column("0"))
            .subquery()
        )
        invited = case((opened.c.invite == bindparam("b_invite"), literal_column("1")))
        held = RETIRED.c.key == HELD_KEY.c.key
        gone = exists().where(HELD_KEY.c.key == bindparam("b_invited_key", type_=Text), held, RETIRED.c.revoked)
        self.open_games: Final = text(select(func.count(), func.count(invited), gone).select_from(opened))
        self.offers: Final = text(offers.counting())
        player: BindParameter[str] = bindparam("b_player")
        other: BindParameter[str] = bindparam("b_other")
        self.settings: Final = text(select(SETTING.c.json).where(SETTING.c.player == player))
        self.blocks: Final = text(select(BLOCK.c.other).where(BLOCK.c.player == player).order_by(BLOCK.c.other))
        self.block: Final = text(select(BLOCK.c.other).where(BLOCK.c.player == player, BLOCK.c.other == other))
        together = ((player, other), (other, player))
        self.finished_pair: Final = text(
            select(
                or_(
                    *(
                        exists().where(
                            GAME.c.status == literal_column("'finished'"), GAME.c.host == host, GAME.c.guest == guest
                        )
                        for host, guest in together
                    )
                )
            )
        )
        self.open_invitations: Final = text(
            select(GAME.c.game).where(
                GAME.c.host == other, GAME.c.status == literal_column("'open'"), GAME.c.invite == player
            )
        )
        self.summary: Final = text(select(*SUMMARY_COLUMNS).where(GAME.c.game == game))
        self.lines: Final = text(
            select(ENTRY.c.text, ENTRY.c.sig, ENTRY.c.receipt, ENTRY.c.receipt_sig)
            .where(ENTRY.c.game == game, ENTRY.c.seq > bindparam("b_after", type_=BigInteger))
            .order_by(ENTRY.c.seq)
        )
        self.secret: Final = text(select(SECRET.c.seed, SECRET.c.offered_to).where(SECRET.c.game == game))
        self.openings: Final = text(
            select(OPENING.c.seq, OPENING.c.part, OPENING.c.cards, OPENING.c.salt)
            .where(OPENING.c.game == game)
            .order_by(OPENING.c.seq, OPENING.c.part)
        )

        self.deadline: Final = text(select(GAME.c.deadline, GAME.c.way).where(GAME.c.game == game))
        self.overdue: Final = text(
            select(GAME.c.game)
            .where(GAME.c.way == bindparam("b_way"), GAME.c.look_at < bindparam("b_before"))
            .order_by(GAME.c.look_at)
            .limit(bindparam("b_limit", type_=BigInteger))
            .offset(literal_column("0"))
        )
        self.kept_statements: Final = text(
            select(*STATEMENT.c)
            .where(STATEMENT.c.game == game)
            .order_by(STATEMENT.c.head, STATEMENT.c.kind, STATEMENT.c.name)
        )
        self.outages: Final = text(every_outage())
        self.beat: Final = text(select(BEAT.c.at).where(BEAT.c.way == bindparam("b_way")))
        self.messages: Final = text(
            select(*TALK.c)
            .where(TALK.c.game == game, TALK.c.number > bindparam("b_after", type_=BigInteger))
            .order_by(TALK.c.number)
            .limit(bindparam("b_limit", type_=BigInteger))
            .offset(literal_column("0"))
        )
        self.any_old_talk: Final = text(
            old_talk(bindparam("b_ended", type_=Text), bindparam("b_begun", type_=Text))
            .limit(literal_column("1"))
            .offset(literal_column("0"))
        )
        self.channel: Final = text(select(*CHANNEL.c).where(CHANNEL.c.id == bindparam("b_id")))
        self.channels: Final = text(
            select(*CHANNEL.c)
            .where(CHANNEL.c.player == bindparam("b_player"))
            .order_by(CHANNEL.c.created, CHANNEL.c.id)
        )
        self.wanting: Final = text(wanting())
        self.next_notice: Final = text(next_notice())
        self.due_channels: Final = text(due_channels())
        self.any_stray_notice: Final = text(any_stray_notice())

        @lru_cache(maxsize=256)
        def games(form: ListStatement) -> str:
            return text(listed(form))

        @lru_cache(maxsize=8)
        def places(limit: int, invitations: int) -> str:
            return text(going_on(limit, invitations))

        @lru_cache(maxsize=256)
        def ended(limit: int) -> str:
            return text(finished(limit))

        @lru_cache(maxsize=2)
        def last_messages(limit: int) -> str:
            return text(last_of_others(going_on(limit, 0)))

        self.last_messages: Final = last_messages
        self.games: Final = games
        self.finished: Final = ended
        self.places: Final = places


def every_outage() -> Select[tuple[str, str, str]]:
    """Returns the statement that reads all outages, in the order in which they ended."""
    return select(OUTAGE.c["from"], OUTAGE.c.until, OUTAGE.c.way).order_by(OUTAGE.c.until, OUTAGE.c.way)


def read_outage(row: Row) -> Outage:
    """Returns the outage of a row of `every_outage`."""
    return Outage(row[0], row[1], Way(row[2]))


def outage_number() -> ScalarSelect[int]:
    """Returns the expression for how many outages are recorded."""
    return select(func.coalesce(func.max(OUTAGE.c.number), literal_column("0"))).scalar_subquery()


def no_more_outages() -> ColumnElement[bool]:
    """Returns the condition that there are no more outages than were decided with: one look into the index.

    Those of both ways count. What an append depends on may be of either: its own T must lie in no outage of the way on
    which it came, and its credits and its deadlines are those of the ways that are open to the seats.
    """
    return ~exists().where(OUTAGE.c.number > bindparam("b_outages", type_=Integer))


def same_place() -> tuple[ColumnElement[bool], ...]:
    """Returns the conditions under which an append changes a game's row: what its author has seen is still so.

    The age of the decision is the one condition that is not here, because each database has it from another clock.
    """
    return (
        GAME.c.game == bindparam("b_game"),
        GAME.c.seq == bindparam("b_seq"),
        GAME.c.head == bindparam("b_head"),
        GAME.c.deadline.is_not_distinct_from(bindparam("b_deadline", type_=Text)),
        no_more_outages(),
        ~exists().where(RETIRED.c.key == bindparam("b_key"), RETIRED.c.revoked),
    )


def open_games_values(append: Append) -> Values:
    """Returns the parameters of `ReadStatements.open_games`."""
    invited = {"b_invite": append.summary.invite, "b_invited_key": append.invited_key}
    return {"b_host": append.summary.host, **invited}


def verify_may_open(append: Append, row: Row) -> None:
    """Raises `TooManyGamesError` if the host may not open another game, and `StaleDecisionError` if nobody could join.

    `row` is that of `ReadStatements.open_games`. The caller sees to it that the host opens no other game before the
    transaction ends.
    """
    games, invitations, revoked = row
    if revoked:
        raise StaleDecisionError(append.game)
    host, name = append.summary.host, append.summary.invite
    if games >= MOST_OPEN:
        raise TooManyGamesError(
            tell("{host} has {limit} open games that nobody has joined yet", host=host, limit=MOST_OPEN),
            hint=tell(
                "this one was not opened; take another back with `hkoji cancel GAME`, or wait until somebody joins one"
            ),
        )
    if invitations >= MOST_INVITATIONS:
        raise TooManyGamesError(
            tell("{host} has {limit} open invitations to {name}", host=host, limit=MOST_INVITATIONS, name=name),
            hint=tell(
                "this one was not sent; take another back with `hkoji cancel GAME`, or wait until {name} joins one",
                name=name,
            ),
        )


def advance_values(append: Append) -> Values:
    """Returns the parameters of `same_place`, and those that set the game's `PLACE`."""
    values: Values = {f"s_{name}": getattr(append.summary, name) for name in PLACE}
    values.update(b_game=append.game, b_seq=append.seq, b_head=append.head, b_key=append.key)
    values.update(b_deadline=append.deadline, b_outages=append.outages, s_way=append.way)
    return values


def moves_look(append: Append) -> bool:
    """Returns whether an append has to set from when on, and for which way, the keeper looks at the game.

    A later deadline of the same way leaves that time as it is: then the keeper looks too early, and sets it.
    """
    if append.way is not append.way_before:
        return True
    old, new = append.deadline, append.summary.deadline
    return old != new and (old is None or new is None or new < old)


def outline_values(append: Append) -> Values:
    """Returns the parameters that set the `OUTLINE` of a game."""
    values = summary_values(append.summary)
    return {"b_game": append.game, **{f"s_{name}": values[name] for name in OUTLINE}}


def summary_values(summary: GameSummary) -> Values:
    """Returns the row of a new game: its summary, when it ended if it is over, and when the keeper looks at it."""
    ended = summary.updated if summary.status in OVER else None
    return {**summary._asdict(), "ended": ended, "look_at": summary.deadline, "way": Way.HTTP}


def entry_values(line: Line) -> Values:
    """Returns the row of a line."""
    if line.receipt is None:
        raise HkojiError("a line is stored with its receipt")
    return {
        "game": line.entry.game,
        "seq": line.entry.seq,
        "text": line.entry.text,
        "sig": line.sig,
        "receipt": line.receipt.receipt.text,
        "receipt_sig": line.receipt.sig,
    }


def read_line(row: Row) -> Line:
    """Returns the line of a row of `ReadStatements.lines`."""
    return StoredLine._make(row).read()
