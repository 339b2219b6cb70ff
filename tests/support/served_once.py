"""Lets a service play a game once, in the process that the processes of `forked.py` are forked from.

Then all is made that is made when it is first needed: compiled statements, and what libraries keep.
"""

from __future__ import annotations

import gc
import io
import os
import tempfile
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from hkoji.log import sshsig
from tests.support.service import begin, play, two_players
from tests.support.service_in_process import inside


def _serve_once() -> None:
    library = sshsig.library()  # a service chooses another one
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(io.StringIO()))
        others = {name: value for name, value in os.environ.items() if not name.startswith("HKOJI_")}
        stack.enter_context(patch.dict(os.environ, others, clear=True))
        service = stack.enter_context(inside(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        alice, bob = two_players(service)
        play(alice, bob, begin(alice, bob), 3)
    sshsig.use(library)
    tempfile.tempdir = None  # each process looks for its own again, as its environment says


_serve_once()
gc.collect()
gc.freeze()
