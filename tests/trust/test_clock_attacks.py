"""Attacks on the clocks: false times of record, late moves that are taken, and games that are not ended.

Here the service lies, alone or for a friend. In each case the same steps with true times are accepted by everybody.
"""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from hkoji.audit.log_audit import AuditStep, audit
from hkoji.errors import ConflictError, TrustError
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.log import sshsig
from hkoji.log.line import Line, SignedReceipt, format_log, make_receipt
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.adversary import (
    HostileService,
    Telling,
    follow,
    head_of,
    lying,
    proven,
    refused_by,
)
from tests.support.forgery import pins
from tests.support.lying_game import goes_on, staged
from tests.support.memory_service import AT, Game, LocalPlayer, begin
from tests.support.timed_table import RATED, TimedTable, later, timed_game
from tests.trust.clock_lies import (
    due_of,
    found,
    judged,
    lied_to,
    refuse,
    retimed,
    said,
    scripted,
    until_owes,
    without_heads,
    written,
)
from tests.trust.test_attacks_together import both_games

# --- times of record --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [1, 119])
def test_another_time_told_to_each_player(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path, seconds: int
) -> None:
    """The opponent's next entry repeats the time that they were told; the honest service would not take it."""
    games = [begin(alice, bob, agreement=RATED) for _ in range(2)]
    for game in games:
        alice.move(game, next(each for each in alice.position(game).legal if each[0] == "3"))

    def lie(telling: Telling) -> None:
        last = telling.lines[-1]
        receipt = make_receipt(at=later(AT, seconds), game=telling.game, head=last.entry.head, seq=last.entry.seq)
        signed = SignedReceipt(receipt, service.key.sign(sshsig.RECEIPT, receipt.message))
        telling.lines[-1] = last._replace(receipt=signed)

    game, true = games
    with lying(service, lie):
        answer = bob.sign(game, bob.position(game).legal[0])
    assert answer.entry.seen == later(AT, seconds)
    with pytest.raises(ConflictError):
        alice.client.submit(answer)
    entry = answer.entry
    receipt = make_receipt(at=later(AT, seconds), game=game, head=entry.head, seq=entry.seq)
    taken = Line(entry, answer.sig, SignedReceipt(receipt, service.key.sign(sshsig.RECEIPT, receipt.message)))
    forged = (*service.games[game].lines, taken)
    reason = f"it says that the time of record before it is {later(AT, seconds)}, and it is {AT}"
    refuse(service, alice, game, forged, reason)
    assert proven(service, alice, game) == {"server"}
    result = audit(format_log(forged), {"server": service.key.public})
    (finding,) = result.findings
    assert (finding.step, finding.entry, finding.signer) == (AuditStep.TIMES, entry.seq, "server")
    assert scripted(tmp_path, forged, {"server": service.key.public}) == (1, entry.seq)
    bob.move(true, bob.position(true).legal[0])
    assert alice.position(true).course.seq == entry.seq
    assert proven(service, alice, true) == proven(service, bob, true) == set()


@pytest.mark.parametrize("lie", ["the end is later", "the receipt is later", "the timeout is earlier"])
def test_an_entry_of_the_service_at_another_time(tmp_path: Path, lie: str) -> None:
    """The `end` belongs to the entry before it, so both have one time."""
    honest = timed_game(3).play(2)
    number = len(honest.lines)
    honest.wait(5).send(honest.entry(0, entry_kinds.Resign()))
    lines = list(honest.lines)
    if lie == "the end is later":
        number += 1
        lines[number:] = [follow(honest.server, lines[number - 1], *said(honest.lines[number:])[0], at=later(AT, 6))]
    elif lie == "the receipt is later":
        number += 1
        end = lines[number].entry
        receipt = make_receipt(at=later(AT, 6), game=end.game, head=end.head, seq=end.seq)
        signed = SignedReceipt(receipt, honest.server.sign(sshsig.RECEIPT, receipt.message))
        lines[number] = lines[number]._replace(receipt=signed)
    else:
        honest = timed_game(3).play(2)
        actor = honest.course.actor
        assert actor is not None
        honest.wait(181).time_out()
        lines = list(goes_on(honest, number, (entry_kinds.Timeout(actor), "server"), at=later(AT, -1)))
        lied_to(tmp_path / "x", honest, lines, f"the receipt's time {later(AT, -1)} is before {AT}")
        found(tmp_path, honest, lines, number)
        return
    found(tmp_path, honest, lines, number)
    lied_to(tmp_path / "x", honest, lines, f"an entry {number} that does not hold: (its time|the time of its receipt)")


@pytest.mark.parametrize("seconds", [-120, 120, 121, 3600])
def test_a_move_dated_late(service: HostileService, alice: LocalPlayer, bob: LocalPlayer, seconds: int) -> None:
    """Nobody can prove when a move came. Up to 120 seconds, the clocks of two machines may differ."""
    game = begin(alice, bob, agreement=Agreement(RATED.clock and RATED.clock._replace(move=86_400), rated=True))
    before = len(alice.said)
    with patch.object(service, "_now", lambda: later(AT, seconds)):
        alice.move(game, alice.position(game).legal[0])
    warned = [each for each in alice.said[before:] if "has recorded your entry" in each]
    if seconds <= 120:
        assert not warned
    else:
        (warning,) = warned
        assert "later than the time that its answers state" in warning
    assert proven(service, alice, game) == set()
    assert not refused_by(alice)


# --- heads ------------------------------------------------------------------------------------------------------------


def shown_head(service: HostileService, player: LocalPlayer, game: str, at: str) -> None:
    """A player who waits looks at the game, as `show` and `watch` do, and gets a head of this time."""
    with lying(service, head_of(at=at)), player.client.game(game) as held:
        held.look()


def moved_after_a_head(folder: Path, head: str, at: str) -> tuple[HostileService, LocalPlayer, LocalPlayer, str]:
    """Alice waits and is shown a signed head of the time `head`; then bob's move has the time of record `at`."""
    table = until_owes(timed_game(3), 1)
    service, (alice, bob, _) = staged(table, folder)
    shown_head(service, alice, table.game, head)
    table.now = at
    table.play(1)
    service.games[table.game] = Game(table.refereed, list(table.lines))
    return service, alice, bob, table.game


def test_a_move_that_is_kept_back(tmp_path: Path) -> None:
    """It came at 12:00:05; a head that is signed over two minutes later says that it was not there."""
    table = until_owes(timed_game(3), 1)
    came = later(AT, 5)
    service, alice, bob, game = moved_after_a_head(tmp_path / "kept back", later(came, 121), came)
    seen = alice.client.stored(game).course.seq
    for _ in range(2):
        with pytest.raises(TrustError, match=f"has recorded entry {seen + 1} at {came}, and has signed that"):
            alice.position(game)
        assert alice.client.stored(game).course.seq == seen
    assert proven(service, alice, game) == {"server"}
    assert bob.position(game).course.seq == seen + 1
    assert proven(service, bob, game) == set()
    service, alice, _, game = moved_after_a_head(tmp_path / "at once", later(came, 120), came)
    assert alice.position(game).course.seq == seen + 1 == len(table.lines)
    assert proven(service, alice, game) == set()


def test_a_late_move_that_is_backdated(tmp_path: Path) -> None:
    """The log alone is in order. The head that alice was given after the deadline is not of this log."""
    due = due_of(until_owes(timed_game(3), 1))
    service, alice, bob, game = moved_after_a_head(tmp_path / "late", later(due, 121), due)
    for _ in range(2):
        with pytest.raises(TrustError, match=f"at {due}, and has signed that entry .* at {later(due, 121)}") as refusal:
            alice.position(game)
        assert "is proof" in refusal.value.hint
    assert audit(format_log(service.games[game].lines), {"server": service.key.public}).ok
    file = written(alice, game, tmp_path / "e")
    done = judged(service, file)
    assert done.code == 8
    assert "server: it has recorded entry" in done.out
    assert judged(service, without_heads(file)).code == 0
    bob.position(game)
    assert judged(service, written(bob, game, tmp_path / "his")).code == 0
    service, alice, _, game = moved_after_a_head(tmp_path / "in time", later(due, 120), due)
    alice.position(game)
    assert judged(service, written(alice, game, tmp_path / "true")).code == 0


# --- late moves -------------------------------------------------------------------------------------------------------


def in_time(ruleset: Ruleset | None = None) -> tuple[TimedTable, int]:
    """A game in which bob has moved at his deadline, and the number of that entry."""
    table = until_owes(timed_game(3, ruleset), 1)
    table.now = due_of(table)
    number = len(table.lines)
    return table.play(1), number


@both_games
def test_a_late_move_is_taken(tmp_path: Path, ruleset: Ruleset) -> None:
    """Clients judge the last entry too; for an audit the service must have said what follows it."""
    table, number = in_time(ruleset)
    due = table.now
    late = retimed(table, number, later(due, 1))
    reason = f"an entry {number} that does not hold: it came at {later(due, 1)}, and there was time until {due}"
    lied_to(tmp_path / "last", table, late, reason)
    assert audit(format_log(late), pins(table)).ok
    table.send(table.entry(0, entry_kinds.Resign()))
    gone_on = retimed(table, number, later(due, 1))
    found(tmp_path / "log", table, gone_on, number, script=isinstance(ruleset, Hanamikoji))
    lied_to(tmp_path / "on", table, gone_on, reason)


def test_a_late_move_is_taken_without_a_head(tmp_path: Path) -> None:
    """A player has the view of it. A spectator has the move and its receipt only, which prove nothing."""
    table, number = in_time()
    due = table.now
    late = retimed(table, number, later(due, 1))
    service, (alice, _, carol) = staged(table, tmp_path / "x")
    service.tamper = lambda _, path, answer: answer._replace(status=503) if path.endswith("/head") else answer
    for player, proof in ((alice, {"server"}), (carol, set())):
        refuse(service, player, table.game, late, f"it came at {later(due, 1)}, and there was time until {due}")
        assert proven(service, player, table.game) == proof
        player.position(table.game)


def test_a_late_move_in_the_evidence(tmp_path: Path) -> None:
    """`hkoji evidence` needs no cards for it: the client has fetched a head that names the move."""
    table, number = in_time()
    late = retimed(table, number, later(table.now, 1))
    service, (alice, _, carol) = staged(table, tmp_path / "x")
    for player in (alice, carol):
        refuse(service, player, table.game, late, "it came at .*, and there was time until")
        file = written(player, table.game, tmp_path / player.name)
        done = judged(service, file)
        assert done.code == 8
        assert f"entry {number}: server: it came at" in done.out
    other, (alice, *_) = staged(table, tmp_path / "true")
    alice.position(table.game)
    assert judged(other, written(alice, table.game, tmp_path / "honest")).code == 0


@pytest.mark.parametrize("seat", [1, 0])
def test_a_late_seed_is_taken(tmp_path: Path, seat: int) -> None:
    """A service that could wait for ever with it could throw decks away."""
    table = TimedTable(seed=3)
    table.open()
    table.join()
    if seat == 0:
        table.reveal_seed(1)
    number = len(table.lines)
    table.now = due_of(table)
    table.reveal_seed(seat)
    table.send(table.entry(1 - seat, entry_kinds.Resign()))
    forged = retimed(table, number, later(table.now, 1))
    found(tmp_path / "log", table, forged, number, script=seat == 1)
    lied_to(tmp_path / "x", table, forged, f"an entry {number} that does not hold: it came at {later(table.now, 1)}")
