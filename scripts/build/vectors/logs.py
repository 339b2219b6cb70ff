"""logs.json"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from scripts.build.vectors.agreements import agreements
from scripts.build.vectors.formulas import Vector, key_text, public
from scripts.build.vectors.held_logs import HELD, SECOND, held_logs
from scripts.build.vectors.link_logs import link_logs
from scripts.build.vectors.log_builder import begun
from scripts.build.vectors.timed_logs import timed_logs

_MALFORMED: Final = ("offEr", "0ffer", "-offer", "of er", "", "o" * 33)
_LATER: Final = ("o", "offer2", "of-er_", "o" * 32, "plan")


def logs() -> Vector:
    """logs.json"""
    signers = {"server": ("server",), "alice": ("alice", "alice 2", "alice 3", SECOND), "bob": ("bob", HELD)}
    keys = {name: [key_text(public(each)) for each in signers[name]] for name in signers}
    return {
        "keys": keys,
        "logs": [*_key_changes(), *_kinds(), *agreements(), *link_logs(), *held_logs(), *timed_logs()],
    }


def _key_changes() -> Iterator[Vector]:
    """The four pairs of changes of a key that follow each other directly."""
    for first, second in product(("rekey", "revoke"), repeat=2):
        log = begun()
        log.change_key(first, "alice", "alice 2")
        log.change_key(second, "alice 2", "alice 3")
        twice = first == second == "rekey"
        found = {"step": 8, "entry": 6, "error": "illegal", "names": "alice"} if twice else None
        yield {"what": f"{first}, then {second}", "log": log.text, "holds": 6 if twice else 7, "finding": found}


def _kinds() -> Iterator[Vector]:
    """Kinds that the form forbids, and kinds that a later version may have."""
    for error, kinds in (("malformed", _MALFORMED), ("not-understood", _LATER)):
        for kind in kinds:
            log = begun()
            log.add(kind, "alice", {})
            finding = {"step": 1, "entry": 5, "error": error, "names": None}
            yield {"what": f"the kind {kind!r}", "log": log.text, "holds": 5, "finding": finding}
