"""The lines of a mail that are its order: what the service obeys, and what an audit reads again."""

from __future__ import annotations

from typing import Final

from hkoji.mail.header import read_header
from hkoji.mail.message import read_text
from hkoji.mail.paragraph import order_paragraph

STOP_WORDS: Final = frozenset({"stop", "unsubscribe", "basta", "cancellami"})
"""The subjects that stop letters, whatever the mail says: mail programs that unsubscribe write nothing else."""


def order_lines(raw: bytes) -> tuple[str, ...]:
    """Returns the lines of the order in a mail, as `read_orders` takes them. Raises `UnreadableMailError`."""
    subject = read_header(raw).subject.strip().lower()
    return (subject,) if subject in STOP_WORDS else order_paragraph(read_text(raw).lines)
