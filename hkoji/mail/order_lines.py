"""The lines of a mail that are its order: what the service obeys, and what an audit reads again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from hkoji.errors import UnreadableMailError
from hkoji.mail.fields import SplitMail
from hkoji.mail.header import header_of
from hkoji.mail.mail_types import MailText
from hkoji.mail.message import READER_VERSION, read_texts
from hkoji.mail.orders import is_order, order_otherwise
from hkoji.mail.paragraph import is_stub, order_paragraph
from hkoji.messages.text import tell

STOP_WORDS: Final = frozenset({"stop", "unsubscribe", "basta", "cancellami"})
"""The subjects that stop letters, whatever the mail says: mail programs that unsubscribe write nothing else."""

_TWO_ORDERS: Final = tell("its text and its HTML have different orders")


def order_lines(mail: SplitMail, reader: int = READER_VERSION) -> tuple[str, ...]:
    """Returns the lines of the order in a mail, as `read_orders` takes them. Raises `UnreadableMailError`.

    `reader` is the version of the rules by which it is read.
    """
    subject = header_of(mail).subject.strip().lower()
    return (subject,) if subject in STOP_WORDS else text_order(mail, reader)


def text_order(mail: SplitMail, reader: int = READER_VERSION) -> tuple[str, ...]:
    """Returns the lines of the order in the text of a mail, whatever its Subject is.

    Raises `UnreadableMailError` also if the same text in HTML begins with another order: nobody can tell which of the
    two the player has seen. A player who wants no more letters gets none.
    """
    texts = read_texts(mail, reader)
    text = next(texts)
    lines = order_paragraph(text.lines, reader)
    if reader == 1 or not lines or lines[0].lower() in STOP_WORDS:
        return lines
    for order in _orders_in_html(texts):
        if all(map(is_order, lines)):
            if order and order_otherwise(lines[0], order[0]):
                raise UnreadableMailError(_TWO_ORDERS)
        elif is_stub(text.lines, order):
            return order
    return lines


def _orders_in_html(texts: Iterator[MailText]) -> Iterator[tuple[str, ...]]:
    """Yields the lines of the order in each of the texts that follow, up to one that cannot be read."""
    with suppress(UnreadableMailError):
        for each in texts:
            yield order_paragraph(each.lines)
