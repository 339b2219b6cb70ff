"""The form of a signed text: its fixed keys, each with the form of its value.

docs/spec/log.md, "Canonical text", and the forms of entries, receipts and statements. Canonical text has one spelling,
so one regular expression matches a text with fixed keys, in a third of the time of decoding, encoding and comparing. A
text that does not match is decoded only to find what is wrong with it. A test checks that both ways agree.

This module does not know what the values mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hkoji.errors import InvalidError, MalformedError, NotUnderstoodError
from hkoji.log.canonical import MAX_INTEGER, VERSION, decode, encode
from hkoji.messages.text import shorten, tell

_MONTH_AND_DAY = (
    r"(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])"
)
_LEAP_YEAR = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_TIME = rf"(?!0000)(?:[0-9]{{4}}-(?:{_MONTH_AND_DAY})|{_LEAP_YEAR}-02-29)T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
_NAME = r"[a-z0-9][a-z0-9_-]{1,31}"
_ORIGIN = r"[!#-\[\]-~]{1,256}"


@dataclass(frozen=True, slots=True)
class FieldForm:
    """The form of one value. `pattern` matches its canonical text, with one group for the value; `wanted` describes it.

    At most one field of a text may match a comma outside a string: otherwise a text could be divided in two ways.
    """

    pattern: str
    wanted: str


TIME: Final = FieldForm(f'"({_TIME})"', "a time like 2026-11-20T12:00:00Z")
NAME: Final = FieldForm(f'"({_NAME})"', "a name: 2 to 32 of a-z, 0-9, _ and -, first a letter or digit")
KIND: Final = FieldForm(r'"([a-z][a-z0-9_-]{0,31})"', "a word: 1 to 32 of a-z, 0-9, _ and -, first a letter")
GAME: Final = FieldForm(r'"([0-9a-f]{32})"', "32 lower case hex digits")
HASH: Final = FieldForm(r'"([0-9a-f]{64})"', "64 lower case hex digits")
TEXT: Final = FieldForm(r'"([ !#-\[\]-~]*)"', "text")
ORIGIN: Final = FieldForm(rf'"({_ORIGIN})"', "1 to 256 characters without spaces")
SEAT: Final = FieldForm(r"([01])", "0 or 1")
NUMBER: Final = FieldForm(rf"(0|[1-9][0-9]{{0,{len(str(MAX_INTEGER)) - 1}}})", "a number")
# The content is checked when it is decoded. Here it only has to be found, and a dot is twice as fast as a set.
OBJECT: Final = FieldForm(r"(\{.*\})", "an object")
LIST: Final = FieldForm(r"(\[.*\])", "a list")

_is_name = re.compile(_NAME).fullmatch
_is_time = re.compile(_TIME).fullmatch
_is_origin = re.compile(_ORIGIN).fullmatch


def is_name(text: str) -> bool:
    """Whether `text` has the form of a player's name (`server`, which is reserved, has it too)."""
    return _is_name(text) is not None


def is_time(text: str) -> bool:
    """Whether `text` is a moment in UTC, `2026-11-20T12:00:00Z`, of a day that the calendar has (years 1 to 9999)."""
    return _is_time(text) is not None


def is_origin(text: str) -> bool:
    """Whether `text` has the form of a service's origin, the name that it gives itself."""
    return _is_origin(text) is not None


class TextForm:
    """The form of `what`: a text of at most `limit` bytes with the keys of `fields` and `v`, of this version."""

    __slots__ = ("_fields", "_limit", "_match", "_what")

    def __init__(self, what: str, limit: int, fields: Mapping[str, FieldForm]) -> None:
        self._what: Final = what
        self._limit: Final = limit
        self._fields: Final = {**fields, "v": FieldForm(str(VERSION), "a number")}
        pairs = (f'"{key}":{self._fields[key].pattern}' for key in sorted(self._fields))
        self._match: Final = re.compile(rf"\{{{','.join(pairs)}\}}").fullmatch

    def read(self, text: str) -> tuple[str, ...]:
        """The values in `text`, in the order of the keys.

        The caller decodes objects and lists, and reads numbers with `number`. Raises `MalformedError`, or
        `NotUnderstoodError` for a text of another version with any keys.
        """
        match = self._match(text) if len(text) <= self._limit else None
        if match is None:
            raise self._explain(text)
        return match.groups()

    def number(self, digits: str) -> int:
        """The integer of a `NUMBER`."""
        number = int(digits)
        if number > MAX_INTEGER:
            raise MalformedError(self._what, tell("a number is not below 2^53"))
        return number

    def _explain(self, text: str) -> InvalidError:
        what = self._what
        if len(text) > self._limit:
            return MalformedError(what, tell("it is longer than {limit} bytes", limit=self._limit))
        value = decode(text, what)
        if not isinstance(value, dict):
            return MalformedError(what, tell("it is not an object"))
        version = value.get("v")
        if type(version) is int and version != VERSION:  # isinstance would take true, which equals 1
            return NotUnderstoodError(tell("{what} version", what=what), str(version))
        for key in sorted(self._fields.keys() | value.keys()):
            if key not in value:
                return MalformedError(what, tell("{key} is missing", key=key))
            if key not in self._fields:
                return MalformedError(what, tell("{key} does not belong in it", key=shorten(key, 24)))
            if not re.fullmatch(self._fields[key].pattern, encode(value[key])):
                return MalformedError(what, tell("{key} is not {wanted}", key=key, wanted=self._fields[key].wanted))
        raise AssertionError("a text whose every value has its form has the form")
