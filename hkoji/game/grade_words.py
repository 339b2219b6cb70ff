"""The grades of seats in words: how it is known who has made a seat's decisions. Boards, lists and letters use them."""

from __future__ import annotations

from typing import Final

from hkoji.game.held_keys import SeatGrade
from hkoji.messages.text import Text, tell

BRIEF_GRADES: Final = {
    SeatGrade.OWN: tell("own key"),
    SeatGrade.CHECKED: tell("checked"),
    SeatGrade.CLAIMED: tell("claimed"),
    SeatGrade.WORD: tell("service's word"),
}
"""The grades in a word or two, where it is said already that somebody plays by mail."""


def grade_sentence(name: str, grade: SeatGrade, *, you: bool = False) -> Text:
    """Returns a sentence on what the log proves about the seat of `name`; `you` says that this is the reader."""
    return _OF_YOU[grade] if you else _of(name)[grade]


_OF_YOU: Final = {
    SeatGrade.OWN: tell("You play with your own key: the log proves that it has signed all that you have decided."),
    SeatGrade.CHECKED: tell(
        "You play by mail, checked: your mails, signed by your mail provider, have been looked at."
    ),
    SeatGrade.CLAIMED: tell(
        "You play by mail, as the service claims: only the service says that it has mails of yours, signed by your "
        "mail provider."
    ),
    SeatGrade.WORD: tell("You play by mail, on the service's word: only the service says that the moves are yours."),
}


def _of(name: str) -> dict[SeatGrade, Text]:
    return {
        SeatGrade.OWN: tell(
            "{name} has a key of their own: the log proves that this key has signed all that {name} has decided.",
            name=name,
        ),
        SeatGrade.CHECKED: tell(
            "{name} plays by mail, checked: {name}'s mails, signed by their mail provider, have been looked at.",
            name=name,
        ),
        SeatGrade.CLAIMED: tell(
            "{name} plays by mail, as the service claims: only the service says that it has mails of {name}, signed by "
            "their mail provider.",
            name=name,
        ),
        SeatGrade.WORD: tell(
            "{name} plays by mail, on the service's word: only the service says that the moves are {name}'s.", name=name
        ),
    }
