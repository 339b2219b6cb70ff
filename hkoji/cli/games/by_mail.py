"""What commands say of players for whom the service signs, because they answer by mail."""

from __future__ import annotations

from collections.abc import Mapping

from hkoji.cli.language import _, translate
from hkoji.game.held_keys import BRIEF_GRADES, grade_sentence
from hkoji.game.setup import Setup
from hkoji.messages.text import tell


def held_line(name: str) -> str:
    """Returns what a player has to know before a game with a player for whom the service signs."""
    return tell(
        "{name} plays by mail: the service signs for {name}. It can sign what {name} has not written, and nobody can "
        "prove that. It draws {name}'s part in the shuffle too; with yours, the deal is random all the same.",
        name=name,
    )


def grade_lines(setup: Setup) -> list[str]:
    """Returns a line for each player for whom the service has signed."""
    return [translate(grade_sentence(name, grade)) for name, grade in setup.by_mail.items()]


def grades_cell(by_mail: Mapping[str, str], me: str) -> str:
    """Returns for whom the service has signed in a game, and with what grades, in a few words; empty for nobody.

    `by_mail` is as in the summary of a game. A grade that this version does not know is shown as it is.
    """
    words: Mapping[str, str] = {grade.value: text for grade, text in BRIEF_GRADES.items()}
    return ", ".join(
        f"{_('you') if name == me else name} ({translate(words.get(grade, grade))})" for name, grade in by_mail.items()
    )
