"""Follows the parts about mail of docs/hosting.md to the letter.

    python -m tests.lab.hosting.follow_mail             the part "Mail"
    python -m tests.lab.hosting.follow_mail provider    the part "Mail through a provider"

Every command is read from the page and run as it stands there, with its example files, in namespaces of its own, where
the machine is called hanamikoji.example. Only this differs from a machine on the internet:

- `/opt/hkoji/bin/hkoji` is this program, as installing it is the guide's first step;
- `systemctl` is `tests.lab.hosting.units`, `sudo` changes only the user, `apt-get` looks whether a package is
  installed, and `editor` changes nothing;
- loopback addresses stand for hosts, so Postfix listens at one of them, and trusts only that one; it logs to a file;
- OpenDKIM's programs ask the DNS of the laboratory, where they would ask those of the internet from its root;
- the mailbox you@example.org is one of the laboratory's provider.

Prints each command, and what did not come as the page says. Exit code 1 if something was wrong, 3 if this machine
cannot have the namespaces or lacks a program.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from tests.lab.hosting import followed_guide, units
from tests.lab.hosting.follow_provider import STAND_INS, OpenProvider, follow_with_provider
from tests.lab.hosting.followed_guide import DOMAIN, MAIL_LOG, FollowedGuide, GuideError, verify_units
from tests.lab.mail.names import text_record
from tests.lab.mail.namespaces import FOLDER, enter, run_inside
from tests.lab.mail.real_post_office import Provider
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, letters

_SETTINGS: Final = Path("/etc/hkoji/service.toml")
_RECIPIENTS: Final = Path("/etc/postfix/hkoji-recipients")
_OPENDKIM: Final = Path("/etc/opendkim.conf")
_DATABASE: Final = Path("/var/lib/hkoji/hkoji.sqlite3")
_PASSWORD: Final = Path("/etc/hkoji/password")


class BrokenSetUps:
    """The set-up of a guide that has been followed. `check` is the part of the page about `hkoji doctor`."""

    def __init__(self, guide: FollowedGuide, check: str) -> None:
        self._guide = guide
        (self._command,) = followed_guide.commands(check)

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


_RESOLVER: Final = """\
server:
  do-not-query-localhost: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1
"""


def follow(guide: FollowedGuide, provider: Provider) -> None:
    """Goes through the page."""
    nothing, mail = followed_guide.section("From nothing"), followed_guide.section("Mail")
    service = nothing[nothing.index("2. **A user**") : nothing.index("4. **TLS**")]
    guide.run_all(service)
    servers, rest = mail.split("2. **Records", 1)
    records, rest = rest.split("3. **The process", 1)
    process, rest = rest.split("4. **A trial", 1)
    trial, rest = rest.split("5. **A check", 1)
    check, later = rest.split("\nThe journal of", 1)
    for command in followed_guide.commands(servers):
        if " apt-get " in command:
            missing = [name for name in followed_guide.packages(command) if not _is_installed(name)]
            guide.see(f"Debian's packages of the page are installed: {command}", not missing, missing)
    guide.run_all(servers)
    _publish(provider, records)
    guide.prints(records)
    guide.run_all(process)
    _try(guide, provider, trial)
    BrokenSetUps(guide, check).examine()
    verify_units(guide)
    _pipe(guide, provider, later)
    _restore(guide, provider)


def _is_installed(package: str) -> bool:
    asked = ["dpkg-query", "--show", "--showformat", "${db:Status-Status}", package]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout == "installed"


def _publish(provider: Provider, records: str) -> None:
    """Sets the page's records in the DNS, with the key that was made."""
    Path("/etc/unbound.conf").write_text(_RESOLVER)
    with Path("/etc/opendkim.conf").open("a") as file:
        file.write("ResolverConfiguration /etc/unbound.conf\n")
    made = "".join(re.findall(r'"([^"]*)"', Path("/etc/dkimkeys/hkoji.txt").read_text()))
    for name, kind, value in followed_guide.rows(records):
        if value.startswith("v=DKIM1"):
            provider.names.add(name, kind, text_record(made))
        elif kind == "TXT":
            provider.names.add(name, kind, text_record(value))
        elif kind == "A":
            provider.names.add(name, kind, "127.0.0.1")
        else:
            provider.names.add(name, kind, value)


def _try(guide: FollowedGuide, provider: Provider, trial: str) -> None:
    """Does what the page says for a trial, and looks at the letters."""
    you = MailboxPlayer(provider.open("you"))
    first, answered = trial.split("Answer it", 1)
    guide.prints(first)
    if not guide.until(lambda: letters(you.mailbox)):
        guide.see("a letter comes", False, units.journal("hkoji-mail") + MAIL_LOG.read_text())
        return
    letter = you.next_letter()
    guide.see("the invitation comes", "accept" in letter.text, letter.text)
    _signed(guide, letter)
    you.answer(letter, "accept")
    guide.see("the answer is answered", guide.until(lambda: len(letters(you.mailbox)) > 1), units.journal("hkoji-mail"))
    letter = you.next_letter()
    ours = f"play@{DOMAIN}" in letter.author and "play+" in letter.text
    guide.see("by the letter that has the command address", ours, letter.raw.decode() + MAIL_LOG.read_text())
    _signed(guide, letter)
    guide.prints(answered)


def _signed(guide: FollowedGuide, letter: Letter) -> None:
    """Looks at the DKIM signature of a letter."""
    found = re.sub(r"\s", "", letter.field("DKIM-Signature")).lower()
    signed = re.search(r";h=([^;]*);", found)
    fields = signed[1].split(":") if signed else []
    guide.see("it is signed for the domain", f"d={DOMAIN};" in found and "s=hkoji;" in found, found)
    both = fields.count("list-unsubscribe") == fields.count("list-unsubscribe-post") == 2
    guide.see("h= has both unsubscribe fields, once more than they are there", both, fields)
    passed = "dkim=pass" in letter.field("Authentication-Results")
    guide.see("the provider verifies it", passed, letter.field("Authentication-Results"))


def _pipe(guide: FollowedGuide, provider: Provider, later: str) -> None:
    """Puts the page's line into master.cf, and the pipe in the place of LMTP."""
    entry = next(block for block in followed_guide.blocks(later) if block.startswith("hkoji unix"))
    with Path("/etc/postfix/master.cf").open("a") as file:
        file.write(f"{entry}\n")
    lines = re.findall(r"`((?:relay_transport|hkoji_destination_recipient_limit) = \w+)`", later)
    guide.see("the page names two lines for main.cf", len(lines) == 2, lines)
    with Path("/etc/postfix/main.cf").open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))
    off = re.search(r'`(mail_lmtp = "off")`', later)
    assert off
    with Path("/etc/hkoji/service.toml").open("a") as file:
        file.write(f"{off[1]}\n")
    guide.run("sudo systemctl restart postfix hkoji-mail")
    you = MailboxPlayer(provider.open("you"))
    before = you.known = len(letters(you.mailbox))
    you.answer(letters(you.mailbox)[-1], "games")
    guide.see("a mail is answered that came by the pipe", guide.until(lambda: len(letters(you.mailbox)) > before))
    guide.see(
        "and its door is closed", "takes mail for play@hanamikoji.example from pipes" in units.journal("hkoji-mail")
    )


def _restore(guide: FollowedGuide, provider: Provider) -> None:
    """Upgrades and restores as the page says. A letter from before the copy can be answered afterwards."""
    you = MailboxPlayer(provider.open("you"))
    upgrade, restore = followed_guide.section("Upgrade"), followed_guide.section("Restore")
    guide.run(followed_guide.commands(upgrade)[0])
    guide.run(next(command for command in followed_guide.inline(upgrade) if "restart" in command))
    (copy,) = Path("/var/backups/hkoji").glob("*.sqlite3")
    for command in followed_guide.inline(restore):
        guide.run(command.replace("COPY", str(copy)))
        if " stop " in command:
            Path("/var/lib/hkoji").rename("/var/lib/hkoji-before")
    before = you.known = len(letters(you.mailbox))
    you.answer(letters(you.mailbox)[-1], "help")
    guide.see("an earlier letter can be answered", guide.until(lambda: len(letters(you.mailbox)) > before))


def main(words: list[str]) -> int:
    """Follows the guide. Returns the exit code."""
    if words not in ([], ["provider"]):
        print("usage: python -m tests.lab.hosting.follow_mail [provider]", file=sys.stderr)
        return 2
    if FOLDER not in os.environ:
        return run_inside(words, "tests.lab.hosting.follow_mail")
    folder = enter()
    guide = FollowedGuide(folder, STAND_INS if words else {})
    provider = OpenProvider() if words else Provider()
    provider.start()
    try:
        if isinstance(provider, OpenProvider):
            follow_with_provider(guide, provider)
        else:
            follow(guide, provider)
    except GuideError:
        print(MAIL_LOG.read_text()[-3000:] if MAIL_LOG.exists() else "")
    print(f"hosting: {len(guide.failed) or 'nothing'} wrong in the part about mail")
    return 1 if guide.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
