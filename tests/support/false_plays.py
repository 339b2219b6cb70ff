"""Games in which bob plays cards that he does not hold, the service takes them, and alice is honest."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

from hkoji.game import entry_kinds
from hkoji.game.course import Stage
from hkoji.game.knowledge import SpectatorKnowledge
from hkoji.game.replay import public_knowledge, replay
from hkoji.rules.cards import Cards, Pack, put
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.actions import PACK
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from tests.support.table import Table, new_game, whole_game

DEAL = ("9bf9c4c1d6a24a0c8d0d7bd5fb2c1e77", "5e" * 32)
RULESETS: tuple[Ruleset, ...] = (Hanamikoji("random", 1, "charm"), Hanamikoji(), GeishasRoad("random", "random"))


def falsely_played(seed: int, *, deal: tuple[str, str] | None = DEAL, ends: bool = True) -> Table:
    """A game in which bob acts from hands that he invents; if it `ends`, an `end` opens all cards.

    It stops where the plays exclude each other for everybody to see. Alice always plays from the hand that the deal
    gave her.
    """
    rng = random.Random(seed)
    table = new_game(seed, rng.choice(RULESETS), deal)
    last = rng.randrange(4, 40)

    def invented(pack: Pack, hand: Cards) -> Cards:
        return pack.encode(rng.sample([kind for _, kind in pack.deck()], pack.count(hand)))

    while table.course.stage is Stage.PLAY and len(table.lines) < 10 + last and _fits(table, opened=False):
        invents = table.course.actor == 1 and table.course.state.due is Due.ACT
        if invents:
            _give(table, invented)
        table.play(1)
        if invents:  # a hand with more copies of a card than there are could not be counted
            _give(table, Pack.hide)
    if ends and table.course.stage is Stage.PLAY:
        table.send(table.entry(rng.randrange(2), entry_kinds.Resign()))
    return table


def excluding(*, deal: tuple[str, str] | None = DEAL, opened: bool, least: int = 0) -> Table:
    """The first such game, from seed `least` on, in which plays exclude each other.

    `opened` says that only the cards that the `end` opens show it; else the entries before show it.
    """
    for seed in range(least, least + 1000):
        table = falsely_played(seed, deal=deal, ends=deal is not None)
        if not _fits(table, opened=True) and _fits(table, opened=False) is opened:
            return table
    raise AssertionError("there is no such game")


def traded_off(*, first: bool = True) -> tuple[Table, int, str]:
    """A game with its seed unopened in which bob trades off two cards of a kind that he has not; its entry, the cards.

    Alice plays all copies of that card openly, after him if he is the `first`, else before.
    """
    for seed in range(400):
        table = whole_game(seed, Hanamikoji("guest", 1, "charm"), DEAL)
        moves = [line.entry for line in table.lines if line.entry.kind == "move"]
        number = next(entry.seq for entry in moves if entry.by == "bob" and entry.body["action"] == "2XX")
        hers = [entry for entry in moves if entry.by == "alice" and (entry.seq > number) is first]
        actions = [str(entry.body["action"]) for entry in hers]
        shown = "".join(action[1:] for action in actions if action[0] in "34")
        for card, copies in zip(PACK.kinds, PACK.copies, strict=True):
            if shown.count(card) == copies:
                return table, number, 2 * card
    raise AssertionError("there is no such game")


def _give(table: Table, other: Callable[[Pack, Cards], Cards]) -> None:
    """Puts another hand of as many cards into bob's place; the service lets him play from it."""
    state = cast("Any", table.course.state)  # Any: the position of either game
    hand = other(table.ruleset.pack, state.hands[1])
    course = table.course._replace(state=state._replace(hands=put(state.hands, 1, hand)))
    table.refereed = table.refereed._replace(course=course)


def _fits(table: Table, *, opened: bool) -> bool:
    """Whether the plays go together for a spectator, perhaps with the cards that the log has opened."""
    known = public_knowledge(table.lines) if opened else SpectatorKnowledge()
    return replay(table.lines, known).stop is None
