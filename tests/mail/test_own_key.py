"""`own key`: a mail player asks for a code, and plays on with a key of their own."""

from __future__ import annotations

import asyncio
import json
import re
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.games.invitations import Invitations
from hkoji_server.store.closing import Closing
from hkoji_server.store.game_values import Append
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY
from hkoji.game.clock import Way
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import proof_message
from tests.support.ledger import everything
from tests.support.mail.list_world import unread
from tests.support.mail.mail_hosts import command_address
from tests.support.mail.mail_table import MailTable, mail
from tests.support.mail.post_office import Letter
from tests.support.mail.reading import offered
from tests.support.rows import a_player, replace
from tests.support.service import Answer, Player

OWN = PrivateKey.from_seed(b"\x61" * 32)
OTHER = PrivateKey.from_seed(b"\x62" * 32)
ELSEWHERE = "other@example.org"


def code_in(letter: Letter) -> str:
    """The code in a letter."""
    (found,) = [line.strip() for line in letter.lines if re.fullmatch("  [0-9a-f]{40}", line)]
    return found


def asked(table: MailTable, words: str = "own key", **given: Any) -> str:  # Any: as `MailTable.send`
    """The code that bob gets when he asks for one."""
    assert table.send(words, **given) == "code"
    return code_in(table.answers()[-1])


def recovery(table: MailTable, code: str, new: PrivateKey = OWN, name: str = "bob") -> tuple[str, str, dict[str, str]]:
    """The request of a recovery."""
    return "POST", f"/v1/players/{name}/recovery", Player(table.world.service, name, new).recovering(new, code)


async def recovers(table: MailTable, request: tuple[str, str, dict[str, str]]) -> Answer:
    """The answer to a recovery, in the loop of the service."""
    method, path, body = request
    return await table.world.service._answer(method, path, json.dumps(body).encode(), None)


def recovered(table: MailTable, code: str, new: PrivateKey = OWN, name: str = "bob") -> Answer:
    """The answer to a recovery."""
    return table.world.service.ask(*recovery(table, code, new, name))


def kept(table: MailTable) -> Any:  # Any: JSON
    """The service's answers about bob, and the logs of his games."""
    ask, games = table.world.service.ask, table.world.games_of("bob")
    return ask("GET", "/v1/players/bob").json, [ask("GET", f"/v1/games/{game}/log").body for game in games]


def bob_with(table: MailTable, key: PrivateKey = OWN) -> Player:
    """Bob with a key of his own, logged in."""
    return Player(table.world.service, "bob", key).login()


def codes(table: MailTable) -> list[str]:
    """The rows of codes."""
    return [
        row for row in everything(table.world.service.data / "hkoji.sqlite3") if row.startswith('INSERT INTO "code"')
    ]


def said(letter: Letter) -> str:
    """The text of a letter on one line."""
    return " ".join(letter.text.split())


# --- the letter -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "lang"), [("own key", "en"), ("chiave mia", "it")])
def test_the_letter_says_what_to_type_and_changes_nothing(table: MailTable, words: str, lang: str) -> None:
    if lang == "it":
        table.send("lang it")
        table.answers()
    before = kept(table)
    assert table.send(words) == "code"
    (letter,) = table.answers()
    assert kept(table) == before
    code = code_in(letter)
    first = letter.text.partition("-----")[0]
    assert code not in letter.subject + first
    for line in ("  hkoji init bob", "  hkoji recover bob --server http://inside"):
        assert line in letter.lines
    unchanged = {"en": "Nothing has changed yet", "it": "Non \N{LATIN SMALL LETTER E WITH GRAVE} ancora cambiato nulla"}
    assert unchanged[lang] in said(letter)
    # A move is still signed for him, also in answer to this letter.
    assert table.send(table.line, to=letter.answered_to) == "on record"


def test_the_code_is_in_no_row_and_a_letter_that_is_rendered_again_has_the_same(table: MailTable) -> None:
    world = table.world
    assert table.send("own key") == "code"
    world.restart(world.store)
    (letter,) = table.answers()
    code = code_in(letter)
    assert code not in "\n".join(everything(world.service.data / "hkoji.sqlite3"))
    (row,) = codes(table)
    assert sha256(code.encode()).hexdigest() in row
    assert recovered(table, code).status == 200


def test_an_order_beside_it_is_done_too_and_a_second_decision_is_not(table: MailTable) -> None:
    before = kept(table)
    assert table.send("own key", table.line) == "not done"
    assert kept(table) == before
    assert table.send("own key", "lang it") == "several"
    assert table.world.box("bob").lang == "it"


# --- what the code does -----------------------------------------------------------------------------------------------


def test_the_held_key_is_revoked_with_the_registration_of_the_own_one(table: MailTable) -> None:
    (before, logs), code = kept(table), asked(table)
    assert recovered(table, code).status == 200
    after, same = kept(table)
    assert (after["key"], after["revoked"], after["held"]) == (OWN.public.text, False, None)
    assert [(each["key"], each["revoked"]) for each in after["earlier"]] == [(before["key"], True)]
    assert same == logs
    # The same request again has the same answer, and changes nothing.
    assert recovered(table, code).status == 200
    assert kept(table) == (after, same)


def test_the_service_signs_no_more_and_letters_go_on_as_notices(table: MailTable) -> None:
    line = table.line
    assert table.send("own key") == "code"
    (letter,) = table.answers()
    assert recovered(table, code_in(letter)).status == 200
    before = kept(table)
    for order in (line, "resign", "call off"):
        table.world.clock.pass_by(DAY)  # the letters of a turn have one address, which is answered three times a day
        assert table.send(order, to=letter.answered_to) == "not done"
        (letter,) = table.answers()
        assert re.search("can no longer sign for you in this game|only that can sign this", said(letter))
        assert f"look at the game with the program hkoji: hkoji show {table.game[:8]}" in said(letter)
        assert offered(letter) == []
    assert kept(table) == before
    assert table.send("show", to=letter.answered_to) == "show"
    (letter,) = table.answers()
    assert "Answer this mail" not in letter.text
    assert "You hold" in letter.text


def test_his_client_takes_the_seat_over_on_his_turn_and_he_plays_on(table: MailTable) -> None:
    held = table.alice.course(table.game).setup.keys[1]
    assert held is not None
    assert recovered(table, asked(table)).status == 200
    bob, course = bob_with(table), table.alice.course(table.game)
    place = {"game": table.game, "prev": course.head, "seq": course.seq + 1, "name": "bob"}
    message = proof_message(key=OWN.public, old=held, **place)  # type: ignore[arg-type] # fields by name
    proof = {"proof": encode_base64(OWN.sign(sshsig.REKEY, message))}
    assert table.world.service.ask("POST", f"/v1/games/{table.game}/recovery", proof, bob.token).status == 201
    assert table.alice.lines(table.game)[-1].entry.kind == "revoke"
    course = bob.course(table.game)
    assert bob.send(bob.make_move(course, course.state.legal_actions()[0])).status == 201
    table.move()
    table.world.deliver(61)
    letter = unread(table.bob)[-1]
    assert letter.id.startswith("<turn.")
    assert "You have a key of your own in this game: play on with the program hkoji." in said(letter)
    assert offered(letter) == []
    course = table.alice.course(table.game)
    resigned = table.alice.entry(table.game, (course.seq, course.head), entry_kinds.Resign())
    assert table.alice.send(resigned).status == 201
    table.world.deliver(61)
    letter = unread(table.bob)[-1]
    assert letter.id.startswith("<over.")
    assert "play on" not in said(letter)


def test_an_earlier_signature_of_the_held_key_is_refused_afterwards(table: MailTable) -> None:
    """The move is signed; then the recovery; then it is sent, by the mail process and over HTTP."""
    world, request = table.world, recovery(table, asked(table))
    store, append, sent = world.store, world.store.append, list[Append]()

    async def late(what: Any) -> None:  # Any: an append, or what decides it
        made = what if isinstance(what, Append) else what()
        sent.append(made)
        assert (await recovers(table, request)).status == 200
        await append(what)

    head = table.head()
    with patch.object(store, "append", late):
        assert table.send(table.line) == "not done"
    assert table.head() == head
    assert kept(table)[0]["key"] == OWN.public.text
    assert "can no longer sign for you" in said(table.answers()[-1])
    line = sent[0].lines[0]
    body = {"entry": line.entry.text, "sig": encode_base64(line.sig)}
    answer = world.service.ask("POST", f"/v1/games/{table.game}/entries", body, bob_with(table).token)
    assert answer.status == 403, answer
    assert table.head() == head


def test_a_move_that_is_entered_first_stays_and_the_recovery_follows(table: MailTable) -> None:
    world, request, append = table.world, recovery(table, asked(table)), table.world.store.append
    seq, _ = table.head()

    async def early(what: Any) -> None:  # Any: as above
        await append(what)
        assert (await recovers(table, request)).status == 200

    with patch.object(world.store, "append", early):
        assert table.send(table.line) == "on record"
    assert table.alice.lines(table.game)[seq + 1].entry.by == "bob"
    assert kept(table)[0]["key"] == OWN.public.text


def test_of_two_recoveries_at_once_one_wins(table: MailTable) -> None:
    code = asked(table)
    requests = [recovery(table, code, key) for key in (OWN, OTHER)]

    async def race() -> list[Answer]:
        return list(await asyncio.gather(*(recovers(table, each) for each in requests)))

    answers = table.world.run(race())
    assert sorted(each.status for each in answers) == [200, 403]
    winner = (OWN, OTHER)[[each.status for each in answers].index(200)]
    assert kept(table)[0]["key"] == winner.public.text


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_code_is_good_once_for_a_day_and_for_one_name(table: MailTable) -> None:
    service, before = table.world.service, kept(table)
    carol = Player(service, "carol").register()
    early, late = asked(table), ""
    table.world.clock.pass_by(60)
    late = asked(table)
    assert early != late
    for code, name in ((early, "bob"), (late, "carol"), (late, "alice"), (late[:-1] + "x", "bob"), ("", "bob")):
        answer = recovered(table, code, name=name)
        assert (answer.status, answer.json["code"]) == (403, "forbidden")
    assert service.ask("GET", "/v1/players/carol").json["key"] == carol.key.public.text
    assert kept(table) == before
    table.world.clock.pass_by(DAY)
    assert recovered(table, late).status == 403
    assert kept(table) == before
    code = asked(table)
    assert recovered(table, code).status == 200
    after = kept(table)
    assert recovered(table, code, OTHER).status == 403
    assert kept(table) == after


def test_a_player_who_has_not_written_from_the_mailbox_is_asked_back(table: MailTable) -> None:
    before = kept(table)
    assert table.send("own key", sender=ELSEWHERE) == "asked back"
    assert table.result()["why"] == "sender"
    letters = table.answers()
    assert [each for each in letters if re.search("[0-9a-f]{40}", each.text)] == []
    world = table.world
    # A leaked token and a forged sender, without the signature of the provider that mails of bob's have had.
    world.run(world.store.change_mailbox(replace(world.box("bob"), dkim_seen=3)))
    assert table.send("own key") == "asked back"
    assert table.result()["why"] == "signature"
    assert codes(table) == []
    assert kept(table) == before
    # A stranger who reads the mailbox is taken for bob.
    assert recovered(table, asked(table, to=table.answers()[-1].answered_to)).status == 200


def test_a_locked_mailbox_gets_no_code_and_the_one_that_it_got_is_void(table: MailTable) -> None:
    code, before = asked(table), kept(table)
    assert table.send("not me") == "locked"
    (locked,) = table.answers()
    assert table.send("own key") == "locked"
    assert recovered(table, code).status == 403
    assert table.send("yes", to=locked.answered_to) == "started"
    assert recovered(table, code).status == 403
    assert kept(table) == before
    assert recovered(table, asked(table)).status == 200


def test_a_code_that_is_not_sent_leaves_the_last_one_that_was(table: MailTable) -> None:
    """A letter's address is answered three times a day, however often somebody writes there."""
    before = kept(table)
    codes = [asked(table) for _ in range(3)]
    table.send("own key")
    assert table.answers() == []
    assert len({*codes}) == 3
    assert kept(table) == before
    assert recovered(table, codes[-1]).status == 200


def test_there_is_no_code_for_a_key_that_the_service_does_not_hold(table: MailTable) -> None:
    assert recovered(table, asked(table)).status == 200
    before = kept(table)
    assert table.send("own key") == "not done"
    (letter,) = table.answers()
    assert "You have a key of your own already: bob plays with it." in said(letter)
    assert kept(table) == before
    assert codes(table) == []


def test_a_player_who_is_only_invited_or_has_a_revoked_key_gets_no_code(table: MailTable) -> None:
    world = table.world
    carol = world.player("carol@example.org")
    world.run(world.players.invite("carol", "carol@example.org", "en", None))
    world.deliver()
    carol.answer(carol.next_letter(0), "own key")
    assert table.result()["answer"] == "not done"
    assert world.service.ask("GET", "/v1/players/carol").status == 404
    assert world.run(world.players.revoke("bob"))
    assert table.send("own key") == "not done"
    assert "ask the operator of the service for a code" in said(table.answers()[-1])


def test_a_code_asked_for_twice_by_two_processes_is_not_valid_again_when_it_was_used(table: MailTable) -> None:
    """Both have read the mail; the slower one closes it when bob has used the code, and lost his own key since."""
    world = table.world
    with world.beside() as other:
        world.processes = False
        table.world.take(mail("bob@example.org", table.to, "own key", number=77), table.to)
        number = world.taken[-1]
        close, codes = SqliteStore.close_incoming, list[bool]()

        async def slow(self: SqliteStore, closing: Closing) -> None:
            if self is other.store and not codes:
                assert [each.value for each in await world.parts.orders.process(number)] == ["code"]
                codes.append(True)
            await close(self, closing)

        with patch.object(SqliteStore, "close_incoming", slow):
            assert other.run(other.parts.orders.process(number)) == ()
    world.processes = True
    code = code_in(table.answers()[-1])
    assert recovered(table, code).status == 200
    bob = Player(world.service, "bob", OWN)
    assert bob.ask("/v1/players/bob/revocation", bob.revoking()).status == 200
    before = kept(table)
    assert recovered(table, code, OTHER).status == 403
    assert kept(table) == before


# --- games that need the held key, and invitations to it --------------------------------------------------------------


def commands_of(table: MailTable) -> str:
    """Bob's command address."""
    table.send("new address")
    return command_address(table.answers()[-1])


def test_as_host_of_a_game_that_nobody_has_joined_he_waits_or_takes_it_back(table: MailTable) -> None:
    assert table.send("new hanamikoji alice alice@example.org", to=commands_of(table)) == "on record"
    (game,) = set(table.world.games_of("bob")) - {table.game}
    opened = next(each for each in table.answers() if game[:8] in each.subject)
    before, code = kept(table), asked(table)
    answer = recovered(table, code)
    assert (answer.status, answer.json["code"], answer.json["game"]) == (409, "conflict", game)
    assert kept(table) == before
    assert table.send("cancel", to=opened.answered_to) == "on record"
    assert recovered(table, code).status == 200


def test_as_guest_he_waits_until_his_seed_is_on_record(table: MailTable) -> None:
    world = table.world
    carol = Player(world.service, "carol").register()
    game = world.invite(carol, "bob", "bob@example.org")
    world.deliver()
    invited = table.bob.next_letter(0, lambda each: each.id.startswith("<invited."))
    code = asked(table)
    assert table.send("accept", to=invited.answered_to) == "on record"
    before = kept(table)
    answer = recovered(table, code)
    assert (answer.status, answer.json["game"]) == (409, game)
    assert kept(table) == before
    assert world.run(world.seeds.look()) == 1
    assert recovered(table, code).status == 200
    assert carol.course(game).setup.entropy[1] is not None


def test_an_invitation_to_the_held_key_cannot_be_accepted_and_the_keeper_declines_it(table: MailTable) -> None:
    world = table.world
    carol = Player(world.service, "carol").register()
    game, other = (world.invite(carol, "bob", "bob@example.org") for _ in range(2))
    world.deliver()
    letters = [each for each in unread(table.bob) if each.id.startswith("<invited.")]
    assert recovered(table, asked(table)).status == 200
    invited = next(each for each in letters if game[:8] in each.subject)
    before = kept(table)
    assert table.send("accept", to=invited.answered_to) == "not done"
    (answer,) = table.answers()
    assert "this invitation is to the key with which the service signed for you" in said(answer).lower()
    assert table.send("what?", to=invited.answered_to) == "not done"
    (answer,) = table.answers()
    assert "Ask carol to invite you again." in said(answer)
    assert "accept" not in said(answer)
    assert kept(table) == before
    open_game = carol.new()
    world.keeper._ways = tuple(Way)  # as the keeper of `hkoji serve`: these games have no deadline
    assert world.run(world.keeper.look()) == 2
    for each in (game, other):
        last = [line.entry for line in carol.lines(each)[-2:]]
        assert [entry.kind for entry in last] == ["lapse", "end"]
        assert last[0].body == {"reason": "declined"}
    assert carol.course(open_game).joinable
    assert world.run(world.keeper.look()) == 0
    assert table.send("accept", to=invited.answered_to) == "turn over"


def test_an_invitation_that_was_not_delivered_yet_is_not_sent(table: MailTable) -> None:
    world = table.world
    carol = Player(world.service, "carol").register()
    world.invite(carol, "bob", "bob@example.org")
    code = ""
    assert table.send("own key") == "code"
    number = world.taken[-1]
    found = world.run(world.store.incoming(number))
    assert found is not None
    code = world.run(world.parts.letters._tokens.code("bob", found.digest))
    assert recovered(table, code).status == 200
    letters = table.answers()
    assert [each.id for each in letters if each.id.startswith("<invited.")] == []
    assert code not in "".join(each.text for each in letters)
    assert "You have a key of your own now, bob" in "".join(said(each) for each in letters)


def test_a_game_that_is_opened_in_the_moment_of_the_recovery_is_refused(table: MailTable) -> None:
    world, code = table.world, asked(table)
    carol = Player(world.service, "carol").register()
    invite, verify = (
        entry_kinds.Invite("bob", parse_public_key(world.box("bob").held_key)),
        Invitations.verify_may_invite,
    )
    new = a_player("bob", OWN.public.text, "2026-11-20T12:00:00Z", "text", "sig")

    async def meanwhile(*given: Any) -> None:
        # The invited key has been found valid, and the entry that opens the game is not written yet.
        await world.store.recover(new, sha256(code.encode()).hexdigest(), await world.time.now())
        patched.undo()
        await verify(*given)

    before = world.games_of("carol")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Invitations, "verify_may_invite", meanwhile)
        with pytest.raises(AssertionError, match="does not hold that key for bob any more"):
            carol.new(None, invite)
    assert world.run(world.store.player("bob")) == new
    assert [game for game in world.games_of("carol") if game not in before and carol.course(game).joinable] == []


def test_a_wish_to_call_off_in_the_moment_of_the_recovery_is_not_kept(table: MailTable) -> None:
    world, code = table.world, asked(table)
    assert table.send("call off") == "asked back"
    letter, add = table.answers()[-1], SqliteStore.add_statement
    before = world.run(world.store.evidence(table.game, "bob"))
    new = a_player("bob", OWN.public.text, "2026-11-20T12:00:00Z", "text", "sig")

    async def late(*given: Any, **named: Any) -> bool:
        # The service has signed for bob, and found the key valid. Another process revokes it before the wish is kept.
        await world.store.recover(new, sha256(code.encode()).hexdigest(), await world.time.now())
        patched.undo()
        return await add(*given, **named)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SqliteStore, "add_statement", late)
        assert table.send("call off", to=letter.answered_to) == "not done"
    assert world.run(world.store.player("bob")) == new
    assert world.service.ask("GET", f"/v1/games/{table.game}/clock").json["annul"] == []
    assert world.run(world.store.evidence(table.game, "bob")) == before
