"""Outages of HTTP and of mail: which way helps which seat, how they are cut, and whose entries contradict them.

Entries about time that a player has written have the time of record, not what the player says.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hkoji.audit.contradictions import ContradictionKind, LogClaims, in_outage, log_claims
from hkoji.audit.log_audit import Audit, AuditStep, audit
from hkoji.game.agreement import Agreement, TimeControl
from hkoji.game.clock import Outage, Way, came_by
from hkoji.game.entry_kinds import Annul, Credit, EntryBody, Lapse, Resign, Timeout
from hkoji.log import sshsig
from hkoji.log.line import Line, SignedReceipt, format_log, make_receipt
from hkoji.log.mail_claim import MailGrade
from tests.support.forgery import changed_body, pins, rewrite
from tests.support.shell_audit import by_script
from tests.support.table import AT, Table
from tests.support.timed_table import MINUTES, TimedTable, later, timed_game

HOUR = Agreement(TimeControl(3600, 0, 0, 0))
OTHER = {Way.HTTP: Way.MAIL, Way.MAIL: Way.HTTP}


def game_of(seed: int = 3, held: tuple[int, ...] = (1,), **more: object) -> TimedTable:
    """A game up to its first move; the keys of the seats `held` are held by the service."""
    return TimedTable(seed=seed, agreement=HOUR, held=held, **more).begin()  # type: ignore[arg-type] # fields by name


def until_owed_by(table: TimedTable, seat: int) -> TimedTable:
    """Plays until a seat owes the next entry, and the other one has made the last."""
    while table.course.actor != seat:
        table.play(1)
    return table


def audited(table: Table, *, receipts: bool = True) -> Audit:
    return audit(format_log(table.lines, receipts=receipts).encode(), {"server": table.server.public})


@pytest.mark.parametrize("held", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("way", list(Way))
def test_an_outage_helps_the_seats_to_which_its_way_is_open(held: tuple[int, ...], seat: int, way: Way) -> None:
    table = until_owed_by(game_of(held=held), seat)
    open_to = Way.MAIL if seat in held else Way.HTTP
    assert table.course.setup.way(seat) is open_to
    lost = Outage(later(table.now, 10), later(table.now, 50), way)
    table.outages = (lost,)
    table.wait(60).play(1)
    credits = [line for line in table.lines if line.entry.kind == "credit"]
    if way is open_to:
        assert [credit.entry.body["outages"] for credit in credits] == [[lost.to_json()]]
    else:
        assert credits == []
    assert audited(table).findings == audited(table, receipts=False).findings == ()


@pytest.mark.parametrize("seat", [0, 1])
def test_an_outage_of_the_wrong_way_convicts_the_service(seat: int) -> None:
    table = until_owed_by(game_of(), seat)
    way = table.course.setup.way(seat)
    table.outages = (Outage(later(table.now, 10), later(table.now, 50), way),)
    table.wait(60).play(1)
    place = next(n for n, line in enumerate(table.lines) if line.entry.kind == "credit")
    lie = Outage(table.outages[0].begin, table.outages[0].until, OTHER[way])
    text = rewrite(table, changed_body(table, place, outages=[lie.to_json()]))
    found = audit(text.encode(), {"server": table.server.public}).findings
    assert [(each.step, each.entry, each.signer) for each in found] == [(AuditStep.TIMES, place, "server")]
    assert "does not help" in found[0].reason


def test_a_delegate_does_not_change_which_way_is_open() -> None:
    table = until_owed_by(game_of(held=()), 1)
    table.delegate(1, MailGrade.TOKEN)
    assert table.course.setup.way(1) is Way.HTTP
    lost = [Outage(later(table.now, 10), later(table.now, 50), way) for way in Way]
    table.outages = tuple(lost)
    table.wait(60).play(1)
    assert table.last_body() == Credit(None, (lost[0],))
    assert audited(table).findings == ()


def test_after_a_revoked_held_key_http_is_open() -> None:
    table = until_owed_by(game_of(), 1)
    table.outages = tuple(Outage(later(table.now, 10), later(table.now, 50), way) for way in Way)
    table.revoke(1)
    table.held = ()
    assert table.course.setup.way(1) is Way.HTTP
    table.wait(60).play(1)
    assert table.last_body() == Credit(None, (table.outages[0],))
    assert audited(table).findings == ()


def test_a_turn_can_begin_and_end_within_an_outage_of_the_other_way() -> None:
    """The host moves by HTTP while no mail comes in; what the guest gets back begins with the guest's own time."""
    table = until_owed_by(game_of(), 0)
    away = Outage(later(table.now, 20), later(table.now, 90), Way.MAIL)
    table.outages = (away,)
    table.wait(40)
    while table.course.actor == 0:
        table.play(1)
    begun = table.refereed.at
    assert away.holds(begun)
    table.wait(100).play(1)
    assert table.last_body() == Credit(None, (Outage(begun, away.until, Way.MAIL),))
    for receipts in (True, False):
        assert audited(table, receipts=receipts).findings == ()


# --- contradictions ---------------------------------------------------------------------------------------------------


def said(table: Table, *, receipts: bool = True) -> LogClaims:
    found = log_claims(audited(table, receipts=receipts))
    assert found is not None
    return found


@pytest.mark.parametrize("receipts", [True, False])
@pytest.mark.parametrize("way", list(Way))
@pytest.mark.parametrize("held", [(), (0, 1)])
def test_only_an_entry_that_came_the_same_way_contradicts_an_outage(
    held: tuple[int, ...], way: Way, *, receipts: bool
) -> None:
    outage = Outage(later(AT, 5), later(AT, 15), way)
    other = Table(seed=4, held=held).begin()
    other.send(other.move(other.course.state.legal_actions()[0]), outage.begin)
    place = other.course.seq
    while other.lines[place].entry.by == "server":
        place -= 1
    other.send(other.entry(0, Resign()), later(AT, 30))  # so that a later `seen` states that time
    found = in_outage(said(other, receipts=receipts), outage, "another")
    if way is (Way.MAIL if held else Way.HTTP):
        assert found is not None
        assert (found.kind, found.entry, found.signer) == (ContradictionKind.OUTAGE, place, "server")
    else:
        assert found is None


def test_an_entry_that_nobody_sent_contradicts_no_outage() -> None:
    """The service's own entries, and the `seed` that it sends for a held seat."""
    table = Table(seed=5, held=(0, 1)).begin()
    kinds = {line.entry.kind: came_by(line.entry) for line in table.lines}
    assert kinds["offer"] is kinds["seed"] is None
    assert kinds["open"] is kinds["join"] is Way.MAIL
    claims = said(table)
    sent = [number for number, way in enumerate(claims.ways) if way]
    assert [table.lines[number].entry.kind for number in sent] == ["open", "join"]


# --- entries that a player has written --------------------------------------------------------------------------------


def written(table: TimedTable, seat: int, body: EntryBody, claim: str, recorded: str | None) -> list[Line]:
    """The table's log and an entry of a seat that claims a time, with the time of its receipt or without receipts."""
    made = table.entry(seat, body, at=claim)
    entry = made.entry
    if recorded is None:
        return [*(line._replace(receipt=None) for line in table.lines), Line(entry, made.sig)]
    receipt = make_receipt(at=recorded, game=entry.game, head=entry.head, seq=entry.seq)
    signed = SignedReceipt(receipt, table.server.sign(sshsig.RECEIPT, receipt.message))
    return [*table.lines, Line(entry, made.sig, signed)]


def step_5(folder: Path, table: TimedTable, lines: list[Line]) -> str | None:
    """The finding of both audits in step 5, in the last entry; the rest of the log holds."""
    log, last = format_log(lines), len(lines) - 1
    (finding,) = audit(log, pins(table)).findings
    assert finding.entry == last
    (folder / "log").write_text(log)
    scripted = by_script(folder / "log", pins(table)).found
    if finding.step is AuditStep.REPLAY:
        assert scripted == ()
        return None
    assert finding.step is AuditStep.TIMES
    assert scripted == ((AuditStep.TIMES, last),)
    assert finding.signer == ("server" if lines[-1].receipt else None)
    return finding.reason


def owing(seat: int = 0) -> TimedTable:
    """A game with a clock in which `seat` owes the next entry."""
    table = timed_game(3)
    while table.course.actor != seat:
        table.play(1)
    return table


@pytest.mark.parametrize("recorded", [-1, 0, 1, None])
@pytest.mark.parametrize("claim", [-3600, 3600])
def test_a_timeout_comes_after_the_deadline_when_it_is_recorded(
    tmp_path: Path, claim: int, recorded: int | None
) -> None:
    table = owing()
    due = table.deadline()
    assert due is not None
    at = None if recorded is None else later(due, recorded)
    reason = step_5(tmp_path, table, written(table, 1, Timeout(0), later(due, claim), at))
    early = recorded is not None and recorded <= 0
    assert reason == (f"the timeout is of {at}, and there was time until {due}" if early else None)


@pytest.mark.parametrize("recorded", [19, 20, 200, 201, None])
def test_the_outages_of_an_annul_end_before_it_is_recorded(tmp_path: Path, recorded: int | None) -> None:
    """There are 180 s, and 20 s of an outage."""
    table = owing()
    begin = table.refereed.at
    assert table.deadline() == later(begin, 180)
    outage = Outage(later(begin, 1), later(begin, 21), Way.HTTP)
    body = Annul(None, (outage,), 0, (table.calls_off(0), table.calls_off(1)))
    at = None if recorded is None else later(begin, recorded + 1)
    reason = step_5(tmp_path, table, written(table, 1, body, begin, at))
    expected = {
        19: f"the outage from {outage.begin} to {outage.until} is not between {begin} and {at}",
        200: f"it came at {at}, and there was time until {later(begin, 200)}",
        201: f"it came at {at}, and there was time until {later(begin, 200)}",
    }
    assert reason == (None if recorded is None else expected.get(recorded))


@pytest.mark.parametrize("recorded", [-1, 0, 1, None])
def test_an_offer_has_expired_when_the_lapse_is_recorded(tmp_path: Path, recorded: int | None) -> None:
    expires = later(TimedTable().now, 3600)
    table = TimedTable(seed=3, agreement=Agreement(MINUTES, expires=expires))
    table.open()
    at = None if recorded is None else later(expires, recorded)
    lines = written(table, 0, Lapse("expired"), later(expires, 5), at)
    early = recorded is not None and recorded <= 0
    assert step_5(tmp_path, table, lines) == (f"the offer has not expired at {at}" if early else None)
