"""`hkoji audit --clock`: the account of a game's clock, turn by turn, computed from the lines that hold.

docs/spec/log.md, "Clock". No rules of a game are needed. Without receipts it goes as far as entries state the times.
"""

from __future__ import annotations

from typing import Any

from hkoji.audit.log_audit import Audit
from hkoji.audit.times import ClockTurn, TimedLine, TimedLog, last_worded
from hkoji.cli.games.time_text import clock_words, local_time
from hkoji.cli.language import _, translate
from hkoji.game import entry_kinds
from hkoji.game.entry_kinds import parse_body
from hkoji.game.time_control import TimeControl, format_duration, format_time_control
from hkoji.rules.events import Seat


class ClockAccount:
    """The account of the log that an audit has read."""

    def __init__(self, result: Audit) -> None:
        timed = [TimedLine(line, parse_body(line.entry.kind, line.entry.body)) for line in result.lines]
        log = TimedLog(timed, last_worded(result.lines))
        self._turns: tuple[ClockTurn, ...] = tuple(log.turns())
        self._reserves = log.reserves()
        self._control: TimeControl | None = None
        self._names: list[str] = []
        for line, body in timed:
            if isinstance(body, entry_kinds.Offer):
                self._control = body.agreement.clock
            if body.newcomer_key() is not None:
                self._names.append(line.entry.by)

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns the account for programs. docs/json.md."""
        return {
            "text": format_time_control(self._control),
            "control": None if self._control is None else self._control.to_json(),
            "turns": [
                {
                    "seat": turn.seat,
                    "name": self._name(turn.seat),
                    "begin": turn.begin,
                    "until": turn.until,
                    "spent": turn.spent,
                    "reserve": turn.reserve,
                }
                for turn in self._turns
            ],
            "reserve": None if self._reserves is None else list(self._reserves),
        }

    def text(self) -> str:
        """Returns the account for people, a line for each turn."""
        if self._control is None:
            return _("The game has no clock.")
        head = (_("turn"), _("player"), _("began"), _("ended"), _("counted"), _("reserve"))
        rows = [head]
        for number, turn in enumerate(self._turns, 1):
            rows.append(
                (
                    str(number),
                    self._name(turn.seat),
                    local_time(turn.begin, seconds=True),
                    _("goes on") if turn.until is None else local_time(turn.until, seconds=True),
                    _signed(turn.spent),
                    format_duration(turn.reserve),
                )
            )
        widths = [max(len(row[n]) for row in rows) for n in range(len(head))]
        lines = [_("Clock: {clock}.", clock=translate(clock_words(self._control)))]
        lines += [
            "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        if self._reserves is not None:
            for seat, left in enumerate(self._reserves):
                lines.append(_("Reserve of {name}: {time}.", name=self._name(seat), time=format_duration(left)))
        return "\n".join(lines)

    def _name(self, seat: Seat) -> str:
        return self._names[seat] if seat < len(self._names) else str(seat)


def _signed(seconds: int) -> str:
    """Formats counted seconds, which are negative if a gift was larger than the time that was used."""
    return format_duration(seconds) if seconds >= 0 else f"-{format_duration(-seconds)}"
