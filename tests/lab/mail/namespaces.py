"""Private mount, network and process namespaces, in which the mail servers run without touching the machine.

A command of the laboratory starts itself once more in them. There `/etc`, `/var` and `/run` are its own: what is
written goes to a folder that is removed, and no other process can reach its ports. When the first process of the
namespaces ends, the kernel ends all others.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from tests.support.mail.mail_servers import PATH, layer, missing_packages
from tests.support.mail.mail_servers import command as servers

CANNOT: Final = 3
"""The exit code if this machine cannot have such namespaces or lacks a program."""
FOLDER: Final = "HKOJI_MAIL_LABORATORY"
"""The variable that has the folder of the laboratory, within the namespaces."""
_UNSHARE: Final = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
_ADDRESSES: Final = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5")
"""Addresses of other hosts, beside 127.0.0.1. Postfix binds only to one that an interface has."""
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_SIOCSIFADDR: Final = 0x8916
_IFF_UP: Final = 1


def why_not() -> str | None:
    """Says in a sentence why the real laboratory cannot run on this machine; None if it can."""
    if sys.platform != "linux":
        return "the mail laboratory needs Linux"
    if os.geteuid() != 0:
        return "the mail laboratory needs the rights of root, for its own namespaces"
    missing = missing_packages()
    if missing and layer() is None:
        return f"the mail laboratory needs Debian's packages {', '.join(missing)}"
    tried = subprocess.run([*_UNSHARE, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"this machine allows no namespaces: {tried.stderr.strip()}"
    return None


def run_inside(words: Sequence[str], module: str = "tests.lab.mail") -> int:
    """Runs `python -m MODULE WORDS` in namespaces of its own, and returns its exit code."""
    if reason := why_not():
        print(f"lab: {reason}", file=sys.stderr)
        return CANNOT
    folder = Path(tempfile.mkdtemp(prefix="hkoji-mail-"))
    folder.chmod(0o755)  # the mail servers run as users of their own
    environment = {**os.environ, FOLDER: str(folder), "PATH": f"{os.environ['PATH']}:{PATH}"}
    command = ["setpriv", "--pdeathsig", "KILL", *servers([*_UNSHARE, sys.executable, "-m", module, *words])]
    try:
        process = subprocess.Popen(command, env=environment)

        def end(number: int, frame: FrameType | None) -> None:
            process.kill()

        before = {each: signal.signal(each, end) for each in (signal.SIGTERM, signal.SIGINT)}
        try:
            return process.wait()
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def enter() -> Path:
    """Makes the namespaces ready: own `/etc`, `/var` and `/run`, loopback up. Returns the laboratory's folder."""
    folder = Path(os.environ[FOLDER])
    for name in ("etc", "var"):
        overlay(Path("/", name), folder / "over")
    _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    _loopback_up()
    return folder


def overlay(place: Path, over: Path) -> None:
    """Lets what is written below `place` go to the folder `over`, or to memory where that cannot hold an overlay."""
    try:
        _mount_overlay(place, over)
    except subprocess.CalledProcessError:  # for example, the folder is in an overlay itself
        over.mkdir(exist_ok=True)
        if not os.path.ismount(over):
            _mount("-t", "tmpfs", "tmpfs", str(over))
        _mount_overlay(place, over)


def _mount_overlay(place: Path, over: Path) -> None:
    upper, work = over / place.name, over / f"{place.name}.work"
    for each in (upper, work):
        each.mkdir(parents=True, exist_ok=True)
    _mount("-t", "overlay", "-o", f"lowerdir={place},upperdir={upper},workdir={work}", "overlay", str(place))


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        asked = struct.pack("16sh14x", b"lo", 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(sock, _SIOCGIFFLAGS, asked))
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
        for number, address in enumerate(_ADDRESSES, 1):
            place = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(sock, _SIOCSIFADDR, struct.pack("16s16s", f"lo:{number}".encode(), place))
