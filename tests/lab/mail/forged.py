"""Mails that are not what they seem, and odd ones that are honest: each trick of the table makes one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from functools import cache
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.support.mail.dkim_signer import SIGNED, Signer, ed25519_key, rsa_key

EVIL: Final = "evil.example"
ATTACKER: Final = f"mallory@{EVIL}"
_DAY: Final = 86400
_MADE_UP: Final = "a2b3c4d5e6f7g2h3i4j5k6l7m2"


@dataclass(frozen=True)
class Turn:
    """The knowledge of whoever writes the mail. `number` is another one for each mail.

    `sender` is the player's address, `to` the address with the token, and `letter` the id of the letter that has it.
    `order` is a line that can be played, `earlier` a mail that the player sent before. `other_to` is our address with
    another token. `provider` signs a mail as the provider of the player signs all, or not.
    """

    number: int
    token: str
    signs: bool
    sender: str
    to: str
    letter: str
    order: str
    at: float
    earlier: bytes
    other_to: str
    service: str
    provider: Callable[[bytes], bytes]

    @property
    def leaked(self) -> bool:
        """Whether somebody else writes the mail."""
        return self.token == "leaked"

    @property
    def domain(self) -> str:
        """The domain of the player's address."""
        return self.sender.partition("@")[2]

    @property
    def id(self) -> str:
        """The Message-ID of the mail."""
        return f"<spoof.{self.number}@{EVIL if self.leaked else self.domain}>"

    def mail(self, body: str = "", **fields: str) -> bytes:
        """An honest mail, unsigned. `fields` replace fields, by name with `_` for `-`; an empty one is left out."""
        made = {
            "From": f'"Player" <{self.sender}>',
            "To": self.to,
            "Subject": "Re: hkoji",
            "Date": formatdate(self.at),
            "Message-ID": self.id,
            "In-Reply-To": self.letter,
            "References": self.letter,
            "MIME-Version": "1.0",
            "Content-Type": 'text/plain; charset="utf-8"',
        }
        made |= {name.replace("_", "-"): value for name, value in fields.items()}
        head = "".join(f"{name}: {value}\n" for name, value in made.items() if value)
        return f"{head}\n{body or self.order + chr(10)}".replace("\n", "\r\n").encode()

    def signer(self, **changes: Any) -> Signer:  # Any: fields of a signer by name
        """Signs for the player's domain, or for that of somebody else who writes."""
        given = {"domain": EVIL if self.leaked else self.domain, "selector": f"s{self.number}", **changes}
        given["tags"] = {"t": str(int(self.at)), **given.get("tags", {})}
        return Signer(**given)


@dataclass(frozen=True)
class Forged:
    """A mail, the sender of its envelope, and what the DNS says meanwhile. Names in `silent` get no answer.

    `then` is how the player answers the letter that asks the order back: with a signature, or without one.
    """

    raw: bytes
    sender: str = ATTACKER
    to: str | None = None
    records: Mapping[str, Sequence[str]] = field(default_factory=dict)
    silent: str | None = None
    then: bool | None = None


Trick = Callable[[Turn], Forged]
TRICKS: Final[dict[str, Trick]] = {}
TWICE: Final = frozenset({"replay", "replay-with-new-id", "token-of-other-first"})
"""The tricks that need a turn before, whatever the token."""


def _trick(make: Trick) -> Trick:
    TRICKS[make.__name__.strip("_").replace("_", "-")] = make
    return make


def _signed(turn: Turn, raw: bytes, signer: Signer | None = None, *records: str) -> Forged:
    """A mail signed by the program; `records` replace the record of its key. Only domains that sign publish keys."""
    signer = signer or turn.signer()
    published = {signer.name: list(records) or [signer.record]} if turn.signs or turn.leaked else {}
    return Forged(signer.sign(raw), records=published)


def _own(turn: Turn, raw: bytes) -> bytes:
    """A mail as it leaves the provider of whoever writes it."""
    return turn.signer().sign(raw) if turn.leaked else turn.provider(raw)


def _replaced(raw: bytes, old: bytes, new: bytes) -> bytes:
    assert old in raw
    return raw.replace(old, new, 1)


# --- honest mails ---------------------------------------------------------------------------------------------------


@_trick
def none(turn: Turn) -> Forged:
    """Nothing is odd about it."""
    return Forged(_own(turn, turn.mail()))


@_trick
def unsigned(turn: Turn) -> Forged:
    return Forged(turn.mail())


@_trick
def resign(turn: Turn) -> Forged:
    return Forged(_own(turn, turn.mail("resign\n")))


@_trick
def again_signed(turn: Turn) -> Forged:
    return replace(resign(turn), then=True)


@_trick
def again_unsigned(turn: Turn) -> Forged:
    return replace(resign(turn), then=False)


@_trick
def same_provider(turn: Turn) -> Forged:
    return Forged(turn.provider(turn.mail()))


# --- who has sent it ------------------------------------------------------------------------------------------------


@_trick
def capital_letters(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(From=turn.sender.upper()))


def _by_attacker(turn: Turn, author: str) -> Forged:
    signer = turn.signer(domain=EVIL)
    return Forged(signer.sign(turn.mail(From=author)), records={signer.name: [signer.record]})


@_trick
def own_address(turn: Turn) -> Forged:
    return _by_attacker(turn, ATTACKER)


@_trick
def display_name(turn: Turn) -> Forged:
    return _by_attacker(turn, f'"{turn.sender}" <{ATTACKER}>')


@_trick
def bare_display_name(turn: Turn) -> Forged:
    return _by_attacker(turn, f"{turn.sender} <{ATTACKER}>")


@_trick
def own_address_as_name(turn: Turn) -> Forged:
    """Programs write it so for somebody who has told them no name."""
    return Forged(_own(turn, turn.mail(From=f"{turn.sender} <{turn.sender}>")))


@_trick
def list_author(turn: Turn) -> Forged:
    """A mailing list has put its own address into From."""
    return _by_attacker(turn, f'"Player via friends" <friends@{EVIL}>')


@_trick
def replies_elsewhere(turn: Turn) -> Forged:
    """Answers, receipts and reports are asked for at an address of somebody else's."""
    fields = {"Sender": ATTACKER, "Reply_To": ATTACKER, "Disposition_Notification_To": ATTACKER, "Errors_To": ATTACKER}
    return Forged(_own(turn, turn.mail(**fields)))


@_trick
def from_on_top(turn: Turn) -> Forged:
    return Forged(f"From: {ATTACKER}\r\n".encode() + _own(turn, turn.mail()))


@_trick
def from_below(turn: Turn) -> Forged:
    raw = _own(turn, turn.mail())
    return Forged(_replaced(raw, b"\r\n\r\n", f"\r\nFrom: {ATTACKER}\r\n\r\n".encode()))


@_trick
def several_authors(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(From=f"{turn.sender}, {ATTACKER}"))


@_trick
def group(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(From=f"players: {turn.sender};"))


@_trick
def not_ascii(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(From=turn.sender.replace("@", "\N{LATIN SMALL LETTER E WITH ACUTE}@")))


@_trick
def no_message_id(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(Message_ID=""))


@_trick
def two_message_ids(turn: Turn) -> Forged:
    return Forged(f"Message-ID: <another.{turn.number}@{EVIL}>\r\n".encode() + _own(turn, turn.mail()))


@_trick
def results_field(turn: Turn) -> Forged:
    said = f"mail.{turn.service.partition('@')[2]}; dkim=pass header.d={turn.domain}; spf=pass; arc=pass"
    return Forged(f"Authentication-Results: {said}\r\nReceived-SPF: pass\r\n".encode() + turn.mail())


# --- what a signature covers ----------------------------------------------------------------------------------------


@_trick
def length(turn: Turn) -> Forged:
    """The order was appended to an empty body."""
    made = _signed(turn, turn.mail("\n"), turn.signer(tags={"l": "0"}))
    return replace(made, raw=made.raw + f"{turn.order}\r\n".encode())


@_trick
def length_of_all(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(tags={"l": str(len(turn.order) + 2)}))


@_trick
def changed_body(turn: Turn) -> Forged:
    """The player asked for help, and an order was written over that."""
    raw = _own(turn, turn.mail("help\n"))
    return Forged(_replaced(raw, b"\r\n\r\nhelp\r\n", f"\r\n\r\n{turn.order}\r\n".encode()))


@_trick
def list_footer(turn: Turn) -> Forged:
    """A mailing list that does not say it is one has changed the subject and the body."""
    raw = _replaced(_own(turn, turn.mail()), b"Subject: Re: hkoji", b"Subject: [friends] Re: hkoji")
    return Forged(raw + b"\r\n_______________\r\nfriends mailing list\r\n")


@_trick
def subject_on_top(turn: Turn) -> Forged:
    return Forged(b"Subject: stop\r\n" + _own(turn, turn.mail()))


@_trick
def to_on_top(turn: Turn) -> Forged:
    return Forged(f"To: {turn.to}\r\n".encode() + _own(turn, turn.mail()))


@_trick
def reply_on_top(turn: Turn) -> Forged:
    return Forged(f"In-Reply-To: {turn.letter}\r\n".encode() + _own(turn, turn.mail()))


def _without(*names: str) -> tuple[str, ...]:
    return tuple(name for name in SIGNED if name not in names)


@_trick
def subject_unsigned(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(signed=_without("Subject")))


@_trick
def date_unsigned(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(signed=_without("Date")))


@_trick
def token_unsigned(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(signed=_without("To", "In-Reply-To", "References")))


@_trick
def token_in_reply(turn: Turn) -> Forged:
    """The player wrote to the address without a token, and the program named the letter."""
    return _signed(turn, turn.mail(To=turn.service))


@_trick
def token_of_other_first(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(To=turn.other_to))


@_trick
def type_unsigned(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(signed=_without("Content-Type")))


@_trick
def charset_changed(turn: Turn) -> Forged:
    made = type_unsigned(turn)
    return replace(made, raw=_replaced(made.raw, b'charset="utf-8"', b'charset="iso-8859-1"'))


def _parts(first: str, second: str) -> str:
    """A body with two parts, each between lines with a boundary of its own."""
    return f"""\
--one
Content-Type: text/plain

{first}
--one--
--two
Content-Type: text/plain

{second}
--two--
"""


def _in_parts(turn: Turn, first: str, second: str) -> Forged:
    raw = turn.mail(_parts(first, second), Content_Type='multipart/mixed; boundary="one"')
    return _signed(turn, raw, turn.signer(signed=_without("Content-Type")))


@_trick
def parts_unsigned(turn: Turn) -> Forged:
    return _in_parts(turn, turn.order, "help")


@_trick
def boundary_changed(turn: Turn) -> Forged:
    """The player asked for help; with another boundary an order is the first text."""
    made = _in_parts(turn, "help", turn.order)
    return replace(made, raw=_replaced(made.raw, b'boundary="one"', b'boundary="two"'))


@_trick
def html_made(turn: Turn) -> Forged:
    """The plain text is read as HTML, in which the first words are not shown."""
    body = f"<style>\nhelp\n</style><p>{turn.order}</p>\n"
    made = _signed(turn, turn.mail(body), turn.signer(signed=_without("Content-Type")))
    return replace(made, raw=_replaced(made.raw, b"text/plain", b"text/html"))


# --- who has signed, when, and with what key ------------------------------------------------------------------------


def _for_domain(turn: Turn, prefix: str) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(domain=f"{prefix}{EVIL if turn.leaked else turn.domain}"))


@_trick
def child_domain(turn: Turn) -> Forged:
    return _for_domain(turn, "child.")


@_trick
def similar_domain(turn: Turn) -> Forged:
    return _for_domain(turn, "not")


@_trick
def parent_domain(turn: Turn) -> Forged:
    """The signer owns the domain of the address; somebody else can only sign for another one."""
    if turn.leaked:
        return _signed(turn, turn.mail())
    return _signed(turn, turn.mail(), turn.signer(domain=turn.domain.partition(".")[2]))


def _at(turn: Turn, **tags: float) -> Forged:
    given = {name: str(int(turn.at + seconds)) for name, seconds in tags.items()}
    return _signed(turn, turn.mail(), turn.signer(tags=given))


@_trick
def expired(turn: Turn) -> Forged:
    return _at(turn, t=-600, x=-300)


@_trick
def expires_later(turn: Turn) -> Forged:
    return _at(turn, t=-600, x=_DAY)


@_trick
def signed_in_two_hours(turn: Turn) -> Forged:
    return _at(turn, t=7200)


@_trick
def signed_31_days_ago(turn: Turn) -> Forged:
    return _at(turn, t=-31 * _DAY)


@_trick
def signed_29_days_ago(turn: Turn) -> Forged:
    return _at(turn, t=-29 * _DAY)


@_trick
def dns_timeout(turn: Turn) -> Forged:
    return replace(_signed(turn, turn.mail()), silent=turn.signer().name)


@_trick
def no_key(turn: Turn) -> Forged:
    return replace(_signed(turn, turn.mail()), records={})


@_trick
def key_taken_back(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), None, "v=DKIM1; k=rsa; p=")


@_trick
def another_key(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), None, turn.signer(key=rsa_key("another")).record)


@_trick
def two_keys(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), None, turn.signer().record, turn.signer(key=rsa_key("another")).record)


@_trick
def testing(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), None, turn.signer().record.replace("k=rsa", "t=y; k=rsa"))


@_trick
def sha1(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(sha1=True))


@cache
def _short_key() -> RSAPrivateKey:
    """A key that is too short, which the library that is used elsewhere does not make."""
    made = subprocess.run(["openssl", "genrsa", "-traditional", "768"], capture_output=True, check=True).stdout
    key = load_pem_private_key(made, None)
    assert isinstance(key, RSAPrivateKey)
    return key


@_trick
def short_key(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(key=_short_key()))


@_trick
def ed25519(turn: Turn) -> Forged:
    return _signed(turn, turn.mail(), turn.signer(key=ed25519_key()))


def _after_others(turn: Turn, others: Sequence[Signer]) -> Forged:
    made = _signed(turn, turn.mail())
    raw = made.raw
    for signer in others:
        raw = _replaced(signer.sign(raw), b"; bh=", b"; bh=AAAA")  # any other hash
    return replace(made, raw=raw, records={**made.records, **{each.name: [each.record] for each in others}})


@_trick
def after_three_false(turn: Turn) -> Forged:
    return _after_others(turn, [turn.signer(selector=f"f{turn.number}{each}") for each in "abc"])


@_trick
def after_three_of_others(turn: Turn) -> Forged:
    return _after_others(turn, [turn.signer(domain=f"{each}.example") for each in ("list", "relay", "filter")])


# --- mails that were sent before ------------------------------------------------------------------------------------


@_trick
def replay(turn: Turn) -> Forged:
    return Forged(turn.earlier)


@_trick
def replay_with_new_id(turn: Turn) -> Forged:
    """The player wrote it to another token. Its id is not what it was, whether or not the signature covers that."""
    given = {"To": turn.other_to, "In_Reply_To": "", "References": ""}
    before, _, rest = turn.provider(turn.mail(**given)).partition(b"Message-ID: ")
    return Forged(before + f"Message-ID: <again.{turn.number}@{EVIL}>\r\n".encode() + rest.partition(b"\r\n")[2])


# --- what nobody has written ----------------------------------------------------------------------------------------


@_trick
def null_sender(turn: Turn) -> Forged:
    return Forged(_own(turn, turn.mail()), sender="")


@_trick
def auto_submitted(turn: Turn) -> Forged:
    return Forged(_own(turn, turn.mail(Auto_Submitted="auto-replied")))


@_trick
def bulk(turn: Turn) -> Forged:
    return Forged(_own(turn, turn.mail(Precedence="bulk")))


@_trick
def list_(turn: Turn) -> Forged:
    return Forged(_own(turn, turn.mail(List_Id="<players.example>")))


@_trick
def auto_reply(turn: Turn) -> Forged:
    return Forged(_own(turn, turn.mail(X_Autoreply="yes")))


@_trick
def from_the_service(turn: Turn) -> Forged:
    return Forged(turn.mail(From=turn.service))


@_trick
def made_up_token(turn: Turn) -> Forged:
    to = turn.service.replace("@", f"+{_MADE_UP}@")
    return replace(
        _by_attacker(turn, ATTACKER), raw=turn.mail(From=ATTACKER, To=to, In_Reply_To="", References=""), to=to
    )
