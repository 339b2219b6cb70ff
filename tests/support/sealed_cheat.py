"""A player of a sealed game who makes the parts of entries by hand: true ones, or false ones with the best proof.

A false statement has no proof. So each is proved as its true neighbour would be: the transcript has the lie in it, and
the responses are those of the secrets that the player has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hkoji.game.course import Course
from hkoji.game.entry_kinds import Move
from hkoji.game.parts import NO_PARTS, Parts
from hkoji.game.sealed_parts import ClosePart, GivePart, HidePart, LockPart, ShowPart
from hkoji.game.sealing import Acting, SealedRound, act, demand_of_move
from hkoji.rules.events import Seat
from hkoji.rules.protocol import DECISION_KINDS, Due
from hkoji.sealed import lock as locks
from hkoji.sealed import proofs
from hkoji.sealed.cards import card_points
from hkoji.sealed.group import GENERATOR, write_scalars, write_short
from hkoji.sealed.proofs import CloseStatement, HiddenStatement, ShareStatement, ShownStatement
from hkoji.sealed.ristretto import ORDER
from hkoji.sealed.seal import Seal
from hkoji.sealed.sodium import combine
from hkoji.sealed.transcript import Place
from tests.support.sealed_table import SealedTable

LOCK_SALT: Final = bytes(range(32))
"""That of locks which are made here."""


class Cheat:
    """The secrets of a seat at a table, and its game up to now. Its next lock has that `salt`."""

    def __init__(self, table: SealedTable, seat: Seat, salt: bytes = LOCK_SALT) -> None:
        self.table, self.seat, self.salt = table, seat, salt
        self.seal = Seal(table.sealed_keys[seat], table.game, seat)
        ruleset = table.course.setup.ruleset
        self.points = card_points(ruleset.name, ruleset.pack)
        self.nonces = self.seal.nonces(table.random.randbytes)

    @property
    def course(self) -> Course:
        """The game as anybody knows it."""
        return self.table.course

    @property
    def now(self) -> SealedRound:
        """The cards of the round that is played."""
        assert self.course.sealed is not None
        return self.course.sealed.now

    @property
    def coming(self) -> SealedRound:
        """The cards of the round that is being prepared."""
        assert self.course.sealed is not None
        return self.course.sealed.coming

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """The own tokens of the round."""
        return self.now.tokens(self.seat)

    @property
    def cards(self) -> tuple[str, ...]:
        """The own cards of the round, as copies, in the order of the tokens."""
        return self.table.sealers[self.seat].cards(self.now)

    def place(self, number: int | None = None) -> Place:
        """The place of the next entry, for the round that is played or for another one."""
        number = self.now.number if number is None else number
        return Place(self.table.game, self.seat, number, self.course.seq + 1, self.course.head)

    def number(self, dealt: SealedRound) -> int:
        """The number of the own lock of a round."""
        prev, salt = dealt.prevs[self.seat], dealt.salts[self.seat].hex()
        return self.seal.lock_number(dealt.number, prev, self.table.entropy[self.seat], salt)

    def key(self, dealt: SealedRound) -> bytes:
        """The key of the own lock of a round."""
        key = dealt.keys[self.seat]
        assert key is not None
        return key

    # --- locks and shares ---------------------------------------------------------------------------------------------

    def before(self) -> tuple[bytes, ...]:
        """The deck that the next lock is made of."""
        return self.coming.decks[-1] if self.coming.decks else self.points.points

    def fresh(self) -> tuple[int, list[int]]:
        """The number and the order of the next own lock."""
        at = self.coming.number, self.course.head, self.table.entropy[self.seat], self.salt.hex()
        return self.seal.lock_number(*at), self.seal.lock_order(len(self.before()), *at)

    def lock(
        self,
        *,
        deck: Sequence[bytes] | None = None,
        key: bytes | None = None,
        number: int | None = None,
        before: Sequence[bytes] | None = None,
        place: Place | None = None,
    ) -> LockPart:
        """The next own lock; what is given stands in the place of what is true."""
        own, order = self.fresh()
        number, before = own if number is None else number, self.before() if before is None else before
        place = self.place(self.coming.number) if place is None else place
        true = tuple(combine((number, before[index])) for index in order)
        said = locks.Lock(true if deck is None else tuple(deck), key or combine((number, GENERATOR)), b"")
        proof = locks._prove(combine, place, before, said, number, order, self.nonces)
        return LockPart(said.deck, said.key, proof, self.salt)

    def give(
        self,
        positions: tuple[int, ...],
        dealt: SealedRound,
        *,
        tokens: Sequence[bytes] | None = None,
        number: int | None = None,
        **said: Any,  # Any: fields of a statement
    ) -> GivePart:
        """A share of positions; `said` replaces fields of its statement."""
        deck = tuple(dealt.decks[1][position] for position in positions)
        share = ShareStatement(self.table.game, self.seat, dealt.number, positions, self.key(dealt), deck)
        share = share._replace(**said)
        number = self.number(dealt) if number is None else number
        tokens = self.take_off(deck, number) if tokens is None else tuple(tokens)
        state = proofs._share_state(share, tokens)
        nonce = self.nonces(state).scalar()
        challenge = state.absorb(*(combine((nonce, point)) for point in (GENERATOR, *tokens))).short()
        proof = write_short(challenge) + write_scalars(nonce + challenge * number)
        return GivePart(positions, dealt.number, b"".join(tokens) + proof)

    def take_off(self, deck: Sequence[bytes], number: int) -> tuple[bytes, ...]:
        """Points with a number taken off them."""
        inverse = pow(number, -1, ORDER)
        return tuple(combine((inverse, point)) for point in deck)

    # --- cards that are played ----------------------------------------------------------------------------------------

    def show(self, *copies: str, place: Place | None = None, first: int = 0, key: bytes | None = None) -> ShowPart:
        """Shows cards, held or not; `first` is the number of the first one in its action."""
        cards, number, made = self.cards, self.number(self.now), []
        for part, copy in enumerate(copies, first):
            card = self.points.point(copy)
            shown = ShownStatement(place or self.place(), part, key or self.key(self.now), card, self.tokens)
            index = cards.index(copy) if copy in cards else 0
            made.append(proofs.make_shown(combine, shown, index, number, self.nonces))
        return ShowPart(copies, b"".join(made))

    def blinding(self, action: str, part: int, index: int) -> int:
        """The number that hides a token in the next entry."""
        return self.seal.blinding(self.now.number, self.course.head, self.course.seq + 1, action, part, index)

    def hide(
        self,
        action: str,
        *indices: int,
        place: Place | None = None,
        first: int = 0,
        points: Sequence[bytes] = (),
        numbers: Sequence[int] = (),
    ) -> HidePart:
        """Hides the tokens with these indices; `points` and `numbers` stand in the place of those that hide them."""
        made = []
        for part, index in enumerate(indices, first):
            number = numbers[part - first] if numbers else self.blinding(action, part, index)
            true = proofs.hide(combine, self.tokens[index], number)
            point = points[part - first] if points else true
            hidden = HiddenStatement(place or self.place(), part, point, self.tokens)
            made.append(point + proofs.make_hidden(combine, hidden, index, number, self.nonces))
        return HidePart(tuple(made))

    def close(
        self, card: str, blinding: int, all_blindings: int, *, place: Place | None = None, **said: Any
    ) -> ClosePart:
        """Turns up a card; `said` replaces fields of the statement."""
        hidden = self.now.hidden[self.seat]
        closing = CloseStatement(
            place or self.place(),
            self.key(self.now),
            self.points.point(card),
            next(each.point for each in hidden if each.counts),
            tuple(map(self.points.point, self.now.shown[self.seat])),
            tuple(each.point for each in hidden),
            self.tokens,
        )._replace(**said)
        number = self.number(self.now)
        return ClosePart(card, proofs.make_close(combine, closing, number, blinding, all_blindings, self.nonces))

    # --- whole moves --------------------------------------------------------------------------------------------------

    def move(self, action: str, played: Parts = NO_PARTS) -> Move:
        """A decision with all that it must bring but a close; an action plays the cards of `played`."""
        course, sealed = self.course, self.course.sealed
        assert sealed is not None
        acts, ruleset = course.state.due is Due.ACT, course.setup.ruleset
        if acts:
            acting = Acting(self.seat, action, course.seq + 1, course.head)
            sealed = sealed._replace(now=act(sealed.now, ruleset, acting, played))
        after = course.state.apply(DECISION_KINDS[course.state.due](self.seat, action))
        demand = demand_of_move(sealed, after, course.draws, self.seat, acts=acts)
        assert not demand.close
        lock = self.lock() if demand.lock else None
        give = None if demand.give is None else self.give(demand.give[1], sealed.round(demand.give[0]))
        return Move(action, (), None, played._replace(lock=lock, give=give))

    def competition(self, *copies: str) -> Move:
        """A competition of these cards; the first two are a pair."""
        pairs = sorted((sorted(copies[:2]), sorted(copies[2:])), key=lambda pair: [copy[0] for copy in pair])
        shown = [copy for pair in pairs for copy in pair]
        return self.move("4" + "".join(copy[0] for copy in shown), Parts(show=self.show(*shown)))

    def gift(self, *copies: str, **how: Any) -> Move:  # Any: arguments of `show`
        """A gift of these cards."""
        shown = sorted(copies)
        return self.move("3" + "".join(copy[0] for copy in shown), Parts(show=self.show(*shown, **how)))
