"""Attacks in a sealed game, on its cards and on what is due: docs/spec/sealed.md.

Each lie is refused by the referee, which changes nothing. If a dishonest service takes it, the audit finds it at that
entry, and names its signer and the service. The same step without the lie is taken, and the audit finds nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from itertools import combinations

import pytest

from hkoji import errors, referee
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import add_seconds
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.course import EntryBody
from hkoji.game.entry_kinds import ChanceBody, Delegate, End, Join, Move, Open, Release, RevealBody, Seed, Unseal
from hkoji.game.held_keys import certify
from hkoji.game.parts import Parts
from hkoji.game.replay import replay
from hkoji.game.sealed_parts import GivePart, LockPart
from hkoji.log.line import format_log
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Outcome, Seat
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from hkoji.sealed.cards import blind_point
from hkoji.sealed.group import GENERATOR
from hkoji.sealed.proofs import hide
from hkoji.sealed.ristretto import ORDER, P
from hkoji.sealed.sodium import combine
from tests.support import forgery
from tests.support.adversary import convicted
from tests.support.sealed_cheat import Cheat
from tests.support.sealed_forgery import (
    BOTH,
    attack,
    extended,
    fork,
    found,
    goes_on,
    holds,
    kept_products,
    pins,
    refused,
    taken,
)
from tests.support.sealed_table import NAMES, SealedTable
from tests.support.table import AT, Table, new_game
from tests.support.table import refused as refused_at

__all__ = ["kept_products"]
pytestmark = pytest.mark.usefixtures("kept_products")

GAME = Hanamikoji(max_rounds=2)
ONE_ROUND = Hanamikoji(max_rounds=1)
"""A game whose last release brings a close and nothing else."""
CLOCK = Agreement(TimeControl(3600, 7200, 600, 9000), rated=True)

# --- tables -----------------------------------------------------------------------------------------------------------


@cache
def _course(ruleset: Hanamikoji) -> list[SealedTable]:
    """One game, after each of its entries so far."""
    return [new(entries=4, ruleset=ruleset)]


def at(stop: Callable[[SealedTable], bool], ruleset: Hanamikoji = GAME) -> SealedTable:
    """A game up to where it stops. Both seats play secret, trade-off, gift and competition in this order."""
    tables = _course(ruleset)
    for number in range(100):
        if number == len(tables):
            table = fork(tables[-1])
            play(table)
            tables.append(table)
        if stop(tables[number]):
            return fork(tables[number])
    raise AssertionError("the game does not come to this")


def play(table: SealedTable) -> None:
    """The next entry: an action in the order of the rules, or what else is due."""
    seat = table.course.actor
    if table.course.state.due is not Due.ACT or seat is None:
        table.step()
        return
    table.send(*act(table, "1234"[acted(table)[seat]]))


def acted(table: SealedTable) -> tuple[int, int]:
    """How many actions each seat has taken in this round."""
    assert table.course.sealed is not None
    return table.course.sealed.now.acted


def begun(table: SealedTable) -> bool:
    """The host owes the first decision."""
    return True


def fourth(table: SealedTable) -> bool:
    """The host owes its fourth action."""
    return acted(table)[0] == 3 and table.course.actor == 0 and table.course.state.due is Due.ACT


def answered(table: SealedTable) -> bool:
    """A seat owes a draw after an answer."""
    return table.course.debtor is not None and table.course.state.due is Due.DRAW


def last_decision(table: SealedTable) -> bool:
    """The next entry is the last decision of the round."""
    return acted(table) == (4, 4) and table.course.state.due is Due.ANSWER


def closing(table: SealedTable) -> bool:
    """A seat owes its close."""
    return table.course.state.due is Due.REVEAL


def new(seed: int = 2, entries: int = 0, ruleset: Ruleset = GAME) -> SealedTable:
    """A game after the offer and so many entries."""
    table = SealedTable(ruleset, seed, agreement=CLOCK)
    table.play(entries)
    return table


def owed(table: SealedTable) -> tuple[Seat, Move]:
    """The move that is due, as an honest player makes it."""
    seat, body = table.owed()
    assert isinstance(body, Move)
    return seat, body


def act(table: SealedTable, kind: str) -> tuple[Seat, Move]:
    """An action of a kind by the seat that is to act, as an honest player makes it."""
    seat = table.course.actor
    assert seat is not None
    own = table.seen_by(seat).course
    assert own is not None
    action = next(each for each in own.state.legal_actions() if each[0] == kind)
    return seat, table.sealers[seat].move(own, action).body


def kinds_of(copies: tuple[str, ...]) -> str:
    return "".join(sorted(copy[0] for copy in copies))


# --- the deal ---------------------------------------------------------------------------------------------------------


def false_locks(cheat: Cheat) -> dict[str, LockPart]:
    """Locks that are no shuffle of the deck before."""
    true = cheat.lock()
    deck, (number, _) = list(true.deck), cheat.fresh()

    def with_first(*points: bytes) -> list[bytes]:
        return [*points, *deck[len(points) :]]

    if cheat.seat == 1:
        host = cheat.coming.keys[0]
        assert host is not None
        return {
            "the key of the other": cheat.lock(key=host),
            "another deck": cheat.lock(before=cheat.points.points),
            "a card twice, as a multiple": cheat.lock(deck=with_first(combine((2, deck[1])))),
        }
    return {
        "a card twice": cheat.lock(deck=with_first(deck[1])),
        "a card twice, as a multiple": cheat.lock(deck=with_first(combine((2, deck[1])))),
        "a multiple": cheat.lock(deck=with_first(combine((2, deck[0])))),
        "a sum": cheat.lock(deck=with_first(combine((1, deck[0]), (1, deck[1])))),
        "sums that leave the sum of all": cheat.lock(
            deck=with_first(combine((1, deck[0]), (1, deck[2])), combine((1, deck[1]), (-1, deck[2])))
        ),
        "another key": cheat.lock(key=combine((number + 1, GENERATOR))),
        "a point of the deck before": cheat.lock(deck=with_first(cheat.before()[0])),
        "the deck before": cheat.lock(number=1),
        "the identity": cheat.lock()._replace(deck=(bytes(32), *deck[1:])),
        "no element": cheat.lock()._replace(deck=(b"\xff" * 32, *deck[1:])),
        "a deck in another order": true._replace(deck=(deck[1], deck[0], *deck[2:])),
        "a number that is not below the order": true._replace(
            proof=true.proof[: 32 * 2 * len(deck)] + _more(true.proof[32 * 2 * len(deck) :])
        ),
    }


def _more(scalars: bytes) -> bytes:
    """Scalars of which the first has the order added to it: the same number, in another encoding."""
    number = int.from_bytes(scalars[:32], "little") + ORDER
    return number.to_bytes(32, "little") + scalars[32:]


def no_elements(point: bytes) -> list[bytes]:
    """Encodings that look like that of an element: the identity, the top bit set, the negative, and p and more."""
    number = int.from_bytes(point, "little")
    found = (0, number | 1 << 255, P - number, P, P + 2, 1, 2**256 - 1)
    return [each.to_bytes(32, "little") for each in found]


MALFORMED = ("the identity", "no element", "a number that is not below the order")


@pytest.mark.parametrize("entries", [0, 2], ids=["host", "guest"])
def test_a_false_lock(entries: int) -> None:
    table = new(entries=entries)
    seat, body = table.owed()
    assert isinstance(body, Open | Seed)
    assert body.parts.lock is not None
    cheat = Cheat(table, seat, body.parts.lock.salt)
    for name, lock in false_locks(cheat).items():
        error = errors.MalformedError if name in MALFORMED else errors.ProofError
        assert lock != body.parts.lock
        attack(table, seat, body._replace(parts=body.parts._replace(lock=lock)), error, AuditStep.DEAL)
    goes_on(table, seat, body._replace(parts=body.parts._replace(lock=cheat.lock())))


def test_a_lock_of_another_place() -> None:
    table = new(entries=2)
    seat, body = table.owed()
    assert isinstance(body, Seed)
    assert body.parts.lock is not None
    cheat = Cheat(table, seat, body.parts.lock.salt)
    place = cheat.place(1)
    for other in (
        place._replace(game="ab" * 16),
        place._replace(seat=0),
        place._replace(round=2),
        place._replace(seq=place.seq + 1),
        place._replace(prev="cd" * 32),
    ):
        lie = body._replace(parts=body.parts._replace(lock=cheat.lock(place=other)))
        attack(table, seat, lie, errors.ProofError, AuditStep.DEAL)
    goes_on(table, seat, body._replace(parts=body.parts._replace(lock=cheat.lock(place=place))))


def test_no_lock_or_a_lock_too_many() -> None:
    table = new()
    seat, body = table.owed()
    assert isinstance(body, Open)
    attack(table, seat, body._replace(parts=Parts()), errors.MalformedError)
    road = SealedTable(GeishasRoad(), 1).owed()[1]
    attack(table, seat, body._replace(parts=road.parts), errors.MalformedError)  # of a deck of twenty cards
    goes_on(table, seat, body)
    table = at(begun)
    seat, move = act(table, "1")
    cheat = Cheat(table, seat)
    attack(table, seat, move._replace(parts=move.parts._replace(lock=cheat.lock())), errors.MalformedError)
    goes_on(table, seat, move)
    table = at(fourth)
    seat, move = owed(table)
    assert move.parts.lock is not None  # the fourth action
    attack(table, seat, move._replace(parts=move.parts._replace(lock=None)), errors.MalformedError)
    goes_on(table, seat, move)


def test_a_false_share() -> None:
    """At the guest's seed, which gives the host's hand and its first draw, and at the host's."""
    for entries in (2, 3):
        table = new(entries=entries)
        seat, body = table.owed()
        assert isinstance(body, Seed)
        true = body.parts.give
        assert true is not None
        cheat, other = Cheat(table, seat), Cheat(table, 1 - seat)
        dealt = (
            cheat.coming if body.parts.lock is None else cheat.coming.locked(seat, body.parts.lock, table.course.head)
        )
        number, deck, positions = cheat.number(dealt), dealt.decks[1], true.at

        def share(
            tokens: tuple[bytes, ...] | None = None, number: int | None = None, **said: object
        ) -> GivePart:  # of the positions that are due
            return cheat.give(positions, dealt, tokens=tokens, number=number, **said)  # noqa: B023 # called at once

        of_another = cheat.take_off([deck[(place + 6) % 12] for place in positions], number)
        aside = cheat.take_off([deck[20], *(deck[place] for place in positions[1:])], number)
        with_wrong = cheat.take_off([deck[place] for place in positions], number + 1)
        lies = {
            "other positions": share(of_another),
            "two exchanged": share((true.tokens[1], true.tokens[0], *true.tokens[2:])),
            "one twice": share((true.tokens[0], true.tokens[0], *true.tokens[2:])),
            "the card that is set aside": share(aside),
            "another number": share(with_wrong),
            "another key": share(with_wrong, number + 1),
            "not taken off": share(tuple(deck[place] for place in positions)),
            "in clear": share(cheat.points.points[: len(positions)]),
            "of another game": share(game="ab" * 16),
            "of the other giver": share(giver=1 - seat),
            "of another round": share(round=2),
            "of other positions": share(at=tuple(place + 1 for place in positions)),
        }
        assert share()[:2] == true[:2]
        assert share().tokens == true.tokens
        for name, lie in lies.items():
            assert lie.shares != true.shares, name
            attack(table, seat, body._replace(parts=body.parts._replace(give=lie)), errors.ProofError, AuditStep.DEAL)
        for point in no_elements(true.tokens[0])[: 2 + seat * 9]:
            lie = true._replace(shares=point + true.shares[32:])
            malformed = body._replace(parts=body.parts._replace(give=lie))
            attack(table, seat, malformed, errors.MalformedError, AuditStep.DEAL)
        goes_on(table, seat, body._replace(parts=body.parts._replace(give=share())))
        assert other.seat != seat


def test_a_share_that_is_not_due() -> None:
    """Too early, of too few or too many, of the own positions, of another round, or none."""
    table = new(entries=3)
    seat, body = table.owed()
    assert seat == 0
    assert isinstance(body, Seed)
    cheat = Cheat(table, seat)
    dealt = cheat.coming
    true = body.parts.give
    assert true is not None
    for at_ in ((6, 7, 8, 9, 10), (6, 7, 8, 9, 10, 11, 16), (0, 1, 2, 3, 4, 5), (6, 7, 8, 9, 10, 12)):
        lie = body._replace(parts=Parts(give=cheat.give(at_, dealt)))
        attack(table, seat, lie, errors.MalformedError)
    attack(table, seat, body._replace(parts=Parts(give=true._replace(round=2))), errors.MalformedError)
    attack(table, seat, body._replace(parts=Parts()), errors.MalformedError)
    goes_on(table, seat, body)
    table = at(begun)
    seat, move = act(table, "3")  # an offer, which gives nothing
    cheat = Cheat(table, seat)
    assert move.parts.give is None
    for position in (16, 17, 6):  # the next draw, a later one, and a card that was given
        give = cheat.give((position,), cheat.now)
        attack(table, seat, move._replace(parts=move.parts._replace(give=give)), errors.MalformedError)
    goes_on(table, seat, move)
    seat, move = act(table, "1")  # with which the draw of the guest is due
    assert move.parts.give is not None
    assert move.parts.give.at == (16,)
    attack(table, seat, move._replace(parts=move.parts._replace(give=None)), errors.MalformedError)
    attack(
        table, seat, move._replace(parts=move.parts._replace(give=cheat.give((17,), cheat.now))), errors.MalformedError
    )
    goes_on(table, seat, move)


def test_the_card_that_is_set_aside_cannot_be_named() -> None:
    table = new(entries=3)
    seat, body = table.owed()
    cheat = Cheat(table, seat)
    give = cheat.give((6, 7, 8, 9, 10, 20), cheat.coming)
    assert isinstance(body, Seed)
    lie = body._replace(parts=Parts(give=give))
    refused(table, lambda: table.send(seat, lie), errors.MalformedError)
    found(table, taken(table, lie, seat), AuditStep.PARSE, None)
    goes_on(table, seat, body)


def test_chance_that_is_not_what_the_entropy_gives() -> None:
    ruleset = GeishasRoad("random", "random")
    table = SealedTable(ruleset, 4)
    table.play(4)
    body = table.public.steps[-1].body
    assert isinstance(body, ChanceBody)
    assert body.first is not None
    assert body.markers is not None
    before = fork(table)
    del before.lines[-1]
    holds(table)
    for lie in (body._replace(first=1 - body.first), body._replace(markers=body.markers[::-1])):
        found(before, taken(before, lie, None), AuditStep.DEAL, "server")


# --- cards that are shown ---------------------------------------------------------------------------------------------


def offer_of(table: SealedTable, copies: tuple[str, ...], **how: object) -> Move:
    """A gift of these cards, which may be a lie."""
    seat = table.course.actor
    assert seat is not None
    copies = tuple(sorted(copies))
    show = Cheat(table, seat).show(*copies, **how)  # type: ignore[arg-type] # by name
    return Move("3" + kinds_of(copies), (), None, Parts(show=show))


def test_a_card_shown_that_is_not_held() -> None:
    table = at(begun)
    cheat = Cheat(table, 0)
    held = cheat.cards[:2]
    for other in (*cheat.table.sealers[1].cards(cheat.now)[:1], *_unseen(table)[:1]):
        assert other not in cheat.cards
        attack(table, 0, offer_of(table, (*held, other)), errors.ProofError)
    goes_on(table, 0, offer_of(table, cheat.cards[:3]))


def _unseen(table: SealedTable) -> list[str]:
    """Cards that nobody has yet: they are still to be drawn, or set aside."""
    now = Cheat(table, 0).now
    got = {*table.sealers[0].cards(now), *table.sealers[1].cards(now)}
    return [copy for copy, _ in GAME.pack.deck() if copy not in got]


def test_another_copy_of_a_card_that_is_held() -> None:
    """Its kind is held, but not this copy."""
    for seed in range(30):
        table = SealedTable(GAME, seed, agreement=CLOCK)
        table.play(4)
        cheat = Cheat(table, 0)
        others = [copy for copy in map(str, _copies()) if copy not in cheat.cards and copy[0] in kinds_of(cheat.cards)]
        copy = next((copy for copy in others if copy[0] not in kinds_of(cheat.cards[:2])), None)
        if copy is not None:
            attack(table, 0, offer_of(table, (*cheat.cards[:2], copy)), errors.ProofError)
            true = next(each for each in cheat.cards if each[0] == copy[0])
            goes_on(table, 0, offer_of(table, (*cheat.cards[:2], true)))
            return
    raise AssertionError("no game has such a hand")


def _copies() -> list[str]:
    return [copy for copy, _ in GAME.pack.deck()]


def test_a_card_shown_twice() -> None:
    """In one action; a card that the other seat has shown; and one that the own seat has."""
    table = at(begun)
    one, two, three = Cheat(table, 0).cards[:3]
    attack(table, 0, offer_of(table, (one, one, two)), errors.IllegalError)
    honest = offer_of(table, (one, two, three))
    goes_on(table, 0, honest)
    table.send(0, honest)
    while table.course.actor != 1 or table.course.state.due is not Due.ACT:
        table.step()
    cheat = Cheat(table, 1)
    attack(table, 1, offer_of(table, (one, *cheat.cards[:2])), errors.IllegalError)
    goes_on(table, 1, offer_of(table, cheat.cards[:3]))
    table.send(1, offer_of(table, cheat.cards[:3]))
    while table.course.actor != 0 or table.course.state.due is not Due.ACT:
        table.step()
    cheat = Cheat(table, 0)
    left = tuple(sorted(copy for copy in cheat.cards if copy not in (one, two, three)))[:4]

    honest = cheat.competition(*left)
    assert honest.parts.show is not None
    lie = sorted((one, *honest.parts.show.copies[1:]))
    lie = [*sorted(lie[:2]), *sorted(lie[2:])]
    shown = honest.parts._replace(show=cheat.show(*lie))
    attack(table, 0, honest._replace(action="4" + kinds_of(tuple(lie)), parts=shown), errors.IllegalError)
    goes_on(table, 0, honest)


def test_a_card_shown_as_another_kind() -> None:
    table = at(begun)
    cheat = Cheat(table, 0)
    copies = next(each for each in combinations(sorted(cheat.cards), 3) if each[0][0] != each[1][0])
    other = next(copy for copy in cheat.cards if copy[0] not in kinds_of(copies))
    honest = offer_of(table, copies)
    for lie in (
        honest._replace(action="3" + kinds_of((*copies[:2], other))),
        honest._replace(parts=Parts(show=cheat.show(*copies[:2]))),
        honest._replace(parts=Parts(show=cheat.show(copies[1], copies[0], copies[2]))),
        honest._replace(parts=Parts()),
        honest._replace(parts=Parts(hide=cheat.hide(honest.action, 0, 1))),
    ):
        attack(table, 0, lie, errors.MalformedError)
    goes_on(table, 0, honest)


# --- cards that are hidden --------------------------------------------------------------------------------------------


def trade_off(table: SealedTable, *indices: int, points: tuple[bytes, ...] = ()) -> Move:
    """A trade-off of the tokens with these indices, which may be a lie. It gives what is due."""
    seat, honest = act(table, "2")
    hide = Cheat(table, seat).hide("2XX", *indices, points=points)
    return honest._replace(parts=honest.parts._replace(show=None, hide=hide))


def test_a_card_hidden_that_is_not_held() -> None:
    """One of the other seat; one that comes later; no card at all."""
    table = at(begun)
    cheat = Cheat(table, 0)
    later = next(iter(cheat.take_off([cheat.now.decks[1][13]], Cheat(table, 1).number(cheat.now))))
    true = combine((1, cheat.tokens[1]), (cheat.blinding("2XX", 1, 1), blind_point()))
    number = cheat.blinding("2XX", 0, 0)
    for token in (cheat.now.tokens(1)[0], later, cheat.points.points[0], combine((2, cheat.tokens[0]))):
        hidden = combine((1, token), (number, blind_point()))
        attack(table, 0, trade_off(table, 0, 1, points=(hidden, true)), errors.ProofError)
    attack(table, 0, trade_off(table, 0, 1, points=(bytes(32), true)), errors.MalformedError)
    goes_on(table, 0, trade_off(table, 0, 1))


def test_a_card_that_is_not_hidden() -> None:
    """The hidden point is a token: its proof holds, with 0 as the secret number."""
    table = at(begun)
    cheat = Cheat(table, 0)
    seat, honest = act(table, "2")
    bare = cheat.hide("2XX", 0, 1, numbers=(0, cheat.blinding("2XX", 1, 1)))
    assert bare.points[0] == cheat.tokens[0]
    attack(table, seat, honest._replace(parts=honest.parts._replace(hide=bare)), errors.ProofError)
    other = cheat.hide("2XX", 0, 1, points=(cheat.tokens[2], bare.points[1]))
    attack(table, seat, honest._replace(parts=honest.parts._replace(hide=other)), errors.ProofError)
    known = cheat.hide("2XX", 0, 1, numbers=(1, 2))  # anybody could take off such numbers; no rule forbids it
    goes_on(table, seat, honest._replace(parts=honest.parts._replace(hide=known)))
    goes_on(table, seat, trade_off(table, 0, 1))


def test_a_hidden_point_that_is_repeated() -> None:
    """Within an action, with a true proof for each part; and one of an action before."""
    table = at(begun)
    cheat = Cheat(table, 0)
    number = cheat.blinding("2XX", 0, 0)
    twice = cheat.hide("2XX", 0, 1, points=(_hidden(cheat, 0, number), _hidden(cheat, 0, number)))
    seat, honest = act(table, "2")
    attack(table, seat, honest._replace(parts=honest.parts._replace(hide=twice)), errors.IllegalError)
    goes_on(table, seat, trade_off(table, 0, 1))
    secret = act(table, "1")[1]
    table.send(seat, secret._replace(parts=secret.parts._replace(hide=cheat.hide("1X", 0))))
    point = cheat.now.hidden[0][0].point
    while table.course.actor != 0 or table.course.state.due is not Due.ACT:
        table.step()
    again = trade_off(table, 1, 2, points=(point, cheat.hide("2XX", 2, first=1).points[0]))
    attack(table, 0, again, errors.IllegalError)
    goes_on(table, 0, trade_off(table, 1, 2))


def _hidden(cheat: Cheat, index: int, number: int) -> bytes:
    return hide(combine, cheat.tokens[index], number)


def test_hidden_cards_with_the_parts_of_another_action() -> None:
    table = at(begun)
    cheat = Cheat(table, 0)
    seat, honest = act(table, "2")
    show = cheat.show(*cheat.cards[:2])
    for parts in (Parts(show=show), Parts(hide=cheat.hide("2XX", 0)), Parts()):
        lie = honest._replace(parts=parts._replace(give=honest.parts.give))
        attack(table, seat, lie, errors.MalformedError)
    named = honest._replace(action="2" + kinds_of(cheat.cards[:2]))
    attack(table, seat, named, errors.MalformedError)
    goes_on(table, seat, honest)


def test_an_action_that_both_shows_and_hides() -> None:
    """Each of the two parts is true, but only one belongs in the entry."""
    table = at(begun)
    cheat = Cheat(table, 0)
    for kind, more in (
        ("2", Parts(show=cheat.show(*cheat.cards[:2]))),
        ("3", Parts(hide=cheat.hide("3XX", 0, 1))),
    ):
        seat, honest = act(table, kind)
        parts = honest.parts._replace(show=honest.parts.show or more.show, hide=honest.parts.hide or more.hide)
        attack(table, seat, honest._replace(parts=parts), errors.MalformedError)
        goes_on(table, seat, honest)


def test_an_answer_that_shows_or_hides() -> None:
    table = at(lambda table: table.course.state.due is Due.ANSWER and table.course.debtor is None)
    seat, honest = owed(table)
    cheat = Cheat(table, seat)
    for more in ({"show": cheat.show(cheat.cards[0])}, {"hide": cheat.hide("1X", 0)}):
        attack(table, seat, honest._replace(parts=honest.parts._replace(**more)), errors.MalformedError)
    goes_on(table, seat, honest)


def test_a_hidden_card_with_a_proof_among_more_tokens() -> None:
    """Its length is one that another action could have."""
    table = at(begun)
    seat, honest = act(table, "2")
    hide = honest.parts.hide
    assert hide is not None
    longer = hide._replace(hidden=tuple(each + bytes(48) for each in hide.hidden))
    lie = honest._replace(parts=honest.parts._replace(hide=longer))
    attack(table, seat, lie, errors.MalformedError)
    assert replay(taken(table, lie, seat)).stop is not None  # which checks no proofs
    goes_on(table, seat, honest)


# --- proofs from elsewhere --------------------------------------------------------------------------------------------


def test_a_proof_of_another_place() -> None:
    """Of another game, seat, round, entry or head; of another number in its action; with another label or key."""
    table = at(begun)
    cheat = Cheat(table, 0)
    place = cheat.place()
    places = (
        place._replace(game="ab" * 16),
        place._replace(seat=1),
        place._replace(round=2),
        place._replace(seq=place.seq + 1),
        place._replace(prev=table.lines[-1].entry.prev),
    )
    copies = tuple(sorted(cheat.cards[:3]))
    honest = offer_of(table, copies)
    for other in places:
        attack(table, 0, offer_of(table, copies, place=other), errors.ProofError)
    attack(table, 0, offer_of(table, copies, first=1), errors.ProofError)
    other_key = cheat.now.keys[1]
    attack(table, 0, offer_of(table, copies, key=other_key), errors.ProofError)
    goes_on(table, 0, honest)
    seat, hides = act(table, "2")
    for other in places:
        hide = cheat.hide("2XX", 0, 1, place=other)
        attack(table, seat, hides._replace(parts=hides.parts._replace(hide=hide)), errors.ProofError)
    exchanged = cheat.hide("2XX", 0, 1, first=1)
    attack(table, seat, hides._replace(parts=hides.parts._replace(hide=exchanged)), errors.ProofError)
    shown = cheat.show(*copies[:2]).proof
    size = len(shown) // 2
    true = cheat.hide("2XX", 0, 1)
    label = true._replace(hidden=tuple(point + shown[i * size : (i + 1) * size] for i, point in enumerate(true.points)))
    attack(table, seat, hides._replace(parts=hides.parts._replace(hide=label)), errors.ProofError)
    goes_on(table, seat, hides._replace(parts=hides.parts._replace(hide=true)))


def test_a_changed_bit() -> None:
    """Somewhere in each part, and signed: a proof does not hold, or the bytes are no element or no number."""
    table = new(entries=2)
    seat, seed = table.owed()
    assert isinstance(seed, Seed)
    lock, give = seed.parts.lock, seed.parts.give
    assert lock is not None
    assert give is not None
    for place, bit in ((3, 0), (40, 7), (1500, 3), (2000, 1), (2700, 5)):
        changed = lock._replace(proof=flipped(lock.proof, place, bit))
        unsound(table, seat, seed._replace(parts=seed.parts._replace(lock=changed)), AuditStep.DEAL)
    for place, bit in ((0, 0), (220, 2), (240, 0), (250, 3)):
        changed_give = give._replace(shares=flipped(give.shares, place, bit))
        unsound(table, seat, seed._replace(parts=seed.parts._replace(give=changed_give)), AuditStep.DEAL)
    goes_on(table, seat, seed)
    table = at(begun)
    seat, move = act(table, "3")
    show = move.parts.show
    assert show is not None
    for place, bit in ((0, 0), (20, 4), (len(show.proof) - 20, 1), (len(show.proof) // 2, 3)):
        changed_show = show._replace(proof=flipped(show.proof, place, bit))
        unsound(table, seat, move._replace(parts=move.parts._replace(show=changed_show)), AuditStep.REPLAY)
    goes_on(table, seat, move)


def flipped(raw: bytes, place: int, bit: int) -> bytes:
    """Bytes of which one bit is another."""
    return raw[:place] + bytes([raw[place] ^ (1 << bit)]) + raw[place + 1 :]


def unsound(table: SealedTable, seat: Seat, lie: EntryBody, step: AuditStep) -> None:
    """Checks that a lie is refused, as a false proof or as bytes that say nothing, and that the audit finds it."""
    try:
        fork(table).send(seat, lie)
    except (errors.ProofError, errors.MalformedError) as error:
        attack(table, seat, lie, type(error), step)
    else:
        raise AssertionError("the lie was taken")


def test_a_part_of_another_length() -> None:
    """Each length follows from the rules; one that no game could have is found in the first step, and names nobody."""
    table = at(begun)
    seat, move = act(table, "3")
    show = move.parts.show
    assert show is not None
    for proof, step in ((show.proof[:-1], AuditStep.PARSE), (show.proof + bytes(48 * 3), AuditStep.REPLAY)):
        lie = move._replace(parts=move.parts._replace(show=show._replace(proof=proof)))
        refused(table, lambda lie=lie: table.send(seat, lie), errors.MalformedError)  # type: ignore[misc] # bound now
        found(table, taken(table, lie, seat), step, None if step is AuditStep.PARSE else BOTH[seat])
    goes_on(table, seat, move)


# --- the close --------------------------------------------------------------------------------------------------------


def blindings(cheat: Cheat) -> list[tuple[int, int]]:
    """For each own hidden card its token, and the number that hides it."""
    found = []
    for each in cheat.now.hidden[cheat.seat]:
        for index, token in enumerate(cheat.tokens):
            number = cheat.seal.blinding(cheat.now.number, each.prev, each.seq, each.action, each.part, index)
            if combine((1, token), (number, blind_point())) == each.point:
                found.append((index, number))
    return found


def secret_index(cheat: Cheat) -> int:
    """The number of the hidden card that counts, among those of its seat."""
    return next(index for index, each in enumerate(cheat.now.hidden[cheat.seat]) if each.counts)


def test_another_secret_turned_up() -> None:
    """A card of the trade-off, one that was shown, one of the other seat, and another copy; or with a proof from
    elsewhere."""
    table = at(closing, ONE_ROUND)
    seat, body = table.owed()
    assert isinstance(body, Release)
    close = body.parts.close
    assert close is not None
    cheat = Cheat(table, seat)
    numbers = blindings(cheat)
    secret = secret_index(cheat)
    total = sum(number for _, number in numbers)

    def turned(card: str, index: int = secret, total: int = total, **how: object) -> Release:
        made = cheat.close(card, numbers[index][1], total, **how)  # type: ignore[arg-type] # by name
        return body._replace(parts=body.parts._replace(close=made))

    others = [index for index in range(3) if index != secret]
    discarded = [cheat.cards[numbers[index][0]] for index in others]
    for card, index in zip(discarded, others, strict=True):
        attack(table, seat, turned(card), errors.ProofError)
        attack(table, seat, turned(card, index), errors.ProofError)
        point = cheat.now.hidden[seat][index].point
        attack(table, seat, turned(card, index, counts=point), errors.ProofError)
    seen = {*cheat.cards, *cheat.now.shown[1 - seat], *cheat.now.closed}
    attack(table, seat, turned(next(each for each in _copies() if each not in seen)), errors.ProofError)
    known = cheat.now.shown[seat][0], cheat.now.shown[1 - seat][0], cheat.now.closed[1 - seat] or ""
    for card in known:
        attack(table, seat, turned(card), errors.IllegalError)
    attack(table, seat, turned(close.card, total=total + 1), errors.ProofError)
    place = cheat.place()
    for other in (
        place._replace(game="ab" * 16),
        place._replace(seat=1 - seat),
        place._replace(round=2),
        place._replace(seq=place.seq - 1),
        place._replace(prev="cd" * 32),
    ):
        attack(table, seat, turned(close.card, place=other), errors.ProofError)
    unknown = body._replace(parts=body.parts._replace(close=close._replace(card="H1")))
    attack(table, seat, unknown, errors.MalformedError)
    goes_on(table, seat, turned(close.card))


def used_twice(plan: dict[str, tuple[int, ...]]) -> SealedTable:
    """A round in which bob plays tokens by a plan: for each of his four actions their indices. He owes his close."""
    table = new(entries=4, ruleset=ONE_ROUND)
    actions = iter(plan.items())
    while table.course.state.due is not Due.REVEAL:
        cheat = Cheat(table, 1)
        if table.course.actor != 1 or table.course.debtor is not None:
            table.step()
        elif table.course.state.due is Due.ANSWER:
            table.send(1, cheat.move(table.course.state.legal_actions()[0]))
        else:
            kind, indices = next(actions)
            copies = [cheat.cards[index] for index in indices]
            if kind in "12":
                action = kind + "X" * int(kind)
                move = cheat.move(action, Parts(hide=cheat.hide(action, *indices)))
            else:
                move = cheat.gift(*copies) if kind == "3" else cheat.competition(*copies)
            table.send(1, move)
    assert table.course.debtor == 1
    assert table.public.stop is None
    return table


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param({"1": (0,), "2": (1, 2), "3": (0, 3, 4), "4": (5, 6, 7, 8)}, id="the secret shown"),
        pytest.param({"1": (0,), "2": (1, 2), "3": (3, 4, 5), "4": (2, 6, 7, 8)}, id="a discarded card shown"),
        pytest.param({"1": (0,), "2": (0, 1), "3": (2, 3, 4), "4": (5, 6, 7, 8)}, id="hidden twice"),
    ],
)
def test_a_card_used_twice_cannot_be_closed(plan: dict[str, tuple[int, ...]]) -> None:
    """It is held each time, so each proof holds. But no close does, and the cheat loses on time."""
    table = used_twice(plan)
    holds(table)
    cheat = Cheat(table, 1)
    numbers = blindings(cheat)
    total, secret = sum(number for _, number in numbers), numbers[secret_index(cheat)][1]

    def closed(card: str, blinding: int, all_blindings: int) -> Release:
        return Release(Parts(close=cheat.close(card, blinding, all_blindings)))

    own = cheat.cards[plan["1"][0]]
    attack(
        table, 1, closed(own, secret, total), errors.IllegalError if own in cheat.now.shown[1] else errors.ProofError
    )
    for blinding, all_blindings in ((secret, total), (numbers[2][1], total), (secret, total - numbers[1][1]), (0, 0)):
        attack(table, 1, closed(cheat.cards[9], blinding, all_blindings), errors.ProofError)
    due = referee.deadline(table.refereed)
    assert due is not None
    ended = referee.timeout(table.refereed, signer=table.server, at=add_seconds(due, 1))
    assert ended.refereed.course.outcome == Outcome("timeout", 0)
    table.lines.extend(ended.lines)
    holds(table)


def test_the_same_round_without_a_card_used_twice() -> None:
    table = used_twice({"1": (0,), "2": (1, 2), "3": (3, 4, 5), "4": (6, 7, 8, 9)})
    goes_on(table, 1, table.sealers[1].release(table.course).body)


def test_no_close_or_a_close_that_is_not_due() -> None:
    table = at(last_decision)
    seat, move = owed(table)
    assert move.parts.close is not None
    assert move.parts.give is not None
    attack(table, seat, move._replace(parts=move.parts._replace(close=None)), errors.MalformedError)
    attack(table, seat, move._replace(parts=move.parts._replace(give=None)), errors.MalformedError)
    goes_on(table, seat, move)
    cheat = Cheat(table, seat)
    numbers = blindings(cheat)
    early = cheat.close(move.parts.close.card, numbers[secret_index(cheat)][1], sum(number for _, number in numbers))
    table = at(answered)
    seat, body = table.owed()
    assert isinstance(body, Release)
    attack(table, seat, body._replace(parts=body.parts._replace(close=early)), errors.MalformedError)
    goes_on(table, seat, body)
    table = at(closing)
    seat, body = table.owed()
    assert isinstance(body, Release)
    assert body.parts.give is not None
    attack(table, seat, body._replace(parts=body.parts._replace(close=None)), errors.MalformedError)
    attack(table, seat, body._replace(parts=body.parts._replace(give=None)), errors.MalformedError)
    goes_on(table, seat, body)


# --- who owes what ----------------------------------------------------------------------------------------------------


def test_a_move_instead_of_a_release_that_is_owed() -> None:
    """Neither the debtor may make it, nor the seat that waits for its draw."""
    table = at(answered)
    seat, body = table.owed()
    assert table.course.debtor == seat
    cheat = Cheat(table, seat)
    lie = Move("1X", (), None, Parts(hide=cheat.hide("1X", 0)))
    attack(table, seat, lie, errors.IllegalError)
    other = Cheat(table, 1 - seat)
    waits = Move("1X", (), None, Parts(hide=other.hide("1X", 0)))
    attack(table, 1 - seat, waits, errors.NotYourTurnError)
    goes_on(table, seat, body)


def test_a_release_that_is_not_owed() -> None:
    """Instead of a move, by the other seat, and by the service, which may write none."""
    table = at(begun)
    seat, move = act(table, "1")
    cheat, other = Cheat(table, seat), Cheat(table, 1 - seat)
    early = Release(Parts(give=cheat.give((16,), cheat.now)))
    attack(table, seat, early, errors.IllegalError)
    own = Release(Parts(give=other.give((13,), other.now)))
    attack(table, 1 - seat, own, errors.NotYourTurnError)
    found(table, taken(table, early, None), AuditStep.REPLAY, "server")
    goes_on(table, seat, move)
    table = at(answered)
    seat, body = table.owed()
    assert isinstance(body, Release)
    attack(table, 1 - seat, body, errors.NotYourTurnError)
    found(table, taken(table, body, None), AuditStep.REPLAY, "server")
    goes_on(table, seat, body)


def test_a_release_of_something_else() -> None:
    """Another draw, another round, more than is due, a card that the owner has, and a hidden or shown card."""
    table = at(answered)
    seat, body = table.owed()
    assert isinstance(body, Release)
    assert body.parts.give is not None
    cheat = Cheat(table, seat)
    (due,) = body.parts.give.at
    hand = 6 * (1 - seat)
    for at_ in ((due + 1,), (due, due + 1), (hand,), (hand, due)):
        attack(table, seat, Release(Parts(give=cheat.give(at_, cheat.now))), errors.MalformedError)
    attack(table, seat, Release(Parts(give=body.parts.give._replace(round=2))), errors.MalformedError)
    goes_on(table, seat, body)


# --- what a sealed game does not have ---------------------------------------------------------------------------------


def test_a_commitment_in_a_sealed_game() -> None:
    table = at(begun)
    seat, move = act(table, "1")
    commit = Opening(table.course.seq + 1, 0, "A", "ab" * 32).commitment(table.game)
    lie = move._replace(commit=(commit,))
    found(table, taken(table, lie, seat), AuditStep.REPLAY, BOTH[seat])
    opened = table.submission(seat, lie)._replace(opening=(Opening(table.course.seq + 1, 0, "A", "ab" * 32),))
    refused(
        table, lambda: referee.accept(table.refereed, opened, signer=table.server, at=table.at), errors.MalformedError
    )
    goes_on(table, seat, move)


def test_a_reveal_in_a_sealed_game() -> None:
    table = at(closing)
    seat, body = table.owed()
    found(table, taken(table, RevealBody(()), None), AuditStep.REPLAY, "server")
    goes_on(table, seat, body)


def test_a_seed_at_the_end_of_a_sealed_game() -> None:
    """Neither there nor behind it is there anything to publish."""
    table = new(entries=6)
    table.resign(0)
    holds(table)
    end = table.public.steps[-1].body
    assert isinstance(end, End)
    before = fork(table)
    del before.lines[-1]
    for lie, step in (
        (end._replace(seed="ab" * 32), None),
        (end._replace(openings=(Opening(5, 0, "A", "ab" * 32),)), AuditStep.COMMITMENTS),
        (end._replace(result=Outcome("resign", 0)), AuditStep.RESULT),
    ):
        found(before, taken(before, lie, None), step, "server")
    found(table, taken(table, Unseal("ab" * 32), None), None, "server")
    with pytest.raises(errors.GameOverError):
        referee.unseal(table.refereed, signer=table.server, at=table.at)
    with pytest.raises(errors.IllegalError):
        referee.unseal(at(begun).refereed, signer=table.server, at=table.at)


def test_a_view_of_a_sealed_game_shows_no_cards() -> None:
    for stop in (begun, closing):
        table = at(stop)
        for seat in (0, 1):
            view = referee.view(table.refereed, seat)
            assert view.dealt == ()
            assert (view.head, view.seat) == (table.course.head, seat)


def test_cards_of_a_sealed_game_in_another() -> None:
    """The keys of a sealed game break the rules of a game with a dealer, in each kind of entry that has them."""
    sealed = new(entries=2).owed()[1].parts
    gift, secret, close = act(at(begun), "3")[1].parts, act(at(begun), "1")[1].parts, at(closing).owed()[1].parts
    table = Table(Hanamikoji(), 3)
    commit = entropy_commit(table.game, 0, table.entropy[0])
    honest: EntryBody = Open(commit, table.keys[0].public)
    in_other(table, 0, Open(commit, table.keys[0].public, parts=Parts(lock=sealed.lock)), honest)
    table.send(table.entry(0, honest))
    table.send(table.entry(1, Join(entropy_commit(table.game, 1, table.entropy[1]), table.keys[1].public)))
    for parts in (sealed, Parts(give=sealed.give)):
        in_other(table, 1, Seed(table.entropy[1], None, parts), Seed(table.entropy[1]))
    table = new_game(3)
    move = next(each for each in table.course.state.legal_actions() if each[0] == "3")
    for parts in (gift, secret._replace(hide=None), sealed, Parts(close=close.close), Parts(hide=secret.hide)):
        assert any(parts)
        in_other(table, 0, Move(move, (), None, parts), Move(move))
    in_other(table, 0, Release(Parts(give=sealed.give)), Move(move))


def in_other(table: Table, seat: Seat, lie: EntryBody, honest: EntryBody) -> None:
    """Checks that a game with a dealer refuses a lie, and that the audit names both if it is taken."""
    entry = table.entry(seat, lie)
    with pytest.raises(errors.HkojiError) as caught:
        table.send(entry)
    assert type(caught.value) in (errors.MalformedError, errors.IllegalError)
    refused_at(table, entry, type(caught.value))
    lines = extended(table.server, table.lines, lie, NAMES[seat], table.keys[seat], at=AT)
    convicted(table, format_log(lines), AuditStep.REPLAY, len(lines) - 1, BOTH[seat])
    copied = copy.copy(table)
    copied.lines = list(table.lines)
    copied.send(copied.entry(seat, honest))
    assert audit(copied.text, forgery.pins(table)).ok


def test_a_key_of_the_service_in_a_sealed_game() -> None:
    """A seat that the service holds, at the `open` and at the `join`; and a key that it shall hold from now on."""
    mail = MailClaim("ab" * 32, MailGrade.DKIM)

    def certified(table: SealedTable, seat: Seat, key: PrivateKey) -> Delegate:
        gateway = certify(
            table.server,
            address="cd" * 32,
            at=table.at,
            key=key.public,
            name=NAMES[seat],
            origin="http://127.0.0.1:9",
        )
        return Delegate(gateway, MailGrade.DKIM)

    for entries in (0, 1):
        table = new(entries=entries)
        seat, body = table.owed()
        assert isinstance(body, Open | Join)
        gateway = certified(table, seat, table.keys[seat]).gateway
        attack_by_mail(table, seat, body._replace(gateway=gateway, mail=mail))
        goes_on(table, seat, body)
    table = at(begun)
    seat, move = act(table, "1")
    held = PrivateKey.from_seed(b"\x05" * 32)
    attack(table, seat, certified(table, seat, held), errors.IllegalError)
    attack(table, seat, Delegate(None, None), errors.IllegalError)
    goes_on(table, seat, move)


def attack_by_mail(table: SealedTable, seat: Seat, lie: EntryBody) -> None:
    """As `attack`: the key is one of the service, which answers for all that it signs."""
    refused(table, lambda: table.send(seat, lie), errors.IllegalError)
    found(table, taken(table, lie, seat), AuditStep.REPLAY, f"the service, for {NAMES[seat]}")


def test_a_mail_in_a_sealed_game() -> None:
    table = at(begun)
    seat, move = act(table, "1")
    lie = move._replace(mail=MailClaim("ab" * 32, MailGrade.DKIM))
    refused(table, lambda: table.send(seat, lie), errors.IllegalError)
    # No key is held here, and step 5 comes first.
    result = audit(format_log(taken(table, lie, seat)), pins(table))
    assert [(finding.entry, finding.signer) for finding in result.findings] == [(len(table.lines), "server")]
    goes_on(table, seat, move)
