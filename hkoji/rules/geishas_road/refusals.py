"""The reasons for which a move of Geisha's Road is refused, in words."""

from __future__ import annotations

from hkoji.messages.text import all_of, any_of, tell
from hkoji.rules.cards import Cards
from hkoji.rules.geishas_road.actions import COMPETITION, PACK


def missing(hand: Cards, cards: Cards) -> str:
    """The reason why `cards` cannot be played from `hand`, which lacks some of them."""
    if cards >= PACK.unknown and hand < PACK.unknown:
        return tell("unknown cards cannot be played from it")
    if hand >= PACK.unknown:
        return tell("the hand has not that many cards")
    return tell("the hand has not {cards}", cards=all_of(PACK.split(PACK.decode(cards & ~hand))))


def wrong_answer(answer: str, offer: str, options: tuple[str, ...]) -> str:
    """The reason why `answer` is none of the `options`: it may name the right cards in the other order."""
    turned = "-" + "".join(reversed(PACK.split(answer[1:]))) if answer[:1] == "-" else ""
    if turned in options and offer[0] == COMPETITION:
        return tell("both orders come to the same here, so it is written {turned}", turned=turned)
    return tell("{offer} can be answered {answers}", offer=offer, answers=any_of(options))
