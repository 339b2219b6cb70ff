"""The way to the terminal: no text from elsewhere steers it, and output that cannot be written is one error."""

from __future__ import annotations

import ast
import io
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

import pytest

import hkoji
from hkoji.bots.registry import make_program
from hkoji.cli.language import translate
from hkoji.cli.output import Exit
from hkoji.cli.terminal import Screen
from hkoji.errors import BotError
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.bot_positions import FIRST, decisions
from tests.support.damaged_answers import Recording
from tests.support.forked import run_forked
from tests.support.home_shell import run_connected
from tests.support.interrupted_players import URL, Hall, arrived, hall
from tests.support.lying_proxy import Change, LyingProxy, RawAnswer, leaves, lying_proxy, problem, replaced
from tests.support.rules import GAMES
from tests.support.service import HKOJI, Service, serving
from tests.support.shell import Done, Shell, run, run_with_streams

__all__ = ["hall"]

FORGED = "hkoji: all is well"
EVIL = f"a\x1b[31;5mb\x1b]0;title\x07c\x9b2Jd\u202ee\u2066f\u2028g\rh\x08i\x7fj\n{FORGED}\nk"
"""Signs that may not come to a terminal: sequences that begin with ESC or C1, other directions, lines of their own."""
STEERING = [chr(n) for n in (*range(0x20), *range(0x7F, 0xA0)) if chr(n) not in "\n\t"] + list(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
)


def harmless(text: str) -> None:
    """Fails if a text steers the terminal, or has a line that somebody else has made."""
    assert [sign for sign in STEERING if sign in text] == [], text
    assert not any(line.startswith(FORGED) for line in text.splitlines()), text


def checked(done: Done) -> Done:
    for text in (done.out, done.err):
        harmless(text)
    return done


# --- a lying service --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service") / "data", forked=True) as service:
        yield service


@pytest.fixture
def liar(honest: Service) -> Iterator[LyingProxy]:
    with lying_proxy(honest.port) as proxy:
        yield proxy


def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_HOME", str(folder))


@pytest.fixture
def game(honest: Service, liar: LyingProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A game of two players who have registered at the liar, which has been honest so far; the host is at home."""
    number = random.Random(str(tmp_path)).randrange(10**9)
    made = ""
    for name in ("host", "guest"):
        at_home(tmp_path / name, monkeypatch)
        assert run_connected("init", f"{name}{number}").code == 0
        done = run_connected("register", "--server", liar.url, "--origin", honest.url)
        assert done.code == 0, done.err
        made = made or run_connected("new").out.strip()
    assert run_connected("join", made).code == 0
    at_home(tmp_path / "host", monkeypatch)
    assert run_connected("show", made).code == 0
    return made


def commands(game: str, url: str) -> list[tuple[str, ...]]:
    """Every command that reads something from the service."""
    return [
        *[("show", game), ("games",), ("games", "--open"), ("next",), ("log", game), ("export", game)],
        *[
            ("audit", game),
            ("replay", game),
            ("wait", game, "--timeout", "0"),
            ("register", "--server", url, "--origin", url),
        ],
        *[("new",), ("join", game), ("resign", game, "--yes"), ("move", game, "1A"), ("cancel", game), ("rekey",)],
        *[("revoke", "--yes"), ("doctor",), ("bot", "run", game, "--bot", "random", "--once"), ("whoami",)],
        *[("recover", "somebody", "--server", url, "--yes"), ("evidence", game), ("play", game)],
    ]


def heads() -> Iterator[tuple[str, Change]]:
    """Answers that are no HTTP, or say something in their heads."""
    raw = EVIL.replace("\n", "").replace("\r", "").encode()
    yield "version", lambda _: b"HTTP/" + raw + b" 200 OK\r\n\r\n"
    yield "status line", lambda _: raw + b"\r\n\r\n"
    yield "status", lambda _: b"HTTP/1.1 " + raw + b"\r\n\r\n"
    yield "reason", lambda _: b"HTTP/1.1 500 " + raw + b"\r\nContent-Length: 0\r\n\r\n"
    yield "header", lambda _: b"HTTP/1.1 200 OK\r\n" + raw + b"\r\n\r\n"
    yield "length", lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: " + raw + b"\r\n\r\n"
    yield "chunk", lambda _: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + raw + b"\r\n"
    yield "place", lambda _: b"HTTP/1.1 302 Gone\r\nLocation: " + raw + b"\r\nContent-Length: 0\r\n\r\n"
    yield "text", lambda told: RawAnswer(b"HTTP/1.1 200 OK", (), raw).bytes()
    yield "error", lambda told: RawAnswer(b"HTTP/1.1 500 No", (), EVIL.encode()).bytes()


def problems() -> Iterator[tuple[str, Change]]:
    """Problem documents with a bad text in every field."""
    template = {"template": f"{EVIL}{{name}}", "values": {"name": EVIL}}
    known = {"template": "{name} has been used this round", "values": {"name": EVIL}}
    for status in (400, 401, 403, 404, 409, 422, 429, 500, 503):
        for code in ("conflict", "not-your-turn", "game-over", "revoked", "too-busy", EVIL):
            for parts in (None, {"detail": template, "hint": template}, {"detail": known}):
                fields = dict.fromkeys(("title", "type", "detail", "hint", "game", "head", "action"), EVIL)
                yield f"{status} {code!r}", problem(status, **fields, code=code, seq=3, parts=parts)


@pytest.mark.parametrize("lang", ["en", "it"])
def test_no_answer_of_a_service_steers_the_terminal(
    liar: LyingProxy, game: str, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    chance = random.Random(7)
    every = commands(game, liar.url)
    liar.passes_on = False
    failed = 0
    for number, (_, change) in enumerate([*heads(), *problems()]):
        liar.change = change
        for words in chance.sample(every, 1 if number > 9 else len(every)):
            terminal = words[0] != "recover" and chance.random() < 0.5  # a terminal asks for its code
            done = checked(run_connected(*words, "--lang", lang, terminal=terminal))
            failed += done.code != 0
    assert failed > 300


def recordings(hall: Hall, folder: Path) -> list[Recording]:
    """Each command that reads something from the service, given by a player who may give it and has what it asks for.

    Those that only look come first; the player's key is the last to change.
    """
    host, guest = (arrived({URL: hall}, name, folder / name) for name in ("host", "guest"))
    game, given_up, talked = (host.client.new(Hanamikoji()).game for _ in range(3))
    for each in (game, given_up, talked):
        guest.join(each)
        host.position(each)
    host.resign(talked)
    alone = host.client.new(Hanamikoji()).game
    theirs = guest.client.new(Hanamikoji()).game
    action = host.position(game).legal[0]
    looking = [
        *[("show", game), ("games",), ("games", "--open"), ("games", "--all"), ("next",), ("log", game)],
        *[("export", talked), ("audit", game), ("replay", game), ("wait", game, "--timeout", "0"), ("doctor",)],
        ("play", game),
    ]
    changing = [
        *[("register", "--server", URL, "--origin", URL), ("new",), ("join", theirs), ("cancel", alone)],
        *[("move", game, action), ("bot", "run", given_up, "--bot", "random", "--once"), ("resign", given_up, "--yes")],
        *[("recover", "host", "--server", URL, "--yes"), ("rekey",), ("revoke", "--yes")],
    ]
    return [
        Recording(hall, host.path, words, folder / str(number)) for number, words in enumerate((*looking, *changing))
    ]


def test_no_text_in_an_answer_steers_the_terminal(hall: Hall, tmp_path: Path) -> None:
    """Every kind of text in the answers is replaced, one at a time, and for each command a few others, also names."""
    chance = random.Random(8)
    known, shown = set[str](), 0
    for recording in recordings(hall, tmp_path):
        assert recording.told
        assert checked(recording.again()[0]) == recording.done
        places = list(recording.places())
        new = {each.kind: each for each in places if not each.is_name and each.kind not in known}
        known |= new.keys()
        for place in (*new.values(), *chance.sample(places, min(len(places), 4))):
            done, telling = recording.again(place, EVIL)
            shown += "all is well" in checked(done).err
            assert telling.reached, (recording.words, place)
    assert len(known) > 150
    assert shown  # where an error quotes what is wrong with an answer


# --- files, names and the environment ---------------------------------------------------------------------------------


def changed_lines(text: str) -> Iterator[str]:
    """A log or a file of evidence with a bad text in place of every word, raw and as JSON writes it."""
    first, *_ = lines = text.splitlines()
    for line in dict.fromkeys((first, lines[-1])):
        value = json.loads(line)
        for number in range(leaves(value)):
            yield text.replace(line, json.dumps(replaced(value, number, EVIL)))
        inner = value.get("entry")
        if isinstance(inner, str):
            for number in range(leaves(json.loads(inner))):
                entry = json.dumps(replaced(json.loads(inner), number, EVIL), separators=(",", ":"), sort_keys=True)
                yield text.replace(line, json.dumps({**value, "entry": entry}, separators=(",", ":")))
    yield EVIL
    yield text + EVIL


def test_no_file_steers_the_terminal(alice: Shell, bob: Shell, tmp_path: Path) -> None:
    game = str(alice("new", "--json").json["game"])
    assert bob("join", game).code == 0
    evidence = alice("evidence", game, "--with-cards").out
    assert alice("resign", game, "--yes").code == 0
    log = alice("export", game).out
    file = tmp_path / f"x{EVIL.replace('/', '')}.jsonl"
    name = os.fspath(file)
    good = tmp_path / "good.jsonl"
    good.write_text(log)
    failed = 0
    every = [
        *[("audit", name), ("audit", name, str(good)), ("audit", str(tmp_path)), ("stats", name)],
        *[("replay", name, "--notation"), ("submit", name), ("revoke", name, "--yes")],
        *[("audit", str(good), "--keys", name), ("audit", str(good), "--key", f"alice={name}")],
    ]
    for number, text in enumerate((*changed_lines(log), *changed_lines(evidence))):
        file.write_text(text)
        for words in every[number % 3 :: 3]:
            failed += checked(alice(*words)).code != 0
    assert failed > 200


def test_no_name_and_no_variable_steers_the_terminal(
    alice: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some of them write a file
    game = str(alice("new", "--json").json["game"])
    words = [
        *[(EVIL,), ("show", EVIL), ("show", game, f"--{EVIL}"), ("move", game, EVIL), ("init", EVIL), ("join", EVIL)],
        *[("register", "--server", f"http://{EVIL}"), ("games", "--status", EVIL), ("rules", EVIL), ("config", EVIL)],
        *[("config", "lang", EVIL), ("new", "--ruleset", EVIL), ("new", "--option", EVIL), ("new", "--invite", EVIL)],
        *[("new", "--edition", EVIL), ("trust", EVIL, EVIL), ("submit", EVIL), ("audit", EVIL), ("stats", EVIL)],
        *[("replay", EVIL), ("replay", game, "--eyes", EVIL), ("replay", game, "--svg", f"{tmp_path}/a{EVIL}")],
        *[("evidence", game, "--output", f"{tmp_path}/b{EVIL}"), ("evidence", game, "--output", f"{EVIL}/b")],
        *[("revoke", "--fingerprint", EVIL, "--yes"), ("arena", EVIL, "random"), ("bot", "run", game, "--bot", EVIL)],
        *[("bot", "run", game, "--", EVIL), ("show", game, "--deck", EVIL), ("--lang", EVIL), ("play", "--bot", EVIL)],
        *[("wait", game, "--timeout", EVIL), ("doctor", "--data", EVIL), ("admin", "stats", "--data", EVIL)],
        *[("audit", "x", "--key", EVIL), ("audit", "x", "--keys", EVIL), ("stats", "x", "--plot", EVIL)],
    ]
    for lang in ("en", "it"):
        for each in words:
            checked(alice(*each, "--lang", lang))
    for name in ("HKOJI_LANG", "HKOJI_DECK", "HKOJI_CONFIG", "HKOJI_HOME"):
        with monkeypatch.context() as changed:
            changed.setenv(name, EVIL if name == "HKOJI_LANG" else f"{tmp_path}/{EVIL.replace('/', '')}")
            for each in (("play", "--list"), ("whoami",), ("games",), ("config",), ("doctor",), ("init", "zoe")):
                checked(run(*each))
    settings = tmp_path / "settings.toml"
    monkeypatch.setenv("HKOJI_CONFIG", str(settings))
    for text in (EVIL, f"lang = {json.dumps(EVIL)}", f"{json.dumps(EVIL)} = 1", f"deck = {json.dumps(EVIL)}"):
        settings.write_text(text)
        assert checked(run("games")).code == Exit.USAGE


def test_no_program_steers_the_terminal(tmp_path: Path) -> None:
    bot = tmp_path / "bot.py"
    bot.write_text(f"import sys\nsys.stderr.write({EVIL!r})\nsys.stderr.flush()\n{FIRST}")
    words = ["play", "--new", "--bot", f"cmd:{sys.executable} {bot}"]
    chosen = "hint\nmoves\nresign\ny\nn\n"
    done = subprocess.run(
        [str(HKOJI), *words],
        input=f"{chosen}",
        capture_output=True,
        text=True,
        env={**os.environ, "HKOJI_HOME": str(tmp_path / "home")},
        timeout=300,
        check=False,
    )
    harmless(done.stdout)
    for sign in STEERING:
        assert sign not in done.stderr
    for text in (f"print({EVIL!r})", f"import sys; sys.exit({EVIL!r})", "print()"):
        bot.write_text(f"import sys\n{text}\n")
        with pytest.raises(BotError) as caught:
            make_program((sys.executable, str(bot)), 1).decide(decisions(GAMES[0], 1, 1)[0])
        harmless(translate(caught.value.message))


def test_json_escapes_what_steers_a_terminal(alice: Shell, tmp_path: Path) -> None:
    file = tmp_path / f"x{EVIL.replace('/', '')}.jsonl"
    file.write_text(EVIL)
    for words in (("audit", str(file)), ("audit", str(file), str(file)), ("stats", str(file)), ("show", EVIL)):
        done = checked(alice(*words, "--json"))
        assert done.out.isascii()
        assert done.err.isascii()
    done = checked(alice("batch", stdin=f"show 'x{EVIL.replace(chr(10), '')}'\n"))
    assert done.out.isascii()


def test_colours_are_the_only_sequences_that_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, passes in ((Terminal(), True), (io.StringIO(), False)):
        Screen(stream).write("\x1b[1;32mgo\x1b[0m \x1b[5mno\x1b[2J\x1b[38;5;1m")
        assert ("\x1b[1;32mgo\x1b[0m" in stream.getvalue()) is passes
        assert stream.getvalue().count("\x1b") == (2 if passes else 0)
        assert "\\x1b[5mno\\x1b[2J" in stream.getvalue()


# --- there is no other way --------------------------------------------------------------------------------------------

_FORBIDDEN = {"print", "input", "open_code", "breakpoint"}
_MODULES = {"pydoc", "getpass", "curses", "readline", "webbrowser"}
_ATTRIBUTES = {"buffer", "__stdout__", "__stderr__", "echo", "secho", "stdout_write"}
_WAYS = {"stdout", "stderr"}


def ways(path: Path) -> Iterator[str]:
    """How a module could reach the terminal other than by a screen."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _FORBIDDEN:
                yield f"{name}()"
            case ast.Import(names=names):
                yield from (each.name for each in names if each.name in _MODULES)
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] in _MODULES:
                yield module
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys"), attr=stream), attr=name) if (
                stream in _WAYS and name in _ATTRIBUTES
            ):
                yield f"sys.{stream}.{name}"
            case ast.Attribute(value=ast.Name(id="sys" | "typer"), attr=name) if name in _ATTRIBUTES:
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr="write" | "system" | "ttyname" as name)):
                yield f"os.{name}"
            case ast.Constant(value="/dev/tty"):
                yield "/dev/tty"


def test_there_is_no_way_to_the_terminal_but_a_screen() -> None:
    package = Path(hkoji.__file__).parent
    found = {
        str(path.relative_to(package)): set(ways(path)) for path in sorted(package.rglob("*.py")) if set(ways(path))
    }
    assert found.pop("__main__.py") == {"print()"}  # the version, before anything is loaded
    assert found.pop("cli/terminal.py") == {"input()", "pydoc", "getpass", "readline"}
    # These write to the pipe of a bot's program, and to files of the player.
    assert found == {"bots/program.py": {"os.write"}, "client/kept/files.py": {"os.write"}}


def test_while_a_command_runs_both_streams_are_screens(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[type] = []
    from hkoji.cli import main as program

    def note() -> None:
        seen.extend((type(sys.stdout), type(sys.stderr)))

    monkeypatch.setattr(program, "_command", note)
    assert run("games").code == 0
    assert seen == [Screen, Screen]


# --- output that cannot be written ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home that has a game against a bot, and the log of a finished game."""
    folder = tmp_path_factory.mktemp("played")
    with pytest.MonkeyPatch.context() as changed:
        at_home(folder / "home", changed)
        assert run("play", stdin="q\n").code == 0
        assert run("play", "--new", stdin="resign\ny\nn\n").code == 0
    (log,) = (folder / "home" / "local" / "finished").iterdir()
    log.rename(folder / "log.jsonl")
    return folder


@pytest.fixture
def prepared(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own copy of what has been played."""
    shutil.copytree(played, tmp_path, dirs_exist_ok=True)
    at_home(tmp_path / "home", monkeypatch)
    return tmp_path


PRINTING: list[tuple[str, str]] = [
    *[("--help", ""), ("--version", ""), ("show --help", ""), ("rules", ""), ("rules --json", "")],
    *[("deck", ""), ("bot list", ""), ("config", ""), ("play --list", ""), ("play --list --json", ""), ("doctor", "")],
    *[("play", "moves\nq\n"), ("play --new", "resign\ny\nn\n"), ("batch", "config\nbot list\n"), ("stats LOG", "")],
    *[("replay LOG", ""), ("replay LOG --step", "n\nn\n"), ("replay LOG --svg -", ""), ("replay LOG --png -", "")],
    *[("audit LOG", ""), ("audit LOG LOG --json", ""), ("audit LOG LOG", ""), ("stats LOG --json", "")],
    *[("arena random random --games 2", ""), ("arena random random --games 2 --json", "")],
]


PROGRAMS = ("--version", "play", "replay LOG --png -", "show zz")
"""Of these, the whole program is started as it is installed. The output of the others takes the same way out."""
TO_HEAD = "| head -c 1; exit ${PIPESTATUS[0]}"


def split(words: str, folder: Path) -> list[str]:
    return words.replace("LOG", str(folder / "log.jsonl")).split()


def process(words: str, given: str, folder: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    """The program in a shell."""
    line = " ".join([str(HKOJI), *split(words, folder)])
    return subprocess.run(
        ["bash", "-c", f"{line} {redirection}"],
        input=given,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )


def redirected(words: str, given: str, folder: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    """A command whose streams are full or closed, as a shell writes it: 2>/dev/full, >&-."""
    if words in PROGRAMS:
        return process(words, given, folder, redirection)
    numbers = [2 if each[0] == "2" else 1 for each in redirection.split()]
    if redirection.endswith("&-"):  # the next file that it opens has the number of what is closed
        return run_forked(split(words, folder), env=dict(os.environ), stdin=given, closed=numbers)
    with ExitStack() as stack:  # which closes them, as Python does at exit: they have nothing left to write
        full = {number: stack.enter_context(open("/dev/full", "w")) for number in numbers}
        return in_this_process(words, given, folder, full)


def to_reader(words: str, given: str, folder: Path, most: int) -> subprocess.CompletedProcess[str]:
    """A command whose output somebody reads who goes away after so many bytes."""
    there, here = os.pipe()

    def read() -> None:
        os.read(there, most)
        os.close(there)

    reader = threading.Thread(target=read)
    reader.start()
    if most == 0:
        reader.join()
    with open(here, "w") as stream:
        done = in_this_process(words, given, folder, {1: stream})
    reader.join()
    return done


def in_this_process(
    words: str, given: str, folder: Path, streams: Mapping[int, TextIO]
) -> subprocess.CompletedProcess[str]:
    """A command with these streams; what it writes to others is captured."""
    captured = {number: io.StringIO() for number in (1, 2)}
    stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
    stdout, stderr = (streams.get(number, captured[number]) for number in (1, 2))
    code = run_with_streams(split(words, folder), stdin, stdout, stderr)
    return subprocess.CompletedProcess(words, code, *(captured[number].getvalue() for number in (1, 2)))


@pytest.mark.parametrize(("words", "given"), PRINTING, ids=[words for words, _ in PRINTING])
def test_output_that_cannot_be_written_is_one_error(words: str, given: str, prepared: Path) -> None:
    for redirection, reason in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
        done = redirected(words, given, prepared, redirection)
        assert done.returncode == Exit.FAILURE, done.stderr
        *before, line = done.stderr.splitlines()
        assert "Traceback" not in done.stderr
        if "--json" in words:
            error = json.loads(line)["error"]
            assert (error["code"], error["exit_code"]) == ("output", 1)
            line = f"hkoji: {error['message']}"
        assert line == f"hkoji: cannot write the output: {reason}; moves that were made are kept"
        assert not any("output" in each for each in before)


@pytest.mark.parametrize(("words", "given"), PRINTING, ids=[words for words, _ in PRINTING])
def test_a_closed_pipe_ends_quietly(words: str, given: str, prepared: Path) -> None:
    if words in PROGRAMS:
        told = [process(words, given, prepared, TO_HEAD)]
    else:
        told = [to_reader(words, given, prepared, most) for most in (0, 1)]
    for done in told:
        assert done.returncode in (0, 1)
        if words != "doctor":  # which fails because there is no identity
            assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert "output" not in done.stderr


@pytest.mark.parametrize("words", ["show zz", "nonsense", "show", "games --nonsense", "submit /nowhere"])
def test_an_error_that_cannot_be_told_has_its_exit_code(words: str, prepared: Path) -> None:
    told = redirected(words, "", prepared, "")
    for redirection in ("2>/dev/full", "2>&-", "2>/dev/full >/dev/full", "2>&- >&-"):
        done = redirected(words, "", prepared, redirection)
        assert (done.returncode, done.stdout, done.stderr) == (told.returncode, "", "")
        assert told.returncode != 0


def test_without_any_stream_a_command_still_works(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKOJI_CONFIG", str(prepared / "settings.toml"))
    done = process("config lang it", "", prepared, "<&- >&- 2>&-")
    assert done.returncode == Exit.FAILURE
    assert (prepared / "settings.toml").read_text() == 'lang = "it"\n'
    assert process("batch", "", prepared, "<&-").stdout == ""


def test_a_proxy_with_a_wrong_clock_is_not_taken_for_the_service(liar: LyingProxy, game: str) -> None:
    liar.change = lambda answer: answer._replace(
        headers=(*answer.headers, ("Date", "Thu, 26 Nov 2020 12:00:07 GMT"))
    ).bytes()
    for words in (("show", game), ("next",), ("games",), ("clock", game)):
        assert "clock" not in run_connected(*words).err


def test_moves_that_were_made_are_kept(honest: Service, liar: LyingProxy, game: str) -> None:
    before = run_connected("show", game, "--json").json
    move = before["legal"][0]
    done = process(f"move {game} {move}", "", Path(), ">/dev/full")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert run_connected("show", game, "--json").json["seq"] > before["seq"]


def test_the_exit_code_is_documented() -> None:
    page = (Path(hkoji.__file__).parents[1] / "docs" / "cli.md").read_text()
    assert "output that cannot be written" in page
