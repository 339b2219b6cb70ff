"""One line of `hkoji doctor`: the subject of a check, its verdict, and what to do next."""

from __future__ import annotations

from typing import Literal, NamedTuple

Verdict = Literal["ok", "warn", "fail"]


class DoctorCheck(NamedTuple):
    """`name` is stable, for programs; `said` and `hint` are for people, and hold no secrets."""

    name: str
    verdict: Verdict
    said: str
    hint: str = ""

    def to_json(self) -> dict[str, str]:
        """Returns the check for programs."""
        return {"name": self.name, "verdict": self.verdict, "said": str(self.said), "hint": str(self.hint)}
