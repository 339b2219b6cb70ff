"""Geisha's Road played slowly, with lists and dictionaries, straight from the rulebook: an oracle for the engine.

It shares nothing with `hkoji.rules` but the notation of moves. A game is a dictionary that its functions change; a card
is two letters such as `A1`, a hand is a list of them. Whether the order of two cards matters is found by playing both.
"""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction
from typing import Any, Final

COLOURS: Final = ["A", "B", "C", "D", "E"]
TEAHOUSES: Final = 5
ACTIONS: Final = ["R", "I", "G", "C"]
HALF: Final = Fraction(1, 2)

Table = dict[str, Any]  # a game as plain data of many shapes, listed in `new_game`
Cards = list[str]


def new_game(starter: int | None, markers: str = "choose") -> Table:
    """Setup without the cards: the markers in the middle. `markers`: the players `choose` two, or `random`."""
    game: Table = {
        "marker_choice": markers == "choose",
        "markers": dict.fromkeys(COLOURS),
        "wins": [0, 0],
        "round": 0,
        "starter": starter,
        "loser": None,
        "turn": None,
        "drawn": False,
        "to_pick_marker": [],
        "to_pick_starter": [],
        "offer": None,
        "left": None,
        "hands": [[], []],
        "deck": [],
        "unused": [[], []],
        "tableaus": [[], []],
        "kept": [[], []],
        "discarded": [[], []],
        "influence": None,
        "prestige": None,
        "result": None,
    }
    reset_road(game)
    return game


def reset_road(game: Table) -> None:
    """The geisha at home, both decks of lanterns complete, top first."""
    game["walked"] = dict.fromkeys(COLOURS, 0)
    game["homecomings"] = dict.fromkeys(COLOURS, 0)
    game["lanterns"] = {colour: [] for colour in COLOURS}
    game["light"] = [3, 3, 4, 4, 4]
    game["dark"] = [3, 2, 2, 2]


def copy_of(game: Table) -> Table:
    """A copy of a game, to play on without changing this one."""
    return copy.deepcopy(game)


def cards_of(text: str) -> Cards:
    """`A1B2` as cards."""
    return [text[at : at + 2] for at in range(0, len(text), 2)]


def give_markers(game: Table, drawn: str) -> None:
    """Draws the markers of a first game: one each by chance, the starting player's first."""
    game["markers"][drawn[0]] = game["starter"]
    game["markers"][drawn[1]] = 1 - game["starter"]


def deal(game: Table, first_hand: str, second_hand: str, deck: str) -> None:
    """Game setup, and preparation of the next round: everything but the markers is reset, six cards for each player.

    Before the first round each player takes a marker, the starting player first; later the loser chooses who starts.
    """
    game["round"] += 1
    game["hands"] = [cards_of(first_hand), cards_of(second_hand)]
    game["deck"] = cards_of(deck)
    game["unused"] = [list(ACTIONS), list(ACTIONS)]
    for pair in ("tableaus", "kept", "discarded"):
        game[pair] = [[], []]
    game["influence"] = game["prestige"] = None
    reset_road(game)
    if game["round"] > 1:
        game["starter"] = None
        game["to_pick_starter"] = [game["loser"]]
    elif game["marker_choice"]:
        game["to_pick_marker"] = [game["starter"], 1 - game["starter"]]
    if decider(game) is None:
        begin_turn(game, game["starter"])


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
    if game["to_pick_marker"] or game["to_pick_starter"]:
        picker: int = (game["to_pick_marker"] + game["to_pick_starter"])[0]
        return picker
    if game["turn"] is None:
        return None
    turn: int = game["turn"]
    return 1 - turn if game["offer"] is not None else turn


def moves(game: Table) -> set[str]:
    """All actions and answers of the player who has to decide, in notation."""
    if game["to_pick_marker"]:
        return {f"!{colour}" for colour in COLOURS if game["markers"][colour] is None}
    if game["to_pick_starter"]:
        return {"^0", "^1"}
    if game["left"] is not None:
        return {f">{''.join(cards)}" for cards in orders(game, game["turn"], game["left"])}
    if game["offer"] is not None:
        opponent = 1 - game["turn"]
        return {f"-{''.join(cards)}" for share in game["offer"] for cards in orders(game, opponent, share)}
    found = set()
    hand = game["hands"][game["turn"]]
    for action in game["unused"][game["turn"]]:
        for cards in itertools.permutations(hand, 1 + ACTIONS.index(action)):
            found.add(spell(action, list(cards)))
    return found


def spell(action: str, cards: Cards) -> str:
    """An action in canonical notation: of two cards the kept one comes first, of four the first two are a set."""
    if action == "C":
        sets = ["".join(sorted(cards[:2])), "".join(sorted(cards[2:]))]
        return "C" + "".join(sorted(sets))
    if action == "G":
        return "G" + "".join(sorted(cards))
    return action + "".join(cards)


def orders(game: Table, player: int, cards: Cards) -> list[Cards]:
    """The distinct orders of one or two cards: a single sorted one if both orders end alike."""
    ends = []
    for order in itertools.permutations(sorted(cards)):
        tried = copy_of(game)
        for card in order:
            play_card(tried, player, card)
        ends.append((list(order), position_of(tried)))
    if all(end == ends[0][1] for _, end in ends):
        return [ends[0][0]]
    return [order for order, _ in ends]


def position_of(game: Table) -> Table:
    """The parts of a game in which two orders may differ."""
    return {
        "places": {colour: steps % TEAHOUSES for colour, steps in game["walked"].items()},
        "homecomings": game["homecomings"],
        "points": {colour: sum(points) for colour, points in game["lanterns"].items()},
        "decks": [game["light"], game["dark"]],
        "tableaus": [sorted(tableau) for tableau in game["tableaus"]],
    }


def play_card(game: Table, player: int, card: str) -> None:
    """A card is played into a tableau: its geisha moves, and if she ends at her own teahouse she gets a lantern."""
    colour, number = card[0], int(card[1])
    game["tableaus"][player].append(card)
    game["walked"][colour] += number
    if game["walked"][colour] % TEAHOUSES == 0:
        game["homecomings"][colour] += 1
        promotion = {1: "light", 2: "dark"}[game["homecomings"][colour]]
        game["lanterns"][colour].append(game[promotion].pop(0))


def decide(game: Table, move: str) -> None:
    """Carries out one of `moves`. When both players have used all actions the round is scored."""
    sign, cards = move[0], cards_of(move[1:])
    if sign == "!":
        game["markers"][move[1]] = game["to_pick_marker"].pop(0)
        if not game["to_pick_marker"]:
            begin_turn(game, game["starter"])
    elif sign == "^":
        game["to_pick_starter"] = []
        game["starter"] = int(move[1])
        begin_turn(game, game["starter"])
    elif sign == "-":
        answer(game, cards)
    elif sign == ">":
        game["left"] = None
        play_left(game, cards)
    else:
        act(game, sign, cards)


def act(game: Table, action: str, cards: Cards) -> None:
    """One of the four actions."""
    player = game["turn"]
    for card in cards:
        game["hands"][player].remove(card)
    game["unused"][player].remove(action)
    if action == "R":
        play_card(game, player, cards[0])
        end_turn(game)
    elif action == "I":
        game["kept"][player] = cards[:1]
        game["discarded"][player] = cards[1:]
        end_turn(game)
    elif action == "G":
        game["offer"] = [[card] for card in cards]
    else:
        game["offer"] = [cards[:2], cards[2:]]


def answer(game: Table, chosen: Cards) -> None:
    """The opponent plays the chosen cards, in the order given; the actor plays the others in any order."""
    actor = game["turn"]
    offered = [card for share in game["offer"] for card in share]
    game["offer"] = None
    for card in chosen:
        offered.remove(card)
        play_card(game, 1 - actor, card)
    choice = orders(game, actor, offered)
    if len(choice) == 1:
        play_left(game, choice[0])
    else:
        game["left"] = offered


def play_left(game: Table, cards: Cards) -> None:
    """The actor plays the cards that are left of an offer."""
    for card in cards:
        play_card(game, game["turn"], card)
    end_turn(game)


def end_turn(game: Table) -> None:
    """The other player's turn, if anybody has an action left."""
    begin_turn(game, None if round_is_over(game) else 1 - game["turn"])


def round_is_over(game: Table) -> bool:
    """Whether it is time to score: both players have used, and completed, all their actions."""
    return game["round"] > 0 and game["unused"] == [[], []] and game["offer"] is None and game["left"] is None


def score(game: Table) -> None:
    """Round end: the hidden cards, the starting player's first; then influence, markers, prestige."""
    starter = game["starter"]
    for player in (starter, 1 - starter):
        play_card(game, player, game["kept"][player].pop())
    game["influence"] = [influence(game, player) for player in (0, 1)]
    game["prestige"] = [0, 0]
    for colour in COLOURS:
        mine, yours = (game["influence"][player][colour] for player in (0, 1))
        if mine != yours:
            winner = 0 if mine > yours else 1
            game["markers"][colour] = winner
            game["prestige"][winner] += sum(game["lanterns"][colour])
    winner = round_winner(game)
    game["wins"][winner] += 1
    game["loser"] = 1 - winner
    if game["wins"][winner] == 2:
        game["result"] = ("rounds", winner)


def influence(game: Table, player: int) -> dict[str, Fraction]:
    """A player's total influence for each colour."""
    total = {colour: Fraction(0) for colour in COLOURS}
    for card in game["tableaus"][player]:
        total[card[0]] += int(card[1])
    for colour in COLOURS:
        if game["markers"][colour] == player:
            total[colour] += HALF
    return total


def round_winner(game: Table) -> int:
    """Most prestige; else more scoring markers; else the starting player."""
    held = [list(game["markers"].values()).count(player) for player in (0, 1)]
    for mine, yours in (game["prestige"], held):
        if mine != yours:
            return 0 if mine > yours else 1
    starter: int = game["starter"]
    return starter
