"""The client of a page keeps each rule of docs/spec/log.md for clients: it refuses a lie, signs nothing, keeps proof.

Each lie is told to a guest in a game that goes on without it. A stranger with the keys audits the evidence that the
page writes.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from hkoji.cli.output import Exit
from hkoji.client.transport import HttpAnswer
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement
from hkoji.game.entry_kinds.key_changes import Delegate, Rekey, Revoke
from hkoji.game.held_keys import certify
from hkoji.log import sshsig
from hkoji.log.link_key import link_key
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import proof_message
from tests.support.adversary import (
    HostileService,
    Lie,
    added,
    another_card,
    chosen_cards,
    ends_at,
    exchanged,
    follow,
    hand,
    head_of,
    instead_of,
    lying,
    of_game,
    receipt_of,
    view_of,
    without,
)
from tests.support.guests import DAYS
from tests.support.lying_server import LyingServer, lying_server
from tests.support.memory_service import AT
from tests.support.page_modules import run_module
from tests.support.page_player import KeptProcesses, PagePlayer, RefusedByPageError, kept_processes, page_player
from tests.support.service import Player
from tests.support.shell import run

MALLORY = PrivateKey.from_seed(b"\x07" * 32)
HELD = PrivateKey.from_seed(b"\x08" * 32)
LATER = "2026-11-20T12:02:01Z"
MONTHS_LATER = "2027-03-20T12:00:00Z"


class Scene(NamedTuple):
    """A game of alice, who has moved, and of bob, who plays in a page and has not looked since."""

    server: LyingServer
    alice: Player
    bob: PagePlayer
    game: str

    @property
    def service(self) -> HostileService:
        return self.server.service

    def proof(self, player: str, new: PrivateKey, after: int) -> bytes:
        """The new key's proof for the place after an entry."""
        last = self.service.games[self.game].lines[after].entry
        old = parse_public_key(self.service.players[player])
        place = {"game": self.game, "prev": last.head, "seq": last.seq + 1}
        message = proof_message(key=new.public, name=player, old=old, **place)  # type: ignore[arg-type] # by name
        return new.sign(sshsig.REKEY, message)

    def kept(self) -> dict[str, object]:
        """All that bob's browser keeps but evidence."""
        return {each: self.bob.do("list", store=each) for each in ("lines", "outbox", "pins", "games", "heads")}

    def proven(self) -> set[str]:
        """The names that bob's file of evidence convicts, by `hkoji audit`, whose exit code says the same."""
        file = self.bob.folder / "evidence.jsonl"
        file.write_text(self.bob.game(self.game, "evidence", {"cards": True}))
        keys = {**self.service.players, "server": self.service.key.public.text}
        done = run("audit", str(file), *(word for name in keys for word in ("--key", f"{name}={keys[name]}")), "--json")
        found = {each["signer"] for each in json.loads(done.out.splitlines()[0])["findings"]} - {None}
        assert (done.code == Exit.AUDIT) == bool(found), done
        return found

    def refuses(self, key: str, *lies: Lie, proof: set[str] | None = None) -> RefusedByPageError:
        """Checks that bob refuses the lies each time, sends nothing, keeps nothing, and goes on without them."""
        before, sent = self.kept(), self.server.posts
        with lying(self.service, *lies):
            for _ in range(2):
                with pytest.raises(RefusedByPageError, match=key) as refused:
                    self.bob.game(self.game, "refresh")
        assert refused.value.key == key
        assert self.kept() == before
        assert self.server.posts == sent
        self.bob.game(self.game, "refresh")
        assert proof is None or self.proven() == proof
        return refused.value


def begin(server: LyingServer, alice: Player, bob: PagePlayer, agreement: Agreement = UNTIMED) -> str:
    code = secrets.token_hex(16)
    game = alice.new(agreement=agreement, link=link_key(code))
    bob.join(f"{server.url}/i/{game}#{code}")
    alice.seed(game)
    bob.game(game, "refresh")
    return game


def move(alice: Player, server: LyingServer, game: str) -> None:
    """Alice plays three cards, of which bob must choose."""
    action = next(each for each in server.legal(game, 0) if each[0] == "3")
    answer = alice.send(alice.entry(game, alice.head(game), entry_kinds.Move(action)))
    assert answer.status == 201, answer


@pytest.fixture
def server() -> Iterator[LyingServer]:
    with lying_server(HostileService()) as running:
        yield running


@pytest.fixture(scope="module")
def kept() -> Iterator[KeptProcesses]:
    with kept_processes() as processes:
        yield processes


@pytest.fixture
def scene(server: LyingServer, tmp_path: Path, kept: KeptProcesses) -> Iterator[Scene]:
    with page_player(server.url, tmp_path / "bob", kept) as bob:
        alice = Player(server, "alice").register()
        bob.arrive("bob")
        yield Scene(server, alice, bob, begin(server, alice, bob, DAYS))


def moved(scene: Scene) -> Scene:
    move(scene.alice, scene.server, scene.game)
    return scene


# --- the log ----------------------------------------------------------------------------------------------------------

LOGS: dict[str, tuple[str, Callable[[Scene], Lie], set[str]]] = {
    "shorter": ("log-shorter", lambda _: ends_at(3), set()),
    "forked": ("log-differs", lambda s: instead_of(4, entry_kinds.Resign(), "alice", s.alice.key), {"server"}),
    "forked by the service": ("log-differs", lambda _: instead_of(4, entry_kinds.Timeout(1)), {"server"}),
    "receipt of another entry": ("log-fails", lambda _: receipt_of(5, 4), set()),
    "early timeout": ("log-fails", lambda _: added(entry_kinds.Timeout(1)), {"server"}),
    "own move by another key": ("log-fails", lambda _: added(entry_kinds.Move("-A"), by="bob", key=MALLORY), set()),
    "late": ("entry-late", lambda s: instead_of(5, entry_kinds.Move("3ABC"), "alice", s.alice.key, at=MONTHS_LATER),
             {"server"}),
    "forged rekey": ("log-fails", lambda s: instead_of(
        5, Rekey(MALLORY.public, s.alice.key.public, s.proof("alice", MALLORY, 4)), "alice", MALLORY), set()),
}  # fmt: skip


@pytest.mark.parametrize(("key", "lie", "proof"), LOGS.values(), ids=LOGS)
def test_a_log_that_does_not_hold(scene: Scene, key: str, lie: Callable[[Scene], Lie], proof: set[str]) -> None:
    moved(scene).refuses(key, lie(scene))
    assert proof <= scene.proven() <= {"server"}


@pytest.mark.parametrize("lie", [without(5), exchanged(5)], ids=["left out", "in another order"])
def test_entries_that_are_not_as_they_were(scene: Scene, lie: Lie) -> None:
    body = Rekey(MALLORY.public, scene.alice.key.public, scene.proof("alice", MALLORY, 4))
    assert scene.alice.send(scene.alice.entry(scene.game, scene.alice.head(scene.game), body)).status == 201
    scene.alice.key = MALLORY
    moved(scene).refuses("log-fails", lie, proof=set())


def test_another_games_log(scene: Scene) -> None:
    other = begin(scene.server, scene.alice, scene.bob)
    moved(scene).refuses("log-differs", of_game(other))


def test_a_receipt_that_is_not_for_the_own_entry(scene: Scene) -> None:
    moved(scene)
    scene.bob.game(scene.game, "refresh")
    old = scene.service.games[scene.game].lines[4].receipt
    assert old is not None
    sig = json.loads(scene.server.answer("GET", f"/v1/games/{scene.game}/log?after=3", b"", None).body.splitlines()[0])

    def change(path: str, answer: HttpAnswer) -> HttpAnswer:
        if not path.endswith("/entries"):
            return answer
        return answer._replace(body=json.dumps({**answer.json(), "receipt": sig["receipt"]}).encode())

    scene.server.change = change
    with pytest.raises(RefusedByPageError, match="receipt-false"):
        scene.bob.game(scene.game, "move", scene.server.legal(scene.game, 1)[0])
    assert len(scene.bob.do("list", store="outbox")) == 1  # it is kept, and sent again
    scene.server.change = lambda _path, answer: answer
    scene.bob.game(scene.game, "refresh")
    assert scene.bob.do("list", store="outbox") == []


# --- cards ------------------------------------------------------------------------------------------------------------


def test_a_hand_that_changes(scene: Scene) -> None:
    cards = scene.service.games[scene.game].refereed.course.dealt[0][1]
    moved(scene).refuses("view-shrinks", hand(another_card(cards)), proof={"server"})


@pytest.mark.parametrize("fields", [{"seat": 0}, {"seq": 3}, {"head": "0" * 64}])
def test_a_view_of_another_seat_or_moment(scene: Scene, fields: dict[str, object]) -> None:
    moved(scene).refuses("view-elsewhere", view_of(**fields))


def test_a_view_of_another_game(scene: Scene) -> None:
    moved(scene).refuses("another-game", view_of(game="0" * 32), proof=set())


def test_a_wrong_hand_from_the_start_is_found_at_the_end(
    server: LyingServer, tmp_path: Path, kept: KeptProcesses
) -> None:
    with page_player(server.url, tmp_path / "bob", kept) as bob:
        alice = Player(server, "alice").register()
        bob.arrive("bob")

        def lie(telling: object) -> None:
            course = telling.service.games[telling.game].refereed.course  # type: ignore[attr-defined] # a Telling
            if course.dealt:
                hand(another_card(course.dealt[0][1]))(telling)  # type: ignore[arg-type] # a Telling

        with lying(server.service, lie):
            scene = Scene(server, alice, bob, begin(server, alice, bob))
        assert scene.proven() == set()
        assert alice.send(alice.entry(scene.game, alice.head(scene.game), entry_kinds.Resign())).status == 201
        with lying(server.service, lie), pytest.raises(RefusedByPageError, match="view-not-dealt"):
            bob.game(scene.game, "refresh")
        assert scene.proven() == {"server"}


def test_a_legal_action_with_a_card_outside_the_hand(scene: Scene) -> None:
    move(scene.alice, scene.server, scene.game)
    missing = next(
        card for card in "ABCDEFG" if card not in scene.service.games[scene.game].refereed.course.dealt[0][1]
    )

    def change(path: str, answer: HttpAnswer) -> HttpAnswer:
        if not path.endswith("/view"):
            return answer
        return answer._replace(body=json.dumps({**answer.json(), "legal": [f"1{missing}"]}).encode())

    scene.server.change = change
    before = scene.kept()
    with pytest.raises(RefusedByPageError, match="legal-outside-hand"):
        scene.bob.game(scene.game, "refresh")
    assert scene.kept() == before


# --- signed heads -----------------------------------------------------------------------------------------------------


def test_a_head_that_contradicts_the_log(scene: Scene) -> None:
    scene.refuses("head-differs", head_of(head="ab" * 32), proof={"server"})


def test_a_move_that_was_held_back_convicts(scene: Scene) -> None:
    with lying(scene.service, head_of(at=LATER)):
        scene.bob.game(scene.game, "refresh")
    before = scene.kept()
    moved(scene)
    for _ in range(2):
        with pytest.raises(RefusedByPageError, match="head-later"):
            scene.bob.game(scene.game, "refresh")
    assert scene.kept() == before
    assert scene.proven() == {"server"}


# --- keys -------------------------------------------------------------------------------------------------------------


def test_a_new_key_that_the_old_one_has_signed_for_is_followed(scene: Scene) -> None:
    body = Rekey(MALLORY.public, scene.alice.key.public, scene.proof("alice", MALLORY, 4))
    assert scene.alice.send(scene.alice.entry(scene.game, scene.alice.head(scene.game), body)).status == 201
    scene.bob.game(scene.game, "refresh")
    assert ["key-followed", {"fingerprint": MALLORY.public.fingerprint, "name": "alice"}] in scene.bob.do("remarks")
    assert {each["name"]: each["how"] for each in scene.bob.do("list", store="pins")}["alice"] == "followed"


def test_a_key_that_only_the_service_vouches_for(scene: Scene) -> None:
    body = Revoke(MALLORY.public, "alice", scene.alice.key.public, scene.proof("alice", MALLORY, 4))
    found = scene.refuses("key-vouched", added(body))
    assert found.values["shown"] == MALLORY.public.fingerprint


def test_the_own_seat_given_away(scene: Scene) -> None:
    own = parse_public_key(scene.service.players["bob"])
    body = Revoke(MALLORY.public, "bob", own, moved(scene).proof("bob", MALLORY, 5))
    scene.refuses("seat-taken-over", added(body))


def test_another_key_of_a_known_player(scene: Scene) -> None:
    """The service lets a stranger host a game under the name of a player whom bob knows."""
    scene.service.players["alice"] = MALLORY.public.text
    mallory = Player(scene.server, "alice", key=MALLORY).login()
    code = secrets.token_hex(16)
    game, sent = mallory.new(link=link_key(code)), scene.server.posts
    with pytest.raises(RefusedByPageError, match="another-key") as refused:
        scene.bob.join(f"{scene.server.url}/i/{game}#{code}")
    assert refused.value.values["known"] == scene.alice.key.public.fingerprint
    assert scene.server.posts == sent


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_known_player_said_to_be_held(scene: Scene, elsewhere: bool) -> None:
    origin = "https://other.example" if elsewhere else scene.server.url
    gateway = certify(scene.service.key, address="ab" * 32, at=AT, key=HELD.public, name="alice", origin=origin)
    body = entry_kinds.Open("cd" * 32, HELD.public, None, gateway, MailClaim("ab" * 32, MailGrade.TOKEN))
    game = scene.alice.offer()
    lines = scene.service.games[game].lines
    sig = HELD.sign(sshsig.GATEWAY, follow(scene.service.key, lines[0], body, "alice", HELD).entry.message)
    lines.append(follow(scene.service.key, lines[0], body, "alice", HELD)._replace(sig=sig))
    sent = scene.server.posts
    with pytest.raises(RefusedByPageError, match="held-elsewhere" if elsewhere else "held-instead"):
        scene.bob.game(game, "refresh")
    assert scene.server.posts == sent


def test_a_host_by_mail_is_said_before_the_join(scene: Scene) -> None:
    origin = scene.server.url
    gateway = certify(scene.service.key, address="ab" * 32, at=AT, key=HELD.public, name="carol", origin=origin)
    body = entry_kinds.Open(
        "cd" * 32, HELD.public, entry_kinds.Invite("bob"), gateway, MailClaim("ab" * 32, MailGrade.TOKEN)
    )
    game = scene.alice.offer()
    lines = scene.service.games[game].lines
    line = follow(scene.service.key, lines[0], body, "carol", HELD)
    lines.append(line._replace(sig=HELD.sign(sshsig.GATEWAY, line.entry.message)))
    sent = scene.server.posts
    scene.bob.game(game, "refresh")
    assert ["held-player", {"entry": 2, "name": "carol"}] in scene.bob.do("remarks")
    assert scene.server.posts == sent


def test_a_delegate_is_followed_and_reported(scene: Scene) -> None:
    key, origin = scene.service.key, scene.server.url
    gateway = certify(key, address="ab" * 32, at=AT, key=HELD.public, name="alice", origin=origin)
    body = Delegate(gateway, MailGrade.TOKEN)
    assert scene.alice.send(scene.alice.entry(scene.game, scene.alice.head(scene.game), body)).status == 201
    scene.bob.game(scene.game, "refresh")
    assert ["held-since", {"entry": 6, "name": "alice"}] in scene.bob.do("remarks")


def test_a_delegate_to_another_service(scene: Scene) -> None:
    origin = "https://other.example"
    key = scene.service.key
    gateway = certify(key, address="ab" * 32, at=AT, key=HELD.public, name="alice", origin=origin)
    refused = scene.refuses(
        "held-elsewhere", added(Delegate(gateway, MailGrade.TOKEN), by="alice", key=scene.alice.key)
    )
    assert refused.values == {"name": "alice", "origin": origin}


# --- links ------------------------------------------------------------------------------------------------------------


def test_a_game_behind_a_link_that_another_code_has_opened(scene: Scene) -> None:
    game, sent = scene.alice.new(link=link_key("0" * 32)), scene.server.posts
    with pytest.raises(RefusedByPageError, match="link-differs"):
        scene.bob.join(f"{scene.server.url}/i/{game}#{'1' * 32}")
    assert scene.server.posts == sent


def test_a_dealer_that_was_not_asked_for(scene: Scene) -> None:
    code = secrets.token_hex(16)
    with chosen_cards():
        game = scene.alice.new(link=link_key(code))
    for_all = scene.alice.new()
    sent = scene.server.posts
    with pytest.raises(RefusedByPageError, match="dealer-alone"):
        scene.bob.join(f"{scene.server.url}/i/{game}#{code}")
    assert scene.server.posts == sent
    assert [line.entry.kind for line in scene.service.games[game].lines] == ["offer", "open"]
    scene.bob.game(for_all, "join", {"seen": scene.alice.head(for_all)[1]})  # the game with the usual dealer


def test_a_game_that_changes_after_it_was_shown(scene: Scene) -> None:
    code = secrets.token_hex(16)
    game = scene.alice.new(link=link_key(code))
    scene.bob.do("link", text=f"{scene.server.url}/i/{game}#{code}")
    sent = scene.server.posts
    with pytest.raises(RefusedByPageError, match="game-changed"):
        scene.bob.game(game, "join", {"seen": "ab" * 32})
    assert scene.server.posts == sent


# --- evidence ---------------------------------------------------------------------------------------------------------


def test_the_evidence_of_a_game_has_an_end() -> None:
    """No service can fill the storage of a browser by what it signs: 3.25 MiB of a game are kept, as by the command."""
    size = 40_000
    kept, length = run_module("node", "evidence.js", size)
    room = {"view": 2**20, "head": 2**19, "refused": 2**20 + 3 * 2**18}
    assert kept.keys() == room.keys()
    for kind, number in kept.items():
        assert room[kind] - size - 200 < number * (size + 200)
        assert number * size < room[kind]
    assert 3.2 * 2**20 - 3 * size < length < 3.25 * 2**20 + 200


# --- logins, addresses and clocks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("field", "key"), [("origin", "login-elsewhere"), ("extra", "check-form")])
def test_a_login_for_another_place_is_not_signed(
    server: LyingServer, tmp_path: Path, kept: KeptProcesses, field: str, key: str
) -> None:
    def change(path: str, answer: HttpAnswer) -> HttpAnswer:
        if path != "/v1/login/challenge":
            return answer
        said = {**json.loads(answer.json()["text"]), field: "https://other.example"}
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return answer._replace(body=json.dumps({"text": text}).encode())

    with page_player(server.url, tmp_path / "bob", kept) as bob:
        bob.arrive("bob")
        server.change = change
        with pytest.raises(RefusedByPageError, match=key):
            bob.session("token")
        assert ("POST", "/v1/login") not in server.asked


def test_a_redirect_is_not_followed(scene: Scene) -> None:
    with lying_server(HostileService()) as other:
        scene.server.redirect = other.url
        with pytest.raises(RefusedByPageError, match="problem-no-answer"):
            scene.bob.game(scene.game, "refresh")
        assert other.asked == []


def test_another_origin_than_the_address(server: LyingServer, tmp_path: Path, kept: KeptProcesses) -> None:
    def change(path: str, answer: HttpAnswer) -> HttpAnswer:
        if path != "/v1/service":
            return answer
        return answer._replace(body=json.dumps({**answer.json(), "origin": "https://other.example"}).encode())

    server.change = change
    with (
        page_player(server.url, tmp_path / "bob", kept) as bob,
        pytest.raises(RefusedByPageError, match="other-origin"),
    ):
        bob.do("meet")


def test_another_key_of_the_service_is_another_service(scene: Scene) -> None:
    scene.service.key = MALLORY
    scene.bob.close()
    with pytest.raises(RefusedByPageError, match="other-service-key"):
        scene.bob.do("meet")


def test_a_clock_that_is_far_off_is_said_once(scene: Scene) -> None:
    found = [key for key, _ in scene.bob.do("remarks")]
    assert found.count("clock-of-device") == 1  # the service is at another day than this machine
    assert "receipt-time" not in found
    scene.server.headers["Hkoji-Time"] = "2026-11-20T13:00:00Z"
    moved(scene)
    scene.bob.game(scene.game, "refresh")
    scene.bob.game(scene.game, "move", scene.server.legal(scene.game, 1)[0])
    assert "receipt-time" in [key for key, _ in scene.bob.do("remarks")]
