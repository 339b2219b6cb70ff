"""The help for an entry to be in time: the gift and the outages that count for it. docs/spec/log.md, "Credits"."""

from __future__ import annotations

from collections.abc import Sequence

from hkoji.game.clock import Outage, outages_between
from hkoji.game.course import Course
from hkoji.game.entry_kinds import GivenTime
from hkoji.game.entry_kinds.time import largest_gift


def find_help(
    course: Course, at: str, until: str | None, gifts: Sequence[GivenTime], outages: Sequence[Outage]
) -> tuple[GivenTime | None, tuple[Outage, ...]]:
    """Returns the largest of the `gifts` for the entry that is due, and the parts of the `outages` that help it.

    These are of the way that is open to the seat that owes the entry, and lie where its time has been running, up to
    `until`; None for all that come. `at` is the time of record of the last entry. The clock of the game must run.
    """
    assert course.clock is not None
    if course.actor is None or not (gifts or outages):
        return None, ()
    since = course.clock.settled(at).due(course.clock.control, course.actor).since
    gift = largest_gift(each for each in gifts if each.head in course.clock.heads)
    return gift, outages_between(outages, course.setup.way(course.actor), since, until)
