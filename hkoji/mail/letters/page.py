"""A letter, and what its text is made of: wrapped lines, typed lines, times, and the order of its parts.

Nothing here knows what a letter says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Final, NamedTuple, Protocol, TypeAlias

from hkoji.game.agreement import DAY, zone_offset
from hkoji.game.clock import add_seconds, parse_time
from hkoji.messages.text import Speaker, tell
from hkoji.show.terms import length_text


class Attachment(NamedTuple):
    """A file that goes with a letter: its name, its type (`application/x-ndjson`), its bytes."""

    name: str
    type: str
    content: bytes


class Letter(NamedTuple):
    """A letter for one reader.

    `subject` is one line of ASCII. `text` has lines of at most 72 columns, each ended by a newline, and an empty line
    between paragraphs. Subject and first paragraph show no card, but for a line that the reader has written and why it
    cannot be done.
    """

    subject: str
    text: str
    attachments: tuple[Attachment, ...] = ()


WIDTH: Final = 72
"""The columns of a line. An address that is longer stands alone on a line: it cannot be broken."""
TIE: Final = "\u237d"
"""Stands for a space at which a line is not broken. It is printable, so a message keeps it, and no name has it."""
RULE: Final = "-" * 68
_INDENT: Final = "  "
_SEEN: Final = 40
_LINK = re.compile(r"www\.|@|:(?=//)|\.(?=[^\W\d_])", re.IGNORECASE)
"""The signs that make a word a link: also a name with a point in it is one to many a program."""
_SAFE: Final = frozenset("""+-/,.?!'"()=^>* """)

_BEFORE_STOP: Final = re.compile(rf"{TIE}(?=[.,;:)])")

Block: TypeAlias = tuple[str, ...]
"""Lines without an empty one; an empty line follows a block."""

_WEEKDAYS: Final = (
    tell("Mon"),
    tell("Tue"),
    tell("Wed"),
    tell("Thu"),
    tell("Fri"),
    tell("Sat"),
    tell("Sun"),
)
_MONTHS: Final = (
    tell("Jan"),
    tell("Feb"),
    tell("Mar"),
    tell("Apr"),
    tell("May"),
    tell("Jun"),
    tell("Jul"),
    tell("Aug"),
    tell("Sep"),
    tell("Oct"),
    tell("Nov"),
    tell("Dec"),
)
_HOUR: Final = 3600
_FAR: Final = 180 * DAY


class Page:
    """Makes the parts of letters in the language of `say`. Texts and the values in them may still be messages."""

    def __init__(self, say: Speaker) -> None:
        self.say: Final = say

    def sentences(self, *texts: str) -> Block:
        """Texts of which each begins a line; empty ones are left out."""
        return tuple(line for text in texts if text for line in fold(self.say(text)))

    def paragraph(self, *texts: str) -> Block:
        """Texts that run on; empty ones are left out."""
        return tuple(fold(" ".join(map(self.say, filter(None, texts)))))

    def rows(self, texts: Iterable[str]) -> Block:
        """Rows of a table, indented; a row that is too long goes on under its beginning."""
        return tuple(line for text in texts for line in fold(self.say(text), _INDENT, _INDENT + "   "))

    def items(self, texts: Iterable[str]) -> Block:
        """Items of a list."""
        return tuple(line for text in texts if text for line in fold(self.say(text), "- ", _INDENT))

    def typed(self, line: str) -> Block:
        """A line that the reader can send as it stands: alone and indented."""
        return (f"{_INDENT}{self.say(line)}",)

    def words(self, commands: Iterable[str]) -> str:
        """Commands side by side, in a line that is not broken within one."""
        return f"{TIE} ".join(tied(self.say(each)) for each in commands)

    def command(self, line: str) -> str:
        """A command within a sentence: set off by spaces, and not broken."""
        return f"{TIE}{tied(self.say(line))}{TIE}"

    def moment(self, time: str, now: str, zone: str = "") -> str:
        """A time of the log for people: `Wed 25 Nov 10:00 UTC`; with its year if that is not plain.

        Behind it stands the time in the reader's `zone`, if it is known: `(11:00 at UTC+1)`, with the day if that
        differs. Seconds are left out, so a deadline is said to be earlier than it is, unless it is less than an hour
        from now.
        """
        near = abs(parse_time(time) - parse_time(now)) < _HOUR and time[17:19] != "00"
        end = 19 if near else 16
        shown = tied(f"{self._weekday(time)} {self._day_and_month(time, now)} {time[11:end]} UTC")
        if not zone or not zone_offset(zone):
            return shown
        there = add_seconds(time, zone_offset(zone))
        clock = there[11:end]
        if there[:10] != time[:10]:
            clock = f"{self._weekday(there)} {clock}"
        return f"{shown} {self._there(clock, zone)}"

    def hours_of_day(self, hours: str, zone: str = "") -> str:
        """Hours of each day in UTC, `22-7`, for people: `22-7 UTC (23-8 at UTC+1)`."""
        shown = tied(f"{hours} UTC")
        if not zone or not zone_offset(zone):
            return shown
        minutes = (int(each) * 60 + zone_offset(zone) // 60 for each in hours.split("-"))
        there = "-".join(f"{each // 60 % 24}" + (f":{each % 60}" if each % 60 else "") for each in minutes)
        return f"{shown} {self._there(there, zone)}"

    def day(self, time: str, now: str) -> str:
        """The day of a time of the log: `3 Dec`."""
        return tied(self._day_and_month(time, now))

    def length(self, seconds: int) -> str:
        """A length of time in at most two units: `3 days`, `1 day 6 hours`; rounded up to what people would say."""
        step = _HOUR if seconds >= DAY else 60 if seconds >= _HOUR // 2 else 1
        seconds = -(-seconds // step) * step
        return tied(self.say(length_text(seconds)))

    def _weekday(self, time: str) -> str:
        return self.say(_WEEKDAYS[parse_time(time) // DAY % 7])

    def _day_and_month(self, time: str, now: str) -> str:
        shown = f"{int(time[8:10])} {self.say(_MONTHS[int(time[5:7]) - 1])}"
        return f"{shown} {time[:4]}" if abs(parse_time(time) - parse_time(now)) > _FAR else shown

    def _there(self, time: str, zone: str) -> str:
        hours, minutes = int(zone[1:3]), zone[4:6]
        name = f"UTC{zone[0]}{hours}" + (f":{minutes}" if minutes != "00" else "")
        return tied(self.say(tell("({time} at {zone})", time=time, zone=name)))


class LetterDraft(NamedTuple):
    """The parts of a letter.

    `first` are the sentences of its first paragraph, each on a line of its own. They show no card, but for a line that
    the reader has written and why it cannot be done. `answer` says how to answer, at the end of that paragraph.
    `blocks` follow under a rule.
    """

    first: tuple[str, ...]
    blocks: tuple[Block, ...] = ()
    answer: str = ""
    attachments: tuple[Attachment, ...] = ()

    def text(self, page: Page) -> str:
        """Returns the letter as text."""
        first = page.sentences(*self.first, self.answer)
        blocks = [each for each in self.blocks if each]
        return "\n".join([*first, *([RULE] if blocks else []), *_parted(blocks)]) + "\n"


class OneLetter(Protocol):
    """The facts of one letter, with a class for each kind of letter.

    It has the log's times and lengths in seconds, and the time now if it needs that. Positions are those of the
    reader's seat, so a letter cannot show what its reader does not know. `zone` is the reader's time zone (`+01:00`),
    empty if it is not known. A letter about a game has it as its `seat`.
    """

    def draft(self, page: Page) -> LetterDraft:
        """Returns the parts of the letter."""


def _parted(blocks: Sequence[Block]) -> Iterable[str]:
    for number, block in enumerate(blocks):
        yield from [""] * bool(number)
        yield from block


def tied(text: str) -> str:
    """A text at whose spaces no line is broken."""
    return text.replace(" ", TIE)


def fold(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """The lines of a text, broken at spaces only.

    A text that fits on a line is not given to `wrapped`, which takes twelve times as long for it.
    """
    joined = _BEFORE_STOP.sub("", text).replace(f" {TIE}", TIE * 2)
    if len(indent) + len(joined) > WIDTH or not joined.isprintable():
        return wrapped(joined, indent, hanging)
    said = joined.rstrip(" ")
    return [f"{indent}{said}".replace(TIE, " ").rstrip()] if said else []


def wrapped(text: str, indent: str, hanging: str) -> list[str]:
    """The lines of any text in which the spaces that are not to be broken are ties."""
    lines = wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(TIE, " ").rstrip() for line in lines]


def unlinked(text: str) -> str:
    """A text that may have words of a mail, with nothing in it that a mail program shows as a link or an address."""
    return _LINK.sub("?", text)


def harmless(line: str) -> str:
    """A line of a mail as a letter can show it: a few words that are no link, no address and no column trick."""
    kept = "".join(
        each if (each.isascii() and each.isalnum()) or each in _SAFE or _is_latin(each) else "?" for each in line
    )
    kept = " ".join(unlinked(kept).split())
    return kept if len(kept) <= _SEEN else f"{kept[: _SEEN - 3].rstrip()}..."


def _is_latin(character: str) -> bool:
    return "\u00c0" <= character <= "\u017e" and character.isalpha()
