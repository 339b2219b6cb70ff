"""Seeded randomness for tests: everything that this process draws from `secrets` comes from the test's own seed.

A game in memory therefore has the same deals, salts, keys and ids on every run, alone or among other tests. It also has
the same entries and signatures, because the players' clocks stand still. Processes that a test starts use real
randomness and real clocks; assertions about them must hold for every deal. `HKOJI_TEST_SEED` changes all seeds, to
check that no test depends on the usual ones.
"""

from __future__ import annotations

import os
import random
import secrets
import time

ENVIRONMENT = "HKOJI_TEST_SEED"

NOON = 1795176000
"""2026-11-20 12:00:00, in seconds of the epoch."""

_drawn = random.Random()


def begin(name: str) -> object:
    """Starts the randomness of `name` (a test or a shared fixture). Returns the previous state, for `go_on`."""
    before = _drawn.getstate()
    _drawn.seed(f"{os.environ.get(ENVIRONMENT, '')} {name}")
    return before


def go_on(before: object) -> None:
    """Restores the state that `begin` returned."""
    _drawn.setstate(before)  # type: ignore[arg-type] # from getstate


def token_bytes(nbytes: int | None = None) -> bytes:
    return _drawn.randbytes(32 if nbytes is None else nbytes)


def token_hex(nbytes: int | None = None) -> str:
    return token_bytes(nbytes).hex()


def randbits(k: int) -> int:
    return _drawn.getrandbits(k)


def install() -> None:
    """Replaces the functions of `secrets` and the clients' clock. Defaults bound before this call stay real."""
    for stand_in in (token_bytes, token_hex, randbits):
        setattr(secrets, stand_in.__name__, stand_in)
    from hkoji.client import service

    service.time = _StoppedClock  # type: ignore[assignment, attr-defined] # the module uses nothing else of `time`


class _StoppedClock:
    """The clock of players' clients."""

    strftime = time.strftime

    @staticmethod
    def gmtime() -> time.struct_time:
        return time.gmtime(NOON)
