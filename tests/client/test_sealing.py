"""A player's side of a sealed game: docs/spec/sealed.md, "How a client makes them".

The log, the player's entropy and the sealed key give all own cards back. With anything else nothing is made.
Nothing that a client writes tells more of its cards than the action does. Most games here are played in a group without
secrets; the lies of an opponent are told in the real one.
"""

from __future__ import annotations

import base64
import hmac
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hkoji.audit.log_audit import audit
from hkoji.client import sealing
from hkoji.client.sealing import Sealer
from hkoji.errors import HkojiError, IllegalError, TrustError, UsageError
from hkoji.game.course import Course, EntryBody
from hkoji.game.entry_kinds import Move, Open, Release, Seed
from hkoji.game.parts import Parts
from hkoji.game.replay import replay
from hkoji.game.sealing import SealedRound
from hkoji.log.canonical import JsonValue
from hkoji.log.line import parse_log
from hkoji.rules.events import SEATS, Act, Seat
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.sealed import plain
from hkoji.sealed.cards import blind_point, card_points
from hkoji.sealed.ristretto import ORDER
from tests.support.sealed_cheat import Cheat
from tests.support.sealed_forgery import fork, taken
from tests.support.sealed_table import NAMES, SealedTable, own_cards
from tests.support.stub_group import stub_group

RULESETS: tuple[Ruleset, ...] = (Hanamikoji("guest", 3), GeishasRoad("random"))
STARTS = 4
"""The entries before the host owes its `seed`."""


@pytest.fixture
def without_secrets() -> Iterator[None]:
    with stub_group():
        yield


class Played(NamedTuple):
    """A whole game, and each action as its player chose it, by the number of its entry."""

    table: SealedTable
    actions: dict[int, str]


@cache
def _played(number: int, seed: int) -> Played:
    table, actions = SealedTable(RULESETS[number], seed), dict[int, str]()
    while not table.course.finished:
        seat, state = table.course.actor, table.course.state
        if seat is not None and state.due is Due.ACT:
            own = table.seen_by(seat).course
            assert own is not None
            action = table.random.choice(own.state.legal_actions())
            actions[table.course.seq + 1] = action
            table.send(seat, table.sealers[seat].move(own, action).body)
        else:
            table.step()
    return Played(table, actions)


def games() -> Iterator[Played]:
    """Some whole games of each ruleset."""
    for number in range(len(RULESETS)):
        for seed in range(3):
            yield _played(number, seed)


def courses(table: SealedTable) -> list[Course]:
    """The game after each entry, as anybody knows it."""
    return [step.course for step in table.public.steps]


# --- everything comes back --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_secrets")
def test_log_entropy_and_key_give_back_all_own_cards() -> None:
    """A program that has never seen the game reads its cards, and the hidden cards that it has played."""
    hidden = 0
    for table, actions in games():
        ruleset, lines = table.course.setup.ruleset, parse_log(table.log())
        steps = replay(lines).steps
        for seat in SEATS:
            key, entropy = table.sealed_keys[seat], table.entropy[seat]
            sealer = Sealer(key, table.game, seat, entropy, ruleset, forbidden)
            known = own_cards(sealer, seat, (step.course for step in steps))
            seen = replay(lines, known)
            assert seen.stop is None
            for step in seen.steps:
                events = [event for event in step.events if isinstance(event, Act)]
                if events and step.entry.by == NAMES[seat]:
                    assert [event.action for event in events] == [actions[step.entry.seq]]
                    hidden += bool(step.body.parts.hide)
            for course, cards in zip(rounds(steps[-1].course, courses(table)), known.dealt, strict=True):
                assert len(cards) == len(course.tokens(seat)) >= 6
    assert hidden > 20


def rounds(last: Course, before: list[Course]) -> list[SealedRound]:
    """The cards of each round, at its end."""
    found = {each.sealed.now.number: each.sealed.now for each in (*before, last) if each.sealed is not None}
    return [found[number] for number in sorted(found) if number]


def forbidden(count: int) -> bytes:
    raise AssertionError("nothing is made here")


# --- another home -----------------------------------------------------------------------------------------------------


def others(table: SealedTable, seat: Seat) -> dict[str, Sealer]:
    """Programs that lack something of the one that has locked the deck."""
    ruleset, key, entropy = table.course.setup.ruleset, table.sealed_keys[seat], table.entropy[seat]
    return {
        "another sealed key": Sealer(b"\x01" * 32, table.game, seat, entropy, ruleset, forbidden),
        "the other player's key": Sealer(table.sealed_keys[1 - seat], table.game, seat, entropy, ruleset, forbidden),
        "another entropy": Sealer(key, table.game, seat, "ab" * 32, ruleset, forbidden),
        "another game": Sealer(key, "cd" * 16, seat, entropy, ruleset, forbidden),
    }


@pytest.mark.usefixtures("without_secrets")
@pytest.mark.parametrize("ruleset", RULESETS, ids=lambda ruleset: ruleset.name)
def test_a_home_with_other_secrets_makes_nothing(ruleset: Ruleset) -> None:
    """It draws no random bytes, which each proof needs; and it says what is missing."""
    table, made = SealedTable(ruleset, 1), set[str]()
    table.play(STARTS - 1)
    while not table.course.finished and table.course.state.round < 3:
        seat, body = table.owed()
        if brings(body):
            own = table.seen_by(seat).course
            assert own is not None
            for sealer in others(table, seat).values():
                refuses(partial(again, sealer, table, own, body))
            again(table.sealers[seat], table, own, body)
            made |= kinds_of(body)
        table.send(seat, body)
    assert made >= {"seed give", "move show", "move hide", "move lock", "move give", "move close"}
    assert made >= {"release give", "release close"}


def brings(body: EntryBody) -> bool:
    """Whether an entry needs the number of a lock that was made before."""
    return any(body.parts)


def kinds_of(body: EntryBody) -> set[str]:
    """The kind of an entry with the name of each part that it brings."""
    return {f"{body.KIND} {name}" for name, part in body.parts._asdict().items() if part is not None}


def again(sealer: Sealer, table: SealedTable, own: Course, body: EntryBody) -> object:
    """Makes the entry that is due once more."""
    match body:
        case Seed():
            return sealer.seed(table.course)
        case Release():
            return sealer.release(table.course)
        case Move():
            assert own.actor is not None
            legal = own.state.legal_actions()
            public = own.setup.ruleset.public if own.state.due is Due.ACT else str
            return sealer.move(own, next(each for each in legal if public(each) == body.action))
        case _:
            raise AssertionError(body.KIND)


def refuses(attempt: Callable[[], object]) -> None:
    with pytest.raises(HkojiError) as caught:
        attempt()
    error = caught.value
    assert type(error) is TrustError
    assert "was not locked with the sealed key and entropy of this home" in str(error)
    assert "sealed.key" in error.hint


@pytest.mark.usefixtures("without_secrets")
def test_a_home_with_other_secrets_reads_no_cards() -> None:
    table = SealedTable(Hanamikoji(), 1)
    table.play(STARTS + 2)
    for seat in SEATS:
        now = table.course.sealed
        assert now is not None
        for sealer in others(table, seat).values():
            refuses(partial(sealer.cards, now.now))
            refuses(partial(own_cards, sealer, seat, courses(table)))
        assert len(table.sealers[seat].cards(now.now)) >= 6


@pytest.mark.usefixtures("without_secrets")
def test_a_decision_that_is_not_legal_makes_nothing() -> None:
    table = SealedTable(Hanamikoji(), 1)
    table.play(STARTS)
    own = table.seen_by(0).course
    assert own is not None
    sealer = Sealer(table.sealed_keys[0], table.game, 0, table.entropy[0], Hanamikoji(), forbidden)
    held = own.dealt[0][0]
    for action in ("1" + next(kind for kind in "ABCDEFG" if kind not in held), "-A", "3AAB"):
        with pytest.raises(IllegalError):
            sealer.move(own, action)
    assert table.sealers[0].move(own, own.state.legal_actions()[0]).body.parts


# --- equal copies -----------------------------------------------------------------------------------------------------


def prf(table: SealedTable, seat: Seat, label: str, *arguments: int | str) -> bytes:
    """PRF of the page, from the sealed key."""
    seal = hmac.digest(table.sealed_keys[seat], f"hkoji.sealed.seal.v1\n{table.game}\n{seat}\n".encode(), "sha512")
    lines = "".join(f"{each}\n" for each in (f"hkoji.sealed.{label}.v1", seat, *arguments))
    return hmac.digest(seal, lines.encode(), "sha512")


def hidden_point(table: SealedTable, seat: Seat, token: bytes, *place: int | str) -> bytes:
    """The point of the page that hides a token; `place` is what its number is made of."""
    number = int.from_bytes(prf(table, seat, "hide", *place), "little") % (ORDER - 1) + 1
    return plain.combine((1, token), (number, blind_point()))


@pytest.mark.usefixtures("without_secrets")
def test_of_equal_cards_the_first_in_the_order_of_the_round_is_played() -> None:
    """Shown or hidden, it is the first that is held and not used; the order has nothing to do with the place."""
    chosen = 0
    for table, actions in games():
        ruleset = table.course.setup.ruleset
        points = card_points(ruleset.name, ruleset.pack)
        used: dict[tuple[Seat, int], set[str]] = defaultdict(set)
        for before, step in zip(table.public.steps, table.public.steps[1:], strict=False):
            parts, now = step.body.parts, before.course.sealed
            if not parts.show and not parts.hide:
                continue
            assert now is not None
            seat, number, key = NAMES.index(step.entry.by), now.now.number, now.now.keys[before.course.actor or 0]
            assert key is not None
            cards = table.sealers[seat].cards(now.now)
            lots = {card: prf(table, seat, "copy", number, key.hex(), card) for card in cards}
            order = sorted(cards, key=lots.__getitem__)
            played = list(parts.show.copies) if parts.show else hidden_cards(table, seat, step.entry.seq)
            action = actions[step.entry.seq]
            assert [points.kind(copy) for copy in played] == list(ruleset.pack.split(action[1:]))
            for copy in played:
                free = [each for each in order if points.kind(each) == points.kind(copy)]
                free = [each for each in free if each not in used[seat, number]]
                chosen += len(free) > 1
                assert copy == free[0]
                used[seat, number].add(copy)
    assert chosen > 15


def hidden_cards(table: SealedTable, seat: Seat, seq: int) -> list[str]:
    """The cards that an entry hides: the number of the page tells for each point which token it hides."""
    step, before = table.public.steps[seq], table.public.steps[seq - 1].course
    assert before.sealed is not None
    assert step.body.parts.hide is not None
    assert isinstance(step.body, Move)
    now, found = before.sealed.now, []
    for part, point in enumerate(step.body.parts.hide.points):
        for index, token in enumerate(now.tokens(seat)):
            place = (now.number, step.entry.prev, seq, step.body.action, part, index)
            if hidden_point(table, seat, token, *place) == point:
                found.append(table.sealers[seat].cards(now)[index])
    assert len(found) == len(step.body.parts.hide.points)
    return found


@pytest.mark.usefixtures("without_secrets")
def test_the_copy_does_not_depend_on_the_head() -> None:
    """The same action, signed again behind another head, shows and hides the same cards."""
    table = SealedTable(Hanamikoji(), 1)
    table.play(STARTS)
    own = table.seen_by(0).course
    assert own is not None
    sealer, tokens = table.sealers[0], Cheat(table, 0).tokens
    for action in own.state.legal_actions()[::7]:
        shown, hidden = set[tuple[str, ...]](), set[tuple[int, ...]]()
        for head in (own.head, "ab" * 32, "cd" * 32, "ef" * 32):
            parts = sealer.move(own._replace(head=head), action).body.parts
            if parts.show is not None:
                shown.add(parts.show.copies)
            if parts.hide is not None:
                indices = []
                for part, point in enumerate(parts.hide.points):
                    for index, token in enumerate(tokens):
                        place = (1, head, own.seq + 1, Hanamikoji().public(action), part, index)
                        if hidden_point(table, 0, token, *place) == point:
                            indices.append(index)
                hidden.add(tuple(indices))
        assert len(shown) + len(hidden) == 1


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("without_secrets")
@pytest.mark.parametrize("number", range(len(RULESETS)), ids=[ruleset.name for ruleset in RULESETS])
def test_the_search_for_a_hidden_card_costs_the_same_for_each_token(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It tries every token. If it stopped at the right one, the time would tell the service which one that is."""
    table, count = _played(number, 0).table, {"hide": 0, "combine": 0}
    dealt = rounds(table.course, courses(table))[0]
    for name in count:
        monkeypatch.setattr(sealing, name, counted(getattr(sealing, name), name, count))
    for seat in SEATS:
        key, entropy, tokens = table.sealed_keys[seat], table.entropy[seat], dealt.tokens(seat)
        assert dealt.hidden[seat]
        for each in dealt.hidden[seat]:
            costs = []
            for index, token in enumerate(tokens):
                place = (dealt.number, each.prev, each.seq, each.action, each.part, index)
                one = (each._replace(point=hidden_point(table, seat, token, *place)),)
                # A sealer keeps what it has found, so each search needs a new one.
                sealer = Sealer(key, table.game, seat, entropy, RULESETS[number], forbidden)
                count.update(hide=0, combine=0)
                sealer.own(dealt._replace(hidden=((), one) if seat else (one, ())))
                costs.append(dict(count))
            assert costs == costs[:1] * len(tokens)
            assert costs[0]["hide"] == len(tokens) < costs[0]["combine"]


def counted(function: Callable[..., bytes], name: str, count: dict[str, int]) -> Callable[..., bytes]:
    """The same function, which also adds its calls to `count`."""

    def call(*arguments: Any) -> bytes:  # Any: the arguments of either function
        count[name] += 1
        return function(*arguments)

    return call


# --- lengths ----------------------------------------------------------------------------------------------------------


def base64_length(count: int) -> int:
    return len(base64.b64encode(bytes(count)))


@pytest.mark.usefixtures("without_secrets")
def test_lengths_follow_from_the_action_and_the_number_of_tokens() -> None:
    checked = 0
    for table, _ in games():
        n = table.course.setup.ruleset.pack.size
        for before, step in zip(table.public.steps, table.public.steps[1:], strict=False):
            body, parts = step.entry.body, step.body.parts
            sealed = before.course.sealed
            assert sealed is not None
            seat = NAMES.index(step.entry.by) if step.entry.by in NAMES else 0
            t, action = len(sealed.now.tokens(seat)), str(body.get("action", ""))
            cards = sum(each.isalpha() for each in action[1:])
            expected: dict[str, object] = {}
            if parts.lock:
                sizes = {"deck": 32 * n, "key": 32, "proof": 32 * (4 * n + 5)}
                expected["lock"] = {name: base64_length(size) for name, size in sizes.items()}
            if parts.give:
                expected["give"] = base64_length(32 * len(parts.give.at) + 48)
            if parts.show:
                expected["show"] = base64_length(48 * t * cards)
            if parts.hide:
                expected["hide"] = [base64_length(32 + 48 * t)] * action.count("X")
            if parts.close:
                expected["close"] = base64_length(112)
            assert lengths(body) == expected
            checked += len(expected)
    assert checked > 200


def lengths(body: dict[str, JsonValue]) -> dict[str, object]:
    """The lengths of the base64 texts in a body."""
    found: dict[str, object] = {}
    match body.get("lock"):
        case {"deck": str(deck), "key": str(key), "proof": str(proof)}:
            found["lock"] = {"deck": len(deck), "key": len(key), "proof": len(proof)}
    match body.get("give"):
        case {"shares": str(shares)}:
            found["give"] = len(shares)
    match body.get("hide"):
        case list() as texts:
            found["hide"] = [len(str(text)) for text in texts]
    for name in ("show", "close"):
        match body.get(name):
            case {"proof": str(proof)}:
                found[name] = len(proof)
    return found


@pytest.mark.usefixtures("without_secrets")
def test_two_games_that_look_alike_have_texts_of_one_length() -> None:
    """The same public course with other cards: each line is as long as the one in the other game."""
    found = set[tuple[int, ...]]()
    hands = set[str]()
    for seed in range(8):
        table = SealedTable(Hanamikoji(), seed)
        table.play(STARTS)
        hands.add(table.sealers[0].cards(Cheat(table, 0).now)[0])
        for public in ("1X", "1X", "2XX", "2XX"):
            seat = table.course.actor
            assert seat is not None
            own = table.seen_by(seat).course
            assert own is not None
            legal = [each for each in own.state.legal_actions() if Hanamikoji().public(each) == public]
            table.send(seat, table.sealers[seat].move(own, table.random.choice(legal)).body)
        found.add(tuple(len(line.entry.text) for line in table.lines))
    assert len(hands) > 3
    assert len(found) == 1


# --- lies of the opponent ---------------------------------------------------------------------------------------------


def swallow(table: SealedTable, body: EntryBody, seat: Seat) -> None:
    """Goes on behind a lie, as a service would that looks at no proof."""
    table.lines = taken(table, body, seat)
    table.public = replay(table.lines)
    assert table.public.course is not None
    table.refereed = table.refereed._replace(course=table.public.course, at=table.at)


def test_a_false_share_is_noticed_by_its_reader() -> None:
    """One that is no card, a card twice, or no token at all."""
    table = SealedTable(Hanamikoji(), 2)
    table.play(STARTS - 1)
    seat, body = table.owed()
    assert seat == 0
    assert isinstance(body, Seed)
    assert body.parts.give is not None
    cheat, give = Cheat(table, 0), body.parts.give
    tokens, dealt = give.tokens, cheat.coming
    lies = (
        (plain.combine((2, tokens[0])), *tokens[1:]),
        (tokens[1], *tokens[1:]),
        (*tokens[:5], cheat.points.points[0]),
        (*tokens[:5], dealt.decks[1][11]),
    )
    for lie in lies:
        other = fork(table)
        false = cheat.give(give.at, dealt, tokens=lie)
        swallow(other, body._replace(parts=Parts(give=false)), 0)
        reads_none(other, 1)
        assert len(other.sealers[0].cards(Cheat(other, 0).now)) == 7
    swallow(table, body, 0)
    assert len(table.sealers[1].cards(Cheat(table, 1).now)) == 6


def test_a_false_lock_is_noticed_by_both() -> None:
    """The host's deck is multiplied by another number than the one in its key."""
    table = SealedTable(Hanamikoji(), 2)
    _, body = table.owed()
    assert isinstance(body, Open)
    assert body.parts.lock is not None
    deck = tuple(plain.combine((2, point)) for point in body.parts.lock.deck)
    honest = fork(table)
    swallow(table, body._replace(parts=Parts(lock=Cheat(table, 0).lock(deck=deck))), 0)
    swallow(honest, body, 0)
    for each in (table, honest):
        each.play(STARTS - 1)
        assert each.course.sealed is not None
        assert each.course.sealed.now.number == 1
    for seat in SEATS:
        reads_none(table, seat)
        assert len(honest.sealers[seat].cards(Cheat(honest, seat).now)) == 7 - seat


def reads_none(table: SealedTable, seat: Seat) -> None:
    """Checks that a seat reads no cards of the first round, and makes nothing of them."""
    now = Cheat(table, seat).now
    for attempt in (
        lambda: table.sealers[seat].cards(now),
        lambda: own_cards(table.sealers[seat], seat, courses(table)),
    ):
        with pytest.raises(TrustError, match="cards that you have got in round 1 are none"):
            attempt()


def test_without_pynacl_nobody_can_play_and_everybody_can_check(monkeypatch: pytest.MonkeyPatch) -> None:
    log = (Path(__file__).parents[1] / "data" / "vectors" / "games" / "sealed-resigned.jsonl").read_bytes()
    monkeypatch.setitem(sys.modules, "nacl.bindings", None)
    with pytest.raises(UsageError) as caught:
        Sealer(bytes(32), "ab" * 16, 0, "cd" * 32, Hanamikoji(), bytes)
    assert "[sealed]" in caught.value.hint
    assert audit(log).findings == ()
