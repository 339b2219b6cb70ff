"""Attacks on agreements, on games that nobody has joined, and by timeouts.

Agreements are false, joins late, offers lapse too early. Timeouts are too early, of games without a clock, in spite of
a gift, or never come.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from hkoji.errors import TrustError
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement, Series, TimeControl
from hkoji.game.entry_kinds import Invite, Lapse, parse_body
from hkoji.log import sshsig
from hkoji.log.line import Line, SignedReceipt, make_entry, make_receipt, sign_entry
from hkoji.rules.events import Outcome
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.adversary import (
    HostileService,
    head_of,
    lying,
    on_disk,
    proven,
    told,
)
from tests.support.lying_game import goes_on, staged
from tests.support.memory_service import AT, Game, LocalPlayer
from tests.support.shell import Shell
from tests.support.timed_table import MINUTES, RATED, TimedTable, later, timed_game
from tests.trust.clock_lies import (
    accepted,
    due_of,
    found,
    holds,
    lied_to,
    refuse,
    retimed,
    until_owes,
)

EXPIRES = later(AT, 3600)
ASKED = Agreement(MINUTES, EXPIRES, rated=True, series=Series(3, "cd" * 16, 1))
OTHERS = {
    "a longer clock": ASKED._replace(clock=MINUTES._replace(move=61)),
    "no clock": ASKED._replace(clock=None, rated=False),
    "rest days": ASKED._replace(clock=MINUTES._replace(rest="67")),
    "a later expiry": ASKED._replace(expires=later(EXPIRES, 1)),
    "no expiry": ASKED._replace(expires=None),
    "not rated": ASKED._replace(rated=False),
    "a rematch": ASKED._replace(rematch="ab" * 16),
    "another game of the series": ASKED._replace(series=Series(3, "cd" * 16, 2)),
    "no series": ASKED._replace(series=None),
}

others = pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())


def sent(service: HostileService) -> int:
    """How many entries players have sent."""
    return sum(method == "POST" and path.endswith("/entries") for method, path in service.requests)


# --- agreements -------------------------------------------------------------------------------------------------------


@others
def test_another_agreement_for_the_host(service: HostileService, alice: LocalPlayer, other: Agreement) -> None:
    honest = service._offer

    def lie(options: Any) -> tuple[int, Any]:  # Any: JSON
        assert options["agreement"] == ASKED.to_json()
        return honest({**options, "agreement": other.to_json()})

    with (
        patch.object(service, "_offer", lie),
        pytest.raises(TrustError, match="offered another agreement than requested") as refusal,
    ):
        alice.client.new(Hanamikoji(), agreement=ASKED)
    assert refusal.value.hint == "nothing was signed"
    (game,) = service.games
    assert (len(service.games[game].lines), sent(service)) == (1, 0)
    assert not list(alice.path.rglob("outbox*"))
    true = alice.client.new(Hanamikoji(), agreement=ASKED).course.setup
    assert true.agreement == ASKED
    assert [line.entry.kind for line in service.games[true.game].lines] == ["offer", "open"]
    assert proven(service, alice, true.game) == set()


@others
def test_another_agreement_for_the_guest(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, other: Agreement
) -> None:
    """The host's `open` names the hash of the offer, so the receipt for it contradicts the false one."""
    game = alice.client.new(Hanamikoji(), agreement=ASKED).course.setup.game
    offer, opened = service.games[game].lines
    entry = make_entry(
        at=AT,
        body={**offer.entry.body, "agreement": other.to_json()},
        by="server",
        game=game,
        kind="offer",
        prev=offer.entry.prev,
        seen=None,
        seq=0,
    )
    receipt = make_receipt(at=AT, game=game, head=entry.head, seq=0)
    signed = SignedReceipt(receipt, service.key.sign(sshsig.RECEIPT, receipt.message))
    false = Line(entry, sign_entry(entry, service.key), signed)
    before, count = on_disk(bob), sent(service)
    with lying(service, told((false, opened))):
        for _ in range(2):
            with pytest.raises(TrustError, match="entry 1 of the log does not hold"):
                bob.join(game)
    assert (on_disk(bob), sent(service)) == (before, count)
    assert proven(service, bob, game) == {"server"}
    assert bob.join(game).course.setup.agreement == ASKED


def test_another_clock_for_the_guest(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """`hkoji join --clock` signs nothing; without it the agreement is shown before anything is signed."""
    games = [alice.client.new(Hanamikoji(), agreement=ASKED).course.setup.game for _ in range(2)]
    count = sent(service)
    for asked in ("1m/3m", "1m", "2m/2m", "1m/2m+1s", "none"):
        done = Shell(bob)("join", games[0], "--clock", asked)
        assert done.code != 0
        assert "the game has another clock than you asked for" in done.err
        assert sent(service) == count
    assert not list(bob.path.rglob("outbox*"))
    done = Shell(bob)("join", games[0], "--clock", "1m/2m")
    assert done.code == 0, done
    count, shown = sent(service), Shell(bob)("join", games[1])
    assert (shown.code, sent(service)) == (0, count + 2)
    assert "1m/2m" in shown.err + shown.out


# --- games that nobody has joined -------------------------------------------------------------------------------------


def opened(agreement: Agreement = ASKED, invite: Invite | None = None) -> TimedTable:
    """A game that waits for a guest."""
    table = TimedTable(seed=3, agreement=agreement)
    table.open(invite)
    return table


@pytest.mark.parametrize("goes_on_from_it", [False, True])
def test_a_join_after_the_expiry(tmp_path: Path, goes_on_from_it: bool) -> None:
    table = opened()
    table.now = EXPIRES
    table.join()
    if goes_on_from_it:
        table.reveal_seed(1)
    forged = retimed(table, 2, later(EXPIRES, 1))
    found(tmp_path / "log", table, forged, 2)
    reason = f"an entry 2 that does not hold: the guest joined at {later(EXPIRES, 1)}, and the offer expired"
    lied_to(tmp_path / "x", table, forged, reason)


@pytest.mark.parametrize("seconds", [0, -1, -3600])
def test_an_offer_that_lapses_too_early(tmp_path: Path, seconds: int) -> None:
    table = opened()
    table.now = later(EXPIRES, 1)
    table.lapse("expired")
    forged = retimed(table, 2, later(EXPIRES, seconds))
    found(tmp_path / "log", table, forged, 2, script=seconds == 0)
    reason = f"an entry 2 that does not hold: the offer has not expired at {later(EXPIRES, seconds)}"
    lied_to(tmp_path / "x", table, forged, reason, victims=(0, 2))


def test_an_offer_that_lapses_without_an_expiry(tmp_path: Path) -> None:
    lapsing, table = opened(), opened(ASKED._replace(expires=None))
    lapsing.now = later(EXPIRES, 1)
    lapsing.lapse("expired")
    accepted(tmp_path / "expired", lapsing)
    end = parse_body("end", lapsing.lines[3].entry.body)
    forged = goes_on(table, 2, (Lapse("expired"), "server"), (end, "server"), at=later(AT, 10**8))
    found(tmp_path / "log", table, forged, 2)
    lied_to(tmp_path / "x", table, forged, "the offer has not expired at", victims=(0, 2))


def test_an_invitation_declined_by_nobody(tmp_path: Path) -> None:
    """Only a player who was invited by name can decline."""
    invited, table = opened(invite=Invite("bob", None)), opened()
    invited.lapse("declined")
    end = parse_body("end", invited.lines[3].entry.body)
    forged = goes_on(table, 2, (Lapse("declined"), "server"), (end, "server"), at=AT)
    found(tmp_path / "log", table, forged, 2)
    lied_to(tmp_path / "x", table, forged, "nobody was invited by name, so nobody can decline", victims=(0, 2))
    accepted(tmp_path / "invited", invited)
    assert tuple(invited.lines) == goes_on(invited, 2, (Lapse("declined"), "server"), (end, "server"), at=AT)


COUNTED_WRONGLY = {
    "no reserve": (RATED, 60),
    "nothing added": (Agreement(TimeControl(0, 60, 60, 120)), 60),
    "rest days": (Agreement(TimeControl(86_400, 0, 0, 0, "6", "+01:00")), 86_400),
    "the zone": (Agreement(TimeControl(36_000, 0, 0, 0, "6", "+12:00")), 36_000),
}


@pytest.mark.parametrize("lie", COUNTED_WRONGLY)
def test_a_timeout_that_counts_wrongly(tmp_path: Path, lie: str) -> None:
    """It is 12:00 on a Friday in UTC."""
    agreement, seconds = COUNTED_WRONGLY[lie]
    table = until_owes(TimedTable(seed=3, agreement=agreement).begin(), 1)
    number, due = len(table.lines), due_of(table)
    assert due > later(AT, seconds)
    table.now = later(due, 1)
    table.time_out()
    for at in (later(AT, seconds + 1), due):
        forged = retimed(table, number, at)
        found(tmp_path / at, table, forged, number, script=at == due)
        reason = f"an entry {number} that does not hold: the timeout is of {at}, and there was time until {due}"
        lied_to(tmp_path / at, table, forged, reason, victims=(1,))


@pytest.mark.parametrize("seat", [0, 1])
def test_a_timeout_without_a_clock(tmp_path: Path, seat: int) -> None:
    """The players have agreed to play without one, or nobody has joined yet; with a clock that runs it is true."""
    free = TimedTable(seed=3, agreement=UNTIMED).begin().play(2)
    waiting = TimedTable(seed=3)
    waiting.open()
    long = later(AT, 10**8)
    for name, table in (("free", free), ("waiting", waiting)):
        number = len(table.lines)
        forged = goes_on(table, number, (entry_kinds.Timeout(seat), "server"), at=long)
        found(tmp_path / name, table, forged, number, script=seat == 0)
        lied_to(tmp_path / name, table, forged, f"entry {number} (of the log does not hold|that does not hold)")
    timed = timed_game(3).play(2)
    timed.now = long
    holds(tmp_path / "true", timed.time_out())
    accepted(tmp_path / "true" / "seats", timed)


@pytest.mark.parametrize("what", ["gift", "outage"])
def test_time_that_is_ignored(tmp_path: Path, what: str) -> None:
    """The log does not show it, so the timeout is true by the log: nobody can be convicted."""
    ignored, honest = timed_game(3).play(2), timed_game(3).play(2)
    due = due_of(ignored)
    for table in (ignored, honest):
        table.now = later(due, 1)
    if what == "gift":
        honest.give(60)
    else:
        honest.lose(-70, -10)
    assert due_of(honest) == later(due, 60)
    honest.play(1)
    assert honest.lines[-1].entry.kind == "credit"
    for name, table in (("ignored", ignored.time_out()), ("honest", honest)):
        holds(tmp_path / name, table)
        accepted(tmp_path / name / "seats", table)


def test_a_friend_who_is_never_timed_out(tmp_path: Path) -> None:
    """A game that stands still convicts nobody; a move that is taken later does."""
    table = until_owes(timed_game(3), 1)
    number, due = len(table.lines), due_of(table)
    service, (alice, *_) = staged(table, tmp_path / "x")
    for seconds, overdue in ((0, False), (120, False), (121, True), (10**6, True)):
        now = later(due, seconds)
        with (
            lying(service, head_of(at=now)),
            patch("hkoji.client.service.utc_now", lambda now=now: now),
            alice.client.game(table.game) as held,
        ):
            position, time = held.look()
        assert (position.course.seq, time.overdue) == (number - 1, overdue)
        assert proven(service, alice, table.game) == set()
    table.now = due
    table.play(1)
    service.games[table.game] = Game(table.refereed, list(table.lines))
    late = retimed(table, number, later(due, 10**6 + 1))
    refuse(service, alice, table.game, late, f"an entry {number} that does not hold: it came at")
    assert proven(service, alice, table.game) == {"server"}
    other = until_owes(timed_game(3), 1)
    other.now = later(due, 121)
    other.time_out()
    told_true, (alice, *_) = staged(other, tmp_path / "true")
    assert alice.position(other.game).course.outcome == Outcome("timeout", 0)
    assert proven(told_true, alice, other.game) == set()
