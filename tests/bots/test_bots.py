"""Laws of every bot at every game: decisions are legal, repeatable, and independent of what the seat cannot know.
A watcher sees what the fold of all events would.
"""

from __future__ import annotations

import random
import subprocess
import sys
from functools import cache

import pytest

from hkoji.bots.protocol import Bot, Watcher, see
from hkoji.bots.registry import BOTS, BRAINS, make_bot
from hkoji.errors import UsageError
from hkoji.rules.events import SEATS, Event
from hkoji.rules.protocol import DECISION_DUE, DECISION_KINDS, Due, Ruleset, State
from tests.support.bot_positions import Position, positions
from tests.support.plays import whole_plays
from tests.support.redistribution import redistribute
from tests.support.rules import GAMES, Game, every_game, next_event

PAIRS = [
    pytest.param(name, game, id=f"{name}-{game.name}")
    for name in sorted(BOTS)
    if name != "search:hard"  # another name for `search`
    for game in GAMES
    if name == "random" or (name.split(":")[0], game.name) in BRAINS
]
KNOWN = [game for game in GAMES if ("greedy", game.name) in BRAINS]
MOST = 60
"""The number of positions in which a quick bot decides."""
every_bot_and_game = pytest.mark.parametrize(("name", "game"), PAIRS)


@cache
def known_positions(game: Game, number: int) -> tuple[Position, ...]:
    """The positions in which every bot decides."""
    return tuple(positions(game, 1, number))


@cache
def decided(name: str, game: Game, number: int) -> str:
    """A bot's decision in a position, for all laws. The bot's seed is the number."""
    bot = make_bot(name, number)
    decision = bot.decide(known_positions(game, MOST)[number].seen)
    bot.close()
    return decision


@every_bot_and_game
def test_a_bot_plays_what_is_legal(name: str, game: Game) -> None:
    for number in range(8 if name.startswith("search") else MOST):
        assert decided(name, game, number) in known_positions(game, MOST)[number].state.legal_actions()


@every_bot_and_game
def test_the_same_seed_gives_the_same_play(name: str, game: Game) -> None:
    for number, position in enumerate(known_positions(game, MOST)[:4]):
        assert make_bot(name, number).decide(position.seen) == decided(name, game, number)


@every_bot_and_game
def test_a_decision_depends_only_on_what_is_seen(name: str, game: Game) -> None:
    """With other hidden cards and the same information, the bot decides the same."""
    chance = random.Random(5)
    for number, position in enumerate(known_positions(game, MOST)[: 4 if name.startswith("search") else 20]):
        other = redistribute(position.ruleset, position.events, position.state.actor, chance)
        same = make_bot(name, number).decide(position.seen_after(other))
        assert same == decided(name, game, number)


def test_making_a_bot_does_not_import_the_models_of_games() -> None:
    code = "import sys, hkoji.bots.registry as r; r.make_bot('search', 1); print(sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "hkoji.bots.registry" in modules
    assert "hkoji.bots.hanamikoji" not in modules
    assert "hkoji.bots.geishas_road" not in modules


def play(ruleset: Ruleset, bots: tuple[Bot, Bot], seed: int, most_rounds: int = 20) -> State:
    """A complete game between two bots, the cards by the seed."""
    chance = random.Random(seed)
    state: State = ruleset.initial()
    events: list[Event] = []
    while state.due is not Due.OVER and not (state.due is Due.DEAL and state.round == most_rounds):
        if state.due in DECISION_DUE:
            assert state.actor is not None
            action = bots[state.actor].decide(see(ruleset, events, state.actor))
            event: Event = DECISION_KINDS[state.due](state.actor, action)
        else:
            event = next_event(ruleset, events, state, chance)
        state = state.apply(event)
        events.append(event)
    return state


@pytest.mark.parametrize("game", KNOWN, ids=[game.name for game in KNOWN])
@pytest.mark.parametrize(
    ("stronger", "weaker", "deals", "least"), [("greedy", "random", 12, 18), ("search:normal", "greedy", 2, 3)]
)
def test_the_stronger_bot_wins(stronger: str, weaker: str, deals: int, least: int, game: Game) -> None:
    """Plays some deals with the game's default options, each from both seats. Fixed seeds give a fixed result."""
    won = 0
    for seed in range(deals):
        for seat in SEATS:
            rivals = make_bot(stronger, seed), make_bot(weaker, seed)
            state = play(game.rulesets[0], rivals if seat == 0 else (rivals[1], rivals[0]), seed)
            won += state.outcome is not None and state.outcome.winner == seat
    assert won >= least


def test_a_game_that_a_bot_does_not_know_is_refused() -> None:
    strange = [game for game in GAMES if ("greedy", game.name) not in BRAINS]
    for game in strange:
        position = positions(game, 3, 1)[0]
        with pytest.raises(UsageError, match=game.name):
            make_bot("greedy", 1).decide(position.seen)
    assert {game.name for game in KNOWN} == {"hanamikoji", "geishas-road"}


def test_an_unknown_bot_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        make_bot("deep-thought", 1)
    assert "greedy" in str(caught.value.hint)


# --- watchers ---------------------------------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("size", range(1, 6))
def test_watching_is_folding(game: Game, size: int) -> None:
    """Regardless of how many events come at a time."""
    whole = whole_plays(game)[size]
    for seat in (0, 1):
        watcher = Watcher(whole.ruleset, seat)
        assert watcher.seen == see(whole.ruleset, (), seat)
        for start in range(0, len(whole.events), size):
            watcher.watch(whole.events[start : start + size])
            assert watcher.seen == see(whole.ruleset, whole.events[: start + size], seat)
