"""A mail that is being processed: what is known of it before anything is done, and how a draft remembers its orders.

Once something has been kept that the mail has led to, its orders are those of the draft: the game may have moved on by
then, and the same lines would be read otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from hkoji.game.time_control import DAY
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.commands import MailOrder, OrderKind
from hkoji.mail.mail_types import MailHeader
from hkoji.mail.tokens import NO_DNS, TokenFields
from hkoji_server.service.mail_results import SILENT, AnswerPart
from hkoji_server.service.seat_games import SeatGame
from hkoji_server.store.mail_values import IncomingMail, KeyCode, Mailbox, MailboxMove, MailDraft, ReplyToken

AGAIN_SECONDS: Final = DAY
"""For how long a letter without a game that asks back can be answered."""


@dataclass(frozen=True, slots=True)
class MailCase:
    """A mail to a token that is known.

    `fields` are those of the token, with the head of the entry that it names if that entry still stands at the end.
    `good` says whether the token can still do what it is for. `game` is its game as the player knows it. `own_key` says
    that the player has registered a key of their own.
    """

    mail: IncomingMail
    mailbox: Mailbox
    header: MailHeader
    reply: ReplyToken
    fields: TokenFields
    nonce: str
    good: bool
    game: SeatGame | None
    now: str
    own_key: bool = False
    token: str = ""
    """The token, as it stands in the letter that the mail answers."""
    dns: bytes = NO_DNS
    """The DNS answers by which its signatures are judged, in their one form; none until DNS was asked."""


@dataclass(slots=True)
class MailOutcome:
    """What becomes of a mail when it is closed: the parts of its answer, and what is changed with that.

    `games` are those to which the letters belong, by default that of the mail. `counts` are changes of what is counted
    for the token. `forget_drafts` says that the mail's draft without a game is no longer needed. `orders` are the
    commands that were understood, and `grade` that of a mail that was obeyed. `move` gives the player's mailbox another
    address. `speaks` says that the owner has ended a long silence. `more` is said behind what the commands say. `code`
    is one for a key of the player's own.
    """

    parts: Sequence[AnswerPart] = SILENT
    games: Sequence[str] | None = None
    mailbox: Mailbox | None = None
    replies: list[ReplyToken] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)  # Any: JSON
    forget_drafts: bool = False
    orders: Sequence[MailOrder] = ()
    grade: MailGrade | None = None
    move: MailboxMove | None = None
    speaks: bool = False
    more: list[AnswerPart] = field(default_factory=list)
    code: KeyCode | None = None


class DraftText(NamedTuple):
    """What a draft keeps: the orders of the mail with its grade, and what they have led to so far.

    `entry` is a submission, and `sig` and `statement` are a signed statement, as JSON has them. `salt` and `head` open
    the commitment to the mail, and `dns` are its DNS answers, in base64. `welcome` says that the player
    was new. `offered` is a game that was made for the order, and `invited` the key of the player whom it invites.
    """

    orders: tuple[MailOrder, ...]
    grade: MailGrade
    entry: dict[str, Any] | None = None  # Any: JSON
    statement: str = ""
    sig: str = ""
    salt: str = ""
    head: str = ""
    commit: str = ""
    welcome: bool = False
    offered: str = ""
    invited: str = ""
    dns: str = ""

    @property
    def text(self) -> str:
        """The text that a draft keeps."""
        orders = [[each.kind.value, each.line, list(each.words), each.action] for each in self.orders]
        value = {**self._asdict(), "orders": orders, "grade": self.grade.value}
        return json.dumps(value, sort_keys=True, separators=(",", ":"))


def read_draft(draft: MailDraft) -> DraftText:
    """Reads what a draft keeps."""
    value = json.loads(draft.submission)
    orders = tuple(
        MailOrder(OrderKind(kind), line, tuple(words), action) for kind, line, words, action in value["orders"]
    )
    return DraftText(**{**value, "orders": orders, "grade": MailGrade(value["grade"])})
