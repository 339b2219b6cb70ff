"""Faults to plant in a service that plays by mail; the judgement of the story of mail has to find each."""

from __future__ import annotations

from typing import Any, Final
from unittest.mock import patch

from hkoji_server.service.time.service_time import ServiceTime

from tests.support.timed_laboratory import PlantedFault


async def no_beat_needed(_self: Any, _way: Any, before: str) -> str:  # Any: as in the original
    """A deadline of mail is over when its time is over, whether or not mail was taken after it."""
    return before


def _plant() -> None:
    patch.object(ServiceTime, "taken_until", no_beat_needed).start()


PLANTED: Final[dict[str, PlantedFault]] = {
    "the keeper needs no beat of mail": PlantedFault(_plant, "stopped", "while its seat could not answer"),
}
