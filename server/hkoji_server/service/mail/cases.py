"""A mail that is being processed, and its result, as rows keep them.

The row of a mail keeps its result, so that the letter that answers it can be rendered again. A result has one part for
each command of the mail, and nothing of the mail's own words but a line that was not understood. Its text is a JSON
object: one part, or `{"answer":"several","parts":[…]}`.

The number of answers to a token, and of letters to a mailbox, in a day is limited, but for those that the player
needs.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from hkoji.errors import HkojiError
from hkoji.game.agreement import DAY
from hkoji.log.canonical import JsonValue
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import MailOrder, OrderFault, OrderKind
from hkoji.mail.letters.answers import AskedWhy
from hkoji.mail.letters.page import unlinked
from hkoji.mail.mail import Mail
from hkoji.mail.tokens import NO_DNS, Purpose, TokenFields
from hkoji.messages.text import Text, assemble, dismantle, quoted
from hkoji_server.service.games.notice_rules import NoticeEvent
from hkoji_server.service.mail.seat_games import SeatTurn
from hkoji_server.store.closing import Closing
from hkoji_server.store.mail_tables import IncomingMail
from hkoji_server.store.mail_values import Mailbox, ReplyToken

_SEVERAL: Final = "several"
_LAST: Final = "last"
_LONGEST_LINE: Final = 200


class AnswerKind(StrEnum):
    """The kinds of answers. The values are stored, and are labels of metrics."""

    SILENT = "silent"
    """No letter."""
    ON_RECORD = "on record"
    WELCOME = "welcome"
    DECLINED = "declined"
    CALLED_OFF = "called off"
    GAVE = "gave"
    """The player has given the opponent time, `seconds`."""
    NOT_DONE = "not done"
    """A line was not understood, or cannot be done now."""
    ASKED_BACK = "asked back"
    TURN_OVER = "turn over"
    SHOW = "show"
    MOVES = "moves"
    LOG = "log"
    RULES = "rules"
    GAMES = "games"
    HELP = "help"
    EVIDENCE = "evidence"
    SETTING = "setting"
    STOPPED = "stopped"
    STARTED = "started"
    CONFIRMED = "confirmed"
    """The owner has confirmed something that a letter has asked; `what` says which kind."""
    LOCKED = "locked"
    UNREADABLE = "unreadable"
    CODE = "code"
    """A code for a key of the player's own, which no row has."""
    CURRENT = "current"
    """The current letter of a game, for a mail to the bare address."""
    OTHER_BYTES = "other bytes"
    """Another mail of the player has the same Message-ID: `mail_values.OTHER_BYTES`."""
    SET_ASIDE = "set aside"
    """The mail was tried in vain: `mail_values.SET_ASIDE`."""


ENTERED: Final = (AnswerKind.ON_RECORD, AnswerKind.WELCOME)
"""The results of a mail that has led to an entry of a log."""
DONE: Final = (*ENTERED, AnswerKind.DECLINED, AnswerKind.CALLED_OFF, AnswerKind.GAVE)
"""The results of a mail that has done something in a game."""


class AnswerPart(NamedTuple):
    """The kind of one part of a letter, and the values for it."""

    kind: AnswerKind
    values: Mapping[str, Any] = {}  # Any: JSON

    def text(self, name: str) -> str:
        """A value that is text, empty if there is none. A message keeps the parts by which it is translated."""
        value = self.values.get(name, "")
        if isinstance(value, dict):
            return assemble(str(value.get("english", "")), value)
        return str(value)


SILENT: Final = (AnswerPart(AnswerKind.SILENT),)


def part(kind: AnswerKind, **values: JsonValue | Text) -> AnswerPart:
    """Returns a part with those values; a message keeps its template."""
    return AnswerPart(kind, {name: _kept(value) for name, value in values.items()})


def on_record(seq: int) -> AnswerPart:
    """Returns what a letter says about entry `seq`, which is on record."""
    return part(AnswerKind.ON_RECORD, seq=seq)


def mark_last(parts: Sequence[AnswerPart]) -> tuple[AnswerPart, ...]:
    """Returns the parts of the last answer of a day that is sent whether or not the mail has changed something."""
    *others, last = parts
    return (*others, last._replace(values={**last.values, _LAST: True}))


def is_last(parts: Sequence[AnswerPart]) -> bool:
    """Tells whether `mark_last` has marked the parts."""
    return bool(parts[-1].values.get(_LAST))


def write_result(parts: Sequence[AnswerPart]) -> str:
    """Returns the text of a result that the row of a mail keeps."""
    objects = [{"answer": each.kind.value, **each.values} for each in parts]
    value = objects[0] if len(objects) == 1 else {"answer": _SEVERAL, "parts": objects}
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def read_result(text: str) -> tuple[AnswerPart, ...]:
    """Reads what `write_result` has written. Raises `ValueError` for anything else."""
    value = json.loads(text)
    objects = value["parts"] if value["answer"] == _SEVERAL else [value]
    return tuple(
        AnswerPart(AnswerKind(each["answer"]), {name: what for name, what in each.items() if name != "answer"})
        for each in objects
    )


def shown_line(line: str) -> str:
    """Returns a line of a mail as a result keeps it."""
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "~"


def _kept(value: JsonValue | Text) -> Any:  # Any: JSON
    if not isinstance(value, Text):
        return value
    value = _unlinked(value)
    if value.values is None:
        return {"english": str(value), "text": str(value), "values": {}}
    return {"english": str(value), **(dismantle(value) or {})}


def _unlinked(message: Text) -> Text:
    """Returns a message whose values may be words of a mail, which anybody may have sent, without links in them."""
    if message.values is None:
        return quoted(unlinked(str(message)))
    values = {name: _unlinked_value(value) for name, value in message.values.items()}
    return Text(message.template, values, message.many, message.number)


def _unlinked_value(value: object) -> object:
    value = getattr(value, "message", value) if isinstance(value, Exception) else value
    if isinstance(value, Text):
        return _unlinked(value)
    return unlinked(value) if isinstance(value, str) else value


AGAIN_SECONDS: Final = DAY
"""For how long a letter without a game that asks back can be answered."""


@dataclass(frozen=True, slots=True)
class MailCase:
    """A mail to a token that is known: its row `mail`, and what was `read`.

    `fields` are those of the token, with the head of the entry that it names if that entry still stands at the end.
    `good` says whether the token can still do what it is for. `game` is its game as the player knows it. `own_key` says
    that the player has registered a key of their own.
    """

    mail: IncomingMail
    mailbox: Mailbox
    read: Mail
    reply: ReplyToken
    fields: TokenFields
    nonce: str
    good: bool
    game: SeatTurn | None
    now: str
    own_key: bool = False
    token: str = ""
    """The token, as it stands in the letter that the mail answers."""
    dns: bytes = NO_DNS
    """The DNS answers by which its signatures are judged, in their one form; none until DNS was asked."""
    refused: HkojiError | None = None
    """Why what it orders was refused when that was to be written."""
    signed: str | None = None
    """By what it is known if it is sent again, of a mail that a provider has signed and that counts."""


Write = Callable[[Closing, Closing | None], Awaitable[bool]]
"""Writes to a game what a mail orders, and closes the mail in the same transaction.

It gets two ways to close it: if the game does not end by it, and if it does, where that can be. Returns False if
nothing was to be written, and the mail is still to be closed. Raises what the game raises; then nothing has changed.
"""


@dataclass(slots=True)
class MailOutcome:
    """The result of a mail: the parts of its answer, and all that is written with them.

    `closing` has the changes, and `write` what changes a game. `games` are those to which the letters belong, by
    default that of the mail. `counts` are changes of what is counted for the token. `orders` are the commands that were
    understood, and `grade` that of a mail that was obeyed. `speaks` says that the owner has ended a long silence.
    `more` has parts behind those of the commands. `now` is the time of the decision. `ended` is said in place of
    `CALLED_OFF` if the game ends by that.
    """

    closing: Closing
    parts: Sequence[AnswerPart] = SILENT
    games: Sequence[str] | None = None
    counts: dict[str, Any] = field(default_factory=dict)  # Any: JSON
    orders: Sequence[MailOrder] = ()
    grade: MailGrade | None = None
    speaks: bool = False
    more: list[AnswerPart] = field(default_factory=list)
    write: Write | None = None
    now: str = ""
    ended: AnswerPart | None = None

    @property
    def mailbox(self) -> Mailbox:
        """The mailbox as the commands have left it so far."""
        box = self.closing.mailbox or self.closing.was
        assert box is not None  # commands are of somebody who has one
        return box

    def close(self, **changes: Any) -> None:  # Any: fields of `Closing`
        """Changes what is written."""
        self.closing = replace(self.closing, **changes)


def closing_of(case: MailCase) -> Closing:
    """Returns how a mail to a token is closed that changes nothing."""
    return Closing(case.mail.number, was=case.mailbox, signed=case.signed)


def again_fields(case: MailCase, kind: OrderKind) -> TokenFields:
    """Returns what the token is for by which an order is asked back."""
    name, about = case.mailbox.name, case.mail.digest
    if kind is OrderKind.YES:  # what it confirms stands in the token alone
        return case.fields
    if case.game is None:
        return TokenFields(Purpose.AGAIN, name, about=about)
    if kind is OrderKind.RESIGN:
        return TokenFields(Purpose.AGAIN, name, case.mail.game, about=about)
    place = case.game.place
    return TokenFields(Purpose.AGAIN, name, case.mail.game, place.seq, place.head, about)


def saying(case: MailCase, *parts: AnswerPart, counts: dict[str, Any] | None = None) -> MailOutcome:  # Any: JSON
    """Returns the result of a mail that is answered, or is silent, and changes nothing else."""
    return MailOutcome(closing_of(case), parts or SILENT, counts=counts or {})


def refusing(case: MailCase, order: MailOrder, reason: Text) -> MailOutcome:
    """Returns the result of a mail with a command that is understood, and is not done."""
    return saying(case, part(AnswerKind.NOT_DONE, line=shown_line(order.line), reason=reason, read=True))


def not_understood(case: MailCase, fault: OrderFault) -> MailOutcome:
    """Returns the result of a mail with a line that is not understood."""
    said = part(
        AnswerKind.NOT_DONE,
        line=shown_line(fault.line),
        reason=fault.reason,
        near=list(fault.near),
        ask=fault.ask,
        more=fault.more,
        read=fault.read,
    )
    return saying(case, said)


@dataclass(frozen=True, slots=True)
class OrderWork:
    """One command of a mail that counts, with the whole mail; `outcome` has what is written when the mail is closed."""

    case: MailCase
    orders: tuple[MailOrder, ...]
    order: MailOrder
    grade: MailGrade
    outcome: MailOutcome

    @property
    def mailbox(self) -> Mailbox:
        """The mailbox as the commands before this one have left it."""
        return self.outcome.mailbox


ANSWERS_A_DAY: Final = 3
"""How many answers a token gets in a UTC day, beside those that nobody can do without (`is_needed`)."""
_NEEDED: Final = (*DONE, AnswerKind.ASKED_BACK, AnswerKind.CONFIRMED)
_CHANGED: Final = (
    *_NEEDED,
    AnswerKind.SETTING,
    AnswerKind.STOPPED,
    AnswerKind.STARTED,
    AnswerKind.CODE,
    AnswerKind.SET_ASIDE,
)
_UNCOUNTED: Final = (NoticeEvent.TURN, NoticeEvent.REMIND1, NoticeEvent.REMIND2, NoticeEvent.OVER)
_OF_OWN_GAMES: Final = (NoticeEvent.JOINED, NoticeEvent.DECLINED, NoticeEvent.CONFIRM, NoticeEvent.STOPPED)
_ANSWERED: Final = "n"
_DAY: Final = "day"


def is_needed(outcome: MailOutcome, mailbox: Mailbox) -> bool:
    """Tells whether an answer is sent however many there were before.

    It is if the mail has changed something, or if the player cannot go on without the letter. An entry is put on
    record once for each token. An order that is asked back is sent to the letter that asks, and only a letter has a new
    command address. But mails without the provider's signature may be of somebody else who knows the token, and without
    an end to what asks them back they would use up the letters of a day.
    """
    settings = [(each.state, each.lang, each.cards, each.counter) for each in (outcome.mailbox, mailbox)]
    return settings[0] != settings[1] or any(each.kind in _NEEDED and not _unsigned(each) for each in outcome.parts)


def _unsigned(answer: AnswerPart) -> bool:
    return answer.kind is AnswerKind.ASKED_BACK and answer.text("why") == AskedWhy.SIGNATURE


def counter_of(channel: str, event: NoticeEvent, mail: IncomingMail | None, parts: Sequence[AnswerPart]) -> str | None:
    """Returns by what a letter to a mailbox counts for its day, None if it does not.

    `parts` are those of the answer to `mail`, if it is one. Letters about a turn, of what ended one, and of the end of
    a game always come. So does the answer to a mail without a token, which has a limit of its own: anybody can have
    written that. Answers to what has changed something are counted apart from those that the opponent may have caused,
    or somebody who knows a token. So nobody can suppress them by causing others.
    """
    if event in _UNCOUNTED or (mail is not None and mail.reply is None):
        return None
    if any(each.kind is AnswerKind.ON_RECORD for each in parts):
        return None
    asked = (AskedWhy.SENDER, AskedWhy.SIGNATURE, AskedWhy.REQUIRED)
    changed = any(each.kind in _CHANGED and each.text("why") not in asked for each in parts)
    return f"{channel} changed" if changed or event in _OF_OWN_GAMES else channel


def count_answer(reply: ReplyToken, outcome: MailOutcome, now: str, *, needed: bool) -> tuple[bool, bool, ReplyToken]:
    """Counts an answer to a token, unless it is `needed`: those are sent however many there were.

    Returns whether it may be sent, whether it is the last one of the day that is not `needed`, and the token with the
    new counts.
    """
    said: dict[str, Any] = json.loads(reply.answers)  # Any: JSON
    today = now[:10]
    answered = said.get(_ANSWERED, 0) if said.get(_DAY) == today else 0
    speaks = tuple(outcome.parts) != SILENT
    allowed = answered < ANSWERS_A_DAY or needed
    if speaks and allowed:
        said |= {_DAY: today, _ANSWERED: answered + (not needed), **outcome.counts}
    last = speaks and not needed and answered + 1 == ANSWERS_A_DAY
    return allowed or not speaks, last, replace(reply, answers=json.dumps(said, sort_keys=True))
