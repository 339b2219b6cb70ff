"""A player's next entry before it is signed: a decision or another statement, with its place in the log.

docs/spec/log.md, "Commitments" and "Submissions". This module knows no client and no clock: callers pass the time and
a source of random bytes for the salts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from hkoji.game.course import Course, EntryBody
from hkoji.game.entry_kinds.play import Move
from hkoji.game.openings import SALT_BYTES, Opening
from hkoji.game.submission import Submission
from hkoji.log.entry import Entry, make_entry
from hkoji.rules.protocol import Due

if TYPE_CHECKING:
    from hkoji.log.private_key import Signer


class EntryDraft(NamedTuple):
    """An entry without a signature; `opening` opens the commitments in it and must reach the disk before it is sent."""

    entry: Entry
    opening: tuple[Opening, ...] = ()

    def sign(self, signer: Signer) -> Submission:
        """Signs the entry and returns the submission. Raises what `signer` raises."""
        from hkoji.log.line import sign_entry

        return Submission(self.entry, sign_entry(self.entry, signer), self.opening)


def draft_entry(course: Course, body: EntryBody, *, by: str, at: str) -> EntryDraft:
    """Returns the entry with `body` that follows `course`, by the player `by` at the time `at`."""
    entry = make_entry(
        at=at,
        body=body.to_json(),
        by=by,
        game=course.setup.game,
        kind=body.KIND,
        prev=course.head,
        seq=course.seq + 1,
    )
    return EntryDraft(entry)


def draft_move(course: Course, action: str, entropy: Callable[[int], bytes], *, by: str, at: str) -> EntryDraft:
    """Returns the move `action` with a commitment, and its opening, for each group of cards that it hides.

    `action` is canonical and names all cards; `entropy` takes a number and returns that many fresh random bytes.
    """
    ruleset, game, seq = course.setup.ruleset, course.setup.game, course.seq + 1
    hidden = ruleset.hidden(action) if course.state.due is Due.ACT else ()
    opening = tuple(Opening(seq, part, group.cards, entropy(SALT_BYTES).hex()) for part, group in enumerate(hidden))
    body = Move(ruleset.public(action) if hidden else action, tuple(each.commitment(game) for each in opening))
    return draft_entry(course, body, by=by, at=at)._replace(opening=opening)
