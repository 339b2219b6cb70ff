"""The parts that an entry of a sealed game brings. docs/spec/sealed.md, "Entries".

They stand apart from the classes of the single parts (`hkoji.game.sealed_parts`), which only sealed games load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from hkoji.game.sealed_parts import ClosePart, GivePart, HidePart, LockPart, ShowPart
    from hkoji.log.canonical import JsonValue


class Parts(NamedTuple):
    """The parts of one entry; None for those that it does not have."""

    lock: LockPart | None = None
    give: GivePart | None = None
    show: ShowPart | None = None
    hide: HidePart | None = None
    close: ClosePart | None = None
    deposit: str | None = None
    """The SHA-256, in hex, of a share that went to the service with the entry."""

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the keys of a body."""
        parts = zip(self._fields, self, strict=True)
        return {name: part if isinstance(part, str) else part.to_json() for name, part in parts if part is not None}


NO_PARTS: Final = Parts()
PART_KEYS: Final = frozenset(Parts._fields)
