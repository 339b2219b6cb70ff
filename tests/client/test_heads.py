"""Signed heads: a client checks and keeps them, refuses what contradicts them, and shows them to others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from hkoji.audit.evidence_audit import audit_file
from hkoji.audit.evidence_file import MAX_STATEMENTS, parse_evidence
from hkoji.client.kept import evidence as kept_evidence
from hkoji.client.kept.evidence import DOUBTFUL, HEADS, PROOF, VIEWS, KeptEvidence
from hkoji.client.transport import HttpAnswer
from hkoji.errors import HkojiError, ServiceError, TrustError
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.game_statements import HeadStatement, SignedHead, format_head, make_head
from hkoji.log.private_key import PrivateKey
from tests.support.adversary import HostileService, proven, refused_by
from tests.support.memory_service import AT, LocalPlayer, begin, play_on
from tests.support.timed_table import later

KEY = PrivateKey.from_seed(b"\x09" * 32)
GAME = "ab" * 16


@pytest.fixture
def service() -> HostileService:
    return HostileService()


def head(seq: int, seconds: int, *, hashed: str = "cd") -> SignedHead:
    made = make_head(at=later(AT, seconds), game=GAME, head=hashed * 32, seq=seq)
    return SignedHead(made, KEY.sign(sshsig.HEAD, made.message))


def fetch(player: LocalPlayer, game: str, deadline: str | None = None, now: str = AT) -> HeadStatement:
    """A head as a command fetches it, in a new process."""
    with player.client.game(game) as held, patch.object(held.service, "now", lambda: now):
        return held.record.fetch_head(deadline)


def kept(player: LocalPlayer, game: str) -> list[HeadStatement]:
    return [each.statement for each in KeptEvidence(player.folder(game)).heads()]


@contextmanager
def answering(service: HostileService, change: Callable[[HttpAnswer], HttpAnswer]) -> Iterator[None]:
    """The service's heads are changed on the way."""

    def tamper(_method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        return change(answer) if path.endswith("/head") else answer

    before, service.tamper = service.tamper, tamper
    try:
        yield
    finally:
        service.tamper = before


def saying(
    service: HostileService, key: PrivateKey | None = None, **fields: object
) -> Callable[[HttpAnswer], HttpAnswer]:
    """A head with other fields, signed by the service."""

    def change(answer: HttpAnswer) -> HttpAnswer:
        true = json.loads(answer.json()["text"])
        del true["v"]
        made = make_head(**{**true, **fields})
        sig = (key or service.key).sign(sshsig.HEAD, made.message)
        return answer._replace(body=json.dumps({"text": made.text, "sig": encode_base64(sig)}).encode())

    return change


# --- fetching ---------------------------------------------------------------------------------------------------------


def test_a_head_is_kept_and_shown_to_others(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    last = alice.log(game)[-1].entry
    first = fetch(alice, game)
    assert (first.at, first.game, first.head, first.seq) == (AT, game, last.head, last.seq)
    alice.move(game, alice.position(game).legal[0])
    second = fetch(alice, game)
    assert second.seq > first.seq
    assert kept(alice, game) == [first, second]
    for each in KeptEvidence(alice.folder(game)).heads():
        sshsig.verify(each.sig, service.key.public, sshsig.HEAD, each.statement.message, "server")
    written = alice.client.evidence(game)
    assert written.heads == 2
    assert [each.statement for each in parse_evidence(written.text).heads] == [first, second]
    assert proven(service, alice, game) == set()
    assert not refused_by(alice)
    assert not [said for said in alice.said if "clock" in said]


def test_a_head_that_is_later_than_the_log_here_brings_the_log(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    before = len(alice.log(game))
    with bob.client.game(game) as held:
        held.current()
    alice.move(game, alice.position(game).legal[0])
    bob.move(game, bob.position(game).legal[0])
    with alice.client.game(game) as held:
        assert len(held.lines()) < len(service.games[game].lines)
        found = held.record.fetch_head()
        assert held.lines()[found.seq].entry.head == found.head
        assert len(held.lines()) == len(service.games[game].lines) > before
    assert kept(alice, game) == [found]


def test_a_clock_that_is_ahead_is_mentioned(alice: LocalPlayer, bob: LocalPlayer) -> None:
    game = begin(alice, bob)
    said = len(alice.said)
    fetch(alice, game, now=later(AT, -120))
    fetch(alice, game, now=later(AT, 10**6))
    assert len(alice.said) == said
    fetch(alice, game, now=later(AT, -121))
    (warning,) = alice.said[said:]
    assert warning == "warning: the service has signed a time 121 seconds later than the time of its answers"


# --- what is refused --------------------------------------------------------------------------------------------------


def refuses(
    service: HostileService,
    player: LocalPlayer,
    game: str,
    change: Callable[[HttpAnswer], HttpAnswer],
    error: type[HkojiError],
    reason: str,
) -> HkojiError:
    """Asserts that the player refuses a head and that neither log nor heads change; the game goes on."""
    lines, heads = player.log(game), kept(player, game)
    with answering(service, change), pytest.raises(error) as caught:
        fetch(player, game)
    assert reason in str(caught.value)
    assert kept(player, game) == heads
    assert player.log(game) == lines
    fetch(player, game)
    return caught.value


def test_a_head_that_the_service_has_not_signed(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """By another key; by the service's, for a receipt, whose text is the same; or under another head's signature."""
    game = begin(alice, bob)
    receipt = service.games[game].lines[-1].receipt
    assert receipt
    true = saying(service, at=later(AT, 5))

    def as_a_receipt(answer: HttpAnswer) -> HttpAnswer:
        text, sig = receipt.receipt.text, encode_base64(receipt.sig)
        return answer._replace(body=json.dumps({"text": text, "sig": sig}).encode())

    def swapped(answer: HttpAnswer) -> HttpAnswer:
        value = {**answer.json(), "sig": true(answer).json()["sig"]}
        return answer._replace(body=json.dumps(value).encode())

    for change in (saying(service, KEY), as_a_receipt, swapped):
        refuses(service, alice, game, change, TrustError, "the service's head does not hold")
        assert not refused_by(alice)
    assert proven(service, alice, game) == set()


def test_a_head_of_another_game(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    game, other = begin(alice, bob), begin(alice, bob)
    refuses(service, alice, game, saying(service, game=other), TrustError, f"answered with game {other[:8]}")
    assert not refused_by(alice)


@pytest.mark.parametrize(
    "value",
    [None, [], {}, {"text": "{}"}, {"text": 1, "sig": "AAAA"}, {"text": "{}", "sig": "AAAA"}, {"sig": "?"}, "more"],
)
def test_an_answer_that_is_no_head(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, value: object
) -> None:
    game = begin(alice, bob)

    def change(answer: HttpAnswer) -> HttpAnswer:
        made = {**answer.json(), "at": AT} if value == "more" else value
        return answer._replace(body=json.dumps(made).encode())

    refuses(service, alice, game, change, ServiceError, "the service's answer is not understood")
    assert not refused_by(alice)


def test_a_head_that_contradicts_the_log(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """It is the service's word, so it is kept, and convicts it."""
    game = begin(alice, bob)
    last = alice.log(game)[-1].entry.seq
    error = refuses(
        service, alice, game, saying(service, head="ab" * 32), TrustError, f"the service's entry {last} is another one"
    )
    assert f"is proof: `hkoji evidence {game[:8]} --output FILE` writes it to a file" in error.hint
    assert proven(service, alice, game) == {"server"}


def test_a_head_from_long_after_an_entry_that_it_lacks(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    lines = alice.log(game)
    true = lines[-2].entry
    fair = saying(service, seq=true.seq, head=true.head, at=later(AT, 120))
    with answering(service, fair):
        assert fetch(alice, game).seq == true.seq
    late = saying(service, seq=true.seq, head=true.head, at=later(AT, 121))
    refuses(service, alice, game, late, TrustError, f"has recorded entry {true.seq + 1} at {AT}")
    assert proven(service, alice, game) == {"server"}


def test_a_head_of_an_entry_that_the_log_lacks(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """It proves nothing yet, but it will if the service goes on without that entry."""
    game = begin(alice, bob)
    last = alice.log(game)[-1].entry.seq
    error = refuses(
        service,
        alice,
        game,
        saying(service, seq=last + 1, head="ab" * 32),
        TrustError,
        f"the service's log ends at entry {last}, and it has signed that entry {last + 1} was there before",
    )
    assert "what the service has signed is kept" in error.hint
    assert proven(service, alice, game) == set()
    alice.move(game, alice.position(game).legal[0])
    assert proven(service, alice, game) == {"server"}


# --- what a head that is kept shows later -----------------------------------------------------------------------------


def test_a_move_that_was_held_back_is_refused_and_convicts(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    """Bob's move has a time of record long before a head without it. Without the head nobody can tell."""
    game = begin(alice, bob)
    alice.move(game, alice.position(game).legal[0])
    lines = alice.log(game)
    with answering(service, saying(service, at=later(AT, 121))):
        fetch(alice, game)
    bob.move(game, bob.position(game).legal[0])
    for _ in range(2):
        with pytest.raises(TrustError) as refusal:
            alice.position(game)
        assert (
            f"has recorded entry {len(lines)} at {AT}, and has signed that entry {len(lines) - 1} was the last"
            in str(refusal.value)
        )
        assert "is proof" in refusal.value.hint
        with alice.client.game(game) as held:
            assert held.lines() == lines
    assert proven(service, alice, game) == {"server"}
    written = alice.client.evidence(game, cards=True).text
    bare = "".join(line for line in written.splitlines(keepends=True) if '"head":{' not in line)
    assert audit_file(bare, {"server": service.key.public}).ok
    assert proven(service, bob, game) == set()


def test_a_move_within_120_seconds_of_a_head_is_taken(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    alice.move(game, alice.position(game).legal[0])
    with answering(service, saying(service, at=later(AT, 120))):
        fetch(alice, game)
    bob.move(game, bob.position(game).legal[0])
    before = len(alice.log(game))
    assert before == len(service.games[game].lines)
    play_on((alice, bob), game, 5)
    assert proven(service, alice, game) == set()
    assert not refused_by(alice)


def test_heads_count_when_the_log_is_fetched_anew(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    fetch(alice, game)
    path = alice.folder(game) / "heads.signed"
    (true,) = KeptEvidence(alice.folder(game)).heads()
    made = make_head(at=AT, game=game, head="ab" * 32, seq=true.statement.seq)
    path.write_text(format_head(SignedHead(made, service.key.sign(sshsig.HEAD, made.message))) + "\n")
    (alice.folder(game) / "log.jsonl").unlink()
    with pytest.raises(TrustError, match=f"entry {made.seq} is another one than in a head that it has signed"):
        alice.position(game)
    assert not (alice.folder(game) / "log.jsonl").exists()
    assert proven(service, alice, game) == {"server"}


# --- how many are kept ------------------------------------------------------------------------------------------------


def test_of_each_entry_the_newest_head_is_kept(tmp_path: Path) -> None:
    evidence = KeptEvidence(tmp_path)
    for seq, seconds in ((3, 0), (3, 300), (3, 200), (5, 400), (5, 400), (4, 350), (5, 700)):
        assert evidence.keep_head(head(seq, seconds), None)
    assert evidence.heads() == (head(3, 300), head(4, 350), head(5, 700))
    (file,) = tmp_path.iterdir()
    assert file.read_bytes().count(b"\n") == 3


def test_the_heads_on_both_sides_of_a_deadline_are_kept(tmp_path: Path) -> None:
    evidence = KeptEvidence(tmp_path)
    evidence.keep_head(head(2, 0), None)
    for seconds in range(0, 1000, 100):
        evidence.keep_head(head(3, seconds), later(AT, 400))
    around = (head(3, 400), head(3, 500), head(3, 900))
    assert evidence.heads() == (head(2, 0), *around)
    evidence.keep_head(head(4, 950), None)
    assert evidence.heads() == (head(2, 0), *around, head(4, 950))
    evidence.keep_head(head(3, 450), later(AT, 400))
    assert evidence.heads() == (head(2, 0), head(3, 400), head(3, 450), head(3, 900), head(4, 950))


def test_heads_do_not_fill_the_disk(tmp_path: Path) -> None:
    """If there is no room, the heads around deadlines go first; then no further entry gets one."""
    evidence = KeptEvidence(tmp_path)
    with patch.object(kept_evidence, "HEADS", HEADS._replace(lines=4)):
        for seconds in (100, 200, 300):
            assert evidence.keep_head(head(1, seconds), later(AT, 100))
        assert evidence.keep_head(head(2, 400), None)
        assert len(evidence.heads()) == 4
        assert evidence.keep_head(head(3, 500), None)
        assert evidence.heads() == (head(1, 300), head(2, 400), head(3, 500))
        assert evidence.keep_head(head(4, 600), None)
        before = evidence.heads()
        assert not evidence.keep_head(head(5, 700), None)
        assert evidence.heads() == before
        assert evidence.keep_head(head(4, 700), None)
        assert evidence.heads() == (*before[:3], head(4, 700))
    with patch.object(kept_evidence, "HEADS", HEADS._replace(bytes=len(format_head(head(4, 700))) * 5)):
        assert not evidence.keep_head(head(5, 800), None)


def test_all_that_may_be_kept_fits_into_one_file() -> None:
    """The last view may be there twice: as it was kept for new cards, and as the newest."""
    assert VIEWS.lines + 1 + HEADS.lines + PROOF.lines + DOUBTFUL.lines <= MAX_STATEMENTS


def test_lines_that_cannot_be_read_are_skipped(tmp_path: Path) -> None:
    evidence = KeptEvidence(tmp_path)
    for seq in (1, 2, 3):
        evidence.keep_head(head(seq, seq), None)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for cut in (0, 5, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        assert set(evidence.heads()) <= {head(1, 1), head(2, 2), head(3, 3)}
    file.write_bytes(b"\xff\x00\n" + whole)
    assert len(evidence.heads()) == 3
    assert evidence.keep_head(head(4, 4), None)
    assert [each.statement.seq for each in evidence.heads()] == [1, 2, 3, 4]
