"""A service that hides a player's release until the time is over, and one that does not. docs/security.md, "Time"."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from hkoji import referee
from hkoji.audit.log_audit import audit
from hkoji.client.kept.game import Vault
from hkoji.client.seats import SealedWish
from hkoji.errors import GameOverError, HkojiError, IllegalError, NetworkError, NotOverdueError, TrustError
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.game.clock import add_seconds
from hkoji.log.line import format_log
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due
from tests.support.adversary import proven
from tests.support.memory_service import URL
from tests.support.sealed_attack import Machine, Opponent, SealedService, machine, readable
from tests.support.shell import run
from tests.support.stub_group import without_secrets

__all__ = ["without_secrets"]
pytestmark = pytest.mark.usefixtures("without_secrets")

CLOCK = Agreement(TimeControl(3 * DAY, 0, 0, 0))
every_release = pytest.mark.parametrize("close", [False, True], ids=["a draw", "a close"])


@pytest.fixture
def service() -> SealedService:
    return SealedService()


@pytest.fixture
def alice(service: SealedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("HKOJI_LANG", "en")
    return machine(service, "alice", tmp_path / "alice", monkeypatch)


@pytest.fixture
def bob(service: SealedService) -> Opponent:
    return Opponent(service)


def secret_last(legal: Sequence[str]) -> str:
    """A move in which the secret is kept for the last action, so that its player decides last."""
    return min(legal, key=lambda move: "-3421".index(move[0]))


def owing(service: SealedService, alice: Machine, bob: Opponent, *, close: bool) -> str:
    """A game in which the player owes a draw, or the close of a round, and has not looked since."""
    game = alice.client.new(Hanamikoji("host", 2), agreement=CLOCK, sealed=SealedWish(deposits=False)).game
    bob.join(game)
    while True:
        while bob.owes(game):
            bob.step(game, secret_last)
        course = service.course(game)
        if course.debtor == 0 and (course.state.due is Due.REVEAL) is close:
            return game
        alice.acts(game, secret_last)


def time_is_over(service: SealedService, game: str, deadline: str) -> None:
    """One second after the deadline the service ends the game."""
    kept = service.games[game]
    at = add_seconds(deadline, 1)
    service._now = lambda: at
    made = referee.timeout(kept.refereed, signer=service.key, at=at)
    kept.refereed, kept.lines = made.refereed, [*kept.lines, *made.lines]


def deadline_of(service: SealedService, game: str) -> str:
    due = referee.deadline(service.games[game].refereed)
    assert due is not None
    return due


def drop(method: str, path: str) -> None:
    """The connection ends when the service has an entry."""
    if method == "POST" and path.endswith("/entries"):
        raise NetworkError(URL, "it broke")


@every_release
@pytest.mark.parametrize("how", ["refused", "no answer"])
def test_a_release_that_is_hidden_until_the_time_is_over(
    how: str, close: bool, alice: Machine, bob: Opponent, service: SealedService
) -> None:
    """It cannot be told from one that was never sent. The player's program gives nothing more."""
    game = owing(service, alice, bob, close=close)
    before, deadline, sent = service.copy(game), deadline_of(service, game), len(service.sent)
    if how == "refused":
        service.refuses = lambda _: IllegalError("no")
    else:
        service.before = drop
    for _ in range(2):
        with pytest.raises(HkojiError):
            alice.position(game)
    time_is_over(service, game, deadline)
    service.refuses, service.before = lambda _: None, lambda _method, _path: None
    for words in (("show", game), ("games",)):
        found = run(*words, "--json", seat=alice).json
        assert (found[0] if words == ("games",) else found)["result"] == {"reason": "timeout", "winner": 1}
    assert "alice has lost on time" in run("watch", game, "--after", "-1", seat=alice).out
    assert [line.entry.body for line in alice.log(game)[-2:-1]] == [{"seat": 0}]
    release = service.sent[sent].entry
    assert (release.kind, "close" in release.body) == ("release", close)
    assert release.text in Vault(alice.folder(game)).signed(release.seq)
    with service.showing(game, before):  # in which the release is still owed
        for act in (alice.position, alice.release_here, alice.resign):
            with pytest.raises(TrustError, match="the service's log ends at entry"):
                act(game)
    assert [made.entry.text for made in service.sent[sent:]] == [release.text] * (2 if how == "refused" else 3)
    assert readable(service, game, "alice", bob) == {}
    assert audit(format_log(service.games[game].lines)).ok
    assert proven(service, alice, game) == set()


@every_release
def test_a_release_that_is_taken_in_time(close: bool, alice: Machine, bob: Opponent, service: SealedService) -> None:
    """By the second. A timeout that takes its place then is the word of the service against its own receipt."""
    game = owing(service, alice, bob, close=close)
    before, deadline = service.copy(game), deadline_of(service, game)
    service._now = lambda: deadline
    alice.position(game)
    with pytest.raises((GameOverError, NotOverdueError)):
        time_is_over(service, game, deadline)
    assert audit(format_log(service.games[game].lines)).ok
    assert proven(service, alice, game) == set()
    with service.showing(game, before):
        time_is_over(service, game, deadline)
        with pytest.raises(TrustError, match=r"is another one than you have seen|does not hold"):
            alice.position(game)
    assert readable(service, game, "alice", bob) == {}
    assert proven(service, alice, game) == {"server"}
