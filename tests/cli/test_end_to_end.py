"""The `hkoji` command against a real service: whole games, waiting, batch, limits."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hkoji.cli.output import Exit
from hkoji.log.line import parse_log
from hkoji.rules.events import Answer
from hkoji.rules.protocol import DECISION_KINDS, Due
from hkoji.rules.transcript import parse_transcript
from tests.support.home_shell import HomeShell, arrive, finish, first_legal, open_and_join
from tests.support.service import HKOJI, Service, serving


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("cli") / "data") as running:
        yield running


_NUMBER = iter(range(10**6))


@pytest.fixture
def players(service: Service, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[HomeShell, HomeShell]:
    number = next(_NUMBER)
    program = request.node.name == "test_a_whole_game_in_the_shell"  # whose host is the program as it is installed
    shells = (HomeShell(tmp_path / "a", program=program), HomeShell(tmp_path / "b"))
    for shell, name in zip(shells, (f"alice{number}", f"bob{number}"), strict=True):
        shell.run("init", name)
        shell.run("register", "--server", service.url)
    return shells


def test_a_whole_game_in_the_shell(players: tuple[HomeShell, HomeShell], tmp_path: Path) -> None:
    host, guest = players
    game = open_and_join(host, guest, "--max-rounds", "1", "--tiebreak", "charm")
    assert len(game) == 32
    (waiting,) = host.json("next")
    assert waiting["game"] == game
    seen = host.json("show", game[:6])
    assert (seen["game"], seen["ruleset"], seen["status"]) == (game, "hanamikoji", "playing")
    assert (seen["seat"], seen["actor"], seen["round"]) == (0, 0, 1)
    assert len(seen["hand"]) == 7
    assert seen["legal"] == sorted(set(seen["legal"]))
    theirs = guest.json("show", game)
    assert (theirs["seat"], theirs["actor"], theirs["legal"]) == (1, 0, [])
    assert len(theirs["hand"]) == 6
    assert guest.json("next") == []
    log = host.run("log", game).stdout
    assert [set(json.loads(line)) for line in log.splitlines()] == [{"entry", "sig"}] * 5
    assert "over yet" in host.fails(5, "export", game)
    finish(host, guest, game)
    export = tmp_path / "game.jsonl"
    export.write_text(host.run("export", game).stdout)
    assert all(line.receipt for line in parse_log(export.read_text()))
    assert "Now" not in host.run("show", game).stdout
    audit = host.json("audit", game)
    assert audit["ok"]
    assert audit["finished"]
    assert all(party["pinned"] for party in audit["parties"])
    stranger = HomeShell(tmp_path / "stranger")
    assert "entries hold" in stranger.run("audit", str(export)).stdout
    assert json.loads(stranger.run("audit", "-", "--json", stdin=export.read_text()).stdout)["ok"]
    text = stranger.run("replay", str(export)).stdout
    assert "[Ruleset " in text
    assert stranger.json("replay", str(export), "--at", "6")["at"] == 6
    assert stranger.json("replay", str(export))["text"].count("\n1. =") == 1
    broken = export.read_text().replace('\\"seq\\":6', '\\"seq\\":7', 1)
    done = stranger.run("audit", "-", stdin=broken, code=8)
    assert "step" in done.stderr
    assert "entry" in done.stderr


def seeks_orders(seen: dict[str, Any]) -> str:  # Any: JSON
    """An action after which the order of two cards is decided, or can be: they are rare in random games."""
    options = " ".join(f"{key}={seen['options'][key]}" for key in ("first", "markers"))
    *_, state = parse_transcript("\n".join([f'[Ruleset "geishas-road/1 {options}"]', *seen["rounds"]])).states()
    kind = DECISION_KINDS[state.due]
    found: str | None = None
    for action in seen["legal"]:
        after = state.apply(kind(seen["actor"], action))
        if after.due is Due.ORDER:
            return str(action)
        if after.due is Due.ANSWER and not found:
            answers = (after.apply(Answer(1 - seen["actor"], answer)) for answer in after.legal_actions())
            found = action if any(answered.due is Due.ORDER for answered in answers) else None
    return found or first_legal(seen)


def has_orders(rounds: list[str]) -> bool:
    return any(">" in line for line in rounds)


def test_a_whole_game_of_geishas_road_in_the_shell(players: tuple[HomeShell, HomeShell], tmp_path: Path) -> None:
    host, guest = players
    game = open_and_join(host, guest, "--ruleset", "geishas-road", "--first", "random", "--markers", "choose")
    (waiting,) = [each for shell in players for each in shell.json("next")]
    assert waiting["game"] == game
    seen = host.json("show", game)
    assert (seen["ruleset"], seen["due"], seen["round"]) == ("geishas-road", "pick", 1)
    assert seen["options"] == {"first": "random", "markers": "choose", "name": "geishas-road", "version": 1}
    assert [len(shell.json("show", game)["hand"]) for shell in players] == [12, 12]
    mover = players[seen["actor"]]
    assert mover.json("show", game)["legal"] == ["!A", "!B", "!C", "!D", "!E"]
    assert "hkoji move" in mover.run("show", game).stdout
    assert "cards" in mover.fails(5, "move", game, "RF9")
    assert "only one A1 card" in mover.fails(5, "move", game, "order", "a1", "a1")
    assert "the choice is a marker in the middle" in mover.fails(5, "move", game, "start", "host")
    finish(host, guest, game, seeks_orders)
    last = guest.json("show", game)
    assert last["result"]["reason"] == "rounds"
    assert last["rounds"][-1] == f"#{last['result']['winner']} rounds"
    rounds = last["rounds"][:-1]
    assert len(rounds) in (2, 3)
    assert [len(re.findall(r" [!^]", line)) for line in rounds] == [2, 1, 1][: len(rounds)]
    ordered = has_orders(rounds)
    export = tmp_path / "game.jsonl"
    export.write_text(host.run("export", game).stdout)
    stranger = HomeShell(tmp_path / "stranger")
    audit = stranger.json("audit", str(export))
    assert (audit["ok"], audit["finished"]) == (True, True)
    assert stranger.json("replay", str(export))["text"].splitlines()[-len(rounds) - 1 :] == last["rounds"]
    assert "with two rounds" in stranger.run("replay", str(export), "--at", str(last["seq"])).stdout
    for _ in range(4):
        if ordered:
            break
        game = open_and_join(host, guest, "--ruleset", "geishas-road")
        finish(host, guest, game, seeks_orders)
        ordered = has_orders(guest.json("show", game)["rounds"])
    assert ordered  # of a thousand games one has none, however they are sought


def test_waiting(players: tuple[HomeShell, HomeShell]) -> None:
    host, guest = players
    game = open_and_join(host, guest)
    assert "still waiting" in guest.fails(3, "wait", game, "--timeout", "0")
    host.json("show", game)
    waiter = subprocess.Popen(
        [str(HKOJI), "wait", game, "--timeout", "300", "--json"], env=guest.environment, stdout=subprocess.PIPE
    )
    host.run("move", game, next(a for a in host.json("show", game)["legal"] if a[0] == "1"))
    out, _ = waiter.communicate(timeout=300)
    assert waiter.returncode == 0
    assert json.loads(out)["actor"] == 1


def test_batch_answers_every_line(players: tuple[HomeShell, HomeShell]) -> None:
    host, guest = players
    game = open_and_join(host, guest)
    legal = host.json("show", game)["legal"]
    lines = [
        f"show {game[:8]}",
        "# a remark",
        "",
        f"move {game} 7",
        f"move {game} {legal[-1]}",
        "games",
        "nonsense",
        'show "',
        "batch",
        f"hkoji log {game}",
        "show --strange",
    ]
    done = host.run("batch", stdin="\n".join(lines) + "\n", code=5)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["ok"] for answer in answers] == [True, False, True, True, False, False, False, True, False]
    assert answers[0]["result"]["legal"] == legal
    assert answers[1]["error"]["exit_code"] == 5
    assert answers[2]["result"]["actor"] == 1
    assert [answers[n]["error"]["exit_code"] for n in (4, 5, 6, 8)] == [2, 2, 2, 2]
    assert guest.run("batch", stdin="").stdout == ""


# --- a service that limits requests -----------------------------------------------------------------------------------


def test_a_batch_waits_for_a_limit_that_allows_more_soon(tmp_path: Path) -> None:
    with serving(tmp_path / "data", settings={"limit_player": "2/second"}, forked=True) as service:
        done = arrive(service, tmp_path / "alice", "alice").run("batch", stdin="games\n" * 12)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [answer["ok"] for answer in answers] == [True] * 12
        assert '"status": 429' in service.log.read_text()


@pytest.mark.parametrize("limit", ["limit_player", "limit_address"])
def test_a_limit_that_lasts_too_long_ends_commands_with_a_message_and_the_failure_code(
    tmp_path: Path, limit: str
) -> None:
    with serving(tmp_path / "data", settings={limit: "9/hour"}, forked=True) as service:
        alice = arrive(service, tmp_path / "alice", "alice")
        answers = alice.run("batch", stdin="games\n" * 10 + "whoami\n", code=Exit.FAILURE).stdout.splitlines()
        assert json.loads(answers[0])["ok"]
        assert json.loads(answers[-1])["ok"]  # what needs no service
        error = json.loads(answers[-2])["error"]
        assert (error["code"], error["exit_code"]) == ("too-many-requests", Exit.FAILURE)
        assert error["retry_after"] > 60
        said = alice.run("new", code=Exit.FAILURE).stderr
        assert said.startswith("hkoji: too many requests\n  try again in ")
