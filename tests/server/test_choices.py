"""Declines, blocks, settings of invitations, daily limits and filters at a service. docs/spec/http.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.commitments import entropy_commit
from hkoji.game.entry_kinds.time import WHY_DECLINED
from hkoji.game.submission import Submission
from hkoji.log.line import format_log
from tests.support.service import Answer, Player, begin, offer_of, serving
from tests.support.service_in_process import Inside, inside

DAY = 24 * 3600
BOB = entry_kinds.Invite("bob")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data", outage_after=10**7) as service:
        yield service


def players(service: Any, *names: str) -> list[Player]:  # Any: a service
    return [Player(service, name).register() for name in names]


def decline(player: Player, game: str, body: Any = None) -> Answer:  # Any: JSON
    return player.service.ask(
        "POST", f"/v1/games/{game}/decline", body or None, player.token, raw=None if body else b"{}"
    )


def opening(host: Player, invite: entry_kinds.Invite | None) -> Submission:
    """The entry that opens a new game."""
    game = host.service.ask("POST", "/v1/offers", offer_of(), host.token).json["game"]
    opened = entry_kinds.Open(entropy_commit(game, 0, host.entropy), host.key.public, invite)
    return host.entry(game, host.head(game), opened)


def joining(guest: Player, game: str) -> Submission:
    joined = entry_kinds.Join(entropy_commit(game, 1, guest.entropy), guest.key.public)
    return guest.entry(game, guest.head(game), joined)


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.json["code"]


def block(player: Player, name: str, method: str = "PUT") -> Answer:
    return player.service.ask(method, f"/v1/me/blocks/{name}", token=player.token)


def choose(player: Player, invites: str, *known: str) -> None:
    value = {"invites": invites, "known": list(known)}
    answer = player.service.ask("PUT", "/v1/me/settings", value, player.token)
    assert (answer.status, answer.json) == (200, {"invites": invites, "known": sorted(set(known))})
    assert player.service.ask("GET", "/v1/me/settings", token=player.token).json == answer.json


# --- declining --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("why", [None, *WHY_DECLINED])
def test_the_invited_player_declines_once(service: Inside, why: str | None) -> None:
    alice, bob = players(service, "alice", "bob")
    game = alice.new(invite=BOB)
    first = decline(bob, game, {"why": why} if why else None)
    again = decline(bob, game, {"why": "bot"})
    assert (first.status, again.status) == (201, 200)
    assert first.json == again.json
    lines = alice.lines(game)
    body = {"reason": "declined"} | ({"ext": {"why": why}} if why else {})
    assert [(each.entry.kind, each.entry.by) for each in lines[2:]] == [("lapse", "server"), ("end", "server")]
    assert lines[2].entry.body == body
    assert audit(format_log(lines).encode()).findings == ()
    listed = service.ask("GET", "/v1/me/games?status=cancelled", token=alice.token).json["games"]
    assert [each["result"] for each in listed] == [{"reason": "cancel", "winner": None}]
    assert code(bob.send(joining(bob, game)))[0] == 409


def test_nobody_else_declines(service: Inside) -> None:
    alice, bob, carol = players(service, "alice", "bob", "carol")
    invited, for_all = alice.new(invite=BOB), alice.new()
    offer = service.ask("POST", "/v1/offers", offer_of(), alice.token).json["game"]
    for player, game in ((alice, invited), (carol, invited), (bob, for_all), (alice, for_all), (alice, offer)):
        before = player.lines(game)
        assert code(decline(player, game)) == (403, "forbidden")
        assert player.lines(game) == before
    assert code(service.ask("POST", f"/v1/games/{invited}/decline", raw=b"{}")) == (401, "login-required")
    assert code(decline(bob, "0" * 32)) == (404, "not-found")


def test_a_reason_is_one_of_a_few_words(service: Inside) -> None:
    alice, bob = players(service, "alice", "bob")
    game = alice.new(invite=BOB)
    before = alice.lines(game)
    assert code(decline(bob, game, {"why": "Later"})) == (422, "illegal")
    assert code(decline(bob, game, {"why": 3})) == (400, "invalid")
    assert code(decline(bob, game, {"because": "later"})) == (400, "invalid")
    assert alice.lines(game) == before


def test_a_game_that_has_begun_or_ended_is_not_declined(service: Inside) -> None:
    alice, bob = players(service, "alice", "bob")
    joined, cancelled = alice.new(invite=BOB), alice.new(invite=BOB)
    bob.join(joined)
    assert alice.send(alice.entry(cancelled, alice.head(cancelled), entry_kinds.Cancel())).status == 201
    for game, wanted in ((joined, "conflict"), (cancelled, "game-over")):
        before = alice.lines(game)
        assert code(decline(bob, game)) == (409, wanted)
        assert alice.lines(game) == before


# --- blocks -----------------------------------------------------------------------------------------------------------


def test_a_blocked_player_neither_invites_nor_joins(service: Inside) -> None:
    alice, bob = players(service, "alice", "bob")
    running, open_game, invitation = begin(alice, bob), bob.new(), alice.new(invite=BOB)
    assert block(bob, "alice").status == 204
    assert block(bob, "alice").status == 204
    assert service.ask("GET", "/v1/me/blocks", token=bob.token).json == {"blocks": ["alice"]}
    assert service.ask("GET", "/v1/me/blocks", token=alice.token).json == {"blocks": []}
    assert alice.lines(invitation)[-2].entry.body == {"reason": "declined"}

    opened, joined = opening(alice, BOB), joining(alice, open_game)
    before = alice.head(open_game)
    for submission in (opened, joined):
        assert code(alice.send(submission)) == (403, "blocked")
    assert alice.head(open_game) == before
    refused = bob.send(opening(bob, entry_kinds.Invite("alice")))
    assert code(refused) == (422, "illegal")
    assert "--remove" in refused.json["hint"]

    mover = (alice, bob)[alice.course(running).actor or 0]
    own = mover.course(running)
    assert mover.send(mover.make_move(own, own.state.legal_actions()[0])).status == 201

    for _ in range(2):
        assert block(bob, "alice", "DELETE").status == 204
    assert alice.send(opened).status == 404  # the offer was removed
    opened = opening(alice, BOB)
    for submission in (opened, joined):
        assert alice.send(submission).status == 201
    block(bob, "alice")
    assert alice.send(opened).status == 200  # it stands in the log


def test_only_the_author_learns_of_a_block(service: Inside) -> None:
    """An entry with a false signature, or in a wrong place, is refused for that."""
    alice, bob, mallory = players(service, "alice", "bob", "mallory")
    game = bob.new()
    block(bob, "alice")
    real = joining(alice, game)
    false = Submission(real.entry, mallory.key.sign("hkoji.entry.v1", real.entry.message))
    assert code(mallory.send(false)) == (403, "bad-signature")
    assert code(alice.send(real)) == (403, "blocked")


def test_nobody_blocks_themselves_or_nobody(service: Inside) -> None:
    (alice,) = players(service, "alice")
    assert code(block(alice, "alice")) == (422, "illegal")
    assert code(block(alice, "nobody")) == (404, "not-found")
    assert code(block(alice, "N")) == (400, "invalid")
    assert service.ask("GET", "/v1/me/blocks", token=alice.token).json == {"blocks": []}


def test_blocks_and_settings_count_in_every_process_and_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path / "data", forked=True) as one:
        alice, bob = players(one, "alice", "bob")
        block(bob, "alice")
        with serving(tmp_path / "data", forked=True) as other:
            alice.service = other
            assert code(alice.send(opening(alice, BOB))) == (403, "blocked")
            alice.service = one
        block(bob, "alice", "DELETE")
        choose(bob, "nobody")
    with serving(tmp_path / "data", forked=True) as one:
        alice.service = bob.service = one
        assert code(alice.send(opening(alice, BOB))) == (403, "not-accepted")


# --- settings ---------------------------------------------------------------------------------------------------------


def test_an_invitation_must_be_accepted_by_the_settings(service: Inside) -> None:
    alice, bob, carol = players(service, "alice", "bob", "carol")
    assert service.ask("GET", "/v1/me/settings", token=bob.token).json == {"invites": "everyone", "known": []}

    def accepted(host: Player) -> bool:
        submission = opening(host, BOB)
        answer = host.send(submission)
        if answer.status == 201:
            decline(bob, submission.entry.game)
            return True
        assert code(answer) == (403, "not-accepted")
        assert answer.json["detail"] == "bob does not accept your invitation"
        assert service.ask("GET", f"/v1/games/{submission.entry.game}").status == 404  # not even an offer is left
        return False

    assert accepted(alice)
    choose(bob, "nobody", "alice")
    assert not accepted(alice)
    choose(bob, "known", "carol", "carol")
    assert (accepted(alice), accepted(carol)) == (False, True)
    called_off = begin(alice, bob)
    assert not accepted(alice)  # nothing is finished
    assert alice.send(alice.entry(called_off, alice.head(called_off), entry_kinds.Resign())).status == 201
    assert accepted(alice)
    choose(bob, "known")
    assert (accepted(alice), accepted(carol)) == (True, False)
    alice.new(invite=entry_kinds.Invite("carol"))


@pytest.mark.parametrize(
    "value",
    [{"invites": "some"}, {"invites": "known", "known": ["B"]}, {"invites": None}, {"x": 1}, {"known": ["bob"] * 401}],
)
def test_settings_are_strict(service: Inside, value: dict[str, Any]) -> None:
    (bob,) = players(service, "bob")
    choose(bob, "nobody")
    assert code(service.ask("PUT", "/v1/me/settings", value, bob.token)) == (400, "invalid")
    assert service.ask("GET", "/v1/me/settings", token=bob.token).json["invites"] == "nobody"


def test_as_many_known_players_as_allowed_fit_into_a_request(service: Inside) -> None:
    (bob,) = players(service, "bob")
    choose(bob, "known", *(f"{number:03}".rjust(32, "x") for number in range(400)))


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_new_player_asks_for_five_games_a_day_and_later_for_fifty(tmp_path: Path) -> None:
    with inside(tmp_path / "data", outage_after=10**7, daily_offers=50, daily_offers_of_new=5) as service:
        (alice,) = players(service, "alice")

        def ask() -> Answer:
            return service.ask("POST", "/v1/offers", offer_of(), alice.token)

        assert [ask().status for _ in range(6)] == [201] * 5 + [429]
        assert code(ask()) == (429, "too-many-games")
        service.clock.pass_by(DAY)
        alice.login()
        assert [ask().status for _ in range(51)] == [201] * 50 + [429]
        service.clock.pass_by(DAY)
        alice.login()
        assert ask().status == 201


def test_an_invitation_that_is_refused_uses_up_no_game_of_the_day(tmp_path: Path) -> None:
    with inside(tmp_path / "data", outage_after=10**7, daily_offers_of_new=2) as service:
        alice, bob, carol, _ = players(service, "alice", "bob", "carol", "dan")
        block(bob, "alice")
        choose(carol, "nobody")
        block(alice, "dan")
        for _ in range(2):
            for name, status, reason in (
                ("bob", 403, "blocked"), ("carol", 403, "not-accepted"), ("dan", 422, "illegal"),
            ):  # fmt: skip
                refused = opening(alice, entry_kinds.Invite(name))
                before = service.ask("GET", f"/v1/games/{refused.entry.game}/log").status
                assert (before, *code(alice.send(refused))) == (200, status, reason)
                assert service.ask("GET", f"/v1/games/{refused.entry.game}/log").status == 404
        asked = [service.ask("POST", "/v1/offers", offer_of(), alice.token) for _ in range(3)]
        assert [each.status for each in asked] == [201, 201, 429]


def test_nobody_else_withdraws_an_offer(tmp_path: Path) -> None:
    with inside(tmp_path / "data", outage_after=10**7, daily_offers_of_new=1) as service:
        alice, bob, mallory = players(service, "alice", "bob", "mallory")
        block(bob, "alice")
        block(bob, "mallory")
        real = opening(alice, BOB)
        false = Submission(real.entry, mallory.key.sign("hkoji.entry.v1", real.entry.message))
        assert code(mallory.send(false))[0] == 403
        assert service.ask("GET", f"/v1/games/{real.entry.game}/log").status == 200
        assert service.ask("POST", "/v1/offers", offer_of(), alice.token).status == 429


def test_limits_count_in_every_process_and_after_a_restart(tmp_path: Path) -> None:
    limits = {"daily_offers_of_new": "3"}
    with serving(tmp_path / "data", forked=True, settings=limits) as one:
        (alice,) = players(one, "alice")
        with serving(tmp_path / "data", forked=True, settings=limits) as other:
            asked = [each.ask("POST", "/v1/offers", offer_of(), alice.token) for each in (one, other, one, other, one)]
        assert [each.status for each in asked] == [201, 201, 201, 429, 429]
    with serving(tmp_path / "data", forked=True, settings=limits) as one:
        assert one.ask("POST", "/v1/offers", offer_of(), alice.token).status == 429


# --- filters ----------------------------------------------------------------------------------------------------------


def test_filters_are_for_open_games_and_valid_logins(service: Inside) -> None:
    players(service, "alice")
    for query in ("joinable=true", "clock=days", "status=finished&rated=true", "status=open&player=alice&ruleset=x"):
        assert code(service.ask("GET", f"/v1/games?{query}")) == (400, "invalid")
    for query in ("status=open&clock=weeks", "status=open&rated=2", "status=open&ruleset=%22"):
        assert code(service.ask("GET", f"/v1/games?{query}")) == (400, "invalid")
    assert code(service.ask("GET", "/v1/games?status=open&joinable=true", token="old")) == (401, "login-required")
