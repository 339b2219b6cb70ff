"""A page and the command play one game in turn, with one key: each goes on where the other has stopped."""

from __future__ import annotations

import random
import secrets
from pathlib import Path

from hkoji.audit.log_audit import audit
from hkoji.client import Client, Home
from hkoji.client.identity import create
from hkoji.log.link_key import link_key
from hkoji.log.public_key import parse_public_key
from tests.support.page_player import page_player
from tests.support.service import Player, Service


def test_a_page_and_the_command_play_one_game_in_turn(service: Service, tmp_path: Path) -> None:
    seed, name, chance = secrets.token_hex(32), f"alice-{secrets.token_hex(3)}", random.Random(5)
    bob = Player(service, f"bob-{secrets.token_hex(3)}").register()
    with page_player(bob.origin(), tmp_path / "page") as page:
        page.do("meet")
        made = page.do("key", name=name, seed=seed)
        page.session("register")
        key_file = tmp_path / "key"
        key_file.write_text(made["file"])
        key_file.chmod(0o600)
        home = Home(tmp_path / "home")
        create(home, name, key_file, secrets.token_bytes(32))
        command = Client(home)
        command.register(service.url)
        agreement = {"clock": None, "expires": None, "rated": False, "rematch": None, "series": None}
        ruleset = {"first": "host", "max_rounds": 0, "name": "hanamikoji", "tiebreak": "geisha", "version": 1}
        opened = page.do("open", ruleset=ruleset, agreement=agreement, invite="link")
        game = opened["game"]
        bob.join(game, link_key(opened["code"]))
        bob.seed(game)
        with command.game(game) as held:
            held.current()  # sends the host's seed, which the page has committed to
        assert [line.entry.kind for line in bob.lines(game)] == ["offer", "open", "join", "seed", "seed"]
        turns = {"page": 0, "command": 0}
        while (course := bob.course(game)).actor is not None:
            if course.actor == 1:
                assert bob.send(bob.make_move(course, chance.choice(course.state.legal_actions()))).status == 201
            elif sum(turns.values()) % 2:
                view = page.game(game, "view")
                page.game(game, "move", chance.choice(view["legal"]))
                turns["page"] += 1
            else:
                with command.game(game) as held:
                    held.move(chance.choice(held.current().legal))
                turns["command"] += 1
        assert min(turns.values()) >= 3
        page.game(game, "refresh")
        assert page.do("remarks") == []
        with command.game(game) as held:
            assert held.current().course.finished
        command.close()
        server = parse_public_key(service.ask("GET", "/v1/service").json["key"])
        keys = {"server": server, name: parse_public_key(made["key"]), bob.name: bob.key.public}
        log = "".join(f"{line}\n" for line in page.do("state", game=game)["raw"])
        assert audit(log, keys).ok
