"""Exit codes, and the table from error classes to codes."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from hkoji import errors


class Exit(IntEnum):
    """The exit code of a command. docs/cli.md lists their meanings."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    CANCELLED = 3
    NOT_UNDERSTOOD = 3  # as in docs/spec/audit.sh; an audit neither asks nor waits, so it is never cancelled
    KEY = 4
    MOVE = 5
    CONFLICT = 6
    NETWORK = 7
    AUDIT = 8
    TURN = 9
    BOT = 10
    INTERRUPTED = 130


_CODES: Final[dict[type[errors.HkojiError], Exit]] = {
    errors.HkojiError: Exit.FAILURE,
    errors.UsageError: Exit.USAGE,
    errors.NotFoundError: Exit.USAGE,
    errors.CancelledError: Exit.CANCELLED,
    errors.InterruptionError: Exit.INTERRUPTED,
    errors.LoginError: Exit.KEY,
    errors.ForbiddenError: Exit.KEY,
    errors.SignatureError: Exit.KEY,
    errors.WeakKeyError: Exit.KEY,
    errors.InvalidError: Exit.MOVE,
    errors.IllegalError: Exit.MOVE,
    errors.CommitmentError: Exit.MOVE,
    errors.ConflictError: Exit.CONFLICT,
    errors.NetworkError: Exit.NETWORK,
    errors.AuditError: Exit.AUDIT,
    errors.TrustError: Exit.AUDIT,
    errors.LaterVersionError: Exit.NOT_UNDERSTOOD,
    errors.NotYourTurnError: Exit.TURN,
    errors.GameOverError: Exit.TURN,
    errors.TimeOverError: Exit.TURN,
    errors.TalkClosedError: Exit.TURN,
    errors.BotError: Exit.BOT,
}


def exit_code(error: errors.HkojiError) -> Exit:
    """Returns the exit code of an error: that of the nearest class in its ancestry."""
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
