"""A machine of the laboratory on which a part of docs/hosting.md is followed to the letter.

Every command is read from the page and run as it stands there, with its example files, in namespaces of its own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from tests.lab.hosting import units
from tests.lab.mail.namespaces import overlay
from tests.lab.mail.real_post_office import PLAYERS

GUIDE: Final = Path(__file__).parents[3] / "docs" / "hosting.md"
_BEGIN: Final = ("sudo ", "echo ", "curl ", "hkoji admin ", "hkoji doctor ", "opendkim-testkey ")
"""How blocks of commands begin; others are files, or what a command prints."""


def section(heading: str) -> str:
    """The text below a heading, until the next of the same level. Raises `LookupError` if there is none."""
    found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1 |\Z)", GUIDE.read_text(), re.M | re.S)
    if not found:
        raise LookupError(f"the guide has no section {heading}")
    return found[2]


def blocks(text: str) -> list[str]:
    """The indented blocks of a text, without their indentation."""
    found = re.findall(r"(?:^|\n)\n((?:(?: {4,}.*)\n|\n(?= {4}))+)", f"\n{text}")
    return [textwrap.dedent(each).strip("\n") for each in found]


def commands(text: str) -> list[str]:
    """The commands in a text, in order; one a line."""
    found = [line for block in blocks(text) if block.startswith(_BEGIN) for line in block.splitlines()]
    return [line for line in found if line.startswith(_BEGIN)]


def inline(text: str) -> list[str]:
    """The operator's commands within the sentences of a text, in order."""
    return re.findall(r"`(sudo [^`]+)`", text)


def printed(text: str) -> list[str]:
    """The lines that a text says its commands print: those of a block that begin with no command, without a comment."""
    found = [line for block in blocks(text) if block.startswith(_BEGIN) for line in block.splitlines()]
    return [line for line in found if not line.startswith(_BEGIN)]


def rows(text: str) -> list[list[str]]:
    """The rows of the first table in a text, without its head. Code is without its marks."""
    lines = [line.strip() for line in text.splitlines() if line.lstrip().startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def packages(command: str) -> list[str]:
    """The packages that an `apt-get install` names."""
    words = shlex.split(command)
    return [word for word in words[words.index("install") + 1 :] if not word.startswith("-")]


_ROOT: Final = Path(__file__).parents[3]
_HKOJI: Final = Path(sys.executable).with_name("hkoji")
DOMAIN: Final = "hanamikoji.example"
YOU: Final = "you@example.org"
_SECONDS: Final = 60
_INSTALLED: Final = f"""\
postfix postfix/main_mailer_type select Internet Site
postfix postfix/mailname string mail.{DOMAIN}
postfix postfix/destinations string $myhostname, mail.{DOMAIN}, {DOMAIN}, localhost
"""
"""The questions of Debian's installer about Postfix. Other answers than the page's must do no harm."""
MAIL_LOG: Final = Path("/var/log/mail.log")
_LOOPBACK: Final = (
    "inet_interfaces=127.0.0.1",
    "smtp_bind_address=127.0.0.5",
    "mynetworks=127.0.0.1/32",
    f"maillog_file={MAIL_LOG}",
)
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

    def __init__(self, folder: Path, stand_ins: Mapping[str, str] = MappingProxyType({})) -> None:
        """Makes the machine; `stand_ins` are scripts in the place of further programs."""
        self.failed: list[str] = []
        self.place = _ROOT
        """Where commands run."""
        self._programs = folder / "programs"
        self._programs.mkdir()
        for name, script in {**_STAND_INS, **stand_ins}.items():
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
        words = ["bash", "-o", "pipefail", "-ec", command.replace(YOU, f"you@{PLAYERS}")]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, cwd=self.place, env=environment, timeout=2 * _SECONDS
        )
        journals = "".join(units.journal(name)[-1500:] for name in ("hkoji", "hkoji-mail", "opendkim"))
        self.see(command, done.returncode == 0, done.stdout + done.stderr + journals)
        if done.returncode:
            raise GuideError(command)
        return done.stdout + done.stderr

    def run_all(self, text: str) -> str:
        """Runs all commands in a part of the page. Returns their output."""
        return "".join(map(self.run, commands(text)))

    def prints(self, text: str) -> None:
        """Runs the commands in a part of the page, the last until it prints what the page says.

        `…` stands for anything there.
        """
        *before, last = commands(text)
        wanted = printed(text)
        for command in before:
            self.run(command)
        said = self.run(last)
        patterns = [re.escape(line.replace(YOU, f"you@{PLAYERS}")).replace("…", ".*") for line in wanted]
        end = time.monotonic() + _SECONDS
        while not all(re.search(f"^{pattern}$", said, re.M) for pattern in patterns) and time.monotonic() < end:
            time.sleep(2)
            said = self.run(last)
        for line, pattern in zip(wanted, patterns, strict=True):
            self.see(f"prints: {line}", re.search(f"^{pattern}$", said, re.M), said)

    def see_ok(self, said: str, *names: str) -> None:
        """Looks whether `hkoji doctor` has said `ok` of each of its checks with these names."""
        plain = re.sub("\\x1b\\[[0-9;]*m", "", said)
        for name in names:
            lines = [line for line in plain.splitlines() if f" {name} " in line]
            good = lines and all(line.startswith("ok ") for line in lines)
            self.see(f"the doctor says ok: {name}", good, plain)

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


def verify_units(guide: FollowedGuide) -> None:
    """Lets systemd read the units."""
    if program := shutil.which("systemd-analyze"):
        for name in ("hkoji", "hkoji-mail"):
            file = f"/etc/systemd/system/{name}.service"
            done = subprocess.run([program, "verify", file], capture_output=True, text=True, check=False)
            said = [line for line in done.stderr.splitlines() if f"{name}.service" in line]
            guide.see(f"systemd understands {name}.service", not said, "\n".join(said))
