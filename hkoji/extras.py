"""How the optional parts of this program are installed, which depends on how the program itself was installed.

It stands alone, because both packages, the player's and the service's, need it.
"""

from __future__ import annotations

import json
import shlex
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

PACKAGE: Final = "hkoji"


def install_command(extra: str) -> str:
    """Returns the command that installs an extra: from the folder or the repository that the program comes from."""
    folder = Path(__file__).parents[1]
    try:
        record = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:  # it runs from its source
        return _from_folder(str(folder), extra, editable=True)
    source = json.loads(record) if record else {}  # PEP 610: there is none for a package from an index
    url = source.get("url", "")
    if "dir_info" in source:
        editable = bool(source["dir_info"].get("editable"))
        return _from_folder(unquote(urlsplit(url).path), extra, editable=editable)
    if "vcs_info" in source:
        kind = source["vcs_info"]["vcs"]
        return f"pip install {shlex.quote(f'{PACKAGE}[{extra}] @ {kind}+{url}')}"
    return f"pip install {shlex.quote(f'{PACKAGE}[{extra}]')}"


def _from_folder(folder: str, extra: str, *, editable: bool) -> str:
    place = "." if Path(folder) == Path.cwd() else folder
    return f"pip install {'-e ' if editable else ''}{shlex.quote(f'{place}[{extra}]')}"
