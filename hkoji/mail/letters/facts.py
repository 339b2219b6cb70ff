"""What letters say, as values: a class for each kind of letter. Those of confirmations are in `confirmation_facts`.

The caller has read everything from the log, the mailbox and the clock; the time now is a fact too. Positions are those
of the reader's seat, so a letter cannot show what its reader does not know. Times are texts of the log, and lengths
are seconds. `zone` is the reader's time zone (`+01:00`), empty if it is not known.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from hkoji.game.agreement import Agreement
from hkoji.mail.letters.confirmation_facts import ConfirmedFacts, ConfirmFacts, LeftFacts, NameTakenFacts
from hkoji.mail.letters.game_facts import GameRow, SeatFacts
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset

# --- events -----------------------------------------------------------------------------------------------------------


class TurnFacts(NamedTuple):
    """The reader owes the next entry."""

    seat: SeatFacts


class ReminderFacts(NamedTuple):
    """The reader still owes it; `last` says that this is the second reminder."""

    seat: SeatFacts
    last: bool


class InvitationFacts(NamedTuple):
    """Somebody invites the reader to a game, or the operator to play by mail, without a game.

    `name` is the name that the reader is to have, or has. `host`, `game` (its id), `ruleset` and `agreement` are None
    only without a game. `known` says that the reader's mailbox is registered already, `host_held` that the service
    signs for the host, and `held` that it will sign for the reader. `origin` is the service's, `https://hkoji.example`.
    `expires` is until when the letter can be answered, if the agreement does not say it.
    """

    name: str
    origin: str
    now: str
    host: str | None = None
    game: str | None = None
    ruleset: Ruleset | None = None
    agreement: Agreement | None = None
    known: bool = False
    held: bool = True
    host_held: bool = False
    expires: str | None = None
    zone: str = ""


class JoinedFacts(NamedTuple):
    """Somebody has joined a game that the reader hosts."""

    seat: SeatFacts


class DeclinedFacts(NamedTuple):
    """The game that the reader offered has ended before anybody joined it.

    `opponent` is who was invited, None for a game that was open to all or to a link. `reason` and `why` are those of
    the log's `lapse`.
    """

    game: str
    opponent: str | None
    reason: str
    why: str | None = None


class GivenFacts(NamedTuple):
    """The other player has given the reader `seconds` for the entry that is due."""

    seat: SeatFacts
    seconds: int


class AnnulFacts(NamedTuple):
    """The other player wishes to call the game off. `by_mail` says that the reader can agree with `call off`."""

    seat: SeatFacts
    by_mail: bool = False


class OverFacts(NamedTuple):
    """A game of the reader is over. `log` has the bytes of its log, which is attached."""

    seat: SeatFacts
    log: bytes


# --- answers ----------------------------------------------------------------------------------------------------------


class WelcomeFacts(NamedTuple):
    """The reader has accepted an invitation: `name` is registered.

    `commands` is the reader's command address, empty if addresses have no token. `salt` is the salt of the address hash
    (64 hex digits) of the certificate for `mailbox`. `seat` is the game that the reader has joined with it, None
    without a game.
    """

    name: str
    mailbox: str
    origin: str
    commands: str
    salt: str
    seat: SeatFacts | None = None


class OnRecordFacts(NamedTuple):
    """The reader's order is on record: an entry of that kind, with the time of record `at`.

    `action` is a move's canonical notation with the reader's own cards, empty for other kinds. If the reader owes the
    next entry again, the letter is the turn letter too. If the game is over, `log` has the bytes of its log.
    """

    seat: SeatFacts
    kind: str
    at: str
    action: str = ""
    log: bytes = b""


class LetterWaits(StrEnum):
    """What a reader who plays no game yet has been asked."""

    INVITED = "invited"
    """Whether they wish to play, which is answered with `accept` or `decline`."""
    ASKED = "asked"
    """Whether they want something, which is answered with `yes`."""


class NotUnderstoodFacts(NamedTuple):
    """Nothing was done, because `line` of the mail was not understood or cannot be done now.

    `line` is as it was read, and empty if the mail had no line for us. `reason` is a phrase or sentence on why (a
    `Text`), empty if the line is just no command. `near` are up to three moves in canonical notation that can be made
    now, the best first; `ask` is the one that the line itself probably meant (bare cards), else empty. `more` says that
    the line was not the first one of the paragraph, where an empty line after the move usually helps. `seat` is None in
    a letter about no game; then `waits` is what it can be answered with, None if it has asked nothing. `read` says that
    the line was understood, and cannot be done. With `now`, a time in the reason is shown as other times are.
    """

    line: str
    reason: str = ""
    seat: SeatFacts | None = None
    near: tuple[str, ...] = ()
    ask: str = ""
    more: bool = False
    waits: LetterWaits | None = None
    read: bool = False
    now: str = ""
    zone: str = ""


class AskedWhy(StrEnum):
    """Why an order is asked back."""

    SENDER = "sender"
    """It came from another address than the registered one."""
    SIGNATURE = "signature"
    """It came without the provider's signature, which the reader's mails used to have."""
    REQUIRED = "required"
    """It came without the provider's signature, which this service always needs."""
    FINAL = "final"
    """It cannot be taken back: `resign`, `call off`."""
    NO_LETTER = "no letter"
    """It came in answer to no letter, so anybody can have written it."""


class AskedBackFacts(NamedTuple):
    """Nothing was done yet: the reader is asked to send an order again, to this letter.

    `order` is the move in canonical notation, or else the command's line as the reader can write it. `sender` is the
    address that a mail came from, shown for `AskedWhy.SENDER` only. `until` is the end of the day for which the letter
    can be answered if it is about no game, and `now` is the time now; None with a game.
    """

    order: str
    why: AskedWhy
    seat: SeatFacts | None = None
    sender: str = ""
    until: str | None = None
    now: str | None = None
    zone: str = ""


class TurnOverFacts(NamedTuple):
    """The mail was for a turn that is over, so nothing was changed.

    If a move is on record for that turn, `action` is its canonical notation, with the cards that the reader knows
    (`2BC`, `1X`), and `by` is the seat that has made it.
    """

    seat: SeatFacts
    action: str = ""
    by: Seat | None = None


class FirstCountsFacts(NamedTuple):
    """A second mail with the same Message-ID and other bytes was not read: the first one counts."""

    seat: SeatFacts | None = None


class ShowFacts(NamedTuple):
    """The position in full, for `show`."""

    seat: SeatFacts


class MovesFacts(NamedTuple):
    """All legal moves, for `moves`."""

    seat: SeatFacts


class RulesFacts(NamedTuple):
    """The rules page of a game, for `rules`. `text` is the page in the reader's language, at most 72 columns wide.

    `game` is the id of the game that the mail was about, None without one.
    """

    ruleset: str
    text: str
    seat: SeatFacts | None = None


class GamesFacts(NamedTuple):
    """The reader's running games, for `games`."""

    name: str
    rows: tuple[GameRow, ...]
    now: str
    zone: str = ""


class HelpFacts(NamedTuple):
    """What can be written, for `help`; about a game if the mail was. `waits` is as in `NotUnderstoodFacts`."""

    seat: SeatFacts | None = None
    waits: LetterWaits | None = None


class LogFacts(NamedTuple):
    """The log so far, attached, for `log`."""

    seat: SeatFacts
    log: bytes


class EvidenceFacts(NamedTuple):
    """The mails file of the reader's mails in a game, attached, for `evidence`; `mails` is empty if none are kept."""

    seat: SeatFacts
    mails: bytes


class SettingFacts(NamedTuple):
    """A setting is changed: `name` is `lang`, `cards`, `quiet` or `commands`, and `value` what it is now.

    Values are a language's code; `on` or `off`; `22-7` or `off`, hours in UTC; the new command address, or nothing if
    addresses have no token, and this letter is to be answered instead.
    """

    name: str
    value: str
    zone: str = ""


class StoppedFacts(NamedTuple):
    """No more letters go to the reader. `seats` are their running games, whose clocks run on."""

    name: str
    seats: tuple[SeatFacts, ...] = ()


class StartedFacts(NamedTuple):
    """Letters go to the reader again. `rows` are their running games."""

    name: str
    rows: tuple[GameRow, ...]
    now: str
    zone: str = ""


class LockedFacts(NamedTuple):
    """After `not me`: letters and orders are locked until a `yes` from the mailbox, or the operator, unlocks them.

    Or `by_operator`, who alone can unlock them then.
    """

    name: str
    by_operator: bool = False


class UnreadableFacts(NamedTuple):
    """A mail could not be used, whatever it says, so nothing was done.

    `reason` is a sentence or phrase (a `Text`). `form` says that another form of the mail could have been used.
    """

    reason: str
    seat: SeatFacts | None = None
    form: bool = True


class CodeFacts(NamedTuple):
    """A code with which the reader `name` gets a key of their own at `origin`, valid once and until `until`.

    It is empty if they have one now.
    """

    name: str
    origin: str
    code: str
    until: str
    now: str
    seat: SeatFacts | None = None
    zone: str = ""


class LastTodayFacts(NamedTuple):
    """The end of the last answer that a letter's address gives today, unless something is changed.

    `until` is when it gives answers again.
    """

    until: str
    now: str
    zone: str = ""


class CalledOffFacts(NamedTuple):
    """The reader's wish to call the game off is on record; the other player has not agreed yet."""

    seat: SeatFacts


class GaveFacts(NamedTuple):
    """The reader has given the other player `seconds` for the entry that is due."""

    seat: SeatFacts
    seconds: int


class ManyFacts(NamedTuple):
    """Several letters that are sent as one, in this order."""

    letters: tuple[OneLetter, ...]


OneLetter: TypeAlias = (
    TurnFacts
    | ReminderFacts
    | InvitationFacts
    | JoinedFacts
    | DeclinedFacts
    | GivenFacts
    | AnnulFacts
    | OverFacts
    | WelcomeFacts
    | OnRecordFacts
    | NotUnderstoodFacts
    | AskedBackFacts
    | TurnOverFacts
    | FirstCountsFacts
    | ShowFacts
    | MovesFacts
    | RulesFacts
    | GamesFacts
    | HelpFacts
    | LogFacts
    | EvidenceFacts
    | SettingFacts
    | StoppedFacts
    | StartedFacts
    | LockedFacts
    | UnreadableFacts
    | CodeFacts
    | LastTodayFacts
    | CalledOffFacts
    | GaveFacts
    | ConfirmFacts
    | ConfirmedFacts
    | NameTakenFacts
    | LeftFacts
)
"""What one letter says."""
Facts: TypeAlias = OneLetter | ManyFacts

SHOW_TURN: Final = (TurnFacts, OnRecordFacts, TurnOverFacts, ShowFacts, CalledOffFacts)
"""The letters that show, if a move of the reader is due, all that a letter about the turn shows."""
"""What a letter says, or several that are sent as one."""
