"""The result of a game in words: who has won, and by what. Lists, boards, `watch`, `replay` and the audit use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hkoji.game.clock import Effect
from hkoji.game.course import Course, EntryBody
from hkoji.game.entry_kinds import Annul, Cancel, End, Lapse
from hkoji.game.entry_kinds.time import WHY_DECLINED, LapseReason
from hkoji.messages.text import Text, tell
from hkoji.rules.events import CLOSING_REASONS, Outcome


def result_text(
    outcome: Outcome,
    reasons: Mapping[str, str],
    winner: str | None,
    *,
    you: bool = False,
    closed: EntryBody | None = None,
) -> Text:
    """Returns who has won and why, as a phrase.

    `reasons` are the ruleset's, `winner` is the name of the winning player, and `you` says that the reader is that
    player. `closed` is the entry that has ended the game from outside its rules, if that is known: it says how a game
    without a winner came to its end. A reason that this version does not know is shown as it is in the log.
    """
    reason = {**CLOSING_REASONS, **reasons}.get(outcome.reason, outcome.reason)
    if outcome.winner is not None:
        if you:
            return tell("you win {reason}", reason=reason)
        return tell("{name} wins {reason}", name=winner, reason=reason)
    if outcome.reason in CLOSING_REASONS:
        return tell("no winner, {reason}", reason=_closing(closed) or reason)
    return tell("a shared win, {reason}", reason=reason)


def own_result_text(outcome: Outcome, reasons: Mapping[str, str], *, won: bool) -> Text:
    """Returns for a player who has won or lost, and why, as a phrase without names. For lists of a player's games."""
    reason = {**CLOSING_REASONS, **reasons}.get(outcome.reason, outcome.reason)
    return tell("won {reason}", reason=reason) if won else tell("lost {reason}", reason=reason)


def course_result(course: Course, closed: EntryBody | None = None) -> Text:
    """Returns who has won a game that is over, by name, and why; `closed` as in `result_text`."""
    outcome = course.outcome
    assert outcome is not None
    winner = None if outcome.winner is None else course.setup.names[outcome.winner]
    return result_text(outcome, course.setup.ruleset.reasons, winner, closed=closed)


def closing_body(bodies: Iterable[EntryBody]) -> EntryBody | None:
    """Returns the entry that has ended a game from outside its rules, among the game's entries; None if none has."""
    return next((body for body in bodies if body.EFFECT is Effect.ENDS and not isinstance(body, End)), None)


def _closing(closed: EntryBody | None) -> str:
    """Returns how a game without a winner came to its end; empty if that is not known, or it was just cancelled."""
    if isinstance(closed, Annul):
        return tell("called off by agreement")
    if isinstance(closed, Lapse):
        return lapse_text(closed.reason, closed.why)
    return ""


def lapse_text(reason: str, why: str | None) -> Text:
    """Returns why a game ended before anybody joined it, as a phrase; `why` is a word of `WHY_DECLINED`, if any."""
    if reason == LapseReason.EXPIRED:
        return tell("expired")
    return tell("declined") if why is None else tell("declined: {why}", why=WHY_DECLINED[why])


def unplayed_text(course: Course, closed: EntryBody | None, me: str | None = None) -> Text | None:
    """Returns as a sentence why a game has ended that nobody has joined; None for any other game.

    `closed` is the entry that has ended it, `me` the name of the reader, if that is a player.
    """
    host, invited = course.setup.names[0], course.setup.invited
    if isinstance(closed, Cancel):
        if host == me:
            return tell("You cancelled the game before anybody joined.")
        return tell("{name} cancelled the game before anybody joined.", name=host)
    if not isinstance(closed, Lapse):
        return None
    if closed.reason == LapseReason.EXPIRED:
        return tell("The offer expired before anybody joined.")
    if invited == me:
        return tell("You declined the invitation.")
    if closed.why is None:
        return tell("{name} declined the invitation.", name=invited)
    return tell("{name} declined the invitation ({why}).", name=invited, why=WHY_DECLINED[closed.why])


def lapse_json(closed: EntryBody | None) -> dict[str, str | None] | None:
    """Returns why a game ended before anybody joined it, for programs; None for one that `closed` ended otherwise."""
    return {"reason": closed.reason, "why": closed.why} if isinstance(closed, Lapse) else None
