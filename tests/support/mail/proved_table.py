"""A table whose guest plays by mail, as an honest service writes it down, or one that lies in one place.

Each mail is kept with what opens its commitment. `lie` changes what the service does with a mail; what the player
writes is up to `tags` and `records`: the provider's signature, and DNS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.held_keys import Gateway
from hkoji.game.submission import Submission
from hkoji.log.canonical import JsonValue
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.public_key import PublicKey
from hkoji.mail.dkim_rules import judge_dkim, key_names
from hkoji.mail.dns_answers import encode_answers
from hkoji.mail.mail import read_mail
from hkoji.mail.mails_audit import MailsAudit, audit_mails, index_mails
from hkoji.mail.mails_file import ProvedMailbox, ProvingMail
from hkoji.mail.tokens import Purpose, TokenFields, TokenPlace, address_hash, make_token, place_of
from tests.support.mail.signing import GMAIL, record_of, rsa_key, seconds_of, sign
from tests.support.table import ORIGIN
from tests.support.timed_table import TimedTable

MAILBOX = "bob@example.org"
SALT = "5a" * 32
_LINES = {"join": "accept", "resign": "resign"}
_PURPOSES = {"join": Purpose.INVITE, "move": Purpose.TURN, "resign": Purpose.AGAIN, "annul": Purpose.AGAIN}


class MailAtHand(NamedTuple):
    """A mail that the service has got, and what it makes of it. `said` is what it enters, `grade` what it claims.

    `token` is what the token was for to which the mail was sent; the other values go into the commitment.
    """

    line: str
    token: TokenFields
    sender: str
    number: int
    nonce: str
    purpose: Purpose
    about: str
    game: str
    head: str
    reader: int = 1
    signed: bool = True
    dns: bytes | None = None
    grade: MailGrade | None = None
    sent_to: str | None = None
    """The nonce of the token to which it was sent, if that is another."""
    message_id: str = ""
    """Its Message-ID; an own one if it is empty."""
    unsigned_id: bool = False
    """Whether its provider signs no Message-ID."""


def honest(mail: MailAtHand) -> MailAtHand:
    """The work of an honest service with a mail."""
    return mail


@dataclass
class ProvedTable(TimedTable):
    """The table. `mails` are those that were kept, by the number of their entry or statement."""

    held: tuple[int, ...] = (1,)
    grade: MailGrade = MailGrade.DKIM
    lie: Callable[[MailAtHand], MailAtHand] = honest
    tags: Callable[[int], Mapping[str, str | None]] = field(default=lambda at: {"t": str(at)})
    records: Callable[[bytes], tuple[bytes, ...]] = field(default=lambda record: (record,))
    mails: list[ProvingMail] = field(default_factory=list)
    _action: str = ""
    _kind: str = ""

    def certify(self, seat: int, key: PublicKey, **changes: object) -> Gateway:
        """The service's certificate of a key that it holds, with the mailbox of the guest."""
        address = address_hash(ORIGIN, MAILBOX, bytes.fromhex(SALT))
        return super().certify(seat, key, **{"address": address, **changes})

    def move(self, action: str, seat: int | None = None, salt: str | None = None) -> Submission:
        """The submission of an action; the mail, if it is by mail, orders it."""
        self._action = action
        return super().move(action, seat, salt)

    def said(self, seat: int, content: entry_kinds.EntryBody) -> dict[str, JsonValue]:
        """A body with its mail."""
        self._kind = content.KIND
        return super().said(seat, content)

    def give(self, seconds: int) -> Self:
        """A gift of the guest's, by mail."""
        self._kind, self._action = "give", f"give {seconds}s"
        return super().give(seconds)

    def call_off(self) -> Self:
        """Both call the game off, the guest by mail."""
        self._kind, self._action = "annul", "call off"
        return super().call_off()

    def mail(self, grade: MailGrade | None = None) -> MailClaim:
        """The mail that orders what is being entered: written, kept, and committed to."""
        kind, name, head = self._kind, self.names[1], self.course.head
        purpose = _PURPOSES.get(kind, Purpose.GAME)
        place = place_of([line.entry for line in self.lines])
        assert place is not None
        about = self.bytes(32).hex() if purpose is Purpose.AGAIN else ""
        token = _token(purpose, name, self.game, place, about, of_game=kind == "resign")
        line = _LINES.get(kind, self._action)
        number, nonce = len(self.mails), self.bytes(32).hex()
        at_hand = self.lie(MailAtHand(line, token, MAILBOX, number, nonce, purpose, about, self.game, head))
        return self._keep_mail(at_hand)

    def _keep_mail(self, mail: MailAtHand) -> MailClaim:
        token, at = make_token(mail.token, mail.sent_to or mail.nonce), max(self.now, self.refereed.at)
        raw = written(mail, token)
        if mail.signed:
            names = [name for name in GMAIL if not (mail.unsigned_id and name == "message-id")]
            raw = sign(raw, names=names, tags=self.tags(seconds_of(at)))
        answers = {name: self.records(record_of(rsa_key())) for name in key_names(read_mail(raw))}
        holds = judge_dkim(read_mail(raw), answers, at=at, token=token).holds
        grade = mail.grade or (MailGrade.DKIM if holds and self.grade is MailGrade.DKIM else MailGrade.TOKEN)
        dns = encode_answers(answers) if mail.dns is None else mail.dns
        salt = self.bytes(32).hex()
        kept = ProvingMail(mail.about, dns, mail.game, mail.head, mail.nonce, mail.purpose, raw, mail.reader, salt)
        self.mails.append(kept)
        return MailClaim(kept.commit, grade)

    # --- the audit ------------------------------------------------------------------------------------------------

    def mailbox(self, **changes: Any) -> ProvedMailbox:  # Any: fields by name
        """Bob's part: his mailbox and his mails."""
        return ProvedMailbox(SALT, MAILBOX, self.names[1], tuple(self.mails))._replace(**changes)

    def judged(self, *mailboxes: ProvedMailbox, text: str = "") -> MailsAudit:
        """The audit of the log with the mails, by default with all of bob's. The service's key is expected."""
        done = audit(text or self.text, {"server": self.server.public})
        return audit_mails(done, index_mails(mailboxes or (self.mailbox(),)))


def written(mail: MailAtHand, token: str) -> bytes:
    """The mail before it is signed."""
    return "\r\n".join(
        (
            f"From: Bob <{mail.sender}>",
            f"To: hkoji <play+{token}@hkoji.example>",
            "Subject: Re: a game",
            "Date: Fri, 20 Nov 2026 12:00:00 +0000",
            f"Message-ID: {mail.message_id or f'<{mail.number}@mail.example>'}",
            "",
            mail.line,
            "",
            "> It is your turn.",
            "",
        )
    ).encode()


def _token(
    purpose: Purpose, name: str, game: str, place: TokenPlace, about: str, *, of_game: bool = False
) -> TokenFields:
    """The purpose of the token, from the page and not from the code under test."""
    if purpose is Purpose.GAME or of_game:
        return TokenFields(purpose, name, game, about=about)
    return TokenFields(purpose, name, game, place.seq, place.head, about)


def proved_game(
    moves: int | None = None,
    *,
    seed: int = 4,
    lie: Callable[[MailAtHand], MailAtHand] = honest,
    **given: Any,  # Any: fields
) -> ProvedTable:
    """A game with so many moves, by default to its end."""
    return ProvedTable(seed=seed, lie=lie, **given).begin().play(moves)
