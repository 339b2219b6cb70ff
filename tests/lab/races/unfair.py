"""Service processes with or without a planted fault, which the judgement must find; forked, which is fast."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.routes import plain
from hkoji_server.routes.problems import problem
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.loaded_games import Submitted
from hkoji_server.store.sqlite import store

from hkoji.errors import ConflictError
from hkoji.log import sshsig
from hkoji.log.line import Line, SignedReceipt, make_receipt
from tests.support.forked_service import ForkedService


def _no_compare_and_swap() -> None:
    """The game's row is updated unconditionally, and an entry replaces another."""
    unconditional = store.ADVANCE[: store.ADVANCE.index(" AND ")]
    patch.object(store, "ADVANCE", unconditional).start()
    patch.object(store, "ADD_ENTRY", store.ADD_ENTRY.replace("INSERT", "INSERT OR REPLACE", 1)).start()


def _no_compare_and_swap_on_postgres() -> None:
    """The same on PostgreSQL."""
    from hkoji_server.store.postgres import statements as postgres_statements

    place = " AND game.seq = %(b_seq)s::INTEGER AND game.head = %(b_head)s::VARCHAR"
    taken = ", ".join(f"{name} = excluded.{name}" for name in ("text", "sig", "receipt", "receipt_sig"))
    instead = f" ON CONFLICT (game, seq) DO UPDATE SET {taken}"
    opened, answered = "), \nopened AS", ")\n SELECT (SELECT"
    made = postgres_statements._appends

    def appends(**parts: bool) -> str:
        statement = made(**parts)
        assert place in statement
        unfair = statement.replace(place, "")
        if opened in unfair:
            unfair = unfair.replace(answered, f" ON CONFLICT DO NOTHING{answered}").replace(opened, instead + opened)
        else:
            unfair = unfair.replace(answered, instead + answered)
        return unfair

    patch.object(postgres_statements, "_appends", appends).start()


def _another_receipt() -> None:
    """An entry that is sent again gets a new receipt."""
    repeat = Games._repeat

    async def repeated(self: Games, *given: Any) -> Submitted:  # Any: unchanged arguments
        lines, fresh = await repeat(self, *given)
        first = lines[0]
        assert first.receipt is not None
        old = first.receipt.receipt
        made = make_receipt(at="2027-01-01T00:00:00Z", game=old.game, head=old.head, seq=old.seq)
        sig = self._signer.sign(sshsig.RECEIPT, made.message)
        return Submitted((Line(first.entry, first.sig, SignedReceipt(made, sig)), *lines[1:]), fresh)

    patch.object(Games, "_repeat", repeated).start()


def _an_old_head() -> None:
    """A refusal names the head before the current one."""

    def told(error: Any, **given: Any) -> Any:  # Any: unchanged arguments
        if isinstance(error, ConflictError):
            error.seq -= 1
        return problem(error, **given)

    patch.object(plain, "problem", told).start()


def _nowhere() -> None:
    _no_compare_and_swap()
    _no_compare_and_swap_on_postgres()


_PATIENT: Final[dict[str, Any]] = {"keep_alive": 3600, "request_timeout": 3600, "log_level": "error"}  # Any: settings
PLANTS: Final[dict[str, Callable[[], None]]] = {
    "no compare-and-swap": _nowhere,
    "another receipt": _another_receipt,
    "an old head": _an_old_head,
}


class Forked(ForkedService):
    """A service on `data` or a PostgreSQL database, which is ready."""

    def __init__(self, data: Path, fault: str | None = None, database: str | None = None) -> None:
        log = data.parent / f"{data.name}-{time.monotonic_ns()}.log"
        super().__init__(data, database, log, partial(_plant, fault), _PATIENT)
        self.start()
        self.wait_until_ready()


def _plant(fault: str | None) -> None:
    if fault:
        PLANTS[fault]()
