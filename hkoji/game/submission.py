"""A player's submission: an entry, its signature, and the openings of the cards that it hides.

docs/spec/log.md, "Submissions". The service keeps the openings; the log publishes them when they are due.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from hkoji.errors import MalformedError, NotUnderstoodError, TooLargeError
from hkoji.game.openings import Opening, parse_openings
from hkoji.log.canonical import JsonValue, decode_base64, encode_base64
from hkoji.log.entry import Entry, parse_entry
from hkoji.messages.text import tell

MAX_SUBMISSION_BYTES: Final = 16384


class Submission(NamedTuple):
    """An entry on its way to the service. `sig` is the SSHSIG blob; `opening` is empty unless the move hides cards."""

    entry: Entry
    sig: bytes
    opening: tuple[Opening, ...] = ()

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the object that is sent."""
        value: dict[str, JsonValue] = {"entry": self.entry.text, "sig": encode_base64(self.sig)}
        if self.opening:
            value["opening"] = [opening.to_json() for opening in self.opening]
        return value


def format_submission(submission: Submission) -> str:
    """Formats a submission as one line of JSON, without the newline."""
    return json.dumps(submission.to_json(), sort_keys=True, separators=(",", ":"))


def parse_submission(text: str | bytes) -> Submission:
    """Reads JSON text. Raises `TooLargeError`, `MalformedError` or `NotUnderstoodError`."""
    if len(text) > MAX_SUBMISSION_BYTES:
        raise TooLargeError(tell("the submission"), MAX_SUBMISSION_BYTES)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedError(tell("submission"), tell("it is not JSON")) from error
    return read_submission(value)


def read_submission(value: JsonValue) -> Submission:
    """Reads a submission from decoded JSON. Raises `MalformedError` or `NotUnderstoodError`."""
    if not isinstance(value, dict):
        raise MalformedError(tell("submission"), tell("it is not an object"))
    for key in value:
        if key not in ("entry", "sig", "opening"):
            raise NotUnderstoodError(tell("submission key"), key)
    entry, sig = value.get("entry"), value.get("sig")
    if not isinstance(entry, str) or not isinstance(sig, str):
        raise MalformedError(tell("submission"), tell("entry and sig are text, and both are needed"))
    opening = parse_openings(value.get("opening", []))
    return Submission(parse_entry(entry), decode_base64(sig, "signature"), opening)
