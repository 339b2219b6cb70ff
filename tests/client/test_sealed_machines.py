"""Two homes of one player, kills, forks and refusals in a sealed game: no own card that is hidden follows from it all.

docs/spec/sealed.md, "How a client makes them". The service is run by the opponent, who has kept everything that ever
left the player's homes (`tests.support.sealed_attack`).
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from hkoji import referee
from hkoji.audit.log_audit import audit
from hkoji.errors import ForbiddenError, HkojiError, IllegalError, TrustError
from hkoji.game.commitments import entropy_commit
from hkoji.game.course import Stage
from hkoji.game.entry_kinds import Open, Release, parse_body
from hkoji.game.parts import Parts
from hkoji.game.proving import EntryProofs
from hkoji.log.line import format_log
from hkoji.log.statement import Dealt, make_view
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.sealed.group import GENERATOR
from tests.support.breaking_off import breaks
from tests.support.memory_service import AT, Game
from tests.support.sealed_attack import Machine, Opponent, SealedService, machine, readable
from tests.support.stub_group import without_secrets

__all__ = ["without_secrets"]
pytestmark = pytest.mark.usefixtures("without_secrets")

RULESETS: Sequence[Ruleset] = (Hanamikoji("guest", 2), GeishasRoad("random"))


@pytest.fixture
def service() -> SealedService:
    return SealedService()


@pytest.fixture
def alice(service: SealedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine(service, "alice", tmp_path / "first", monkeypatch)


@pytest.fixture
def bob(service: SealedService) -> Opponent:
    return Opponent(service, deposit=True)


def copied(first: Machine, folder: Path) -> Machine:
    """The home copied to another machine."""
    shutil.copytree(first.path, folder / "home")
    return replace(first, path=folder / "home", state=folder / "state", said=[])


def first_of(legal: Sequence[str]) -> str:
    return legal[0]


def gift_last(legal: Sequence[str]) -> str:
    """A move in which a gift is kept for the last action, so that the other player decides last."""
    return min(legal, key=lambda move: "-1243".index(move[0]))


def begun(alice: Machine, bob: Opponent, ruleset: Ruleset, *, hosts: bool) -> str:
    """A game that both have joined."""
    if hosts:
        game = alice.new(ruleset)
        bob.join(game)
        return game
    game = bob.open(ruleset)
    alice.join_sealed(game)
    return game


def refused(act: Callable[[], object]) -> HkojiError | None:
    """The error with which an act ends, if it does."""
    try:
        act()
    except HkojiError as error:
        return error
    return None


def goes_on(service: SealedService, home: Machine, game: str, choose: Callable[[Sequence[str]], str]) -> bool:
    """Lets a home do what the player owes; if another machine must do that, it says so and sends nothing."""
    head, sent = service.course(game).head, len(service.sent)
    home.said.clear()
    error = refused(lambda: home.acts(game, choose))
    if service.course(game).head != head:
        return True
    assert len(service.sent) == sent
    said = " ".join([*home.said, *([f"{error} {error.hint}"] if error else [])])
    assert service.course(game).finished or ("on another machine" in said and "--here" in said)
    return False


# --- two homes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda each: each.name)
@pytest.mark.parametrize("hosts", [True, False], ids=["host", "guest"])
def test_two_machines_play_one_game(
    ruleset: Ruleset, hosts: bool, alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    """The one that has made the first lock of a round deals it; all else either can do, and nobody reads a card."""
    if hosts:
        game = alice.new(ruleset)
        second = copied(alice, tmp_path / "second")
        bob.join(game)
    else:
        game = bob.open(ruleset)
        alice.join_sealed(game)
        second = copied(alice, tmp_path / "second")
    chance, moved, stopped = random.Random(3), [0, 0], 0
    first, then = alice, second
    while not service.course(game).finished:
        bob.play(game)
        first, then = then, first  # they take turns, until one cannot go on
        if goes_on(service, first, game, chance.choice):
            moved[first is second] += 1
        elif not service.course(game).finished:
            stopped += 1
            assert goes_on(service, then, game, chance.choice)
    assert min(moved) > 3
    assert stopped
    assert readable(service, game, "alice", bob) == {}
    assert audit(format_log(service.games[game].lines).encode()).ok


def test_the_opening_machine_must_bring_the_seed(
    alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    game = alice.new(Hanamikoji("guest", 2))
    second = copied(alice, tmp_path / "second")
    bob.join(game)
    bob.play(game)
    before = len(service.sent)
    assert second.position(game).course.stage is Stage.HOST_SEED
    assert second.position(game).course.stage is Stage.HOST_SEED
    assert len(service.sent) == before
    said = " ".join(second.said)
    assert "you locked the deck of round 1 on another machine" in said
    assert f"hkoji release {game[:8]} --here" in said
    assert second.release_here(game).course.stage is Stage.PLAY
    assert len(service.sent) == before + 1


@pytest.mark.parametrize("way", ["other state", "both"])
@pytest.mark.parametrize("when", ["before the lock was answered", "after"])
def test_a_copied_or_synchronised_home_counts_as_another(
    way: str, when: str, alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    """A home with the same files is another one on another machine, also where it has the same name."""
    game = alice.new(Hanamikoji("guest", 2))
    bob.join(game)
    bob.play(game)
    other = copied(alice, tmp_path / "second")
    if way == "other state":
        shutil.move(other.path, tmp_path / "kept")
        other = replace(other, path=alice.path)
    before = len(service.sent)
    if when == "after":
        alice.position(game)
        if way != "other state":
            shutil.rmtree(other.path)
            shutil.copytree(alice.path, other.path)
        before = len(service.sent)
        assert other.position(game).course.stage is Stage.PLAY
    else:
        assert other.position(game).course.stage is Stage.HOST_SEED
        assert alice.position(game).course.stage is Stage.PLAY  # where the lock was made it goes on
        before += 1
    assert len(service.sent) == before


def test_the_notes_of_locks_lie_outside_the_home(
    service: SealedService, bob: Opponent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where programs keep state and data in the same folder, as on macOS."""
    alice = machine(service, "alice", tmp_path / "first", monkeypatch)
    shutil.move(alice.path, tmp_path / "data" / "hkoji")
    alice = replace(alice, path=tmp_path / "data" / "hkoji", state=tmp_path / "data")
    game = alice.new(Hanamikoji("guest", 2))
    bob.join(game)
    bob.play(game)
    shutil.copytree(alice.path, tmp_path / "copy")
    shutil.rmtree(tmp_path / "data")
    shutil.move(tmp_path / "copy", alice.path)  # on another machine, where it has the same name
    assert alice.position(game).course.stage is Stage.HOST_SEED


def other_answer(service: SealedService, game: str, bob: Opponent) -> Game:
    """Lets the opponent answer a first lock, and returns another log, in which it has answered otherwise."""
    second = service.copy(game)
    bob.play(game)
    with service.showing(game, second):
        bob.play(game)
        return service.copy(game)


def test_two_second_locks_under_one_first_lock(
    alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    """One machine answers one of them. If the user overrides that, the reader has the hand."""
    game = alice.new(Hanamikoji("guest", 2))
    other = copied(alice, tmp_path / "second")
    bob.join(game)
    second = other_answer(service, game, bob)
    assert alice.position(game).course.stage is Stage.PLAY
    with pytest.raises(TrustError), service.showing(game, second):
        alice.position(game)
    before = len(service.sent)
    with service.showing(game, second):
        assert other.position(game).course.stage is Stage.HOST_SEED
        assert len(service.sent) == before
        assert readable(service, game, "alice", bob) == {}
        other.release_here(game)
        assert len(readable(service, game, "alice", bob)) > 4


@pytest.mark.parametrize("where", ["in its place", "beside it"])
def test_an_old_copy_on_the_same_machine_does_not_undo_an_answer(
    where: str, alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    """Also if it was made between the lock and its answer: the note of the answer is not in the home."""
    game = alice.new(Hanamikoji("guest", 2))
    copy = replace(copied(alice, tmp_path / "second"), state=alice.state)
    bob.join(game)
    second = other_answer(service, game, bob)
    assert alice.position(game).course.stage is Stage.PLAY
    if where == "in its place":
        shutil.rmtree(alice.path)
        shutil.move(copy.path, alice.path)
        copy = alice
    before = len(service.sent)
    with service.showing(game, second), pytest.raises(TrustError, match="another deck for round 1"):
        copy.position(game)
    assert len(service.sent) == before
    assert readable(service, game, "alice", bob) == {}


def test_a_log_that_was_moved_away_does_not_undo_an_answer(
    alice: Machine, bob: Opponent, service: SealedService
) -> None:
    game = alice.new(Hanamikoji("guest", 2))
    bob.join(game)
    second = other_answer(service, game, bob)
    alice.position(game)
    for name in ("log.jsonl", "view.json", "views.signed", "outbox.signed"):
        (alice.folder(game) / name).unlink(missing_ok=True)
    before = len(service.sent)
    with service.showing(game, second), pytest.raises(TrustError, match="another deck for round 1"):
        alice.position(game)
    with service.showing(game, second), pytest.raises(HkojiError):
        alice.release_here(game)
    assert len(service.sent) == before
    assert readable(service, game, "alice", bob) == {}


def test_two_second_locks_of_a_later_round(
    alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    """The seat that starts a round makes the first lock of the next, and one home answers one second lock."""
    game = alice.new(GeishasRoad("host"))
    bob.join(game)
    chance = random.Random(1)
    while not (sealed := service.course(game).sealed) or len(sealed.coming.decks) != 1 or sealed.coming.number != 2:
        bob.play(game)
        alice.acts(game, chance.choice)
    other = copied(alice, tmp_path / "second")  # the first lock of round 2 is made, and noted
    second = service.copy(game)
    while service.course(game).state.round == 1:
        bob.play(game)
        alice.acts(game, chance.choice)
    with service.showing(game, second):
        bob.play(game)
        while goes_on(service, other, game, chance.choice):
            bob.play(game)
        assert service.course(game).state.round == 1
        assert readable(service, game, "alice", bob) == {}
        other.release_here(game)
        bob.play(game)
        other.acts(game, chance.choice)
        assert len(readable(service, game, "alice", bob)) > 4


# --- an old copy, and kills -------------------------------------------------------------------------------------------


class Before:
    """The service's log, what was sent, and a home, which can be as they were again."""

    def __init__(self, service: SealedService, game: str | None, home: Machine) -> None:
        self._service, self._game, self._home = service, game, home
        self._log = None if game is None else service.copy(game)
        self._sent = list(service.sent)
        self._kept = home.path.with_name("kept")
        shutil.rmtree(self._kept, ignore_errors=True)
        shutil.copytree(home.path, self._kept)

    def restore(self) -> None:
        if self._game is None:
            self._service.games.clear()
        elif self._log is not None:
            self._service.games[self._game] = replace(self._log, lines=list(self._log.lines))
        self._service.sent[:] = self._sent
        shutil.rmtree(self._home.path)
        shutil.copytree(self._kept, self._home.path)


def stages(service: SealedService, game: str, alice: Machine, bob: Opponent) -> Iterator[str]:
    """Plays a game and stops whenever the player owes something of a kind that was not there before."""
    met: set[str] = set()
    while not service.course(game).finished:
        bob.play(game)
        course = service.course(game)
        if course.finished:
            return
        sealed = course.sealed
        assert sealed is not None
        kind = (
            "seed"
            if course.seed_seat is not None
            else "release"
            if course.debtor is not None
            else course.state.due.name
        )
        if kind == "release":
            kind += " and close" if course.state.due is Due.REVEAL else ""
        elif kind == "ACT":
            kind += f" {sealed.now.acted[alice_seat(service, game)]}"
        if kind not in met:
            met.add(kind)
            yield kind
        alice.acts(game, gift_last)


def alice_seat(service: SealedService, game: str) -> int:
    return service.course(game).setup.names.index("alice")


def cards_sent(service: SealedService) -> dict[tuple[int, str], set[str]]:
    """All that was sent for each place by the player: the actions with cards, and the copies and closed cards."""
    found: dict[tuple[int, str], set[str]] = {}
    for made in service.sent:
        parts = parse_body(made.entry.kind, made.entry.body).parts
        if made.entry.by == "alice" and (parts.show or parts.hide or parts.close):
            copies = parts.show and parts.show.copies
            points = parts.hide and parts.hide.points
            said = f"{made.entry.body.get('action')} {copies} {points} {parts.close and parts.close.card}"
            found.setdefault((made.entry.seq, made.entry.prev), set()).add(said)
    return found


@pytest.mark.parametrize("hosts", [True, False], ids=["host", "guest"])
def test_a_command_that_is_killed_anywhere(hosts: bool, alice: Machine, bob: Opponent, service: SealedService) -> None:
    """The same command again, or another move, sends what was chosen first; one second lock was answered."""
    game = begun(alice, bob, Hanamikoji("guest", 2), hosts=hosts)
    tried = 0
    for stage in stages(service, game, alice, bob):
        before = Before(service, game, alice)
        for _ in breaks(service, before.restore, lambda: alice.acts(game, first_of)):
            tried += 1
            sent = cards_sent(service)
            if (refusal := refused(lambda: alice.acts(game, lambda legal: legal[-1]))) is not None:
                assert "already signed" in str(refusal) or "has arrived" in refusal.hint, (stage, refusal)
                alice.acts(game, first_of)
            made = cards_sent(service)
            assert all(len(each) == 1 for each in made.values()), stage
            assert sent.items() <= made.items()
            assert len({each.entry.text for each in service.sent if each.entry.kind == "seed"}) <= 2
            assert readable(service, game, "alice", bob) == {}, stage
        before.restore()
    assert tried > 100


@pytest.mark.parametrize("hosts", [True, False], ids=["host", "guest"])
def test_taking_a_seat_is_killed_anywhere(hosts: bool, alice: Machine, bob: Opponent, service: SealedService) -> None:
    """The same command again takes the seat, with the seed that was signed first."""
    game = None if hosts else bob.open(Hanamikoji("guest", 2))
    before, tried = Before(service, game, alice), 0

    def act() -> str:
        if game is None:
            return alice.new(Hanamikoji("guest", 2))
        alice.join_sealed(game)
        return game

    for _ in breaks(service, before.restore, act):
        tried += 1
        made = act()
        if hosts:
            bob.join(made)
        bob.play(made)
        alice.position(made)
        assert service.course(made).stage is Stage.PLAY or not hosts
        assert len({each.entry.text for each in service.sent if each.entry.kind == "seed"}) == 2
        assert len((alice.path / "sealed.key").read_text().split()) == 1
        assert readable(service, made, "alice", bob) == {}
    assert tried > 30


@pytest.mark.parametrize("hosts", [True, False], ids=["host", "guest"])
def test_an_old_copy_of_a_home_goes_on(
    hosts: bool, alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    """With an honest log it is like another machine that has not looked for long."""
    game = begun(alice, bob, Hanamikoji("guest", 2), hosts=hosts)
    chance, copies = random.Random(8), list[Machine]()
    while not service.course(game).finished:
        bob.play(game)
        copies.append(copied(alice, tmp_path / str(len(copies))))
        old = replace(copies[chance.randrange(len(copies))], state=alice.state)
        shutil.rmtree(alice.path)
        shutil.copytree(old.path, alice.path)
        if not service.course(game).finished and not goes_on(service, alice, game, chance.choice):
            alice.release_here(game)
    assert readable(service, game, "alice", bob) == {}
    assert audit(format_log(service.games[game].lines).encode()).ok


# --- forks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hosts", [True, False], ids=["host", "guest"])
def test_a_fork_at_each_entry(
    hosts: bool, alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    """A home that has seen one log refuses the other, and sends nothing; its files convict the service.

    A second machine that is shown the other log does not make a card of the first one readable.
    """
    game = begun(alice, bob, Hanamikoji("guest", 2), hosts=hosts)
    chance, forks = random.Random(2), 0
    while not service.course(game).finished:
        if not bob.owes(game):
            alice.acts(game, chance.choice)
            continue
        forks += 1
        fork, before = service.copy(game), Before(service, game, alice)
        other = copied(alice, tmp_path / f"fork {forks}")
        bob.play(game)
        kept = service.copy(game)
        for _ in range(3):
            alice.acts(game, chance.choice)
            bob.play(game)
        alice.position(game)
        sent = len(service.sent)
        with service.showing(game, fork):
            bob.play(game)
            with pytest.raises(TrustError) as error:
                alice.position(game)
            assert "nothing was accepted" in error.value.hint
            assert len([each for each in service.sent[sent:] if each.entry.by == "alice"]) == 0
            for _ in range(5):
                if not service.course(game).finished and not goes_on(service, other, game, chance.choice):
                    break
                bob.play(game)
        assert readable(service, game, "alice", bob) == {}, forks
        before.restore()
        service.games[game] = kept
    assert forks > 8


# --- one choice a turn ------------------------------------------------------------------------------------------------

REFUSED = IllegalError("no")


def until_action(service: SealedService, game: str, alice: Machine, bob: Opponent, number: int) -> Sequence[str]:
    """Plays until the player owes an action with that number in its round, and returns what is legal."""
    while True:
        bob.play(game)
        position = alice.position(game)
        course = service.course(game)
        assert course.sealed is not None
        if (
            position.legal
            and course.state.due is Due.ACT
            and course.sealed.now.acted[alice_seat(service, game)] == number
        ):
            return position.legal
        if position.legal:
            alice.move(game, first_of(position.legal))


def other_key(service: SealedService, alice: Machine, second: Machine, game: str, how: str) -> None:
    """The player gets another key in the game: by a `rekey` of another machine, or by a `revoke` of the service."""
    changed = second if how == "rekey" else alice
    changed.client.keys.rekey(None)
    if how == "rekey":
        second.position(game)
        for file in second.path.iterdir():
            if file.is_file():
                shutil.copy(file, alice.path)
            elif file.name == "keys":
                shutil.copytree(file, alice.path / "keys", dirs_exist_ok=True)
    else:
        alice.position(game)
    assert service.games[game].lines[-1].entry.kind == how


CHOICES: Mapping[str, tuple[Ruleset, int, Callable[[str], bool]]] = {
    "shown": (Hanamikoji("host", 2), 0, lambda each: each[0] == "3"),
    "hidden": (Hanamikoji("host", 2), 0, lambda each: each[0] == "1"),
    "two hidden": (Hanamikoji("host", 2), 0, lambda each: each[0] == "2"),
    "with a lock": (Hanamikoji("host", 2), 3, lambda each: True),
    "revealed": (GeishasRoad("host"), 0, lambda each: each[0] == "R"),
    "intrigue": (GeishasRoad("host"), 0, lambda each: each[0] == "I"),
}


@pytest.mark.parametrize("how", ["in place", "rekey", "revoke", "signed for later"])
@pytest.mark.parametrize("choice", CHOICES)
def test_one_choice_a_turn(
    choice: str, how: str, alice: Machine, bob: Opponent, service: SealedService, tmp_path: Path
) -> None:
    ruleset, number, wanted = CHOICES[choice]
    game = begun(alice, bob, ruleset, hosts=True)
    legal = until_action(service, game, alice, bob, number)
    second = copied(alice, tmp_path / "second")
    mine = next(each for each in legal if wanted(each))
    if how == "signed for later":
        made = alice.sign(game, mine)
        service.sent.append(made)
    else:
        service.refuses = lambda _: REFUSED
        with pytest.raises(IllegalError, match="no"):
            alice.move(game, mine)
        assert any("The cards in it may have been seen" in said for said in alice.said)
        service.refuses = lambda _: None
    if how in ("rekey", "revoke"):
        other_key(service, alice, second, game, how)
    before, head = len(service.sent), service.course(game).head
    for other in [each for each in legal if each != mine][-2:]:
        with pytest.raises(IllegalError, match="already signed") as refused:
            alice.move(game, other)
        assert f"hkoji move {game[:8]} {mine}" in refused.value.hint
        with pytest.raises(IllegalError, match="already signed"):
            alice.sign(game, other)
    assert (len(service.sent), service.course(game).head) == (before, head)
    alice.move(game, mine)
    *_, first, last = [each.entry for each in service.sent if each.entry.by == "alice" and each.entry.kind == "move"]
    if how in ("rekey", "revoke"):
        assert first.prev != last.prev
        parts = [parse_body(each.kind, each.body).parts for each in (first, last)]
        assert first.body["action"] == last.body["action"]
        assert len({each.show and each.show.copies for each in parts}) == 1
    else:
        assert first.body == last.body
    assert readable(service, game, "alice", bob) == {}


def test_one_choice_of_an_answer_that_turns_a_card_up(alice: Machine, bob: Opponent, service: SealedService) -> None:
    game = begun(alice, bob, Hanamikoji("host", 2), hosts=True)
    while not ends_round(service, game):
        while bob.owes(game):
            bob.step(game, gift_last)
        if not ends_round(service, game):
            alice.acts(game, gift_last)
    legal = alice.position(game).legal
    service.refuses = lambda _: REFUSED
    with pytest.raises(IllegalError, match="no"):
        alice.move(game, legal[0])
    service.refuses = lambda _: None
    before = len(service.sent)
    assert "close" in service.sent[-1].entry.body
    with pytest.raises(IllegalError, match="already signed"):
        alice.move(game, legal[1])
    assert len(service.sent) == before
    alice.move(game, legal[0])
    assert service.sent[-1].entry.body == service.sent[before - 1].entry.body


def ends_round(service: SealedService, game: str) -> bool:
    """Whether the player's answer is the last decision of a round."""
    course = service.course(game)
    assert course.sealed is not None
    return course.state.due is Due.ANSWER and course.actor == 0 and course.sealed.now.acted == (4, 4)


def test_a_refused_seed_deals_no_other_cards(alice: Machine, bob: Opponent, service: SealedService) -> None:
    """Else a host who runs the service could have it made until it likes its hand."""
    game = bob.open(Hanamikoji("guest", 2))
    service.refuses = lambda made: REFUSED if made.entry.kind == "seed" else None
    with pytest.raises(IllegalError, match="no"):
        alice.join_sealed(game)
    for _ in range(3):
        with pytest.raises(IllegalError, match="no"):
            alice.position(game)
    seeds = {each.entry.text for each in service.sent if each.entry.kind == "seed"}
    assert len(seeds) == 1
    service.refuses = lambda _: None
    alice.position(game)
    assert service.games[game].lines[3].entry.text in seeds


@pytest.mark.parametrize("stage", ["seed", "release", "release and close"])
def test_giving_up_or_calling_off_opens_nothing(
    stage: str, alice: Machine, bob: Opponent, service: SealedService
) -> None:
    game = begun(alice, bob, Hanamikoji("guest", 2), hosts=True)
    with alice.client.game(game) as held:
        held.sealed.notes.keep_deposits(False)  # so releases are due
    assert any(each == stage for each in stages(service, game, alice, bob))
    before = len(service.sent)
    with alice.client.game(game) as held, suppress(HkojiError):
        held.unsettled()
        held.time.annul()
    assert len(service.sent) == before
    assert alice.resign(game).position.over
    assert [each.entry.kind for each in service.sent[before:]] == ["resign"]
    assert readable(service, game, "alice", bob) == {}


# --- lies -------------------------------------------------------------------------------------------------------------


def spoilt(parts: Parts) -> Iterator[tuple[str, Parts]]:
    """Each part of an entry with something false in it."""
    if (lock := parts.lock) is not None:
        first, second, *rest = lock.deck
        yield "another order", parts._replace(lock=lock._replace(deck=(second, first, *rest)))
        yield "another key", parts._replace(lock=lock._replace(key=first))
        yield "another card", parts._replace(lock=lock._replace(deck=(GENERATOR, second, *rest)))
        yield "lock's proof", parts._replace(lock=lock._replace(proof=flipped(lock.proof)))
    if (give := parts.give) is not None:
        yield "share's proof", parts._replace(give=give._replace(shares=flipped(give.shares)))
        yield "another token", parts._replace(give=give._replace(shares=GENERATOR + give.shares[32:]))
    if (show := parts.show) is not None:
        yield "show", parts._replace(show=show._replace(proof=flipped(show.proof)))
    if (hide := parts.hide) is not None:
        yield "hide", parts._replace(hide=hide._replace(hidden=tuple(map(flipped, hide.hidden))))
    if (close := parts.close) is not None:
        yield "close", parts._replace(close=close._replace(proof=flipped(close.proof)))


def flipped(proof: bytes) -> bytes:
    """The bytes with the lowest bit of the last number changed."""
    return proof[:-32] + bytes([proof[-32] ^ 1]) + proof[-31:]


def unchecked() -> AbstractContextManager[object]:
    """Nobody checks proofs during the block."""
    return patch("hkoji.game.proving.proofs_of", lambda *_: EntryProofs())


@pytest.mark.parametrize("hosts", [True, False], ids=["host", "guest"])
def test_a_client_stops_at_each_false_part(hosts: bool, alice: Machine, bob: Opponent, service: SealedService) -> None:
    game = begun(alice, bob, Hanamikoji("guest", 2), hosts=hosts)
    chance, found = random.Random(4), set[str]()
    while not service.course(game).finished:
        if not bob.owes(game):
            alice.acts(game, chance.choice)
            continue
        body, share = bob.made(game)
        for what, parts in spoilt(body.parts):
            if what in found:
                continue
            found.add(what)
            with service.showing(game, service.copy(game)):
                with unchecked():
                    assert bob.send(game, body._replace(parts=parts), share).status == 201
                before = len(service.sent)
                with pytest.raises(TrustError, match="does not hold"):
                    alice.position(game)
                assert len(service.sent) == before
        assert bob.send(game, body, share).status == 201
    assert found >= {"share's proof", "another token", "show", "hide", "close", "another order", "another key"}


@pytest.mark.parametrize("what", ["another order", "another key", "another card", "lock's proof"])
def test_a_guest_signs_nothing_under_a_false_lock(
    what: str, alice: Machine, bob: Opponent, service: SealedService
) -> None:
    game = service.offer(Hanamikoji("guest", 2))
    parts = dict(spoilt(bob.sealer(game, 0).open(service.course(game))))[what]
    with unchecked():
        bob.send(game, Open(entropy_commit(game, 0, bob.entropy), bob.key.public, parts=parts))
    assert service.course(game).stage is Stage.JOIN
    before = len(service.sent)
    with pytest.raises(TrustError, match="does not hold"):
        alice.join_sealed(game)
    assert len(service.sent) == before
    assert not (alice.path / "sealed.key").exists()


@pytest.mark.parametrize("stage", ["before the seed", "a draw", "the next hand"])
def test_tokens_that_are_no_cards_are_found_at_once(
    stage: str, alice: Machine, bob: Opponent, service: SealedService
) -> None:
    """Also if the proofs of a false lock or share held."""
    game = begun(alice, bob, GeishasRoad("host"), hosts=True)
    number, size = {"before the seed": (1, 5), "a draw": (1, 0), "the next hand": (2, 5)}[stage]
    bob.deposit = False
    while True:
        if not bob.owes(game):
            alice.acts(game, first_of)
            continue
        body, share = bob.made(game)
        give = body.parts.give
        if give is not None and give.round == number and size < len(give.at) < size + 3:
            break
        assert bob.send(game, body, share).status == 201
    with unchecked():
        bob.send(game, body._replace(parts=dict(spoilt(body.parts))["another token"]), share)
        before = len(service.sent)
        with pytest.raises(TrustError, match=f"cards that you have got in round {number} are none"):
            alice.position(game)
    assert len(service.sent) == before


class Offered(NamedTuple):
    """A log that ends with an offer of the player, whose answerer's next draw is deposited, and the same answered."""

    game: str
    offered: Game
    answered: Game


@pytest.fixture
def offered(alice: Machine, bob: Opponent, service: SealedService) -> Offered:
    game = alice.new(Hanamikoji("host", 2), deposits=True)
    bob.join(game)
    until_action(service, game, alice, bob, 0)
    alice.move(game, next(each for each in alice.position(game).legal if each[0] == "3"))
    before = service.copy(game)
    bob.step(game)
    answered = service.copy(game)
    assert [line.entry.by for line in answered.lines[-2:]] == ["bob", "server"]
    return Offered(game, before, answered)


@pytest.mark.parametrize("lie", ["early", "false", "another position", "twice"])
def test_a_service_that_releases_otherwise_than_it_must(
    lie: str, offered: Offered, alice: Machine, service: SealedService
) -> None:
    game, before, answered = offered
    deposit = before.refereed.deposits[0]
    if lie == "early":
        service.games[game] = before
    elif lie == "twice":
        service.games[game] = answered
    else:
        lines = answered.lines[:-1]
        service.games[game] = Game(referee.resume(lines, None, ()), lines)
        deposit = deposit._replace(shares=flipped(deposit.shares)) if lie == "false" else deposit._replace(at=(13,))
    service.says(game, Release(Parts(give=deposit)))
    sent = len(service.sent)
    with pytest.raises(TrustError, match="does not hold") as refused:
        alice.position(game)
    assert "proof" in refused.value.hint
    assert len(service.sent) == sent


def test_a_deposit_that_vanishes_is_not_given_again(offered: Offered, alice: Machine, service: SealedService) -> None:
    """The service has the share and must release it: nothing else stands there, and the other's draw stays theirs."""
    game, _, answered = offered
    lines = answered.lines[:-1]
    service.games[game] = Game(referee.resume(lines, None, ()), lines)
    sent = len(service.sent)
    position = alice.position(game)
    assert (position.course.actor, position.legal) == (None, ())
    with pytest.raises(HkojiError):
        alice.move(game, "1A")
    assert len(service.sent) == sent


def test_a_release_that_is_withheld(alice: Machine, bob: Opponent, service: SealedService) -> None:
    """The player waits: no move is signed before the card is there."""
    bob.deposit = False
    game = alice.new(Hanamikoji("host", 2))
    bob.join(game)
    until_action(service, game, alice, bob, 0)
    while service.course(game).debtor != 1:
        if bob.owes(game):
            bob.step(game, lambda legal: next((each for each in legal if each[0] in "34"), legal[0]))
        else:
            alice.acts(game, first_of)
    sent = len(service.sent)
    for notation in ("1A", "2AB", "3ABC"):
        with pytest.raises(HkojiError):
            alice.move(game, notation)
    assert len(service.sent) == sent


def test_a_view_with_cards_is_refused(alice: Machine, bob: Opponent, service: SealedService) -> None:
    """The service cannot know them, so nothing is made of its word."""
    game = begun(alice, bob, Hanamikoji("host", 2), hosts=True)
    until_action(service, game, alice, bob, 0)
    course, sent = service.course(game), len(service.sent)
    lie = make_view(dealt=(Dealt("AABBCC", 1),), game=game, head=course.head, seat=0, seq=course.seq)
    with patch("hkoji.referee.view", lambda *_: lie), pytest.raises(TrustError):
        alice.position(game)
    assert len(service.sent) == sent


@pytest.mark.parametrize("joined", [False, True])
def test_another_dealer_under_the_same_id(joined: bool, alice: Machine, bob: Opponent, service: SealedService) -> None:
    """A game that was sealed when it was seen first stays so."""
    game = bob.open(Hanamikoji("guest", 2))
    alice.join_sealed(game) if joined else alice.position(game)
    other = referee.offer(game, Hanamikoji("guest", 2), bytes(32).hex(), signer=service.key, at=AT)
    body = Open(entropy_commit(game, 0, bob.entropy), bob.key.public)
    log = Game(other.refereed, list(other.lines))
    sent = len(service.sent)
    with service.showing(game, log):
        assert bob.send(game, body).status == 201
        sent += 1
        for act in (alice.position, alice.join_sealed, alice.join):
            with pytest.raises((TrustError, ForbiddenError)):
                act(game)
    assert len(service.sent) == sent
