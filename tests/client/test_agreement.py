"""A client compares and remembers an agreement before it signs `open` or `join`. docs/spec/log.md, "Client rules"."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hkoji.audit.evidence_audit import audit_file
from hkoji.errors import IllegalError, NetworkError, TrustError
from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.game.course import Course
from hkoji.log import sshsig
from hkoji.log.line import SignedReceipt, make_receipt
from hkoji.referee import offer
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support import chance
from tests.support.memory_service import LocalPlayer, MemoryService, begin, play_on

DAY = 86400
ASKED = Agreement(parse_time_control("3d/14d"), rated=True)


def new(player: LocalPlayer, **more: Any) -> str:  # Any: arguments by name
    wanted = {"agreement": ASKED, "expires_in": 14 * DAY, **more}
    return player.client.new(Hanamikoji(), None, **wanted).game


def test_the_offer_has_what_was_asked_for_and_an_absolute_time(alice: LocalPlayer) -> None:
    setup = alice.client.stored(new(alice)).course.setup
    assert setup.agreement == ASKED._replace(expires="2026-12-04T12:00:00Z")


OTHERS = [
    ASKED._replace(clock=None, rated=False),
    ASKED._replace(clock=parse_time_control("3d/13d")),
    ASKED._replace(clock=parse_time_control("3d/14d", "67")),
    ASKED._replace(rated=False),
    ASKED._replace(expires="2026-12-04T12:00:01Z"),
    ASKED._replace(expires=None),
    ASKED._replace(rematch="ab" * 16),
]


@pytest.mark.parametrize("other", OTHERS)
def test_another_agreement_than_asked_for_is_not_signed(
    service: MemoryService, alice: LocalPlayer, other: Agreement, monkeypatch: pytest.MonkeyPatch
) -> None:
    if other.expires is None and other != OTHERS[5]:
        other = other._replace(expires="2026-12-04T12:00:00Z")
    monkeypatch.setattr(
        "hkoji.local.local_service.referee.offer",
        lambda *given, agreement, **more: offer(*given, agreement=other, **more),
    )
    with pytest.raises(TrustError, match="another agreement") as caught:
        new(alice)
    assert "nothing was signed" in caught.value.hint
    assert not [path for method, path in service.requests if method == "POST" and path.endswith("/entries")]
    assert not list(alice.path.glob("games/*/outbox.signed"))
    (secrets,) = alice.path.glob("games/*/secrets.json")
    assert json.loads(secrets.read_text())["entropy"] == []


def test_a_repeated_command_finds_the_game_that_it_began(
    service: MemoryService, alice: LocalPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_method: str, path: str) -> None:
        if path.endswith("/entries"):
            raise NetworkError("service", "no answer")

    service.before = fail
    with pytest.raises(NetworkError):
        new(alice)
    service.before = lambda _method, _path: None
    monkeypatch.setattr(chance, "NOON", chance.NOON + 60)  # another absolute time, the same words
    game = new(alice)
    assert len(service.games) == 1
    assert alice.client.stored(game).course.setup.agreement.expires == "2026-12-04T12:00:00Z"
    assert new(alice) != game


@pytest.mark.parametrize("change", [{"expires_in": 13 * DAY}, {"agreement": ASKED._replace(rated=False)}])
def test_another_wish_begins_another_game(service: MemoryService, alice: LocalPlayer, change: dict[str, Any]) -> None:
    service.before = _failing
    with pytest.raises(NetworkError):
        new(alice)
    service.before = lambda _method, _path: None
    new(alice, **change)
    assert len(service.games) == 2


def test_an_offer_that_has_expired_meanwhile_is_not_opened(
    service: MemoryService, alice: LocalPlayer, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.before = _failing
    with pytest.raises(NetworkError):
        new(alice)
    service.before = lambda _method, _path: None
    monkeypatch.setattr(chance, "NOON", chance.NOON + 14 * DAY + 1)
    new(alice)
    assert len(service.games) == 2


def _failing(_method: str, path: str) -> None:
    if path.endswith("/entries"):
        raise NetworkError("service", "no answer")


def test_the_guest_sees_the_agreement_before_anything_is_signed(
    service: MemoryService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = new(alice)
    seen: list[Agreement] = []

    def refuse(course: Course) -> None:
        seen.append(course.setup.agreement)
        raise IllegalError("not that clock")

    with pytest.raises(IllegalError, match="not that clock"), bob.client.game(game) as held:
        held.join(refuse)
    assert seen == [ASKED._replace(expires="2026-12-04T12:00:00Z")]
    assert len(service.games[game].lines) == 2
    assert not (bob.folder(game) / "outbox.signed").exists()


# --- the time of record that an entry states --------------------------------------------------------------------------


def retell(service: MemoryService, game: str, at: str) -> None:
    """Gives the last entry another time of record from now on, by the service's own key."""
    kept = service.games[game]
    last = kept.lines[-1]
    receipt = make_receipt(at=at, game=game, head=last.entry.head, seq=last.entry.seq)
    sig = service.key.sign(sshsig.RECEIPT, receipt.message)
    kept.lines[-1] = last._replace(receipt=SignedReceipt(receipt, sig))
    kept.refereed = kept.refereed._replace(at=at)


@pytest.mark.parametrize("lies", [True, False])
def test_players_who_are_told_different_times_notice_it_with_the_next_entry(
    service: MemoryService, alice: LocalPlayer, bob: LocalPlayer, lies: bool
) -> None:
    game = begin(alice, bob)
    play_on((alice, bob), game, 1)
    kept = (alice.folder(game) / "log.jsonl").read_bytes()
    if lies:
        retell(service, game, "2026-11-20T12:00:01Z")
    bob.move(game, bob.position(game).legal[0])
    if not lies:
        assert alice.position(game).course.seq == service.games[game].refereed.course.seq
        return
    with pytest.raises(TrustError, match="time of record before it is 2026-11-20T12:00:01Z"):
        alice.position(game)
    assert (alice.folder(game) / "log.jsonl").read_bytes() == kept
    result = audit_file(alice.client.evidence(game, cards=True).text)
    assert {(finding.signer or "").split()[0] for finding in result.findings} == {"server"}


def test_a_signed_move_names_the_time_in_the_last_stored_receipt(
    service: MemoryService, alice: LocalPlayer, bob: LocalPlayer
) -> None:
    game = begin(alice, bob)
    last = alice.log(game)[-1]
    assert last.receipt is not None
    action = alice.position(game).legal[0]
    service.before = _failing
    assert alice.sign(game, action).entry.seen == last.receipt.receipt.at
