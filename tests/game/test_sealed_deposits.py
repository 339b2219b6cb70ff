"""Deposits: a draw that the service keeps is released when it is due, by the service and nobody else.

docs/spec/sealed.md, "Deposits". Where an entry may name one is computed here anew, from the page.
"""

from __future__ import annotations

import pytest

from hkoji import referee
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.errors import IllegalError, MalformedError, NotYourTurnError, StorageError
from hkoji.game.agreement import DAY, Agreement, parse_time_control
from hkoji.game.clock import add_seconds
from hkoji.game.course import Course, EntryBody, Stage
from hkoji.game.entry_kinds import Move, Release, Resign, Seed, Timeout
from hkoji.game.parts import Parts
from hkoji.game.sealed_parts import GivePart
from hkoji.game.submission import format_submission, parse_submission
from hkoji.log.line import format_log
from hkoji.rules.events import Seat
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Due, Ruleset
from tests.support.sealed_forgery import extended, found, holds, pins, refused, taken
from tests.support.sealed_table import NAMES, SealedTable
from tests.support.stub_group import without_secrets

__all__ = ["without_secrets"]
pytestmark = pytest.mark.usefixtures("without_secrets")

RULESETS: tuple[Ruleset, ...] = (
    Hanamikoji(),
    Hanamikoji("guest", 2),
    Hanamikoji("random"),
    GeishasRoad(),
    GeishasRoad("guest", "random"),
    GeishasRoad("random"),
)
every_ruleset = pytest.mark.parametrize("ruleset", RULESETS, ids=lambda each: f"{each.name}-{each.first}")


def place_by_the_page(before: Course, body: EntryBody, after: Course, seat: Seat) -> tuple[int, int] | None:
    """The round and position that an entry may deposit, by the words of the page."""
    other, ruleset = 1 - seat, after.setup.ruleset
    assert before.sealed is not None
    number = before.sealed.now.number
    first = 12 + 4 * other
    if isinstance(body, Seed):
        own_starts = ruleset.to_json()["first"] == ("host", "guest")[seat]
        given = body.parts.give is not None and first in body.parts.give.at
        place = None if own_starts or given else (1, first)
    elif isinstance(body, Move) and body.action[0] in "34GC" and before.state.due is Due.ACT:
        place = (number, first + before.draws[other]) if before.draws[other] < 4 else None
    elif isinstance(body, Move) and body.parts.close is not None and ruleset.name == "geishas-road":
        place = (number + 1, first) if number < 3 else None
    elif isinstance(body, Release) and after.state.due is Due.PICK and after.state.actor == other:
        place = (number + 1, first)
    else:
        place = None
    live = {(each.round, each.position) for each in before.sealed.deposits}
    return None if place in live else place


def share_of(table: SealedTable, seat: Seat, place: tuple[int, int], after: Course) -> GivePart:
    """The share of a position, by the seat's own program."""
    assert after.sealed is not None
    return table.sealers[seat]._give(after.sealed, place[0], (place[1],))


@every_ruleset
@pytest.mark.parametrize("deposit", [(True, True), (False, True)], ids=["both", "guest"])
def test_whole_games(ruleset: Ruleset, deposit: tuple[bool, bool]) -> None:
    """Each deposit is named where the page allows it, and is used up; the log holds, and the service keeps nothing."""
    table, named, released = SealedTable(ruleset, 3, deposit=deposit), 0, 0
    while not table.course.finished:
        before = table.course
        seat, body, share = table.due()
        accepted = table.send(seat, body, deposit=share)
        after = table.public.steps[len(table.lines) - len(accepted.lines)].course
        if before.stage not in (Stage.OPEN, Stage.JOIN):
            place = place_by_the_page(before, body, after, seat)
            assert (share is not None) == (place is not None and deposit[seat]), (body, place)
            if share is not None:
                assert (share.round, *share.at) == place
                assert body.parts.deposit == share.digest
                named += 1
        for line in accepted.lines[1:]:
            assert line.entry.kind in ("release", "chance", "end")
            if line.entry.kind == "release":
                assert (line.entry.by, line.entry.at) == ("server", line.entry.seen)
                released += 1
        kept = {(each.round, each.at[0]) for each in table.refereed.deposits}
        live = () if table.course.outcome else table.course.sealed.deposits if table.course.sealed else ()
        assert kept == {(each.round, each.position) for each in live}
    assert named >= released > 0
    assert table.refereed.deposits == ()
    holds(table)


def offered(seed: int = 5) -> SealedTable:
    """A game whose guest is to answer an offer of the host, with a deposit beside it."""
    agreement = Agreement(parse_time_control("1d/2d"), rated=True)
    table = SealedTable(Hanamikoji(), seed, agreement=agreement, deposit=(True, True))
    while not (table.course.state.due is Due.ANSWER and table.refereed.deposits and table.course.state.actor == 1):
        table.step()
    return table


def test_a_deposit_that_is_not_what_the_entry_names() -> None:
    table = SealedTable(Hanamikoji("random"), 5, deposit=(True, True))
    table.play(2)
    seat, body, share = table.due()
    assert isinstance(body, Seed)
    assert share is not None
    unnamed = body._replace(parts=body.parts._replace(deposit=None))
    for lie, sent in (
        (body, None),
        (unnamed, share),
        (body, share._replace(shares=share.shares[:-1] + bytes([share.shares[-1] ^ 1]))),
        (body, share._replace(round=2)),
        (body, share._replace(at=(13,))),
        (body, share._replace(at=(12, 13))),
    ):
        refused(table, lambda lie=lie, sent=sent: table.send(seat, lie, deposit=sent), MalformedError)  # type: ignore[misc]
    table.send(seat, body, deposit=share)
    assert table.refereed.deposits == (share,)


def test_the_same_position_cannot_be_deposited_twice() -> None:
    """Chance lets the host start, so its deposit stays; the next offer of the host could name the same draw."""
    for seed in range(40):
        table = SealedTable(Hanamikoji("random"), seed, deposit=(True, True))
        table.play(4)
        first = [each for each in table.refereed.deposits if each.at == (16,)]
        own = table.seen_by(0).course
        assert own is not None
        if table.course.actor != 0 or not first or own.state.due is not Due.ACT:
            continue
        offer = next(each for each in own.state.legal_actions() if each[0] == "3")
        made = table.sealers[0].move(own, offer, deposit=True)
        assert made.deposit is None
        share = share_of(table, 0, (1, 16), table.course)
        lie = made.body._replace(parts=made.body.parts._replace(deposit=share.digest))
        refused(table, lambda: table.send(0, lie, deposit=share), MalformedError)  # noqa: B023 # called at once
        table.send(0, made.body)
        return
    raise AssertionError("chance has never let the host start")


def test_an_own_entry_gives_the_draw_in_spite_of_a_deposit() -> None:
    """In Geisha's Road the seat that made an offer orders what is left, and then gives the draw that it deposited."""
    for seed in range(30):
        table = SealedTable(GeishasRoad("host", "random"), seed, deposit=(True, True))
        while not table.course.finished:
            seat, body, share = table.due()
            kept, give = {(each.round, *each.at) for each in table.refereed.deposits}, body.parts.give
            if isinstance(body, Move) and body.action[0] == ">" and give and (give.round, *give.at) in kept:
                without = body._replace(parts=body.parts._replace(give=None))
                refused(table, lambda: table.send(seat, without), MalformedError)  # noqa: B023 # called at once
                accepted = table.send(seat, body, deposit=share)
                assert [line.entry.kind for line in accepted.lines] == ["move"]
                assert (give.round, *give.at) not in {(each.round, *each.at) for each in table.refereed.deposits}
                return
            table.send(seat, body, deposit=share)
    raise AssertionError("no order was ever due after an offer with a deposit")


def test_the_service_releases_what_it_keeps_at_once() -> None:
    table = offered()
    (share,) = table.refereed.deposits
    accepted = table.step()
    assert [(line.entry.by, line.entry.kind) for line in accepted.lines] == [("bob", "move"), ("server", "release")]
    assert accepted.lines[1].entry.body == {"give": share.to_json()}
    assert table.course.actor == 1
    assert table.course.state.due is Due.ACT
    holds(table)


def test_a_lost_deposit_changes_nothing() -> None:
    table = offered()
    table.refereed = table.refereed._replace(deposits=())
    refused(table, table.step, StorageError)


def test_a_game_is_resumed_with_its_deposits() -> None:
    table = offered()
    refereed = table.refereed
    again = referee.resume(table.lines, None, (), refereed.deposits)
    assert again == refereed
    behind = referee.resume(table.lines[:-2], None, (), ())
    assert referee.catch_up(behind, table.lines[-2:], (), refereed.deposits) == refereed


# --- a dishonest service ----------------------------------------------------------------------------------------------


def withheld() -> SealedTable:
    """The game after the answer, in which the service has not released the draw."""
    table = offered()
    seat, body, _ = table.due()
    table.lines = extended(table.server, table.lines, body, NAMES[seat], table.keys[seat], at=add_seconds(table.at, 60))
    return table


@pytest.mark.parametrize("kind", ["release", "resign of the host", "resign of the guest", "timeout"])
def test_a_deposit_that_is_kept_convicts_only_the_service(kind: str) -> None:
    table = withheld()
    holds(table)  # up to here, the release may still come
    share = table.refereed.deposits[0]
    cases: dict[str, tuple[EntryBody, Seat | None]] = {
        "release": (Release(Parts(give=share)), 0),
        "resign of the host": (Resign(), 0),
        "resign of the guest": (Resign(), 1),
        "timeout": (Timeout(0), None),
    }
    body, by = cases[kind]
    lines = taken(table, body, by, at=add_seconds(table.at, 30 * DAY if by is None else 120))
    found(table, lines, AuditStep.REPLAY, "server")


@pytest.mark.parametrize("lie", ["other bytes", "another position", "a close too", "a deposit too", "early"])
def test_a_false_release_of_the_service(lie: str) -> None:
    table = offered() if lie == "early" else withheld()
    share = table.refereed.deposits[0]
    body = Release.parse({"give": share.to_json()})
    if lie == "other bytes":  # also a true share, by other nonces, is not what was deposited
        other = share_of(table, 0, (share.round, share.at[0]), table.course)
        assert other.tokens == share.tokens
        body = Release.parse({"give": other.to_json()})
    elif lie == "another position":
        body = Release.parse({"give": share._replace(at=(share.at[0] + 1,)).to_json()})
    elif lie == "a close too":
        body = Release.parse({"close": {"card": "E2", "proof": "A" * 148 + "AA=="}, "give": share.to_json()})
    elif lie == "a deposit too":
        body = Release.parse({"deposit": share.digest, "give": share.to_json()})
    at = table.lines[-1].receipt.receipt.at if table.lines[-1].receipt else table.at
    found(table, taken(table, body, None, at=at), AuditStep.REPLAY, "server")


def test_a_release_of_the_service_has_the_time_of_the_entry_before() -> None:
    table = withheld()
    share = table.refereed.deposits[0]
    body = Release.parse({"give": share.to_json()})
    last = table.lines[-1].receipt
    assert last is not None
    honest = taken(table, body, None, at=last.receipt.at)
    assert audit(format_log(honest), pins(table)).findings == ()
    late = taken(table, body, None, at=add_seconds(last.receipt.at, 1))
    found(table, late, AuditStep.TIMES, "server")


def test_a_seat_does_not_release_what_is_not_due() -> None:
    """The guest is to answer: it owes no release, and the host is not to write at all."""
    table = offered()
    body = Release.parse({"give": table.refereed.deposits[0].to_json()})
    refused(table, lambda: table.send(1, body), IllegalError)
    refused(table, lambda: table.send(0, body), NotYourTurnError)


@pytest.mark.parametrize("kind", [Seed, Move, Release])
def test_a_deposit_that_belongs_in_no_such_entry(kind: type[EntryBody]) -> None:
    """It would be of a draw that comes with the entry, or of none that is near."""
    table = SealedTable(Hanamikoji(), 5)
    while True:
        seat, body = table.owed()
        if isinstance(body, kind) and body.parts.give is not None:
            break
        table.send(seat, body)
    assert isinstance(body, Seed | Move | Release)
    share = body.parts.give
    assert share is not None
    lie = body._replace(parts=body.parts._replace(deposit=share.digest))
    refused(table, lambda: table.send(seat, lie, deposit=share), MalformedError)
    found(table, taken(table, lie, seat), AuditStep.REPLAY, f"{NAMES[seat]} and server")
    table.send(seat, body)


def test_a_release_before_play_hears_what_the_game_waits_for() -> None:
    table = SealedTable(Hanamikoji(), 5)
    table.play(2)
    seat, body = table.owed()
    assert isinstance(body, Seed)
    lie = Release(Parts(give=body.parts.give))
    error = refused(table, lambda: table.send(seat, lie), IllegalError)
    assert "a release cannot come now" in str(error)


def test_a_submission_with_a_deposit_is_read_as_it_was_written() -> None:
    table = SealedTable(Hanamikoji("random"), 5, deposit=(True, True))
    table.play(2)
    seat, body, share = table.due()
    made = table.submission(seat, body)._replace(deposit=share)
    text = format_submission(made)
    assert parse_submission(text) == made
    assert len(text) < 16384
