"""The log is pure and fast to import: a library for signatures is loaded only when a key is used."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import hkoji.log

MODULES = [f"hkoji.log.{module.name}" for module in pkgutil.iter_modules(hkoji.log.__path__)]
ALLOWED = {"hkoji.errors", "hkoji.messages.text", "hkoji.log", *MODULES}
STANDARD = {
    "__future__",
    "base64",
    "binascii",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "json",
    "re",
    "typing",
    "unicodedata",
}


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(str(node.module))
    return found


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_the_log_imports_nothing_else(name: str) -> None:
    [folder] = hkoji.log.__path__
    for found in _imports(Path(folder) / f"{name.rpartition('.')[2]}.py"):
        if found.startswith("cryptography.") or found == "warnings":  # of cryptography
            assert name in {"hkoji.log.private_key", "hkoji.log.sshsig"}
        elif found.partition(".")[0] == "nacl":
            assert name == "hkoji.log.sshsig"
        else:
            assert found in ALLOWED or found.partition(".")[0] in STANDARD


def _modules_after(code: str) -> set[str]:
    root = Path(hkoji.log.__path__[0]).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_the_log_loads_nothing_slow() -> None:
    code = f"import sys, {', '.join(MODULES)}; print(*sys.modules)"
    loaded = _modules_after(code) - _modules_after("import sys; print(*sys.modules)")
    assert "hkoji.log.line" in loaded
    assert not loaded & {"asyncio", "cryptography", "datetime", "http", "random", "secrets", "socket", "sqlite3"}
    outside = {name for name in loaded if "hkoji" not in name and name.partition(".")[0] not in sys.stdlib_module_names}
    assert not outside


def test_the_names_of_the_modules_are_all_seen() -> None:
    assert {"hkoji.log.canonical", "hkoji.log.sshsig", "hkoji.log.line"} <= set(MODULES)
