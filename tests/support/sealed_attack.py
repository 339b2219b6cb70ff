"""A service that deals nothing and is run by one of the players, that player, and what the two can read of the other.

`SealedService` remembers every entry that was sent to it, also those that it refuses. `Opponent` plays without a
program's rules, so it can go on in as many logs of one game as the service shows. `readable` is all that both can
compute from what has left the homes of the other player.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from hkoji import referee
from hkoji.client import Client, Position
from hkoji.client.identity import create
from hkoji.client.kept.home import Home
from hkoji.client.sealing import Sealer
from hkoji.client.seats import SealedWish
from hkoji.client.transport import HttpAnswer
from hkoji.errors import HkojiError
from hkoji.game.commitments import entropy_commit
from hkoji.game.course import Course, EntryBody, Stage
from hkoji.game.entry_kinds import Join, Move, Open, Release, Seed, parse_body
from hkoji.game.entry_kinds.key_changes import Revoke
from hkoji.game.held_keys import Gateway
from hkoji.game.parts import Parts
from hkoji.game.replay import replay
from hkoji.game.sealed_parts import GivePart, LockPart
from hkoji.game.sealing import owner
from hkoji.game.submission import Submission, draft_entry, format_submission, parse_submission
from hkoji.local.local_service import LocalGameFiles
from hkoji.log.canonical import decode_base64
from hkoji.log.line import line_to_json
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.log.statement import parse_new_key
from hkoji.rules.events import Seat
from hkoji.rules.protocol import Ruleset
from hkoji.sealed.cards import card_points
from hkoji.sealed.group import GENERATOR
from hkoji.sealed.proofs import ShareStatement, verify_share
from hkoji.sealed.ristretto import ORDER
from hkoji.sealed.seal import Seal
from hkoji.sealed.sodium import quickest
from tests.support.memory_service import AT, URL, Game, LocalPlayer, LocalTransport, MemoryService
from tests.support.sealed_table import own_cards

_ROUNDS: Final = range(1, 30)


class SealedService(MemoryService):
    """The service, which offers sealed games too; `dealer`, if set, is dealt in any game that is asked for.

    `refuses` says which entries it refuses although they are legal.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.sent: list[Submission] = []
        self.dealer: str | None = None
        self.operators: list[str] = []
        self.earlier: dict[str, list[str]] = {}
        self.certificates: dict[str, Gateway] = {}
        self.refuses: Callable[[Submission], HkojiError | None] = lambda _: None

    def answer(self, method: str, path: str, body: bytes | None, token: str | None) -> HttpAnswer:
        if method == "POST" and path.endswith("/entries"):
            self.sent.append(parse_submission(body or b""))
        return super().answer(method, path, body, token)

    def _answer(
        self, method: str, path: str, query: dict[str, list[str]], body: bytes, token: str | None
    ) -> tuple[int, Any]:
        match (method, *path.strip("/").split("/")[1:]):
            case ("POST", "players", name, "key"):
                self.earlier.setdefault(name, []).append(self.players[name])
                self.players[name] = parse_new_key(json.loads(body)["text"]).key.text
                return 200, {}
            case ("POST", "games", game, "recovery"):
                return 201, self._revoke(game, self._player(token), decode_base64(json.loads(body)["proof"], "proof"))
        status, value = super()._answer(method, path, query, body, token)
        match (method, *path.strip("/").split("/")[1:]):
            case ("GET", "service"):
                value |= {"operators": self.operators, "dealers": ["sealed/v1", "server/v1"]}
            case ("GET", "players", name):
                said = {"revoked": True, "text": None, "sig": None, "new_sig": None}
                value |= {"revoked": False, "earlier": [{"key": key, **said} for key in self.earlier.get(name, ())]}
                if name in self.certificates:
                    value |= {"held": self.certificates[name].to_json()}
        return status, value

    def _revoke(self, game: str, name: str, proof: bytes) -> dict[str, Any]:  # Any: JSON
        kept = self.games[game]
        old, new = parse_public_key(self.earlier[name][-1]), parse_public_key(self.players[name])
        made = referee.revoke(kept.refereed, Revoke(new, name, old, proof), signer=self.key, at=AT)
        kept.refereed, kept.lines = made.refereed, [*kept.lines, *made.lines]
        return {"lines": [line_to_json(line) for line in made.lines]}

    def says(self, game: str, body: EntryBody) -> None:
        """Puts an entry of the service at the end of the log that is shown, whether it belongs there or not."""
        kept = self.games[game]
        kept.lines.append(referee._server_line(kept.refereed, body, self.key, kept.refereed.at))

    def says_as(self, game: str, body: EntryBody, name: str, key: PrivateKey) -> None:
        """Puts an entry of a player at the end of the log that is shown, whether it belongs there or not."""
        kept = self.games[game]
        draft = draft_entry(kept.refereed.course, body, by=name, at=AT, seen=kept.refereed.at)
        made = draft.sign(key)
        kept.lines.append(referee._receipted(made.entry, made.sig, self.key, kept.refereed.at))

    def _offer(self, options: Any) -> tuple[int, Any]:  # Any: JSON
        return super()._offer(options if self.dealer is None else {**options, "dealer": self.dealer})

    def offer(self, ruleset: Ruleset) -> str:
        """A new sealed game."""
        game = self.random.randbytes(16).hex()
        made = referee.offer(game, ruleset, None, signer=self.key, at=AT)
        self.memory.keep(game, LocalGameFiles(made.refereed, made.lines))
        return game

    def _submit(self, game: str, body: bytes) -> tuple[int, Any]:
        if (refusal := self.refuses(parse_submission(body))) is not None:
            raise refusal
        return super()._submit(game, body)

    def course(self, game: str) -> Course:
        """The game as it stands, in the log that is shown now."""
        return self.games[game].refereed.course

    def copy(self, game: str) -> Game:
        """The log of a game as it is now, which can be shown later."""
        return replace(self.games[game], lines=list(self.games[game].lines))

    @contextmanager
    def showing(self, game: str, log: Game) -> Iterator[None]:
        """Shows another log of the game during the block, which goes on in it."""
        before, self.games[game] = self.games[game], log
        try:
            yield
        finally:
            self.games[game] = before


class Opponent:
    """The player `name`, without the rules of a client."""

    def __init__(self, service: SealedService, name: str = "bob", seed: int = 0, *, deposit: bool = False) -> None:
        self.service, self.name, self.deposit = service, name, deposit
        self.random = random.Random(f"{name} {seed}")
        self.key = PrivateKey.from_seed(self.random.randbytes(32))
        self.sealed_key, self.entropy = self.random.randbytes(32), self.random.randbytes(32).hex()
        service.memory.add_player(name, self.key.public.text)

    def seat(self, game: str) -> Seat:
        return 0 if self.service.course(game).setup.names[0] == self.name else 1

    def sealer(self, game: str, seat: Seat) -> Sealer:
        ruleset = self.service.course(game).setup.ruleset
        return Sealer(self.sealed_key, game, seat, self.entropy, ruleset, self.random.randbytes)

    def send(self, game: str, body: EntryBody, deposit: GivePart | None = None) -> HttpAnswer:
        """Sends an entry, which need not be legal."""
        refereed = self.service.games[game].refereed
        draft = draft_entry(refereed.course, body, by=self.name, at=AT, seen=refereed.at)
        made = draft.sign(self.key)._replace(deposit=deposit)
        return self.service.answer("POST", f"/v1/games/{game}/entries", format_submission(made).encode(), None)

    def open(self, ruleset: Ruleset) -> str:
        """A game that this player hosts."""
        game = self.service.offer(ruleset)
        commit = entropy_commit(game, 0, self.entropy)
        parts = self.sealer(game, 0).open(self.service.course(game))
        assert self.send(game, Open(commit, self.key.public, parts=parts)).status == 201
        return game

    def join(self, game: str) -> None:
        assert self.send(game, Join(entropy_commit(game, 1, self.entropy), self.key.public)).status == 201

    def owes(self, game: str) -> bool:
        course = self.service.course(game)
        return course.stage not in (Stage.OPEN, Stage.JOIN) and course.actor == self.seat(game)

    def made(
        self, game: str, choose: Callable[[Sequence[str]], str] | None = None
    ) -> tuple[Move | Release | Seed, GivePart | None]:
        """The entry that this player owes, and its deposit."""
        course, seat = self.service.course(game), self.seat(game)
        sealer = self.sealer(game, seat)
        if course.stage in (Stage.GUEST_SEED, Stage.HOST_SEED):
            parts, share = sealer.seed(course, deposit=self.deposit)
            return Seed(self.entropy, None, parts), share
        if course.debtor is not None:
            return sealer.release(course, deposit=self.deposit)
        lines = self.service.games[game].lines
        own = own_cards(sealer, seat, (step.course for step in replay(lines).steps))
        seen = replay(lines, own).steps[-1].course
        legal = seen.state.legal_actions()
        return sealer.move(seen, (choose or self.random.choice)(legal), deposit=self.deposit)

    def step(self, game: str, choose: Callable[[Sequence[str]], str] | None = None) -> None:
        """Makes what this player owes."""
        answer = self.send(game, *self.made(game, choose))
        assert answer.status == 201, answer.body

    def play(self, game: str) -> None:
        """Plays until somebody else owes something."""
        while self.owes(game):
            self.step(game)


@dataclass
class Machine(LocalPlayer):
    """A home on a machine, whose programs keep their state in the folder `state`."""

    state: Path = Path("/nowhere")
    patch: pytest.MonkeyPatch | None = None

    @property
    def client(self) -> Client:
        assert self.patch is not None
        self.patch.setenv("XDG_STATE_HOME", str(self.state))
        return Client(Home(self.path), connect=lambda url: LocalTransport(url, self.service), say=self.said.append)

    def new(self, ruleset: Ruleset, *, deposits: bool | None = None) -> str:
        return self.client.new(ruleset, sealed=SealedWish(deposits)).game

    def join_sealed(self, game: str, *, deposits: bool | None = None) -> Position:
        with self.client.game(game) as held:
            return held.join(sealed=SealedWish(deposits))

    def release_here(self, game: str) -> Position:
        with self.client.game(game) as held:
            return held.release_here()

    def acts(self, game: str, choose: Callable[[Sequence[str]], str]) -> None:
        """Sends what is due, and a move if one is."""
        position = self.position(game)
        if position.legal:
            self.move(game, choose(position.legal))


def machine(service: SealedService, name: str, folder: Path, patch: pytest.MonkeyPatch) -> Machine:
    """A registered player's first machine."""
    found = Machine(service, name, folder / "home", [], folder / "state", patch)
    create(Home(found.path), name, None, service.random.randbytes(32))
    found.client.register(URL)
    return found


# --- what can be read -------------------------------------------------------------------------------------------------


def readable(service: SealedService, game: str, name: str, opponent: Opponent) -> dict[tuple[str, int], str]:
    """The own cards of the player `name` that follow from everything that was ever sent to the service."""
    return cards_of(service.course(game), service.sent, name, opponent.sealed_key, [opponent.entropy])


def cards_of(
    course: Course, sent: Iterable[Submission], name: str, sealed_key: bytes, entropies: Collection[str]
) -> dict[tuple[str, int], str]:
    """The own cards of the player `name` that follow from everything that was sent, by the deck and the position.

    The reader has all secrets of the opponent: the sealed key, and the entropies. A share takes the player's number off
    a point; then the reader takes off its own. It knows a card that it has read once wherever the player's number is on
    it again.
    """
    game, combine = course.setup.game, quickest()
    points = card_points(course.setup.ruleset.name, course.setup.ruleset.pack)
    seat = course.setup.seat_of(name)
    assert seat is not None
    own, theirs = list[LockPart](), list[tuple[LockPart, str]]()
    shares = list[GivePart]()
    for made in (each for each in sent if each.entry.game == game):
        parts: Parts = parse_body(made.entry.kind, made.entry.body).parts
        if parts.lock is not None:
            if made.entry.by == name:
                own.append(parts.lock)
            else:
                theirs.append((parts.lock, made.entry.prev))
        if made.entry.by == name:
            shares += [each for each in (parts.give, made.deposit) if each is not None]
    seal = Seal(sealed_key, game, 1 - seat)
    numbers = {_number(combine, seal, lock, prev, entropies) for lock, prev in theirs}
    inverses = [pow(number, -1, ORDER) for number in numbers]
    decks = [lock.deck for lock in own] + [lock.deck for lock, _ in theirs]
    cards = dict(zip(points.points, points.cards, strict=True))
    read = dict[bytes, dict[bytes, str]]()  # by the key of the player's lock
    played = set[tuple[bytes, tuple[bytes, ...]]]()
    for give in shares:
        for key in {lock.key for lock in own}:
            for deck in decks:
                if not _gives(combine, ShareStatement(game, seat, give.round, give.at, key, deck), give):
                    continue
                played.add((key, deck))
                for position, token in zip(give.at, give.tokens, strict=True):
                    for inverse in inverses:
                        if (card := cards.get(combine((inverse, token)))) is not None:
                            read.setdefault(key, {})[combine((inverse, deck[position]))] = card
    found = {}
    for key, deck in played:
        for position in range(20):
            if owner(position) == seat:
                for inverse in inverses:
                    if (card := read.get(key, {}).get(combine((inverse, deck[position])))) is not None:
                        found[deck[0].hex(), position] = card
    return found


def _gives(combine: Any, share: ShareStatement, give: GivePart) -> bool:
    points = tuple(share.deck[position] for position in share.at)
    try:
        verify_share(combine, share._replace(deck=points), give.shares)
    except HkojiError:
        return False
    return True


def _number(combine: Any, seal: Seal, lock: LockPart, prev: str, entropies: Collection[str]) -> int:
    for number, entropy in product(_ROUNDS, entropies):
        found = seal.lock_number(number, prev, entropy, lock.salt.hex())
        if combine((found, GENERATOR)) == lock.key:
            return found
    raise AssertionError("the opponent's lock was made with something else")
