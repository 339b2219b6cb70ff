"""The effect of an entry of a sealed game on its cards. docs/spec/sealed.md, "Entries"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkoji.errors import IllegalError, MalformedError
from hkoji.game.sealing import (
    Acting,
    Demand,
    Sealed,
    act,
    demand_of_move,
    demand_of_release,
    demand_of_seed,
    deposit_place,
    deposit_with_seed,
    reveals,
    turn_up,
)
from hkoji.messages.text import tell
from hkoji.rules.protocol import Due

if TYPE_CHECKING:
    from hkoji.game.course import Applied, Course
    from hkoji.game.knowledge import Knowledge
    from hkoji.game.parts import Parts
    from hkoji.log.line import Entry
    from hkoji.rules.events import Reveal, Seat
    from hkoji.rules.protocol import State


def opened(sealed: Sealed, course: Course, entry: Entry, parts: Parts) -> Sealed:
    """The cards after an `open`."""
    Demand(lock=True).verify(entry.kind, parts, course.setup.ruleset)
    return sealed.with_lock(0, parts.lock, entry.prev)


def seeded(sealed: Sealed, course: Course, entry: Entry, parts: Parts, seat: Seat) -> Sealed:
    """The cards after the `seed` of a seat."""
    ruleset = course.setup.ruleset
    demand_of_seed(ruleset, seat).verify(entry.kind, parts, ruleset)
    sealed = sealed.with_lock(seat, parts.lock, entry.prev).with_give(parts.give)
    return sealed.with_deposit(entry.kind, parts.deposit, deposit_with_seed(ruleset, seat))


def shown(sealed: Sealed, course: Course, entry: Entry, action: str, parts: Parts) -> Sealed:
    """The cards after those that a `move` shows or hides."""
    if course.state.due is Due.ACT:
        assert course.actor is not None
        acting = Acting(course.actor, action, entry.seq, entry.prev)
        return sealed._replace(now=act(sealed.now, course.setup.ruleset, acting, parts))
    if parts.show or parts.hide:
        raise MalformedError(tell("move"), tell("only an action shows or hides cards"))
    return sealed


def moved(sealed: Sealed, course: Course, entry: Entry, parts: Parts, applied: State) -> Sealed:
    """The cards after all else that a `move` must bring; `applied` is the position after its decision."""
    ruleset, seat, acts = course.setup.ruleset, course.actor, course.state.due is Due.ACT
    assert seat is not None
    demand_of_move(sealed, applied, course.draws, seat, acts=acts).verify(tell("move"), parts, ruleset)
    sealed = sealed.with_lock(seat, parts.lock, entry.prev)
    if parts.close is not None:
        sealed = sealed._replace(now=turn_up(sealed.now, ruleset, seat, parts.close))
    sealed = sealed.with_give(parts.give)
    return sealed.with_deposit(tell("move"), parts.deposit, deposit_place(sealed, applied, course.draws, seat))


def released(sealed: Sealed, course: Course, parts: Parts, seat: Seat, knowledge: Knowledge) -> Applied:
    """The course after a `release` of a seat. At the end of a round both secrets are revealed with it."""
    state, ruleset = course.state, course.setup.ruleset
    turned: tuple[Reveal, ...] = ()
    if state.due is Due.REVEAL:
        if parts.close is None:
            raise MalformedError(tell("release"), tell("it needs a close"))
        sealed = sealed._replace(now=turn_up(sealed.now, ruleset, seat, parts.close))
        turned = reveals(sealed, state)
        for reveal in turned:
            state = state.apply(reveal)
    demand_of_release(sealed, state, course.draws, seat).verify("release", parts, ruleset)
    after, events = course.advance(knowledge, turned, state, sealed=sealed.with_give(parts.give))
    assert after.sealed is not None
    place = deposit_place(after.sealed, after.state, after.draws, seat)
    return after._replace(sealed=after.sealed.with_deposit("release", parts.deposit, place)), events


def deposit_released(sealed: Sealed, course: Course, parts: Parts) -> Sealed:
    """The cards after the service has released the draw that it kept, and nothing else."""
    due = sealed.due_deposit(course.state, course.draws)
    assert due is not None  # `Course.apply` has checked that the service owes it
    Demand((due.round, (due.position,))).verify("release", parts, course.setup.ruleset)
    give = parts.give
    if parts.deposit is not None or give is None or give.digest != due.digest:
        raise IllegalError(tell("it is not what was deposited"))
    return sealed.with_give(give)
