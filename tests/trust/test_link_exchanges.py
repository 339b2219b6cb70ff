"""Two people at two machines meet by a link, through a service that exchanges every value that it can.

The honest answers of each step are taken apart, with the texts inside them: log, receipts, views, registration, login.
Every value is exchanged for others of its sort, in each answer or from the second on. Either the bare value is changed,
or the service mends what it can: it chains and signs what follows anew, with its own key and those of an accomplice who
poses as the player. After any exchange, both meet each other under the same agreement, or one of them refuses. A
signature made until then is worth nothing to the service: see `verify_sent`.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from copy import copy
from hashlib import sha256
from itertools import chain, combinations
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import pytest

from hkoji import errors
from hkoji.client.identity import create
from hkoji.client.kept.home import KeyStanding
from hkoji.client.links import enrol, introduce, own_link
from hkoji.client.seats import InviteLink
from hkoji.client.transport import HttpAnswer
from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.game.commitments import entropy_commit
from hkoji.game.course import Stage
from hkoji.log import sshsig
from hkoji.log.canonical import encode, encode_base64, message
from hkoji.log.line import Line, line_to_json
from hkoji.log.link_key import link_key, make_link_statement
from hkoji.log.private_key import PrivateKey
from hkoji.log.public_key import parse_public_key
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from tests.support.adversary import key_of, on_disk
from tests.support.memory_service import URL, Game, LocalPlayer, MemoryService, registered
from tests.support.table import CODE

Json = Any  # what an answer holds
Way = tuple[str | int, ...]
Change = Callable[[str, Json], None]
"""Changes the value of an answer of a sort: `service`, `players`, `login`, `offers`, `entries`, `log`, `view`, …"""

MALLORY: Final = PrivateKey.from_seed(b"\x07" * 32)
"""The accomplice, or the service under another name."""
OWN: Final = link_key(CODE[::-1])
"""The key of a link that the service has made."""
COMMIT: Final = "ab" * 32
ENTROPY: Final = "cd" * 32
"""The accomplice's."""
ASKED: Final = Agreement(clock=parse_time_control("3d/14d"), rated=True)
_FORTNIGHT: Final = 14 * 86400
_TEXTS: Final = ("entry", "text")
"""The names under which an answer has canonical text."""


# --- the meeting ------------------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    """Everything as it was before a step: of the service, and both homes."""

    games: dict[str, Game]
    players: dict[str, str]
    folder: Path
    link: InviteLink | None


class Meeting:
    """Alice, who opens a game by link, her friend Dora, and the service, which has another game of Alice's too."""

    def __init__(self, folder: Path) -> None:
        self.service = MemoryService()
        self.folder = folder
        self.alice = registered(self.service, "alice", folder / "now" / "alice")
        self.dora = LocalPlayer(self.service, "dora", folder / "now" / "dora")
        create(self.dora.client.home, "dora", None, b"\x0d" * 32)
        self.names = {"alice": key_of(self.alice).public, "dora": key_of(self.dora).public}
        self.other = self.alice.client.new(Hanamikoji(), by_link=True).course.setup.game
        self.link: InviteLink | None = None
        self.kept: dict[str, Kept] = {}
        self.true: dict[str, tuple[str, ...]] = {}

    # --- its steps

    def open(self) -> None:
        """`hkoji new --link`."""
        client = self.alice.client
        game = client.new(Hanamikoji(), agreement=ASKED, expires_in=_FORTNIGHT, by_link=True).course.setup.game
        self.link = own_link(client, game)
        assert self.link is not None

    def join(self) -> None:
        """`hkoji join LINK`."""
        client, link = self.dora.client, self.link
        assert link is not None
        about = introduce(client, link)
        with client.game(link.game) as held:
            held.join(lambda _: (enrol(client, link, about.origin), None)[1], link.code)

    def reveal(self) -> None:
        """`hkoji show GAME` of the host, who learns that her friend has joined."""
        assert self.link is not None
        self.alice.position(self.link.game)

    def look(self) -> None:
        """`hkoji show GAME` of the guest."""
        assert self.link is not None
        self.dora.position(self.link.game)

    # --- before and after

    def keep(self, step: str) -> None:
        """Keeps everything as it is before a step."""
        folder = self.folder / step
        shutil.copytree(self.folder / "now", folder)
        games = {game: copy(each) for game, each in self.service.games.items()}
        self.kept[step] = Kept(games, dict(self.service.players), folder, self.link)

    def restore(self, step: str) -> None:
        """Makes everything as it was before a step."""
        games, players, folder, self.link = self.kept[step]
        self.service.games.clear()
        self.service.games.update({game: copy(each) for game, each in games.items()})
        self.service.players.clear()
        self.service.players.update(players)
        self.service.requests.clear()
        self.service.bodies.clear()
        shutil.rmtree(self.folder / "now")
        shutil.copytree(folder, self.folder / "now")

    def verify_met(self, *, plays: bool = True) -> None:
        """Checks that each has been introduced to the other's true key, and that both have the same game."""
        assert self.link is not None
        game, logs = self.link.game, set()
        for player, other in ((self.alice, "dora"), (self.dora, "alice")):
            pins = player.client.service(URL).pins
            assert pins.players[other] == self.names[other]
            assert pins.standing(other, self.names[other]) is KeyStanding.LINK
            assert pins.standing(other, MALLORY.public) is not KeyStanding.LINK
            assert pins.server_key == self.service.key.public
            position = player.position(game)
            assert position.course.stage is Stage.PLAY or not plays
            assert position.course.setup.agreement._replace(expires=None) == ASKED
            with player.client.game(game) as held:
                logs.add(tuple(line.entry.text for line in held.lines()))
        true = tuple(line.entry.text for line in self.service.games[game].lines)
        assert all(log == true[: len(log)] for log in logs)


STEPS: Final[dict[str, Callable[[Meeting], None]]] = {
    "open": Meeting.open,
    "join": Meeting.join,
    "reveal": Meeting.reveal,
    "look": Meeting.look,
}


# --- what is exchanged ------------------------------------------------------------------------------------------------


def sort_of(path: str) -> str:
    """The subject of a request: the last word of its address."""
    return path.partition("?")[0].rsplit("/", 1)[-1]


def read(answer: HttpAnswer, sort: str) -> Json:
    """The value of an answer; canonical texts are values, too."""
    text = answer.body.decode()
    return _opened([json.loads(each) for each in text.splitlines()] if sort == "log" else json.loads(text))


def _opened(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: json.loads(each) if name in _TEXTS else _opened(each) for name, each in value.items()}
    return [_opened(each) for each in value] if isinstance(value, list) else value


def write(value: Json, sort: str) -> bytes:
    """The bytes of an answer from what `read` returns."""
    closed = _closed(value)
    if sort == "log":
        return "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in closed).encode()
    return json.dumps(closed).encode()


def _closed(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: encode(each) if name in _TEXTS else _closed(each) for name, each in value.items()}
    return [_closed(each) for each in value] if isinstance(value, list) else value


def lines_of(value: Json, sort: str) -> list[Json]:
    """The lines in an answer, in order."""
    if sort == "log":
        return list(value)
    if sort == "offers":
        return [value["line"]]
    return list(value["lines"]) if sort in ("entries", "view") else []


def leaves(value: Json, path: Way = ()) -> Iterator[tuple[Way, Json]]:
    """Every value that has no parts, with the way to it."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if parts is None:
        yield path, value
        return
    for name, each in parts:
        yield from leaves(each, (*path, name))


def put(value: Json, path: Way, new: Json) -> None:
    """Replaces the value at a path, if there is one."""
    try:
        for each in path[:-1]:
            value = value[each]
        value[path[-1]] = new
    except (KeyError, IndexError, TypeError):
        return


def others(value: Json, path: Way, meeting: Meeting) -> tuple[Json, ...]:
    """Values that a service could put in place of one: others of its sort, of this meeting and of its own making."""
    name = str(path[-1])
    made: tuple[Json, ...]
    if isinstance(value, bool):
        made = (not value,)
    elif isinstance(value, int):
        made = (value + 1,)
    elif value is None:
        made = ("00" * 16,)
    elif value.startswith("ssh-ed25519 "):
        made = (MALLORY.public.text, *(key.text for key in meeting.names.values()))
    elif value.startswith("U1NI"):
        made = (encode_base64(MALLORY.sign(sshsig.ENTRY, b"anything")),)
    elif value in ("alice", "dora", "server"):
        made = tuple(each for each in ("mallory", "alice", "dora") if each != value)
    elif len(value) == 64:
        made = (COMMIT,)
    elif len(value) == 32:
        made = (meeting.other if name == "game" else "cd" * 16,)
    elif value.endswith("Z"):
        made = ("2026-11-20T12:00:01Z",)
    else:
        made = (f"{value}x",)
    return tuple(each for each in made if each != value)


class Forger:
    """Mends what a service has exchanged: the chain, the receipts, views, and entries by an accomplice's keys.

    It remembers what it has shown in place of the true heads, and goes on so.
    """

    def __init__(self, service: MemoryService, game: str) -> None:
        self._key = service.key
        self._true = {line.entry.head: line.entry.seq for line in service.games[game].lines} if game else {}
        self._shown: dict[int, str] = {}

    def mend(self, sort: str, value: Json) -> None:
        """Mends the lines of an answer, and what the answer says of the last one."""
        lines = lines_of(value, sort)
        for line in lines:
            self._mend_line(line)
        if sort == "view" and lines:
            last = lines[-1]["entry"]
            value["seq"] = value["view"]["text"]["seq"] = last["seq"]
            value["head"] = value["view"]["text"]["head"] = _hash(last)
            value["view"]["sig"] = self._sign(sshsig.VIEW, value["view"]["text"])
        if sort == "entries" and lines:
            value["receipt"] = lines[0]["receipt"]

    def _mend_line(self, line: Json) -> None:
        entry, receipt = line["entry"], line["receipt"]
        if isinstance(entry["seq"], int) and entry["seq"] - 1 in self._shown:
            entry["prev"] = self._shown[entry["seq"] - 1]
        head = _hash(entry)
        if head not in self._true:
            self._shown[entry["seq"]] = head
            # An entry that only a player signs is signed by the owner of the key that it names.
            own = entry["by"] == "server"
            line["sig"] = (
                self._sign(sshsig.SERVER, entry)
                if own
                else encode_base64(MALLORY.sign(sshsig.ENTRY, message(encode(entry))))
            )
        text = receipt["text"]
        text["head"], text["seq"], text["game"] = head, entry["seq"], entry["game"]
        receipt["sig"] = self._sign(sshsig.RECEIPT, text)

    def _sign(self, namespace: str, value: Json) -> str:
        return encode_base64(self._key.sign(namespace, message(encode(value))))


def _hash(entry: Json) -> str:
    return sha256(message(encode(entry))).hexdigest()


def signed_by_link(entry: Json, namespace: str) -> str:
    """The signature that the key of another link gives to an `open` or `join`."""
    body = entry["body"]
    said = make_link_statement(
        entropy_commit=body["entropy_commit"],
        game=entry["game"],
        key=parse_public_key(body["key"]),
        name=entry["by"],
        prev=entry["prev"],
    )
    return encode_base64(OWN.sign(namespace, said.message))


# --- what may have been signed ----------------------------------------------------------------------------------------


def verify_sent(meeting: Meeting, offers: Sequence[str]) -> None:
    """Checks everything that was signed and sent.

    An entry follows one of the true game, or one of the `offers` that were shown, with the agreement asked for. So a
    join follows the host's own `open`, and entropy is revealed only to a true join. Names are registered, and logged
    in, at no other origin.
    """
    asked: Json = None
    true = {line.entry.head for game in meeting.service.games.values() for line in game.lines}
    for (method, path), body in zip(meeting.service.requests, meeting.service.bodies, strict=True):
        if method != "POST" or body is None:
            continue
        value = json.loads(body or b"{}")
        if sort_of(path) == "offers":
            asked = value["agreement"]
        elif sort_of(path) == "entries":
            entry = json.loads(value["entry"])
            assert entry["kind"] in ("open", "join", "seed")
            if entry["kind"] != "open":
                assert entry["prev"] in true, f"a {entry['kind']} after another entry"
            else:
                followed = next(each for each in map(json.loads, offers) if _hash(each) == entry["prev"])
                assert followed["body"]["agreement"] == asked
                assert followed["body"]["server_key"] == meeting.service.key.public.text
        elif sort_of(path) in ("players", "login"):
            assert json.loads(value["text"])["origin"] == URL
        text = body.decode()
        assert meeting.link is None or meeting.link.code not in text


@contextmanager
def exchanging(service: MemoryService, change: Change, *, first: int = 0) -> Iterator[list[str]]:
    """Makes the service change its answers of each sort from the `first` on. Yields the offers that are shown."""
    seen: dict[str, int] = {}
    offers: list[str] = []

    def tamper(_method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        sort = sort_of(path)
        if answer.status >= 300:
            return answer
        number = seen[sort] = seen.get(sort, -1) + 1
        if number >= first:
            value = read(answer, sort)
            change(sort, value)
            answer = answer._replace(body=write(value, sort))
        if sort == "offers":
            offers.append(encode(read(answer, sort)["line"]["entry"]))
        return answer

    service.tamper = tamper
    try:
        yield offers
    finally:
        service.tamper = lambda _method, _path, answer: answer


def tried(meeting: Meeting, step: str, change: Change, *, first: int = 0, times: bool = False) -> bool:
    """Tries a step while the service exchanges something, and checks what has come of it. Returns whether it was taken.

    A refusal is an error that says what to do. If nothing was sent, the home is as it was.
    """
    victim = meeting.alice if step in ("open", "reveal") else meeting.dora
    disk = on_disk(victim)
    service = meeting.service
    service.requests.clear()
    service.bodies.clear()
    link, refused = meeting.link, None
    with exchanging(service, change, first=first) as offers:
        try:
            STEPS[step](meeting)
        except errors.HkojiError as error:
            refused = error
    verify_sent(meeting, offers)
    changed = on_disk(victim) != disk
    if refused is not None:
        meeting.link = link
        assert refused.hint or not isinstance(refused, errors.TrustError), refused
        entries = [path for method, path in service.requests if method == "POST" and sort_of(path) == "entries"]
        if not changed:
            assert not entries
            return False
    if step == "open" and refused is not None:
        meeting.restore(step)  # she has an offer that the service has signed, and asks for a new game
        return False
    # If the service has told two times of record, the player's next entry names one of them, and is refused.
    with suppress(errors.HkojiError) if times else nullcontext():
        go_on(meeting, step, plays=not times)
    meeting.restore(step)
    return refused is None


def go_on(meeting: Meeting, step: str, *, plays: bool) -> None:
    """Goes on at the honest service: the two meet."""
    done = list(STEPS)
    for each in done[done.index(step) + (step == "open") :]:
        STEPS[each](meeting)
    meeting.verify_met(plays=plays)


@pytest.fixture(scope="module")
def meeting(tmp_path_factory: pytest.TempPathFactory) -> Meeting:
    """A meeting, kept as it was before each step."""
    held = Meeting(tmp_path_factory.mktemp("meeting"))
    for step, act in STEPS.items():
        held.keep(step)
        act(held)
    held.verify_met()
    return held


def honest(meeting: Meeting, step: str) -> dict[str, Json]:
    """The answers of an honest step by their sort, the longest of each."""
    meeting.restore(step)
    found: dict[str, Json] = {}

    def note(sort: str, value: Json) -> None:
        if sort not in found or len(json.dumps(value)) > len(json.dumps(found[sort])):
            found[sort] = json.loads(json.dumps(value))

    with exchanging(meeting.service, note):
        STEPS[step](meeting)
    meeting.restore(step)
    return found


class Exchange(NamedTuple):
    """A value of the answers of a sort is exchanged for `new`, from the `first` such answer on.

    If it `mends`, the service signs anew what it can.
    """

    sort: str
    path: Way
    new: Json
    mends: bool
    first: int

    def change(self, meeting: Meeting, game: str) -> Change:
        """Returns what changes the answers, for one attempt."""
        forger = Forger(meeting.service, game) if self.mends else None

        def change(sort: str, told: Json) -> None:
            if sort == self.sort:
                put(told, self.path, self.new)
            if forger is not None:
                forger.mend(sort, told)

        return change


def exchanges(meeting: Meeting, answers: Mapping[str, Json]) -> Iterator[Exchange]:
    """Yields every exchange of one value of the answers of a step.

    A signature over an entry fails in one way, so of the values of an entry only one is exchanged without a new one.
    """
    for sort, answer in answers.items():
        bare = set[Way]()
        for path, value in leaves(answer):
            entry = path[: path.index("entry")] if "entry" in path else None
            for new in others(value, path, meeting):
                if entry is None or entry not in bare:
                    yield Exchange(sort, path, new, mends=False, first=0)
                if entry is not None:
                    bare.add(entry)
                if entry is not None or path[-1] == "at" or "view" in path:
                    for first in (0, 1) if sort == "log" else (0,):
                        yield Exchange(sort, path, new, mends=True, first=first)


@pytest.mark.parametrize("step", STEPS)
def test_values_exchanged(meeting: Meeting, step: str) -> None:
    """A tenth of all exchanges, others for each seed."""
    every = list(exchanges(meeting, honest(meeting, step)))
    game = meeting.link.game if meeting.link and step != "open" else ""
    refused = 0
    for each in Random(secrets.randbits(32)).sample(every, max(8, len(every) // 10)):
        times = each.mends and each.path[-1] == "at"
        if tried(meeting, step, each.change(meeting, game), first=each.first, times=times):
            assert not each.mends or times or step == "look", each  # what is signed anew is another game
        else:
            refused += 1
    assert refused


# --- several values together, and whole answers -----------------------------------------------------------------------

POSING: Final = ("by", "key", "entropy_commit", "link", "signature")
"""The values that the service exchanges to put an accomplice in the place of host or guest."""


def pose(entry: Json, what: Sequence[str]) -> None:
    """Exchanges these values of an `open` or `join`; of the guest's `seed` those that follow from them."""
    body, guest = entry["body"], entry["kind"] != "open"
    if "by" in what:
        entry["by"] = "mallory"
    if entry["kind"] == "seed":
        if "entropy_commit" in what:
            body["entropy"] = ENTROPY
        return
    if "key" in what:
        body["key"] = MALLORY.public.text
    if "entropy_commit" in what:
        body["entropy_commit"] = entropy_commit(entry["game"], int(guest), ENTROPY)
    if "link" in what:
        body["invite"]["link"] = OWN.public.text
    if "signature" in what:
        _sign_anew(entry)


def _sign_anew(entry: Json) -> None:
    body = entry["body"]
    if "invite" in body:
        body["invite"]["sig"] = signed_by_link(entry, sshsig.INVITE)
    else:
        body["link_sig"] = signed_by_link(entry, sshsig.JOIN)


def posing(meeting: Meeting, kind: str, what: Sequence[str]) -> Change:
    """Shows `kind`, the `open` or the `join`, with these values exchanged, and all else mended."""
    assert meeting.link is not None
    forger = Forger(meeting.service, meeting.link.game)

    def change(sort: str, value: Json) -> None:
        for line in lines_of(value, sort):
            entry = line["entry"]
            if entry["kind"] == kind or (kind, entry["kind"], entry["by"]) == ("join", "seed", "dora"):
                pose(entry, what)
        forger.mend(sort, value)

    return change


def combinations_of(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every choice of at least one of the names."""
    return chain.from_iterable(combinations(names, count) for count in range(1, len(names) + 1))


def test_another_host_and_another_guest(meeting: Meeting) -> None:
    """After any exchange together, the guest does not join the accomplice's game, and the host reveals nothing."""
    for step, kind in (("join", "open"), ("reveal", "join")):
        meeting.restore(step)
        for what in combinations_of([name for name in POSING if (step, name) != ("reveal", "link")]):
            for first in (0, 1) if kind == "open" and {"key", "link", "signature"} <= set(what) else (0,):
                assert not tried(meeting, step, posing(meeting, kind, what), first=first), (kind, what)


def test_whole_logs_exchanged(meeting: Meeting) -> None:
    """Another game's log, also under the id of this one; older logs; entries in another order."""
    for step in ("join", "reveal"):
        meeting.restore(step)
        assert meeting.link is not None
        game = meeting.link.game
        other = [_line_of(line) for line in meeting.service.games[meeting.other].lines]

        def of_other(value: list[Json], other: list[Json] = other) -> None:
            value[:] = json.loads(json.dumps(other))

        def renamed(value: list[Json], other: list[Json] = other, game: str = game) -> None:
            of_other(value, other)
            for line in value:
                line["entry"]["game"] = game

        def ends_early(value: list[Json]) -> None:
            del value[-1:]

        for rewrite in (of_other, renamed, ends_early, list.reverse):
            for mends in (False, True):
                forger = Forger(meeting.service, game)

                def change(
                    sort: str,
                    value: Json,
                    rewrite: Callable[[list[Json]], None] = rewrite,
                    forger: Forger | None = forger if mends else None,
                ) -> None:
                    if sort in ("log", "view"):
                        rewrite(value if sort == "log" else value["lines"])
                    if forger is not None:
                        forger.mend(sort, value)

                # An older log is still the true one; what comes later is shown again.
                taken = tried(meeting, step, change)
                assert not taken or (step, rewrite, mends) == ("reveal", ends_early, True), (step, rewrite, mends)


def _line_of(line: Line) -> Json:
    return _opened(line_to_json(line))


@pytest.mark.parametrize("step", ["join", "reveal"])
def test_the_test_finds_clients_that_do_not_look(meeting: Meeting, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the checks of links an accomplice takes a place, and what is signed then is found."""
    monkeypatch.setattr("hkoji.client.links.verify_link", lambda *_: None)
    monkeypatch.setattr("hkoji.client.seats.verify_link", lambda *_: None)
    monkeypatch.setattr("hkoji.audit.checks._link_checks", lambda *_: ())
    meeting.restore(step)
    kind, sent = ("open", "join") if step == "join" else ("join", "seed")
    try:
        with pytest.raises(AssertionError, match=f"a {sent} after another entry"):
            tried(meeting, step, posing(meeting, kind, ("by", "key", "entropy_commit", "signature")))
    finally:
        meeting.restore(step)
