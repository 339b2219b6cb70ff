"""Two homes for one turn, a restored database and lost answers in sealed games, by real commands at a real service.

The opponent runs the service, and has all that was ever sent to it (`tests.support.sealed_attack`).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hkoji_server import admin

from hkoji.audit.log_audit import audit
from hkoji.cli.output import Exit
from hkoji.game.entry_kinds import parse_body
from hkoji.game.replay import replay
from hkoji.game.sealing import Sealed
from hkoji.game.submission import Submission, parse_submission
from hkoji.log.line import Line, format_log, parse_log
from hkoji.sealed.sodium import combine
from tests.support.home_shell import HomeShell
from tests.support.lying_proxy import LyingProxy, RawAnswer, lying_proxy
from tests.support.sealed_attack import cards_of
from tests.support.service import HKOJI, Service, start


class Hall:
    """A service behind a proxy that keeps every request, and two players. The service can be stopped and restored."""

    def __init__(self, folder: Path, proxy: LyingProxy) -> None:
        self.folder, self.proxy, self.data = folder, proxy, folder / "data"
        self.service = self.started()
        self.alice, self.bob = self.arrive("alice"), self.arrive("bob")
        self.bob.run("new", "--sealed", "--keep-draws")  # so that each copy of his home has his sealed key

    def started(self) -> Service:
        service = start(self.data, forked=True, settings={"origin": self.proxy.url})
        self.proxy.port = service.port
        return service

    def arrive(self, name: str) -> HomeShell:
        shell = HomeShell(self.folder / name, XDG_STATE_HOME=str(self.folder / f"state of {name}"), HKOJI_LANG="en")
        shell.run("init", name)
        shell.run("register", "--server", self.proxy.url)
        return shell

    def copied(self, shell: HomeShell) -> HomeShell:
        """A copy of a home, on another machine."""
        home = self.folder / f"copy of {shell.home.name} {len(self.proxy.requests)}"
        shutil.copytree(shell.home, home)
        return HomeShell(home, XDG_STATE_HOME=f"{home} state", HKOJI_LANG="en")

    def again(self, copy: Path | None) -> None:
        """Stops the service and starts it again, with a copy of its database in place of the one that is there."""
        self.service.stop()
        if copy is not None:
            self.data.rename(self.folder / "lost")
            admin.restore(copy, self.data)
        self.service = self.started()

    @property
    def sent(self) -> list[Submission]:
        """All entries that were sent to the service, also those that it refused."""
        return [parse_submission(each.body) for each in self.proxy.requests if each.path.endswith("/entries")]

    def lines(self, game: str) -> tuple[Line, ...]:
        return parse_log(self.service.ask("GET", f"/v1/games/{game}/log").body)

    def sealed(self, game: str) -> Sealed:
        course = replay(self.lines(game)).course
        assert course is not None
        assert course.sealed is not None
        return course.sealed

    def read_by_bob(self, game: str) -> int:
        """How many cards of alice bob can read, with all that was sent to the service."""
        course, key = replay(self.lines(game)).course, (self.bob.home / "sealed.key").read_text().strip()
        assert course is not None
        entropies = {str(each.entry.body["entropy"]) for each in self.sent if each.entry.kind == "seed"}
        return len(cards_of(course, self.sent, "alice", bytes.fromhex(key), entropies))

    def judge(self, game: str) -> None:
        """The log holds, and nothing follows from all that was sent."""
        assert audit(format_log(self.lines(game))).ok
        assert self.read_by_bob(game) == 0


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    with lying_proxy(0) as proxy:
        made = Hall(tmp_path, proxy)
        yield made
        made.service.stop()


ALICE, BOB = "-3412", "-1324"
"""The kinds of actions in the order in which a player takes them. So bob offers last, and alice decides last."""


def opened(hall: Hall) -> str:
    """A sealed game that bob may join. Nobody deposits, so releases are owed."""
    return str(hall.alice.json("new", "--sealed", "--keep-draws", "--invite", "bob", "--max-rounds", "2")["game"])


def begin(hall: Hall, game: str) -> None:
    """Both join, and deal the first round. The host owes the first decision."""
    hall.bob.run("join", game, "--sealed", "--keep-draws")
    hall.alice.run("show", game)


def acts(shell: HomeShell, game: str, order: str) -> None:
    """Sends what is due, and a move if one is."""
    legal = shell.json("show", game)["legal"]
    if legal:
        shell.run("move", game, min(legal, key=lambda move: order.index(move[0])))


def hidden_actions(shell: HomeShell, game: str) -> list[str]:
    return [each for each in shell.json("show", game)["legal"] if each[0] in "12"]


# --- two homes --------------------------------------------------------------------------------------------------------


def submitted(shells: Sequence[HomeShell], files: Sequence[Path]) -> list[int]:
    """Sends an entry from each home, all at once, by programs of their own. Returns the exit codes."""
    running = [
        subprocess.Popen([str(HKOJI), "submit", str(file)], env=shell.environment, stdout=subprocess.DEVNULL)
        for shell, file in zip(shells, files, strict=True)
    ]
    return [process.wait(300) for process in running]


@pytest.mark.parametrize("fourth", [False, True], ids=["an action", "a first lock"])
def test_two_homes_send_for_one_turn(fourth: bool, hall: Hall) -> None:
    """One is an old copy, made when the first lock of round 1 had no answer. Both play cards face down.

    With the fourth action, which has no choice, each makes a first lock of its own.
    """
    game = opened(hall)
    old = hall.copied(hall.alice)
    begin(hall, game)
    while fourth and hall.sealed(game).now.acted != (3, 3):
        acts(hall.alice, game, ALICE)
        acts(hall.bob, game, BOB)
    homes = (old, hall.alice) if fourth else (hall.alice, old)
    moves = hidden_actions(homes[0], game)[0], hidden_actions(homes[1], game)[-1]
    files = hall.folder / "first.json", hall.folder / "second.json"
    for shell, move, file in zip(homes, moves, files, strict=True):
        file.write_text(shell.run("sign", game, move).stdout)
    before, tokens = len(hall.lines(game)), hall.sealed(game).now.tokens(0)
    codes = submitted(homes, files)
    won = codes.index(Exit.OK)
    winner, loser = homes[won], homes[1 - won]
    loser.fails(Exit.CONFLICT, "submit", str(files[1 - won]))
    (line,) = hall.lines(game)[before:]
    made = [parse_submission(file.read_bytes()).entry for file in files]
    assert line.entry == made[won] != made[1 - won]
    assert {each.entry.text for each in hall.sent if each.entry.seq == before} == {each.text for each in made}
    parts = [parse_body(each.kind, each.body).parts for each in made]
    assert [each.lock is not None for each in parts] == [fourth] * 2
    hidden = {point for each in parts if each.hide is not None for point in each.hide.points}
    blindings = {combine((1, point), (-1, token)) for point in hidden for token in tokens}
    assert len(blindings) == len(hidden) * len(tokens) > len(tokens)  # no two cards are hidden by one number
    sent = len(hall.sent)
    loser.fails(Exit.TURN, "move", game, moves[1 - won])
    assert len(hall.sent) == sent
    acts(hall.bob, game, BOB)
    if fourth:
        sent = len(hall.sent)
        answer = loser.json("show", game)["legal"][0]
        assert "you locked the deck of round 2 on another machine" in loser.fails(Exit.MOVE, "move", game, answer)
        assert len(hall.sent) == sent
        acts(winner, game, ALICE)
    acts(loser, game, ALICE)
    hall.judge(game)


# --- a database that is set back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", [True, False], ids=["set back", "kept"])
@pytest.mark.parametrize("answered", [False, True], ids=["a lock without its answer", "a move without its release"])
def test_a_service_that_is_restored_from_a_backup(answered: bool, lost: bool, hall: Hall) -> None:
    """The opponent, whose home is as old as the copy, answers otherwise. Alice's program gives nothing for that."""
    game = opened(hall)
    if answered:
        begin(hall, game)
        acts(hall.alice, game, ALICE)
    copy, old, other = hall.folder / "copy.sqlite3", hall.copied(hall.bob), hall.copied(hall.alice)
    admin.backup(copy, hall.data)
    if answered:
        hall.bob.run("move", game, hall.bob.json("show", game)["legal"][0])
        hall.alice.run("show", game)
    else:
        begin(hall, game)
    hall.again(copy if lost else None)
    if lost and answered:
        old.run("move", game, old.json("show", game)["legal"][-1])
    elif lost:
        old.run("join", game, "--sealed", "--keep-draws")
    before, sent = hall.lines(game), len(hall.sent)
    if lost:
        for words in (("show", game), ("release", game), ("release", game, "--here"), ("move", game, "1A")):
            said = hall.alice.fails(Exit.AUDIT, *words)
            assert f"the service's log ends at entry {len(before) - 1}, and you have seen entry {len(before)}" in said
        assert (hall.lines(game), len(hall.sent)) == (before, sent)
    else:
        for shell, order in ((hall.bob, BOB), (hall.alice, ALICE)) * 2:
            acts(shell, game, order)
        assert len(hall.lines(game)) > len(before) + 2
    hall.judge(game)
    if lost and not answered:  # a control: alice overrides the warning on another machine
        other.run("release", game, "--here")
        assert hall.read_by_bob(game) > 0


# --- lost answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "not lost"])
@pytest.mark.parametrize("kind", ["seed", "release", "move"])
def test_an_entry_whose_answer_is_lost_is_sent_again_and_counts_once(kind: str, lost: bool, hall: Hall) -> None:
    game = opened(hall)
    hall.bob.run("join", game, "--sealed", "--keep-draws")
    words: tuple[str, ...] = ("show", game)
    if kind != "seed":
        hall.alice.run("show", game)
        words = ("move", game, next(each for each in hall.alice.json("show", game)["legal"] if each[0] == "3"))
    if kind == "release":
        hall.alice.run(*words)
        hall.bob.run("move", game, hall.bob.json("show", game)["legal"][0])
        words = ("show", game)
    before = len(hall.sent)

    def lose(told: RawAnswer) -> bytes:
        return b"" if hall.proxy.requests[-1].path.endswith("/entries") else told.bytes()

    if lost:
        hall.proxy.change = lose
        for _ in range(2):
            hall.alice.run(*words, code=Exit.NETWORK)
        hall.proxy.change = RawAnswer.bytes
    hall.alice.run(*words)
    made = hall.sent[before:]
    assert [each.entry.kind for each in made] == [kind] * (3 if lost else 1)
    assert len({each.entry.text for each in made}) == 1
    assert [line.entry.text for line in hall.lines(game)].count(made[0].entry.text) == 1
    for shell, order in ((hall.bob, BOB), (hall.alice, ALICE)) * 2:
        acts(shell, game, order)
    assert len(hall.lines(game)) > made[0].entry.seq + 3
    hall.judge(game)
