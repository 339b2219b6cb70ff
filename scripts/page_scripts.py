"""Checks what readers of a page get beside its text. `python -m scripts.page_scripts` prints what is wrong, then fails.

Scripts stay within the budget, use nothing that a strict policy forbids, and have types that TypeScript accepts.
Templates switch no escaping off. Without npm the types are not checked, and a line says so.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rjsmin import jsmin

from tests.support.browsers import find_browser
from tests.support.node_packages import PINS, node_packages

ROOT: Final = Path(__file__).parents[1]
WEB: Final = ROOT / "server" / "hkoji_server" / "web"
COLUMNS: Final = 120
BUDGET: Final = {"lines": 3_873, "bytes": 192_406, "bytes compressed": 49_990}
"""How much all scripts may have together; each is compressed by itself, as it is sent."""
FORBIDDEN: Final = re.compile(
    r"innerHTML|outerHTML|insertAdjacent|document\.(?:write|cookie)|eval\(|new Function|DOMParser|XMLHttpRequest"
    r"|localStorage|https?://[a-z]"
)
_MISREAD: Final = re.compile(r"=>\s*/(?![/*])")
_UNESCAPED: Final = re.compile(r"\|\s*safe\b|\bautoescape\s+false\b|\bMarkup\(")


def sizes(scripts: list[Path]) -> dict[str, int]:
    """The lines and bytes of these scripts together, by the names of `BUDGET`."""
    texts = [path.read_bytes() for path in scripts]
    return {
        "lines": sum(len(text.splitlines()) for text in texts),
        "bytes": sum(map(len, texts)),
        "bytes compressed": sum(len(gzip.compress(jsmin(text), mtime=0)) for text in texts),
    }


def faults(web: Path) -> Iterator[str]:
    """The faults of the scripts and templates in a folder, each with its place."""
    scripts = sorted((web / "static").rglob("*.js"))
    for name, size in sizes(scripts).items():
        if size > BUDGET[name]:
            yield f"the scripts have {size:,} {name}, at most {BUDGET[name]:,} are agreed"
    for path in scripts:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > COLUMNS:
                yield f"{path}:{number}: {len(line)} columns, at most {COLUMNS} are agreed"
            if found := FORBIDDEN.search(line):
                yield f"{path}:{number}: {found[0]} has no place in a page"
            if _MISREAD.search(line):  # and leaves spaces of the expression out
                yield f"{path}:{number}: rjsmin takes a regular expression after => for a division"
    for path in sorted((web / "templates").rglob("*.html")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if _UNESCAPED.search(line):
                yield f"{path}:{number}: switches escaping off"


def type_faults(web: Path, packages: Path) -> list[str]:
    """The complaints of TypeScript, which `packages` holds, about the scripts in a folder."""
    scripts = sorted(map(str, (web / "static").rglob("*.js")))
    if not scripts:
        return []
    with TemporaryDirectory() as name:
        project = Path(name) / "tsconfig.json"
        project.write_text(json.dumps({"extends": str(PINS / "tsconfig.json"), "files": scripts, "include": []}))
        words = [str(find_browser("node")), str(packages / "typescript/lib/tsc.js"), "--project", str(project)]
        done = subprocess.run(words, cwd=web, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).splitlines() if done.returncode else []


def main() -> int:
    """Prints all faults, and returns 1 if there is one."""
    found = list(faults(WEB))
    packages = node_packages()
    if packages is None:
        print("page scripts: TYPES NOT CHECKED: Node.js or npm is missing, see CONTRIBUTING.md", file=sys.stderr)
    else:
        found += type_faults(WEB, packages)
    for fault in found:
        print(fault.replace(f"{ROOT}/", ""), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
