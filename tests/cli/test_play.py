"""`hkoji play`: sessions at a prompt: complete games, accepted input, leaving and coming back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from hkoji.audit.log_audit import audit
from hkoji.local.local_games import LocalGames
from tests.support.memory_service import MemoryService, playing
from tests.support.shell import Shell, run
from tests.support.terminal import MORE, PROMPT, advised, games, home, lines, session

__all__ = ["home"]


def logged(home: Path, game: object) -> int:
    """The number of entries of a game."""
    return LocalGames(home / "local").course(str(game)).seq + 1


# --- whole games ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [(), ("--plain",)], ids=["drawn", "plain"])
@pytest.mark.parametrize("ruleset", ["hanamikoji", "geishas-road"])
def test_a_whole_game(ruleset: str, plain: tuple[str, ...], home: Path) -> None:
    done = session("play", "--ruleset", ruleset, "--level", "beginner", *plain, types=advised)
    assert done.code == 0
    assert done.err == ""
    assert "The game is over" in done.out
    assert "A new game against random-bot." in done.out
    assert re.search(r"The audit: all \d+ entries hold\.", done.out)
    (file,) = re.findall(r"hkoji audit (\S+)", done.out)
    assert Path(file).parent == home / "local" / "finished"
    assert run("audit", file).code == 0
    assert run("replay", file).code == 0
    assert games()[0]["status"] == "finished"
    assert "\x1b" not in done.out
    assert "thinking" not in done.out
    # The complete game in notation, in lines of a screen's width, is the one in the log.
    shown = done.out.partition("The whole game, all cards open:\n\n")[2].partition("\n\n")[0]
    head = run("replay", file, "--notation").out
    assert " ".join(shown.split()) in " ".join(head.split())
    assert (
        len(re.findall(r"^\d+\. =", shown, re.MULTILINE))
        == json.loads(run("replay", file, "--json").out)["state"]["round"]
    )
    text = done.out.partition("The audit: all ")[0]
    if not plain:
        assert max(map(len, text.splitlines())) <= 80
    else:
        assert not set(text) & set("─▲▼·")


def test_every_move_of_the_bot_is_told_in_words_and_notation(home: Path) -> None:
    done = session("play", "--level", "beginner", types=advised)
    (file,) = re.findall(r"hkoji audit (\S+)", done.out)
    moves = [json.loads(json.loads(line)["entry"]) for line in Path(file).read_text().splitlines()]
    theirs = [entry["body"]["action"] for entry in moves if entry["kind"] == "move" and entry["by"] == "random-bot"]
    assert len(theirs) >= 6
    for action in theirs:
        opened = action.replace("X", "[A-GX]")  # the last ones are shown when the game is over and everything is known
        assert re.search(rf"random-bot (played a|took) .*   {opened}$", done.out, re.M), action


def test_another_game_is_offered(home: Path) -> None:
    asked = []

    def types(said: str) -> str | None:
        if said.endswith(MORE):
            asked.append(said)
            return "y" if len(asked) == 1 else "n"
        return advised(said)

    assert session("play", "--level", "beginner", "--max-rounds", "1", types=types).code == 0
    assert len(asked) == 2
    assert [game["status"] for game in games()] == ["finished", "finished"]


def test_the_name_is_the_players_own_if_there_is_one(home: Path) -> None:
    assert run("init", "anna").code == 0
    assert "anna (host) and random-bot (guest)" in session("play", "--level", "beginner", types=lines()).out


@pytest.mark.parametrize("ruleset", ["hanamikoji", "geishas-road"])
def test_a_result_is_the_last_thing_on_a_small_screen(ruleset: str, home: Path) -> None:
    done = session("play", "--ruleset", ruleset, "--level", "beginner", types=advised)
    shown, _, asked = done.out.rpartition("\n")
    assert asked.startswith(MORE) or not asked
    closing = shown[shown.rindex("your hand") :].partition("\n\n")[2]
    closing = closing[closing.index("The whole game") if "The whole game" in closing else closing.index("The audit") :]
    lines = [line for line in closing.splitlines() if line and not line.startswith(MORE)]
    assert len(closing.splitlines()) < 24
    assert lines[-1].startswith("The game is over: ")
    assert sum(line.startswith("The audit: all ") for line in lines) == 1
    assert "1 parse" not in done.out


@pytest.mark.parametrize("lang", ["en", "it"])
@pytest.mark.parametrize("ruleset", ["hanamikoji", "geishas-road"])
def test_an_introduction_fits_a_small_screen(ruleset: str, lang: str, home: Path) -> None:
    shown = session("play", "--ruleset", ruleset, "--lang", lang, types=lines()).out
    assert len(shown.partition("\n\n")[0].splitlines()) < 23


def test_known_cards_do_not_shift_the_names_of_actions(home: Path) -> None:
    done = session("play", "--level", "beginner", types=advised)
    rows = [line for line in done.out.splitlines() if "4 competition" in line and "  4 comp" not in line[:20]]
    pairs = list(zip(rows[::2], rows[1::2], strict=False))
    assert any(re.search(r"1 secret [A-G]", row) for row in rows)
    for one, other in pairs:
        if "1 secret" in one and "1 secret" in other:
            assert one.index("4 competition") == other.index("4 competition")


def test_rules_and_help_work_at_every_question(home: Path) -> None:
    questions = {"Your move: ": "type 3", "Give this game up? It cannot be taken back. [y/N] ": "With y you lose"}
    done = session("play", types=lines("?", "rules", "resign", "?", "rules", "n", "resign", "y", "?", "rules", "n"))
    assert done.code == 0
    for question, said in {**questions, MORE: "With y another game begins"}.items():
        asked = done.out.split(question)[1:]
        assert any(each.startswith("?\n") and said in each for each in asked), question
        assert any(each.startswith(("rules\n", "regole\n")) and len(each.splitlines()) > 40 for each in asked), question


def test_the_worth_of_a_marker_is_shown_where_it_is_chosen(home: Path) -> None:
    done = session("play", "--ruleset", "geishas-road", "--level", "beginner", types=lines("?"))
    worth = "half an influence point with A"
    if "marker A" in done.out:  # the other player may have taken it
        board, _, helped = done.out.partition("Your move: ")
        assert re.search(rf"marker A +{worth}", board)
        assert re.search(rf"!A +{worth}", helped)
    assert done.out.count("half an influence point with") >= 8


# --- the prompt -------------------------------------------------------------------------------------------------------


def test_questions_and_mistakes_change_nothing(home: Path) -> None:
    session("play", types=lines())
    (game,) = games()
    before = logged(home, game["game"])
    asked = {
        "": "or ? for help",
        "?": "type 3",
        "help": "You can play, for example",
        "hint": "A bot with your cards would play",
        "moves": "  1",
        "board": "your hand",
        "rounds": "1. =",
        "undo": "There is no undo",
        "9zz": "'9zz' is not a move",
        "-C": "no proposal waits for an answer",
        "1X": "1X is not legal",
        "3": "moves begin with 3:",
        "4": "moves begin with 4:",
        "3aaa": "Nothing was sent",
        "nonsense\x07\x1b[2J" + "x" * 999: "is not a move",
        "1" * 10_000: "Nothing was sent",
        "²": "is not a move",
        "ünï 1": "only plain letters",
    }
    answers = []

    def types(said: str) -> str | None:
        answers.append(said)
        return next(left, None)

    left = iter(asked)
    done = session("play", types=types)
    assert done.code == 0
    for line, said in zip(asked, answers[1:], strict=True):
        assert asked[line] in said, line
        assert "\x1b" not in said.replace(line, "")
    assert logged(home, game["game"]) == before


def test_moves_are_taken_as_people_type_them(home: Path) -> None:
    """In words, loosely, by a number in a short list, or by a prefix that only one move has."""
    session("play", "--level", "beginner", types=lines())
    game = games()[0]["game"]

    def types(said: str) -> str | None:
        if said.endswith(MORE):
            return None
        hint = re.search(r"would play (\S+)", said)
        if not hint:
            return "hint"
        move = hint[1]
        if move.startswith("-"):
            return f"take {' '.join(move[1:]).lower()}"
        name = {"1": "secret", "2": "trade-off", "3": "gift", "4": "competition"}[move[0]]
        return f"  {name} {' '.join(move[1:]).lower()} "

    done = session("play", types=types)
    assert "The game is over" in done.out
    assert "Nothing was sent" not in done.out
    assert audit(LocalGames(home / "local").log_file(str(game)).read_bytes(), {}).ok


def test_a_number_chooses_from_a_short_list(home: Path) -> None:
    """The answers to an offer do not begin with digits, so a digit can choose one from the list."""

    def types(said: str) -> str | None:
        hint = re.search(r"would play (\S+)", said)
        if "by its number" in said:
            chosen.append(re.findall(r"^  (\d)  (-\w+)$", said, re.M)[-1])
            return str(chosen[-1][0])
        if "take " in said and "on offer" in said:
            return "?"
        return hint[1] if hint else "hint" if said.endswith(PROMPT) else None

    chosen: list[tuple[str, str]] = []
    session("play", "--level", "beginner", types=types)
    course = LocalGames(home / "local").course(str(games()[0]["game"]))
    text = json.dumps(games())
    assert chosen
    assert course.outcome is not None
    log = Path(re.findall(r'"log": "([^"]+)"', text)[0]).read_text()
    for _, move in chosen:
        assert f'\\"action\\":\\"{move}\\"' in log


def test_the_only_move_that_begins_so_is_meant(home: Path) -> None:
    """The last action of a round uses all the cards: unless it is a competition there is one way to play it."""

    def types(said: str) -> str | None:
        if said.endswith(MORE):
            return None
        if "by its number" in said:
            return "1"
        if "for example:" not in said:
            return "?"
        single = re.search(r"^  (\S+) +the only one$", said, re.M)
        if single:
            meant.append(single[1])
            return single[1][0]
        return str(
            re.findall(r"^  ([1-4]\w+)", said, re.M)[-1]
        )  # competitions come last here, so they are played first

    meant: list[str] = []
    done = session("play", "--level", "beginner", types=types)
    assert "The game is over" in done.out
    assert meant
    log = Path(str(games()[0]["log"])).read_text()
    for move in meant:
        public = move[0] + "X" * len(move[1:]) if move[0] in "12" else move
        assert f'\\"action\\":\\"{public}\\"' in log


def test_giving_up_is_asked_once_more(home: Path) -> None:
    done = session("play", types=lines("resign", "n", "resign", "y"))
    assert done.code == 0
    assert done.out.count("Give this game up?") == 2
    assert "search-bot wins by resignation" in done.out
    assert games()[0]["result"] == {"reason": "resign", "winner": 1}
    assert "lost" in run("play", "--list").out


def test_the_prompt_reads_italian_words_and_its_help_lists_them(home: Path) -> None:
    words = ("aiuto", "mosse", "tavolo", "storia", "annulla", "consiglio", "abbandona", "n", "esci")
    for lang in ("it", "en"):
        done = session("play", "--lang", lang, types=lines(*words))
        assert done.code == 0
        assert "hint" not in done.out.replace("hint  ", "")
        assert done.out.count("Hanamikoji") >= 2  # the board, again
        assert ("Un bot con le tue carte giocherebbe" if lang == "it" else "A bot with your cards") in done.out
        assert ("Abbandoni questa partita?" if lang == "it" else "Give this game up?") in done.out
        assert ("Nothing was sent" in done.out, "Non è stato inviato" in done.out) == (False, False)
    shown = session("play", "--lang", "it", types=lines("?", "q")).out
    for word in ("mosse", "tavolo", "storia", "consiglio", "abbandona", "esci"):
        assert f"  {word}" in shown


def test_a_game_that_is_not_there_asks_for_no_set_up(home: Path) -> None:
    done = run("play", "9999")
    assert (done.code, done.out) == (2, "")
    assert "no game '9999'" in done.err
    assert "hkoji play --list" in done.err
    assert "init" not in done.err


# --- leaving and coming back ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["q", "quit", "EXIT", "bye", None])
def test_leaving_keeps_the_game(word: str | None, home: Path) -> None:
    left = session("play", types=lines(*([word] if word else [])))
    assert left.code == 0
    assert left.out.endswith("The game waits for you: hkoji play\n")
    back = session("play", types=lines("q"))
    assert "Your game against search-bot goes on." in back.out
    assert len(games()) == 1


def test_the_introduction_comes_once_a_game(home: Path) -> None:
    assert "Seven geisha" in session("play", types=lines()).out
    assert "Seven geisha" not in session("play", types=lines()).out
    assert "Seven geisha" not in session("play", "--new", types=lines()).out
    assert "Five geisha" in session("play", "--ruleset", "geishas-road", types=lines()).out
    assert len(games()) == 3


def test_which_game_goes_on(home: Path) -> None:
    """`play` continues the last unfinished game that fits the options; --new begins another, an id continues any."""
    wishes = [["--bot", "random"], ["--first", "guest"], ["--ruleset", "geishas-road"], ["--level", "beginner"]]
    for words in (*wishes[:3], [*wishes[3], "--new"]):
        assert session("play", *words, types=lines()).code == 0
    assert len(games()) == 4
    by = {(each["ruleset"], each["bot"]): each["game"] for each in games()[::-1]}
    assert len(by) == 3
    for words in (*wishes, []):
        assert "goes on" in session("play", *words, types=lines()).out
    assert len(games()) == 4
    assert "A new game" in session("play", "--max-rounds", "3", types=lines()).out
    for each in games():
        game = str(each["game"])
        done = session("play", game[:8], types=lines())
        assert done.code == 0
        assert game[:8] in done.out
    listed = run("play", "--list").out
    assert all(str(each["game"])[:8] in listed for each in games())


def test_the_list_is_empty_at_first(home: Path) -> None:
    assert run("play", "--list").out == "No games here yet. Begin one with: hkoji play\n"
    assert games() == []
    assert not home.exists()


def test_json_is_promised_for_what_has_it() -> None:
    """A game at the prompt refuses it; its help says so."""
    (line,) = re.findall(r"^ +--json +(.*)$", run("play", "--help").out, re.MULTILINE)
    assert line == "With --list: print one line of JSON."
    assert run("play", "--list", "--json").json == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bot", "nobody"], "there is no bot 'nobody'"),
        (["--level", "divine"], "there is no level 'divine'"),
        (["--bot", "random", "--level", "easy"], "both choose"),
        (["--ruleset", "chess"], "there is no ruleset 'chess'"),
        (["--ruleset", "geishas-road", "--max-rounds", "3"], "no option"),
        (["--json"], "no JSON"),
        (["2714", "--new"], "options of a game in progress"),
        (["--bot", "./none"], "no program './none'"),
    ],
)
def test_a_word_that_cannot_be_played(words: list[str], said: str, home: Path) -> None:
    done = run("play", *words)
    assert done.code == 2
    assert said in done.err
    assert games() == []


def test_a_bot_that_fails_leaves_the_game_waiting(home: Path, tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text("print('pass')")
    name = f"cmd:python3 {bot}"
    done = session("play", "--bot", name, "--first", "guest", "--max-rounds", "1", types=advised)
    assert done.code == 10
    assert "'pass' is not a move" in done.err
    bot.write_text("import json; print(json.loads(input())['legal'][-1])")
    done = session("play", types=advised)
    assert done.code == 0
    assert "The game is over" in done.out


def test_the_commands_at_the_end_can_be_copied_from_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hkoji.cli.terminal.width", lambda: 40)
    done = session("play", types=lines("", "resign", "y", "n"))
    (file,) = re.findall(r" hkoji audit (\S+)\n", done.out)
    assert f"Look back:  hkoji replay {file}\n" in done.out
    assert run("audit", file).code == 0


# --- by correspondence ------------------------------------------------------------------------------------------------


def test_a_game_by_correspondence(alice: Shell, bob: Shell, service: MemoryService) -> None:
    """The other player moves whenever the service is asked; hints are not for games between people."""
    game = str(alice("new", "--max-rounds", "1", "--json").json["game"])
    assert bob("join", game).code == 0

    def types(said: str) -> str | None:
        if "There are hints only" in said:
            return "?"
        if "You can play" in said:
            assert "hint " not in said
            assert "resign  give the game up" in said
            found = re.search(r"^  (?:1  )?([-\d]\w+)", said, re.M)
            return found[1] if found else None
        return "hint" if said.endswith(PROMPT) else None

    with playing(service, bob.seat, game, 0):
        done = session("play", game[:8], types=types, seat=alice.seat)
    assert done.err == ""
    assert done.code == 0
    assert "The game is over" in done.out
    assert f"hkoji audit {game[:8]}" in done.out
    assert alice("audit", game).code == 0


def test_leaving_a_game_by_correspondence(alice: Shell, bob: Shell) -> None:
    game = str(alice("new", "--json").json["game"])
    bob("join", game)
    done = session("play", game[:8], types=lines("q"), seat=alice.seat)
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(f"The game waits for you: hkoji play {game[:8]}\n")


def test_a_game_of_others(alice: Shell, bob: Shell, service: MemoryService, tmp_path: Path) -> None:
    from tests.support.memory_service import registered

    game = str(alice("new", "--json").json["game"])
    carol = registered(service, "carol", tmp_path / "carol")
    done = session("play", game[:8], types=lines(), seat=carol)
    assert done.code == 2
    assert f"hkoji join {game[:8]}" in done.err
    assert session("play", "0000", types=lines(), seat=alice.seat).code == 2
