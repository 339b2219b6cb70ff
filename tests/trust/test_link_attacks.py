"""The attacks on invitations by link that docs/security.md lists, tested like those of `test_attacks`.

The service lacks only the code: it has its own key, and that of an accomplice. The lie must be refused before the
guest signs anything, and before the host reveals the entropy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hkoji import errors
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.client.identity import create
from hkoji.client.kept.home import KeyStanding
from hkoji.client.links import enrol, introduce, own_link
from hkoji.client.seats import InviteLink
from hkoji.game import entry_kinds
from hkoji.game.course import Stage
from hkoji.game.entry_kinds import Join, LinkInvite, Open
from hkoji.log import sshsig
from hkoji.log.line import Line, format_log
from hkoji.log.link_key import link_key, make_link_statement
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support import shell_audit
from tests.support.adversary import HostileService, Lie, Telling, caught, follow, key_of, lying, on_disk, proven
from tests.support.memory_service import LocalPlayer
from tests.support.table import CODE, Table, refused

MALLORY = PrivateKey.from_seed(b"\x07" * 32)
OTHER_CODE = CODE[::-1]
COMMIT = "ab" * 32


def opened(alice: LocalPlayer) -> InviteLink:
    """A game of alice's, and the link that she sends to her friend."""
    client = alice.client
    link = own_link(client, client.new(Hanamikoji(), by_link=True).course.setup.game)
    assert link is not None
    return link


def join(player: LocalPlayer, link: InviteLink) -> None:
    """`hkoji join LINK`."""
    client = player.client
    about = introduce(client, link)
    with client.game(link.game) as held:
        held.join(lambda _: (enrol(client, link, about.origin), None)[1], link.code)


@pytest.fixture
def dora(service: HostileService, tmp_path: Path) -> LocalPlayer:
    """A friend who has a name and a key, and has registered nowhere."""
    player = LocalPlayer(service, "dora", tmp_path / "dora")
    create(player.client.home, "dora", None, b"\x0d" * 32)
    return player


def opens_instead(body: Callable[[Telling], Open], by: str, key: PrivateKey) -> Lie:
    """The log has the offer, and another `open` by the owner of `key` under the name `by`."""

    def lie(telling: Telling) -> None:
        if not telling.brought:
            telling.lines[1:] = [follow(telling.service.key, telling.lines[0], body(telling), by, key)]

    return lie


def statement(telling: Telling, **changes: object) -> bytes:
    """The signature of the link's key for mallory's entry after the log's last one; `changes` replace its fields."""
    last = telling.lines[-1].entry
    fields = {"entropy_commit": COMMIT, "game": last.game, "key": MALLORY.public, "name": "mallory", "prev": last.head}
    return make_link_statement(**{**fields, **changes}).message  # type: ignore[arg-type] # by name


def posts(service: HostileService) -> int:
    """How often anything was sent to the service: entries, registrations, logins."""
    return sum(method == "POST" for method, _ in service.requests)


def not_joined(
    service: HostileService, players: tuple[LocalPlayer, ...], link: InviteLink, reason: str, lie: Lie
) -> None:
    """Checks that each of `players` refuses the game of a link under a lie, and sends nothing: neither a name nor a
    signature. The game is as it was."""
    before = list(service.games[link.game].lines)
    for player in players:
        sent, disk = posts(service), on_disk(player)
        for _ in range(2):
            with lying(service, lie), pytest.raises(errors.TrustError, match=reason) as refusal:
                join(player, link)
            assert refusal.value.hint
        assert (posts(service), on_disk(player)) == (sent, disk)
    assert service.games[link.game].lines == before


def joined(service: HostileService, alice: LocalPlayer, guest: LocalPlayer, link: InviteLink) -> None:
    """The game goes on without the lie, and each of the two has been introduced to the other."""
    join(guest, link)
    assert alice.position(link.game).course.stage is Stage.PLAY
    for player, other in ((alice, guest), (guest, alice)):
        pins = player.client.service(link.server).pins
        assert pins.standing(other.name, key_of(other).public) is KeyStanding.LINK
        assert link.code not in "".join(path for _, path in service.requests)
    assert not any(link.code.encode() in (body or b"") for body in service.bodies)
    assert link.code not in format_log(service.games[link.game].lines)


# --- the first signature: who opened the game ---------------------------------------------------------------------


def test_another_host_of_a_link(
    service: HostileService, alice: LocalPlayer, bob: LocalPlayer, dora: LocalPlayer
) -> None:
    """The impostor has no code. So the key of the link is another one, or its signature is for alice's key only."""
    link = opened(alice)
    own, real = link_key(OTHER_CODE), service.games[link.game].lines[1].entry.body["invite"]
    assert isinstance(real, dict)

    def invited(name: str, signer: PrivateKey, shown: PrivateKey) -> Callable[[Telling], Open]:
        def body(telling: Telling) -> Open:
            sig = signer.sign(
                sshsig.INVITE,
                make_link_statement(
                    entropy_commit=COMMIT,
                    game=link.game,
                    key=MALLORY.public,
                    name=name,
                    prev=telling.lines[0].entry.head,
                ).message,
            )
            return Open(COMMIT, MALLORY.public, LinkInvite(shown.public, sig))

        return body

    def copied(_: Telling) -> Open:
        true = entry_kinds.parse_body("open", service.games[link.game].lines[1].entry.body)
        assert isinstance(true, Open)
        return true._replace(key=MALLORY.public)

    for name in ("alice", "mallory"):
        other = opens_instead(invited(name, own, own), name, MALLORY)
        not_joined(service, (bob, dora), link, "this link does not match the game; it may be mistyped", other)
        for body in (invited(name, own, link_key(link.code)), copied):
            false = opens_instead(body, name, MALLORY)
            not_joined(service, (bob, dora), link, "the signature is not one of the link", false)
    # Bob knew the service: what it has signed is kept, and its two entries 1 convict it.
    joined(service, alice, bob, link)
    assert proven(service, bob, link.game) == {"server"}


def test_a_link_to_another_sort_of_game(service: HostileService, alice: LocalPlayer, dora: LocalPlayer) -> None:
    link = opened(alice)
    for invite in (None, entry_kinds.Invite("dora"), entry_kinds.Invite("dora", key_of(dora).public)):
        lie = opens_instead(lambda _, invite=invite: Open(COMMIT, MALLORY.public, invite), "alice", MALLORY)  # type: ignore[misc] # a default fixes it
        not_joined(service, (dora,), link, "not opened by link", lie)
    joined(service, alice, dora, link)
    assert proven(service, dora, link.game) == set()


def test_an_agreement_changed_behind_a_link(service: HostileService, alice: LocalPlayer, dora: LocalPlayer) -> None:
    """The service signs its offer anew. Then the friend's `open` names another offer, whoever writes it again."""
    link = opened(alice)
    offer, real = service.games[link.game].lines
    agreement = {**offer.entry.body["agreement"], "rated": False, "rematch": "00" * 16}  # type: ignore[dict-item] # JSON
    other = PrivateKey.from_seed(b"\x09" * 32)
    changes: tuple[dict[str, object], ...] = (
        {"agreement": agreement},
        {"server_key": other.public.text},
        {"ruleset": {**offer.entry.body["ruleset"], "first": "guest"}},  # type: ignore[dict-item] # JSON
    )
    for change in changes:
        signer = other if "server_key" in change else service.key
        body = entry_kinds.parse_body("offer", {**offer.entry.body, **change})  # type: ignore[dict-item] # JSON
        forged = _offered(offer, body, signer)
        kept = real._replace()
        anew = follow(signer, forged, entry_kinds.parse_body("open", real.entry.body), "alice", MALLORY)
        for following in (kept, anew, anew._replace(sig=real.sig)):
            shown = (forged, following)
            lie: Lie = lambda telling, shown=shown: telling.lines.__setitem__(slice(None), shown)  # type: ignore[misc] # noqa: E731
            not_joined(service, (dora,), link, "does not hold|another service key", lie)
    joined(service, alice, dora, link)
    assert proven(service, dora, link.game) == set()


def _offered(offer: Line, body: entry_kinds.EntryBody, signer: PrivateKey) -> Line:
    """The offer with another body, signed and receipted."""
    from hkoji.log.line import SignedReceipt, make_entry, make_receipt, sign_entry

    old = offer.entry
    entry = make_entry(
        at=old.at, body=body.to_json(), by=old.by, game=old.game, kind="offer", prev=old.prev, seen=None, seq=0
    )
    assert offer.receipt is not None
    receipt = make_receipt(at=offer.receipt.receipt.at, game=old.game, head=entry.head, seq=0)
    return Line(entry, sign_entry(entry, signer), SignedReceipt(receipt, signer.sign(sshsig.RECEIPT, receipt.message)))


# --- the second signature: who joins ------------------------------------------------------------------------------


def false_joins(open_: Line, genuine: Join | None = None) -> dict[str, Join]:
    """Joins that somebody without the code can make for mallory: without a signature, by another key, of another entry.

    `genuine` is the join of the friend, which the service has seen.
    """
    last = open_.entry
    own = link_key(OTHER_CODE)

    def signed(namespace: str, key: PrivateKey, **changes: object) -> Join:
        fields = {"entropy_commit": COMMIT, "game": last.game, "key": MALLORY.public, "name": "mallory"}
        text = make_link_statement(**{**fields, "prev": last.head, **changes})  # type: ignore[arg-type] # by name
        return Join(COMMIT, MALLORY.public, key.sign(namespace, text.message))

    invite = entry_kinds.parse_body("open", last.body)
    assert isinstance(invite, Open)
    assert isinstance(invite.invite, LinkInvite)
    made = {
        "bare": Join(COMMIT, MALLORY.public),
        "by another link": signed(sshsig.JOIN, own),
        "by the guest's own key": signed(sshsig.JOIN, MALLORY),
        "the host's signature": Join(COMMIT, MALLORY.public, invite.invite.sig),
    }
    if genuine is not None:
        made["the friend's signature"] = Join(COMMIT, MALLORY.public, genuine.link_sig)
        made["the friend's commitment and signature"] = genuine._replace(key=MALLORY.public)
    return made


def genuine_join(service: HostileService, player: LocalPlayer, link: InviteLink) -> Join:
    """The join that a friend has signed and sent, and that the service has not taken but read."""

    def lost(method: str, path: str) -> None:
        if method == "POST" and path.endswith("/entries"):
            raise errors.NetworkError(link.server, "lost")

    service.before = lost
    with pytest.raises(errors.NetworkError):
        join(player, link)
    service.before = lambda _method, _path: None
    with player.client.game(link.game) as held:
        pending = held.vault.outbox()
    assert pending is not None
    body = entry_kinds.parse_body("join", pending.entry.body)
    assert isinstance(body, Join)
    return body


def test_a_stranger_without_the_code() -> None:
    """Nobody has joined, so no clock runs. The game is for the friend as before."""
    table = Table(seed=4).open_by_link()
    mallory = PrivateKey.from_seed(b"\x07" * 32)
    friend = table.joining()
    for body in false_joins(table.lines[1], friend).values():
        table.names, keys = ("alice", "mallory"), table.keys
        table.keys = (keys[0], mallory)
        refused(table, table.entry(1, body), errors.SignatureError)
        table.names, table.keys = ("alice", "bob"), keys
        assert (table.course.stage, table.course.clock, table.course.actor) == (Stage.JOIN, None, None)
    table.join()
    table.reveal_seeds()
    assert audit(table.text).ok


def test_a_false_guest_taken_by_the_service(
    service: HostileService, alice: LocalPlayer, dora: LocalPlayer, tmp_path: Path
) -> None:
    """The host's client reveals no entropy, and both audits stop at step 4."""
    link = opened(alice)
    alice.position(link.game)
    friend = genuine_join(service, dora, link)
    lines = service.games[link.game].lines
    expected = {"server": service.key.public, "alice": key_of(alice).public}
    for name, body in false_joins(lines[1], friend).items():
        forged = [*lines, follow(service.key, lines[-1], body, "mallory", MALLORY)]
        sent, disk = posts(service), on_disk(alice)
        lie: Lie = lambda telling, forged=forged: telling.lines.__setitem__(slice(None), forged)  # type: ignore[misc] # noqa: E731
        for _ in range(2):
            with lying(service, lie), pytest.raises(errors.TrustError, match="the link") as refusal:
                alice.position(link.game)
            assert refusal.value.hint
        assert on_disk(alice) == disk, name
        assert posts(service) == sent, name  # no entropy, and nothing else
        found = audit(format_log(forged), expected)
        assert [(each.step, each.entry, each.signer) for each in found.findings] == [(AuditStep.SIGNATURES, 2, None)]
        if name in ("bare", "the friend's signature"):
            log = tmp_path / "log.jsonl"
            log.write_text(format_log(forged))
            assert not shell_audit.missing_tools()
            done = shell_audit.run(log, expected)
            assert done.returncode == 1
            assert "4 signatures   FINDING at entry 2" in done.stdout
    assert alice.position(link.game).course.stage is Stage.JOIN
    joined(service, alice, dora, link)
    assert proven(service, alice, link.game) == {"server"}  # it has signed two entries 2


def test_a_friends_key_exchanged(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    """The service passes bob's join on to alice with a key of its own, and alice's `open` to bob as hers."""
    link = opened(alice)
    alice.position(link.game)
    friend = genuine_join(service, bob, link)
    lines = list(service.games[link.game].lines)
    for body in (friend._replace(key=MALLORY.public), friend._replace(entropy_commit=COMMIT)):
        key = MALLORY if body.key == MALLORY.public else key_of(bob)
        forged = [*lines, follow(service.key, lines[-1], body, "bob", key)]
        lie: Lie = lambda telling, forged=forged: telling.lines.__setitem__(slice(None), forged)  # type: ignore[misc] # noqa: E731
        caught(service, alice, link.game, "the signature is not one of the link", lie)
    joined(service, alice, bob, link)
    assert proven(service, alice, link.game) == {"server"}


def test_a_rekey_to_the_link() -> None:
    table = Table(seed=4).open_by_link()
    table.join()
    for seat in (1, 0):
        assert table.course.actor == seat
        error = refused(table, table.entry(seat, table.rekeying(seat, link_key(CODE))), errors.IllegalError)
        assert "the key of the link" in str(error)
        table.reveal_seed(seat)
    assert audit(table.text).ok
