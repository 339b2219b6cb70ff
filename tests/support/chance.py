"""Randomness for tests: what this process draws with `secrets` comes from a seed that each test has of its own.

So a game in memory has the same deals, salts, keys and ids whenever the test runs, alone or among others; and the same
entries and signatures, for players' clocks stand still. Processes that a test starts draw real randomness and have real
clocks: what is asserted of them holds for every deal. `HKOJI_TEST_SEED` gives all tests other seeds, to see that
nothing depends on the usual ones.
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
    """Randomness for `name`: a test, or a fixture that several share. Returns what `go_on` takes."""
    before = _drawn.getstate()
    _drawn.seed(f"{os.environ.get(ENVIRONMENT, '')} {name}")
    return before


def go_on(before: object) -> None:
    """Goes on with the randomness that `begin` has interrupted."""
    _drawn.setstate(before)  # type: ignore[arg-type] # from getstate


def token_bytes(nbytes: int | None = None) -> bytes:
    return _drawn.randbytes(32 if nbytes is None else nbytes)


def token_hex(nbytes: int | None = None) -> str:
    return token_bytes(nbytes).hex()


def randbits(k: int) -> int:
    return _drawn.getrandbits(k)


def install() -> None:
    """From now on: whoever has taken a default from `secrets` before keeps the real one."""
    for stand_in in (token_bytes, token_hex, randbits):
        setattr(secrets, stand_in.__name__, stand_in)
    from hkoji.client import service

    service.time = _StoppedClock  # type: ignore[assignment, attr-defined] # all that it takes from the module


class _StoppedClock:
    """What players' clients read the time from."""

    strftime = time.strftime

    @staticmethod
    def gmtime() -> time.struct_time:
        return time.gmtime(NOON)
