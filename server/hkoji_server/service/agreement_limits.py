"""The limits of a service on what two players may agree on. The form of an agreement is checked where it is read."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.errors import IllegalError
from hkoji.game.agreement import Agreement
from hkoji.game.clock import format_time, parse_time
from hkoji.game.time_control import format_duration
from hkoji.messages.text import tell


class AgreementLimits(NamedTuple):
    """In seconds: the least time for the first turn, and how long a game may wait for a guest."""

    shortest_clock: int = 3600
    longest_expiry: int = 60 * 86_400

    def verify(self, agreement: Agreement, at: str) -> None:
        """Raises `IllegalError` for an agreement that this service does not offer at the time `at`."""
        clock, expires = agreement.clock, agreement.expires
        if clock is not None and clock.move + clock.bank < self.shortest_clock:
            raise IllegalError(
                tell(
                    "the clock is too short: time per turn and reserve together are less than {least}",
                    least=format_duration(self.shortest_clock),
                ),
                hint=tell("nothing was changed; agree on more time"),
            )
        if expires is None:
            return
        if expires <= at:
            raise IllegalError(
                tell("the game would have expired already, at {expires}; it is {at}", expires=expires, at=at),
                hint=tell("nothing was changed; is your clock right?"),
            )
        if expires > format_time(parse_time(at) + self.longest_expiry):
            raise IllegalError(
                tell(
                    "the game would wait for a guest until {expires}, and here it may wait at most {most}",
                    expires=expires,
                    most=format_duration(self.longest_expiry),
                ),
                hint=tell("nothing was changed; let it expire earlier"),
            )
