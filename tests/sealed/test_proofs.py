"""Shares, shown and hidden cards and the close hold exactly if they are true, by either backend.

Cheats make false proofs with everything that the page lets them choose. Beside each lie stands the same without it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from hkoji.errors import MalformedError, ProofError
from hkoji.sealed import plain, sodium
from hkoji.sealed.cards import blind_point
from hkoji.sealed.group import GENERATOR, Combine
from hkoji.sealed.proofs import CloseStatement, ShareStatement, ShownStatement
from hkoji.sealed.transcript import Place
from tests.support.sealed import (
    BACKENDS,
    KINDS,
    OTHER_GAME,
    Dealt,
    HiddenOf,
    Kind,
    LockOf,
    Sent,
    Statement,
    check,
    place,
)
from tests.support.sealed_page import L, prove_close, prove_hide, prove_share, prove_show

SHARE: Final = "the proof of the cards that are given does not hold"
SHOW: Final = "the proof that the card is held does not hold"
HIDE: Final = "the proof that the hidden card is held does not hold"
OPEN: Final = "a card that is played face down is not hidden"
CLOSE: Final = "the proof of the cards of the round does not hold"
REASONS: Final[dict[Kind, str]] = {
    "lock": "the proof that the deck was shuffled does not hold",
    "share": SHARE,
    "show": SHOW,
    "hide": HIDE,
    "close": CLOSE,
}
both: Final = pytest.mark.parametrize("combine", BACKENDS.values(), ids=BACKENDS.keys())
total = sodium.combine


def refused(sent: Sent, combine: Combine = sodium.combine, reason: str | None = None) -> bool:
    """Whether a proof is refused, for the reason that its kind has."""
    with pytest.raises(ProofError) as caught:
        check(combine, sent)
    return str(caught.value) == (reason or REASONS[sent.kind])


# --- honest -----------------------------------------------------------------------------------------------------------


def of_all_sorts(dealt: Dealt) -> Iterator[Sent]:
    """Honest proofs of different sizes and seats."""
    yield dealt.share(0, (0, 1, 2, 3, 4, 5, 6))
    yield dealt.share(1, (0, 1, 2, 3, 4, 5))
    yield dealt.share(1, (9,))
    yield dealt.show(0, 0)
    yield dealt.show(1, 9, part=3, count=10)
    yield dealt.hide(0, 6)
    yield dealt.hide(1, 0, part=1, count=10)
    yield dealt.close(0)
    yield dealt.close(1, hidden=(9, 0))


@both
def test_honest_proofs_hold(dealt: Dealt, combine: Combine) -> None:
    for sent in of_all_sorts(dealt):
        check(combine, sent)


def test_both_backends_make_the_same_bytes(dealt: Dealt) -> None:
    by_plain = dealt._replace(combine=plain.combine)
    for sent, other in zip(few(dealt), few(by_plain), strict=True):
        assert sent == other


def few(dealt: Dealt) -> list[Sent]:
    """A proof of each kind but a lock, most of them small."""
    return [dealt.share(1, (9,)), dealt.show(1, 1, count=2), dealt.hide(0, 2, count=3), dealt.close(0)]


@both
def test_proofs_by_the_words_of_the_page_hold(dealt: Dealt, combine: Combine, rng: random.Random) -> None:
    host, guest = dealt.parties
    share = dealt.share_of(0, (2, 7))
    tokens = [guest.tokens[2], guest.tokens[7]]
    check(combine, Sent("share", share, (prove_share(combine, share, tokens, host.number, rng),)))
    shown = dealt.shown(0, 2, count=7)
    check(combine, Sent("show", shown, (prove_show(combine, shown, 2, host.number, rng),)))
    hidden, rho = HiddenOf(place(0, 9), 1, host.tokens[:7]), rng.randrange(1, L)
    point = covered(host.tokens[5], rho)
    check(combine, Sent("hide", hidden, (point + prove_hide(combine, hidden, point, 5, rho, rng),)))
    closing, rhos = dealt.closing(0)
    proof, broken = prove_close(combine, closing, host.number, rhos[0], sum(rhos), rng)
    assert broken == set()
    check(combine, Sent("close", closing, (proof,)))


def test_each_token_is_the_card_times_the_number_of_its_owner(dealt: Dealt) -> None:
    for party in dealt.parties:
        assert party.tokens == tuple(plain.combine((party.number, dealt.points.point(card))) for card in party.cards)
    assert len({card for party in dealt.parties for card in party.cards}) == 20


# --- elsewhere --------------------------------------------------------------------------------------------------------


def places(here: Place) -> list[Place]:
    """The same place but for one part."""
    return [
        here._replace(game=OTHER_GAME),
        here._replace(seat=1 - here.seat),
        here._replace(round=here.round + 1),
        here._replace(seq=here.seq + 1),
        here._replace(prev=place(0, 99).prev),
    ]


def others(sent: Sent, dealt: Dealt) -> Iterator[Statement]:
    """The statement of a proof, changed in one part."""
    other, key = dealt.points.points[20], dealt.parties[1].key
    match sent.statement:
        case LockOf(here, before):
            yield from (LockOf(one, before) for one in places(here))
        case ShareStatement() as share:
            last = share.deck[-1]
            yield share._replace(game=OTHER_GAME)
            yield share._replace(giver=1 - share.giver)
            yield share._replace(round=2)
            yield share._replace(at=(*share.at[:-1], share.at[-1] + 1))
            yield share._replace(at=share.at[::-1])
            yield share._replace(key=key)
            yield share._replace(deck=(*share.deck[:-1], total((2, last))))
            yield share._replace(deck=(*share.deck[1:], share.deck[0]))
        case ShownStatement() as shown:
            yield from (shown._replace(place=one) for one in places(shown.place))
            yield shown._replace(part=1)
            yield shown._replace(key=key)
            yield shown._replace(card=other)
            yield shown._replace(tokens=(*shown.tokens[1:], shown.tokens[0]))
            yield shown._replace(tokens=(*shown.tokens[:-1], total((2, shown.tokens[-1]))))
        case HiddenOf(here, part, tokens):
            yield from (HiddenOf(one, part, tokens) for one in places(here))
            yield HiddenOf(here, part + 1, tokens)
            yield HiddenOf(here, part, (*tokens[1:], tokens[0]))
            yield HiddenOf(here, part, (*tokens[:-1], total((2, tokens[-1]))))
        case CloseStatement() as closing:
            yield from (closing._replace(place=one) for one in places(closing.place))
            yield closing._replace(key=dealt.parties[0].key)
            yield closing._replace(card=other)
            yield closing._replace(counts=closing.hidden[1])
            yield closing._replace(shown=closing.shown[1:])
            yield closing._replace(shown=(*closing.shown, other))
            yield closing._replace(hidden=closing.hidden[:-1])
            yield closing._replace(hidden=(*closing.hidden[:-1], closing.hidden[0]))
            yield closing._replace(tokens=closing.tokens[:-1])
            yield closing._replace(tokens=(*closing.tokens[:-1], dealt.parties[0].tokens[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_proof_is_bound_to_all_of_its_statement(
    kind: Kind, kinds: dict[Kind, Sent], small_kinds: dict[Kind, Sent], dealt: Dealt
) -> None:
    sent = small_kinds[kind] if kind == "lock" else kinds[kind]
    check(sodium.combine, sent)
    count = 0
    for statement in others(sent, dealt):
        assert statement != sent.statement
        assert refused(sent._replace(statement=statement)), statement
        count += 1
    assert count >= 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_bit_is_found(kind: Kind, kinds: dict[Kind, Sent], rng: random.Random) -> None:
    """Sixty in all; the laboratory changes thousands."""
    sent = kinds[kind]
    check(sodium.combine, sent)
    for _ in range(12):
        bit = rng.randrange(sent.bits())
        with pytest.raises((ProofError, MalformedError)):
            check(sodium.combine, sent.with_bit(bit))


def test_all_bits_of_a_short_challenge_count(kinds: dict[Kind, Sent]) -> None:
    for bit in range(0, 128, 7):
        assert refused(kinds["close"].with_bit(bit)), bit


# --- shares -----------------------------------------------------------------------------------------------------------


def give(dealt: Dealt, share: ShareStatement, tokens: Sequence[bytes], number: int, rng: random.Random) -> Sent:
    """The share of somebody who knows a number."""
    return Sent("share", share, (prove_share(sodium.combine, share, tokens, number, rng),))


@pytest.mark.parametrize("numbers", [(6,), (0, 1, 2, 3, 4, 5, 6)], ids=len)
def test_false_tokens(dealt: Dealt, numbers: Sequence[int], rng: random.Random) -> None:
    host, guest = dealt.parties
    share = dealt.share_of(0, numbers)
    true = [guest.tokens[number] for number in numbers]
    check(sodium.combine, give(dealt, share, true, host.number, rng))
    for at in range(len(true)):
        for false in (
            guest.tokens[8],  # of another position of the same seat
            total((pow(guest.number, -1, L), share.deck[at])),  # without the other lock
            total((pow(host.number + 1, -1, L), share.deck[at])),  # with another number
            share.deck[at],
            total((2, true[at])),
        ):
            assert refused(give(dealt, share, [*true[:at], false, *true[at + 1 :]], host.number, rng))
    if len(true) > 1:
        assert refused(give(dealt, share, true[::-1], host.number, rng))
        # two false ones whose sum is right
        assert refused(
            give(
                dealt,
                share,
                [total((2, true[0])), total((1, true[1]), (-1, true[0])), *true[2:]],
                host.number,
                rng,
            )
        )


def test_a_share_of_somebody_with_another_key(dealt: Dealt, rng: random.Random) -> None:
    other, at = rng.randrange(2, L), (0, 1)
    share = dealt.share_of(0, at)
    tokens = [total((pow(other, -1, L), point)) for point in share.deck]
    assert refused(give(dealt, share, tokens, other, rng))
    check(sodium.combine, give(dealt, share._replace(key=total((other, GENERATOR))), tokens, other, rng))
    check(sodium.combine, dealt.share(0, at))


def test_a_share_proves_itself_whoever_brings_it(dealt: Dealt, rng: random.Random) -> None:
    """Two proofs of one share have the same tokens."""
    one, other = dealt.share(1, (6,)), dealt.share_of(1, (6,))
    again = give(dealt, other, [dealt.parties[0].tokens[6]], dealt.parties[1].number, rng)
    assert one.texts != again.texts
    assert one.texts[0][:32] == again.texts[0][:32]
    check(sodium.combine, again)


# --- shown cards ------------------------------------------------------------------------------------------------------


def show(shown: ShownStatement, branch: int, secret: int, rng: random.Random) -> Sent:
    """The show of somebody who takes a branch for true."""
    return Sent("show", shown, (prove_show(sodium.combine, shown, branch, secret, rng),))


def test_a_card_that_is_not_held_by_any_branch(dealt: Dealt, rng: random.Random) -> None:
    """A card of the other seat, one that is drawn later, and the one that nobody gets."""
    host, guest = dealt.parties
    (aside,) = {*dealt.points.cards} - {*host.cards} - {*guest.cards}
    for card, count in ((guest.cards[0], 7), (host.cards[8], 3), (aside, 3)):
        shown = dealt.shown(0, 0, count=count)._replace(card=dealt.points.point(card))
        for branch in range(count):
            assert refused(show(shown, branch, host.number, rng))
    for branch in range(3):
        check(sodium.combine, show(dealt.shown(0, branch, count=3), branch, host.number, rng))


def test_a_card_that_is_held_by_any_other_branch(dealt: Dealt, rng: random.Random) -> None:
    number = dealt.parties[0].number
    for branch in range(4):
        sent = show(dealt.shown(0, 3, count=4), branch, number, rng)
        if branch == 3:
            check(sodium.combine, sent)
        else:
            assert refused(sent)


def test_a_card_by_another_number(dealt: Dealt, rng: random.Random) -> None:
    """Any point is a multiple of any card, and nobody knows by what. A multiple by another number is not enough."""
    host, guest = dealt.parties
    shown = dealt.shown(0, 2, count=3)
    assert refused(show(shown, 2, host.number + 1, rng))
    assert refused(show(shown, 2, guest.number, rng))
    other = rng.randrange(2, L)
    forged = shown._replace(tokens=(total((other, shown.card)), *shown.tokens[1:]), card=shown.card)
    assert refused(show(forged, 0, other, rng))
    check(sodium.combine, show(forged._replace(key=total((other, GENERATOR))), 0, other, rng))


def test_the_other_seat_does_not_show_my_card(dealt: Dealt, rng: random.Random) -> None:
    host, guest = dealt.parties
    stolen = dealt.shown(1, 0, count=3)._replace(card=dealt.points.point(host.cards[0]))
    for branch in range(3):
        assert refused(show(stolen, branch, guest.number, rng))
    replayed = dealt.show(0, 0, count=3)
    assert refused(replayed._replace(statement=stolen))
    check(sodium.combine, replayed)


def test_a_show_for_a_hide_and_a_hide_for_a_show(dealt: Dealt) -> None:
    """Both have the same length. The label keeps them apart also where the statement is alike."""
    shown, hidden = dealt.show(0, 1), dealt.hide(0, 1)
    tokens = dealt.parties[0].tokens[:7]
    point, proof = hidden.texts[0][:32], hidden.texts[0][32:]
    assert len(proof) == len(shown.texts[0])
    check(sodium.combine, shown)
    check(sodium.combine, hidden)
    for each in (point, dealt.shown(0, 1).card):
        assert refused(Sent("hide", HiddenOf(place(0, 9), 0, tokens), (each + shown.texts[0],)))
    for key in (dealt.parties[0].key, blind_point()):
        assert refused(Sent("show", ShownStatement(place(0, 9), 0, key, point, tokens), (proof,)))


# --- hidden cards -----------------------------------------------------------------------------------------------------


def covered(token: bytes, rho: int) -> bytes:
    """C."""
    return total((1, token), (rho, blind_point()))


def lay(hidden: HiddenOf, point: bytes, branch: int, secret: int, rng: random.Random) -> Sent:
    """The hide of somebody who takes a branch for true."""
    return Sent("hide", hidden, (point + prove_hide(sodium.combine, hidden, point, branch, secret, rng),))


@pytest.fixture
def hiding(dealt: Dealt) -> HiddenOf:
    return HiddenOf(place(0, 9), 0, dealt.parties[0].tokens[:7])


@both
def test_a_token_is_not_hidden_by_itself(hiding: HiddenOf, combine: Combine, rng: random.Random) -> None:
    """The number that hides it is 0: the proof would hold."""
    for branch in (0, 4):
        bare = lay(hiding, hiding.tokens[branch], branch, 0, rng)
        assert refused(bare, combine, reason=OPEN)
    check(combine, lay(hiding, covered(hiding.tokens[4], 1), 4, 1, rng))


def test_a_card_that_is_not_held_is_not_hidden(dealt: Dealt, hiding: HiddenOf, rng: random.Random) -> None:
    """A card of the own draw that comes later, one of the other seat, and any point."""
    rho = rng.randrange(1, L)
    host, guest = dealt.parties
    aside = total((host.number, dealt.points.point(guest.cards[0])))
    for token, count in ((host.tokens[8], 7), (guest.tokens[1], 2), (aside, 2), (GENERATOR, 2)):
        for branch in range(count):
            held = hiding._replace(tokens=hiding.tokens[:count])
            assert refused(lay(held, covered(token, rho), branch, rho, rng))
    for branch in range(7):
        check(sodium.combine, lay(hiding, covered(hiding.tokens[branch], rho), branch, rho, rng))


def test_more_than_blinding_is_not_hidden(dealt: Dealt, hiding: HiddenOf, rng: random.Random) -> None:
    rho, token = rng.randrange(1, L), hiding.tokens[2]
    for extra in (GENERATOR, hiding.tokens[3], token, dealt.parties[0].key):
        assert refused(lay(hiding, total((1, covered(token, rho)), (1, extra)), 2, rho, rng))
    check(sodium.combine, lay(hiding, total((1, covered(token, rho)), (5, blind_point())), 2, rho + 5, rng))
    assert refused(lay(hiding, covered(token, rho), 2, rho + 1, rng))
    assert refused(lay(hiding, covered(token, rho), 3, rho, rng))


# --- the close --------------------------------------------------------------------------------------------------------


class Round:
    """A seat's round, in which it may lie: the cards that it shows, and the tokens that it hides."""

    def __init__(self, dealt: Dealt, hidden: Sequence[int], shown: Sequence[int], rng: random.Random) -> None:
        self.party, self.points, self.rng = dealt.parties[0], dealt.points, rng
        self.rhos = [rng.randrange(1, L) for _ in hidden]
        self.hidden = list(hidden)
        self.covered = [covered(self.party.tokens[i], rho) for i, rho in zip(hidden, self.rhos, strict=True)]
        self.shown = [self.points.point(self.party.cards[i]) for i in shown]

    def statement(self, card: int | None = None) -> CloseStatement:
        """That the seat turns up the card of a token, else the one that it has hidden first."""
        turned = self.points.point(self.party.cards[self.hidden[0] if card is None else card])
        tokens, (first, *_) = self.party.tokens, self.covered
        return CloseStatement(
            place(0, 30), self.party.key, turned, first, tuple(self.shown), tuple(self.covered), tokens
        )

    def closed(self, statement: CloseStatement | None = None) -> tuple[Sent, set[int]]:
        """The close of a seat that knows all numbers, and the equations that do not hold."""
        closing = self.statement() if statement is None else statement
        number, total = self.party.number, sum(self.rhos)
        proof, broken = prove_close(sodium.combine, closing, number, self.rhos[0], total, self.rng)
        return Sent("close", closing, (proof,)), broken

    def hides_hold(self) -> None:
        """Each hidden card was taken at its entry."""
        for part, (token, point, rho) in enumerate(zip(self.hidden, self.covered, self.rhos, strict=True)):
            tokens = self.party.tokens[: token + 1]
            check(sodium.combine, lay(HiddenOf(place(0, 9), part, tokens), point, token, rho, self.rng))


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ((0, 1, 2), (3, 4, 5, 6, 7, 8, 1)),  # 1 is hidden and shown; 9 is neither
        ((0, 1, 2), (3, 4, 5, 6, 7, 8, 0)),
        ((0, 1, 3), (3, 4, 5, 6, 7, 8, 9)),  # 3 is shown and hidden; 2 is neither
        ((3, 1, 2), (3, 4, 5, 6, 7, 8, 9)),
        ((0, 1, 1), (3, 4, 5, 6, 7, 8, 9)),  # 1 is hidden twice; 2 is neither
        ((0, 0, 1), (3, 4, 5, 6, 7, 8, 9)),
        ((0, 1), (2, 3, 4, 5, 6, 7, 8)),  # 9 is kept back
        ((0, 1, 2), (3, 4, 5, 6, 7, 8, 9, 9)),
    ],
)
def test_each_token_is_used_once(dealt: Dealt, hidden: Sequence[int], shown: Sequence[int], rng: random.Random) -> None:
    cheat = Round(dealt, hidden, shown, rng)
    cheat.hides_hold()
    sent, broken = cheat.closed()
    assert broken == {3}
    for combine in BACKENDS.values():
        assert refused(sent, combine)


@both
def test_each_token_once_is_a_close(dealt: Dealt, combine: Combine, rng: random.Random) -> None:
    """The steps of the cheats, without a lie."""
    honest = Round(dealt, (0, 1, 2), (3, 4, 5, 6, 7, 8, 9), rng)
    honest.hides_hold()
    sent, broken = honest.closed()
    assert broken == set()
    check(combine, sent)


def test_another_card_than_was_hidden(dealt: Dealt, rng: random.Random) -> None:
    """Also one that is hidden itself, and one of the same kind."""
    honest = Round(dealt, (0, 1, 2), (3, 4, 5, 6, 7, 8, 9), rng)
    for card in (1, 2, 5):
        sent, broken = honest.closed(honest.statement(card))
        assert broken == {2}
        for combine in BACKENDS.values():
            assert refused(sent, combine)
    sent, broken = honest.closed(honest.statement()._replace(counts=honest.covered[1]))
    assert broken == {2}
    assert refused(sent)
    check(sodium.combine, honest.closed()[0])


def test_a_close_by_another_key(dealt: Dealt, rng: random.Random) -> None:
    honest = Round(dealt, (0, 1, 2), (3, 4, 5, 6, 7, 8, 9), rng)
    sent, broken = honest.closed(honest.statement()._replace(key=dealt.parties[1].key))
    assert broken == {1}
    for combine in BACKENDS.values():
        assert refused(sent, combine)
    check(sodium.combine, honest.closed()[0])


def test_other_sums(dealt: Dealt, rng: random.Random) -> None:
    """A prover who knows all numbers closes with other cards, tokens or hidden points."""
    honest = Round(dealt, (0, 1, 2), (3, 4, 5, 6, 7, 8, 9), rng)
    true = honest.statement()
    other = dealt.parties[1]
    for false in (
        true._replace(shown=(*true.shown[1:], dealt.points.point(other.cards[0]))),
        true._replace(tokens=(*true.tokens[1:], other.tokens[0])),
        true._replace(tokens=true.tokens[1:]),
        true._replace(hidden=(true.hidden[0], *true.hidden[2:])),
        true._replace(hidden=(*true.hidden[:2], total((1, true.hidden[2]), (1, GENERATOR)))),
    ):
        sent, broken = honest.closed(false)
        assert broken == {3}
        assert refused(sent)
    check(sodium.combine, honest.closed(true)[0])


def test_the_order_of_the_cards_does_not_count(dealt: Dealt, rng: random.Random) -> None:
    """Sums have no order: a close holds for the same cards, however they are listed."""
    sent, _ = Round(dealt, (0, 1, 2), (3, 4, 5, 6, 7, 8, 9), rng).closed()
    assert isinstance(sent.statement, CloseStatement)
    turned = sent.statement._replace(shown=sent.statement.shown[::-1], tokens=sent.statement.tokens[::-1])
    check(sodium.combine, sent._replace(statement=turned))
