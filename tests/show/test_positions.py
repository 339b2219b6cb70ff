"""Drawings of positions: well-formed, within their edges, with each card once, and without what a viewer cannot see."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from hkoji.errors import UsageError
from hkoji.game import entry_kinds
from hkoji.game.replay import Replay, replay
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES, Speaker
from hkoji.rules.events import Reveal
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.show.games import SHOWN_GAMES, draw_position, find_deck
from hkoji.show.svg import table as cards
from hkoji.study.stops import ALL, EVERY, GUEST, HOST, SPECTATOR, Eyes, Stop, see, stops
from scripts.build import drawings
from scripts.build.drawings import scene
from tests.support.redistribution import replayed, retold
from tests.support.table import new_game, whole_game
from tests.toy.showdown import Showdown

SVG = "{http://www.w3.org/2000/svg}"
GAMES: tuple[Ruleset, ...] = (Hanamikoji("random", 3, "charm"), GeishasRoad("random"))
every_game = pytest.mark.parametrize("ruleset", GAMES, ids=lambda ruleset: ruleset.name)


def played(ruleset: Ruleset, seed: int) -> Replay:
    return replayed(seed, ruleset)


def draw(seen: Replay, stop: Stop, eyes: Eyes) -> str:
    return draw_position(scene(stop, eyes, f"entry {stop.seq}", seen))


def draw_stops(seen: Replay, eyes: Eyes) -> list[str]:
    return [draw(seen, stop, eyes) for stop in stops(seen)]


class Placed(NamedTuple):
    """An element with its offset and scale on the page."""

    element: Element
    x: float
    y: float
    scale: float


def walk(element: Element, x: float = 0, y: float = 0, scale: float = 1) -> Iterator[Placed]:
    moved = re.fullmatch(
        r"translate\(([-\d.]+) ([-\d.]+)\)(?: scale\(([\d.]+)\))?(?: rotate\(-?\d+\))?", element.get("transform", "")
    )
    if moved:
        x, y, scale = x + scale * float(moved[1]), y + scale * float(moved[2]), scale * float(moved[3] or 1)
    yield Placed(element, x, y, scale)
    for child in element:
        yield from walk(child, x, y, scale)


def drawn_cards(svg: str) -> list[str]:
    """Every card of a drawing by name, `X` for a back."""
    found = []
    root = ElementTree.fromstring(svg)
    pictures = {*root.iterfind(f"{SVG}defs/{SVG}g")}
    for group in (each for each in root.iter(f"{SVG}g") if each not in pictures):
        first = next(iter(group))
        assert (first.get("width"), first.get("height")) == (str(cards.CARD_WIDTH - 1), str(cards.CARD_HEIGHT - 1))
        if first.get("fill") == cards.BACK:
            found.append("X")
        else:
            name = group.find(f"{SVG}text")
            assert name is not None
            found.append(name.text or "")
    return found


def test_a_game_without_a_drawing_says_so() -> None:
    assert {ruleset.name for ruleset in GAMES} == {name for name, shown in SHOWN_GAMES.items() if shown.drawing}
    other = whole_game(1, Showdown())
    seen = replay(other.lines)
    with pytest.raises(UsageError, match="no drawing of showdown"):
        draw(seen, stops(seen)[-1], ALL)


def test_the_drawings_kept_are_those_that_are_made() -> None:
    built = drawings.build()
    for path, text in built.items():
        assert path.read_text(encoding="utf-8") == text, path
    assert {*drawings.FOLDER.iterdir()} == set(built)


@pytest.fixture(params=LANGUAGES)
def translate(request: pytest.FixtureRequest) -> Speaker:
    """A speaker of each language."""
    return load_speaker(request.param)


@every_game
def test_every_position_is_well_formed_and_within_its_edges(ruleset: Ruleset, translate: Speaker) -> None:
    full = played(ruleset, 4)
    for eyes in EVERY:
        seen = see(full, eyes)
        for stop in stops(seen):
            shown = scene(stop, eyes, f"entry {stop.seq}", seen)._replace(translate=translate)
            root = ElementTree.fromstring(draw_position(shown))
            width, height = float(root.get("width", "")), float(root.get("height", ""))
            assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
            for element, x, y, scale in walk(root):
                tag = element.tag.removeprefix(SVG)
                assert tag in {"svg", "title", "defs", "g", "use", "rect", "circle", "line", "path", "text"}
                get = {name: float(element.get(name, 0)) for name in ("x", "y", "width", "height", "cx", "cy", "r")}
                if tag == "rect":
                    assert 0 <= x + scale * get["x"] <= x + scale * (get["x"] + get["width"]) <= width
                    assert 0 <= y + scale * get["y"] <= y + scale * (get["y"] + get["height"]) <= height
                elif tag == "circle":
                    assert get["r"] <= x + get["cx"] <= width - get["r"]
                    assert get["r"] <= y + get["cy"] <= height - get["r"]
                elif tag == "text":
                    assert 0 < y + scale * get["y"] < height
                    assert element.get("font-family", "").rpartition(", ")[2] in ("serif", "sans-serif")
                    # A letter is about six tenths of its size wide.
                    room = 0.6 * scale * float(element.get("font-size", 0)) * len(element.text or "")
                    left = {"start": 0.0, "middle": room / 2, "end": room}[element.get("text-anchor", "")]
                    at = x + scale * get["x"]
                    assert at - left >= -1
                    assert at - left + room <= width + 1, element.text


@every_game
@pytest.mark.parametrize("eyes", EVERY, ids=lambda eyes: eyes.word)
def test_every_card_of_the_pack_is_drawn_once(ruleset: Ruleset, eyes: Eyes) -> None:
    for seed in range(3):
        seen = see(played(ruleset, seed), eyes)
        found_stops = stops(seen)
        for stop in (*found_stops[seed:-1:4], found_stops[-1]):
            each_card_is_drawn_once(ruleset, eyes, seen, stop)


def each_card_is_drawn_once(ruleset: Ruleset, eyes: Eyes, seen: Replay, stop: Stop) -> None:
    found = Counter(drawn_cards(draw(seen, stop, eyes)))
    # After a round the removed card of Hanamikoji stays in the box.
    away = int(stop.step.course.state.deck == "" and ruleset.name == "hanamikoji")
    assert found.total() == ruleset.pack.size - away
    copies = dict(zip(ruleset.pack.kinds, ruleset.pack.copies, strict=True))
    assert all(number <= copies[name] for name, number in found.items() if name != "X")
    if eyes == ALL:
        assert found["X"] == 0


@every_game
@pytest.mark.parametrize("eyes", [HOST, GUEST, SPECTATOR], ids=lambda eyes: eyes.word)
def test_not_a_byte_depends_on_what_the_eyes_could_not_see(ruleset: Ruleset, eyes: Eyes) -> None:
    for seed in range(2):
        full = played(ruleset, seed)
        here = draw_stops(see(full, eyes), eyes)
        openly = draw_stops(full, ALL)
        differ = 0
        for again in range(2):
            other = retold(full, eyes.seat, random.Random(again))
            assert draw_stops(see(other, eyes), eyes) == here
            differ += draw_stops(other, ALL) != openly
        assert differ > 1


@every_game
def test_eyes_know_the_open_cards(ruleset: Ruleset) -> None:
    """At a decision a seat sees its own hand and the table; of the other hand and the deck only backs."""
    full = played(ruleset, 6)
    pack = ruleset.pack
    for eyes in (HOST, GUEST):
        seen = see(full, eyes)
        for stop in stops(seen):
            state = stop.step.course.state
            if state.due is not Due.ACT:
                continue
            assert eyes.seat is not None
            found = Counter(drawn_cards(draw(seen, stop, eyes)))
            for name in pack.split(pack.decode(state.hands[eyes.seat])):
                assert found[name] > 0
            assert found["X"] >= pack.count(state.hands[1 - eyes.seat]) + len(pack.split(state.deck))


def marked_cards(svg: str) -> dict[str, list[str]]:
    """The cards that carry a sign in a circle, by the sign."""
    found: dict[str, list[str]] = {}
    elements = list(ElementTree.fromstring(svg))
    for card, circle, sign in zip(elements, elements[1:], elements[2:], strict=False):
        if (card.tag, circle.tag, sign.tag) == (f"{SVG}g", f"{SVG}circle", f"{SVG}text"):
            found.setdefault(sign.text or "", []).append(card.findtext(f"{SVG}text") or "")
    return found


@every_game
@pytest.mark.parametrize("eyes", EVERY, ids=lambda eyes: eyes.word)
def test_the_cards_that_were_turned_up_at_the_end_of_a_round_are_marked(ruleset: Ruleset, eyes: Eyes) -> None:
    """The mark is the sign of the action that the card lay by. It is gone when the next round is dealt."""
    sign = {"hanamikoji": "1", "geishas-road": "I"}[ruleset.name]
    scored = 0
    for seed in (1, 2):
        seen = see(played(ruleset, seed), eyes)
        for stop in stops(seen):
            marked = marked_cards(draw(seen, stop, eyes))
            revealed = [event.cards for event in stop.step.events if isinstance(event, Reveal)]
            if stop.step.course.state.due not in (Due.DEAL, Due.OVER):
                assert marked == {}
            elif revealed:
                assert {sign: sorted(marked[sign])} == {sign: sorted(revealed)}
                scored += 1
    assert scored > 2


def test_cards_may_be_named_after_another_deck() -> None:
    full = played(GAMES[0], 6)
    everdeck = find_deck("everdeck")
    for stop in stops(full):
        there = scene(stop, ALL, "", full)
        named = drawn_cards(draw_position(there._replace(symbol=everdeck.symbol)))
        assert named == [everdeck.symbol(name) for name in drawn_cards(draw_position(there))]
        assert not set(named) & set("ABCDEFG")


def test_near_is_below() -> None:
    full = played(GAMES[0], 1)
    heights = {}
    for eyes in (HOST, GUEST):
        seen = see(full, eyes)
        root = ElementTree.fromstring(draw(seen, stops(seen)[3], eyes))
        names = {text.text: float(text.get("y", 0)) for text in root.iter(f"{SVG}text")}
        heights[eyes] = (names["alice"], names["bob"])
    assert heights[HOST][0] > heights[HOST][1]
    assert heights[GUEST] == heights[HOST][::-1]


@every_game
def test_a_game_that_has_not_begun_or_was_given_up_is_drawn(ruleset: Ruleset) -> None:
    table = new_game(2, ruleset)
    before = replay(table.lines[:3])
    assert drawn_cards(draw(before, stops(before)[0], SPECTATOR)) == []
    table.play(6)
    table.send(table.entry(1, entry_kinds.Resign()))
    over = replay(table.lines)
    assert "X" not in drawn_cards(draw(over, stops(over)[-1], ALL))


def test_long_names_are_cut() -> None:
    seen = played(GAMES[0], 1)
    long = scene(stops(seen)[2], ALL, "", seen)._replace(names=("x" * 32, "y" * 32))
    assert "x" * 17 not in draw_position(long)
    assert f"{'x' * 16}…" in draw_position(long)
