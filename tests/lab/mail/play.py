"""A whole game by mail, from the invitation to the end, and its audit."""

from __future__ import annotations

import json
import random
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.lab.mail.mail_world import MailWorld
from tests.support.mail.mail_programs import MAIL_PROGRAMS
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, PostOffice, letters
from tests.support.mail.reading import ACCEPT, LetterReader, offered

HOST: Final = "alice"
GUEST: Final = "bob"
_PAUSE: Final = 0.05
_QUIET: Final = 90.0
"""After so many seconds in which nothing happens, the game is stuck."""
_WIDEST: Final = 72
_ENCODED: Final = re.compile(
    rb"^(message-id|reply-to|in-reply-to|references|list-[a-z-]+):(.*\r?\n(?:[ \t].*\r?\n)*)", re.I | re.M
)
_NEW: Final = {"en": "new", "it": "nuova"}


class WantedGame(NamedTuple):
    """A game to play. `seats` are `mail` or `cli`; of one of each, the command line hosts and invites."""

    ruleset: str
    lang: str
    seats: tuple[str, str]
    seed: int = 1
    clock: str = "3d/14d"


@dataclass
class PlayedByMail:
    """What has come of it."""

    game: str = ""
    lines: list[Any] = field(default_factory=list)  # Any: JSON
    log: bytes = b""
    letters: int = 0
    mails: int = 0
    seconds: float = 0.0
    audit: str = ""
    wrong: list[str] = field(default_factory=list)


class Correspondent:
    """A player with a mailbox who answers letters in one game."""

    def __init__(self, player: MailboxPlayer, reader: LetterReader, said: Transcript) -> None:
        self.player = player
        self.reader = reader
        self._said = said

    def go_on(self) -> bool:
        """Reads the letters that have come, and answers the last that asks for something. Says whether any came."""
        new = letters(self.player.mailbox)[self.player.known :]
        for letter in new:
            self.player.known += 1
            self._said.letter(self.player.name, letter)
        asking = [letter for letter in new if offered(letter)]
        if asking and (lines := self.reader.answer_to(asking[-1])):
            self.write(asking[-1], *lines)
        return bool(new)

    def write(self, letter: Letter, *lines: str) -> None:
        """Answers a letter."""
        self._said.mail(self.player.name, self.player.answer(letter, *lines))


@dataclass
class Transcript:
    """Prints mails and letters as they come, and notes what is wrong with a letter."""

    printed: bool = True
    letters: int = 0
    mails: int = 0
    wrong: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def letter(self, name: str, letter: Letter) -> None:
        """A letter has come."""
        self.letters += 1
        self.texts.append(letter.text)
        self._print(f"---- letter {self.letters}, to {name}: {letter.subject}", letter.text)
        self.wrong += [f"a line of {len(line)} columns: {line}" for line in letter.lines if len(line) > _WIDEST]
        head = letter.raw.partition(b"\r\n\r\n")[0] + b"\r\n"
        self.wrong += [f"encoded: {found[0]!r}" for found in _ENCODED.findall(head) if b"=?" in found[1]]

    def mail(self, name: str, raw: bytes) -> None:
        """A mail was sent."""
        self.mails += 1
        self._print(f"---- mail {self.mails}, from {name}", raw.decode("utf-8", "replace").replace("\r\n", "\n"))

    def _print(self, title: str, text: str) -> None:
        if self.printed:
            print(f"{title}\n{text.rstrip()}\n", flush=True)


def play_by_mail(world: MailWorld, office: PostOffice, wanted: WantedGame, *, printed: bool = True) -> PlayedByMail:
    """Plays a game to its end, and audits it."""
    rng, said, began = random.Random(wanted.seed), Transcript(printed), time.monotonic()
    names = (HOST, GUEST)
    programs = rng.sample(sorted(MAIL_PROGRAMS), 2)
    by_mail = {
        name: Correspondent(
            MailboxPlayer(office.open(name), MAIL_PROGRAMS[program]),
            LetterReader(wanted.lang, random.Random(rng.random())),
            said,
        )
        for name, program, kind in zip(names, programs, sorted(wanted.seats), strict=True)
        if kind == "mail"
    }
    done = PlayedByMail()
    done.game = _begin(world, wanted, by_mail)
    _play(world, wanted, by_mail, done, rng)
    done.letters, done.mails, done.seconds = said.letters, said.mails, time.monotonic() - began
    done.wrong += said.wrong
    return done


def _begin(world: MailWorld, wanted: WantedGame, by_mail: dict[str, Correspondent]) -> str:
    """Opens a game. Returns its id."""
    if HOST not in by_mail:
        guest = by_mail[GUEST].player.mailbox.address
        world.hkoji("init", HOST, home=HOST, lang=wanted.lang)
        world.hkoji("register", "--server", world.service.url, home=HOST, lang=wanted.lang)
        words = (
            "new",
            "--ruleset",
            wanted.ruleset,
            "--invite",
            GUEST,
            "--mail",
            guest,
            "--clock",
            wanted.clock,
            "--json",
        )
        return str(json.loads(world.hkoji(*words, home=HOST, lang=wanted.lang))["game"])
    host, guest = by_mail[HOST], by_mail[GUEST].player.mailbox.address
    world.hkoji("admin", "mail", "add", HOST, host.player.mailbox.address, "--data", world.data, lang=wanted.lang)
    invitation = host.player.next_letter(_QUIET)
    host.write(invitation, ACCEPT[wanted.lang])
    welcome = host.player.next_letter(_QUIET)
    host.write(welcome, f"{_NEW[wanted.lang]} {wanted.ruleset} {GUEST} {guest} {wanted.clock}")
    end = time.monotonic() + _QUIET
    while not (found := _games(world)):
        assert time.monotonic() < end, [letter.text for letter in letters(host.player.mailbox)]
        time.sleep(_PAUSE)
    return found[0]


def _games(world: MailWorld) -> list[str]:
    return [each["game"] for each in world.service.ask("GET", "/v1/games").json["games"]]


def _play(
    world: MailWorld, wanted: WantedGame, by_mail: dict[str, Correspondent], done: PlayedByMail, rng: random.Random
) -> None:
    """Lets both players go on until the game is over and the last letters have come."""
    last = time.monotonic()
    while not _over(world, done):
        happened = sum(each.go_on() for each in by_mail.values()) > 0
        if HOST not in by_mail and _move_by_command(world, wanted, done, rng):
            happened = True
        if happened:
            last = time.monotonic()
        elif time.monotonic() - last > _QUIET:
            done.wrong.append(f"nothing has happened for {_QUIET:.0f} s after entry {len(done.lines) - 1}")
            return
        time.sleep(_PAUSE)


def _over(world: MailWorld, done: PlayedByMail) -> bool:
    done.log = world.service.ask("GET", f"/v1/games/{done.game}/log").body
    done.lines = [json.loads(json.loads(line)["entry"]) for line in done.log.splitlines()]
    return bool(done.lines) and done.lines[-1]["kind"] in {"end", "lapse"}


def _move_by_command(world: MailWorld, wanted: WantedGame, done: PlayedByMail, rng: random.Random) -> bool:
    """Makes a move of the player at the command line, if it is their turn."""
    shown = json.loads(world.hkoji("show", done.game, "--json", home=HOST, lang=wanted.lang))
    if not shown["legal"]:
        return False
    world.hkoji("move", done.game, rng.choice(shown["legal"]), home=HOST, lang=wanted.lang)
    return True


def judge(world: MailWorld, wanted: WantedGame, done: PlayedByMail, place: Path) -> None:
    """Writes the log to `place`, audits it, and notes what is wrong."""
    place.write_bytes(done.log)
    key = world.folder / "server.pub"
    key.write_text(f"{world.service.ask('GET', '/v1/service').json['key']}\n")
    code, done.audit = world.audited(place, f"server={key}")
    if code:
        done.wrong.append(f"the audit ends with {code}")
    if not done.lines or done.lines[-1]["kind"] != "end":
        done.wrong.append("the game has no end")
    for name in (HOST, GUEST):
        if not any(entry["by"] == name and entry["kind"] == "move" for entry in done.lines):
            done.wrong.append(f"{name} has made no move")
