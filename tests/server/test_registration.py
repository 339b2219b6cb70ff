"""Registration is open to anyone, to those with a code, or to nobody; and the operator's codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hkoji_server import admin
from hkoji_server.settings import Registration

from hkoji.errors import NotFoundError
from hkoji.log import sshsig
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_registration
from tests.support.service import AT, Player
from tests.support.service_in_process import inside


@pytest.mark.parametrize("mode", ["open", "code", "closed"])
def test_the_service_tells_who_may_register(tmp_path: Path, mode: Registration) -> None:
    with inside(tmp_path / "data", registration=mode) as service:
        assert service.ask("GET", "/v1/service").json["registration"] == mode
        answer = Player(service, "alice").send_registration()
        assert answer.status == (201 if mode == "open" else 403)
        assert service.ask("GET", "/v1/players/alice").status == (200 if mode == "open" else 404)
        if mode == "code":
            assert answer.json["detail"] == "this service takes new players only with a code from its operator"
            assert "hkoji register --server http://inside --code CODE" in answer.json["hint"]
            assert answer.json["parts"]["detail"]["text"] == answer.json["detail"]  # for readers in other languages
        if mode == "closed":
            assert answer.json["detail"] == "this service takes no new players"


def test_a_code_is_used_up_by_new_players_only(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with inside(data, registration="code") as service:
        made = admin.invite(data, 2)
        assert re.fullmatch("[0-9a-f]{40}", made["code"])
        assert (made["uses"], made["origin"]) == (2, "http://inside")
        assert admin.stats(data)["codes"] == 1
        assert made["code"].encode() not in b"".join(path.read_bytes() for path in data.iterdir())
        alice, bob, carol = (Player(service, name) for name in ("alice", "bob", "carol"))
        refused = alice.send_registration("0" * 40)
        assert (refused.status, refused.json["code"]) == (403, "forbidden")
        assert alice.send_registration(made["code"]).status == 201
        for code in (made["code"], None, "0" * 40):  # registered before
            assert alice.send_registration(code).status == 200
        assert Player(service, "alice").send_registration(made["code"]).status == 409
        assert bob.send_registration(made["code"]).status == 201
        used = carol.send_registration(made["code"])
        assert used.json["detail"] == "the code is not one of this service's, or it has been used or has expired"
        assert service.ask("GET", "/v1/players/carol").status == 404
        assert admin.stats(data)["codes"] == 0
        assert bob.login().token
    with inside(data, registration="closed") as service:
        alice.service = carol.service = service
        assert alice.send_registration().status == 200
        assert carol.send_registration(admin.invite(data)["code"]).status == 403


def test_a_code_is_not_used_where_none_is_needed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with inside(data) as service:
        code = admin.invite(data, days=1)["code"]
        assert Player(service, "alice").send_registration(code).status == 201
        assert admin.stats(data)["codes"] == 1


def test_a_code_expires(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with inside(data, registration="code") as service:
        code = admin.invite(data, days=1)["code"]
        service.clock.pass_by(40 * 365 * 86_400)
        assert Player(service, "alice").send_registration(code).status == 403


def test_there_are_codes_only_for_a_service(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        admin.invite(tmp_path / "nowhere")
    with pytest.raises(NotFoundError):
        admin.tidy(tmp_path / "nowhere")
    assert list(tmp_path.iterdir()) == []


def test_guesses_of_a_code_are_limited_like_new_names(tmp_path: Path) -> None:
    with inside(tmp_path / "data", registration="code", limit_registrations="3/hour") as service:
        answers = [Player(service, "alice").send_registration(f"{guess:040x}").status for guess in range(5)]
        assert answers == [403, 403, 403, 429, 429]


def test_a_key_that_is_a_players_uses_up_no_new_name(tmp_path: Path) -> None:
    """Somebody who tries other names with one key keeps nobody else at the address from registering."""
    with inside(tmp_path / "data", limit_registrations="3/hour") as service:
        alice, bob = Player(service, "alice").register(), Player(service, "bob").register()
        old, new = bob.key, PrivateKey.from_seed(bytes(32))
        assert bob.ask("/v1/players/bob/key", bob.rekeying(new)).status == 200
        for key in (alice.key, old, new):
            answers = [Player(service, f"name{number}", key).send_registration().status for number in range(4)]
            assert answers == [409] * 4
        assert service.ask("GET", "/v1/players/name0").status == 404
        assert Player(service, "carol").send_registration().status == 201
        assert Player(service, "dave").send_registration().status == 429


def test_nobody_looks_for_the_keys_of_others_by_registering(tmp_path: Path) -> None:
    with inside(tmp_path / "data", limit_registrations="3/hour") as service:
        alice = Player(service, "alice").register()
        statement = make_registration(at=AT, key=alice.key.public, name="eve", origin=alice.origin())
        mine = Player(service, "eve").signed(statement.text, sshsig.REGISTER)
        answer = service.ask("POST", "/v1/players", {"text": statement.text, "sig": mine})
        assert answer.status == 403
        assert "alice" not in str(answer.json)
