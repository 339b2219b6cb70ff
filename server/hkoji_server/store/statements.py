"""The parts of an append and of a new game that both backends write: conditions, and how values become rows."""

from __future__ import annotations

from typing import Final

from sqlalchemy import ColumnElement, Text, bindparam, case, exists, func, literal_column, select

from hkoji.errors import HkojiError, TooManyGamesError
from hkoji.game.clock import Way
from hkoji.game.course import OVER
from hkoji.game.sealing import owner
from hkoji.log.line import Line
from hkoji.messages.text import tell
from hkoji_server.store.game_values import MOST_INVITATIONS, MOST_OPEN, Append, GameSummary, Hint
from hkoji_server.store.mail_tables import HELD_KEY
from hkoji_server.store.outages import no_more_outages
from hkoji_server.store.player_tables import RETIRED
from hkoji_server.store.sql_steps import Row, Values
from hkoji_server.store.tables import GAME
from hkoji_server.store.time_contract import StaleDecisionError

PLACE: Final = ("seq", "head", "round", "actor", "to_move", "updated", "deadline")
"""The columns of a game that every append changes."""
_FIXED: Final = ("game", "ruleset", "agreement", "created", "dealer")
"""The columns of a game that never change."""
OUTLINE: Final = (*(name for name in GameSummary._fields if name not in (*PLACE, *_FIXED)), "ended")
"""The columns of a game that most appends leave as they are: all the others."""
_HOSTED: Final = (
    select(GAME.c.invite)
    .where(GAME.c.host == bindparam("b_host"), GAME.c.status == literal_column("'open'"))
    .limit(literal_column(str(MOST_OPEN)))
    .offset(literal_column("0"))
    .subquery()
)
OPEN_GAMES: Final = select(
    func.count(),
    func.count(case((_HOSTED.c.invite == bindparam("b_invite"), literal_column("1")))),
    exists().where(
        HELD_KEY.c.key == bindparam("b_invited_key", type_=Text), RETIRED.c.key == HELD_KEY.c.key, RETIRED.c.revoked
    ),
).select_from(_HOSTED)
"""How many open games a host has, and how many that invite one player; and whether their held key is revoked."""


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
    """Returns the parameters of `OPEN_GAMES`."""
    invited = {"b_invite": append.summary.invite, "b_invited_key": append.invited_key}
    return {"b_host": append.summary.host, **invited}


def verify_may_open(append: Append, row: Row) -> None:
    """Raises `TooManyGamesError` if the host may not open another game, and `StaleDecisionError` if nobody could join.

    `row` is that of `OPEN_GAMES`. The caller sees to it that the host opens no other game before the
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


def deposit_rows(append: Append) -> list[Values]:
    """Returns the rows of the deposits to keep. The giver of a position is the seat that it does not belong to."""
    return [
        {"round": each.round, "at": each.at[0], "seat": 1 - owner(each.at[0]), "shares": each.shares}
        for each in append.deposits
    ]


def hint_of(append: Append) -> Hint:
    """Returns the hint that an append gives."""
    summary = append.summary
    names = tuple(name for name in (summary.host, summary.guest, summary.invite) if name)
    # Most notices of moves are due later, and the process that sends them looks for these by itself.
    waits = append.closing is not None or any(each.not_before <= append.at for each in append.notices)
    return Hint(append.game, names, waits=waits)
