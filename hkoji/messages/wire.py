"""Messages as JSON, for a reader in another language: their templates and values, and back.

A received template is not trusted: it is looked up in the reader's own catalogues, or not used.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from hkoji.messages.text import Dictated, Text, shorten

_DEEPEST: Final = 3
_MOST: Final = 12
_LONGEST: Final = 300


class Explained(Protocol):
    """An error with a message and a hint, such as every `HkojiError`."""

    message: str
    hint: str


def dismantle(message: str) -> dict[str, Any] | None:  # Any: JSON
    """Returns the parts of a message: `text`, `values`, and for a plural `many` and `number`; None if not known."""
    if not isinstance(message, Text) or message.values is None:
        return None
    parts: dict[str, Any] = {
        "text": message.template,
        "values": {name: _value(value) for name, value in message.values.items()},
    }
    if message.many:
        parts |= {"many": message.many, "number": message.number}
    return parts


def assemble(english: str, parts: object, depth: int = 0) -> str:
    """Returns `english` as a message with `parts`, which come from `dismantle`; unchanged if they are malformed."""
    match parts:
        case {"text": str(template), "values": dict(values), **rest} if len(values) <= _MOST and depth < _DEEPEST:
            many, number = rest.get("many", ""), rest.get("number", 1)
            if not isinstance(many, str) or type(number) is not int:
                return english
            read = {str(name): _read(value, depth) for name, value in values.items()}
            return Dictated(english, template, read, many, number)
    return english


def parts_of(error: Explained) -> dict[str, Any]:  # Any: JSON
    """Returns the known parts of an error's `detail` and `hint`, as a problem document contains them."""
    parts = {"detail": dismantle(error.message), "hint": dismantle(error.hint)}
    return {name: made for name, made in parts.items() if made is not None}


def _value(value: object) -> Any:  # Any: JSON
    value = getattr(value, "message", value) if isinstance(value, Exception) else value
    if isinstance(value, Text) and (parts := dismantle(value)) is not None:
        return {"english": str(value), **parts}
    return value if isinstance(value, bool | int | None) else str(value)


def _read(value: object, depth: int) -> object:
    if isinstance(value, dict):
        return assemble(shorten(str(value.get("english", "")), _LONGEST), value, depth + 1)
    return shorten(value, _LONGEST) if isinstance(value, str) else value if isinstance(value, bool | int) else None
