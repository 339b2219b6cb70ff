"""Lists of games, invitations in every command that names whose turn it is, and results in words."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from hkoji.cli import terminal
from hkoji.cli.games.lists import STATUS
from hkoji.cli.games.watch import happened_json
from hkoji.client.transport import HttpAnswer
from hkoji.client.watching import watch_game
from hkoji.game import entry_kinds
from hkoji.game.course import STATUSES
from hkoji.log.mail_claim import MailGrade
from hkoji.rules.events import Outcome
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from hkoji.show.board import WIDTH
from tests.support.memory_service import URL, Game, MemoryService, registered
from tests.support.shell import Shell
from tests.support.table import Table, held_game

SHORT = Hanamikoji(max_rounds=1)
ENDS: list[tuple[Ruleset, Outcome, str, str]] = [
    (SHORT, Outcome("charm", 0), "won by charm", "vinta per fascino"),
    (SHORT, Outcome("charm", 1), "lost by charm", "persa per fascino"),
    (SHORT, Outcome("geisha", 0), "won by geisha", "vinta per geisha"),
    (SHORT, Outcome("limit", 1), "lost at the round limit", "persa al limite di round"),
    (SHORT, Outcome("limit", None), "a shared win, at the round limit", "vittoria condivisa, al limite di round"),
    (GeishasRoad(), Outcome("rounds", 1), "lost with two rounds", "persa con due round"),
    (SHORT, Outcome("resign", 0), "won by resignation", "vinta per abbandono"),
]


def ended(ruleset: Ruleset, outcome: Outcome) -> Table:
    """A game of alice and bob with that outcome."""
    for seed in range(1000):
        table = Table(ruleset=ruleset, seed=seed).begin()
        table = table.play(3) if outcome.reason == "resign" else table.play()
        if outcome.reason == "resign":
            assert outcome.winner is not None
            table.send(table.entry(1 - outcome.winner, entry_kinds.Resign()))
        if table.course.outcome == outcome:
            return table
    raise AssertionError(f"no game ends by {outcome}")


def add(service: MemoryService, table: Table) -> None:
    service.games[table.game] = Game(table.refereed, table.lines)


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ruleset", "outcome", "english", "italian"), ENDS, ids=[each[2] for each in ENDS])
def test_lists_and_audits_say_who_has_won_and_by_what(
    service: MemoryService, alice: Shell, tmp_path: Path, ruleset: Ruleset, outcome: Outcome, english: str, italian: str
) -> None:
    table = ended(ruleset, outcome)
    add(service, table)
    for words in (("games",), ("games", "--all"), ("games", "--status", "finished")):
        (listed,) = alice(*words, "--json").json
        assert (listed["status"], listed["result"]) == (
            "finished",
            {"reason": outcome.reason, "winner": outcome.winner},
        )
        head, line = alice(*words).out.splitlines()
        assert head.endswith("  result")
        assert line.endswith(f"  {english}")
        assert alice(*words, "--lang", "it").out.rstrip().endswith(f"  {italian}")
    file = tmp_path / "game.jsonl"
    file.write_text(table.text)
    winner = "alice" if outcome.winner == 0 else "bob"
    by_name = {
        "en": re.sub("^(won|lost)", f"{winner} wins", english),
        "it": re.sub("^(vinta|persa)", f"vince {winner}", italian),
    }
    for language, said in by_name.items():
        assert re.search(rf"^9 \w+ +{said}$", alice("audit", str(file), "--lang", language).out, re.MULTILINE)


def test_to_watch_a_game_that_is_over_says_who_has_won(alice: Shell, bob: Shell) -> None:
    game = str(alice("new", "--json").json["game"])
    assert bob("join", game).code == 0
    assert bob("resign", game, "--yes").code == 0
    for shell in (alice, bob):
        (line,) = shell("watch", game).out.splitlines()
        assert line.endswith("  the game is over: alice wins by resignation")
    assert alice("watch", game, "--json").json["result"] == {"reason": "resign", "winner": 0}


# --- games by mail ----------------------------------------------------------------------------------------------------


def test_a_list_says_in_which_games_somebody_plays_by_mail(service: MemoryService, alice: Shell) -> None:
    own = Table(seed=1).begin()
    add(service, own)
    before = alice("games").out
    assert "mail" not in before
    assert alice("games", "--json").json[0]["by_mail"] == {}
    held, both = held_game(2).play(3), held_game(3, held=(0, 1), grade=MailGrade.DKIM)
    for table in (held, both):
        add(service, table)
    head, *lines = alice("games").out.splitlines()
    column = slice(head.index("by mail"), head.index("updated"))
    assert {line[:8]: line[column].strip() for line in lines} == {
        own.game[:8]: "",
        held.game[:8]: "bob (service's word)",
        both.game[:8]: "you (claimed), bob (claimed)",
    }
    listed = {each["game"]: each["by_mail"] for each in alice("games", "--json").json}
    assert listed == {
        own.game: {},
        held.game: {"bob": "word"},
        both.game: {"alice": "claimed", "bob": "claimed"},
    }
    assert "bob (parola del servizio)" in alice("games", "--lang", "it").out


def test_a_list_fits_a_narrow_terminal(service: MemoryService, alice: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ended(SHORT, Outcome("limit", None))
    add(service, table)
    wide = alice("games").out
    for width in (30, 80, 200):
        monkeypatch.setattr(terminal, "width", lambda width=width: width)
        shown = alice("games").out
        if width == 200:
            assert shown == wide
        else:
            assert shown.startswith(f"{table.game[:8]}\n  ruleset hanamikoji, ")
            assert " ".join(shown.split()).endswith("result a shared win, at the round limit")
            assert max(map(len, shown.splitlines())) <= width


def test_a_cancelled_game_is_over_and_called_so(alice: Shell) -> None:
    game = alice("new").out.strip()
    assert alice("cancel", game, "--json").json["status"] == "cancelled"
    (listed,) = alice("games", "--status", "cancelled", "--json").json
    assert (listed["game"], listed["status"]) == (game, "cancelled")
    assert listed["result"] == {"reason": "cancel", "winner": None}
    for more in ((), ("--all",), ("--offline",)):
        (over,) = alice("games", "--status", "finished", *more, "--json").json
        assert (over["game"], over["status"], over["result"]) == (game, "cancelled", listed["result"])
    for status in ("open", "playing"):
        assert alice("games", "--status", status, "--json").json == []
    head, line = alice("games").out.splitlines()
    assert head.endswith("  result")
    assert line.endswith("  cancelled by you")
    assert "annullata" in alice("games", "--lang", "it").out
    assert "statuses: open, playing, finished, cancelled" in alice("games", "--status", "lost").err


def test_every_status_has_a_word() -> None:
    assert tuple(STATUS) == STATUSES


def test_a_list_without_a_game_that_is_over_has_no_results(alice: Shell) -> None:
    alice("new")
    (head, _) = alice("games").out.splitlines()
    assert head.endswith("  updated")


@pytest.mark.parametrize(
    ("was", "made"),
    [
        ('"result": null', '"result": {"reason": "charm", "winner": 0}'),
        ('"status": "open"', '"status": "finished"'),
        ('"status": "open"', '"status": "cancelled"'),
        ('"status": "open"', '"status": "finished", "result": {"reason": "cancel", "winner": null}'),
        ('"status": "open"', '"status": "cancelled", "result": {"reason": "charm", "winner": 0}'),
        ('"result": null', '"result": {"reason": "charm", "winner": true}'),
        ('"result": null', '"result": {"reason": "charm", "winner": 2}'),
        ('"result": null', '"result": {"reason": "\\u001b[2J", "winner": 0}'),
        ('"result": null', '"result": "charm"'),
    ],
)
def test_a_result_that_does_not_fit_is_not_listed(service: MemoryService, alice: Shell, was: str, made: str) -> None:
    alice("new")

    def tamper(_method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        if not path.startswith("/v1/me/games"):
            return answer
        text = answer.body.decode()
        assert was in text
        if made.count('"result"') and not was.startswith('"result"'):
            text = text.replace(', "result": null', "")
        return HttpAnswer(200, text.replace(was, made).encode())

    service.tamper = tamper
    done = alice("games")
    assert (done.code, done.out) == (1, "")
    assert "is not understood" in done.err


def test_a_cancelled_game_says_why_instead_of_an_empty_board(alice: Shell, bob: Shell) -> None:
    game = alice("new", "--invite", "bob").out.strip()
    assert bob("show", game).code == 0  # so that it is kept there too
    ended = alice("cancel", game).out
    for text in (ended, *(alice("show", game, *more).out for more in ((), ("--plain",), ("--offline",)))):
        assert "You cancelled the game before anybody joined." in text
        for absent in ("geisha", "deck", "charm", "hkoji replay", "hkoji audit", "hkoji export"):
            assert absent not in text
    assert "alice cancelled the game before anybody joined." in bob("show", game).out
    assert "Hai annullato la partita" in alice("show", game, "--lang", "it").out


def test_a_game_called_off_later_keeps_its_board(service: MemoryService, alice: Shell) -> None:
    table = ended(SHORT, Outcome("resign", 0))
    add(service, table)
    shown = alice("show", table.game).out
    assert "hkoji replay" in shown
    assert "charm" in shown


def test_a_board_says_what_a_marker_is_worth_beside_the_whole_command(alice: Shell, bob: Shell) -> None:
    game = alice("new", "--ruleset", "geishas-road", "--invite", "bob").out.strip()
    assert bob("join", game).code == 0
    shown = alice("show", game).out
    assert f"hkoji move {game[:8]} marker A  half an influence point with A\n" in shown
    assert max(map(len, shown.splitlines())) <= WIDTH


# --- what is offered --------------------------------------------------------------------------------------------------


def test_open_games_and_their_boards_say_clock_and_rated(
    alice: Shell, bob: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = alice("new", "--clock", "30d/60d").out.strip()
    quick = alice("new", "--clock", "1h", "--unrated", "--invite", "bob").out.strip()
    free = alice("new", "--clock", "none").out.strip()
    for width in (None, 80, 200):
        monkeypatch.setattr(terminal, "width", lambda width=width: width)
        head, *lines = bob("games", "--open").out.splitlines()
        rows = {line[:8]: line for line in lines}
        for game, who, clock, rated in (
            (timed, "anyone", "30d/60d", "yes"),
            (quick, "you", "1h", "no"),
            (free, "anyone", "none", "no"),
        ):
            cells = [rows[game[:8]][head.index(name) :].split()[0] for name in ("for", "clock", "rated")]
            assert cells == [who, clock, rated]
        assert width is None or max(map(len, (head, *lines))) <= width
    monkeypatch.undo()
    assert "per la classifica" in bob("games", "--open", "--lang", "it").out
    for shell in (alice, bob):
        shown = shell("show", timed).out
        assert "Clock: 30d/60d. Each player has 30d for each turn" in shown
        assert "The game is rated." in shown
        assert "The game is not rated." in shell("show", quick).out
    assert bob("join", timed).code == 0
    assert "The game is rated." not in bob("show", timed).out


def test_joining_at_a_terminal_shows_the_terms_and_asks(service: MemoryService, alice: Shell, bob: Shell) -> None:
    game = alice("new", "--clock", "2d").out.strip()
    refused = bob("join", game, stdin="n\n", terminal=True)
    assert refused.code == 3
    assert refused.err.index("Clock: 2d.") < refused.err.index("The game is rated.") < refused.err.index("Join this")
    assert "not joined" in refused.err
    assert service.games[game].refereed.course.joinable
    agreed = bob("join", game, stdin="y\n", terminal=True)
    assert agreed.code == 0
    assert not service.games[game].refereed.course.joinable
    other, third = alice("new").out.strip(), alice("new").out.strip()
    assert "Join this game?" not in bob("join", other, "--yes", terminal=True).err
    assert "Join this game?" not in bob("join", third).err
    assert not any(service.games[each].refereed.course.joinable for each in (other, third))


@pytest.mark.parametrize("typed", ["?", "help"])
def test_a_question_mark_at_the_question_of_join_explains_it_and_asks_again(
    service: MemoryService, alice: Shell, bob: Shell, typed: str
) -> None:
    game = alice("new").out.strip()
    refused = bob("join", game, stdin=f"{typed}\n{typed}\nn\n", terminal=True)
    assert (refused.code, refused.err.count("Join this game? [y/N]")) == (3, 3)
    assert refused.err.count("y means that you agree to the rules and the clock above, and the game begins.") == 2
    assert bob("join", game, stdin=f"{typed}\n", terminal=True).code == 3  # the input ends
    assert service.games[game].refereed.course.joinable
    assert bob("join", game, stdin=f"{typed}\ny\n", terminal=True).code == 0
    assert not service.games[game].refereed.course.joinable
    resigned = bob("resign", game, stdin=f"{typed}\nn\n", terminal=True)
    assert resigned.code == 3
    assert "y means yes. Any other answer means no, and nothing is sent." in resigned.err


# --- invitations ------------------------------------------------------------------------------------------------------


def test_it_is_the_turn_of_the_one_who_is_invited_in_every_command(alice: Shell, bob: Shell) -> None:
    game = alice("new", "--invite", "bob").out.strip()
    join = f"hkoji join {game[:8]}"
    assert [each["to_move"] for each in bob("next", "--json").json] == ["bob"]
    for words in (("show",), ("wait", "--timeout", "0")):
        shown = bob(*words[:1], game, *words[1:], "--json").json
        assert (shown["to_move"], shown["seat"], shown["legal"], shown["due"]) == ("bob", None, [], "join")
        for plain in ((), ("--plain",)):
            text = bob(*words[:1], game, *words[1:], *plain).out
            assert "It is your turn: alice invites you to join this game." in text
            assert join in text
            assert "hkoji wait" not in text
    said = bob("show", game, "--lang", "it").out
    assert "Tocca a te: alice ti invita" in said
    assert join in said
    for player, mine in ((bob, True), (alice, False)):
        with closing(watch_game(player.seat.client, game, 0)) as watched:
            told = happened_json(next(watched))
        assert (told["kind"], told["to_move"], told["mine"], told["result"]) == ("open", "bob", mine, None)
    moved = bob("move", game, "1A")
    assert moved.code == 9
    assert join in moved.err


def test_to_anyone_else_the_game_waits_for_the_one_who_is_invited(
    service: MemoryService, alice: Shell, bob: Shell, tmp_path: Path
) -> None:
    game = alice("new", "--invite", "bob").out.strip()
    carol = Shell(registered(service, "carol", tmp_path / "carol"))
    for shell in (alice, carol):
        assert shell("next", "--json").json == []
        shown = shell("show", game).out
        assert "The game waits for bob to join." in shown
        assert "hkoji join" not in shown
        assert shell("wait", game, "--timeout", "0").code == 3
    assert f"hkoji wait {game[:8]}" in alice("show", game).out
    assert bob("join", game).code == 0
    assert [each["to_move"] for each in alice("next", "--json").json] == ["alice"]
    assert bob("next", "--json").json == []


def test_a_game_for_anyone_says_how_to_join_but_is_nobodys_turn(alice: Shell, bob: Shell) -> None:
    game = alice("new").out.strip()
    assert bob("next", "--json").json == []
    shown = bob("show", game).out
    assert "The game waits for someone to join." in shown
    assert f"hkoji join {game[:8]}" in shown
    assert bob("wait", game, "--timeout", "0").code == 3
    assert bob("show", game, "--json").json["to_move"] is None


def test_nobody_can_be_invited_who_is_not_registered(service: MemoryService, alice: Shell) -> None:
    done = alice("new", "--invite", "nobody")
    assert (done.code, done.out) == (2, "")
    assert "no player 'nobody'" in done.err
    assert f"no game was opened; the player has to register first, with `hkoji register --server {URL}`" in done.err
    assert not service.games
    assert not [path for method, path in service.requests if method == "POST" and path == "/v1/offers"]
    assert alice("new", "--invite", "nobody", "--lang", "it").err.count("nessuna partita è stata aperta") == 1


def test_a_service_that_does_not_tell_who_is_registered_lets_anyone_be_invited(
    service: MemoryService, alice: Shell
) -> None:
    def tamper(_method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        return HttpAnswer(405, b"{}") if path == "/v1/players/nobody" else answer

    service.tamper = tamper
    assert alice("new", "--invite", "nobody").code == 0
    assert len(service.games) == 1
