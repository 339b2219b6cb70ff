"""Stories of one mail: the data of a service just before a mail comes, and that mail.

Each is made in this process, with a clock that shows what it was two hours ago. The world catches the last mail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.log.public_key import parse_public_key
from hkoji.mail.letters.mailbox import ConfirmWhat
from tests.support.mail.assembled import AssembledMail, assembled
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, letters
from tests.support.mail.reading import command_address, has_command_address, offered
from tests.support.mail.signing import SigningProvider
from tests.support.service import Player
from tests.support.service_in_process import Clock
from tests.support.timed_games import a_wish, state

DOMAIN: Final = "players.example"
_DAYS: Final = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY))
_BEFORE: Final = timedelta(hours=2)
_STEPS: Final = 3
"""A game by mail is dealt after two: each sends the seed of one seat. Then the letter about the turn comes."""


class SentMail(NamedTuple):
    """A mail with its envelope."""

    sender: str
    recipient: str
    raw: bytes


@dataclass
class StoryWorld(AssembledMail):
    """A world in which the provider of all players signs their mails. While it is `catching`, it gets no mail."""

    catching: bool = False

    def __post_init__(self) -> None:
        self.caught: list[SentMail] = []
        self.provider = SigningProvider()

    def signed(self, sender: str, raw: bytes) -> bytes:
        signed = self.provider(raw, self.service.clock.now.strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.records = {name: [record.decode() for record in records] for name, records in self.provider.dns.items()}
        return signed

    def deliver(self, sender: str, to: str, raw: bytes) -> None:
        if self.catching:
            self.caught.append(SentMail(sender, to, raw))
        else:
            super().deliver(sender, to, raw)

    # --- people ---------------------------------------------------------------------------------------------------

    def client(self, name: str = "alice") -> Player:
        """Somebody with a client."""
        return Player(self.service, name).register()

    def stranger(self, name: str) -> MailboxPlayer:
        """The owner of a mailbox of whom the service knows nothing."""
        return MailboxPlayer(self.mailbox(f"{name}@{DOMAIN}"))

    def by_mail(self, name: str = "bob") -> MailboxPlayer:
        """A mail player, whom the operator has added."""
        return self.all_by_mail([name])[0]

    def all_by_mail(self, names: Iterable[str]) -> list[MailboxPlayer]:
        """The same for several names."""
        players = [self.stranger(name) for name in names]
        for player in players:
            self.add(player.name, player.mailbox.address)
        self.settle()
        for player in players:
            player.answer(newest(player), "accept")
        self.settle()
        return players

    def last(self, player: MailboxPlayer, event: str = "") -> Letter:
        """The last letter of a mailbox, or the last one about an event: it may follow from what others do."""
        for _ in range(_STEPS):
            self.settle()
        return newest(player, event)

    def commands(self, player: MailboxPlayer) -> str:
        """The address for commands that a player knows."""
        return command_address(next(each for each in letters(player.mailbox) if has_command_address(each)))

    # --- games ----------------------------------------------------------------------------------------------------

    def invited(self, host: Player, name: str = "bob") -> str:
        """A game to which the owner of a mailbox is invited. Returns its id."""
        known = self.service.ask("GET", f"/v1/players/{name}")
        address = self.stranger(name).mailbox.address
        key = (
            known.json["key"]
            if known.status == 200
            else self.run(self.players.invite(name, address, "en", host.name)).key.text
        )
        return host.new(None, entry_kinds.Invite(name, parse_public_key(key)), _DAYS)

    def at_turn(self, host: Player, guest: MailboxPlayer) -> tuple[str, Letter]:
        """A game in which a mail player owes a move: its id, and the letter that says so."""
        return self.at_turns(host, [guest])[0]

    def at_turns(self, host: Player, guests: Sequence[MailboxPlayer]) -> list[tuple[str, Letter]]:
        """The same for several mail players."""
        games = [self.invited(host, guest.name) for guest in guests]
        self.settle()
        for guest in guests:
            guest.answer(newest(guest, "invited"), "accept")
        self.settle()
        for game in games:
            host.seed(game)
            while (course := host.course(game)).actor == 0:
                assert host.send(host.make_move(course, course.state.legal_actions()[0])).status == 201
        self.settle()
        return [(game, newest(guest, "turn")) for game, guest in zip(games, guests, strict=True)]


def newest(player: MailboxPlayer, event: str = "") -> Letter:
    """The newest letter of a mailbox, or the newest about an event."""
    return next(each for each in reversed(letters(player.mailbox)) if each.id.startswith(f"<{event}"))


def _answer(*lines: str, sender: str = "") -> Callable[[StoryWorld], None]:
    """Bob owes a move, and answers the letter with these lines; `MOVE` stands for one."""

    def write(world: StoryWorld) -> None:
        bob = world.by_mail()
        _, letter = world.at_turn(world.client(), bob)
        said = [offered(letter)[0] if line == "MOVE" else line for line in lines]
        world.catching = True
        (world.stranger(sender) if sender else bob).answer(letter, *said)

    return write


def _insist(line: str, *, wished: bool = False) -> Callable[[StoryWorld], None]:
    """Bob answers the letter that asks whether he means it. If it is `wished`, alice has called the game off before."""

    def write(world: StoryWorld) -> None:
        alice, bob = world.client(), world.by_mail()
        game, letter = world.at_turn(alice, bob)
        if wished:
            assert state(alice, game, a_wish(alice, game)).status == 201
        bob.answer(letter, line)
        asked = world.last(bob, "answer")
        world.catching = True
        bob.answer(asked, line)

    return write


def _give(world: StoryWorld) -> None:
    alice, bob = world.client(), world.by_mail()
    game, letter = world.at_turn(alice, bob)
    while alice.course(game).actor == 1:
        bob.answer(letter, offered(letter)[0])
        letter = world.last(bob)
    world.catching = True
    bob.answer(letter, "give 1d")


def _command(*lines: str) -> Callable[[StoryWorld], None]:
    """Bob writes to his address for commands."""

    def write(world: StoryWorld) -> None:
        world.client()
        world.by_mail("carol")
        bob = world.by_mail()
        world.catching = True
        bob.write(world.commands(bob), "a mail", *lines)

    return write


def _invitation(line: str, *, known: bool = False) -> Callable[[StoryWorld], None]:
    """Bob answers the invitation to a game."""

    def write(world: StoryWorld) -> None:
        alice = world.client()
        bob = world.by_mail() if known else world.stranger("bob")
        world.invited(alice)
        letter = world.last(bob, "invited")
        world.catching = True
        bob.answer(letter, line)

    return write


def _opened(world: StoryWorld, guest: str) -> tuple[MailboxPlayer, Letter]:
    """Bob opens a game for somebody. Returns him, and the answer that he gets."""
    bob = world.by_mail()
    bob.write(world.commands(bob), "a game", f"new hanamikoji {guest} {guest}@{DOMAIN}")
    return bob, world.last(bob, "answer")


def _cancel(world: StoryWorld) -> None:
    world.client()
    bob, letter = _opened(world, "alice")
    world.catching = True
    bob.answer(letter, "cancel")


def _accept_by_mail(world: StoryWorld) -> None:
    """The service sends the seeds of both seats then, and the game begins."""
    carol = world.by_mail("carol")
    _opened(world, "carol")
    letter = world.last(carol, "invited")
    world.catching = True
    carol.answer(letter, "accept")


def _rematch(world: StoryWorld) -> None:
    alice, bob = world.client(), world.by_mail()
    game, _ = world.at_turn(alice, bob)
    assert alice.send(alice.entry(game, alice.head(game), entry_kinds.Resign())).status == 201
    letter = world.last(bob, "over")
    world.catching = True
    bob.answer(letter, "rematch")


def _rematch_by_mail(world: StoryWorld) -> None:
    """Carol, who plays by mail too, has asked for the rematch before."""
    carol = world.by_mail("carol")
    bob, _ = _opened(world, "carol")
    carol.answer(world.last(carol, "invited"), "accept")
    bob.answer(world.last(bob, "turn"), "resign")
    bob.answer(world.last(bob, "answer"), "resign")
    over = world.last(bob, "answer")
    carol.answer(world.last(carol, "over"), "rematch")
    world.settle()
    world.catching = True
    bob.answer(over, "rematch")


def _confirm(what: ConfirmWhat, name: str, by: str | None) -> Callable[[StoryWorld], None]:
    """The owner of a mailbox, in which nobody plays yet, answers with `yes`."""

    def write(world: StoryWorld) -> None:
        bob = world.by_mail()
        world.at_turn(world.client(), bob)
        dave = world.stranger("dave")
        world.run(world.players.ask(what, name, dave.mailbox.address, "en", by))
        letter = world.last(dave, "confirm")
        world.catching = True
        dave.answer(letter, "yes")

    return write


class Story(NamedTuple):
    """The way to a mail, and the answer to it."""

    write: Callable[[StoryWorld], None]
    answer: str


STORIES: Final = {
    "move": Story(_answer("MOVE"), "on record"),
    "move and a setting": Story(_answer("MOVE", "lang it"), "several"),
    "give": Story(_give, "gave"),
    "resign": Story(_insist("resign"), "on record"),
    "call off": Story(_insist("call off"), "called off"),
    "call off, the last": Story(_insist("call off", wished=True), "on record"),
    "asked back": Story(_answer("MOVE", sender="mallory"), "asked back"),
    "refused": Story(_answer("zzz"), "not done"),
    "two commands": Story(_answer("MOVE", "resign"), "not done"),
    "lang": Story(_answer("lang it"), "setting"),
    "quiet": Story(_answer("quiet 22-7"), "setting"),
    "stop": Story(_answer("stop"), "stopped"),
    "own key": Story(_answer("own key"), "code"),
    "accept, new": Story(_invitation("accept"), "welcome"),
    "accept, known": Story(_invitation("accept", known=True), "on record"),
    "accept, by mail": Story(_accept_by_mail, "on record"),
    "decline": Story(_invitation("decline"), "declined"),
    "cancel": Story(_cancel, "on record"),
    "new, unknown": Story(_command(f"new hanamikoji erin erin@{DOMAIN}"), "on record"),
    "new, known": Story(_command(f"new hanamikoji alice alice@{DOMAIN}"), "on record"),
    "new, by mail": Story(_command(f"new hanamikoji carol carol@{DOMAIN}"), "on record"),
    "rematch, opened": Story(_rematch, "on record"),
    "rematch, joined": Story(_rematch_by_mail, "on record"),
    "yes, registers": Story(_confirm(ConfirmWhat.REGISTER, "dave", f"dave@{DOMAIN}"), "welcome"),
    "yes, moves": Story(_confirm(ConfirmWhat.MOVE, "bob", None), "confirmed"),
}
"""By name."""


class Before(NamedTuple):
    """The data of a service before mails come: an SQLite file, the DNS, and which mailboxes there are."""

    database: Path
    records: dict[str, tuple[bytes, ...]]
    mailboxes: tuple[str, ...]
    mails: list[SentMail]


def tell(write: Callable[[StoryWorld], None], folder: Path) -> Before:
    """Makes the data for a story, in an empty folder."""
    clock = Clock(datetime.now(UTC) - _BEFORE)
    with assembled(folder, StoryWorld, clock=clock) as world:
        assert isinstance(world, StoryWorld)
        write(world)
        records = {f"{name}.": tuple(map(str.encode, found)) for name, found in world.records.items()}
        return Before(folder / "hkoji.sqlite3", records, (*world.boxes, f"erin@{DOMAIN}"), world.caught)
