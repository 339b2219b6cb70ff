"""A second Hanamikoji, written from the rulebook with lists and dictionaries, sharing nothing with `hkoji.rules`.

The oracle of the tests: slow, obvious, and wrong only where it was understood wrongly.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

CHARM = {"A": 2, "B": 2, "C": 2, "D": 3, "E": 3, "F": 4, "G": 5}


class NaiveGame:
    """One game. `hands`, `rows`, `secrets` by player 0 and 1; `favor` is who has each geisha's."""

    def __init__(self, first: int, max_rounds: int, tiebreak: str) -> None:
        self.favor: dict[str, int | None] = dict.fromkeys(CHARM)
        self.first = first
        self.max_rounds = max_rounds
        self.tiebreak = tiebreak
        self.round = 0
        self.result: tuple[str, int | None] | None = None

    def deal(self, hands: tuple[str, str]) -> None:
        """Begins a round."""
        if self.round:
            self.first = 1 - self.first
        self.round += 1
        self.hands = [list(hands[0]), list(hands[1])]
        self.used: list[set[int]] = [set(), set()]
        self.rows: list[list[str]] = [[], []]
        self.secrets: list[str | None] = [None, None]
        self.turn = self.first
        self.offer: list[list[str]] = []

    def draw(self, card: str) -> None:
        """The player to act draws."""
        self.hands[self.turn].append(card)

    def legal(self) -> set[str]:
        """Every action or answer of the player to decide, in canonical notation."""
        if self.offer:
            return {"-" + "".join(sorted(group)) for group in self.offer}
        hand = self.hands[self.turn]
        found = set()
        for number in {1, 2, 3, 4} - self.used[self.turn]:
            for chosen in combinations(range(len(hand)), number):
                cards = [hand[place] for place in chosen]
                if number < 4:
                    found.add(str(number) + "".join(sorted(cards)))
                    continue
                for partner in (1, 2, 3):
                    one = sorted([cards[0], cards[partner]])
                    two = sorted(cards[place] for place in (1, 2, 3) if place != partner)
                    found.add("4" + "".join(c for pair in sorted([one, two]) for c in pair))
        return found

    def decide(self, text: str) -> None:
        """An action, or an answer."""
        if text[0] == "-":
            taker = 1 - self.turn
            chosen = sorted(text[1:])
            index = next(n for n, group in enumerate(self.offer) if sorted(group) == chosen)
            for n, group in enumerate(self.offer):
                self.rows[taker if n == index else self.turn].extend(group)
            self.offer = []
            self.turn = 1 - self.turn
            return
        number, cards = int(text[0]), list(text[1:])
        self.used[self.turn].add(number)
        for card in cards:
            self.hands[self.turn].remove(card)
        if number == 1:
            self.secrets[self.turn] = cards[0]
        if number == 3:
            self.offer = [[card] for card in cards]
        elif number == 4:
            self.offer = [cards[:2], cards[2:]]
        else:
            self.turn = 1 - self.turn

    def score(self) -> None:
        """The end of a round."""
        for player in (0, 1):
            secret = self.secrets[player]
            assert secret is not None
            self.rows[player].append(secret)
        for kind in CHARM:
            mine, theirs = self.rows[0].count(kind), self.rows[1].count(kind)
            if mine != theirs:
                self.favor[kind] = 0 if mine > theirs else 1
        self.result = result(self.favor)
        if self.result is None and self.round == self.max_rounds:
            self.result = ("limit", at_limit(self.favor, self.tiebreak))


def result(favor: dict[str, int | None]) -> tuple[str, int | None] | None:
    """Who has reached a goal: eleven charm go before four geisha."""
    charm = Counter({0: 0, 1: 0})
    geisha = Counter({0: 0, 1: 0})
    for kind, owner in favor.items():
        if owner is not None:
            charm[owner] += CHARM[kind]
            geisha[owner] += 1
    eleven = [player for player in (0, 1) if charm[player] > 10]
    if eleven:
        return "charm", eleven[0]
    four = [player for player in (0, 1) if geisha[player] > 3]
    return ("geisha", four[0]) if four else None


def at_limit(favor: dict[str, int | None], tiebreak: str) -> int | None:
    """The winner when the last round has been scored and no goal reached."""
    owned = [[CHARM[kind] for kind, owner in favor.items() if owner == player] for player in (0, 1)]
    charm = [sum(values) for values in owned]
    count = [len(values) for values in owned]
    top = [sorted(values, reverse=True) for values in owned]
    ranks = [[count[p], charm[p]] if tiebreak == "geisha" else [charm[p], *top[p]] for p in (0, 1)]
    if ranks[0] == ranks[1]:
        return None
    return 0 if ranks[0] > ranks[1] else 1
