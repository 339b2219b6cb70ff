"""Shows what `hkoji doctor` has found, line by line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hkoji.cli.exits import Exit
from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput
from hkoji.health_check import HealthCheck, well

_STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red"}


def show(out: CommandOutput, checks: Iterable[HealthCheck]) -> Exit:
    """Shows the checks. Whether all is well, as an exit code."""
    found = list(checks)
    value = {"ok": well(found), "checks": [check.to_json() for check in found]}
    out.result(value, lambda: "\n".join(_line(out, check) for check in found))
    return Exit.OK if well(found) else Exit.FAILURE


def _line(out: CommandOutput, check: HealthCheck) -> str:
    words = {"ok": _("ok"), "warn": _("warn"), "fail": _("FAIL")}
    verdict = out.style.paint(f"{words[check.verdict]:5}", _STYLES[check.verdict])
    hint = f"\n      {'':13}{translate(check.hint)}" if check.hint else ""
    return f"{verdict} {check.name:13} {translate(check.said)}{hint}"
