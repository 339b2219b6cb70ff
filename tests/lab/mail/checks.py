"""Stories around the clock of a game by mail, step by step with real processes, and mailboxes in memory.

Each check has a service, a mail process, a player `alice` at the command line and a player `bob` with a mailbox.
"""

from __future__ import annotations

import json
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from hkoji.game.clock import parse_time
from tests.lab.mail.mail_world import ADDRESS, UNHURRIED, MailWorld
from tests.support.mail.in_process import MemoryPostOffice
from tests.support.mail.mailbox_player import MailboxPlayer
from tests.support.mail.post_office import Letter, letters
from tests.support.mail.reading import ACCEPT, offered
from tests.support.metrics import free_port

BOMBS: Final = Path(__file__).parents[2] / "data" / "bombs"
_QUICK: Final = {"shortest_clock": "1", "mail_shortest_clock": "1", "slack": "1", "outage_after": "5"}
_NONE: Mapping[str, str] = MappingProxyType({})
_LONGEST: Final = 0.25
_TRIES: Final = 5
"""How often a mail may take longer, because the machine has other work."""
_KEEPER: Final = 45.0
"""How long a keeper may take to see that a time is over, in seconds."""
_PATIENCE: Final = 30.0


class Scene:
    """A service, its mail process, alice and bob, and what was wrong."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        door = ("127.0.0.1", free_port())
        self.folder = folder
        self.office = MemoryPostOffice(lambda: door)
        self.world = MailWorld(folder, door, ("127.0.0.1", self.office.port), {**UNHURRIED, **settings}, wait=0)
        self.bob = MailboxPlayer(self.office.open("bob"))
        self.game = ""
        self.wrong: list[str] = []

    def see(self, what: str, holds: object, said: object = "") -> None:
        """Notes what does not hold."""
        if not holds:
            self.wrong.append(f"{what}: {said}" if said else what)

    def begin(self, clock: str) -> None:
        """Alice invites bob, who accepts. Waits for the letter about bob's first turn, or alice's turn."""
        self.open(clock)
        self.bob.answer(self.bob.next_letter(), ACCEPT["en"])
        self.until(lambda: any(entry["kind"] == "seed" and entry["by"] == "bob" for entry in self.entries))
        self.alice("show", self.game)

    def open(self, clock: str, *options: str) -> None:
        """Alice invites bob."""
        self.alice("init", "alice")
        self.alice("register", "--server", self.world.service.url)
        words = ("--mail", self.bob.mailbox.address, "--clock", clock, *options, "--json")
        self.game = str(json.loads(self.alice("new", "--invite", "bob", *words))["game"])

    def alice(self, *words: object) -> str:
        """A command of alice's that must succeed."""
        return self.world.hkoji(*words, home="alice")

    @property
    def lines(self) -> list[Any]:  # Any: JSON
        """The lines of the log so far."""
        answer = self.world.service.ask("GET", f"/v1/games/{self.game}/log")
        return [json.loads(line) for line in answer.body.splitlines()]

    @property
    def entries(self) -> list[Any]:  # Any: JSON
        """The entries so far."""
        return [json.loads(line["entry"]) for line in self.lines]

    def times(self) -> list[int]:
        """When the entries so far were received, in seconds."""
        return [parse_time(json.loads(line["receipt"]["text"])["at"]) for line in self.lines]

    def kinds(self) -> list[str]:
        """The kinds of the entries so far."""
        return [entry["kind"] for entry in self.entries]

    def shown(self) -> Any:  # Any: JSON
        """The game as alice sees it."""
        return json.loads(self.alice("show", self.game, "--json"))

    def to_bob(self) -> Letter:
        """Lets alice move until it is bob's turn, and waits for bob's letter about it."""
        while True:
            shown = self.shown()
            if shown["to_move"] == "bob":
                return self.bob.next_letter(_PATIENCE, lambda letter: bool(offered(letter)))
            self.alice("move", self.game, shown["legal"][0])

    def to_alice(self) -> None:
        """Lets bob answer his letters until it is alice's turn."""
        while self.shown()["to_move"] != "alice":
            letter = self.bob.next_letter(_PATIENCE, lambda letter: bool(offered(letter)))
            count = len(self.entries)
            self.bob.answer(letter, offered(letter)[0])
            self.until(lambda before=count: len(self.entries) > before)  # type: ignore[misc] # a default

    def until(self, seen: Callable[[], object], seconds: float = _PATIENCE) -> bool:
        """Waits until a condition holds, and notes it if it does not."""
        end = time.monotonic() + seconds
        while not seen():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def audit(self) -> None:
        """Audits the log."""
        place = self.folder / "g.jsonl"
        place.write_bytes(self.world.service.ask("GET", f"/v1/games/{self.game}/log").body)
        code, said = self.world.audited(place)
        self.see("the audit accepts the log", code == 0, said)

    def received(self) -> int:
        """How many letters bob has got."""
        return len(letters(self.bob.mailbox))

    def raw(self, letter: Letter, line: str) -> bytes:
        """An answer of bob's, not sent."""
        kept = self.bob.mailbox
        taken: list[bytes] = []
        self.bob.mailbox = _Kept(kept.address, taken)
        try:
            self.bob.answer(letter, line)
        finally:
            self.bob.mailbox = kept
        return taken[0]

    def pipe(self, recipient: str, raw: bytes) -> int:
        """Gives a mail to the pipe command. Returns its exit code."""
        file = self.folder / "mail"
        file.write_bytes(raw)
        return self.world.piped(recipient, file)

    def close(self) -> None:
        self.world.stop()
        self.office.close()


class _Kept:
    def __init__(self, address: str, taken: list[bytes]) -> None:
        self.address = address
        self._taken = taken

    def send(self, raw: bytes, to: object) -> None:
        self._taken.append(raw)

    def received(self) -> list[bytes]:
        return []


@contextmanager
def scene(folder: Path, settings: Mapping[str, str] = _NONE) -> Iterator[Scene]:
    """A scene for the duration of a block."""
    folder.mkdir(parents=True)
    made = Scene(folder, settings)
    try:
        made.world.start_mail()
        yield made
    finally:
        made.close()


# --- the checks -------------------------------------------------------------------------------------------------------


def bombs_at_the_pipe(folder: Path) -> list[str]:
    """Mails made to exhaust their reader are taken in time. Without a database, or with five mails waiting: 75."""
    with scene(folder) as it:
        recipient = ADDRESS.replace("@", "+x@")
        small = folder / "small"
        small.write_bytes(b"From: bob@players.example\r\nMessage-ID: <1@players.example>\r\n\r\nshow\r\n")
        began = time.monotonic()
        it.see("a small mail is taken", it.world.piped(recipient, small) == 0)
        usual = time.monotonic() - began
        for file in sorted(BOMBS.glob("*.eml")):
            seconds = usual + _LONGEST
            for _ in range(_TRIES):
                if seconds < usual + _LONGEST:
                    break
                began = time.monotonic()
                code = it.world.piped(recipient, file)
                seconds = time.monotonic() - began
                it.see(f"{file.name} is taken", code == 0, code)
            it.see(f"{file.name} in {_LONGEST} s", seconds < usual + _LONGEST, f"{seconds:.2f}")
        it.begin("3d/14d")
        letter = it.to_bob()
        it.world.stop_mail()
        codes = [it.pipe(letter.answered_to, it.raw(letter, "show")) for _ in range(6)]
        it.see("five mails wait, and the sixth must come again", codes == [0] * 5 + [75], codes)
        it.see("an address that is not ours", it.pipe("other@elsewhere.example", it.raw(letter, "show")) == 67)
        it.world.service.stop()
        for path in it.world.data.iterdir():
            path.rename(path.with_name(f"away-{path.name}"))
        shutil.rmtree(it.world.data, ignore_errors=True)
        it.see("without a database it must come again", it.pipe(letter.answered_to, it.raw(letter, "show")) == 75)
        return it.wrong


def a_mailbox_that_bounces(folder: Path) -> list[str]:
    """A bounce changes nothing about the clock, and both see it. Short clocks are refused by default."""
    with scene(folder / "quick", _QUICK) as it:
        # From the answer to the invitation on nothing arrives, so the clock may be as short as commands allow.
        it.open("2s", "--first", "guest")
        invitation = it.bob.next_letter()
        it.office.refused[it.bob.mailbox.address] = "5.1.1 no such mailbox here"
        it.bob.answer(invitation, ACCEPT["en"])
        it.until(lambda: "join" in it.kinds())
        told = it.until(lambda: "not arriving" in it.alice("show", it.game))
        it.see("alice sees that letters do not arrive", told, it.alice("show", it.game))
        it.see("the game ends by one timeout", it.until(lambda: "end" in it.kinds(), _KEEPER), it.kinds())
        it.see("one", it.kinds().count("timeout") == 1, it.kinds())
        if "timeout" in (kinds := it.kinds()):
            over, times = kinds.index("timeout"), it.times()
            began = max(at for at, kind in zip(times[:over], kinds, strict=False) if kind != "credit")
            it.see("after the deadline", times[over] > began + 2, [*zip(kinds, times, strict=True)])
        it.audit()
        wrong = it.wrong
    with scene(folder / "default") as it:
        it.alice("init", "alice")
        it.alice("register", "--server", it.world.service.url)
        words = ("new", "--invite", "bob", "--mail", it.bob.mailbox.address, "--clock", "2h")
        code = it.world.tried(*words, home="alice").returncode
        it.see("a clock of two hours is refused", code == 5, code)
        it.see("and bob gets no letter", it.received() == 0)
        return wrong + it.wrong


def an_answer_while_the_worker_stands(folder: Path) -> list[str]:
    """An answer that came by the pipe in time counts, although it is processed after the deadline."""
    with scene(folder, _QUICK) as it:
        it.begin("8s")
        letter = it.to_bob()
        it.world.stop_mail()
        before = len(it.entries)
        it.see("the pipe takes it", it.pipe(letter.answered_to, it.raw(letter, offered(letter)[0])) == 0)
        time.sleep(12)
        it.see("nothing is written while it waits", len(it.entries) == before, it.kinds())
        it.world.start_mail()
        it.see("then it is", it.until(lambda: len(it.entries) > before))
        it.see("by bob", it.entries[before]["by"] == "bob", it.entries[before])
        it.see("there is no timeout", "timeout" not in it.kinds(), it.kinds())
        it.audit()
        return it.wrong


def a_mail_process_that_is_away(folder: Path) -> list[str]:
    """A mail player loses nothing because the mail process was away: the outage is credited, with its way."""
    with scene(folder, _QUICK) as it:
        it.begin("12s")
        it.to_alice()
        it.world.kill_mail()
        it.alice("move", it.game, it.shown()["legal"][0])
        time.sleep(16)
        it.see("there is no timeout while it is away", "timeout" not in it.kinds(), it.kinds())
        it.world.start_mail()
        letter = it.bob.next_letter(_PATIENCE, lambda letter: bool(offered(letter)))
        it.bob.answer(letter, offered(letter)[0])
        it.see("a credit follows bob's move", it.until(lambda: "credit" in it.kinds()), it.kinds())
        ways = [
            each.get("way") for entry in it.entries if entry["kind"] == "credit" for each in entry["body"]["outages"]
        ]
        it.see("for the way mail", set(ways) == {"mail"}, ways)
        it.audit()
        return it.wrong


def letters_are_stopped(folder: Path) -> list[str]:
    """GET changes nothing, POST stops, a mail to the bare address brings the current letter again once a day."""
    with scene(folder) as it:
        it.begin("3d/14d")
        letter = it.to_bob()
        found = re.search(r"<https?://[^/>]+(/v1/mail/stop/[^>]+)>", letter.field("List-Unsubscribe"))
        assert found, letter.field("List-Unsubscribe")
        url = it.world.service.url + found[1]
        known = it.received()
        it.bob.known = known
        it.bob.write(ADDRESS, "where is my letter?", "show")
        again = it.bob.next_letter(_PATIENCE)
        it.see("the current letter comes again", offered(again), again.text)
        it.see("with another id", again.id != letter.id)
        it.bob.write(ADDRESS, "and again?", "show")
        it.office.wait_until_empty()
        time.sleep(3)
        it.see("once a day", it.received() == known + 1, it.received() - known)
        for _ in range(40):
            it.alice("give", it.game, "1m")
        before = len(it.entries)
        it.bob.answer(again, offered(again)[0])
        it.until(lambda: len(it.entries) > before)
        it.see("after 40 gifts the letter about a turn still comes", offered(it.to_bob()))
        it.see("GET shows a page", _status(url) == 200)
        it.bob.known = it.received()
        it.alice("give", it.game, "1m")
        it.see("and stops nothing", it.until(lambda: it.received() > it.bob.known))
        it.see("POST stops", _status(url, b"List-Unsubscribe=One-Click") == 200)
        it.see("again: 200", _status(url, b"List-Unsubscribe=One-Click") == 200)
        time.sleep(3)
        it.bob.known = it.received()
        it.alice("give", it.game, "1m")
        time.sleep(3)
        it.see("no letter comes any more", it.received() == it.bob.known, it.received() - it.bob.known)
        return it.wrong


def _status(url: str, body: bytes | None = None) -> int:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


CHECKS: Final[dict[str, Callable[[Path], list[str]]]] = {
    each.__name__.replace("_", " "): each
    for each in (
        bombs_at_the_pipe,
        a_mailbox_that_bounces,
        an_answer_while_the_worker_stands,
        a_mail_process_that_is_away,
        letters_are_stopped,
    )
}
