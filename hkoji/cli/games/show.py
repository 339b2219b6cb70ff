"""`hkoji show` and `wait`: a game as the player sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from hkoji.cli.games.offline import ask_or_keep
from hkoji.cli.output import CommandOutput, EncodedResult, Result
from hkoji.cli.settings import deck_for
from hkoji.client import Client, Position
from hkoji.game.course import Stage

if TYPE_CHECKING:
    from hkoji.client.game_time import GameTime
    from hkoji.client.kept_game import KeptGame


def show(client: Client, out: CommandOutput, game: str, *, offline: bool = False) -> None:
    """Shows a game's board."""

    def ask() -> tuple[Position, GameTime]:
        with client.game(client.find(game)) as held:
            return held.look()

    def show_kept() -> list[KeptGame]:
        kept = client.kept_game(client.find(game, offline=True))
        _show(out, kept.position, kept.time, lambda: {**position_json(kept.position, kept.time), **kept.age})
        return [kept]

    ask_or_keep(out, ask, lambda found: show_position(out, *found), show_kept, offline=offline)


def wait(client: Client, out: CommandOutput, game: str, timeout: float | None) -> None:
    """Waits until the player can act or the game is over, and shows the board."""
    from hkoji.client import watching

    game = client.find(game)
    watching.wait(client, game, timeout)
    with client.game(game) as held:
        time = held.time.current()
        position = held.stored()
    show_position(out, position, time)


def show_position(out: CommandOutput, position: Position, time: GameTime) -> None:
    """Shows a board; with `--json` a position for programs."""
    _show(out, position, time, lambda: position_json(position, time))


def _show(out: CommandOutput, position: Position, time: GameTime, value: Callable[[], Result]) -> None:
    deck_for(position.course.setup.ruleset.name)

    def text() -> str:
        from hkoji.cli.boards import draw
        from hkoji.cli.games.time_text import time_lines

        return draw(position, out.style, time_lines(time, position))

    out.result(value, text)


class _Encoded(NamedTuple):
    position: Position
    time: dict[str, Any]  # Any: JSON
    result: EncodedResult


_encoded: dict[str, _Encoded] = {}


def position_json(position: Position, time: GameTime) -> EncodedResult:
    """Returns a position for programs, with its clock, and who has asked to call the game off. docs/json.md."""
    # A batch often shows a game in which nothing has happened: then the client returns the same object again.
    game, said = position.course.setup.game, {"clock": time.to_json(), "annul": list(time.annul)}
    held = _encoded.get(game)
    if held is None or held.position is not position or held.time != said:
        held = _encoded[game] = _Encoded(position, said, EncodedResult({**_encode(position), **said}))
    return held.result


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
