"""`hkoji replay`: shows a game in notation with one position, or step by step; with `--json`, every step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from hkoji.cli.input import is_file, read_input
from hkoji.cli.language import _
from hkoji.cli.output import CommandOutput
from hkoji.cli.step_text import place_title
from hkoji.errors import MalformedError, UsageError
from hkoji.game.position import studied_position
from hkoji.game.replay import Replay, replay
from hkoji.log.line import Line, parse_lines
from hkoji.messages.text import printable, tell
from hkoji.rules.events import DECISIONS, Event
from hkoji.rules.transcript import Transcript, format_event, format_transcript
from hkoji.study.stops import Eyes, Stop, at_entry, parse_eyes, see, stops

if TYPE_CHECKING:
    from hkoji.client import Client


class ReplayOptions(NamedTuple):
    """The options: the entry to show, whose eyes, and whether to go step by step (None: at a terminal).

    `svg` and `png` are files to draw the position into, `-` for standard output; `force` replaces files.
    """

    at: int | None = None
    eyes: str = "all"
    step: bool | None = None
    svg: str | None = None
    png: str | None = None
    force: bool = False


def show_replay(client: Callable[[], Client], out: CommandOutput, source: str, wish: ReplayOptions) -> None:
    """Shows a game as the chosen eyes saw it; `client` is called for a game that is in no file."""
    known = _read(client, out, source)
    if not known.steps:
        raise known.stop or MalformedError(tell("log"), tell("it is empty"))
    last = known.steps[-1].entry.seq
    if wish.at is not None and not 0 <= wish.at <= last:
        raise UsageError(
            tell("there is no entry {entry}", entry=wish.at),
            hint=tell("the log has entries 0 to {last}", last=last),
        )
    eyes = parse_eyes(wish.eyes, known.steps[-1].course.setup.names)
    seen = see(known, eyes)
    if wish.svg is not None or wish.png is not None:
        _draw(out, seen, eyes, wish)
        return
    for_people = not out.json and not out.keep
    step = wish.step
    if step is None:
        step = for_people and wish.at is None and source != "-" and sys.stdin.isatty() and sys.stdout.isatty()
    if step and for_people:
        if source == "-":
            raise UsageError(
                tell("standard input cannot hold both the log and the commands"),
                hint=tell("give a file, or --notation"),
            )
        from hkoji.cli.study.stepping import ReplayWalk, walk

        walk(ReplayWalk(known, eyes, wish.at), out, force=wish.force)
        return
    _show(out, seen, eyes, wish.at, steps=bool(step))


def _read(client: Callable[[], Client], out: CommandOutput, source: str) -> Replay:
    """Replays a log file, as far as it is valid, or a game as the player knows it."""
    if is_file(source):
        lines: list[Line] = []
        try:
            lines.extend(parse_lines(read_input(out, source)))
        except MalformedError as error:
            result = replay(lines)
            return Replay(result.steps, result.stop or error)
        return replay(lines)
    asked = client()
    with asked.game(asked.find(source)) as held:
        return held.current().replay


def _draw(out: CommandOutput, seen: Replay, eyes: Eyes, wish: ReplayOptions) -> None:
    from hkoji.cli.study import drawing

    asked = ((wish.svg, False), (wish.png, True))
    targets = [drawing.DrawingFile(file, png) for file, png in asked if file is not None]
    printed = [each for each in targets if each.file == "-"]
    if len(printed) > 1 or (printed and (out.json or out.keep)):
        raise UsageError(
            tell("standard output holds one result"), hint=tell("draw into a file with --svg FILE or --png FILE")
        )
    found = stops(seen)
    last = seen.steps[-1].entry.seq if wish.at is None else wish.at
    shown = Replay(seen.steps[: last + 1])
    number = found[at_entry(found, last) or 0].decision
    position = studied_position(shown, eyes.seat)
    svg = drawing.draw(position, place_title(position, number, found[-1].decision, eyes))
    for each in targets:
        drawing.write(svg, each, force=wish.force)
    if not printed:
        files = [each.file for each in targets]
        value = {"game": position.course.setup.game, "at": last, "eyes": eyes.word, "drawn": files}
        out.result(value, lambda: "\n".join(map(printable, files)))


def _show(out: CommandOutput, seen: Replay, eyes: Eyes, at: int | None, *, steps: bool) -> None:
    shown = seen if at is None else Replay(seen.steps[: at + 1])
    course = shown.steps[-1].course
    setup = course.setup
    names = zip(("Host", "Guest"), setup.names, strict=True)
    tags = [("Game", setup.game), *((title, name) for title, name in names if name is not None)]
    if not eyes.open_:
        tags.append(("Eyes", eyes.word))
    transcript = format_transcript(Transcript(setup.ruleset, tuple(tags), shown.events))
    stopped = str(seen.stop) if seen.stop else None
    found = stops(seen)
    value: dict[str, Any] = {  # Any: JSON
        "game": setup.game,
        "ruleset": setup.ruleset.name,
        "host": setup.names[0],
        "guest": setup.names[1],
        "eyes": eyes.word,
        "at": shown.steps[-1].entry.seq,
        "decision": found[at_entry(found, shown.steps[-1].entry.seq) or 0].decision,
        "decisions": found[-1].decision,
        "entries": len(seen.steps),
        "status": course.status,
        "state": course.state.to_json(),
        "text": transcript,
        "stopped": stopped,
    }
    if steps:
        value["steps"] = [_stop_json(stop) for stop in found]

    def text() -> str:
        from hkoji.cli.boards import draw

        board = draw(studied_position(shown, eyes.seat), out.style)
        after = _("After entry {entry}:", entry=shown.steps[-1].entry.seq)
        stop = _("The log stops there: {reason}", reason=seen.stop) if seen.stop and at is None else ""
        return f"{transcript}\n{after}\n\n{board}" + (f"\n{stop}\n" if stop else "")

    out.result(value, text)


def _stop_json(stop: Stop) -> dict[str, Any]:  # Any: JSON
    entry, state = stop.step.entry, stop.step.course.state
    return {
        "at": entry.seq,
        "by": entry.by,
        "kind": entry.kind,
        "time": entry.at,
        "decision": stop.decision,
        "round": state.round,
        "events": [_event_json(event) for event in stop.step.events],
        "state": state.to_json(),
    }


def _event_json(event: Event) -> dict[str, Any]:  # Any: JSON
    kind = type(event).__name__.lower()
    return {
        "event": kind,
        "seat": getattr(event, "seat", None),
        "text": format_event(event),
        "decision": isinstance(event, DECISIONS),
    }
