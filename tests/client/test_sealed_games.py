"""Whole sealed games by two clients: both play by what they decrypt themselves, and the service sees no card."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from hkoji import referee
from hkoji.audit.log_audit import audit
from hkoji.client import Client
from hkoji.client.kept.game import Vault
from hkoji.client.kept.sealed import LockNotes, SealedNotes
from hkoji.client.rematch import Rematches
from hkoji.client.sealed_choices import DepositChoice
from hkoji.client.seats import SealedGameError, SealedWish
from hkoji.errors import IllegalError, TrustError
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.game.clock import Outage, Way, add_seconds
from hkoji.game.entry_kinds import Credit, Release
from hkoji.log.line import SERVER_NAME, format_log
from hkoji.messages.text import tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.commands import current, make_move
from tests.support.memory_service import AT, LocalPlayer, MemoryService

CHECKER = Path(__file__).parents[2] / "docs" / "spec" / "sealed.py"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marks of homes lie elsewhere than on this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def begin_sealed(
    alice: LocalPlayer, bob: LocalPlayer, ruleset: Ruleset | None = None, *, deposits: bool | None = True
) -> str:
    """A sealed game up to its first decision."""
    wish = SealedWish(deposits)
    game = alice.client.new(ruleset or Hanamikoji(), sealed=wish).game
    with bob.client.game(game) as held:
        held.join(sealed=wish)
    current(alice.client, game)
    current(bob.client, game)
    return game


def play(clients: tuple[Client, Client], game: str, moves: int = 1000, seed: int = 1) -> None:
    """Plays random moves. Each player looks in turn, and so releases cards."""
    chance = random.Random(seed)
    for _ in range(moves):
        for client in clients:
            position = current(client, game)
            if position.over:
                return
            if position.legal:
                make_move(client, game, chance.choice(position.legal))


@pytest.mark.parametrize(
    ("ruleset", "deposits"),
    [
        (Hanamikoji("host", 2, "charm"), True),
        (Hanamikoji("random", 2), False),
        (GeishasRoad(), True),
        (GeishasRoad("guest", "random"), False),
    ],
    ids=str,
)
def test_a_whole_game_holds_and_shows_nobody_a_card(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, tmp_path: Path, ruleset: Ruleset, deposits: bool
) -> None:
    game = begin_sealed(alice, bob, ruleset, deposits=deposits)
    play((alice.client, bob.client), game)
    lines = alice.log(game)
    assert lines == bob.log(game) == tuple(service.games[game].lines)
    result = audit(format_log(lines), alice.client.pins(alice.client.server))
    assert result.ok, result.findings
    (tmp_path / "log.jsonl").write_text(format_log(lines))
    subprocess.run([sys.executable, "-I", str(CHECKER), str(tmp_path / "log.jsonl")], check=True, capture_output=True)
    refereed = service.games[game].refereed
    assert (refereed.seed, refereed.openings) == (None, ())
    assert all(set(cards) <= {UNKNOWN} for hands in refereed.course.dealt for cards in hands)
    released = [line for line in lines if line.entry.kind == Release.KIND and line.entry.by == SERVER_NAME]
    assert bool(released) == deposits


def test_a_player_who_has_not_asked_for_a_sealed_game_joins_none(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = alice.client.new(Hanamikoji(), sealed=SealedWish()).game
    before = alice.log(game)
    with bob.client.game(game) as held, pytest.raises(SealedGameError, match="sealed game") as refused:
        held.join()
    assert "--sealed" in refused.value.hint
    assert alice.log(game) == before
    assert not (bob.client.home.path / "sealed.key").exists()


def test_a_wish_for_a_sealed_game_joins_no_other(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = alice.client.new(Hanamikoji()).game
    before = alice.log(game)
    with bob.client.game(game) as held, pytest.raises(TrustError, match="this is not a sealed game"):
        held.join(sealed=SealedWish())
    assert alice.log(game) == before


def test_one_choice_is_signed_for_a_turn(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin_sealed(alice, bob)
    position = current(alice.client, game)
    first, other = (next(each for each in position.legal if each[0] == kind) for kind in "12")
    with alice.client.game(game) as held:
        signed = held.sign(first)
        with pytest.raises(IllegalError, match="already signed"):
            held.sign(other)
        with pytest.raises(IllegalError, match="already signed"):
            held.move(other)
        again = held.sign(first)
        assert again.entry.body == signed.entry.body
        assert again.deposit == signed.deposit
        held.move(first)
    assert alice.log(game)[-1].entry.body == signed.entry.body or alice.log(game)[-2].entry.body == signed.entry.body


def test_a_credit_that_is_shown_late_allows_no_other_choice(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    """Else a service could refuse a move, look at its cards, and then put the next move at another place."""
    wish = SealedWish(deposits=True)
    game = alice.client.new(Hanamikoji("guest"), agreement=Agreement(TimeControl(3 * DAY, 0, 0, 0)), sealed=wish).game
    with bob.client.game(game) as held:
        held.join(sealed=wish)
    current(alice.client, game)
    service._now = lambda: add_seconds(AT, 3600)
    make_move(bob.client, game, next(each for each in current(bob.client, game).legal if each[0] == "1"))
    first, other = (next(each for each in current(alice.client, game).legal if each[0] == kind) for kind in "34")
    service.before = refuse
    with pytest.raises(IllegalError, match="no"):
        make_move(alice.client, game, first)
    service.before = lambda _method, _path: None
    kept = service.games[game]
    late = Credit(None, (Outage(add_seconds(AT, 60), add_seconds(AT, 120), Way.HTTP),))
    line = referee._server_line(kept.refereed, late, service.key, kept.refereed.at)
    kept.refereed = referee.catch_up(kept.refereed, (line,), ())
    kept.lines.append(line)
    with pytest.raises(IllegalError, match="already signed"):
        make_move(alice.client, game, other)
    assert alice.log(game)[-1] == line
    make_move(alice.client, game, first)
    assert next(each for each in alice.log(game) if each.entry.prev == line.entry.head).entry.body["action"] == first


def refuse(method: str, path: str) -> None:
    """Refuses each entry."""
    if method == "POST" and path.endswith("/entries"):
        raise IllegalError(tell("no"))


def test_a_lock_has_one_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, answer, other = "1" * 64, "2" * 64, "a" * 64, "b" * 64
    notes = LockNotes("0" * 32)
    notes.keep(first)
    assert notes.has(first)
    assert not notes.has(second)
    assert notes.answer(second, answer) == answer
    notes.keep(second)
    assert notes.answer(second, other) == LockNotes("0" * 32).answer(second, other) == answer
    assert notes.answer(first, other) == other
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state of another machine"))
    assert not LockNotes("0" * 32).has(first)


def test_nothing_is_deposited_with_an_opponent_who_runs_the_service(alice: LocalPlayer, bob: LocalPlayer) -> None:
    choice = DepositChoice(bob.client.home)
    service = bob.client.service()
    assert choice.wanted(service, "alice")
    choice.keep_told(service, "alice", runs=True)
    assert not choice.wanted(service, "alice")
    game = begin_sealed(alice, bob, deposits=None)
    play((alice.client, bob.client), game)
    named = {line.entry.by for line in alice.log(game) if "deposit" in line.entry.body}
    assert named == {"alice"}


def test_the_word_of_the_service_that_the_opponent_runs_it_counts(
    bob: LocalPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice, service = DepositChoice(bob.client.home), bob.client.service()
    choice.keep_told(service, "alice", runs=False)
    assert choice.wanted(service, "alice")
    said = service.describe()
    monkeypatch.setattr(service, "describe", lambda: said._replace(operators=("alice",)))
    assert not choice.wanted(service, "alice")
    assert choice.wanted(service, "carol")


@pytest.mark.parametrize(
    ("before", "settled", "after"), [(None, True, True), (False, True, False), (None, False, False)]
)
def test_a_rematch_deposits_nothing_where_the_game_before_did_not(
    alice: LocalPlayer, bob: LocalPlayer, before: bool | None, settled: bool, after: bool
) -> None:
    game = begin_sealed(alice, bob, deposits=before)
    alice.resign(game)
    again = Rematches(alice.client, deposits=settled).make(game, None).position.game
    assert Rematches(bob.client).make(game, None).position.game == again
    current(alice.client, again)
    assert SealedNotes(Vault(alice.folder(again))).deposits is after
