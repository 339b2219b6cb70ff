"""Sealed games keep one law: each seat sees, at every entry, exactly its part of a game that nobody sees whole.

The whole game is put together here with the secrets of both players. Whole random games are played under all options,
in a group without secrets, so that there can be many. The tests compute anew, from docs/spec/sealed.md and the rules of
the game alone, what an entry must bring and who owes the next one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache

import pytest

from hkoji import referee
from hkoji.audit.log_audit import audit
from hkoji.game.course import Course, Stage
from hkoji.game.dealer import Dealer
from hkoji.game.entry_kinds import End, Move, Open, Release, Seed
from hkoji.game.knowledge import Knowledge, Openings
from hkoji.game.replay import Replay, Step, replay
from hkoji.rules.events import SEATS, Act, Deal, Draw, Event, Outcome, Pick, Reveal, Seat, project
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import DECISION_DUE, Due, Ruleset, State
from hkoji.sealed import plain
from hkoji.sealed.cards import card_points
from hkoji.sealed.ristretto import ORDER
from hkoji.sealed.seal import Seal
from tests.support.sealed_table import NAMES, SealedTable, own_cards
from tests.support.stub_group import without_secrets

__all__ = ["without_secrets"]
pytestmark = pytest.mark.usefixtures("without_secrets")

STARTERS = ("host", "guest", "random")
RULESETS: tuple[Ruleset, ...] = (
    *(Hanamikoji(first, rounds) for first in STARTERS for rounds in (0, 1, 2)),
    *(GeishasRoad(first, markers) for first in STARTERS for markers in ("choose", "random")),
)
GAMES = 2
"""Games for each ruleset."""
MOST_ENTRIES = 90

every_ruleset = pytest.mark.parametrize("ruleset", RULESETS, ids=lambda ruleset: "-".join(map(str, _options(ruleset))))
every_game = pytest.mark.parametrize("seed", range(GAMES))


def _options(ruleset: Ruleset) -> list[object]:
    options = ruleset.to_json()
    return [options[key] for key in sorted(options) if key not in ("version", "tiebreak")]


# --- the whole game ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WholeKnowledge(Knowledge):
    """Knowledge of every card: `decks` has those of each round by position, `openings` are those of both seats."""

    decks: tuple[tuple[str, ...], ...]
    openings: Openings = field(default_factory=dict)
    seed: None = None

    def deal(self, ruleset: Ruleset, dealer: Dealer | None, round_number: int) -> Deal:
        """Both hands, and the card that is set aside. The draws are shown when they come."""
        deck = self.decks[round_number - 1]
        return Deal(("".join(deck[:6]), "".join(deck[6:12])), "X" * 8, "".join(deck[20:]))

    def draw(self, state: State, seat: Seat, index: int) -> str:
        """The card at the position of the draw."""
        return self.decks[state.round - 1][12 + 4 * seat + index]


@dataclass(frozen=True)
class Whole:
    """A game that was played, as everybody knows it."""

    table: SealedTable
    decks: tuple[tuple[str, ...], ...]
    """The copies of each round that began, by position."""
    all_known: Replay
    seats: tuple[Replay, Replay]

    def seen_by(self, seat: Seat | None) -> Replay:
        """The game as a seat or a spectator knows it."""
        return self.table.public if seat is None else self.seats[seat]


def whole(ruleset: Ruleset, seed: int) -> Whole:
    """A random game of one of the rulesets here, played to its end."""
    return _played(RULESETS.index(ruleset), seed)


@cache
def _played(number: int, seed: int) -> Whole:
    ruleset = RULESETS[number]
    table = SealedTable(ruleset, seed)
    table.play(MOST_ENTRIES)
    courses = [step.course for step in table.public.steps]
    decks = opened(table, courses)
    kind = card_points(ruleset.name, ruleset.pack).kind
    knowledge = [own_cards(table.sealers[seat], seat, courses) for seat in SEATS]
    everything = WholeKnowledge(
        tuple(tuple(map(kind, deck)) for deck in decks), {**knowledge[0].openings, **knowledge[1].openings}
    )
    host, guest = (replay(table.lines, each) for each in knowledge)
    return Whole(table, decks, replay(table.lines, everything), (host, guest))


def opened(table: SealedTable, courses: list[Course]) -> tuple[tuple[str, ...], ...]:
    """All copies of each round that began, by position: both numbers are taken off each point of the second deck."""
    seals = [Seal(table.sealed_keys[seat], table.game, seat) for seat in SEATS]
    ruleset = table.course.setup.ruleset
    points = card_points(ruleset.name, ruleset.pack)
    rounds = {course.sealed.now.number: course.sealed.now for course in courses if course.sealed is not None}
    decks = []
    for number in range(1, max(rounds) + 1):
        dealt = rounds[number]
        host, guest = (
            seals[s].lock_number(number, dealt.prevs[s], table.entropy[s], dealt.salts[s].hex()) for s in SEATS
        )
        inverse = pow(host * guest, -1, ORDER)
        cards = (points.points.index(plain.combine((inverse, point))) for point in dealt.decks[1])
        decks.append(tuple(points.cards[index] for index in cards))
    return tuple(decks)


# --- the law ----------------------------------------------------------------------------------------------------------


@every_ruleset
@every_game
def test_the_fold_of_what_is_seen_is_what_is_seen_of_the_fold(ruleset: Ruleset, seed: int) -> None:
    game = whole(ruleset, seed)
    assert game.all_known.stop is None
    assert len(game.all_known.steps) == len(game.table.lines) > 20
    hidden = 0
    for seat in (*SEATS, None):
        seen = game.seen_by(seat)
        assert seen.stop is None
        for known, part in zip(game.all_known.steps, seen.steps, strict=True):
            assert part.course.state == known.course.state.project(seat)
            assert part.events == tuple(project(event, seat, ruleset.public) for event in known.events)
            hidden += part.events != known.events
    assert hidden > 20


@every_ruleset
@every_game
def test_each_seat_reads_its_cards_and_the_whole_pack_is_dealt(ruleset: Ruleset, seed: int) -> None:
    game = whole(ruleset, seed)
    pack = sorted(copy for copy, _ in ruleset.pack.deck())
    steps = game.table.public.steps
    rounds = {step.course.sealed.now.number: step.course.sealed.now for step in steps if step.course.sealed}
    for number, deck in enumerate(game.decks, 1):
        assert sorted(deck) == pack
        got = [sealer.cards(rounds[number]) for sealer in game.table.sealers]
        for seat in SEATS:
            places = [*range(6 * seat, 6 * seat + 6), *range(12 + 4 * seat, 16 + 4 * seat)]
            assert got[seat] == tuple(deck[place] for place in places[: len(got[seat])])
        if None not in rounds[number].closed:
            assert sorted((*got[0], *got[1], *deck[20:])) == pack
    assert game.table.course.finished or len(game.table.lines) >= MOST_ENTRIES


def test_deals_and_draws_differ() -> None:
    """The games of these tests are not one game again and again."""
    decks = [deck for ruleset in RULESETS for seed in range(GAMES) for deck in whole(ruleset, seed).decks]
    assert len(decks) == len(set(decks)) > 2 * GAMES * len(RULESETS) - len(RULESETS)
    assert len({deck[0] for deck in decks}) > 10


# --- what an entry must bring, by the page ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Bring:
    """The parts of an entry that are due, apart from cards that an action plays."""

    give: tuple[int, list[int]] | None = None
    lock: bool = False
    close: bool = False


@dataclass
class Page:
    """The game as docs/spec/sealed.md follows it, entry by entry: what is due, and who owes it."""

    ruleset: Ruleset
    state: State
    given: set[tuple[int, int]] = field(default_factory=set)
    draws: Counter[Seat] = field(default_factory=Counter)
    actions: Counter[Seat] = field(default_factory=Counter)
    last: Seat | None = None
    """The seat that made the last decision of the round."""

    def hand(self, seat: Seat) -> list[int]:
        """Positions 0 to 5 and 6 to 11."""
        return [6 * seat + place for place in range(6)]

    def needed(self) -> tuple[Seat, int] | None:
        """The next draw position, if the next event is a draw and it is not given."""
        if self.state.due is not Due.DRAW:
            return None
        seat = self.state.actor
        assert seat is not None
        position = 12 + 4 * seat + self.draws[seat]
        return None if (self.state.round, position) in self.given else (seat, position)

    def owes_release(self) -> Seat | None:
        """The seat that owes a release: of a draw that the entry before could not bring, or of its close."""
        if self.state.due is Due.REVEAL:
            assert self.last is not None
            return 1 - self.last
        found = self.needed()
        return None if found is None else 1 - found[0]

    def another_round(self) -> bool:
        return self.ruleset.most_rounds is None or self.state.round < self.ruleset.most_rounds

    def seed(self, seat: Seat) -> Bring:
        """The hand of the other seat; and its first draw, if it is the fixed starter and nothing is picked before."""
        other = 1 - seat
        options = self.ruleset.to_json()
        fixed = {"host": 0, "guest": 1}.get(str(options["first"])) == other
        draws_first = options["name"] == "hanamikoji" or options["markers"] == "random"
        give = [*self.hand(other), *([12 + 4 * other] if fixed and draws_first else [])]
        return Bring((1, give), lock=seat == 1)

    def decision(self, seat: Seat, event: Event) -> Bring:
        """A decision of a seat: its event is applied."""
        self.state = self.state.apply(event)
        other, number = 1 - seat, self.state.round
        lock = False
        if isinstance(event, Act):
            self.actions[seat] += 1
            lock = self.actions[seat] == 4 and self.another_round()
        if self.state.due is Due.REVEAL:
            self.last = seat
            if not self.another_round():
                return Bring(None, lock, close=True)
            starts = self.ruleset.name == "hanamikoji" and self.first() == seat  # the starting player alternates
            return Bring((number + 1, [*self.hand(other), *([12 + 4 * other] if starts else [])]), lock, close=True)
        found = self.needed()
        if found is not None and found[0] == other:
            return Bring((number, [found[1]]), lock)
        return Bring(None, lock)

    def first(self) -> Seat:
        """The seat that has started this round."""
        first = self.state.to_json()["first"]
        assert isinstance(first, int)
        return first

    def release(self, seat: Seat, reveals: tuple[Event, ...]) -> Bring:
        """A release: the draw of the other seat, or the close with what comes behind it."""
        other, number = 1 - seat, self.state.round
        if self.state.due is Due.DRAW:
            found = self.needed()
            assert found is not None
            return Bring((number, [found[1]]))
        assert sorted(each.seat for each in reveals if isinstance(each, Reveal)) == [0, 1]
        assert [each.seat for each in reveals if isinstance(each, Reveal)] == list(self.state.due_reveals())
        first = self.first()
        for each in reveals:
            self.state = self.state.apply(each)
        if self.state.due is not Due.DEAL:
            return Bring(close=True)
        draws = self.ruleset.name == "hanamikoji" and first == seat  # so the other seat starts, with a draw
        return Bring((number + 1, [*self.hand(other), *([12 + 4 * other] if draws else [])]), close=True)

    def take(self, bring: Bring, events: tuple[Event, ...]) -> None:
        """Goes on behind an entry that has brought this; `events` are what follows from it by itself."""
        if bring.give is not None:
            number, positions = bring.give
            places = {(number, position) for position in positions}
            assert not places & self.given  # no position is given twice
            assert all(position < 20 for position in positions)
            self.given |= places
        for event in events:
            if isinstance(event, Deal):
                self.draws, self.actions = Counter(), Counter()
            elif isinstance(event, Draw):
                assert (self.state.round, 12 + 4 * event.seat + self.draws[event.seat]) in self.given
                self.draws[event.seat] += 1
            self.state = self.state.apply(event)


def brought(step: Step) -> Bring:
    """The parts that an entry has brought."""
    parts = step.body.parts
    give = None if parts.give is None else (parts.give.round, list(parts.give.at))
    return Bring(give, parts.lock is not None, parts.close is not None)


def follow(page: Page, step: Step) -> None:
    """Checks one entry against the page, and goes on."""
    body, events = step.body, step.events
    seat = NAMES.index(step.entry.by) if step.entry.by in NAMES else None
    played = (body.parts.show is not None, body.parts.hide is not None)
    match body:
        case Open():
            bring, rest = Bring(lock=True), events
        case Seed():
            assert seat is not None
            bring, rest = page.seed(seat), events
        case Move():
            assert seat is not None
            assert page.owes_release() is None
            bring, rest = page.decision(seat, events[0]), events[1:]
            hides = isinstance(events[0], Act) and "X" in body.action
            assert played == (isinstance(events[0], Act) and not hides, hides)
        case Release():
            assert seat is not None
            assert page.owes_release() == seat
            reveals = tuple(event for event in events if isinstance(event, Reveal))
            bring, rest = page.release(seat, reveals), events[len(reveals) :]
        case _:
            bring, rest = Bring(), events
    assert isinstance(body, Move) or played == (False, False)
    assert brought(step) == bring
    page.take(bring, rest)


@every_ruleset
@every_game
def test_each_entry_brings_exactly_what_is_due(ruleset: Ruleset, seed: int) -> None:
    game = whole(ruleset, seed)
    page = Page(ruleset, ruleset.initial())
    for step in game.all_known.steps:
        follow(page, step)
        assert page.state == step.course.state or isinstance(step.body, End)


@every_ruleset
@every_game
def test_exactly_one_seat_owes_each_entry(ruleset: Ruleset, seed: int) -> None:
    """And the page says which: that of a decision, that of a seed, or that of a release."""
    game = whole(ruleset, seed)
    page = Page(ruleset, ruleset.initial())
    steps = game.table.public.steps
    releases = 0
    for known, step, following in zip(game.all_known.steps, steps, [*steps[1:], None], strict=True):
        follow(page, known)
        course = step.course
        if following is None or course.stage in (Stage.OPEN, Stage.JOIN):
            continue
        owed = course.server_owes()
        if owed is not None:
            assert (course.actor, course.to_move, course.debtor) == (None, None, None)
            assert (following.entry.by, following.entry.kind) == ("server", owed)
            continue
        debtor = page.owes_release() if course.stage is Stage.PLAY else None
        seat = {Stage.GUEST_SEED: 1, Stage.HOST_SEED: 0}.get(course.stage, debtor)
        kind = "seed" if course.stage is not Stage.PLAY else "release"
        if seat is None:
            assert page.state.due in DECISION_DUE
            seat, kind = page.state.actor, "move"
        assert seat is not None
        assert course.debtor == debtor
        assert (course.actor, course.to_move) == (seat, NAMES[seat])
        assert (following.entry.by, following.entry.kind) == (NAMES[seat], kind)
        releases += kind == "release"
    assert releases > 2


def test_the_games_have_every_kind_of_debt() -> None:
    """Without them the tests above would say less than they seem to."""
    kinds = Counter[str]()
    for ruleset in RULESETS:
        for seed in range(GAMES):
            before: Step | None = None
            for step in whole(ruleset, seed).all_known.steps:
                give, close = step.body.parts.give, step.body.parts.close
                given = 0 if give is None else len(give.at)
                name = f"{step.entry.kind} {given}{' close' if close else ''}{' lock' if step.body.parts.lock else ''}"
                if isinstance(step.body, Release) and before is not None and before.entry.by == "server":
                    name += " after chance"
                if step.events and isinstance(step.events[0], Pick):
                    name += " pick"
                kinds[name] += 1
                before = step
    assert {
        "open 0 lock",
        "seed 6",
        "seed 7",
        "seed 6 lock",
        "seed 7 lock",
        "move 0",
        "move 1",
        "move 0 lock",
        "move 1 lock",
        "move 0 pick",
        "move 1 pick",
        "move 0 close",
        "move 6 close",
        "move 7 close",
        "release 1",
        "release 1 after chance",
        "release 0 close",
        "release 6 close",
        "release 7 close",
    } <= set(kinds)


# --- the log ----------------------------------------------------------------------------------------------------------


@every_ruleset
@every_game
def test_nothing_is_revealed_and_nothing_is_committed_to(ruleset: Ruleset, seed: int) -> None:
    lines = whole(ruleset, seed).table.lines
    kinds = [line.entry.kind for line in lines]
    allowed = {"offer", "open", "join", "seed", "chance", "move", "release", "end"}
    assert set(kinds) <= allowed
    assert kinds.count("chance") == bool(ruleset.chance())
    assert all("commit" not in line.entry.body for line in lines)
    if kinds[-1] == "end":
        body = lines[-1].entry.body
        assert (body["openings"], body["seed"]) == ([], None)
        assert kinds.count("end") == 1
    assert kinds[-1] == "end" or len(lines) >= MOST_ENTRIES


@every_ruleset
def test_the_audit_finds_nothing(ruleset: Ruleset) -> None:
    table = whole(ruleset, 0).table
    keys = {"server": table.server.public, **{name: key.public for name, key in zip(NAMES, table.keys, strict=True)}}
    result = audit(table.log(), keys)
    assert result.findings == ()
    assert result.outcome == table.course.outcome
    assert result.finished is table.course.finished


@every_ruleset
def test_a_log_that_is_cut_anywhere_replays(ruleset: Ruleset) -> None:
    """For everybody, with what they know by then. And the referee goes on from there as if nothing had been."""
    game = whole(ruleset, 0)
    table = game.table
    for length in range(1, len(table.lines) + 1):
        lines, steps = table.lines[:length], table.public.steps[:length]
        cut = replay(lines)
        assert cut.stop is None
        assert cut.steps == steps
        if length % 4 == 0:
            assert referee.resume(lines, None, ()).course == steps[-1].course
    for seat in SEATS:
        for length in range(4, len(table.lines) + 1, 7):
            known = own_cards(table.sealers[seat], seat, (step.course for step in table.public.steps[:length]))
            cut = replay(table.lines[:length], known)
            assert cut.stop is None
            assert cut.steps == game.seats[seat].steps[:length]


@pytest.mark.parametrize("ruleset", [Hanamikoji("random"), GeishasRoad()], ids=["hanamikoji", "geishas-road"])
def test_a_resignation_ends_the_log_and_opens_nothing(ruleset: Ruleset) -> None:
    for entries in range(2, 24, 3):
        table = SealedTable(ruleset, 5)
        table.play(entries)
        seat = entries % 2
        closed = table.course.sealed
        table.resign(seat)
        assert [line.entry.kind for line in table.lines[-2:]] == ["resign", "end"]
        result = {"reason": "resign", "winner": 1 - seat}
        assert table.lines[-1].entry.body == {"openings": [], "result": result, "seed": None}
        assert table.course.outcome == Outcome("resign", 1 - seat)
        assert table.course.stage is Stage.OVER
        assert table.course.sealed == closed
        assert table.public.stop is None
