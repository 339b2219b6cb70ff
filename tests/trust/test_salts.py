"""Salts come fresh from the given randomness, are never reused, and no published value can be guessed.

A commitment hides a card only if its salt is unknown, because there are only seven kinds of cards, or twenty cards. So
these tests watch every program that plays draw its salts. They also try to find the hidden cards from all public data
of a running game, by hashing every candidate in every way that a careless program might have used.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
import json
import random
import re
import secrets
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hkoji_server.service.time.service_time import ClockAndEntropy

from hkoji.arena.match import play as play_match
from hkoji.arena.plan import MatchPlan
from hkoji.bots.registry import make_bot
from hkoji.cli.output import client as shared_client
from hkoji.cli.output import out
from hkoji.client import Client, Home
from hkoji.client.kept.game import Vault
from hkoji.errors import NetworkError
from hkoji.game.commitments import Opening, entropy_of_key
from hkoji.game.entry_kinds import Move, Open, parse_body
from hkoji.local.local_game import LocalGame, step
from hkoji.local.local_games import LocalGames
from hkoji.log.canonical import decode_base64
from hkoji.log.line import parse_log
from hkoji.log.private_key import PrivateKey
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.adversary import HostileService
from tests.support.commands import current, make_move
from tests.support.memory_service import LocalPlayer, LocalTransport, begin
from tests.support.service import Player
from tests.support.service import begin as begin_over_http
from tests.support.service_in_process import Inside, inside
from tests.support.shell import run


class Drawn:
    """Randomness that remembers what it gave."""

    def __init__(self, seed: str) -> None:
        self._seed, self._numbers = seed, count()
        self.given: list[bytes] = []

    def __call__(self, size: int) -> bytes:
        made = hashlib.shake_256(f"{self._seed} {next(self._numbers)}".encode()).digest(size)
        self.given.append(made)
        return made

    def made(self, value: str) -> bool:
        """Whether these 64 hex digits are 32 bytes that were drawn in one piece and used once."""
        return self.given.count(bytes.fromhex(value)) == 1 and len(value) == 64


class Watched(LocalPlayer):
    """A player whose client draws its randomness here."""

    drawn: Drawn

    @property
    def client(self) -> Client:
        """A fresh client, as a new process would have it, but with the same source."""
        return Client(
            Home(self.path),
            entropy=self.drawn,
            connect=lambda url: LocalTransport(url, self.service),
            say=self.said.append,
        )


@pytest.fixture
def players(service: HostileService, alice: LocalPlayer, bob: LocalPlayer) -> tuple[Watched, Watched]:
    found = []
    for seat in (alice, bob):
        watched = Watched(service, seat.name, seat.path)
        watched.drawn = Drawn(seat.name)
        found.append(watched)
    return found[0], found[1]


def openings(folder: Path) -> list[Opening]:
    """All openings in a home: those of moves that were made, signed, refused or lost."""
    found: list[Opening] = []
    for file in folder.rglob("secrets.json"):
        found += Vault(file.parent).openings()
    return found


def of_keys(game: Path) -> set[str]:
    """The entropy that the keys of a home give for one of its games."""
    keys = [file for file in game.parents[1].glob("id_ed25519*") if file.suffix != ".pub"]
    offer = parse_log((game / "log.jsonl").read_bytes())[0].entry
    return {entropy_of_key(PrivateKey.from_openssh(file.read_bytes()), offer.game, offer.head) for file in keys}


def all_fresh(drawn: Drawn, homes: Iterable[Path]) -> list[str]:
    """Asserts that every salt in some homes was drawn for it alone, and all entropy is of a key. Returns the salts."""
    salts = [opening.salt for home in homes for opening in openings(home)]
    games = [file.parent for home in homes for file in home.rglob("secrets.json")]
    entropy = {game: json.loads((game / "secrets.json").read_text()).get("entropy", []) for game in games}
    assert salts
    assert len(set(salts).union(*entropy.values())) == len(salts) + sum(map(len, entropy.values()))
    assert all(drawn.made(each) for each in salts)
    assert all(set(found) <= of_keys(game) for game, found in entropy.items() if found)
    return salts


# --- every program that plays draws its salts afresh ------------------------------------------------------------------


def play_out(players: tuple[Watched, Watched], game: str, seed: int = 1) -> None:
    chance = random.Random(seed)
    clients = [player.client for player in players]
    while (mover := players[0].service.games[game].refereed.course.actor) is not None:
        make_move(clients[mover], game, chance.choice(current(clients[mover], game).legal))


@pytest.mark.parametrize("ruleset", [Hanamikoji(max_rounds=1), GeishasRoad()], ids=["hanamikoji", "geishas-road"])
def test_salts_of_whole_games(players: tuple[Watched, Watched], ruleset: Ruleset) -> None:
    """Over several games of the same two players, none is used twice."""
    for number in range(2):
        play_out(players, begin(*players, ruleset), number)
    alice, bob = (set(all_fresh(player.drawn, [player.path])) for player in players)
    assert not alice & bob
    # The published salts are exactly those that were drawn, so none was derived.
    published = set()
    for game in players[0].service.games.values():
        for line in game.lines:
            published |= {each["salt"] for each in line.entry.body.get("openings", ())}  # type: ignore[union-attr,call-overload,index]
    assert published == alice | bob


def test_a_salt_is_what_was_drawn_and_nothing_else(players: tuple[Watched, Watched]) -> None:
    """With a constant source the salts are the same: nothing but the source goes into them."""
    game = begin(*players)
    alice = players[0]
    position = alice.position(game)
    client = alice.client
    client._entropy = lambda size: b"\x07" * size
    make_move(client, game, next(action for action in position.legal if action[0] == "1"))
    assert [opening.salt for opening in openings(alice.path)] == ["07" * 32]


def test_the_default_is_the_operating_systems_randomness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (Client.__init__, LocalGames.__init__):
        assert inspect.signature(place).parameters["entropy"].default is secrets.token_bytes
    assert ClockAndEntropy().entropy is secrets.token_bytes
    monkeypatch.setenv("HKOJI_HOME", str(tmp_path))
    out.__init__()  # type: ignore[misc] # a new process has a new output
    assert shared_client()._entropy is secrets.token_bytes
    out.__init__()  # type: ignore[misc]


def test_signed_refused_and_tried_again(players: tuple[Watched, Watched]) -> None:
    """Each new entry has its own salts, also for the same place and the same cards."""
    alice = players[0]
    game = begin(*players)
    legal = alice.position(game).legal
    hiding = [action for action in legal if action[0] in "12"]
    for action in (hiding[0], hiding[0], hiding[-1]):
        alice.sign(game, action)  # offline, never sent
    assert len(openings(alice.path)) == 3
    alice.move(game, hiding[0])
    assert len(all_fresh(alice.drawn, [alice.path])) == 4


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_retry_sends_the_stored_bytes_and_draws_nothing(
    players: tuple[Watched, Watched], service: HostileService, when: str
) -> None:
    alice = players[0]
    game = begin(*players)
    action = next(action for action in alice.position(game).legal if action[0] == "2")

    def breaking(method: str, path: str) -> None:
        if path.endswith("/entries"):
            raise NetworkError("http://127.0.0.1:9", "it broke")

    setattr(service, when, breaking)
    with pytest.raises(NetworkError):
        alice.move(game, action)
    setattr(service, when, lambda _method, _path: None)
    waiting = (alice.folder(game) / "outbox.signed").read_bytes().splitlines()[-1]
    drawn = list(alice.drawn.given)
    service.requests.clear()
    service.bodies.clear()
    alice.move(game, action)
    sent = [body for (_, path), body in zip(service.requests, service.bodies, strict=True) if path.endswith("/entries")]
    assert sent == [waiting]
    assert alice.drawn.given == drawn
    assert len(openings(alice.path)) == 1
    assert [opening.to_json() for opening in openings(alice.path)] == json.loads(waiting)["opening"]


def test_batch(players: tuple[Watched, Watched]) -> None:
    games = [begin(*players), begin(*players)]
    alice = players[0]
    lines = []
    for game in games:
        action = next(action for action in alice.position(game).legal if action[0] == "1")
        lines.append(f"move {game} {action}\n")
    before = len(alice.drawn.given)
    done = run("batch", seat=alice, stdin="".join(lines))
    assert done.code == 0, done
    assert len(all_fresh(alice.drawn, [alice.path])) == 2
    assert len(alice.drawn.given) == before + 2


def test_bots_at_correspondence_games(players: tuple[Watched, Watched]) -> None:
    game = begin(*players)
    bot = make_bot("random", 1)
    while not players[0].position(game).over:
        for player in players:
            step(player.client, bot, game)
    for player in players:
        all_fresh(player.drawn, [player.path])


def test_local_play(tmp_path: Path) -> None:
    """The player and the bot draw from one source, and never get the same."""
    drawn, chance = Drawn("local games"), random.Random(1)
    local_games = LocalGames(tmp_path, entropy=drawn)
    for _ in range(2):
        seats = local_games.begin(Hanamikoji(max_rounds=1), "random")
        local_game = LocalGame(local_games, seats)
        with local_game.taken():
            while not (position := local_game.wait()).over:
                make_move(local_games.player, seats.game, chance.choice(position.legal))
        local_game.close()
    salts = all_fresh(drawn, [tmp_path / "player", tmp_path / "bots"])
    assert len(salts) >= 8


def test_the_arena_derives_each_salt_for_one_place() -> None:
    """In an arena nothing is hidden; still no salt is used twice, within a match or across matches."""
    seen: dict[str, set[str]] = {}
    for seed in ("one", "two"):
        salts: list[str] = []
        for played in play_match(MatchPlan(("random", "random"), Hanamikoji(), 3, seed), jobs=1, keep=True):
            for text in played.logs:
                for line in parse_log(text):
                    salts += [each["salt"] for each in line.entry.body.get("openings", ())]  # type: ignore[union-attr,call-overload,index,misc]
        assert len(salts) == len(set(salts)) > 20
        seen[seed] = set(salts)
    assert not seen["one"] & seen["two"]


# --- what is published cannot be guessed ------------------------------------------------------------------------------

_HASHLIKE = re.compile(r"[0-9a-f]{16,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_HASHES = ("sha256", "sha1", "md5", "sha512", "blake2b", "sha3_256")


def readable(server: Inside, reader: Player | None, game: str) -> list[str]:
    """All that a player or a spectator can read of a game, and all headers."""
    asked = [
        server.ask("GET", f"/v1/games/{game}/log"),
        server.ask("GET", f"/v1/games/{game}"),
        server.ask("GET", "/v1/games"),
        server.ask("GET", "/v1/service"),
    ]
    if reader is not None:
        asked += [server.ask("GET", path, token=reader.token) for path in (f"/v1/games/{game}/view", "/v1/me/games")]
    assert {answer.status for answer in asked} == {200}
    numbers = [answer.headers.pop("x-request-id") for answer in asked]
    assert len(set(numbers)) == len(asked)  # drawn for each request: no two runs have the same
    return [answer.body.decode() + json.dumps(answer.headers) for answer in asked]


def tokens(texts: Iterable[str]) -> set[str]:
    """Every string that could be a hash: hex digits, and the hex of decoded base64."""
    found: set[str] = set()
    for text in texts:
        found.update(_HASHLIKE.findall(text))
        for blob in _BASE64.findall(text):
            try:
                found.add(decode_base64(blob, "blob").hex())
            except Exception:  # not every run of letters is base64
                continue
    return found


def guesses(cards: Iterable[str], game: str, seqs: Iterable[int], public: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The hashes of a candidate's cards that a careless program might publish.

    With no salt, an empty, a zero or a public one, or one derived from public data, in the log's own form and in
    simpler ones; and keyed by public values.
    """
    salts = {"", "0" * 64, game}
    for value in public:
        salts |= {value, value[:64], hashlib.sha256(value.encode()).hexdigest()}
        if len(value) % 2 == 0:
            salts.add(hashlib.sha256(bytes.fromhex(value)).hexdigest())
    for card in cards:
        for salt in salts:
            for seq in seqs:
                for part in (0, 1):
                    text = f"hkoji.hidden.v1\n{game}\n{seq}\n{part}\n{card}\n{salt}\n"
                    yield card, hashlib.sha256(text.encode()).hexdigest()
                yield card, hashlib.sha256(f"{salt}{seq}{card}".encode()).hexdigest()
            for simple in (f"{card}{salt}", f"{salt}{card}", f"{card}\n{salt}\n", f"{card}\n"):
                yield card, hashlib.sha256(simple.encode()).hexdigest()
            yield card, hmac.digest(salt.encode(), card.encode(), "sha256").hex()
        for name in _HASHES:
            for simple in (card, f"{card}\n", f'"{card}"', f"1{card}", f"2{card}"):
                yield card, hashlib.new(name, simple.encode()).hexdigest()


def candidates() -> list[str]:
    """Every card that a first move may have put face down."""
    kinds = "ABCDEFG"
    return [*kinds, *(a + b for at, a in enumerate(kinds) for b in kinds[at:])]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Inside]:
    with inside(tmp_path / "data", seed="salts") as found:
        yield found


def registered_over_http(server: Inside) -> tuple[Player, Player, str]:
    host = Player(server, "alice", PrivateKey.from_seed(b"a" * 32), "aa" * 32).register()
    guest = Player(server, "bob", PrivateKey.from_seed(b"b" * 32), "bb" * 32).register()
    return host, guest, begin_over_http(host, guest)


def hit(texts: Iterable[str], game: str) -> set[str]:
    """The cards that can be guessed: those of which a hash is published."""
    found = tokens(texts)
    # A shortened hash reveals as much as a full one.
    starts = {token[:16] for token in found}
    public = {token for token in found if len(token) <= 128}
    return {card for card, digest in guesses(candidates(), game, range(4, 9), public) if digest[:16] in starts}


def commit_with(player: Player, game: str, action: str, salt: str) -> None:
    """A move with one hidden group under a weak salt."""
    course = player.course(game)
    made = player.make_move(course, action)
    (old,) = made.opening
    opening = old._replace(salt=salt)
    player.openings[game][-1] = opening
    shown = course.setup.ruleset.public(action)
    entry = player.entry(game, (course.seq, course.head), Move(shown, (opening.commitment(game),)))
    assert player.send(entry._replace(opening=(opening,))).status == 201


def hand(player: Player, game: str, seat: int) -> str:
    return str(player.course(game).state.to_json()["hands"][seat])  # type: ignore[index] # JSON


def test_no_published_hash_is_one_of_a_guess(server: Inside) -> None:
    host, guest, game = registered_over_http(server)
    for player, seat, number in ((host, 0, 1), (guest, 1, 2)):
        cards = hand(player, game, seat)[:number]
        assert player.send(player.make_move(player.course(game), f"{number}{cards}")).status == 201
    assert hit(readable(server, None, game), game) == set()
    # Each player finds their own cards, whose salts they know, and not the other's.
    for player in (host, guest):
        (opening,) = player.openings[game]
        assert hit(readable(server, player, game), game) == {opening.cards}


@pytest.mark.parametrize("salt", ["zero", "the game's id", "the hashed head", "the host's entropy"])
def test_a_careless_salt_would_be_guessed(server: Inside, salt: str) -> None:
    """Shows that the test above can fail."""
    host, _, game = registered_over_http(server)
    card = hand(host, game, 0)[0]
    (opened,) = (line for line in host.lines(game) if line.entry.kind == "open")
    assert isinstance(parse_body("open", opened.entry.body), Open)
    chosen = {
        "zero": "0" * 64,
        "the game's id": hashlib.sha256(game.encode()).hexdigest(),
        "the hashed head": hashlib.sha256(host.lines(game)[-1].entry.head.encode()).hexdigest(),
        "the host's entropy": host.entropy,
    }
    commit_with(host, game, f"1{card}", chosen[salt])
    assert hit(readable(server, None, game), game) == {card}


@pytest.mark.parametrize("salts", ["others", "the same"])
def test_everything_that_depends_on_cards_depends_on_salts(tmp_path: Path, salts: str) -> None:
    """Two games, alike up to a first move that hides a card.

    With the same card under another salt, no value published before or after is the same unless it was the same before;
    so no published value follows from the card alone. Another card under the same salt gives other values too, so the
    commitment binds.
    """
    runs: list[tuple[str, set[str], set[str]]] = []
    for number in range(2):
        with inside(tmp_path / str(number), seed="the same") as server:
            host, guest, game = registered_over_http(server)
            early = readable(server, guest, game)
            known = {*hand(host, game, 0)}
            card = min(known) if salts == "others" or number == 0 else max(known)
            salt = hashlib.sha256(f"salt {number if salts == 'others' else 0}".encode()).hexdigest()
            commit_with(host, game, f"1{card}", salt)
            runs.append((card, tokens(early), tokens(readable(server, guest, game))))
    (card, before, after), (other_card, before_too, after_too) = runs
    assert (card == other_card) == (salts == "others")
    assert before == before_too
    assert len(after - before) >= 4  # commitment, head, two signatures and more
    assert not (after - before) & after_too
