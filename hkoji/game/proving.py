"""The proofs that an entry of a sealed game brings. docs/spec/sealed.md, "The deal" and "Cards that are played".

They are checked when an entry is made, by the service, the opponent and every spectator, and in an audit. Stored
entries are replayed without them. A check is a value, so that another process can make it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

from hkoji.game.course import Course, EntryBody
from hkoji.game.entry_kinds.play import Move
from hkoji.game.sealed_parts import GivePart
from hkoji.game.sealing import Acting, Sealed, SealedRound, act, owner
from hkoji.log.line import Entry
from hkoji.rules.events import Seat
from hkoji.sealed.cards import card_points
from hkoji.sealed.group import Combine
from hkoji.sealed.lock import Lock, verify_lock
from hkoji.sealed.proofs import (
    BRANCH_BYTES,
    CloseStatement,
    HiddenStatement,
    ShareStatement,
    ShownStatement,
    verify_close,
    verify_hidden,
    verify_share,
    verify_shown,
)
from hkoji.sealed.ristretto import BYTES
from hkoji.sealed.transcript import Place

ProofCheck: TypeAlias = Callable[[Combine], None]
"""Checks one proof. Raises `ProofError`, or `MalformedError` for bytes that are no point or no number."""


class EntryProofs(NamedTuple):
    """The checks of one entry: of cards that are played, and of the deal (locks and shares)."""

    cards: tuple[ProofCheck, ...] = ()
    deal: tuple[ProofCheck, ...] = ()


def verify_proofs(course: Course, entry: Entry, body: EntryBody, combine: Combine) -> None:
    """Checks all proofs of an entry that may follow `course`. Raises `ProofError` or `MalformedError`."""
    proofs = proofs_of(course, entry, body)
    for check in (*proofs.cards, *proofs.deal):
        check(combine)


def proofs_of(course: Course, entry: Entry, body: EntryBody) -> EntryProofs:
    """The proofs of an entry that may follow `course`: `Course.apply` takes it. Other games have none."""
    sealed, parts = course.sealed, body.parts
    if sealed is None or not any(parts):
        return EntryProofs()
    ruleset = course.setup.ruleset
    seat = 0 if body.newcomer_key() is not None else course.setup.seat_of(entry.by)
    if seat is None:  # the service releases a deposit
        assert parts.give is not None
        return EntryProofs(deal=(_share_check(sealed, entry.game, parts.give),))
    cards, deal = list[ProofCheck](), list[ProofCheck]()
    now, coming = sealed.now, sealed.coming
    place = Place(entry.game, seat, now.number, entry.seq, entry.prev)
    points = card_points(ruleset.name, ruleset.pack)
    if isinstance(body, Move) and (parts.show is not None or parts.hide is not None):
        tokens, key = now.tokens(seat), _key(now, seat)
        if parts.show is not None:
            size = BRANCH_BYTES * len(tokens)
            for part, copy in enumerate(parts.show.copies):
                shown = ShownStatement(place, part, key, points.point(copy), tokens)
                proof = parts.show.proof[size * part : size * (part + 1)]
                cards.append(partial(verify_shown, shown=shown, proof=proof))
        if parts.hide is not None:
            for part, raw in enumerate(parts.hide.hidden):
                hidden = HiddenStatement(place, part, raw[:BYTES], tokens)
                cards.append(partial(verify_hidden, hidden=hidden, proof=raw[BYTES:]))
        now = act(now, ruleset, Acting(seat, body.action, entry.seq, entry.prev), parts)
    if parts.lock is not None:
        before = coming.decks[-1] if coming.decks else points.points
        lock = Lock(parts.lock.deck, parts.lock.key, parts.lock.proof)
        deal.append(partial(verify_lock, place=place._replace(round=coming.number), before=before, lock=lock))
        coming = coming.locked(seat, parts.lock, entry.prev)
    if parts.close is not None:
        closing = CloseStatement(
            place,
            _key(now, seat),
            points.point(parts.close.card),
            next(each.point for each in now.hidden[seat] if each.counts),
            tuple(map(points.point, now.shown[seat])),
            tuple(each.point for each in now.hidden[seat]),
            now.tokens(seat),
        )
        cards.append(partial(verify_close, closing=closing, proof=parts.close.proof))
    if parts.give is not None:
        deal.append(_share_check(Sealed(now, coming), entry.game, parts.give))
    return EntryProofs(tuple(cards), tuple(deal))


def deposit_check(course: Course, deposit: GivePart) -> ProofCheck:
    """The check of a deposit that came with the last entry of `course`."""
    assert course.sealed is not None
    return _share_check(course.sealed, course.setup.game, deposit)


def _share_check(sealed: Sealed, game: str, give: GivePart) -> ProofCheck:
    dealt, giver = sealed.round(give.round), 1 - owner(give.at[0])
    deck = tuple(dealt.decks[1][position] for position in give.at)
    share = ShareStatement(game, giver, give.round, give.at, _key(dealt, giver), deck)
    return partial(verify_share, share=share, shares=give.shares)


def _key(dealt: SealedRound, seat: Seat) -> bytes:
    key = dealt.keys[seat]
    assert key is not None  # both locks of a round come before its shares
    return key
