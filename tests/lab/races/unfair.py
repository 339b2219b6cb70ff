"""Service processes with or without a planted fault, which the judgement must find; forked, which is fast."""

from __future__ import annotations

import multiprocessing
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from hkoji_server.app import serve
from hkoji_server.routes import plain
from hkoji_server.routes.problems import problem
from hkoji_server.service.games.games import Games
from hkoji_server.service.games.loaded_games import Submitted
from hkoji_server.store.sqlite import store

from hkoji.errors import ConflictError
from hkoji.log import sshsig
from hkoji.log.line import Line, SignedReceipt, make_receipt
from tests.support.service import UNLIMITED


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


PLANTS: Final[dict[str, Callable[[], None]]] = {
    "no compare-and-swap": _nowhere,
    "another receipt": _another_receipt,
    "an old head": _an_old_head,
}


class Forked:
    """Starts a service on `data` or a PostgreSQL database, and waits until it is ready."""

    def __init__(self, data: Path, fault: str | None = None, database: str | None = None) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([__name__, "uvloop", "uvicorn.protocols.http.auto"])
        log = data.parent / f"{data.name}-{time.monotonic_ns()}.log"
        self._process = context.Process(target=_serve, args=(data, fault, log, database), daemon=True)
        self._process.start()
        end = time.monotonic() + 300
        while not (found := re.search(r"serving on http://[^:]+:(\d+),.*\n", log.read_text() if log.exists() else "")):
            assert self._process.is_alive(), log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.02)
        self.port = int(found[1])

    def stop(self) -> int | None:
        """Asks it to stop, and waits. Returns the exit code."""
        self._process.terminate()
        self._process.join(300)
        return self._process.exitcode


def _serve(data: Path, fault: str | None, log: Path, database: str | None) -> None:
    out = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    if fault:
        PLANTS[fault]()
    patience: dict[str, Any] = {"keep_alive": 3600, "request_timeout": 3600, **UNLIMITED}  # Any: settings by name
    serve(None if database else data, "127.0.0.1", 0, log_level="error", database=database, **patience)
