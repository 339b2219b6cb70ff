"""Faults to plant in the client; the judgement has to find each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from hkoji.client import plans
from hkoji.client.game import ClientGame
from hkoji.client.kept.game import Vault
from hkoji.client.plans import PlanFiles
from hkoji.plans import standing
from hkoji.plans.standing import ArmedPlan

Patch = Callable[[], AbstractContextManager[Any]]  # Any: what a patch gives


class PlantedPlanFault(NamedTuple):
    """A fault, and what the judgement says of it, as a regular expression."""

    plant: Patch
    found_as: str


def _no_head() -> AbstractContextManager[Any]:
    """A move is made also where the game has moved on since it was chosen."""
    move = ClientGame.move

    def anywhere(self: ClientGame, notation: str, *, head: str | None = None, **given: Any) -> Any:  # Any: passed on
        del head
        return move(self, notation, **given)

    return patch.object(ClientGame, "move", anywhere)


def _own_moves() -> AbstractContextManager[Any]:
    """A plan goes on after moves that its player has made by hand."""
    stand = standing.stand

    def heedless(armed: ArmedPlan, position: Any) -> Any:
        return stand(armed._replace(made=tuple(step.entry.head for step in position.replay.steps)), position)

    return patch.object(plans, "stand", heedless)


def _not_kept() -> AbstractContextManager[Any]:
    """An entry is not kept before it is sent."""
    return patch.object(Vault, "outbox", lambda _self: None)


def _rounds() -> AbstractContextManager[Any]:
    """A plan goes on in the next round."""
    stand = standing.stand

    def lasting(armed: ArmedPlan, position: Any) -> Any:
        return stand(armed._replace(round=position.course.state.round), position)

    return patch.object(plans, "stand", lasting)


def _redrawn() -> AbstractContextManager[Any]:
    """The time of a reply is drawn anew by each run."""
    return patch.object(PlanFiles, "due", lambda _self: None)


def _earlier() -> AbstractContextManager[Any]:
    """An event seen just before the plan was made counts too."""
    stand = standing.stand

    def wide(armed: ArmedPlan, position: Any) -> Any:
        seq = max(0, armed.seq - 1)
        return stand(armed._replace(seq=seq, head=position.replay.steps[seq].entry.head), position)

    return patch.object(plans, "stand", wide)


PLANTED: Final[dict[str, PlantedPlanFault]] = {
    "the head is not compared": PlantedPlanFault(_no_head, "the plan says"),
    "own moves do not end a plan": PlantedPlanFault(_own_moves, "the plan says None"),
    "an entry is not kept before it is sent": PlantedPlanFault(_not_kept, "has sent two entries"),
    "the round does not end a plan": PlantedPlanFault(_rounds, "the plan says None"),
    "the time of a reply is drawn anew": PlantedPlanFault(_redrawn, "has put off a reply"),
    "what was seen before counts": PlantedPlanFault(_earlier, "a trial plays"),
}
