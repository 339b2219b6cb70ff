"""The board of Geisha's Road shows the position: read back from the drawing, at every moment of complete games."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from hkoji.rules.events import SEATS
from hkoji.rules.geishas_road.actions import COLOURS, PACK
from hkoji.rules.geishas_road.position import prestige
from hkoji.rules.geishas_road.ruleset import GeishasRoad, GeishasRoadState
from hkoji.rules.protocol import Due
from tests.support.boards import board, position, stages

NAMES = ("alice", "bob")
OBSERVERS = (0, 1, None)
ORDERS = 41
"""The seed of a game with several orders, won in three rounds."""


def cells(text: str, label: str) -> list[list[str]]:
    """The values under the five colours, in each row with that label, and beyond them."""
    found = [line for line in text.splitlines() if line.startswith(label)]
    return [[line[13 + 10 * n : 23 + 10 * n].strip() for n in range(5)] + line[63:].split() for line in found]


def halves(points: int) -> str:
    return f"{points // 2}½" if points > 1 and points % 2 else "½" if points == 1 else str(points // 2)


def test_the_rows_are_the_position() -> None:
    """Tableaus, influence, markers, lanterns and ways home; one's own side is below, the other player's above."""
    markers = Counter[str]()
    for table in stages(GeishasRoad(), ORDERS, NAMES):
        for seat in OBSERVERS:
            seen = position(table, seat)
            state = seen.course.state
            assert isinstance(state, GeishasRoadState)
            text = board(seen)
            below = seat or 0
            for label, side in ((name_of(side, seat, seen.course.setup.names), side) for side in SEATS):
                cards = PACK.split(PACK.decode(state.tableaus[side]))
                row = cells(text, f"{label:13}")[0]
                assert row[:5] == [" ".join(card[1] for card in cards if card[0] == colour) for colour in COLOURS]
                assert row[6] == str(state.wins[side])
            above, under = cells(text, "  influence")
            assert above == [halves(points) for points in state.influence(1 - below)]
            assert under == [halves(points) for points in state.influence(below)]
            (arrows,) = cells(text, "marker")
            sides = {str(below): "▼", str(1 - below): "▲", ".": "·"}
            assert arrows == [sides[marker] for marker in state.markers]
            markers.update(arrows)
            (lanterns,) = cells(text, "lanterns")
            assert [re.sub(r" \(twice\)|-", "", cell) for cell in lanterns] == [
                str(points or "") for points in state.road.lanterns
            ]
            assert [cell.endswith("(twice)") for cell in lanterns] == [homes == 2 for homes in state.road.homes]
            (ways,) = cells(text, "to go home")
            assert ways == [str(5 - place) if place else "at home" for place in state.road.places]
    assert set(markers) == {"▲", "▼", "·"}


def name_of(side: int, seat: int | None, names: tuple[str | None, str | None]) -> str:
    return "you" if side == seat else names[side] or ("the host" if side == 0 else "nobody yet")


def test_a_scored_rounds_prestige_is_on_the_board() -> None:
    *_, table = stages(GeishasRoad(), ORDERS, NAMES)
    state = table.course.state
    assert isinstance(state, GeishasRoadState)
    points = [prestige(state.road.lanterns, state.markers, seat) for seat in SEATS]
    text = board(position(table, None))
    assert [cells(text, f"{name:13}")[0][5:] for name in NAMES] == [
        [str(points[seat]), str(state.wins[seat])] for seat in SEATS
    ]
    winner = state.wins.index(2)
    assert f"The game is over: {NAMES[winner]} wins with two rounds." in text
    held = [state.markers.count(str(seat)) for seat in SEATS]
    scored = ", ".join(f"{NAMES[seat]} {points[seat]} prestige and {held[seat]} markers" for seat in (1, 0))
    assert f"round 3: {scored}; {NAMES[winner]} wins" in " ".join(text.split())


def test_every_geisha_stands_once_in_the_circle_where_her_way_has_brought_her() -> None:
    for table in stages(GeishasRoad(), ORDERS, NAMES):
        state = table.course.state
        assert isinstance(state, GeishasRoadState)
        houses = re.findall(r"([A-E])⌂ ((?:[A-E] )*[A-E]|·)(?![A-E])", board(position(table, None)))
        assert sorted(house for house, _ in houses) == list(COLOURS)
        stands = {geisha: house for house, guests in houses for geisha in guests.split() if geisha != "·"}
        steps = enumerate(state.road.places)
        assert stands == {COLOURS[n]: COLOURS[(n + place) % 5] for n, place in steps}


@pytest.mark.parametrize("plain", [False, True])
def test_hands_and_intrigues_are_shown_to_their_owners_only(plain: bool) -> None:
    """While the game lasts; when it is over, everything face down is open."""
    shown = Counter[bool]()
    for table in stages(GeishasRoad(), ORDERS, NAMES):
        state = table.course.state
        assert isinstance(state, GeishasRoadState)
        if not state.round:
            continue
        for seat in SEATS:
            hand = " ".join(PACK.split(PACK.decode(state.hands[seat])))
            kept, out = (PACK.decode(cards[seat]) for cards in (state.intrigues, state.discards))
            secret = f"kept {kept}." if plain else f"intrigue {kept} out {out})"
            texts = {observer: board(position(table, observer), plain=plain) for observer in OBSERVERS}
            if hand and not table.course.finished:
                assert f"{'Your hand: ' if plain else 'your hand    '}{hand}" in texts[seat]
                assert "hand" not in texts[None]
                if len(hand) > 8:
                    assert hand not in texts[1 - seat] + texts[None]
            if kept and state.due is not Due.REVEAL:
                assert [secret in texts[observer] for observer in (seat, 1 - seat, None)] == [True, False, False]
            shown[bool(kept)] += 1
            if table.course.finished:
                discarded = f"discarded {out}" if plain else f"out {out})"
                assert all(discarded in text for text in texts.values())
    assert shown[True] > 10


def test_an_order_names_both_cards_and_what_to_type_without_a_sign() -> None:
    """A shell would treat `>` as a redirection, so the board says `order`."""
    found = 0
    for table in stages(GeishasRoad(), ORDERS, NAMES):
        state, actor = table.course.state, table.course.actor
        if state.due is not Due.ORDER or actor is None:
            continue
        found += 1
        assert isinstance(state, GeishasRoadState)
        first, second = PACK.split(state.left)
        mine, theirs = board(position(table, actor)), board(position(table, 1 - actor))
        for text in (mine, theirs):
            assert f"left         {first} {second}, to be played in either order" in text
        game = table.game[:8]
        for one, other in ((first, second), (second, first)):
            assert re.search(rf"^  {one} first +hkoji move {game} order {one} {other}$", mine, re.MULTILINE)
        assert f"It is {NAMES[actor]}'s turn to say which of {first} and {second} to play first." in theirs
        linear = board(position(table, actor), plain=True)
        assert f"Left, to be played in either order: {first} {second}." in linear
    assert found > 1


def test_choices_are_written_in_words() -> None:
    """`!` and `^` have a meaning in a shell too: `marker`, and `start` with the player."""
    for table in stages(GeishasRoad(), ORDERS, NAMES):
        state, actor = table.course.state, table.course.actor
        if state.due is not Due.PICK or actor is None:
            continue
        text, waits = board(position(table, actor)), board(position(table, 1 - actor))
        if state.round == 1:
            assert f"It is {NAMES[actor]}'s turn to choose a marker." in waits
            choice = r"^  marker ([A-E]) +hkoji move \w+ marker \1  half an influence point with \1$"
            typed = re.findall(choice, text, re.MULTILINE)
            assert [f"!{colour}" for colour in typed] == list(state.legal_actions())
        else:
            assert f"It is {NAMES[actor]}'s turn to choose who starts." in waits
            typed = re.findall(r"^  (\w+) starts? +hkoji move \w+ start (host|guest)$", text, re.MULTILINE)
            assert typed == [("you", ("host", "guest")[actor]), (NAMES[1 - actor], ("guest", "host")[actor])]
