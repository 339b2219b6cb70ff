"""A game at a prompt: shows the board and asks for moves until the game is over or the player leaves.

It has a client, a game and a function that waits for the other side, so it plays against bots and people alike. An
input that is not a legal move is never sent: the mistake is explained, and the question is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Final

from hkoji.cli.boards import choices, draw
from hkoji.cli.input import HELP, LEAVE, RULES, Dialogue
from hkoji.cli.language import _, _n, translate
from hkoji.cli.settings import deck_for
from hkoji.client import Client, Position
from hkoji.errors import HkojiError
from hkoji.messages.text import tell
from hkoji.rules.events import Event
from hkoji.rules.protocol import Ruleset
from hkoji.rules.transcript import format_rounds
from hkoji.show.deck import Deck, typed

_BOARD_WORDS: Final = ("board", "show", "tavolo")
_ROUND_WORDS: Final = ("rounds", "history", "storia")
_MOVES_WORDS: Final = ("moves", "mosse")
_HINT_WORDS: Final = ("hint", "consiglio")
_UNDO_WORDS: Final = ("undo", "annulla")
_RESIGN_WORDS: Final = ("resign", "abbandona")
_NUMBERS: Final = "123456789"
_MOST_LISTED: Final = 24
_WIDTH: Final = 78
_SOME: Final = 42
"""The width of some examples of a kind of move."""
_NO_UNDO: Final = tell(
    """\
There is no undo: every move is signed and stands in a log that only grows, and
that is how anybody can check the game. An illegal move is never sent."""
)
_COMMANDS: Final = tell(
    """\
Small letters, spaces and the names of actions work as well.
Or type one of these:
  moves   every legal move           board    the board again
  rounds  the game so far            hint     what a bot would play
  rules   the rules of the game      resign   give the game up
  q       leave; the game waits for you"""
)
_COMMANDS_WITHOUT_HINT: Final = tell(
    """\
Small letters, spaces and the names of actions work as well.
Or type one of these:
  moves   every legal move           board    the board again
  rounds  the game so far            rules    the rules of the game
  resign  give the game up           q        leave; the game waits for you"""
)

WaitForTurn = Callable[[], Position | None]
"""Returns the game once the player has a decision to make or it is over; None if the player leaves while waiting."""

SuggestMove = Callable[[Position], str]
"""Returns the move that a bot would make in a position."""


class PromptGame:
    """The player of `client` in `game`. `advise` is None if no hints are available."""

    def __init__(
        self, talk: Dialogue, client: Client, game: str, wait: WaitForTurn, advise: SuggestMove | None
    ) -> None:
        self._talk: Final = talk
        self._client: Final = client
        self._game: Final = game
        self._wait: Final = wait
        self._advise: Final = advise

    def play(self) -> Position | None:
        """Plays until the game is over and returns its last position; None if the player has left."""
        while (position := self._wait()) is not None:
            self._talk.say()
            self._talk.say(draw(position, self._talk.style))
            if position.over:
                return position
            if not position.legal:
                with self._client.game(self._game) as held:
                    held.require_cards()
                self._talk.say(_("You cannot move here. The reason is above."))
                return None
            if not self._decide(position):
                return None
        return None

    def _decide(self, position: Position) -> bool:
        """Asks until a decision is made; returns False if the player leaves instead."""
        while (line := self._talk.ask(_("Your move: "))) is not None:
            word = line.lower()
            if word in LEAVE:
                return False
            if word in _RESIGN_WORDS:
                if self._talk.agrees(
                    _("Give this game up? It cannot be taken back."),
                    _("With y you lose the game at once. Anything else takes you back to it."),
                ):
                    with self._client.game(self._game) as held:
                        held.resign()
                    return True
            elif not self._answered(position, word):
                move = self._read(position, line)
                if move is not None:
                    with self._client.game(self._game) as held:
                        held.move(move)
                    return True
        return False

    def _answered(self, position: Position, word: str) -> bool:
        """Answers the line if it is a question; returns whether it was."""
        if not word:
            self._talk.say(_("Type a move, or ? for help."))
        elif word in HELP:
            self._tell_help(position)
        elif word in RULES:
            self._talk.show_rules()
        elif word in _BOARD_WORDS:
            self._talk.say(draw(position, self._talk.style))
        elif word in _MOVES_WORDS:
            self._list(position, position.legal)
        elif word in _ROUND_WORDS:
            self._talk.say(rounds_text(position.course.setup.ruleset, position.events))
        elif word in _UNDO_WORDS:
            self._talk.say(translate(_NO_UNDO))
        elif word in _HINT_WORDS:
            self._tell_hint(position)
        else:
            return False
        return True

    # --- moves ----------------------------------------------------------------------------------------------------

    def _read(self, position: Position, line: str) -> str | None:
        """Returns the legal move that a line means: in notation, by its number in a short list, or by its beginning.

        Returns None, after explaining why, if it means none or several.
        """
        menu = _menu(position.legal)
        if line in _NUMBERS[: len(menu)]:
            return menu[int(line) - 1]
        try:
            line = _deck(position).read(line)
            return position.choose(line)
        except HkojiError as error:
            begun = "".join(line.upper().split())
            found = [move for move in position.legal if move.startswith(begun)]
            if len(found) == 1:
                return found[0]
            if found:
                self._talk.say(
                    _n("{n} move begins with {text}:", "{n} moves begin with {text}:", len(found), text=begun)
                )
                self._list(position, found, _MOST_LISTED)
            else:
                self._tell_error(position, error)
            return None

    def _tell_error(self, position: Position, error: HkojiError) -> None:
        self._talk.say(translate(error.message))
        some = _several(position, position.examples(getattr(error, "action", "")))
        self._talk.say(_("Legal moves include {moves}.", moves=some))
        self._talk.say(_("Nothing was sent; type ? for help."))

    def _list(self, position: Position, moves: Sequence[str], most: int | None = None) -> None:
        """Lists moves, as many per line as fit."""
        shown = [_typed(position, move) for move in moves[:most]]
        row = ""
        for move in shown:
            if row and len(row) + len(move) + 2 > min(_WIDTH, self._talk.style.width or _WIDTH):
                self._talk.say(row)
                row = ""
            row += f"  {move}"
        self._talk.say(row)
        rest = len(moves) - len(shown)
        if rest:
            self._talk.say(_n("  … and {n} more", "  … and {n} more", rest))

    # --- help -----------------------------------------------------------------------------------------------------

    def _tell_help(self, position: Position) -> None:
        menu = _menu(position.legal)
        if menu:
            self._talk.say(_("You can play one of these, by its number or as it is written:"))
            results = [choice.result for choice in choices(position)]
            for number, move in enumerate(menu, 1):
                worth = results[number - 1] if len(results) == len(menu) else ""
                self._talk.say(f"  {number}  {_typed(position, move)}  {worth}".rstrip())
        else:
            self._talk.say(_("You can play, for example:"))
            for kind in dict.fromkeys(move[0] for move in position.legal):
                moves = [move for move in position.legal if move[0] == kind]
                some = _examples(position, moves)
                listed = _n("the only one", "{n} in all: type {kind}", len(moves), kind=kind)
                line = f"  {some:{_SOME}}  {listed}"
                self._talk.say(line)
        self._talk.say(translate(_COMMANDS if self._advise else _COMMANDS_WITHOUT_HINT))

    def _tell_hint(self, position: Position) -> None:
        if self._advise is None:
            self._talk.say(_("There are hints only in games against a bot on this machine."))
        else:
            move = _typed(position, self._advise(position))
            self._talk.say(_("A bot with your cards would play {move}", move=move))


def rounds_text(ruleset: Ruleset, events: Sequence[Event]) -> str:
    """Returns a game in notation, in lines of at most 78 columns that can be parsed again."""
    lines = format_rounds(ruleset, events)
    return "\n".join(
        part for line in lines for part in wrap(line, _WIDTH, subsequent_indent="   ", break_on_hyphens=False)
    )


def _deck(position: Position) -> Deck:
    return deck_for(position.course.setup.ruleset.name)


def _typed(position: Position, move: str) -> str:
    """Returns what to type for a move, in the names of the deck."""
    return typed(_deck(position), move, translate)


def _several(position: Position, moves: Sequence[str]) -> str:
    return "  ".join(_typed(position, move) for move in moves)


def _examples(position: Position, moves: Sequence[str]) -> str:
    """Returns up to four moves spread over a list, as many as fit."""
    for number in (4, 3, 2):
        some = _several(position, moves[:: -(-len(moves) // number)])
        if len(some) <= _SOME:
            return some
    return _typed(position, moves[0])


def _menu(legal: Sequence[str]) -> Sequence[str]:
    """Returns the moves that can be chosen by number: all, if they are few and none begins with a digit."""
    return legal if len(legal) <= len(_NUMBERS) and not any(move[0].isdigit() for move in legal) else ()
