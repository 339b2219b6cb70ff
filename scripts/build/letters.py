"""Builds tests/data/letters/: letters of every kind to a player by mail, for both games, in each language, to be read.

`scripts.build.mails` writes and compares them. A file has the letters of a moment of a game, each with its subject.
`.eml` are whole messages as they are sent, but for their line ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from hkoji.game.agreement import Agreement, parse_time_control
from hkoji.game.entry_kinds import Invite
from hkoji.log.mail_claim import MailClaim, MailGrade
from hkoji.mail.letters import Facts, Letter, compose, write_letter
from hkoji.manual.catalogues import load_speaker
from hkoji.messages.text import LANGUAGES
from hkoji.rules.geishas_road.ruleset import GeishasRoad
from hkoji.rules.hanamikoji.ruleset import Hanamikoji
from hkoji.rules.protocol import Ruleset
from tests.support.letters import (
    headers_of,
    invited_to,
    letters_of_game,
    letters_of_invited,
    letters_of_no_game,
    seat_of,
)
from tests.support.table import Table

_AGREED: Final = Agreement(parse_time_control("3d/14d"), "2026-12-01T12:00:00Z")
_MINUTE: Final = 60


class _LetterTable(Table):
    """A table at which the same cards are dealt and the same moves are made whoever answers by mail."""

    def mail(self, grade: MailGrade | None = None) -> MailClaim:
        """The service's claim about a mail that has just come; nothing is drawn for it."""
        return MailClaim(sha256(self.course.head.encode()).hexdigest(), grade or self.grade)


def _table(ruleset: Ruleset, seed: int, held: tuple[int, ...] = ()) -> _LetterTable:
    return _LetterTable(ruleset, seed, agreement=_AGREED, names=("alice", "bob"), held=held)


class Moment(NamedTuple):
    """A position of a game: after so many moves of seed `seed`, seen by the seat that must move, or by the other."""

    name: str
    ruleset: Ruleset
    moves: int | None
    waits: bool = False
    cards: bool = True
    seed: int = 1


MOMENTS: Final = (
    Moment("hanamikoji-first", Hanamikoji(), 0),
    Moment("hanamikoji-answer", Hanamikoji(), 4),
    Moment("hanamikoji-action", Hanamikoji(), 5),
    Moment("hanamikoji-waiting", Hanamikoji(), 4, waits=True),
    Moment("hanamikoji-no-cards", Hanamikoji(), 5, cards=False),
    Moment("hanamikoji-second-round", Hanamikoji(), 12, seed=3),
    Moment("hanamikoji-over", Hanamikoji(), None),
    Moment("geishas-road-first", GeishasRoad(), 0),
    Moment("geishas-road-gift", GeishasRoad(), 3),
    Moment("geishas-road-action", GeishasRoad(), 5),
    Moment("geishas-road-pairs", GeishasRoad(), 6),
    Moment("geishas-road-order", GeishasRoad(), 14),
    Moment("geishas-road-second-round", GeishasRoad(), 15),
    Moment("geishas-road-waiting", GeishasRoad(), 6, waits=True),
    Moment("geishas-road-over", GeishasRoad(), None),
)
_EVERY: Final = {"hanamikoji-action", "geishas-road-action"}
"""The moments of which every kind of letter is kept; of the others those that show the position."""
_WHOLE: Final = ("over", "first-counts")
_TELLING: Final = {
    "turn",
    "on-record",
    "over",
    "show",
    "moves",
    "turn-over",
    "not-understood",
    "asked-signature",
    "joined",
    "gave",
}


def build() -> dict[str, str]:
    """The files' names and contents."""
    return {f"letters/{name}": text for lang in LANGUAGES for name, text in _files(lang)}


def _files(lang: str) -> Iterator[tuple[str, str]]:
    say = load_speaker(lang)
    for moment in MOMENTS:
        played = _table(moment.ruleset, moment.seed).begin().play(moment.moves)
        actor = played.course.actor if played.course.actor is not None else 1
        reader = 1 - actor if moment.waits else actor
        table = _table(moment.ruleset, moment.seed, held=(reader,)).begin().play(moment.moves).wait(_MINUTE)
        facts = seat_of(table, reader, cards=moment.cards)
        every = moment.name in _EVERY
        found = [each for each in letters_of_game(facts, table.text.encode()) if every or each[0] in _TELLING]
        found += letters_of_no_game("bob", facts, lang) if every else ()
        yield f"{lang}/{moment.name}.txt", "".join(_text(kind, write_letter(each, say)) for kind, each in found)
    table = _table(Hanamikoji(), 1, held=(1,)).begin().play().wait(_MINUTE)
    for name, found in _invited().items():
        yield f"{lang}/{name}.txt", "".join(_text(kind, write_letter(each, say)) for kind, each in found)
    for kind, each in letters_of_game(seat_of(table, 1), b'{"a short":"log"}\n'):
        if kind in _WHOLE:
            message = compose(write_letter(each, say), headers_of(kind, table.now, answer=kind != "over"))
            yield f"{lang}/{kind}.eml", message.decode("ascii").replace("\r\n", "\n")


def _invited() -> dict[str, list[tuple[str, Facts]]]:
    """Letters to somebody who is invited, and to somebody who has declined."""
    table = _table(Hanamikoji(), 1)
    table.open(Invite("bob", table.keys[1].public))
    waiting = [*letters_of_invited(invited_to(table, "bob"))]
    table.lapse("declined")
    return {"invited": waiting, "declined": [*letters_of_invited(invited_to(table, "bob"))]}


def _text(kind: str, letter: Letter) -> str:
    files = "".join(f"({file.name}, {file.type})\n" for file in letter.attachments)
    return f"=== {kind}\nSubject: {letter.subject}\n{files}\n{letter.text}\n"
