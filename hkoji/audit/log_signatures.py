"""The signatures of a log, verified in one step, which several threads can share.

docs/spec/log.md, "Audit", steps 4 and 5. What it means that a signature does not verify is for the audit to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from hkoji.audit.checks import SignatureCheck, receipt_signature, signature_checks
from hkoji.audit.keyring import Keyring
from hkoji.errors import HkojiError
from hkoji.game.entry_kinds import EntryBody, Open
from hkoji.game.setup import LinkInvite
from hkoji.log.entry import SERVER_NAME
from hkoji.log.line import Line

Verdict: TypeAlias = HkojiError | None
"""Why a signature does not verify; None if it does."""
MapChecks = Callable[[Callable[[SignatureCheck], Verdict], Iterable[SignatureCheck]], Iterable[Verdict]]
"""`map`, or a function like it that verifies on several cores."""


class LogSignatures:
    """The verdicts on the signatures of a log: of entries, until one does not verify, and of the receipts before it.

    The entry at `stop` is the first with a signature that is missing or does not verify, for the reason `fault`, or
    whose author has no key in the log (then `fault` is None). `verified` signatures of the entries before it hold.
    `receipts` are the verdicts on the receipts before it, up to the first line without a receipt.
    """

    def __init__(
        self, lines: Sequence[Line], bodies: Sequence[EntryBody], keyring: Keyring, map_checks: MapChecks
    ) -> None:
        self.verified = 0
        self.fault: Verdict = None
        self.receipts: Final[list[Verdict]] = []
        places: list[int | None] = []  # the entry of each check; None for a receipt's
        unasked: list[HkojiError] = []
        for number, verdict in enumerate(map_checks(_verdict, _checks(lines, bodies, keyring, places, unasked))):
            place = places[number]
            if place is None:
                self.receipts.append(verdict)
            elif verdict is None:
                self.verified += 1
            else:
                self.stop, self.fault = place, verdict
                return
        self.stop = next((place + 1 for place in reversed(places) if place is not None), 0)
        self.fault = unasked[0] if unasked else None


def _checks(
    lines: Sequence[Line],
    bodies: Sequence[EntryBody],
    keyring: Keyring,
    places: list[int | None],
    unasked: list[HkojiError],
) -> Iterator[SignatureCheck]:
    """The signatures of each line, entry before receipt. Notes the place of each in `places`.

    It ends at an entry that lacks a signature, or has one where none belongs, and notes this in `unasked`.
    """
    opened, link = False, None
    server = keyring.party(SERVER_NAME, len(lines))
    for number, (line, body) in enumerate(zip(lines, bodies, strict=True)):
        party = keyring.signer(number, line.entry)
        if party is None:
            return
        try:
            checks = signature_checks(line.entry, line.sig, party.key, body, link)
        except HkojiError as error:
            unasked.append(error)
            return
        for check in checks:
            places.append(number)
            yield check
        if isinstance(body, Open) and not opened:
            opened, link = True, body.invite.link if isinstance(body.invite, LinkInvite) else None
        if line.receipt is None:
            server = None
        elif server is not None:
            places.append(None)
            yield receipt_signature(line.receipt, server.key)


def _verdict(check: SignatureCheck) -> Verdict:
    try:
        check.verify()
    except HkojiError as error:
        return error
    return None
