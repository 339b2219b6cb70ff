"""Messages as JSON, so that the receiver can show them in its own language: template and values, there and back.

The sender is not trusted: a template is used only if the receiver's own catalogue has it.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from hkoji.messages.text import Dictated, Text, shorten

_DEEPEST: Final = 3
_MOST: Final = 12
_LONGEST: Final = 300


class Explained(Protocol):
    """An error that says what failed and what to do next, as every `HkojiError` does."""

    message: str
    hint: str


def dismantle(message: str) -> dict[str, Any] | None:  # Any: JSON
    """Returns a message's `text` and `values`, for a plural also `many` and `number`; None if they are not known."""
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
    """Makes a message that reads `english`; it can be translated if `parts` (see `dismantle`) are well formed."""
    match parts:
        case {"text": str(template), "values": dict(values), **rest} if len(values) <= _MOST and depth < _DEEPEST:
            many, number = rest.get("many", ""), rest.get("number", 1)
            if not isinstance(many, str) or type(number) is not int:
                return english
            read = {str(name): _read(value, depth) for name, value in values.items()}
            return Dictated(english, template, read, many, number)
    return english


def parts_of(error: Explained) -> dict[str, Any]:  # Any: JSON
    """Returns the known parts of an error's message and hint, as `detail` and `hint` of a problem document."""
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
