"""The answer that the model requires."""

from __future__ import annotations

from dataclasses import dataclass

from tests.lab.machine.naive_game import NaiveGame
from tests.lab.machine.naive_log import Object


@dataclass(frozen=True)
class Expected:
    """An answer: status, the code of a problem, and required parts of its JSON or lines."""

    status: int
    code: str | None = None
    body: Object | None = None
    lines: list[tuple[str, str]] | None = None
    """Texts of entries and of their receipts, in `lines` or as the complete body."""
    etag: str | None = None
    shown: Object | None = None
    """Required parts of the answer's `state`."""
    legal: set[str] | None = None
    signed_head: bool = False
    """Whether the answer is a signed head, which tells another time each time."""


def refused(status: int, code: str, game: NaiveGame | None = None) -> Expected:
    """A problem; most problems about a game tell its last entry."""
    place = {"seq": game.seq, "head": game.head} if game and code != "time-over" else {}
    return Expected(status, code, {"code": code, "status": status, **place})


def lines_of(game: NaiveGame, start: int) -> list[tuple[str, str]]:
    """The texts of a game's entries from `start` on, and of their receipts."""
    return list(zip(game.texts, game.receipts, strict=True))[start:]
