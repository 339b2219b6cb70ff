"""The attacks with keys that the service holds, and with mails, that docs/security.md lists.

They are tested like those of `test_attacks`. The service has its own key and all keys that it holds. The lie must be
refused by the service's own code, by the client, by the audit and by the shell audit, and a finding must name the
service or nobody, never the player. If the service has signed and committed to something else than the player has
written, or the player has made mails and DNS records so that it looks so, the audit gets the player's mails.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hkoji import errors, referee
from hkoji.audit.credit_checks import Caller, verify_both_signed, verify_gift
from hkoji.audit.log_audit import AuditStep, audit
from hkoji.client.log_checks import verify_lines
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.entry_kinds.key_changes import Delegate
from hkoji.game.held_keys import Gateway, certify
from hkoji.game.replay import replay, require_whole
from hkoji.log import sshsig
from hkoji.log.game_statements import make_annul, make_gift
from hkoji.log.line import parse_log
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support import shell_audit
from tests.support.adversary import HostileService, caught, follow
from tests.support.drafts import Draft, draft, pins, write_log
from tests.support.mail.framed_mails import accused_by, framed
from tests.support.mail.proved_table import MailAtHand, ProvedTable, proved_game
from tests.support.memory_service import AT, URL, LocalPlayer, begin
from tests.support.table import ORIGIN, Table, held_game, new_game, refused
from tests.support.timed_table import MINUTES, TimedTable

STRANGER = PrivateKey.from_seed(b"\x07" * 32)
HELD = PrivateKey.from_seed(b"\x08" * 32)
TOKEN = MailClaim("ab" * 32, MailGrade.TOKEN)


def invited() -> Table:
    """A game whose host has invited bob with the key that the service holds for him."""
    table = Table(seed=31, held=(1,))
    table.open()
    return table


def joining(table: Table, gateway: Gateway | None, mail: MailClaim | None = TOKEN) -> entry_kinds.Join:
    body = table.joining()
    return body._replace(gateway=gateway, mail=mail)


def found_by_both(
    tmp_path: Path, table: Table, change: Callable[[list[Draft]], None], *, script: bool = True
) -> tuple[int, str | None]:
    """Publishes a changed log as somebody with all keys could; returns step and signer that the audit names.

    A client must accept the true log, and not the changed one. With `script` the shell audit must find the same, if it
    has the step. Of changes that it treats alike, one is enough here, because `tests.lab.two_audits` compares the two.
    """
    drafts = draft(table)
    accepted_by_client(table.text.encode(), table)
    change(drafts)
    log = write_log(drafts)
    with pytest.raises(errors.HkojiError):
        accepted_by_client(log, table)
    finding = audit(log, pins(table)).findings[0]
    if script and finding.step <= AuditStep.DEAL:
        (tmp_path / "log").write_bytes(log)
        assert not shell_audit.missing_tools()
        said = shell_audit.by_script(tmp_path / "log", pins(table))
        assert said.exit == 1
        assert said.agrees(shell_audit.by_hkoji(log, pins(table)))
    return int(finding.step), finding.signer


def accepted_by_client(log: bytes, table: Table) -> None:
    """Checks a log as a spectator's client does. Raises what it raises."""
    lines = parse_log(log)
    verify_lines(require_whole(replay(lines)), lines, len(lines), table.server.public)


def test_a_held_key_with_a_false_certificate(tmp_path: Path) -> None:
    table = invited()
    key = table.keys[1].public
    true = table.certify(1, key)
    for gateway in (
        certify(STRANGER, address=true.address, at=true.at, key=key, name="bob", origin=ORIGIN),
        certify(table.keys[1], address=true.address, at=true.at, key=key, name="bob", origin=ORIGIN),
        table.certify(1, key, name="alice"),
        true._replace(address="cd" * 32),
        true._replace(origin="http://127.0.0.1:10"),
        true._replace(at="2026-11-20T12:00:01Z"),
    ):
        refused(table, table.entry(1, joining(table, gateway)), errors.SignatureError)
    for gateway in (table.certify(1, STRANGER.public), true._replace(key=STRANGER.public)):
        refused(table, table.entry(1, joining(table, gateway)), errors.MalformedError)
    game = held_game(31)

    def signed_by(key: PrivateKey) -> Callable[[list[Draft]], None]:
        return lambda drafts: setattr(drafts[2], "certifier", key)

    def of_another_key(drafts: list[Draft]) -> None:
        drafts[2].body["gateway"]["key"] = STRANGER.public.text

    for signer in (STRANGER, game.keys[1], game.keys[0]):
        change = signed_by(signer)
        assert found_by_both(tmp_path, game, change, script=signer == STRANGER) == (AuditStep.TIMES, "server")
    assert found_by_both(tmp_path, game, of_another_key) == (AuditStep.PARSE, None)


def test_a_held_key_that_was_not_invited(tmp_path: Path) -> None:
    for invite in (None, entry_kinds.Invite("bob")):
        table = Table(seed=32)
        table.open(invite)
        table.held = (1,)
        refused(table, table.entry(1, table.joining()), errors.IllegalError)
    linked = Table(seed=32).open_by_link()
    linked.held = (1,)
    refused(linked, linked.entry(1, linked.joining()), errors.IllegalError)
    both = TimedTable(Hanamikoji(), 32, agreement=Agreement(MINUTES, rated=True), held=(0, 1))
    both.open()
    error = refused(both, both.entry(1, both.joining()), errors.IllegalError)
    assert "cannot be rated" in error.message
    unrated = TimedTable(Hanamikoji(), 32, agreement=Agreement(MINUTES), held=(0, 1)).begin()
    log = audit(unrated.text, pins(unrated))
    assert log.ok

    def rated(drafts: list[Draft]) -> None:
        drafts[0].body["agreement"]["rated"] = True

    def to_everybody(drafts: list[Draft]) -> None:
        drafts[1].body["invite"] = None

    for change in (rated, to_everybody):
        assert found_by_both(tmp_path, unrated, change) == (AuditStep.REPLAY, "the service, for bob")


def test_a_held_key_without_mail_and_a_mail_without_a_held_key(tmp_path: Path) -> None:
    table = invited()
    without = joining(table, table.certify(1, table.keys[1].public), None)
    table.held = ()
    refused(table, table.entry(1, without), errors.IllegalError)
    refused(table, table.entry(1, joining(table, None)), errors.IllegalError)
    game = held_game(33)
    while game.course.actor == 0:
        game.play(1)
    move = game.move(game.course.state.legal_actions()[0])
    body = entry_kinds.parse_body("move", move.entry.body)
    assert isinstance(body, entry_kinds.Move)
    for mail, error in ((None, errors.IllegalError), (MailClaim(None, MailGrade.NONE), errors.MalformedError)):
        bare = body._replace(mail=mail).to_json()
        sent = game.entry(1, body, body=bare)._replace(opening=move.opening)
        refused(game, sent, error)
    own = new_game(33)
    actor = own.course.actor
    assert actor is not None
    refused(own, own.by_mail(actor, entry_kinds.Resign()), errors.IllegalError)

    def less(drafts: list[Draft]) -> None:
        del drafts[3].body["mail"]
        drafts[3].namespace = sshsig.ENTRY

    def more(drafts: list[Draft]) -> None:
        drafts[4].body["mail"] = TOKEN.to_json()
        drafts[4].namespace = sshsig.GATEWAY

    def none_in_a_move(drafts: list[Draft]) -> None:
        it = next(it for it in drafts if it.kind == "move" and it.value["by"] == "bob")
        it.body["mail"] = {"commit": None, "grade": "none"}

    game.play(2)
    for change in (less, more):
        assert found_by_both(tmp_path, game, change) == (AuditStep.TIMES, "server")
    assert found_by_both(tmp_path, game, none_in_a_move) == (AuditStep.PARSE, None)


def test_held_namespaces_exchanged(tmp_path: Path) -> None:
    game = held_game(34).play(3)
    for seat, space in ((0, sshsig.GATEWAY), (1, sshsig.ENTRY)):
        sent = game.entry(seat, entry_kinds.Resign())
        swapped = sent._replace(sig=game.keys[seat].sign(space, sent.entry.message))
        refused(game, swapped, errors.SignatureError)
        by_other = sent._replace(sig=game.keys[1 - seat].sign(space, sent.entry.message))
        refused(game, by_other, errors.SignatureError)
    for number, space in ((3, sshsig.ENTRY), (4, sshsig.GATEWAY), (2, sshsig.ENTRY)):

        def exchange(drafts: list[Draft], number: int = number, space: str = space) -> None:
            drafts[number].namespace = space

        assert found_by_both(tmp_path, game, exchange, script=number > 2) == (AuditStep.SIGNATURES, None)


def test_held_statements_without_mail(tmp_path: Path) -> None:
    table = TimedTable(Hanamikoji(), 35, agreement=Agreement(MINUTES), held=(1,)).begin()
    while table.course.actor == 1:
        table.play(1)
    key, head = table.keys[1], table.course.head
    bare = make_gift(game=table.game, head=head, name="bob", seconds=60)
    for mail in (None, TOKEN):
        given = entry_kinds.GivenTime(head, 60, key.sign(sshsig.GIVE, bare.message), mail)
        with pytest.raises(errors.HkojiError):
            verify_gift(given, (head,), table.game, "bob", key.public, held=True)
    wishes = [make_annul(game=table.game, head=head, name=name) for name in ("alice", "bob")]
    sigs = (table.keys[0].sign(sshsig.ANNUL, wishes[0].message), key.sign(sshsig.ANNUL, wishes[1].message))
    callers = (Caller("alice", table.keys[0].public), Caller("bob", key.public, held=True))
    following = table.entry(0, entry_kinds.Resign()).entry
    for mails in ((None, None), (None, TOKEN), (TOKEN, TOKEN)):
        with pytest.raises(errors.HkojiError):
            verify_both_signed(following, entry_kinds.Annul(None, (), 0, sigs, mails), callers)
    table.give(60).play(1)
    called = TimedTable(Hanamikoji(), 35, agreement=Agreement(MINUTES), held=(1,)).begin().play(1).call_off()

    def no_mail(drafts: list[Draft]) -> None:
        del next(it for it in drafts if it.kind == "credit").body["gift"]["mail"]

    def no_mails(drafts: list[Draft]) -> None:
        del next(it for it in drafts if it.kind == "annul").body["mails"]

    def mails_of_both(drafts: list[Draft]) -> None:
        next(it for it in drafts if it.kind == "annul").body["mails"] = [TOKEN.to_json()] * 2

    assert found_by_both(tmp_path, table, no_mail) == (AuditStep.TIMES, "server")
    for change in (no_mails, mails_of_both):
        assert found_by_both(tmp_path, called, change) == (AuditStep.TIMES, "server")


def test_a_held_key_beyond_its_delegation(tmp_path: Path) -> None:
    table = new_game(36).play(1)
    seat = table.course.actor
    assert seat is not None
    gateway = table.certify(seat, HELD.public)
    table.keys, own = ((HELD, table.keys[1]) if seat == 0 else (table.keys[0], HELD)), table.keys
    refused(table, table.entry(seat, Delegate(gateway, MailGrade.TOKEN)), errors.SignatureError)
    table.keys = own
    for key in (table.server.public, own[0].public, own[1].public):
        wrong = Delegate(table.certify(seat, key), MailGrade.TOKEN)
        refused(table, table.entry(seat, wrong), errors.IllegalError)
    refused(table, table.entry(seat, Delegate(None, None)), errors.IllegalError)
    others = Delegate(table.certify(1 - seat, HELD.public), MailGrade.TOKEN)
    refused(table, table.entry(1 - seat, others), errors.NotYourTurnError)
    table.delegate(seat, MailGrade.DKIM)
    refused(table, table.by_mail(seat, entry_kinds.Resign(), TOKEN), errors.IllegalError)
    for body in (Delegate(None, None), table.rekeying(seat, STRANGER)):
        refused(table, table.entry(seat, body), errors.IllegalError)  # directly after a delegation
        signed = table.entry(seat, body)
        for space in (sshsig.ENTRY, sshsig.GATEWAY):
            by_held = signed._replace(sig=table.delegated[seat].sign(space, signed.entry.message))
            refused(table, by_held, errors.SignatureError)
    table.send(table.by_mail(seat, _open_move(table), MailClaim("cd" * 32, MailGrade.DKIM)))
    number = table.course.seq

    def weaker(drafts: list[Draft]) -> None:
        drafts[number].body["mail"]["grade"] = "token"

    def before(drafts: list[Draft]) -> None:
        drafts[number - 1].value["kind"], drafts[number - 1].value["body"] = "resign", {}

    assert found_by_both(tmp_path, table, weaker) == (AuditStep.TIMES, "server")
    step, signer = found_by_both(tmp_path, table, before)
    assert (step, signer) == (AuditStep.SIGNATURES, None)
    while table.course.actor != seat:
        table.play(1)
    ended = table.delegated[seat]
    table.end_delegation(seat)
    table.delegated[seat] = ended
    refused(
        table, table.by_mail(seat, entry_kinds.Resign(), MailClaim("cd" * 32, MailGrade.DKIM)), errors.SignatureError
    )


def _open_move(table: Table) -> entry_kinds.EntryBody:
    """A move that hides no cards."""
    return entry_kinds.Move(next(each for each in table.course.state.legal_actions() if not table.ruleset.hidden(each)))


def test_a_known_player_said_to_be_held(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> None:
    first = begin(alice, bob)  # alice knows bob's key
    while (seen := alice.position(first)).mine:
        alice.move(first, seen.legal[0])
    gateway = certify(service.key, address="ab" * 32, at=AT, key=HELD.public, name="bob", origin=URL)
    with bob.client.game(first) as held:
        held._sender.post(held.current().course, Delegate(gateway, MailGrade.TOKEN))
    alice.position(first)
    # Where bob lets the key sign beside his own, it may; that it is his only one elsewhere is false all the same.
    assert [line for line in alice.said if "signs for bob too" in line]
    game = alice.client.new(Hanamikoji(), invite=entry_kinds.Invite("bob", HELD.public)).course.setup.game
    alice.position(game)

    def lie(origin: str) -> Callable[..., None]:
        def told(telling: object) -> None:
            lines = telling.lines  # type: ignore[attr-defined] # a Telling
            gateway = certify(service.key, address="ab" * 32, at=AT, key=HELD.public, name="bob", origin=origin)
            body = entry_kinds.Join("cd" * 32, HELD.public, None, gateway, TOKEN)
            if lines[-1].entry.kind == "open":
                lines.append(follow(service.key, lines[-1], body, "bob", HELD))

        return told

    caught(service, alice, game, "says that it signs for bob", lie(URL))
    caught(service, alice, game, "certified by another service", lie("https://other.example"))


def test_a_held_mail_in_a_statement_of_an_own_key() -> None:
    table = TimedTable(Hanamikoji(), 37, agreement=Agreement(MINUTES)).begin()
    actor = table.course.actor
    assert actor is not None
    giver = 1 - actor
    said = make_gift(game=table.game, head=table.course.head, name=table.names[giver], seconds=60, mail=TOKEN)
    given = entry_kinds.GivenTime(said.head, 60, table.keys[giver].sign(sshsig.GIVE, said.message), TOKEN)
    with pytest.raises(errors.IllegalError, match="with a key of their own"):
        verify_gift(given, (said.head,), table.game, table.names[giver], table.keys[giver].public)
    assert referee.deadline(table.refereed) == table.deadline()


def convicted(table: ProvedTable) -> None:
    """Only the mails show it, and they name the service, for the player and not the player."""
    assert audit(table.text, {"server": table.server.public}).ok
    (finding,) = table.judged().audit.findings
    assert (finding.step, finding.signer) == (AuditStep.MAILS, "the service, for bob")


def _changed(mail: MailAtHand, **changes: Any) -> MailAtHand:  # Any: fields by name
    return mail._replace(**changes)


def at(which: int, change: Callable[..., MailAtHand], /, **changes: object) -> Callable[[MailAtHand], MailAtHand]:
    """A lie about the mail with that number."""
    return lambda mail: change(mail, **changes) if mail.number == which else mail


def test_an_entry_that_no_mail_has_ordered() -> None:
    for number, line in ((0, "decline"), (1, "resign"), (2, "show"), (2, "thanks")):
        convicted(proved_game(9, lie=at(number, _changed, line=line)))


def test_a_mail_that_does_not_prove_its_entry() -> None:
    def of_another_turn(mail: MailAtHand, **changes: object) -> MailAtHand:
        return _changed(mail, token=mail.token._replace(seq=3, head="ab" * 32), **changes)

    claims: dict[str, object] = {"grade": MailGrade.DKIM}
    for lie in (
        at(2, _changed, signed=False, **claims),
        at(2, _changed, dns=b"", **claims),
        at(2, _changed, sender="eve@example.org", **claims),
        at(2, of_another_turn, **claims),
        at(2, _changed, number=1),
    ):
        convicted(proved_game(9, lie=lie))


def test_mails_that_frame_the_service() -> None:
    for off, twice in ((0, 1), (1, 1), (-1, 1), (1, 2)):
        table = proved_game(
            5,
            tags=lambda at, off=off: {"t": str(at), "x": str(at + off)},
            records=lambda record, twice=twice: (record + b"\n",) * twice,
        )
        assert accused_by(table, None) == set()
        rng = random.Random(off)
        for _ in range(10):
            assert accused_by(table, framed(rng, table)) == set()
