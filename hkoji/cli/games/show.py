"""`hkoji show` and `wait`: a game as the player sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hkoji.cli.games.game_words import series_line, time_lines
from hkoji.cli.games.told import ask_or_keep, note_end, noting, tell_game_news
from hkoji.cli.language import _, translate
from hkoji.cli.output import EncodedResult, client, out
from hkoji.cli.settings import deck_for
from hkoji.client import Position
from hkoji.errors import CancelledError
from hkoji.game import entry_kinds
from hkoji.game.course import Stage
from hkoji.game.held_keys import grade_sentence
from hkoji.game.position import time_of_record
from hkoji.game.result_text import closing_body, lapse_json
from hkoji.messages.text import printable
from hkoji.show.terms import terms_lines

if TYPE_CHECKING:
    from hkoji.client.game import ClientGame
    from hkoji.client.kept_game import GameTime, KeptGame
    from hkoji.client.rematch import SeriesPlace
    from hkoji.client.seats import InviteLink


class Beside(NamedTuple):
    """The lines beside a board: the game's place in its series, the player's note, and the link to a friend.

    `unread` is the number of the opponent's last message, if the player was not told of it and has not read it.
    """

    place: SeriesPlace | None = None
    note: str | None = None
    link: InviteLink | None = None
    unread: int | None = None

    def to_json(self) -> dict[str, Any]:  # Any: JSON
        """Returns what there is for programs; the place stands in the position. docs/json.md."""
        said = {"note": self.note, "link": None if self.link is None else self.link.text, "unread": self.unread}
        return {name: value for name, value in said.items() if value is not None}


_NOTHING: Final = Beside()


def show(game: str, *, offline: bool = False) -> None:
    """Shows a game's board."""
    player = client()

    def beside(position: Position, ended: str) -> Beside:
        course, place, link = position.course, None, None
        if course.setup.agreement.series is not None:
            from hkoji.client.rematch import kept_place

            place = kept_place(course, ended, player.kept_game)
        # The link is shown while a game of the player's own waits for whoever has it.
        if course.stage is Stage.JOIN:
            from hkoji.client.links import own_link

            link = own_link(player, course.setup.game)
        return Beside(place, player.note(course.setup.game), link, None if offline else _unread(position))

    def ask() -> tuple[Position, GameTime, Beside]:
        with player.game(player.find(game)) as held:
            position, time = held.look()
            ended = time_of_record(held.lines()[-1])
        return position, time, beside(position, ended)

    def show_kept() -> list[KeptGame]:
        kept = player.kept_game(player.find(game, offline=True))
        show_position(kept.position, kept.time, beside(kept.position, kept.recorded), kept.age)
        return [kept]

    def show_asked(found: tuple[Position, GameTime, Beside]) -> None:
        show_position(*found)
        tell_game_news(found[0])

    ask_or_keep(ask, show_asked, show_kept, offline=offline)


def _unread(position: Position) -> int | None:
    """Returns for programs the number of the opponent's last message, if it is new; people are told in words."""
    if position.seat is None or not (out.json or out.keep):
        return None
    message = client().news.unread(position.game)
    return None if message is None else message.number


def wait(game: str, timeout: float | None) -> None:
    """Waits until the player owes the next entry, and shows the board."""
    from hkoji.client import watching

    game = client().find(game)
    try:
        watching.wait(client(), game, timeout)
    except CancelledError:
        with noting():
            tell_game_news(client().stored(game))
        raise
    with client().game(game) as held:
        time = held.time.current()
        position = held.stored()
    show_position(position, time, Beside(unread=_unread(position)))
    tell_game_news(position)


def show_position(
    position: Position,
    time: GameTime,
    beside: Beside = _NOTHING,
    age: Mapping[str, Any] = MappingProxyType({}),  # Any: JSON
) -> None:
    """Shows a board, with what stands `beside` it; with `--json` a position for programs, and the `age` of a copy."""
    deck_for(position.course.setup.ruleset.name)

    def value() -> Mapping[str, Any]:  # Any: JSON
        shown, more = position_json(position, time, beside.place), {**beside.to_json(), **age}
        return {**shown, **more} if more else shown

    def text() -> str:
        from hkoji.cli.boards import draw

        lines = time_lines(time, position)
        if position.course.joinable:
            lines = [*terms_lines(time.agreement, translate), *lines]
        if beside.place is not None:
            lines = [series_line(beside.place), *lines]
        if position.course.setup.held_keys:
            lines += [translate(grade_sentence(*each)) for each in position.course.setup.by_mail.items()]
        if position.course.sealed is not None:
            from hkoji.cli.games.sealed import sealed_lines  # other games need none of it

            lines += sealed_lines(position)
        if beside.note is not None:
            lines = [*lines, _("Note: {text}", text=" / ".join(note_lines(beside.note)))]
        board = draw(position, out.style, lines)
        if beside.link is None:
            return board
        said = _("Send this line to one friend: the first person to use it joins.")
        return f"{board.rstrip()}\n\n{said}\n{beside.link.command}"

    # A link is not folded: it is copied from there.
    out.result(value, text, exact=beside.link is not None)


def show_changed(game: str, change: Callable[[ClientGame], Position]) -> None:
    """Changes a game, and shows it as it is then."""
    with client().game(game) as held:
        position = change(held)
        time = held.time.kept()
    show_position(position, time)
    if position.over:
        note_end(position)


def note_lines(text: str) -> list[str]:
    """Returns a note in lines that can be shown."""
    return [printable(line, "\t") for line in text.split("\n")]


class _Encoded(NamedTuple):
    position: Position
    time: dict[str, Any]  # Any: JSON
    result: EncodedResult


_encoded: dict[str, _Encoded] = {}


def position_json(position: Position, time: GameTime, place: SeriesPlace | None = None) -> EncodedResult:
    """Returns a position for programs, with its clock, and what else the service says of it. docs/json.md.

    A game of a series has its place there too, where the caller gives it.
    """
    # A batch often shows a game in which nothing has happened: then the client returns the same object again.
    game = position.course.setup.game
    said: dict[str, Any] = {"clock": time.to_json(), "annul": list(time.annul), "silent": dict(time.silent)}
    if place is not None:
        said["series"] = place.to_json()
    if position.course.setup.held_keys:
        said["by_mail"] = {name: grade.value for name, grade in position.course.setup.by_mail.items()}
    held = _encoded.get(game)
    if held is None or held.position is not position or held.time != said:
        held = _encoded[game] = _Encoded(position, said, EncodedResult({**bare_position_json(position), **said}))
    return held.result


def bare_position_json(position: Position) -> dict[str, Any]:  # Any: JSON
    """Returns a position for programs, without its clock. docs/json.md."""
    from hkoji.rules.transcript import information_json

    course = position.course
    setup = course.setup
    due = course.state.due.value if course.stage is Stage.PLAY else course.stage.value
    if course.debtor is not None:
        due = entry_kinds.Release.KIND
    return {
        **information_json(course.state, position.seat, position.events, position.legal),
        "game": setup.game,
        "status": course.status,
        "host": setup.names[0],
        "guest": setup.names[1],
        "actor": course.actor,
        "to_move": course.to_move,
        "due": due,
        "seq": course.seq,
        "head": course.head,
        "dealer": setup.terms.name,
        "lapse": lapse_json(closing_body(step.body for step in position.replay.steps) if course.finished else None),
    }
