"""Playing: lists, boards, moves, waiting, signing for later."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hkoji.cli import chosen_deck
from hkoji.cli.language import _, translate
from hkoji.cli.output import CommandOutput, EncodedResult
from hkoji.client import Client, Position
from hkoji.errors import CancelledError, StorageError, UsageError
from hkoji.game.course import Stage
from hkoji.game.entry_kinds import Invite
from hkoji.game.position import action_of
from hkoji.game.submission import MAX_SUBMISSION_BYTES, format_submission, parse_submission
from hkoji.log.canonical import encode_base64
from hkoji.log.entry import is_name
from hkoji.log.line import format_log
from hkoji.messages.text import shorten, tell
from hkoji.rules.protocol import Ruleset


def new(client: Client, out: CommandOutput, ruleset: Ruleset, invite: str | None) -> None:
    """Offers and opens a game."""
    if invite is not None and not is_name(invite):
        raise UsageError(
            tell("{invite!r} is not a player's name", invite=shorten(invite)),
            hint=tell("names are 2 to 32 of a-z, 0-9, _ and -"),
        )
    if invite == client.identity.name:
        raise UsageError(tell("nobody can invite themselves"), hint=tell("leave --invite out to play with anyone"))
    position = client.new(ruleset, Invite(invite) if invite else None)
    game, short = position.course.setup.game, position.short
    value = {
        "game": game,
        "ruleset": ruleset.name,
        "options": ruleset.to_json(),
        "status": position.course.status,
        "invite": invite,
        "server": client.server_of(game),
    }

    # The id alone on stdout: `GAME=$(hkoji new)`.
    out.result(value, lambda: game)
    if not out.json:
        joining, waiting = f"hkoji join {short}", f"hkoji wait {short}"
        if invite:
            out.say(tell("The game is open. Ask {name} to run: {command}", name=invite, command=joining))
        else:
            out.say(tell("The game is open. Ask someone to run: {command}", command=joining))
        out.say(tell("Then: {command}", command=waiting))


def join(client: Client, out: CommandOutput, game: str) -> None:
    """Joins a game."""
    with client.game(client.find(game)) as held:
        position = held.join()
    setup = position.course.setup
    value = {"game": setup.game, "status": position.course.status, "host": setup.names[0], "guest": setup.names[1]}
    short = position.short

    def text() -> str:
        joined = _("You have joined {game}, hosted by {name}.", game=short, name=setup.names[0])
        return f"{joined}\n{_('Then: {command}', command=f'hkoji wait {short}')}"

    out.result(value, text)


def games(client: Client, out: CommandOutput, *, everybody: bool = False, status: str | None = None) -> None:
    """The own games, or everybody's."""
    if status not in (None, "open", "playing", "finished"):
        raise UsageError(
            tell("there is no status {status!r}", status=shorten(status)), hint=tell("one of open, playing, finished")
        )
    found = client.games(everybody=everybody, status=status)
    _listing(client, out, found, tell("No games. Open one with: hkoji new"))


def waiting(client: Client, out: CommandOutput) -> None:
    """The games that wait for this player."""
    _listing(client, out, client.waiting(), tell("No game waits for you."))


_STATUS: Final = {"open": tell("open"), "playing": tell("playing"), "finished": tell("finished")}


def _listing(client: Client, out: CommandOutput, games: list[dict[str, Any]], empty: str) -> None:  # Any: JSON
    def text() -> str:
        if not games:
            return translate(empty)
        me = client.identity.name
        rows = [(_("game"), _("ruleset"), _("status"), _("host"), _("guest"), _("round"), _("to move"), _("updated"))]
        for each in games:
            mover = each["to_move"] or ""
            if each["status"] == "open":
                mover = each["invite"] or _("anyone")
            rows.append(
                (
                    each["game"][:8],
                    each["ruleset"]["name"],
                    translate(_STATUS.get(each["status"], each["status"])),
                    each["host"] or "",
                    each["guest"] or "",
                    str(each["round"] or ""),
                    _("you") if mover == me else mover,
                    (each["updated"] or "")[:16].replace("T", " "),
                )
            )
        widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines[0] = out.style.paint(lines[0], "dim")
        return "\n".join(lines)

    out.result(games, text)


_encoded: dict[str, tuple[Position, EncodedResult]] = {}


def position_json(position: Position) -> EncodedResult:
    """A position for programs. docs/cli.md, "show"."""
    # A batch often asks for a game in which nothing has happened since: then the client gives the very same value.
    game = position.course.setup.game
    held = _encoded.get(game)
    if held is None or held[0] is not position:
        held = _encoded[game] = (position, EncodedResult(_encode(position)))
    return held[1]


def _encode(position: Position) -> dict[str, Any]:  # Any: JSON
    from hkoji.rules.information import information_json

    course = position.course
    setup = course.setup
    return {
        **information_json(course.state, position.seat, position.events, position.legal),
        "game": setup.game,
        "status": course.status,
        "host": setup.names[0],
        "guest": setup.names[1],
        "actor": course.actor,
        "due": course.state.due.value if course.stage is Stage.PLAY else course.stage.value,
        "seq": course.seq,
        "head": course.head,
    }


def show(client: Client, out: CommandOutput, game: str) -> None:
    """A game's board."""
    with client.game(client.find(game)) as held:
        position = held.current()
    show_position(out, position)


def wait(client: Client, out: CommandOutput, game: str, timeout: float | None) -> None:
    """The board once there is something to do."""
    from hkoji.client import watching

    show_position(out, watching.wait(client, client.find(game), timeout))


def resign(client: Client, out: CommandOutput, game: str, *, yes: bool) -> None:
    """Gives a game up. At a terminal it asks first."""
    game = client.find(game)
    if not yes and not out.keep and sys.stdin.isatty() and sys.stderr.isatty():
        asked = _("Give up game {game}? It cannot be taken back.", game=game[:8])
        sys.stderr.write(f"{asked} {_('[y/N]')} ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in _("y yes").split():
            raise CancelledError(tell("not given up"), hint=tell("nothing was sent"))
    with client.game(game) as held:
        position = held.resign().position
    show_position(out, position)


def cancel(client: Client, out: CommandOutput, game: str) -> None:
    """Takes an open game back."""
    with client.game(client.find(game)) as held:
        position = held.cancel().position
    show_position(out, position)


def show_position(out: CommandOutput, position: Position) -> None:
    """A board; with `--json` a position for programs."""
    chosen_deck.deck_for(position.course.setup.ruleset.name)

    def text() -> str:
        from hkoji.cli.boards import draw

        return draw(position, out.style)

    out.result(position_json(position), text)


def move(client: Client, out: CommandOutput, game: str, notation: Sequence[str]) -> None:
    """Makes a move and shows what came of it."""
    game = client.find(game)
    typed = _typed(client, game, notation)
    with client.game(game) as held:
        position, seq = held.move(typed)
    step = position.replay.steps[seq]
    value = {**position_json(position), "move": {"seq": seq, "head": step.entry.head, "action": action_of(step)}}

    def text() -> str:
        from hkoji.cli.boards import draw

        course = position.course
        if position.over or course.state.round != position.replay.steps[seq - 1].course.state.round:
            return draw(position, out.style)
        action = chosen_deck.deck_for(course.setup.ruleset.name).write(action_of(step))
        made = _("Entry {seq} is on record: {action}.", seq=seq, action=action)
        if position.mine:
            then = _("It is your turn again: {command}", command=f"hkoji show {position.short}")
        else:
            name = course.setup.names[1 - (position.seat or 0)]
            then = _("Now {name} is to move: {command}", name=name, command=f"hkoji wait {position.short}")
        return f"{made}\n{then}"

    out.result(value, text)


def _typed(client: Client, game: str, notation: Sequence[str]) -> str:
    """A move as it was typed, with a deck's names for the cards replaced by the game's."""
    text = " ".join(notation)
    if chosen_deck.is_standard():
        return text
    with client.game(game) as held:
        position = held.current()
    return chosen_deck.deck_for(position.course.setup.ruleset.name).read(text)


def sign(client: Client, out: CommandOutput, game: str, notation: Sequence[str]) -> None:
    """Signs a move for later."""
    game = client.find(game)
    typed = _typed(client, game, notation)
    client.stored(game)  # a game that was never seen is refused here, without asking the service
    with client.game(game) as held:
        submission = held.sign(typed)
    out.lines(format_submission(submission) + "\n")
    if submission.opening:
        out.say(
            tell(
                "Signed, not sent. It holds your hidden cards until it is sent: keep it to yourself. "
                "Send it with: hkoji submit FILE"
            )
        )
    else:
        out.say(tell("Signed, not sent. Send it with: hkoji submit FILE"))


def submit(client: Client, out: CommandOutput, file: str, server: str | None) -> None:
    """Sends a signed move."""
    submission = parse_submission(read_input(out, file, MAX_SUBMISSION_BYTES))
    lines = client.submit(submission, server)
    receipt = lines[0].receipt
    assert receipt is not None
    entry = submission.entry
    value = {
        "game": entry.game,
        "seq": entry.seq,
        "head": entry.head,
        "at": receipt.receipt.at,
        "receipt": {"sig": encode_base64(receipt.sig), "text": receipt.receipt.text},
        "entries": [line.entry.seq for line in lines],
    }
    out.result(
        value,
        lambda: _(
            "Entry {seq} of game {game} is on record since {time}.",
            seq=entry.seq,
            game=entry.game[:8],
            time=receipt.receipt.at,
        ),
    )


def log(client: Client, out: CommandOutput, game: str) -> None:
    """The public log as it stands, without receipts."""
    with client.game(client.find(game)) as held:
        lines = held.log()
    out.lines(format_log(lines, receipts=False))


def read_input(out: CommandOutput, file: str, limit: int | None = None) -> bytes:
    """A file's bytes, or standard input's for `-`. Raises `StorageError`, and `UsageError` for `-` in a batch."""
    if file == "-" and out.keep:
        raise UsageError(tell("in a batch standard input holds the commands"), hint=tell("give a file"))
    try:
        if file == "-":
            return sys.stdin.buffer.read() if limit is None else sys.stdin.buffer.read(limit + 1)
        return Path(file).read_bytes()
    except OSError as error:
        reason = tell("cannot read {file}: {reason}", file=file, reason=error.strerror)
        raise StorageError(reason, hint=tell("give a file, or - for standard input")) from error
