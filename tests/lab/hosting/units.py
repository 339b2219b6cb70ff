"""Starts and stops units of systemd where systemd does not run: `python -m tests.lab.hosting.units restart NAME...`.

It reads the unit's file and does what it says about commands, user, folders, umask, readiness, and which folders can be
written. Limits of memory and time, and filters of system calls, are systemd's own.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_FOLDERS: Final = (Path("/etc/systemd/system"), Path("/lib/systemd/system"))
_STATE: Final = Path("/run/laboratory-units")
_JOURNAL: Final = Path("/var/log/laboratory-units")
_SECONDS: Final = 60
_READ_ONLY: Final = """\
mount --make-rprivate /
mkdir -p {folder} && mount --bind {folder} {folder}
while read -r _ _ _ _ place rest; do
  mountpoint -q "$place" || continue
  case $place in /proc*|/sys*|/dev*|{folder}) ;; *) mount -o remount,bind,ro "$place" ;; esac
done < /proc/self/mountinfo
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
"""
"""The effect of `ProtectSystem=strict` and `PrivateTmp=yes`: only its own folder and a temporary one can be written.

A folder under another mount, such as Podman's in `/run`, cannot be reached, and needs nothing.
Only `/var/tmp` is made private, because the program of a laboratory may be somewhere in `/tmp`.
"""


@dataclass
class Unit:
    """A unit of systemd. `name` has no `.service`."""

    name: str
    settings: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        base, at, instance = self.name.partition("@")
        text = _file(f"{base}@" if at else self.name).read_text()
        for line in text.partition("[Service]")[2].partition("\n[")[0].splitlines():
            if "=" in line and not line.startswith(("#", ";")):
                key, _, value = line.partition("=")
                self.settings.setdefault(key, []).append(value.replace("%i", instance))

    def one(self, key: str, otherwise: str = "") -> str:
        """A setting that is given once."""
        return self.settings.get(key, [otherwise])[-1]

    @property
    def pid(self) -> int | None:
        """Its main process, while it runs."""
        file = Path(self.one("PIDFile")) if self.one("PIDFile") else _STATE / self.name
        try:
            pid = int(file.read_text())
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ValueError):
            return None
        return None if state == "Z" else pid

    def start(self) -> None:
        """Starts it, and waits until it is ready."""
        _STATE.mkdir(exist_ok=True)
        _JOURNAL.mkdir(exist_ok=True)
        temporary = Path(f"/usr/lib/tmpfiles.d/{self.name}.conf")
        if temporary.exists():
            subprocess.run(["systemd-tmpfiles", "--create", temporary], check=True)
        for line in self.settings.get("ExecStartPre", []):
            self._wait_for(self._popen(line, {}))
        if self.one("Type") == "notify":
            self._start_and_be_told()
        else:
            self._wait_for(self._popen(self.one("ExecStart"), {}))

    def stop(self) -> None:
        """Ends it, and waits until it has ended."""
        for line in self.settings.get("ExecStop", []):
            subprocess.run(shlex.split(line), check=False, capture_output=True)
        if (pid := self.pid) is not None:
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + float(self.one("TimeoutStopSec", "30"))
        while self.pid is not None:
            assert time.monotonic() < end, f"{self.name} does not end"
            time.sleep(0.05)

    def _start_and_be_told(self) -> None:
        place = _STATE / f"{self.name}.ready"
        place.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(place))
            place.chmod(0o777)
            ready.settimeout(1)
            process = self._popen(self.one("ExecStart"), {"NOTIFY_SOCKET": str(place)})
            (_STATE / self.name).write_text(str(process.pid))
            end = time.monotonic() + _SECONDS
            while True:
                assert process.poll() is None, f"{self.name} has ended with {process.returncode}"
                assert time.monotonic() < end, f"{self.name} does not get ready"
                try:
                    if b"READY=1" in ready.recv(4096):
                        return
                except TimeoutError:
                    continue

    def _popen(self, line: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Starts a command of the unit, as its user, with its folders and its umask."""
        command = shlex.split(line)
        user = self.one("User", "root")
        if user != "root":
            group = self.one("Group", user)
            command = ["setpriv", "--reuid", user, "--regid", group, "--init-groups", *command]
            folder = Path("/var/lib", self.one("StateDirectory"))
            mode = self.one("StateDirectoryMode", "0755")
            subprocess.run(["install", "-d", "-o", user, "-g", group, "-m", mode, folder], check=True)
        if self.one("ProtectSystem") == "strict":
            script = f'{_READ_ONLY.format(folder=folder)}exec "$@"'
            command = ["unshare", "--mount", "sh", "-ec", script, "sh", *command]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **environment}
        with (_JOURNAL / self.name).open("ab") as journal:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=journal,
                stderr=journal,
                env=environment,
                cwd="/",
                umask=int(self.one("UMask", "0022"), 8),
                start_new_session=True,
            )

    def _wait_for(self, process: subprocess.Popen[bytes]) -> None:
        code = process.wait(_SECONDS)
        assert code == 0, f"{self.name}: {' '.join(map(str, process.args))} has ended with {code}"  # type: ignore[arg-type] # a list


def _file(name: str) -> Path:
    found = [folder / f"{name}.service" for folder in _FOLDERS if (folder / f"{name}.service").exists()]
    assert found, f"there is no unit {name}"
    return found[0]


def journal(name: str) -> str:
    """The output of a unit so far."""
    path = _JOURNAL / name
    return path.read_text(errors="replace") if path.exists() else ""


def main(words: list[str]) -> int:
    """Does what `systemctl` does for `start`, `stop`, `restart`, `enable --now` and `daemon-reload`."""
    names = [word for word in words[1:] if not word.startswith("-")]
    if words[0] == "daemon-reload" or (words[0] == "enable" and "--now" not in words):
        return 0
    assert words[0] in ("start", "stop", "restart", "enable"), words
    for name in names:
        # Debian's postfix.service does nothing; its instance `-` is what starts Postfix.
        unit = Unit(f"{name}@-" if any((folder / f"{name}@.service").exists() for folder in _FOLDERS) else name)
        if words[0] in ("stop", "restart"):
            unit.stop()
        if words[0] != "stop":
            unit.start()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except AssertionError as error:
        print(f"units: {error}", file=sys.stderr)
        sys.exit(1)
