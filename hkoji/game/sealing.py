"""The cards of a sealed game, as its log has them, and what each of its entries must bring.

docs/spec/sealed.md, "Entries" and "What is due". It compares names, positions and bytes. Whether proofs hold is in
`hkoji.game.proving`: it is checked when an entry is made, and in an audit, but not when stored entries are replayed.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

from hkoji.errors import IllegalError, MalformedError
from hkoji.game.parts import Parts
from hkoji.game.sealed_parts import BRANCH, POINT, ClosePart, GivePart, LockPart
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.events import Chance, Deal, Reveal, Seat
from hkoji.rules.protocol import Due, Ruleset, State

HAND: Final = 6
_DRAWS: Final = 4
_ACTIONS: Final = 4
"""The actions of a seat in a round; with the last one it locks the next deck."""

_Value = TypeVar("_Value")


def hand(seat: Seat) -> tuple[int, ...]:
    """The positions of a seat's hand."""
    return tuple(range(HAND * seat, HAND * (seat + 1)))


def draw(seat: Seat, number: int) -> int:
    """The position of a seat's draw, with that number from 0 in its round."""
    return 2 * HAND + _DRAWS * seat + number


def owner(position: int) -> Seat:
    """The seat that a position belongs to."""
    return position // HAND if position < 2 * HAND else (position - 2 * HAND) // _DRAWS


class HiddenCard(NamedTuple):
    """A point that hides a card of a seat; the one that counts is turned up at the end of the round.

    `seq`, `prev` and `action` are those of its entry, and `part` is its number there: its owner finds the card by them.
    """

    point: bytes
    counts: bool
    seq: int
    prev: str
    action: str
    part: int


class SealedRound(NamedTuple):
    """The cards of one round. Pairs are by seat."""

    number: int
    keys: tuple[bytes | None, bytes | None] = (None, None)
    decks: tuple[tuple[bytes, ...], ...] = ()
    """The deck after the first lock, and after the second."""
    prevs: tuple[str, str] = ("", "")
    """The `prev` of the entries that brought the locks, of which their owners make the numbers of the locks."""
    salts: tuple[bytes, bytes] = (b"", b"")
    """The random bytes of the locks, for the same purpose."""
    given: tuple[tuple[int, bytes], ...] = ()
    """Positions with their tokens, in the order in which they were given."""
    acted: tuple[int, int] = (0, 0)
    """How many actions each seat has taken."""
    shown: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    hidden: tuple[tuple[HiddenCard, ...], tuple[HiddenCard, ...]] = ((), ())
    closed: tuple[str | None, str | None] = (None, None)
    """The cards that the seats have turned up at the end of the round."""

    def is_given(self, position: int) -> bool:
        """Whether the owner of a position has its token."""
        return any(position == each for each, _ in self.given)

    def tokens(self, seat: Seat) -> tuple[bytes, ...]:
        """The tokens of a seat, in the order in which it got them."""
        return tuple(token for position, token in self.given if owner(position) == seat)

    def locked(self, seat: Seat, lock: LockPart, prev: str) -> SealedRound:
        """The round after a lock of a seat, in an entry with that `prev`."""
        return self._replace(
            keys=put(self.keys, seat, lock.key),
            decks=(*self.decks, lock.deck),
            prevs=put(self.prevs, seat, prev),
            salts=put(self.salts, seat, lock.salt),
        )

    def dealt(self, give: GivePart) -> SealedRound:
        """The round after shares."""
        return self._replace(given=(*self.given, *zip(give.at, give.tokens, strict=True)))

    def played(self, seat: Seat, copies: tuple[str, ...], hidden: tuple[HiddenCard, ...]) -> SealedRound:
        """The round after an action of a seat that shows `copies` or hides cards."""
        return self._replace(
            acted=put(self.acted, seat, self.acted[seat] + 1),
            shown=put(self.shown, seat, (*self.shown[seat], *copies)),
            hidden=put(self.hidden, seat, (*self.hidden[seat], *hidden)),
        )


class Deposit(NamedTuple):
    """A draw that a player has deposited with the service, by the SHA-256 of its share."""

    round: int
    position: int
    digest: str


class Sealed(NamedTuple):
    """The cards of a sealed game: of the round that is played, and of the one that is being prepared."""

    now: SealedRound = SealedRound(0)
    coming: SealedRound = SealedRound(1)
    deposits: tuple[Deposit, ...] = ()
    """Those that the service keeps: their draws have not been given yet."""

    def round(self, number: int) -> SealedRound:
        """The round with that number, which is one of the two."""
        return self.coming if number == self.coming.number else self.now

    def begun(self) -> Sealed:
        """The cards when the round that was prepared begins."""
        return Sealed(self.coming, SealedRound(self.coming.number + 1), self.deposits)

    def with_lock(self, seat: Seat, lock: LockPart | None, prev: str) -> Sealed:
        """The cards after a lock, which is always of the round that is being prepared."""
        return self if lock is None else self._replace(coming=self.coming.locked(seat, lock, prev))

    def with_give(self, give: GivePart | None) -> Sealed:
        """The cards after shares. The deposits of these positions are used up."""
        if give is None:
            return self
        kept = tuple(each for each in self.deposits if each.round != give.round or each.position not in give.at)
        if give.round == self.coming.number:
            return Sealed(self.now, self.coming.dealt(give), kept)
        return Sealed(self.now.dealt(give), self.coming, kept)

    def debtor(self, state: State, draws: tuple[int, int]) -> Seat | None:
        """The seat that owes a `release` before anything else; None if no seat does."""
        if state.due is Due.REVEAL:
            return self.now.closed.index(None)
        waits = self.waits(state, draws) and self.due_deposit(state, draws) is None
        return 1 - state.actor if waits and state.actor is not None else None

    def due_deposit(self, state: State, draws: tuple[int, int]) -> Deposit | None:
        """The deposit that the service must release now; None if none is due."""
        if not self.waits(state, draws):
            return None
        assert state.actor is not None
        due = self.now.number, draw(state.actor, draws[state.actor])
        return next((each for each in self.deposits if (each.round, each.position) == due), None)

    def has_deposit(self, place: tuple[int, int]) -> bool:
        """Whether a round and position has a deposit already."""
        return any((each.round, each.position) == place for each in self.deposits)

    def waits(self, state: State, draws: tuple[int, int]) -> bool:
        """Whether the next event is a draw that has not been given."""
        if state.due is not Due.DRAW or state.actor is None:
            return False
        return not self.now.is_given(draw(state.actor, draws[state.actor]))

    def with_deposit(self, what: str, digest: str | None, place: tuple[int, int] | None) -> Sealed:
        """The cards after an entry that names a deposit; `place` is the round and position it can be of, if any.

        Raises `MalformedError` if no deposit belongs in that entry.
        """
        if digest is None:
            return self
        if place is None or self.has_deposit(place):
            raise MalformedError(what, tell("no deposit belongs in it"))
        return self._replace(deposits=(*self.deposits, Deposit(*place, digest)))


class Demand(NamedTuple):
    """The parts that an entry must bring: the round and positions to give, and whether a lock and a close."""

    give: tuple[int, tuple[int, ...]] | None = None
    lock: bool = False
    close: bool = False

    def verify(self, what: str, parts: Parts, ruleset: Ruleset) -> None:
        """Checks that an entry brings exactly this. Raises `MalformedError`."""
        if (parts.lock is not None) != self.lock:
            raise MalformedError(what, tell("it needs a lock") if self.lock else tell("no lock belongs in it"))
        if parts.lock is not None and len(parts.lock.deck) != ruleset.pack.size:
            raise MalformedError(what, tell("the number of cards in its deck is {count}", count=len(parts.lock.deck)))
        if (parts.close is not None) != self.close:
            raise MalformedError(what, tell("it needs a close") if self.close else tell("no close belongs in it"))
        if self.give is None:
            if parts.give is not None:
                raise MalformedError(what, tell("no cards are to be given with it"))
        elif parts.give is None or (parts.give.round, parts.give.at) != self.give:
            number, at = self.give
            positions = ", ".join(map(str, at))
            raise MalformedError(
                what, tell("it must give {positions} of round {number}", positions=positions, number=number)
            )


def demand_of_seed(ruleset: Ruleset, seat: Seat) -> Demand:
    """The parts that the `seed` of a seat must bring."""
    other, state = 1 - seat, _after_first_deal(ruleset)
    first = (draw(other, 0),) if state is not None and state.due is Due.DRAW and state.actor == other else ()
    return Demand((1, (*hand(other), *first)), lock=seat == 1)


def demand_of_move(sealed: Sealed, state: State, draws: tuple[int, int], seat: Seat, *, acts: bool) -> Demand:
    """The parts that a `move` of a seat must bring; `state` and `sealed` are those after its decision."""
    other, ruleset, number = 1 - seat, state.ruleset, sealed.now.number
    goes_on = ruleset.most_rounds is None or number < ruleset.most_rounds
    lock = acts and goes_on and sealed.now.acted[seat] == _ACTIONS
    if state.due is Due.REVEAL:
        if not goes_on:
            return Demand(None, lock, close=True)
        first = (draw(other, 0),) if ruleset.next_first(state) == other else ()
        return Demand((number + 1, (*hand(other), *first)), lock, close=True)
    if state.actor == other and sealed.waits(state, draws):  # also if it is deposited
        return Demand((number, (draw(other, draws[other]),)), lock)
    return Demand(None, lock)


def demand_of_release(sealed: Sealed, state: State, draws: tuple[int, int], seat: Seat) -> Demand:
    """The parts that a `release` of a seat must bring. `state` is the one before it, or after both reveals if any."""
    other, number = 1 - seat, sealed.now.number
    if state.due is Due.DRAW:
        return Demand((number, (draw(other, draws[other]),)))
    if state.due is not Due.DEAL:  # the game is over
        return Demand(close=True)
    after = state.apply(blank_deal(state.ruleset))
    first = (draw(other, 0),) if after.due is Due.DRAW and after.actor == other else ()
    return Demand((number + 1, (*hand(other), *first)), close=True)


def deposit_with_seed(ruleset: Ruleset, seat: Seat) -> tuple[int, int] | None:
    """The round and position that the `seed` of a seat may deposit: a first draw that is not given with it."""
    other, state = 1 - seat, _after_first_deal(ruleset)
    may_come = state is None or (state.due is not Due.DRAW and state.actor == other)
    return (1, draw(other, 0)) if may_come else None


def deposit_place(sealed: Sealed, state: State, draws: tuple[int, int], seat: Seat) -> tuple[int, int] | None:
    """The round and position that a `move` or `release` of a seat may deposit; `sealed` and `state` are those after it.

    It is the other seat's next draw, if that seat decides next and its draw can follow directly.
    """
    other, number, ruleset = 1 - seat, sealed.now.number, state.ruleset
    if state.due is Due.REVEAL:
        goes_on = ruleset.most_rounds is None or number < ruleset.most_rounds
        return (number + 1, draw(other, 0)) if goes_on and ruleset.next_first(state) is None else None
    if state.actor != other:
        return None
    if state.due is Due.ANSWER and draws[other] < _DRAWS:
        return number, draw(other, draws[other])
    return (number, draw(other, 0)) if state.due is Due.PICK and number > 1 else None


def reveals(sealed: Sealed, state: State) -> tuple[Reveal, ...]:
    """The reveals of both seats in the order of the rules, when both have turned up their cards."""
    kinds = dict(state.ruleset.pack.deck())
    host, guest = sealed.now.closed
    assert host is not None
    assert guest is not None
    cards = (kinds[host], kinds[guest])
    return tuple(Reveal(seat, cards[seat]) for seat in state.due_reveals())


class Acting(NamedTuple):
    """An action of a seat, as the log has it, and the place of its entry."""

    seat: Seat
    action: str
    seq: int
    prev: str


def act(now: SealedRound, ruleset: Ruleset, acting: Acting, parts: Parts) -> SealedRound:
    """The round after an action, whose entry has `parts`: they fit the action, and the cards of the round.

    Raises `MalformedError` or `IllegalError`.
    """
    seat, action, seq, prev = acting
    what, cards = tell("move"), ruleset.pack.split(action[1:])
    counts = [group.counts for group in ruleset.hidden(action) for _ in ruleset.pack.split(group.cards)]
    held = len(now.tokens(seat))
    if counts:
        if parts.hide is None or parts.show is not None or len(parts.hide.hidden) != len(counts):
            raise MalformedError(what, tell("{action} needs a hidden point for each X", action=action))
        _verify_length(len(parts.hide.hidden[0]), POINT + BRANCH * held)
        points = [*parts.hide.points, *(each.point for each in now.hidden[seat])]
        if len(set(points)) != len(points):
            raise IllegalError(tell("a hidden point is repeated"))
        hides = enumerate(zip(parts.hide.points, counts, strict=True))
        hidden = (HiddenCard(point, each, seq, prev, action, part) for part, (point, each) in hides)
        return now.played(seat, (), tuple(hidden))
    if parts.show is None or parts.hide is not None:
        raise MalformedError(what, tell("{action} needs its cards shown", action=action))
    kinds = dict(ruleset.pack.deck())
    if [kinds.get(copy) for copy in parts.show.copies] != list(cards):
        raise MalformedError(what, tell("the copies that it shows are not the cards of {action}", action=action))
    _verify_length(len(parts.show.proof), BRANCH * held * len(cards))
    _verify_unseen(now, parts.show.copies)
    return now.played(seat, parts.show.copies, ())


def turn_up(now: SealedRound, ruleset: Ruleset, seat: Seat, close: ClosePart) -> SealedRound:
    """The round after a close: its card is one of the game that has not been shown. Raises what breaks it."""
    if close.card not in dict(ruleset.pack.deck()):
        raise MalformedError(tell("close"), tell("the game has no card {card}", card=close.card))
    _verify_unseen(now, (close.card,))
    return now._replace(closed=put(now.closed, seat, close.card))


def _verify_unseen(now: SealedRound, copies: tuple[str, ...]) -> None:
    """Checks that cards have not been shown in this round, by anybody. Raises `IllegalError`."""
    seen = [*now.shown[0], *now.shown[1], *filter(None, now.closed)]
    for copy in copies:
        if copy in seen:
            raise IllegalError(tell("card {copy} has been shown already", copy=copy))
        seen.append(copy)


def _after_first_deal(ruleset: Ruleset) -> State | None:
    """The position after the first deal; None if chance decides who starts."""
    decided = ruleset.chance()
    if "first" in decided:
        return None
    state = ruleset.initial()
    if decided:
        state = state.apply(Chance(None, "".join(ruleset.markers[:2])))
    return state.apply(blank_deal(ruleset))


def put(pair: tuple[_Value, _Value], seat: Seat, value: _Value) -> tuple[_Value, _Value]:
    """Returns `pair` with another value for one seat."""
    return (value, pair[1]) if seat == 0 else (pair[0], value)


def blank_deal(ruleset: Ruleset) -> Deal:
    """A deal of unknown cards."""
    return ruleset.deal((UNKNOWN,) * ruleset.pack.size)


def _verify_length(count: int, due: int) -> None:
    if count != due:
        raise MalformedError(tell("proof"), tell("its length in bytes is {count}, not {due}", count=count, due=due))
