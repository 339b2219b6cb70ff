"""Hanamikoji played slowly, with lists and dictionaries, straight from the rulebook: an oracle for the engine.

It shares nothing with `hkoji.rules` but the notation of moves. A game is a dictionary that its functions change; cards
are letters, hands are lists of them, and the actions of a hand are found by trying every arrangement of its cards.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

CHARM: Final = {"A": 2, "B": 2, "C": 2, "D": 3, "E": 3, "F": 4, "G": 5}

Table = dict[str, Any]  # a game as plain data of many shapes, listed in `new_game`
Markers = dict[str, int | None]
"""The side of each geisha's favour marker; None for the middle."""


def new_game(starter: int | None, max_rounds: int = 0, tiebreak: str = "geisha") -> Table:
    """Setup: seven geisha, the markers in the middle."""
    return {
        "max_rounds": max_rounds,
        "tiebreak": tiebreak,
        "markers": dict.fromkeys(CHARM),
        "round": 0,
        "starter": starter,
        "turn": None,
        "drawn": False,
        "offer": None,
        "hands": [[], []],
        "deck": [],
        "removed": [],
        "unused": [[], []],
        "rows": [[], []],
        "secret": [[], []],
        "discard": [[], []],
        "result": None,
    }


def copy_of(game: Table) -> Table:
    """A copy of a game, to play on without changing this one."""
    copied = dict(game, markers=dict(game["markers"]), deck=list(game["deck"]), removed=list(game["removed"]))
    for pair in ("hands", "unused", "rows", "secret", "discard"):
        copied[pair] = [list(each) for each in game[pair]]
    return copied


def deal(game: Table, first_hand: str, second_hand: str, deck: str, removed: str) -> None:
    """Phase 1. From the second round on, the player who was second starts."""
    if game["round"] > 0:
        game["starter"] = 1 - game["starter"]
    game["round"] += 1
    begin_turn(game, game["starter"])
    game["hands"] = [list(first_hand), list(second_hand)]
    game["deck"] = list(deck)
    game["removed"] = list(removed)
    game["unused"] = [[1, 2, 3, 4], [1, 2, 3, 4]]
    for pair in ("rows", "secret", "discard"):
        game[pair] = [[], []]


def begin_turn(game: Table, player: int | None) -> None:
    """`player` (None: the round is over) must draw and take an action."""
    game["turn"] = player
    game["drawn"] = False


def draw_is_due(game: Table) -> bool:
    """Whether the player whose turn it is must still draw."""
    return game["turn"] is not None and not game["drawn"]


def draw(game: Table) -> None:
    """The player whose turn it is takes the top card."""
    game["hands"][game["turn"]].append(game["deck"].pop(0))
    game["drawn"] = True


def decider(game: Table) -> int | None:
    """The player who has to decide or to draw."""
    if game["turn"] is None:
        return None
    turn: int = game["turn"]
    return 1 - turn if game["offer"] is not None else turn


def moves(game: Table) -> set[str]:
    """Phase 2: all actions and answers of the player who has to decide, in notation."""
    if game["offer"] is not None:
        return {"-" + "".join(sorted(share)) for share in game["offer"]}
    player = game["turn"]
    found = set()
    for action in game["unused"][player]:
        for cards in itertools.permutations(game["hands"][player], action):
            found.add(spell(action, list(cards)))
    return found


def spell(action: int, cards: list[str]) -> str:
    """An action in canonical notation; of four cards the first two are one set, the last two the other."""
    if action == 4:
        sets = ["".join(sorted(cards[:2])), "".join(sorted(cards[2:]))]
        return "4" + "".join(sorted(sets))
    return str(action) + "".join(sorted(cards))


def decide(game: Table, move: str) -> None:
    """Carries out one of `moves`. When both players have used all actions the round is scored."""
    if move.startswith("-"):
        answer(game, list(move[1:]))
        return
    player, action, cards = game["turn"], int(move[0]), list(move[1:])
    for card in cards:
        game["hands"][player].remove(card)
    game["unused"][player].remove(action)
    if action == 1:
        game["secret"][player] = cards
        end_turn(game)
    elif action == 2:
        game["discard"][player] = cards
        end_turn(game)
    elif action == 3:
        game["offer"] = [[card] for card in cards]
    else:
        game["offer"] = [cards[:2], cards[2:]]


def answer(game: Table, chosen: list[str]) -> None:
    """The opponent places the chosen cards on their side, the actor the others."""
    actor = game["turn"]
    offered = [card for share in game["offer"] for card in share]
    for card in chosen:
        offered.remove(card)
    game["rows"][1 - actor] += chosen
    game["rows"][actor] += offered
    game["offer"] = None
    end_turn(game)


def end_turn(game: Table) -> None:
    """The other player's turn, if anybody has an action left."""
    begin_turn(game, None if round_is_over(game) else 1 - game["turn"])


def round_is_over(game: Table) -> bool:
    """Whether it is time to score."""
    return game["round"] > 0 and game["unused"] == [[], []] and game["offer"] is None


def score(game: Table) -> None:
    """Phase 3."""
    for player in (0, 1):
        game["rows"][player] += game["secret"][player]
        game["secret"][player] = []
    for geisha in CHARM:
        mine, yours = game["rows"][0].count(geisha), game["rows"][1].count(geisha)
        if mine > yours:
            game["markers"][geisha] = 0
        if yours > mine:
            game["markers"][geisha] = 1
    game["result"] = goal(game["markers"])
    if game["result"] is None and game["round"] == game["max_rounds"]:
        game["result"] = ("limit", at_the_limit(game["markers"], game["tiebreak"]))


def favours(markers: Markers, player: int) -> list[int]:
    """The charm points of each geisha on a player's side, highest first."""
    return sorted((CHARM[geisha] for geisha in markers if markers[geisha] == player), reverse=True)


def goal(markers: Markers) -> tuple[str, int] | None:
    """End of the game: 11 charm points or 4 geisha; 11 charm points win against 4 geisha."""
    reached_charm = [player for player in (0, 1) if sum(favours(markers, player)) >= 11]
    reached_geisha = [player for player in (0, 1) if len(favours(markers, player)) >= 4]
    if reached_charm:
        (player,) = reached_charm
        return "charm", player
    if reached_geisha:
        (player,) = reached_geisha
        return "geisha", player
    return None


def at_the_limit(markers: Markers, tiebreak: str) -> int | None:
    """The optional last round: the winner, or None when the win is shared.

    `geisha` (English edition of 2018): more geisha, then more charm points. `charm` (Italian edition of 2018): more
    charm points, then the highest geisha.
    """
    mine, yours = favours(markers, 0), favours(markers, 1)
    if tiebreak == "geisha":
        comparisons = [(len(mine), len(yours)), (sum(mine), sum(yours))]
    else:
        comparisons = [(sum(mine), sum(yours)), (max(mine, default=0), max(yours, default=0))]
    for a, b in comparisons:
        if a != b:
            return 0 if a > b else 1
    return None
