"""Steps of a game in words: in one line what an entry of the log brought. Pages, `watch` and `replay` use it."""

from __future__ import annotations

from typing import Final

from hkoji.game.agreement import format_duration
from hkoji.game.clock import parse_time
from hkoji.game.course import Course, EntryBody
from hkoji.game.entry_kinds import Annul, Credit, Delegate, End, Lapse, Release, Revoke, Timeout
from hkoji.game.entry_kinds.time import WHY_DECLINED, LapseReason
from hkoji.game.replay import Step
from hkoji.game.result_text import course_result
from hkoji.log.line import SERVER_NAME
from hkoji.messages.text import Speaker, tell
from hkoji.rules.events import DECISIONS, Close, Deal, Reveal
from hkoji.rules.transcript import format_event, format_outcome
from hkoji.show.deck import STANDARD, Deck


def step_text(
    step: Step, say: Speaker, deck: Deck = STANDARD, *, round_: int | None = None, closed: EntryBody | None = None
) -> str:
    """Returns what an entry brought, in one line, with the card names of a deck. `round_` is the round that it scores.

    By default it is the current round, or the one before if the entry also brings the next deal. `closed` is the entry
    that has ended the game from outside its rules, for its `end`.
    """
    events, course, write = step.events, step.course, deck.write
    made = [event for event in events if isinstance(event, DECISIONS)]
    if made:
        return f"{course.setup.names[made[0].seat]}: {write(format_event(made[0]))}"
    if any(isinstance(event, Reveal) for event in events):
        shown = {event.seat: event.cards for event in events if isinstance(event, Reveal)}
        cards = write(f"?{shown.get(0, '')}/{shown.get(1, '')}")
        dealt = any(isinstance(event, Deal) for event in events)
        number = round_ if round_ is not None else course.state.round - dealt
        return say(tell("round {number} is scored: {cards}", number=number, cards=cards))
    if isinstance(step.body, End):
        return say(tell("the game is over: {result}", result=course_result(course, closed)))
    if isinstance(step.body, CLOCK_KINDS):
        return say(_clock_text(course, step.body, say))
    outcome = next((f": {format_outcome(event.outcome)}" for event in events if isinstance(event, Close)), "")
    return say(_agreement_text(step.entry.kind, step.entry.by, step.body)) + outcome


def _agreement_text(kind: str, who: str, body: EntryBody) -> str:
    """Returns what an entry says of who plays, with which key, and of chance."""
    if isinstance(body, Revoke):
        return tell("{name} has lost a key, and signs with a new one", name=body.name)
    if isinstance(body, Delegate) and body.gateway is None:
        return tell("{name} no longer lets the service sign", name=who)
    if isinstance(body, Release) and who == SERVER_NAME:
        return tell("the service gives a card that was left with it")
    words = {
        "offer": tell("the service offers the game"),
        "open": tell("{name} opens the game", name=who),
        "join": tell("{name} joins", name=who),
        "seed": tell("{name} takes part in the shuffle", name=who),
        "chance": tell("chance has decided"),
        "rekey": tell("{name} signs with a new key", name=who),
        "delegate": tell("{name} lets the service sign by mail", name=who),
        "release": tell("{name}'s program gives a card", name=who),
        "resign": tell("{name} gives up", name=who),
        "cancel": tell("{name} takes the game back", name=who),
        "unseal": tell("the service shows how it has shuffled"),
    }
    return words.get(kind) or tell("{kind} by {who}", kind=kind, who=who)


CLOCK_KINDS: Final = (Annul, Credit, Lapse, Timeout)


def _clock_text(course: Course, body: Annul | Credit | Lapse | Timeout, say: Speaker) -> str:
    """Returns what an entry of the service about time says."""
    names = course.setup.names
    if isinstance(body, Timeout):
        return tell("{name} has lost on time", name=names[body.seat])
    if isinstance(body, Annul):
        return tell("{host} and {guest} have called the game off", host=names[0], guest=names[1])
    if isinstance(body, Lapse):
        if body.reason == LapseReason.EXPIRED:
            return tell("the offer has expired: nobody has joined")
        if body.why is None:
            return tell("the invitation has been declined")
        return tell("the invitation has been declined: {why}", why=WHY_DECLINED[body.why])
    parts = []
    if body.gift is not None:
        parts.append(tell("{time} given by the opponent", time=format_duration(body.gift.seconds)))
    away = sum(parse_time(outage.until) - parse_time(outage.begin) for outage in body.outages)
    if away:
        parts.append(tell("{time} while the service was away", time=format_duration(away)))
    return tell("time that does not count: {what}", what=", ".join(map(say, parts)))
