"""The page's client joins by a link and plays to the end: the audits of the command and of the shell hold."""

from __future__ import annotations

import random
import secrets
import subprocess
from pathlib import Path

import pytest

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.log_audit import audit
from hkoji.game.agreement import Agreement
from hkoji.log.link_key import link_key
from hkoji.log.public_key import parse_public_key
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.guests import DAYS
from tests.support.page_player import PagePlayer, page_player
from tests.support.service import Player, Service
from tests.support.shell_audit import SCRIPT

RULESETS: list[Ruleset] = [
    Hanamikoji(first="random", max_rounds=3, tiebreak="charm"),
    GeishasRoad(first="guest", starting_markers="choose"),
]


def invite(host: Player, ruleset: Ruleset | None = None, agreement: Agreement = DAYS) -> str:
    """Opens a game by link, and returns the link."""
    code = secrets.token_hex(16)
    game = host.new(ruleset, agreement=agreement, link=link_key(code))
    return f"{host.origin()}/i/{game}#{code}"


def play_out(page: PagePlayer, host: Player, game: str, chance: random.Random, moves: int = 1000) -> None:
    """Plays a game that has begun to its end, or so many moves: the page's player in turn with the host."""
    while moves:
        moves -= 1
        view = page.game(game, "view")
        if view["status"] != "playing":
            return
        if view["actor"] == view["seat"]:
            page.game(game, "move", chance.choice(view["legal"]))
            continue
        own = host.course(game)
        answer = host.send(host.make_move(own, chance.choice(own.state.legal_actions())))
        assert answer.status == 201, answer


def verify_whole_game(service: Service, folder: Path, ruleset: Ruleset) -> None:
    """The page's client joins by a link, and plays to an end that all audits hold."""
    host = Player(service, f"host-{secrets.token_hex(3)}").register()
    link = invite(host, ruleset)
    name = f"guest-{secrets.token_hex(3)}"
    with page_player(host.origin(), folder / "page") as page:
        page.arrive(name)
        game = page.join(link)
        host.seed(game)
        play_out(page, host, game, random.Random(7))
        state = page.do("state", game=game)
        assert page.do("remarks") == []
        assert page.do("list", store="outbox") == []
        assert len(state["deal"]) >= 1
        evidence = page.game(game, "evidence")
        key = page.do("meet")["me"]["key"]
    log = folder / "game.jsonl"
    log.write_text("".join(f"{line}\n" for line in state["raw"]))
    assert log.read_bytes() == service.ask("GET", f"/v1/games/{game}/log").body
    server = service.ask("GET", "/v1/service").json["key"]
    pins = {"server": server, host.name: host.key.public.text, name: key}
    keys = {each: parse_public_key(text) for each, text in pins.items()}
    held = audit(log.read_text(), keys)
    assert held.ok
    assert evidence.count('{"view":') > 1
    assert not audit_file(evidence, keys).findings
    shell = subprocess.run(
        ["bash", str(SCRIPT), str(log), *(f"{each}={text}" for each, text in pins.items())],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shell.returncode == 0, shell.stdout


@pytest.mark.parametrize("ruleset", RULESETS, ids=str)
def test_the_page_plays_a_whole_game_by_link(service: Service, tmp_path: Path, ruleset: Ruleset) -> None:
    verify_whole_game(service, tmp_path, ruleset)
