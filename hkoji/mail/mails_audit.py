"""Step 11 of the audit: do the mails of a mails file say what the log says that they say?

docs/spec/mails.md, "The audit". The log has the service's signed commitments to mails. A mail that opens one convicts
the service if the entry is not what the mail ordered, or if the grade `dkim` is not true. Cards that lie face down are
compared once the log has opened them. A line that opens no commitment, and a mailbox that is not the certified one, say
nothing about anybody. Findings name the service, never the player.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from hkoji.audit.keyring import Party
from hkoji.audit.log_audit import Audit, AuditStep, Finding
from hkoji.errors import NotationError, UnreadableMailError, UsageError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement, parse_duration, parse_time_control
from hkoji.game.entry_kinds import parse_body
from hkoji.game.held_keys import SeatGrade
from hkoji.log.line import Line
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.claimed_mails import ClaimedMail, claimed_mails, opened_cards
from hkoji.mail.commands import DEFAULT_CLOCK, MailOrder, OrderFault, OrderKind
from hkoji.mail.dkim_rules import judge_dkim, signed_id
from hkoji.mail.dns_answers import decode_answers
from hkoji.mail.mail import Mail, read_mail
from hkoji.mail.mails_file import ProvedMailbox, ProvingMail
from hkoji.mail.message import READERS
from hkoji.mail.orders import read_said
from hkoji.mail.tokens import PURPOSES, TokenFields, counts, make_token, may_order, token_behind
from hkoji.messages.text import Text, plural, tell
from hkoji.rules.registry import RULESETS

_NOTHING: Final = tell("the mail decides nothing")


class OrderedEntries:
    """The entries of a log, from the offer on, with which orders are compared."""

    def __init__(self, lines: Sequence[Line]) -> None:
        offer = parse_body(lines[0].entry.kind, lines[0].entry.body)
        assert isinstance(offer, entry_kinds.Offer)
        self._offer: Final = offer
        self._openings: Final = opened_cards(lines)

    def order_of(self, mail: Mail, reader: int) -> MailOrder | Text:
        """Returns what a mail decides by that version of the rules of mails, or why it decides nothing."""
        try:
            read = read_said(mail.order_lines(reader), self._offer.ruleset, reader)
        except UnreadableMailError as error:
            return tell("the mail orders nothing: {reason}", reason=error.reason)
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
            # A part that no mail can order has its default.
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


class MailIndex(NamedTuple):
    """The lines of mails files, each with its mailbox, by the commitments that they open.

    `places` has the player, the game and the head that each line names, whether or not it opens a commitment.
    """

    by_commit: Mapping[str, Sequence[tuple[ProvedMailbox, ProvingMail]]]
    places: frozenset[tuple[str, str, str]]


class SeatMails(NamedTuple):
    """The mails of the player `name`: of `claimed` in the log, `checked` were there and hold.

    `mailboxes` are those from which mails were there, and which the log's certificates name. `uncertified` were there
    below another mailbox or with another salt of its hash. `unlike` have a line that names their places, and opens no
    commitment: its salt or something else in it is another.
    """

    name: str
    claimed: int
    checked: int
    mailboxes: tuple[str, ...]
    uncertified: int
    unlike: int


class OpenedMail(NamedTuple):
    """A mail that opens `commit`, to which a statement of the held key `key` at `entry` is bound.

    `mail` is by what it is known (`known_by`) or, a second time, its `signed_id`. `signer` is whom it convicts if the
    same mail opens another commitment too.
    """

    key: str
    mail: str
    commit: str
    entry: int
    signer: Party


class SignedMail(NamedTuple):
    """A mail whose DKIM signature held by the answers that the service kept; `at` and `token` as in `judge_dkim`."""

    entry: int
    name: str
    mail: Mail
    dns: bytes
    at: str | None
    token: str


class MailsAudit(NamedTuple):
    """The result: `audit` with this step added, and what was found in the mails."""

    audit: Audit
    seats: tuple[SeatMails, ...]
    opened: tuple[OpenedMail, ...]
    signed: tuple[SignedMail, ...]


def index_mails(mailboxes: Iterable[ProvedMailbox]) -> MailIndex:
    """Returns the lines of mails files by their commitments and places."""
    places: set[tuple[str, str, str]] = set()
    found: dict[str, list[tuple[ProvedMailbox, ProvingMail]]] = {}
    for mailbox in mailboxes:
        for mail in mailbox.mails:
            found.setdefault(mail.commit, []).append((mailbox, mail))
            places.add((mailbox.name, mail.game, mail.head))
    return MailIndex(found, frozenset(places))


def audit_mails(audit: Audit, mails: MailIndex) -> MailsAudit:
    """Checks the mails that are behind a log, as far as the log holds.

    Raises `UsageError` if a mail has the grade `dkim`, and dkimpy is not installed.
    """
    return _MailsCheck(audit, mails).run()


def twice(one: int, other: int) -> Text:
    """Returns the reason of a finding: one mail is behind two entries of a log."""
    return tell("one mail is behind entry {one} and entry {other}", one=one, other=other)


class _FaultError(Exception):
    """Why a mail convicts the service."""

    def __init__(self, reason: Text) -> None:
        super().__init__(reason)
        self.reason: Final = reason


class _MailsCheck:
    def __init__(self, audit: Audit, mails: MailIndex) -> None:
        self._audit: Final = audit
        self._mails: Final = mails
        self._claims: Final = tuple(claimed_mails(audit.lines)) if audit.lines else ()
        self._ordered: Final = OrderedEntries(audit.lines) if audit.lines else None
        self._findings: list[Finding] = []
        self._opened: list[OpenedMail] = []
        self._signed: list[SignedMail] = []
        self._checked: Counter[str] = Counter()
        self._uncertified: Counter[str] = Counter()
        self._unlike: Counter[str] = Counter()
        self._mailboxes: dict[str, dict[str, None]] = {}

    def run(self) -> MailsAudit:
        for claim in self._claims:
            self._look_at(claim)
        claimed = Counter(claim.name for claim in self._claims)
        seats = tuple(
            SeatMails(
                name,
                number,
                self._checked[name],
                tuple(self._mailboxes.get(name, ())),
                self._uncertified[name],
                self._unlike[name],
            )
            for name, number in claimed.items()
        )
        grades = dict(self._audit.grades)
        for seat in seats:
            if seat.checked == seat.claimed and grades.get(seat.name) is SeatGrade.CLAIMED:
                grades[seat.name] = SeatGrade.CHECKED
        done = replace(
            self._audit,
            findings=(*self._audit.findings, *self._findings),
            notes={**self._audit.notes, AuditStep.MAILS: _note(seats)},
            grades=grades,
        )
        return MailsAudit(done, seats, tuple(self._opened), tuple(self._signed))

    # --- one mail -------------------------------------------------------------------------------------------------

    def _look_at(self, claim: ClaimedMail) -> None:
        found = self._mails.by_commit.get(claim.commit, ())
        for mailbox, mail in found:
            # The maker of the file may have put in any mailbox: then it says nothing about the mail.
            if mailbox.name == claim.name and mailbox.address(claim.gateway.origin) == claim.gateway.address:
                self._mailboxes.setdefault(claim.name, {})[mailbox.mailbox] = None
                self._judge(claim, mailbox, mail)
                return
        if found:
            self._uncertified[claim.name] += 1
        elif (claim.name, self._audit.lines[0].entry.game, claim.head) in self._mails.places:
            self._unlike[claim.name] += 1

    def _judge(self, claim: ClaimedMail, mailbox: ProvedMailbox, mail: ProvingMail) -> None:
        signer = self._signer(claim)
        if mail.reader not in READERS:
            reason = tell("its mail is to be read by version {version} of the rules of mails", version=mail.reader)
            self._findings.append(Finding(AuditStep.MAILS, claim.entry, (), reason, understood=False))
            return
        try:
            judged = self._verify(claim, mailbox, mail, signer)
        except _FaultError as fault:
            self._findings.append(Finding(AuditStep.MAILS, claim.entry, (signer,), fault.reason))
        else:
            self._checked[claim.name] += judged

    def _verify(self, claim: ClaimedMail, mailbox: ProvedMailbox, mail: ProvingMail, signer: Party) -> bool:
        """Returns whether a mail could be judged. Raises `_FaultError` if it convicts the service."""
        read = read_mail(mail.raw)
        self._note_opened(claim, read.known_by(mail.reader), signer)
        if (mail.game, mail.head) != (self._audit.lines[0].entry.game, claim.head):
            raise _FaultError(tell("the mail is bound to another place than that of the entry"))
        assert self._ordered is not None
        order = self._ordered.order_of(read, mail.reader)
        if isinstance(order, Text):
            raise _FaultError(order)
        fault = self._ordered.fault_of(claim, order)
        if fault is not None:
            raise _FaultError(fault)
        token = self._token(claim, mail, order)
        return claim.grade is not MailGrade.DKIM or self._verify_dkim(claim, mailbox, mail, read, token, signer)

    def _note_opened(self, claim: ClaimedMail, known_by: str, signer: Party) -> None:
        new = OpenedMail(claim.gateway.key.text, known_by, claim.commit, claim.entry, signer)
        earlier = [each for each in self._opened if (each.key, each.mail) == (new.key, new.mail)]
        self._opened.append(new)
        if earlier and earlier[0].commit != new.commit:
            raise _FaultError(twice(earlier[0].entry, new.entry))

    def _token(self, claim: ClaimedMail, mail: ProvingMail, order: MailOrder) -> TokenFields | None:
        """The fields of the token to which a mail was sent; None if that stands in another log."""
        assert self._ordered is not None
        before = self._ordered.before(order)
        token = token_behind(
            order.kind, mail.purpose, claim.name, mail.about, game=mail.game, place=claim.place, before=before
        )
        known = mail.purpose in PURPOSES[order.kind]
        if not known or (token is not None and not (may_order(order.kind, token) and counts(order.kind, token))):
            raise _FaultError(
                tell("a mail to an address of the purpose {purpose} cannot order this", purpose=mail.purpose.value)
            )
        return token

    def _verify_dkim(
        self,
        claim: ClaimedMail,
        mailbox: ProvedMailbox,
        mail: ProvingMail,
        read: Mail,
        fields: TokenFields | None,
        signer: Party,
    ) -> bool:
        if read.header.sender != mailbox.mailbox:
            raise _FaultError(tell("the entry says dkim, and the mail is not from that mailbox"))
        if fields is None:
            return False
        token = make_token(fields, mail.nonce)
        try:
            answers = decode_answers(mail.dns)
        except UnreadableMailError as error:
            raise _FaultError(tell("the entry says dkim: {reason}", reason=error.reason)) from None
        verdict = judge_dkim(read, answers, at=claim.at, token=token)
        if not verdict.holds:
            assert verdict.reason is not None
            raise _FaultError(
                tell("the entry says dkim, and the mail has no such signature: {reason}", reason=verdict.reason)
            )
        self._note_opened(claim, signed_id(read, token), signer)
        self._signed.append(SignedMail(claim.entry, claim.name, read, mail.dns, claim.at, token))
        return True

    def _signer(self, claim: ClaimedMail) -> Party:
        return next(each for each in self._audit.parties if each.key == claim.gateway.key and each.held)


def _note(seats: Sequence[SeatMails]) -> Text:
    claimed, checked = sum(each.claimed for each in seats), sum(each.checked for each in seats)
    return plural(
        "{checked} of {n} mail checked",
        "{checked} of {n} mails checked",
        claimed,
        checked=checked,
    )
