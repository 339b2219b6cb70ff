"""`hkoji show` and `wait`: a game as the player sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hkoji.cli.games.offline import ask_or_keep
from hkoji.cli.output import CommandOutput, EncodedResult, Result
from hkoji.cli.settings import deck_for
from hkoji.client import Client, Position
from hkoji.game.course import Stage

if TYPE_CHECKING:
    from hkoji.client.kept_game import KeptGame


def show(client: Client, out: CommandOutput, game: str, *, offline: bool = False) -> None:
    """Shows a game's board."""

    def ask() -> Position:
        with client.game(client.find(game)) as held:
            return held.current()

    def show_kept() -> list[KeptGame]:
        kept = client.kept_game(client.find(game, offline=True))
        _show(out, kept.position, lambda: {**position_json(kept.position), **kept.age})
        return [kept]

    ask_or_keep(out, ask, lambda position: show_position(out, position), show_kept, offline=offline)


def wait(client: Client, out: CommandOutput, game: str, timeout: float | None) -> None:
    """Waits until the player can act or the game is over, and shows the board."""
    from hkoji.client import watching

    show_position(out, watching.wait(client, client.find(game), timeout))


def show_position(out: CommandOutput, position: Position) -> None:
    """Shows a board; with `--json` a position for programs."""
    _show(out, position, lambda: position_json(position))


def _show(out: CommandOutput, position: Position, value: Callable[[], Result]) -> None:
    deck_for(position.course.setup.ruleset.name)

    def text() -> str:
        from hkoji.cli.boards import draw

        return draw(position, out.style)

    out.result(value, text)


_encoded: dict[str, tuple[Position, EncodedResult]] = {}


def position_json(position: Position) -> EncodedResult:
    """Returns a position for programs. docs/json.md."""
    # A batch often shows a game in which nothing has happened: then the client returns the same object again.
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
        "to_move": course.to_move,
        "due": course.state.due.value if course.stage is Stage.PLAY else course.stage.value,
        "seq": course.seq,
        "head": course.head,
    }
