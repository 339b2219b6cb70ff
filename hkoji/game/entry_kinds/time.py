"""The kinds of entry about time: lapse, timeout, credit, annul. All are the service's.

docs/spec/log.md, "Time". Which times and statements these entries must contain is checked in
`hkoji.audit.credit_checks` and `hkoji.audit.checks`, because it depends on receipts and keys. Here they have their form
and their place in the game.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from hkoji.errors import IllegalError, MalformedError, NotUnderstoodError
from hkoji.game.agreement import TimeControl
from hkoji.game.clock import Effect, Outage, counted, outages_between, read_outage
from hkoji.game.course import Applied, Author, Course, EntryBody, Stage
from hkoji.game.knowledge import Knowledge
from hkoji.log.canonical import JsonValue, decode_base64, encode_base64, exactly, read_hex
from hkoji.log.game_statements import MAX_GIFT_SECONDS
from hkoji.log.line import Entry, read_fields
from hkoji.log.mail_claim import MAIL, MailClaim, read_mail
from hkoji.messages.text import tell
from hkoji.rules.events import Outcome, Seat


class LapseReason:
    """Why an open game ends without a guest."""

    EXPIRED: Final = "expired"
    DECLINED: Final = "declined"


WHY_DECLINED: Final = {
    "no": tell("no, thank you"),
    "later": tell("later"),
    "shorter": tell("a shorter clock, please"),
    "longer": tell("a longer clock, please"),
    "ruleset": tell("another ruleset, please"),
    "rated": tell("please change whether it is rated"),
    "bot": tell("no bots, please"),
}
"""The reasons that the invited player can give, as in the log, and in words."""


class _LapseFields(NamedTuple):
    reason: str
    why: str | None = None


class Lapse(_LapseFields, EntryBody):
    """The service ends a game that nobody has joined: its offer has expired, or the invited player has declined.

    `why` is the reason that this player has given, one of `WHY_DECLINED`. It stands in `ext`, and readers take no
    notice of one that they do not know.
    """

    __slots__ = ()

    KIND: ClassVar = "lapse"
    AUTHOR: ClassVar = Author.SERVICE_WHILE_OPEN
    EFFECT: ClassVar = Effect.ENDS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Lapse:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("reason",))
        reason, ext = fields["reason"], fields.get("ext")
        if not isinstance(reason, str):
            raise MalformedError(tell("lapse"), tell("reason is not a word"))
        if reason not in (LapseReason.EXPIRED, LapseReason.DECLINED):
            raise NotUnderstoodError(tell("lapse"), reason)
        why = ext.get("why") if reason == LapseReason.DECLINED and isinstance(ext, dict) else None
        return cls(reason, why if isinstance(why, str) and why in WHY_DECLINED else None)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {"reason": self.reason} if self.why is None else {"ext": {"why": self.why}, "reason": self.reason}

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Ends the game without a winner."""
        course.expect(self.KIND, Stage.JOIN)
        return course.close(_CANCELLED)


class Timeout(NamedTuple("Timeout", [("seat", int)]), EntryBody):
    """The service states that `seat` has not made the entry that it owed by its deadline."""

    __slots__ = ()

    KIND: ClassVar = "timeout"
    AUTHOR: ClassVar = Author.SERVICE_ANY_TURN
    EFFECT: ClassVar = Effect.ENDS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Timeout:
        """Reads a body."""
        return cls(_parse_seat(read_fields(body, cls.KIND, ("seat",))["seat"], tell("timeout")))

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {"seat": self.seat}

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Ends the game as a win of the other seat."""
        if self.seat != course.actor:
            raise IllegalError(tell("seat {seat} does not owe an entry", seat=self.seat))
        return course.close(Outcome(self.KIND, 1 - self.seat))


class GivenTime(NamedTuple):
    """A gift of time as an entry repeats it: the head at which it was made, its seconds, and the giver's SSHSIG blob.

    The giver is the opponent of the seat that owes the entry after that head.
    """

    head: str
    seconds: int
    sig: bytes
    mail: MailClaim | None = None
    """The claim of the service about the giver's mail, if it holds the giver's key."""

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the object in a body."""
        gift: dict[str, JsonValue] = {"head": self.head, "seconds": self.seconds, "sig": encode_base64(self.sig)}
        return gift if self.mail is None else {**gift, MAIL: self.mail.to_json()}


class _CreditFields(NamedTuple):
    gift: GivenTime | None
    outages: tuple[Outage, ...] = ()


class Credit(_CreditFields, EntryBody):
    """The service takes off the time of the last `seed` or `move` what does not count: a gift, and outages."""

    __slots__ = ()

    KIND: ClassVar = "credit"
    AUTHOR: ClassVar = Author.SERVICE_AFTER_PLAY
    EFFECT: ClassVar = Effect.CREDITS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Credit:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("gift", "outages"))
        gift, outages = _parse_gift(fields["gift"]), _parse_outages(fields["outages"])
        if gift is None and not outages:
            raise MalformedError(tell("credit"), tell("it has neither a gift nor an outage"))
        return cls(gift, outages)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        return {
            "gift": self.gift.to_json() if self.gift else None,
            "outages": [outage.to_json() for outage in self.outages],
        }

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Changes nothing but the clock, and what is known of who has given the time."""
        played = course.clock.seat if course.clock else None
        if self.gift is None or self.gift.mail is None or played is None:
            return course, ()
        return course._replace(setup=course.setup.weaken(1 - played, self.gift.mail)), ()

    def credited(self, control: TimeControl) -> int:
        """Returns the seconds of the gift and of the outages."""
        return credited_seconds(control, self.gift, self.outages)


class _AnnulFields(NamedTuple):
    gift: GivenTime | None
    outages: tuple[Outage, ...]
    seat: Seat
    sigs: tuple[bytes, bytes]
    mails: tuple[MailClaim | None, MailClaim | None] = (None, None)


class Annul(_AnnulFields, EntryBody):
    """Both players have called the game off. `sigs` are the host's and the guest's SSHSIG blobs.

    `mails` say of each seat by which mail, if the service holds its key.

    Gift and outages are those of the entry that `seat` owes: they say until when the game could be called off.
    """

    __slots__ = ()

    KIND: ClassVar = "annul"
    AUTHOR: ClassVar = Author.SERVICE_ANY_TURN
    EFFECT: ClassVar = Effect.ENDS

    @classmethod
    def parse(cls, body: dict[str, JsonValue]) -> Annul:
        """Reads a body."""
        fields = read_fields(body, cls.KIND, ("gift", "outages", "seat", "sigs"), (_MAILS,))
        gift, outages = _parse_gift(fields["gift"]), _parse_outages(fields["outages"])
        seat, sigs = _parse_seat(fields["seat"], tell("annul")), fields["sigs"]
        if not isinstance(sigs, list) or len(sigs) != len((0, 1)):
            raise MalformedError(tell("annul"), tell("sigs are not two signatures"))
        host, guest = (_parse_sig(sig, cls.KIND) for sig in sigs)
        mails = _parse_mails(fields[_MAILS]) if _MAILS in fields else (None, None)
        return cls(gift, outages, seat, (host, guest), mails)

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the body."""
        body: dict[str, JsonValue] = {
            "gift": self.gift.to_json() if self.gift else None,
            "outages": [outage.to_json() for outage in self.outages],
            "seat": self.seat,
            "sigs": [encode_base64(sig) for sig in self.sigs],
        }
        if any(self.mails):
            body[_MAILS] = [mail.to_json() if mail else None for mail in self.mails]
        return body

    def apply(self, course: Course, entry: Entry, knowledge: Knowledge) -> Applied:  # noqa: ARG002
        """Ends the game without a winner."""
        if self.seat != course.actor:
            raise IllegalError(tell("seat {seat} does not owe an entry", seat=self.seat))
        host, guest = self.mails
        setup = course.setup.weaken(0, host).weaken(1, guest)
        if self.gift is not None:
            setup = setup.weaken(1 - self.seat, self.gift.mail)
        return course._replace(setup=setup).close(_CANCELLED)

    def credited_before(self, control: TimeControl) -> int:
        """Returns the seconds by which the deadline of the entry that is due had been moved on."""
        return credited_seconds(control, self.gift, self.outages)


def largest_gift(gifts: Iterable[GivenTime]) -> GivenTime | None:
    """Returns the gift that counts, of those for one entry; None if there is none."""
    return max(gifts, key=lambda gift: gift.seconds, default=None)


def credited_seconds(control: TimeControl, gift: GivenTime | None, outages: tuple[Outage, ...]) -> int:
    """Returns the seconds that a gift and outages take off a turn. Seconds of rest days do not count anyway."""
    seconds = sum(counted(control, outage.begin, outage.until) for outage in outages)
    return seconds + (gift.seconds if gift else 0)


_MAILS: Final = "mails"
_CANCELLED: Final = Outcome("cancel", None)


def _parse_seat(value: JsonValue, what: str) -> Seat:
    if type(value) is not int or value not in (0, 1):
        raise MalformedError(what, tell("seat is not 0 or 1"))
    return value


def _parse_gift(value: JsonValue) -> GivenTime | None:
    if value is None:
        return None
    fields = exactly(value, "gift", ("head", "seconds", "sig"), (MAIL,))
    head, seconds = read_hex(fields["head"], "head of the gift"), fields["seconds"]
    if type(seconds) is not int or not 1 <= seconds <= MAX_GIFT_SECONDS:
        raise MalformedError(tell("gift"), tell("seconds are not a number from 1 to {most}", most=MAX_GIFT_SECONDS))
    mail = read_mail(fields[MAIL]) if MAIL in fields else None
    return GivenTime(head, seconds, _parse_sig(fields["sig"], "gift"), mail)


def _parse_mails(value: JsonValue) -> tuple[MailClaim | None, MailClaim | None]:
    if not isinstance(value, list) or len(value) != len((0, 1)):
        raise MalformedError(tell("annul"), tell("mails are not two"))
    host, guest = (None if each is None else read_mail(each) for each in value)
    if host is None and guest is None:
        raise MalformedError(tell("annul"), tell("mails name no mail"))
    return host, guest


def _parse_outages(value: JsonValue) -> tuple[Outage, ...]:
    if not isinstance(value, list):
        raise MalformedError(tell("outages"), tell("they are not a list"))
    outages: list[Outage] = []
    for item in value:
        outage = read_outage(item)
        if outages and outage.begin <= outages[-1].until:
            raise MalformedError(tell("outages"), tell("they are not in order, or two of them touch"))
        outages.append(outage)
    return tuple(outages)


def _parse_sig(value: JsonValue, what: str) -> bytes:
    if not isinstance(value, str) or not value:
        raise MalformedError(what, tell("a signature in it is not base64 text"))
    return decode_base64(value, "signature")


def find_help(
    course: Course, at: str, until: str | None, gifts: Sequence[GivenTime], outages: Sequence[Outage]
) -> tuple[GivenTime | None, tuple[Outage, ...]]:
    """Returns the largest of the `gifts` for the entry that is due, and the parts of the `outages` that help it.

    These are of the way that is open to the seat that owes the entry, and lie where its time has been running, up to
    `until`; None for all that come. `at` is the time of record of the last entry. The clock of the game must run.
    """
    assert course.clock is not None
    if course.actor is None or not (gifts or outages):
        return None, ()
    since = course.clock.settled(at).due(course.clock.control, course.actor).since
    gift = largest_gift(each for each in gifts if each.head in course.clock.heads)
    return gift, outages_between(outages, course.setup.way(course.actor), since, until)
