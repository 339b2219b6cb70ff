"""Values of play by mail that a process needs without a database's tables, as the pipe is; and limits.

A *mail* is what a player sends, a *letter* what the service sends. `mailboxes` says what a mailbox and a held key are.
`mail_tables` has the values that are rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from hkoji.errors import ForbiddenError, HkojiError
from hkoji.messages.text import tell
from hkoji_server.store.time_contract import BeatStore

MAIL_KIND: Final = "mail"
"""The kind of the channel of each mailbox."""
ANSWER_EVENT: Final = "answer"
"""The event of the letter that answers a mail. Its `seq` is the number of the mail, and its game may be empty."""
TURN_EVENT: Final = "turn"
"""The event of the letter that says that it is the player's turn."""
CONFIRM_EVENT: Final = "confirm"
"""The event of the letter that asks the owner of a mailbox to confirm it. Its `seq` is 0 and its game empty."""
STOPPED_EVENT: Final = "stopped"
"""The event of the letter that confirms a stop by one click. Its `seq` is when that was, and its game empty."""
NO_GAME: Final = ""
"""The game of what belongs to none."""
MOST_WAITING: Final = 5
"""How many mails of one name with a token may wait unprocessed. Of a mailbox one without a token may wait."""
MOST_TRIES: Final = 3
"""After how many tries a mail is set aside."""
LONGEST_TRIED: Final = 3600
"""After how many seconds since its first try that was counted a mail is set aside."""
SPENT_DAYS: Final = 60
"""For how many days a token that is no longer good is remembered."""
CONFIRM_SECONDS: Final = 86400
"""For how long the owner of a mailbox can confirm what they are asked, and a name is reserved that they asked for."""
TURNS_ON: Final = "on."
"""With what `Mailbox.confirm` begins if a player with a key of their own wants letters there."""
REGISTERS: Final = "register."
"""How what is to be confirmed begins in a mailbox whose owner has asked for a name."""
TAKEN: Final = "taken."
"""How it begins in a mailbox whose owner is told that the name is somebody else's, or cannot be a name.

There is nothing to confirm. At the end, behind a dot, stands a name that is near to one that cannot be had, or nothing.
"""
RESERVED_SECONDS: Final = 3600
"""For how long the name of an invited mailbox is reserved before a game with the invitation is opened."""
UNASKED_DAYS: Final = 30
"""For how many days the operator's invitation without a game stands."""
MOST_INVITED_A_DAY: Final = 5
"""How many mailboxes a player may invite in 24 hours. Invitations that are refused count too."""
MOST_UNANSWERED: Final = 3
"""How many invitations of one mailbox may stay unanswered in a year."""
OTHER_BYTES: Final = '{"answer":"other bytes"}'
"""The result of a mail that was not kept, because an earlier one has its Message-ID and other bytes."""
PROBE_SECONDS: Final = 3600
"""For how long a mail of the service to itself is waited for, at least."""
SET_ASIDE: Final = '{"answer":"set aside"}'
"""The result of a mail that was set aside."""

MailVia = Literal["lmtp", "pipe", "imap"]
"""How a mail has come in."""
MailState = Literal["new", "done", "failed"]
"""`failed`: set aside, with its bytes; its sender has been told."""
MailboxState = Literal["invited", "asked", "active", "stopped", "locked", "suspended", "blocked", "moved"]
"""`invited`: the owner has not accepted yet. `asked`: the owner has not confirmed yet what `Mailbox.confirm` names, and
gets nothing else. `stopped`: the owner wants no letters but answers. `locked`: the owner has
said that it was somebody else. `suspended`: the operator has locked it, and nobody else can unlock it. `blocked`: the
owner, who was only invited or asked, wants no more of that. `moved`: the player has another mailbox by now."""

EVENTS_OF: Final[Mapping[MailboxState, tuple[str, ...]]] = {
    "invited": ("invited",),
    "asked": (),
    "active": ("turn", "remind1", "remind2", "over", "invited", "joined", "declined", "given", "annul"),
    "stopped": (),
    "locked": (),
    "suspended": (),
    "blocked": (),
    "moved": (),
}
"""The events of which the owner of a mailbox is told. Answers, and letters that ask to confirm, are sent in any
state."""

SHUT: Final = ("locked", "suspended")
"""The states in which a mailbox gets no letters but answers, and its mails order nothing."""


def mailbox_locked() -> ForbiddenError:
    """Returns the error about a mailbox that is locked, which its player cannot change."""
    return ForbiddenError(
        tell("your mailbox is locked"),
        hint=tell("nothing was changed; answer the letter that says so, or ask the operator of the service"),
    )


class ClosedMailError(HkojiError):
    """Nothing was written: the mail that has led to it is closed, or was set aside."""

    code = "closed"

    def __init__(self, number: int) -> None:
        super().__init__(
            tell("mail {number} is closed or was set aside", number=number), hint=tell("nothing was changed")
        )
        self.number = number


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A mailbox of the player `name`, or of somebody who is invited under that name.

    `channel` is the id of its channel. `address` is as it was written; the channel has it as its `target`. `held_key`
    is the public text of the held key that new games get. With `orders` its mails are orders, else they only answer
    letters that ask. With `cards` letters show the player's own cards. `dkim_seen` is 0 if no mail had grade `dkim`,
    or else how many more answers without DKIM in a row clear that. `counter` numbers the command address. `paused` is
    since when letters do not arrive. `heard` is when the last mail came that was from the owner.
    """

    channel: str
    name: str
    address: str
    held_key: str
    lang: str
    state: MailboxState
    since: str
    """When it got this state."""
    orders: bool = True
    cards: bool = True
    dkim_seen: int = 0
    counter: int = 0
    paused: str | None = None
    heard: str | None = None
    confirm: str | None = None
    """The thing that a `yes` from the mailbox confirms, or has confirmed: a kind, a point, and an id. It is the `about`
    of the token to which the `yes` is sent, which is good for a day from `since` on: see `held_players`."""
    zone: str = ""
    """The time zone (`+01:00`) in which the owner's last mail was dated; empty if it is not known."""

    @property
    def plays(self) -> bool:
        """Whether the name is its owner's, and no longer only reserved for them."""
        return self.state in ("active", "stopped", *SHUT)


@dataclass(frozen=True, slots=True)
class ReplyToken:
    """A token, as the service knows it: `digest` is the SHA-256 of its text in lower case, in hex.

    `name`, `game`, `seq`, `purpose` and `about` are those from which the token is made; `seq` is empty or a number.
    `channel` is the mailbox to which it was sent, and `made` when a letter last had it. It is good until `expires`, if
    that is not None, and not `spent`. `answers` is what has been answered to it, as the text of a JSON object that
    belongs to the service.
    """

    digest: str
    channel: str
    name: str
    game: str
    seq: str
    purpose: str
    about: str
    made: str
    expires: str | None = None
    spent: str | None = None
    """Since when it is no longer good."""
    answers: str = "{}"


class LetterLimits(NamedTuple):
    """By what a letter counts, and of how many: `per_day` a UTC day by this counter, and `per_hour` an hour by all."""

    counter: str
    per_day: int
    per_hour: int


@dataclass(frozen=True, slots=True)
class LetterRows:
    """All that is written when a letter is leased, which was planned at the time `at`.

    `thread` has the letters that its mailbox has got about its game, with this one. `was` are the `answers` of that row
    when the letter was planned, None without a row. `tokens` are those that the letter shows. It counts by `limits`,
    None if it does not count.
    """

    at: str
    thread: ReplyToken
    was: str | None
    tokens: tuple[ReplyToken, ...]
    limits: LetterLimits | None = None
    ends: str | None = None
    """If the game is over, until when its tokens of the purpose `game` are good. Its others are good no longer."""
    shows: int | None = None
    """If it shows the turn, up to which entry: waiting notices of the turn up to that would say nothing new."""


Unleased = Literal["changed", "day", "hour"]
"""Why a letter is not leased. `changed`: its notice or its thread is no longer as it was read. `day`, `hour`: it would
be one too many of that time."""


@dataclass(frozen=True, slots=True)
class NewMail:
    """A mail to keep. `digest` is the SHA-256 of recipient, newline and `raw` without trace fields, in hex.

    It was `received` while `outages` outages, of both ways, were known. `reply` is the digest of its token, None
    without a token. `name`, `channel` and `game` are those of the token, or of the mailbox it is from. `tries` is 1 if
    the process that keeps it processes it too: then its first try is kept with it.
    """

    digest: str
    via: MailVia
    raw: bytes
    received: str
    name: str
    channel: str
    game: str
    message_id: str
    reply: str | None
    outages: int
    tries: int = 0


class WaitingMail(NamedTuple):
    """A mail that is still to be processed: the oldest one of its name.

    `tries` is how often it was begun, and `tried` when a try was counted first, by `count_try`. With one try and no
    such time only the process that has kept it can have begun it.
    """

    number: int
    name: str
    received: str
    tries: int
    tried: str | None


class WaitingSum(NamedTuple):
    """How many of something wait, and since when the oldest does."""

    number: int
    oldest: str | None


class MailQueue(NamedTuple):
    """All that waits: mails to be processed, letters to be sent, and mails that were set aside."""

    mails: WaitingSum
    letters: WaitingSum
    set_aside: WaitingSum


class ProbeMail(NamedTuple):
    """A mail of the service to itself as it came in, and the recipient of its delivery."""

    recipient: str
    raw: bytes


class ImapPlace(NamedTuple):
    """Up to which mail a mailbox has been read by IMAP: its UIDVALIDITY, and the last UID that is dealt with."""

    validity: int
    last: int


class KeptMail(NamedTuple):
    """The outcome for a mail that was to be kept, and its number, None if it was not kept.

    `added`: it is kept now. `repeated`: it is kept already, under that number. `other bytes`: another mail of this name
    has its Message-ID; the first time there is an answer, which says so. `full`: too many mails of this name wait.
    `stranger`: it has no token, and one without a token waits already, or it has the Message-ID of an earlier mail.
    """

    outcome: Literal["added", "repeated", "other bytes", "full", "stranger"]
    number: int | None


class NewAnswer(NamedTuple):
    """The letter that answers a mail, in the outbox under the mail's number, for the game or `NO_GAME`."""

    game: str
    channel: str
    not_before: str


class ArrivalStore(BeatStore, Protocol):
    """The methods of a store by which a mail comes in."""

    async def reply(self, digest: str) -> ReplyToken | None:
        """Returns what is known of a token."""

    async def mailbox_at(self, address: str) -> Mailbox | None:
        """Returns the mailbox with an address, in any case of its letters."""

    async def add_incoming(self, new: NewMail) -> KeptMail:
        """Keeps a mail, once. Raises `StaleDecisionError` if it was received too long ago, or another outage is known.

        Then nothing has changed, and the caller reads clock and outages again.
        """

    async def note_bounce(self, channel: str, digest: str, at: str, *, since: str, enough: int) -> bool:
        """Notes that a letter to a mailbox did not arrive, once for each `digest`.

        If that makes `enough` since that time, the letters of the mailbox are `paused` from `at` on, and earlier ones
        no longer count. Returns whether this has paused them.
        """

    async def take_probe(self, digest: str, mail: ProbeMail) -> bool:
        """Keeps a mail of the service to itself, the first that comes. `digest` is that of its token.

        Returns False, and keeps nothing, if nobody waits for it.
        """
