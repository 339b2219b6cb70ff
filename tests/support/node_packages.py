"""Packages of npm for tests and the gate of scripts: the checker of types, axe-core, and @noble/curves.

No page loads any of them.

They are pinned in `tests/web/node` by name, version and hash, and installed beside the virtual environment.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.browsers import find_browser
from tests.support.programs import first_to_lock

PINS: Final = Path(__file__).parents[1] / "web" / "node"
_FILES: Final = ("package.json", "package-lock.json")


def node_packages() -> Path | None:
    """The folder `node_modules`, installed if need be; None without Node.js or npm, or if they cannot be fetched."""
    npm = shutil.which("npm")
    if npm is None or find_browser("node") is None:
        return None
    folder = Path(sys.prefix) / "share" / "hkoji-node"
    folder.mkdir(parents=True, exist_ok=True)
    pins = hashlib.sha256(b"".join((PINS / name).read_bytes() for name in _FILES)).hexdigest()
    with (folder / "lock").open("w") as lock:
        first_to_lock(lock)
        stamp = folder / "installed"
        if not stamp.exists() or stamp.read_text() != pins:
            stamp.unlink(missing_ok=True)
            for name in _FILES:
                shutil.copy(PINS / name, folder / name)
            words = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
            if subprocess.run(words, cwd=folder, check=False, timeout=300).returncode:
                return None
            stamp.write_text(pins)
    return folder / "node_modules"
