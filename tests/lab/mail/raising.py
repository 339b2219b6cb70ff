"""Runs `hkoji` with a store that fails whenever a mail is to be kept: python -m tests.lab.mail.raising WORDS..."""

from __future__ import annotations

from typing import Final
from unittest.mock import patch

from hkoji_server.store.sql import SqlStore

from hkoji.__main__ import main

SAID: Final = "what nobody outside may read"


async def _fail(*_: object) -> None:
    raise ValueError(SAID)


if __name__ == "__main__":
    with patch.object(SqlStore, "add_incoming", _fail):
        main()
