"""Signed heads of one game: what the service says was the last entry at a time, fetched, checked and kept.

docs/spec/log.md, "Client rules"; docs/spec/evidence.md. A client refuses a head that the service's pinned key has not
signed, that is of another game, or that contradicts the log kept here; and it refuses new lines that contradict a head
kept before. Heads convict a service that backdates a move, or that withholds one and delivers it late. When a head is
fetched is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from hkoji.audit.checks import HEAD_SECONDS, require_receipt, verify_head_time
from hkoji.errors import HkojiError, TrustError
from hkoji.game.clock import parse_time
from hkoji.game.view import KEEP_FOLDER
from hkoji.log.entry import SERVER_NAME
from hkoji.log.game_statements import HeadStatement, SignedHead
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell

if TYPE_CHECKING:
    from hkoji.client.verified_log import VerifiedLog


def verify_signed_head(signed: SignedHead, game: str, server: PublicKey) -> None:
    """Checks that the service's key has signed a head, and that it is of the game asked for. Raises `TrustError`."""
    from hkoji.log import sshsig

    head = signed.statement
    try:
        sshsig.verify(signed.sig, server, sshsig.HEAD, head.message, SERVER_NAME)
    except HkojiError as error:
        raise TrustError(
            tell("the service's head does not hold: {reason}", reason=error), hint=tell("nothing was accepted")
        ) from error
    if head.game != game:
        raise TrustError(
            tell("the service answered with game {other} when asked for {game}", other=head.game[:8], game=game[:8]),
            hint=tell("nothing was accepted"),
        )


def verify_heads(heads: Iterable[HeadStatement], lines: Sequence[Line], new: int) -> None:
    """Checks the last `new` of `lines`, a log from its offer, against signed heads of the same game.

    Each line has its receipt, and the receipts' times do not decrease. Raises `TrustError`.
    """
    first = len(lines) - new
    for head in heads:
        if first <= head.seq < len(lines) and lines[head.seq].entry.head != head.head:
            raise TrustError(
                tell("the service's entry {seq} is another one than in a head that it has signed", seq=head.seq),
                hint=KEEP_FOLDER,
            )
        after = max(first, head.seq + 1)  # of all new lines after the head this one has the earliest time
        if after < len(lines):
            try:
                verify_head_time(head, after, require_receipt(lines[after]).receipt.at)
            except HkojiError as error:
                raise TrustError(
                    tell("the service contradicts itself: {reason}", reason=error), hint=KEEP_FOLDER
                ) from error


class SignedHeads:
    """The signed heads of a game: `log` is the game as verified here, `now` gives the time, `say` gets warnings."""

    def __init__(self, log: VerifiedLog, now: Callable[[], str], say: Callable[[str], None]) -> None:
        self._log: Final = log
        self._now = now
        self._say = say

    def fetch(self, deadline: str | None = None) -> HeadStatement:
        """Fetches a signed head, checks it against the log kept here, and keeps it. Call it with the vault locked.

        `deadline` is that of the entry which is due. If the head is later than the log, new lines are fetched first.
        Raises `TrustError`, and `NotFoundError` if no line of the game is kept here, or if the service has no heads.
        """
        log = self._log
        known = log.require()
        signed = log.service.head(log.vault.game)
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
                    "warning: the service's clock is {seconds} seconds ahead of the clock of this machine",
                    seconds=ahead,
                )
            )
        return head
