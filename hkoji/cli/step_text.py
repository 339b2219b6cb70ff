"""Stops of a replay in words: in one line what happened there, and the title of a drawing."""

from __future__ import annotations

from hkoji.cli.language import _, translate
from hkoji.cli.settings import deck_for
from hkoji.game.position import Position
from hkoji.rules.events import Deal
from hkoji.show.steps import step_text
from hkoji.study.stops import Eyes, Stop


def place_title(position: Position, decision: int, decisions: int, eyes: Eyes) -> str:
    """Returns the title of a drawing: the game, the place in it, and whose eyes."""
    setup = position.course.setup
    values = {"game": position.short, "entry": position.course.seq, "decision": decision, "decisions": decisions}
    if eyes.open_:
        return _("{game} · entry {entry} · decision {decision} of {decisions}", **values)
    if eyes.seat is None:
        return _("{game} · entry {entry} · decision {decision} of {decisions} · as a spectator saw it", **values)
    name = setup.names[eyes.seat] or eyes.word
    return _("{game} · entry {entry} · decision {decision} of {decisions} · as {name} saw it", name=name, **values)


def stop_text(stop: Stop) -> str:
    """Returns who did what at a stop, in one line, with the card names of the deck in use."""
    if any(isinstance(event, Deal) for event in stop.step.events) and not stop.made:
        return _("round {number} begins", number=stop.round)
    deck = deck_for(stop.step.course.setup.ruleset.name)
    return step_text(stop.step, translate, deck, round_=stop.round)
