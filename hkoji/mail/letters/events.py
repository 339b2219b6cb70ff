"""The letters of events in a game: it is the reader's turn, what the other player has done, the end."""

from __future__ import annotations

from typing import NamedTuple

from hkoji.mail.letters.game_words import GameWords, SeatFacts
from hkoji.mail.letters.page import Attachment, Block, LetterDraft, Page
from hkoji.messages.text import tell

LOG_TYPE = "application/x-ndjson"


class TurnFacts(NamedTuple):
    """The reader owes the next entry."""

    seat: SeatFacts

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        if game.releases:
            return _release(game)
        title = tell(
            "It is your turn against {name}: {game}, {where}.",
            name=game.opponent,
            game=game.board.game,
            where=game.board.where(),
        )
        return LetterDraft((title, *game.own_time()), turn_blocks(game), how_to_answer(game))


class ReminderFacts(NamedTuple):
    """The reader still owes it; `last` says that this is the second reminder."""

    seat: SeatFacts
    last: bool

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        if game.releases:
            return _release(game)
        values = {"name": game.opponent, "game": game.board.game, "where": game.board.where()}
        title = (
            tell("Your time is nearly over against {name}: {game}, {where}.", **values)
            if self.last
            else tell("It is still your turn against {name}: {game}, {where}.", **values)
        )
        return LetterDraft((title, *game.own_time()), turn_blocks(game), how_to_answer(game))


def _release(game: GameWords) -> LetterDraft:
    """The letter to a player whose program owes the other one a card."""
    title = tell(
        "Your program owes {name} a card: {game}, {where}.",
        name=game.opponent,
        game=game.board.game,
        where=game.board.where(),
    )
    release, watch = game.page.command("hkoji release"), game.page.command("hkoji watch")
    run = tell("Run {release}, or leave {watch} running: it gives the card by itself.", release=release, watch=watch)
    return LetterDraft((title, *game.own_time()), (game.page.paragraph(run), game.signed()))


def how_to_answer(game: GameWords) -> str:
    """How to answer a letter with a move, or why that cannot be done; empty if no move is due."""
    if game.position.mine and not game.seat.signs:
        return "" if game.position.invited else game.own_key()
    if not game.mine:
        return ""
    return tell("Answer this mail: your move on the first line, then an empty line.")


def turn_blocks(game: GameWords) -> tuple[Block, ...]:
    """The blocks under the rule of a letter to the player whose turn it is."""
    if game.sealed and game.course.state.round:
        return ((*game.lately(), *game.table()), game.hand(), game.signed())
    if not game.due:  # A seed is due, which no mail can bring.
        return (game.page.paragraph(game.board.turn()), game.signed())
    if not game.mine:
        return ((*game.lately(), *game.table()), game.hand(), game.signed())
    return (
        (*game.lately(), *game.table()),
        game.hand(),
        game.examples(),
        game.other_words(),
        game.signed(),
    )


class JoinedFacts(NamedTuple):
    """Somebody has joined a game that the reader hosts."""

    seat: SeatFacts

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        first = tell("{name} has joined your game of {game}.", name=game.opponent, game=game.board.game)
        if game.due:
            return _with_turn(first, game)
        wait = tell("You get a letter when it is your turn.") if not game.position.mine else ""
        return LetterDraft((first, wait), (game.signed(),))


class GivenFacts(NamedTuple):
    """The other player has given the reader `seconds` for the entry that is due."""

    seat: SeatFacts
    seconds: int

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        first = tell(
            "{name} has given you {length} for this turn.", name=game.opponent, length=page.length(self.seconds)
        )
        return _with_turn(first, game) if game.due else LetterDraft((first, game.turn()), (game.signed(),))


class AnnulFacts(NamedTuple):
    """The other player wishes to call the game off. `by_mail` says that the reader can agree with `call off`."""

    seat: SeatFacts
    by_mail: bool = False

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        first = tell("{name} wishes to call the game off: it would end without a winner.", name=game.opponent)
        if self.by_mail:
            agree = (*page.sentences(tell("To agree, before the next move, answer:")), *page.typed(tell("call off")))
        else:
            agree = page.paragraph(
                tell("This service cannot take your consent by mail. If you play on, the game goes on.")
            )
        if game.due:
            draft = _with_turn(first, game)
            return draft._replace(blocks=(agree, *draft.blocks))
        return LetterDraft((first, game.turn()), (agree, game.signed()))


class OverFacts(NamedTuple):
    """A game of the reader is over. `log` has the bytes of its log, which is attached."""

    seat: SeatFacts
    log: bytes

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        first = tell(
            "Your game of {game} against {name} is over: {result}.",
            game=game.board.game,
            name=game.opponent,
            result=game.result(),
        )
        draft = ended(game, self.log)
        return draft._replace(first=(first, tell("There is nothing that you have to do.")))


def ended(game: GameWords, log: bytes) -> LetterDraft:
    """The words of a letter at the end of a game, and the log, behind a first paragraph that the caller adds.

    The log names cards, so it is not attached for a reader who wants none in letters.
    """
    files = (log_attachment(game.seat, log),) if log and game.seat.cards else ()
    blocks = (
        (*game.lately(), *game.table()),
        how_to_check(game) if files else _how_to_get_log(game),
        game.proof(),
        game.page.paragraph(game.last_entry()),
        game.page.paragraph(tell("Thank you for playing.")),
    )
    return LetterDraft((), blocks, attachments=files)


def _with_turn(first: str, game: GameWords) -> LetterDraft:
    """A letter that says something first, and is the turn letter of its reader too."""
    return LetterDraft((first, *TurnFacts(game.seat).draft(game.page).first), turn_blocks(game), how_to_answer(game))


def log_attachment(seat: SeatFacts, log: bytes) -> Attachment:
    """The log of a game as a file."""
    return Attachment(f"{seat.position.short}.jsonl", LOG_TYPE, log)


def _how_to_get_log(game: GameWords) -> Block:
    log = game.page.command(tell("log"))
    return game.page.paragraph(
        tell("To get the signed log of the game, which anybody can check, answer {log}.", log=log)
    )


def how_to_check(game: GameWords) -> Block:
    """How the attached log can be checked."""
    check = tell("Everything that was played is in the attached log. Anybody can check it with the program hkoji:")
    return (*game.page.sentences(check), *game.page.typed(f"hkoji audit {game.position.short}.jsonl"))
