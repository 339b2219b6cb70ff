"""A whole game by mail, from the invitation to the end, and its audit."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import tell
from tests.lab.mail.mail_world import MailWorld
from tests.support.mail.mail_programs import MAIL_PROGRAMS
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, PostOffice, letters
from tests.support.mail.reading import (
    ACCEPT,
    LetterReader,
    command_address,
    has_command_address,
    is_invitation,
    offered,
)

HOST: Final = "alice"
GUEST: Final = "bob"
_PAUSE: Final = 0.05
_QUIET: Final = 90.0
"""After so many seconds in which nothing happens, the game is stuck."""
_SETTLED: Final = 1.0
"""If no letter comes for so many seconds after the end of a game, none is on its way."""
_MIDWAY: Final = 12
"""After so many entries a game is in its middle."""
_WIDEST: Final = 72
_ENCODED: Final = re.compile(
    rb"^(message-id|reply-to|in-reply-to|references|list-[a-z-]+):(.*\r?\n(?:[ \t].*\r?\n)*)", re.I | re.M
)
_WORD: Final = "The deal is the word of the service alone"
_NOBODY: Final = tell("Nobody can show that the service did not choose these cards.")
"""The invitation to a game with two held seats says this, in the reader's language."""
LOG: Final = {"en": "log", "it": "registro"}
_NEW: Final = {"en": "new", "it": "nuova"}
_RESIGN: Final = {"en": "resign", "it": "abbandono"}


class WantedGame(NamedTuple):
    """A game to play. `seats` are `mail` or `cli`; of one of each, the command line hosts and invites.

    A short one ends when both have moved: then the first mailbox that is asked for a move resigns.
    """

    ruleset: str
    lang: str
    seats: tuple[str, str]
    seed: int = 1
    clock: str = "3d/14d"
    short: bool = False


@dataclass
class PlayedByMail:
    """The result."""

    game: str = ""
    lines: list[Any] = field(default_factory=list)  # Any: JSON
    log: bytes = b""
    letters: int = 0
    mails: int = 0
    seconds: float = 0.0
    audit: str = ""
    grades: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The grades that the mails of each player by mail may have."""
    wrong: list[str] = field(default_factory=list)


class Correspondent:
    """A player with a mailbox who answers letters in one game.

    The mail program shows a letter once that comes twice. So whatever a player needs must be in another letter.
    """

    def __init__(self, player: MailboxPlayer, reader: LetterReader, said: Transcript) -> None:
        self.player = player
        self.reader = reader
        self._said = said
        self._shown: set[str] = set()
        """The ids of the letters that the mail program has shown."""

    def go_on(self, *, resigns: bool = False) -> bool:
        """Reads the letters that have come, and answers the last that asks for something. Says whether any came.

        A player who resigns says so until no letter asks any more: the first answer is a letter that asks once more.
        """
        new = letters(self.player.mailbox)[self.player.known :]
        for letter in new:
            self.player.known += 1
            self._said.letter(self.player.name, letter)
        asking = []
        for letter in new:
            if letter.id not in self._shown and (offered(letter) or is_invitation(letter, self.reader.lang)):
                asking.append(letter)
            self._shown.add(letter.id)
        if asking:
            lines = [_RESIGN[self.reader.lang]] if resigns else self.reader.answer_to(asking[-1])
            if lines:
                self.write(asking[-1], *lines)
        return bool(new)

    def read(self) -> Letter:
        """Waits for the next letter."""
        letter = self.player.next_letter(_QUIET)
        self._said.letter(self.player.name, letter)
        return letter

    def ask_for_log(self, done: PlayedByMail) -> None:
        """Asks for the log of a game that is over, in answer to the letter that says so, and compares both logs."""
        end, last, known = time.monotonic() + _QUIET, self._said.last.get(self.player.name), -1
        while (last is None or offered(last) or len(letters(self.player.mailbox)) != known) and time.monotonic() < end:
            known = len(letters(self.player.mailbox))
            time.sleep(_SETTLED)
            self.go_on()
            last = self._said.last.get(self.player.name)
        assert last is not None
        at_the_end = self._logs()
        self.write(last, LOG[self.reader.lang])
        found = at_the_end
        while len(found) <= len(at_the_end) and time.monotonic() < end:
            time.sleep(_PAUSE)
            self.go_on()
            found = self._logs()
        if not at_the_end or found != [done.log] * (len(at_the_end) + 1):
            said = f"{len(at_the_end)} logs at the end and {len(found)} with the one asked for"
            done.wrong.append(f"{self.player.name} has got {said}, or others than that of the game")

    def _logs(self) -> list[bytes]:
        return [each for letter in letters(self.player.mailbox) for each in letter.attachments.values()]

    def order(self, to: str, *lines: str) -> None:
        """Writes a mail that answers no letter."""
        self._said.mail(self.player.name, self.player.write(to, "a game", *lines))

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
    last: dict[str, Letter] = field(default_factory=dict)
    """The last letter to each player."""
    first: dict[str, Letter] = field(default_factory=dict)

    def letter(self, name: str, letter: Letter) -> None:
        """A letter has come."""
        self.letters += 1
        self.last[name] = letter
        self.first.setdefault(name, letter)
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


class GameByMail:
    """A game in which at least the guest plays by mail. `wanted.seats` says whether the host does too."""

    def __init__(
        self, world: MailWorld, office: PostOffice, wanted: WantedGame, said: Transcript, names: tuple[str, str]
    ) -> None:
        self.world = world
        self.wanted = wanted
        self.host, self.guest = names
        self.done = PlayedByMail()
        self._rng = random.Random(wanted.seed)
        programs = self._rng.sample(sorted(MAIL_PROGRAMS), 2)
        self.by_mail = {
            name: Correspondent(
                MailboxPlayer(office.open(name), MAIL_PROGRAMS[program]),
                LetterReader(wanted.lang, random.Random(self._rng.random())),
                said,
            )
            for name, program, kind in zip(names, programs, sorted(wanted.seats), strict=True)
            if kind == "mail"
        }
        # The provider does not sign Content-Type, so its signature does not prove what is read from HTML alone.
        html = MAIL_PROGRAMS["html"]
        self.done.grades = {
            name: {"token", office.grade} if each.player.program is html else {office.grade}
            for name, each in self.by_mail.items()
        }

    def begin(self) -> None:
        """Opens the game, and so invites the guest. A host with a mailbox is added by the operator first."""
        if self.host in self.by_mail:
            self.begin_by_mail(self._welcomed())
            return
        wanted, guest = self.wanted, self.by_mail[self.guest].player.mailbox.address
        self._hkoji("init", self.host)
        self._hkoji("register", "--server", self.world.service.url)
        opened = self._hkoji(
            "new",
            "--ruleset",
            wanted.ruleset,
            "--invite",
            self.guest,
            "--mail",
            guest,
            "--clock",
            wanted.clock,
            "--json",
        )
        self.done.game = str(json.loads(opened)["game"])

    def _welcomed(self) -> Letter:
        host = self.by_mail[self.host]
        address = host.player.mailbox.address
        self.world.hkoji("admin", "mail", "add", self.host, address, "--data", self.world.data, lang=self.wanted.lang)
        invitation = host.read()
        host.write(invitation, ACCEPT[self.wanted.lang])
        return host.read()

    def begin_by_mail(self, letter: Letter) -> None:
        """Opens the game with a mail of the host to the command address, which is in `letter`, or in answer to it."""
        wanted, host = self.wanted, self.by_mail[self.host]
        before, guest = set(self._games()), self.by_mail[self.guest].player.mailbox.address
        order = f"{_NEW[wanted.lang]} {wanted.ruleset} {self.guest} {guest} {wanted.clock}"
        if has_command_address(letter):
            host.order(command_address(letter), order)
        else:
            host.write(letter, order)
        end = time.monotonic() + _QUIET
        while not (found := set(self._games()) - before):
            assert time.monotonic() < end, [letter.text for letter in letters(host.player.mailbox)]
            time.sleep(_PAUSE)
        (self.done.game,) = found

    def _games(self) -> list[str]:
        asked = self.world.service.ask("GET", f"/v1/games?player={self.host}")
        return [each["game"] for each in asked.json["games"]]

    def step(self) -> bool:
        """Lets both players do what they can do now. Returns whether anything has happened."""
        resigns = self.wanted.short and len({line["by"] for line in self.done.lines if line["kind"] == "move"}) == 2
        happened = sum(each.go_on(resigns=resigns) for each in self.by_mail.values()) > 0
        return (self.host not in self.by_mail and self._move_by_command()) or happened

    def _move_by_command(self) -> bool:
        shown = json.loads(self._hkoji("show", self.done.game, "--json"))
        if not shown["legal"]:
            return False
        self._hkoji("move", self.done.game, self._rng.choice(shown["legal"]))
        return True

    @property
    def over(self) -> bool:
        """Whether the game has ended. Reads the log."""
        self.done.log = self.world.service.ask("GET", f"/v1/games/{self.done.game}/log").body
        self.done.lines = [json.loads(json.loads(line)["entry"]) for line in self.done.log.splitlines()]
        return bool(self.done.lines) and self.done.lines[-1]["kind"] in {"end", "lapse"}

    def _hkoji(self, *words: str) -> str:
        return self.world.hkoji(*words, home=self.host, lang=self.wanted.lang)


def play_by_mail(
    world: MailWorld,
    office: PostOffice,
    wanted: WantedGame,
    *,
    printed: bool = True,
    midway: Callable[[], None] = lambda: None,
) -> PlayedByMail:
    """Plays a game to its end. `midway` is called once, in the middle of it."""
    said, began = Transcript(printed), time.monotonic()
    game = GameByMail(world, office, wanted, said, (HOST, GUEST))
    done = game.done
    game.begin()
    last = time.monotonic()
    called = False
    while not game.over:
        if len(done.lines) >= _MIDWAY and not called:
            called = True
            midway()
        if game.step():
            last = time.monotonic()
        elif time.monotonic() - last > _QUIET:
            done.wrong.append(f"nothing has happened for {_QUIET:.0f} s after entry {len(done.lines) - 1}")
            break
        time.sleep(_PAUSE)
    for each in game.by_mail.values():
        each.ask_for_log(done)
    if game.host in game.by_mail:
        said_so = load_speaker(wanted.lang)(_NOBODY) in " ".join(said.first[game.guest].text.replace("\n", " ").split())
        done.wrong += [] if said_so else ["the invitation does not say whose word the deal is"]
    done.letters, done.mails, done.seconds = said.letters, said.mails, time.monotonic() - began
    done.wrong += said.wrong
    return done


def judge(world: MailWorld, done: PlayedByMail, place: Path) -> None:
    """Writes the log to `place`, audits it, and notes what is wrong."""
    place.write_bytes(done.log)
    key = world.folder / "server.pub"
    key.write_text(f"{world.service.ask('GET', '/v1/service').json['key']}\n")
    code, done.audit = world.audited(place, f"server={key}")
    if code:
        done.wrong.append(f"the audit ends with {code}")
    _judge_mails(world, done, place, key)
    if len({entry["by"] for entry in done.lines if "gateway" in entry["body"]}) == 2 and _WORD not in done.audit:
        done.wrong.append("the audit does not say that the deal is the service's word")
    done.wrong += faults_of(done.lines, done.grades)


def _judge_mails(world: MailWorld, done: PlayedByMail, place: Path, key: Path) -> None:
    """Writes the mails of each player beside the log, as NAME.mails, and audits the log with them."""
    signed = all(each == {"dkim"} for each in done.grades.values())
    options = ["--key", f"server={key}", *(["--require", "dkim"] if signed else [])]
    for name in sorted({entry["by"] for entry in done.lines if "gateway" in entry["body"]}):
        file = place.with_name(f"{name}.mails")
        printed = world.hkoji("admin", "mail", "evidence", done.game, name, "--data", world.data)
        file.write_text(printed)
        options += ["--mails", str(file)]
    tried = world.tried("audit", str(place), *options)
    done.audit += f"$ hkoji audit {' '.join(options)}\n{tried.stdout}{tried.stderr}"
    mails = sum(entry["body"].get("mail", {}).get("commit") is not None for entry in done.lines)
    if tried.returncode or f"{mails} of {mails} mails checked" not in tried.stdout:
        done.wrong.append(f"of {mails} mails not all are checked, and the audit ends with {tried.returncode}")


def faults_of(lines: Sequence[Any], grades: Mapping[str, Collection[str]]) -> list[str]:  # Any: JSON
    """Complaints about the entries of a game that was played to its end, some of its seats by mails of `grades`."""
    wrong: list[str] = []
    if not lines or lines[-1]["kind"] != "end":
        wrong.append("the game has no end")
    held = {entry["by"] for entry in lines if "gateway" in entry["body"]}
    commits: list[str] = []
    for entry in lines:
        mail = entry["body"].get("mail")
        where = f"entry {entry['seq']} ({entry['kind']} by {entry['by']})"
        if (mail is not None) != (entry["by"] in held):
            wrong.append(f"{where}: {'it has' if mail else 'it lacks'} the field mail")
        elif mail is not None and mail["grade"] not in (
            ("none",) if entry["kind"] == "seed" else grades.get(entry["by"], ())
        ):
            wrong.append(f"{where}: the grade is {mail['grade']}")
        elif mail is not None and mail["commit"] is not None:
            commits.append(mail["commit"])
    if len(commits) != len(set(commits)):
        wrong.append("one mail is behind two entries")
    if not held:
        wrong.append("no seat is held")
    moved = {entry["by"] for entry in lines if entry["kind"] == "move"}
    if len(moved) != 2:
        wrong.append(f"only {moved} have made moves")
    return wrong
