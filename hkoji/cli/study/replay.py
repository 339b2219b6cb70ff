"""`hkoji replay`: shows a game in notation with one position, or step by step; with `--json`, every step.

`ReplayWalk` holds the place in the game and carries out the commands; `walk` reads them line by line, from a terminal
or a pipe, and prints. Boards and their titles go to standard output, prompts, help and errors to standard error. Only
what the chosen eyes saw is ever drawn.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

from hkoji.cli.boards import draw
from hkoji.cli.input import is_file, read_input
from hkoji.cli.language import _, translate
from hkoji.cli.output import client, out
from hkoji.cli.settings import deck_for
from hkoji.cli.terminal import fold, screen
from hkoji.errors import HkojiError, MalformedError, UsageError
from hkoji.game.position import Position, studied_position
from hkoji.game.replay import Replay, replay
from hkoji.log.line import Line, parse_lines
from hkoji.messages.text import printable, shorten, tell
from hkoji.rules.events import DECISIONS, Deal
from hkoji.rules.transcript import Transcript, format_event, format_transcript
from hkoji.show.board import Look
from hkoji.show.games import board, draw_position
from hkoji.show.steps import step_text
from hkoji.study.stops import EVERY, Eyes, Stop, at_decision, at_entry, at_round, parse_eyes, see, stops

HELP: Final = tell(
    """\
  Enter, n   next               p        back
  7          after decision 7   @12      after entry 12
  r          next round         r 2      round 2; rp: the round before
  0, $       beginning, end     e        other eyes; e host, e guest, e all, e spectator, e NAME
  s FILE     draw it: FILE.svg or FILE.png
  ?          this help          q        leave"""
)
_ZOOM: Final = 2.0
"""Pixels of a PNG for each one of the drawing."""
_PROMPT: Final = tell("Enter next, p back, r round, e eyes, ? help, q leave > ")


class ReplayWalk:
    """A place in a game, and the eyes that see it. It begins at entry `at`, or where play begins.

    Raises `IllegalError` if it is not known what these eyes saw.
    """

    def __init__(self, replay: Replay, eyes: Eyes, at: int | None = None) -> None:
        self.replay: Final = replay
        self.eyes = eyes
        self.seen = see(replay, eyes)
        self.found = stops(self.seen)
        self.index = 0 if at is None else at_entry(self.found, at) or 0

    @property
    def stop(self) -> Stop:
        """The current stop."""
        return self.found[self.index]

    @property
    def position(self) -> Position:
        """The current position, as these eyes saw it."""
        return studied_position(self.stop.until(self.seen), self.eyes.seat)

    def go(self, command: str) -> None:
        """Carries out a command. Raises `UsageError` if there is no such place, or `IllegalError`."""
        word, _, rest = command.strip().partition(" ")
        rest = rest.strip()
        if word in ("", "n", "next", "avanti"):
            self._set(self.index + 1, tell("this is the last position"))
        elif word in ("p", "prev", "b", "back", "indietro"):
            self._set(self.index - 1, tell("this is the first position"))
        elif word == "$":
            self.index = len(self.found) - 1
        elif word == "r" and rest:
            self._set(at_round(self.found, _number(rest)), tell("there is no round {number}", number=rest))
        elif word in ("r", "round"):
            self._set(at_round(self.found, self.stop.round + 1), tell("this is the last round"))
        elif word == "rp":
            self._set(at_round(self.found, self.stop.round - 1), tell("this is the first round"))
        elif word in ("e", "eyes", "occhi"):
            self._look(parse_eyes(rest, self.replay.steps[-1].course.setup.names) if rest else None)
        elif word.startswith("@"):
            self._set(
                at_entry(self.found, _number(word[1:])),
                tell("there is nothing to see at entry {entry}", entry=word[1:]),
            )
        elif word.isdecimal():
            self._set(
                at_decision(self.found, _number(word)),
                tell("there are decisions 1 to {last}", last=self.found[-1].decision),
            )
        else:
            raise UsageError(
                tell("there is no command {word!r}", word=shorten(word)), hint=tell("? lists the commands")
            )

    def _set(self, index: int | None, otherwise: str) -> None:
        if index is None or not 0 <= index < len(self.found):
            raise UsageError(otherwise)
        self.index = index

    def _look(self, eyes: Eyes | None) -> None:
        if eyes is not None:
            seen = see(self.replay, eyes)
        else:
            eyes, seen = self._other_eyes()
        self.eyes, self.seen, self.found = eyes, seen, stops(seen)

    def _other_eyes(self) -> tuple[Eyes, Replay]:
        """Returns the next eyes for which it is known what they saw."""
        now = EVERY.index(self.eyes)
        for eyes in (*EVERY[now + 1 :], *EVERY[:now]):
            try:
                return eyes, see(self.replay, eyes)
            except HkojiError:
                continue
        return self.eyes, self.seen

    def title(self) -> str:
        """Returns the place, what happened there and whose eyes see it, in one line."""
        stop = self.stop
        total = self.found[-1].decision
        return _(
            "{decision} of {total}, entry {entry}: {told}   (eyes: {eyes})",
            decision=stop.decision,
            total=total,
            entry=stop.seq,
            told=_stop_text(stop),
            eyes=self._whose(),
        )

    def drawing(self) -> str:
        """Returns the position as SVG text."""
        return _drawn(self.position, self.stop.decision, self.found[-1].decision, self.eyes)

    def _whose(self) -> str:
        if self.eyes.seat is None:
            return _("all that is known") if self.eyes.open_ else _("a spectator")
        name = self.replay.steps[-1].course.setup.names[self.eyes.seat]
        return f"{name}, {self.eyes.word}" if name else self.eyes.word


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise UsageError(tell("{text!r} is not a number", text=shorten(text)), hint=tell("? lists the commands"))
    return int(text)


def walk(place: ReplayWalk, *, force: bool = False) -> None:
    """Shows the current place, and the new place after each command, until `q` or the end of the input.

    With `force` a drawing may replace a file.
    """
    asks = sys.stdin.isatty()
    _show_place(place)
    while True:
        if asks:
            sys.stdout.flush()
            sys.stderr.write(fold(translate(_PROMPT).rstrip(), out.style.width) + " ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        command = line.strip()
        if not line or command in ("q", "quit", "esci"):
            return
        if command in ("?", "h", "help", "aiuto"):
            sys.stderr.write(f"{fold(translate(HELP), out.style.width)}\n")
            continue
        try:
            if command.startswith("s "):
                _save(place, command[2:].strip(), force=force)
                continue
            place.go(command)
        except HkojiError as error:
            hint = f" ({translate(error.hint)})" if error.hint else ""
            sys.stderr.write(f"{translate(error.message)}{hint}\n")
            continue
        _show_place(place)


def _save(place: ReplayWalk, file: str, *, force: bool) -> None:
    ending = Path(file).suffix.lower()
    if ending not in (".svg", ".png"):
        raise UsageError(
            tell("{file} is neither an SVG nor a PNG file", file=file), hint=tell("the name must end in .svg or .png")
        )
    _write(place.drawing(), file, png=ending == ".png", force=force)
    sys.stderr.write(_("drawn in {file}", file=file) + "\n")


def _show_place(place: ReplayWalk) -> None:
    style = out.style
    stopped = place.replay.stop if place.index == len(place.found) - 1 else None
    more = "\n" + _("The log stops there: {reason}", reason=stopped) + "\n" if stopped else ""
    title = style.paint(fold(place.title(), style.width), "bold")
    sys.stdout.write(f"{title}\n\n{draw(place.position, style)}{fold(more, style.width)}\n")


def show_replay(
    source: str, at: int | None, eyes: str, step: bool | None, svg: str | None, png: str | None, *, force: bool
) -> None:
    """Shows a game as the chosen eyes saw it, as it was after an entry, or the whole.

    With `step` it goes step by step; None is for a terminal. `svg` and `png` are files to draw the position into, `-`
    for standard output; `force` replaces files.
    """
    known = _read(source)
    if not known.steps:
        raise known.stop or MalformedError(tell("log"), tell("it is empty"))
    last = known.steps[-1].entry.seq
    if at is not None and not 0 <= at <= last:
        raise UsageError(
            tell("there is no entry {entry}", entry=at),
            hint=tell("the log has entries 0 to {last}", last=last),
        )
    seer = parse_eyes(eyes, known.steps[-1].course.setup.names)
    seen = see(known, seer)
    if svg is not None or png is not None:
        _draw(seen, seer, at, svg, png, force=force)
        return
    for_people = not out.json and not out.keep
    if step is None:
        step = for_people and at is None and source != "-" and sys.stdin.isatty() and sys.stdout.isatty()
    if step and for_people:
        if source == "-":
            raise UsageError(
                tell("standard input cannot hold both the log and the commands"),
                hint=tell("give a file, or --notation"),
            )

        walk(ReplayWalk(known, seer, at), force=force)
        return
    _show(seen, seer, at, steps=bool(step))


def _read(source: str) -> Replay:
    """Replays a log file, as far as it is valid, or a game as the player knows it."""
    if is_file(source):
        lines: list[Line] = []
        try:
            lines.extend(parse_lines(read_input(source)))
        except MalformedError as error:
            result = replay(lines)
            return Replay(result.steps, result.stop or error)
        return replay(lines)
    asked = client()
    with asked.game(asked.find(source)) as held:
        return held.current().replay


def _draw(seen: Replay, eyes: Eyes, at: int | None, svg: str | None, png: str | None, *, force: bool) -> None:
    asked = ((svg, False), (png, True))
    targets = [(file, as_png) for file, as_png in asked if file is not None]
    files = [file for file, _as_png in targets]
    if files == ["-", "-"] or ("-" in files and (out.json or out.keep)):
        raise UsageError(
            tell("standard output holds one result"), hint=tell("draw into a file with --svg FILE or --png FILE")
        )
    found = stops(seen)
    last = seen.steps[-1].entry.seq if at is None else at
    shown = Replay(seen.steps[: last + 1])
    number = found[at_entry(found, last) or 0].decision
    position = studied_position(shown, eyes.seat)
    drawn = _drawn(position, number, found[-1].decision, eyes)
    for file, as_png in targets:
        _write(drawn, file, png=as_png, force=force)
    if "-" not in files:
        value = {"game": position.course.setup.game, "at": last, "eyes": eyes.word, "drawn": files}
        out.result(value, lambda: "\n".join(map(printable, files)))


def _drawn(position: Position, decision: int, decisions: int, eyes: Eyes) -> str:
    """Returns a position as SVG text."""
    deck = deck_for(position.course.setup.ruleset.name, symbols=True)
    return draw_position(
        board(position, Look(translate, deck)).scene(_place_title(position, decision, decisions, eyes))
    )


def _write(svg: str, file: str, *, png: bool, force: bool) -> None:
    """Writes a drawing into a file, `-` for standard output.

    Raises `UsageError` if a PNG cannot be made or shown here, and what `write_result` raises.
    """
    data = _png(svg) if png else svg.encode()
    if file != "-":
        from hkoji.cli.files import write_result

        write_result(file, data, force=force)
        return
    if png and sys.stdout.isatty():
        raise UsageError(tell("a PNG cannot be shown at a terminal"), hint=tell("give a file, or pipe it on"))
    screen().write_bytes(data)


def _png(svg: str) -> bytes:
    try:
        import resvg_py
    except ImportError as error:
        from hkoji.extras import install_command

        raise UsageError(
            tell("the PNG renderer is not installed"),
            hint=tell("install it with: {command}, or draw an SVG", command=install_command("png")),
        ) from error
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_ZOOM))


def _show(seen: Replay, eyes: Eyes, at: int | None, *, steps: bool) -> None:
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
        drawn = draw(studied_position(shown, eyes.seat), out.style)
        after = _("After entry {entry}:", entry=shown.steps[-1].entry.seq)
        stop = _("The log stops there: {reason}", reason=seen.stop) if seen.stop and at is None else ""
        return f"{transcript}\n{after}\n\n{drawn}" + (f"\n{stop}\n" if stop else "")

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
        "events": [
            {
                "event": type(event).__name__.lower(),
                "seat": getattr(event, "seat", None),
                "text": format_event(event),
                "decision": isinstance(event, DECISIONS),
            }
            for event in stop.step.events
        ],
        "state": state.to_json(),
    }


def _place_title(position: Position, decision: int, decisions: int, eyes: Eyes) -> str:
    """Returns the title of a drawing: the game, the place in it, and whose eyes."""
    setup = position.course.setup
    values = {"game": position.short, "entry": position.course.seq, "decision": decision, "decisions": decisions}
    if eyes.open_:
        return _("{game} · entry {entry} · decision {decision} of {decisions}", **values)
    if eyes.seat is None:
        return _("{game} · entry {entry} · decision {decision} of {decisions} · as a spectator saw it", **values)
    name = setup.names[eyes.seat] or eyes.word
    return _("{game} · entry {entry} · decision {decision} of {decisions} · as {name} saw it", name=name, **values)


def _stop_text(stop: Stop) -> str:
    """Returns who did what at a stop, in one line, with the card names of the deck in use."""
    if any(isinstance(event, Deal) for event in stop.step.events) and not stop.made:
        return _("round {number} begins", number=stop.round)
    deck = deck_for(stop.step.course.setup.ruleset.name)
    return step_text(stop.step, translate, deck, round_=stop.round)
