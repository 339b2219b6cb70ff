"""Signed heads of one game, as this player fetches them: each is checked against the verified log, and kept.

docs/spec/log.md, "Client rules"; docs/spec/evidence.md. Heads convict a service that backdates a move, or that
withholds one and delivers it late. This module does not decide when a head is fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hkoji.audit.checks import HEAD_SECONDS
from hkoji.client.head_checks import verify_heads, verify_signed_head
from hkoji.client.verified_log import VerifiedLog
from hkoji.errors import TrustError
from hkoji.game.clock import parse_time
from hkoji.game.view import KEEP_FOLDER
from hkoji.log.game_statements import HeadStatement
from hkoji.messages.text import tell


class FetchedHeads:
    """The signed heads of a game: `log` is the game as verified here, `now` gives the time, `say` gets warnings."""

    def __init__(self, log: VerifiedLog, now: Callable[[], str], say: Callable[[str], None]) -> None:
        self._log: Final = log
        self._now = now
        self._say = say

    def fetch(self, deadline: str | None = None) -> HeadStatement:
        """Fetches a signed head, checks it against the log kept here, and keeps it. Call it with the vault locked.

        One that has come with the last view is not fetched again. `deadline` is that of the entry which is due. If the
        head is later than the log, new lines are fetched first.
        Raises `TrustError`, and `NotFoundError` if no line of the game is kept here, or if the service has no heads.
        """
        log = self._log
        known = log.require()
        signed = log.take_head()
        if signed is None:
            signed = log.service.head(log.vault.game)
        else:
            verify_signed_head(signed, log.vault.game, log.service.key)
        head = signed.statement
        if head.seq >= len(known.lines):
            known = log.refresh()
        with log.refusals.kept_if_refused(known.lines, (), head=signed):
            if head.seq >= len(known.lines):
                raise TrustError(
                    tell(
                        "the service's log ends at entry {last}, and it has signed that entry {seq} was there before",
                        last=len(known.lines) - 1,
                        seq=head.seq,
                    ),
                    hint=KEEP_FOLDER,
                )
            verify_heads((head,), known.lines, len(known.lines))
        log.refusals.kept.keep_head(signed, deadline)
        ahead = parse_time(head.at) - parse_time(self._now())
        if ahead > HEAD_SECONDS:
            self._say(
                tell(
                    "warning: the service has signed a time {seconds} seconds later than the time of its answers",
                    seconds=ahead,
                )
            )
        return head
