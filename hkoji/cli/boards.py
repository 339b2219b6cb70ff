"""Boards in the language, deck and colours of this process, with the commands to type."""

from __future__ import annotations

from collections.abc import Iterable

from hkoji.cli.language import _, speaking
from hkoji.cli.output import TextStyle
from hkoji.cli.settings import deck_for
from hkoji.cli.terminal import fold
from hkoji.game.position import Position
from hkoji.show import games
from hkoji.show.board import WIDTH, Board, Choice, Look, unpainted


def draw(position: Position, style: TextStyle, notes: Iterable[str] = (), *, commands: bool = True) -> str:
    """Returns a position as a board, with what has happened and what can be typed.

    `notes` are sentences on the clock, and on who has asked to call the game off. The board is in sentences where the
    table has no room, or the terminal does not have the signs of the cards. Raises `UsageError` if the deck asked for
    does not fit the game. Without `commands` nothing is said of what can be typed.
    """
    made = _board(position, style, notes)
    typed = made.choices() if style.seated else _commands(made) if commands else ()
    return fold(made.text(typed), style.width)


def turn(position: Position) -> str:
    """Returns what a position waits for, or how its game has ended, as a sentence."""
    return _board(position, TextStyle(colour=False, plain=True)).turn()


def choices(position: Position) -> tuple[Choice, ...]:
    """Returns what the player can decide now, as at a prompt."""
    return _board(position, TextStyle(colour=False, plain=True)).choices()


def _board(position: Position, style: TextStyle, notes: Iterable[str] = ()) -> Board:
    deck = deck_for(position.course.setup.ruleset.name)
    narrow = style.width is not None and style.width < WIDTH
    plain = style.plain or narrow or deck.is_spelled
    paint = style.paint if style.colour else unpainted
    return games.board(position, Look(speaking(), deck, paint, plain, tuple(notes)))


def _commands(made: Board) -> tuple[Choice, ...]:
    """The commands of this program that make sense now."""
    position = made.position
    game = position.short
    if position.studied or (position.over and not made.dealt):
        return ()
    if position.over:
        return (
            Choice(_("look back"), f"hkoji replay {game}", _("the whole game in notation")),
            Choice(_("check it"), f"hkoji audit {game}", _("every signature, card and move")),
            Choice(_("keep it"), f"hkoji export {game}", _("for anyone to check")),
        )
    if position.joinable:
        option = "" if position.course.sealed is None else " --sealed"
        join = Choice(_("join it"), f"hkoji join {game}{option}")
        return (join, Choice(_("decline it"), f"hkoji decline {game}")) if position.invited else (join,)
    if made.you and position.course.debtor == position.seat:
        return (Choice(_("release the card"), f"hkoji release {game}"),)
    dealt = position.course.sealed is not None and position.course.seed_seat is None
    if made.you and dealt and position.mine and not position.legal:  # the sealed key is not here
        return (Choice(_("give it up"), f"hkoji resign {game}"), Choice(_("call it off"), f"hkoji annul {game}"))
    if made.you and not position.legal:
        return (Choice(_("wait"), f"hkoji wait {game}"),)
    return tuple(choice._replace(typed=f"hkoji move {game} {choice.typed}") for choice in made.choices())
