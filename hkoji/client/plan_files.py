"""What is kept of plans in a game's folder: the plan itself, and the time at which a planned reply is due.

`plan.json` is written durably before anything is sent that depends on it: an entry that the plan makes is noted there
before it can be in the log. `reply.json` names the head that it answers; for any other head it says nothing. Both
are replaced atomically and never leave this machine. Write them only with the vault locked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from hkoji.client.files import intact, read_json, remove_file, write_json
from hkoji.errors import MalformedError
from hkoji.game.clock import parse_time
from hkoji.log.canonical import is_hex
from hkoji.plans.grammar import format_plan, parse_plan
from hkoji.plans.standing import ArmedPlan
from hkoji.rules.protocol import Ruleset

_PLAN: Final = "plan.json"
_REPLY: Final = "reply.json"


class DueReply(NamedTuple):
    """When the entry that follows `head` is to be made, as a time of the log."""

    head: str
    due: str


class PlanFiles:
    """The files of plans in the folder of a game."""

    def __init__(self, folder: Path) -> None:
        self.file: Final = folder / _PLAN
        self._reply: Final = folder / _REPLY

    @property
    def armed(self) -> bool:
        """Whether there is a plan."""
        return self.file.exists()

    def read(self, ruleset: Ruleset) -> ArmedPlan | None:
        """Returns the plan of a game with this ruleset; None if there is none. Raises `StorageError`."""
        with intact(self.file):
            kept = read_json(self.file)
            if not kept:
                return None
            seq, round_, made = kept["seq"], kept["round"], tuple(kept["made"])
            if type(seq) is not int or type(round_) is not int or not all(is_hex(each, 64) for each in made):
                raise MalformedError("plan", "its numbers or hashes have another form")
            return ArmedPlan(parse_plan(kept["plan"], ruleset), seq, str(kept["head"]), round_, made)

    def write(self, armed: ArmedPlan) -> None:
        """Keeps a plan in place of any other."""
        write_json(
            self.file,
            {
                "plan": format_plan(armed.plan),
                "seq": armed.seq,
                "head": armed.head,
                "round": armed.round,
                "made": list(armed.made),
            },
        )

    def drop(self) -> None:
        """Removes the plan."""
        remove_file(self.file)

    def due(self) -> DueReply | None:
        """Returns when a reply is due; None if that was never said. Raises `StorageError`."""
        with intact(self._reply):
            kept = read_json(self._reply)
            if not kept:
                return None
            parse_time(kept["due"])
            return DueReply(str(kept["head"]), kept["due"])

    def set_due(self, reply: DueReply) -> None:
        """Keeps when a reply is due."""
        write_json(self._reply, reply._asdict())


def planned_games(home: Path) -> tuple[str, ...]:
    """Returns the games of a home that have a plan."""
    return tuple(sorted(file.parent.name for file in home.glob(f"games/*/{_PLAN}")))
