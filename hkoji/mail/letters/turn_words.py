"""The letters to the player whose turn it is: the first one, and reminders."""

from __future__ import annotations

from hkoji.mail.letters.facts import LetterWaits, ReminderFacts, TurnFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.page import Block, LetterDraft, command, paragraph
from hkoji.messages.language import Speaker
from hkoji.messages.text import tell


def turn(facts: TurnFacts, say: Speaker) -> LetterDraft:
    """It is the reader's turn."""
    game = GameWords(facts.seat, say)
    title = say(
        tell(
            "It is your turn against {name}: {game}, {where}.",
            name=game.opponent,
            game=game.board.game,
            where=game.board.where(),
        )
    )
    return LetterDraft((title, *game.own_time()), turn_blocks(game), how_to_answer(game))


def reminder(facts: ReminderFacts, say: Speaker) -> LetterDraft:
    """It still is."""
    game = GameWords(facts.seat, say)
    values = {"name": game.opponent, "game": game.board.game, "where": game.board.where()}
    title = (
        say(tell("Your time is nearly over against {name}: {game}, {where}.", **values))
        if facts.last
        else say(tell("It is still your turn against {name}: {game}, {where}.", **values))
    )
    return LetterDraft((title, *game.own_time()), turn_blocks(game), how_to_answer(game))


def how_to_answer(game: GameWords) -> str:
    """How to answer a letter with a move, or why that cannot be done; empty if no move is due."""
    if game.position.mine and not game.seat.signs:
        return "" if game.position.invited else game.own_key()
    if not game.mine:
        return ""
    return game.say(tell("Answer this mail: your move on the first line, then an empty line."))


def answer_to_invitation(say: Speaker) -> str:
    """How to answer a letter that invites."""
    return say(
        tell(
            "Answer this mail: {accept} or {decline} on the first line, then an empty line.",
            accept=command(say(tell("accept"))),
            decline=command(say(tell("decline"))),
        )
    )


def answer_waited_for(waits: LetterWaits | None, say: Speaker) -> str:
    """How to answer what the reader has been asked; empty if nothing was."""
    if waits is None:
        return ""
    if waits is LetterWaits.INVITED:
        return answer_to_invitation(say)
    return say(tell("Answer this mail: {yes} on the first line, then an empty line.", yes=command(say(tell("yes")))))


def answer_without_game(say: Speaker) -> str:
    """What the answer to a letter can be that is about no game, where such letters are in the place of an address."""
    games, help_ = (command(say(each)) for each in (tell("games"), tell("help")))
    return say(
        tell("Answer this mail with orders that belong to no game, such as {games} or {help}.", games=games, help=help_)
    )


def turn_blocks(game: GameWords) -> tuple[Block, ...]:
    """What is under the rule of a letter to the player whose turn it is."""
    if not game.due:  # A seed is due, which no mail can bring.
        return (paragraph(game.board.turn()), game.signed())
    if not game.mine:
        return ((*game.lately(), *game.table()), game.hand(), game.signed())
    return (
        (*game.lately(), *game.table()),
        game.hand(),
        game.examples(),
        game.other_words(),
        game.signed(),
    )
