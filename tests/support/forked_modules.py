"""Imports what commands and the service import, also what they import late, for the processes of `forked.py`."""

from __future__ import annotations

import encodings.idna
import gc
import importlib
import pkgutil

import cryptography.hazmat.primitives.serialization.ssh
import hkoji_server
import uvicorn.protocols.http.auto
import uvloop

import hkoji

__all__ = ["cryptography", "encodings", "uvicorn", "uvloop"]

for _package in (hkoji, hkoji_server):
    for _module in pkgutil.walk_packages(_package.__path__, f"{_package.__name__}."):
        if not _module.name.endswith("__main__"):
            importlib.import_module(_module.name)

# A collection in a forked process would otherwise write into all of these objects' pages, and so copy them.
gc.collect()
gc.freeze()
