"""Reads the metrics that a service exposes to Prometheus."""

from __future__ import annotations

import socket
from urllib.request import urlopen


def free_port() -> int:
    """A port on which nothing listens at the moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def read(port: int) -> dict[str, float]:
    """The metrics, by name with labels."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=100) as answer:
        text = answer.read().decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}
