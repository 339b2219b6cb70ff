"""A real ssh-agent for the duration of a block, with keys added on demand."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def socket_path() -> Iterator[Path]:
    """A folder whose path is short enough for a socket, wherever the tests keep their files."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # a folder of its own with a random name
    try:
        yield folder / "s"
    finally:
        shutil.rmtree(folder)


@contextmanager
def running_agent() -> Iterator[Path]:
    """The socket of a running agent that has no keys."""
    with socket_path() as path:
        process = subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.DEVNULL)
        try:
            while not _answers(path):
                assert process.poll() is None
                time.sleep(0.01)
            yield path
        finally:
            process.terminate()
            process.wait(300)


def _answers(path: Path) -> bool:
    """Waits until the socket accepts connections: the file appears a moment earlier."""
    with socket.socket(socket.AF_UNIX) as asking:
        return asking.connect_ex(str(path)) == 0


def add_key(agent: Path, key: Path, passphrase: str = "") -> None:
    """Adds a key to the agent; ssh-add asks a program for the passphrase."""
    asking = key.with_name("ask")
    asking.write_text(f"#!/bin/sh\necho {passphrase}\n")
    asking.chmod(0o700)
    environment = {
        **os.environ,
        "SSH_AUTH_SOCK": str(agent),
        "SSH_ASKPASS": str(asking),
        "SSH_ASKPASS_REQUIRE": "force",
        "DISPLAY": ":0",
    }
    subprocess.run(["ssh-add", "-q", str(key)], check=True, env=environment, stdin=subprocess.DEVNULL)
