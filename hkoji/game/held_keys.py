"""Held keys: keys that the service holds for players who answer by mail, and the certificates that say so.

docs/spec/log.md, "Held keys". A certificate is the service's statement: I hold this key for that name, and act on mails
answers for it. This module signs and verifies certificates, and says when an entry must name a mail. It reads no mail.
The grades of seats are here in words too: how it is known who has made a seat's decisions.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.errors import IllegalError, MalformedError, NotUnderstoodError, WeakKeyError
from hkoji.log import sshsig
from hkoji.log.canonical import (
    VERSION,
    JsonValue,
    encode,
    encode_base64,
    exactly,
    is_name,
    is_origin,
    is_time,
    message,
    read_hex,
    read_signature,
)
from hkoji.log.mail_claim import MAIL, MailClaim, MailGrade, read_mail
from hkoji.log.public_key import PublicKey, read_key_form
from hkoji.messages.text import Text, tell
from hkoji.rules.events import Seat

if TYPE_CHECKING:
    from hkoji.log.private_key import Signer


GATEWAY: Final = "gateway"
"""The key of the certificate in bodies."""


# --- certificates -----------------------------------------------------------------------------------------------------


class Gateway(NamedTuple):
    """A certificate: the service of `origin` holds `key` for a player, and acts on mails from one mailbox.

    `address` is a salted hash of the mailbox (64 hex digits), `at` the time of the certificate, and `sig` the SSHSIG
    blob of the service's key over the certificate and the player's name.
    """

    address: str
    at: str
    key: PublicKey
    origin: str
    sig: bytes

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the object in a body."""
        return {
            "address": self.address,
            "at": self.at,
            "key": self.key.text,
            "origin": self.origin,
            "sig": encode_base64(self.sig),
        }


def read_gateway(value: JsonValue) -> Gateway | WeakKeyError:
    """Reads a certificate, or returns the error of a weak key in it, as `read_key_form` does.

    Raises `MalformedError` or `NotUnderstoodError`. The signature is not verified.
    """
    fields = exactly(value, GATEWAY, ("address", "at", "key", "origin", "sig"))
    address, at, origin = read_hex(fields["address"], "address"), fields["at"], fields["origin"]
    if not isinstance(at, str) or not is_time(at):
        raise MalformedError(GATEWAY, tell("at is not a time"))
    if not isinstance(origin, str) or not is_origin(origin):
        raise MalformedError(GATEWAY, tell("origin is not 1 to 256 characters without spaces"))
    key, sig = read_key_form(fields["key"], "key of the gateway"), read_signature(fields["sig"], GATEWAY)
    return key if isinstance(key, WeakKeyError) else Gateway(address, at, key, origin, sig)


def gateway_message(name: str, *, address: str, at: str, key: PublicKey, origin: str) -> bytes:
    """Returns the bytes that the service signs, in namespace `hkoji.held.v1`, to certify a key that it holds."""
    value: dict[str, JsonValue] = {
        "address": address,
        "at": at,
        "key": key.text,
        "name": name,
        "origin": origin,
        "v": VERSION,
    }
    return message(encode(value))


def certify(signer: Signer, *, address: str, at: str, key: PublicKey, name: str, origin: str) -> Gateway:
    """Returns the certificate by which the service, with its key `signer`, says that it holds `key` for `name`.

    `address` is the hash of the mailbox, 64 hex digits. Raises `MalformedError` for a value without the right form.
    """
    if not is_name(name):
        raise MalformedError(GATEWAY, tell("name is not a player's name"))
    said = gateway_message(name, address=address, at=at, key=key, origin=origin)
    gateway = Gateway(address, at, key, origin, signer.sign(sshsig.HELD, said))
    require_strong_gateway(read_gateway(gateway.to_json()))
    return gateway


def require_strong_gateway(gateway: Gateway | WeakKeyError) -> Gateway:
    """Returns a certificate that `read_gateway` has read. Raises `WeakKeyError` if its key is weak."""
    if isinstance(gateway, WeakKeyError):
        raise gateway
    return gateway


def strong_gateway(gateway: Gateway | WeakKeyError | None) -> Gateway | None:
    """Returns a certificate, if there is one. Raises `WeakKeyError`."""
    return None if gateway is None else require_strong_gateway(gateway)


def read_certified(fields: dict[str, JsonValue]) -> tuple[Gateway | WeakKeyError | None, MailClaim | None]:
    """Reads the certificate and the mail in the body of a newcomer; None for what is not there.

    Raises `MalformedError`, also if the certificate is for another key than the body's, or `NotUnderstoodError`.
    """
    mail = read_mail(fields[MAIL]) if MAIL in fields else None
    if GATEWAY not in fields:
        return None, mail
    given = fields[GATEWAY]
    gateway = read_gateway(given)
    assert isinstance(given, dict)
    if given["key"] != fields["key"]:
        raise MalformedError(GATEWAY, tell("it is for another key than that of the player"))
    return gateway, mail


def mail_json(mail: MailClaim | None, gateway: Gateway | None = None) -> dict[str, JsonValue]:
    """Returns what a body has beside its own keys if the service signs it."""
    body: dict[str, JsonValue] = {}
    if gateway is not None:
        body[GATEWAY] = gateway.to_json()
    if mail is not None:
        body[MAIL] = mail.to_json()
    return body


def verify_gateway(gateway: Gateway, name: str, server: PublicKey) -> None:
    """Checks that the service with the key `server` has certified that it holds the key for `name`.

    Raises `SignatureError`.
    """
    address, at, key, origin, sig = gateway
    said = gateway_message(name, address=address, at=at, key=key, origin=origin)
    sshsig.verify(sig, server, sshsig.HELD, said, tell("the service"))


def read_least_grade(value: JsonValue) -> MailGrade:
    """Reads the grade that a player demands of mails. Raises `MalformedError`, or `NotUnderstoodError` for another."""
    if not isinstance(value, str) or value == MailGrade.NONE:
        raise MalformedError(tell("grade of a mail"), tell("it is not dkim or token"))
    if value not in (MailGrade.DKIM, MailGrade.TOKEN):
        raise NotUnderstoodError(tell("grade of a mail"), value)
    return MailGrade(value)


# --- held keys in a game ----------------------------------------------------------------------------------------------


class HeldKey(NamedTuple):
    """A key in a game that the service holds for a seat.

    `grade` is None if it is the only key of the seat. Else the seat has a key of its own too, and the held key may sign
    entries with a mail of at least this grade. `since` is the entry that has named it, and `until` the last entry that
    it may sign; None while it is in force.
    """

    seat: Seat
    gateway: Gateway
    since: int
    grade: MailGrade | None = None
    until: int | None = None

    @property
    def only(self) -> bool:
        """Whether the seat has no other key."""
        return self.grade is None


def verify_mail(name: str, mail: MailClaim | None, *, held: bool, least: MailGrade | None = None) -> None:
    """Checks that an entry by `name` has `mail` exactly if the service has signed it.

    `held` says that the service holds a key of this player there; it is the only one if `least` is None. Else `least`
    is the grade that the player demands, and the entry may also be signed by the player's own key. Raises
    `IllegalError`.
    """
    if mail is None or not held:
        verify_statement_mail(name, mail, held=held and least is None)
    elif least is not None and not mail.grade.at_least(least):
        raise IllegalError(
            tell("the mail has grade {grade}, and {name} demands {least}", grade=mail.grade, name=name, least=least)
        )


def verify_statement_mail(name: str, mail: MailClaim | None, *, held: bool) -> None:
    """Checks that a statement of `name` beside the log names a mail exactly if the player's only key is `held`.

    A player with a key of their own signs statements with it. Raises `IllegalError`.
    """
    if held and mail is None:
        raise IllegalError(tell("the service signs for {name}, and does not say by which mail", name=name))
    if mail is not None and not held:
        raise IllegalError(tell("it is said to come by mail, and {name} signs with a key of their own", name=name))


class SeatGrade(StrEnum):
    """How it is known who has made the decisions of a seat. The strongest comes first; the weakest decision counts."""

    OWN = "own"
    """The player's own key has signed all of them."""
    CHECKED = "checked"
    """The service has signed, and the mails with their DKIM signatures were there and have been checked."""
    CLAIMED = "claimed"
    """The service has signed, and says that mails with a DKIM signature are behind all that it has signed."""
    WORD = "word"
    """The service has signed, for mails that nobody could check: only the service says that the player wrote them."""


def grade_of_seat(weakest: MailGrade | None, *, checked: bool = False) -> SeatGrade:
    """Returns the grade of a seat.

    `weakest` is the weakest grade of a mail that anything signed for the seat names, a `seed` apart; None if its own
    key has signed all. `checked` says that all these mails have been checked.
    """
    if weakest is None:
        return SeatGrade.OWN
    if weakest is not MailGrade.DKIM:
        return SeatGrade.WORD
    return SeatGrade.CHECKED if checked else SeatGrade.CLAIMED


def weaker(grade: MailGrade | None, mail: MailClaim | None) -> MailGrade | None:
    """Returns the weaker one of a grade and that of a mail; without a mail, and for `MailGrade.NONE`, the grade."""
    if mail is None or mail.grade is MailGrade.NONE:
        return grade
    return mail.grade if grade is None or grade.at_least(mail.grade) else grade


BRIEF_GRADES: Final = {
    SeatGrade.OWN: tell("own key"),
    SeatGrade.CHECKED: tell("checked"),
    SeatGrade.CLAIMED: tell("claimed"),
    SeatGrade.WORD: tell("service's word"),
}
"""The grades in a word or two, where it is said already that somebody plays by mail."""


def grade_sentence(name: str, grade: SeatGrade, *, you: bool = False) -> Text:
    """Returns a sentence on what the log proves about the seat of `name`; `you` says that this is the reader."""
    return _OF_YOU[grade] if you else _of(name)[grade]


_OF_YOU: Final = {
    SeatGrade.OWN: tell("You play with your own key: the log proves that it has signed all that you have decided."),
    SeatGrade.CHECKED: tell(
        "You play by mail, checked: your mails, signed by your mail provider, have been looked at."
    ),
    SeatGrade.CLAIMED: tell(
        "You play by mail, as the service claims: only the service says that it has mails of yours, signed by your "
        "mail provider."
    ),
    SeatGrade.WORD: tell("You play by mail, on the service's word: only the service says that the moves are yours."),
}


def _of(name: str) -> dict[SeatGrade, Text]:
    return {
        SeatGrade.OWN: tell(
            "{name} has a key of their own: the log proves that this key has signed all that {name} has decided.",
            name=name,
        ),
        SeatGrade.CHECKED: tell(
            "{name} plays by mail, checked: {name}'s mails, signed by their mail provider, have been looked at.",
            name=name,
        ),
        SeatGrade.CLAIMED: tell(
            "{name} plays by mail, as the service claims: only the service says that it has mails of {name}, signed by "
            "their mail provider.",
            name=name,
        ),
        SeatGrade.WORD: tell(
            "{name} plays by mail, on the service's word: only the service says that the moves are {name}'s.", name=name
        ),
    }
