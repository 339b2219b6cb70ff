"""An append on SQLite: its values made ready first, then the statements that write them."""

from __future__ import annotations

from sqlalchemy import Connection

from hkoji.errors import ConflictError
from hkoji_server.store import player_keys
from hkoji_server.store.contract import Append, Hint, hint_of
from hkoji_server.store.sqlite import statements
from hkoji_server.store.sqlite.writer import Work, driver


def write_of(append: Append) -> Work[Hint]:
    """What writes `append` in a transaction; before it has written anything it may raise `RevokedError` or
    `ConflictError`."""
    place = statements.advance_values(append)
    outline = statements.outline_values(append) if append.outline else None
    entries = [statements.entry_values(line) for line in append.lines]
    openings = statements.opening_values(append)

    def work(connection: Connection) -> Hint:
        execute = driver(connection).execute
        if append.key and (row := execute(statements.RETIRED_KEY, {"b_key": append.key}).fetchone()):
            player_keys.verify_counts(player_keys.read_retired(row))
        if execute(statements.ADVANCE, place).rowcount != 1:
            row = execute(statements.HEAD_OF, {"b_game": append.game}).fetchone()
            seq, head = row or (-1, "")
            raise ConflictError(append.game, seq=seq, head=head)
        if outline:
            execute(statements.SET_OUTLINE, outline)
        for entry in entries:
            execute(statements.ADD_ENTRY, entry)
        for opening in openings:
            execute(statements.ADD_OPENING, opening)
        return hint_of(append)

    return work
