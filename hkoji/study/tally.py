"""Counts over many games: a fold of records, by ruleset and by player.

The record of a game is a small value made from its replay, without any card. It works for every game: an action's kind
is the first character of its notation, a round's starting player is the seat that acts first in it, and its winner is
the seat whose count of won rounds (`State.wins`) has grown.

The size of the counts depends on the number of rulesets and players, not on the number of games, with one exception: it
keeps eight bytes of each game's id, so that no game is counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from hkoji.game.replay import Replay
from hkoji.rules.events import DECISIONS, SEATS, Act, Answer, Deal, Decision, Order, Seat
from hkoji.rules.protocol import Due, State
from hkoji.study.shares import Share, Spread, spread, three_digits


class Round(NamedTuple):
    """A round. If it was broken off, `scored` is False and the other fields count what was played of it."""

    first: Seat | None = None
    """The seat that acts first; None if no seat acted."""
    actions: tuple[str, str] = ("", "")
    """Each seat's actions in the order in which it took them: `4132`."""
    decisions: int = 0
    offers: int = 0
    """The number of answered proposals."""
    orders: int = 0
    """The number of answered proposals after which the actor had to choose an order."""
    hand_overs: int = 0
    """The number of decisions that were followed, in the same round, by a decision of the other seat."""
    scored: bool = False
    winner: Seat | None = None
    """The winner, in a game whose rounds are won."""


class GameRecord(NamedTuple):
    """A game. `seconds` is the time from the guest's joining to the last entry, by receipts; None without receipts."""

    game: str
    ruleset: str
    """The game and its options, as in a transcript's tag."""
    name: str
    names: tuple[str | None, str | None]
    finished: bool
    reason: str | None
    winner: Seat | None
    rounds: tuple[Round, ...]
    seconds: int | None = None

    @property
    def decisions(self) -> int:
        """All decisions of the game."""
        return sum(each.decisions for each in self.rounds)


def record(replay: Replay, ruleset: str, seconds: int | None = None) -> GameRecord:
    """Makes the record of a replay that has steps. `ruleset` names game and options."""
    course = replay.steps[-1].course
    outcome = course.outcome
    rounds: list[list[Decision]] = []
    for step in replay.steps:
        for event in step.events:
            if isinstance(event, Deal):
                rounds.append([])
            elif rounds and isinstance(event, DECISIONS):
                rounds[-1].append(event)
    # A round followed by another has been scored. The last one has been scored only if the rules ended it.
    scored = course.state.due is Due.DEAL or (outcome is not None and outcome.reason in course.setup.ruleset.reasons)
    counted = [_round(each, scored=scored or each is not rounds[-1]) for each in rounds]
    for number, winner in _round_winners(step.course.state for step in replay.steps).items():
        counted[number - 1] = counted[number - 1]._replace(winner=winner)
    finished = course.finished
    return GameRecord(
        game=course.setup.game,
        ruleset=ruleset,
        name=course.setup.ruleset.name,
        names=course.setup.names,
        finished=finished,
        reason=outcome.reason if outcome and finished else None,
        winner=outcome.winner if outcome and finished else None,
        rounds=tuple(counted),
        seconds=seconds,
    )


def _round_winners(states: Iterable[State]) -> dict[int, Seat]:
    """Returns each round's winner by the round's number.

    It leaves out shared rounds, and all rounds in a game that does not count them as won.
    """
    found: dict[int, Seat] = {}
    before = (0, 0)
    for state in states:
        if state.wins is not None and state.wins != before:
            # The entry that scores a round brings the next deal with it, if there is one.
            scored = state.round if state.due is Due.OVER else state.round - 1
            found[scored] = int(state.wins[1] > before[1])
            before = state.wins
    return found


def _round(decisions: Sequence[Decision], *, scored: bool) -> Round:
    acts = [each for each in decisions if isinstance(each, Act)]
    host, guest = ("".join(act.action[0] for act in acts if act.seat == seat) for seat in SEATS)
    return Round(
        first=acts[0].seat if acts else None,
        actions=(host, guest),
        decisions=len(decisions),
        offers=sum(isinstance(each, Answer) for each in decisions),
        orders=sum(isinstance(each, Order) for each in decisions),
        hand_overs=sum(one.seat != other.seat for one, other in pairwise(decisions)),
        scored=scored,
    )


class Group:
    """The counts of the games of one ruleset with the same options.

    A won game has a winner. A shared win and a cancelled game have none.
    """

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.games = 0
        self.reasons: Final[Counter[str]] = Counter()
        """The finished games, by the reason of their end."""
        self.seats: Final[Counter[int]] = Counter()
        """The won games, by the seat that has won."""
        self.decisions: Final[Counter[int]] = Counter()
        self.rounds: Final[Counter[int]] = Counter()
        self.seconds: Final[Counter[int]] = Counter()
        self.first: Final[Counter[bool]] = Counter()
        """Won games, by whether the seat that acted first in round 1 has won."""
        self.round_first: Final[Counter[bool]] = Counter()
        """Won rounds, by whether the seat that acted first has won."""
        self.places: Final[Counter[tuple[str, int]]] = Counter()
        """Actions by kind and place (0 to 3), in scored rounds of won games."""
        self.place_wins: Final[Counter[tuple[str, int]]] = Counter()
        """Those of these actions whose seat has won the game."""
        self.offers = 0
        self.orders = 0
        self.scored = 0
        """Scored rounds, of all games."""
        self.hand_overs = 0
        self.round_decisions = 0

    @property
    def finished(self) -> int:
        """The number of finished games."""
        return self.reasons.total()

    @property
    def won(self) -> int:
        """The number of finished games with a winner."""
        return self.seats.total()

    def add(self, game: GameRecord) -> None:
        """Counts one more game."""
        self.games += 1
        for each in game.rounds:
            self._add_round(each, game.winner)
        if not game.finished or game.reason is None:
            return
        self.reasons[game.reason] += 1
        self.decisions[game.decisions] += 1
        self.rounds[len(game.rounds)] += 1
        if game.seconds is not None:
            self.seconds[three_digits(game.seconds)] += 1
        if game.winner is not None:
            self.seats[game.winner] += 1
            if game.rounds and game.rounds[0].first is not None:
                self.first[game.rounds[0].first == game.winner] += 1

    def _add_round(self, each: Round, winner: int | None) -> None:
        self.offers += each.offers
        self.orders += each.orders
        if not each.scored:
            return
        self.scored += 1
        self.hand_overs += each.hand_overs
        self.round_decisions += each.decisions
        if each.winner is not None:
            self.round_first[each.winner == each.first] += 1
        if winner is not None:
            for seat in SEATS:
                for place, kind in enumerate(each.actions[seat]):
                    self.places[kind, place] += 1
                    self.place_wins[kind, place] += seat == winner

    # --- what comes out -------------------------------------------------------------------------------------------

    def kinds(self) -> list[str]:
        """Returns the kinds of actions that were taken, sorted."""
        return sorted({kind for kind, _ in self.places})

    def most_places(self) -> int:
        """Returns the most actions that a seat took in a round: four in both games of the rulebooks."""
        return max((place + 1 for _, place in self.places), default=0)

    def place(self, kind: str, place: int) -> Share:
        """Returns the share of this kind among all actions taken in this place."""
        return Share(self.places[kind, place], sum(self.places[each, place] for each in self.kinds()))

    def wins(self, kind: str, place: int) -> Share:
        """Returns how many of the seats that took this kind of action in this place have won the game."""
        return Share(self.place_wins[kind, place], self.places[kind, place])

    def seat_share(self, seat: int) -> Share:
        """Returns the share of the won games that a seat has won."""
        return Share(self.seats[seat], self.won)

    def first_share(self) -> Share:
        """Returns the share of the won games that the seat that acted first in round 1 has won."""
        return Share(self.first[True], self.first.total())

    def round_first_share(self) -> Share:
        """Returns the share of the won rounds that the seat that acted first has won.

        Its total is 0 in a game whose rounds are not won.
        """
        return Share(self.round_first[True], self.round_first.total())

    def order_share(self) -> Share:
        """Returns the share of the answered proposals that needed an order."""
        return Share(self.orders, self.offers)

    def spreads(self) -> dict[str, Spread | None]:
        """Returns the distributions of the length of finished games, in decisions, rounds and seconds."""
        return {"decisions": spread(self.decisions), "rounds": spread(self.rounds), "seconds": spread(self.seconds)}

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns all counts. docs/studying.md describes them."""
        return {
            "ruleset": self.name,
            "games": self.games,
            "finished": self.finished,
            "won": self.won,
            "reasons": dict(sorted(self.reasons.items())),
            "length": {name: None if each is None else each.to_json() for name, each in self.spreads().items()},
            "rounds": {str(number): self.rounds[number] for number in sorted(self.rounds)},
            "host": self.seat_share(0).to_json(),
            "first": self.first_share().to_json(),
            "round_first": self.round_first_share().to_json(),
            "actions": [
                {
                    "action": kind,
                    "place": place + 1,
                    "taken": self.place(kind, place).to_json(),
                    "won": self.wins(kind, place).to_json(),
                }
                for kind in self.kinds()
                for place in range(self.most_places())
            ],
            "orders": self.order_share().to_json(),
            "scored_rounds": self.scored,
            "hand_overs_per_round": _per(self.hand_overs, self.scored),
            "decisions_per_round": _per(self.round_decisions, self.scored),
        }


class Standing:
    """The results of one player, by name."""

    def __init__(self) -> None:
        self.games = 0
        self.finished = 0
        self.won = 0
        self.lost = 0
        self.first = 0
        """The finished games in which this player acted first."""

    @property
    def drawn(self) -> int:
        """The number of finished games without a winner: shared or cancelled."""
        return self.finished - self.won - self.lost

    def share(self) -> Share:
        """Returns the share of the won games that this player has won."""
        return Share(self.won, self.won + self.lost)


class GameTally:
    """Counts over games, which are added one by one. If a game is added twice, only the first log counts."""

    def __init__(self) -> None:
        self.groups: Final[dict[str, Group]] = {}
        self.players: Final[dict[str, Standing]] = {}
        self.repeated = 0
        """The number of logs of games that had been counted before."""
        self._seen: Final[set[int]] = set()

    @property
    def games(self) -> int:
        """The number of games, each counted once."""
        return sum(group.games for group in self.groups.values())

    def add(self, game: GameRecord) -> None:
        """Counts one game, unless it has been counted before."""
        mark = int(game.game[:16], 16)
        if mark in self._seen:
            self.repeated += 1
            return
        self._seen.add(mark)
        self.groups.setdefault(game.ruleset, Group(game.ruleset)).add(game)
        for seat, name in enumerate(game.names):
            if name is not None:
                self._add_player(self.players.setdefault(name, Standing()), game, seat)

    @staticmethod
    def _add_player(standing: Standing, game: GameRecord, seat: int) -> None:
        standing.games += 1
        if game.finished:
            standing.finished += 1
            standing.won += game.winner == seat
            standing.lost += game.winner == 1 - seat
            standing.first += bool(game.rounds) and game.rounds[0].first == seat

    def ranking(self) -> list[tuple[str, Standing]]:
        """Returns all players: most wins first, then most games, then by name."""
        return sorted(self.players.items(), key=lambda pair: (-pair[1].won, -pair[1].games, pair[0]))

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns all counts. docs/studying.md describes them."""
        return {
            "games": self.games,
            "repeated": self.repeated,
            "rulesets": [self.groups[name].to_json() for name in sorted(self.groups)],
            "players": [
                {
                    "name": name,
                    "games": each.games,
                    "finished": each.finished,
                    "won": each.won,
                    "lost": each.lost,
                    "drawn": each.drawn,
                    "first": each.first,
                    "wins": each.share().to_json(),
                }
                for name, each in self.ranking()
            ],
        }


def _per(count: int, total: int) -> float | None:
    return round(count / total, 4) if total else None
