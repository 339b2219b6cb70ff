"""Canonical text: the one way to write a value, so that signing and hashing text is signing and hashing the value.

docs/spec/log.md, "Canonical text", and the forms of entries, receipts and statements. One line of JSON with sorted keys
and no spaces; integers without sign, fraction or exponent, below 2^53; strings of printable ASCII without `"` and `\\`.
Reading decodes, encodes again and compares: that one comparison refuses duplicate keys, escapes, spaces, leading zeros
and every other second spelling. Python writes floats, negative numbers and large numbers back as they were, so these
are refused before.

The body of most entries is an object with a text, and perhaps a list of one text. For these one regular expression
answers in half the time, so that an entry is read a fifth faster.

A `TextForm` is the form of a signed text with fixed keys. Since canonical text has one spelling, one regular expression
matches it in a third of the time of decoding, encoding and comparing. A text that does not match is decoded only to
find what is wrong with it. A test checks that both ways agree.

This module does not know what the values mean.
"""

from __future__ import annotations

import json
import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias
from unicodedata import normalize

from hkoji.errors import InvalidError, MalformedError, NotUnderstoodError
from hkoji.messages.text import Text, shorten, tell

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | bool | None"

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exact (RFC 8259, section 6)."""

MAX_DEPTH: Final = 16
"""How deep arrays and objects may nest. Without a fixed limit, what is malformed would depend on the reader's stack."""

VERSION: Final = 1
"""The `v` of every signed text."""

_TEXT = re.compile(r"[ -\[\]-~]*")  # no string has anything to escape, so no canonical text has a backslash
_STRANGE = re.compile(r"[^ -\[\]-~]")
_CHARACTERS: Final = r"[ !#-\[\]-~]*+"
_STRING = re.compile(_CHARACTERS)
_PAIRS = re.compile(rf'\{{"({_CHARACTERS})":"({_CHARACTERS})"(?:,"({_CHARACTERS})":\["({_CHARACTERS})"\])?\}}')
_NESTING = re.compile(r'"[^"]*"?|[\[{]|[\]}]')
_HEX = re.compile(r"[0-9a-f]*")
_DIGITS: Final = len(str(MAX_INTEGER))


def _no_fraction(text: str) -> NoReturn:
    raise ValueError(f"{shorten(text, 24)} is not an integer written without fraction and exponent")


def _integer(text: str) -> int:
    # The length is checked first: int() of a very long text is slow, and raises an error of its own.
    if text[0] == "-":
        raise ValueError("a number is negative")
    if len(text) > _DIGITS or int(text) > MAX_INTEGER:
        raise ValueError("a number is not below 2^53")
    return int(text)


_decode = json.JSONDecoder(parse_float=_no_fraction, parse_int=_integer, parse_constant=_no_fraction).raw_decode
# The depth is checked before anything is written, so there can be no cycle.
_encode = json.JSONEncoder(check_circular=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def encode(value: JsonValue) -> str:
    """The canonical text of `value`. Raises `MalformedError` if it has none (floats, negatives, other characters)."""
    _check(value, MAX_DEPTH)
    return _encode(value)


def decode(text: str, what: str, depth: int = MAX_DEPTH) -> JsonValue:
    """The value of a canonical text. Raises `MalformedError` for `what` if it is not canonical.

    `depth` is how deep it may nest; less than `MAX_DEPTH` if it is a part of a text.
    """
    pairs = _PAIRS.fullmatch(text)
    if pairs and depth > 1:  # the body of most entries: a text, and perhaps a list of one text
        key, value, second, item = pairs.groups()
        if second is None:
            return {key: value}
        if key < second:
            return {key: value, second: [item]}
    return _decode_any(text, what, depth)


def _decode_any(text: str, what: str, depth: int) -> JsonValue:
    if not _TEXT.fullmatch(text):
        raise MalformedError(what, _describe_strange(text))
    if text.count("[") + text.count("{") > depth and _depth(text) > depth:
        raise MalformedError(what, tell("it is nested more than {depth} deep", depth=depth))
    try:
        value: JsonValue = _decode(text)[0]
    except json.JSONDecodeError as error:
        raise MalformedError(what, tell("it is not JSON at column {column}", column=error.pos + 1)) from None
    except ValueError as error:
        raise MalformedError(what, str(error)) from None
    if _encode(value) != text:
        raise MalformedError(
            what, tell("it is not written canonically: one value, keys sorted and each once, no spaces")
        )
    return value


def fields(value: object, what: str, *names: str, optional: Iterable[str] = ()) -> dict[str, JsonValue]:
    """`value` if it is an object with exactly the keys `names`, and perhaps some `optional`; else `MalformedError`."""
    if not isinstance(value, dict):
        raise MalformedError(what, tell("it is not an object"))
    for name in sorted(names):
        if name not in value:
            raise MalformedError(what, tell("{name} is missing", name=name))
    for name in value:
        if name not in names and name not in optional:
            raise MalformedError(what, tell("{name} does not belong in it", name=shorten(str(name), 24)))
    return value


def exactly(value: JsonValue, what: str, keys: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, JsonValue]:
    """Reads an object that has exactly `keys` and perhaps some of `optional`.

    Raises `MalformedError` or `NotUnderstoodError`.
    """
    if not isinstance(value, dict):
        raise MalformedError(what, tell("it is not an object"))
    for key in value:
        if key not in keys and key not in optional:
            raise NotUnderstoodError(tell("{what} key", what=what), key)
    for key in keys:
        if key not in value:
            raise MalformedError(what, tell("{key} is missing", key=key))
    return value


def message(text: str) -> bytes:
    """The bytes that are signed and hashed for a canonical text: the text and one LF."""
    return text.encode("ascii") + b"\n"


def is_hex(value: JsonValue, digits: int) -> bool:
    """Whether `value` is text of exactly `digits` lower case hex digits."""
    return isinstance(value, str) and len(value) == digits and _HEX.fullmatch(value) is not None


def read_hex(value: JsonValue, what: str, digits: int = 64) -> str:
    """Reads a value of `digits` lower case hex digits. Raises `MalformedError`."""
    if not isinstance(value, str) or not is_hex(value, digits):
        raise MalformedError(what, tell("it is not {digits} lower case hex digits", digits=digits))
    return value


def begins_hex(text: str, digits: int) -> bool:
    """Whether a text is at least one and at most `digits` lower case hex digits: the first ones of an id."""
    return 0 < len(text) <= digits and _HEX.fullmatch(text) is not None


def encode_base64(data: bytes) -> str:
    """Padded base64 (RFC 4648, section 4)."""
    return b2a_base64(data, newline=False).decode("ascii")


def decode_base64(text: str, what: str) -> bytes:
    """Bytes of padded base64 in its one spelling. Raises `MalformedError` for `what`."""
    try:
        data = a2b_base64(text, strict_mode=True)
    except ValueError:
        raise MalformedError(what, tell("it is not base64")) from None
    # In strict mode only the unused bits of the last character can differ, and only before padding there are any.
    if text.endswith("=") and encode_base64(data) != text:
        raise MalformedError(what, tell("it is not the one base64 spelling of its bytes"))
    return data


def read_signature(value: JsonValue, what: str) -> bytes:
    """Reads an SSHSIG blob inside a body. Raises `MalformedError`."""
    if not isinstance(value, str) or not value:
        raise MalformedError(what, tell("a signature in it is not base64 text"))
    return decode_base64(value, "signature")


def _describe_strange(text: str) -> str:
    found = _STRANGE.search(text)
    assert found
    return tell(
        "column {column} is U+{found:04X}; only printable ASCII without backslash is allowed",
        column=found.start() + 1,
        found=ord(found[0]),
    )


def _depth(text: str) -> int:
    """How deep brackets nest outside strings, matched or not."""
    level = deepest = 0
    for token in _NESTING.finditer(text):
        if token[0] in "[{":
            level += 1
            deepest = max(deepest, level)
        elif token[0] in "]}":
            level -= 1
    return deepest


def _check(value: JsonValue, depth: int) -> None:
    # Exact types: a subclass of str or int may be written as something else.
    kind = type(value)
    if isinstance(value, str) and kind is str:
        if not _STRING.fullmatch(value):
            raise MalformedError(
                tell("value"),
                tell('the text {value!r} is not printable ASCII without " and backslash', value=shorten(value)),
            )
    elif isinstance(value, int) and kind is int:
        if not 0 <= value <= MAX_INTEGER:
            raise MalformedError(tell("value"), tell("a number is negative or not below 2^53"))
    elif isinstance(value, dict | list) and kind in (dict, list):
        if not depth:
            raise MalformedError(tell("value"), tell("it is nested more than {max_depth} deep", max_depth=MAX_DEPTH))
        for key in value if isinstance(value, dict) else ():
            if type(key) is not str:
                raise MalformedError(tell("value"), tell("a key is not text"))
            _check(key, depth)
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, depth - 1)
    elif value is not None and kind is not bool:
        raise MalformedError(tell("value"), tell("a {name} cannot be written", name=kind.__name__))


# --- forms of signed texts ----------------------------------------------------------------------------------------

_MONTH_AND_DAY = (
    r"(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8])"
)
_LEAP_YEAR = r"(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
# Years 2000 to 8999: jq and Python compute wrongly with some of the others.
_TIME = rf"(?![01]|9)(?:[0-9]{{4}}-(?:{_MONTH_AND_DAY})|{_LEAP_YEAR}-02-29)T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
_NAME = r"[a-z0-9][a-z0-9_-]{1,31}"
_ORIGIN = r"[!#-\[\]-~]{1,256}"


@dataclass(frozen=True, slots=True)
class FieldForm:
    """The form of one value. `pattern` matches its canonical text, with one group for the value; `wanted` describes it.

    At most one field of a text may match a comma outside a string: otherwise a text could be divided in two ways.
    """

    pattern: str
    wanted: str


TIME: Final = FieldForm(f'"({_TIME})"', "a time like 2026-11-20T12:00:00Z, of the years 2000 to 8999")
TIME_OR_NULL: Final = FieldForm(f'(null|"{_TIME}")', "null, or a time like 2026-11-20T12:00:00Z")
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


def near_name(text: str) -> str:
    """Returns a name that is near to a text; empty if there is none."""
    plain = normalize("NFKD", text.lower()).encode("ascii", "ignore").decode("ascii")
    near = re.sub(r"[^a-z0-9_-]+", "-", plain.strip()).strip("-_")[:32]
    return near if is_name(near) else ""


def name_fault(text: str) -> Text:
    """Returns why a text cannot be a player's name, with a name that is near to it."""
    near = near_name(text)
    if near not in ("", text):
        return tell(
            "{name!r} cannot be a name: use 2 to 32 of a-z, 0-9, _ and - (try: {near})", name=shorten(text), near=near
        )
    if is_name(text):
        return tell("{name!r} cannot be a name: it is that of the service itself", name=text)
    return tell("{name!r} cannot be a name: use 2 to 32 of a-z, 0-9, _ and -", name=shorten(text))


def is_time(text: str) -> bool:
    """Whether `text` is a moment in UTC, `2026-11-20T12:00:00Z`, of a day of the years 2000 to 8999."""
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
