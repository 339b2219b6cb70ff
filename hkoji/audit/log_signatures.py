"""The signatures of a log, as a step that can be shared between threads: of its entries, and of its receipts.

docs/spec/log.md, "Audit", steps 4 and 5. What a signature that does not verify means is for the audit to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from hkoji.audit.checks import SignatureCheck, receipt_signature, signature_checks
from hkoji.audit.keyring import Keyring
from hkoji.errors import HkojiError
from hkoji.game.entry_kinds import EntryBody
from hkoji.log.entry import SERVER_NAME
from hkoji.log.line import Line
from hkoji.log.public_key import PublicKey

Verdict: TypeAlias = HkojiError | None
"""Why a signature does not verify; None if it does."""
MapChecks = Callable[[Callable[[SignatureCheck], Verdict], Iterable[SignatureCheck]], Iterable[Verdict]]
"""`map`, or a function like it that verifies on several cores. It may begin before anyone asks for a verdict."""


class LogSignatures:
    """The verdicts on the signatures of a log's lines, in order, as far as the log names keys.

    `entries` has one or more for each entry, and `places` the entry of each; `receipts` has one for each line up to the
    first without a receipt.
    """

    def __init__(
        self, lines: Sequence[Line], bodies: Sequence[EntryBody], keyring: Keyring, map_checks: MapChecks
    ) -> None:
        self.places: Final[list[int]] = []
        server = keyring.party(SERVER_NAME, len(lines))
        self.entries: Final = map_checks(_verdict, self._entry_checks(lines, bodies, keyring))
        self.receipts: Final = map_checks(_verdict, _receipt_checks(lines, server.key)) if server else ()

    def _entry_checks(
        self, lines: Sequence[Line], bodies: Sequence[EntryBody], keyring: Keyring
    ) -> Iterator[SignatureCheck]:
        for number, (line, body) in enumerate(zip(lines, bodies, strict=True)):
            party = keyring.party(line.entry.by, number)
            if party is None:
                return
            for check in signature_checks(line.entry, line.sig, party.key, body):
                self.places.append(number)
                yield check


def _receipt_checks(lines: Sequence[Line], server: PublicKey) -> Iterator[SignatureCheck]:
    for line in lines:
        if line.receipt is None:
            return
        yield receipt_signature(line.receipt, server)


def _verdict(check: SignatureCheck) -> Verdict:
    try:
        check.verify()
    except HkojiError as error:
        return error
    return None
