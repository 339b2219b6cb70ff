"""Playing: lists, boards, moves, waiting, signing for later."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hkoji.cli.output import Output
from hkoji.client.session import Client, Position
from hkoji.errors import IllegalError, StorageError, UsageError
from hkoji.game.bodies import Invite
from hkoji.game.course import Stage
from hkoji.game.submission import MAX_SUBMISSION_BYTES, format_submission, parse_submission
from hkoji.log.entry import is_name
from hkoji.rules.protocol import Ruleset
from hkoji.rules.registry import RULESETS


def make_ruleset(name: str, first: str, max_rounds: int, tiebreak: str | None) -> Ruleset:
    """The ruleset of command-line options. Raises `UsageError`."""
    if name not in RULESETS:
        raise UsageError(f"there is no ruleset {name!r}", hint=f"rulesets: {', '.join(sorted(RULESETS))}")
    from hkoji.rules.hanamikoji.ruleset import Hanamikoji

    try:
        return Hanamikoji(first, max_rounds, tiebreak or "geisha")
    except IllegalError as error:
        raise UsageError(str(error), hint=error.hint) from error


def new(client: Client, out: Output, ruleset: Ruleset, invite: str | None) -> None:
    """Offers and opens a game."""
    if invite is not None and not is_name(invite):
        raise UsageError(f"{invite!r} is not a player's name")
    course = client.new(ruleset, Invite(invite) if invite else None)
    game = course.setup.game
    value = {
        "game": game,
        "ruleset": ruleset.name,
        "options": ruleset.to_json(),
        "status": course.status,
        "invite": invite,
        "server": client.server,
    }
    who = invite or "someone"
    out.result(
        value,
        lambda: f"{game}\nThe game is open. Ask {who} to run: hkoji join {game[:8]}\nThen: hkoji wait {game[:8]}",
    )


def join(client: Client, out: Output, game: str) -> None:
    """Joins a game."""
    game = client.find(game)
    course = client.join(game)
    value = {"game": game, "status": course.status, "host": course.setup.names[0], "guest": course.setup.names[1]}
    out.result(
        value,
        lambda: f"You have joined {game[:8]}, hosted by {course.setup.names[0]}.\nThen: hkoji wait {game[:8]}",
    )


def listing(out: Output, games: list[dict[str, Any]], empty: str, me: str | None) -> None:  # Any: JSON
    """A list of games."""

    def text() -> str:
        if not games:
            return empty
        rows = [("game", "ruleset", "status", "host", "guest", "round", "to move", "updated")]
        for each in games:
            mover = each["to_move"] or ""
            rows.append(
                (
                    each["game"][:8],
                    str(each["ruleset"]["name"]),
                    each["status"],
                    each["host"] or "",
                    each["guest"] or (f"({each['invite']})" if each["invite"] else "(anyone)"),
                    str(each["round"] or ""),
                    "you" if mover == me else mover,
                    each["updated"][:16].replace("T", " "),
                )
            )
        widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines[0] = out.style.paint(lines[0], "dim")
        return "\n".join(lines)

    out.result(games, text)


def position_json(position: Position) -> dict[str, Any]:  # Any: JSON
    """A position for programs. docs/cli.md, "show"."""
    from hkoji.rules.transcript import format_rounds

    course, seat = position.course, position.seat
    setup, state = course.setup, course.state
    outcome = course.outcome
    ruleset = setup.ruleset
    return {
        "game": setup.game,
        "ruleset": ruleset.name,
        "options": ruleset.to_json(),
        "status": course.status,
        "host": setup.names[0],
        "guest": setup.names[1],
        "seat": seat,
        "actor": course.actor,
        "round": state.round,
        "hand": ruleset.pack.decode(state.hands[seat]) if seat is not None else None,
        "legal": list(position.legal),
        "due": state.due.value if course.stage is Stage.PLAY else course.stage.value,
        "seq": course.seq,
        "head": course.head,
        "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
        "rounds": list(format_rounds(ruleset, position.events)),
        "state": state.to_json(),
    }


def show(out: Output, position: Position) -> None:
    """A board."""

    def text() -> str:
        from hkoji.cli.boards import draw

        return draw(position, out.style)

    out.result(position_json(position), text)


def move(client: Client, out: Output, game: str, notation: list[str]) -> None:
    """Makes a move and shows what came of it."""
    position = client.move(client.find(game), " ".join(notation))
    value = position_json(position)
    step = next(step for step in reversed(position.replay.steps) if step.entry.kind == "move")
    value["move"] = {"seq": step.entry.seq, "head": step.entry.head}

    def text() -> str:
        course = position.course
        lines = [f"Entry {step.entry.seq} is on record."]
        if course.stage is Stage.OVER:
            from hkoji.cli.boards import draw

            return draw(position, out.style)
        if course.actor is not None:
            names = course.setup.names
            mine = course.actor == position.seat
            short = course.setup.game[:8]
            lines.append(
                f"It is your turn again: hkoji show {short}" if mine else f"Now {names[course.actor]} is to move."
            )
        return "\n".join(lines)

    out.result(value, text)


def sign(client: Client, out: Output, game: str, notation: list[str]) -> None:
    """Signs a move for later."""
    submission = client.sign(client.find(game), " ".join(notation))
    out.lines(format_submission(submission) + "\n")
    out.say("Signed, not sent. It holds your hidden cards until it is sent: keep the file to yourself.")


def submit(client: Client, out: Output, file: str, server: str | None) -> None:
    """Sends a signed move."""
    text = read_input(file, MAX_SUBMISSION_BYTES)
    submission = parse_submission(text)
    lines = client.submit(submission, server)
    receipt = lines[0].receipt
    assert receipt is not None
    value = {
        "game": submission.entry.game,
        "seq": submission.entry.seq,
        "head": submission.entry.head,
        "at": receipt.receipt.at,
        "entries": [line.entry.seq for line in lines],
    }
    out.result(value, lambda: f"Entry {submission.entry.seq} of game {submission.entry.game[:8]} is on record.")


def read_input(file: str, limit: int | None = None) -> bytes:
    """A file's bytes, or standard input's for `-`. Raises `StorageError`."""
    try:
        if file == "-":
            return sys.stdin.buffer.read() if limit is None else sys.stdin.buffer.read(limit + 1)
        return Path(file).read_bytes()
    except OSError as error:
        reason = f"cannot read {file}: {error.strerror}"
        raise StorageError(reason, hint="give a file, or - for standard input") from error
