"""Games of players whose providers sign: what the log claims, and what happens when a signature is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.log import ServiceLog
from hkoji_server.store.closing import Closing
from hkoji_server.store.mail_tables import MailEvidence

from hkoji.audit.log_audit import audit
from hkoji.log.line import Line, format_log
from hkoji.log.mail_claim import MailGrade
from hkoji.mail.dkim_rules import judge_dkim
from hkoji.mail.dns_answers import decode_answers
from hkoji.mail.letters.mailbox import ConfirmWhat
from hkoji.mail.mail import read_mail
from hkoji.mail.tokens import Purpose, TokenFields, mail_commitment, make_token
from tests.mail.test_mail_confirmations import ask
from tests.mail.test_mail_crashes import Killer
from tests.mail.test_mail_games import is_over, move_by_client
from tests.support.mail.list_world import ListedMailbox, ListWorld, list_world, unread
from tests.support.mail.mail_table import MailTable
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import offered
from tests.support.mail.signing import SigningProvider, seconds_of, sign
from tests.support.rows import replace
from tests.support.service import Player

KEY_NAME = "s1._domainkey.example.org"


def signing(world: ListWorld, address: str = "bob@example.org") -> ListedMailbox:
    """A mailbox whose provider signs."""
    box = world.mailbox(address)
    box.signs = SigningProvider(world.dns.records)
    return box


def grade_of(line: Line) -> str:
    mail: Any = line.entry.body["mail"]  # Any: JSON
    return str(mail["grade"])


def opens(evidence: MailEvidence, lines: tuple[Line, ...]) -> bool:
    """Whether evidence opens the commitment of an entry, and says `dkim` only with a signature that holds at its T."""
    line = next(each for each in lines if each.entry.prev == evidence.head)
    mail: Any = line.entry.body["mail"]  # Any: JSON
    seqs = {each.entry.head: each.entry.seq for each in lines}
    # The token names the last entry that is no change of keys; here that is the entry before.
    fields = TokenFields(
        Purpose(evidence.purpose), evidence.name, evidence.game, seqs[evidence.head], evidence.head, evidence.about
    )
    commit = mail_commitment(
        fields,
        evidence.nonce,
        reader=evidence.reader,
        raw=evidence.raw,
        dns=evidence.dns,
        salt=bytes.fromhex(evidence.salt),
    )
    assert commit == evidence.commit == mail["commit"]
    assert mail["grade"] == evidence.grade
    assert line.receipt is not None
    token = make_token(fields, evidence.nonce)
    at = line.receipt.receipt.at
    holds = judge_dkim(read_mail(evidence.raw), decode_answers(evidence.dns), at=at, token=token).holds
    return holds is (evidence.grade == "dkim")


def test_a_whole_game_by_signed_mails(world: ListWorld) -> None:
    alice, bob = Player(world.service, "alice").register(), world.player(signing(world).address)
    game = world.invite(alice, "bob", bob.mailbox.address)
    while not is_over(world, game):
        world.deliver(61)
        for letter in unread(bob):
            orders = ["accept"] if letter.id.startswith("<invited.") else offered(letter)
            if orders:
                bob.answer(letter, orders[0])
        move_by_client(alice, game)
    entered = tuple(alice.lines(game))
    assert entered[-1].entry.kind == "end"
    assert audit(format_log(entered).encode()).ok
    by_mail = [line for line in entered if "mail" in line.entry.body]
    assert {(line.entry.kind, grade_of(line)) for line in by_mail} == {
        ("join", "dkim"),
        ("seed", "none"),
        ("move", "dkim"),
    }
    kept = world.run(world.store.evidence(game, "bob"))
    assert len(kept) == len(by_mail) - sum(line.entry.kind == "seed" for line in by_mail)
    assert all(opens(each, entered) for each in kept)
    assert all(set(decode_answers(each.dns)) == {KEY_NAME} for each in kept)
    assert world.box("bob").dkim_seen == 3


@pytest.fixture
def table(world: ListWorld) -> MailTable:
    signing(world)
    return MailTable(world)


def test_asked_back_when_the_signature_is_missing(table: MailTable) -> None:
    world, before = table.world, table.head()
    assert grade_of(table.alice.lines(table.game)[2]) == "dkim"
    world.mailbox("bob@example.org").signs = None
    table.bob.answer(table.letter, table.line)
    assert (table.result()["answer"], table.result()["why"]) == ("asked back", "signature")
    assert table.head() == before
    (asked,) = table.answers()
    assert "Your mail provider has signed your other mails, but not this one" in " ".join(asked.text.split())
    # To that letter the order counts, with the weaker grade.
    table.bob.answer(asked, table.line)
    assert table.result()["answer"] == "on record"
    line = table.alice.lines(table.game)[before[0] + 1]
    assert grade_of(line) == "token"
    assert line.receipt is not None
    assert line.receipt.receipt.at == world.incoming().received
    assert world.box("bob").dkim_seen == 2


def test_mails_in_the_players_name_without_a_signature_do_not_use_up_the_letters_of_a_day(
    table: MailTable,
) -> None:
    before, world = table.head(), table.world
    for _ in range(25):
        table.send(table.line)
        table.answers()
    letters = [letter for letter in map(Letter, table.bob.mailbox.received()) if letter.id.startswith("<answer.")]
    missing = "has signed your other mails, but not this one"
    asked = [letter for letter in letters if missing in " ".join(letter.text.split())]
    assert len(asked) == 3
    # The orders of such a mail are not carried out, so no letter says that they are.
    assert not any("Orders are still carried out." in " ".join(letter.text.split()) for letter in asked)
    # One of them still takes what the player sends, and what the provider has signed is answered as before.
    table.bob.answer(table.letter, "resign")
    assert table.result()["why"] == "final"
    assert len(table.answers()) == 1
    assert table.head() == before
    world.mailbox("bob@example.org").signs = None
    table.bob.answer(asked[-1], table.line)
    assert table.result()["answer"] == "on record"


@pytest.mark.parametrize("line", ["thanks, that was quick", "moves", "show"])
def test_asked_back_once_whatever_is_written_before_the_move(table: MailTable, line: str) -> None:
    """Each of these letters can be answered with the move, and the answers of a day do not run out meanwhile."""
    table.world.mailbox("bob@example.org").signs = None
    before = table.head()
    assert table.send(table.line) == "asked back"
    (asked,) = table.answers()
    table.send(line, to=asked.answered_to)
    (answer,) = table.answers()
    assert table.head() == before
    assert offered(answer)
    assert answer.answered_to == asked.answered_to
    assert table.send(offered(answer)[0], to=answer.answered_to) == "on record"
    (done,) = table.answers()
    assert done.answered_to != asked.answered_to


def test_asked_back_in_italian(table: MailTable) -> None:
    world = table.world
    world.run(world.store.change_mailbox(replace(world.box("bob"), lang="it")))
    world.mailbox("bob@example.org").signs = None
    table.bob.answer(table.letter, table.line)
    (asked,) = table.answers()
    assert "provider di posta ha firmato" in " ".join(asked.text.split()) or "firmat" in asked.text


@pytest.mark.parametrize("fault", ["no answer", "two records", "another key", "replayed"])
def test_asked_back_when_the_signature_does_not_count(table: MailTable, fault: str) -> None:
    before, world = table.head(), table.world
    record = world.dns.records[KEY_NAME][0]
    box = world.mailbox("bob@example.org")
    provider, box.signs = box.signs, None
    assert provider is not None
    raw = table.bob.answer(table.letter, "thanks")
    raw = raw.replace(b"thanks", table.line.encode()).replace(b"Message-ID: <", b"Message-ID: <x")
    if fault == "replayed":
        raw = provider(
            raw.replace(table.to.encode(), b"play+" + b"a" * 26 + b"@hkoji.example"), world.incoming().received
        )
    else:
        raw = provider(raw, world.incoming().received)
    world.dns.records[KEY_NAME] = {
        "no answer": (),
        "two records": (record, b"x"),
        "another key": (b"v=DKIM1; p=AAAA",),
    }.get(fault, (record,))
    world.take(raw, table.to)
    assert (table.result()["answer"], table.result()["why"]) == ("asked back", "signature")
    assert table.head() == before


def test_the_expected_signature_is_cleared_after_three_orders_without_one(table: MailTable) -> None:
    world = table.world
    world.mailbox("bob@example.org").signs = None
    with patch.object(ServiceLog, "warning") as warned:
        for left in (2, 1, 0):
            table.bob.answer(table.letter, table.line)
            assert table.result()["answer"] == "asked back"
            asked = table.answers()[-1]
            # A mail without an order is not counted.
            table.bob.answer(asked, "show")
            assert world.box("bob").dkim_seen == left + 1
            table.bob.answer(asked, table.line)
            assert table.result()["answer"] == "on record"
            assert world.box("bob").dkim_seen == left
            assert bool([each for each in warned.call_args_list if "DKIM" in each.args[0]]) is (left == 0)
            table.move()
            world.deliver(61)
            table.letter = table.bob.next_letter(0, lambda letter: bool(offered(letter)))
    table.bob.answer(table.letter, table.line)
    assert table.result()["answer"] == "on record"
    # A signature is expected again as soon as there was one.
    table.move()
    world.deliver(61)
    signing(world)
    table.letter = [letter for letter in unread(table.bob) if offered(letter)][-1]
    table.bob.answer(table.letter, table.line)
    assert table.result()["answer"] == "on record"
    assert world.box("bob").dkim_seen == 3


def test_dns_is_asked_only_when_the_answer_matters(table: MailTable) -> None:
    world = table.world
    box = world.mailbox("bob@example.org")
    world.dns.asked.clear()
    for to in (f"play+{'a' * 26}@hkoji.example", "play@hkoji.example"):
        table.bob.write(to, "x", table.line)
    table.bob.answer(table.letter, "thanks, nice move")
    assert box.signs is not None
    eve = box.signs(table.bob.sent[-1].replace(b"bob@example.org", b"eve@example.org"), world.incoming().received)
    world.take(eve.replace(b"Message-ID: <", b"Message-ID: <y"), table.to)
    assert world.dns.asked == []
    table.bob.answer(table.letter, table.line)
    assert world.dns.asked == [KEY_NAME]
    # The turn is over, so nothing is to be decided.
    table.bob.answer(table.letter, table.line)
    assert world.dns.asked == [KEY_NAME]


def test_the_grade_is_that_of_t_although_t_is_raised(table: MailTable) -> None:
    """A game that a mail begins is offered when the mail is processed, and no T of the game is before that."""
    world, bob = table.world, table.bob
    bob.answer(table.letter, "new address")
    (letter,) = table.answers()
    commands = next(line.strip() for line in letter.lines if line.strip().startswith("play+"))
    for seconds, grade in ((30, "token"), (300, "dkim")):
        world.processes = False
        before = set(world.games_of("bob"))
        world.mailbox("bob@example.org").signs = None
        bob.write(commands, "a game", f"new hanamikoji p{seconds} p{seconds}@example.com")
        raw, number = bob.sent[-1], world.taken.pop()
        world.run(world.store.close_incoming(Closing(number, result='{"answer":"silent"}')))
        expires = str(seconds_of(world.run(world.time.now())) + seconds)
        world.take(sign(raw.replace(b"Message-ID: <", b"Message-ID: <z"), tags={"x": expires}), commands)
        world.clock.pass_by(100)
        assert world.process()[-1] == "on record"
        (game,) = set(world.games_of("bob")) - before
        line = next(each for each in table.alice.lines(game) if each.entry.kind == "open")
        assert grade_of(line) == grade
        world.processes = True


def test_crash_between_dns_and_the_entry_keeps_one_commitment(table: MailTable) -> None:
    """Killed at each point, with another record of the same key each time: entry and evidence have those of one."""
    world, seq = table.world, table.head()[0]
    record = world.dns.records[KEY_NAME][0]
    world.processes = False
    table.bob.answer(table.letter, table.line)
    world.dns.asked.clear()

    async def look_up(names: Sequence[str]) -> dict[str, tuple[bytes, ...]]:
        world.dns.asked += names
        return {KEY_NAME: (record + b"; n=%d" % len(world.dns.asked),)}

    world.dns.look_up = look_up  # type: ignore[method-assign]
    killer = Killer(world)
    killer.process()
    assert 1 < len(world.dns.asked) < killer.kills
    lines = tuple(table.alice.lines(table.game))
    (line,) = (each for each in lines if each.entry.seq > seq and each.entry.by == "bob")
    (found,) = (each for each in world.run(world.store.evidence(table.game, "bob")) if each.head == line.entry.prev)
    assert grade_of(line) == "dkim"
    assert opens(found, lines)
    # DNS is asked at each try until the entry is on record, so the last answer is that of the entry.
    assert decode_answers(found.dns) == {KEY_NAME: (record + b"; n=%d" % len(world.dns.asked),)}


def test_a_mailbox_that_was_moved_to_is_certified_in_new_games_only(table: MailTable) -> None:
    world, seq = table.world, table.head()[0]
    carol, letter = ask(world, ConfirmWhat.MOVE, "bob", "carol@example.com")
    signing(world, "carol@example.com")
    carol.answer(letter, "yes")
    world.deliver(1)
    carol.answer(table.letter, table.line)
    assert table.result()["answer"] == "on record"
    assert grade_of(table.alice.lines(table.game)[seq + 1]) == "token"
    assert world.box("bob").dkim_seen == 3
    game = world.invite(table.alice, "bob", "carol@example.com")
    world.deliver()
    (invited,) = (each for each in unread(carol) if each.id.startswith("<invited."))
    carol.answer(invited, "accept")
    assert grade_of(table.alice.lines(game)[-1]) == "dkim"


def test_a_service_that_demands_a_signature_does_what_is_signed(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example", require=MailGrade.DKIM) as world:
        alice, bob = Player(world.service, "alice").register(), world.player(signing(world).address)
        game = world.invite(alice, "bob", bob.mailbox.address)
        world.deliver()
        bob.answer(bob.next_letter(0), "accept")
        assert json.loads(world.incoming().result)["answer"] == "welcome"
        assert grade_of(alice.lines(game)[-1]) == "dkim"
