"""Every attack that docs/security.md lists is found as the page says: by whom, when, and who is named.

Each attack is one lie in a scenario that succeeds without it, and it changes nothing else. The page's table has a row
for each test, with the attack in words.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from hkoji import errors, referee
from hkoji.audit.contradictions import ContradictionKind, extends, fork, log_claims, two_receipts
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.client.kept.home import Pins
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.dealer import seed_commit
from hkoji.game.submission import Submission, parse_submission
from hkoji.log import sshsig
from hkoji.log.line import SignedReceipt, format_log, make_receipt, parse_log, sign_entry
from hkoji.log.private_key import PrivateKey
from hkoji.rules.events import Outcome
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.adversary import (
    HostileService,
    Telling,
    added,
    another_card,
    caught,
    chosen_cards,
    convicted,
    ends_at,
    exchanged,
    follow,
    hand,
    instead_of,
    key_of,
    lying,
    of_game,
    on_disk,
    other_cards,
    proven,
    receipt_of,
    refused_by,
    reopened,
    signed_by,
    told,
    view_of,
    without,
)
from tests.support.curve import encode_point, encodings, small_order
from tests.support.drafts import other_than_ssh_keygen
from tests.support.forgery import append, changed_body, entry_number, pins, rewrite
from tests.support.lying_game import refuted, rewritten
from tests.support.memory_service import AT, URL, LocalPlayer, begin, play_on, registered
from tests.support.table import Table, new_game, refused, whole_game
from tests.support.timed_table import RATED, TimedTable, later, timed_game

STRANGER = PrivateKey.from_seed(b"\x07" * 32)
EARLIER = "2026-11-20T11:00:00Z"
LATE = "2026-11-21T12:00:00Z"
"""After every deadline."""


def unseen(alice: LocalPlayer, bob: LocalPlayer, agreement: Agreement = UNTIMED) -> str:
    """A game of which alice has not seen the last two entries, 6 and 7: bob's answer and action."""
    game = begin(alice, bob, agreement=agreement)
    alice.move(game, next(action for action in alice.position(game).legal if action[0] == "3"))
    alice.position(game)
    for _ in range(2):
        bob.move(game, next(each for each in bob.position(game).legal if each[0] in "-12"))
    return game


def forgotten(player: LocalPlayer, game: str) -> str:
    """Deletes a player's log and views of a game: they are fetched and verified anew."""
    for name in ("log.jsonl", "view.json", "views.signed"):
        (player.folder(game) / name).unlink()
    return game


def revealed(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, agreement: Agreement = UNTIMED
) -> tuple[str, int]:
    """A game in its second round, which alice fetches anew, and the number of its first reveal."""
    game = begin(alice, bob, agreement=agreement)
    while not any(line.entry.kind == "reveal" for line in service.games[game].lines):
        play_on((alice, bob), game, 1)
    number = next(line.entry.seq for line in service.games[game].lines if line.entry.kind == "reveal")
    return forgotten(alice, game), number


def first_secret(table: Table, by: str = "alice") -> int:
    """The number of a player's first card played face down."""
    return next(line.entry.seq for line in table.lines if line.entry.body.get("action") == "1X" and line.entry.by == by)


def short_hand() -> Table:
    """A complete game in whose first round the host never holds one of the kinds of card."""
    return next(table for table in map(whole_game, range(50)) if len(set(table.course.dealt[0][0])) < 7)


def not_held(table: Table) -> str:
    return next(card for card in "ABCDEFG" if card not in table.course.dealt[0][0])


# --- the service: its log ---------------------------------------------------------------------------------------------


def test_a_shorter_log(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob)
    alice.position(game)
    cards = referee.view(service.games[game].refereed, 0).dealt[0].cards
    reason = "the service's log ends at entry 5, and you have seen entry 7"
    lies = (ends_at(5), hand(cards[:-1]))  # she has drawn at entry 7
    caught(service, alice, game, reason, *lies, proof=set())


def test_a_fork_of_what_was_seen(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob)
    alice.position(game)
    forked = instead_of(7, entry_kinds.Timeout(1))
    reason = "the service's entry 7 is another one than you have seen"
    caught(service, alice, game, reason, forked, proof={"server"})
    longer = added(entry_kinds.End((), Outcome("timeout", 0), None))
    caught(service, alice, game, "entry 8 of the log does not hold", forked, longer)


def test_a_fork_between_players(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """Each log holds by itself; compared, they convict the service, and each client keeps to its own."""
    game = unseen(alice, bob, RATED)
    cards = referee.view(service.games[game].refereed, 0).dealt[0].cards
    with lying(service, instead_of(7, entry_kinds.Timeout(1), at=LATE), hand(cards[:-1])):  # she has drawn at entry 7
        hers = alice.log(game)
    his = bob.log(game)
    logs = [format_log(lines).encode() for lines in (hers, his)]
    audits = [audit(log, {"server": service.key.public}) for log in logs]
    assert all(each.ok for each in audits)
    one, other = map(log_claims, audits)
    assert one
    assert other
    conflict = fork(one, other)
    assert (conflict.kind, conflict.entry, conflict.signer) == (ContradictionKind.FORK, 7, "server")
    earlier = format_log(his[:7]).encode()
    before = log_claims(audit(earlier))
    assert before
    assert extends(one, before)
    assert extends(other, before)
    assert proven(service, bob, game) == set()
    caught(service, bob, game, "another one than you have seen", told(hers), proof={"server"})


def test_two_receipts_for_one_entry(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """The service claims that a player was late. Each log holds by itself."""
    game = unseen(alice, bob)

    def lie(telling: Telling) -> None:
        last = telling.lines[-1]
        receipt = make_receipt(at="2026-11-20T23:59:59Z", game=game, head=last.entry.head, seq=last.entry.seq)
        signed = SignedReceipt(receipt, service.key.sign(sshsig.RECEIPT, receipt.message))
        telling.lines[-1] = last._replace(receipt=signed)

    with lying(service, lie):
        hers = alice.log(game)
    his = bob.log(game)
    assert [line.entry for line in hers] == [line.entry for line in his]
    audits = [audit(format_log(lines), {"server": service.key.public}) for lines in (hers, his)]
    assert all(each.ok for each in audits)
    one, other = map(log_claims, audits)
    assert one
    assert other
    conflict = two_receipts(one, other)
    assert conflict
    assert (conflict.kind, conflict.entry, conflict.signer) == (ContradictionKind.RECEIPT, 7, "server")
    assert two_receipts(one, one) is None
    assert proven(service, alice, game) == proven(service, bob, game) == set()


def test_an_entry_left_out(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob)
    reason = "entry 6 of the log does not hold"
    caught(service, alice, game, reason, without(6), proof=set())


def test_entries_in_another_order(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob)
    cards = referee.view(service.games[game].refereed, 0).dealt[0].cards
    reason = "entry 6 of the log does not hold"
    lies = (exchanged(6), hand(cards[:-1]))  # the view is the one after entry 6, and she has drawn at entry 7
    caught(service, alice, game, reason, *lies, proof=set())
    table = whole_game(3)
    lines = [*table.lines[:6], table.lines[7], table.lines[6], *table.lines[8:]]
    convicted(table, format_log(lines), AuditStep.CHAIN, 6, None)


def test_a_log_cut_in_the_middle() -> None:
    table = whole_game(3)
    convicted(table, format_log(table.lines[:6] + table.lines[7:]), AuditStep.CHAIN, 6, None)
    convicted(table, format_log(table.lines[1:]), AuditStep.CHAIN, 0, None)


def test_another_games_log(service: HostileService, alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path) -> None:
    carol = registered(service, "carol", tmp_path / "carol")
    carol.client.games()  # has logged in
    other = alice.client.new(Hanamikoji()).course.setup.game
    wanted = bob.client.new(Hanamikoji()).course.setup.game
    reason = f"answered with game {other[:8]} when asked for {wanted[:8]}"
    caught(service, carol, wanted, reason, of_game(other))
    assert not refused_by(carol)
    assert proven(service, carol, wanted) == set()
    count = [len(service.games[game].lines) for game in (other, wanted)]
    reason = f"answered with game {other[:8]} when asked for {wanted[:8]}"
    dave = registered(service, "dave", tmp_path / "dave")
    with lying(service, of_game(other)), pytest.raises(errors.TrustError, match=reason):
        dave.join(wanted)
    assert [len(service.games[game].lines) for game in (other, wanted)] == count
    assert dave.join(wanted).course.setup.game == wanted


def test_a_move_that_the_player_has_not_signed(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob)
    reason = "an entry 7 that does not hold: the signature is not one of bob"
    caught(service, alice, game, reason, signed_by(7, service.key), proof=set())
    table = whole_game(3)
    number = entry_number(table, "move")
    lines = list(table.lines)
    lines[number] = lines[number]._replace(sig=sign_entry(lines[number].entry, table.server))
    convicted(table, format_log(lines), AuditStep.SIGNATURES, number, None)


# --- the service: receipts and clocks ---------------------------------------------------------------------------------


def test_an_old_receipt_for_the_own_move(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """The move stays in the outbox and is sent again byte for byte."""
    game = begin(alice, bob)
    notation = alice.position(game).legal[0]
    with lying(service, receipt_of(5, 4)), pytest.raises(errors.TrustError, match="receipt does not hold"):
        alice.move(game, notation)
    kept = (alice.folder(game) / "outbox.signed").read_bytes()
    with lying(service, receipt_of(5, 4)), pytest.raises(errors.TrustError, match="receipt does not hold"):
        alice.move(game, notation)
    assert (alice.folder(game) / "outbox.signed").read_bytes() == kept
    assert proven(service, alice, game) == set()
    assert alice.move(game, notation).seq == 5
    assert service.games[game].lines[5].entry == parse_submission(kept.splitlines()[-1]).entry


def test_a_receipt_of_another_entry(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob)
    reason = "an entry 7 that does not hold: the receipt is for another entry"
    caught(service, alice, game, reason, receipt_of(7, 6), proof=set())
    table = whole_game(3)
    lines = list(table.lines)
    lines[7] = lines[7]._replace(receipt=lines[6].receipt)
    convicted(table, format_log(lines), AuditStep.TIMES, 7, None)


def test_receipts_that_go_back_in_time(tmp_path: Path) -> None:
    table = whole_game(3)
    entry, lines = table.lines[6].entry, list(table.lines)
    early = make_receipt(at=EARLIER, game=entry.game, head=entry.head, seq=entry.seq)
    receipt = lines[6].receipt
    assert receipt
    signed = receipt._replace(receipt=early, sig=table.server.sign(sshsig.RECEIPT, early.message))
    lines[6] = lines[6]._replace(receipt=signed)
    reason = f"an entry 6 that does not hold: the receipt's time {EARLIER} is before {AT}"
    refuted(tmp_path / "x", table, lines, (AuditStep.TIMES, 6, "server"), reason)


def test_a_timeout_of_who_owes_nothing(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob, RATED)
    actor = service.games[game].refereed.course.actor
    assert actor is not None
    lie = added(entry_kinds.Timeout(1 - actor), at=LATE)
    caught(service, alice, game, "entry 8 of the log does not hold", lie, proof={"server"})
    honest, table = timed_game(3).play(6), timed_game(3).play(6)
    owing = table.course.actor
    assert owing is not None
    append(table, entry_kinds.Timeout(1 - owing), LATE)
    convicted(honest, table.text, AuditStep.REPLAY, len(honest.lines), "server")


def test_a_timeout_that_is_too_early(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """At the deadline, which the log gives; one second later it is true."""
    game = unseen(alice, bob, RATED)
    actor = service.games[game].refereed.course.actor
    assert actor is not None
    due = service.games[game].refereed.course.deadline(AT)
    assert due is not None
    reason = f"an entry 8 that does not hold: the timeout is of {due}, and there was time until {due}"
    caught(service, alice, game, reason, added(entry_kinds.Timeout(actor), at=due), proof={"server"})
    with lying(service, added(entry_kinds.Timeout(actor), at=later(due, 1))):
        assert alice.position(game).course.outcome == Outcome("timeout", 1 - actor)
    honest, table = timed_game(3).play(6), timed_game(3).play(6)
    owing, end = table.course.actor, table.deadline()
    assert owing is not None
    assert end is not None
    append(honest, entry_kinds.Timeout(owing), later(end, 1))
    append(table, entry_kinds.Timeout(owing), end)
    result = convicted(honest, table.text, AuditStep.TIMES, len(table.lines) - 1, "server")
    assert result.outcome is None


def test_a_false_result(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob)
    bob.resign(game)
    end = entry_kinds.parse_body("end", service.games[game].lines[-1].entry.body)
    assert isinstance(end, entry_kinds.End)
    assert end.result == Outcome("resign", 0)
    lie = instead_of(9, end._replace(result=Outcome("resign", 1)))
    caught(service, alice, game, "entry 9 of the log does not hold: the result", lie, proof={"server"})
    table = whole_game(3)
    number, outcome = len(table.lines) - 1, table.course.outcome
    assert outcome
    assert outcome.winner is not None
    changes = changed_body(table, number, result={"reason": outcome.reason, "winner": 1 - outcome.winner})
    convicted(table, rewrite(table, changes), AuditStep.RESULT, number, "server")


# --- the service: cards -----------------------------------------------------------------------------------------------


def test_a_hand_that_changes(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    cards = referee.view(service.games[game].refereed, 0).dealt[0].cards
    reason = "the service has shown you other cards in round 1 before"
    caught(service, alice, game, reason, hand(another_card(cards)), proof={"server"})


@pytest.mark.parametrize("others", [False, True])
def test_a_wrong_hand_from_the_start(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, others: bool
) -> None:
    game = forgotten(alice, begin(alice, bob))
    dealt = service.games[game].refereed.course.dealt[0]
    cards = dealt[1] + "DEFG"[0] if others else another_card(dealt[0])
    if others and cards.count("D") > 3:
        cards = dealt[1] + "G"
    with lying(service, hand(cards)):
        assert alice.position(game).course.dealt[0][0] == cards
    assert proven(service, alice, game) == set()
    bob.resign(game)
    before = on_disk(alice)
    for _ in range(2):
        with pytest.raises(errors.TrustError, match="other cards in round 1"):
            alice.position(game)
    assert on_disk(alice) == before
    signed = alice.client.home.path / "games" / game / "view.json"
    assert cards in signed.read_text()  # the service's signature on it is kept: it convicts
    assert proven(service, alice, game) == {"server"}
    assert bob.position(game).over
    honest = forgotten(alice, begin(alice, bob))
    assert alice.position(honest).course.dealt[0][0] == service.games[honest].refereed.course.dealt[0][0]
    bob.resign(honest)
    assert alice.position(honest).over


@pytest.mark.parametrize("fields", [{"seat": 1}, {"game": "0" * 32}, {"seq": 3}, {"head": "0" * 64}])
def test_anothers_view(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, fields: dict[str, object]
) -> None:
    game = forgotten(alice, begin(alice, bob))
    reason = "the cards of another seat, game or moment"
    caught(service, alice, game, reason, view_of(**fields), proof=(set() if "game" in fields else {"server"}))


@pytest.mark.parametrize("owns_up", [False, True])
def test_a_stacked_deck(service: HostileService, alice: LocalPlayer, bob: LocalPlayer, owns_up: bool) -> None:
    """The end publishes a seed: the committed one, which gives other cards, or another, which does not fit."""
    committed = {}
    for stacks in (True, False):
        game = alice.client.new(Hanamikoji()).course.setup.game
        kept = service.games[game]
        committed[game] = kept.refereed.seed
        if stacks:
            kept.refereed = kept.refereed._replace(seed="77" * 32)
        bob.join(game)
        alice.position(game)
        before = on_disk(alice)
        seed = kept.refereed.seed if owns_up else committed[game]
        resigned = added(entry_kinds.Resign(), by="bob", key=key_of(bob))
        with lying(service, resigned, added(entry_kinds.End((), Outcome("resign", 0), seed))):
            if stacks:
                reason = "entry 6 of the log does not hold: .* seed" if owns_up else "other cards in round 1"
                with pytest.raises(errors.TrustError, match=reason):
                    alice.position(game)
                assert on_disk(alice) == before
                assert proven(service, alice, game) == {"server"}
            else:
                assert alice.position(game).over
    table = whole_game(17)
    other = "77" * 32
    end = len(table.lines) - 1
    convicted(table, rewrite(table, changed_body(table, end, seed=other)), AuditStep.COMMITMENTS, end, "server")
    # The reverse: the offer commits to the other seed, the cards come from this one. Entry 7 is the first to
    # play a card that the other seed has not dealt to its player.
    dealer = {"name": "server/v1", "seed_commit": seed_commit(table.game, other)}
    changes = {**changed_body(table, 0, dealer=dealer), **changed_body(table, end, seed=other)}
    convicted(table, rewrite(table, changes), AuditStep.REPLAY, 7, "bob and server")


def test_a_dealer_that_was_not_asked_for(service: HostileService, alice: LocalPlayer) -> None:
    with chosen_cards(), pytest.raises(errors.TrustError, match="dealer is duplicate/v1"):
        alice.client.new(Hanamikoji())
    (game,) = service.games.values()
    assert [line.entry.kind for line in game.lines] == ["offer"]  # nothing was signed
    assert alice.client.new(Hanamikoji()).course.setup.game in service.games


def test_a_chance_of_its_own(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob, Hanamikoji("random"))
    chance = entry_kinds.parse_body("chance", service.games[game].lines[5].entry.body)
    assert isinstance(chance, entry_kinds.ChanceBody)
    assert chance.first is not None
    forgotten(alice, game)
    lies = (
        instead_of(5, entry_kinds.ChanceBody(1 - chance.first, None)),
        added(entry_kinds.Resign(), by="bob", key=key_of(bob)),
        added(entry_kinds.End((), Outcome("resign", 0), service.games[game].refereed.seed)),
    )
    reason = "entry 5 of the log does not hold: .* chance is not what the committed seed gives"
    caught(service, alice, game, reason, *lies, proof={"server"})
    table = whole_game(2, Hanamikoji("random"))
    number = entry_number(table, "chance")
    first = table.lines[number].entry.body["first"]
    assert isinstance(first, int)
    log = rewrite(table, changed_body(table, number, first=1 - first))
    convicted(table, log, AuditStep.DEAL, number, "server")


def test_an_early_reveal(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    alice.move(game, next(action for action in alice.position(game).legal if action[0] == "1"))
    alice.position(game)
    lie = added(entry_kinds.RevealBody(service.games[game].refereed.openings))
    caught(service, alice, game, "entry 6 of the log does not hold", lie)
    caught(service, bob, game, "entry 6 of the log does not hold", lie)
    assert proven(service, alice, game) == {"server"}
    assert proven(service, bob, game) == {"server"}
    honest, table = _after_a_secret(), _after_a_secret()
    append(table, entry_kinds.RevealBody(table.refereed.openings))
    convicted(honest, table.text, AuditStep.REPLAY, 6, "server")


def _after_a_secret() -> Table:
    table = new_game(3)
    table.send(table.move(next(action for action in table.course.state.legal_actions() if action[0] == "1")))
    return table


def test_no_reveal_where_one_is_due(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """The service cannot write a timeout in the meantime either."""
    game, number = revealed(service, alice, bob, RATED)
    reason = f"entry {number} of the log does not hold: the service owes no timeout now"
    lie = instead_of(number, entry_kinds.Timeout(0), at=LATE)
    caught(service, alice, game, reason, lie, proof={"server"})
    table = timed_game(3).play()
    number = entry_number(table, "reveal")
    cut = TimedTable(seed=3)
    cut.lines, cut.game = table.lines[:number], table.game
    append(cut, entry_kinds.Timeout(0), LATE)
    convicted(table, cut.text, AuditStep.REPLAY, number, "server")


def test_other_cards_in_a_reveal(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game, number = revealed(service, alice, bob)
    reveal = entry_kinds.parse_body("reveal", service.games[game].lines[number].entry.body)
    assert isinstance(reveal, entry_kinds.RevealBody)
    one, *rest = reveal.openings
    forged = one._replace(cards="A" if one.cards != "A" else "B")
    reason = f"entry {number} of the log does not hold: .* does not match its commitment"
    lie = instead_of(number, entry_kinds.RevealBody((forged, *rest)))
    caught(service, alice, game, reason, lie, proof={"server"})
    table = whole_game(3)
    secret = first_secret(table)
    old = next(opening for opening in table.refereed.openings if opening.seq == secret)
    changes = reopened(table, old._replace(cards="A" if old.cards != "A" else "B"))
    convicted(table, rewrite(table, changes), AuditStep.COMMITMENTS, entry_number(table, "reveal"), "server")


def test_cards_left_closed(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    alice.move(game, next(action for action in alice.position(game).legal if action[0] == "1"))
    bob.resign(game)
    forgotten(alice, game)
    lines = service.games[game].lines
    end = entry_kinds.parse_body("end", lines[-1].entry.body)
    assert isinstance(end, entry_kinds.End)
    assert end.openings
    # Not entry 5, the player's own, which cannot be read without its opening.
    reason = f"entry {len(lines) - 1} of the log does not hold: it opens other cards than those that are due"
    lie = instead_of(len(lines) - 1, end._replace(openings=()))
    caught(service, alice, game, reason, lie, proof={"server"})
    table = whole_game(17)
    number = len(table.lines) - 1
    openings = table.lines[number].entry.body["openings"]
    assert isinstance(openings, list)
    log = rewrite(table, changed_body(table, number, openings=openings[1:]))
    convicted(table, log, AuditStep.COMMITMENTS, number, "server")


def test_a_player_framed_without_receipts() -> None:
    """By continuing from the move, the service has signed for it, as with a receipt."""
    table = short_hand()
    number = first_secret(table)
    log = rewrite(table, other_cards(table, number, not_held(table)))
    convicted(table, log, AuditStep.REPLAY, number, "alice and server")
    bare = format_log(parse_log(log), receipts=False)
    convicted(table, bare, AuditStep.REPLAY, number, "alice and server")


# --- the service: keys ------------------------------------------------------------------------------------------------


def test_another_key_of_a_player(service: HostileService, alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path) -> None:
    begin(alice, bob)
    service.players.pop("bob")
    impostor = registered(service, "bob", tmp_path / "impostor")
    game = impostor.client.new(Hanamikoji()).course.setup.game
    before = on_disk(alice)
    for _ in range(2):
        with pytest.raises(errors.TrustError, match="bob plays with another key than before") as refusal:
            alice.join(game)
        assert "ask bob, over another channel" in refusal.value.hint
        assert on_disk(alice) == before
    assert [line.entry.kind for line in service.games[game].lines] == ["offer", "open"]
    table = whole_game(3)
    changes = changed_body(table, 2, key=STRANGER.public.text)
    convicted(table, rewrite(table, changes), AuditStep.KEYS, 2, None)


def test_another_key_of_your_own(service: HostileService, alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path) -> None:
    """Before she has played anything: the key has been hers since she registered, although no log says so."""
    true = service.players.pop("alice")
    impostor = registered(service, "alice", tmp_path / "impostor")
    game = impostor.client.new(Hanamikoji()).course.setup.game
    service.players["alice"] = true
    before = on_disk(alice)
    for _ in range(2):
        with pytest.raises(errors.TrustError, match="alice plays with another key than before"):
            alice.position(game)
        assert on_disk(alice) == before
    assert Pins(alice.client.home, URL, lambda _: None).players == {"alice": key_of(alice).public}
    assert begin(alice, bob) in service.games


def test_another_key_of_the_service(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = unseen(alice, bob)
    before, true = on_disk(alice), service.key
    service.key = STRANGER
    with pytest.raises(errors.TrustError, match="another service key"):
        alice.client.new(Hanamikoji())
    with pytest.raises(errors.TrustError, match="another key than before") as changed:
        alice.client.register(URL)
    assert true.public.fingerprint in str(changed.value)
    assert STRANGER.public.fingerprint in str(changed.value)
    assert "over another channel" in changed.value.hint
    with pytest.raises(errors.TrustError, match="view does not hold"):
        alice.position(game)
    assert on_disk(alice) == before
    service.key = true
    assert alice.position(game).course.seq == 7


def test_a_login_for_another_service(service: HostileService, alice: LocalPlayer) -> None:
    service.tokens.clear()
    true, service.origin = service.origin, "https://other.example"
    before = on_disk(alice)
    with pytest.raises(errors.TrustError, match=r"sign a login for https://other\.example"):
        alice.client.games()
    assert on_disk(alice) == before
    assert not service.tokens
    service.origin = true
    assert alice.client.games() == []


# --- players ----------------------------------------------------------------------------------------------------------


def test_cards_that_are_not_held() -> None:
    table = new_game(next(n for n in range(50) if len(set(new_game(n).course.dealt[0][0])) < 7))
    absent = next(card for card in "ABCDEFG" if card not in table.course.dealt[0][0])
    refused(table, table.move("1" + absent), errors.MissingCardsError)
    table.send(table.move("1" + table.course.dealt[0][0][0]))


def test_a_commitment_opened_to_other_cards() -> None:
    table = new_game(3)
    one, other = sorted(set(table.course.dealt[0][0]))[:2]
    honest = table.move("1" + one)
    forged = honest._replace(opening=(honest.opening[0]._replace(cards=other),))
    refused(table, forged, errors.CommitmentError)
    table.send(honest)


def test_a_commitment_used_twice() -> None:
    """Even with the same hidden cards and the same salt: the commitment names its move."""
    table, first = _two_secrets()
    commit = first.entry.body["commit"]
    assert isinstance(commit, list)
    honest = table.move("2" + _pair(table))
    again = table.entry(1, entry_kinds.Move("2XX", (str(commit[0]),)))
    opening = Opening(again.entry.seq, 0, first.opening[0].cards, first.opening[0].salt)
    refused(table, again._replace(opening=(opening,)), errors.CommitmentError)
    refused(table, again._replace(opening=first.opening), errors.MalformedError)
    table.send(honest)


def test_a_salt_used_twice() -> None:
    table, first = _two_secrets()
    again = table.move("2" + _pair(table), salt=first.opening[0].salt)
    refused(table, again, errors.CommitmentError)
    table.send(table.move("2" + _pair(table)))


@pytest.mark.parametrize("action", ["2", "2X", "2XXX", "1XX", "1"])
def test_face_down_cards_miscounted(action: str) -> None:
    """Its cards are right. But the other player, who does not see them, could no longer read the log."""
    table, _ = _two_secrets()
    legal = (it for it in table.course.state.legal_actions() if it[0] == action[0])
    honest = table.move(next(legal))
    body = entry_kinds.parse_body("move", honest.entry.body)
    assert isinstance(body, entry_kinds.Move)
    written = table.entry(1, body._replace(action=action))
    refused(table, written._replace(opening=honest.opening), errors.NotationError)
    table.send(honest)


def _two_secrets() -> tuple[Table, Submission]:
    """A game in which the host has played a card face down and the guest must move, and that submission."""
    table = new_game(3)
    first = table.move(next(action for action in table.course.state.legal_actions() if action[0] == "1"))
    table.send(first)
    return table, first


def _pair(table: Table) -> str:
    return next(action for action in table.course.state.legal_actions() if action[0] == "2")[1:]


def test_a_weak_key() -> None:
    points = [*sorted(map(encode_point, small_order())), *sorted(encodings())]
    assert len(points) > 8
    for point in points:
        table = Table(seed=3)
        table.open()
        honest = table.entry(1, entry_kinds.Join(entropy_commit(table.game, 1, table.entropy[1]), table.keys[1].public))
        blob = base64.b64encode(b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + point).decode()
        body = {**honest.entry.body, "key": f"ssh-ed25519 {blob}"}
        weak = table.entry(1, entry_kinds.Join("0" * 64, table.keys[1].public), body=body)
        refused(table, weak, errors.WeakKeyError)
        table.send(honest)
    whole = whole_game(3)
    changes = changed_body(whole, 2, key=f"ssh-ed25519 {blob}")
    convicted(whole, rewrite(whole, changes), AuditStep.KEYS, 2, None)


@pytest.mark.parametrize(
    "sign",
    [
        other_than_ssh_keygen(add_order=True),
        other_than_ssh_keygen(neutral_r=True),
        other_than_ssh_keygen(more=b"\x00"),
        other_than_ssh_keygen(reserved=b"x"),
        other_than_ssh_keygen(algorithm="sha256"),
        other_than_ssh_keygen(version=2),
    ],
    ids=["S + L", "R is neutral", "bytes behind", "reserved", "sha256", "version 2"],
)
def test_a_signature_that_is_not_canonical(sign) -> None:  # type: ignore[no-untyped-def]
    table = new_game(3)
    honest = table.move(table.course.state.legal_actions()[0])
    sig = sign(table.keys[0], sshsig.ENTRY, honest.entry.message)
    refused(table, honest._replace(sig=sig), errors.SignatureError)
    whole = whole_game(3)
    lines = list(whole.lines)
    lines[5] = lines[5]._replace(sig=sign(whole.keys[0], sshsig.ENTRY, lines[5].entry.message))
    convicted(whole, format_log(lines), AuditStep.SIGNATURES, 5, None)
    table.send(honest)


def test_a_signature_of_another() -> None:
    table = new_game(3)
    honest = table.move(table.course.state.legal_actions()[0])
    for key, namespace in ((table.keys[1], sshsig.ENTRY), (STRANGER, sshsig.ENTRY), (table.keys[0], sshsig.LOGIN)):
        refused(table, honest._replace(sig=key.sign(namespace, honest.entry.message)), errors.SignatureError)
    table.send(honest)


def test_an_entry_played_again() -> None:
    table, other = new_game(3), new_game(4)
    elsewhere = other.move(other.course.state.legal_actions()[0])
    refused(table, elsewhere, errors.MalformedError)
    honest = table.move(table.course.state.legal_actions()[0])
    table.send(honest)
    refused(table, honest, errors.ConflictError)


def test_an_entry_in_the_services_name() -> None:
    table = new_game(3)
    end = entry_kinds.End((), Outcome("resign", 0), table.refereed.seed)
    refused(table, table.entry(0, end), errors.ForbiddenError)
    refused(table, table.entry(0, entry_kinds.Timeout(1)), errors.ForbiddenError)
    refused(table, table.entry(0, entry_kinds.Timeout(1), by="server"), errors.MalformedError)
    table.send(table.entry(0, entry_kinds.Resign()))


def test_other_entropy_than_committed_to() -> None:
    table = Table(seed=3)
    table.open()
    table.join()
    refused(table, table.entry(1, entry_kinds.Seed("ab" * 32)), errors.CommitmentError)
    table.send(table.entry(1, entry_kinds.Seed(table.entropy[1])))
    refused(table, table.entry(0, entry_kinds.Seed("ab" * 32)), errors.CommitmentError)
    table.send(table.entry(0, entry_kinds.Seed(table.entropy[0])))


def test_the_hosts_commitment_repeated() -> None:
    table = Table(seed=3)
    table.open()
    copied = table.course.setup.entropy_commits[0]
    assert copied
    refused(table, table.entry(1, entry_kinds.Join(copied, table.keys[1].public)), errors.IllegalError)
    table.join()


@pytest.mark.parametrize("seat", [0, 1])
def test_entropy_withheld(seat: int) -> None:
    """Nobody else can write an entry meanwhile: the game stands still until a timeout ends it."""
    table = TimedTable(seed=3)
    table.open()
    table.join()
    if seat == 0:
        table.send(table.entry(1, entry_kinds.Seed(table.entropy[1])))
    assert table.course.actor == seat
    other = table.entry(1 - seat, entry_kinds.Seed(table.entropy[1 - seat]))
    refused(table, other, errors.NotYourTurnError)
    honest = format_log(table.lines)
    waits = audit(honest, pins(table))
    assert (waits.ok, waits.finished, waits.outcome) == (True, False, None)
    due = table.deadline()
    assert due is not None
    append(table, entry_kinds.Timeout(1 - seat), LATE)
    assert audit(table.text, pins(table)).findings[0].signer == "server"
    table.lines = list(parse_log(honest))
    append(table, entry_kinds.Timeout(seat), later(due, 1))
    append(table, entry_kinds.End((), Outcome("timeout", 1 - seat), table.refereed.seed), later(due, 1))
    result = audit(table.text, pins(table))
    assert result.ok
    assert result.outcome == Outcome("timeout", 1 - seat)


def test_the_head_moved_under_a_signed_move() -> None:
    table = new_game(3)
    signed = table.move(table.course.state.legal_actions()[0])
    for body in (entry_kinds.Move("-A"), entry_kinds.Seed(table.entropy[1]), entry_kinds.Cancel()):
        refused(table, table.entry(1, body), type(_refusal(table, body)))
    join = entry_kinds.Join(entropy_commit(table.game, 1, table.entropy[1]), table.keys[1].public)
    refused(table, table.entry(1, join), errors.IllegalError)
    table.send(signed)
    gone = new_game(3)
    signed = gone.move(gone.course.state.legal_actions()[0])
    gone.send(gone.entry(1, entry_kinds.Resign()))  # the only way, and it loses
    refused(gone, signed, errors.ConflictError)
    assert gone.course.outcome == Outcome("resign", 0)


def _refusal(table: Table, body: entry_kinds.EntryBody) -> errors.HkojiError:
    try:
        table.send(table.entry(1, body))
    except errors.IllegalError as error:
        return error
    raise AssertionError("it was taken")


def test_both_seats_or_anothers() -> None:
    table = Table(seed=3)
    table.open(entry_kinds.Invite("bob", table.keys[1].public))
    commit = entropy_commit(table.game, 1, table.entropy[1])
    refused(table, table.entry(0, entry_kinds.Join(commit, table.keys[0].public)), errors.IllegalError)
    stranger = table.entry(1, entry_kinds.Join(commit, STRANGER.public))
    stranger = stranger._replace(sig=sign_entry(stranger.entry, STRANGER))
    refused(table, stranger, errors.ForbiddenError)
    table.join()


# --- service and player together --------------------------------------------------------------------------------------


def test_cards_not_held_and_taken() -> None:
    table = short_hand()
    number = first_secret(table)
    log = rewrite(table, other_cards(table, number, not_held(table)))
    convicted(table, log, AuditStep.REPLAY, number, "alice and server")


@pytest.mark.parametrize(("number", "action"), [(5, "-A"), (5, "3ABC"), (6, "-A"), (6, "3AAA"), (6, "4AAAA")])
def test_an_illegal_move_taken(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, number: int, action: str
) -> None:
    """Entry 5 is alice's to write; 6 is bob's, who can neither answer what was not offered nor have three of a kind."""
    game = begin(alice, bob)
    honest, table = new_game(3), new_game(3)
    if number == 6:
        alice.move(game, next(each for each in alice.position(game).legal if each[0] == "1"))
        honest, table = _after_a_secret(), _after_a_secret()
    alice.position(game)
    lie = added(entry_kinds.Move(action), by="bob", key=key_of(bob))
    caught(service, alice, game, f"entry {number} of the log does not hold", lie, proof={"bob and server"})
    table.lines.append(follow(table.server, table.lines[-1], entry_kinds.Move(action), "bob", table.keys[1]))
    convicted(honest, table.text, AuditStep.REPLAY, number, "bob and server")


def test_other_entropy_taken(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = alice.client.new(Hanamikoji()).course.setup.game
    bob.join(game)
    lie = instead_of(3, entry_kinds.Seed("ab" * 32), by="bob", key=key_of(bob))
    before = on_disk(alice)
    both = {"bob and server", "server"}  # it has accepted bob's true entropy as well
    caught(service, alice, game, "entry 3 of the log does not hold", lie, proof=both)
    assert on_disk(alice) != before
    table = whole_game(3)
    log = rewrite(table, changed_body(table, 3, entropy="ab" * 32))
    convicted(table, log, AuditStep.COMMITMENTS, 3, "bob and server")


def test_a_salt_used_twice_and_taken(tmp_path: Path) -> None:
    table = whole_game(17)
    one, other = table.refereed.openings[:2]
    forged = other._replace(salt=one.salt)
    commit = list(table.lines[other.seq].entry.body["commit"])  # type: ignore[arg-type]
    commit[other.part] = forged.commitment(table.game)
    changes = {**changed_body(table, other.seq, commit=commit), **reopened(table, forged)}
    number = len(table.lines) - 1
    places = {(opening["seq"], opening["part"]) for opening in _openings(table, number)}
    assert places & {(one.seq, one.part), (other.seq, other.part)}  # the later of the two is opened at the end
    reason = f"an entry {number} that does not hold: .*its salt has been used before"
    refuted(tmp_path / "x", table, rewritten(table, changes), (AuditStep.COMMITMENTS, number, "server"), reason)


def _openings(table: Table, number: int) -> list[dict[str, Any]]:  # Any: JSON
    openings: Any = table.lines[number].entry.body["openings"]
    return list(openings)


def test_a_commitment_that_cannot_be_opened(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """By its receipt the service has signed that it held the opening."""
    table = whole_game(3)
    secret = first_secret(table)
    log = rewrite(table, changed_body(table, secret, commit=["ab" * 32]))
    convicted(table, log, AuditStep.COMMITMENTS, entry_number(table, "reveal"), "server")
    game, number = revealed(service, alice, bob)
    lie = instead_of(number, entry_kinds.RevealBody(()))
    caught(service, alice, game, f"entry {number} of the log does not hold", lie, proof={"server"})
