"""An attacker who runs the service and is one of the two players: which cards can they read?

The attacker has everything that was sent to the service, the log and the deposits, and the secrets of one seat. At
every entry they take their own locks off everything that may be an element of the group, wherever it stands. They try
everything that may be a number as that of the other's lock, and look for two proofs with one nonce.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Final

from hkoji.client.sealing import Sealer
from hkoji.game.replay import Step, replay
from hkoji.game.sealed_parts import BRANCH
from hkoji.game.sealing import Deposit, SealedRound, draw, owner
from hkoji.log.line import Line
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset
from hkoji.sealed.cards import card_points
from hkoji.sealed.group import GENERATOR, cut, read_scalar
from hkoji.sealed.ristretto import BYTES, ORDER
from hkoji.sealed.sodium import combine

_CARDS: Final = 10
"""The cards of a seat in a round: its hand and its draws."""
_STEP: Final = 16
"""Points and numbers have 32 bytes, and short challenges 16: so everything begins at a multiple of this."""


@dataclass(frozen=True)
class Played:
    """A game that was played: its log, the secrets of both seats, which of them deposit, and the deposits by hash."""

    game: str
    ruleset: Ruleset
    lines: tuple[Line, ...]
    sealers: tuple[Sealer, Sealer]
    deposit: tuple[bool, bool]
    deposits: Mapping[str, bytes]

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The game after each entry, as anybody knows it."""
        return replay(self.lines).steps


@dataclass
class Reading:
    """The cards that one attacker could read in a game."""

    moments: int = 0
    hidden: int = 0
    """The cards of the other seat that were hidden, summed over the moments."""
    tried: int = 0
    """Strings of 32 bytes, summed over the locks that were taken off them."""
    early: int = 0
    """Own next draws that a deposit showed before they were given."""
    leaks: list[str] = field(default_factory=list)


def locks(steps: Sequence[Step], sealer: Sealer, seat: Seat) -> dict[int, int]:
    """The numbers of a seat's locks, by round."""
    found = {}
    for step in steps:
        for dealt in _rounds(step):
            if dealt.keys[seat] is not None and dealt.number not in found:
                found[dealt.number] = sealer._number(dealt)
    return found


def read(played: Played, seat: Seat, *, with_other: bool = False) -> Reading:
    """The cards that the player of `seat` can read, with the service.

    `with_other` gives them the other's locks, as a control.
    """
    steps, found, other = played.steps, Reading(), 1 - seat
    own, others = (locks(steps, played.sealers[each], each) for each in (seat, other))
    points = card_points(played.ruleset.name, played.ruleset.pack)
    masked, multiples = dict[int, dict[bytes, str]](), set[bytes]()
    known: set[bytes] = set()
    nonces: dict[bytes, tuple[int, int]] = {}
    reported: set[tuple[bytes, str]] = set()
    for step in steps:
        found.moments += 1
        found.hidden += _hidden(step, other)
        fresh = {each for raw in _received(step, played.deposits) for each in _windows(raw)} - known
        known |= fresh
        multiples.update(map(_multiple, fresh))
        rounds = [dealt for dealt in _rounds(step) if dealt.number]
        numbers = {1, *(own[dealt.number] for dealt in rounds if dealt.keys[seat] is not None)}
        if with_other:
            numbers |= {others[dealt.number] for dealt in rounds if dealt.keys[other] is not None}
        allowed = _allowed(steps, played, seat, step, own, others)
        for number in numbers:
            # To take a lock off an element and to find a card is to find a card with the lock among the elements.
            if number not in masked:
                pairs = zip(points.points, points.cards, strict=True)
                masked[number] = {combine((number, point)): card for point, card in pairs}
                found.tried += len(known)
            else:
                found.tried += len(fresh)
            for point in masked[number].keys() & known:
                card, place = masked[number][point], allowed.get(point, "leak")
                if (point, "own") not in reported and (point, place) not in reported:
                    reported.add((point, place))
                    found.early += place == "early"
                    if place == "leak":
                        found.leaks.append(f"seat {seat} reads {card} at entry {step.entry.seq}")
        for dealt in rounds:
            if dealt.keys[other] is not None and dealt.keys[other] in multiples:
                found.leaks.append(f"the number of a lock of seat {other} has come by entry {step.entry.seq}")
        found.leaks += _repeated(step, steps[max(0, step.entry.seq - 1)], played, other, nonces)
    return found


def _rounds(step: Step) -> Iterator[SealedRound]:
    if step.course.sealed is not None:
        yield step.course.sealed.now
        yield step.course.sealed.coming


def _hidden(step: Step, seat: Seat) -> int:
    """How many cards of a seat are dealt, or can be, and neither shown nor turned up."""
    sealed = step.course.sealed
    if sealed is None or not sealed.now.number:
        return 0
    shown = len(sealed.now.shown[seat]) + (sealed.now.closed[seat] is not None)
    return _CARDS - shown


def _received(step: Step, deposits: Mapping[str, bytes]) -> Iterator[bytes]:
    """The bytes that come to the service with an entry."""
    yield from _texts(step.entry.body)
    digest = step.entry.body.get("deposit")
    if isinstance(digest, str):
        yield deposits[digest]


def _texts(value: Any) -> Iterator[bytes]:  # Any: JSON
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str) and len(value) >= 43:
        if len(value) % 4 == 0:
            try:
                yield base64.b64decode(value, validate=True)
            except ValueError:
                return
        if len(value) == 64:
            try:
                yield bytes.fromhex(value)
            except ValueError:
                return


def _windows(raw: bytes) -> Iterator[bytes]:
    for start in range(0, len(raw) - BYTES + 1, _STEP):
        yield raw[start : start + BYTES]


@cache
def _multiple(raw: bytes) -> bytes:
    """The key of a lock with that number; no element if it is none."""
    number = int.from_bytes(raw, "little")
    return combine((number, GENERATOR)) if 0 < number < ORDER else b""


def _allowed(
    steps: Sequence[Step],
    played: Played,
    seat: Seat,
    step: Step,
    own: Mapping[int, int],
    others: Mapping[int, int],
) -> dict[bytes, str]:
    """The points that this seat may read: by its own lock if that is the first, its tokens, and a draw to come.

    That draw is `early` if the other seat deposits.
    """
    sealed, found = step.course.sealed, dict[bytes, str]()
    if sealed is None:
        return found
    for dealt in _rounds(step):
        number = own.get(dealt.number) if dealt.keys[seat] is not None else None
        if number is None:
            continue
        if _made_first(steps, seat, dealt.decks[0]):
            found.update((point, "own") for point in dealt.decks[0])
        found.update((token, "own") for token in dealt.tokens(seat))
    if played.deposit[1 - seat]:
        for deposit in sealed.deposits:
            if owner(deposit.position) == seat and _is_next(step, deposit.round, deposit.position, seat):
                inverse = pow(others[deposit.round], -1, ORDER)
                found[combine((inverse, sealed.round(deposit.round).decks[1][deposit.position]))] = "early"
    return found


def _made_first(steps: Sequence[Step], seat: Seat, deck: tuple[bytes, ...]) -> bool:
    name = steps[-1].course.setup.names[seat]
    return any(s.body.parts.lock is not None and s.body.parts.lock.deck == deck and s.entry.by == name for s in steps)


def _is_next(step: Step, number: int, position: int, seat: Seat) -> bool:
    """Whether a position is the next draw of a seat."""
    course = step.course
    assert course.sealed is not None
    return position == draw(seat, course.draws[seat] if number == course.sealed.now.number else 0)


def _repeated(
    step: Step, before: Step, played: Played, other: Seat, nonces: dict[bytes, tuple[int, int]]
) -> Iterator[str]:
    """Two proofs of the other's lock with one nonce, of which the number of the lock would follow."""
    parts = step.body.parts
    if step.entry.by != step.course.setup.names[other] or before.course.sealed is None:
        return
    now, coming = before.course.sealed.now.number, before.course.sealed.coming.number
    rounds = {dealt.number: dealt.keys[other] for each in (before, step) for dealt in _rounds(each)}
    proofs: list[tuple[int, bytes, bytes]] = []
    if parts.give is not None:
        proofs.append((parts.give.round, *_challenge(parts.give.shares)))
    if parts.deposit is not None:
        digest, shares = parts.deposit, played.deposits[parts.deposit]
        named = [each.round for each in _deposits(step) if each.digest == digest]
        proofs += [(number, *_challenge(shares)) for number in named]
    if parts.lock is not None:
        numbers = parts.lock.proof[2 * BYTES * len(parts.lock.deck) :]
        proofs.append((coming, numbers[:BYTES], numbers[4 * BYTES : 5 * BYTES]))
    if parts.close is not None:
        short, response, _ = cut(parts.close.proof, BRANCH - BYTES, BYTES, 2 * BYTES)
        proofs.append((now, short, response))
    for number, short, scalar in proofs:
        key = rounds[number]
        assert key is not None
        challenge, response_ = int.from_bytes(short, "little"), read_scalar(scalar)
        commitment = combine((response_, GENERATOR), (-challenge, key))
        first = nonces.setdefault(commitment, (challenge, response_))
        if first != (challenge, response_):
            yield f"a nonce of seat {other} is repeated in entry {step.entry.seq}"


def _challenge(shares: bytes) -> tuple[bytes, bytes]:
    """The challenge and the response of a share."""
    return shares[-BRANCH:-BYTES], shares[-BYTES:]


def _deposits(step: Step) -> tuple[Deposit, ...]:
    return step.course.sealed.deposits if step.course.sealed is not None else ()
