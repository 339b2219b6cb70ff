"""Imports what commands and the service import, also what they import late, and lets a service play once.

The processes of `forked.py` are forked from the one that imports this.
"""

from __future__ import annotations

import encodings.idna
import gc
import importlib
import io
import os
import pkgutil
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import cryptography.hazmat.primitives.serialization.ssh
import hkoji_server
import nacl.bindings
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.auto
import uvloop

import hkoji
from hkoji.log import sshsig
from tests.support import lent_routers
from tests.support.service import begin, play, two_players
from tests.support.service_in_process import inside

__all__ = ["cryptography", "encodings", "nacl", "uvicorn", "uvloop"]

for _package in (hkoji, hkoji_server):
    for _module in pkgutil.walk_packages(_package.__path__, f"{_package.__name__}."):
        if not _module.name.endswith("__main__"):
            importlib.import_module(_module.name)

lent_routers.make_ahead()


def _serve_once() -> None:
    """Lets all be made that is made when it is first needed: compiled statements, and what libraries keep."""
    library = sshsig.library()  # a service chooses another one
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(io.StringIO()))
        others = {name: value for name, value in os.environ.items() if not name.startswith("HKOJI_")}
        stack.enter_context(patch.dict(os.environ, others, clear=True))
        service = stack.enter_context(inside(Path(stack.enter_context(TemporaryDirectory()))))
        alice, bob = two_players(service)
        play(alice, bob, begin(alice, bob), 3)
    sshsig.use(library)


_serve_once()

# A collection in a forked process would otherwise write into all of these objects' pages, and so copy them.
gc.collect()
gc.freeze()
