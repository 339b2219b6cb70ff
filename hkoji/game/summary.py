"""A game as a list of games shows it. docs/spec/http.md."""

from __future__ import annotations

from typing import Any

from hkoji.game.course import Course
from hkoji.log.line import Line


def summarise(course: Course, first: Line, last: Line) -> dict[str, Any]:  # Any: JSON
    """Returns what lists show of the game that stands as in `course`, from its first to its last line."""
    setup, outcome = course.setup, course.outcome
    return {
        "game": setup.game,
        "ruleset": setup.ruleset.to_json(),
        "status": course.status,
        "host": setup.names[0],
        "guest": setup.names[1],
        "invite": setup.invited,
        "by_link": setup.link is not None and setup.names[1] is None,
        "seq": course.seq,
        "head": course.head,
        "round": course.state.round,
        "actor": course.actor,
        "to_move": course.to_move,
        "by_mail": {name: grade.value for name, grade in setup.by_mail.items()},
        "created": time_of_record(first),
        "updated": time_of_record(last),
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
    }


def time_of_record(line: Line) -> str:
    """Returns the time of an entry's receipt; the time in the entry is only its author's claim."""
    return line.receipt.receipt.at if line.receipt else line.entry.at
