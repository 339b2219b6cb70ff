"""The letters about the reader's mailbox and key: what its owner is asked to confirm, that it is done, and the code.

With the code a mail player plays on with a key of their own. It stands neither in the subject nor in the first
paragraph, which phones show on their locked screens.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from hkoji.mail.letters.game_words import GameRow, GameWords, SeatFacts, listed, show_again
from hkoji.mail.letters.page import WIDTH, Block, LetterDraft, Page
from hkoji.messages.text import Text, plural, tell


class ConfirmWhat(StrEnum):
    """The request that the owner of a mailbox confirms with `yes`. None of it enters anything into a log."""

    ON = "on"
    """Letters, and perhaps orders, of a player with a key of their own come and go by the mailbox."""
    REGISTER = "register"
    """The owner gets the name that they have asked for."""
    MOVE = "move"
    """The mailbox becomes that of a player who has played by mail from another one."""
    SILENCE = "silence"
    """The owner is still there, after a long time without a mail."""
    UNLOCK = "unlock"
    """The mailbox is unlocked, which its owner has locked."""


class CodeFacts(NamedTuple):
    """A code with which the reader `name` gets a key of their own at `origin`, valid once and until `until`.

    It is empty if they have one now.
    """

    name: str
    origin: str
    code: str
    until: str
    now: str
    seat: SeatFacts | None = None
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        turn = "" if self.seat is None else GameWords(self.seat, page).turn()
        if not self.code:
            own = tell("You have a key of your own now, {name}: the service no longer signs for you.", name=self.name)
            return LetterDraft((own, turn))
        first = (
            tell("Below is a code with which you get a key of your own, {name}.", name=self.name),
            tell("Nothing has changed yet: until you use it, the service signs for you, and you play by mail."),
            turn,
        )
        until = page.moment(self.until, self.now, self.zone)
        steps = (
            *page.sentences(tell("At a computer with the program hkoji, type these two lines:")),
            *page.typed(f"hkoji init {self.name}"),
            *self._recover(page),
        )
        secret = (
            *page.sentences(tell("The second one asks for this code, which is valid once, until {time}:", time=until)),
            *page.typed(self.code),
        )
        then = page.paragraph(
            tell(
                "From then on you sign for yourself, and what you write here moves nothing. Your running games change "
                "to your key when you look at them with the program and it is your turn."
            ),
            tell(
                "Only the service says that the key is yours. So send your opponents its fingerprint, which the "
                "program prints: their programs stop and ask for it."
            ),
        )
        wait = page.paragraph(
            tell(
                "While a game waits for its first cards, or for somebody to join it, the code is refused. Wait, or "
                "write {cancel} in answer to the letter of a game that nobody has joined.",
                cancel=page.command(tell("cancel")),
            )
        )
        warning = page.paragraph(
            tell(
                "Show the code to nobody: whoever has it can play under your name, and see your cards. If you have not "
                "asked for it, answer {words}, and it is void.",
                words=page.command(tell("not me")),
            )
        )
        return LetterDraft(first, (steps, secret, then, wait, warning))

    def _recover(self, page: Page) -> Block:
        begin, end = f"hkoji recover {self.name}", f"--server {self.origin}"
        (whole,) = page.typed(f"{begin} {end}")
        # A long one goes on in the next line, as shells take it.
        return (whole,) if len(whole) <= WIDTH else (*page.typed(f"{begin} \\"), *page.typed(f"  {end}"))


class ConfirmFacts(NamedTuple):
    """Something is done once the reader answers `yes`, until `until`.

    `orders` says for `ConfirmWhat.ON` whether mails are orders too. `seat` is the game about whose turn the reader
    would have got a letter, for `ConfirmWhat.SILENCE` only; its cards are not shown.
    """

    what: ConfirmWhat
    name: str
    origin: str
    until: str
    now: str
    orders: bool = False
    seat: SeatFacts | None = None
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        first: list[str] = [_asked(self)]
        blocks: list[Block] = []
        if self.seat is not None:
            game = GameWords(self.seat, page)
            first.append(game.turn())
            if self.seat.clock.deadline is not None and game.position.mine:
                first.append(tell("Your clock runs on until your move is here."))
        if self.what is ConfirmWhat.REGISTER:
            blocks.append(
                page.paragraph(
                    tell(
                        "The service makes a key for you, keeps it, and signs your moves with it. Anybody who reads "
                        "your mailbox can play for you, and your mail provider can see your cards."
                    )
                )
            )
        yes, time = page.command(tell("yes")), page.moment(self.until, self.now, self.zone)
        if self.what is ConfirmWhat.SILENCE:
            answer = tell("Answer {yes} by {time}. Any later letter asks again.", yes=yes, time=time)
        else:
            answer = tell("If you want that, answer {yes} by {time}. If you do not, do nothing.", yes=yes, time=time)
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


class ConfirmedFacts(NamedTuple):
    """The reader has confirmed something.

    `commands` is the reader's command address, and `salt` that of the certificate for `mailbox`, if that is new.
    `rows` are the reader's running games.
    """

    what: ConfirmWhat
    name: str
    origin: str
    now: str
    mailbox: str = ""
    commands: str = ""
    salt: str = ""
    rows: tuple[GameRow, ...] = ()
    orders: bool = False
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        first = (_done(self),)
        blocks: list[Block] = []
        if self.commands:
            where = tell("This is your command address, for orders that belong to no game. Show it to nobody:")
            blocks.append((*page.sentences(where), *page.typed(self.commands)))
        if self.salt:
            prove = tell("To prove one day that a log means this mailbox, you need this number. Keep it:")
            blocks.append((*page.sentences(prove), *page.typed(self.salt)))
        if self.rows:
            blocks += [listed(self.rows, self.now, page, self.zone), show_again(page)]
        return LetterDraft(first, tuple(blocks))


def _done(facts: ConfirmedFacts) -> Text:
    values = {"name": facts.name, "origin": facts.origin}
    match facts.what:
        case ConfirmWhat.ON if facts.orders:
            return tell("Letters from {origin} come here from now on, {name}, and your answers are read.", **values)
        case ConfirmWhat.SILENCE:
            return tell("Thank you, {name}. Letters with cards come to you again.", **values)
    return tell("Letters from {origin} come here from now on, {name}.", **values)


class NameTakenFacts(NamedTuple):
    """The name for which the owner of a mailbox has asked is somebody else's. `address` is where to ask again.

    An empty name stands for one that nobody could have; `near` is a name that is near to it, if there is one.
    """

    name: str
    origin: str
    address: str
    near: str = ""

    def draft(self, page: Page) -> LetterDraft:
        first = (
            tell("You have asked to play by mail at {origin}.", origin=self.origin),
            tell("The name {name} is taken or reserved, so nothing was done.", name=self.name)
            if self.name
            else tell("That cannot be a name, so nothing was done: use 2 to 32 of a-z, 0-9, _ and -."),
        )
        other = page.command(f"register {self.near or 'bob'}")
        how = tell("To ask for another name, write a line such as {register} to:", register=other)
        again = (*page.sentences(how), *page.typed(self.address))
        return LetterDraft(first, (again,))


class LeftFacts(NamedTuple):
    """The last letter to a mailbox that `name` has left for another one."""

    name: str
    origin: str

    def draft(self, page: Page) -> LetterDraft:
        first = tell(
            "This was the last letter from {origin} to {name} here: letters go to another mailbox now.",
            name=self.name,
            origin=self.origin,
        )
        wrong = tell("If you are {name} and did not want that, write to the operator of the service.", name=self.name)
        return LetterDraft((first,), (page.paragraph(wrong),))


class StoppedFacts(NamedTuple):
    """No more letters go to the reader. `seats` are their running games, whose clocks run on."""

    name: str
    seats: tuple[SeatFacts, ...] = ()

    def draft(self, page: Page) -> LetterDraft:
        first = tell("This was the last letter to you, {name}: you get no more.", name=self.name)
        again = page.paragraph(tell("To get letters again, answer {start}.", start=page.command(tell("start"))))
        if not self.seats:
            return LetterDraft((first,), (again,))
        clocks = tell("Your clocks run on: a game in which you do not move in time is lost.")
        told = (
            *page.sentences(plural("You have {n} running game.", "You have {n} running games.", len(self.seats))),
            *(line for seat in self.seats for line in listed((_row_of(seat),), seat.now, page, seat.zone)),
        )
        return LetterDraft((first, clocks), (told, again))


class StartedFacts(NamedTuple):
    """Letters go to the reader again. `rows` are their running games."""

    name: str
    rows: tuple[GameRow, ...]
    now: str
    zone: str = ""

    def draft(self, page: Page) -> LetterDraft:
        first = tell("Letters come to you again, {name}.", name=self.name)
        if not self.rows:
            return LetterDraft((first,))
        return LetterDraft((first,), (listed(self.rows, self.now, page, self.zone), show_again(page)))


class LockedFacts(NamedTuple):
    """After `not me`: letters and orders are locked until a `yes` from the mailbox, or the operator, unlocks them.

    Or `by_operator`, who alone can unlock them then.
    """

    name: str
    by_operator: bool = False

    def draft(self, page: Page) -> LetterDraft:
        if self.by_operator:
            told = tell(
                "The operator of this service has locked your mailbox: no orders are taken. Your clocks run on."
            )
            return LetterDraft((told,), (page.paragraph(tell("To have it unlocked, ask the operator.")),))
        first = tell(
            "You have written that you are not {name}: no more letters go to you, and no orders are taken.",
            name=self.name,
        )
        yes = page.command(tell("yes"))
        again = tell("If it was a mistake, answer {yes} to this letter, or ask the operator of the service.", yes=yes)
        return LetterDraft((first,), (page.paragraph(again),))


def _row_of(seat: SeatFacts) -> GameRow:
    setup, position = seat.position.course.setup, seat.position
    other = setup.names[1 - (position.seat or 0)] or setup.invited
    return GameRow(position.game, other, setup.ruleset.name, position.mine, seat.clock.deadline)
