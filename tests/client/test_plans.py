"""The runner of plans: when replies are due, what ends a plan, and that a plan stays here."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from hkoji.client.plans import (
    USUAL_DELAY,
    Delay,
    DueReply,
    PlanFiles,
    PlanRun,
    PlanRunner,
    PlanThread,
    parse_delay,
    planned_games,
)
from hkoji.client.transport import HttpAnswer
from hkoji.errors import (
    ConflictError,
    ForbiddenError,
    HkojiError,
    IllegalActionError,
    IllegalError,
    NetworkError,
    StorageError,
    TrustError,
    UsageError,
)
from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.game.clock import add_seconds, parse_time
from hkoji.plans.grammar import parse_plan
from hkoji.plans.standing import ArmedPlan, stand
from hkoji.plans.trial import plan_warnings, try_plan
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.at_the_same_time import at_the_same_time
from tests.support.conditions import until
from tests.support.memory_service import AT, URL, LocalPlayer, MemoryService, begin, play_on
from tests.support.rules import GAMES

NOW = Delay(0, 0)
OFFER = "3* 4* : -G -F -E -D -C -B -A\n3* : -G -F -E -D -C -B -A\n4* : only\n"


def arm(player: LocalPlayer, game: str, text: str) -> ArmedPlan:
    with player.client.game(game) as held:
        course = held.current().course
        armed = ArmedPlan(parse_plan(text, course.setup.ruleset), course.seq, course.head, course.state.round)
        PlanFiles(held.vault.folder).write(armed)
    return armed


def run(player: LocalPlayer, delay: Delay = NOW, now: str = AT, *, only: bool = False, seed: int = 1) -> list[PlanRun]:
    chance = random.Random(seed)
    return PlanRunner(player.client, only=only, delay=delay, now=lambda: now, chance=chance).run()


def offer(player: LocalPlayer, game: str, action: str = "3") -> str:
    notation = next(each for each in player.position(game).legal if each[0] == action)
    player.move(game, notation)
    return notation


def files(player: LocalPlayer, game: str) -> PlanFiles:
    return PlanFiles(player.folder(game))


def moves(service: MemoryService, game: str) -> list[tuple[int, str]]:
    return [
        (line.entry.seq, str(line.entry.body["action"]))
        for line in service.games[game].lines
        if line.entry.kind == "move"
    ]


# --- the reply --------------------------------------------------------------------------------------------------------


def test_a_reply_comes_once_and_the_plan_knows_it(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    arm(bob, game, OFFER)
    assert planned_games(bob.path) == (game,)
    assert [each.made for each in run(bob)] == [()]
    offered = offer(alice, game)
    (done,) = run(bob)
    assert [(move.seq, move.line) for move in done.made] == [(6, 2)]
    assert done.made[0].action == "-" + max(offered[1:])
    assert done.ended is not None  # and then an action is due, of which it says nothing
    assert moves(service, game)[-1] == (6, done.made[0].action)
    assert not files(bob, game).armed
    assert run(bob) == []


def test_only_is_played_without_a_plan_if_it_is_wished(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    play_on((alice, bob), game, 9)
    for _ in range(40):
        for player in (alice, bob):
            position = player.position(game)
            if len(position.legal) == 1:
                assert run(player) == []
                (done,) = run(player, only=True)
                assert [(move.action, move.line) for move in done.made[:1]] == [(position.legal[0], None)]
                assert player.position(game).course.seq > position.course.seq
                return
            if position.legal:
                assert [each.made for each in run(player, only=True)] == [()]
                player.move(game, position.legal[0])
    raise AssertionError("there was always a choice")


@pytest.mark.parametrize("first", ["hand", "other home"])
def test_an_own_move_ends_the_plan(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, first: str) -> None:
    game = begin(alice, bob)
    arm(bob, game, "** : -G -F -E -D -C -B -A")
    offered = offer(alice, game)
    other = bob
    if first == "other home":
        other = LocalPlayer(service, "bob", bob.path.with_name("bob2"))
        other.path.mkdir()
        for name in ("config.json", "id_ed25519"):
            (other.path / name).write_bytes((bob.path / name).read_bytes())
        other.client.register(URL)
    other.move(game, "-" + min(offered[1:]))
    before = moves(service, game)
    (done,) = run(bob)
    assert (done.made, done.ended) == ((), "you have made entry 6 yourself")
    assert moves(service, game) == before
    assert not files(bob, game).armed


def test_the_plan_is_matched_again_when_the_game_has_moved_on(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    """Between the choice and the move another home answers, and alice moves."""
    game = begin(alice, bob)
    arm(bob, game, "** : -G -F -E -D -C -B -A\n** : only")
    offered = offer(alice, game)
    other = LocalPlayer(service, "bob", bob.path.with_name("bob2"))
    other.path.mkdir()
    for name in ("config.json", "id_ed25519"):
        (other.path / name).write_bytes((bob.path / name).read_bytes())
    other.client.register(URL)
    asked = 0

    def before(method: str, path: str) -> None:
        nonlocal asked
        asked += 1
        if asked == 2:
            service.before = lambda *_: None
            other.move(game, "-" + min(offered[1:]))
            offer(other, game, "1")

    service.before = before
    (done,) = run(bob)
    assert (done.made, done.ended) == ((), "you have made entry 6 yourself")
    assert [seq for seq, _ in moves(service, game)] == [5, 6, 7]


def test_a_move_is_made_only_after_the_head_that_it_names(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    legal, noted = alice.position(game).legal, list[object]()
    with alice.client.game(game) as held, pytest.raises(ConflictError, match="moved on"):
        held.move(legal[0], head="0" * 64, note=noted.append)
    assert (noted, moves(service, game)) == ([], [])
    assert held.vault.outbox() is None
    with alice.client.game(game) as held, pytest.raises(IllegalActionError):
        held.move("4AABB", head=held.stored().course.head, note=noted.append)
    assert noted == []


def test_a_service_that_refuses_for_no_reason_is_told_and_gets_one_entry(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    """It says that the game has moved on, and it has not. Silence would cost the player the game."""
    game = begin(alice, bob)
    armed = arm(bob, game, "** : -G -F -E -D -C -B -A")
    offer(alice, game)
    refereed, lines = service.games[game].refereed, list(service.games[game].lines)
    last = lines[-1].entry

    def refuse(_method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        if not path.endswith("/entries"):
            return answer
        service.games[game].refereed, service.games[game].lines = refereed, list(lines)
        problem = {"code": "conflict", "game": game, "seq": last.seq, "head": last.head, "detail": "no", "status": 409}
        return HttpAnswer(409, json.dumps(problem).encode())

    service.tamper = refuse
    asked = len(service.requests)
    (done,) = run(bob)
    assert [path for method, path in service.requests[asked:] if method == "POST"] == [f"/v1/games/{game}/entries"]
    assert isinstance(done.error, TrustError)
    assert "refuses what follows entry 5" in str(done.error)
    kept = files(bob, game).read(Hanamikoji())
    assert kept is not None
    assert (kept.head, len(kept.made)) == (armed.head, 1)
    service.tamper = lambda _method, _path, answer: answer
    assert [move.seq for move in run(bob)[0].made] == [6]


@pytest.mark.parametrize(("clock", "wait"), [("none", 3600), ("3d", 3600), ("1h", 900), ("2m", 60)])
def test_a_move_that_was_refused_is_tried_again_later(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService, clock: str, wait: int
) -> None:
    game = begin(alice, bob, agreement=Agreement(parse_time_control(clock), None, rated=False))
    arm(bob, game, "** : -G -F -E -D -C -B -A")
    offer(alice, game)
    problem = json.dumps({"code": "forbidden", "detail": "no", "status": 403}).encode()

    def refuse(_method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        return HttpAnswer(403, problem) if path.endswith("/entries") else answer

    def tries() -> int:
        return sum(method == "POST" and path.endswith("/entries") for method, path in service.requests)

    now = [AT]
    runner = PlanRunner(bob.client, delay=NOW, now=lambda: now[0])
    kept, service.tamper = service.games[game], refuse
    before_it = (kept.refereed, list(kept.lines))
    before = tries()
    assert isinstance(runner.look(game).error, ForbiddenError)
    kept.refereed, kept.lines = before_it
    for seconds in (wait // 2, wait - 1):
        now[0] = add_seconds(AT, seconds)
        found = runner.look(game)
        assert (found.made, found.error, found.due) == ((), None, add_seconds(AT, wait))
    assert tries() == before + 1
    service.tamper = lambda _method, _path, answer: answer
    now[0] = add_seconds(AT, wait)
    assert [move.seq for move in runner.look(game).made] == [6]


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "delay"),
    [("0", NOW), ("10m..3h", USUAL_DELAY), ("1h", Delay(3600, 3600)), ("0..1m30s", Delay(0, 90))],
)
def test_delays_are_read(text: str, delay: Delay) -> None:
    assert parse_delay(text) == delay
    assert delay.text == text


@pytest.mark.parametrize("text", ["", "1", "3h..10m", "10m..", "..1h", "1m..2m..3m", "-1m", "ten"])
def test_other_delays_are_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_delay(text)
    assert caught.value.hint


def test_the_time_of_a_reply_is_drawn_once_and_kept(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    arm(bob, game, OFFER)
    run(bob, USUAL_DELAY)
    assert files(bob, game).due() is None  # it is not bob's turn
    offer(alice, game)
    (first,) = run(bob, USUAL_DELAY, seed=1)
    assert first.due is not None
    assert 600 <= parse_time(first.due) - parse_time(AT) <= 10_800
    for seed in range(2, 6):  # restarts
        assert run(bob, USUAL_DELAY, add_seconds(AT, seed), seed=seed) == [first]
    assert run(bob, USUAL_DELAY, add_seconds(first.due, -1)) == [first]
    assert len(moves(service, game)) == 1
    (done,) = run(bob, USUAL_DELAY, first.due)
    assert [move.seq for move in done.made] == [6]


def test_a_shorter_delay_brings_a_reply_forward(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    arm(bob, game, OFFER)
    offer(alice, game)
    (late,) = run(bob, Delay(7200, 7200))
    assert late.due == add_seconds(AT, 7200)
    (sooner,) = run(bob, Delay(60, 60))
    assert sooner.due == add_seconds(AT, 60)
    assert run(bob, Delay(7200, 7200)) == [sooner]
    assert run(bob, NOW)[0].made


@pytest.mark.parametrize(
    ("clock", "least", "most"),
    [("1h", 600, 1800), ("30m", 450, 900), ("10s", 2, 5), ("30d", 600, 10_800), ("none", 600, 10_800)],
)
def test_a_reply_leaves_half_of_the_time(
    alice: LocalPlayer, bob: LocalPlayer, clock: str, least: int, most: int
) -> None:
    """The time stays random, however short the clock is: always half of it would show that the reply was planned."""
    agreement = Agreement(parse_time_control(clock), None, rated=False)
    game = begin(alice, bob, agreement=agreement)
    arm(bob, game, OFFER)
    offer(alice, game)
    waits = set()
    for seed in range(12):
        (bob.folder(game) / "reply.json").unlink(missing_ok=True)
        (found,) = run(bob, USUAL_DELAY, seed=seed)
        assert found.due is not None
        waits.add(parse_time(found.due) - parse_time(AT))
    assert least <= min(waits) < max(waits) <= most


def test_after_the_deadline_a_reply_is_tried_at_once(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob, agreement=Agreement(parse_time_control("10s"), None, rated=False))
    arm(bob, game, OFFER)
    offer(alice, game)
    (found,) = run(bob, USUAL_DELAY, add_seconds(AT, 100))
    assert found.made or found.error


def test_when_a_reply_is_due_does_not_depend_on_cards_or_plans(alice: LocalPlayer, bob: LocalPlayer) -> None:
    """The time is drawn before the plan is looked at: for any plan, and any hand, it is the same draw."""
    dues = set()
    for number, text in enumerate((OFFER, "** : only", "3* : -A\n4* : only", "3CCD : -C\n** : 1A")):
        game = begin(alice, bob)
        arm(bob, game, text)
        offer(alice, game)
        run(bob, USUAL_DELAY, seed=7)
        kept = files(bob, game).due()
        assert isinstance(kept, DueReply), number
        dues.add(kept.due)
        files(bob, game).drop()
    assert len(dues) == 1


# --- what stays here --------------------------------------------------------------------------------------------------


def test_a_plan_never_leaves(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    """The requests are the same with and without a plan, up to the move itself."""
    game = begin(alice, bob)
    offer(alice, game)
    asked = len(service.requests)
    with bob.client.game(game) as held:
        held.current()
    look = service.requests[asked:]
    asked = len(service.requests)
    arm(bob, game, "** : -G -F -E -D -C -B -A")
    run(bob)
    sent = service.requests[asked:]
    assert [each for each in sent if each[0] == "POST" and each[1].endswith("/entries")] == [
        ("POST", f"/v1/games/{game}/entries")
    ]
    assert {path.partition("?")[0] for _, path in sent} <= {
        *(path.partition("?")[0] for _, path in look),
        f"/v1/games/{game}/entries",
        f"/v1/games/{game}/view",
        f"/v1/games/{game}/log",
    }
    bodies = b"".join(body or b"" for body in service.bodies[asked:])
    assert b"-G -F" not in bodies
    assert b"plan" not in bodies


def test_a_damaged_plan_is_an_error_and_plays_nothing(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    arm(bob, game, OFFER)
    offer(alice, game)
    for damage in ("{", "[]", '{"plan": "3* : -G"}', '{"plan":"x","seq":4,"round":1,"head":"","made":[]}'):
        files(bob, game).file.write_text(damage)
        (done,) = run(bob)
        assert isinstance(done.error, StorageError), damage
        assert len(moves(service, game)) == 1
    files(bob, game).file.unlink()
    arm(bob, game, "** : -G -F -E -D -C -B -A")
    (bob.folder(game) / "reply.json").write_text('{"head": 1, "due": "soon"}')
    (done,) = run(bob)
    assert isinstance(done.error, StorageError)
    assert len(moves(service, game)) == 1


def test_an_error_in_one_game_does_not_stop_the_others(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    games = [begin(alice, bob) for _ in range(2)]
    for game in games:
        arm(bob, game, "** : -G -F -E -D -C -B -A")
        offer(alice, game)

    def fail(method: str, path: str) -> None:
        if games[0] in path:
            raise NetworkError(URL, "it broke")

    service.before = fail
    found = {each.game: each for each in run(bob)}
    assert isinstance(found[games[0]].error, NetworkError)
    assert found[games[1]].made
    service.before = lambda *_: None
    assert [bool(each.made) for each in run(bob)] == [True]


# --- warnings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES[:2], ids=[game.name for game in GAMES[:2]])
def test_a_move_with_a_warning_is_never_legal_in_the_round(alice: LocalPlayer, bob: LocalPlayer, game: Any) -> None:
    """Of all actions of random games, those with a warning are never among bob's legal moves up to the round's end."""
    warned = 0
    for seed in range(2):
        rng = random.Random(seed)
        id_ = begin(alice, bob, game.rulesets[0])
        doubtful: dict[str, set[str]] = {}
        while (position := bob.position(id_)).course.state.round == 1 and not position.over:
            round_, legal = position.course.state.round, position.legal
            for moves_ in doubtful.values():
                assert not moves_ & set(legal)
            ruleset = position.course.setup.ruleset
            kinds = ruleset.pack.kinds
            names = [each for each in ruleset.action_names if each in "123RIG"]
            sizes = {"1": 1, "2": 2, "3": 3, "R": 1, "I": 2, "G": 3}
            texts = {name + "".join(rng.sample(kinds, sizes[name])) for name in names for _ in range(12)}
            plan = parse_plan(f"** : {' '.join(sorted(texts))}", ruleset)
            found = plan_warnings(plan, position)
            doubtful[position.course.head] = {
                action for action in plan.lines[0].choices if any(f" {action} will not" in each for each in found)
            }
            warned += len(found)
            assert round_ == 1
            play_on((alice, bob), id_, 1, rng.randrange(1000))
    assert warned > 20


def test_a_card_that_may_be_drawn_is_no_reason_for_a_warning(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob, Hanamikoji())
    position = bob.position(game)
    missing = [kind for kind in "ABCDEFG" if kind not in position.hand]
    held = position.hand[0]
    plan = parse_plan(f"** : 2{held}{missing[0]}", position.course.setup.ruleset)
    assert plan_warnings(plan, position) == ()
    none = parse_plan(f"** : 3{held}{missing[0]}{missing[0]}", position.course.setup.ruleset)
    assert plan_warnings(none, position) == ()  # four draws are to come


# --- beside something else --------------------------------------------------------------------------------------------


def test_a_thread_plays_when_it_is_told_of_an_entry(
    alice: LocalPlayer, bob: LocalPlayer, service: MemoryService
) -> None:
    game = begin(alice, bob)
    found: list[PlanRun] = []
    other = bob.client
    with PlanThread(other, PlanRunner(other, delay=NOW, now=lambda: AT), found.append) as thread:
        arm(bob, game, "** : -G -F -E -D -C -B -A")
        offer(alice, game)
        bob.position(game)
        thread.notice(game)
        until(lambda: bool(found))
    assert [move.seq for move in found[0].made] == [6]
    assert [seq for seq, _ in moves(service, game)] == [5, 6]


def test_two_runs_at_the_same_time_make_one_move(alice: LocalPlayer, bob: LocalPlayer, service: MemoryService) -> None:
    game = begin(alice, bob)
    arm(bob, game, "** : -G -F -E -D -C -B -A")
    offer(alice, game)
    done = at_the_same_time({number: lambda: run(bob) for number in range(4)})
    made = [move for each in done.values() for found in each.result() for move in found.made]
    assert [move.seq for move in made] == [6]
    assert [seq for seq, _ in moves(service, game)] == [5, 6]


# --- trials -----------------------------------------------------------------------------------------------------------


def test_a_trial_says_what_cannot_happen(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    armed = arm(bob, game, OFFER)
    position = bob.position(game)
    unseen = [kind for kind in "ABCDEFG" if kind not in position.hand]
    offered = "3" + "".join(sorted((unseen * 3)[:3]))
    trial = try_plan(armed, position, [offered])
    assert [(each.seen, each.choice.action) for each in trial.moves] == [((offered,), f"-{max(offered[1:])}")]
    # An own card is drawn then, of which the plan says nothing.
    kinds = {kind: copies for kind, copies in zip("ABCDEFG", (2, 2, 2, 3, 3, 4, 5), strict=True) if copies > 3}
    drawn = next(kind for kind, n in kinds.items() if (position.hand + offered).count(kind) < n)
    after = try_plan(armed, position, [offered, f"+{drawn}"])
    assert after.moves == trial.moves
    assert after.ended is not None
    waits = try_plan(armed, position, [])
    assert (waits.moves, waits.seen, waits.ended) == ((), (), None)
    none = try_plan(armed, position, ["1X"])
    assert none.ended == "no line fits what has happened"
    for words, error in ((["-C"], IllegalActionError), (["+A"], IllegalError), ([offered, offered], HkojiError)):
        with pytest.raises(error):
            try_plan(armed, position, words)
    copies = dict(zip("ABCDEFG", (2, 2, 2, 3, 3, 4, 5), strict=True))
    most = {kind: copies[kind] - position.hand.count(kind) for kind in position.hand}
    kind, n = next(each for each in most.items() if each[1] < 3)
    other = next(each for each in "FG" if each != kind)
    token = "3" + "".join(sorted(kind * (n + 1) + other * (2 - n)))
    with pytest.raises(IllegalError, match=f"{token} cannot be seen next: there would be more copies of a card"):
        try_plan(armed, position, [token])
    assert stand(armed, bob.position(game)).ended is None


@pytest.mark.parametrize("game", GAMES[:2], ids=[game.name for game in GAMES[:2]])
def test_a_trial_ends_with_the_round_as_the_plan_does(alice: LocalPlayer, bob: LocalPlayer, game: Any) -> None:
    """The last move of a round is the plan's own for one player, and seen by the other."""
    id_ = begin(alice, bob, game.rulesets[0])
    while True:
        before = [(player, player.position(id_)) for player in (alice, bob)]
        mover, action = next((player, position.legal[0]) for player, position in before if position.legal)
        mover.move(id_, action)
        after = bob.position(id_)
        if after.course.state.round > 1 or after.over:
            break
    ruleset = after.course.setup.ruleset
    for player, position in before:
        seq, text = position.course.seq, f"** : {action if player is mover else 'only'}"
        armed = ArmedPlan(parse_plan(text, ruleset), seq, position.course.head, 1)
        trial = try_plan(armed, position, [] if player is mover else [ruleset.public(action)])
        assert [each.choice.action for each in trial.moves] == ([action] if player is mover else [])
        made = armed._replace(made=(after.replay.steps[seq + 1].entry.head,))
        assert trial.ended == "the round is over"
        assert stand(made, player.position(id_)).ended == ("the game is over" if after.over else "the round is over")
