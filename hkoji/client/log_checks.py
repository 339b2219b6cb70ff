"""Checks of lines and signed heads that a service sends, before they are kept: against the log, keys and times here.

docs/spec/log.md, "Client rules". A new line must be of the game asked for, signed by the key that the log names for its
author, with a receipt of the service's pinned key; times, credits and clocks must hold; no salt may occur twice. A head
says what a game's last entry was at a time. A client refuses a head that the service's pinned key has not signed, that
is of another game, or that contradicts the log kept here. It refuses new lines that contradict a head kept before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hkoji.audit.checks import (
    require_receipt,
    verify_head_time,
    verify_new_salt,
    verify_receipt,
    verify_receipt_time,
    verify_same_receipt,
    verify_signatures,
)
from hkoji.audit.times import TimedLine, TimedLog, TimePass
from hkoji.errors import HkojiError, TrustError
from hkoji.game.commitments import Opening
from hkoji.game.course import Course
from hkoji.game.entry_kinds import End, EntryBody, RevealBody
from hkoji.game.replay import KEEP_FOLDER, Replay, Step
from hkoji.game.submission import Submission
from hkoji.log import sshsig
from hkoji.log.game_statements import HeadStatement, SignedHead
from hkoji.log.line import SERVER_NAME, Line, SignedEntry
from hkoji.log.public_key import PublicKey
from hkoji.log.statement import View, parse_view
from hkoji.messages.text import tell


class LateLineError(TrustError):
    """A player's entry that the service has taken after its deadline.

    It convicts the service together with `head`, a signed head of the entry, or with a view of it.
    """

    head: SignedHead | None = None


def verify_game(lines: Sequence[Line], game: str) -> None:
    """Checks that `lines` are of the game that was asked for. Raises `TrustError`."""
    for line in lines:
        if line.entry.game != game:
            raise _other_game(line.entry.game, game)


def _other_game(other: str, game: str) -> TrustError:
    return TrustError(
        tell("the service answered with game {other} when asked for {game}", other=other[:8], game=game[:8]),
        hint=tell("nothing was accepted"),
    )


def verify_lines(
    result: Replay, lines: Sequence[Line], new: int, server: PublicKey, own: Submission | None = None
) -> None:
    """Checks signatures, receipts, salts and proofs of the last `new` of `lines`, which are the steps of `result`.

    `own` has been signed here, and the receipt of its line has been verified; both are not verified once more.
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
    salts: set[str] = set()
    if any(_opened(step.body) for step in result.steps[first:]):  # all earlier entries are looked at only then
        salts = {opening.salt for step in result.steps[:first] for opening in _opened(step.body)}
    timed = [TimedLine(line, step.body) for line, step in zip(lines, result.steps, strict=True)]
    for number, line in enumerate(lines[first:], first):
        step = result.steps[number]
        before = result.steps[number - 1].course if number else step.course
        try:
            signer = before.signer(step.entry, step.body)
            if not _is(line, own, signer):
                verify_signatures(line.entry, line.sig, signer, step.body, before.setup.link)
                verify_receipt(require_receipt(line), line.entry, server)
                if before.sealed is not None:
                    _verify_proofs(before, step)
            if number and (earlier := lines[number - 1].receipt):
                verify_receipt_time(require_receipt(line).receipt, earlier.receipt)
            for opening in _opened(step.body):
                verify_new_salt(opening, salts)
        except HkojiError as error:
            raise _refusal(number, error) from error
    log = TimedLog(timed, len(lines) - 1, [step.course for step in result.steps[:first]])
    for which in TimePass:
        # An answer of the service contains whole transactions. So all that belongs to its last entry is there.
        fault = log.find_fault(which, settled=len(lines), first=first)
        if fault is not None:
            late = which is TimePass.CLOCKS and result.steps[fault.entry].body.effect.owed
            raise _refusal(fault.entry, fault.error, LateLineError if late else TrustError) from fault.error


def _verify_proofs(before: Course, step: Step) -> None:
    from hkoji.game.proving import verify_proofs  # other games need none of it
    from hkoji.sealed.sodium import quickest

    verify_proofs(before, step.entry, step.body, quickest())


def _refusal(number: int, error: HkojiError, kind: type[TrustError] = TrustError) -> TrustError:
    reason = tell("the service sent an entry {number} that does not hold: {reason}", number=number, reason=error)
    return kind(reason, hint=KEEP_FOLDER)


def _is(line: Line, own: Submission | None, signer: PublicKey) -> bool:
    """Returns whether a line is that of `own`, signed by the key that must have signed it."""
    return (
        own is not None
        and (line.entry.text, line.sig) == (own.entry.text, own.sig)
        and sshsig.parse(own.sig).public == signer
    )


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


def verify_signed_view(signed: SignedEntry, server: PublicKey) -> View:
    """Returns a view after checking that the service's key has signed it. Raises `TrustError`."""
    try:
        view = parse_view(signed.text)
        sshsig.verify(signed.sig, server, sshsig.VIEW, view.message, SERVER_NAME)
    except HkojiError as error:
        raise TrustError(
            tell("the service's view does not hold: {reason}", reason=error), hint=tell("nothing was accepted")
        ) from error
    return view


def verify_signed_head(signed: SignedHead, game: str, server: PublicKey) -> None:
    """Checks that the service's key has signed a head, and that it is of the game asked for. Raises `TrustError`."""
    head = signed.statement
    try:
        sshsig.verify(signed.sig, server, sshsig.HEAD, head.message, SERVER_NAME)
    except HkojiError as error:
        raise TrustError(
            tell("the service's head does not hold: {reason}", reason=error), hint=tell("nothing was accepted")
        ) from error
    if head.game != game:
        raise _other_game(head.game, game)


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
