"""A player with a key of their own answers by mail too: their own client, the service, and what the log says of it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hkoji_server import mailbox_admin
from hkoji_server.service.mail.seat_games import mails_of
from hkoji_server.store.contract import Store

from hkoji.audit.log_audit import audit
from hkoji.cli.output import Exit
from hkoji.client import Home
from hkoji.client.held_keys import OwnMailbox
from hkoji.client.player_settings import PlayerChannels
from hkoji.client.transport import HttpAnswer
from hkoji.errors import ForbiddenError, IllegalError, StorageError
from hkoji.game.course import Course, Stage
from hkoji.game.entry_kinds import Delegate, Invite, Move, Resign
from hkoji.game.held_keys import Gateway, certify
from hkoji.game.position import action_of
from hkoji.game.submission import Submission, draft_entry, draft_move
from hkoji.log import sshsig
from hkoji.log.line import format_log
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.mail.tokens import address_hash
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support import chance, shell_audit
from tests.support.mail.list_world import ListWorld, list_world, unread
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import offered
from tests.support.mail.signing import SigningProvider
from tests.support.timed_players import URL, TimedPlayer, TimedWorld, timed_game, timed_player

ADDRESS = "alice@phone.example"


class Table:
    """Alice, who has a client and a mailbox, and bob, who has a client, at a service that sends mail."""

    def __init__(self, world: ListWorld, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.timed = TimedWorld(world.service)
        self.alice = timed_player(self.timed, "alice", folder)
        self.bob = timed_player(self.timed, "bob", folder)
        self.phone = MailboxPlayer(world.mailbox(ADDRESS))
        self.game = ""
        self.last: Letter

    def on(self, *words: str) -> Any:  # Any: JSON
        """Alice turns orders by mail on, and confirms that."""
        done = self.alice("mail", "on", ADDRESS, *words, "--json")
        assert done.code == 0, done.err
        assert done.json["confirmed"] is None
        (letter,) = self.letters(0)
        self.phone.answer(letter, "yes")
        return done.json

    def begin(self) -> Course:
        """A game that alice hosts, up to her first decision."""
        self.game = timed_game(self.alice, self.bob)
        return self.course

    def letters(self, seconds: int = 61) -> list[Letter]:
        """The letters that alice gets after that time."""
        self.timed.pass_by(seconds)
        self.world.deliver()
        return unread(self.phone)

    def turn_letter(self) -> Letter:
        """The letter about alice's turn, which may be the answer to her last mail."""
        self.last = next(each for each in reversed(self.letters()) if each.id.startswith(("<turn.", "<answer.")))
        return self.last

    def bob_moves(self) -> None:
        """Bob plays until alice owes the next entry."""
        while (seen := self.bob.position(self.game)).mine:
            self.bob.move(self.game, seen.legal[0])

    def alice_moves(self) -> None:
        """Alice plays with her own key until bob owes the next entry."""
        while (seen := self.alice.position(self.game)).mine:
            self.alice.move(self.game, seen.legal[0])

    def by_mail(self, letter: Letter, *lines: str) -> str:
        """Alice answers a letter. Returns what became of that."""
        self.phone.answer(letter, *lines)
        return str(json.loads(self.world.incoming().result)["answer"])

    @property
    def course(self) -> Course:
        """The game as bob's client has it, which has verified it."""
        return self.bob.position(self.game).course

    @property
    def kinds(self) -> list[str]:
        """The log: the kinds of alice's entries, those that came by mail with their grade."""
        found = []
        for line in self.bob.log(self.game):
            if line.entry.by != "alice":
                continue
            mail = line.entry.body.get("mail")
            ended = line.entry.kind == "delegate" and line.entry.body["gateway"] is None
            found.append(line.entry.kind + (f" {mail['grade']}" if isinstance(mail, dict) else "") + " null" * ended)
        return found

    def holds(self) -> None:
        """The log holds, as both clients and both audits see it, and what bob's client was told stays so."""
        assert self.alice.position(self.game).course.head == self.course.head
        log = format_log(self.bob.log(self.game)).encode()
        assert audit(log).ok
        file = self.folder / "game.jsonl"
        file.write_bytes(log)
        done = shell_audit.run(file, {})
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    before = chance.NOON
    with list_world(tmp_path / "data", mail="play@hkoji.example") as world:
        yield Table(world, tmp_path)
    chance.NOON = before


def test_orders_by_mail_from_on_to_off(table: Table) -> None:
    table.on()
    table.begin()
    assert table.kinds == ["open", "delegate", "seed"]
    table.alice_moves()
    table.bob_moves()
    letter = table.turn_letter()
    assert "Your own key has allowed the service to sign what you answer here." in " ".join(letter.lines)
    face_down = next(each for each in table.alice.position(table.game).legal if each[0] in "12")
    assert table.by_mail(letter, face_down) == "on record"
    assert table.kinds[-1] == "move token"
    assert "the service signs for alice too" in " ".join(table.bob.said)
    # Her own client knows the cards of a move that it has not made.
    for words in (("show",), ("next",), ("audit",), ("log",)):
        done = table.alice(*words, *([] if words == ("next",) else [table.game]))
        assert done.code == 0, done.err
        assert "warning" not in done.err
        assert "refused" not in done.err
    steps = table.alice.position(table.game).replay.steps
    hidden = [step for step in steps if isinstance(step.body, Move) and step.body.commit and step.body.mail]
    assert [action_of(step) for step in hidden] == [face_down]
    ask = table.world.service.ask
    assert ask("GET", f"/v1/games/{table.game}").json["by_mail"] == {"alice": "word"}
    assert ask("GET", "/v1/players/alice").json["held"] is None
    table.bob_moves()
    letter = table.turn_letter()
    off = table.alice("mail", "off", "--json")
    assert (off.code, off.json["orders"]) == (0, False)
    assert [each["game"] for each in off.json["games"]] == [table.game]
    before = table.course.head
    assert table.by_mail(letter, offered(letter)[0]) == "not done"
    assert table.course.head == before
    table.alice_moves()
    assert [kind for kind in table.kinds if kind.startswith(("delegate", "move t"))] == [
        "delegate",
        "move token",
        "delegate null",
    ]
    assert table.kinds[-1] == "move"
    table.bob_moves()
    letter = table.turn_letter()
    assert "Moves that you write here are not played." in " ".join(letter.lines)
    table.holds()
    mails = table.world.run(mails_of(table.world.store, table.bob.log(table.game), "alice"))
    table.folder.joinpath("mails").write_bytes(mails)
    done = table.bob("audit", str(table.folder / "game.jsonl"), "--mails", str(table.folder / "mails"), "--json")
    assert done.code == 0, done.err


# --- when it is allowed -----------------------------------------------------------------------------------------------


def test_in_a_running_game_it_is_allowed_on_the_next_turn_and_not_before_the_mailbox_is_confirmed(table: Table) -> None:
    table.begin()
    assert table.alice("mail", "on", ADDRESS).code == 0
    table.alice_moves()
    assert "delegate" not in table.kinds
    (letter,) = table.letters(0)
    assert table.by_mail(letter, "yes") == "confirmed"
    assert table.alice("mail", "show", "--json").json["games"] == []
    table.bob_moves()
    notice = table.turn_letter()
    assert "Moves that you write here are not played." in " ".join(notice.lines)
    before = table.course.head
    assert table.by_mail(notice, "resign") == "not done"
    assert table.course.head == before
    assert table.alice("show", table.game).code == 0
    assert table.kinds[-1] == "delegate"
    # The letter names no entry that a `delegate` replaces, so its address is still good.
    assert table.by_mail(notice, table.alice.position(table.game).legal[0]) == "on record"
    shown = table.alice("mail", "show", "--json").json
    assert [(each["game"], each["grade"]) for each in shown["games"]] == [(table.game, "token")]
    assert (shown["address"], shown["orders"], shown["require"]) == (ADDRESS, True, "token")
    table.holds()


def test_a_signed_move_that_waits_is_not_made_void(table: Table) -> None:
    table.begin()
    table.on()
    table.alice_moves()
    table.bob_moves()
    seen = table.bob.position(table.game)
    # Bob's client has the log; alice's learns of her turn offline, and signs.
    legal = table.alice.client.game  # a new client, as `hkoji sign` is
    with legal(table.game) as held:
        moves = held.unsettled().legal
    submission = table.alice.sign(table.game, moves[0])
    assert table.alice.position(table.game).course.head == seen.course.head
    assert "delegate" not in table.kinds[1:] or table.kinds[-1] != "delegate"
    table.alice.client.submit(submission)
    assert table.kinds[-1] == "move"


def test_two_clients_of_one_home_allow_it_once(table: Table) -> None:
    table.on()
    table.game = table.alice.client.new(Hanamikoji()).game
    table.bob.join(table.game)
    one, two = table.alice.client, table.alice.client
    for client in (one, two, one):
        with client.game(table.game) as held:
            held.current()
    assert table.kinds == ["open", "delegate", "seed"]


def test_a_new_key_and_a_delegation_do_not_follow_each_other(table: Table) -> None:
    table.begin()
    table.on()
    table.alice_moves()
    assert table.alice("rekey").code == 0
    table.bob_moves()
    table.alice_moves()
    table.bob_moves()
    table.alice_moves()
    changes = [kind for kind in table.kinds if kind in ("rekey", "delegate")]
    assert sorted(changes) == ["delegate", "rekey"]
    pairs = list(zip(table.kinds, table.kinds[1:], strict=False))
    assert ("rekey", "delegate") not in pairs
    assert ("delegate", "rekey") not in pairs
    table.holds()


def test_another_grade_is_another_key_and_another_delegation(table: Table) -> None:
    first = table.on()
    table.begin()
    again = table.alice("mail", "on", ADDRESS, "--json").json
    assert again["key"] == first["key"]
    table.alice_moves()
    stronger = table.alice("mail", "on", ADDRESS, "--require", "dkim", "--json").json
    assert stronger["key"] != first["key"]
    assert stronger["confirmed"] is not None
    table.bob_moves()
    letter = table.turn_letter()
    before = table.course.head
    assert table.by_mail(letter, offered(letter)[0]) == "on record"  # the earlier one still counts in this game
    assert table.course.head != before
    while table.course.actor != 0:
        table.bob_moves()
    table.alice_moves()
    held = [line.entry.body for line in table.bob.log(table.game) if line.entry.kind == "delegate"]
    assert [each["grade"] for each in held] == ["token", "dkim"]
    table.bob_moves()
    letter = table.turn_letter()
    line, before = offered(letter)[0], table.course.head
    assert table.by_mail(letter, line) == "asked back"
    (asked,) = table.letters(0)
    assert table.by_mail(asked, line) == "not done"
    assert table.course.head == before
    table.holds()


def test_a_letter_says_that_the_program_has_to_begin_a_game(table: Table) -> None:
    table.on()
    table.game = table.alice.client.new(Hanamikoji()).game
    table.bob.join(table.game)
    letter = table.turn_letter()
    assert "Moves that you write here are not played." in " ".join(letter.lines)
    before = table.bob.position(table.game).course
    assert before.seed_seat == 0
    table.phone.answer(letter, "resign")
    assert table.course.head == before.head
    table.alice.position(table.game)
    assert table.kinds == ["open", "delegate", "seed"]


# --- what a mail cannot do --------------------------------------------------------------------------------------------


def delegated(table: Table) -> Letter:
    """A game in which alice has allowed it and owes a move. Returns the letter."""
    table.on()
    table.begin()
    table.alice_moves()
    table.bob_moves()
    return table.turn_letter()


def test_an_order_that_only_the_own_key_signs_is_refused(table: Table) -> None:
    letter = delegated(table)
    before = table.course.head
    for order in ("call off", "cancel", "give 2d"):
        assert table.by_mail(letter, order) == "not done", order
    invited = table.bob.client.new(Hanamikoji(), Invite("alice")).game
    invitation = next(each for each in table.letters() if each.id.startswith("<invited."))
    assert "accept" not in " ".join(invitation.lines).split()
    assert table.by_mail(invitation, "accept") == "not done"
    assert table.bob.position(invited).course.stage is Stage.JOIN
    assert table.course.head == before
    # A wish of her own is signed by her own key all the same.
    assert table.alice("annul", table.game).code == 0


def test_a_mail_from_elsewhere_is_asked_back_at_the_mailbox(table: Table) -> None:
    letter = delegated(table)
    before = table.course.head
    eve = MailboxPlayer(table.world.mailbox("eve@evil.example"))
    eve.answer(letter, offered(letter)[0])
    assert json.loads(table.world.incoming().result)["answer"] == "asked back"
    assert table.course.head == before
    assert table.world.mailbox("eve@evil.example").letters == []


def test_after_a_revocation_nothing_by_mail_counts(table: Table) -> None:
    letter = delegated(table)
    before = table.course.head
    assert table.alice("revoke", "--yes").code == 0
    taken = len(table.world.taken)
    table.phone.answer(letter, offered(letter)[0])
    assert len(table.world.taken) == taken  # nobody knows its address any more
    assert table.course.head == before
    with closing(sqlite3.connect(table.folder / "data" / "hkoji.sqlite3")) as base:
        assert base.execute("SELECT count(*) FROM mailbox").fetchone() == (0,)
        assert base.execute("SELECT count(*) FROM reply").fetchone() == (0,)


def test_the_held_key_signs_nothing_but_moves_by_mail(table: Table) -> None:
    delegated(table)
    with closing(sqlite3.connect(table.folder / "data" / "hkoji.sqlite3")) as base:
        rows = base.execute("SELECT private FROM held_key").fetchall()
    (held,) = [PrivateKey.from_openssh(each.encode()) for (each,) in rows]
    course, before = table.course, table.course.head
    receipt = table.bob.log(table.game)[-1].receipt
    assert receipt is not None
    at = receipt.receipt.at

    def refused(body: Any, space: str) -> str:  # Any: a body
        draft = draft_entry(course, body, by="alice", at=at, seen=at)
        sent = Submission(draft.entry, held.sign(space, draft.entry.message), ())
        answer = table.world.service.ask("POST", f"/v1/games/{table.game}/entries", sent.to_json())
        assert table.course.head == before
        return str(answer.json["code"])

    assert refused(Delegate(None, None), sshsig.ENTRY) == "bad-signature"
    assert refused(Delegate(None, None), sshsig.GATEWAY) == "bad-signature"
    assert refused(Move(table.alice.position(table.game).legal[-1]), sshsig.ENTRY) == "bad-signature"
    assert refused(Resign(MailClaim("ab" * 32, MailGrade.TOKEN)), sshsig.ENTRY) == "bad-signature"


def test_only_a_confirmed_mailbox_with_orders_and_its_newest_key_can_be_named(table: Table) -> None:
    table.begin()
    asked = table.alice("mail", "on", ADDRESS, "--json").json
    service = table.alice.client.service()

    def refused(certificate: Gateway) -> None:
        course = table.alice.position(table.game).course
        with table.alice.client.game(table.game) as held:
            held.current()
            with pytest.raises(IllegalError, match="does not hold that key"):
                held._sender.post(course, Delegate(certificate, MailGrade.TOKEN))
        assert table.course.head == course.head

    def certificate() -> Gateway:
        (channel,) = PlayerChannels(service).all()
        assert channel.certificate is not None
        return channel.certificate

    first = certificate()
    assert asked["confirmed"] is None
    refused(first)
    (letter,) = table.letters(0)
    table.phone.answer(letter, "yes")
    OwnMailbox(service, "alice").turn_on(ADDRESS, MailGrade.DKIM, "en")
    refused(first)
    second = certificate()
    OwnMailbox(service, "alice").turn_off()
    refused(second)
    assert "delegate" not in table.kinds


# --- a false service, and others' mailboxes ---------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["origin", "name", "key", "mailbox", "signature"])
def test_a_false_certificate_is_not_kept(table: Table, what: str) -> None:
    with closing(sqlite3.connect(table.folder / "data" / "hkoji.sqlite3")) as base:
        (private,) = base.execute("SELECT private_key FROM service").fetchone()
    service = PrivateKey.from_openssh(private if isinstance(private, bytes) else private.encode())
    origin = "https://other.example" if what == "origin" else URL
    key = table.bob.client.identity.key if what == "key" else PrivateKey.from_seed(b"\x09" * 32).public
    named = "eve@evil.example" if what == "mailbox" else ADDRESS
    gateway = certify(
        PrivateKey.from_seed(b"\x0a" * 32) if what == "signature" else service,
        address=address_hash(origin, named, bytes(32)),
        at="2026-11-20T12:00:00Z",
        key=key,
        name="bob" if what == "name" else "alice",
        origin=origin,
    )
    timed_game(table.alice, table.bob)  # alice knows bob's key
    before = table.alice.path.joinpath("config.json").read_bytes()

    def tamper(path: str, answer: HttpAnswer) -> HttpAnswer:
        if path != "/v1/me/channels" or answer.status != 201:
            return answer
        value = {**answer.json(), "certificate": gateway.to_json(), "salt": "00" * 32}
        return answer._replace(body=json.dumps(value).encode())

    table.timed.tamper = tamper
    done = table.alice("mail", "on", ADDRESS)
    assert done.code == Exit.AUDIT, done.err
    assert table.alice.path.joinpath("config.json").read_bytes() == before


def test_nobody_learns_whose_mailbox_an_address_is(table: Table) -> None:
    table.on()
    table.world.run(table.world.players.invite("carol", "carol@example.org", "en", None))
    answers = []
    for address in (ADDRESS, "carol@example.org"):
        done = table.bob("mail", "on", address)
        assert done.code == Exit.KEY
        assert address not in done.err
        answers.append(done.err)
    assert answers[0] == answers[1]
    assert table.bob("mail", "show", "--json").json["address"] is None


def test_a_mailbox_for_notices_is_a_channel_like_others(table: Table) -> None:
    made = table.alice("notify", "add", "mail", ADDRESS, "--quiet", "22:00-07:00", "--zone", "+00:00")
    assert made.code == 0, made.err
    assert "yes" in made.out
    assert "waits for the answer" in table.alice("notify", "list").out
    (letter,) = table.letters(0)
    table.phone.answer(letter, "yes")
    (listed,) = table.alice("notify", "list", "--json").json
    assert (listed["kind"], listed["target"], listed["orders"]) == ("mail", ADDRESS, False)
    assert listed["settings"]["quiet"] == {"from": "22:00", "until": "07:00"}
    table.begin()
    assert table.kinds == ["open", "seed"]
    table.alice_moves()
    table.bob_moves()
    notice = table.turn_letter()
    before = table.course.head
    assert table.by_mail(notice, "resign") == "not done"
    assert table.alice("notify", "add", "mail", ADDRESS).code != 0
    assert table.alice("mail", "on", ADDRESS, "--json").json["confirmed"] is not None
    assert table.alice("notify", "add", "mail", ADDRESS).code != 0  # that ends no orders
    assert table.alice("mail", "show", "--json").json["orders"] is True
    assert table.alice("notify", "remove", listed["id"]).code == 0
    assert table.alice("mail", "show", "--json").json["address"] is None
    taken = len(table.world.taken)
    table.phone.answer(notice, "show")
    assert len(table.world.taken) == taken
    assert table.course.head == before


def test_the_last_wish_is_confirmed(table: Table) -> None:
    assert table.alice("notify", "add", "mail", ADDRESS).code == 0
    assert table.alice("mail", "on", ADDRESS, "--json").json["orders"] is True
    (letter,) = table.letters(0)
    assert "play by mail" in " ".join(letter.lines)
    table.phone.answer(letter, "yes")
    table.begin()
    assert table.kinds == ["open", "delegate", "seed"]


def test_another_home_of_the_player_ends_it_and_this_one_follows(table: Table) -> None:
    delegated(table)
    other = TimedPlayer(table.timed, "alice", table.folder / "laptop")
    shutil.copytree(table.alice.path, other.path)
    Home(other.path).update_config(mail={})
    shown = other("mail", "show").out
    assert "allows it in no game" in shown
    assert "next turn" not in shown
    table.world.processes = False
    table.phone.answer(table.last, "resign")  # it has come, and is not processed yet
    assert other("mail", "off").code == 0
    before = table.course.head
    assert table.world.process() == ["not done"]
    assert table.course.head == before
    table.alice_moves()
    assert table.kinds[-2:] == ["delegate null", "move"]
    table.holds()


def test_addresses_that_cannot_be_used_are_refused_plainly(table: Table) -> None:
    asked = len(table.timed.asked)
    assert table.alice("mail", "on", "Alice <a@x.example>").code == Exit.USAGE
    assert table.alice("mail", "on", ADDRESS, "--require", "none").code == Exit.USAGE
    assert len(table.timed.asked) == asked
    assert table.alice("mail", "on", "play@hkoji.example").code == Exit.MOVE
    assert table.alice("mail", "off").code == Exit.USAGE
    table.on()
    assert table.alice("mail", "on", "other@phone.example").code != 0
    assert table.alice("mail", "show", "--json").json["address"] == ADDRESS


def test_a_mail_for_a_turn_that_ends_while_dns_is_asked_does_nothing(table: Table) -> None:
    """A player who moves on the command line meanwhile does not find the order played on their next turn."""
    world = table.world
    world.mailbox(ADDRESS).signs = SigningProvider(world.dns.records)
    table.on()
    table.begin()
    if table.course.actor != 0:
        table.bob.move(table.game, _action(table.bob.position(table.game).legal, "1"))
    letter = next(each for each in table.letters() if offered(each))
    legal = table.alice.position(table.game).legal
    other = _action(legal, "2")
    order = next(each for each in legal if each[0] == "1" and each[1:] not in other)
    players = (table.alice.client.identity, table.bob.client.identity)
    orders, heads = world.parts.orders, []
    games = table.world.seeds._games

    async def slow(names: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
        for sign in ("2", "1"):
            held = await world.held.read(table.game)
            course, at = held.refereed.course, await world.time.now()
            seat = course.actor
            assert seat is not None
            action = other if sign == "2" else _action(course.state.legal_actions(), sign)
            by = ("alice", "bob")[seat]
            draft = draft_move(course, action, os.urandom, by=by, at=at, seen=held.refereed.at)
            await games.submit(table.game, draft.sign(players[seat].signer))
        heads.append((await world.held.read(table.game)).refereed.course.head)
        return await world.dns.look_up(names)

    orders._look_up = slow
    said = table.by_mail(letter, order)
    assert said == "turn over", table.world.incoming().result
    assert heads == [table.course.head]
    assert table.course.actor == 0
    table.holds()


def test_an_owner_who_answers_stop_is_not_shown_as_confirmed_and_not_asked_again(table: Table) -> None:
    assert table.alice("mail", "on", ADDRESS).code == 0
    (letter,) = table.letters(0)
    table.phone.answer(letter, "stop")
    table.letters(0)
    assert table.alice("mail", "show", "--json").json["confirmed"] is None
    assert table.alice("mail", "on", ADDRESS).code != 0
    assert table.alice("mail", "off").code == 0  # which removes it
    assert table.alice("mail", "on", ADDRESS).code != 0
    assert table.letters(0) == []


def test_a_mailbox_that_the_operator_has_locked_stays_locked(table: Table) -> None:
    """Its player cannot remove it and name another one."""
    table.on()
    channels, data = PlayerChannels(table.alice.client.service()), table.folder / "data"
    (channel,) = channels.all()
    table.letters(0)
    mailbox_admin.lock(data, "alice")
    with pytest.raises(ForbiddenError):
        channels.remove(channel.id)
    assert table.alice("mail", "on", "other@phone.example").code != 0
    assert table.alice("mail", "off").code != 0
    assert table.letters(0) == []
    assert mailbox_admin.show(data, "alice")["state"] == "suspended"
    mailbox_admin.unlock(data, "alice")
    channels.remove(channel.id)
    assert channels.all() == []


def test_orders_that_end_while_the_service_is_killed_end_when_it_is_asked_again(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.on()
    with monkeypatch.context() as patched:

        async def killed(*_: object) -> None:
            raise StorageError("killed")

        patched.setattr(Store, "revoke_key", killed)
        assert table.alice("mail", "off").code != 0
    assert table.alice("mail", "off").code == 0
    box = table.world.run(table.world.store.own_mailbox("alice"))
    assert box is not None
    assert not box.orders
    assert table.world.run(table.world.store.retired(box.held_key)) is not None


def _action(legal: Sequence[str], sign: str) -> str:
    return next(each for each in legal if each[0] == sign)
