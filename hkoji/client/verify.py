"""Believing nothing: every line and view that a service sends is checked before it is kept.

docs/spec/log.md, "Client rules". The log must continue the one kept here, entry by entry; every signature must be by
the key that the log names for its author, every receipt by the service's pinned key.
"""

from __future__ import annotations

from collections.abc import Sequence

from hkoji.errors import ConflictError, HkojiError, TrustError
from hkoji.game.bodies import parse_body
from hkoji.game.course import Course, begin
from hkoji.game.knowledge import Spectator
from hkoji.log import sshsig
from hkoji.log.entry import SERVER_NAME
from hkoji.log.keys import PublicKey
from hkoji.log.line import Line

_EVIDENCE = "keep the game's folder: what you have seen is signed; compare with your opponent"


def follow(course: Course | None, lines: Sequence[Line], server: PublicKey) -> Course | None:
    """The public course after `lines`, which continue `course` (None: begin a log).

    Raises `TrustError` if a line does not belong there, or a signature or receipt is not what it must be.
    """
    for line in lines:
        try:
            course = _follow(course, line, server)
        except TrustError:
            raise
        except HkojiError as error:
            reason = f"the service sent an entry {line.entry.seq} that does not hold: {error}"
            raise TrustError(reason, hint=_EVIDENCE) from error
    return course


def _follow(course: Course | None, line: Line, server: PublicKey) -> Course:
    entry = line.entry
    body = parse_body(entry.kind, entry.body)
    if course is None:
        after = begin(entry, body)
        if after.setup.offer.server_key != server:
            raise TrustError(
                f"the game is signed by another service key than the one you know, {server.fingerprint}",
                hint="ask the host of the service, by another way, what its key is",
            )
        key = server
    else:
        key = course.signer(entry, body)
        after, _ = course.apply(entry, body, Spectator())
    namespace = sshsig.SERVER if entry.by == SERVER_NAME else sshsig.ENTRY
    sshsig.verify(line.sig, key, namespace, entry.message, entry.by)
    if line.receipt is None:
        raise TrustError(f"the service sent entry {entry.seq} without a receipt", hint=_EVIDENCE)
    receipt = line.receipt.receipt
    sshsig.verify(line.receipt.sig, server, sshsig.RECEIPT, receipt.message, SERVER_NAME)
    if (receipt.game, receipt.seq, receipt.head) != (entry.game, entry.seq, entry.head):
        raise TrustError(f"the receipt of entry {entry.seq} is for another entry", hint=_EVIDENCE)
    return after


def public_course(lines: Sequence[Line], course: Course | None = None) -> Course | None:
    """The public course after lines that have been verified before; they continue `course`, or begin a log."""
    for line in lines:
        body = parse_body(line.entry.kind, line.entry.body)
        course = begin(line.entry, body) if course is None else course.apply(line.entry, body, Spectator())[0]
    return course


def check_head(kept: Sequence[Line], seq: int, head: str) -> None:
    """The service's head must not lie behind, or beside, the log kept here. Raises `TrustError`."""
    if not kept:
        return
    if seq < kept[-1].entry.seq:
        raise TrustError(
            f"the service's log ends at entry {seq}, and you have seen entry {kept[-1].entry.seq}", hint=_EVIDENCE
        )
    if seq == kept[-1].entry.seq and head != kept[-1].entry.head:
        raise TrustError(f"the service's entry {seq} is another one than you have seen", hint=_EVIDENCE)


def check_conflict(kept: Sequence[Line], error: ConflictError) -> None:
    """A conflict's head is the service's word as well."""
    check_head(kept, error.seq, error.head)
