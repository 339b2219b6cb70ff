"""Ends from outside, which are possible at any time; every other event that no table of a game lists is an error."""

from __future__ import annotations

from hkoji.errors import IllegalEventError
from hkoji.messages.text import tell
from hkoji.rules.events import Close, Event, Outcome
from hkoji.rules.protocol import Due


def close(event: Event, due: Due) -> Outcome:
    """The outcome, if `event` ends a running game from outside. Raises `IllegalEventError` for any other event."""
    if not isinstance(event, Close) or due is Due.OVER:
        raise IllegalEventError(
            tell("a {event} cannot happen now: {due} is due", event=type(event).__name__.lower(), due=due.value),
            due=due.value,
        )
    if not event.is_possible:
        raise IllegalEventError(tell("a game is not closed by {reason!r}", reason=event.outcome.reason), due=due.value)
    return event.outcome
