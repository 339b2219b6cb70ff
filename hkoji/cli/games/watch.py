"""`hkoji watch`: prints a line for each entry of games as it arrives; `--exec` and `--notify` do more at each.

A command gets the entry as one line of JSON on its standard input. No shell reads any of it. It has a process group of
its own, which is killed after a minute, so that one that hangs does not keep the next entry from being told.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, suppress
from html import escape
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.cli.games import plan
from hkoji.cli.games.game_words import local_time, until_text
from hkoji.cli.games.told import message_line, note_end, noting, tell_news
from hkoji.cli.language import _, translate
from hkoji.cli.long_work import handling
from hkoji.cli.output import client, encode, out, versioned
from hkoji.cli.settings import deck_for
from hkoji.client import watching
from hkoji.client.news import UnreadMessage, Untold
from hkoji.client.watching import WatchedEntry
from hkoji.errors import UsageError
from hkoji.game.result_text import closing_body, lapse_json
from hkoji.messages.text import printable, tell
from hkoji.rules.events import DECISIONS
from hkoji.show.steps import step_text

if TYPE_CHECKING:
    from hkoji.client.kept_game import GameTime


LONGEST: Final = 60.0
"""How many seconds a command may run for one entry."""
_SHOWN_IN: Final = 10.0
_APPLE: Final = ("on run argv", "display notification (item 1 of argv) with title (item 2 of argv)", "end run")


class WatchCommands(NamedTuple):
    """The reactions to each entry: `command` is run, and with `notify` the desktop shows what matters to the player."""

    command: tuple[str, ...] = ()
    notify: bool = False

    def run(self, happened: WatchedEntry, value: dict[str, Any]) -> None:  # Any: JSON
        """Does it for one entry; `value` is the entry for programs. Failures are remarks."""
        if self.command:
            run_command(self.command, value)
        if self.notify and matters(happened):
            run_quietly(notification(happened))

    def show(self, text: str, game: str) -> None:
        """Shows on the desktop what is no entry: that the opponent of a game has written."""
        if self.notify:
            run_quietly(_desktop(_("Game {game}", game=game[:8]), text, game[:8]))


def read_commands(
    game: str | None, rest: Sequence[str] | None, *, all_: bool, run: bool, notify: bool
) -> tuple[str | None, WatchCommands]:
    """Returns the game to watch, and what to do at its entries, from the words of the command line.

    With --all no game is named, so the first word is that of the command. Raises `UsageError`.
    """
    words = tuple(rest or ())
    if all_ and run and game is not None:
        words, game = (game, *words), None
    if run and not words:
        raise UsageError(
            tell("--exec needs a command after --"), hint=tell("as in `hkoji watch --all --exec -- notify-send hkoji`")
        )
    if words and not run:
        raise UsageError(tell("watch takes one game"), hint=tell("to run a command for each entry: --exec -- COMMAND"))
    if run and shutil.which(words[0]) is None:
        raise UsageError(
            tell("there is no program {program}", program=words[0]),
            hint=tell("nothing is watched; give the path of a program, or of a shell as in: -- sh -c '...'"),
        )
    if notify:
        _notifier()
    return game, WatchCommands(words, notify)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


@handling(signal.SIGTERM, _leave, before=signal.SIG_DFL)  # so that the command is killed too
def run_command(command: Sequence[str], value: dict[str, Any]) -> None:  # Any: JSON
    """Runs a command for an entry, with the entry as JSON on its standard input, and waits until it ends."""
    sys.stdout.flush()  # what the command prints comes after what this program has printed
    place = {"HKOJI_GAME": value["game"], "HKOJI_EVENT": value["kind"], "HKOJI_SEQ": str(value["seq"])}
    line = encode(versioned(value)).encode() + b"\n"
    about = {"seq": value["seq"], "game": value["game"][:8], "program": command[0]}
    try:
        process = subprocess.Popen(  # noqa: S603 # the user's own command, without a shell
            command, stdin=subprocess.PIPE, env={**os.environ, **place}, start_new_session=True
        )
    except (OSError, ValueError) as error:
        out.say(tell("cannot run {program}: {reason}", program=command[0], reason=error))
        return
    try:
        process.communicate(line, LONGEST)
    except subprocess.TimeoutExpired:
        _kill(process)
        out.say(
            tell("entry {seq} of game {game}: {program} was stopped after {seconds} s", **about, seconds=int(LONGEST))
        )
        return
    except BaseException:  # signals reach only this program's own process group
        _kill(process)
        raise
    if process.returncode:
        out.say(
            tell(
                "entry {seq} of game {game}: {program} has failed, with exit code {code}",
                **about,
                code=process.returncode,
            )
        )


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a command with all processes of its group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()


def matters(happened: WatchedEntry) -> bool:
    """Returns whether an entry calls its player to the game: their turn, or the end. To a spectator every one does."""
    position = happened.position
    if position.seat is None and not position.invited:
        return True
    return happened.step.course.finished or (happened.mine and happened.seq == position.course.seq)


def notification(happened: WatchedEntry) -> list[str]:
    """Returns the program, with its arguments, that shows an entry on the desktop. Raises `UsageError`."""
    position = happened.position
    title = _("Game {game}", game=position.short)
    text = _step(happened)
    if happened.mine:
        text += " " + _call(happened)
    return _desktop(title, text, position.short)


def _step(happened: WatchedEntry) -> str:
    steps = happened.position.replay.steps
    closed = closing_body(each.body for each in steps) if happened.step.course.finished else None
    deck = deck_for(happened.step.course.setup.ruleset.name)
    return step_text(happened.step, translate, deck, closed=closed)


def _call(happened: WatchedEntry) -> str:
    """Returns what an entry calls its player to do."""
    owes = happened.step.course.debtor is not None
    return _("your program owes cards, and could not give them here") if owes else _("your turn")


def _desktop(title: str, text: str, game: str) -> list[str]:
    """Returns the program, with its arguments, that shows a text about a game. Raises `UsageError`."""
    program = _notifier()
    if program.endswith("osascript"):
        # Arguments of the script, not a part of it: so no text is read as a command.
        script = [word for line in _APPLE for word in ("-e", line)]
        return [program, *script, f"{game}: {printable(text)}", title]
    return [program, "--app-name=hkoji", "--", title, escape(printable(text), quote=False)]


def run_quietly(words: Sequence[str]) -> None:
    """Runs a program that shows a notification."""
    try:
        done = subprocess.run(  # noqa: S603 # texts are arguments, not commands
            words,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SHOWN_IN,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        out.say(tell("no notification was shown: {reason}", reason=error))
        return
    if done.returncode:
        out.say(tell("no notification was shown: {program} has failed", program=words[0]))


def _notifier() -> str:
    """Returns the program that shows notifications here. Raises `UsageError` if there is none."""
    name = "osascript" if sys.platform == "darwin" else "notify-send"
    found = shutil.which(name)
    if found is None:
        raise UsageError(
            tell("{program} is not here, so no notifications can be shown", program=name),
            hint=tell("install it, or run a program of your own with --exec"),
        )
    return found


_MINUTES: Final = len("2026-11-20 12:00")


def watch(
    game: str | None,
    after: int | None,
    *,
    all_: bool,
    commands: WatchCommands = WatchCommands(),  # noqa: B008 # it does not change
    plans: bool = False,
    delay: str | None = None,
) -> None:
    """Watches a game until it is over, or all games of the player until interrupted.

    `commands` says what else is done at each entry. With `plans` the player's plans are run as well, after a `delay`.
    """
    if out.keep:
        raise UsageError(tell("watch does not work in a batch"), hint=tell("run it on its own"))
    if (game is None) is not all_:
        raise UsageError(tell("give a game, or --all"), hint=tell("as in `hkoji watch 2714`"))
    if plans and not all_:
        raise UsageError(tell("--plans is for all games"), hint=tell("as in `hkoji watch --all --plans`"))
    if game is None:
        if after is not None:
            raise UsageError(tell("--after is for one game"), hint=tell("as in `hkoji watch 2714 --after 7`"))
        tell_news(_print)
        happened: Generator[WatchedEntry | UnreadMessage, None, None] = watching.watch_all(client())
    else:
        happened = watching.watch_game(client(), client().find(game), after)
    with plan.plans_beside(plans=plans, delay=delay) as notice, closing(happened):
        _tell(happened, commands, notice)


def _tell(
    happened: Iterable[WatchedEntry | UnreadMessage], commands: WatchCommands, notice: Callable[[str], None]
) -> None:
    for each in happened:
        if isinstance(each, UnreadMessage):
            _tell_message(each, commands)
            continue
        position = each.position
        notice(position.game)
        time = client().kept_game(position.game).time if each.seq == position.course.seq else None
        if out.json:
            out.line(happened_json(each, time))
        else:
            _print(happened_text(each, time))
        sys.stdout.flush()
        if each.step.course.finished and position.seat is not None:
            note_end(position)
        commands.run(each, happened_json(each, time))


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def message_json(message: UnreadMessage) -> dict[str, Any]:  # Any: JSON
    """Returns a new message, for programs. docs/json.md."""
    return {"game": message.game, "kind": "talk", "number": message.number, "by": message.name}


def _tell_message(message: UnreadMessage, commands: WatchCommands) -> None:
    """Tells that the opponent has written."""
    if out.json:
        out.line(message_json(message))
        sys.stdout.flush()
    else:
        _print(message_line(message))
        with noting():
            client().news.tell(Untold((message,)))
    commands.show(message_line(message), message.game)


def happened_json(happened: WatchedEntry, time: GameTime | None = None) -> dict[str, Any]:  # Any: JSON
    """Returns an entry that has arrived, for programs. `time` is that of the last entry. docs/json.md."""
    step, seat = happened.step, happened.position.seat
    course = step.course
    action = next((event.action for event in step.events if isinstance(event, DECISIONS)), None)
    outcome = course.outcome if course.finished else None
    return {
        "game": course.setup.game,
        "seq": happened.seq,
        "head": step.entry.head,
        "at": step.entry.at,
        "by": step.entry.by,
        "kind": step.entry.kind,
        "action": action,
        "status": course.status,
        "to_move": course.to_move,
        "mine": happened.mine,
        "seat": seat,
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
        "lapse": lapse_json(step.body),
        "clock": time.to_json() if time else None,
    }


def happened_text(happened: WatchedEntry, time: GameTime | None = None) -> str:
    """Returns an entry that has arrived, in one line; of the last entry with the time until the next is due."""
    step, position = happened.step, happened.position
    at = local_time(step.entry.at)[:_MINUTES]
    told = f"{position.short}  {happened.seq:>3}  {at}  {_step(happened)}"
    if happened.mine and happened.seq == position.course.seq:
        told += "  " + out.style.paint(_call(happened), "bold")
    deadline = time.reading.deadline if time else None
    if time is None or deadline is None:
        return told
    if time.overdue:
        return f"{told}  {_('overdue since {time}', time=local_time(deadline))}"
    return f"{told}  {_('until {time} ({left})', time=local_time(deadline), left=until_text(time))}"
