"""The client's check of new lines, before it keeps them.

docs/spec/log.md, "Client rules". The log must continue the one kept here. Each signature must be by the key that the
log names for its author, each receipt by the service's pinned key and not earlier than the one before, and no salt may
occur twice. The replay (hkoji.game.view) has checked before that entries are legal and openings match commitments.
"""

from __future__ import annotations

from collections.abc import Sequence

from hkoji.audit.checks import (
    require_receipt,
    verify_new_salt,
    verify_receipt,
    verify_receipt_time,
    verify_same_receipt,
    verify_signatures,
    verify_since,
)
from hkoji.errors import HkojiError, TrustError
from hkoji.game.entry_kinds import End, EntryBody, RevealBody, Timeout
from hkoji.game.openings import Opening
from hkoji.game.replay import Replay
from hkoji.game.view import KEEP_FOLDER
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey
from hkoji.messages.text import tell


def verify_game(lines: Sequence[Line], game: str) -> None:
    """Checks that `lines` are of the game that was asked for. Raises `TrustError`."""
    for line in lines:
        if line.entry.game != game:
            raise TrustError(
                tell(
                    "the service answered with game {other} when asked for {game}",
                    other=line.entry.game[:8],
                    game=game[:8],
                ),
                hint=tell("nothing was accepted"),
            )


def verify_lines(result: Replay, lines: Sequence[Line], new: int, server: PublicKey) -> None:
    """Checks signatures, receipts and salts of the last `new` of `lines`, which are the steps of `result`.

    Raises `TrustError`.
    """
    first = len(lines) - new
    if first == 0 and result.steps[0].course.setup.server_key != server:
        raise TrustError(
            tell(
                "the game is signed by another service key than the one you know, {fingerprint}",
                fingerprint=server.fingerprint,
            ),
            hint=tell("nothing was accepted; ask the operator of the service, over another channel, what its key is"),
        )
    salts = {opening.salt for step in result.steps[:first] for opening in _opened(step.body)}
    for number, line in enumerate(lines[first:], first):
        step = result.steps[number]
        before = result.steps[number - 1].course if number else step.course
        try:
            verify_signatures(line.entry, line.sig, before.signer(step.entry, step.body), step.body)
            verify_receipt(require_receipt(line), line.entry, server)
            if number and (earlier := lines[number - 1].receipt):
                verify_receipt_time(require_receipt(line).receipt, earlier.receipt)
            if isinstance(step.body, Timeout):
                verify_since(step.body, lines[:number])
            for opening in _opened(step.body):
                verify_new_salt(opening, salts)
        except HkojiError as error:
            raise TrustError(
                tell("the service sent an entry {number} that does not hold: {reason}", number=number, reason=error),
                hint=KEEP_FOLDER,
            ) from error


def verify_taken(taken: Sequence[Line], lines: Sequence[Line]) -> None:
    """Checks that the log holds the entries for which the service has just given receipts, with the same receipts.

    Raises `TrustError`.
    """
    shown = {line.entry.seq: line for line in lines}
    for line in taken:
        seq, then = line.entry.seq, shown.get(line.entry.seq)
        if then is None or then.entry.head != line.entry.head:
            raise TrustError(
                tell("the service's log does not have the entry {seq} that the service has just confirmed", seq=seq),
                hint=KEEP_FOLDER,
            )
        given, again = line.receipt, then.receipt
        # A receipt for another entry does not hold, and `verify_lines` reports it.
        if given and again and given.receipt.head == line.entry.head:
            try:
                verify_same_receipt(given.receipt, again.receipt)
            except HkojiError as error:
                raise TrustError(error.message, hint=KEEP_FOLDER) from error


def _opened(body: EntryBody) -> tuple[Opening, ...]:
    return body.openings if isinstance(body, RevealBody | End) else ()


def verify_head(kept: Sequence[Line], seq: int, head: str) -> None:
    """Checks that the service's last entry is not before the end of the log kept here, or another one at its end.

    Raises `TrustError`.
    """
    if not kept:
        return
    last = kept[-1].entry
    if seq < last.seq:
        raise TrustError(
            tell("the service's log ends at entry {seq}, and you have seen entry {last}", seq=seq, last=last.seq),
            hint=KEEP_FOLDER,
        )
    if seq == last.seq and head != last.head:
        raise TrustError(tell("the service's entry {seq} is another one than you have seen", seq=seq), hint=KEEP_FOLDER)
