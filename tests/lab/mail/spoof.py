"""Sends mails that are not what they seem to a service, and compares what becomes of each with the table `spoof.txt`.

Each line of the table is tried with each token, in a game of its own. So the games that have another entry afterwards
must be exactly those for which the table says that an order is done.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from hkoji.game import entry_kinds
from hkoji.game.agreement import DAY, Agreement, TimeControl
from hkoji.log.public_key import PublicKey, parse_public_key
from tests.lab.mail.forged import ATTACKER, TRICKS, TWICE, Forged, Turn
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, Mailbox, letters
from tests.support.mail.reading import offered
from tests.support.service import Asked, Player

TABLE: Final = Path(__file__).with_name("spoof.txt")
TOKENS: Final = ("good", "leaked", "old", "other")
SIGNING: Final = "players.example"
SILENT: Final = "quiet.example"
"""The domain whose provider signs no mail."""
DONE: Final = ("dkim", "token")
VERDICTS: Final = frozenset({*DONE, "asked", "over", "why", "first", "nothing"})
_OPEN: Final = 8
"""How many games a host has that nobody has joined yet."""
PLAYERS: Final = 10
"""How many players of each domain take turns: of one at most five mails wait."""
_NOT_TRIED: Final = "-"
_CLOCK: Final = Agreement(TimeControl(3 * DAY, 14 * DAY, 0, 14 * DAY))
_SAID: Final = {"asked back": "asked", "turn over": "over", "unreadable": "why", "other bytes": "first"}
"""The verdicts by what the answer to a mail says; everything else stands for itself."""


class Try(NamedTuple):
    """One mail, and what the table says of it."""

    trick: str
    signs: bool
    token: str
    verdict: str

    def __str__(self) -> str:
        return f"{self.trick}, {'signing' if self.signs else 'silent'} domain, {self.token} token"


def read_table(path: Path = TABLE) -> list[Try]:
    """Reads the table. Raises `ValueError` if a line is not as the others are."""
    tries = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        trick, *verdicts = line.split()
        if trick not in TRICKS or len(verdicts) != 2 * len(TOKENS) or not {*verdicts} <= VERDICTS | {_NOT_TRIED}:
            raise ValueError(line)
        places = [(signs, token) for signs in (True, False) for token in TOKENS]
        tries += [Try(trick, *place, each) for place, each in zip(places, verdicts, strict=True)]
    return [each for each in tries if each.verdict != _NOT_TRIED]


class SpoofWorld(Protocol):
    """A service with the mail server before it, the provider of both domains, and the DNS."""

    @property
    def service(self) -> Asked:
        """The service."""

    @property
    def data(self) -> Path:
        """The folder with its database."""

    @property
    def address(self) -> str:
        """Its address without a token."""

    def mailbox(self, address: str) -> Mailbox:
        """A mailbox of the provider. It signs what is sent from `SIGNING`."""

    def signed(self, sender: str, raw: bytes) -> bytes:
        """A mail as the provider of its sender sends it on."""

    def deliver(self, sender: str, to: str, raw: bytes) -> None:
        """Gives a mail to the mail server before the service, as any other may do. `sender` is that of the envelope."""

    def publish(self, name: str, texts: Sequence[str]) -> None:
        """Sets the TXT records of a name."""

    def silence(self, name: str) -> None:
        """Lets nobody get an answer about a name."""

    def add(self, name: str, address: str) -> None:
        """Lets the operator invite the owner of a mailbox."""

    def settle(self) -> None:
        """Waits until all mails are processed, and all letters have arrived."""

    def now(self) -> float:
        """The time of the service."""


@dataclass
class SpoofResult:
    """How it went: how many mails had each verdict, how many games have changed, and what is wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    changed: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass
class _Game:
    """A game in which a mail is tried: whose token it is, and by whose name it is sent."""

    number: int
    tried: Try
    host: Player
    owner: MailboxPlayer
    sender: MailboxPlayer
    game: str = ""
    earlier: bytes = b""
    to: str = ""
    """Where the earlier mail was sent."""
    seq: int = -1
    kept: int = 0
    forged: Forged | None = None

    @property
    def rounds(self) -> int:
        """How many turns of the owner come before the mail."""
        return int(self.tried.token == "old" or (self.tried.trick in TWICE and self.tried.token != "other"))


def run_spoofs(world: SpoofWorld, tries: Sequence[Try], players: int = PLAYERS) -> SpoofResult:
    """Plays a game up to a turn for each try, sends all mails, and judges."""
    result = SpoofResult()
    games = list(_games(world, tries, players))
    _begin(world, games)
    for each in games:
        if each.rounds:
            _play_a_turn(world, each)
    world.settle()
    for each in games:
        if each.rounds:
            _move_of_host(each.host, each.game)
    world.settle()
    before = {each.game: _entries(each) for each in games}
    for each in games:
        _send(world, each)
    world.settle()
    for each in games:
        _answer_again(world, each)
    world.settle()
    for each in games:
        entries = _entries(each)[len(before[each.game]) :]
        found = _verdict(world, each, entries)
        result.counts[found] += 1
        result.changed += bool(entries)
        if found != each.tried.verdict:
            result.wrong.append(f"{each.tried}: {found}, and not {each.tried.verdict}")
    allowed = sum(each.tried.verdict in DONE for each in games)
    if result.changed != allowed:
        result.wrong.append(f"{result.changed} games have changed, and not {allowed}")
    if strangers := letters(world.mailbox(ATTACKER)):
        result.wrong.append(f"{len(strangers)} letters went to {ATTACKER}")
    return result


# --- the games ------------------------------------------------------------------------------------------------------


def _games(world: SpoofWorld, tries: Sequence[Try], count: int) -> Iterator[_Game]:
    boxes = {
        (signs, role): [
            MailboxPlayer(world.mailbox(f"{role}{'s' if signs else 'q'}{number}@{SIGNING if signs else SILENT}"))
            for number in range(count)
        ]
        for signs in (True, False)
        for role in ("bob", "carol")
    }
    hosts = [Player(world.service, f"host{number}").register() for number in range(-(-len(tries) // _OPEN))]
    for number, each in enumerate(tries):
        sender = boxes[each.signs, "bob"][number % count]
        owner = boxes[each.signs, "carol"][number % count] if each.token == "other" else sender
        yield _Game(number, each, hosts[number // _OPEN], owner, sender)


def _begin(world: SpoofWorld, games: Sequence[_Game]) -> None:
    """Lets everybody register, opens the games, and plays each up to the first turn of the mail player."""
    people = list({each.name: each for game in games for each in (game.owner, game.sender)}.values())
    for player in people:
        world.add(player.name, player.mailbox.address)
    world.settle()
    for player in people:
        player.answer(letters(player.mailbox)[-1], "accept")
    world.settle()
    keys = {each.name: _key_of(world, each.name) for each in people}
    for each in games:
        name = each.owner.name
        each.game = each.host.new(None, entry_kinds.Invite(name, keys[name]), _CLOCK)
    world.settle()
    for each in games:
        each.owner.answer(_letter(each.owner, each.game), "accept")
    world.settle()
    for each in games:
        each.host.seed(each.game)
        _move_of_host(each.host, each.game)
    world.settle()


def _key_of(world: SpoofWorld, name: str) -> PublicKey:
    return parse_public_key(world.service.ask("GET", f"/v1/players/{name}").json["key"])


def _move_of_host(host: Player, game: str) -> None:
    course = host.course(game)
    while course.actor == 0:
        answer = host.send(host.make_move(course, course.state.legal_actions()[0]))
        assert answer.status == 201, answer
        course = host.course(game)


def _letter(player: MailboxPlayer, game: str) -> Letter:
    """The last letter about a game."""
    subject = f"Subject: hkoji {game[:8]}".encode()
    for raw in reversed(player.mailbox.received()):
        if subject in raw.partition(b"\r\n\r\n")[0]:
            return Letter(raw)
    raise AssertionError(f"{player.name} has no letter about {game}")


def _turn(world: SpoofWorld, each: _Game, sender: MailboxPlayer, letter: Letter, token: str) -> Turn:
    address = sender.mailbox.address
    return Turn(
        number=each.number,
        token=token,
        signs=each.tried.signs,
        sender=address,
        to=letter.answered_to,
        letter=letter.id,
        order=(offered(_letter(each.owner, each.game)) or ["help"])[0],
        at=world.now(),
        earlier=each.earlier,
        other_to=each.to or letter.answered_to,
        service=world.address,
        provider=lambda raw: world.signed(address, raw),
    )


def _honest(world: SpoofWorld, each: _Game, letter: Letter) -> bytes:
    """An earlier mail of the sender's, as it left the provider."""
    turn = _turn(world, each, each.sender, letter, "good")
    return world.signed(turn.sender, turn.mail(Message_ID=f"<earlier.{each.number}@{turn.domain}>"))


def _play_a_turn(world: SpoofWorld, each: _Game) -> None:
    letter = _letter(each.owner, each.game)
    each.earlier, each.to = _honest(world, each, letter), letter.answered_to
    world.deliver(each.sender.mailbox.address, each.to, each.earlier)


# --- the mails ------------------------------------------------------------------------------------------------------


def _send(world: SpoofWorld, each: _Game) -> None:
    letter = _letter(each.owner, each.game)
    if each.tried.token == "other":
        own = letters(each.sender.mailbox)[-1]
        each.earlier, each.to = _honest(world, each, own), own.answered_to
    turn = _turn(world, each, each.sender, letter, each.tried.token)
    if each.tried.token == "old":
        # The token of the turn before; the order could be played now.
        before = [one for one in letters(each.owner.mailbox) if one.answered_to == each.to]
        turn = replace(turn, to=each.to, letter=before[-1].id, other_to=letter.answered_to)
    each.forged = TRICKS[each.tried.trick](turn)
    for name, texts in each.forged.records.items():
        world.publish(name, texts)
    if each.forged.silent:
        world.silence(each.forged.silent)
    each.kept = len(_kept(world.data, each.game))
    world.deliver(each.forged.sender, each.forged.to or turn.to, each.forged.raw)


def _answer_again(world: SpoofWorld, each: _Game) -> None:
    """Answers the letter that has asked an order back, where the trick says so."""
    if each.forged is None or each.forged.then is None:
        return
    letter = _letter(each.owner, each.game)
    turn = _turn(world, each, each.owner, letter, "good")
    raw = turn.mail("resign\n", Message_ID=f"<again.{each.number}@{turn.domain}>")
    world.deliver(turn.sender, turn.to, world.signed(turn.sender, raw) if each.forged.then else raw)


# --- what has become of them ----------------------------------------------------------------------------------------


def _entries(each: _Game) -> list[str | None]:
    """The grade of the mail behind each entry, None without one."""
    found = []
    for line in each.host.lines(each.game):
        mail = line.entry.body.get("mail")
        found.append(str(mail["grade"]) if isinstance(mail, dict) else None)
    return found


def _verdict(world: SpoofWorld, each: _Game, entries: Sequence[str | None]) -> str:
    grades = [grade for grade in entries if grade is not None]
    if grades:
        return grades[0] if len(grades) == 1 else f"{len(grades)} entries"
    said = _kept(world.data, each.game)[each.kept :]
    if not said or said == ["silent"]:
        return "nothing"
    return _SAID.get(said[0], said[0]) if len(said) == 1 else " and ".join(said)


def _kept(data: Path, game: str) -> list[str]:
    """The answer to each mail in a game."""
    with closing(sqlite3.connect(f"file:{data / 'hkoji.sqlite3'}?mode=ro", uri=True, timeout=60)) as database:
        rows = database.execute("SELECT state, result FROM incoming WHERE game = ? ORDER BY number", (game,)).fetchall()
    found = []
    for state, result in rows:
        said = json.loads(result) if result else {"answer": state}
        parts = said.get("parts", [said])
        found.append(str(parts[0]["answer"]))
    return found
