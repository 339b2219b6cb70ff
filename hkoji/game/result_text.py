"""The result of a game in words: who has won, and by what. Lists, boards, `watch`, `replay` and the audit use them."""

from __future__ import annotations

from collections.abc import Mapping

from hkoji.game.course import Course
from hkoji.messages.text import Text, tell
from hkoji.rules.events import CLOSING_REASONS, Outcome


def result_text(outcome: Outcome, reasons: Mapping[str, str], winner: str | None, *, you: bool = False) -> Text:
    """Returns who has won and why, as a phrase.

    `reasons` are the ruleset's, `winner` is the name of the winning player, and `you` says that the reader is that
    player. A reason that this version does not know is shown as it is in the log.
    """
    reason = {**CLOSING_REASONS, **reasons}.get(outcome.reason, outcome.reason)
    if outcome.winner is not None:
        if you:
            return tell("you win {reason}", reason=reason)
        return tell("{name} wins {reason}", name=winner, reason=reason)
    if outcome.reason in CLOSING_REASONS:
        return tell("no winner, {reason}", reason=reason)
    return tell("a shared win, {reason}", reason=reason)


def course_result(course: Course) -> Text:
    """Returns who has won a game that is over, by name, and why."""
    outcome = course.outcome
    assert outcome is not None
    winner = None if outcome.winner is None else course.setup.names[outcome.winner]
    return result_text(outcome, course.setup.ruleset.reasons, winner)
