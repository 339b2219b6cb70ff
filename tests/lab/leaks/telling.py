"""Plays a story in a world: the players' requests, step by step, with the keys, salts and entropy of that world.

Everything that the world's viewer knows is the same as in the true world: it is drawn under the name of the true one.
"""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from hkoji_server.service.games.loaded_games import summarise
from hkoji_server.store.game_values import NewGame

from hkoji import referee
from hkoji.game import entry_kinds
from hkoji.game.agreement import Agreement
from hkoji.game.commitments import Opening, entropy_commit
from hkoji.game.dealer import DuplicateTerms, seed_commit
from hkoji.game.submission import Submission, format_submission
from hkoji.log import sshsig
from hkoji.log.canonical import encode_base64
from hkoji.log.line import Entry, make_entry, parse_entry, sign_entry
from hkoji.log.link_key import link_key, make_link_statement
from hkoji.log.private_key import PrivateKey
from hkoji.log.statement import make_registration
from hkoji.rules.events import Act, Event, Seat
from tests.lab.leaks.chosen_deals import Dealt, dealt
from tests.lab.leaks.stories import SEATS_OF, Story, decisions
from tests.lab.leaks.worlds import ADDRESS, TRUTH, Answer, Request, World
from tests.support.timed_table import later
from tests.support.times import now


def chosen(session: str, whose: str, label: str) -> str:
    """32 bytes in hex that look random."""
    return sha256(f"{session} {whose} {label}".encode()).hexdigest()


@dataclass
class Person:
    """A player with a name and a key, the same in all worlds, and a login, which differs."""

    name: str
    key: PrivateKey
    token: str = ""

    def sign(self, text: str, namespace: str) -> str:
        """The base64 signature of a statement."""
        return encode_base64(self.key.sign(namespace, text.encode() + b"\n"))


class Message(NamedTuple):
    """A message of one player to the other, with its signature in base64."""

    seat: Seat
    number: int
    text: str
    sig: str
    deleted: bool = False


def registration(person: Person, at: str) -> dict[str, str]:
    """The body that registers somebody."""
    text = make_registration(at=at, key=person.key.public, name=person.name, origin=ADDRESS).text
    return {"text": text, "sig": person.sign(text, sshsig.REGISTER)}


async def arrive(world: World, person: Person, *, known: bool) -> None:
    """Registers and logs in; the token is known to this world's viewer, or differs in each world."""
    at = world.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    body = json.dumps(registration(person, at)).encode()
    answer = await world.ask(Request("register", "POST", "/v1/players", body=body))
    assert answer.status == 201, answer
    await log_in(world, person, "first", known=known)


async def log_in(world: World, person: Person, label: str, *, known: bool) -> None:
    """Logs in with the current key."""
    world.draws.use(f"login of {person.name}, {label}", secret=not known)
    text = (await world.ask(Request("challenge", "POST", "/v1/login/challenge"))).json["text"]
    body = json.dumps({"name": person.name, "text": text, "sig": person.sign(text, sshsig.LOGIN)}).encode()
    person.token = (await world.ask(Request("login", "POST", "/v1/login", body=body))).json["token"]
    world.keep_secret(person.token)


@dataclass
class Telling:
    """A story as it happens in one world.

    `events` are that world's; `viewer` cannot distinguish it from the true one.
    """

    story: Story
    world: World
    viewer: str | None
    """None: the true world, where everybody knows everything."""
    events: tuple[Event, ...]
    deals: MutableMapping[str, Dealt]
    game: str = ""
    head: str = ""
    seq: int = -1
    entries: list[Entry] = field(default_factory=list)
    made: list[tuple[Seat, Submission]] = field(default_factory=list)
    """The players' submissions that were accepted."""

    said: list[Message] = field(default_factory=list)
    """The messages about the game, in order."""

    overdue: bool = False
    """Whether time has run out, and nothing has ended the game yet."""

    async def begin(self) -> Telling:
        """Host, guest and a stranger register and log in."""
        session, name = self.world.session, self.story.name
        people = []
        for role in ("host", "guest", "outside"):
            key = PrivateKey.from_seed(bytes.fromhex(chosen(session, TRUTH, f"key of {role} of {name}")))
            person = Person(f"{role}-{name}", key)
            await arrive(self.world, person, known=self.viewer in (None, role))
            people.append(person)
        self.host, self.guest, self.stranger = people
        return self

    @property
    def last_at(self) -> str:
        """The time of record of the last entry."""
        return self.world.times[self.head]

    @property
    def seats(self) -> tuple[Person, Person]:
        """Host and guest."""
        return self.host, self.guest

    @property
    def people(self) -> tuple[Person, Person, Person]:
        """Host, guest and stranger."""
        return self.host, self.guest, self.stranger

    @property
    def names(self) -> tuple[str, str, str]:
        """The names of all three."""
        return self.host.name, self.guest.name, self.stranger.name

    async def step(self, step: str) -> tuple[Seat, Answer | None]:
        """Does a step that is an entry. Returns the seat that did it and the answer. The game must accept the step."""
        kind, _, detail = step.partition(" ")
        if kind == "offer":
            return 0, await self._offer()
        if kind == "decline":
            return 1, await self._decline()
        seat, submission = self._submission(kind, int(detail) if detail else 0)
        return seat, await self.send(seat, submission)

    async def send(self, seat: Seat, submission: Submission) -> Answer:
        """Sends an entry, which must be accepted, and learns the resulting entries."""
        path = f"/v1/games/{self.game}/entries"
        answer = await self.world.ask(Request("entry", "POST", path, body=format_submission(submission).encode()))
        assert answer.status == 201, (self.story, self.world.name, submission, answer)
        entries = self.world.learn(self.seats[seat].key, answer)
        assert entries[0] == submission.entry
        self.take(entries)
        self.made.append((seat, submission))
        return answer

    def take(self, entries: list[Entry]) -> None:
        """Appends entries to the log."""
        self.entries.extend(entries)
        self.seq, self.head = entries[-1].seq, entries[-1].head

    def viewer_is(self, seat: Seat) -> bool:
        """Whether this seat's secrets are the true ones."""
        return self.viewer is None or self._own(seat)

    # --- what is drawn --------------------------------------------------------------------------------------------

    def _drawn(self, label: str, *, known: bool) -> str:
        """Fresh bytes of this game, in hex; those that the viewer comes to know are the true world's."""
        whose = TRUTH if known or self.viewer is None else self.world.name
        value = chosen(self.world.session, whose, f"{label} of {self.story.name}")
        self.world.keep_secret(value)
        return value

    def _own(self, seat: Seat) -> bool:
        return self.viewer is not None and SEATS_OF.get(self.viewer) == seat

    def entropy(self, seat: Seat) -> str:
        """A player's entropy."""
        return self._drawn(f"entropy {seat}", known=self._own(seat) or f"seed {seat}" in self.story.opening)

    def _entropy_commit(self, seat: Seat) -> str:
        commit = entropy_commit(self.game, seat, self.entropy(seat))
        self.world.allow(commit, f"entropy commitment {seat} of {self.game[:8]}")
        return commit

    # --- the steps ------------------------------------------------------------------------------------------------

    async def _offer(self) -> Answer | None:
        answer: Answer | None = None
        if self.story.duplicate:
            line = await self._add_duplicate()
        else:
            self.world.draws.use(f"offer of {self.story.name}", secret=self.viewer is not None)
            value = {"agreement": self._agreement().to_json(), "ruleset": self.story.ruleset.to_json()}
            body = json.dumps(value).encode()
            answer = await self.world.ask(Request("offer", "POST", "/v1/offers", self.host.token, body))
            assert answer.status == 201, answer
            line = parse_entry(answer.json["line"]["entry"])
        self.game, self.seq, self.head = line.game, 0, line.head
        self.entries.append(line)
        history = await self.world.store.history(self.game)
        assert history
        seed = history.secrets.seed
        assert seed is not None
        self.deals[seed] = dealt(self.events)
        self.world.keep_secret(seed)
        if not self.story.duplicate:
            self.world.allow(seed_commit(self.game, seed), f"seed commitment of {self.game[:8]}")
        self.world.allow_line(line, self.world.key, self.now())
        return answer

    async def _decline(self) -> Answer:
        path = f"/v1/games/{self.game}/decline"
        answer = await self.world.ask(Request("decline", "POST", path, self.guest.token, b'{"why":"shorter"}'))
        assert answer.status == 201, answer
        self.take(self.world.learn(self.world.key, answer))
        return answer

    async def _add_duplicate(self) -> Entry:
        """Puts a game into the store as an organiser's program would; no request offers such a game yet."""
        game = chosen(self.world.session, TRUTH, f"id of {self.story.name}")[:32]
        deal = chosen(self.world.session, TRUTH, f"deal of {self.story.name}")[:32]
        seed = self._drawn("seed", known=False)
        terms = DuplicateTerms.bind(deal, seed)
        self.world.allow(terms.seed_commit, f"seed commitment of {game[:8]}")
        offered = referee.offer(
            game,
            self.story.ruleset,
            seed,
            signer=self.world.key,
            at=self.now(),
            agreement=self._agreement(),
            terms=terms,
        )
        summary = summarise(offered.refereed, created=offered.refereed.at)
        outages = len(await self.world.store.outages())
        await self.world.store.add_game(NewGame(summary, offered.lines[0], seed, self.host.name, now(), outages))
        return offered.lines[0].entry

    def _agreement(self) -> Agreement:
        expires = self.story.expires_in
        return self.story.agreement._replace(expires=None if expires is None else later(self.now(), expires))

    def _submission(self, kind: str, number: int) -> tuple[Seat, Submission]:
        match kind:
            case "open":
                return 0, self.entry(0, entry_kinds.Open(self._entropy_commit(0), self.host.key.public, self._invite()))
            case "join":
                sig = self._sign_by_link(1) if self.story.invited == "link" else None
                return 1, self.entry(1, entry_kinds.Join(self._entropy_commit(1), self.guest.key.public, sig))
            case "seed":
                return number, self.entry(number, entry_kinds.Seed(self.entropy(number)))
            case "cancel":
                return 0, self.entry(0, entry_kinds.Cancel())
            case "resign":
                return number, self.entry(number, entry_kinds.Resign())
        return self._move(number)

    def _invite(self) -> entry_kinds.Invite | entry_kinds.LinkInvite | None:
        if self.story.invited == "link":
            return entry_kinds.LinkInvite(self._link.public, self._sign_by_link(0))
        key = self.guest.key.public if self.story.invited == "key" else None
        return entry_kinds.Invite(self.guest.name, key) if self.story.invited else None

    @property
    def _link(self) -> PrivateKey:
        return link_key(chosen(self.world.session, TRUTH, f"code of {self.story.name}")[:32])

    def _sign_by_link(self, seat: Seat) -> bytes:
        """The signature by the key of the link over a seat's commitment, at the head."""
        person, commit = self.seats[seat], self._entropy_commit(seat)
        said = make_link_statement(
            entropy_commit=commit, game=self.game, key=person.key.public, name=person.name, prev=self.head
        )
        sig = self._link.sign(sshsig.JOIN if seat else sshsig.INVITE, said.message)
        self.world.allow(encode_base64(sig), f"signature by link {seat} of {self.game[:8]}")
        return sig

    def _move(self, number: int) -> tuple[Seat, Submission]:
        event = decisions(self.events)[number]
        if not isinstance(event, Act):
            return event.seat, self.entry(event.seat, entry_kinds.Move(event.action))
        salts = []
        for part in range(len(self.story.ruleset.hidden(event.action))):
            known = self._own(event.seat) or (number, part) in self.story.opened
            salts.append(self._drawn(f"salt {number} {part}", known=known))
        return event.seat, self.move(event.seat, event.action, salts)

    def move(self, seat: Seat, action: str, salts: list[str]) -> Submission:
        """A move of an action with its cards, under these salts; its commitments may differ between worlds."""
        ruleset, seq = self.story.ruleset, self.seq + 1
        groups = ruleset.hidden(action)
        openings = tuple(
            Opening(seq, part, group.cards, salt) for part, (group, salt) in enumerate(zip(groups, salts, strict=True))
        )
        commits = tuple(opening.commitment(self.game) for opening in openings)
        for part, commit in enumerate(commits):
            self.world.allow(commit, f"commitment {seq} {part} of {self.game[:8]}")
        submission = self.entry(seat, entry_kinds.Move(ruleset.public(action) if groups else action, commits))
        return submission._replace(opening=openings)

    def entry(self, seat: Seat, body: entry_kinds.EntryBody) -> Submission:
        """A player's signed entry at the head."""
        person = self.seats[seat]
        entry = make_entry(
            at=self.now(),
            body=body.to_json(),
            by=person.name,
            game=self.game,
            kind=body.KIND,
            prev=self.head,
            seen=self.last_at,
            seq=self.seq + 1,
        )
        return Submission(entry, sign_entry(entry, person.key))

    def now(self) -> str:
        """The time in the form that entries use."""
        return self.world.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
