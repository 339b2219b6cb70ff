"""The time of one game, from docs/spec/log.md: deadlines, credits, gifts and wishes to call the game off."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.lab.machine.naive_clock import NaiveClock, to_moment, to_number
from tests.lab.machine.naive_log import Object
from tests.lab.machine.naive_time import outside


@dataclass
class GameTime:
    """`agreement` is what the offer says, and `outages` are all that the service knows."""

    game: str
    agreement: Object
    outages: list[Object]
    clock: NaiveClock | None = None
    """None before the join, in a game without a clock, and after the end."""
    statements: list[Object] = field(default_factory=list)
    """The gifts and wishes that were taken: `head`, `kind`, `name`, `seconds`, `sig`."""
    listed: str | None = None
    """The deadline in lists, which may be too early after an outage."""
    _heads: list[str] = field(default_factory=list)
    """The heads that a gift for the entry that is due may name."""

    def record(self, before: str, now: str) -> str:
        """The time of record of an entry that is decided now, after one of the time `before`."""
        return outside(max(before, now), self.outages)

    @property
    def since(self) -> str | None:
        """Since when the time of the seat that owes the next entry runs."""
        if self.clock is None or self.clock.turn is None:
            return None
        return to_moment(self.clock.since).strftime("%Y-%m-%dT%H:%M:%SZ")

    def gifts(self) -> list[Object]:
        """The gifts that count for the entry that is due."""
        return [each for each in self.statements if each["kind"] == "give" and each["head"] in self._heads]

    def wishes(self, head: str) -> dict[str, Object]:
        """The wishes to call the game off that are about the last entry, by name."""
        return {each["name"]: each for each in self.statements if each["kind"] == "annul" and each["head"] == head}

    def lost(self, until: str | None = None) -> list[Object]:
        """The outages since the time runs, up to a time."""
        since = self.since
        if since is None:
            return []
        return [each for each in self.outages if each["from"] > since and (until is None or each["until"] <= until)]

    def _seconds(self, lost: list[Object]) -> int:
        assert self.clock is not None
        given = max((each["seconds"] for each in self.gifts()), default=0)
        outages = [self.clock.counted(to_number(each["from"]), to_number(each["until"])) for each in lost]
        return int(given) + sum(outages)

    def deadline(self, until: str | None = None) -> str | None:
        """The last second for the entry that is due, with the outages up to a time; None where no clock runs."""
        return (
            None if self.since is None or self.clock is None else self.clock.deadline(self._seconds(self.lost(until)))
        )

    def is_late(self, at: str) -> bool:
        """Whether an entry with that time of record comes too late."""
        deadline = self.deadline(at)
        return deadline is not None and at > deadline

    def credit(self, at: str) -> Object | None:
        """The credit for an entry of that time; None if there is none."""
        if self.since is None:
            return None
        largest = max(self.gifts(), key=lambda gift: gift["seconds"], default=None)
        gift = {name: largest[name] for name in ("head", "seconds", "sig")} if largest else None
        lost = self.lost(at)
        return {"gift": gift, "outages": lost} if gift or lost else None

    def take(self, kind: str, by: int | None, at: str, head: str, owes: int | None) -> None:
        """An entry of that time; then `head` is the last one, and the seat `owes` owes an entry."""
        if kind in ("rekey", "revoke"):
            self._heads.append(head)
            return
        if kind == "join" and self.agreement["clock"]:
            self.clock = NaiveClock(**self.agreement["clock"])
        if self.clock is not None:
            credits = self._seconds(self.lost(at)) if kind in ("seed", "move") else 0
            late = self.clock.take(kind, by, at, credits, owes)
            assert not late
        self._heads = [head]
        if owes is None and kind == "end":
            self.clock = None
