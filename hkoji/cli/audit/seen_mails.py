"""The mails that an audit of many logs has seen: none may be behind entries of two logs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from hkoji.audit.contradictions import Contradiction, ContradictionKind
from hkoji.cli.audit.seen_logs import FoundContradiction, LogPlace
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.mail.mails_audit import OpenedMail


class SeenMails:
    """The memory of one run. It grows with the mails that were given, not with the logs."""

    def __init__(self) -> None:
        self._seen: Final[dict[tuple[str, str], tuple[OpenedMail, str, LogPlace]]] = {}

    def add(self, opened: Iterable[OpenedMail], game: str, place: LogPlace) -> list[FoundContradiction]:
        """Records the mails behind a log. Returns the contradictions with earlier logs."""
        found = []
        for each in opened:
            earlier, other, there = self._seen.setdefault((each.key, each.mail), (each, game, place))
            if earlier.commit != each.commit and there != place:
                reason = tell(
                    "one mail is behind entry {entry}, and behind entry {other} of game {game}",
                    entry=each.entry,
                    other=earlier.entry,
                    game=other[:8],
                )
                conflict = Contradiction(ContradictionKind.MAIL, each.entry, each.signer, reason)
                found.append(FoundContradiction(there, place, game, conflict))
        return found
