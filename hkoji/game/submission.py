"""Submissions (an entry, its signature, and the openings of the cards that it hides), and drafts, not signed yet.

docs/spec/log.md, "Commitments" and "Submissions". The service keeps the openings; the log publishes them when they are
due. This module knows no client and no clock: callers pass the time and a source of random bytes for the salts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from hkoji.errors import MalformedError, NotUnderstoodError, TooLargeError
from hkoji.game.commitments import SALT_BYTES, Opening, parse_openings
from hkoji.game.course import Course, EntryBody
from hkoji.game.entry_kinds.play import Move
from hkoji.log.canonical import JsonValue, decode_base64, encode_base64
from hkoji.log.line import Entry, make_entry, parse_entry
from hkoji.log.mail_claim import MailClaim
from hkoji.messages.text import tell
from hkoji.rules.protocol import Due

if TYPE_CHECKING:
    from hkoji.game.sealed_parts import GivePart
    from hkoji.log.private_key import Signer

MAX_SUBMISSION_BYTES: Final = 16384


class Submission(NamedTuple):
    """An entry on its way to the service. `sig` is the SSHSIG blob; `opening` is empty unless the move hides cards.

    `deposit` is a draw in a sealed game that the service is to keep, and to release when it is due.
    """

    entry: Entry
    sig: bytes
    opening: tuple[Opening, ...] = ()
    deposit: GivePart | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the object that is sent."""
        value: dict[str, JsonValue] = {"entry": self.entry.text, "sig": encode_base64(self.sig)}
        if self.opening:
            value["opening"] = [opening.to_json() for opening in self.opening]
        if self.deposit is not None:
            value["deposit"] = self.deposit.to_json()
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
        if key not in ("deposit", "entry", "sig", "opening"):
            raise NotUnderstoodError(tell("submission key"), key)
    entry, sig = value.get("entry"), value.get("sig")
    if not isinstance(entry, str) or not isinstance(sig, str):
        raise MalformedError(tell("submission"), tell("entry and sig are not both text"))
    opening = parse_openings(value.get("opening", []))
    deposit = None
    if "deposit" in value:
        from hkoji.game.sealed_parts import read_give

        deposit = read_give(value["deposit"])
    return Submission(parse_entry(entry), decode_base64(sig, "signature"), opening, deposit)


# --- drafts -----------------------------------------------------------------------------------------------------------


class EntryDraft(NamedTuple):
    """An entry without a signature; `opening` opens the commitments in it and must reach the disk before it is sent."""

    entry: Entry
    opening: tuple[Opening, ...] = ()

    def sign(self, signer: Signer) -> Submission:
        """Signs the entry and returns the submission. Raises what `signer` raises."""
        from hkoji.log.line import sign_entry

        return Submission(self.entry, sign_entry(self.entry, signer), self.opening)


def draft_entry(course: Course, body: EntryBody, *, by: str, at: str, seen: str) -> EntryDraft:
    """Returns the entry with `body` that follows `course`, written by `by` at the time `at`.

    `seen` is the time of record of the last entry.
    """
    entry = make_entry(
        at=at,
        body=body.to_json(),
        by=by,
        game=course.setup.game,
        kind=body.KIND,
        prev=course.head,
        seen=seen,
        seq=course.seq + 1,
    )
    return EntryDraft(entry)


def draft_move(
    course: Course,
    action: str,
    entropy: Callable[[int], bytes],
    *,
    by: str,
    at: str,
    seen: str,
    mail: MailClaim | None = None,
) -> EntryDraft:
    """Returns the move `action` with a commitment, and its opening, for each group of cards that it hides.

    `action` is canonical and names all cards; `entropy` takes a number and returns that many fresh random bytes.
    `mail` is for a move that the service signs for its player.
    """
    ruleset, game, seq = course.setup.ruleset, course.setup.game, course.seq + 1
    hidden = ruleset.hidden(action) if course.state.due is Due.ACT else ()
    opening = tuple(Opening(seq, part, group.cards, entropy(SALT_BYTES).hex()) for part, group in enumerate(hidden))
    body = Move(ruleset.public(action) if hidden else action, tuple(each.commitment(game) for each in opening), mail)
    return draft_entry(course, body, by=by, at=at, seen=seen)._replace(opening=opening)
