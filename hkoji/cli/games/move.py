"""`hkoji move`, `resign`, `sign` and `submit`: moves, sent at once, tried out or signed for later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hkoji.cli.games.game_words import local_time
from hkoji.cli.games.show import bare_position_json, position_json, show_changed
from hkoji.cli.games.told import note_end, say_age
from hkoji.cli.input import confirm, read_input, with_origin
from hkoji.cli.language import _
from hkoji.cli.output import client, out
from hkoji.cli.settings import deck_for, deck_is_standard
from hkoji.game.position import action_of
from hkoji.game.submission import MAX_SUBMISSION_BYTES, format_submission, parse_submission
from hkoji.log.canonical import encode_base64
from hkoji.messages.text import tell


def move(game: str, notation: Sequence[str]) -> None:
    """Makes a move and shows the result."""
    player = client()
    game = player.find(game)
    typed = _typed(game, notation)
    with player.game(game) as held:
        position, seq = held.move(typed)
        time = held.time.kept()
    step = position.replay.steps[seq]

    def value() -> dict[str, Any]:  # Any: JSON
        made = {"seq": seq, "head": step.entry.head, "action": action_of(step)}
        return {**position_json(position, time), "move": made}

    def text() -> str:
        from hkoji.cli.boards import draw, turn

        course = position.course
        if position.over or course.state.round != position.replay.steps[seq - 1].course.state.round:
            return draw(position, out.style)
        action = deck_for(course.setup.ruleset.name).write(action_of(step))
        made = _("Entry {seq} is on record: {action}.", seq=seq, action=action)
        if position.mine:
            then = _("It is your turn again: {command}", command=f"hkoji show {position.short}")
        elif course.debtor is not None:
            then = f"{turn(position)} {_('To wait: {command}', command=f'hkoji wait {position.short}')}"
        else:
            name = course.setup.names[1 - (position.seat or 0)]
            then = _("Now {name} is to move: {command}", name=name, command=f"hkoji wait {position.short}")
        return f"{made}\n{then}"

    out.result(value, text)
    if position.over:
        note_end(position)


def dry_run(game: str, notation: Sequence[str]) -> None:
    """Shows what a move would do, by the game as it is kept here. Sends and writes nothing."""
    game = client().find(game, offline=True)
    kept = client().kept_game(game)
    text = " ".join(notation)
    if not deck_is_standard():
        text = deck_for(kept.position.course.setup.ruleset.name).read(text)
    # Said also if the move is refused: it may be legal in the game as it stands by now.
    say_age([kept])
    position, action = client().try_move(game, text)
    seq = position.course.seq

    def value() -> dict[str, Any]:  # Any: JSON
        shown = bare_position_json(position)
        del shown["head"]  # of an entry that was not made
        made = {"seq": seq, "action": action}
        return {"game": game, "dry_run": True, "move": made, "position": shown, **kept.age}

    def drawn() -> str:
        from hkoji.cli.boards import draw

        shown = deck_for(position.course.setup.ruleset.name).write(action)
        tried = _("This would be entry {seq}: {action}. Nothing was sent.", seq=seq, action=shown)
        return f"{draw(position, out.style, commands=False)}\n{tried}"

    out.result(value, drawn)


def _typed(game: str, notation: Sequence[str]) -> str:
    """Returns a typed move with a deck's names for the cards replaced by the game's."""
    text = " ".join(notation)
    if deck_is_standard():
        return text
    with client().game(game) as held:
        position = held.current()
    return deck_for(position.course.setup.ruleset.name).read(text)


def resign(game: str, *, yes: bool) -> None:
    """Gives a game up. At a terminal it asks first."""
    game = client().find(game)
    confirm(_("Give up game {game}? It cannot be taken back.", game=game[:8]), tell("not given up"), yes=yes)
    show_changed(game, lambda held: held.resign().position)


def sign(game: str, notation: Sequence[str]) -> None:
    """Signs a move for later."""
    game = client().find(game)
    typed = _typed(game, notation)
    client().stored(game)  # a game that was never seen is refused here, without asking the service
    with client().game(game) as held:
        submission = held.sign(typed)
    out.lines(format_submission(submission) + "\n")
    if submission.opening:
        out.say(
            tell(
                "Signed, not sent. It holds your hidden cards until it is sent: keep it to yourself. "
                "Send it with: hkoji submit FILE"
            )
        )
    elif {"show", "hide"} & submission.entry.body.keys():
        out.say(
            tell(
                "Signed, not sent. The file shows nobody a card that you play face down, but you cannot sign another "
                "move for this turn. Send it with: hkoji submit FILE"
            )
        )
    else:
        out.say(tell("Signed, not sent. Send it with: hkoji submit FILE"))


def submit(file: str, server: str | None, origin: str | None) -> None:
    """Sends a signed move."""
    submission = parse_submission(read_input(file, MAX_SUBMISSION_BYTES))
    lines = with_origin(origin, lambda confirmed: client().submit(submission, server, confirmed))
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
            "Entry {seq} of game {game} was recorded at {time}.",
            seq=entry.seq,
            game=entry.game[:8],
            time=local_time(receipt.receipt.at, seconds=True),
        ),
    )
