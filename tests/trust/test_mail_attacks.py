"""The attacks with mails that docs/security.md lists, tested like those of `test_attacks`.

The service has signed and committed to something else than the player has written; or the player has made mails and DNS
records so that it looks so. The audit gets the player's mails.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from hkoji.audit.log_audit import AuditStep, audit
from hkoji.log.mail_claim import MailGrade
from tests.support.mail.framed_mails import accused_by, framed
from tests.support.mail.proved_table import MailAtHand, ProvedTable, proved_game


def convicted(table: ProvedTable) -> None:
    """Only the mails show it, and they name the service, for the player and not the player."""
    assert audit(table.text, {"server": table.server.public}).ok
    (finding,) = table.judged().audit.findings
    assert (finding.step, finding.signer) == (AuditStep.MAILS, "the service, for bob")


def _changed(mail: MailAtHand, **changes: Any) -> MailAtHand:  # Any: fields by name
    return mail._replace(**changes)


def at(which: int, change: Callable[..., MailAtHand], /, **changes: object) -> Callable[[MailAtHand], MailAtHand]:
    """A lie about the mail with that number."""
    return lambda mail: change(mail, **changes) if mail.number == which else mail


def test_an_entry_that_no_mail_has_ordered() -> None:
    for number, line in ((0, "decline"), (1, "resign"), (2, "show"), (2, "thanks")):
        convicted(proved_game(9, lie=at(number, _changed, line=line)))


def test_a_mail_that_does_not_prove_its_entry() -> None:
    def of_another_turn(mail: MailAtHand, **changes: object) -> MailAtHand:
        return _changed(mail, token=mail.token._replace(seq=3, head="ab" * 32), **changes)

    claims: dict[str, object] = {"grade": MailGrade.DKIM}
    for lie in (
        at(2, _changed, signed=False, **claims),
        at(2, _changed, dns=b"", **claims),
        at(2, _changed, sender="eve@example.org", **claims),
        at(2, of_another_turn, **claims),
        at(2, _changed, number=1),
    ):
        convicted(proved_game(9, lie=lie))


def test_mails_that_frame_the_service() -> None:
    for off, twice in ((0, 1), (1, 1), (-1, 1), (1, 2)):
        table = proved_game(
            5,
            tags=lambda at, off=off: {"t": str(at), "x": str(at + off)},
            records=lambda record, twice=twice: (record + b"\n",) * twice,
        )
        assert accused_by(table, None) == set()
        rng = random.Random(off)
        for _ in range(10):
            assert accused_by(table, framed(rng, table)) == set()
