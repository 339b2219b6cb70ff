"""How the optional parts of this program are installed, which depends on how the program itself was installed.

It stands alone, because both packages, the player's and the service's, need it.
"""

from __future__ import annotations

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

PACKAGE: Final = "hkoji"


def install_command(extra: str) -> str:
    """Returns the command that installs an extra: from the folder or the repository that the program comes from.

    pipx and uv keep a program in an environment of its own, where `pip` on the command line does not reach.
    """
    place = Path(sys.prefix)
    if (place / "pipx_metadata.json").exists():
        return f"pipx inject {shlex.quote(place.name)} {_requirement(extra)}"
    if (receipt := place / "uv-receipt.toml").exists():
        # uv makes the environment anew, and keeps no extra that is not named again.
        return f"uv tool install {_requirement(','.join(sorted({extra, *_extras_in(receipt)})))}"
    return f"pip install {_requirement(extra)}"


def _extras_in(receipt: Path) -> set[str]:
    """Returns the extras that uv has installed, by its record of the program; none if it has another form."""
    import tomllib

    try:
        requirements = tomllib.loads(receipt.read_text(encoding="utf-8"))["tool"]["requirements"]
        return {str(extra) for each in requirements if each["name"] == PACKAGE for extra in each.get("extras", ())}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return set()


def _requirement(extra: str) -> str:
    folder = Path(__file__).parents[1]
    try:
        record = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:  # it runs from its source
        return _folder(str(folder), extra, editable=True)
    source = json.loads(record) if record else {}  # PEP 610: there is none for a package from an index
    url = source.get("url", "")
    if "dir_info" in source:
        editable = bool(source["dir_info"].get("editable"))
        return _folder(unquote(urlsplit(url).path), extra, editable=editable)
    if "vcs_info" in source:
        kind = source["vcs_info"]["vcs"]
        return shlex.quote(f"{PACKAGE}[{extra}] @ {kind}+{url}")
    return shlex.quote(f"{PACKAGE}[{extra}]")


def _folder(folder: str, extra: str, *, editable: bool) -> str:
    place = "." if Path(folder) == Path.cwd() else folder
    return f"{'-e ' if editable else ''}{shlex.quote(f'{place}[{extra}]')}"
