"""Mail and the clock: the time of an order is when its mail was kept, and letters about turns always come."""

from __future__ import annotations

from pathlib import Path

from hkoji_server.service.mail.letter_facts import MOST_VERSIONS

from hkoji.audit.log_audit import audit
from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY
from hkoji.game.clock import parse_time
from hkoji.log.canonical import decode
from tests.support.mail.list_world import list_world, unread
from tests.support.mail.mail_table import MailTable, mail
from tests.support.mail.post_office import letters
from tests.support.mail.reading import offered
from tests.support.timed_games import a_wish, state

SLACK = 121


def pass_the_deadline(table: MailTable, after: float) -> None:
    """Lets time pass until so many seconds after the deadline of bob's move."""
    world = table.world
    deadline = world.service.ask("GET", f"/v1/games/{table.game}/clock").json["deadline"]
    now = world.run(world.time.now())
    world.clock.pass_by(parse_time(deadline) - parse_time(now) + after)


def kinds(table: MailTable) -> list[str]:
    return [line.entry.kind for line in table.alice.lines(table.game)]


def test_a_mail_in_time_that_is_processed_after_the_deadline_counts_and_holds_up_the_timeout(table: MailTable) -> None:
    world = table.world
    world.processes = False
    pass_the_deadline(table, -60)
    seq, _ = table.head()
    world.take(mail("bob@example.org", table.to, table.line, number=9), table.to)
    world.clock.pass_by(60 + SLACK)
    assert world.run(world.keeper.look()) == 0
    assert "timeout" not in kinds(table)
    assert world.process() == ["on record"]
    line = table.alice.lines(table.game)[seq + 1]
    assert (line.entry.by, line.entry.kind) == ("bob", "move")
    assert line.receipt is not None
    assert line.receipt.receipt.at == world.incoming().received
    raw = world.service.ask("GET", f"/v1/games/{table.game}/log").body
    assert audit(raw).ok


def test_a_mail_after_the_deadline_is_too_late(table: MailTable) -> None:
    world = table.world
    pass_the_deadline(table, 1)
    before = table.head()
    assert table.send(table.line) == "not done"
    assert table.head() == before
    world.clock.pass_by(SLACK)
    assert world.run(world.keeper.look()) == 1
    assert "timeout" in kinds(table)
    assert table.send(table.line) == "turn over"


def test_a_mail_that_was_set_aside_changes_nothing_and_the_timeout_comes(table: MailTable) -> None:
    world = table.world
    world.processes = False
    pass_the_deadline(table, -60)
    before = table.head()
    world.take(mail("bob@example.org", table.to, table.line, number=9), table.to)
    assert world.run(world.store.set_aside(world.taken[-1]))
    world.clock.pass_by(60 + SLACK)
    assert world.process() == []
    assert world.run(world.parts.orders.process(world.taken[-1])) == ()
    assert table.head() == before
    assert world.run(world.keeper.look()) == 1
    assert "timeout" in kinds(table)


def test_the_turn_letter_comes_after_forty_gifts_in_a_day(table: MailTable) -> None:
    world = table.world
    table.alice.login()
    for number in range(40):
        _, head = table.head()
        answer = table.alice.give(table.game, head, 3600 + 60 * number)
        assert answer.status in (200, 201), answer
        world.deliver(61)
    given = [letter for letter in letters(table.bob.mailbox) if letter.id.startswith("<given")]
    assert len(given) == MOST_VERSIONS
    assert len({letter.id for letter in given}) == len({letter.text for letter in given}) == len(given)
    assert table.send(table.line) == "on record"
    table.move()
    assert world.deliver(61)[-1] in ("turn", "answer")
    assert offered(letters(table.bob.mailbox)[-1])


def test_wishes_to_call_a_game_off_that_are_taken_back_and_made_again_send_few_letters(table: MailTable) -> None:
    world = table.world
    table.alice.login()
    wish = a_wish(table.alice, table.game)
    for _ in range(6):
        assert state(table.alice, table.game, wish).status == 201
        world.deliver(61)
        taken_back = world.service.ask("DELETE", f"/v1/games/{table.game}/statements/annul", None, table.alice.token)
        assert taken_back.status == 204, taken_back
        world.deliver(61)
    wishes = [letter for letter in letters(table.bob.mailbox) if letter.id.startswith("<annul")]
    assert len(wishes) == len({letter.id for letter in wishes}) == MOST_VERSIONS


def test_at_most_so_many_letters_a_day_but_for_those_about_turns(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example", per_day=3) as world:
        table = MailTable(world)
        for _ in range(3):
            table.send("help")
        table.answers()
        table.send(table.line)
        table.move()
        world.deliver(61)
        found = unread(table.bob)
        assert any(offered(letter) for letter in found)
        assert table.send("rules", to=found[-1].answered_to) == "rules"
        assert table.answers() == []
        # Answers to changes are counted apart; the welcome was the first of these.
        for lang in ("it", "en"):
            assert table.send(f"lang {lang}", to=found[-1].answered_to) == "setting"
            assert len(table.answers()) == 1
        assert table.send("lang en", to=found[-1].answered_to) == "setting"
        assert table.answers() == []
        world.clock.pass_by(DAY)
        table.alice.login()
        assert table.send("help", to=found[-1].answered_to) == "help"
        assert len(table.answers()) >= 1


def test_mails_in_the_players_name_without_a_token_use_up_no_letter(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example", per_day=1) as world:
        table = MailTable(world)
        world.clock.pass_by(DAY)
        for number, line in enumerate(("hello", "stop")):
            world.take(mail("bob@example.org", "play@hkoji.example", line, number=number), "play@hkoji.example")
            assert len(table.answers()) == 1
        assert table.send("help") == "help"
        assert len(table.answers()) == 1
        assert table.send("rules") == "rules"
        assert table.answers() == []


def test_answers_to_moves_and_results_come_however_many_letters_there_were(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example", per_day=1) as world:
        table = MailTable(world)
        for words in ("help", "rules"):
            table.send(words)
        table.answers()
        for _ in range(3):
            table.bob.answer(table.letter, offered(table.letter)[0])
            assert table.result()["answer"] == "on record"
            assert any("on record" in " ".join(letter.text.split()) for letter in table.answers())
            table.move()
            world.deliver(61)
            table.letter = [letter for letter in letters(table.bob.mailbox) if offered(letter)][-1]
        alice, game = table.alice, table.game
        assert alice.send(alice.entry(game, alice.head(game), entry_kinds.Resign())).status == 201
        assert "over" in world.deliver(61)


def test_reminders_come_before_the_deadline(table: MailTable) -> None:
    pass_the_deadline(table, -23 * 3600)
    assert table.world.deliver() == ["remind1"]
    assert offered(letters(table.bob.mailbox)[-1])


# --- the page that stops letters --------------------------------------------------------------------------------------


def stop_path(table: MailTable) -> str:
    url = table.letter.field("List-Unsubscribe").partition("<http://inside")[2].partition(">")[0]
    assert url.startswith("/v1/mail/stop/")
    return url


def test_a_get_changes_nothing_and_a_post_stops_the_letters(table: MailTable) -> None:
    world, path = table.world, stop_path(table)
    pages = [world.service.ask("GET", each) for each in (path, f"/v1/mail/stop/{'a' * 26}")]
    assert {page.status for page in pages} == {200}
    assert pages[0].body == pages[1].body
    italian = world.service.ask("GET", path, headers={"accept-language": "it"})
    assert "Ferma le lettere" in italian.body.decode()
    assert world.box("bob").state == "active"
    form = {"content-type": "application/x-www-form-urlencoded"}
    for _ in range(2):
        answer = world.service.ask("POST", path, raw=b"List-Unsubscribe=One-Click", headers=form)
        assert answer.status == 200
        assert world.box("bob").state == "stopped"
    # One letter confirms it.
    unread(table.bob)
    world.deliver(1)
    (confirmed,) = unread(table.bob)
    assert confirmed.id.startswith("<stopped.")
    world.deliver(61)
    assert unread(table.bob) == []
    unknown = world.service.ask("POST", f"/v1/mail/stop/{'a' * 26}", raw=b"List-Unsubscribe=One-Click", headers=form)
    assert (unknown.status, unknown.body) == (200, answer.body)
    # The token of a turn stops nothing.
    table.send("start")
    turn = table.to.partition("+")[2].partition("@")[0]
    world.service.ask("POST", f"/v1/mail/stop/{turn}", raw=b"")
    assert world.box("bob").state == "active"


def test_the_outbox_has_references_and_times_only(table: MailTable) -> None:
    import sqlite3

    table.send("help")
    database = sqlite3.connect(table.world.service.data / "hkoji.sqlite3")
    rows = database.execute("select * from outbox").fetchall()
    names = [each[0] for each in database.execute("select * from outbox").description]
    database.close()
    assert rows
    assert names == ["game", "seq", "event", "channel", "kind", "due", "not_before", "tries"]


def test_a_settled_evidence_row_opens_its_commitment(table: MailTable) -> None:
    from hkoji.mail.tokens import NO_DNS, Purpose, TokenFields, mail_commitment

    world = table.world
    table.send(table.line)
    for kept in world.run(world.store.evidence(table.game, "bob")):
        fields = TokenFields(Purpose(kept.purpose), "bob", table.game, None, kept.head, kept.about)
        salt = bytes.fromhex(kept.salt)
        opened = mail_commitment(fields, kept.nonce, reader=kept.reader, raw=kept.raw, dns=NO_DNS, salt=salt)
        assert opened == kept.commit
    commits = {line.entry.body["mail"]["commit"] for line in table.alice.lines(table.game) if "mail" in line.entry.body}  # type: ignore[index, call-overload] # JSON
    assert {kept.commit for kept in world.run(world.store.evidence(table.game, "bob"))} == commits - {None}
    assert world.incoming().raw == b""
    assert decode(world.incoming().result, "result")


def test_a_letter_over_the_limit_of_an_hour_waits_and_holds_up_no_letter_about_a_turn(tmp_path: Path) -> None:
    with list_world(tmp_path / "data", mail="play@hkoji.example", per_hour=2) as world:
        table = MailTable(world)
        table.send("help")
        table.send("rules")
        assert table.answers() == []
        assert table.send(table.line) == "on record"
        table.move()
        world.deliver(61)
        assert any(offered(letter) for letter in unread(table.bob))
        world.clock.pass_by(3600)
        assert len(table.answers()) == 2
