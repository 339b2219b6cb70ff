"""The checker of pages, run on logs in Node.js or in a browser, and its verdict as `hkoji audit` would word it."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

from hkoji_server.web.static_files import words_in

from hkoji.audit.keyring import ExpectedKeys
from hkoji.log.public_key import PublicKey
from tests.support.browsers import BrowserName
from tests.support.page_modules import run_module
from tests.support.shell_audit import Verdict

_AT_ONCE: Final = 200
"""How many logs one page checks."""
_WORDS: Final = words_in("en", "page")


def by_page(engine: BrowserName, logs: Iterable[tuple[bytes, ExpectedKeys]]) -> Iterator[Verdict]:
    """The checker's verdict on each log with the keys that are expected. Skips the test if there is no such engine."""
    left = iter(logs)
    while some := list(islice(left, _AT_ONCE)):
        rows = [{"log": base64.b64encode(log).decode(), "pins": _texts(pins)} for log, pins in some]
        for said in run_module(engine, "audits.js", rows):
            found = tuple((each["step"], each["entry"] or 0) for each in said["found"])
            understood = any(each["kind"] != "not-understood" for each in said["found"])
            names = tuple(" and ".join(map(_name, each["signer"])) for each in said["found"])
            yield Verdict(1 if understood else 3 if found else 0, found, said["holds"], names=names)


def _texts(pins: ExpectedKeys) -> dict[str, list[str]]:
    lists = ((name, (keys,) if isinstance(keys, PublicKey) else keys) for name, keys in pins.items())
    return {name: [key.text for key in keys] for name, keys in lists}


def _name(signer: dict[str, Any]) -> str:  # Any: JSON
    text = _WORDS[signer["text"]] if signer["text"] else "{name}"
    assert isinstance(text, str)
    return text.format(**signer["values"])
