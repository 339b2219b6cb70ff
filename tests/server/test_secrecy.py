"""Answers to others do not depend on what they cannot know.

Two services get the same randomness and the same time, and the same keys play two games on them, which differ in one
face-down card only. All answers to the other player, a spectator and the public must be the same bytes, except for
commitments and the hashes and signatures over them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hkoji.log.private_key import PrivateKey
from tests.support.service import Player, begin
from tests.support.service_in_process import Inside, inside

_MADE = re.compile(rb"[0-9a-f]{64}|[A-Za-z0-9+/]{86,}={0,2}")
"""Hashes, commitments and signatures."""


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[list[tuple[Inside, Player, Player, str]]]:
    with ExitStack() as stack:
        found = []
        for name in ("one", "two"):
            service = stack.enter_context(inside(tmp_path / name, seed="the same"))
            host = Player(service, "alice", PrivateKey.from_seed(b"a" * 32), "aa" * 32).register()
            guest = Player(service, "bob", PrivateKey.from_seed(b"b" * 32), "bb" * 32).register()
            found.append((service, host, guest, begin(host, guest)))
        assert found[0][3] == found[1][3]
        yield found


def others(service: Inside, guest: Player, game: str) -> bytes:
    """All answers about a game to anyone but the host."""
    asked = [
        service.ask("GET", f"/v1/games/{game}/view", token=guest.token),
        service.ask("GET", f"/v1/games/{game}"),
        service.ask("GET", f"/v1/games/{game}/log"),
        service.ask("GET", "/v1/games"),
        service.ask("GET", "/v1/me/games?waiting=true", token=guest.token),
    ]
    assert [answer.status for answer in asked] == [200] * 5
    return b"\n".join(answer.body for answer in asked)


def hands(player: Player, game: str) -> list[str]:
    return [str(hand) for hand in player.course(game).state.to_json()["hands"]]  # type: ignore[union-attr] # JSON


def test_the_same_game_tells_the_same(tables: list[tuple[Inside, Player, Player, str]]) -> None:
    (one, host, guest, game), (two, other_host, other_guest, _) = tables
    assert others(one, guest, game) == others(two, other_guest, game)
    assert hands(host, game) == hands(other_host, game)


def test_a_face_down_card_changes_nothing_that_others_are_told(
    tables: list[tuple[Inside, Player, Player, str]],
) -> None:
    game = tables[0][3]
    cards = sorted(set(hands(tables[0][1], game)[0]))
    told: list[bytes] = []
    answers: list[bytes] = []
    for (service, host, guest, _), card in zip(tables, (cards[0], cards[-1]), strict=True):
        answer = host.send(host.make_move(host.course(game), f"1{card}"))
        assert answer.status == 201
        answers.append(answer.body)
        # The guest's next steps get the same answers too, including the errors.
        wrong = guest.send(guest.make_move(guest.course(game), "1" + lacking(guest, game)))
        assert wrong.status == 422
        right = guest.send(guest.make_move(guest.course(game), f"1{sorted(hands(guest, game)[1])[0]}"))
        assert right.status == 201
        told.append(b"\n".join((others(service, guest, game), answer.body, wrong.body, right.body)))
        opening = host.openings[game][0]
        assert opening.salt.encode() not in told[-1]
    assert cards[0] != cards[-1]
    assert answers[0] != answers[1]
    one, two = (_MADE.sub(b"#", text) for text in told)
    assert one == two


def lacking(player: Player, game: str) -> str:
    held = hands(player, game)[1]
    return next(card for card in "ABCDEFG" if card not in held)


def test_the_owner_alone_is_told_the_openings(tables: list[tuple[Inside, Player, Player, str]]) -> None:
    service, host, guest, game = tables[0]
    card = hands(host, game)[0][0]
    host.send(host.make_move(host.course(game), f"1{card}"))
    (opening,) = host.openings[game]
    own = service.ask("GET", f"/v1/games/{game}/view", token=host.token)
    assert own.json["openings"] == [opening.to_json()]
    assert opening.salt.encode() not in others(service, guest, game)
    # Somebody else's token, none, and a false one.
    carol = Player(service, "carol", PrivateKey.from_seed(b"c" * 32)).register()
    assert service.ask("GET", f"/v1/games/{game}/view", token=carol.token).status == 403
    assert service.ask("GET", f"/v1/games/{game}/view").status == 401
    assert service.ask("GET", f"/v1/games/{game}/view", token=host.token[:-1] + "x").status == 401
