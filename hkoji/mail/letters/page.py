"""A letter, and what its text is made of: wrapped lines, typed lines, times, and the order of its parts.

Times look like `Wed 25 Nov 10:00 UTC (11:00 at UTC+1)`, and lengths like `3 days`. Nothing here knows what a letter
says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Final, NamedTuple, TypeAlias

from hkoji.game.clock import add_seconds, parse_time
from hkoji.game.time_control import DAY, zone_offset
from hkoji.messages.text import Speaker, plural, tell


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
"""What makes a word a link: also a name with a point in it is one to many a program."""
_SAFE: Final = frozenset("""+-/,.?!'"()=^>* """)

_BEFORE_STOP: Final = re.compile(rf"{TIE}(?=[.,;:)])")

Block: TypeAlias = tuple[str, ...]
"""Lines without an empty one; an empty line follows a block."""


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

    @property
    def text(self) -> str:
        """The letter as text."""
        first = sentences(*self.first, self.answer)
        blocks = [each for each in self.blocks if each]
        return "\n".join([*first, *([RULE] if blocks else []), *_parted(blocks)]) + "\n"


def _parted(blocks: Sequence[Block]) -> Iterable[str]:
    for number, block in enumerate(blocks):
        yield from [""] * bool(number)
        yield from block


def sentences(*texts: str) -> Block:
    """Texts of which each begins a line; empty ones are left out."""
    return tuple(line for text in texts if text for line in fold(text))


def paragraph(*texts: str) -> Block:
    """Texts that run on; empty ones are left out."""
    return tuple(fold(" ".join(filter(None, texts))))


def rows(texts: Iterable[str]) -> Block:
    """Rows of a table, indented; a row that is too long goes on under its beginning."""
    return tuple(line for text in texts for line in fold(text, _INDENT, _INDENT + "   "))


def items(texts: Iterable[str]) -> Block:
    """Items of a list."""
    return tuple(line for text in texts if text for line in fold(text, "- ", _INDENT))


def typed(line: str) -> Block:
    """A line that the reader can send as it stands: alone and indented."""
    return (f"{_INDENT}{line}",)


def words(*commands: str) -> str:
    """Commands side by side, in a line that is not broken within one."""
    return f"{TIE} ".join(each.replace(" ", TIE) for each in commands)


def command(line: str) -> str:
    """A command within a sentence: set off by spaces, and not broken."""
    return f"{TIE}{tied(line)}{TIE}"


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


def moment(time: str, now: str, say: Speaker, zone: str = "") -> str:
    """Returns a time of the log for people: `Wed 25 Nov 10:00 UTC`; with its year if that is not plain.

    Behind it stands the time in the reader's `zone`, if it is known: `(11:00 at UTC+1)`, with the day if that differs.
    Seconds are left out, so a deadline is said to be earlier than it is, unless it is less than an hour from now.
    """
    near = abs(parse_time(time) - parse_time(now)) < _HOUR and time[17:19] != "00"
    end = 19 if near else 16
    shown = tied(f"{_date(time, now, say)} {time[11:end]} UTC")
    if not zone or not zone_offset(zone):
        return shown
    there = add_seconds(time, zone_offset(zone))
    clock = there[11:end]
    if there[:10] != time[:10]:
        clock = f"{say(_WEEKDAYS[parse_time(there) // DAY % 7])} {clock}"
    return f"{shown} {tied(say(tell('({time} at {zone})', time=clock, zone=zone_name(zone))))}"


def hours_of_day(hours: str, say: Speaker, zone: str = "") -> str:
    """Returns hours of each day in UTC, `22-7`, for people: `22-7 UTC (23-8 at UTC+1)`."""
    shown = f"{hours} UTC"
    if not zone or not zone_offset(zone):
        return tied(shown)
    minutes = (int(each) * 60 + zone_offset(zone) // 60 for each in hours.split("-"))
    there = "-".join(f"{each // 60 % 24}" + (f":{each % 60}" if each % 60 else "") for each in minutes)
    return f"{tied(shown)} {tied(say(tell('({time} at {zone})', time=there, zone=zone_name(zone))))}"


def zone_name(zone: str) -> str:
    """Returns the name of a zone for people: `UTC+1`, `UTC-3:30`."""
    hours, minutes = int(zone[1:3]), zone[4:6]
    return f"UTC{zone[0]}{hours}" + (f":{minutes}" if minutes != "00" else "")


def day(time: str, now: str, say: Speaker) -> str:
    """Returns the day of a time of the log: `3 Dec`."""
    return tied(_day_and_month(time, now, say))


def _date(time: str, now: str, say: Speaker) -> str:
    weekday = say(_WEEKDAYS[parse_time(time) // DAY % 7])
    return f"{weekday} {_day_and_month(time, now, say)}"


def _day_and_month(time: str, now: str, say: Speaker) -> str:
    shown = f"{int(time[8:10])} {say(_MONTHS[int(time[5:7]) - 1])}"
    return f"{shown} {time[:4]}" if abs(parse_time(time) - parse_time(now)) > _FAR else shown


def length(seconds: int, say: Speaker) -> str:
    """Returns a length of time in at most two units: `3 days`, `1 day 6 hours`; rounded up to what people would say."""
    step = _HOUR if seconds >= DAY else 60 if seconds >= _HOUR // 2 else 1
    seconds = -(-seconds // step) * step
    days, rest = divmod(seconds, DAY)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, 60)
    parts = (
        say(plural("{n} day", "{n} days", days)) if days else "",
        say(plural("{n} hour", "{n} hours", hours)) if hours else "",
        say(plural("{n} minute", "{n} minutes", minutes)) if minutes else "",
        say(plural("{n} second", "{n} seconds", rest)) if rest else "",
    )
    found = [each for each in parts if each][:2]
    return tied(TIE.join(found) or say(plural("{n} second", "{n} seconds", 0)))
