"""What `hkoji audit --require` demands. A module by itself, because the declaration of the command needs no more."""

from __future__ import annotations

from enum import StrEnum


class RequiredGrade(StrEnum):
    """What `--require` demands of each seat."""

    OWN = "own"
    DKIM = "dkim"
