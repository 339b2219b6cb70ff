"""What a letter is, once it is written: its subject, its text, and the files that go with it."""

from __future__ import annotations

from typing import NamedTuple


class Attachment(NamedTuple):
    """A file that goes with a letter: its name, its type (`application/x-ndjson`), its bytes."""

    name: str
    type: str
    content: bytes


class Letter(NamedTuple):
    """A letter for one reader.

    `subject` is one line of ASCII. `text` has lines of at most 72 columns, each ended by a newline, and an empty line
    between paragraphs. Subject and first paragraph show no card, but for a line that the reader has written and why it
    cannot be done.
    """

    subject: str
    text: str
    attachments: tuple[Attachment, ...] = ()
