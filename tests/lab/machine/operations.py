"""Players' operations with their clients, also about time, and the checks that follow each.

`STEPS` counts operations by name.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from hkoji import errors
from hkoji.audit.log_audit import audit
from hkoji.client import MadeMove, Position
from hkoji.client.kept_game import GameTime
from hkoji.game import entry_kinds
from hkoji.game.agreement import UNTIMED, Agreement, TimeControl
from hkoji.game.submission import Submission
from hkoji.log.public_key import parse_public_key
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import parse_ruleset
from tests.lab.machine import handmade_entries
from tests.lab.machine.naive_game import NaiveGame
from tests.lab.machine.seen import position as seen_position
from tests.lab.machine.world import NAMES, Asked, Device, World

T = TypeVar("T")

MOST_LIVE: Final = 2
STEPS: Counter[str] = Counter()
"""How often each operation was done in this process."""
ENDS: Counter[str] = Counter()
"""The number of games in this process by their end, and of those without one."""
MEMORY: Final = Path("/dev/shm") if Path("/dev/shm").is_dir() else None

RULESETS: Final = [
    {"first": first, "max_rounds": rounds, "name": "hanamikoji", "tiebreak": tiebreak, "version": 1}
    for first in ("host", "guest", "random")
    for rounds, tiebreak in ((0, "geisha"), (1, "geisha"), (1, "charm"), (3, "geisha"), (3, "charm"))
] + [
    {"first": first, "markers": markers, "name": "geishas-road", "version": 1}
    for first in ("host", "guest", "random")
    for markers in ("choose", "random")
]

AGREEMENTS: Final[list[tuple[Agreement, int | None]]] = [
    (UNTIMED, None),
    (Agreement(TimeControl(600, 3600, 0, 3600), rated=True), None),
    (Agreement(TimeControl(3600, 0, 0, 0)), 3600),
    (Agreement(TimeControl(0, 1200, 300, 2400), rated=True), None),
    (Agreement(TimeControl(900, 1800, 60, 1860, "567", "-11:45")), None),  # the first day is a Friday
    (UNTIMED, 400),
    (Agreement(TimeControl(86_400, 0, 0, 0)), 86_400),
]
"""The agreement, and the seconds after which the offer expires."""

_BROKEN: Final = (errors.NetworkError, errors.TrustError)
"""The errors that a cut wire causes: the second when the client had to ask for a player's new key."""
REFUSALS: Final[dict[str, type[errors.HkojiError]]] = {
    "conflict": errors.ConflictError,
    "not-your-turn": errors.NotYourTurnError,
    "game-over": errors.GameOverError,
    "time-over": errors.TimeOverError,
    "clock": errors.ClockError,
    "forbidden": errors.ForbiddenError,
    "bad-signature": errors.ForbiddenError,
    "illegal": errors.IllegalError,
    "illegal-action": errors.IllegalError,
}
"""The client's error for each refusal."""


def pick(options: Sequence[T], at: int) -> T:
    """One of `options`."""
    return options[at % len(options)]


def attempt(call: Callable[[], T]) -> T | errors.HkojiError:
    """The result of a client's operation, or its error."""
    try:
        return call()
    except errors.HkojiError as error:
        return error


class Operations(RuleBasedStateMachine):
    """Three players (one with two devices), a stranger and a service; and the checks of each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY, prefix="machine-"))
        self.world = World(self.folder)
        self.signed: list[tuple[Device, Submission]] = []

    def teardown(self) -> None:
        """Checks that every log kept by a client passes its audit and is the service's."""
        ENDS.update(game.result["reason"] if game.result else "none" for game in self.games)
        try:
            for device in self.world.devices:
                for game in device.home.games():
                    self.check_audit(device, self.model.games[game])
        finally:
            self.world.close()
            shutil.rmtree(self.folder)

    @property
    def model(self) -> Any:  # Any: the naive service, whose parts the rules look at freely
        return self.world.model

    @property
    def games(self) -> list[NaiveGame]:
        """The games, oldest first, including offers that nobody has opened."""
        return list(self.model.games.values())

    @property
    def live(self) -> list[NaiveGame]:
        return [game for game in self.games if game.status in ("open", "playing")]

    def device(self, at: int) -> Device:
        return pick(self.world.devices, at)

    def game(self, at: int) -> NaiveGame:
        """A game, mostly one in progress."""
        live = self.live
        return pick(live if live and at % 5 else self.games, at // 5)

    def device_of(self, name: str, at: int) -> Device:
        return pick([device for device in self.world.devices if device.name == name], at)

    def act(self, device: Device, game: NaiveGame | None, call: Callable[[], T]) -> T | errors.HkojiError:
        """Carries out an operation and checks what always holds. Returns its result or its error."""
        device.begin()
        result = attempt(call)
        device.fault = device.meanwhile = None
        if isinstance(result, errors.NetworkError):
            assert device.lost, "a network error without a cut"
        if isinstance(result, errors.TrustError):
            assert device.lost, result
            assert device.lost_path.startswith("/v1/players/"), "not a lost request for a player's key"
        assert not isinstance(result, errors.StorageError | errors.ServiceError), result
        if isinstance(result, errors.LoginError) and self.changing(device):
            assert "`hkoji rekey`" in result.hint
            self.rekey(device)
            return self.act(device, game, call)
        for each in [game] if game else self.games:
            self.check_kept(device, each)
        return result

    def changing(self, device: Device) -> bool:
        """Whether the service has a player's next key and the client, which lost the answer, does not know it yet."""
        identity = device.client.identity
        now = self.model.players[device.name]["key"]
        return identity.next is not None and now == identity.next.public.text != identity.key.text

    def check_kept(self, device: Device, game: NaiveGame) -> None:
        """Checks that the log on the player's disk is a beginning of the service's."""
        texts = device.kept_texts(game.game)
        assert texts == game.texts[: len(texts)], "the kept log is not the service's"

    def check_audit(self, device: Device, game: NaiveGame) -> None:
        """Checks that the kept log holds in an audit, with the keys known from outside."""
        self.check_kept(device, game)
        position = attempt(lambda: device.client.stored(game.game))
        if isinstance(position, errors.NotFoundError):
            assert not device.kept_texts(game.game)
            return
        assert isinstance(position, Position), position
        lines = position.replay.steps
        pins = {name: tuple(map(parse_public_key, self.model.keys_of(name))) for name in self.model.players}
        pins["server"] = (parse_public_key(self.model.key),)
        log = (device.home.game_folder(game.game) / "log.jsonl").read_text()
        result = audit(log, pins)
        assert result.ok, result.findings
        assert result.entries == len(lines)

    def check_position(self, device: Device, game: NaiveGame, position: Position) -> None:
        """Checks that a client's position is the model's, with the same visible cards."""
        course, seat = position.course, game.seat_of(device.name)
        assert (course.seq, course.head, course.status) == (game.seq, game.head, game.status)
        assert (position.seat, course.actor, position.over) == (seat, game.actor, game.stage == "over")
        mine = game.stage == "play" and seat is not None and game.actor == seat
        assert set(position.legal) == (game.moves() if mine else set())
        shown = course.state.to_json()
        for name, value in seen_position(game, seat).items():
            assert shown[name] == value, f"{name}: the client has {shown[name]}, not {value}"

    def posted(self, device: Device) -> Asked | None:
        """The last submission of the operation just run."""
        return next((each for each in reversed(device.trace) if each.entry), None)

    def offered(self, device: Device) -> Asked | None:
        """The last request for a new game of the operation just run."""
        return next((each for each in reversed(device.trace) if each.path == "/v1/offers"), None)

    def start(self, who: int, options: int, invited: int) -> None:
        STEPS["new"] += 1
        device = self.device(who)
        name = pick([None, None, None, None, *NAMES, "nobody"], invited)
        key = pick([None, name, "carol"], invited // 8) if name else None
        invite = entry_kinds.Invite(name, self.device_of(key, 0).key.public if key in NAMES else None) if name else None
        ruleset: Ruleset = parse_ruleset(dict(pick(RULESETS, options)))
        agreement, expires_in = pick(AGREEMENTS, options // 16)
        result = self.act(device, None, lambda: device.client.new(ruleset, invite, agreement, expires_in=expires_in))
        if isinstance(result, errors.HkojiError):
            self.check_refusal(device, result)
            return
        game = self.model.games[result.course.setup.game]
        assert (game.offered_to, game.ruleset) == (device.name, ruleset.to_json())
        assert {**game.agreement, "expires": None} == agreement.to_json()
        self.check_position(device, game, result)

    def check_refusal(self, device: Device, error: errors.HkojiError) -> None:
        """Checks that an operation failed because the wire was cut or the service refused its submission."""
        posted = self.posted(device) or self.offered(device)
        if device.lost:
            assert isinstance(error, _BROKEN), error
            return
        assert posted is not None, error
        assert posted.expected.code is not None, error
        told: tuple[type[errors.HkojiError], ...] = (REFUSALS[posted.expected.code],)
        if posted.entry is not None and self.model.games[posted.entry["game"]].stage == "over":
            told += (errors.GameOverError,)  # the client has looked what stands in the place of its entry
        assert isinstance(error, told), (error, posted.expected.code)

    def sit_down(self, who: int, game: NaiveGame) -> None:
        STEPS["join"] += 1
        device = self.device(who)
        if game.invite and game.invite["name"] in NAMES and who % 4:
            device = self.device_of(game.invite["name"], who)
        result = self.act(device, game, lambda: device.join(game.game))
        posted, seat = self.posted(device), game.seat_of(device.name)
        if device.lost or (posted is not None and posted.expected.code):
            assert isinstance(result, errors.HkojiError)
            self.check_refusal(device, result)
        elif game.stage == "over":
            assert isinstance(result, errors.GameOverError), result
        elif seat == 1:
            assert isinstance(result, Position), result
            self.check_position(device, game, result)
        elif seat == 0:
            assert type(result) is errors.IllegalError, result
        elif game.stage != "join":
            assert isinstance(result, errors.ConflictError), result
        else:
            assert game.invite is not None, result
            assert type(result) is errors.IllegalError, result

    def step_on(self, which: int, choice: int) -> None:
        """The player who owes the next entry of a game sends it; without a game a new one begins."""
        if not self.live:
            self.start(which, choice, choice // 7)
            return
        game = pick(self.live, which)
        if game.stage == "join":
            if game.invite and (game.invite["name"] not in NAMES or game.invite["key"]) and choice % 2:
                self.quit(self.device_of(game.names[0] or "", which), game, "cancel")  # perhaps no client can join
            else:
                self.sit_down(which // 2, game)
            return
        STEPS["play"] += 1
        device = self.device_of(game.to_move or "", which // 8)
        if game.stage.startswith("seed"):
            self.look_at(device, game)
        else:
            self.move_in(device, game, pick(sorted(game.moves()), choice))

    def move_in(self, device: Device, game: NaiveGame, notation: str) -> None:
        outbox = device.home.game_folder(game.game) / "outbox.signed"
        last = outbox.read_bytes().splitlines()[-1] if outbox.exists() else b""
        waited = handmade_entries.entry_of(last) if b'"entry":' in last else None
        result = self.act(device, game, lambda: device.move(game.game, notation))
        if device.lost:
            assert isinstance(result, _BROKEN), result
            return
        if waited is not None and waited["kind"] == "move" and handmade_entries.text_of(waited) in game.texts:
            # An earlier operation had broken off: its move counts, and no other was sent.
            if isinstance(result, MadeMove):
                assert result.seq == waited["seq"]
            else:
                assert isinstance(result, errors.ConflictError), result
            return
        posted = self.posted(device)
        entry = posted.entry if posted else None
        refused = posted.expected.code if posted else None
        if refused and (entry != waited or refused == "clock"):  # the move, or a seed or a new key before it
            assert isinstance(result, errors.HkojiError)
            self.check_refusal(device, result)
        elif posted and entry and entry["kind"] == "move" and entry != waited:
            assert isinstance(result, MadeMove), result
            assert result.seq == entry["seq"]
            self.check_position(device, game, result.position)
        elif game.stage == "over":
            assert isinstance(result, errors.GameOverError), result
        elif game.stage != "play" or game.seat_of(device.name) != game.actor:
            assert isinstance(result, errors.NotYourTurnError), result
        else:
            assert isinstance(result, errors.IllegalActionError | errors.NotationError), result
            assert notation not in game.moves()

    def quit(self, device: Device, game: NaiveGame, kind: str) -> None:
        STEPS[kind] += 1
        result = self.act(device, game, lambda: getattr(device, kind)(game.game))
        posted, seat = self.posted(device), game.seat_of(device.name)
        entry = posted.entry if posted else None
        refused = posted.expected.code if posted else None
        if device.lost:
            assert isinstance(result, _BROKEN), result
        elif isinstance(result, MadeMove):
            made = handmade_entries.read(game.texts[result.seq])
            assert (made["kind"], made["by"]) == (kind, device.name)
        elif entry and refused and (entry["kind"] in (kind, "rekey") or refused == "clock"):
            assert isinstance(result, errors.HkojiError)
            self.check_refusal(device, result)
        elif game.stage == "over":
            assert isinstance(result, errors.GameOverError), result
        elif seat is None:
            assert isinstance(result, errors.NotYourTurnError), result
        else:
            assert type(result) is errors.IllegalError, result
            assert (kind == "cancel") != (game.stage == "join" and seat == 0)

    def rekey(self, device: Device) -> None:
        """The client makes a key and sends it to the service, or finishes an interrupted change."""
        STEPS["rekey"] += 1
        before = self.model.players[device.name]["key"]
        result = self.act(device, None, lambda: device.client.keys.rekey(None))
        if device.lost:
            assert isinstance(result, errors.NetworkError), result
            return
        assert not isinstance(result, errors.HkojiError), result
        now = self.model.players[device.name]["key"]
        assert now == result.key.text == device.client.identity.key.text
        assert now != before or not device.trace or device.trace[-1].expected.status == 200

    def look_at(self, device: Device, game: NaiveGame) -> None:
        result = self.act(device, game, lambda: device.position(game.game))
        if isinstance(result, Position):
            self.check_position(device, game, result)
        else:
            assert isinstance(result, errors.HkojiError)
            self.check_refusal(device, result)

    def list_of(self, device: Device, *, waiting: bool) -> None:
        STEPS["list"] += 1
        result = self.act(device, None, device.client.waiting if waiting else device.client.games)
        if device.lost or isinstance(result, errors.HkojiError):
            assert device.lost, result
            return
        found = [each["game"] for each in result]
        if waiting:  # the most urgent first, by the clocks as the client knows them
            deadlines = [each["clock"]["deadline"] or "~" for each in result]
            assert deadlines == sorted(deadlines)
            assert sorted(found) == sorted(self.model.waiting_for(device.name))
        else:
            assert found == self.model.own_games(device.name)

    def stored_seat(self, device: Device, texts: list[str]) -> int | None:
        kinds = {handmade_entries.read(text)["kind"]: handmade_entries.read(text)["by"] for text in texts[1:3]}
        return 0 if kinds.get("open") == device.name else 1 if kinds.get("join") == device.name else None


class OperationsOfTime(Operations):
    """Clocks, gifts of time, and wishes to call a game off."""

    def stated(self, device: Device) -> Asked | None:
        """The last statement of the operation just run, or its withdrawal."""
        return next((each for each in reversed(device.trace) if "/statements" in each.path), None)

    def give_time(self, device: Device, game: NaiveGame, seconds: int) -> None:
        STEPS["give"] += 1
        result = self.act(device, game, lambda: device.about_time(game.game, lambda time: time.give(seconds)))
        if isinstance(result, GameTime):
            self.check_time(device, game, result)
        else:
            self.check_statement_refused(device, game, result)

    def wish(self, device: Device, game: NaiveGame, *, withdraw: bool) -> None:
        STEPS["withdraw" if withdraw else "call off"] += 1
        result = self.act(
            device,
            game,
            lambda: device.about_time(game.game, lambda time: time.withdraw() if withdraw else time.annul()),
        )
        if isinstance(result, GameTime):
            self.check_time(device, game, result)
            if game.stage != "over":
                assert withdraw != (device.name in game.time.wishes(game.head))
        else:
            self.check_statement_refused(device, game, result)

    def look_at_time(self, device: Device, game: NaiveGame) -> None:
        STEPS["look at the clock"] += 1
        result = self.act(device, game, lambda: device.look(game.game))
        if isinstance(result, errors.HkojiError):
            self.check_refusal(device, result)
            return
        position, time = result
        self.check_position(device, game, position)
        self.check_time(device, game, time)

    def check_time(self, device: Device, game: NaiveGame, time: GameTime) -> None:
        """Checks that a clock shows what the model's shows."""
        if device.lost:  # it was not told of gifts and outages
            return
        reading = time.reading
        assert (reading.deadline, time.agreement.to_json()) == (game.deadline(), game.agreement)
        clock = game.time.clock
        if clock is not None and game.actor is not None:
            assert (reading.seat, reading.since, reading.spent) == (clock.turn, game.time.since, clock.spent)
            assert list(reading.reserve or ()) == clock.banks
            assert set(time.annul) == set(game.time.wishes(game.head))
            assert len(time.gifts) == len(game.time.gifts())
            assert [each.to_json() for each in time.outages] == game.time.lost()

    def check_statement_refused(self, device: Device, game: NaiveGame, error: errors.HkojiError) -> None:
        """Checks that a statement was refused here, or by the service, or that the operation broke off."""
        said = self.stated(device)
        if said is not None and said.expected.code and isinstance(error, REFUSALS[said.expected.code]):
            return
        # The client may know itself that nothing can be said.
        timeless = game.time.clock is None or game.actor is None or game.seat_of(device.name) in (None, game.actor)
        if timeless and isinstance(error, errors.NotYourTurnError | errors.IllegalError | errors.GameOverError):
            return
        self.check_refusal(device, error)  # it broke off, or an entry before it was refused
