"""What the service has signed for the players of a log, with keys that it holds: how much, and for which mails.

docs/spec/log.md, "Held keys". The mails themselves are not in a log. So all this is what the service says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hkoji.game import entry_kinds
from hkoji.game.course import Course
from hkoji.game.entry_kinds import EntryBody
from hkoji.game.held_keys import MailClaim, MailGrade, SeatGrade
from hkoji.log.line import Line


class SignedFor(NamedTuple):
    """What the service has signed for player `name`, as far as the log holds.

    `entries` and `statements` are their numbers, and `claims` has for each grade the number of those that name such a
    mail. `drawn` says that the service has drawn the player's part in the shuffle too.
    """

    name: str
    entries: int
    statements: int
    claims: dict[MailGrade, int]
    drawn: bool


def signed_for(lines: Sequence[Line], bodies: Sequence[EntryBody]) -> tuple[SignedFor, ...]:
    """What the service has signed for each player for whom it holds a key, in the order in which the log names them."""
    names: list[str] = []  # host and guest
    certified: dict[str, bool] = {}  # whether the key was the one by which the player has come
    entries: dict[str, list[MailClaim]] = {}
    statements: dict[str, list[MailClaim]] = {}
    for number, (line, body) in enumerate(zip(lines, bodies, strict=True)):
        by = line.entry.by
        newcomer = isinstance(body, entry_kinds.Open | entry_kinds.Join)
        if newcomer:
            names.append(by)
        if body.certificate is not None:
            certified.setdefault(by, newcomer)
        if body.mail is not None:
            entries.setdefault(by, []).append(body.mail)
        for name, mail in _statements(names, lines[number - 1] if number else line, body):
            statements.setdefault(name, []).append(mail)
    return tuple(
        SignedFor(
            name,
            len(entries.get(name, ())),
            len(statements.get(name, ())),
            _count((*entries.get(name, ()), *statements.get(name, ()))),
            drawn,
        )
        for name, drawn in certified.items()
    )


def seat_grades(course: Course | None) -> dict[str, SeatGrade]:
    """For each player who has come, how it is known who has made the decisions."""
    if course is None:
        return {}
    setup = course.setup
    return {name: setup.seat_grade(seat) for seat, name in enumerate(setup.names) if name is not None}


def _statements(names: Sequence[str], before: Line, body: EntryBody) -> Iterable[tuple[str, MailClaim]]:
    """The mails of the statements that an entry of the service carries, with the players for whom they were signed."""
    if not isinstance(body, entry_kinds.Credit | entry_kinds.Annul) or len(names) != len((0, 1)):
        return
    helped = names[body.seat] if isinstance(body, entry_kinds.Annul) else before.entry.by
    if body.gift is not None and body.gift.mail is not None:
        yield next(name for name in names if name != helped), body.gift.mail
    if isinstance(body, entry_kinds.Annul):
        yield from ((name, mail) for name, mail in zip(names, body.mails, strict=True) if mail is not None)


def _count(mails: Iterable[MailClaim]) -> dict[MailGrade, int]:
    claims = dict.fromkeys(MailGrade, 0)
    for mail in mails:
        claims[mail.grade] += 1
    return claims
