"""What became of a mail, as the row of the mail keeps it, so that the letter that answers it can be rendered again.

A result has one part for each command of the mail, and nothing of the mail's own words but a line that was not
understood. Its text is a JSON object: one part, or `{"answer":"several","parts":[…]}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from hkoji.log.canonical import JsonValue
from hkoji.mail.letters.page import unlinked
from hkoji.messages.text import Text, assemble, dismantle, quoted

_SEVERAL: Final = "several"
_LAST: Final = "last"
_LONGEST_LINE: Final = 200


class AnswerKind(StrEnum):
    """What a letter answers. The values are stored, and are labels of metrics."""

    SILENT = "silent"
    """No letter."""
    ON_RECORD = "on record"
    WELCOME = "welcome"
    DECLINED = "declined"
    CALLED_OFF = "called off"
    GAVE = "gave"
    """The player has given the opponent time, `seconds`."""
    NOT_DONE = "not done"
    """A line was not understood, or cannot be done now."""
    ASKED_BACK = "asked back"
    TURN_OVER = "turn over"
    SHOW = "show"
    MOVES = "moves"
    LOG = "log"
    RULES = "rules"
    GAMES = "games"
    HELP = "help"
    EVIDENCE = "evidence"
    SETTING = "setting"
    STOPPED = "stopped"
    STARTED = "started"
    CONFIRMED = "confirmed"
    """What a letter has asked is confirmed; `what` says which kind."""
    LOCKED = "locked"
    UNREADABLE = "unreadable"
    CODE = "code"
    """A code for a key of the player's own, which no row has."""
    CURRENT = "current"
    """The current letter of a game, for a mail to the bare address."""
    OTHER_BYTES = "other bytes"
    """Another mail of the player has the same Message-ID: `mail_values.OTHER_BYTES`."""
    SET_ASIDE = "set aside"
    """The mail was tried in vain: `mail_values.SET_ASIDE`."""


ENTERED: Final = (AnswerKind.ON_RECORD, AnswerKind.WELCOME)
"""What is said of a mail that has led to an entry of a log."""


class AnswerPart(NamedTuple):
    """What one part of a letter says, and the values for it."""

    kind: AnswerKind
    values: Mapping[str, Any] = {}  # Any: JSON

    def text(self, name: str) -> str:
        """A value that is text, empty if there is none. A message keeps the parts by which it is translated."""
        value = self.values.get(name, "")
        if isinstance(value, dict):
            return assemble(str(value.get("english", "")), value)
        return str(value)


SILENT: Final = (AnswerPart(AnswerKind.SILENT),)


def part(kind: AnswerKind, **values: JsonValue | Text) -> AnswerPart:
    """Returns a part with those values; a message keeps its template."""
    return AnswerPart(kind, {name: _kept(value) for name, value in values.items()})


def mark_last(parts: Sequence[AnswerPart]) -> tuple[AnswerPart, ...]:
    """Returns the parts of the last answer of a day that is sent whether or not the mail has changed something."""
    *others, last = parts
    return (*others, last._replace(values={**last.values, _LAST: True}))


def is_last(parts: Sequence[AnswerPart]) -> bool:
    """Tells whether `mark_last` has marked the parts."""
    return bool(parts[-1].values.get(_LAST))


def write_result(parts: Sequence[AnswerPart]) -> str:
    """Returns the text of a result that the row of a mail keeps."""
    objects = [{"answer": each.kind.value, **each.values} for each in parts]
    value = objects[0] if len(objects) == 1 else {"answer": _SEVERAL, "parts": objects}
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def read_result(text: str) -> tuple[AnswerPart, ...]:
    """Reads what `write_result` has written. Raises `ValueError` for anything else."""
    value = json.loads(text)
    objects = value["parts"] if value["answer"] == _SEVERAL else [value]
    return tuple(
        AnswerPart(AnswerKind(each["answer"]), {name: what for name, what in each.items() if name != "answer"})
        for each in objects
    )


def shown_line(line: str) -> str:
    """Returns a line of a mail as a result keeps it."""
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "~"


def _kept(value: JsonValue | Text) -> Any:  # Any: JSON
    if not isinstance(value, Text):
        return value
    value = _unlinked(value)
    if value.values is None:
        return {"english": str(value), "text": str(value), "values": {}}
    return {"english": str(value), **(dismantle(value) or {})}


def _unlinked(message: Text) -> Text:
    """Returns a message whose values may be words of a mail, which anybody may have sent, without links in them."""
    if message.values is None:
        return quoted(unlinked(str(message)))
    values = {name: _unlinked_value(value) for name, value in message.values.items()}
    return Text(message.template, values, message.many, message.number)


def _unlinked_value(value: object) -> object:
    value = getattr(value, "message", value) if isinstance(value, Exception) else value
    if isinstance(value, Text):
        return _unlinked(value)
    return unlinked(value) if isinstance(value, str) else value
