"""Runs Schemathesis against a real service: generated requests to every endpoint of its OpenAPI document.

    python -m tests.lab.fuzz.measure_api --examples 30 --seed 1          # a minute or two
    python -m tests.lab.fuzz.measure_api --examples 2000 --seed 1 --report api.json

A process of `hkoji serve` on SQLite gets players, games in every state, and logins that are valid, expired and logged
out. Then Schemathesis runs twice, each time in all its phases (examples, coverage, fuzzing, stateful). In the run
`plain` the requests are its own, with a login where one is needed. All its checks are on except
`positive_data_acceptance`: no schema can say that a text has to be signed. In the run `deep` (api_hooks.py) most ids
are those of real games, and most submissions are entries that would be accepted, or such entries changed and signed
anew; logins are of all sorts; the checks that need to know what was generated are off.

Prints the numbers of requests by endpoint and status. Exits with 1 if Schemathesis has found anything, a 5xx came back,
or the service's log has a traceback.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hkoji_server import admin

from hkoji.game import entry_kinds
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.lab.fuzz.api_hooks import CONFIG
from tests.support.service import Player, Service, begin, offer_of, play, serving

_PATIENCE = 600.0
"""Seconds that anything may take: a long run may share the machine."""
_CONFIG = """[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "415", "422"]
"""
_RUNS = {
    "plain": "all",
    "deep": ",".join(
        (
            "not_a_server_error",
            "status_code_conformance",
            "content_type_conformance",
            "response_headers_conformance",
            "response_schema_conformance",
            "unsupported_method",
            "allow_header_conformance",
        )
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=30, help="most generated requests for an endpoint and phase")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", choices=[*_RUNS, "both"], default="both")
    parser.add_argument("--folder", type=Path, help="where the database is made for the duration of the run")
    parser.add_argument("--report", type=Path, help="a file for the counts, as JSON")
    given = parser.parse_args()
    names = list(_RUNS) if given.runs == "both" else [given.runs]
    failed = False
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        players, dead, short = log_in_briefly(Path(folder))
        with serving(Path(folder) / "data", log_level="info", patience=_PATIENCE) as service:
            config = prepare(service, Path(folder), players, dead)
            counts: dict[str, Counter[str]] = {}
            for name in names:
                code, counts[name] = explore(service, Path(folder), config, name, given.examples, given.seed)
                failed |= code != 0
            service.stop()
            failed |= report(counts, [short, service.log])
    if given.report:
        given.report.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    sys.exit(failed)


def log_in_briefly(folder: Path) -> tuple[list[Player], list[str], Path]:
    """Players, their logins (valid for a minute, and expired by the time of the runs), and the server's log."""
    os.environ["HKOJI_SERVER_TOKEN_LIFETIME"] = "60"
    try:
        with serving(folder / "data", log_level="info", patience=_PATIENCE) as service:
            players = [Player(service, name).register() for name in ("alice", "bob", "carol")]
    finally:
        del os.environ["HKOJI_SERVER_TOKEN_LIFETIME"]
    return players, [player.token for player in players], service.log


def prepare(service: Service, folder: Path, players: list[Player], dead: list[str]) -> dict[str, Any]:  # Any: JSON
    """Games in every state, a login that has been ended, and players whose keys are lost."""
    alice, bob, carol = players
    for player in players:
        player.service = service
        player.login()
    service.ask("POST", "/v1/logout", token=carol.token)
    games = _games(service, alice, bob)
    lost = [_lost(service, alice, f"lost{number}", folder) for number in range(8)]
    known = [_known(player, games) for player in players]
    return {"players": known, "lost": lost, "games": games, "dead": [*dead, carol.token, "0" * 64]}


def _games(service: Service, alice: Player, bob: Player) -> list[str]:
    """A game in every state."""
    offered = service.ask("POST", "/v1/offers", offer_of(), alice.token).json["game"]
    waiting = [
        alice.new(),
        alice.new(GeishasRoad(), entry_kinds.Invite("bob")),
        bob.new(Hanamikoji("random", 3, "charm")),
    ]
    joined = alice.new()
    bob.join(joined)
    over = [begin(alice, bob), begin(bob, alice, GeishasRoad("random", "random"))]
    play(alice, bob, over[0])
    play(bob, alice, over[1])
    left = begin(alice, bob)
    alice.send(alice.entry(left, alice.head(left), entry_kinds.Resign()))
    cancelled = bob.new()
    bob.send(bob.entry(cancelled, bob.head(cancelled), entry_kinds.Cancel()))
    running = [begin(alice, bob), begin(bob, alice, GeishasRoad()), begin(alice, bob, Hanamikoji("guest", 1))]
    play(alice, bob, running[0], 7)
    play(bob, alice, running[1], 9)
    return [offered, *waiting, joined, *over, left, cancelled, *running]


def _lost(service: Service, other: Player, name: str, folder: Path) -> dict[str, Any]:  # Any: JSON
    """A player who owes a move, and whose key the host has revoked; with the code for another one."""
    player = Player(service, name).register()
    game = begin(player, other)
    return {**_known(player, []), "game": game, "code": admin.revoke_keys(folder / "data", name)}


def _known(player: Player, games: list[str]) -> dict[str, Any]:  # Any: JSON
    openings = {game: [each.to_json() for each in player.openings.get(game, [])] for game in games}
    key = player.key.to_openssh().decode()
    return {"name": player.name, "key": key, "entropy": player.entropy, "openings": openings}


def explore(
    service: Service,
    folder: Path,
    config: dict[str, Any],
    run: str,
    examples: int,
    seed: int,  # Any: JSON
) -> tuple[int, Counter[str]]:
    """One run of Schemathesis: its exit code, and the numbers of requests by sort."""
    counts = folder / f"{run}.counts.json"
    kept = {**config, "url": service.url, "run": run, "seed": seed, "counts": str(counts)}
    (folder / "config.json").write_text(json.dumps(kept))
    (folder / "schemathesis.toml").write_text(_CONFIG)
    command = [
        *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(folder / "schemathesis.toml")),
        *("run", f"{service.url}/openapi.json", "--report", "json", "--report-dir", str(folder / "report")),
        *(
            "--checks",
            _RUNS[run],
            "--exclude-checks",
            "positive_data_acceptance",
            "--max-examples",
            str(examples),
            "--seed",
            str(seed),
            "--continue-on-failure",
        ),
        *("--phases", "examples,coverage,fuzzing,stateful", "--mode", "all", "--generation-database", "none"),
        *(
            "--request-timeout",
            str(_PATIENCE),
            "--suppress-health-check",
            "all",
            "--no-color",
            "--warnings",
            "off",
            "--no-shrink",
        ),
    ]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "tests.lab.fuzz.api_hooks",
        "PYTHONPATH": str(Path(__file__).parents[3]),
        CONFIG: str(folder / "config.json"),
    }
    code = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    return code, Counter(json.loads(counts.read_text()))


def report(counts: dict[str, Counter[str]], logs: list[Path]) -> bool:
    """Prints the counts. Returns whether something is wrong."""
    wrong = False
    for run, found in counts.items():
        print(f"\n{run}: {found.total()} requests")
        table: dict[str, Counter[str]] = {}
        for name, number in sorted(found.items()):
            endpoint, _, status = name.rpartition(" ")
            if status == "405":
                endpoint = "methods that an endpoint lacks"
            row = table.setdefault(endpoint, Counter())
            row[status] += number
            wrong |= status.startswith("5")
        for endpoint, row in table.items():
            print(f"  {endpoint:33} {', '.join(f'{status}: {number}' for status, number in sorted(row.items()))}")
    for log in logs:
        lines = log.read_text().splitlines()
        faults = [line for line in lines if "Traceback" in line or '"level": "error"' in line or "ERROR" in line]
        print(f"{len(lines)} lines in a log of the service, {len(faults)} of faults")
        for line in faults[:20]:
            print(f"  {line[:300]}")
        wrong |= bool(faults)
    return wrong


if __name__ == "__main__":
    main()
