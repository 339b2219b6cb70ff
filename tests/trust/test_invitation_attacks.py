"""Attacks by invitations: declined in somebody's name, sent as spam, and of players who are blocked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hkoji_server.store.game_values import MOST_INVITATIONS

from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit
from tests.support.service import Answer, Player, offer_of
from tests.support.service_in_process import Inside, inside
from tests.support.timed_table import TimedTable
from tests.trust.clock_lies import accepted

BOB = entry_kinds.Invite("bob")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data", daily_offers_of_new=5) as service:
        yield service


def open_game(host: Player, invite: entry_kinds.Invite) -> Answer:
    """The answer to the offer, or to the entry that opens it."""
    offer = host.service.ask("POST", "/v1/offers", offer_of(), host.token)
    if offer.status != 201:
        return offer
    game = offer.json["game"]
    opened = entry_kinds.Open(entropy_commit(game, 0, host.entropy), host.key.public, invite)
    return host.send(host.entry(game, host.head(game), opened))


def test_an_invitation_declined_for_its_player(tmp_path: Path) -> None:
    """A decline is the service's word alone: it could as well refuse to take the join."""
    table = TimedTable(seed=3)
    table.open(BOB)
    table.lapse("declined")
    accepted(tmp_path / "declined", table)


def test_invitations_as_spam(server: Inside) -> None:
    """Few to one player, few in a day, none to one who takes none."""
    alice, bob = (Player(server, name).register() for name in ("alice", "bob"))
    sent = [open_game(alice, BOB) for _ in range(MOST_INVITATIONS + 1)]
    assert [each.status for each in sent] == [201] * MOST_INVITATIONS + [429]
    assert open_game(alice, entry_kinds.Invite("carol")).status == 201
    before = server.ask("GET", "/v1/games?player=alice").json
    assert open_game(alice, entry_kinds.Invite("dave")).status == 429
    assert server.ask("GET", "/v1/games?player=alice").json == before
    for game in [each["game"] for each in before["games"] if each["invite"] == "bob"]:
        assert server.ask("POST", f"/v1/games/{game}/decline", {"why": "no"}, bob.token).status == 201
    assert server.ask("PUT", "/v1/me/settings", {"invites": "nobody"}, bob.token).status == 200
    carol = Player(server, "carol").register()
    assert open_game(carol, BOB).json["code"] == "not-accepted"
    assert server.ask("GET", "/v1/me/games?waiting=true", token=bob.token).json["games"] == []


def test_a_blocked_player_comes_back(server: Inside) -> None:
    alice, bob = (Player(server, name).register() for name in ("alice", "bob"))
    game = bob.new()
    joined = alice.entry(game, alice.head(game), entry_kinds.Join(entropy_commit(game, 1, "ab" * 32), alice.key.public))
    assert server.ask("PUT", "/v1/me/blocks/alice", token=bob.token).status == 204
    before = bob.lines(game)
    assert alice.send(joined).json["code"] == "blocked"
    assert open_game(alice, BOB).json["code"] == "blocked"
    assert bob.lines(game) == before
    assert server.ask("GET", "/v1/me/games?waiting=true", token=bob.token).json["games"] == []
    assert server.ask("DELETE", "/v1/me/blocks/alice", token=bob.token).status == 204
    assert alice.send(joined).status == 201
