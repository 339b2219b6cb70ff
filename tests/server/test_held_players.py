"""Invitations to play by mail: held keys, certificates, reserved names, limits, and what nobody learns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hkoji_server.service.games import keeper
from hkoji_server.service.players.held_players import HeldPlayers
from hkoji_server.service.time.service_time import ClockAndEntropy
from hkoji_server.settings import Settings
from hkoji_server.store.mail_values import MOST_INVITED_A_DAY, RESERVED_SECONDS, ReplyToken
from hkoji_server.store.sqlite.store import SqliteStore

from hkoji.errors import HkojiError
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement, parse_time_control
from hkoji.game.commitments import entropy_commit
from hkoji.game.held_keys import Gateway, read_gateway, require_strong_gateway, verify_gateway
from hkoji.log import sshsig
from hkoji.log.canonical import decode_base64
from hkoji.log.line import read_line
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import PublicKey, parse_public_key
from hkoji.log.statement import parse_registration
from hkoji.mail.tokens import address_hash
from tests.support import mailboxes
from tests.support.loops import run
from tests.support.service import Answer, Player, offer_of
from tests.support.service_in_process import Inside, drawn, inside
from tests.support.tidied import let_it_tidy

BOB = "Bob@example.org"
ORIGIN = "http://inside"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data", mail="play@hkoji.example") as running:
        yield running


@pytest.fixture
def alice(service: Inside) -> Player:
    return Player(service, "alice").register()


def invite(player: Player, name: str = "bob", address: str = BOB, **more: Any) -> Answer:  # Any: JSON
    """The answer to an invitation."""
    return player.service.ask("POST", "/v1/invitations", {"address": address, "name": name, **more}, player.token)


def read(answer: Answer) -> Gateway:
    """The certificate in an answer."""
    assert answer.status == 201, answer
    return require_strong_gateway(read_gateway(answer.json))


def key_of(service: Any) -> PublicKey:
    """The key of the service."""
    return parse_public_key(service.ask("GET", "/v1/service").json["key"])


def open_for(
    player: Player, name: str, key: PublicKey | None, agreement: Agreement = UNTIMED, game: str | None = None
) -> Answer:
    """The answer to the entry that opens a game for a player with a key."""
    if game is None:
        offer = player.service.ask("POST", "/v1/offers", offer_of(agreement=agreement), player.token)
        assert offer.status == 201, offer
        line = read_line(offer.json["line"])
        place = (line.entry.game, (0, line.entry.head))
    else:
        place = (game, player.head(game))
    commit = entropy_commit(place[0], 0, player.entropy)
    opened = entry_kinds.Open(commit, player.key.public, entry_kinds.Invite(name, key))
    return player.send(player.entry(*place, opened))


def rows(service: Inside, *tables: str) -> dict[str, list[Any]]:
    """The rows of tables."""
    with sqlite3.connect(service.data / "hkoji.sqlite3") as database:
        found = {table: sorted(database.execute(f"SELECT * FROM {table}"), key=repr) for table in tables}
    database.close()
    return found


KEPT = ("mailbox", "held_key", "certificate", "channel", "player", "outbox")


@contextmanager
def at_work(service: Inside, **settings: Any) -> Iterator[tuple[SqliteStore, HeldPlayers]]:
    """The store and the use cases of a mail process beside a service."""
    store = SqliteStore(service.data / "hkoji.sqlite3", service.clock)
    try:
        identity = run(store.identity())
        assert identity is not None
        signer = PrivateKey.from_openssh(identity[0].encode())
        sources = ClockAndEntropy(service.clock, drawn("mail"), service.clock.elapsed)
        yield store, HeldPlayers(store, sources, signer, Settings(mail="play@hkoji.example", **settings), origin=ORIGIN)
    finally:
        store.close()


def accept(service: Inside, name: str = "bob") -> None:
    """The owner of a mailbox accepts."""
    with at_work(service) as (store, players):
        box = run(store.mailbox_of(name, players._sources.at()))
        assert box is not None
        run(mailboxes.accept(store, box.channel, run(players.registration(box))))


# --- the certificate --------------------------------------------------------------------------------------------------


def test_the_certificate_says_that_the_service_holds_the_key_of_that_name_and_mailbox(
    service: Inside, alice: Player
) -> None:
    gateway = read(invite(alice))
    verify_gateway(gateway, "bob", key_of(service))
    assert gateway.origin == ORIGIN
    with at_work(service) as (store, players):
        held = run(store.held_key(gateway.key.text))
        assert held is not None
        assert PrivateKey.from_openssh(held.private.encode()).public == gateway.key
        assert run(players.signer_of(gateway.key.text)).public == gateway.key
        (kept,) = run(store.certificates(gateway.key.text))
        assert kept.mailbox == "bob@example.org"
        assert address_hash(ORIGIN, BOB, bytes.fromhex(kept.salt)) == gateway.address
        box = run(store.mailbox_at(BOB))
        assert box is not None
        assert (box.name, box.address, box.lang, box.state) == ("bob", BOB, "en", "invited")
    with pytest.raises(HkojiError):
        verify_gateway(gateway, "carol", key_of(service))


def test_each_invitation_has_a_key_and_a_salt_of_its_own(service: Inside, alice: Player) -> None:
    one, two = read(invite(alice)), read(invite(alice, "carol", "carol@example.org", lang="it"))
    assert one.key != two.key
    assert one.address != two.address
    # The same again changes nothing, and has the same answer: an answer may be lost.
    before = rows(service, *KEPT)
    assert read(invite(alice)) == one
    assert rows(service, *KEPT) == before


def test_the_answer_and_the_log_have_no_address(service: Inside, alice: Player) -> None:
    answer = invite(alice)
    gateway = read(answer)
    opened = open_for(alice, "bob", gateway.key)
    assert opened.status == 201
    game = read_line(opened.json["lines"][0]).entry.game
    said = [answer, opened, *(service.ask("GET", path) for path in (f"/v1/games/{game}/log", f"/v1/games/{game}"))]
    for each in said:
        assert b"example.org" not in each.body.lower()


# --- who may be invited -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["", "Bob <bob@example.org>", "bob@example.org\r\nBcc: eve@example.org", "bob@example.org, eve@example.org"],
)
def test_a_text_that_is_no_address_is_refused(service: Inside, alice: Player, address: str) -> None:
    before = rows(service, *KEPT, "mail_invitation")
    answer = invite(alice, address=address)
    assert answer.status == 400
    assert not address or address not in answer.json["detail"]
    assert rows(service, *KEPT, "mail_invitation") == before


@pytest.mark.parametrize(
    "address", ["play@hkoji.example", "PLAY@HKOJI.example", "play+x@hkoji.example", f"play+b-{'a' * 26}@hkoji.example"]
)
def test_an_address_of_the_service_is_refused(service: Inside, alice: Player, address: str) -> None:
    before = rows(service, *KEPT)
    assert invite(alice, address=address).status == 422
    assert rows(service, *KEPT) == before


def test_an_unknown_language_a_reserved_name_and_a_missing_login_are_refused(service: Inside, alice: Player) -> None:
    before = rows(service, *KEPT)
    assert invite(alice, lang="tlh").status == 422
    assert invite(alice, "server").status == 409
    assert invite(alice, "No Name").status == 400
    assert invite(alice, more=1).status == 400
    alice.token = ""
    assert invite(alice).status == 401
    assert rows(service, *KEPT) == before


def test_a_service_without_mail_invites_nobody(tmp_path: Path) -> None:
    with inside(tmp_path / "data") as running:
        alice = Player(running, "alice").register()
        assert running.ask("GET", "/v1/service").json["mail"] is None
        assert invite(alice).status == 422
        assert rows(running, *KEPT)["mailbox"] == []


def test_the_service_says_its_mail_address(service: Inside) -> None:
    assert service.ask("GET", "/v1/service").json["mail"] == "play@hkoji.example"


@pytest.mark.parametrize("registration", ["closed", "code"])
def test_where_not_everybody_registers_only_the_operator_invites(tmp_path: Path, registration: str) -> None:
    data = tmp_path / "data"
    with inside(data, mail="play@hkoji.example") as running:
        alice = Player(running, "alice").register()
    with inside(data, mail="play@hkoji.example", registration=registration) as running:
        alice.service = running
        alice.login()
        assert invite(alice).status == 403
        assert rows(running, *KEPT)["mailbox"] == []
        with at_work(running, registration=registration) as (_, players):
            run(players.invite("bob", BOB, "en", None))
        assert [row[2] for row in rows(running, "outbox")["outbox"]] == ["invited"]


def test_a_player_invites_five_mailboxes_a_day(service: Inside, alice: Player) -> None:
    for number in range(MOST_INVITED_A_DAY):
        read(invite(alice, f"name{number}", f"name{number}@example.org"))
    before = rows(service, *KEPT)
    answer = invite(alice)
    assert answer.status == 429
    assert int(answer.headers["retry-after"]) > 80_000
    assert rows(service, *KEPT) == before
    carol = Player(service, "carol").register()
    read(invite(carol))


# --- what nobody learns -----------------------------------------------------------------------------------------------


def test_nobody_learns_who_plays_from_a_mailbox(service: Inside, alice: Player) -> None:
    eve = Player(service, "eve").register()
    gateway = read(invite(alice))
    # An open invitation, and then a player: what another player is told is the same, and names nobody.
    invited = invite(eve, "robert")
    accept(service)
    service.clock.pass_by(1)
    playing = invite(eve, "robert")
    assert invited.status == playing.status == 403
    assert invited.json["detail"] == playing.json["detail"]
    # A name is public. Whether the address is that of its player is not.
    service.clock.pass_by(1)
    right, wrong = invite(eve, "bob"), invite(eve, "bob", "else@example.org")
    assert right.status == wrong.status == 409
    assert right.json["detail"] == wrong.json["detail"]
    for answer in (invited, playing, right, wrong):
        assert b"alice" not in answer.body
        assert gateway.key.text.encode() not in answer.body
    # Trying is counted.
    assert invite(eve, "robert", "x@example.org").status == 201
    assert invite(eve, "rob", "y@example.org").status == 429


def test_a_reserved_name_is_registered_by_nobody_else(service: Inside, alice: Player) -> None:
    read(invite(alice))
    thief = Player(service, "bob")
    before = rows(service, "player")
    answer = thief.send_registration()
    assert answer.status == 409
    assert b"example.org" not in answer.body
    assert b"alice" not in answer.body
    assert rows(service, "player") == before
    accept(service)
    assert thief.send_registration().status == 409
    with at_work(service) as (store, _):
        found = run(store.player("bob"))
    assert found is not None
    assert found.key != thief.key.public.text


def test_a_name_that_nobody_was_asked_for_in_time_is_free(service: Inside, alice: Player) -> None:
    read(invite(alice))
    service.clock.pass_by(RESERVED_SECONDS)
    assert Player(service, "bob").send_registration().status == 201


# --- held players -----------------------------------------------------------------------------------------------------


def test_a_player_who_accepts_is_registered_with_the_held_key(service: Inside, alice: Player) -> None:
    gateway = read(invite(alice))
    assert service.ask("GET", "/v1/players/bob").status == 404
    accept(service)
    accept(service)
    found = service.ask("GET", "/v1/players/bob").json
    assert found["key"] == gateway.key.text
    assert require_strong_gateway(read_gateway(found["held"])) == gateway
    assert service.ask("GET", "/v1/players/alice").json["held"] is None
    signed = found["statement"]
    said = parse_registration(signed["text"])
    assert (said.name, said.key, said.origin) == ("bob", gateway.key, ORIGIN)
    sshsig.verify(decode_base64(signed["sig"], "signature"), gateway.key, sshsig.REGISTER, said.message, "bob")


def test_a_revoked_held_key_is_held_no_more(service: Inside, alice: Player) -> None:
    read(invite(alice))
    accept(service)
    with at_work(service) as (_, players):
        assert run(players.revoke("bob"))
        assert not run(players.revoke("alice"))
    found = service.ask("GET", "/v1/players/bob").json
    assert (found["revoked"], found["held"]) == (True, None)
    assert rows(service, "channel")["channel"] != []


# --- games ------------------------------------------------------------------------------------------------------------


def test_the_invitation_opens_one_game_of_the_player_who_invited(service: Inside, alice: Player) -> None:
    eve = Player(service, "eve").register()
    gateway = read(invite(alice))
    before = rows(service, "entry", "outbox")["outbox"]
    for player, key, status in (
        (eve, gateway.key, 403),
        (eve, None, 403),
        (alice, None, 422),
        (alice, eve.key.public, 422),
    ):
        assert open_for(player, "bob", key).status == status
        assert rows(service, "outbox")["outbox"] == before
    assert open_for(alice, "bob", gateway.key).status == 201
    assert [row[2] for row in rows(service, "outbox")["outbox"]] == ["invited"]
    assert open_for(alice, "bob", gateway.key).status == 403
    assert len(rows(service, "outbox")["outbox"]) == 1


def test_a_held_key_of_another_name_opens_nothing(service: Inside, alice: Player) -> None:
    gateway = read(invite(alice))
    Player(service, "carol").register()
    assert open_for(alice, "carol", gateway.key).status == 422
    assert open_for(alice, "dave", gateway.key).status == 422


def test_a_known_mail_player_is_invited_with_the_certified_key(service: Inside, alice: Player) -> None:
    read(invite(alice))
    accept(service)
    eve = Player(service, "eve").register()
    found = service.ask("GET", "/v1/players/bob").json["held"]
    key = require_strong_gateway(read_gateway(found)).key
    assert open_for(eve, "bob", None).status == 422
    for player in (eve, alice):
        assert open_for(player, "bob", key).status == 201


@pytest.mark.parametrize(
    ("clock", "status"), [("none", 201), ("1d", 201), ("23h/1h", 201), ("/1d", 201), ("23h", 422), ("1h/22h", 422)]
)
def test_a_game_with_a_mail_player_has_no_clock_or_a_long_one(
    service: Inside, alice: Player, clock: str, status: int
) -> None:
    gateway = read(invite(alice))
    control = parse_time_control(clock, "", "+00:00")
    before = rows(service, "outbox")
    assert open_for(alice, "bob", gateway.key, Agreement(clock=control)).status == status
    assert (rows(service, "outbox") == before) == (status != 201)


@pytest.mark.parametrize(
    ("clock", "expires", "status"),
    [
        ("23h", None, 422),
        ("30m", None, 422),
        ("12h/12h", None, 201),
        (None, None, 201),
        ("1d", "2026-11-19T12:00:00Z", 422),
        ("1d", "2027-11-20T12:00:00Z", 422),
        ("1d", "2026-12-01T12:00:00Z", 201),
    ],
)
def test_an_invitation_to_a_game_that_would_be_refused_reserves_nothing(
    service: Inside, alice: Player, clock: str | None, expires: str | None, status: int
) -> None:
    agreement = Agreement(None if clock is None else parse_time_control(clock, "", "+00:00"), expires)
    before = rows(service, *KEPT, "mail_invitation")
    answer = invite(alice, agreement=agreement.to_json())
    assert answer.status == status, answer
    after = rows(service, *KEPT, "mail_invitation")
    if status == 201:
        assert len(after["mail_invitation"]) == 1
        return
    assert (answer.json["code"], after) == ("illegal", before)
    # The name is free for anybody, and so is the mailbox.
    assert invite(Player(service, "carol").register()).status == 201


def test_a_player_who_may_ask_for_no_more_games_today_invites_nobody(tmp_path: Path) -> None:
    with inside(tmp_path / "data", mail="play@hkoji.example", daily_offers=50, daily_offers_of_new=1) as running:
        alice = Player(running, "alice").register()
        key = read(invite(alice, agreement=UNTIMED.to_json())).key
        assert open_for(alice, "bob", key).status == 201
        answer = invite(alice, "carol", "carol@example.org", agreement=UNTIMED.to_json())
        assert (answer.status, answer.json["code"]) == (429, "too-many-games")
        assert [name for _, name, _ in rows(running, "held_key")["held_key"]] == ["bob"]


def test_an_invitation_with_a_false_agreement_is_malformed(service: Inside, alice: Player) -> None:
    before = rows(service, *KEPT, "mail_invitation")
    for wrong in ({}, {**UNTIMED.to_json(), "more": 1}, {**UNTIMED.to_json(), "rated": True}):
        assert invite(alice, agreement=wrong).status == 400
    assert rows(service, *KEPT, "mail_invitation") == before


def test_the_setting_says_how_long(tmp_path: Path) -> None:
    with inside(tmp_path / "data", mail="play@hkoji.example", mail_shortest_clock=3600) as running:
        alice = Player(running, "alice").register()
        gateway = read(invite(alice))
        assert (
            open_for(alice, "bob", gateway.key, Agreement(clock=parse_time_control("1h", "", "+00:00"))).status == 201
        )


def test_two_mail_players_play_no_rated_game(service: Inside, alice: Player) -> None:
    gateway = read(invite(alice))
    other = read(invite(alice, "carol", "carol@example.org"))
    with at_work(service) as (_, players):
        accept(service, "carol")
        held = entry_kinds.Open("0" * 64, other.key, entry_kinds.Invite("bob", gateway.key), gateway=other)
        clock = parse_time_control("2d", "", "+00:00")
        with pytest.raises(HkojiError) as raised:
            run(players.verify_opening(Agreement(clock=clock, rated=True), held, "alice"))
        assert raised.value.code == "illegal"
        run(players.verify_opening(Agreement(clock=clock), held, "alice"))
        short = Agreement(clock=parse_time_control("2h", "", "+00:00"))
        for work in (
            players.verify_offer(short, "carol"),
            players.verify_opening(short, held._replace(invite=None), "carol"),
        ):
            with pytest.raises(HkojiError):
                run(work)
        run(players.verify_offer(short, "alice"))
        for refused, host in ((short, "alice"), (Agreement(clock=clock, rated=True), "carol")):
            with pytest.raises(HkojiError) as raised:
                run(players.verify_offer(refused, host, invites=True))
            assert raised.value.code == "illegal"
        run(players.verify_offer(Agreement(clock=clock, rated=True), "alice", invites=True))


@pytest.mark.parametrize("mail", ["play@hkoji.example", None])
def test_the_service_forgets_spent_tokens(tmp_path: Path, mail: str | None) -> None:
    with patch.object(keeper, "TIDY_PACE", 0.05), inside(tmp_path / "data", mail=mail) as running:
        old, late = "2026-09-20T12:00:00Z", "2026-09-22T12:00:00Z"  # 61 and 59 days before
        with at_work(running) as (store, _):
            for digest, spent in (("1" * 64, old), ("2" * 64, late), ("3" * 64, None)):
                run(mailboxes.keep_reply(store, ReplyToken(digest, "c", "bob", "", "", "turn", "", old, spent=spent)))
            let_it_tidy(running)
            kept = [run(store.reply(each * 64)) is not None for each in "123"]
    assert kept == [mail is None, True, True]
