"""Measures how commands start against an empty Typer app and a bare interpreter; `hkoji batch` against bare requests.

`hkoji admin mail receive` takes one mail again and again. So after its first time it does all but write the mail's row.

A batch is measured while it runs: it has answered before the clock starts, and continues afterwards. Its floor is the
standard library's HTTP client on one persistent connection, asking the same service for the same bytes with the same
headers, or sending moves that were signed before. Both take turns; the printed figures are medians over the rounds.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple

from hkoji.client.transport import request_headers
from hkoji.game.submission import Submission, format_submission
from scripts.bench.page import Figure, record, record_speed, shown
from scripts.bench.timing import Contender, report, speeds
from tests.mail.test_receiving import TO, a_mail, office_at
from tests.support.loops import run as run_now
from tests.support.service import HKOJI, Player, Service, begin, serving

_EMPTY = """
import typer
app = typer.Typer(pretty_exceptions_enable=False)
@app.command()
def one() -> None: ...
@app.command()
def two() -> None: ...
app()
"""
_ROWS = {
    "hkoji show": "`hkoji show`",
    "hkoji --version": "`hkoji --version`: time",
    "hkoji --help": "`hkoji --help`: time",
    "hkoji replay FILE --at N": "`hkoji replay FILE --at N`: time",
    "hkoji admin mail receive": "`hkoji admin mail receive`, a mail that is kept or dropped: time",
}
"""The rows of the page, by what is measured for them."""
_SHOWS = 300
_SHOW_ROUNDS = 9
_MOVES = 10
"""The number of moves after which no game has ended yet."""
_MOVE_ROUNDS = 8


class Taken(NamedTuple):
    """Seconds for one unit of work: on the clock, and of processor time in the process that does it."""

    clock: float
    processor: float


class Batch:
    """A running `hkoji batch` of the player in a folder."""

    def __init__(self, home: Path) -> None:
        environment = {**os.environ, "HKOJI_HOME": str(home)}
        self._process = subprocess.Popen(
            [str(HKOJI), "batch"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *lines: str) -> list[Any]:  # Any: JSON
        """The results of the first and the last of lines that are given together.

        Raises `RuntimeError` if one fails.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("".join(f"{line}\n" for line in lines))
        self._process.stdin.flush()
        texts = [self._process.stdout.readline() for _ in lines]
        for text in texts:
            if '"ok": true' not in text:
                raise RuntimeError(text)
        return [json.loads(text)["result"] for text in (texts[0], texts[-1])]

    def processor(self) -> float:
        """Seconds of processor time so far, of all its threads."""
        words = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """Ends it by closing its input."""
        self._process.communicate(timeout=60)


def run() -> None:
    """Prints starts a second and commands a second."""
    with tempfile.TemporaryDirectory(prefix="hkoji-bench-") as name, serving(Path(name) / "data") as service:
        folder = Path(name)
        for who in ("alice", "bob"):
            shell(folder / who, "init", who)
            shell(folder / who, "register", "--server", service.url)
        game = shell(folder / "alice", "new").splitlines()[0]
        shell(folder / "bob", "join", game)
        shell(folder / "alice", "show", game)
        (folder / "game.jsonl").write_text(shell(folder / "alice", "export", game, "--kept"))
        _starts(folder, game)
        batches = {who: Batch(folder / who) for who in ("alice", "bob")}
        try:
            _shows(folder, service, batches["alice"], game)
            _moves(service, batches)
        finally:
            for batch in batches.values():
                batch.end()


def shell(home: Path, *words: str) -> str:
    """The output of a command."""
    environment = {**os.environ, "HKOJI_HOME": str(home)}
    return subprocess.run([str(HKOJI), *words], env=environment, capture_output=True, text=True, check=True).stdout


def _starts(folder: Path, game: str) -> None:
    (folder / "empty.py").write_text(_EMPTY)
    post = folder / "post"
    with office_at(post / "hkoji.sqlite3") as office:
        run_now(office.time.beat())

    def starts(*command: str, given: bytes = b"", **more: str) -> Contender:
        def work() -> int:
            environment = {**os.environ, "HKOJI_HOME": str(folder / "alice"), **more}
            subprocess.run(command, env=environment, input=given, stdout=subprocess.DEVNULL, check=True)
            return 1

        return work

    receive = ("admin", "mail", "receive", "--recipient", TO, "--data", str(post))

    found = speeds(
        {
            "empty Typer app": starts(sys.executable, str(folder / "empty.py"), "one"),
            "hkoji --version": starts(str(HKOJI), "--version"),
            "hkoji --help": starts(str(HKOJI), "--help"),
            "hkoji show": starts(str(HKOJI), "show", game),
            "hkoji show, read by Typer": starts(str(HKOJI), "show", "--", game),
            "hkoji replay FILE --at N": starts(str(HKOJI), "replay", str(folder / "game.jsonl"), "--at", "3"),
            "hkoji admin mail receive": starts(
                str(HKOJI), *receive, given=a_mail(), HKOJI_SERVER_MAIL="play@hkoji.example"
            ),
            "hkoji config": starts(str(HKOJI), "config"),
            "completion of a game": starts(
                str(HKOJI), _HKOJI_COMPLETE="complete_bash", COMP_WORDS="hkoji\nshow\n", COMP_CWORD="2"
            ),
            "python -c pass": starts(sys.executable, "-c", "pass"),
        },
        15,
    )
    report("Starting", "/s", found, "empty Typer app")
    for title, speed in found.items():
        print(f"    {title}: {1000 / speed:.0f} ms")
    for title, what in _ROWS.items():
        record_speed(what, found, title, "empty Typer app")
    record_speed("`hkoji show` that Typer reads: time", found, "hkoji show, read by Typer", "hkoji show")


def _shows(folder: Path, service: Service, batch: Batch, game: str) -> None:
    """`show` of a game without news, against the request for the view that it sends."""
    (shown, _) = batch.ask(f"show {game}", f"show {game}")
    (token,) = json.loads((folder / "alice" / "tokens.json").read_text()).values()
    path, given = f"/v1/games/{game}/view?after={shown['seq']}&clock=true", request_headers(token)
    connection = http.client.HTTPConnection("127.0.0.1", service.port)

    def bare() -> None:
        for _ in range(_SHOWS):
            connection.request("GET", path, headers=given)
            answer = connection.getresponse()
            if answer.status != 200 or not answer.read():
                raise RuntimeError(answer.status)

    bare()
    rounds = [
        (_taken(bare, process_time, _SHOWS), _taken(lambda: _shown(batch, game), batch.processor, _SHOWS))
        for _ in range(_SHOW_ROUNDS)
    ]
    connection.close()
    _print("show in hkoji batch", "bare requests for the same view", rounds)


def _shown(batch: Batch, game: str) -> None:
    batch.ask(*[f"show {game}"] * _SHOWS)


def _moves(service: Service, batches: dict[str, Batch]) -> None:
    """`move`, each in its player's batch, against requesting the view and sending a move that was signed before.

    Those are the requests of a command. The command also writes its files durably before and after, which the floor
    does not.
    """
    carol, dave = (Player(service, name).register() for name in ("carol", "dave"))
    connection = http.client.HTTPConnection("127.0.0.1", service.port)

    def sent(player: Player, submission: Submission) -> None:
        game, seq = submission.entry.game, submission.entry.seq
        body = format_submission(submission).encode()
        connection.request("GET", f"/v1/games/{game}/view?after={seq - 1}", headers=request_headers(player.token))
        connection.getresponse().read()
        given = {**request_headers(None), "Content-Type": "application/json"}
        connection.request("POST", f"/v1/games/{game}/entries", body, given)
        answer = connection.getresponse()
        if answer.status != 201 or not answer.read():
            raise RuntimeError(answer.status)

    rounds = []
    for _ in range(_MOVE_ROUNDS):
        bare, made = [], []
        raw = begin(carol, dave)
        game = batches["alice"].ask("new")[0]["game"]
        batches["bob"].ask(f"join {game}")
        for _ in range(_MOVES):
            course = carol.course(raw)
            assert course.actor is not None
            player = (carol, dave)[course.actor]
            own = player.course(raw)
            submission = player.make_move(own, own.state.legal_actions()[0])
            bare.append(_taken(lambda by=player, each=submission: sent(by, each), process_time, 1))  # type: ignore[misc] # a default binds it
            mover = next(batch for batch in batches.values() if batch.ask(f"show {game}")[0]["legal"])
            line = f"move {game} {mover.ask(f'show {game}')[0]['legal'][0]}"
            made.append(_taken(lambda of=mover, text=line: of.ask(text), mover.processor, 1))  # type: ignore[misc] # as above
        rounds.append((_middle(bare), _middle(made)))
    connection.close()
    _print("move in hkoji batch", "bare requests: view, signed move", rounds)


def _middle(taken: Sequence[Taken]) -> Taken:
    """The median on the clock, and the mean of processor time, whose ticks are too coarse for a median."""
    return Taken(median(each.clock for each in taken), sum(each.processor for each in taken) / len(taken))


def _taken(work: Callable[[], object], processor: Callable[[], float], units: int) -> Taken:
    started, used = perf_counter(), processor()
    work()
    return Taken((perf_counter() - started) / units, (processor() - used) / units)


def _print(title: str, floor: str, rounds: Sequence[tuple[Taken, Taken]]) -> None:
    """The medians of rounds, in each of which the floor came first; the ratio is the median of the rounds' ratios."""
    print(f"\n{title}")
    for name, place in ((floor, 0), (title, 1)):
        clock, processor = (median(each[place][which] for each in rounds) for which in (0, 1))
        line = f"  {name:44} {1 / clock:12,.0f} /s   {clock * 1000:.2f} ms, {processor * 1000:.2f} of the processor"
        print(line, flush=True)
    ratios = sorted(each[1].clock / each[0].clock for each in rounds)
    middle, least, most = median(ratios), ratios[0], ratios[-1]
    clocks = [median(each[place].clock for each in rounds) for place in (0, 1)]
    what = f"a `{title.partition(' ')[0]}` in `hkoji batch`"
    record(what, Figure(1 / clocks[1], 1 / middle, f"{shown(1 / clocks[0])} {floor}", limits=False))
    print(f"  {middle:.2f} times as long ({least:.2f} to {most:.2f}), {1 / middle:.2f} of the floor")
