"""A rematch that both ask for: exactly one game goes on, however the two clients fall between each other.

docs/cli.md, "Rematches and series". The service is the real one, in this process.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from hkoji.client.rematch import FOUND, JOINED, OPENED, Rematch, Rematches
from hkoji.errors import ForbiddenError, HkojiError, IllegalError
from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.game.course import Course
from hkoji.game.entry_kinds import Invite
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.interleaved_players import SteppedPlayer, interleave, stepped_player
from tests.support.service_in_process import Inside, inside

TERMS = Agreement(parse_time_control("3d/14d"), rated=True)
MONTH = 30 * 86400
STEPS = (1, 5, 6, 7, 12)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data", cached_games=50) as service:
        yield service


@pytest.fixture
def alice(service: Inside, tmp_path: Path) -> SteppedPlayer:
    return stepped_player(service, "alice", tmp_path)


@pytest.fixture
def bob(service: Inside, tmp_path: Path) -> SteppedPlayer:
    return stepped_player(service, "bob", tmp_path)


def over(alice: SteppedPlayer, bob: SteppedPlayer, ruleset: Ruleset | None = None, agreement: Agreement = TERMS) -> str:
    """A game of alice and bob that bob has given up."""
    game = alice.client.new(ruleset or Hanamikoji(), None, agreement).game
    bob.join(game)
    alice.position(game)
    bob.resign(game)
    return game


def rematch(player: SteppedPlayer, game: str, agree: Callable[[Course], None] = lambda _: None) -> Rematch:
    """`hkoji rematch`."""
    return Rematches(player.client, player.pause).make(game, MONTH, agree)


def both(alice: SteppedPlayer, bob: SteppedPlayer, game: str) -> dict[str, tuple[SteppedPlayer, Callable[[], Rematch]]]:
    return {player.name: (player, partial(rematch, player, game)) for player in (alice, bob)}


def made_of(player: SteppedPlayer, game: str) -> dict[str, str]:
    """The statuses of all rematches of a game, by id, as the service has them."""
    listed = player.client.games(everybody=True)
    return {each["game"]: each["status"] for each in listed if each["agreement"]["rematch"] == game}


def verify(alice: SteppedPlayer, bob: SteppedPlayer, game: str) -> str:
    """Checks that exactly one rematch goes on, and none is open; returns it. The other player starts in it."""
    made = made_of(alice, game)
    (going,) = (each for each, status in made.items() if status == "playing")
    assert Counter(made.values()) == Counter({"playing": 1, "cancelled": len(made) - 1}) - Counter()
    before = alice.position(game).course.setup
    for player in (alice, bob, alice):  # both reveal their entropy
        after = player.position(going).course
    setup = after.setup
    assert setup.agreement._replace(expires=None) == before.agreement._replace(expires=None, rematch=game)
    assert setup.agreement.expires is not None
    first = {"host": 0, "guest": 1}
    options, later = before.ruleset.to_json(), setup.ruleset.to_json()
    if options["first"] == "random":
        assert later == options
    else:
        assert {**later, "first": None} == {**options, "first": None}
        assert setup.names[first[str(later["first"])]] != before.names[first[str(options["first"])]]
    return going


# --- one after the other ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ruleset", [Hanamikoji("host"), Hanamikoji("guest", 3), Hanamikoji("random"), GeishasRoad("guest", "random")]
)
@pytest.mark.parametrize("asks", ["host", "guest"])
def test_one_asks_and_the_other_joins(alice: SteppedPlayer, bob: SteppedPlayer, ruleset: Ruleset, asks: str) -> None:
    game = over(alice, bob, ruleset)
    asker, other = (alice, bob) if asks == "host" else (bob, alice)
    opened = rematch(asker, game)
    setup = opened.position.course.setup
    assert (opened.how, opened.cancelled, opened.position.seat) == (OPENED, (), 0)
    assert setup.invite == Invite(other.name, alice.position(game).course.setup.keys[0 if other is alice else 1])
    again = rematch(asker, game)
    assert (again.how, again.position.game) == (FOUND, opened.position.game)
    shown: list[str] = []
    joined = rematch(other, game, lambda course: shown.append(course.setup.game))
    assert (joined.how, joined.position.game) == (JOINED, opened.position.game)
    assert shown == [opened.position.game]  # before anything was signed
    assert verify(alice, bob, game) == opened.position.game
    for player in (alice, bob):
        found = rematch(player, game)
        assert (found.how, found.position.game) == (FOUND, opened.position.game)
    assert made_of(alice, game) == {opened.position.game: "playing"}


def test_a_rematch_that_is_over_is_named_and_no_second_one_made(alice: SteppedPlayer, bob: SteppedPlayer) -> None:
    game = over(alice, bob)
    second = rematch(alice, game).position.game
    rematch(bob, game)
    alice.resign(second)
    for player in (alice, bob):
        with pytest.raises(IllegalError) as raised:
            rematch(player, game)
        assert second[:8] in str(raised.value)
        assert f"hkoji rematch {second[:8]}" in raised.value.hint
    assert made_of(alice, game) == {second: "finished"}
    assert rematch(bob, second).how == OPENED


def test_a_cancelled_rematch_makes_room_for_another(alice: SteppedPlayer, bob: SteppedPlayer, service: Inside) -> None:
    game = over(alice, bob)
    first = rematch(alice, game).position.game
    alice.cancel(first)
    second = rematch(bob, game)
    assert (second.how, second.position.game != first) == (OPENED, True)
    rematch(alice, game)
    for player in (alice, bob, alice, bob):  # both reveal their entropy
        player.position(second.position.game)
    for player in (alice, bob):
        with player.client.game(second.position.game) as held:
            held.time.annul()
    third = rematch(alice, game)
    assert third.how == OPENED
    assert made_of(bob, game) == {
        first: "cancelled", second.position.game: "cancelled", third.position.game: "open"
    }  # fmt: skip
    service.clock.pass_by(MONTH + 1)  # it has expired, whether or not the service has said so yet
    with pytest.MonkeyPatch.context() as patched:
        later = service.clock.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        patched.setattr("hkoji.client.service.utc_now", lambda: later)
        fourth = rematch(bob, game)
    assert (fourth.how, fourth.position.game != third.position.game) == (OPENED, True)


# --- what is refused --------------------------------------------------------------------------------------------------


def refused(player: SteppedPlayer, game: str, error: type[HkojiError], says: str) -> None:
    """Checks that a rematch is refused, and that nothing has come of it."""
    with pytest.raises(error, match=says) as raised:
        rematch(player, game)
    assert raised.value.hint
    assert made_of(player, game) == {}


def test_only_a_player_of_a_game_that_is_over_and_was_joined_has_a_rematch(
    alice: SteppedPlayer, bob: SteppedPlayer, service: Inside, tmp_path: Path
) -> None:
    carol = stepped_player(service, "carol", tmp_path)
    refused(carol, over(alice, bob), ForbiddenError, "you are not a player")
    going = alice.client.new(Hanamikoji(), None, TERMS).game
    refused(alice, going, IllegalError, "not over")
    bob.join(going)
    refused(bob, going, IllegalError, "not over")
    alone = alice.client.new(Hanamikoji(), Invite("bob"), TERMS).game
    alice.cancel(alone)
    refused(alice, alone, IllegalError, "nobody joined")


@pytest.mark.parametrize(
    ("ruleset", "agreement"),
    [
        (Hanamikoji("host"), TERMS),  # the one who started first would start again
        (Hanamikoji("guest", 3), TERMS),
        (Hanamikoji("guest"), Agreement(parse_time_control("3d"), rated=True)),
        (Hanamikoji("guest"), TERMS._replace(rated=False)),
    ],
)
def test_a_rematch_with_other_terms_is_not_joined(
    alice: SteppedPlayer, bob: SteppedPlayer, ruleset: Ruleset, agreement: Agreement
) -> None:
    game = over(alice, bob)
    other = alice.client.new(ruleset, Invite("bob"), agreement._replace(rematch=game)).game
    with pytest.raises(IllegalError, match="other rules or another clock") as raised:
        rematch(bob, game)
    assert f"hkoji join {other[:8]}" in raised.value.hint
    assert made_of(bob, game) == {other: "open"}
    assert not [name for name in ("outbox.json", "own.jsonl") if (bob.path / "games" / other / name).exists()]


def test_games_of_others_are_no_rematch(
    alice: SteppedPlayer, bob: SteppedPlayer, service: Inside, tmp_path: Path
) -> None:
    """Anybody can open a game that names another game as the one before."""
    carol, game = stepped_player(service, "carol", tmp_path), over(alice, bob)
    false = carol.client.new(Hanamikoji("guest"), Invite("bob"), TERMS._replace(rematch=game)).game
    public = alice.client.new(Hanamikoji("guest"), None, TERMS._replace(rematch=game)).game
    opened = rematch(bob, game)
    assert opened.how == OPENED
    assert made_of(bob, game) == {false: "open", public: "open", opened.position.game: "open"}


# --- both at once -----------------------------------------------------------------------------------------------------


def test_of_two_made_at_once_the_larger_id_is_cancelled(alice: SteppedPlayer, bob: SteppedPlayer) -> None:
    """Step by step in turns, so that each looks before either has opened one."""
    for _ in range(3):
        game, turns = over(alice, bob), iter(["alice", "bob"] * 500)
        results = interleave(random.Random(0), both(alice, bob, game), order=partial(_next, turns))
        made = made_of(alice, game)
        going = verify(alice, bob, game)
        assert len(made) == 2
        assert going == min(made)
        assert {each.position.game for each in results.values() if isinstance(each, Rematch)} == {going}
        alice.resign(going)


def _next(turns: Iterator[str], waiting: list[str]) -> str:
    return next(name for name in turns if name in waiting)


def test_exactly_one_goes_on_in_every_interleaving(alice: SteppedPlayer, bob: SteppedPlayer) -> None:
    made = Counter[int]()
    for seed in range(SEEDS):
        rng = random.Random(seed)
        game = over(alice, bob)
        interleave(rng, both(alice, bob, game), order=_in_bursts(rng))
        made[len(made_of(alice, game))] += 1
        going = verify(alice, bob, game)
        bob.resign(going)
    assert set(made) == {1, 2}  # both ways of coming together are among them


def test_also_where_commands_are_killed_and_given_again(alice: SteppedPlayer, bob: SteppedPlayer) -> None:
    for seed in range(SEEDS):
        rng = random.Random(1000 + seed)
        game = over(alice, bob)
        interleave(rng, both(alice, bob, game), order=_in_bursts(rng), kills=0.06)
        going = verify(alice, bob, game)
        bob.resign(going)


SEEDS = 10


def _in_bursts(rng: random.Random) -> Callable[[list[str]], str]:
    """Lets a player make some requests before the other one goes on: so one may be done before the other begins."""
    last, left = "", 0

    def choose(waiting: list[str]) -> str:
        nonlocal last, left
        if left == 0 or last not in waiting:
            last, left = rng.choice(waiting), rng.choice((1, 2, 5, 20, 70))
        left -= 1
        return last

    return choose


def test_wherever_the_host_of_the_larger_id_stands_still_exactly_one_goes_on(
    alice: SteppedPlayer, bob: SteppedPlayer
) -> None:
    """The other client waits a little, and joins. The slow one comes too late, and joins nothing."""
    chosen = Counter[str]()
    for steps in STEPS:
        game = over(alice, bob)
        opened = {
            host.client.new(ruleset, Invite(guest.name), TERMS._replace(rematch=game), expires_in=MONTH).game: host
            for host, guest, ruleset in ((alice, bob, Hanamikoji("guest")), (bob, alice, Hanamikoji("host")))
        }
        slow, quick = opened[max(opened)], opened[min(opened)]
        turns, sent = [slow.name] * steps, quick.sent

        def choose(
            waiting: list[str], slow: str = slow.name, quick: SteppedPlayer = quick, turns: list[str] = turns,
            sent: int = sent,
        ) -> str:  # fmt: skip
            if turns and slow in waiting:
                return turns.pop()
            wanted = quick.name if quick.sent == sent else slow  # until the quick one has joined
            return wanted if wanted in waiting else waiting[0]

        interleave(random.Random(0), both(alice, bob, game), order=choose)
        going = verify(alice, bob, game)
        chosen["smaller" if going == min(opened) else "larger"] += 1
        bob.resign(going)
    assert set(chosen) == {"smaller", "larger"}
