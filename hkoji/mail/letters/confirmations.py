"""The letters about the reader's mailbox and key: what its owner is asked to confirm, that it is done, and the code.

With the code a mail player plays on with a key of their own. It stands neither in the subject nor in the first
paragraph, which phones show on their locked screens."""

from __future__ import annotations

from hkoji.mail.letters.confirmation_facts import ConfirmedFacts, ConfirmFacts, ConfirmWhat, LeftFacts, NameTakenFacts
from hkoji.mail.letters.facts import CodeFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.page import WIDTH, Block, LetterDraft, command, moment, paragraph, sentences, typed
from hkoji.mail.letters.shown import listed, show_again
from hkoji.messages.text import Speaker, Text, tell


def code(facts: CodeFacts, say: Speaker) -> LetterDraft:
    """How the reader gets a key of their own."""
    if not facts.code:
        own = say(tell("You have a key of your own now, {name}: the service no longer signs for you.", name=facts.name))
        return LetterDraft((own, _turn(facts, say)))
    first = (
        say(tell("Below is a code with which you get a key of your own, {name}.", name=facts.name)),
        say(tell("Nothing has changed yet: until you use it, the service signs for you, and you play by mail.")),
        _turn(facts, say),
    )
    until = moment(facts.until, facts.now, say, facts.zone)
    steps = (
        *sentences(say(tell("At a computer with the program hkoji, type these two lines:"))),
        *typed(f"hkoji init {facts.name}"),
        *_recover(facts.name, facts.origin),
    )
    secret = (
        *sentences(say(tell("The second one asks for this code, which is valid once, until {time}:", time=until))),
        *typed(facts.code),
    )
    then = paragraph(
        say(
            tell(
                "From then on you sign for yourself, and what you write here moves nothing. Your running games change "
                "to your key when you look at them with the program and it is your turn."
            )
        ),
        say(
            tell(
                "Only the service says that the key is yours. So send your opponents its fingerprint, which the "
                "program prints: their programs stop and ask for it."
            )
        ),
    )
    wait = paragraph(
        say(
            tell(
                "While a game waits for its first cards, or for somebody to join it, the code is refused. Wait, or "
                "write {cancel} in answer to the letter of a game that nobody has joined.",
                cancel=command(say(tell("cancel"))),
            )
        )
    )
    return LetterDraft(first, (steps, secret, then, wait, _warning(say)))


def _recover(name: str, origin: str) -> Block:
    begin, end = f"hkoji recover {name}", f"--server {origin}"
    (whole,) = typed(f"{begin} {end}")
    # A long one goes on in the next line, as shells take it.
    return (whole,) if len(whole) <= WIDTH else (*typed(f"{begin} \\"), *typed(f"  {end}"))


def _turn(facts: CodeFacts, say: Speaker) -> str:
    return "" if facts.seat is None else GameWords(facts.seat, say).turn()


def _warning(say: Speaker) -> Block:
    return paragraph(
        say(
            tell(
                "Show the code to nobody: whoever has it can play under your name, and see your cards. If you have not "
                "asked for it, answer {words}, and it is void.",
                words=command(say(tell("not me"))),
            )
        )
    )


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
