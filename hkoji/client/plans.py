"""Makes the moves that the player's plans decide, each when it is due, by the same steps as a move made by hand.

The time of a reply is drawn, and kept, before the plan is looked at: so it cannot depend on hidden cards. The move is
chosen from the legal ones and bound to the head on which it was chosen; if the game has moved on, the plan is asked
again. The entry is noted in the plan before it is sent. So a run that is killed anywhere makes no second move, and
the next run knows which entries the plan has made. docs/plans.md.

`plan.json` is written durably before anything is sent that depends on it: an entry that the plan makes is noted there
before it can be in the log. `reply.json` names the head that it answers; for any other head it says nothing. Both
are replaced atomically and never leave this machine. Write them only with the vault locked.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from hkoji.client.answers import REFUSALS
from hkoji.client.game import ClientGame
from hkoji.client.kept.files import intact, read_json, remove_file, write_json
from hkoji.errors import ConflictError, HkojiError, MalformedError, UsageError
from hkoji.game.agreement import format_duration, parse_duration
from hkoji.game.clock import add_seconds, parse_time
from hkoji.game.position import Position
from hkoji.game.submission import Submission
from hkoji.log.canonical import is_hex
from hkoji.messages.text import tell
from hkoji.plans.grammar import format_plan, parse_plan
from hkoji.plans.standing import ArmedPlan, PlanChoice, stand
from hkoji.rules.protocol import Ruleset

if TYPE_CHECKING:
    from hkoji.client.client import Client


_PLAN: Final = "plan.json"
_REPLY: Final = "reply.json"
_TRIES: Final = 8
"""How often a plan is asked again because the game has moved on meanwhile."""
_AFTER_REFUSAL: Final = (60, 3600)
"""The least and most seconds after which a move that was refused is tried again. Each try signs an entry, and the
player's files keep it."""
_NONE: Final = "0"
_ALL: Final = 300.0
"""After so many seconds all games are looked at again, and so is a game whose look has failed after `_AGAIN`."""
_AGAIN: Final = 30.0
_GLANCE: Final = 2.0
"""After so many seconds it sees that a plan has been made or changed."""
_END: Final = 2.0
"""The longest wait for a request that is under way when the work ends."""


class DueReply(NamedTuple):
    """When the entry that follows `head` is to be made, as a time of the log."""

    head: str
    due: str


class PlanFiles:
    """The files of plans in the folder of a game."""

    def __init__(self, folder: Path) -> None:
        self.file: Final = folder / _PLAN
        self._reply: Final = folder / _REPLY

    @property
    def armed(self) -> bool:
        """Whether there is a plan."""
        return self.file.exists()

    def read(self, ruleset: Ruleset) -> ArmedPlan | None:
        """Returns the plan of a game with this ruleset; None if there is none. Raises `StorageError`."""
        with intact(self.file):
            kept = read_json(self.file)
            if not kept:
                return None
            seq, round_, made = kept["seq"], kept["round"], tuple(kept["made"])
            if type(seq) is not int or type(round_) is not int or not all(is_hex(each, 64) for each in made):
                raise MalformedError("plan", "its numbers or hashes have another form")
            return ArmedPlan(parse_plan(kept["plan"], ruleset), seq, str(kept["head"]), round_, made)

    def write(self, armed: ArmedPlan) -> None:
        """Keeps a plan in place of any other."""
        write_json(self.file, {**armed._asdict(), "plan": format_plan(armed.plan)})

    def drop(self) -> None:
        """Removes the plan."""
        remove_file(self.file)

    def due(self) -> DueReply | None:
        """Returns when a reply is due; None if that was never said. Raises `StorageError`."""
        with intact(self._reply):
            kept = read_json(self._reply)
            if not kept:
                return None
            parse_time(kept["due"])
            return DueReply(str(kept["head"]), kept["due"])

    def set_due(self, reply: DueReply) -> None:
        """Keeps when a reply is due."""
        write_json(self._reply, reply._asdict())


def planned_games(home: Path) -> tuple[str, ...]:
    """Returns the games of a home that have a plan."""
    return tuple(sorted(file.parent.name for file in home.glob(f"games/*/{_PLAN}")))


class Delay(NamedTuple):
    """How long a planned reply waits, in seconds: a random time from `least` to `most`."""

    least: int
    most: int

    @property
    def text(self) -> str:
        """The delay as `parse_delay` reads it."""
        if not self.most:
            return _NONE
        least, most = (format_duration(each) if each else _NONE for each in self)
        return most if least == most else f"{least}..{most}"


USUAL_DELAY: Final = Delay(600, 10_800)


def parse_delay(text: str) -> Delay:
    """Reads a delay: `10m..3h`, `30m` or `0`. Raises `UsageError`."""
    parts = text.split("..")
    if len(parts) > 2:
        raise UsageError(tell("{text!r} is not a delay", text=text), hint=tell("give it as in 10m..3h, 30m or 0"))
    seconds = [0 if part == _NONE else parse_duration(part) for part in parts]
    if seconds[0] > seconds[-1]:
        raise UsageError(
            tell("the delay {text} ends before it begins", text=text), hint=tell("give it as in 10m..3h, 30m or 0")
        )
    return Delay(seconds[0], seconds[-1])


class PlannedMove(NamedTuple):
    """A move that was made: its entry, the notation, and the line of the plan; None if it was the only legal move."""

    seq: int
    action: str
    line: int | None


class PlanRun(NamedTuple):
    """The outcome of a look at the plan of a game.

    `due` is when the next move will be made, if one is decided. `ended` says why the plan has ended, if it has.
    """

    game: str
    made: tuple[PlannedMove, ...] = ()
    due: str | None = None
    ended: str | None = None
    error: HkojiError | None = None


class PlanRunner:
    """Runs the plans of a `client`. With `only` it also plays in all games where just one move is legal."""

    def __init__(
        self,
        client: Client,
        *,
        only: bool = False,
        delay: Delay = USUAL_DELAY,
        now: Callable[[], str] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._client: Final = client
        self._only: Final = only
        self._delay: Final = delay
        self.now: Final = now or (lambda: client.service().now())
        self._chance: Final[random.Random] = chance or secrets.SystemRandom()
        self._again: Final[dict[str, str]] = {}
        """For the heads after which the service has refused a move: when the next one is tried."""

    def games(self) -> tuple[str, ...]:
        """Returns the games to look at: those with plans, and with `only` all that wait for the player."""
        found = dict.fromkeys(planned_games(self._client.home.path))
        if self._only:
            waiting = self._client.service().own_games(waiting="true")
            found.update(dict.fromkeys(each["game"] for each in waiting if each["status"] == "playing"))
        return tuple(found)

    def run(self) -> list[PlanRun]:
        """Asks the service how these games stand, and makes the moves that are due. Errors concern one game each."""
        return [self.look(game) for game in self.games()]

    def look(self, game: str, *, fetch: bool = True) -> PlanRun:
        """Makes the moves of a game that are due; without `fetch` only if the game, as it is kept here, has one."""
        made: list[PlannedMove] = []
        ended: str | None = None
        try:
            for _ in range(_TRIES):
                found = self._step(game, fetch=fetch)
                ended = found.ended or ended
                if not found.made and found.error is None:
                    return found._replace(made=tuple(made), ended=ended)
                made += found.made
                fetch = False  # what has come meanwhile is kept here
        except HkojiError as error:
            return PlanRun(game, tuple(made), ended=ended, error=error)
        return PlanRun(game, tuple(made), ended=ended)

    def _step(self, game: str, *, fetch: bool) -> PlanRun:
        """Makes the next move of a game if it is due. An `error` says that the game has moved on meanwhile."""
        with self._client.game(game) as held:
            files = PlanFiles(held.vault.folder)
            if not (self._only or files.armed):
                return PlanRun(game)
            position = held.current() if fetch or not held.lines() else held.stored()
            held.require_cards()
            due = self._due(held, files, position) if position.legal else None
            armed = files.read(position.course.setup.ruleset)
            choice, ended = self._choose(files, armed, position)
            if choice is None or due is None:
                return PlanRun(game, ended=ended)
            head = position.course.head
            due = max(due, self._again.get(head, due))
            if parse_time(self.now()) < parse_time(due):
                return PlanRun(game, due=due, ended=ended)
            kept = armed if ended is None else None

            def note(submission: Submission) -> None:
                if kept is not None:
                    files.write(kept._replace(made=(*kept.made, submission.entry.head)))

            try:
                seq = held.move(choice.action, head=head, note=note).seq
            except REFUSALS as error:
                self._again[head] = self._after_refusal(held)
                if not isinstance(error, ConflictError):
                    raise
                held.moved_on(head, error)
                return PlanRun(game, ended=ended, error=error)
            return PlanRun(game, (PlannedMove(seq, choice.action, choice.line or None),), ended=ended)

    def _choose(
        self, files: PlanFiles, armed: ArmedPlan | None, position: Position
    ) -> tuple[PlanChoice | None, str | None]:
        """Returns what is to be played, and why the plan has ended if it has: then it is removed."""
        ended = None
        if armed is not None:
            standing = stand(armed, position)
            if standing.ended is None:
                return standing.choice, None
            ended = standing.ended
            files.drop()
        if self._only and len(position.legal) == 1:
            return PlanChoice(position.legal[0], 0), ended
        return None, ended

    def _after_refusal(self, held: ClientGame) -> str:
        """Returns when a move is tried again that was refused now: after an hour, or a quarter of the time left."""
        (least, most), now = _AFTER_REFUSAL, self.now()
        left = held.time.kept().reading.left(now)
        return add_seconds(now, most if left is None else min(most, max(least, left // 4)))

    def _due(self, held: ClientGame, files: PlanFiles, position: Position) -> str:
        """Returns when the player's next entry is to be made, which is drawn once for each head.

        At least half of the time that is left on the clock stays, and if the clock is short, the least delay is no more
        than a quarter. All that counts here is public.
        """
        head, now = position.course.head, self.now()
        left, (least, most) = held.time.kept().reading.left(now), self._delay
        if left is not None and left // 2 < most:
            most = max(0, left) // 2
            least = min(least, most // 2)  # a reply after exactly half of the time would show that it was planned
        kept = files.due()
        if kept is not None and kept.head == head:
            due = min(kept.due, add_seconds(now, most))
        else:
            due = add_seconds(now, self._chance.randint(least, most))
        if kept != (head, due):
            files.set_due(DueReply(head, due))
        return due


def plan_ended(short: str, reason: str) -> str:
    """Returns the remark that a plan has ended."""
    return tell("The plan of game {game} has ended: {reason}.", game=short, reason=reason)


class PlanThread:
    """Runs the plans of `client`, which nothing else may use, during a `with` block. `told` gets what they bring."""

    def __init__(self, client: Client, runner: PlanRunner, told: Callable[[PlanRun], None]) -> None:
        self._client: Final = client
        self._runner: Final = runner
        self._told: Final = told
        self._wake: Final = threading.Condition()
        self._noticed: set[str] = set()
        self._ended = False
        self._next: dict[str, float] = {}
        self._plans: dict[str, int] = {}
        self._errors: dict[str, str] = {}
        self._thread: Final = threading.Thread(target=self._work, name="plans", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._wake:
            self._ended = True
            self._wake.notify()
        self._thread.join(_END)  # what is cut off here is as safe as after a kill

    def notice(self, game: str) -> None:
        """Says that a game has a new entry, which is kept here."""
        with self._wake:
            self._noticed.add(game)
            self._wake.notify()

    def _work(self) -> None:
        every = 0.0
        while not self._ended:
            if time.monotonic() >= every:
                self._plans = self._stamps()
                every = time.monotonic() + (_ALL if self._look_at_all() else _AGAIN)
            with self._wake:
                if not (self._noticed or self._ended):
                    self._wake.wait(max(0.0, min([_GLANCE, *(at - time.monotonic() for at in self._next.values())])))
                games, self._noticed = self._noticed, set()
            plans, before = self._stamps(), self._plans
            self._plans = plans
            games |= {game for game, stamp in plans.items() if before.get(game) != stamp}
            now = time.monotonic()
            games |= {game for game, at in self._next.items() if at <= now}
            for game in sorted(games):
                self._look(game, fetch=game in self._errors)

    def _look_at_all(self) -> bool:
        """Looks at all games. Returns whether the service has said which they are."""
        try:
            games = self._runner.games()
        except HkojiError as error:
            self._say("", error)
            return False
        self._errors.pop("", None)
        for game in games:
            if not self._ended:
                self._look(game, fetch=True)
        return True

    def _look(self, game: str, *, fetch: bool) -> None:
        run = self._runner.look(game, fetch=fetch)
        self._next.pop(game, None)
        if run.error is not None:
            self._say(game, run.error)
            self._next[game] = time.monotonic() + _AGAIN
        else:
            self._errors.pop(game, None)
            if run.due is not None:
                self._next[game] = time.monotonic() + max(0, parse_time(run.due) - parse_time(self._runner.now()))
        if run.made or run.ended:
            self._told(run)

    def _say(self, game: str, error: HkojiError) -> None:
        """Says what went wrong, once for as long as it stays the same."""
        if self._errors.get(game) == str(error):
            return
        self._errors[game] = str(error)
        self._client.say(tell("plans: {reason}; trying again", reason=error))

    def _stamps(self) -> dict[str, int]:
        """Returns when each plan was written."""
        home, found = self._client.home, {}
        for game in planned_games(home.path):
            try:
                found[game] = PlanFiles(home.game_folder(game)).file.stat().st_mtime_ns
            except FileNotFoundError:  # it has just been removed
                continue
        return found
