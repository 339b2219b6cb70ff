"""The letters that show what a player has asked for, and those that say that a setting is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from hkoji.mail.letters.events import how_to_answer, how_to_check, log_attachment
from hkoji.mail.letters.game_words import GameRow, GameWords, SeatFacts, listed, show_again
from hkoji.mail.letters.invitations import LetterWaits, answer_waited_for, answer_without_game
from hkoji.mail.letters.page import Attachment, Block, LetterDraft, Page
from hkoji.mail.mails_file import MAILS_TYPE
from hkoji.messages.text import LANGUAGES, Text, plural, tell
from hkoji.rules.protocol import Due
from hkoji.show.games import board_type

_ONE_A_LINE: Final = 6


class ShowFacts(NamedTuple):
    """The position in full, for `show`."""

    seat: SeatFacts

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        title = tell(
            "Your game of {game} against {name}: {where}.",
            game=game.board.game,
            name=game.opponent,
            where=game.board.where(),
        )
        if game.course.finished:
            now = tell("The game is over: {result}.", result=game.result())
            return LetterDraft((title, now), ((*game.lately(), *game.table()), game.proof(), game.signed_in_full()))
        if not game.course.state.round:
            return LetterDraft((title, game.turn()), (game.proof(), game.signed_in_full()))
        blocks = (
            (*game.lately(), *game.table()),
            game.hand(),
            game.examples(short=True),
            game.proof(),
            game.signed_in_full(),
        )
        return LetterDraft((title, game.turn()), blocks, how_to_answer(game))


class MovesFacts(NamedTuple):
    """All legal moves, for `moves`."""

    seat: SeatFacts

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        if not game.mine and game.due:
            return LetterDraft((game.turn(),), (game.hand(), game.signed()), how_to_answer(game))
        if not game.mine:
            return LetterDraft((tell("You have no move to choose now."), game.turn()), (game.signed(),))
        if not game.seat.cards:
            return LetterDraft((game.turn(),), (game.hand(),), how_to_answer(game))
        legal = game.position.legal
        number = plural("You have {n} legal move.", "You have {n} legal moves.", len(legal))
        return LetterDraft((number, game.turn()), tuple(_listed(game)), how_to_answer(game))


def _listed(game: GameWords) -> Iterator[Block]:
    """The legal moves by their first character, as they can be sent."""
    legal, names = game.position.legal, game.course.setup.ruleset.action_names
    if game.course.state.due is not Due.ACT or len(legal) <= _ONE_A_LINE:
        yield tuple(line for move in legal for line in game.example(move))
        return
    for sign in dict.fromkeys(move[0] for move in legal):
        group = [game.brief.typed(move) for move in legal if move[0] == sign]
        title = f"{sign} {game.page.say(names[sign])}:" if sign in names else ""
        yield (*game.page.sentences(title), *game.page.rows([game.page.words(group)]))


class RulesFacts(NamedTuple):
    """The rules page of a game, for `rules`. `text` is the page in the reader's language, at most 72 columns wide.

    `game` is the id of the game that the mail was about, None without one.
    """

    ruleset: str
    text: str
    seat: SeatFacts | None = None

    def draft(self, page: Page) -> LetterDraft:
        title = board_type(self.ruleset).game
        first = tell("These are the rules of {game}.", game=title)
        now = "" if self.seat is None else GameWords(self.seat, page).turn()
        parts = self.text.strip("\n").split("\n\n")
        written = tell(
            "The letter about your turn shows how a move is written, and {moves} lists all that you have.",
            moves=page.command(tell("moves")),
        )
        return LetterDraft((first, now), (*(tuple(part.split("\n")) for part in parts), page.paragraph(written)))


class GamesFacts(NamedTuple):
    """The reader's running games, for `games`."""

    name: str
    rows: tuple[GameRow, ...]
    now: str
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        if not self.rows:
            return LetterDraft((tell("You have no running games."),))
        mine = sum(row.mine for row in self.rows)
        first = (
            plural("You have {n} running game.", "You have {n} running games.", len(self.rows)),
            tell("It is your turn in {n}.", n=mine) if mine else "",
        )
        return LetterDraft(first, (listed(self.rows, self.now, page, self.zone), show_again(page)))


class HelpFacts(NamedTuple):
    """The words to write, for `help`; about a game if the mail was. `waits` is as in `NotUnderstoodFacts`."""

    seat: SeatFacts | None = None
    waits: LetterWaits | None = None

    def draft(self, page: Page) -> LetterDraft:
        game = None if self.seat is None else GameWords(self.seat, page)
        first = (
            tell(
                "Here is what you can write. Write it on the first line of your mail, and leave an empty line after "
                "it. Text below that is not read."
            ),
            "" if game is None else game.turn(),
        )
        examples: Block = ()
        if game is not None and game.mine and game.seat.cards:
            examples = game.examples_of_all()
        return LetterDraft(first, (examples, _commands(page)), answer_waited_for(self.waits, page))


def _commands(page: Page) -> Block:
    return page.rows(
        [
            tell("show (mostra): how the game stands"),
            tell("moves (mosse): all moves that you can make"),
            tell("rules (regole): the rules of the game"),
            tell("games (partite): your running games"),
            tell("log (registro): the signed log of the game, as a file"),
            tell("evidence (prove): your mails in the game, as a file; not in answer to a letter about your turn"),
            tell("resign (abbandono): you give the game up; you are asked once more"),
            tell("call off (annulla): the game ends without a winner, if the other player agrees"),
            tell("give 2d (dai 2d): two days more for the other player, who owes the next move"),
            tell("rematch (rivincita): another game with the same player, after this one"),
            tell("new hanamikoji carol carol@mail.example: you invite somebody, at your command address"),
            tell("stop (basta), start (inizia): no more letters; letters again"),
            tell("lang it (lingua it), lang en (lingua en): Italian or English"),
            tell("cards off (carte no), cards on (carte s\u00ec): letters without or with cards"),
            tell("quiet 22-7 (silenzio 22-7): no letters but answers in these hours, in UTC"),
            tell("new address (nuovo indirizzo): another command address"),
            tell("own key (chiave mia): a code, to play on with a key of your own"),
            tell("not me (non sono io): somebody else wrote in your name: lock this mailbox"),
        ]
    )


_MOST_ATTACHED: Final = 5 * 2**20
"""In bytes; mail servers take letters of 10 MB, and base64 adds a third."""


class LogFacts(NamedTuple):
    """The log so far, attached, for `log`."""

    seat: SeatFacts
    log: bytes

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        if not self.seat.cards:
            cards = page.command(tell("cards on"))
            first = tell("The log shows cards, and your letters show none. First write {cards}.", cards=cards)
            return LetterDraft((first, game.turn()), (game.signed(),))
        first = tell("The log of your game of {game} is attached.", game=game.board.game)
        file = log_attachment(self.seat, self.log)
        return LetterDraft((first, game.turn()), (how_to_check(game), game.signed()), attachments=(file,))


class EvidenceFacts(NamedTuple):
    """The mails file of the reader's mails in a game, attached, for `evidence`; `mails` is empty if none are kept."""

    seat: SeatFacts
    mails: bytes

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        if not self.mails:
            first = tell("The service keeps no mails of yours for your game of {game}.", game=game.board.game)
            return LetterDraft((first, game.turn()), (game.signed(),))
        if not self.seat.cards:
            cards = page.command(tell("cards on"))
            first = tell("Your mails show cards, and your letters show none. First write {cards}.", cards=cards)
            return LetterDraft((first, game.turn()), (game.signed(),))
        if len(self.mails) > _MOST_ATTACHED:
            first = tell("Your mails are too long for a letter. The operator of the service can give them to you.")
            return LetterDraft((first, game.turn()), (game.signed(),))
        first = tell("Your mails in your game of {game} are attached.", game=game.board.game)
        file = Attachment(f"{game.position.short}.mails", MAILS_TYPE, self.mails)
        return LetterDraft((first, game.turn()), (_how_to_check_mails(game), game.signed()), attachments=(file,))


def _how_to_check_mails(game: GameWords) -> Block:
    page, name = game.page, game.position.short
    return (
        *page.sentences(
            tell(
                "With them anybody can check that the service has entered what you wrote. "
                "Give the file only to people who may read those mails."
            )
        ),
        *page.typed(f"hkoji audit {name}.jsonl --mails {name}.mails"),
    )


class SettingFacts(NamedTuple):
    """A setting is changed: `name` is `lang`, `cards`, `quiet` or `commands`, and `value` what it is now.

    Values are a language's code; `on` or `off`; `22-7` or `off`, hours in UTC; the new command address, or nothing if
    addresses have no token, and this letter is to be answered instead.
    """

    name: str
    value: str
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        if self.name == "commands":
            if not self.value:
                return LetterDraft((answer_without_game(page), tell("Earlier letters for that no longer work.")))
            first = tell("You have a new command address. The old one no longer works.")
            return LetterDraft((first,), (page.typed(self.value),))
        told: Text
        match self.name, self.value:
            case "lang", value:
                told = tell("Letters to you are in this language now: {language}.", language=LANGUAGES[value])
            case "cards", "off":
                cards = page.command(tell("cards on"))
                told = tell("Letters to you show no cards from now on. To change that, answer {cards}.", cards=cards)
            case "cards", _:
                told = tell("Letters to you show your cards from now on.")
            case _, "off":
                told = tell("Letters come at any hour now.")
            case _, hours:
                told = tell(
                    "In these hours only answers come: {hours}. Reminders come earlier, other letters later.",
                    hours=page.hours_of_day(hours, self.zone),
                )
        return LetterDraft((told,))
