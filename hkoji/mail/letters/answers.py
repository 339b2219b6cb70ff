"""The letters that answer an order: what is on record, what was not understood or is asked back, what was not read."""

from __future__ import annotations

import re
from typing import Final

from hkoji.mail.letters.events import answer_waited_for, answer_without_game, ended, how_to_answer, turn, turn_blocks
from hkoji.mail.letters.facts import (
    AskedBackFacts,
    AskedWhy,
    CalledOffFacts,
    FirstCountsFacts,
    GaveFacts,
    LastTodayFacts,
    NotUnderstoodFacts,
    OnRecordFacts,
    TurnFacts,
    TurnOverFacts,
    UnreadableFacts,
    WelcomeFacts,
)
from hkoji.mail.letters.game_facts import SeatFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.page import (
    Block,
    LetterDraft,
    command,
    harmless,
    length,
    moment,
    paragraph,
    sentences,
    tied,
    typed,
)
from hkoji.messages.text import Speaker, tell

_ASKED: Final = {
    AskedWhy.SENDER: tell("Mail in your name came from another address than yours, so nothing was done yet."),
    AskedWhy.SIGNATURE: tell("Your mail provider has signed your other mails, but not this one: nothing was done yet."),
    AskedWhy.REQUIRED: tell(
        "Your mail provider has not signed your mail, which is demanded here, so nothing was done yet."
    ),
    AskedWhy.FINAL: tell("This cannot be taken back, so you are asked once more: nothing was done yet."),
    AskedWhy.NO_LETTER: tell("Your mail answers no letter, so anybody can have written it: nothing was done yet."),
}
_TIME = re.compile(r"\b[2-8][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\b")
_FIELD = re.compile(r"\b(?:Message-ID|From|Content-[A-Z][A-Za-z-]+)\b")
"""A field of a mail, in the reason why the mail cannot be read; no language translates these names."""


def _help(say: Speaker) -> Block:
    return paragraph(say(tell("To see what you can write, answer {help}.", help=command(say(tell("help"))))))


def welcome(facts: WelcomeFacts, say: Speaker) -> LetterDraft:
    """The reader has accepted an invitation."""
    first = [say(tell("Welcome, {name}: you are registered at {origin}.", name=facts.name, origin=facts.origin))]
    if facts.seat is not None:
        game = GameWords(facts.seat, say)
        first.append(
            say(tell("You have joined the game of {game} with {name}.", name=game.opponent, game=game.board.game))
        )
    first.append(say(tell("You get a letter when it is your turn.")))
    held = paragraph(
        say(
            tell(
                "The service keeps your name, your mailbox, and the key that signs for you, and your mails for some "
                "months, as a proof of what you played. Other players see your name, but not your mailbox: the log of "
                "a game, which is public, has only a hash of it, from which nobody can read it."
            )
        )
    )
    salt = (
        *sentences(say(tell("To prove one day that a log means your mailbox, you need this number. Keep it:"))),
        *typed(facts.salt),
    )
    stop = paragraph(say(tell("To get no more letters, answer {stop}.", stop=command(say(tell("stop"))))))
    return LetterDraft(tuple(first), (_where_commands_go(facts, say), held, salt, stop))


def _where_commands_go(facts: WelcomeFacts, say: Speaker) -> Block:
    """Says where to write orders that belong to no game."""
    new = command(say(tell("new address")))
    if facts.commands:
        return (
            *sentences(
                say(
                    tell(
                        "This is your command address. It is for orders that belong to no game, such as {help} or "
                        "{games}. Keep it, and show it to nobody; with {new} you get another one:",
                        help=command(say(tell("help"))),
                        games=command(say(tell("games"))),
                        new=new,
                    )
                )
            ),
            *typed(facts.commands),
        )
    if facts.seat is None:
        return paragraph(answer_without_game(say))
    there = tell(
        "For orders that belong to no game, such as a new game, answer {new}: a letter for them comes.", new=new
    )
    return paragraph(say(there))


def on_record(facts: OnRecordFacts, say: Speaker) -> LetterDraft:
    """An order was carried out."""
    game = GameWords(facts.seat, say)
    time = game.moment(facts.at)
    first = [say(_done(facts.kind, time, game.opponent))]
    told: Block = ()
    if facts.action and facts.seat.cards:
        seen = game.brief.decided(game.position.seat or 0, facts.action)
        if not (game.mine and seen in game.brief.news()):
            told = paragraph(say(tell("On record: {move}.", move=game.brief.told(facts.action))))
    if game.mine:
        draft = turn(TurnFacts(facts.seat), say)
        return draft._replace(first=(*first, *draft.first), blocks=(told, *draft.blocks))
    if game.course.finished:
        first.append(say(tell("The game is over: {result}.", result=game.result())))
        if facts.log:
            return ended(game, facts.log)._replace(first=tuple(first))
    return LetterDraft((*first, game.waiting()), (told, *_seen(game), game.signed()))


def _done(kind: str, time: str, name: str) -> str:
    match kind:
        case "open":
            return tell("You have opened a game for {name}, on {time}.", name=name, time=time)
        case "move":
            return tell("Your move is on record, with the time {time}.", time=time)
        case "join":
            return tell("You have joined the game, on {time}.", time=time)
        case "resign":
            return tell("You have resigned, on {time}.", time=time)
        case "cancel":
            return tell("You have withdrawn your game, on {time}.", time=time)
        case "lapse":
            return tell("You have declined the invitation, on {time}.", time=time)
    return tell("Your order is on record, with the time {time}.", time=time)


def _seen(game: GameWords) -> tuple[Block, ...]:
    """The table and the reader's cards, for a letter at whose time no move is due."""
    if game.course.state.round == 0 or game.course.finished:
        return ()
    return (game.table(), game.hand())


def not_understood(facts: NotUnderstoodFacts, say: Speaker) -> LetterDraft:
    """Nothing was done, because a line was not understood or cannot be done."""
    game = None if facts.seat is None else GameWords(facts.seat, say)
    leave = say(tell("Leave an empty line after your move: what stands below it is not read.")) if facts.more else ""
    now = "" if game is None else game.turn()
    if game is not None and not game.seat.cards:
        hidden = say(tell("Your letters show no cards, so your line is not repeated here."))
        return LetterDraft(
            (say(_in_vain(facts)), now), (paragraph(hidden, leave), game.hand(), game.signed()), how_to_answer(game)
        )
    first = (_not_done(facts, say), _sentence(_reason(facts, say)), leave, now)
    blocks: list[Block] = []
    if game is not None and game.mine:
        near = (facts.ask,) if facts.ask else facts.near
        blocks.append(tuple(each for move in near for each in game.example(move)) or game.examples(short=True))
        blocks.append(game.hand())
    blocks.append(_help(say))
    answer = answer_waited_for(facts.waits, say) if game is None else how_to_answer(game)
    return LetterDraft(first, tuple(blocks), answer)


def _not_done(facts: NotUnderstoodFacts, say: Speaker) -> str:
    """A sentence on what was not done, with the line of the mail if it had one."""
    line = tied(harmless(facts.line))
    if not line:
        return say(_in_vain(facts))
    if facts.read:
        return say(tell("I could not do what you wrote, so nothing was done: {line}", line=line))
    if facts.more:
        return say(tell("I could not read a line of your mail, so nothing was done: {line}", line=line))
    return say(tell("I could not read the first line of your mail, so nothing was done: {line}", line=line))


def _reason(facts: NotUnderstoodFacts, say: Speaker) -> str:
    """The reason, with times for people: a limit says when it is possible again."""
    reason = say(facts.reason)
    if not facts.now:
        return reason
    return _TIME.sub(lambda found: moment(found[0], facts.now, say, facts.zone), reason)


def _in_vain(facts: NotUnderstoodFacts) -> str:
    """A sentence on what was not done, without the line."""
    if not facts.line:
        return tell("There was no line in your mail that I could read, so nothing was done.")
    if facts.read:
        return tell("I could not do what you wrote, so nothing was done.")
    return tell("I could not read your line, so nothing was done.")


def _sentence(phrase: str) -> str:
    """A phrase as a sentence."""
    if not phrase:
        return ""
    whole = phrase[:1].upper() + phrase[1:]
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."


def asked_back(facts: AskedBackFacts, say: Speaker) -> LetterDraft:
    """An order is asked back."""
    game = None if facts.seat is None else GameWords(facts.seat, say)
    first = [say(_ASKED[facts.why])]
    if game is not None and facts.seat is not None:
        first.append(game.turn())
        if game.position.mine and game.seat.clock.seat is not None:
            first.append(say(tell("Your clock runs until your answer is here.")))
    if facts.until is not None and facts.now is not None:
        first.append(say(tell("You have until {time}.", time=moment(facts.until, facts.now, say, facts.zone))))
    blocks = []
    if facts.why is AskedWhy.SENDER and facts.sender:
        only = say(tell("Mail counts only if it comes from the address to which this letter was sent."))
        came = sentences(say(tell("It came from this address:")))
        blocks.append((*came, *typed(_address(facts.sender)), *paragraph(only)))
    again: Block = typed(facts.order)
    if game is not None and facts.order in game.position.legal:
        if not game.seat.cards:
            hidden = say(tell("The order is not repeated here, as your letters show no cards. Send it once more."))
            return LetterDraft(tuple(first), (*blocks, paragraph(hidden), game.signed()))
        again = game.example(facts.order)
    blocks.append(
        (*sentences(say(tell("If this is what you want, send it once more, in answer to this mail:"))), *again)
    )
    blocks.append(paragraph(say(tell("If you did not write it, do nothing, and nothing happens."))))
    return LetterDraft(tuple(first), tuple(blocks))


def _address(text: str) -> str:
    shown = "".join(each if each.isascii() and (each.isalnum() or each in "@.+_-=") else "?" for each in text)
    return shown if len(shown) <= 64 else f"{shown[:61]}..."


def turn_over(facts: TurnOverFacts, say: Speaker) -> LetterDraft:
    """The mail was for a turn that is over."""
    game = GameWords(facts.seat, say)
    if game.position.seat is None and game.course.finished:  # they were invited, and never had a turn
        return LetterDraft((say(tell("This invitation is over, so nothing was done.")), _now(game)), (game.signed(),))
    first = (say(tell("Your mail was for a turn that is over, so nothing was done.")),)
    told: Block = ()
    if facts.action and facts.seat.cards:
        if facts.by == game.position.seat:
            sent = tell("On record is what you sent before: {move}.", move=game.brief.told(facts.action))
        else:
            sent = tell("On record: {move}.", move=game.brief.decided(facts.by or 0, facts.action))
        told = paragraph(say(sent))
    if game.due:
        draft = turn(TurnFacts(facts.seat), say)
        return draft._replace(first=(*first, *draft.first), blocks=(told, *draft.blocks))
    return LetterDraft((*first, _now(game)), (told, game.signed()))


def _now(game: GameWords) -> str:
    if game.course.finished:
        return game.say(tell("The game is over: {result}.", result=game.result()))
    return game.turn()


def first_counts(facts: FirstCountsFacts, say: Speaker) -> LetterDraft:
    """A second mail with the same id was not read."""
    game = None if facts.seat is None else GameWords(facts.seat, say)
    first = say(tell("One of your mails came twice, with different contents: the first one counts."))
    return LetterDraft((first, "" if game is None else _now(game)))


def unreadable(facts: UnreadableFacts, say: Speaker) -> LetterDraft:
    """A mail could not be used."""
    reason = say(facts.reason)
    if not facts.form:
        first = say(tell("Mail in your name could not be used, so nothing was done: {reason}.", reason=reason))
        return _plain((first,), facts.seat, (), say)
    field = _FIELD.search(reason)
    told = say(
        tell(
            "Your mail program sent this in a form that this service does not read ({what}). Nothing that you wrote is "
            "wrong. Try your provider's web page.",
            what=field[0] if field else reason,
        )
    )
    helps = say(tell("This helps: plain text in Unicode (UTF-8), not encrypted, and your address alone as its sender."))
    blocks = (paragraph(say(tell("In detail: {reason}.", reason=reason)) if field else "", helps),)
    return _plain((told, say(tell("Nothing was done, so send it once more."))), facts.seat, blocks, say)


def last_today(facts: LastTodayFacts, say: Speaker) -> LetterDraft:
    """The reader has had as many answers as there are in a day."""
    enough = say(tell("This is the last answer here today. Orders are still carried out."))
    only = say(tell("An order that changes something, such as a move, is always answered."))
    again = say(
        tell("Everything is answered again from {time} on.", time=moment(facts.until, facts.now, say, facts.zone))
    )
    return LetterDraft((), (paragraph(enough, only, again),))


def _plain(first: tuple[str, ...], seat: SeatFacts | None, blocks: tuple[Block, ...], say: Speaker) -> LetterDraft:
    if seat is None:
        return LetterDraft(first, blocks)
    game = GameWords(seat, say)
    return LetterDraft((*first, _now(game)), (*blocks, game.signed()), how_to_answer(game))


def gave(facts: GaveFacts, say: Speaker) -> LetterDraft:
    """The reader has given the other player time."""
    game = GameWords(facts.seat, say)
    first = say(
        tell("You have given {name} {length} for this turn.", name=game.opponent, length=length(facts.seconds, say))
    )
    return LetterDraft((first, game.turn()), (game.signed(),))


def called_off(facts: CalledOffFacts, say: Speaker) -> LetterDraft:
    """The reader wishes to call the game off."""
    game = GameWords(facts.seat, say)
    first = say(tell("You wish to call the game off. {name} can agree until the next move.", name=game.opponent))
    blocks = turn_blocks(game) if game.due else (game.signed(),)
    return LetterDraft((first, game.turn()), blocks, how_to_answer(game))
