"""The header fields of a letter, as values that are checked; `compose` writes them."""

from __future__ import annotations

from typing import NamedTuple


class LetterHeaders(NamedTuple):
    """Who gets a letter, and how it can be answered. Addresses are bare, ids have their angle brackets.

    `to` is the player's mailbox. `sender` is our bare address (LOCAL@HOST), which stands in From; `reply_to` is
    LOCAL+TOKEN@HOST. `message_id` is `<EVENT.SEQ.TOKEN@HOST>`. `at` is the time of the log that Date states. `answer`
    says that a mail of the player caused the letter. `in_reply_to` is the id of that mail, or of our last letter, and
    `thread` the one id that all letters of a game refer to; None before there is one. `stop_url` and `stop_address` are
    where letters can be stopped.
    """

    to: str
    sender: str
    reply_to: str
    message_id: str
    at: str
    event: str
    stop_url: str
    stop_address: str
    answer: bool = False
    in_reply_to: str | None = None
    thread: str | None = None
