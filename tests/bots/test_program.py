"""Programs as bots: the requests, the allowed answers, and everything that can go wrong with them."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hkoji.bots import program
from hkoji.bots.hanamikoji.referee_interface import REFEREE
from hkoji.bots.program import JSON_LINE
from hkoji.bots.protocol import Bot, Seen, see
from hkoji.bots.registry import make_bot, make_program
from hkoji.errors import BotError, UsageError
from hkoji.rules.events import Deal, Draw, Event
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, DECISION_KINDS, Due, Ruleset, State
from hkoji.rules.transcript import parse_transcript
from tests.support.bot_positions import FIRST, decisions
from tests.support.conditions import until
from tests.support.processes import alive
from tests.support.rules import GAMES, Game, next_event

every_game = pytest.mark.parametrize("game", GAMES, ids=[game.name for game in GAMES])


@pytest.fixture
def written(tmp_path: Path) -> type[Program]:
    Program.folder = tmp_path
    return Program


class Program:
    """A Python program as a bot."""

    folder: Path

    def __new__(cls, text: str, *, keep: bool = False, interface: str = "json", timeout: float = 300) -> Bot:  # type: ignore[misc] # makes a bot
        file = cls.folder / "bot.py"
        file.write_text(text)
        return make_program((sys.executable, str(file)), 7, keep=keep, interface=interface, timeout=timeout)


def opening() -> Seen:
    """The host's first decision in a game of Hanamikoji, holding A B C D E F and a drawn G."""
    events = (Deal(("ABCDEF", "XXXXXX"), "X" * 8, "X"), Draw(0, "G"))
    return see(Hanamikoji(), events, 0)


# --- what a program is asked, and answers -----------------------------------------------------------------------------


@every_game
def test_a_program_plays_what_it_says(game: Game, written: type[Program]) -> None:
    bot = written(FIRST)
    for seen in decisions(game, 1, 3):
        assert bot.decide(seen) == seen.view.legal_actions()[0]
    bot.close()


@every_game
def test_a_kept_program_plays_whole_games_in_one_process(game: Game, written: type[Program], tmp_path: Path) -> None:
    bot = written(f"open({str(tmp_path / 'starts')!r}, 'a').write('started\\n')\n{FIRST}", keep=True)
    for seed in range(2):
        state = whole_game(game.rulesets[seed % len(game.rulesets)], bot, seed)
        assert state.outcome is not None or state.round == 3
    bot.close()
    assert (tmp_path / "starts").read_text() == "started\n"


def whole_game(ruleset: Ruleset, bot: Bot, seed: int) -> State:
    """The bot at both seats, up to the third round."""
    chance = random.Random(seed)
    state: State = ruleset.initial()
    events: list[Event] = []
    while state.due is not Due.OVER and not (state.due is Due.DEAL and state.round == 3):
        if state.due in DECISION_DUE:
            assert state.actor is not None
            event: Event = DECISION_KINDS[state.due](state.actor, bot.decide(see(ruleset, events, state.actor)))
        else:
            event = next_event(ruleset, events, state, chance)
        state = state.apply(event)
        events.append(event)
    return state


@every_game
def test_a_question_is_the_seats_own_view(game: Game) -> None:
    """A request contains what the seat knows, and is independent of what it cannot see."""
    for seen in decisions(game, 3, 20):
        question = JSON_LINE.question(seen)
        assert question.count("\n") == 1
        assert question.endswith("\n")
        value = json.loads(question)
        assert value["v"] == 1
        assert value["ruleset"] == game.name
        assert value["seat"] == value["actor"] == seen.seat
        assert tuple(value["legal"]) == seen.view.legal_actions()
        assert value["hand"] == seen.view.ruleset.pack.decode(seen.view.hands[seen.seat])
        assert value["state"] == json.loads(json.dumps(seen.view.to_json()))
        assert value["state"]["hands"][1 - seen.seat].strip("X") == ""


def test_the_fields_of_a_question() -> None:
    assert json.loads(JSON_LINE.question(opening())).keys() == {
        "v", "ruleset", "options", "seat", "actor", "round", "hand", "legal", "due", "result", "rounds", "state",
    }  # fmt: skip


@pytest.mark.parametrize("answer", ["3abg", "gift a b g", " 3ABG ", "3 G B A\\n\\n", "3ABG\\r"])
def test_any_notation_will_do(answer: str, written: type[Program]) -> None:
    assert written(f"print('{answer}')").decide(opening()) == "3ABG"


def test_a_program_need_not_read(written: type[Program]) -> None:
    bot = written("import sys; sys.stdin.close(); print('1G')")
    assert [bot.decide(opening()) for _ in range(3)] == ["1G"] * 3


def test_a_program_finds_its_seed(written: type[Program]) -> None:
    assert written("import os; print('1' + os.environ['HKOJI_BOT_SEED'].replace('7', 'G'))").decide(opening()) == "1G"


def test_standard_error_passes_through(written: type[Program], capfd: pytest.CaptureFixture[str]) -> None:
    assert written("import sys; print('thinking', file=sys.stderr); print('1G')").decide(opening()) == "1G"
    assert capfd.readouterr() == ("", "thinking\n")


# --- what can go wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it wrote nothing"),
        ("print()", "it wrote nothing"),
        ("print('1G'); print('really')", "more than one line, beginning with '1G'"),
        ("print('pass')", "'pass' is not a move"),
        ("import sys; sys.stdout.buffer.write(bytes(range(128, 256)))", "is not a move"),
        ("print('1AA')", "takes 1 card, not 2"),
        ("print('1X')", "1X is not legal"),
        ("print('2GG')", "2GG is not legal"),
        ("print('-C')", "-C is not legal"),
        ("print('1G'); raise SystemExit(3)", "ended with exit code 3"),
        ("raise ValueError", "ended with exit code 1"),
        ("import os; os.kill(os.getpid(), 9)", "ended by signal 9"),
        ("print('1G' * 100_000)", "more than 65536 bytes"),
        ("import time; time.sleep(3600)", "not answered within 0.5 s"),
        ("import time; print('1G', flush=True); time.sleep(3600)", "not answered within 0.5 s"),
        ("import os, time; os.close(1); time.sleep(3600)", "not answered within 0.5 s"),
    ],
)
def test_everything_but_a_legal_move_in_time_is_an_error(text: str, reason: str, written: type[Program]) -> None:
    timeout = 0.5 if "sleep" in text else 300
    with pytest.raises(BotError) as failed:
        written(text, timeout=timeout).decide(opening())
    assert reason in str(failed.value)
    assert "nothing was sent" in failed.value.hint


def test_an_illegal_move_says_what_is_legal(written: type[Program]) -> None:
    with pytest.raises(BotError) as failed:
        written("print('2GG')").decide(opening())
    assert failed.value.shape == ("1?", "2??", "3???", "4????")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "ended with exit code 0"),
        ("input(); print('1G', flush=True); input(); raise SystemExit(5)", "ended with exit code 5"),
        ("input(); print('1G', flush=True)", "ended with exit code 0"),
        ("import os; input(); os.write(1, b'1G\\n1F\\n')", "more than one line"),
        ("print('hello', flush=True)\nwhile input(): print('1G', flush=True)", "hello"),
    ],
)
def test_a_kept_program_that_fails(text: str, reason: str, written: type[Program]) -> None:
    bot = written(text, keep=True)
    with pytest.raises(BotError) as failed:
        three_decisions(bot)
    assert reason in str(failed.value)
    bot.close()


def three_decisions(bot: Bot) -> None:
    for _ in range(3):
        assert bot.decide(opening()) == "1G"


def impatient(bot: Bot) -> Bot:
    """A started program must answer quickly from now on; the start may take long on a busy machine."""
    bot._timeout = 0.5  # type: ignore[attr-defined] # of a program
    return bot


def test_a_kept_program_that_is_late(written: type[Program]) -> None:
    bot = written("import time\ninput(); print('1G', flush=True); input(); time.sleep(3600)", keep=True)
    assert bot.decide(opening()) == "1G"
    with pytest.raises(BotError, match=r"not answered within 0\.5 s"):
        impatient(bot).decide(opening())
    bot.close()


@pytest.mark.parametrize("before", ["", "print('1G', flush=True); input(); "], ids=["first", "later"])
def test_a_kept_program_that_closes_its_output_and_lives_on_is_ended(
    before: str, written: type[Program], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It closes its output instead of answering."""
    monkeypatch.setattr(program, "_FAREWELL", 0.2)
    pids = tmp_path / "pids"
    bot = written(f"import os\ninput(); {before}{LIVES_ON.format(pids=str(pids))}", keep=True)
    if before:
        assert bot.decide(opening()) == "1G"
    with patience(15), pytest.raises(BotError, match="closed its output"):
        bot.decide(opening())
    all_are_gone(pids)


def test_a_kept_program_that_closes_its_output_between_two_moves_is_ended(
    written: type[Program], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "_FAREWELL", 0.2)
    pids = tmp_path / "pids"
    bot = written(f"import os\ninput(); print('1G', flush=True); {LIVES_ON.format(pids=str(pids))}", keep=True)
    assert bot.decide(opening()) == "1G"
    until(Path(f"{pids}.closed").exists)
    with patience(15), pytest.raises(BotError, match="closed its output"):
        bot.decide(opening())
    all_are_gone(pids)


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
def test_a_program_that_cannot_be_ended_is_left(written: type[Program], monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that runs with the rights of another user."""
    monkeypatch.setattr(program, "_FAREWELL", 0.2)
    ended: list[int] = []

    def forbidden(group: int, _: int) -> None:
        ended.append(group)
        raise PermissionError

    with monkeypatch.context() as patched, patience(15):
        patched.setattr(os, "killpg", forbidden)
        with pytest.raises(BotError, match="not answered"):
            written("import time; time.sleep(3600)", timeout=0.5).decide(opening())
    (group,) = ended
    os.killpg(group, signal.SIGKILL)
    os.waitpid(group, 0)


LIVES_ON = (
    "import subprocess, sys, time; other = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'], "
    "stdout=subprocess.DEVNULL); open({pids!r}, 'w').write(f'{{os.getpid()}} {{other.pid}}'); "
    "os.close(1); open({pids!r} + '.closed', 'w'); time.sleep(3600)"
)
"""Starts a child, writes the numbers of both processes, and closes the output."""


def all_are_gone(pids: Path) -> None:
    own, child = map(int, pids.read_text().split())
    assert not alive(own)
    until(lambda: not alive(child))


@contextmanager
def patience(seconds: int) -> Iterator[None]:
    """Fails if the block takes longer: what hangs would hang for an hour."""

    def ended(*_: object) -> None:
        raise AssertionError("it waits for the program without a limit")

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_kept_program_that_speaks_out_of_turn(written: type[Program], tmp_path: Path) -> None:
    file = tmp_path / "when"
    bot = written(
        "input(); print('1G', flush=True)\n"
        f"while not open({str(file)!r}).read(): pass\n"
        f"print('1F', flush=True); open({str(file)!r}, 'w').close(); input()",
        keep=True,
    )
    file.write_text("")
    assert bot.decide(opening()) == "1G"
    file.write_text("now")
    until(lambda: not file.read_text())
    with pytest.raises(BotError, match="before it was asked: '1F'"):
        bot.decide(opening())


def test_nothing_is_left_running(written: type[Program], tmp_path: Path) -> None:
    """Children of a late program are ended with it."""
    pids = tmp_path / "pids"
    bot = written(
        "import os, subprocess, sys, time\n"
        "input()\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "print('1G', flush=True)\n"
        "time.sleep(3600)\n",
        keep=True,
    )
    assert bot.decide(opening()) == "1G"
    with pytest.raises(BotError, match="not answered"):
        impatient(bot).decide(opening())
    own, child = map(int, pids.read_text().split())
    assert not alive(own)
    until(lambda: not alive(child))  # an orphan is gone once init has reaped it


def test_closing_ends_a_kept_program(written: type[Program], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_FAREWELL", 300)
    file = tmp_path / "left"
    bot = written(f"{FIRST}\nopen({str(file)!r}, 'w').write('politely')", keep=True)
    bot.decide(opening())
    bot.close()
    assert file.read_text() == "politely"
    bot.close()


def test_a_kept_program_that_will_not_leave_is_ended(
    written: type[Program], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "_FAREWELL", 0.2)
    file = tmp_path / "pid"
    bot = written(
        f"import os, time\nopen({str(file)!r}, 'w').write(str(os.getpid()))\n{FIRST}\ntime.sleep(3600)", keep=True
    )
    bot.decide(opening())
    pid = int(file.read_text())
    assert alive(pid)
    bot.close()
    assert not alive(pid)


def test_an_interrupt_ends_the_program(written: type[Program], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    bot = written("import os, time; time.sleep(0.3); os.kill(os.getppid(), 14); time.sleep(3600)")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            bot.decide(opening())
    finally:
        signal.signal(signal.SIGALRM, before)
    bot.close()


# --- names ------------------------------------------------------------------------------------------------------------


def test_programs_by_name(tmp_path: Path) -> None:
    file = tmp_path / "my bot"
    file.write_text(f"#!{sys.executable}\nprint('1G')\n")
    with pytest.raises(UsageError, match="can be run"):
        make_bot(str(file), 0)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    for name in (str(file), f"cmd:'{file}'", f"cmd:{sys.executable} '{file}'"):
        assert make_bot(name, 0).decide(opening()) == "1G"
    file.write_text(f"#!{sys.executable}\n{FIRST}")
    bot = make_bot(f"keep:'{file}'", 0)
    assert [bot.decide(opening()) for _ in range(3)] == ["1A"] * 3
    bot.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cmd:", "is missing"),
        ("cmd:there-is-none-of-that-name", "no program 'there-is-none-of-that-name'"),
        ("./none", "no program './none'"),
        ("cmd:'open", "cannot be read"),
        ("nobody", "there is no bot 'nobody'"),
        ("keep+what:./bot", "no program"),
    ],
)
def test_names_that_name_nothing(name: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        make_bot(name, 0)
    assert reason in str(refused.value)


def test_a_file_that_cannot_be_run(tmp_path: Path) -> None:
    file = tmp_path / "bot"
    file.write_text("print('1G')")
    file.chmod(0o755)
    with pytest.raises(UsageError, match="cannot be run") as refused:
        make_bot(str(file), 0).decide(opening())
    assert "first line" in refused.value.hint


# --- the referees' interface ------------------------------------------------------------------------------------------


TOLD = """\
[Ruleset "hanamikoji/1 first=host max_rounds=0 tiebreak=geisha"]

1. =XXXXXX/BCEFFG +X 2XX +D 2FF +X 1X +E 3EEG-E +X 3AFF-F +C 1C +X 4ABEG-AB +D 4BCDD-DD ?D/C
2. =XXXXXX/AACDEF +G 1G +X 4BCDE
"""
"""A game as its guest has seen it."""


def test_the_messages_of_a_referee() -> None:
    """The current round only, the seat's own hidden cards, and favours as this seat has them."""
    transcript = parse_transcript(TOLD)
    told = []
    for number, state in enumerate(transcript.states()):
        if state.actor == 1 and state.due in DECISION_DUE:
            seen = see(transcript.ruleset, transcript.events[:number], 1)
            told.append(tuple(REFEREE.question(seen).split("\n")))
    assert told == [
        ("2XX", "BCDEFFG", "0 0 0 0 0 0 0", ""),
        ("2XX 2FF 1X", "BCDEEG", "0 0 0 0 0 0 0", ""),
        ("2XX 2FF 1X 3EEG-E 3AFF", "BCD", "0 0 0 0 0 0 0", ""),
        ("2XX 2FF 1X 3EEG-E 3AFF-F", "BCCD", "0 0 0 0 0 0 0", ""),
        ("2XX 2FF 1X 3EEG-E 3AFF-F 1C 4ABEG", "BCD", "0 0 0 0 0 0 0", ""),
        ("2XX 2FF 1X 3EEG-E 3AFF-F 1C 4ABEG-AB", "BCDD", "0 0 0 0 0 0 0", ""),
        ("", "AACDEFG", "0 1 1 -1 -1 0 0", ""),
        ("1G 4BCDE", "AACDEF", "0 1 1 -1 -1 0 0", ""),
    ]


CONTESTANT = """
import itertools, sys
GREEDY = "GFEDCBA"
def hanamikoji_action(history, cards, board):
    tokens = history.split()
    last = tokens[-1] if tokens else ""
    if last[:1] in ("3", "4") and "-" not in last:
        if last[0] == "3":
            return "-" + max(last[1:])
        return "-" + max(last[1:3], last[3:5])
    mine = tokens[len(tokens) % 2::2]
    left = [n for n in "1234" if not any(token[0] == n for token in mine)]
    return left[0] + "".join(sorted(cards, reverse=True)[:int(left[0])])
while True:
    history, cards, board = (sys.stdin.readline().rstrip("\\n") for _ in range(3))
    if not cards and not history:
        break
    assert len(board.split()) == 7 and set(board.split()) <= {"1", "0", "-1"}
    print(hanamikoji_action(history, cards, board), flush=True)
"""
"""A small program as a contestant would write it: it relies only on the referee's messages."""


@pytest.mark.parametrize("keep", [False, True])
def test_a_contestant_plays(keep: bool, written: type[Program]) -> None:
    bot = written(CONTESTANT, keep=keep, interface="referee")
    state = whole_game(Hanamikoji(max_rounds=1 if not keep else 3), bot, 5)
    assert state.outcome is not None
    bot.close()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
@pytest.mark.parametrize("name", ["hanamikoji_action", "HanamikojiAction", "hanamikojiAction"])
def test_a_contestants_module_is_run_as_it_is(name: str, tmp_path: Path) -> None:
    module = tmp_path / "bot.mjs"
    module.write_text(
        f"export function {name}(history, cards, board) {{\n"
        "  console.log('this is no answer');\n"
        "  if (!(board instanceof Int8Array) || board.length !== 7) throw new Error('board');\n"
        "  const tokens = history === '' ? [] : history.split(' ');\n"
        "  const last = tokens.at(-1) ?? '';\n"
        "  if ('34'.includes(last[0]) && !last.includes('-'))\n"
        "    return last[0] === '3' ? `-${last[1]}` : `-${last.slice(1, 3)}`;\n"
        "  const mine = tokens.filter((_, i) => i % 2 === tokens.length % 2).map((token) => token[0]);\n"
        "  const left = ['4', '3', '2', '1'].find((n) => !mine.includes(n));\n"
        "  return left + cards.slice(0, Number(left));\n"
        "}\n"
    )
    bot = make_bot(f"keep+referee:{module}", 0)
    assert whole_game(Hanamikoji(max_rounds=2), bot, 4).outcome is not None
    bot.close()


def test_a_module_without_the_function_says_so(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not here")
    module = tmp_path / "bot.mjs"
    module.write_text("export const nothing = 1;\n")
    with pytest.raises(BotError, match="exit code 1"):
        make_bot(f"referee:{module}", 0).decide(opening())
    assert "exports none of hanamikoji_action" in capfd.readouterr().err


def test_referees_know_one_game(written: type[Program]) -> None:
    road = next(seen for seen in decisions(next(game for game in GAMES if game.name == "geishas-road"), 1, 1))
    assert isinstance(road.view.ruleset, GeishasRoad)
    with pytest.raises(UsageError, match="hanamikoji only"):
        written(CONTESTANT, interface="referee").decide(road)
