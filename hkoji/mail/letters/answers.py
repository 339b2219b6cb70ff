"""The letters that answer an order: what is on record, what was not understood or is asked back, what was not read."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.mail.letters.events import TurnFacts, ended, how_to_answer, turn_blocks
from hkoji.mail.letters.game_words import GameWords, SeatFacts
from hkoji.mail.letters.invitations import LetterWaits, answer_waited_for
from hkoji.mail.letters.page import Block, LetterDraft, Page, harmless, tied
from hkoji.messages.text import tell
from hkoji.rules.events import Seat


class AskedWhy(StrEnum):
    """Why an order is asked back."""

    SENDER = "sender"
    """It came from another address than the registered one."""
    SIGNATURE = "signature"
    """It came without the provider's signature, which the reader's mails used to have."""
    REQUIRED = "required"
    """It came without the provider's signature, which this service always needs."""
    FINAL = "final"
    """It cannot be taken back: `resign`, `call off`."""
    NO_LETTER = "no letter"
    """It came in answer to no letter, so anybody can have written it."""


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


class OnRecordFacts(NamedTuple):
    """The reader's order is on record: an entry of that kind, with the time of record `at`.

    `action` is a move's canonical notation with the reader's own cards, empty for other kinds. If the reader owes the
    next entry again, the letter is the turn letter too. If the game is over, `log` has the bytes of its log.
    """

    seat: SeatFacts
    kind: str
    at: str
    action: str = ""
    log: bytes = b""

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        time = game.moment(self.at)
        first = [_done(self.kind, time, game.opponent)]
        told: Block = ()
        if self.action and self.seat.cards:
            seen = game.brief.decided(game.position.seat or 0, self.action)
            if not (game.mine and seen in game.brief.news()):
                told = page.paragraph(tell("On record: {move}.", move=game.brief.told(self.action)))
        if game.mine:
            draft = TurnFacts(self.seat).draft(page)
            return draft._replace(first=(*first, *draft.first), blocks=(told, *draft.blocks))
        if game.course.finished:
            first.append(tell("The game is over: {result}.", result=game.result()))
            if self.log:
                return ended(game, self.log)._replace(first=tuple(first))
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


class NotUnderstoodFacts(NamedTuple):
    """Nothing was done, because `line` of the mail was not understood or cannot be done now.

    `line` is as it was read, and empty if the mail had no line for us. `reason` is a phrase or sentence on why (a
    `Text`), empty if the line is just no command. `near` are up to three moves in canonical notation that can be made
    now, the best first; `ask` is the one that the line itself probably meant (bare cards), else empty. `more` says that
    the line was not the first one of the paragraph, where an empty line after the move usually helps. `seat` is None in
    a letter about no game; then `waits` is what it can be answered with, None if it has asked nothing. `read` says that
    the line was understood, and cannot be done. With `now`, a time in the reason is shown as other times are.
    """

    line: str
    reason: str = ""
    seat: SeatFacts | None = None
    near: tuple[str, ...] = ()
    ask: str = ""
    more: bool = False
    waits: LetterWaits | None = None
    read: bool = False
    now: str = ""
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        game = None if self.seat is None else GameWords(self.seat, page)
        leave = tell("Leave an empty line after your move: what stands below it is not read.") if self.more else ""
        now = "" if game is None else game.turn()
        if game is not None and not game.seat.cards:
            hidden = tell("Your letters show no cards, so your line is not repeated here.")
            return LetterDraft(
                (_in_vain(self), now),
                (page.paragraph(hidden, leave), game.hand(), game.signed()),
                how_to_answer(game),
            )
        first = (_not_done(self), _sentence(_reason(self, page)), leave, now)
        blocks: list[Block] = []
        if game is not None and game.mine:
            near = (self.ask,) if self.ask else self.near
            blocks.append(tuple(each for move in near for each in game.example(move)) or game.examples(short=True))
            blocks.append(game.hand())
        help_ = page.command(tell("help"))
        blocks.append(page.paragraph(tell("To see what you can write, answer {help}.", help=help_)))
        answer = answer_waited_for(self.waits, page) if game is None else how_to_answer(game)
        return LetterDraft(first, tuple(blocks), answer)


def _not_done(facts: NotUnderstoodFacts) -> str:
    """A sentence on what was not done, with the line of the mail if it had one."""
    line = tied(harmless(facts.line))
    if not line:
        return _in_vain(facts)
    if facts.read:
        return tell("I could not do what you wrote, so nothing was done: {line}", line=line)
    if facts.more:
        return tell("I could not read a line of your mail, so nothing was done: {line}", line=line)
    return tell("I could not read the first line of your mail, so nothing was done: {line}", line=line)


def _reason(facts: NotUnderstoodFacts, page: Page) -> str:
    """The reason, with times for people: a limit says when it is possible again."""
    reason = page.say(facts.reason)
    if not facts.now:
        return reason
    return _TIME.sub(lambda found: page.moment(found[0], facts.now, facts.zone), reason)


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


class AskedBackFacts(NamedTuple):
    """Nothing was done yet: the reader is asked to send an order again, to this letter.

    `order` is the move in canonical notation, or else the command's line as the reader can write it. `sender` is the
    address that a mail came from, shown for `AskedWhy.SENDER` only. `until` is the end of the day for which the letter
    can be answered if it is about no game, and `now` is the time now; None with a game.
    """

    order: str
    why: AskedWhy
    seat: SeatFacts | None = None
    sender: str = ""
    until: str | None = None
    now: str | None = None
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        game = None if self.seat is None else GameWords(self.seat, page)
        first: list[str] = [_ASKED[self.why]]
        if game is not None and self.seat is not None:
            first.append(game.turn())
            if game.position.mine and game.seat.clock.seat is not None:
                first.append(tell("Your clock runs until your answer is here."))
        if self.until is not None and self.now is not None:
            first.append(tell("You have until {time}.", time=page.moment(self.until, self.now, self.zone)))
        blocks = []
        if self.why is AskedWhy.SENDER and self.sender:
            only = tell("Mail counts only if it comes from the address to which this letter was sent.")
            came = page.sentences(tell("It came from this address:"))
            blocks.append((*came, *page.typed(_address(self.sender)), *page.paragraph(only)))
        again: Block = page.typed(self.order)
        if game is not None and self.order in game.position.legal:
            if not game.seat.cards:
                hidden = tell("The order is not repeated here, as your letters show no cards. Send it once more.")
                return LetterDraft(tuple(first), (*blocks, page.paragraph(hidden), game.signed()))
            again = game.example(self.order)
        blocks.append(
            (*page.sentences(tell("If this is what you want, send it once more, in answer to this mail:")), *again)
        )
        blocks.append(page.paragraph(tell("If you did not write it, do nothing, and nothing happens.")))
        return LetterDraft(tuple(first), tuple(blocks))


def _address(text: str) -> str:
    shown = "".join(each if each.isascii() and (each.isalnum() or each in "@.+_-=") else "?" for each in text)
    return shown if len(shown) <= 64 else f"{shown[:61]}..."


class TurnOverFacts(NamedTuple):
    """The mail was for a turn that is over, so nothing was changed.

    If a move is on record for that turn, `action` is its canonical notation, with the cards that the reader knows
    (`2BC`, `1X`), and `by` is the seat that has made it.
    """

    seat: SeatFacts
    action: str = ""
    by: Seat | None = None

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        if game.position.seat is None and game.course.finished:  # they were invited, and never had a turn
            return LetterDraft((tell("This invitation is over, so nothing was done."), _now(game)), (game.signed(),))
        first = (tell("Your mail was for a turn that is over, so nothing was done."),)
        told: Block = ()
        if self.action and self.seat.cards:
            if self.by == game.position.seat:
                sent = tell("On record is what you sent before: {move}.", move=game.brief.told(self.action))
            else:
                sent = tell("On record: {move}.", move=game.brief.decided(self.by or 0, self.action))
            told = page.paragraph(sent)
        if game.due:
            draft = TurnFacts(self.seat).draft(page)
            return draft._replace(first=(*first, *draft.first), blocks=(told, *draft.blocks))
        return LetterDraft((*first, _now(game)), (told, game.signed()))


def _now(game: GameWords) -> str:
    if game.course.finished:
        return tell("The game is over: {result}.", result=game.result())
    return game.turn()


class FirstCountsFacts(NamedTuple):
    """A second mail with the same Message-ID and other bytes was not read: the first one counts."""

    seat: SeatFacts | None = None

    def draft(self, page: Page) -> LetterDraft:
        game = None if self.seat is None else GameWords(self.seat, page)
        first = tell("One of your mails came twice, with different contents: the first one counts.")
        return LetterDraft((first, "" if game is None else _now(game)))


class UnreadableFacts(NamedTuple):
    """A mail could not be used, whatever it says, so nothing was done.

    `reason` is a sentence or phrase (a `Text`). `form` says that another form of the mail could have been used.
    """

    reason: str
    seat: SeatFacts | None = None
    form: bool = True

    def draft(self, page: Page) -> LetterDraft:
        reason = page.say(self.reason)
        if not self.form:
            first = tell("Mail in your name could not be used, so nothing was done: {reason}.", reason=reason)
            return _plain((first,), self.seat, (), page)
        field = _FIELD.search(reason)
        told = tell(
            "Your mail program sent this in a form that this service does not read ({what}). Nothing that you wrote is "
            "wrong. Try your provider's web page.",
            what=field[0] if field else reason,
        )
        helps = tell("This helps: plain text in Unicode (UTF-8), not encrypted, and your address alone as its sender.")
        blocks = (page.paragraph(tell("In detail: {reason}.", reason=reason) if field else "", helps),)
        return _plain((told, tell("Nothing was done, so send it once more.")), self.seat, blocks, page)


class LastTodayFacts(NamedTuple):
    """The end of the last answer that a letter's address gives today, unless something is changed.

    `until` is when it gives answers again.
    """

    until: str
    now: str
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        enough = tell("This is the last answer here today. Orders are still carried out.")
        only = tell("An order that changes something, such as a move, is always answered.")
        again = tell("Everything is answered again from {time} on.", time=page.moment(self.until, self.now, self.zone))
        return LetterDraft((), (page.paragraph(enough, only, again),))


def _plain(first: tuple[str, ...], seat: SeatFacts | None, blocks: tuple[Block, ...], page: Page) -> LetterDraft:
    if seat is None:
        return LetterDraft(first, blocks)
    game = GameWords(seat, page)
    return LetterDraft((*first, _now(game)), (*blocks, game.signed()), how_to_answer(game))


class GaveFacts(NamedTuple):
    """The reader has given the other player `seconds` for the entry that is due."""

    seat: SeatFacts
    seconds: int

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        first = tell(
            "You have given {name} {length} for this turn.", name=game.opponent, length=page.length(self.seconds)
        )
        return LetterDraft((first, game.turn()), (game.signed(),))


class CalledOffFacts(NamedTuple):
    """The reader's wish to call the game off is on record; the other player has not agreed yet."""

    seat: SeatFacts

    def draft(self, page: Page) -> LetterDraft:
        game = GameWords(self.seat, page)
        first = tell("You wish to call the game off. {name} can agree until the next move.", name=game.opponent)
        blocks = turn_blocks(game) if game.due else (game.signed(),)
        return LetterDraft((first, game.turn()), blocks, how_to_answer(game))
