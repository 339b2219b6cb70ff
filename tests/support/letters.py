"""Letters of every kind about a game that is played in memory, as its players get them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hkoji.game.course import Stage
from hkoji.game.position import Position, action_of, read_clock, read_position
from hkoji.game.replay import replay
from hkoji.mail.addresses import OwnAddress
from hkoji.mail.commands import OrderFault
from hkoji.mail.letters import LetterHeaders, answers, events, invitations, mailbox, shown
from hkoji.mail.letters.answers import (
    AskedBackFacts,
    AskedWhy,
    CalledOffFacts,
    FirstCountsFacts,
    GaveFacts,
    LastTodayFacts,
    NotUnderstoodFacts,
    OnRecordFacts,
    TurnOverFacts,
    UnreadableFacts,
)
from hkoji.mail.letters.composing import Facts, ManyFacts
from hkoji.mail.letters.events import AnnulFacts, GivenFacts, JoinedFacts, OverFacts, ReminderFacts, TurnFacts
from hkoji.mail.letters.game_words import GameRow, SeatFacts
from hkoji.mail.letters.invitations import DeclinedFacts, InvitationFacts, LetterWaits, WelcomeFacts
from hkoji.mail.letters.mailbox import (
    CodeFacts,
    ConfirmedFacts,
    ConfirmFacts,
    ConfirmWhat,
    LeftFacts,
    LockedFacts,
    NameTakenFacts,
    StartedFacts,
    StoppedFacts,
)
from hkoji.mail.letters.shown import (
    EvidenceFacts,
    GamesFacts,
    HelpFacts,
    LogFacts,
    MovesFacts,
    RulesFacts,
    SettingFacts,
    ShowFacts,
)
from hkoji.mail.orders import read_orders
from hkoji.manual.rules_pages import page
from hkoji.messages.text import tell
from hkoji.rules.events import Seat
from hkoji.show.brief import WIDTH
from tests.support.boards import position
from tests.support.table import Table

ORIGIN: Final = "https://hkoji.example"
COMMANDS: Final = "play+7k2mq4ruapbd3xvn5tczshw6ef@hkoji.example"
KINDS: Final = tuple(
    each
    for module in (answers, events, invitations, mailbox, shown)
    for each in vars(module).values()
    if isinstance(each, type) and each.__module__ == module.__name__ and hasattr(each, "draft")
)
"""The classes of all kinds of letter."""
TOKEN: Final = "7k2mq4ruapbd3xvn5tczshw6ef"


def seat_of(table: Table, seat: Seat, *, cards: bool = True, seen: Position | None = None) -> SeatFacts:
    """A game as a player's letter knows it now."""
    known = seen or position(table, seat)
    return SeatFacts(known, read_clock(known.course, table.refereed.at), table.now, cards=cards)


def invited_to(table: Table, name: str) -> SeatFacts:
    """A game as somebody knows it who is invited to it, and has no seat."""
    known = read_position(replay(table.lines), None, name)
    return SeatFacts(known, read_clock(known.course, table.refereed.at), table.now)


def row_of(facts: SeatFacts) -> GameRow:
    """A game as a line of a list."""
    course = facts.position.course
    other = course.setup.names[1 - (facts.position.seat or 0)]
    return GameRow(course.setup.game, other, course.setup.ruleset.name, facts.position.mine, facts.clock.deadline)


def letters_of_game(facts: SeatFacts, log: bytes) -> Iterator[tuple[str, Facts]]:
    """Letters about a game that fit its position, by name."""
    seen, course = facts.position, facts.position.course
    if seen.mine and course.stage is Stage.PLAY:
        yield "turn", TurnFacts(facts)
        yield "turn-in-zone", TurnFacts(facts._replace(zone="+05:30"))
        yield "turn-delegated", TurnFacts(facts._replace(held=False))
        yield "turn-own-key", TurnFacts(facts._replace(held=False, signs=False))
        yield "remind1", ReminderFacts(facts, last=False)
        yield "remind2", ReminderFacts(facts, last=True)
        yield "given", GivenFacts(facts, 86400)
        yield "asked-sender", AskedBackFacts(seen.legal[-1], AskedWhy.SENDER, facts, sender="bob@elsewhere.example")
        yield "asked-signature", AskedBackFacts(seen.legal[0], AskedWhy.SIGNATURE, facts)
        yield "asked-final", AskedBackFacts("resign", AskedWhy.FINAL, facts)
        bare = seen.legal[0].lstrip("-").lower()
        for name, lines in (
            ("", ["2bb" if course.setup.ruleset.name == "hanamikoji" else "rx9"]),
            ("-below", ["show", "ciao, come va?"]),
            ("-bare", [bare]),
        ):
            fault = read_orders(lines, course.state)
            if isinstance(fault, OrderFault):
                told = NotUnderstoodFacts(fault.line, fault.reason, facts, fault.near, fault.ask, fault.more)
                told = told._replace(read=fault.read)
                yield f"not-understood{name}", told
        yield "called-off", CalledOffFacts(facts)
    if course.stage is Stage.PLAY:
        yield "gave", GaveFacts(facts, 2 * 86400)
    if course.stage is Stage.OVER:
        yield "over", OverFacts(facts, log)
        yield "over-by-you", OnRecordFacts(facts, "move", facts.now, log=log)
    yield "show", ShowFacts(facts)
    yield "moves", MovesFacts(facts)
    yield "help", HelpFacts(facts)
    yield "log", LogFacts(facts, log)
    yield "evidence", EvidenceFacts(facts, b"{}\n")
    yield "evidence-none", EvidenceFacts(facts, b"")
    yield "annul", AnnulFacts(facts)
    yield "annul-by-mail", AnnulFacts(facts, by_mail=True)
    yield "first-counts", FirstCountsFacts(facts)
    yield "unreadable", UnreadableFacts(tell("it has more than one From field"), facts)
    played = [step for step in seen.replay.steps if step.entry.kind == "move"]
    if played:
        step, action = played[-1], action_of(played[-1])
        yield "turn-over", TurnOverFacts(facts, action, course.setup.names.index(step.entry.by))
        if step.entry.by == course.setup.names[seen.seat or 0]:
            yield "on-record", OnRecordFacts(facts, "move", facts.now, action)
    if course.stage is Stage.PLAY:
        yield "joined", JoinedFacts(facts)
        yield "resigned", OnRecordFacts(facts, "resign", facts.now)


def letters_of_no_game(name: str, facts: SeatFacts, lang: str) -> Iterator[tuple[str, Facts]]:
    """Letters of the other kinds, by name; `facts` is a game of the reader's."""
    setup, now = facts.position.course.setup, facts.now
    host = setup.names[1 - (facts.position.seat or 0)] or "alice"
    asked = InvitationFacts(name, ORIGIN, now, host, setup.game, setup.ruleset, setup.agreement)
    yield "invited", asked
    yield "invited-held", asked._replace(host_held=True)
    yield "invited-known", asked._replace(known=True)
    yield "invited-own-key", asked._replace(known=True, held=False, host_held=True)
    yield "invited-without-game", InvitationFacts(name, ORIGIN, now, expires=now)
    yield "declined", DeclinedFacts(setup.game, host, "declined", "later")
    yield "declined-open", DeclinedFacts(setup.game, None, "expired")
    # Where addresses have no token, letters are in their place.
    for suffix, commands in (("", COMMANDS), ("-bare", "")):
        welcome = WelcomeFacts(name, "bob@example.org", ORIGIN, commands, "8c1f" * 16)
        yield f"welcome{suffix}", welcome._replace(seat=facts)
        yield f"welcome-without-game{suffix}", welcome
        yield f"setting-commands{suffix or '-address'}", SettingFacts("commands", commands)
    yield "rules", RulesFacts(setup.ruleset.name, page(setup.ruleset.name, lang, width=WIDTH, commands=False))
    yield "games", GamesFacts(name, (row_of(facts),), now)
    yield "no-games", GamesFacts(name, (), now)
    yield "help-without-game", HelpFacts()
    yield "help-invited", HelpFacts(waits=LetterWaits.INVITED)
    for setting, value in (
        ("lang", lang),
        ("cards", "off"),
        ("cards", "on"),
        ("quiet", "22-7"),
        ("quiet", "off"),
    ):
        yield f"setting-{setting}-{value}", SettingFacts(setting, value)
    yield "setting-quiet-in-zone", SettingFacts("quiet", "22-7", "-03:30")
    yield "stopped", StoppedFacts(name, (facts,))
    yield "stopped-without-game", StoppedFacts(name)
    yield "started", StartedFacts(name, (row_of(facts),), now)
    yield "locked", LockedFacts(name)
    yield "suspended", LockedFacts(name, by_operator=True)
    yield "asked-stop", AskedBackFacts("stop", AskedWhy.NO_LETTER, until=now, now=now)
    yield "asked-accept", AskedBackFacts("accept", AskedWhy.SENDER, sender="x@y.example", until=now, now=now)
    yield "not-understood-without-game", NotUnderstoodFacts("hello there")
    yield "not-understood-invited", NotUnderstoodFacts("I accept!", waits=LetterWaits.INVITED)
    yield "not-understood-asked", NotUnderstoodFacts("yes please", waits=LetterWaits.ASKED)
    yield "empty-mail", NotUnderstoodFacts("", tell("the mail has no text of its own"))
    yield from _letters_of_mailboxes(name, facts)
    if facts.position.mine:
        yield "given-and-turn", ManyFacts((GivenFacts(facts, 86400), TurnFacts(facts)))
    yield "last-today", ManyFacts((HelpFacts(facts), LastTodayFacts("2026-11-21T00:00:00Z", now)))
    yield "show-and-setting", ManyFacts((ShowFacts(facts), SettingFacts("cards", "on")))
    other = DeclinedFacts("00" * 16, "carla", "declined")
    yield "two-games", ManyFacts((other, ShowFacts(facts)))


def _letters_of_mailboxes(name: str, facts: SeatFacts) -> Iterator[tuple[str, Facts]]:
    """Questions to a mailbox, and confirmations, by name."""
    now = facts.now
    still = ConfirmFacts(ConfirmWhat.SILENCE, name, ORIGIN, now, now, seat=facts._replace(cards=False))
    yield "confirm-silence-in-game", still
    for what in ConfirmWhat:
        yield f"confirm-{what.value}", ConfirmFacts(what, name, ORIGIN, now, now)
    yield "confirm-orders", ConfirmFacts(ConfirmWhat.ON, name, ORIGIN, now, now, orders=True)
    for what in (ConfirmWhat.ON, ConfirmWhat.MOVE):
        done = ConfirmedFacts(what, name, ORIGIN, now, "bob@mail.example", COMMANDS, "5a" * 32, (row_of(facts),))
        yield f"confirmed-{what.value}", done
    yield "confirmed-orders", ConfirmedFacts(ConfirmWhat.ON, name, ORIGIN, now, orders=True)
    yield "confirmed-silence", ConfirmedFacts(ConfirmWhat.SILENCE, name, ORIGIN, now)
    yield "name-taken", NameTakenFacts(name, ORIGIN, "play@hkoji.example")
    yield "no-name", NameTakenFacts("", ORIGIN, "play@hkoji.example")
    yield "near-name", NameTakenFacts("", ORIGIN, "play@hkoji.example", "not-a-name")
    yield "left", LeftFacts(name, ORIGIN)
    coded = CodeFacts(name, ORIGIN, "9d41" * 10, now, now, facts)
    yield "code", coded
    yield "code-without-game", coded._replace(seat=None)
    yield "no-code", coded._replace(code="")


def letters_of_invited(facts: SeatFacts) -> Iterator[tuple[str, Facts]]:
    """Letters to a player who is invited and has not joined, or has declined, by name."""
    course = facts.position.course
    if course.finished:
        yield "declined-by-you", OnRecordFacts(facts, "lapse", facts.now)
    yield "show", ShowFacts(facts)
    yield "moves", MovesFacts(facts)
    yield "help", HelpFacts(facts)
    yield "not-understood", NotUnderstoodFacts("yess", "", facts)
    yield "asked-sender", AskedBackFacts("accept", AskedWhy.SENDER, facts, sender="bob@elsewhere.example")


def headers_of(event: str, at: str, *, answer: bool = False) -> LetterHeaders:
    """Header fields as the service makes them."""
    ours = OwnAddress("play@hkoji.example")
    return LetterHeaders(
        to="bob@example.org",
        sender=ours.mailbox,
        reply_to=ours.with_token(TOKEN),
        message_id=ours.message_id(event, 9, TOKEN),
        at=at,
        event=event,
        stop_url=f"{ORIGIN}/v1/mail/stop/{TOKEN}",
        stop_address=ours.with_token(TOKEN),
        answer=answer,
        in_reply_to="<CAJ8x+1=7@mail.example.org>",
        thread="<85c924c3.game@hkoji.example>",
    )
