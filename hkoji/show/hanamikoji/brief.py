"""Hanamikoji in a few lines, and how its moves are offered and typed in a mail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from hkoji.messages.text import Speaker, all_of, plural, tell
from hkoji.rules.cards import UNKNOWN
from hkoji.rules.hanamikoji.actions import CHARM, COMPETITION, GIFT, KINDS, NAMES, NUMBERS, PACK, SECRET, TRADE_OFF, bit
from hkoji.rules.hanamikoji.position import NEUTRAL, charm, geisha
from hkoji.rules.hanamikoji.ruleset import HanamikojiState
from hkoji.rules.protocol import Due, Ruleset
from hkoji.show.board import Board
from hkoji.show.brief import STARTS, WHO_STARTS, Brief, spread_over

_TIEBREAK: Final = {
    "charm": tell("Then more charm wins."),
    "geisha": tell("Then the favour of more geisha wins."),
}

_TIES: Final = {"charm": tell("more charm"), "geisha": tell("the favour of more geisha")}


class HanamikojiBrief(Brief):
    """A position of Hanamikoji in a few lines."""

    about: ClassVar = tell(
        "Hanamikoji is a short card game for two. Seven geisha, A to G, stand between the players, and the player "
        "with more of a geisha's cards on their side wins her favour. In a round each player has four turns, and takes "
        "four different actions: keep one card secret, put two cards out of play, offer three cards, and offer two "
        "pairs. From each offer the other player chooses first."
    )

    heading: ClassVar = tell("On the table, by geisha and her charm:")

    def __init__(self, board: Board) -> None:
        super().__init__(board)
        state = board.course.state
        assert isinstance(state, HanamikojiState)
        self.state: Final = state

    @classmethod
    def options(cls, ruleset: Ruleset, say: Speaker) -> Iterator[str]:
        """The player who starts, and the limit of rounds if there is one."""
        options = ruleset.to_json()
        yield say(WHO_STARTS[str(options["first"])])
        limit = options["max_rounds"]
        if isinstance(limit, int) and limit:
            yield say(plural("The game has at most {n} round.", "The game has at most {n} rounds.", limit))
            yield say(_TIEBREAK[str(options["tiebreak"])])

    @classmethod
    def terms(cls, ruleset: Ruleset) -> str:
        """`The host starts; no round limit`."""
        options = ruleset.to_json()
        first, limit = STARTS[str(options["first"])], options["max_rounds"]
        if not isinstance(limit, int) or not limit:
            return tell("{starts}; no round limit", starts=first)
        return plural(
            "{starts}; {n} round at most, then {what} wins",
            "{starts}; {n} rounds at most, then {what} wins",
            limit,
            starts=first,
            what=_TIES[str(options["tiebreak"])],
        )

    def table(self) -> Iterator[str]:
        """The geisha with cards at either side: `D3   alice 2, you 0`."""
        other = 1 - self.me
        sides = PACK.counts(self.state.rows[other]), PACK.counts(self.state.rows[self.me])
        rows = [
            self.said(
                "{kind}{points}   {other} {theirs}, {me} {mine}",
                kind=kind,
                points=points,
                other=self.board.name(other),
                theirs=theirs,
                me=self.board.name(self.me),
                mine=mine,
            )
            for kind, points, theirs, mine in zip(KINDS, CHARM, *sides, strict=False)
            if theirs or mine
        ]
        yield from self.columns(rows)

    def standing(self) -> Iterator[str]:
        """The favours of each player."""
        markers = self.state.markers
        if not self.state.round:
            return
        if set(markers) == {NEUTRAL}:
            yield self.said("Nobody has any favour yet.")
            return
        for seat in (self.me, 1 - self.me):
            favouring = [kind for kind, marker in zip(KINDS, markers, strict=True) if marker == str(seat)]
            if favouring:
                yield self.by(
                    seat,
                    "You have the favour of {kinds}: {charm} charm.",
                    "{name} has the favour of {kinds}: {charm} charm.",
                    kinds=", ".join(favouring),
                    geisha=geisha(markers, seat),
                    charm=charm(markers, seat),
                )

    def offer(self) -> Iterator[str]:
        """The offer of the other player."""
        offer, name = self.state.proposal, self.board.name(1 - self.me)
        if offer and offer[0] == str(GIFT):
            cards = " ".join(offer[1:])
            yield self.said("{name} offers you {cards}: you take one, {name} the other two.", name=name, cards=cards)
        elif offer:
            yield self.said(
                "{name} offers you {cards}: you take one pair, {name} the other.", name=name, cards=_or(offer)
            )

    def hand(self) -> Iterator[str]:
        """The hand, and what lies face down."""
        state = self.state
        if state.round:
            cards = " ".join(PACK.decode(state.hands[self.me]))
            yield (self.said("You hold {cards}.", cards=cards) if cards else self.said("You hold no cards."))
        for number, lying in ((SECRET, state.secrets[self.me]), (TRADE_OFF, state.trade_offs[self.me])):
            if lying:
                down = " ".join(PACK.decode(lying))
                yield self.said("Face down for you: {what} {cards}.", what=self.say(NAMES[number]), cards=down)

    def left(self) -> Iterator[str]:
        """The actions left to both, of the other player as numbers."""
        mine, theirs = ([n for n in NUMBERS if not self.state.used[seat] & bit(n)] for seat in (self.me, 1 - self.me))
        yield self.said(
            "Actions left: {mine} ({name}: {theirs}).",
            mine=", ".join(f"{n} {self.say(NAMES[n])}" for n in mine) or self.said("none"),
            name=self.board.name(1 - self.me),
            theirs=", ".join(map(str, theirs)) or self.said("none"),
        )

    def ask(self, action: str) -> str:
        """The move in words."""
        cards = action[1:]
        if action[0] == "-":
            return self.said("To take {cards}, write:", cards=all_of([*cards]))
        match int(action[0]):
            case 1:
                return self.said("To put {card} face down as your secret, write:", card=cards)
            case 2:
                return self.said("To trade off {cards}, write:", cards=all_of([*cards]))
            case 3:
                return self.said("To offer {cards} as a gift, write:", cards=" ".join(cards))
        return self.said("To offer the pairs {cards}, write:", cards=_or(action))

    def phrase(self, action: str) -> str:
        """`F face down`, `B and C traded off`."""
        cards = action[1:]
        match action[0]:
            case "-":
                return self.said("{cards} taken", cards=all_of([*cards]))
            case "1":
                return self.said("{card} face down", card=cards)
            case "2":
                return self.said("{cards} traded off", cards=all_of([*cards]))
            case "3":
                return self.said("{cards} offered as a gift", cards=" ".join(cards))
        return self.said("the pairs {cards} offered", cards=_or(action))

    def typed(self, action: str) -> str:
        """`2bc`, `4ac/bd`, `take c`."""
        cards = action[1:].lower()
        if action[0] == "-":
            return self.said("take {typed}", typed=cards)
        return f"4{cards[:2]}/{cards[2:]}" if action[0] == str(COMPETITION) else action.lower()

    def examples(self) -> Sequence[str]:
        """Every answer, or one move of each action that is left."""
        legal, number = self.position.legal, self.position.course.seq
        if self.state.due is Due.ANSWER:
            return legal
        groups = ([move for move in legal if move[0] == str(n)] for n in NUMBERS)
        return [spread_over(group, number) for group in groups if group]


def _or(proposal: str) -> str:
    assert UNKNOWN not in proposal
    return tell("{first} and {second}", first=" ".join(proposal[1:3]), second=" ".join(proposal[3:]))
