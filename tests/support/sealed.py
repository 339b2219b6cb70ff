"""One round of a sealed game without its course, and a proof of each kind, as bytes that an entry brings.

`deal` makes two locks and all tokens; `Dealt` makes statements and proofs from them. A `Sent` is a proof with its
statement, so that tests can change any byte, or the statement, and `check` it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.sealed import plain, sodium
from hkoji.sealed.cards import CardPoints, card_points
from hkoji.sealed.group import Combine
from hkoji.sealed.lock import Lock, make_lock, verify_lock
from hkoji.sealed.proofs import (
    CloseStatement,
    HiddenStatement,
    ShareStatement,
    ShownStatement,
    hide,
    make_close,
    make_hidden,
    make_share,
    make_shown,
    verify_close,
    verify_hidden,
    verify_share,
    verify_shown,
)
from hkoji.sealed.ristretto import ORDER
from hkoji.sealed.seal import Seal
from hkoji.sealed.transcript import NonceSource, Place

BACKENDS: Final[Mapping[str, Combine]] = {"plain": plain.combine, "sodium": sodium.combine}
GAME: Final = "2714f3b33c7ecb05393f34920c14fec3"
OTHER_GAME: Final = "9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77"
HANAMIKOJI: Final = card_points("hanamikoji", Hanamikoji().pack)
GEISHAS_ROAD: Final = card_points("geishas-road", GeishasRoad().pack)
POSITIONS: Final = {seat: (*range(6 * seat, 6 * seat + 6), *range(12 + 4 * seat, 16 + 4 * seat)) for seat in (0, 1)}
"""The positions of a seat in the order in which it gets them: its hand, and its four draws."""

Kind: TypeAlias = Literal["lock", "share", "show", "hide", "close"]
KINDS: Final[tuple[Kind, ...]] = ("lock", "share", "show", "hide", "close")


class LockOf(NamedTuple):
    """The statement of a lock but for what the entry brings."""

    place: Place
    before: tuple[bytes, ...]


class HiddenOf(NamedTuple):
    """The statement of a hidden card but for what the entry brings."""

    place: Place
    part: int
    tokens: tuple[bytes, ...]


Statement: TypeAlias = LockOf | ShareStatement | ShownStatement | HiddenOf | CloseStatement


class Sent(NamedTuple):
    """A proof as an entry brings it. A lock has three texts: deck, key and proof. The others have one."""

    kind: Kind
    statement: Statement
    texts: tuple[bytes, ...]

    def fields(self) -> list[tuple[int, int, int, str]]:
        """The number of the text, begin and end of each point, scalar and short challenge, and which of them it is."""
        return [
            (text, begin, begin + size, sort)
            for text, sorts in enumerate(self._sorts())
            for begin, size, sort in _placed(sorts)
        ]

    def with_bytes(self, text: int, begin: int, end: int, value: bytes) -> Sent:
        """The same with other bytes in one place."""
        changed = list(self.texts)
        changed[text] = changed[text][:begin] + value + changed[text][end:]
        return self._replace(texts=tuple(changed))

    def with_bit(self, bit: int) -> Sent:
        """The same with one bit changed, counted through all texts."""
        for text, raw in enumerate(self.texts):
            if bit < 8 * len(raw):
                at = bit // 8
                return self.with_bytes(text, at, at + 1, bytes([raw[at] ^ 1 << bit % 8]))
            bit -= 8 * len(raw)
        raise IndexError(bit)

    def bits(self) -> int:
        """How many bits there are."""
        return 8 * sum(map(len, self.texts))

    def _sorts(self) -> tuple[list[str], ...]:
        branches = ["short", "scalar"]
        match self.statement:
            case LockOf(_, before):
                size = len(before)
                return ["point"] * size, ["point"], ["point"] * 2 * size + ["scalar"] * (2 * size + 5)
            case ShareStatement(at=at):
                return (["point"] * len(at) + branches,)
            case ShownStatement(tokens=tokens):
                return (branches * len(tokens),)
            case HiddenOf(tokens=tokens):
                return (["point"] + branches * len(tokens),)
            case CloseStatement():
                return (["short"] + ["scalar"] * 3,)


def _placed(sorts: Sequence[str]) -> list[tuple[int, int, str]]:
    found, begin = [], 0
    for sort in sorts:
        size = 16 if sort == "short" else 32
        found.append((begin, size, sort))
        begin += size
    return found


def points_in(text: bytes) -> tuple[bytes, ...]:
    """A text of points cut into them; the last is shorter if the length is not right."""
    return tuple(text[begin : begin + 32] for begin in range(0, len(text), 32))


def check(combine: Combine, sent: Sent) -> None:
    """Judges a proof. Raises what the package raises."""
    match sent.statement, sent.texts:
        case LockOf(place, before), (deck, key, proof):
            verify_lock(combine, place, before, Lock(points_in(deck), key, proof))
        case ShareStatement() as share, (shares,):
            verify_share(combine, share, shares)
        case ShownStatement() as shown, (proof,):
            verify_shown(combine, shown, proof)
        case HiddenOf(place, part, tokens), (text,):
            verify_hidden(combine, HiddenStatement(place, part, text[:32], tokens), text[32:])
        case CloseStatement() as closing, (proof,):
            verify_close(combine, closing, proof)
        case _:
            raise TypeError(sent.kind)


class Party(NamedTuple):
    """One seat with all that it has in the round."""

    seal: Seal
    number: int
    """k of its lock."""
    order: tuple[int, ...]
    lock: Sent
    cards: tuple[str, ...]
    """The cards of its ten tokens."""
    tokens: tuple[bytes, ...]

    @property
    def key(self) -> bytes:
        """K."""
        return self.lock.texts[1]


def place(seat: int, seq: int, round_: int = 1) -> Place:
    """A place in the game; `prev` follows from the `seq`."""
    return Place(GAME, seat, round_, seq, hashlib.sha256(b"%d" % seq).hexdigest())


def secret(name: str) -> bytes:
    """32 bytes that anybody can compute again."""
    return hashlib.sha256(f"hkoji test vector {name}".encode()).digest()


def constant(count: int) -> bytes:
    """A source of fresh bytes that always gives the same."""
    return bytes(count)


class Dealt(NamedTuple):
    """A round whose cards are dealt. Each method makes an honest proof; `nonces` are those of the seat's seal."""

    name: str
    combine: Combine
    points: CardPoints
    parties: tuple[Party, ...]

    @property
    def deck(self) -> tuple[bytes, ...]:
        """The deck of the second lock."""
        return points_in(self.parties[1].lock.texts[0])

    def nonces(self, seat: int) -> NonceSource:
        """Nonces that are the same each time."""
        return self.parties[seat].seal.nonces(constant)

    def share_of(self, giver: int, numbers: Sequence[int]) -> ShareStatement:
        """The statement of a share of the other seat's positions with these numbers, 0 to 9."""
        at = tuple(POSITIONS[1 - giver][number] for number in numbers)
        return ShareStatement(GAME, giver, 1, at, self.parties[giver].key, tuple(self.deck[index] for index in at))

    def share(self, giver: int, numbers: Sequence[int]) -> Sent:
        statement = self.share_of(giver, numbers)
        made = make_share(self.combine, statement, self.parties[giver].number, self.nonces(giver))
        return Sent("share", statement, (made,))

    def shown(self, seat: int, token: int, *, part: int = 0, count: int = 7, seq: int = 9) -> ShownStatement:
        """The statement that the seat, with `count` tokens, shows the card of one of its ten tokens."""
        party = self.parties[seat]
        card = self.points.point(party.cards[token])
        return ShownStatement(place(seat, seq), part, party.key, card, party.tokens[:count])

    def show(self, seat: int, token: int, *, part: int = 0, count: int = 7, seq: int = 9) -> Sent:
        statement = self.shown(seat, token, part=part, count=count, seq=seq)
        made = make_shown(self.combine, statement, token, self.parties[seat].number, self.nonces(seat))
        return Sent("show", statement, (made,))

    def blinding(self, seat: int, token: int, *, part: int = 0, seq: int = 9) -> int:
        """The number that hides a card."""
        at = place(seat, seq)
        return self.parties[seat].seal.blinding(at.round, at.prev, seq, "1X", part, token)

    def hide(self, seat: int, token: int, *, part: int = 0, count: int = 7, seq: int = 9) -> Sent:
        tokens, at = self.parties[seat].tokens, place(seat, seq)
        blinding = self.blinding(seat, token, part=part, seq=seq)
        point = hide(self.combine, tokens[token], blinding)
        made = make_hidden(
            self.combine, HiddenStatement(at, part, point, tokens[:count]), token, blinding, self.nonces(seat)
        )
        return Sent("hide", HiddenOf(at, part, tokens[:count]), (point + made,))

    def closing(
        self, seat: int, hidden: Sequence[int] = (2, 5, 8), *, seq: int = 30
    ) -> tuple[CloseStatement, list[int]]:
        """The statement of a close with its blindings: the first of the hidden tokens counts, the rest is shown."""
        party = self.parties[seat]
        blindings = [self.blinding(seat, token, part=part) for part, token in enumerate(hidden)]
        covered = tuple(hide(self.combine, party.tokens[i], rho) for i, rho in zip(hidden, blindings, strict=True))
        shown = tuple(self.points.point(card) for index, card in enumerate(party.cards) if index not in hidden)
        card = self.points.point(party.cards[hidden[0]])
        return CloseStatement(place(seat, seq), party.key, card, covered[0], shown, covered, party.tokens), blindings

    def close(self, seat: int, hidden: Sequence[int] = (2, 5, 8), *, seq: int = 30) -> Sent:
        statement, blindings = self.closing(seat, hidden, seq=seq)
        number = self.parties[seat].number
        made = make_close(self.combine, statement, number, blindings[0], sum(blindings), self.nonces(seat))
        return Sent("close", statement, (made,))

    def one_of_each(self) -> dict[Kind, Sent]:
        """A proof of each kind; the lock is the second one."""
        return {
            "lock": self.parties[1].lock,
            "share": self.share(0, (0, 1, 2, 3, 4, 5, 6)),
            "show": self.show(0, 3),
            "hide": self.hide(0, 4),
            "close": self.close(1),
        }


def seal_of(name: str, seat: int) -> Seal:
    """The seal of a seat in `GAME`."""
    return Seal(secret(f"{name} sealed key {seat}"), GAME, seat)


def locked(name: str, combine: Combine, at: Place, before: Sequence[bytes]) -> tuple[Seal, int, tuple[int, ...], Sent]:
    """The lock of a seat, with its number and its permutation."""
    seal, entropy = seal_of(name, at.seat), secret(f"{name} entropy {at.seat}").hex()
    made_of = (at.round, at.prev, entropy, secret(f"{name} salt {at.seat}").hex())
    number, order = seal.lock_number(*made_of), seal.lock_order(len(before), *made_of)
    lock = make_lock(combine, at, before, number, order, seal.nonces(constant))
    return (
        seal,
        number,
        tuple(order),
        Sent("lock", LockOf(at, tuple(before)), (b"".join(lock.deck), lock.key, lock.proof)),
    )


def deal(name: str, combine: Combine = sodium.combine, points: CardPoints = HANAMIKOJI) -> Dealt:
    """Deals a round, whose secrets follow from the name."""
    host, host_number, host_order, first = locked(name, combine, place(0, 1), points.points)
    guest, guest_number, guest_order, second = locked(name, combine, place(1, 3), points_in(first.texts[0]))
    cards = [points.cards[host_order[index]] for index in guest_order]
    deck = points_in(second.texts[0])
    parties = []
    for seat, (seal, number, other, order, lock) in enumerate(
        ((host, host_number, guest_number, host_order, first), (guest, guest_number, host_number, guest_order, second))
    ):
        inverse, at = pow(other, -1, ORDER), POSITIONS[seat]
        tokens = tuple(combine((inverse, deck[index])) for index in at)
        parties.append(Party(seal, number, order, lock, tuple(cards[index] for index in at), tokens))
    return Dealt(name, combine, points, tuple(parties))


def small(name: str, combine: Combine = sodium.combine) -> dict[Kind, Sent]:
    """A proof of each kind with as few cards as there can be: a lock of two, and two tokens or positions."""
    dealt = deal(name, combine)
    *_, lock = locked(name, combine, place(0, 1), HANAMIKOJI.points[:2])
    return {
        "lock": lock,
        "share": dealt.share(0, (0, 6)),
        "show": dealt.show(0, 1, count=2),
        "hide": dealt.hide(0, 0, count=2),
        "close": dealt.close(1),
    }
