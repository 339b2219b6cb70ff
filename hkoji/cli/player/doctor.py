"""`hkoji doctor`: checks a player's set-up, or a service, and shows the result of each check."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput, Exit
from hkoji.doctor_check import DoctorCheck, all_passed

_STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red"}


def run(
    out: CommandOutput,
    data: Path | None,
    database: str | None,
    backups: Path | None,
    config: Path | None = None,
    *,
    mail: bool = False,
) -> Exit:
    """Checks the player's set-up, or the service that one of the arguments names. Returns an exit code."""
    return show(out, _checks(data, database, backups, config, mail=mail))


def show(out: CommandOutput, checks: Iterable[DoctorCheck]) -> Exit:
    """Shows the result of each check. Returns an exit code."""
    found = list(checks)
    value = {"ok": all_passed(found), "checks": [check.to_json() for check in found]}
    out.result(value, lambda: "\n".join(_line(out, check) for check in found))
    return Exit.OK if all_passed(found) else Exit.FAILURE


def _checks(
    data: Path | None, database: str | None, backups: Path | None, config: Path | None, *, mail: bool
) -> Iterable[DoctorCheck]:
    if all(each is None for each in (data, database, backups, config)) and not mail:
        from hkoji.client.doctor import examine
        from hkoji.client.kept.home import Home

        return examine(Home())
    from hkoji.cli.service.serve import service_function

    checks: Iterable[DoctorCheck] = service_function("admin").examine(
        data, database, backups=backups, mail=mail, config=config
    )
    return checks


def _line(out: CommandOutput, check: DoctorCheck) -> str:
    words = {"ok": _("ok"), "warn": _("warn"), "fail": _("FAIL")}
    verdict = out.style.paint(f"{words[check.verdict]:5}", _STYLES[check.verdict])
    hint = f"\n      {'':13}{translate(check.hint)}" if check.hint else ""
    return f"{verdict} {check.name:13} {translate(check.said)}{hint}"
