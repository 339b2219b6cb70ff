"""Postfix, Dovecot and OpenDKIM: those of the machine, else Debian's packages in a layer of their own.

A machine without them gets none. Root installs the packages once into a folder of the virtual environment, in a mount
namespace in which that folder lies over `/etc`, `/usr` and `/var`. A program then runs in a namespace where it does so
again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.programs import first_to_lock

PATH: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
PACKAGES: Final = {
    "postfix": "postfix",
    "dovecot": "dovecot-core",
    "/usr/lib/dovecot/lmtp": "dovecot-lmtpd",
    "/usr/lib/dovecot/imap": "dovecot-imapd",
    "/usr/lib/dovecot/modules/lib90_sieve_plugin.so": "dovecot-sieve",
    "opendkim": "opendkim",
    "unshare": "util-linux",
    "setpriv": "util-linux",
}
"""Programs and files that are needed, and Debian's packages that have them."""
_SECONDS: Final = 120
"""How long installing may take."""
# Nothing is started: Debian's scripts ask policy-rc.d. The lists and archives of packages are not needed afterwards.
_INSTALL: Final = """\
made=$1
shift
for each in etc run usr var; do
    mkdir -p "$made/$each" "$made/work/$each"
    mount -t overlay -o "lowerdir=/$each,upperdir=$made/$each,workdir=$made/work/$each" overlay "/$each"
done
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get -q -o Acquire::Retries=0 update
DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@"
apt-get clean
rm -rf /var/lib/apt/lists
"""
_UNSHARE: Final = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
_RUN: Final = """\
layer=$1
shift
for each in etc usr var; do
    mount -t overlay -o "lowerdir=$layer/$each:/$each" overlay "/$each"
done
exec "$@"
"""


def missing_packages(root: Path = Path("/")) -> list[str]:
    """Lists, sorted, the packages whose programs and files are not below `root`."""
    path = os.pathsep.join(f"{root}{folder}" for folder in PATH.split(":"))
    there = {
        name: Path(f"{root}{name}").exists() if name.startswith("/") else shutil.which(name, path=path) is not None
        for name in PACKAGES
    }
    return sorted({package for name, package in PACKAGES.items() if not there[name]})


@cache
def layer() -> Path | None:
    """Returns the folder that has the missing packages; None if nothing is missing, or if they cannot be had."""
    missing = missing_packages()
    if not missing or os.geteuid() != 0 or sys.prefix == sys.base_prefix or not shutil.which("apt-get"):
        return None
    folder = Path(sys.prefix) / "share" / "hkoji-test-mail-servers"
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "layer"
    with (folder / "lock").open("w") as lock:
        if first_to_lock(lock) and not made.exists() and _install(missing, folder / "made"):
            (folder / "made").rename(made)
    return made if made.exists() else None


def _install(packages: Sequence[str], made: Path) -> bool:
    """Installs packages into `made`. Returns whether it worked."""
    shutil.rmtree(made, ignore_errors=True)  # a killed process has left it
    words = ["setpriv", "--pdeathsig", "KILL", *_UNSHARE, "sh", "-ec", _INSTALL, "sh", str(made), *packages]
    nothing = subprocess.DEVNULL
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(words, stdin=nothing, stdout=nothing, stderr=nothing, timeout=_SECONDS, check=False)
        return done.returncode == 0
    return False


def command(words: Sequence[str]) -> list[str]:
    """Returns the command that runs `words` where the mail servers are."""
    below = layer()
    return [*words] if below is None else ["unshare", "--mount", "sh", "-ec", _RUN, "sh", str(below), *words]
