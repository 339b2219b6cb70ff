"""A client keeps as evidence every view that it has accepted, and what it has refused, within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

import pytest

from hkoji.audit.evidence_file import parse_evidence
from hkoji.client.kept import evidence
from hkoji.client.kept.evidence import DOUBTFUL, PROOF, VIEWS, KeptEvidence
from hkoji.errors import NotFoundError, StorageError, TrustError
from hkoji.game import entry_kinds
from hkoji.log import sshsig
from hkoji.log.line import SignedEntry, SignedReceipt, make_receipt
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import Dealt, SignedView, make_view
from hkoji.rules.events import Outcome
from tests.support.adversary import (
    HostileService,
    Telling,
    added,
    ends_at,
    hand,
    lying,
    proven,
    receipt_of,
    refused_by,
    resigned,
    view_of,
)
from tests.support.breaking_off import KilledError, before_writes
from tests.support.memory_service import AT, LocalPlayer, begin, play_on, registered

KEY = PrivateKey.from_seed(b"\x09" * 32)


@pytest.fixture
def service() -> HostileService:
    return HostileService()


def view(seq: int, cards: str = "ABCDEF") -> SignedView:
    made = make_view(dealt=(Dealt(cards, 1),), game="ab" * 16, head="cd" * 32, seat=0, seq=seq)
    return SignedView(made, KEY.sign(sshsig.VIEW, made.message))


def signed(shown: SignedView) -> SignedEntry:
    return SignedEntry(shown.view.text, shown.sig)


# --- what was accepted ------------------------------------------------------------------------------------------------


def test_every_view_that_brings_cards_is_kept_with_its_signature(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    play_on((alice, bob), game, 9)
    alice.position(game)  # the other's last move may have brought cards
    kept = KeptEvidence(alice.folder(game)).views()
    assert len(kept) > 2
    for shown in kept:
        sshsig.verify(shown.sig, service.key.public, sshsig.VIEW, shown.view.message, "server")
        assert shown.view.seat == 0
    for before, after in pairwise(kept):
        assert before.view.seq < after.view.seq
        assert before.view.dealt != after.view.dealt
    data = (alice.folder(game) / "views.signed").read_bytes()
    alice.position(game)
    assert (alice.folder(game) / "views.signed").read_bytes() == data
    assert proven(service, alice, game) == set()
    assert not refused_by(alice)


def test_views_that_repeat_are_not_kept_and_there_is_an_end_to_it(tmp_path: Path) -> None:
    kept = KeptEvidence(tmp_path)
    kept.keep_view(signed(view(1)))
    kept.keep_view(signed(view(2)))
    assert [shown.view.seq for shown in kept.views()] == [1]
    with patch.object(evidence, "VIEWS", VIEWS._replace(lines=3)):
        for seq in range(3, 9):
            kept.keep_view(signed(view(seq, "ABCDEF" + "G" * seq)))
    assert [shown.view.seq for shown in kept.views()] == [1, 3]


def test_an_earlier_view_still_counts_when_the_log_is_fetched_anew(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    cards = KeptEvidence(alice.folder(game)).views()[-1].view.dealt[0].cards
    for name in ("log.jsonl", "view.json"):
        (alice.folder(game) / name).unlink()
    other = cards[:-1] + next(card for card in "DEFGABC" if card != cards[-1] and cards.count(card) < 2)
    with lying(service, hand(other)), pytest.raises(TrustError, match="other cards in round 1 before"):
        alice.position(game)
    assert proven(service, alice, game) == {"server"}
    assert alice.position(game).course.dealt[0][0] == cards


# --- what was refused -------------------------------------------------------------------------------------------------


def fork(service: HostileService, alice: LocalPlayer, bob: LocalPlayer, game: str) -> TrustError:
    with lying(service, resigned(4, bob)), pytest.raises(TrustError) as refusal:
        alice.position(game)
    return refusal.value


def test_the_error_says_that_it_was_kept_and_what_to_do(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    error = fork(service, alice, bob, game)
    assert f"is proof: `hkoji evidence {game[:8]} --with-cards --output FILE` writes" in error.hint  # it is a view
    assert proven(service, alice, game) == {"server"}
    with lying(service, added(entry_kinds.End((), Outcome("resign", 0), None))), pytest.raises(TrustError) as other:
        bob.position(game)
    assert f"is proof: `hkoji evidence {game[:8]} --output FILE` writes it to a file" in other.value.hint
    with lying(service, ends_at(3), hand(service.games[game].refereed.course.dealt[0][1])), pytest.raises(TrustError):
        bob.position(game)


def test_a_statement_that_nobody_has_signed_is_not_kept(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    true, service.key = service.key, KEY
    with lying(service, added(entry_kinds.Resign(), by="bob", key=KEY)), pytest.raises(TrustError) as refusal:
        alice.position(game)
    assert "hkoji evidence" not in refusal.value.hint
    assert not refused_by(alice)
    service.key = true


def test_a_confirmed_entry_must_be_in_the_log_that_follows(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    """The answer brings bob a card, so he asks for his view; its lines have another entry in the place of his."""
    game = begin(alice, bob)
    alice.move(game, next(each for each in alice.position(game).legal if each[0] == "3"))
    answer = bob.position(game).legal[0]
    reason = "the service's log does not have the entry 6 that the service has just confirmed"
    instead = resigned(6, alice)

    def once_it_has_the_answer(telling: Telling) -> None:
        if len(service.games[game].lines) > 6:
            instead(telling)

    with lying(service, once_it_has_the_answer), pytest.raises(TrustError, match=reason):
        bob.move(game, answer)
    assert proven(service, bob, game) == {"server"}
    assert bob.move(game, answer).seq == 6
    assert proven(service, bob, game) == {"server"}


def test_a_receipt_is_the_same_in_the_log_that_follows(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    """The same entries, with another time for one of them than the service has just given."""
    game = begin(alice, bob)
    alice.move(game, next(each for each in alice.position(game).legal if each[0] == "3"))
    answer = bob.position(game).legal[0]

    def later(telling: Telling) -> None:
        if len(service.games[game].lines) > 6 and not telling.brought:
            number = next(at for at, line in enumerate(telling.lines) if line.entry.seq == 6)
            line = telling.lines[number]
            made = make_receipt(at="2026-11-21T00:00:00Z", game=game, head=line.entry.head, seq=6)
            signed = SignedReceipt(made, service.key.sign(sshsig.RECEIPT, made.message))
            telling.lines[number] = line._replace(receipt=signed)

    with lying(service, later), pytest.raises(TrustError, match="has given two receipts for entry 6"):
        bob.move(game, answer)
    assert proven(service, bob, game) == {"server"}
    assert bob.move(game, answer).seq == 6


def test_an_answer_that_is_better_the_second_time_is_kept_and_said(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    """The end after a resignation has another entry's receipt; asked again the service is honest."""
    game = begin(alice, bob)

    def another_receipt(telling: Telling) -> None:
        if telling.brought:
            end = telling.lines[-1]
            made = make_receipt(at=AT, game=game, head="ab" * 32, seq=end.entry.seq)
            signed = SignedReceipt(made, service.key.sign(sshsig.RECEIPT, made.message))
            telling.lines[-1] = end._replace(receipt=signed)

    with lying(service, another_receipt):
        assert alice.resign(game).position.over
    assert any("an entry 6 that does not hold: " in said for said in alice.said)
    assert any(f"is proof: `hkoji evidence {game[:8]} --output FILE` writes" in said for said in alice.said)
    assert proven(service, alice, game) == {"server"}


def test_entries_that_are_sent_for_others_are_kept_too(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    submission = alice.sign(game, alice.position(game).legal[0])
    with lying(service, receipt_of(5, 4)), pytest.raises(TrustError, match="receipt does not hold"):
        alice.client.submit(submission)
    assert refused_by(alice)
    assert proven(service, alice, game) == set()  # an old receipt is valid for its own entry


def test_two_words_that_were_refused_at_different_times_convict_together(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    """Neither contradicts anything that was accepted."""
    game = begin(alice, bob)
    hints = []
    for head in ("ab", "cd"):
        with lying(service, view_of(seq=40, head=head * 32)), pytest.raises(TrustError) as refusal:
            alice.position(game)
        hints.append(refusal.value.hint.split("; ")[-1])
    command = f"hkoji evidence {game[:8]}"
    assert hints == [
        f"what the service has signed is kept: `{command} --output FILE` writes it to a file",
        "what the service has signed is kept, and is proof: "
        f"`{command} --with-cards --output FILE` writes it to a file",
    ]
    assert sorted(path.name for path in alice.folder(game).glob("refused*")) == [
        "refused-doubtful.signed",
        "refused.signed",
    ]
    assert proven(service, alice, game) == {"server"}


def test_nobody_can_fill_the_disk(tmp_path: Path) -> None:
    """Statements that convict nobody take no room from those that do."""
    kept = KeptEvidence(tmp_path)
    kept.refuse((view(seq) for seq in range(2 * DOUBTFUL.lines)), convicts=False)
    kept.refuse((view(seq) for seq in range(2 * DOUBTFUL.lines)), convicts=False)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size <= DOUBTFUL.bytes
    assert 100 < len(kept.refused()) <= DOUBTFUL.lines
    assert view(7000) not in kept.refused()
    kept.refuse([view(7000)], convicts=True)
    assert kept.refused()[0] == view(7000)
    long = [view(seq, "A" * 40_000) for seq in range(80)]
    kept.refuse(long, convicts=True)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= DOUBTFUL.bytes + PROOF.bytes
    assert long[0] in kept.refused()
    assert long[-1] not in kept.refused()


def test_a_full_disk_does_not_hide_the_refusal(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)

    def full(path: Path, lines: bytes) -> None:
        raise StorageError("the disk is full")

    with patch.object(evidence, "append_lines", full):
        error = fork(service, alice, bob, game)
    assert "could not be kept: the disk is full" in error.hint
    assert not refused_by(alice)
    assert alice.position(game).course.seq == 4


# --- files that were torn, and processes that were killed -------------------------------------------------------------


@pytest.mark.parametrize("name", ["views.signed", "refused.signed"])
def test_a_torn_line_stands_in_nobodys_way(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, name: str
) -> None:
    game = begin(alice, bob)
    fork(service, alice, bob, game)
    path = alice.folder(game) / name
    whole = path.read_bytes()
    for cut in (*range(1, len(whole), 97), len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert alice.position(game).course.seq == 4
        parse_evidence(alice.client.evidence(game, cards=True).text)
    path.write_bytes(b"\xff\x00\n" + whole[:-40])
    fork(service, alice, bob, game)
    assert proven(service, alice, game) == {"server"}
    assert path.read_bytes().startswith(b"\xff\x00\n")  # nothing is taken away
    alice.move(game, alice.position(game).legal[0])


T = TypeVar("T")


@contextmanager
def killed_before(player: LocalPlayer, at: int) -> Iterator[list[int]]:
    """The process of that player ends before its write number `at`; counts the writes left until then."""
    left = [at]

    def step(path: Path) -> None:
        left[0] -= path.is_relative_to(player.path)
        if left[0] == 0:
            raise KilledError

    with before_writes(step, torn=False):
        yield left


def test_killed_while_it_keeps_what_it_refuses(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """Either all of it is there, or the error was not raised; and the next command works as usual."""
    game = begin(alice, bob)
    forked = resigned(4, bob)
    with lying(service, forked), killed_before(alice, 1), pytest.raises(KilledError):
        alice.position(game)
    assert not refused_by(alice)
    with lying(service, forked), killed_before(alice, 2) as left, pytest.raises(TrustError):
        alice.position(game)
    assert left == [1]
    assert refused_by(alice)
    assert alice.position(game).course.seq == 4
    assert proven(service, alice, game) == {"server"}


def test_killed_while_it_keeps_a_view(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """Views are written before the log that they belong to; a second time they are not kept twice."""
    count = 0
    game = begin(alice, bob)
    for at in (1, 2, 3) * 4:
        play_on((bob, bob), game, 1)
        with killed_before(alice, at):
            try:
                alice.position(game)
            except KilledError:
                count += 1
        position = alice.position(game)
        texts = [shown.view.text for shown in KeptEvidence(alice.folder(game)).views()]
        assert len(set(texts)) == len(texts)
        assert f'"cards":"{position.course.dealt[-1][0]}"' in texts[-1]
        if position.legal:
            alice.move(game, position.legal[0])
    assert count > 2
    assert proven(service, alice, game) == set()


# --- the file ---------------------------------------------------------------------------------------------------------


def test_while_the_game_runs_the_file_shows_no_cards_unless_asked_to(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, tmp_path: Path
) -> None:
    game = begin(alice, bob)
    with lying(service, hand("ABCDEFG")), pytest.raises(TrustError):
        alice.position(game)
    written = alice.client.evidence(game)
    assert (written.views, written.refused, written.left_out) == (0, 0, 2)
    assert '"cards' not in written.text.replace("\\", "")
    assert alice.client.evidence(game, cards=True).left_out == 0
    bob.resign(game)
    alice.position(game)
    written = alice.client.evidence(game)
    assert written.left_out == 0
    assert written.views
    assert written.refused == 1
    assert set(parse_evidence(written.text).keys) == {"alice", "bob", "server"}
    carol = registered(service, "carol", tmp_path / "carol")
    with pytest.raises(NotFoundError):
        carol.client.evidence(game)
