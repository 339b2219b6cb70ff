"""The letters that show what a player has asked for, and those that say that a setting is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hkoji.mail.letters.events import (
    answer_waited_for,
    answer_without_game,
    how_to_answer,
    how_to_check,
    log_attachment,
)
from hkoji.mail.letters.facts import (
    EvidenceFacts,
    GamesFacts,
    HelpFacts,
    LockedFacts,
    LogFacts,
    MovesFacts,
    RulesFacts,
    SettingFacts,
    ShowFacts,
    StartedFacts,
    StoppedFacts,
)
from hkoji.mail.letters.game_facts import GameRow, SeatFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.page import (
    Attachment,
    Block,
    LetterDraft,
    command,
    hours_of_day,
    items,
    moment,
    paragraph,
    rows,
    sentences,
    typed,
    words,
)
from hkoji.mail.mails_file import MAILS_TYPE
from hkoji.messages.text import LANGUAGES, Speaker, Text, plural, tell
from hkoji.rules.protocol import Due
from hkoji.show.games import board_type

_ONE_A_LINE: Final = 6


def show(facts: ShowFacts, say: Speaker) -> LetterDraft:
    """The position in full."""
    game = GameWords(facts.seat, say)
    title = say(
        tell(
            "Your game of {game} against {name}: {where}.",
            game=game.board.game,
            name=game.opponent,
            where=game.board.where(),
        )
    )
    if game.course.finished:
        now = say(tell("The game is over: {result}.", result=game.result()))
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


def moves(facts: MovesFacts, say: Speaker) -> LetterDraft:
    """All legal moves."""
    game = GameWords(facts.seat, say)
    if not game.mine and game.due:
        return LetterDraft((game.turn(),), (game.hand(), game.signed()), how_to_answer(game))
    if not game.mine:
        return LetterDraft((say(tell("You have no move to choose now.")), game.turn()), (game.signed(),))
    if not game.seat.cards:
        return LetterDraft((game.turn(),), (game.hand(),), how_to_answer(game))
    legal = game.position.legal
    number = say(plural("You have {n} legal move.", "You have {n} legal moves.", len(legal)))
    return LetterDraft((number, game.turn()), tuple(_listed(game)), how_to_answer(game))


def _listed(game: GameWords) -> Iterator[Block]:
    """The legal moves by their first character, as they can be sent."""
    legal, names = game.position.legal, game.course.setup.ruleset.action_names
    if game.course.state.due is not Due.ACT or len(legal) <= _ONE_A_LINE:
        yield tuple(line for move in legal for line in game.example(move))
        return
    for sign in dict.fromkeys(move[0] for move in legal):
        group = [game.brief.typed(move) for move in legal if move[0] == sign]
        title = f"{sign} {game.say(names[sign])}:" if sign in names else ""
        yield (*sentences(title), *rows([words(*group)]))


def rules(facts: RulesFacts, say: Speaker) -> LetterDraft:
    """The rules page of a game."""
    title = board_type(facts.ruleset).game
    first = say(tell("These are the rules of {game}.", game=title))
    now = "" if facts.seat is None else GameWords(facts.seat, say).turn()
    parts = facts.text.strip("\n").split("\n\n")
    written = tell(
        "The letter about your turn shows how a move is written, and {moves} lists all that you have.",
        moves=command(say(tell("moves"))),
    )
    return LetterDraft((first, now), (*(tuple(part.split("\n")) for part in parts), paragraph(say(written))))


def games(facts: GamesFacts, say: Speaker) -> LetterDraft:
    """The reader's running games."""
    if not facts.rows:
        return LetterDraft((say(tell("You have no running games.")),))
    mine = sum(row.mine for row in facts.rows)
    first = (
        say(plural("You have {n} running game.", "You have {n} running games.", len(facts.rows))),
        say(tell("It is your turn in {n}.", n=mine)) if mine else "",
    )
    return LetterDraft(first, (listed(facts.rows, facts.now, say, facts.zone), show_again(say)))


def show_again(say: Speaker) -> Block:
    """How to see a game of a list."""
    return paragraph(say(tell("To see a game, answer any letter of it with {show}.", show=command(say(tell("show"))))))


def listed(rows_of: tuple[GameRow, ...], now: str, say: Speaker, zone: str = "") -> Block:
    """Games, one an item."""
    return items(_row(row, now, say, zone) for row in rows_of)


def _row(row: GameRow, now: str, say: Speaker, zone: str) -> str:
    title = f"{row.game[:8]}, {board_type(row.ruleset).game}"
    name = row.opponent or say(tell("nobody yet"))
    time = "" if row.deadline is None else moment(row.deadline, now, say, zone)
    if row.mine:
        if time:
            return say(tell("{game} against {name}: your turn, until {time}.", game=title, name=name, time=time))
        return say(tell("{game} against {name}: your turn.", game=title, name=name))
    if time:
        return say(tell("{game} against {name}: not your turn, until {time}.", game=title, name=name, time=time))
    return say(tell("{game} against {name}: not your turn.", game=title, name=name))


def help_letter(facts: HelpFacts, say: Speaker) -> LetterDraft:
    """What can be written."""
    game = None if facts.seat is None else GameWords(facts.seat, say)
    first = (
        say(
            tell(
                "Here is what you can write. Write it on the first line of your mail, and leave an empty line after "
                "it. Text below that is not read."
            )
        ),
        "" if game is None else game.turn(),
    )
    examples: Block = ()
    if game is not None and game.mine and game.seat.cards:
        examples = game.examples_of_all()
    return LetterDraft(first, (examples, _commands(say)), answer_waited_for(facts.waits, say))


def _commands(say: Speaker) -> Block:
    return rows(
        [
            say(tell("show (mostra): how the game stands")),
            say(tell("moves (mosse): all moves that you can make")),
            say(tell("rules (regole): the rules of the game")),
            say(tell("games (partite): your running games")),
            say(tell("log (registro): the signed log of the game, as a file")),
            say(tell("evidence (prove): your mails in the game, as a file; not in answer to a letter about your turn")),
            say(tell("resign (abbandono): you give the game up; you are asked once more")),
            say(tell("call off (annulla): the game ends without a winner, if the other player agrees")),
            say(tell("give 2d (dai 2d): two days more for the other player, who owes the next move")),
            say(tell("rematch (rivincita): another game with the same player, after this one")),
            say(tell("new hanamikoji carol carol@mail.example: you invite somebody, at your command address")),
            say(tell("stop (basta), start (inizia): no more letters; letters again")),
            say(tell("lang it (lingua it), lang en (lingua en): Italian or English")),
            say(tell("cards off (carte no), cards on (carte s\u00ec): letters without or with cards")),
            say(tell("quiet 22-7 (silenzio 22-7): no letters but answers in these hours, in UTC")),
            say(tell("new address (nuovo indirizzo): another command address")),
            say(tell("own key (chiave mia): a code, to play on with a key of your own")),
            say(tell("not me (non sono io): somebody else wrote in your name: lock this mailbox")),
        ]
    )


_MOST_ATTACHED: Final = 5 * 2**20
"""In bytes; mail servers take letters of 10 MB, and base64 adds a third."""


def log(facts: LogFacts, say: Speaker) -> LetterDraft:
    """The log, attached."""
    game = GameWords(facts.seat, say)
    if not facts.seat.cards:
        cards = command(say(tell("cards on")))
        first = say(tell("The log shows cards, and your letters show none. First write {cards}.", cards=cards))
        return LetterDraft((first, game.turn()), (game.signed(),))
    first = say(tell("The log of your game of {game} is attached.", game=game.board.game))
    file = log_attachment(facts.seat, facts.log)
    return LetterDraft((first, game.turn()), (how_to_check(game), game.signed()), attachments=(file,))


def evidence(facts: EvidenceFacts, say: Speaker) -> LetterDraft:
    """The reader's mails, attached."""
    game = GameWords(facts.seat, say)
    if not facts.mails:
        first = say(tell("The service keeps no mails of yours for your game of {game}.", game=game.board.game))
        return LetterDraft((first, game.turn()), (game.signed(),))
    if not facts.seat.cards:
        cards = command(say(tell("cards on")))
        first = say(tell("Your mails show cards, and your letters show none. First write {cards}.", cards=cards))
        return LetterDraft((first, game.turn()), (game.signed(),))
    if len(facts.mails) > _MOST_ATTACHED:
        first = say(tell("Your mails are too long for a letter. The operator of the service can give them to you."))
        return LetterDraft((first, game.turn()), (game.signed(),))
    first = say(tell("Your mails in your game of {game} are attached.", game=game.board.game))
    file = Attachment(f"{game.position.short}.mails", MAILS_TYPE, facts.mails)
    return LetterDraft((first, game.turn()), (_how_to_check_mails(game), game.signed()), attachments=(file,))


def _how_to_check_mails(game: GameWords) -> Block:
    say, name = game.say, game.position.short
    return (
        *sentences(
            say(
                tell(
                    "With them anybody can check that the service has entered what you wrote. "
                    "Give the file only to people who may read those mails."
                )
            )
        ),
        *typed(f"hkoji audit {name}.jsonl --mails {name}.mails"),
    )


# --- settings ---------------------------------------------------------------------------------------------------------


def setting(facts: SettingFacts, say: Speaker) -> LetterDraft:
    """A setting is changed."""
    if facts.name == "commands":
        if not facts.value:
            return LetterDraft((answer_without_game(say), say(tell("Earlier letters for that no longer work."))))
        first = say(tell("You have a new command address. The old one no longer works."))
        return LetterDraft((first,), (typed(facts.value),))
    told: Text
    match facts.name, facts.value:
        case "lang", value:
            told = tell("Letters to you are in this language now: {language}.", language=LANGUAGES[value])
        case "cards", "off":
            cards = command(say(tell("cards on")))
            told = tell("Letters to you show no cards from now on. To change that, answer {cards}.", cards=cards)
        case "cards", _:
            told = tell("Letters to you show your cards from now on.")
        case _, "off":
            told = tell("Letters come at any hour now.")
        case _, hours:
            told = tell(
                "In these hours only answers come: {hours}. Reminders come earlier, other letters later.",
                hours=hours_of_day(hours, say, facts.zone),
            )
    return LetterDraft((say(told),))


def stopped(facts: StoppedFacts, say: Speaker) -> LetterDraft:
    """No more letters."""
    first = say(tell("This was the last letter to you, {name}: you get no more.", name=facts.name))
    again = paragraph(say(tell("To get letters again, answer {start}.", start=command(say(tell("start"))))))
    if not facts.seats:
        return LetterDraft((first,), (again,))
    clocks = say(tell("Your clocks run on: a game in which you do not move in time is lost."))
    told = (
        *sentences(say(plural("You have {n} running game.", "You have {n} running games.", len(facts.seats)))),
        *items(_row(_row_of(seat), seat.now, say, seat.zone) for seat in facts.seats),
    )
    return LetterDraft((first, clocks), (told, again))


def _row_of(seat: SeatFacts) -> GameRow:
    setup, position = seat.position.course.setup, seat.position
    other = setup.names[1 - (position.seat or 0)] or setup.invited
    return GameRow(position.game, other, setup.ruleset.name, position.mine, seat.clock.deadline)


def started(facts: StartedFacts, say: Speaker) -> LetterDraft:
    """Letters again."""
    first = say(tell("Letters come to you again, {name}.", name=facts.name))
    if not facts.rows:
        return LetterDraft((first,))
    return LetterDraft((first,), (listed(facts.rows, facts.now, say, facts.zone), show_again(say)))


def locked(facts: LockedFacts, say: Speaker) -> LetterDraft:
    """Everything is locked."""
    if facts.by_operator:
        told = tell("The operator of this service has locked your mailbox: no orders are taken. Your clocks run on.")
        return LetterDraft((say(told),), (paragraph(say(tell("To have it unlocked, ask the operator."))),))
    first = say(
        tell(
            "You have written that you are not {name}: no more letters go to you, and no orders are taken.",
            name=facts.name,
        )
    )
    yes = command(say(tell("yes")))
    again = say(tell("If it was a mistake, answer {yes} to this letter, or ask the operator of the service.", yes=yes))
    return LetterDraft((first,), (paragraph(again),))
