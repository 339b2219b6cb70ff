"""What commands say of players for whom the service signs, because they answer by mail."""

from __future__ import annotations

from hkoji.cli.language import _, translate
from hkoji.game.held_keys import SEAT_GRADES, SeatGrade
from hkoji.game.setup import Setup
from hkoji.messages.text import tell


def held_line(name: str) -> str:
    """Returns what a player has to know before a game with a player for whom the service signs."""
    return tell(
        "{name} plays by mail: the service signs for {name}. It can sign what {name} has not written, and nobody can "
        "prove that. It draws {name}'s part in the shuffle too; yours still binds it.",
        name=name,
    )


def grades_by_mail(setup: Setup) -> dict[str, SeatGrade]:
    """Returns the players for whom the service has signed, by name, each with the grade of the seat."""
    grades = {name: setup.seat_grade(seat) for seat, name in enumerate(setup.names) if name is not None}
    return {name: grade for name, grade in grades.items() if grade is not SeatGrade.OWN}


def grade_lines(setup: Setup) -> list[str]:
    """Returns a line for each player for whom the service has signed."""
    return [
        _("{name} plays {how}.", name=name, how=translate(SEAT_GRADES[grade]))
        for name, grade in grades_by_mail(setup).items()
    ]
