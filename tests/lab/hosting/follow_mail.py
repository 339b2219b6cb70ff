"""Follows the part "Mail" of docs/hosting.md to the letter: python -m tests.lab.hosting.follow_mail

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

import os
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.lab.hosting import guide_page, units
from tests.lab.mail.names import text_record
from tests.lab.mail.namespaces import FOLDER, enter, overlay, run_inside
from tests.lab.mail.real_post_office import PLAYERS, Provider
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, letters

_ROOT: Final = Path(__file__).parents[3]
_HKOJI: Final = Path(sys.executable).with_name("hkoji")
_DOMAIN: Final = "hanamikoji.example"
_YOU: Final = "you@example.org"
_SECONDS: Final = 60
_INSTALLED: Final = f"""\
postfix postfix/main_mailer_type select Internet Site
postfix postfix/mailname string mail.{_DOMAIN}
postfix postfix/destinations string $myhostname, mail.{_DOMAIN}, {_DOMAIN}, localhost
"""
"""What Debian's installer asks about Postfix. Other answers than the page's must do no harm."""
_MAIL_LOG: Final = Path("/var/log/mail.log")
_LOOPBACK: Final = (
    "inet_interfaces=127.0.0.1",
    "smtp_bind_address=127.0.0.5",
    "mynetworks=127.0.0.1/32",
    f"maillog_file={_MAIL_LOG}",
)
_RESOLVER: Final = """\
server:
  do-not-query-localhost: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1
"""
_STAND_INS: Final = {
    "sudo": '[ "$1" = -u ] || exec "$@"\nuser=$2; shift 2\n'
    'exec setpriv --reuid "$user" --regid "$user" --init-groups "$@"\n',
    "systemctl": f'cd {_ROOT} && exec {sys.executable} -m tests.lab.hosting.units "$@"\n',
    "hkoji": 'exec sudo -u hkoji /opt/hkoji/bin/hkoji "$@"\n',
    "apt-get": "exit 0\n",
    "editor": "exit 0\n",
}
"""The page's words for programs that a machine of the laboratory has not."""


class GuideError(AssertionError):
    """A command of the page has failed, so that the next ones mean nothing."""


class FollowedGuide:
    """A machine on which the guide is followed."""

    def __init__(self, folder: Path) -> None:
        self.failed: list[str] = []
        self._programs = folder / "programs"
        self._programs.mkdir()
        for name, script in _STAND_INS.items():
            self._write(self._programs / name, script)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/opt"], check=True)
        Path("/opt/hkoji/bin").mkdir(parents=True)
        for path in (Path(sys.executable).resolve(), _HKOJI, _ROOT / "hkoji"):
            _open_the_way(path, folder)
        self._write(Path("/opt/hkoji/bin/hkoji"), f'exec {_HKOJI} "$@"\n')
        Path("/etc/postfix/main.cf").unlink(missing_ok=True)
        self._quietly("debconf-set-selections", said=_INSTALLED)
        self._quietly("dpkg-reconfigure", "--frontend=noninteractive", "postfix")
        self._quietly("postconf", "-e", *_LOOPBACK)

    @staticmethod
    def _write(path: Path, script: str) -> None:
        path.write_text(f"#!/bin/bash\n{script}")
        path.chmod(0o755)

    @staticmethod
    def _quietly(*words: str, said: str = "") -> None:
        subprocess.run(words, input=said, text=True, check=True, capture_output=True, timeout=_SECONDS)

    def see(self, what: str, holds: object, said: object = "") -> None:
        """Prints whether a check holds, and what was said if it does not."""
        print(f"{'ok  ' if holds else 'FAIL'}  {what}", flush=True)
        if not holds:
            self.failed.append(what)
            print("".join(f"        {line}\n" for line in str(said).splitlines()[-30:]), end="")

    def run(self, command: str) -> str:
        """Runs a command of the page. Returns its output."""
        environment = {**os.environ, "PATH": f"{self._programs}:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        words = ["bash", "-o", "pipefail", "-ec", command.replace(_YOU, f"you@{PLAYERS}")]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, cwd=_ROOT, env=environment, timeout=2 * _SECONDS
        )
        journals = "".join(units.journal(name)[-1500:] for name in ("hkoji", "hkoji-mail", "opendkim"))
        self.see(command, done.returncode == 0, done.stdout + done.stderr + journals)
        if done.returncode:
            raise GuideError(command)
        return done.stdout + done.stderr

    def run_all(self, text: str) -> str:
        """Runs all commands in a part of the page. Returns their output."""
        return "".join(map(self.run, guide_page.commands(text)))

    def prints(self, text: str) -> None:
        """Runs the commands in a part of the page, the last until it prints what the page says.

        `…` stands for anything there.
        """
        *before, last = guide_page.commands(text)
        wanted = guide_page.printed(text)
        for command in before:
            self.run(command)
        said = self.run(last)
        patterns = [re.escape(line.replace(_YOU, f"you@{PLAYERS}")).replace("…", ".*") for line in wanted]
        end = time.monotonic() + _SECONDS
        while not all(re.search(f"^{pattern}$", said, re.M) for pattern in patterns) and time.monotonic() < end:
            time.sleep(2)
            said = self.run(last)
        for line, pattern in zip(wanted, patterns, strict=True):
            self.see(f"prints: {line}", re.search(f"^{pattern}$", said, re.M), said)

    def until(self, seen: Callable[[], object]) -> bool:
        """Waits until a condition holds."""
        end = time.monotonic() + _SECONDS
        while not seen():
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
        return True


def _open_the_way(path: Path, folder: Path) -> None:
    """Lets all users reach a path, which is below somebody's home perhaps; in these namespaces only."""
    for place in reversed(path.parents):
        if not place.stat().st_mode & stat.S_IXOTH:
            overlay(place, folder / "over")
            place.chmod(0o755)


def follow(guide: FollowedGuide, provider: Provider) -> None:
    """Goes through the page."""
    nothing, mail = guide_page.section("From nothing"), guide_page.section("Mail")
    service = nothing[nothing.index("2. **A user**") : nothing.index("4. **TLS**")]
    guide.run_all(service)
    servers, rest = mail.split("2. **Records", 1)
    records, rest = rest.split("3. **The process", 1)
    process, trial = rest.split("4. **A trial", 1)
    trial, later = trial.split("\nThe journal of", 1)
    for command in guide_page.commands(servers):
        if " apt-get " in command:
            missing = [name for name in guide_page.packages(command) if not _is_installed(name)]
            guide.see(f"Debian's packages of the page are installed: {command}", not missing, missing)
    guide.run_all(servers)
    _publish(provider, records)
    guide.prints(records)
    guide.run_all(process)
    _try(guide, provider, trial)
    _verify_units(guide)
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
    for name, kind, value in guide_page.rows(records):
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
        guide.see("a letter comes", False, units.journal("hkoji-mail") + _MAIL_LOG.read_text())
        return
    letter = you.next_letter()
    guide.see("the invitation comes", "accept" in letter.text, letter.text)
    _signed(guide, letter)
    you.answer(letter, "accept")
    guide.see("the answer is answered", guide.until(lambda: len(letters(you.mailbox)) > 1), units.journal("hkoji-mail"))
    letter = you.next_letter()
    ours = f"play@{_DOMAIN}" in letter.author and "play+" in letter.text
    guide.see("by the letter that has the command address", ours, letter.raw.decode() + _MAIL_LOG.read_text())
    _signed(guide, letter)
    guide.prints(answered)


def _signed(guide: FollowedGuide, letter: Letter) -> None:
    """Looks at the DKIM signature of a letter."""
    found = re.sub(r"\s", "", letter.field("DKIM-Signature")).lower()
    signed = re.search(r";h=([^;]*);", found)
    fields = signed[1].split(":") if signed else []
    guide.see("it is signed for the domain", f"d={_DOMAIN};" in found and "s=hkoji;" in found, found)
    both = fields.count("list-unsubscribe") == fields.count("list-unsubscribe-post") == 2
    guide.see("h= has both unsubscribe fields, once more than they are there", both, fields)
    passed = "dkim=pass" in letter.field("Authentication-Results")
    guide.see("the provider verifies it", passed, letter.field("Authentication-Results"))


def _verify_units(guide: FollowedGuide) -> None:
    """Lets systemd read the units."""
    if program := shutil.which("systemd-analyze"):
        for name in ("hkoji", "hkoji-mail"):
            file = f"/etc/systemd/system/{name}.service"
            done = subprocess.run([program, "verify", file], capture_output=True, text=True, check=False)
            said = [line for line in done.stderr.splitlines() if f"{name}.service" in line]
            guide.see(f"systemd understands {name}.service", not said, "\n".join(said))


def _pipe(guide: FollowedGuide, provider: Provider, later: str) -> None:
    """Puts the page's line into master.cf, and the pipe in the place of LMTP."""
    entry = next(block for block in guide_page.blocks(later) if block.startswith("hkoji unix"))
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
    upgrade, restore = guide_page.section("Upgrade"), guide_page.section("Restore")
    guide.run(guide_page.commands(upgrade)[0])
    guide.run(next(command for command in guide_page.inline(upgrade) if "restart" in command))
    (copy,) = Path("/var/backups/hkoji").glob("*.sqlite3")
    for command in guide_page.inline(restore):
        guide.run(command.replace("COPY", str(copy)))
        if " stop " in command:
            Path("/var/lib/hkoji").rename("/var/lib/hkoji-before")
    before = you.known = len(letters(you.mailbox))
    you.answer(letters(you.mailbox)[-1], "help")
    guide.see("an earlier letter can be answered", guide.until(lambda: len(letters(you.mailbox)) > before))


def main(words: list[str]) -> int:
    """Follows the guide. Returns the exit code."""
    if FOLDER not in os.environ:
        return run_inside(words, "tests.lab.hosting.follow_mail")
    folder = enter()
    guide = FollowedGuide(folder)
    provider = Provider()
    provider.start()
    try:
        follow(guide, provider)
    except GuideError:
        print(_MAIL_LOG.read_text()[-3000:] if _MAIL_LOG.exists() else "")
    print(f"hosting: {len(guide.failed) or 'nothing'} wrong in the part about mail")
    return 1 if guide.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
