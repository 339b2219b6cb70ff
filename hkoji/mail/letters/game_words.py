"""A game in the words of a letter: who plays, whose time runs, what the reader holds and can write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from hkoji.game.clock import parse_time
from hkoji.game.course import Stage
from hkoji.game.held_keys import grade_sentence
from hkoji.game.position import ClockReading, Position
from hkoji.game.result_text import closing_body, result_text
from hkoji.mail.letters.page import TIE, Block, Page
from hkoji.messages.text import plural, tell
from hkoji.rules.events import Act
from hkoji.rules.protocol import Due
from hkoji.show.board import Board, Look
from hkoji.show.brief import Brief, spread_over
from hkoji.show.games import board, board_type, brief_type


class SeatFacts(NamedTuple):
    """A game as the reader knows it, now.

    `position` is that of the reader's seat (`read_position`), and `clock` that of the game's last entry (`read_clock`).
    With `cards` False the letter shows no cards. `held` says that the service signs for the reader, `opponent_held`
    that it signs for the other seat. `silent` and `opponent_silent` are the times since which letters to the reader
    and to the other player do not arrive, None if they do. With `signs` False the service can sign nothing for the
    reader's seat: the key that it holds is revoked if `held`, or else the reader's own key is the only one. `own` says
    that the reader has a key of their own now, which is to take the place of that one. `zone` is the reader's time zone
    (`+01:00`), empty if it is not known.
    """

    position: Position
    clock: ClockReading
    now: str
    cards: bool = True
    held: bool = True
    opponent_held: bool = False
    silent: str | None = None
    opponent_silent: str | None = None
    signs: bool = True
    own: bool = False
    zone: str = ""


_MANY: Final = 8


class GameWords:
    """The words of one game for one reader."""

    def __init__(self, seat: SeatFacts, page: Page) -> None:
        self.seat: Final = seat
        self.page: Final = page
        self.position: Final = seat.position
        self.course: Final = seat.position.course
        self.board: Final[Board] = board(seat.position, Look(say=page.say))
        self.brief: Final[Brief] = brief_type(self.course.setup.ruleset.name)(self.board)

    # --- who ----------------------------------------------------------------------------------------------------------

    @property
    def other(self) -> str | None:
        """The other player's name, or that of the invited one; None if nobody is known."""
        setup = self.course.setup
        if self.position.seat is None:  # The reader is invited, or was.
            return setup.names[0]
        return setup.names[1 - self.position.seat] or setup.invited

    @property
    def opponent(self) -> str:
        """The other player's name, or `nobody yet`."""
        return self.other or tell("nobody yet")

    @property
    def mine(self) -> bool:
        """Whether the reader can move now, by mail."""
        return self.due and self.seat.signs

    @property
    def due(self) -> bool:
        """Whether a move of the reader is due."""
        return bool(self.position.legal)

    @property
    def sealed(self) -> bool:
        """Whether nobody but the players' programs sees the cards."""
        return self.course.sealed is not None

    @property
    def releases(self) -> bool:
        """Whether the reader's program owes the other player a card, and the reader owes nothing."""
        return self.course.debtor is not None and self.course.debtor == self.position.seat

    # --- time ---------------------------------------------------------------------------------------------------------

    def moment(self, time: str) -> str:
        """A time of the log, as the reader knows times."""
        return self.page.moment(time, self.seat.now, self.seat.zone)

    def own_time(self) -> Iterator[str]:
        """Sentences on how long the reader still has."""
        clock, now = self.seat.clock, self.seat.now
        left, free, reserve = clock.left(now), clock.free_until, clock.reserve_at(now)
        if clock.deadline is None or left is None or free is None or reserve is None:
            yield tell("The game has no clock: you have all the time you like.")
            return
        end, kept = self.moment(clock.deadline), reserve[self.position.seat or 0]
        if left < 0:
            yield tell("Your time was over on {time}: the service is about to end the game.", time=end)
        elif free <= now:
            yield tell("Your reserve is running, and {length} of it are left.", length=self.page.length(kept))
            yield tell("It ends, and the game is lost, on {time}.", time=end)
        elif kept:
            yield tell(
                "You have {length}, until {time}, then {reserve} in reserve.",
                length=self.page.length(parse_time(free) - parse_time(now)),
                time=self.moment(free),
                reserve=self.page.length(kept),
            )
            yield tell("Your reserve ends, and the game is lost, on {time}.", time=end)
        else:
            yield tell("You have {length}, until {time}.", length=self.page.length(left), time=end)
            yield tell("Without a move of yours by then, the game is lost.")

    def deadline(self) -> str:
        """A sentence on the end of the reader's time, in brief."""
        clock, now = self.seat.clock, self.seat.now
        if clock.deadline is None or clock.free_until is None:
            return tell("It is still your turn. The game has no clock.")
        end, free = self.moment(clock.deadline), clock.free_until
        if free == clock.deadline or free < now:
            return tell("It is still your turn; your time ends, and the game is lost, on {end}.", end=end)
        return tell(
            "It is still your turn, until {time}; the reserve ends, and the game is lost, on {end}.",
            time=self.moment(free),
            end=end,
        )

    def waiting(self) -> str:
        """A sentence on whose turn it is if it is not the reader's; empty when the game is over."""
        course, clock = self.course, self.seat.clock
        if course.finished:
            return ""
        if course.stage is Stage.JOIN:
            return self.board.turn()
        if clock.deadline is None or clock.seat is None:
            return tell("It is {name}'s turn. You get a letter when it is yours.", name=self.opponent)
        return tell(
            "It is {name}'s turn, until {time} at the latest. You get a letter when it is yours.",
            name=self.opponent,
            time=self.moment(clock.deadline),
        )

    def turn(self) -> str:
        """A sentence on the end of the reader's time or on whose turn it is; empty when the game is over."""
        if self.position.invited:
            return self._invited()
        return self.deadline() if self.position.mine else self.waiting()

    def _invited(self) -> str:
        if not self.seat.signs:
            return tell(
                "This invitation is to the key with which the service signed for you, and that has been revoked. "
                "Ask {name} to invite you again.",
                name=self.opponent,
            )
        words = {"accept": self.page.command(tell("accept")), "decline": self.page.command(tell("decline"))}
        expires = self.course.setup.agreement.expires
        if expires is None:
            return tell("You are invited to this game: answer {accept} or {decline}.", **words)
        time = self.moment(expires)
        return tell("You are invited to this game: answer {accept} or {decline} by {time}.", time=time, **words)

    # --- the game -----------------------------------------------------------------------------------------------------

    def result(self) -> str:
        """The result of a game that is over, as a phrase."""
        outcome, setup = self.course.outcome, self.course.setup
        assert outcome is not None
        closed = closing_body(step.body for step in self.position.replay.steps)
        name = None if outcome.winner is None else setup.names[outcome.winner]
        you = outcome.winner is not None and outcome.winner == self.position.seat
        return result_text(outcome, setup.ruleset.reasons, name, you=you, closed=closed)

    def lately(self) -> Block:
        """The news since the reader last decided, and how the game stands; nothing without cards."""
        if not self.seat.cards:
            return ()
        news = self.brief.news()
        told = tell("Lately: {news}.", news="; ".join(news)) if news else ""
        return self.page.paragraph(told, *self.brief.standing())

    def table(self) -> Block:
        """The cards on the table; nothing without cards."""
        table = self.page.rows(self.brief.table()) if self.seat.cards else ()
        return (*self.page.sentences(self.brief.heading), *table) if table else ()

    def hand(self) -> Block:
        """The hand of the reader, and the actions that are left."""
        if self.sealed:
            show = self.page.command(f"hkoji show {self.position.game[:8]}")
            return self.page.paragraph(tell("Only your program sees your cards: {show}.", show=show))
        if not self.seat.cards:
            shown = tell(
                "Your letters show no cards. To see them again, answer {cards}.",
                cards=self.page.command(tell("cards on")),
            )
            return self.page.paragraph(shown, *self.brief.left())
        offer = self.brief.offer() if self.due else ()
        return (
            *self.page.sentences(*offer),
            *self.page.paragraph(*self.brief.hand(), *self.brief.left(), self.number()),
        )

    def number(self) -> str:
        """A sentence on how many moves the reader has, if they are not few."""
        legal = len(self.position.legal)
        if not self.seat.cards or not self.seat.signs or legal <= _MANY:
            return ""
        word = f"{TIE}{self.page.say(tell('moves'))}"
        return plural(
            "There is {n} legal move (answer: {moves}).",
            "There are {n} legal moves (answer: {moves}).",
            legal,
            moves=word,
        )

    def examples(self, *, short: bool = False) -> Block:
        """Moves that the reader can send as they stand; none without cards.

        All of a few. Of many one of each action, or one in all if the letter is `short` or not the first of the game.
        """
        if not self.mine or not self.seat.cards:
            return ()
        chosen = list(self.brief.examples())
        if self.course.state.due is Due.ACT and (short or self._has_played()):
            chosen = [spread_over(chosen, self.course.seq)]
        return tuple(line for move in chosen for line in self.example(move))

    def examples_of_all(self) -> Block:
        """A move of each action that is left."""
        return tuple(line for move in self.brief.examples() for line in self.example(move))

    def _has_played(self) -> bool:
        return any(isinstance(each, Act) and each.seat == self.position.seat for each in self.position.events)

    def example(self, move: str) -> Block:
        """One move that the reader can send as it stands."""
        return (*self.page.sentences(self.brief.ask(move)), *self.page.typed(self.brief.typed(move)))

    # --- the end of a letter ------------------------------------------------------------------------------------------

    def other_words(self) -> Block:
        """The other words that the reader can write."""
        known = self.page.words([tell("show"), tell("rules"), tell("games"), tell("resign"), tell("help")])
        stop = tell("stop  (no more letters; your clock runs on)")
        not_me = tell("not me  (somebody else wrote in your name: lock this mailbox)")
        return (*self.page.sentences(tell("Other words:  {words}", words=known)), *self.page.rows([stop, not_me]))

    def signed(self) -> Block:
        """The players whose keys the service holds, those without letters, and at the end the last entry."""
        return self.page.paragraph(self._signer(), self.last_entry() if self.course.finished else "", *self.silence())

    def signed_in_full(self) -> Block:
        """The signer, the last entry, and the players whose letters do not arrive."""
        return self.page.paragraph(self._signer(), self.last_entry(), *self.silence())

    def last_entry(self) -> str:
        """A sentence on the last entry of the log."""
        head = self.course.head
        short = f"{head[:4]}\u2026{head[-4:]}"
        return tell("Log: entry {seq}, head {head}.", seq=self.course.seq, head=short)

    def _signer(self) -> str:
        """A sentence on who signs for the reader; empty for one without a seat."""
        seat = self.seat
        if self.position.seat is None:
            return ""
        if not seat.signs:
            # It stands at the top of a letter that would otherwise say how to answer. A game that is over needs no key.
            return "" if self.position.mine or self.course.finished else self.own_key()
        if seat.held and seat.opponent_held:
            return tell("The service signs for you, and for {name}.", name=self.opponent)
        if seat.held:
            return tell("The service signs for you.")
        return tell("Your own key has allowed the service to sign what you answer here.")

    def own_key(self) -> str:
        """Sentences on a seat for which the service can sign no more: what to do to play on."""
        if self.sealed:
            return tell(
                "In a sealed game only your own program can play your cards. A service that answers mail for you would "
                "see them."
            )
        if not self.seat.held:
            return tell(
                "You have a key of your own in this game: play on with the program hkoji. Moves that you "
                "write here are not played."
            )
        if self.seat.own:
            return tell(
                "You have a key of your own now: what you write here moves nothing, and your clock runs on. To "
                "play on, look at the game with the program hkoji: {show}.",
                show=self.page.command(f"hkoji show {self.position.game[:8]}"),
            )
        revoked = tell(
            "The key with which the service signs for you has been revoked: what you write here moves nothing, and "
            "your clock runs on."
        )
        ask = tell(
            "To play on you need a key of your own: ask the operator of the service for a code, and give it to the "
            "program hkoji with {recover}.",
            recover=self.page.command("hkoji recover"),
        )
        return f"{self.page.say(revoked)} {self.page.say(ask)}"

    def proof(self) -> Block:
        """The proof that the log gives about each seat, a sentence for each player who has come."""
        setup, seat = self.course.setup, self.position.seat
        return self.page.paragraph(
            *(
                grade_sentence(name, setup.seat_grade(number), you=number == seat)
                for number, name in enumerate(setup.names)
                if name is not None
            )
        )

    def silence(self) -> Iterator[str]:
        """Sentences on letters that do not arrive."""
        seat = self.seat
        if seat.silent is not None:
            yield tell(
                "Letters to you have not arrived since {day}; {name} sees that.",
                day=self._day(seat.silent),
                name=self.opponent,
            )
        if seat.opponent_silent is not None:
            yield tell(
                "Letters to {name} have not arrived since {day}.",
                name=self.opponent,
                day=self._day(seat.opponent_silent),
            )

    def _day(self, time: str) -> str:
        return self.page.day(time, self.seat.now)


class GameRow(NamedTuple):
    """A game in a list: its id, the opponent (None while there is none), the ruleset's name, and until when.

    `mine` says that the reader owes the next entry; `deadline` is that of whoever owes it.
    """

    game: str
    opponent: str | None
    ruleset: str
    mine: bool
    deadline: str | None = None


def listed(rows_of: tuple[GameRow, ...], now: str, page: Page, zone: str = "") -> Block:
    """Games, one an item."""
    return page.items(_row(row, now, page, zone) for row in rows_of)


def _row(row: GameRow, now: str, page: Page, zone: str) -> str:
    title = f"{row.game[:8]}, {board_type(row.ruleset).game}"
    name = row.opponent or tell("nobody yet")
    time = "" if row.deadline is None else page.moment(row.deadline, now, zone)
    if row.mine:
        if time:
            return tell("{game} against {name}: your turn, until {time}.", game=title, name=name, time=time)
        return tell("{game} against {name}: your turn.", game=title, name=name)
    if time:
        return tell("{game} against {name}: not your turn, until {time}.", game=title, name=name, time=time)
    return tell("{game} against {name}: not your turn.", game=title, name=name)


def show_again(page: Page) -> Block:
    """How to see a game of a list."""
    return page.paragraph(tell("To see a game, answer any letter of it with {show}.", show=page.command(tell("show"))))
