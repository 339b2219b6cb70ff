"""Readers for the parts of an entry's body: objects with exactly the expected fields, hex digits, public keys.

docs/spec/log.md, "Kinds" and "Growing". Readers ignore only one object, `ext`.
"""

from __future__ import annotations

from typing import Final

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.log.canonical import JsonValue, is_hex
from hkoji.log.private_key import PublicKey, parse_public_key
from hkoji.messages.text import tell

_EXT: Final = "ext"


def read_fields(
    body: JsonValue, what: str, keys: tuple[str, ...], optional: tuple[str, ...] = ()
) -> dict[str, JsonValue]:
    """Reads a body that has exactly `keys`, perhaps some of `optional`, and perhaps `ext`, which is ignored.

    Raises `MalformedError` or `NotUnderstoodError`.
    """
    fields = exactly(body, what, keys, (*optional, _EXT))
    if not isinstance(fields.get(_EXT, {}), dict):
        raise MalformedError(what, tell("{ext} is not an object", ext=_EXT))
    return fields


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


def read_hex(value: JsonValue, what: str, digits: int = 64) -> str:
    """Reads a value of `digits` lower case hex digits. Raises `MalformedError`."""
    if not isinstance(value, str) or not is_hex(value, digits):
        raise MalformedError(what, tell("it is not {digits} lower case hex digits", digits=digits))
    return value


def read_key(value: JsonValue, what: str) -> PublicKey:
    """Reads a public key. Raises `MalformedError` or `WeakKeyError`."""
    if not isinstance(value, str):
        raise MalformedError(what, tell("it is not a key"))
    return parse_public_key(value)
