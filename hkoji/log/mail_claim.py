"""The claim of the service about the mail behind an entry or statement that it has signed for a player.

docs/spec/log.md, "Held keys". The log has only a commitment to the mail. Whether a mail opens it, and what follows from
that, is not for this module, which knows only the form.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from hkoji.errors import MalformedError, NotUnderstoodError
from hkoji.log.canonical import JsonValue, is_hex
from hkoji.messages.text import tell

MAIL: Final = "mail"
"""The key of the object in bodies and statements."""
_HASH_DIGITS: Final = 64


class MailGrade(StrEnum):
    """How well a mail is known to be the player's, by the word of the service. The strongest comes first."""

    DKIM = "dkim"
    """A DKIM signature of the player's domain held, and was bound to the token of this turn."""
    TOKEN = "token"  # noqa: S105 # no password
    """The mail came to the secret address of this turn, from the player's address."""
    NONE = "none"
    """Nobody has written: the service has sent a `seed` by itself."""

    def at_least(self, least: MailGrade) -> bool:
        """Whether this grade is as strong as `least`, or stronger."""
        order = tuple(MailGrade)
        return order.index(self) <= order.index(least)


class MailClaim(NamedTuple):
    """The commitment to the one mail behind an entry or statement (64 hex digits), and the grade that is claimed.

    `commit` is None exactly if the grade is `MailGrade.NONE`.
    """

    commit: str | None
    grade: MailGrade

    def to_json(self) -> dict[str, JsonValue]:
        """Returns the object in a body or statement."""
        return {"commit": self.commit, "grade": self.grade.value}


_GRADES: Final = [each.value for each in MailGrade]
NO_MAIL: Final = MailClaim(None, MailGrade.NONE)
"""The claim of a `seed` that the service sends by itself."""


def read_mail(value: JsonValue, *, none: bool = False) -> MailClaim:
    """Reads the object `mail`; the grade `none` passes only if `none` allows it.

    Raises `MalformedError`, or `NotUnderstoodError` for another key or grade.
    """
    if not isinstance(value, dict):
        raise MalformedError(MAIL, tell("it is not an object"))
    for key in value:
        if key not in ("commit", "grade"):
            raise NotUnderstoodError(tell("{what} key", what=MAIL), key)
    if len(value) < len(("commit", "grade")):
        raise MalformedError(MAIL, tell("it needs a commit and a grade"))
    commit, grade = value["commit"], value["grade"]
    if not isinstance(grade, str):
        raise MalformedError(MAIL, tell("grade is not a word"))
    if grade == MailGrade.NONE:
        if commit is not None:
            raise MalformedError(MAIL, tell("commit is null if and only if the grade is none"))
    elif not is_hex(commit, _HASH_DIGITS):
        raise MalformedError(MAIL, tell("commit is not {digits} lower case hex digits", digits=_HASH_DIGITS))
    if grade not in _GRADES:
        raise NotUnderstoodError(tell("grade of a mail"), grade)
    if grade == MailGrade.NONE and not none:
        raise MalformedError(MAIL, tell("the grade none is only for a seed"))
    return MailClaim(commit if isinstance(commit, str) else None, MailGrade(grade))
