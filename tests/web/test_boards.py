"""Boards of pages show each card of the table once, and nothing that the observer of the position cannot know."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hkoji_server.web import board_geishas_road, board_hanamikoji
from hkoji_server.web.board_geishas_road import RoadTable
from hkoji_server.web.board_hanamikoji import HanamikojiTable

from hkoji.game.position import Position, read_position, studied_position
from hkoji.game.replay import Replay
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from hkoji.study.stops import ALL, EVERY, SPECTATOR, Eyes, see
from tests.support.redistribution import replayed, retold

Table = HanamikojiTable | RoadTable
RULESETS: tuple[Ruleset, ...] = (
    Hanamikoji(),
    Hanamikoji("random", 3, "charm"),
    GeishasRoad(),
    GeishasRoad("random", "random"),
)
every_ruleset = pytest.mark.parametrize("ruleset", RULESETS, ids=str)
TABLES: dict[str, Callable[[Position, int], Table]] = {
    "hanamikoji": board_hanamikoji.board_context,
    "geishas-road": board_geishas_road.board_context,
}


def positions(seen: Replay, eyes: Eyes) -> Iterator[Position]:
    for n in range(1, len(seen.steps) + 1):
        part = Replay(seen.steps[:n])
        yield read_position(part, None) if eyes is SPECTATOR else studied_position(part, eyes.seat)


def tables(seen: Replay, eyes: Eyes, near: int = 0) -> list[Table]:
    return [TABLES[each.course.setup.ruleset.name](each, near) for each in positions(seen, eyes)]


def cards_of(table: Table) -> Counter[str]:
    found = Counter((*table.deck, *table.aside))
    for strip in (table.near, table.far):
        found.update(strip.hand)
        for sign in strip.signs:
            found.update(sign.down)
    for column in table.columns:
        found.update(slip.card for slip in (*column.near, *column.far))
    for group in table.offer:
        found.update(group)
    return found


@every_ruleset
@pytest.mark.parametrize("eyes", EVERY, ids=lambda eyes: eyes.word)
def test_each_card_of_the_table_is_on_the_board_once(ruleset: Ruleset, eyes: Eyes) -> None:
    seen = see(replayed(1, ruleset), eyes)
    copies = dict(zip(ruleset.pack.kinds, ruleset.pack.copies, strict=True))
    for position, near, far in zip(positions(seen, eyes), tables(seen, eyes), tables(seen, eyes, 1), strict=True):
        state = position.course.state
        found = cards_of(near)
        assert found == cards_of(far)
        assert found.total() == (ruleset.pack.size if state.round else 0)
        assert all(number <= copies[name] for name, number in found.items() if name != UNKNOWN)


@every_ruleset
@pytest.mark.parametrize("eyes", [each for each in EVERY if each is not ALL], ids=lambda eyes: eyes.word)
def test_a_board_depends_on_nothing_hidden(ruleset: Ruleset, eyes: Eyes) -> None:
    full = replayed(2, ruleset)
    here = tables(see(full, eyes), eyes)
    differ = 0
    for seed in range(2):
        other = retold(full, eyes.seat, random.Random(seed))
        assert tables(see(other, eyes), eyes) == here
        differ += tables(other, ALL) != tables(full, ALL)
    assert differ


@every_ruleset
def test_sides_change_with_the_seat_that_is_near(ruleset: Ruleset) -> None:
    seen = replayed(1, ruleset)
    for host, guest in zip(tables(seen, ALL), tables(seen, ALL, 1), strict=True):
        assert (host.near, host.far) == (guest.far._replace(side="near"), guest.near._replace(side="far"))
        assert [(each.near, each.far) for each in host.columns] == [(each.far, each.near) for each in guest.columns]
