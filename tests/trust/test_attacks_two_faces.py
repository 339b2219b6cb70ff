"""A service that shows two histories of one game behind one address is found out by its players' real commands.

The two are processes on copies of one database, with one key.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from tests.support.forked import run_forked
from tests.support.service import serving
from tests.trust.relay import front


class Shell:
    """The command in one player's home, in a process of its own."""

    def __init__(self, home: Path) -> None:
        self.environment = {**os.environ, "HKOJI_HOME": str(home), "NO_COLOR": "1"}

    def __call__(self, *words: str, code: int = 0, stdin: str = "") -> str:
        done = run_forked(words, env=self.environment, stdin=stdin)
        assert done.returncode == code, (words, done)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def batch(self, *lines: str) -> list[Any]:  # Any: JSON
        """Several commands in one process."""
        answers = [
            json.loads(line) for line in self("batch", stdin="".join(f"{line}\n" for line in lines)).splitlines()
        ]
        return [answer["result"] for answer in answers]


def test_a_service_with_two_faces(tmp_path: Path) -> None:
    """bob may sign two moves for one place, and says so: that the service accepts both is the service's fork."""
    alice, bob, stranger = (Shell(tmp_path / name) for name in ("alice", "bob", "stranger"))
    with front() as address:
        with serving(tmp_path / "one", forked=True) as before:
            address.to = before.port
            *_, made = alice.batch("init alice", f"register --server {address.url} --origin {before.url}", "new")
            game = made["game"]
            bob.batch("init bob", f"register --server {address.url} --origin {before.url}", f"join {game}")
            alice("move", game, json.loads(alice("show", game, "--json"))["legal"][0])
            legal = json.loads(bob("show", game, "--json"))["legal"]
        shutil.copytree(tmp_path / "one", tmp_path / "two")
        signed = bob("sign", game, legal[0])
        with serving(tmp_path / "one", forked=True) as one, serving(tmp_path / "two", forked=True) as two:
            address.to = one.port
            stranger("submit", "-", "--server", address.url, "--origin", before.url, stdin=signed)
            hers = json.loads(alice("show", game, "--json"))
            address.to = two.port
            his = json.loads(bob("move", game, legal[-1], "--json"))
            assert hers["seq"] == 6
            assert his["move"]["seq"] == 6
            assert hers["head"] != his["move"]["head"]
            address.to = one.port
            kept = files(tmp_path / "bob")
            assert "another one than you have seen" in bob("show", game, code=8)
            assert files(tmp_path / "bob") == kept
            evidence = str(tmp_path / "evidence.jsonl")
            bob("evidence", game, "--with-cards", "--output", evidence)  # the proof is a view
            logs = []
            for player, service, name in ((alice, one, "a"), (bob, two, "b")):
                address.to = service.port
                seen, _ = player.batch(f"show {game}", f"resign {game} --yes")
                assert seen["seq"] == 6
                log = tmp_path / f"{name}.jsonl"
                log.write_text(player("export", game))
                logs.append(str(log))
            server = one.ask("GET", "/v1/service").json["key"]
    proof = json.loads(stranger("audit", evidence, "--key", f"server={server}", "--json", code=8).splitlines()[0])
    assert {finding["signer"] for finding in proof["findings"]} == {"server"}
    told = [
        json.loads(line)
        for line in stranger("audit", *logs, "--key", f"server={server}", "--json", code=8).split("\n", 3)[:3]
    ]
    *alone, conflict = told
    assert [(each["ok"], each["finished"]) for each in alone] == [(True, True)] * 2
    assert (conflict["contradiction"], conflict["entry"], conflict["signer"]) == ("fork", 6, "server")


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "lock" and not path.name.startswith("refused")
    }
