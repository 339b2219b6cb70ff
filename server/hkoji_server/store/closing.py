"""The end of a mail: all that is written in the one transaction that decides it."""

from __future__ import annotations

from dataclasses import dataclass

from hkoji_server.store.mail_tables import HeldEntropy, MailboxMove, MailEvidence
from hkoji_server.store.mail_values import Mailbox, NewAnswer, ReplyToken
from hkoji_server.store.player_tables import OperatorCode, Player


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of the `new` mail with the number `mail`: its bytes go, and its answers are written into the outbox.

    `result` is what became of it, as the text of a JSON object. Of `replies` that are known, `expires`, `spent` and
    `answers` are replaced, and the others are added. `mailbox` is changed as by `change_mailbox`, which gets `was`.
    With `move`, another mailbox gets its address first. `code` is for another key, and is kept as by `add_code`, but
    only for a player whose valid key the service holds. `registers` is the owner of an invited mailbox, who has
    accepted, and `answered` is when such an owner has answered without accepting. `settings` are those of its channel.

    `evidence` is the mail as what it led to commits to it, and `entropy` that of the seat it took. `signed` is by what
    it is known if it is sent again, as `hkoji.mail.dkim_rules.signed_id` has it.
    """

    mail: int
    was: Mailbox | None = None
    result: str = ""
    answers: tuple[NewAnswer, ...] = ()
    replies: tuple[ReplyToken, ...] = ()
    mailbox: Mailbox | None = None
    move: MailboxMove | None = None
    code: OperatorCode | None = None
    registers: Player | None = None
    answered: str | None = None
    settings: str | None = None
    evidence: MailEvidence | None = None
    entropy: HeldEntropy | None = None
    signed: str | None = None
