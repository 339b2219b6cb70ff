"""`hkoji plan`, `hkoji plans run` and `hkoji watch --plans`: makes, shows, tries and drops plans, and plays by them.

A plan stays on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from hkoji.cli.games.game_words import local_time
from hkoji.cli.input import confirm, read_input
from hkoji.cli.language import _, translate
from hkoji.cli.output import client, error_json, exit_code, out
from hkoji.cli.settings import plays_only_move
from hkoji.client import Position
from hkoji.client.plans import (
    USUAL_DELAY,
    Delay,
    DueReply,
    PlanFiles,
    PlanRun,
    PlanRunner,
    PlanThread,
    parse_delay,
    plan_ended,
    planned_games,
)
from hkoji.errors import HkojiError, IllegalError, PlanTextError, UsageError
from hkoji.game.course import Stage
from hkoji.messages.text import tell
from hkoji.plans.grammar import MAX_PLAN_BYTES, ONLY, Plan, format_plan, parse_plan
from hkoji.plans.standing import ArmedPlan, PlanStanding, stand
from hkoji.plans.trial import plan_warnings, try_plan

if TYPE_CHECKING:
    from hkoji.client.game import ClientGame


_NOT_ARMED = tell("nothing was stored")


class ShownPlan(NamedTuple):
    """A plan with how it stands, when the next reply is due, and what is doubtful about it."""

    armed: ArmedPlan
    position: Position
    standing: PlanStanding
    due: str | None
    warnings: tuple[str, ...]


def plan(game: str | None, file: str | None, tried: str | None, *, drop: bool, listed: bool, yes: bool) -> None:
    """Makes, shows, tries or drops the plan of a game, or lists all. Raises `UsageError` if that is not one thing."""
    if (game is None) is not listed or sum((tried is not None, drop, listed)) > 1 or (file and (drop or listed)):
        raise UsageError(
            tell("give a game, or --list; and at most one of --try and --drop"),
            hint=tell("as in `hkoji plan 2714 my-plan.txt` or `hkoji plan 2714 --drop`"),
        )
    if game is None:
        _list()
    elif file is not None:
        _make(client().find(game), file, tried, yes=yes)
    elif drop:
        _drop(client().find(game, offline=True))
    else:
        _show(client().find(game, offline=True), tried)


# --- making a plan ----------------------------------------------------------------------------------------------------


def _make(game: str, file: str, tried: str | None, *, yes: bool) -> None:
    text = _decode(read_input(file or "-", MAX_PLAN_BYTES))
    with client().game(game) as held:
        position = held.current()
        held.require_cards()
        armed = _armed(text, position)
        before = PlanFiles(held.vault.folder).armed
    if tried is not None:
        _tell_trial(armed, position, tried)
        return
    shown = ShownPlan(armed, position, _able(armed, position), None, plan_warnings(armed.plan, position))
    if not yes:
        out.say(_("This is the plan as it was read:"))
        for line in _lines(armed.plan):
            out.say(line)
        for warning in shown.warnings:
            out.say(tell("warning: {reason}", reason=warning))
    question = (
        _("Replace the plan of game {game} by this one?", game=position.short)
        if before
        else _("Let this plan play in game {game}?", game=position.short)
    )
    unasked = UsageError(
        tell("there is no terminal to ask for confirmation"),
        hint=tell("nothing was stored; to confirm it, give the command with --yes"),
    )
    confirm(question, tell("not stored"), yes=yes, unasked=unasked)
    with client().game(game) as held:
        position = held.stored()
        standing = _able(armed, position)
        files = PlanFiles(held.vault.folder)
        files.write(armed)
        shown = shown._replace(position=position, standing=standing, due=_due_of(files, position))
    how = _("It plays only while hkoji watch --all --plans runs here, or when hkoji plans run is called.")
    out.result(lambda: plan_json(shown), lambda: f"{_text(shown)}\n{how}")


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(errors="replace")
        row = before.count("\n") + 1
        raise PlanTextError(row, len(before) - before.rfind("\n"), tell("it is not UTF-8"), hint=_NOT_ARMED) from error


def _armed(text: str, position: Position) -> ArmedPlan:
    """Returns a plan made at the last entry of a game. Raises `PlanTextError`, or `IllegalError` before the cards."""
    position.verify_player(hint=_NOT_ARMED)
    course = position.course
    if course.stage is not Stage.PLAY:
        raise IllegalError(
            tell("the game has not begun: you have no cards yet"), hint=tell("nothing was stored; make the plan later")
        )
    made = parse_plan(text, course.setup.ruleset)
    return ArmedPlan(made, course.seq, course.head, course.state.round)


def _able(armed: ArmedPlan, position: Position) -> PlanStanding:
    """Returns how a new plan stands. Raises `IllegalError` if it could not make a single move."""
    standing = stand(armed, position)
    if standing.ended is not None:
        raise IllegalError(
            tell("the plan would not play: {reason}", reason=standing.ended),
            hint=tell("nothing was stored; if it is your turn, make your move first, and then the plan"),
        )
    return standing


# --- looking at plans -------------------------------------------------------------------------------------------------


def _read(held: ClientGame) -> ShownPlan | None:
    """Returns the plan of a game as it is known here; None if there is none."""
    files = PlanFiles(held.vault.folder)
    if not files.armed:
        return None
    position = held.stored()
    held.require_cards()
    armed = files.read(position.course.setup.ruleset)
    if armed is None:
        return None
    standing = stand(armed, position)
    warnings = () if standing.ended else plan_warnings(armed.plan, position)
    return ShownPlan(armed, position, standing, _due_of(files, position), warnings)


def _due_of(files: PlanFiles, position: Position) -> str | None:
    reply: DueReply | None = files.due()
    return reply.due if reply and reply.head == position.course.head and position.legal else None


def _show(game: str, tried: str | None) -> None:
    with client().game(game) as held:
        shown = _read(held)
    if shown is None:
        raise _no_plan(game)
    if tried is None:
        out.result(lambda: plan_json(shown), lambda: _text(shown))
    else:
        _tell_trial(shown.armed, shown.position, tried)


def _list() -> None:
    found: list[ShownPlan] = []
    for game in planned_games(client().home.path):
        try:
            with client().game(game) as held:
                shown = _read(held)
        except HkojiError as error:
            client().say(tell("game {game}: {reason}", game=game[:8], reason=error))
        else:
            found += [shown] if shown else []

    def text() -> str:
        return "\n\n".join(map(_text, found)) if found else _("You have no plans.")

    out.result([plan_json(each) for each in found], text)


def _drop(game: str) -> None:
    with client().game(game) as held:
        files = PlanFiles(held.vault.folder)
        if not files.armed:
            raise _no_plan(game)
        files.drop()
        waits = held.vault.outbox() is not None
    if waits:
        client().say(tell("an entry that is already signed waits here; the next command for this game sends it"))
    out.result({"game": game, "dropped": True}, lambda: _("The plan of game {game} is gone.", game=game[:8]))


def _no_plan(game: str) -> UsageError:
    return UsageError(
        tell("game {game} has no plan", game=game[:8]),
        hint=tell("make one with `hkoji plan {game} FILE`", game=game[:8]),
    )


def _tell_trial(armed: ArmedPlan, position: Position, tried: str) -> None:
    words = tried.split()
    trial = try_plan(armed, position, words)
    value = {
        "game": position.game,
        "tried": words,
        "moves": [
            {"seen": list(each.seen), "action": each.choice.action, "line": each.choice.line} for each in trial.moves
        ],
        "seen": list(trial.seen),
        "ended": trial.ended,
    }

    def text() -> str:
        lines = [
            _(
                "After {seen} it plays {action} (line {line}).",
                seen=" ".join(each.seen) or _("nothing"),
                action=each.choice.action,
                line=each.choice.line,
            )
            for each in trial.moves
        ]
        seen = " ".join(trial.seen) or _("nothing")
        if trial.ended is not None:
            lines.append(_("After {seen} it ends: {reason}.", seen=seen, reason=translate(trial.ended)))
        else:
            lines.append(_("After {seen} it waits for what comes next.", seen=seen))
        return "\n".join(lines)

    out.result(value, text)


# --- output -----------------------------------------------------------------------------------------------------------


def plan_json(shown: ShownPlan) -> dict[str, Any]:  # Any: JSON
    """Returns a plan for programs. docs/json.md."""
    armed, choice = shown.armed, shown.standing.choice
    return {
        "game": shown.position.game,
        "seq": armed.seq,
        "head": armed.head,
        "round": armed.round,
        "lines": [
            {"line": line.number, "pattern": " ".join(line.pattern), "choices": list(line.choices or (ONLY,))}
            for line in armed.plan.lines
        ],
        "seen": list(shown.standing.seen),
        "action": choice.action if choice else None,
        "line": choice.line if choice else None,
        "due": shown.due,
        "ended": shown.standing.ended,
        "warnings": list(shown.warnings),
    }


def _lines(made: Plan) -> list[str]:
    return [f"  {line}" for line in format_plan(made).splitlines()]


def _text(shown: ShownPlan) -> str:
    armed, standing = shown.armed, shown.standing
    lines = [
        _(
            "Plan of game {game} for round {round}, made after entry {seq}:",
            game=shown.position.short,
            round=armed.round,
            seq=armed.seq,
        ),
        *_lines(armed.plan),
    ]
    if standing.seen:
        lines.append(_("Seen since then: {seen}", seen=" ".join(standing.seen)))
    if standing.ended is not None:
        lines.append(translate(plan_ended(shown.position.short, standing.ended)))
    elif standing.choice is None:
        lines.append(_("It waits for your opponent."))
    elif shown.due is None:
        lines.append(_("It plays {action} (line {line}).", action=standing.choice.action, line=standing.choice.line))
    else:
        lines.append(
            _(
                "It plays {action} (line {line}), not before {time}.",
                action=standing.choice.action,
                line=standing.choice.line,
                time=local_time(shown.due),
            )
        )
    lines += [_("Warning: {reason}", reason=translate(warning)) for warning in shown.warnings]
    return "\n".join(lines)


def read_delay(text: str | None) -> Delay:
    """Returns the delay that the command line gives, or the usual one. Raises `UsageError`."""
    return USUAL_DELAY if text is None else parse_delay(text)


def run_plans(delay: Delay) -> int:
    """Makes the moves that are due in all games, and returns the exit code: that of the first game that failed."""
    found = PlanRunner(client(), only=plays_only_move(), delay=delay).run()

    def text() -> str:
        lines = [line for each in found for line in _run_lines(each)]
        return "\n".join(lines) if lines else _("No plan has anything to play now.")

    out.result({"games": [_run_json(each) for each in found]}, text)
    errors = [each.error for each in found if each.error is not None]
    return int(exit_code(errors[0])) if errors else 0


@contextmanager
def plans_beside(*, plans: bool, delay: str | None) -> Iterator[Callable[[str], None]]:
    """Runs plans during the block if `plans`. Gives a function to call with the id of a game that has a new entry.

    Raises `UsageError` for a delay without plans.
    """
    if not plans:
        if delay is not None:
            raise UsageError(tell("--delay is for plans"), hint=tell("as in `hkoji watch --all --plans --delay 0`"))
        yield lambda _game: None
        return
    other = client().another()
    runner = PlanRunner(other, only=plays_only_move(), delay=read_delay(delay))

    def told(found: PlanRun) -> None:
        for move in found.made:
            out.say(tell("game {game}: {line}", game=found.game[:8], line=_made_text(move.seq, move.action, move.line)))
        if found.ended is not None:
            out.say(plan_ended(found.game[:8], found.ended))

    try:
        with PlanThread(other, runner, told) as thread:
            yield thread.notice
    finally:
        other.close()


def _made_text(seq: int, action: str, line: int | None) -> str:
    if line is None:
        return tell("entry {seq} is made: {action}, the only legal move", seq=seq, action=action)
    return tell("entry {seq} is made: {action}, by line {line} of the plan", seq=seq, action=action, line=line)


def _run_lines(found: PlanRun) -> Iterator[str]:
    short = found.game[:8]
    for move in found.made:
        yield f"{short}  {translate(_made_text(move.seq, move.action, move.line))}"
    if found.ended is not None:
        yield f"{short}  {_('the plan has ended: {reason}', reason=translate(found.ended))}"
    if found.due is not None:
        yield f"{short}  {_('the next move is due at {time}', time=local_time(found.due))}"
    if found.error is not None:
        yield f"{short}  {translate(found.error.message)}"


def _run_json(found: PlanRun) -> dict[str, Any]:  # Any: JSON
    return {
        "game": found.game,
        "made": [move._asdict() for move in found.made],
        "due": found.due,
        "ended": found.ended,
        "error": None if found.error is None else error_json(found.error),
    }
