"""Measures the own view and lists over HTTP against a FastAPI application that says hello."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripts.bench.page import record_speed
from scripts.bench.timing import report, speeds
from tests.support.service import Player, begin, play, serving

HELLO = """
import sys, uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.get("/")
async def hello() -> dict[str, str]:
    return {"hello": "world"}
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
"""
_REQUESTS = 400
_LISTED = 20
_ROWS = {
    "own view": "own view over HTTP",
    "own view with what the clocks show": "own view with what the clocks show",
    "own view with the whole log": "own view with the whole log of 20 entries",
    "list of 20 open games": "list of 20 open games",
    "one player's 20 games": "list of one player's 20 games",
    "the 20 that a player may wait for": "list of 20 games that wait for a player",
}
"""The rows of the page, by what is measured for them."""


def run(database: str | None = None) -> None:
    """Prints requests a second on one connection; on SQLite, or the PostgreSQL database at a URL."""
    with (
        tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name,
        serving(Path(name) / "data", log_level="error", database=database) as s,
    ):
        (Path(name) / "hello.py").write_text(HELLO)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        hello = subprocess.Popen([sys.executable, str(Path(name) / "hello.py"), str(port)])
        try:
            host, guest = Player(s, "alice").register(), Player(s, "bob").register()
            game = begin(host, guest)
            play(host, guest, game, 11)
            for _ in range(_LISTED - 1):
                begin(host, guest)
            for _ in range(_LISTED):
                host.new()
            time.sleep(1)

            def ask(port: int, path: str, token: str = "") -> int:
                connection = http.client.HTTPConnection("127.0.0.1", port)
                for _ in range(_REQUESTS):
                    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
                    response = connection.getresponse()
                    response.read()
                    assert response.status == 200
                connection.close()
                return _REQUESTS

            last = host.head(game)[0]
            found = speeds(
                {
                    "FastAPI hello": lambda: ask(port, "/"),
                    "own view": lambda: ask(s.port, f"/v1/games/{game}/view?after={last}", host.token),
                    "own view with what the clocks show": lambda: ask(
                        s.port, f"/v1/games/{game}/view?after={last}&clock=true", host.token
                    ),
                    "own view with the whole log": lambda: ask(s.port, f"/v1/games/{game}/view", host.token),
                    "whole log": lambda: ask(s.port, f"/v1/games/{game}/log"),
                    "list of 20 open games": lambda: ask(s.port, f"/v1/games?status=open&limit={_LISTED}"),
                    "one player's 20 games": lambda: ask(s.port, f"/v1/me/games?limit={_LISTED}", guest.token),
                    "the 20 that a player may wait for": lambda: ask(
                        s.port, f"/v1/me/games?waiting=true&limit={_LISTED}", host.token
                    ),
                }
            )
            report(f"Views and lists over HTTP{', on PostgreSQL' * bool(database)}", "/s", found, "FastAPI hello")
            rows = {"own view": "own view over HTTP on PostgreSQL"} if database else _ROWS
            for asked, what in rows.items():
                record_speed(what, found, asked, "FastAPI hello", limits=False)
        finally:
            hello.terminate()
            hello.wait()
