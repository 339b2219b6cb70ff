"""Declining, blocking, choosing whose invitations count, and filtered lists of open games, at a real service."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hkoji.cli.output import Exit
from hkoji.client import Client, Home
from hkoji.client.transport import HttpAnswer, Transport
from hkoji.errors import TrustError
from tests.support.homes import Homes, homes_of
from tests.support.service import serving


@contextmanager
def made_in(folder: Path) -> Iterator[Homes]:
    """Homes of alice and bob, who are registered."""
    with serving(folder / "data", forked=True) as service:
        yield Homes(folder, service).registered("alice", "bob")


homes = homes_of(made_in)


def test_the_host_sees_why_an_invitation_was_declined(homes: Homes) -> None:
    game = homes.new("alice", "--invite", "bob")
    declined = homes("bob", "decline", game[:8], "--why", "later", "--json")
    assert (declined.code, declined.json["status"]) == (0, "cancelled")
    why = {"reason": "declined", "why": "later"}
    assert declined.json["lapse"] == why
    for text in (homes("bob", "show", game).out, homes("alice", "show", game).out):
        assert "bob declined the invitation (later)." in text
        assert "hkoji replay" not in text
        assert "charm" not in text
    assert homes("alice", "games", "--status", "cancelled").out.rstrip().endswith("declined: later")
    assert homes("bob", "decline", game, "--why", "bot", "--json").json["lapse"] == why
    joined = homes("bob", "join", game)  # nothing was played that could be looked at again
    assert (joined.code, f"hkoji show {game[:8]}" in joined.err, "replay" in joined.err) == (Exit.TURN, True, False)
    (listed,) = homes("alice", "games", "--status", "finished", "--json").json
    assert (listed["result"], listed["lapse"]) == ({"reason": "cancel", "winner": None}, why)
    assert homes("alice", "games", "--offline", "--json").json[0]["lapse"] == why
    assert "declined: later" in homes("alice", "games").out
    assert "rifiutata: più tardi" in homes("alice", "--lang", "it", "games").out
    watched = homes("alice", "watch", game, "--after", "1").out.splitlines()
    assert watched[0].endswith("the invitation has been declined: later")
    assert watched[1].endswith("no winner, declined: later")
    lines = homes("alice", "watch", game, "--after", "1", "--json").out.splitlines()
    assert [json.loads(line)["lapse"] for line in lines] == [why, None]
    (homes.folder / "log").write_text(homes("alice", "export", game).out)
    assert homes("alice", "audit", str(homes.folder / "log")).code == 0


def test_the_list_of_all_games_says_how_one_ended_if_that_is_kept_here(homes: Homes) -> None:
    game = homes.new("alice", "--invite", "bob")
    assert homes("bob", "decline", game[:8], "--why", "later").code == 0

    def listed(player: str) -> str:
        (line,) = (line for line in homes(player, "games", "--all").out.splitlines() if game[:8] in line)
        return line.rstrip()

    assert listed("bob").endswith("declined: later")
    assert listed("alice").endswith("ended before it began")  # she has not looked, and no list asks for its sake
    assert homes("alice", "show", game).code == 0
    assert listed("alice").endswith("declined: later")
    (found,) = (each for each in homes("alice", "games", "--all", "--json").json if each["game"] == game)
    assert found["lapse"] == {"reason": "declined", "why": "later"}
    taken_back = homes.new("alice", "--invite", "bob")
    assert homes("alice", "cancel", taken_back).code == 0
    assert any(
        taken_back[:8] in line and line.endswith("cancelled by you")
        for line in homes("alice", "games", "--all").out.splitlines()
    )


def test_a_game_that_cannot_be_declined_is_refused_with_the_reason(homes: Homes) -> None:
    for_all, invitation = homes.new("alice"), homes.new("alice", "--invite", "bob")
    refused = homes("bob", "decline", for_all)
    assert (refused.code, "invites nobody by name" in refused.err) == (Exit.KEY, True)
    by_link = homes("bob", "decline", f"https://hanamikoji.example/i/{'0' * 32}#{'1' * 32}")
    assert (by_link.code, "a game by link cannot be declined" in by_link.err) == (Exit.USAGE, True)
    assert refused.err.endswith("nothing was changed; its host can cancel it\n")
    assert homes("alice", "cancel", for_all).code == 0
    over = homes("bob", "decline", for_all)
    assert (over.code, over.err.endswith("nothing was changed\n")) == (Exit.KEY, True)
    wrong = homes("bob", "decline", invitation, "--why", "never")
    assert (wrong.code, "reasons: no, later" in wrong.err) == (Exit.USAGE, True)
    assert homes("bob", "next", "--json").json[0]["game"] == invitation
    assert homes("bob", "join", invitation).code == 0
    assert homes("bob", "decline", invitation).code == Exit.CONFLICT


def test_a_player_who_opens_or_joins_a_game_is_told_the_prompt(homes: Homes) -> None:
    opened = homes("alice", "new")
    game = opened.out.strip()
    assert f"Then play it: hkoji play {game[:8]}" in opened.err
    assert f"Then play it: hkoji play {game[:8]}" in homes("bob", "join", game).out
    assert homes("bob", "resign", game, "--yes").code == 0
    again = homes("bob", "rematch", game)
    assert f"Then play it: hkoji play {again.out[:8]}" in again.err


def test_a_decline_that_the_log_does_not_have_is_no_decline(homes: Homes) -> None:
    game = homes.new("alice", "--invite", "bob")

    class Lying(Transport):
        """A service that only says that it has ended the game."""

        def request(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> HttpAnswer:
            if path.endswith("/decline"):
                return HttpAnswer(201, b"{}")
            return super().request(method, path, body, token)

    with Client(Home(homes.folder / "bob"), connect=Lying) as client, client.game(game) as held:
        with pytest.raises(TrustError, match="its log of the game does not have that"):
            held.decline("later")
        assert not held.stored().over


def test_a_blocked_player_hears_it_and_can_be_unblocked(homes: Homes) -> None:
    invitation, open_game = homes.new("alice", "--invite", "bob"), homes.new("bob")
    assert homes("bob", "block", "alice").code == 0
    assert homes("bob", "block", "--list").out == "alice\n"
    assert homes("alice", "show", invitation, "--json").json["lapse"] == {"reason": "declined", "why": None}
    for words in (("new", "--invite", "bob"), ("join", open_game)):
        refused = homes("alice", *words, "--json")
        assert refused.code == Exit.KEY
        assert json.loads(refused.err.splitlines()[-1])["error"]["code"] == "blocked"
    done = homes("bob", "block", "alice", "--remove")
    assert (done.code, done.out) == (0, "alice is no longer blocked.\n")
    assert homes("bob", "block", "--list", "--json").json["blocks"] == []
    assert homes("alice", "join", open_game).code == 0
    for line in ("block", "block alice --list", "block --list --remove", "block nobody", "block Alice!"):
        assert homes("bob", *line.split()).code == Exit.USAGE


def test_the_guest_who_cancels_an_invitation_is_told_how_to_decline(homes: Homes) -> None:
    game = homes.new("alice", "--invite", "bob")
    done = homes("bob", "cancel", game[:8])
    assert done.code == Exit.TURN
    assert f"to decline the invitation: `hkoji decline {game[:8]}`" in done.err
    assert homes("alice", "show", game, "--json").json["status"] == "open"


def test_an_offer_that_was_refused_and_is_tried_again_is_signed_once(homes: Homes) -> None:
    open_game = homes.new("bob")
    assert homes("bob", "block", "alice").code == 0
    for words in (("new", "--invite", "bob"), ("join", open_game)):
        first = homes("alice", *words)
        time.sleep(1.1)  # an entry names a second, so this one would be another
        second = homes("alice", *words)
        assert first.code == second.code == Exit.KEY
        assert "blocked" in first.err
        assert second.err == first.err
    signed = [json.loads(each.read_text())["signed"] for each in (homes.folder / "alice").rglob("secrets.json")]
    # The service removes an offer whose opening it refuses: the second invitation was another game.
    assert [len(texts) for game in signed for texts in game.values()] == [1, 1, 1]
    assert homes("bob", "block", "alice", "--remove").code == 0
    invitation = homes.new("alice", "--invite", "bob")
    assert homes("bob", "join", invitation).code == 0
    assert homes("alice", "join", open_game).code == 0


def test_a_player_who_was_introduced_by_a_link_is_known(homes: Homes) -> None:
    link = homes("alice", "new", "--link").out.strip()
    assert homes("bob", "join", link).code == 0
    assert homes("bob", "config", "invites", "known", "--json").json["known"] == ["alice"]
    assert homes("alice", "new", "--invite", "bob").code == 0


def test_whom_a_player_trusts_is_known(homes: Homes) -> None:
    assert homes("bob", "config", "invites").out.startswith("invites: everyone, by http")
    assert homes("bob", "config", "invites", "some").code == Exit.USAGE
    assert homes("bob", "config", "invites", "known").code == 0
    refused = homes("alice", "new", "--invite", "bob", "--json")
    assert (refused.code, json.loads(refused.err.splitlines()[-1])["error"]["code"]) == (Exit.KEY, "not-accepted")
    fingerprint = homes("alice", "key", "--json").json["fingerprint"]
    assert homes("bob", "trust", "alice", fingerprint).code == 0
    assert homes("bob", "config", "invites", "--json").json["known"] == ["alice"]
    assert homes("alice", "new", "--invite", "bob").code == 0
    assert homes("bob", "config", "invites", "--unset", "--json").json["settings"]["invites"]["value"] == "everyone"


def test_trust_says_what_is_left_to_do_if_the_service_does_not_hear_it(homes: Homes) -> None:
    assert homes("bob", "config", "invites", "known").code == 0
    fingerprint = homes("alice", "key", "--json").json["fingerprint"]
    homes.service.stop()
    done = homes("bob", "trust", "alice", fingerprint)
    assert done.code == 0
    assert "tell it with `hkoji config invites known`" in done.err


def test_open_games_are_filtered(homes: Homes) -> None:
    days, free = homes.new("alice"), homes.new("alice", "--clock", "none", "--ruleset", "geishas-road")
    slow = homes.new("alice", "--clock", "30d/30d", "--invite", "bob")
    assert homes.open_to("bob") == {days, free, slow}
    assert homes.open_to("alice") == set()
    assert homes.open_to("bob", "--clock", "days") == {days}
    assert homes.open_to("bob", "--clock", "slow") == {slow}
    assert homes.open_to("bob", "--clock", "none", "--unrated", "--ruleset", "geishas-road") == {free}
    assert homes.open_to("bob", "--rated") == {days, slow}
    assert "No such game can be joined" in homes("bob", "games", "--open", "--clock", "fast").out
    for words in (("--open", "--clock", "weeks"), ("--open", "--ruleset", "go"), ("--clock", "days"), ("--rated",)):
        assert homes("bob", "games", *words).code == Exit.USAGE
    assert homes("bob", "block", "alice").code == 0
    assert homes.open_to("bob") == set()
