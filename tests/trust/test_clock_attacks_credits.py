"""Attacks on what is taken off a player's time, and on games that are called off: gifts, outages, false wishes.

Each forged log continues an honest one in another way; the honest one is accepted by everybody.
"""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from hkoji_server.service.games import keeper

from hkoji.audit.log_audit import AuditStep, audit
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED
from hkoji.game.clock import Outage, Way
from hkoji.game.entry_kinds import Annul, Credit, GivenTime
from hkoji.log import sshsig
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.line import format_log
from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Outcome
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.adversary import convicted
from tests.support.forgery import pins
from tests.support.lying_game import goes_on
from tests.support.service import Player
from tests.support.service_in_process import inside
from tests.support.shell import run
from tests.support.table import Table
from tests.support.timed_games import HOUR, NEVER_OUT, a_gift, a_wish, clock_of, log_of, move_of, state, timed, verify
from tests.support.timed_table import TimedTable, later, timed_game
from tests.trust.clock_lies import due_of, found, holds, lied_to, until_owes

WITNESSES = (0, 2)
"""The opponent of the player who is helped, and a spectator."""
STRANGER = PrivateKey.from_seed(b"\x2b" * 32)


def given(seconds: int = 60) -> tuple[TimedTable, int]:
    """A game in which bob has moved 20 seconds after his own time, with alice's gift, and the number of the credit."""
    table = until_owes(timed_game(3), 1)
    table.now = later(due_of(table), 20)
    table.give(seconds)
    table.play(1)
    body = table.last_body()
    assert body == Credit(table.gifts[-1], ())
    return table, len(table.lines) - 1


def forged_credit(
    folder: Path, table: Table, number: int, reason: str, *bodies: entry_kinds.EntryBody, script: bool
) -> None:
    """Checks that everybody finds the last of `bodies`, which the service writes from entry `number` on."""
    at = table.lines[number - 1].receipt
    assert at is not None
    forged = goes_on(table, number, *((body, "server") for body in bodies), at=at.receipt.at)
    place = len(forged) - 1
    found(folder / "log", table, forged, place, script=script)
    lied_to(folder / "shown", table, forged, f"an entry {place} that does not hold: {reason}", victims=WITNESSES)


# --- gifts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["an earlier head", "the entry itself", "another game"])
def test_a_gift_used_again(tmp_path: Path, other: str) -> None:
    table, number = given()
    true = table.gifts[-1]
    match other:
        case "an earlier head":
            gift, reason = table.gift(60, table.lines[number - 3].entry.head, 0), "the gift of time is not for this"
        case "the entry itself":
            gift, reason = table.gift(60, table.lines[number - 1].entry.head, 0), "the gift of time is not for this"
        case _:
            made = make_gift(game="ab" * 16, head=true.head, name="alice", seconds=60)
            gift = GivenTime(true.head, 60, table.keys[0].sign(sshsig.GIVE, made.message))
            reason = "the signature"
    forged_credit(tmp_path, table, number, reason, Credit(gift, ()), script=other != "the entry itself")


@pytest.mark.parametrize("lie", ["more seconds", "fewer seconds", "to oneself", "a stranger's", "a wish to call off"])
def test_a_gift_that_was_not_given(tmp_path: Path, lie: str) -> None:
    """The service signs its credit anew with another number: the player's signature is for the first one."""
    table, number = given()
    true = table.gifts[-1]
    match lie:
        case "more seconds" | "fewer seconds":
            gift = true._replace(seconds=true.seconds + (1 if lie == "more seconds" else -1))
        case "to oneself":
            gift = table.gift(60, true.head, 1)
        case "a stranger's":
            gift = table.gift(60, true.head, 0, STRANGER)
        case _:
            made = make_annul(game=table.game, head=true.head, name="alice")
            gift = true._replace(sig=table.keys[0].sign(sshsig.ANNUL, made.message))
    forged_credit(tmp_path, table, number, "the signature", Credit(gift, ()), script=lie == "more seconds")


@pytest.mark.parametrize(
    "place", ["a second one", "after the join", "after the chance", "after a resignation", "without a clock"]
)
def test_a_credit_in_a_wrong_place(tmp_path: Path, place: str) -> None:
    bodies: tuple[entry_kinds.EntryBody, ...]
    match place:
        case "a second one":
            table, number = given()
            bodies = (table.last_body(), Credit(table.gifts[-1], ()))
            reason = "it does not directly follow a seed, a move or a release"
        case "after the join":
            table = TimedTable(seed=3)
            table.open()
            table.join()
            number, bodies = 3, (Credit(table.gift(60), ()),)
            reason = "it does not directly follow a seed, a move or a release"
        case "after the chance":
            table = timed_game(3, Hanamikoji("random"))
            number, bodies = len(table.lines), (Credit(table.gift(60), ()),)
            assert table.lines[-1].entry.kind == "chance"
            reason = "it does not directly follow a seed, a move or a release"
        case "after a resignation":
            table = timed_game(3).play(2)
            gift = table.gift(60)
            table.send(table.entry(0, entry_kinds.Resign()))
            number, bodies, reason = len(table.lines) - 1, (Credit(gift, ()),), "no clock runs"
        case _:
            table = TimedTable(seed=3, agreement=UNTIMED).begin()
            gift = table.gift(60)
            table.play(1)
            number, bodies, reason = len(table.lines), (Credit(gift, ()),), "no clock runs"
    at = table.lines[number - 1].receipt
    assert at is not None
    forged = goes_on(table, number, *((body, "server") for body in bodies), at=at.receipt.at)
    found(tmp_path / "log", table, forged, len(forged) - 1, script=place in ("a second one", "without a clock"))
    # The client may find first that the entry is not the one that the service owes there.
    lied_to(tmp_path / "x", table, forged, f"{reason}|the service owes|comes directly after", victims=WITNESSES)


@pytest.mark.parametrize("what", ["gift", "wish"])
def test_a_statement_sent_again(tmp_path: Path, what: str) -> None:
    """It is bound to one head of one game."""
    with patch.object(keeper, "KEEPER_PACE", 0.02), inside(tmp_path / "data", outage_after=NEVER_OUT) as service:
        players = Player(service, "alice").register(), Player(service, "bob").register()
        game, mover, giver = timed(players)
        other, *_ = timed(players)
        said = a_gift(giver, game, HOUR) if what == "gift" else a_wish(giver, game)
        assert state(giver, game, said).status == 201
        assert mover.send(move_of(mover, game)).status == 201
        before, elsewhere = log_of(giver, game), log_of(giver, other)
        shown = clock_of(giver, game), clock_of(giver, other)
        refused = [
            state(giver, game, said),
            state(giver, other, said),
            state(giver, other, {**said, "head": giver.head(other)[1]}),
        ]
        misplaced, forged = (409, "conflict"), (403, "bad-signature")
        assert [(answer.status, answer.json["code"]) for answer in refused] == [misplaced, misplaced, forged]
        assert (log_of(giver, game), log_of(giver, other)) == (before, elsewhere)
        assert (clock_of(giver, game), clock_of(giver, other)) == shown
        verify(giver, game)


# --- outages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begin", "until", "way"),
    [
        *((begin, until, Way.HTTP) for begin, until in ((-10, 5), (-10, 0), (0, 5), (25, 31), (30, 31), (31, 40))),
        (10, 20, Way.MAIL),
    ],
    ids=str,
)
def test_an_outage_in_a_wrong_place(tmp_path: Path, begin: int, until: int, way: Way) -> None:
    """The turn begins at second 0, and the move comes at second 30."""
    table = until_owes(timed_game(3), 1)
    start = table.now
    table.lose(10, 20)
    table.wait(30).play(1)
    assert table.last_body() == Credit(None, (Outage(later(start, 10), later(start, 20), Way.HTTP),))
    lie = Credit(None, (Outage(later(start, begin), later(start, until), way),))
    reason = "(the outage from .* (is not between|is of mail)|the service has accepted an entry at)"
    for_script = (begin, until) in ((-10, 5), (25, 31), (10, 20))  # before the turn, after it, and of the other way
    forged_credit(tmp_path, table, len(table.lines) - 1, reason, lie, script=for_script)


@pytest.mark.parametrize(("begin", "until"), [(15, 25), (20, 25), (12, 18), (1, 5)])
def test_outages_that_overlap(tmp_path: Path, begin: int, until: int) -> None:
    """Such a list is malformed: it is not an entry at all. So is one that is not in order, or whose parts touch."""
    table = until_owes(timed_game(3), 1)
    start = table.now
    table.lose(10, 20)
    table.lose(26, 28)
    table.wait(30).play(1)
    number = len(table.lines) - 1
    first = Outage(later(start, 10), later(start, 20), Way.HTTP)
    lie = Credit(None, (first, Outage(later(start, begin), later(start, until), Way.HTTP)))
    forged = goes_on(table, number, (lie, "server"), at=table.now)
    found(tmp_path / "log", table, forged, number, step=AuditStep.PARSE, named=None, script=begin == 15)
    lied_to(tmp_path / "x", table, forged, "not in order, or two of them touch", proof=(), victims=WITNESSES)


@pytest.mark.parametrize(("second", "inside_it"), [(4, False), (5, True), (14, True), (15, False)])
def test_an_invented_outage(tmp_path: Path, second: int, inside_it: bool) -> None:
    """The friend's move would be late. Others have played meanwhile; the outage is from second 5 to second 15."""
    friend = until_owes(timed_game(3), 1)
    start = friend.now
    friend.lose(5, 15)
    friend.now = later(due_of(friend), 0)
    friend.play(1)
    assert friend.last_body() == Credit(None, (Outage(later(start, 5), later(start, 15), Way.HTTP),))
    other = Table(seed=9, host_key=friend.server).begin()
    other.send(other.move(other.course.state.legal_actions()[0]), later(start, second))
    holds(tmp_path / "a", friend)
    assert audit(other.text, pins(other)).findings == ()
    for order in ("ab", "ba"):
        folder = tmp_path / order
        folder.mkdir()
        for name, table in zip(order, (friend, other), strict=True):
            (folder / f"{name}.jsonl").write_text(format_log(table.lines))
        done = run("audit", str(folder), f"--key=server={friend.server.public.text}", "--json")
        *_, summary = map(json.loads, done.out.splitlines())
        conflicts = [each for each in map(json.loads, done.out.splitlines()) if "contradiction" in each]
        if inside_it:
            (conflict,) = conflicts
            place = (conflict["contradiction"], conflict["game"], conflict["entry"], conflict["signer"])
            assert place == ("outage", other.game, 5, "server")
        assert (done.code, summary["summary"]["contradictions"]) == ((8, 1) if inside_it else (0, 0))
        assert len(conflicts) == inside_it


# --- calling off ------------------------------------------------------------------------------------------------------


def called_off(seconds: int = 0) -> tuple[TimedTable, int, Annul]:
    """A game that its players have called off so long after the deadline (0: at it); the `annul` and its number."""
    table = until_owes(timed_game(3), 1)
    table.now = later(due_of(table), seconds)
    number = len(table.lines)
    table.call_off()
    body = entry_kinds.parse_body("annul", table.lines[number].entry.body)
    assert isinstance(body, Annul)
    return table, number, body


@pytest.mark.parametrize("given", [0, 60])
def test_a_game_called_off_after_the_deadline(tmp_path: Path, given: int) -> None:
    """With the seconds of a gift. At the deadline it is in time."""
    table = until_owes(timed_game(3), 1)
    number = len(table.lines)
    if given:
        table.give(given)
    due = table.now = due_of(table)
    table.call_off()
    body = entry_kinds.parse_body("annul", table.lines[number].entry.body)
    end = entry_kinds.parse_body("end", table.lines[number + 1].entry.body)
    forged = goes_on(table, number, (body, "server"), (end, "server"), at=later(due, 1))
    found(tmp_path / "log", table, forged, number, script=given > 0)
    reason = f"an entry {number} that does not hold: it came at {later(due, 1)}, and there was time until {due}"
    lied_to(tmp_path / "x", table, forged, reason)


@pytest.mark.parametrize(
    "lie", ["swapped", "one player's twice", "a stranger's", "an earlier head", "another game", "a gift"]
)
def test_a_game_called_off_by_a_false_signature(tmp_path: Path, lie: str) -> None:
    table, number, true = called_off()
    host, guest = true.sigs
    earlier = make_annul(game=table.game, head=table.lines[number - 2].entry.head, name="bob")
    elsewhere = make_annul(game="ab" * 16, head=table.lines[number - 1].entry.head, name="bob")
    match lie:
        case "swapped":
            sigs = guest, host
        case "one player's twice":
            sigs = host, host
        case "a stranger's":
            sigs = host, table.calls_off(1, STRANGER)
        case "an earlier head":
            sigs = host, table.keys[1].sign(sshsig.ANNUL, earlier.message)
        case "another game":
            sigs = host, table.keys[1].sign(sshsig.ANNUL, elsewhere.message)
        case _:
            made = make_gift(game=table.game, head=table.lines[number - 1].entry.head, name="bob", seconds=60)
            sigs = host, table.keys[1].sign(sshsig.GIVE, made.message)
    end = entry_kinds.parse_body("end", table.lines[number + 1].entry.body)
    forged = goes_on(table, number, (true._replace(sigs=sigs), "server"), (end, "server"), at=table.now)
    found(tmp_path / "log", table, forged, number, script=lie == "swapped")
    lied_to(tmp_path / "x", table, forged, f"an entry {number} that does not hold: the signature", victims=WITNESSES)


@pytest.mark.parametrize("lie", ["the other seat", "a gift to oneself", "an outage before the turn"])
def test_a_game_called_off_with_other_time(tmp_path: Path, lie: str) -> None:
    table, number, true = called_off()
    step, reason = AuditStep.TIMES, f"an entry {number} that does not hold"
    match lie:
        case "the other seat":
            body, step, reason = true._replace(seat=0), AuditStep.REPLAY, "seat 0 does not owe an entry"
        case "a gift to oneself":
            body = true._replace(gift=table.gift(60, table.lines[number - 1].entry.head, 1))
        case _:
            begin = table.lines[number].entry.seen
            assert begin is not None
            body = true._replace(outages=(Outage(later(begin, -10), later(begin, -5), Way.HTTP),))
    end = entry_kinds.parse_body("end", table.lines[number + 1].entry.body)
    forged = goes_on(table, number, (body, "server"), (end, "server"), at=table.now)
    if step is AuditStep.REPLAY:  # the script does not know the rules
        convicted(table, format_log(forged), step, number, "server")
    else:
        found(tmp_path / "log", table, forged, number)
    assert table.course.outcome == Outcome("cancel", None)
    lied_to(tmp_path / "x", table, forged, reason, victims=WITNESSES)
