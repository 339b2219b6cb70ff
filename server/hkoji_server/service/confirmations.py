"""What the owner of a mailbox is asked to confirm with `yes`, and the token to which they write that.

A confirmation is a kind (`ConfirmWhat`) and an id, as the text `KIND.ID`. That text is the `about` of its token, whose
purpose is `yes` and which is good for a day. `yes` never enters anything into a log.

- `on`, `register` and `move` stand in the column `confirm` of a mailbox in state `asked`, which `MailStore.ask_mailbox`
  adds with a row `confirm` of the outbox. Nothing but this letter and its answers goes there. When the owner has
  confirmed, the mailbox is `active`, and the column stays: a second `yes` is answered like the first.
- `unlock` is about a mailbox that is `locked`, with the digest of the mail that has locked it.
- `silence` is about a mailbox from which nothing has come for `SILENT_DAYS`, with the day of the letter.

`mail_confirmations` does what is confirmed.
"""

from __future__ import annotations

from typing import Final

from hkoji.game.clock import add_seconds
from hkoji.game.time_control import DAY
from hkoji.mail.letters.confirmation_facts import ConfirmWhat
from hkoji.mail.tokens import Purpose, TokenFields
from hkoji_server.store.mail_values import CONFIRM_SECONDS, Mailbox

SILENT_DAYS: Final = 180
"""After how many days without a mail of its owner a mailbox may be somebody else's."""


def confirmation(what: ConfirmWhat, of: str) -> str:
    """Returns a confirmation as it is kept: its kind, and an id that no other one of the mailbox has."""
    return f"{what.value}.{of}"


def what_of(about: str) -> ConfirmWhat | None:
    """Returns the kind of a confirmation; None if it is none."""
    kind = about.partition(".")[0]
    return ConfirmWhat(kind) if kind in tuple(ConfirmWhat) else None


def asked_fields(mailbox: Mailbox) -> TokenFields:
    """Returns what the token is for by which what is asked of a mailbox is confirmed."""
    return TokenFields(Purpose.YES, mailbox.name, about=mailbox.confirm or "")


def asked_until(mailbox: Mailbox) -> str:
    """Returns until when that can be confirmed."""
    return add_seconds(mailbox.since, CONFIRM_SECONDS)


def unlock_fields(mailbox: Mailbox, digest: str) -> TokenFields:
    """Returns what the token is for that unlocks a mailbox. `digest` is that of the mail that has locked it."""
    return TokenFields(Purpose.YES, mailbox.name, about=confirmation(ConfirmWhat.UNLOCK, digest))


def silence_fields(mailbox: Mailbox, now: str) -> TokenFields:
    """Returns what the token is for that ends the silence of a mailbox, in the letters of a day."""
    return TokenFields(Purpose.YES, mailbox.name, about=confirmation(ConfirmWhat.SILENCE, now[: len("2026-12-31")]))


def is_silent(mailbox: Mailbox, now: str) -> bool:
    """Tells whether so long nothing has come from the owner of a mailbox that it may be somebody else's by now."""
    return add_seconds(mailbox.heard or mailbox.since, SILENT_DAYS * DAY) < now


def can_confirm(about: str, mailbox: Mailbox) -> bool:
    """Tells whether `yes` to a token can still confirm something, or has done so."""
    match what_of(about):
        case ConfirmWhat.UNLOCK | ConfirmWhat.SILENCE:
            return True
    return about == mailbox.confirm and mailbox.state not in ("blocked", "moved")
