"""Receiving: decides what becomes of a mail as it comes in, and keeps it durably if it is one to process.

The order of the rules matters. Limits come first, then what is dropped without an answer and leaves no row: an answer
to a mail by a program could begin a loop, and one to a mail that answers none of our letters could go to somebody whose
address was forged. The rest is kept as one row before the sender is told that it has arrived.

Reports about letters that did not arrive never change a clock. If a bounce stopped the clock, a player short of time
could make their mailbox bounce. So a mailbox that does not take letters only has its letters paused, both players see
since when, and the other one can give time or call the game off. Reminders are tried all the same, and any mail from
the player ends the pause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from hkoji.errors import ClockError, UnreadableMailError
from hkoji.game.agreement import DAY
from hkoji.game.clock import Way, add_seconds
from hkoji.mail.addresses import Found, OwnAddress
from hkoji.mail.mail import Automatic, Mail, read_mail
from hkoji.mail.message import Bounce, BounceClass, class_of_status, without_trace
from hkoji.mail.orders import is_order
from hkoji.mail.tokens import token_digest
from hkoji.messages.text import tell
from hkoji_server.log import log
from hkoji_server.service.time.service_time import ClockAndEntropy, ServiceTime
from hkoji_server.settings import Settings, own_address
from hkoji_server.store.mail_values import NO_GAME, ArrivalStore, Mailbox, MailVia, NewMail, ProbeMail
from hkoji_server.store.time_contract import StaleDecisionError

if TYPE_CHECKING:
    from hkoji_server.service.mail.mailboxes import SelfRegistration

_WITHIN: Final = 7 * DAY
_ENOUGH: Final = {BounceClass.PERMANENT: 1, BounceClass.COMPLAINT: 1, BounceClass.FAILED: 3}
"""How many bounces of a class within `_WITHIN` pause the letters. The other classes say nothing about the mailbox."""


def class_of(code: int, status: str) -> BounceClass:
    """Returns what a refusal by a server of SMTP says: a reply code, and the status code of RFC 3463 or nothing."""
    if code < 500:
        return BounceClass.DELAYED
    return class_of_status(status) if status.startswith("5.") else BounceClass.FAILED


class Bounces:
    """Notes bounces of letters to mailboxes. `count` is called with the class of each."""

    def __init__(
        self, store: ArrivalStore, time: ServiceTime, *, count: Callable[[BounceClass], None] = lambda _: None
    ) -> None:
        self._store = store
        self._time = time
        self._count = count

    async def note(self, channel: str, kind: BounceClass, digest: str) -> bool:
        """Notes a bounce of a letter to a mailbox, once for each `digest`. Returns whether its letters are paused now.

        Raises `StorageError`, `ClockError`.
        """
        self._count(kind)
        log.info("a letter did not arrive", channel=channel, kind=kind.value)
        enough = _ENOUGH.get(kind)
        if enough is None:
            return False
        now = await self._time.now()
        paused = await self._store.note_bounce(channel, digest, now, since=add_seconds(now, -_WITHIN), enough=enough)
        if paused:
            log.warning("letters to a mailbox are paused: they do not arrive", channel=channel)
        return paused


_TRIES: Final = 5
LONGEST_UNDER_WAY: Final = 7 * DAY
"""For how long a letter is reported on. Mail servers try for five days or less."""


class Received(StrEnum):
    """The fate of a mail. The values are labels of metrics."""

    KEPT = "kept"
    """It is on disk, and will be processed."""
    REPEATED = "repeated"
    """It came before."""
    OTHER_BYTES = "other bytes"
    """Another mail of the player has its Message-ID: the first one counts."""
    BOUNCE = "bounce"
    """It is a report about a letter of ours, and noted."""
    PROBE = "probe"
    """It is the service's own, sent by its operator to see whether mail comes in, or a report about that one."""
    NULL_SENDER = "null sender"
    """Dropped, as are the following: nobody who could read an answer has sent it, or it came where only reports do."""
    AUTOMATIC = "automatic"
    """A program has written it."""
    OWN = "own"
    """It is from one of our own addresses."""
    REGISTRATION = "registration"
    """It asks for a name, which its sender is asked to confirm."""
    NO_LETTER = "no letter"
    """It answers no letter that we know of, and is not from a mailbox that we know."""
    OLD_LETTER = "old letter"
    """It is a report about a letter that went out too long ago: its address could have come into any hands since."""
    STRANGER = "stranger"
    """It has no token, so anybody can have written it, and another such mail in the name of the player waits."""
    FULL = "full"
    """Too many mails of the player wait: it must come again."""
    NOT_OURS = "not ours"
    """Its recipient is none of our addresses."""

    @property
    def taken(self) -> bool:
        """Whether the sender is told that it has arrived."""
        return self not in (Received.FULL, Received.NOT_OURS)


Count = Callable[[MailVia, Received], None]
"""A function that is called with the way of each mail and what became of it."""


def _nothing(*_: object) -> None:
    """Does nothing."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A mail as it has come: `null_sender` is None where the sender of the envelope is not known."""

    recipient: str
    null_sender: bool | None
    via: MailVia
    mail: Mail


class Receiving:
    """Takes mails for the address `own`. `time` is that of the way `mail`.

    With `hand_over` this process also processes what it keeps: it is called with the number and the mail.
    """

    def __init__(
        self,
        store: ArrivalStore,
        time: ServiceTime,
        own: OwnAddress,
        bounces: Bounces,
        *,
        registration: SelfRegistration | None = None,
        count: Count = _nothing,
        hand_over: Callable[[int, Mail], None] | None = None,
    ) -> None:
        self._store = store
        self._time = time
        self._own = own
        self.is_ours = own.is_ours
        self._bounces = bounces
        self._registration = registration
        self._count = count
        self._hand_over = hand_over

    async def receive(self, recipient: str, mail: Mail, via: MailVia, *, null_sender: bool | None) -> Received:
        """Keeps a mail durably, or drops it, and returns which. It may be cut off after more than is ever read.

        Raises `StorageError` or `ClockError` if it must come again.
        """
        recipient = recipient.strip()
        result = Received.NOT_OURS
        if self.is_ours(recipient):
            result = await self._receive(_Sent(recipient, null_sender, via, mail))
        self._count(via, result)
        log.info("a mail has come", via=via, result=result.value)
        return result

    async def _receive(self, sent: _Sent) -> Received:
        found = sent.mail.find_token(sent.recipient, self._own)
        bounce = _bounce_in(sent)
        if sent.null_sender or bounce is not None or self._is_bounce_address(sent.recipient):
            return await self._take_bounce(sent, bounce)
        own = sent.mail.header.sender is not None and self.is_ours(sent.mail.header.sender)
        if own and found is not None and await self._take_probe(found, sent):
            return Received.PROBE
        if sent.mail.automatic and (own or found is None or not _is_ordered(sent.mail)):
            return Received.AUTOMATIC
        if own:
            return Received.OWN
        return await self._keep(sent, found)

    def _is_bounce_address(self, recipient: str) -> bool:
        found = self._own.find_in_address(recipient)
        return found is not None and found.bounce

    async def _take_bounce(self, sent: _Sent, bounce: Bounce | None) -> Received:
        """Notes a report about a letter; everything else from nobody, or to an address for reports, is dropped.

        A report comes from nobody, to the sender of the letter's envelope, within a week. A quotation in it counts
        only where that is the same address for all letters, and in complaints, which come from a provider and to any of
        our addresses.
        """
        if bounce is None:
            return Received.NULL_SENDER
        if self._own.delimiter:
            found = self._own.find_in_address(sent.recipient)
            found = found if found is not None and found.bounce else None
        else:
            found = None
        if found is None and bounce.message_id and (not self._own.delimiter or bounce.kind is BounceClass.COMPLAINT):
            found = self._own.find_in_id(bounce.message_id)
        if found is None:
            return Received.NO_LETTER
        reply = await self._store.reply(token_digest(found.token))
        if reply is None:
            return Received.PROBE if await self._take_probe(found, sent) else Received.NO_LETTER
        if reply.made < add_seconds(await self._time.time_of_arrival(), -LONGEST_UNDER_WAY):
            return Received.OLD_LETTER
        await self._bounces.note(reply.channel, bounce.kind, digest_of(sent.recipient, sent.mail.raw))
        return Received.BOUNCE

    async def _take_probe(self, found: Found, sent: _Sent) -> bool:
        return await self._store.take_probe(token_digest(found.token), ProbeMail(sent.recipient, sent.mail.raw))

    async def _registers(self, sent: _Sent, mailbox: Mailbox | None) -> bool:
        """Tells whether a mail without a token asks for a name, and counts."""
        if self._registration is None or (mailbox is not None and mailbox.plays):
            return False
        return await self._registration.take(sent.mail, await self._time.time_of_arrival())

    async def _keep(self, sent: _Sent, found: Found | None) -> Received:
        reply = None if found is None else await self._store.reply(token_digest(found.token))
        if reply is not None:
            name, channel, game = reply.name, reply.channel, reply.game
        else:
            if sent.mail.automatic:
                return Received.AUTOMATIC
            sender = sent.mail.header.sender
            mailbox = None if sender is None else await self._store.mailbox_at(sender)
            if await self._registers(sent, mailbox):
                return Received.REGISTRATION
            if mailbox is None or mailbox.state == "asked":
                return Received.NO_LETTER
            name, channel, game = mailbox.name, mailbox.channel, NO_GAME
        message_id = "" if sent.mail.fault is not None else sent.mail.known_by()
        # An answer to all of our addresses in a letter comes twice, and is one mail.
        recipient = sent.recipient if found is None else self._own.with_token(found.token)
        for _ in range(_TRIES):
            at = await self._time.time_of_arrival()
            new = NewMail(
                digest=digest_of(recipient, sent.mail.raw),
                via=sent.via,
                raw=sent.mail.raw,
                received=at,
                name=name,
                channel=channel,
                game=game,
                message_id=message_id,
                reply=None if reply is None else reply.digest,
                outages=len(self._time.outages),
                tries=0 if self._hand_over is None else 1,
            )
            try:
                kept = await self._store.add_incoming(new)
            except StaleDecisionError:
                await self._time.read_outages()
                continue
            if kept.outcome == "added" and kept.number is not None and self._hand_over is not None:
                self._hand_over(kept.number, sent.mail)
            return _KEPT[kept.outcome]
        raise ClockError(tell("this process cannot keep up with the clock"), 30)


_KEPT: Final = {
    "added": Received.KEPT,
    "repeated": Received.REPEATED,
    "other bytes": Received.OTHER_BYTES,
    "full": Received.FULL,
    "stranger": Received.STRANGER,
}


def digest_of(recipient: str, raw: bytes) -> str:
    """Returns the key by which the same mail to the same recipient is kept once, however often it is delivered."""
    return sha256(recipient.lower().encode() + b"\n" + without_trace(raw)).hexdigest()


_OF_PERSONS_TOO: Final = frozenset(
    {Automatic.PRECEDENCE, Automatic.LIST_ID, Automatic.X_AUTOREPLY, Automatic.X_AUTORESPOND}
)
"""Marks of a program that the mail of a person may have got on its way."""


def _is_ordered(mail: Mail) -> bool:
    """Tells whether a mail that counts as a program's orders something, as no program does: its writer is told once.

    An answer to what says itself that it was sent automatically, or is a letter of ours, could begin a loop.
    """
    if not _OF_PERSONS_TOO.issuperset(mail.automatic):
        return False
    try:
        lines = mail.order_lines()
    except UnreadableMailError:
        return False
    return bool(lines) and all(map(is_order, lines))


def _bounce_in(sent: _Sent) -> Bounce | None:
    """Returns the report about a letter that a mail is; None for others, and if somebody has sent it.

    If nobody knows whether its sender is null, as in some mailboxes, only a mail of a program can be one. A complaint
    has a sender.
    """
    found = sent.mail.bounce
    if found is None or found.kind is BounceClass.COMPLAINT:
        return found
    return None if sent.null_sender is False or (sent.null_sender is None and not sent.mail.automatic) else found


_NOBODY = ("", "<>", "mailer-daemon")
"""The forms in which mail servers pass the null sender; Postfix says `MAILER-DAEMON`."""


async def receive_once(
    store: ArrivalStore,
    sources: ClockAndEntropy,
    settings: Settings,
    recipient: str,
    raw: bytes,
    sender: str | None,
    *,
    registration: SelfRegistration | None = None,
) -> Received:
    """Keeps or drops a mail. `sender` is that of the envelope, None if the mail server has not said it.

    Many a mail server says it in a field on top of the mail instead. Raises as `Receiving.receive` does.
    """
    own = own_address(settings)
    assert own is not None
    time = ServiceTime(store, sources, outage_after=settings.outage_after, way=Way.MAIL)
    receiving = Receiving(store, time, own, Bounces(store, time), registration=registration)
    mail = read_mail(raw)
    return await receiving.receive(recipient, mail, "pipe", null_sender=_is_null(sender, mail))


def _is_null(sender: str | None, mail: Mail) -> bool | None:
    if sender is not None:
        return sender.strip().lower() in _NOBODY
    return True if [(field.name, field.value) for field in mail.fields[:1]] == [("return-path", b"<>")] else None
