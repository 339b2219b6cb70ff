"""What a mail ordered, compared with what the log says that it ordered. Part of step 11 of the audit.

docs/spec/mails.md, "The audit". Cards that lie face down are compared once the log has opened them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hkoji.errors import NotationError, UnreadableMailError, UsageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.entry_kinds import parse_body
from hkoji.game.time_control import parse_duration, parse_time_control
from hkoji.log.line import Line
from hkoji.mail.claimed_mails import ClaimedMail, opened_cards
from hkoji.mail.fields import split_mail
from hkoji.mail.order_lines import order_lines
from hkoji.mail.order_types import DEFAULT_CLOCK, MailOrder, OrderFault, OrderKind
from hkoji.mail.orders import read_said
from hkoji.messages.text import Text, quoted, tell
from hkoji.rules.registry import RULESETS

_NOTHING: Final = tell("the mail decides nothing")


class OrderedEntries:
    """The entries of a log, from the offer on, with which orders are compared."""

    def __init__(self, lines: Sequence[Line]) -> None:
        offer = parse_body(lines[0].entry.kind, lines[0].entry.body)
        assert isinstance(offer, entry_kinds.Offer)
        self._offer: Final = offer
        self._openings: Final = opened_cards(lines)

    def order_of(self, raw: bytes, reader: int) -> MailOrder | Text:
        """Returns what a mail decides by that version of the rules of mails, or why it decides nothing."""
        try:
            read = read_said(order_lines(split_mail(raw), reader), self._offer.ruleset, reader)
        except UnreadableMailError as error:
            reason = error.reason if isinstance(error.reason, Text) else quoted(error.reason)
            return tell("the mail orders nothing: {reason}", reason=reason)
        if isinstance(read, OrderFault):
            return tell("the mail orders nothing: {reason}", reason=read.reason)
        return next((each for each in read if each.decides), _NOTHING)

    def before(self, order: MailOrder) -> str | None:
        """Returns the game to whose token an order was sent, if it is the one before this game."""
        return self._offer.agreement.rematch if order.kind is OrderKind.REMATCH else None

    def fault_of(self, claim: ClaimedMail, order: MailOrder) -> Text | None:
        """Returns why an entry or statement is not what an order says; None if it is."""
        if order.kind not in claim.kinds:
            return tell("the mail orders something else: {line}", line=order.line)
        body = claim.body
        same = True
        match order.kind:
            case OrderKind.MOVE:
                assert isinstance(body, entry_kinds.Move)
                same = self._is_move(claim.entry, body, order.action)
            case OrderKind.GIVE:
                assert isinstance(body, entry_kinds.Credit | entry_kinds.Annul)
                assert body.gift is not None
                same = _seconds(order.words[0]) == body.gift.seconds
            case OrderKind.NEW:
                assert isinstance(body, entry_kinds.Open)
                same = self._is_new(body, order.words)
        return None if same else tell("the mail orders something else: {line}", line=order.line)

    def _is_move(self, entry: int, body: entry_kinds.Move, action: str) -> bool:
        if not body.commit:
            return action == body.action
        ruleset, opened = self._offer.ruleset, self._openings.get(entry, ())
        try:
            if ruleset.public(action) != body.action or len(opened) < len(body.commit):
                return ruleset.public(action) == body.action
            return action == ruleset.complete(body.action, tuple(each.cards for each in opened))
        except NotationError:
            return False

    def _is_new(self, body: entry_kinds.Open, words: Sequence[str]) -> bool:
        game, name, _, *clock = words
        invited = body.invite.name if isinstance(body.invite, entry_kinds.Invite) else None
        agreed = self._offer.agreement
        try:
            # What no mail can order has its default.
            ordered = Agreement(parse_time_control(clock[0] if clock else DEFAULT_CLOCK), agreed.expires)
        except UsageError:
            return False
        if game not in RULESETS or self._offer.ruleset.to_json() != RULESETS[game]().to_json():
            return False
        return (invited, agreed) == (name, ordered)


def _seconds(text: str) -> int | None:
    try:
        return parse_duration(text)
    except UsageError:
        return None
