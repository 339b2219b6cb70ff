"""The result for a mail depends on its sender, its text, and the letter that it answers. The mailboxes are lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hkoji_server.store.game_values import Decide

from hkoji.game.agreement import DAY
from hkoji.log.mail_claim import MailGrade
from tests.support.mail.list_world import ListWorld, list_world
from tests.support.mail.mail_hosts import command_address
from tests.support.mail.mail_programs import MAIL_PROGRAMS
from tests.support.mail.mail_table import MailTable, mail
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.reading import offered
from tests.support.mail.signing import SigningProvider
from tests.support.rows import replace
from tests.support.service import Player

EVE = "eve@evil.example"


# --- who has sent it --------------------------------------------------------------------------------------------------


def test_a_move_from_the_registered_address_is_one_entry_with_the_time_of_the_mail(table: MailTable) -> None:
    seq, _ = table.head()
    assert table.send(table.line, sender='"Bob" <BOB@Example.org>') == "on record"
    line = table.alice.lines(table.game)[seq + 1]
    assert (line.entry.by, line.entry.kind, line.entry.body["mail"]["grade"]) == ("bob", "move", "token")  # type: ignore[index, call-overload] # JSON
    assert line.receipt is not None
    assert line.receipt.receipt.at == table.world.incoming().received
    (answer,) = table.answers()
    assert answer.field("In-Reply-To") == f"<{100 + len(table.world.taken) - 1}@mail.example>"
    assert answer.field("Auto-Submitted") == "auto-replied"


def test_another_address_is_asked_back_at_the_registered_one_at_most_twice(table: MailTable) -> None:
    before = table.head()
    for _ in range(2):
        assert table.send(table.line, sender=EVE) == "asked back"
        (letter,) = table.answers()
        assert letter.field("To") == "bob@example.org"
        assert letter.answered_to not in (table.to, "play@hkoji.example")
    assert table.send(table.line, sender=EVE) == "silent"
    assert table.answers() == []
    assert not table.world.lists.get(EVE)
    assert table.head() == before
    # The owner is not held up by that.
    assert table.send(table.line) == "on record"


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("your prize waits", ()),
        ("new hanamikoji prize prize@evil.example", ()),
        ("accept", ()),
        ("2bc", ("Content-Type: text/plain; charset=utf-7-prize",)),
    ],
)
def test_words_of_another_address_that_can_be_no_order_stand_in_no_letter(
    table: MailTable, words: str, fields: tuple[str, ...]
) -> None:
    before = table.head()
    assert table.send(words, sender="prize@evil.example", fields=fields) == "unreadable"
    (letter,) = table.answers()
    assert letter.field("To") == "bob@example.org"
    assert "nothing was done: it came from another address than yours." in " ".join(letter.text.split())
    assert "prize" not in letter.text
    assert words not in letter.text
    assert table.head() == before


@pytest.mark.parametrize("field", ["From: eve@evil.example", "no field"])
def test_an_unreadable_sender_changes_nothing_and_is_told_once_a_day(table: MailTable, field: str) -> None:
    before = table.head()
    for _ in range(2):
        assert table.send(table.line, fields=(field,)) == "unreadable"
        assert len(table.answers()) == 1
        assert table.send(table.line, fields=(field,)) == "silent"
        assert table.send(table.line, sender="bob@example.org, eve@evil.example") == "silent"
        assert table.answers() == []
        table.world.clock.pass_by(24 * 3600)
    assert table.head() == before


@pytest.mark.parametrize("field", ["Precedence: bulk", "List-Id: <x.example>", "X-Autoreply: no"])
def test_an_order_that_says_that_a_program_sent_it_is_not_done_and_told_once(table: MailTable, field: str) -> None:
    before = table.head()
    assert table.send(table.line, sender=EVE, fields=(field,)) == "silent"
    assert table.send(table.line, fields=(field,)) == "unreadable"
    (letter,) = table.answers()
    assert f"field {field.partition(':')[0].lower()} says that a program has sent it" in " ".join(letter.text.split())
    table.world.clock.pass_by(24 * 3600)
    assert table.send(table.line, fields=(field,)) == "silent"
    assert table.head() == before


def test_a_program_whose_sender_cannot_be_read_is_told_once_too(table: MailTable) -> None:
    before, fields = table.head(), ("Precedence: list", "From: eve@evil.example")
    assert table.send(table.line, fields=fields) == "unreadable"
    assert len(table.answers()) == 1
    table.world.clock.pass_by(24 * 3600)
    assert table.send(table.line, fields=fields) == "silent"
    assert table.head() == before


@pytest.mark.parametrize("field", ["Message-ID: <2@mail.example>", "X-Spam : no", "Message-ID : <3@mail.example> (x)"])
def test_a_change_that_leaves_the_meaning_of_an_order_does_not_refuse_it(table: MailTable, field: str) -> None:
    seq, _ = table.head()
    assert table.send(table.line, fields=(field,)) == "on record"
    assert table.head()[0] > seq


def test_asked_back_the_order_in_answer_to_that_letter_alone_counts(table: MailTable) -> None:
    world = table.world
    assert table.send(table.line, sender=EVE) == "asked back"
    (asked,) = table.answers()
    seq, _ = table.head()
    assert any(line in asked.text.lower() for line in (table.line,))
    # yes confirms no order.
    assert table.send("yes", to=asked.answered_to) == "not done"
    assert table.head()[0] == seq
    world.clock.pass_by(500)
    assert table.send(table.line, to=asked.answered_to) == "on record"
    line = table.alice.lines(table.game)[seq + 1]
    assert line.receipt is not None
    assert line.receipt.receipt.at == world.incoming().received
    (evidence,) = (each for each in world.run(world.store.evidence(table.game, "bob")) if each.purpose == "again")
    assert evidence.about == world.incoming(-3).digest
    assert table.send(table.line, to=asked.answered_to) == "turn over"
    assert len(table.alice.lines(table.game)) == seq + 2


def test_asked_back_whatever_it_is_if_the_service_demands_a_signature(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example", require=MailGrade.DKIM) as world:
        alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
        game = world.invite(alice, "bob", "bob@example.org")
        world.deliver()
        bob.answer(bob.next_letter(0), "accept")
        assert json.loads(world.incoming().result)["why"] == "required"
        assert alice.head(game)[0] == 1
        world.deliver()
        bob.answer(bob.next_letter(0), "accept")
        assert json.loads(world.incoming().result)["answer"] == "welcome"
        assert alice.head(game)[0] == 2


def test_a_valid_signature_gives_the_better_grade(table: MailTable) -> None:
    seq, _ = table.head()
    table.bob.mailbox.signs = SigningProvider(table.world.dns.records)  # type: ignore[attr-defined] # it is a list
    table.bob.answer(table.letter, table.line)
    assert table.alice.lines(table.game)[seq + 1].entry.body["mail"]["grade"] == "dkim"  # type: ignore[index, call-overload] # JSON


def test_a_mail_to_no_letter_leaves_nothing(table: MailTable) -> None:
    before, taken = table.head(), len(table.world.taken)
    for to in (f"play+{'a' * 26}@hkoji.example", "play@hkoji.example"):
        table.world.take(mail(EVE, to, table.line), to)
    assert (table.head(), len(table.world.taken)) == (before, taken)


# --- what it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", MAIL_PROGRAMS.values(), ids=MAIL_PROGRAMS)
def test_a_quoted_order_is_none(table: MailTable, program: Any) -> None:  # Any: a mail program
    before = table.head()
    player = MailboxPlayer(table.bob.mailbox, program)
    player.answer(table.letter, "thanks, nice move")
    assert table.result()["answer"] == "not done"
    assert table.head() == before


def test_a_quoted_order_alone_is_none(table: MailTable) -> None:
    before = table.head()
    quoted = [f"> {line}" for line in table.letter.lines]
    assert table.send("On Sun, 22 Nov 2026, hkoji wrote:", *quoted) == "not done"
    assert table.send(f"> {table.line}") == "not done"
    assert table.head() == before
    assert table.send("yes") == "not done"
    assert table.head() == before


def test_bare_cards_are_never_played(table: MailTable) -> None:
    before = table.head()
    cards = table.line.split()[-1].lstrip("1234-")
    assert table.send(cards) == "not done"
    assert table.head() == before
    (answer,) = table.answers()
    assert table.line in offered(answer)
    assert table.send("yes") == "not done"
    assert table.head() == before


def test_one_line_that_is_no_command_stops_the_whole_mail(table: MailTable) -> None:
    before = table.head()
    assert table.send(table.line, "good luck") == "not done"
    assert table.send("lang it", "good luck") == "not done"
    assert table.head() == before
    assert table.world.box("bob").lang == "en"
    assert table.send(table.line, "", "good luck") == "on record"


def test_settings_and_a_move_in_one_mail(table: MailTable) -> None:
    assert table.send(table.line, "lang it", "cards off") == "several"
    assert [each["answer"] for each in table.result()["parts"]] == ["on record", "setting", "setting"]
    box = table.world.box("bob")
    assert (box.lang, box.cards) == ("it", False)
    (answer,) = table.answers()
    assert "registrata" in answer.text


@pytest.mark.parametrize("words", ["show", "moves", "rules", "games", "help", "mostra", "aiuto"])
def test_a_question_changes_nothing(table: MailTable, words: str) -> None:
    before = table.head()
    table.send(words)
    (answer,) = table.answers()
    assert answer.text
    assert table.head() == before


def test_the_log_is_attached(table: MailTable) -> None:
    table.send("log")
    (answer,) = table.answers()
    ((_, content),) = answer.attachments.items()
    assert content.replace(b"\r\n", b"\n") == table.world.service.ask("GET", f"/v1/games/{table.game}/log").body


@pytest.mark.parametrize(
    "how",
    ['Content-Type: text/plain; charset="utf-7 http://evil.com/x"', "Content-Transfer-Encoding: http://evil.com/x"],
)
@pytest.mark.parametrize("sender", [EVE, "bob@example.org"])
def test_no_letter_has_a_link_that_somebody_has_put_into_a_mail(table: MailTable, sender: str, how: str) -> None:
    raw = mail(sender, table.to, "1 http://evil.com/x", fields=(how,))
    head, _, text = raw.partition(b"\r\n\r\n")
    fields = [line for line in head.split(b"\r\n") if not line.startswith((b"MIME", b"Content-")) or b"evil" in line]
    table.world.take(b"\r\n".join(fields) + b"\r\n\r\n" + text, table.to)
    assert table.result()["answer"] == "unreadable"
    (letter,) = table.answers()
    assert ("evil?com" in letter.text) is (sender != EVE)
    assert "evil.com" not in letter.text
    assert "://" not in letter.text


def test_a_mail_that_cannot_be_read_is_answered_with_what_helps(table: MailTable) -> None:
    before = table.head()
    assert table.send(table.line, fields=("Content-Type: text/plain; charset=iso-2022-jp",)) == "unreadable"
    (letter,) = table.answers()
    said = " ".join(letter.text.split())
    assert (
        "(its characters are encoded as 'iso-2022-jp', which is not read here). Nothing that you wrote is wrong."
        in said
    )
    assert "This helps: plain text in Unicode (UTF-8)" in said
    assert table.head() == before


def test_a_text_and_its_html_with_different_moves_move_nothing(table: MailTable) -> None:
    before = table.head()
    other = "1g" if table.line != "1g" else "1f"
    parts = (("plain", table.line), ("html", f"<p>{other}</p>"), ("html", f"<p>{table.line}</p>"))

    def sent(*chosen: tuple[str, str]) -> str:
        body = "".join(f"--b\r\nContent-Type: text/{kind}\r\n\r\n{text}\r\n" for kind, text in chosen)
        return table.send(f"{body}--b--", fields=("Content-Type: multipart/alternative; boundary=b",))

    assert sent(*parts[:2]) == "unreadable"
    (letter,) = table.answers()
    assert "its text and its HTML have different orders" in " ".join(letter.text.split())
    assert table.head() == before
    assert sent(parts[0], parts[2]) == "on record"
    assert table.head() != before


# --- what ends a game -------------------------------------------------------------------------------------------------


def test_asked_back_is_a_resignation_which_counts_in_any_later_turn(table: MailTable) -> None:
    before = table.head()
    assert table.send("resign") == "asked back"
    assert table.result()["why"] == "final"
    assert table.head() == before
    (asked,) = table.answers()
    assert table.send(table.line) == "on record"
    table.move()
    assert table.send("call off", to=asked.answered_to) == "not done"
    assert table.send("resign", to=asked.answered_to) == "on record"
    assert table.alice.lines(table.game)[-2].entry.kind == "resign"
    assert table.alice.lines(table.game)[-2].entry.by == "bob"
    assert table.send("resign", to=asked.answered_to) == "turn over"


def test_a_letter_that_asks_for_a_move_again_has_not_asked_whether_to_resign(table: MailTable) -> None:
    before = table.head()
    assert table.send(table.line, sender=EVE) == "asked back"
    (letter,) = table.answers()
    assert table.send("resign", to=letter.answered_to) == "asked back"
    assert table.head() == before
    (asked,) = table.answers()
    assert table.send("resign", to=asked.answered_to) == "on record"
    assert table.alice.lines(table.game)[before[0] + 1].entry.kind == "resign"


def test_a_letter_that_asks_for_a_move_again_has_not_asked_whether_to_call_the_game_off(table: MailTable) -> None:
    before = table.head()
    assert table.send(table.line, sender="bob@example.net") == "asked back"
    (asked,) = table.answers()
    table.bob.answer(asked, "call off")
    assert table.result()["answer"] == "asked back"
    assert table.head() == before
    assert table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json["annul"] == []
    (again,) = table.answers()
    table.bob.answer(again, "call off")
    assert table.result()["answer"] == "called off"
    assert table.world.service.ask("GET", f"/v1/games/{table.game}/clock").json["annul"] == ["bob"]


def test_both_players_call_a_game_off_the_mail_player_last(table: MailTable) -> None:
    from tests.support.timed_games import a_wish, state

    assert state(table.alice, table.game, a_wish(table.alice, table.game)).status == 201
    assert table.world.deliver(1) == ["annul"]
    assert table.send("call off") == "asked back"
    (asked,) = (letter for letter in table.answers() if letter.id.startswith("<answer."))
    assert table.send("call off", to=asked.answered_to) == "on record"
    (annul,) = (line.entry for line in table.alice.lines(table.game) if line.entry.kind == "annul")
    assert annul.body["mails"][0] is None  # type: ignore[index] # JSON
    assert annul.body["mails"][1]["grade"] == "token"  # type: ignore[index, call-overload] # JSON


def test_both_players_call_a_game_off_the_mail_player_first(table: MailTable) -> None:
    from hkoji.audit.log_audit import audit
    from tests.support.timed_games import a_wish, state

    table.send("call off")
    (asked,) = table.answers()
    assert table.send("call off", to=asked.answered_to) == "called off"
    assert table.world.incoming().state == "done"
    assert len(table.answers()) == 1
    assert state(table.alice, table.game, a_wish(table.alice, table.game)).status in (200, 201)
    raw = table.world.service.ask("GET", f"/v1/games/{table.game}/log").body
    assert b"annul" in raw
    assert audit(raw).ok


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_a_mail_for_a_turn_that_is_over_is_told_so_once_a_day_while_an_entry_is_owed(table: MailTable) -> None:
    world, spent = table.world, table.to
    assert table.send(table.line) == "on record"
    table.move()
    while table.alice.course(table.game).actor != 1:
        table.move()
    table.answers()
    before = table.head()
    assert table.send(table.line, to=spent) == "turn over"
    (told,) = table.answers()
    assert offered(told)
    assert told.answered_to != spent
    assert table.send(table.line, to=spent) == "silent"
    world.clock.pass_by(DAY)
    assert table.send(table.line, to=spent) == "turn over"
    assert table.head() == before
    # Words that belong to no turn are read all the same.
    world.clock.pass_by(DAY)
    assert table.send("lang it", to=spent) == "setting"


def test_the_same_mail_counts_once(table: MailTable) -> None:
    raw = mail("bob@example.org", table.to, table.line, number=5)
    seq, _ = table.head()
    for _ in range(3):
        table.world.take(raw, table.to)
    assert len(table.alice.lines(table.game)) == seq + 2
    table.world.take(raw.replace(b"Re: a game", b"Re: a game!"), table.to)
    assert len(table.alice.lines(table.game)) == seq + 2
    assert sum("answer" in letter.id for letter in table.answers()) == 2


ENOUGH = "This is the last answer here today."


def test_at_most_three_answers_a_token_and_day(table: MailTable) -> None:
    for _ in range(5):
        table.send("show")
    assert [ENOUGH in letter.text for letter in table.answers()] == [False, False, True]
    assert table.send("show") == "several"  # and silent
    assert table.send("help me!") == "several"
    assert table.answers() == []
    assert table.send(table.line) == "on record"
    (letter,) = table.answers()
    assert ENOUGH not in letter.text


def test_a_change_does_not_use_up_the_answers_of_the_day(table: MailTable) -> None:
    for line in ("lang it", "lang en", "cards off", "cards on", "resign"):
        table.send(line)
    table.answers()
    for _ in range(4):
        table.send("show")
    assert [ENOUGH in letter.text for letter in table.answers()] == [False, False, True]


def test_new_in_answer_to_a_game_says_where_it_belongs(table: MailTable) -> None:
    assert table.send("new hanamikoji carol carol@example.org") == "not done"
    (letter,) = table.answers()
    assert "at your command address" in " ".join(letter.text.split())
    assert table.world.games_of("bob") == [table.game]


def test_a_change_is_answered_however_many_answers_there_were(table: MailTable) -> None:
    for _ in range(4):
        table.send("show")
    assert len(table.answers()) == 3
    for line, kind in (
        ("resign", "asked back"),
        ("cards off", "setting"),
        ("lang it", "setting"),
        ("new address", "setting"),
        ("stop", "stopped"),
        ("start", "started"),
        ("not me", "locked"),
    ):
        assert table.send(line) == kind
        assert len(table.answers()) == 1, line


def test_a_setting_that_is_so_already_counts_like_a_question(table: MailTable) -> None:
    for _ in range(5):
        table.send("lang en")
    assert len(table.answers()) == 3


def test_a_new_command_address_is_told_and_works(table: MailTable) -> None:
    for _ in range(3):
        table.send("show")
    table.answers()
    assert table.send("new address") == "setting"
    (letter,) = table.answers()
    address = command_address(letter)
    assert table.send("games", to=address) == "games"


def test_a_mail_to_the_bare_address_brings_the_current_letter_once_a_day(table: MailTable) -> None:
    assert table.send("hello?", to="play@hkoji.example") == "current"
    (letter,) = table.answers()
    assert letter.id != table.letter.id
    assert letter.answered_to == table.to
    assert offered(letter) == offered(table.letter)
    assert table.send("hello?", to="play@hkoji.example") == "silent"
    assert table.answers() == []
    table.world.clock.pass_by(DAY)
    assert table.send("hello?", to="play@hkoji.example") == "current"


# --- settings ---------------------------------------------------------------------------------------------------------


def test_stop_and_start(table: MailTable) -> None:
    world = table.world
    assert table.send("stop") == "stopped"
    assert len(table.answers()) == 1
    assert world.box("bob").state == "stopped"
    assert table.send(table.line) == "on record"
    table.answers()
    table.move()
    assert [each for each in world.deliver(61) if each != "answer"] == []
    assert table.send("start") == "started"
    assert world.box("bob").state == "active"


def test_a_subject_stops_letters_too(table: MailTable) -> None:
    stop = table.letter.field("List-Unsubscribe").partition("mailto:")[2].partition("?")[0]
    raw = mail("bob@example.org", stop).replace(b"Subject: Re: a game", b"Subject: stop")
    table.world.take(raw, stop)
    assert table.world.box("bob").state == "stopped"


def test_a_second_subject_on_top_stops_nothing(table: MailTable) -> None:
    seq, _ = table.head()
    table.world.take(b"Subject: stop\r\n" + mail("bob@example.org", table.to, table.line), table.to)
    assert table.result()["answer"] == "on record"
    assert table.world.box("bob").state == "active"
    assert table.head()[0] == seq + 1


def test_quiet_hours(table: MailTable) -> None:
    assert table.send("quiet 22-7") == "setting"
    channel = table.world.run(table.world.store.channel(table.world.box("bob").channel))
    assert channel is not None
    assert json.loads(channel.settings)["quiet"] == {"from": "22:00", "until": "07:00"}
    assert table.send("quiet off") == "setting"


@pytest.mark.parametrize("before", ["move", "quiet 1-2", "resign", "stop"])
def test_a_setting_that_cannot_be_made_leaves_all_lines_undone(table: MailTable, before: str) -> None:
    def state() -> list[object]:
        channel = table.world.run(table.world.store.channel(table.world.box("bob").channel))
        return [channel, table.world.box("bob").state, table.head()]

    table.send("show")  # a mail was heard from bob
    seen = state()
    for long in ("quiet 0-23", "silenzio 7-22"):
        assert table.send(table.line if before == "move" else before, long) == (
            "asked back" if before == "resign" else "not done"
        )
        assert state() == seen


def test_quiet_hours_can_be_set_with_the_move(table: MailTable) -> None:
    seq, _ = table.head()
    assert table.send(table.line, "quiet 22-7") == "several"
    channel = table.world.run(table.world.store.channel(table.world.box("bob").channel))
    assert channel is not None
    assert json.loads(channel.settings)["quiet"] == {"from": "22:00", "until": "07:00"}
    assert table.head()[0] == seq + 1


@pytest.mark.parametrize(("line", "joins"), [("quiet 0-23", False), ("quiet 22-7", True)])
def test_an_invited_player_accepts_and_sets_quiet_hours_in_one_mail(world: ListWorld, line: str, joins: bool) -> None:
    alice, bob = Player(world.service, "alice").register(), world.player("bob@example.org")
    game = world.invite(alice, "bob", "bob@example.org")
    world.deliver()
    seq, _ = alice.head(game)
    bob.answer(bob.next_letter(0), "accept", line)
    assert (alice.head(game)[0] > seq, world.box("bob").state) == (joins, "active" if joins else "invited")


def test_a_new_command_address_replaces_the_old_one(table: MailTable) -> None:
    table.send("new address")
    (answer,) = table.answers()
    first = next(line.strip() for line in answer.lines if line.strip().startswith("play+"))
    table.send("new address")
    (answer,) = table.answers()
    second = next(line.strip() for line in answer.lines if line.strip().startswith("play+"))
    assert first != second
    for each in (first, second):
        assert not any(each in table.world.incoming(number).result for number in (-1, -2))
    table.send("new hanamikoji carol carol@example.com", to=first)
    assert table.world.games_of("bob") == [table.game]
    assert table.send("new hanamikoji carol carol@example.com", to=second) == "on record"
    assert len(table.world.games_of("bob")) == 2


def test_a_lock_while_a_mail_is_processed_stays(table: MailTable, monkeypatch: pytest.MonkeyPatch) -> None:
    world = table.world
    append = world.store.append

    async def locked_meanwhile(decide: Decide) -> None:
        box = await world.store.mailbox_of("bob", await world.time.now())
        assert box is not None
        await world.store.change_mailbox(replace(box, state="locked"), box)
        await append(decide)

    monkeypatch.setattr(world.store, "append", locked_meanwhile)
    assert table.send(table.line) == "on record"
    monkeypatch.undo()
    assert world.box("bob").state == "locked"
    before = table.head()
    assert table.send(table.line) == "locked"
    assert table.head() == before


@pytest.mark.parametrize(
    "words", ["games", "show", "new address", "lang it", "cards off", "own key", "ok", "yes\ngames"]
)
def test_the_letter_that_says_that_all_is_locked_takes_nothing_but_yes(table: MailTable, words: str) -> None:
    assert table.send("not me") == "locked"
    (locked,) = table.answers()
    before = replace(table.world.box("bob"), heard=None)
    assert table.send(words, to=locked.answered_to) == "locked"
    assert replace(table.world.box("bob"), heard=None) == before
    (again,) = table.answers()
    assert table.game[:8] not in again.text
    assert "alice" not in again.text
    assert table.send(words, to=again.answered_to, sender=EVE) == "silent"
    assert table.send("yes", to=again.answered_to) == "started"


def test_not_me_locks_until_yes_from_the_mailbox(table: MailTable) -> None:
    before = table.head()
    assert table.send("not me") == "locked"
    (locked,) = table.answers()
    assert table.send(table.line) == "locked"
    assert table.head() == before
    assert table.send("yes", to=locked.answered_to, sender=EVE) == "asked back"
    assert table.world.box("bob").state == "locked"
    assert table.send("yes", to=locked.answered_to) == "started"
    assert table.world.box("bob").state == "active"
    assert table.send(table.line) == "on record"
