"""Plays the demonstration game: a service and two players with their own keys, every move through `hkoji`.

scripts/demo calls it with the path of `hkoji`. Leaves everything in a new folder under the temporary directory.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS = "3"


def say(text: str = "") -> None:
    """Prints a line of progress at once."""
    print(text, flush=True)


class Player:
    """One player: a home folder, and the command run in it."""

    def __init__(self, program: str, name: str, home: Path) -> None:
        self.name = name
        self.home = home
        self._program = program
        self._environment = {**os.environ, "HKOJI_HOME": str(home), "NO_COLOR": "1"}

    def run(self, *words: str, quiet: bool = True) -> str:
        """Runs `hkoji` with these arguments. Returns its standard output."""
        done = subprocess.run(
            [self._program, *words], env=self._environment, capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode:
            sys.exit(f"{self.name}: hkoji {' '.join(words)} failed with {done.returncode}:\n{done.stderr}")
        if not quiet:
            say(f"{self.name}$ hkoji {' '.join(words)}")
            say("".join(f"    {line}\n" for line in done.stdout.splitlines()))
        return done.stdout

    def look(self, game: str) -> dict[str, Any]:  # Any: JSON
        """The game as this player sees it."""
        value: dict[str, Any] = json.loads(self.run("show", game, "--json"))
        return value


def start_service(program: str, data: Path) -> tuple[subprocess.Popen[str], str]:
    """Starts a service on a free port of this machine. Returns it and its address."""
    service = subprocess.Popen(
        [program, "serve", "--data", str(data), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert service.stderr is not None
    for line in service.stderr:
        if line.startswith("hkoji is serving on "):
            return service, line.split()[4].rstrip(",")
    sys.exit("the service did not start")


def main(program: str) -> None:
    """Plays, shows, exports, audits, and prints where everything is."""
    folder = Path(tempfile.mkdtemp(prefix="hkoji-demo-"))
    started = time.monotonic()
    service, address = start_service(program, folder / "service")
    try:
        play(program, folder, address)
    finally:
        service.terminate()
        service.wait(30)
    say(f"Done in {time.monotonic() - started:.0f} s. Everything is in {folder}:")
    say("    service/      the service's one SQLite file")
    say("    alice/ bob/   the players' homes: key, settings, verified logs (set HKOJI_HOME to one of them)")
    say("    game.jsonl    the finished game, signed and complete")
    say("Try next:")
    say(f"    {program} replay {folder}/game.jsonl --at 9")
    say(f"    {program} serve --data {folder}/service --port {address.rpartition(':')[2]}")
    say(f"    HKOJI_HOME={folder}/alice {program} new      # with that service running; then bob joins")


def play(program: str, folder: Path, address: str) -> None:
    """Plays one game from registration to audit."""
    say(f"A service runs on {address}.")
    say()
    alice, bob = (Player(program, name, folder / name) for name in ("alice", "bob"))
    for player in (alice, bob):
        player.run("init", player.name)
        player.run("register", "--server", address, quiet=False)
    game = json.loads(alice.run("new", "--max-rounds", ROUNDS, "--tiebreak", "geisha", "--json"))["game"]
    say(f"alice$ hkoji new --max-rounds {ROUNDS} --tiebreak geisha\n    {game}\n")
    bob.run("join", game[:8], quiet=False)
    chance = random.Random()
    moves = 0
    mover: Player | None = alice
    while mover is not None:
        seen = mover.look(game)
        if not seen["legal"]:
            mover = None if seen["status"] == "finished" else (bob if seen["actor"] == 1 else alice)
            continue
        if moves == 5:
            say()
            for player in (alice, bob):
                player.run("show", game[:8], quiet=False)
        move = chance.choice(seen["legal"])
        after = json.loads(mover.run("move", game, move, "--json"))
        moves += 1
        say(f"    round {seen['round']}, move {moves:2}: {mover.name:5} plays {move}")
        if after["round"] != seen["round"] or after["status"] == "finished":
            say(f"    round {seen['round']} is over: {after['rounds'][seen['round'] - 1]}")
        mover = None if after["status"] == "finished" else (bob if after["actor"] == 1 else alice)
    say()
    for player in (alice, bob):
        player.run("show", game[:8], quiet=False)
    (folder / "game.jsonl").write_text(alice.run("export", game))
    keys = [f"{player.name}={player.home / 'id_ed25519.pub'}" for player in (alice, bob)]
    (folder / "stranger").mkdir()
    stranger = Player(program, "a stranger", folder / "stranger")
    say("Anyone with the log and the players' keys can check every card and move:")
    stranger.run("audit", str(folder / "game.jsonl"), *(word for key in keys for word in ("--key", key)), quiet=False)


if __name__ == "__main__":
    main(sys.argv[1])
