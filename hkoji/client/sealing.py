"""A player's side of a sealed game: reading the own cards, and making what an entry must bring.

docs/spec/sealed.md, "How a client makes them". It is pure: the caller passes the player's sealed key, entropy and fresh
random bytes. Everything else is in the log, so every home with the same key and entropy finds the same cards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, Generic, NamedTuple, TypeVar

from hkoji.errors import MissingCardsError, TrustError
from hkoji.game.commitments import Opening
from hkoji.game.course import Course
from hkoji.game.entry_kinds import Move, Release
from hkoji.game.knowledge import SeatKnowledge
from hkoji.game.parts import Parts
from hkoji.game.sealed_parts import SALT, ClosePart, GivePart, HidePart, LockPart, ShowPart
from hkoji.game.sealing import (
    Acting,
    Demand,
    HiddenCard,
    Sealed,
    SealedRound,
    act,
    blank_deal,
    demand_of_move,
    demand_of_release,
    demand_of_seed,
    deposit_place,
    deposit_with_seed,
    reveals,
    turn_up,
)
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.rules.protocol import DECISION_KINDS, Due, Ruleset
from hkoji.sealed import sodium
from hkoji.sealed.cards import CardPoints, card_points
from hkoji.sealed.group import GENERATOR
from hkoji.sealed.lock import make_lock
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
)
from hkoji.sealed.ristretto import ORDER
from hkoji.sealed.seal import Seal
from hkoji.sealed.sodium import combine
from hkoji.sealed.transcript import Place

_Body = TypeVar("_Body", Move, Parts, Release)


class Made(NamedTuple, Generic[_Body]):
    """The part of an entry that was made, and the draw that goes to the service with it, if there is one to deposit.

    The service can show a deposit to the other player before that player answers. Without it that player waits for a
    `release`.
    """

    body: _Body
    deposit: GivePart | None


class OwnCards(NamedTuple):
    """The own cards of a seat in one round, in order, and the openings of those that it has hidden.

    The openings are by the number of the entry, and have no salt.
    """

    cards: tuple[str, ...]
    openings: Mapping[int, tuple[Opening, ...]]


def rounds_of(courses: Iterable[Course]) -> list[SealedRound]:
    """Each round that has begun, as far as it was played, from the game after each entry."""
    rounds = {course.sealed.now.number: course.sealed.now for course in courses if course.sealed is not None}
    return [rounds[number] for number in sorted(rounds) if number]


def seat_knowledge(seat: Seat, rounds: Iterable[OwnCards]) -> SeatKnowledge:
    """The knowledge of a seat with these own cards of all rounds."""
    found = tuple(rounds)
    openings = {seq: opened for each in found for seq, opened in each.openings.items()}
    return SeatKnowledge(seat, tuple(each.cards for each in found), openings)


class Sealer:
    """The secrets of one seat in one game: `key` is the player's sealed key, `entropy` what the seat reveals.

    `fresh` takes a number and returns that many random bytes. Raises `UsageError` where PyNaCl is not installed.
    """

    def __init__(
        self, key: bytes, game: str, seat: Seat, entropy: str, ruleset: Ruleset, fresh: Callable[[int], bytes]
    ) -> None:
        sodium.require()
        self._seal: Final = Seal(key, game, seat)
        self._game: Final = game
        self._seat: Final = seat
        self._entropy: Final = entropy
        self._ruleset: Final = ruleset
        self._points: Final[CardPoints] = card_points(ruleset.name, ruleset.pack)
        self._nonces: Final = self._seal.nonces(fresh)
        self._fresh: Final = fresh
        self._found: Final[dict[tuple[tuple[bytes, ...], HiddenCard], tuple[int, int]]] = {}
        """The results of `_hidden`: a command asks several times, and each costs ten products."""

    # --- reading --------------------------------------------------------------------------------------------------

    def cards(self, dealt: SealedRound) -> tuple[str, ...]:
        """The own cards of a round, as copies, in the order in which they were given.

        Raises `TrustError` if they are not different cards of the game: then a lock was false.
        """
        inverse = pow(self._number(dealt), -1, ORDER)
        found = [combine((inverse, token)) for token in dealt.tokens(self._seat)]
        if not set(found) <= set(self._points.points) or len(set(found)) != len(found):
            raise TrustError(tell("cards that you have got in round {round} are none", round=dealt.number))
        return tuple(self._points.cards[self._points.points.index(point)] for point in found)

    def own(self, dealt: SealedRound) -> OwnCards:
        """The own cards of a round as the rules name them, and those that were hidden."""
        cards = self.cards(dealt)
        hidden: dict[tuple[int, str], list[str]] = {}
        for each, (token, _) in zip(dealt.hidden[self._seat], self._hidden(dealt), strict=True):
            hidden.setdefault((each.seq, each.action), []).append(self._points.kind(cards[token]))
        openings = {seq: tuple(self._open(seq, action, kinds)) for (seq, action), kinds in hidden.items()}
        return OwnCards(tuple(map(self._points.kind, cards)), openings)

    def _open(self, seq: int, action: str, kinds: list[str]) -> Iterable[Opening]:
        begin = 0
        for part, group in enumerate(self._ruleset.hidden(action)):
            size = len(self._ruleset.pack.split(group.cards))
            yield Opening(seq, part, "".join(kinds[begin : begin + size]), "")
            begin += size

    def has_made(self, dealt: SealedRound) -> bool:
        """Whether the own lock of a round was made with this sealed key and entropy."""
        return combine((self._lock_number(dealt), GENERATOR)) == dealt.keys[self._seat]

    def hides(self, dealt: SealedRound, before: SealedRound, action: str) -> str:
        """The action with the own cards, of a seat that hides them with it: `dealt` is the round after it."""
        new = dealt.hidden[self._seat][len(before.hidden[self._seat]) :]
        indices = [index for index, _ in self._hidden(dealt)][-len(new) :]
        cards = self.cards(dealt)
        kinds = [self._points.kind(cards[index]) for index in indices]
        return self._ruleset.complete(action, tuple(each.cards for each in self._open(0, action, kinds)))

    def _lock_number(self, dealt: SealedRound) -> int:
        seat = self._seat
        return self._seal.lock_number(dealt.number, dealt.prevs[seat], self._entropy, dealt.salts[seat].hex())

    def _number(self, dealt: SealedRound) -> int:
        """The number of the own lock. Raises `TrustError` if the sealed key here is not the one that made it."""
        if not self.has_made(dealt):
            raise TrustError(
                tell("round {round} was not locked with the sealed key and entropy of this home", round=dealt.number),
                hint=tell("nothing was made; copy `sealed.key` from the machine that did"),
            )
        return self._lock_number(dealt)

    def _hidden(self, dealt: SealedRound) -> list[tuple[int, int]]:
        """For each own hidden card the index of its token, and the number that hides it."""
        tokens = dealt.tokens(self._seat)
        found = []
        for each in dealt.hidden[self._seat]:
            if (tokens, each) not in self._found:
                made_of = (dealt.number, each.prev, each.seq, each.action, each.part)
                blindings = [self._seal.blinding(*made_of, index) for index in range(len(tokens))]
                # All are tried, also behind the right one: else the time would tell the service which it is.
                points = list(map(partial(hide, combine), tokens, blindings))
                if each.point not in points:
                    raise TrustError(tell("entry {seq} was not made with the sealed key of this home", seq=each.seq))
                index = points.index(each.point)
                self._found[tokens, each] = (index, blindings[index])
            found.append(self._found[tokens, each])
        return found

    # --- making ---------------------------------------------------------------------------------------------------

    def open(self, course: Course) -> Parts:
        """The parts of the `open` that follows `course`."""
        return self._demanded(course, _sealed(course), Demand(lock=True))[0]

    def seed(self, course: Course, *, deposit: bool = False) -> Made[Parts]:
        """The parts of the own `seed` that follows `course`."""
        parts, sealed = self._demanded(course, _sealed(course), demand_of_seed(self._ruleset, self._seat))
        share = self._deposit(sealed, deposit_with_seed(self._ruleset, self._seat)) if deposit else None
        return Made(_naming(parts, share), share)

    def move(self, course: Course, action: str, *, deposit: bool = False) -> Made[Move]:
        """The decision that follows `course`, which has the own cards; `action` is canonical and names all cards.

        Raises `IllegalError` if it is not legal.
        """
        state, sealed, seat = course.state, _sealed(course), self._seat
        applied = state.apply(DECISION_KINDS[state.due](seat, action))
        acts = state.due is Due.ACT
        public, parts = (self._ruleset.public(action) if acts else action), Parts()
        if acts:
            parts = self._play(course, sealed.now, action, public)
            acting = Acting(seat, public, course.seq + 1, course.head)
            sealed = sealed._replace(now=act(sealed.now, self._ruleset, acting, parts))
        demand = demand_of_move(sealed, applied, course.draws, seat, acts=acts)
        more, sealed = self._demanded(course, sealed, demand)
        share = self._deposit(sealed, deposit_place(sealed, applied, course.draws, seat)) if deposit else None
        parts = _naming(more._replace(show=parts.show, hide=parts.hide), share)
        return Made(Move(public, (), None, parts), share)

    def release(self, course: Course, *, deposit: bool = False) -> Made[Release]:
        """The release that the own seat owes after `course`."""
        sealed, state, close = _sealed(course), course.state, None
        if state.due is Due.REVEAL:
            close = self._close(course, sealed.now)
            sealed = sealed._replace(now=turn_up(sealed.now, self._ruleset, self._seat, close))
            for reveal in reveals(sealed, state):
                state = state.apply(reveal)
        demand = demand_of_release(sealed, state, course.draws, self._seat)
        parts, sealed = self._demanded(course, sealed, demand._replace(close=False))
        draws = course.draws
        if state.due is Due.DEAL:
            state, sealed, draws = state.apply(blank_deal(self._ruleset)), sealed.begun(), (0, 0)
        share = self._deposit(sealed, deposit_place(sealed, state, draws, self._seat)) if deposit else None
        return Made(Release(_naming(parts._replace(close=close), share)), share)

    def _deposit(self, sealed: Sealed, place: tuple[int, int] | None) -> GivePart | None:
        """The share that the service may keep, if there is one."""
        return None if place is None or sealed.has_deposit(place) else self._give(sealed, place[0], (place[1],))

    def _demanded(self, course: Course, sealed: Sealed, demand: Demand) -> tuple[Parts, Sealed]:
        lock = self._lock(course, sealed.coming) if demand.lock else None
        sealed = sealed.with_lock(self._seat, lock, course.head)
        close = self._close(course, sealed.now) if demand.close else None
        give = self._give(sealed, *demand.give) if demand.give is not None else None
        return Parts(lock=lock, give=give, close=close), sealed

    def _place(self, course: Course, number: int) -> Place:
        return Place(self._game, self._seat, number, course.seq + 1, course.head)

    def _lock(self, course: Course, coming: SealedRound) -> LockPart:
        before = coming.decks[-1] if coming.decks else self._points.points
        place, salt = self._place(course, coming.number), self._fresh(SALT)
        number = self._seal.lock_number(coming.number, course.head, self._entropy, salt.hex())
        order = self._seal.lock_order(len(before), coming.number, course.head, self._entropy, salt.hex())
        return LockPart(*make_lock(combine, place, before, number, order, self._nonces), salt)

    def _give(self, sealed: Sealed, number: int, at: tuple[int, ...]) -> GivePart:
        dealt = sealed.round(number)
        key = dealt.keys[self._seat]
        assert key is not None
        deck = tuple(dealt.decks[1][position] for position in at)
        share = ShareStatement(self._game, self._seat, number, at, key, deck)
        return GivePart(at, number, make_share(combine, share, self._number(dealt), self._nonces))

    def _play(self, course: Course, now: SealedRound, action: str, public: str) -> Parts:
        """Shows or hides the cards of an action: of equal ones those that come first, so that no copy tells a thing."""
        tokens, key, number = now.tokens(self._seat), now.keys[self._seat], self._number(now)
        assert key is not None
        cards, place = self.cards(now), self._place(course, now.number)
        used = {*now.shown[self._seat], *(cards[index] for index, _ in self._hidden(now))}
        left = [copy for copy in self._seal.copies(cards, now.number, key) if copy not in used]
        played = []
        for kind in self._ruleset.pack.split(action[1:]):
            copy = next((copy for copy in left if self._points.kind(copy) == kind), None)
            if copy is None:
                raise MissingCardsError(action, tell("any {kind} card", kind=kind))
            left.remove(copy)
            played.append(copy)
        if public == action:
            proofs = []
            for part, copy in enumerate(played):
                shown = ShownStatement(place, part, key, self._points.point(copy), tokens)
                proofs.append(make_shown(combine, shown, cards.index(copy), number, self._nonces))
            return Parts(show=ShowPart(tuple(played), b"".join(proofs)))
        hidden = []
        for part, copy in enumerate(played):
            index = cards.index(copy)
            blinding = self._seal.blinding(now.number, course.head, course.seq + 1, public, part, index)
            point = hide(combine, tokens[index], blinding)
            statement = HiddenStatement(place, part, point, tokens)
            hidden.append(point + make_hidden(combine, statement, index, blinding, self._nonces))
        return Parts(hide=HidePart(tuple(hidden)))

    def _close(self, course: Course, now: SealedRound) -> ClosePart:
        seat, key, number = self._seat, now.keys[self._seat], self._number(now)
        assert key is not None
        hidden, secrets = now.hidden[seat], self._hidden(now)
        counts = next(index for index, each in enumerate(hidden) if each.counts)
        card = self.cards(now)[secrets[counts][0]]
        closing = CloseStatement(
            self._place(course, now.number),
            key,
            self._points.point(card),
            hidden[counts].point,
            tuple(map(self._points.point, now.shown[seat])),
            tuple(each.point for each in hidden),
            now.tokens(seat),
        )
        total = sum(blinding for _, blinding in secrets)
        return ClosePart(card, make_close(combine, closing, number, secrets[counts][1], total, self._nonces))


def _naming(parts: Parts, share: GivePart | None) -> Parts:
    return parts if share is None else parts._replace(deposit=share.digest)


def _sealed(course: Course) -> Sealed:
    assert course.sealed is not None  # the callers ask only about sealed games
    return course.sealed
