"""Compares two worlds in which the guest plays by mail, with the whole mail process.

The worlds differ in cards that a viewer cannot know. For the guest, who reads the letters, those are the cards of the
host; for all others also the cards of the guest, and what the guest writes in mails. After each step these must be
equal, but for hashes and tokens:

- for the guest: the letters, as bytes;
- for everybody: their header fields and first paragraphs, which mail programs and locked phones show; what waits in the
  outbox; the lines of the log; the metrics.
"""

from __future__ import annotations

import random
import re
import sqlite3
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from unittest.mock import patch

import structlog
from hkoji_server.log import configure_logging
from prometheus_client import generate_latest

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.mail.tokens import token_digest
from hkoji.rules.events import DECISIONS, Event
from tests.lab.leaks.chosen_deals import Dealt, chosen_deals, dealt
from tests.lab.leaks.comparison import Leak, Tally
from tests.lab.leaks.stories import OPENING, VIEWERS, Story, decisions
from tests.lab.leaks.worlds import TRUTH, Journal
from tests.support.mail.assembled import ADDRESS, AssembledMail, assembled
from tests.support.mail.post_office import Letter
from tests.support.rules import GAMES, random_game
from tests.support.service import Player

_ASIDE: Final = 0.5
_FORGED: Final = 0.1
GUEST: Final = "bob"
MAILBOX: Final = f"{GUEST}@players.example"
_CLOCK: Final = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY))
_RULESETS: Final = {game.name: game.rulesets for game in GAMES if game.name != "showdown"}
_ASIDES: Final = (
    *("show", "moves", "help", "log", "games", "rules", "evidence", "own key", "rematch", "give 1d", "resign"),
    *(
        "hello there",
        "2zz",
        "lang it",
        "lang en",
        "cards off",
        "cards on",
        "quiet 22-7",
        "new address",
        "register carla",
    ),
)
"""Lines that the guest writes beside moves."""
_TOKEN: Final = re.compile(rb"(?<![a-z2-7])[a-z2-7]{26}(?=@)|(?<=/stop/)[a-z2-7]{26}")
_HASH: Final = re.compile(rb"[0-9a-f]{4}\xe2\x80\xa6[0-9a-f]{4}|\b[0-9a-f]{40}\b|[0-9a-f]{64}|U1NIU0lH[A-Za-z0-9+/]+=*")
_FIRST: Final = re.compile(r"\n(?:\n|-{60,}\n)")
"""The line that ends the first paragraph of a letter."""
_BOUNDARY: Final = re.compile(rb"=_[0-9a-f]{32}")
_DRAWN: Final = re.compile(r'"(ms|pid|request|timestamp|database)": ("[^"]*"|[0-9.]+)')
_OUTBOX: Final = "SELECT * FROM outbox ORDER BY game, seq, event, channel"
_REPLY: Final = "SELECT purpose, game, seq FROM reply WHERE digest = ?"
_CREATED: Final = re.compile(rb"^.*_created.*\n", re.MULTILINE)


@dataclass
class MailTelling:
    """A story in one world. `deals` are active while the world does something."""

    world: AssembledMail
    events: tuple[Event, ...]
    journal: Journal
    active: MutableMapping[str, Dealt]
    deals: dict[str, Dealt] = field(default_factory=dict)
    game: str = ""
    read: int = 0
    mails: int = 0
    only_resign: set[int] = field(default_factory=set)
    """The numbers of letters that ask a resignation back: they can be answered by nothing else."""

    def __post_init__(self) -> None:
        key = PrivateKey.from_seed(bytes(range(32)))
        self.host = Player(self.world.service, "alice", key, "5e" * 32).register()

    def write(self, line: str, *, sender: str = MAILBOX) -> None:
        """Writes a mail, by default in answer to the last letter, and lets the service answer."""
        self._act()
        self.mails += 1
        raw = (
            f"From: {sender}\n"
            f"To: {ADDRESS}\n"
            f"Subject: Re: hkoji\n"
            f"Date: Fri, 20 Nov 2026 12:00:00 +0000\n"
            f"Message-ID: <{self.mails}@players.example>\n"
            f'Content-Type: text/plain; charset="utf-8"\n'
            f"\n{line}\n"
        )
        before = len(self._box)
        answered = next(each for number, each in reversed([*enumerate(self._box)]) if number not in self.only_resign)
        self.world.deliver(sender, Letter(answered).answered_to, raw.replace("\n", "\r\n").encode())
        self.world.settle()
        if line == "resign":
            self.only_resign.update(range(before, len(self._box)))

    def begin(self, story: Story) -> None:
        """Both register, and the game is played up to its first decision."""
        self._act()
        self.world.add(GUEST, MAILBOX)
        self.world.settle()
        self.write("accept")
        held = self.world.service.ask("GET", f"/v1/players/{GUEST}").json["key"]
        self.game = self.host.new(story.ruleset, entry_kinds.Invite(GUEST, parse_public_key(held)), _CLOCK)
        history = self.world.run(self.world.store.history(self.game))
        assert history
        assert history.secrets.seed is not None
        self.deals[history.secrets.seed] = dealt(self.events)
        self._act()
        self.world.settle()
        self.write("accept")
        self.host.seed(self.game)
        self.world.settle()

    def move(self, number: int) -> None:
        """One of the decisions of the story."""
        self._act()
        event = decisions(self.events)[number]
        if event.seat == 1:
            before = self.host.head(self.game)
            self.write(_line(event.action))
            assert self.host.head(self.game) != before, Letter(self._box[-1]).text
        else:
            answer = self.host.send(self.host.make_move(self.host.course(self.game), event.action))
            assert answer.status == 201, answer
            self.world.settle()

    def forge(self, number: int) -> None:
        """Somebody else writes to the token of the last letter, and orders the guest's next move."""
        event = decisions(self.events)[number]
        self.write(_line(event.action) if event.seat == 1 else "help", sender="mallory@evil.example")

    def _act(self) -> None:
        self.active.clear()
        self.active.update(self.deals)

    @property
    def _box(self) -> list[bytes]:
        return self.world.mailbox(MAILBOX).letters

    # --- what is compared -------------------------------------------------------------------------------------------

    def seen(self, viewer: str) -> Iterator[tuple[str, bytes]]:
        """The result of the last step, with the names of those who may see it in the place of hashes."""
        new, self.read = self._box[self.read :], len(self._box)
        yield "number of letters", str(len(new)).encode()
        for raw in new:
            head, _, _ = raw.partition(b"\r\n\r\n")
            letter = Letter(raw)
            event = letter.id[1:].partition(".")[0]
            yield f"header of {event}", self._named(head)
            yield f"first paragraph of {event}", self._named(_FIRST.split(letter.text)[0].encode())
            if viewer == "guest":
                yield f"text of {event}", self._named(letter.text.encode())
                for name, content in letter.attachments.items():
                    # The mails of an `evidence` differ where the tokens do.
                    yield f"attachment {name}", self._named(content) if name.endswith(".jsonl") else b""
        with closing(sqlite3.connect(self.world.data / "hkoji.sqlite3")) as database:
            yield "outbox", repr(database.execute(_OUTBOX).fetchall()).encode()
        lines = _DRAWN.sub(r'"\1": #', self.journal.take()).splitlines()
        yield "log", self._named("\n".join(lines).encode())
        yield "metrics", _CREATED.sub(b"", generate_latest(self.world.metrics._registry))

    def _named(self, text: bytes) -> bytes:
        with closing(sqlite3.connect(self.world.data / "hkoji.sqlite3")) as database:

            def name(found: re.Match[bytes]) -> bytes:
                row = database.execute(_REPLY, (token_digest(found[0].decode()),)).fetchone()
                return found[0] if row is None else f"<{' '.join(map(str, row))}>".encode()

            return _BOUNDARY.sub(b"=_", _HASH.sub(b"#", _TOKEN.sub(name, text)))


def compare(seed: int, folder: Path, steps: int = 1000) -> Tally:
    """Compares a story in two worlds, for a viewer that is chosen with it. At most so many decisions are made."""
    chance = random.Random(f"leaks by mail {seed}")
    viewer, story = VIEWERS[seed % 3], _story(seed, chance)
    tally, active = Tally(), dict[str, Dealt]()
    journals = {name: Journal() for name in (TRUTH, viewer)}
    with ExitStack() as stack:
        stack.enter_context(chosen_deals(active))
        stack.callback(structlog.reset_defaults)
        tellings = {}
        for name, events in ((TRUTH, story.events), (viewer, story.told_to(viewer, chance))):
            (folder / name).mkdir(parents=True)
            with patch.object(sys, "stderr", journals[name]):
                configure_logging("debug")
                world = stack.enter_context(assembled(folder / name, seed="leaks"))
            journals[name].take()  # with the folder of the data
            tellings[name] = MailTelling(world, events, journals[name], active)
        tally.alike += tellings[TRUTH].events == tellings[viewer].events

        def step(place: str, do: str, *given: object) -> None:
            _step(tellings, viewer, tally, f"{story.name}, {place}", do, *given)

        step("the beginning", "begin", story)
        for number in range(min(steps, len(story.decisions))):
            if chance.random() < _ASIDE:
                aside = chance.choice(_ASIDES)
                step(f"aside {aside!r}", "write", aside)
            if chance.random() < _FORGED:
                step("from elsewhere", "forge", number)
            step(f"move {number}", "move", number)
            tally.states += 1
    return tally


def _line(action: str) -> str:
    """A line of a mail that orders a move; one that began as a quotation does would be skipped."""
    return f"order {action[1:].lower()}" if action.startswith(">") else action


def _step(tellings: dict[str, MailTelling], viewer: str, tally: Tally, place: str, do: str, *given: object) -> None:
    found = []
    for telling in tellings.values():
        with patch.object(sys, "stderr", telling.journal):
            configure_logging("debug")
            getattr(telling, do)(*given)
        found.append(list(telling.seen(viewer)))
    one, two = found
    if [name for name, _ in one] != [name for name, _ in two]:
        tally.leaks.append(Leak("by mail", f"{viewer}, {place}: {[n for n, _ in one]} against {[n for n, _ in two]}"))
        return
    for (name, first), (_, second) in zip(one, two, strict=True):
        tally.answers += 1
        tally.kinds[f"by mail: {name}"] += 1
        if first != second:
            tally.leaks.append(Leak(f"by mail: {name}", f"{viewer}, {place}: {first!r} against {second!r}"))


def _story(seed: int, chance: random.Random) -> Story:
    """A game that is not played to its end: then everybody knows everything."""
    ruleset = chance.choice(_RULESETS[chance.choice(sorted(_RULESETS))])
    events = random_game(ruleset, chance.getrandbits(64)).events
    places = [at for at, event in enumerate(events) if isinstance(event, DECISIONS)]
    return Story(f"mail {seed}", ruleset, False, "key", OPENING, events[: places[-1]])
