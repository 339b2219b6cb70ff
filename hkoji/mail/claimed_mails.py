"""The mails that a log says are behind its entries and statements, each with what an audit must know to judge it.

docs/spec/mails.md, "The audit". Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hkoji.audit.times import last_worded, stated_time
from hkoji.game import entry_kinds
from hkoji.game.commitments import Opening
from hkoji.game.entry_kinds import EntryBody, parse_body
from hkoji.game.held_keys import Gateway
from hkoji.log.line import Line
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.mail.commands import OrderKind
from hkoji.mail.tokens import TokenPlace, place_of


class ClaimedMail(NamedTuple):
    """A mail by which the player `name` has ordered something, as entry number `entry` of the log says.

    `commit` is the commitment to it, and `grade` how well it is said to be known. It must have ordered one of `kinds`,
    none for what no mail can order, and `body` has the details; for a statement, `body` is that of the entry that
    carries it. `head` and `place` are those of the end of the log as it was then. `gateway` is the certificate in
    force. `at` is T, None if nobody whose word counts has stated it.
    """

    entry: int
    name: str
    commit: str
    grade: MailGrade
    kinds: tuple[OrderKind, ...]
    body: EntryBody
    head: str
    place: TokenPlace
    gateway: Gateway
    at: str | None


def claimed_mails(lines: Sequence[Line]) -> Iterator[ClaimedMail]:
    """Yields the mails that a log claims, in its order. `lines` hold, so the service has signed these claims."""
    entries = [line.entry for line in lines]
    numbers = {entry.head: number for number, entry in enumerate(entries)}
    gateways: dict[str, Gateway] = {}
    names: list[str] = []  # host and guest

    def claim(
        number: int, name: str, mail: MailClaim, kinds: tuple[OrderKind, ...], head: str, at: str | None
    ) -> Iterator[ClaimedMail]:
        place = place_of(entries[: numbers[head] + 1]) if head in numbers else None
        if mail.commit is not None and place is not None and name in gateways:
            gateway = gateways[name]
            yield ClaimedMail(number, name, mail.commit, mail.grade, kinds, bodies[number], head, place, gateway, at)

    bodies = [parse_body(entry.kind, entry.body) for entry in entries]
    worded = last_worded(lines)
    for number, (entry, body) in enumerate(zip(entries, bodies, strict=True)):
        if isinstance(body, entry_kinds.Open | entry_kinds.Join):
            names.append(entry.by)
            if body.gateway is not None:
                gateways[entry.by] = body.gateway
        if body.mail is not None:
            yield from claim(
                number, entry.by, body.mail, _kinds(body, bodies[0]), entry.prev, stated_time(lines, number, worded)
            )
        # Nobody has stated when the mail of a statement came.
        if isinstance(body, entry_kinds.Credit | entry_kinds.Annul) and body.gift is not None and body.gift.mail:
            helped = names[body.seat] if isinstance(body, entry_kinds.Annul) else entries[number - 1].by
            giver = next(name for name in names if name != helped)
            yield from claim(number, giver, body.gift.mail, (OrderKind.GIVE,), body.gift.head, None)
        if isinstance(body, entry_kinds.Annul):
            for name, mail in zip(names, body.mails, strict=True):
                if mail is not None:
                    yield from claim(number, name, mail, (OrderKind.CALL_OFF,), entry.prev, None)
        if isinstance(body, entry_kinds.Delegate | entry_kinds.Revoke):
            ended = body.name if isinstance(body, entry_kinds.Revoke) else entry.by
            gateways.pop(ended, None)
        if isinstance(body, entry_kinds.Delegate) and body.gateway is not None:
            gateways[entry.by] = body.gateway


def certificates_of(lines: Sequence[Line], name: str) -> tuple[Gateway, ...]:
    """Returns the certificates of keys that the service holds or has held for a player, as a log has them, in order."""
    bodies = (parse_body(line.entry.kind, line.entry.body) for line in lines if line.entry.by == name)
    return tuple(dict.fromkeys(body.certificate for body in bodies if body.certificate is not None))


def opened_cards(lines: Sequence[Line]) -> dict[int, list[Opening]]:
    """Returns the openings that a log has published, in order, by the entry of their move."""
    found: dict[int, list[Opening]] = {}
    for line in lines:
        if line.entry.kind in (entry_kinds.RevealBody.KIND, entry_kinds.End.KIND):
            body = parse_body(line.entry.kind, line.entry.body)
            assert isinstance(body, entry_kinds.RevealBody | entry_kinds.End)
            for opening in body.openings:
                found.setdefault(opening.seq, []).append(opening)
    return {seq: sorted(group) for seq, group in found.items()}


def _kinds(body: EntryBody, offer: EntryBody) -> tuple[OrderKind, ...]:
    again = (OrderKind.REMATCH,) if isinstance(offer, entry_kinds.Offer) and offer.agreement.rematch else ()
    match body:
        case entry_kinds.Open():
            return again or (OrderKind.NEW,)
        case entry_kinds.Join():
            return (OrderKind.ACCEPT, *again)
        case entry_kinds.Move():
            return (OrderKind.MOVE,)
        case entry_kinds.Resign():
            return (OrderKind.RESIGN,)
        case entry_kinds.Cancel():
            return (OrderKind.CANCEL,)
    return ()
