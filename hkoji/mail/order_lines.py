"""The lines of a mail that are its order: what the service obeys, and what an audit reads again."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from hkoji.errors import UnreadableMailError
from hkoji.mail.fields import SplitMail
from hkoji.mail.header import header_of
from hkoji.mail.message import READER_VERSION, read_texts
from hkoji.mail.orders import is_order
from hkoji.mail.paragraph import is_stub, order_paragraph

STOP_WORDS: Final = frozenset({"stop", "unsubscribe", "basta", "cancellami"})
"""The subjects that stop letters, whatever the mail says: mail programs that unsubscribe write nothing else."""


def order_lines(mail: SplitMail, reader: int = READER_VERSION) -> tuple[str, ...]:
    """Returns the lines of the order in a mail, as `read_orders` takes them. Raises `UnreadableMailError`.

    `reader` is the version of the rules by which it is read.
    """
    subject = header_of(mail).subject.strip().lower()
    return (subject,) if subject in STOP_WORDS else text_order(mail, reader)


def text_order(mail: SplitMail, reader: int = READER_VERSION) -> tuple[str, ...]:
    """Returns the lines of the order in the text of a mail, whatever its Subject is. Raises `UnreadableMailError`."""
    texts = read_texts(mail, reader)
    text = next(texts)
    lines = order_paragraph(text.lines, reader)
    if reader > 1 and lines and not all(map(is_order, lines)):
        with suppress(UnreadableMailError):
            for other in texts:
                order = order_paragraph(other.lines, reader)
                if is_stub(text.lines, order):
                    return order
    return lines
