"""The letter with a code, by which a mail player plays on with a key of their own.

The code stands neither in the subject nor in the first paragraph, which phones show on their locked screens.
"""

from __future__ import annotations

from hkoji.mail.letters.facts import CodeFacts
from hkoji.mail.letters.game_words import GameWords
from hkoji.mail.letters.page import WIDTH, Block, LetterDraft, command, paragraph, sentences, typed
from hkoji.mail.letters.times import moment
from hkoji.messages.language import Speaker
from hkoji.messages.text import tell


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
