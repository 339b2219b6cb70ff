"""The command line: `hkoji show` against an empty Typer app and a bare interpreter; `hkoji batch` per command."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.benchmarks.measure import Contender, report, speeds
from tests.support.service import HKOJI, Player, serving

_EMPTY = """
import typer
app = typer.Typer(pretty_exceptions_enable=False)
@app.command()
def one() -> None: ...
@app.command()
def two() -> None: ...
app()
"""
_LINES = 200


def run() -> None:
    """Prints starts a second and commands a second."""
    with tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name, serving(Path(name) / "data") as service:
        folder = Path(name)
        (folder / "empty.py").write_text(_EMPTY)
        environment = {**os.environ, "HKOJI_HOME": str(folder / "a")}
        guests = {**os.environ, "HKOJI_HOME": str(folder / "b")}

        def shell(*words: str, env: dict[str, str] = environment, stdin: str = "") -> str:
            return subprocess.run(
                [str(HKOJI), *words], env=env, capture_output=True, text=True, check=True, input=stdin
            ).stdout

        for env, who in ((environment, "alice"), (guests, "bob")):
            shell("init", who, env=env)
            shell("register", "--server", service.url, env=env)
        game = shell("new").splitlines()[0]
        shell("join", game, env=guests)
        shell("show", game)

        def starts(*command: str) -> Contender:
            def work() -> int:
                subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
                return 1

            return work

        found = speeds(
            {
                "empty Typer app": starts(sys.executable, str(folder / "empty.py"), "one"),
                "hkoji show": starts(str(HKOJI), "show", game),
                "python -c pass": starts(sys.executable, "-c", "pass"),
            },
            15,
        )
        report("Starting", "/s", found, "empty Typer app")
        for title, speed in found.items():
            print(f"    {title}: {1000 / speed:.0f} ms")
        token = Player(service, "carol").register().token

        def requests() -> int:
            connection = http.client.HTTPConnection("127.0.0.1", service.port)
            for _ in range(_LINES):
                connection.request("GET", f"/v1/games/{game}", headers={"Authorization": f"Bearer {token}"})
                connection.getresponse().read()
            connection.close()
            return _LINES

        def batch() -> int:
            shell("batch", stdin=f"show {game}\n" * _LINES)
            return _LINES

        report(
            "A command in hkoji batch",
            "/s",
            speeds({"bare HTTP request": requests, "hkoji batch: show": batch}, 5),
            "bare HTTP request",
        )
