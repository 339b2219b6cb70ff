"""Imports what commands and the service import, also what they import late.

The processes of `forked.py` are forked from the one that imports this.
"""

from __future__ import annotations

import encodings.idna
import gc
import importlib
import pkgutil

import cryptography.hazmat.primitives.serialization.ssh
import hkoji_server
import nacl.bindings
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.auto
import uvloop

import hkoji
from tests.support import lent_routers

__all__ = ["cryptography", "encodings", "nacl", "uvicorn", "uvloop"]

for _package in (hkoji, hkoji_server):
    for _module in pkgutil.walk_packages(_package.__path__, f"{_package.__name__}."):
        if not _module.name.endswith("__main__"):
            importlib.import_module(_module.name)

lent_routers.make_ahead()

# A collection in a forked process would otherwise write into all of these objects' pages, and so copy them.
gc.collect()
gc.freeze()
