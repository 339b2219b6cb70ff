"""The worlds that bots imagine: each, made into a complete deal and replayed, gives the observations of the game."""

from __future__ import annotations

import random

import pytest

from hkoji.bots.geishas_road import model as road_model
from hkoji.bots.geishas_road import search as road_beliefs
from hkoji.bots.hanamikoji import model, search
from hkoji.bots.protocol import Seen, see
from hkoji.rules.events import Act, Deal, Draw, Event, Reveal
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, Due, Ruleset
from tests.support.rules import fold, random_game


def decisions(ruleset: Ruleset, seed: int, rounds: int = 3) -> list[Seen]:
    """The actor's information at every decision of a random game."""
    play = random_game(ruleset, seed, rounds)
    found = []
    for place, state in enumerate(play.states):
        if state.due in DECISION_DUE and state.due is not Due.PICK:
            assert state.actor is not None
            found.append(see(ruleset, play.events[:place], state.actor))
    return found


def replayed(ruleset: Ruleset, seen: Seen, hands: tuple[str, str], rest: str, aside: str, hidden: list[str]) -> Seen:
    """The current round again with a complete deal; the other seat's face-down actions are `hidden`, in order."""
    events: list[Event] = []
    start = max(i for i, event in enumerate(seen.events) if isinstance(event, Deal))
    deck = [rest[i : i + ruleset.pack.width] for i in range(0, len(rest), ruleset.pack.width)]
    coming = iter(hidden)
    for place, event in enumerate(seen.events):
        if place < start:
            events.append(event)
        elif isinstance(event, Deal):
            events.append(Deal(hands, rest, aside))
        elif isinstance(event, Draw):
            events.append(Draw(event.seat, deck.pop(0)))
        elif isinstance(event, Act) and "X" in event.action:
            events.append(Act(event.seat, next(coming)))
        else:
            assert not isinstance(event, Reveal)
            events.append(event)
    fold(ruleset, events)  # raises if a card was played that was not there
    return see(ruleset, events, seen.seat)


@pytest.mark.parametrize("seed", range(5))
def test_a_hanamikoji_world_is_seen_as_what_was_seen(seed: int) -> None:
    chance = random.Random(seed)
    ruleset = Hanamikoji()
    for seen in decisions(ruleset, seed):
        found = search.HanamikojiBeliefs(seen, chance)
        for world in (found.any(), found.any(), found.any()):
            start = max(i for i, event in enumerate(seen.events) if isinstance(event, Deal))
            dealt, draws, hidden = _dealt(seen, _history(seen, world, start), world, start)
            hands = (dealt[0], dealt[1])
            rest = draws + "".join(model.names_of(card) for card in world.rest[:-1])
            again = replayed(ruleset, seen, hands, rest, model.names_of(world.rest[-1]), hidden)
            assert again == seen


def _history(seen: Seen, world: search.HanamikojiWorld, start: int) -> list[int]:
    """Hands that the other seat may have had before each of its actions, found from the last one back."""
    hand, hands = world.hand, []
    for event in reversed(seen.events[start:]):
        if isinstance(event, Act) and event.seat != seen.seat:
            hand += model.hand_of(_action(event.action, world)[1:])
            hands.append(hand)
            hand -= next(card for card in model.WEIGHTS if hand // card % 16)
    return hands[::-1]


def _action(action: str, world: search.HanamikojiWorld) -> str:
    """The other seat's actions in this world."""
    if "X" not in action:
        return action
    return action[0] + model.names_of(world.secret if action[0] == "1" else world.trade_off)


def _dealt(
    seen: Seen, before: list[int], world: search.HanamikojiWorld, start: int
) -> tuple[list[str], str, list[str]]:
    """Both first hands, the cards drawn so far, and the other seat's face-down actions."""
    other = 1 - seen.seat
    deal = seen.events[start]
    assert isinstance(deal, Deal)
    draws, hidden, turn = "", [], 0
    hand: int | None = None
    first = world.hand
    for event in seen.events[start + 1 :]:
        if isinstance(event, Draw):
            if event.seat == seen.seat:
                draws += event.card
                continue
            if hand is None:
                first = before[turn]
                drawn = next(card for card in model.WEIGHTS if first // card % 16)
                first -= drawn
            else:
                drawn = before[turn] - hand
            draws += model.names_of(drawn)
        elif isinstance(event, Act) and event.seat == other:
            action = _action(event.action, world)
            if action != event.action:
                hidden.append(action)
            hand = before[turn] - model.read(action).cards
            turn += 1
    dealt = [model.names_of(first)] * 2
    dealt[seen.seat] = deal.hands[seen.seat]
    return dealt, draws, hidden


@pytest.mark.parametrize("seed", range(5))
def test_a_world_of_the_road_has_every_card_once(seed: int) -> None:
    chance = random.Random(seed)
    for seen in decisions(GeishasRoad(), seed):
        found = road_beliefs.GeishasRoadBeliefs(seen, chance)
        view = seen.view
        other = 1 - seen.seat
        for _ in range(3):
            world = found.any()
            places = [world.hand, world.kept, world.discarded, road_model.mask_of(world.deck)]
            position = view.to_json()
            shown = [position["tableaus"], position["intrigues"], position["discards"], position["hands"]]
            known = [str(cards) for pair in shown for cards in (pair if isinstance(pair, list) else [])]
            known += [str(position["offer"] or "")[1:], str(position["left"] or "")]
            places += [road_model.mask_of(road_model.cards_of(cards.replace("X", ""))) for cards in known]
            assert sum(places) == road_model.ALL_CARDS
            assert sum(place.bit_count() for place in places) == 20
            assert world.hand.bit_count() == view.ruleset.pack.count(view.hands[other])
            assert 2 * len(world.deck) == len(view.deck) * (2 if "X" in view.deck else 1)
