"""Breaks a set-up that was made by the guide, one place after the other, and looks at what `hkoji doctor --mail` says.

Each fault is made as an operator makes it: in a file of a mail server, in a setting, by stopping a unit.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.lab.hosting import guide_page
from tests.lab.hosting.followed_guide import FollowedGuide

_SETTINGS: Final = Path("/etc/hkoji/service.toml")
_RECIPIENTS: Final = Path("/etc/postfix/hkoji-recipients")
_OPENDKIM: Final = Path("/etc/opendkim.conf")
_DATABASE: Final = Path("/var/lib/hkoji/hkoji.sqlite3")
_PASSWORD: Final = Path("/etc/hkoji/password")


class BrokenSetUps:
    """The set-up of a guide that has been followed. `check` is the part of the page about `hkoji doctor`."""

    def __init__(self, guide: FollowedGuide, check: str) -> None:
        self._guide = guide
        (self._command,) = guide_page.commands(check)

    def examine(self) -> None:
        """Looks at the good set-up, and then at the broken ones."""
        self._guide.run(self._command)
        good = self._checks()
        wrong = {name: each for name, each in good.items() if each["verdict"] != "ok" and name != "backups"}
        self._guide.see("the doctor finds nothing wrong", not wrong, wrong)
        for broken in (self._delimiter, self._unsigned_field, self._tls, self._password, self._old_beat):
            broken()
        self._guide.see("afterwards nothing is wrong", self._checks().keys() == good.keys() and not self._failed())

    def _checks(self) -> dict[str, Any]:  # Any: JSON
        said = self._guide.run(f"{self._command} --json || true")
        found = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
        return {check["name"]: check for check in found["checks"]}

    def _failed(self) -> list[str]:
        return [name for name, check in self._checks().items() if check["verdict"] == "fail"]

    def _see(self, what: str, *names: str) -> None:
        failed = self._failed()
        self._guide.see(f"broken, {what}: the doctor finds {', '.join(names)}", failed == [*names], failed)

    @contextmanager
    def _changed(self, file: Path, change: Callable[[str], str], units: str) -> Iterator[None]:
        """A file with a change for the duration of a block; then it is as before."""
        before = file.read_text()
        file.write_text(change(before))
        try:
            if units:
                self._guide.run(f"sudo systemctl restart {units}")
            yield
        finally:
            file.write_text(before)
            if units:
                self._guide.run(f"sudo systemctl restart {units}")

    def _delimiter(self) -> None:
        def without_tokens(text: str) -> str:
            return "".join(line for line in text.splitlines(keepends=True) if "a-z2-7" not in line)

        with self._changed(_RECIPIENTS, without_tokens, "postfix"):
            self._see("addresses with tokens are refused", "delimiter")

    def _unsigned_field(self) -> None:
        def signed_otherwise(text: str) -> str:
            lines = [line for line in text.splitlines() if not line.lower().startswith(("signheaders", "oversign"))]
            return "\n".join([*lines, "SignHeaders From,To,Subject,Date,Message-ID,List-Unsubscribe", ""])

        with self._changed(_OPENDKIM, signed_otherwise, "opendkim"):
            self._see("the field of the button is not signed", "dkim")

    def _tls(self) -> None:
        # A name is no loopback address, so TLS is demanded. Nobody trusts the certificate, if there is one.
        line = 'mail_smtp = "smtp://mail.hanamikoji.example"\n'
        with self._changed(_SETTINGS, lambda text: text + line, ""):
            self._see("the mail server has no trusted certificate", "mail tls")

    def _password(self) -> None:
        _PASSWORD.write_text("secret\n")
        _PASSWORD.chmod(0o644)
        line = f'mail_imap_password_file = "{_PASSWORD}"\n'
        with self._changed(_SETTINGS, lambda text: text + line, ""):
            self._see("everybody can read a password", "passwords")
        _PASSWORD.unlink()

    def _old_beat(self) -> None:
        self._guide.run("sudo systemctl stop hkoji-mail")
        with closing(sqlite3.connect(_DATABASE)) as database, database:
            (noted,) = database.execute("SELECT at FROM beat WHERE way = 'mail'").fetchone()
            database.execute("UPDATE beat SET at = '2026-01-01T00:00:00Z' WHERE way = 'mail'")
        self._see("the mail process does not run", "mail process")
        with closing(sqlite3.connect(_DATABASE)) as database, database:
            database.execute("UPDATE beat SET at = ? WHERE way = 'mail'", (noted,))
        self._guide.run("sudo systemctl start hkoji-mail")
