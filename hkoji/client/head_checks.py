"""The rules by which a client accepts signed heads: what the service says was a game's last entry at a time.

docs/spec/log.md, "Client rules". A client refuses a head that the service's pinned key has not signed, that is of
another game, or that contradicts the log kept here; and it refuses new lines that contradict a head kept before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hkoji.audit.checks import require_receipt, verify_head_time
from hkoji.errors import HkojiError, TrustError
from hkoji.game.view import KEEP_FOLDER
from hkoji.log.entry import SERVER_NAME
from hkoji.log.game_statements import HeadStatement, SignedHead
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell


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
