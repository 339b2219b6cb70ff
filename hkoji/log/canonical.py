"""Canonical text: the one way to write a value, so that signing and hashing text is signing and hashing the value.

docs/spec/log.md, "Canonical text". One line of JSON with sorted keys and no spaces; integers without sign, fraction
or exponent, below 2^53; strings of printable ASCII without `"` and `\\`. Reading decodes, checks what JSON would let
pass, encodes again and compares: that one comparison refuses duplicate keys, escapes, spaces and every other spelling.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode, b64encode
from typing import Final, NoReturn, TypeAlias

from hkoji.errors import MalformedError

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | bool | None"

MAX_INTEGER: Final = 2**53 - 1

_PLAIN = re.compile(r"[ !#-\[\]-~]*")
# A text of whole JSON: printable ASCII, and no backslash, since no string has anything to escape.
_LINE = re.compile(r"[ -\[\]-~]*")
_HEX = re.compile(r"[0-9a-f]*")
_DIGITS: Final = len(str(MAX_INTEGER))


class _RefusedError(ValueError):
    """What the decoder's hooks raise; never leaves this module."""


def _refuse(_: str) -> NoReturn:
    raise _RefusedError("numbers are integers without sign, fraction or exponent")


def _integer(text: str) -> int:
    if len(text) > _DIGITS or text[0] == "-" or int(text) > MAX_INTEGER:
        raise _RefusedError("numbers are integers from 0 to 2^53 - 1")
    return int(text)


_DECODER: Final = json.JSONDecoder(parse_float=_refuse, parse_int=_integer, parse_constant=_refuse)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, sort_keys=True, separators=(",", ":"))
encode_json: Final = _ENCODER.encode
"""Compact JSON with sorted keys, without the checks of `encode`."""


def encode(value: JsonValue) -> str:
    """Canonical text of `value`. Raises `MalformedError` if it has none (floats, negatives, other characters)."""
    _check(value, "value", 0)
    return encode_json(value)


def decode(text: str, what: str) -> JsonValue:
    """The value of a canonical text. Raises `MalformedError` for `what` if it is not exactly canonical."""
    if not _LINE.fullmatch(text):
        raise MalformedError(what, "it is not one line of printable ASCII without backslashes")
    value = decode_json(text, what)
    if encode_json(value) != text:
        raise MalformedError(what, "it is not canonical: keys sorted and each once, no spaces, no other spelling")
    return value


def decode_json(text: str, what: str) -> JsonValue:
    """Decodes JSON with the project's numbers, without comparing the spelling. Raises `MalformedError`."""
    try:
        value: JsonValue = _DECODER.decode(text)
    except _RefusedError as error:
        raise MalformedError(what, str(error)) from None
    except (ValueError, RecursionError):
        raise MalformedError(what, "it is not JSON") from None
    return value


def decode_object(text: str, what: str, keys: frozenset[str]) -> dict[str, JsonValue]:
    """`decode` for an object with exactly `keys`."""
    value = decode(text, what)
    if not isinstance(value, dict) or value.keys() != keys:
        raise MalformedError(what, f"it is not an object with exactly the keys {', '.join(sorted(keys))}")
    return value


def _check(value: JsonValue, what: str, depth: int) -> None:
    if depth > 16:
        raise MalformedError(what, "it is nested too deeply")
    if isinstance(value, str):
        if not _PLAIN.fullmatch(value):
            raise MalformedError(what, 'strings are printable ASCII without " and backslash')
    elif isinstance(value, dict):
        for key, item in value.items():
            _check(key, what, depth + 1)
            _check(item, what, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check(item, what, depth + 1)
    elif value is not None and not isinstance(value, bool) and not (type(value) is int and 0 <= value <= MAX_INTEGER):
        raise MalformedError(what, "numbers are integers from 0 to 2^53 - 1")


def is_hex(value: JsonValue, digits: int) -> bool:
    """Whether `value` is text of exactly `digits` lower case hex digits."""
    return isinstance(value, str) and len(value) == digits and _HEX.fullmatch(value) is not None


def encode_base64(data: bytes) -> str:
    """Padded base64 (RFC 4648, section 4)."""
    return b64encode(data).decode()


def decode_base64(text: str, what: str) -> bytes:
    """Bytes of padded base64 in its one spelling. Raises `MalformedError` for `what`."""
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(what, "it is not base64") from None
    if b64encode(data).decode() != text:
        raise MalformedError(what, "it is not the one base64 spelling of its bytes")
    return data
