"""`hkoji play`: a game at the prompt, against a bot on this machine or, by its id, on a service."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from hkoji.audit.log_audit import audit
from hkoji.bots.registry import USUAL, bot_of_level, make_bot
from hkoji.cli.boards import turn
from hkoji.cli.games.rulesets import make_ruleset
from hkoji.cli.games.told import note_end
from hkoji.cli.input import LEAVE, Dialogue
from hkoji.cli.language import _, translate
from hkoji.cli.output import Exit, client, out
from hkoji.cli.play.prompt import PromptGame, rounds_text
from hkoji.client import Home, Position, watching
from hkoji.client.kept.files import read_json, write_file
from hkoji.errors import CancelledError, NotFoundError, UsageError
from hkoji.game.replay import replay
from hkoji.local.local_game import LocalGame, decide
from hkoji.local.local_games import LocalGames, LocalSeats
from hkoji.log.line import parse_lines
from hkoji.messages.text import shorten, tell
from hkoji.rules.protocol import Json, Ruleset
from hkoji.show.games import board_type

_POLL: Final = 2.0
_MOST_ROUNDS: Final = 12
"""The most lines of a whole game that are shown at its end."""


class PlayOptions(NamedTuple):
    """The options of `hkoji play`: those of `hkoji new`, and the opponent."""

    ruleset: str | None = None
    edition: str | None = None
    given: Mapping[str, Json] = MappingProxyType({})
    more: tuple[str, ...] = ()
    bot: str | None = None
    level: str | None = None
    new: bool = False

    @property
    def options(self) -> bool:
        """Whether any option of the game was given."""
        return bool(self.edition or self.given or self.more)

    def make(self) -> tuple[Ruleset, str]:
        """Returns the ruleset and the bot of a new game. Raises `UsageError`."""
        if self.bot and self.level:
            raise UsageError(tell("--bot and --level both choose the opponent"), hint=tell("give one of them"))
        ruleset = make_ruleset(self.ruleset, self.given, self.more, self.edition)
        return ruleset, self.bot or bot_of_level(self.level or USUAL, ruleset.name)


def run(game: str | None, wish: PlayOptions, *, listed: bool) -> int:
    """Runs the command in any of its forms. Returns the exit code."""
    if listed:
        listing()
        return Exit.OK
    if out.json or out.keep:
        raise UsageError(
            tell("a game at the prompt has no JSON"),
            hint=tell("programs use `hkoji show`, `hkoji move` or `hkoji bot run`"),
        )
    if game is None:
        return play(wish)
    if wish != PlayOptions():
        raise UsageError(
            tell("the options of a game in progress cannot be changed"),
            hint=tell("give `hkoji play {game}` alone", game=shorten(game)),
        )
    code = resume(game)
    if code is not None:
        return code
    if out.client is None and not Home().config_file.exists():
        # Without a player there is no game on a service.
        hint = tell("list your games against bots with `hkoji play --list`, or begin one with `hkoji play`")
        raise NotFoundError(tell("game"), game, hint=hint)
    return correspond(game)


def local_games() -> LocalGames:
    """Returns the local games of this user."""
    home = Home()
    name = read_json(home.config_file).get("name")
    return LocalGames(home.path / "local", name if isinstance(name, str) else "player")


# --- against a bot, here --------------------------------------------------------------------------------------------


def play(wish: PlayOptions) -> int:
    """Plays against a bot: continues the last game, or begins a new one. Returns the exit code."""
    ruleset, bot = wish.make()
    talk, here = Dialogue(), local_games()
    seats = None if wish.new else _last(here, wish, ruleset, bot)
    talk.ruleset = ruleset.name if seats is None else seats.ruleset
    while True:
        if seats is None:
            first = not any(each.ruleset == ruleset.name for each in here.all_seats())
            if first and not _introduce(talk, ruleset.name):
                return Exit.OK
            seats = here.begin(ruleset, bot)
            talk.say()
            talk.say(_("A new game against {name}. Leave with q; it waits for you.", name=seats.opponent))
        else:
            talk.say(_("Your game against {name} goes on. (Another one: hkoji play --new)", name=seats.opponent))
        code = _sit(talk, here, seats)
        if code is not None:
            return code
        if not talk.agrees(_("Another game?"), _("With y another game begins. Anything else leaves.")):
            return Exit.OK
        seats = None


def _introduce(talk: Dialogue, ruleset: str) -> bool:
    """Says what a newcomer has to know of a game, if it has an introduction. Returns whether the player goes on.

    At a terminal it waits, because the board needs the whole screen.
    """
    introduction = board_type(ruleset).introduction
    if not introduction:
        return True
    talk.say(translate(introduction))
    talk.say(_("All the rules: {command}", command=f"hkoji rules {ruleset}"))
    if not talk.terminal:
        return True
    help_ = _("Enter begins the game, rules shows all its rules, and q leaves.")
    line = talk.question(_("Press Enter to begin: "), help_)
    return line is not None and line.lower() not in LEAVE


def resume(prefix: str) -> int | None:
    """Continues the local game whose id begins with `prefix`. Returns the exit code; None if there is no such game."""
    here = local_games()
    try:
        seats = here.find(prefix)
    except NotFoundError:
        return None
    talk = Dialogue()
    talk.ruleset = seats.ruleset
    return _sit(talk, here, seats) or Exit.OK


def _last(here: LocalGames, wish: PlayOptions, ruleset: Ruleset, bot: str) -> LocalSeats | None:
    """Returns the last unfinished game that matches the options."""
    for seats in here.all_seats():
        if here.is_over(seats.game):
            continue
        if (wish.ruleset or wish.options) and seats.ruleset != ruleset.name:
            continue
        if (wish.bot or wish.level) and seats.bot != bot:
            continue
        if wish.options and here.course(seats.game).setup.ruleset != ruleset:
            continue
        return seats
    return None


def _sit(talk: Dialogue, here: LocalGames, seats: LocalSeats) -> int | None:
    """Plays one game. Returns the exit code if the player has left, None when the game is over."""
    game = LocalGame(here, seats, lambda: talk.remark(_("{name} is thinking …", name=seats.opponent)))
    hints = make_bot(
        bot_of_level(USUAL, seats.ruleset), seats.seed + 1
    )  # a different seed from the opponent's, so that hints do not reveal its choices
    with game.taken(), contextlib.closing(game), contextlib.closing(hints):
        sitting = PromptGame(talk, here.player, seats.game, game.wait, lambda position: decide(hints, position))
        position, code = _played(talk, sitting, "hkoji play")
        if position is None:
            return code
        _closing_words(talk, here, seats, position)
        return None


def _played(talk: Dialogue, sitting: PromptGame, command: str) -> tuple[Position | None, Exit]:
    """Plays a game. Returns its last position, None if the player has left, and the exit code.

    Ctrl-C leaves the game as `q` does, with the exit code of an interrupt. `command` is how to go on later.
    """
    code = Exit.OK
    try:
        position = sitting.play()
    except KeyboardInterrupt:
        talk.say()
        position, code = None, Exit.INTERRUPTED
    if position is None:
        talk.say(_("The game waits for you: {command}", command=command))
    return position, code


def _closing_words(talk: Dialogue, here: LocalGames, seats: LocalSeats, position: Position) -> None:
    """Shows a finished game with all cards open, its audit and, last, its result. Writes its log for anyone to check.

    All of it fits a small screen. So a long game is left to `hkoji replay`, and an audit that finds nothing is a line.
    """

    data = here.log_file(seats.game).read_bytes()
    file = here.folder / "finished" / f"{seats.started[:10]}-{seats.opponent}-{seats.game[:8]}.jsonl"
    write_file(file, data)
    whole = replay(parse_lines(data))
    rounds = "" if whole.course is None else rounds_text(whole.course.setup.ruleset, whole.events)
    if rounds and rounds.count("\n") < _MOST_ROUNDS:
        talk.say(_("The whole game, all cards open:"))
        talk.say()
        talk.say(rounds)
        talk.say()
    found, command = audit(data, here.player.pins(here.player.server)), f"hkoji audit {_shown(file)}"
    if found.ok:
        talk.say(_("The audit: all {n} entries hold. More: {command}", n=found.entries, command=command), exact=True)
    else:
        from hkoji.cli.audit.report import audit_text

        talk.say(audit_text(found))
    talk.say(_("Look back:  {command}", command=f"hkoji replay {_shown(file)}"), exact=True)
    talk.say()
    talk.say(talk.style.paint(turn(position), "bold"))


def _shown(file: Path) -> str:
    """Returns a path as one would type it, with ~ for the home folder."""
    home = os.path.expanduser("~")
    text = str(file)
    return f"~{text[len(home) :]}" if text.startswith(home + os.sep) and " " not in text else text


def listing() -> None:
    """Lists the local games."""
    here = local_games()
    found: list[dict[str, Any]] = []  # Any: JSON
    for seats in here.all_seats():
        course = here.course(seats.game)
        outcome = course.outcome
        found.append(
            {
                "game": seats.game,
                "ruleset": seats.ruleset,
                "opponent": seats.opponent,
                "bot": seats.bot,
                "status": course.status,
                "round": course.state.round,
                "started": seats.started,
                "result": {"reason": outcome.reason, "winner": outcome.winner} if outcome else None,
                "log": str(here.log_file(seats.game)),
            }
        )

    def stands(each: dict[str, Any]) -> str:  # Any: JSON
        if each["result"] is None:
            return _("round {n}", n=each["round"])
        return {0: _("won"), 1: _("lost")}.get(each["result"]["winner"], _("shared"))

    def text() -> str:
        if not found:
            return _("No games here yet. Begin one with: hkoji play")
        rows = [
            f"{each['game'][:8]}  {each['ruleset']:12}  {each['opponent']:20}  {stands(each):10}  "
            f"{each['started'][:16].replace('T', ' ')}"
            for each in found
        ]
        return "\n".join([*rows, _("Go on with one: hkoji play GAME")])

    out.result(found, text)


# --- by correspondence ------------------------------------------------------------------------------------------------


def correspond(prefix: str) -> int:
    """Plays a game on a service, waiting for the other player as long as necessary. Returns the exit code."""
    game = client().find(prefix)
    talk = Dialogue()
    with client().game(game) as held:
        position = held.current()
    talk.ruleset = position.course.setup.ruleset.name
    if position.seat is None:
        raise UsageError(
            tell("you are not a player in game {game}", game=game[:8]),
            hint=tell("join it: `hkoji join {game}`", game=game[:8]),
        )

    def wait() -> Position | None:
        said = False
        while True:
            try:
                return watching.wait(client(), game, 0 if talk.terminal else None)
            except CancelledError:
                if not said:
                    from hkoji.cli.boards import draw

                    talk.say()
                    talk.say(draw(client().stored(game), talk.style))
                    talk.say(_("Waiting for the other player. To leave, type q and Enter; you can go on later."))
                    said = True
                if talk.interrupts(_POLL):
                    return None

    end, code = _played(talk, PromptGame(talk, client(), game, wait, None), f"hkoji play {game[:8]}")
    if end is not None:
        talk.say(_("Look back:  {command}", command=f"hkoji replay {game[:8]}"))
        talk.say(_("Check it:   {command}", command=f"hkoji audit {game[:8]}"))
        talk.say()
        talk.say(talk.style.paint(turn(end), "bold"))
        note_end(end)
    return code
