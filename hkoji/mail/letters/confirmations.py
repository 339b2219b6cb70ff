"""The letters that ask the owner of a mailbox to confirm something, and those that say that it is done."""

from __future__ import annotations

from hkoji.mail.letters.confirmation_facts import ConfirmedFacts, ConfirmFacts, ConfirmWhat, LeftFacts, NameTakenFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.page import Block, LetterDraft, command, paragraph, sentences, typed
from hkoji.mail.letters.shown import listed, show_again
from hkoji.mail.letters.times import moment
from hkoji.messages.language import Speaker
from hkoji.messages.text import Text, tell


def confirm(facts: ConfirmFacts, say: Speaker) -> LetterDraft:
    """Something is done after `yes`."""
    first = [say(_asked(facts))]
    blocks: list[Block] = []
    if facts.seat is not None:
        game = GameWords(facts.seat, say)
        first.append(game.turn())
        if facts.seat.clock.deadline is not None and game.position.mine:
            first.append(say(tell("Your clock runs on until your move is here.")))
    if facts.what is ConfirmWhat.REGISTER:
        blocks.append(
            paragraph(
                say(
                    tell(
                        "The service makes a key for you, keeps it, and signs your moves with it. Anybody who reads "
                        "your mailbox can play for you, and your mail provider can see your cards."
                    )
                )
            )
        )
    yes, time = command(say(tell("yes"))), moment(facts.until, facts.now, say, facts.zone)
    if facts.what is ConfirmWhat.SILENCE:
        answer = say(tell("Answer {yes} by {time}. Any later letter asks again.", yes=yes, time=time))
    else:
        answer = say(tell("If you want that, answer {yes} by {time}. If you do not, do nothing.", yes=yes, time=time))
    return LetterDraft(tuple(first), tuple(blocks), answer=answer)


def _asked(facts: ConfirmFacts) -> Text:
    values = {"name": facts.name, "origin": facts.origin}
    match facts.what:
        case ConfirmWhat.ON if facts.orders:
            return tell("{name} wishes to get letters from {origin} here, and to play by mail.", **values)
        case ConfirmWhat.ON:
            return tell("{name} wishes to get letters from {origin} here.", **values)
        case ConfirmWhat.REGISTER:
            return tell("You have asked to play by mail at {origin}, under the name {name}.", **values)
        case ConfirmWhat.MOVE:
            return tell("Letters from {origin} to {name} are to come here from now on.", **values)
        case ConfirmWhat.SILENCE:
            return tell(
                "Nothing has come from you for half a year, {name}. Before letters with cards go to you again, "
                "{origin} asks whether this is still your mailbox.",
                **values,
            )
    return tell("Letters and orders of {name} at {origin} are to be unlocked.", **values)


def confirmed(facts: ConfirmedFacts, say: Speaker) -> LetterDraft:
    """What the reader has confirmed is done."""
    first = [say(_done(facts))]
    blocks: list[Block] = []
    if facts.commands:
        where = tell("This is your command address, for orders that belong to no game. Show it to nobody:")
        blocks.append((*sentences(say(where)), *typed(facts.commands)))
    if facts.salt:
        prove = tell("To prove one day that a log means this mailbox, you need this number. Keep it:")
        blocks.append((*sentences(say(prove)), *typed(facts.salt)))
    if facts.rows:
        blocks += [listed(facts.rows, facts.now, say, facts.zone), show_again(say)]
    return LetterDraft(tuple(first), tuple(blocks))


def _done(facts: ConfirmedFacts) -> Text:
    values = {"name": facts.name, "origin": facts.origin}
    match facts.what:
        case ConfirmWhat.ON if facts.orders:
            return tell("Letters from {origin} come here from now on, {name}, and your answers are read.", **values)
        case ConfirmWhat.SILENCE:
            return tell("Thank you, {name}. Letters with cards come to you again.", **values)
    return tell("Letters from {origin} come here from now on, {name}.", **values)


def name_taken(facts: NameTakenFacts, say: Speaker) -> LetterDraft:
    """Somebody else has the name that the reader has asked for."""
    first = (
        say(tell("You have asked to play by mail at {origin}.", origin=facts.origin)),
        say(
            tell("The name {name} is taken or reserved, so nothing was done.", name=facts.name)
            if facts.name
            else tell("That cannot be a name, so nothing was done: use 2 to 32 of a-z, 0-9, _ and -.")
        ),
    )
    other = command(f"register {facts.near or 'bob'}")
    how = tell("To ask for another name, write a line such as {register} to:", register=other)
    again = (*sentences(say(how)), *typed(facts.address))
    return LetterDraft(first, (again,))


def left(facts: LeftFacts, say: Speaker) -> LetterDraft:
    """The player has another mailbox by now."""
    first = say(
        tell("This was the last letter from {origin} to {name} here: letters go to another mailbox now.",
             name=facts.name, origin=facts.origin)
    )  # fmt: skip
    wrong = say(tell("If you are {name} and did not want that, write to the operator of the service.", name=facts.name))
    return LetterDraft((first,), (paragraph(wrong),))
